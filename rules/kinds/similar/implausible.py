"""Stop a rule that finds more groups than the data can plausibly hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rules.engines.base import Unanswerable
from rules.groups.group import DuplicateGroup
from rules.groups.implausible import FEW
from rules.kinds.similar.bound import BoundSimilar


class TooManyAlike(Unanswerable):
    """The groups of a rule hold more than `max_share` of the records that take part. The text holds no value."""

    def __init__(self, bound: BoundSimilar, most: int, taking_part: int) -> None:
        super().__init__(
            f"Rule {bound.rule.name!r} was stopped: its groups would hold more than {most:,} of {taking_part:,} "
            f"records (`max_share`), so the compared columns ({bound.identifier}) do not tell records apart. Its "
            "findings are unchanged. Compare more columns, leave out placeholders with `where`, raise `threshold`, or "
            "raise `max_share` if all of them are the same"
        )


def watched(bound: BoundSimilar, taking_part: int, groups: Iterable[DuplicateGroup]) -> Iterator[DuplicateGroup]:
    """Pass the groups on. Raises TooManyAlike as soon as they hold too many records."""
    most = max(FEW, int(bound.max_share * taking_part))
    records = 0
    for group in groups:
        records += len(group.members)
        if records > most:
            raise TooManyAlike(bound, most, taking_part)
        yield group
