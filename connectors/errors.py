"""What can go wrong with a source, each error with its own sentence and the way to react."""

from __future__ import annotations

import enum


class Reaction(enum.Enum):
    """What a caller does about an error."""

    RETRY = "transient"
    ASK = "pause"
    STOP = "terminal"


class ConnectorError(Exception):
    """A source could not be read. The message is one sentence for people; it never holds a secret."""

    reaction = Reaction.STOP


class SourceUnreachable(ConnectorError):
    """The source did not answer; nothing was read or changed."""

    reaction = Reaction.RETRY

    def __init__(self, source: str, where: str, reason: str) -> None:
        super().__init__(
            f"Source {source!r} did not answer at {where}: {reason}. Nothing was changed; run it again when it is up, "
            f"or try by hand: reconcile check --source {source}"
        )


class ColumnTypeUnknown(ConnectorError):
    """A value of `columns:` is not a type; the configuration is wrong and nothing was read."""

    def __init__(self, column: str, said: str) -> None:
        super().__init__(
            f"columns: {column}: {said!r} is not a type; write text, integer, decimal, decimal(p,s), float, boolean, "
            f"date or instant, the last two also with strptime formats like 'date %d.%m.%Y' (%z only in an instant)"
        )
