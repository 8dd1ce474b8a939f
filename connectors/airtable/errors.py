"""The errors of the source `airtable`: each says what to do at Airtable, and none holds a token or a value."""

from __future__ import annotations

from connectors.errors import ConnectorError, Reaction, SourceUnavailable


class AirtableRefused(SourceUnavailable):
    """Airtable does not accept the token, or the token may not do this. A person has to give access."""

    reaction = Reaction.ASK

    def __init__(self, source: str, doing: str, remedy: str) -> None:
        super().__init__(source, f"Airtable refused to {doing} for source {source!r}. Nothing was changed; {remedy}")


class AirtableBusy(SourceUnavailable):
    """Airtable limits the requests to the base, and did so for longer than we wait."""

    def __init__(self, source: str, seconds: float) -> None:
        super().__init__(
            source,
            f"Airtable limits the requests of source {source!r} for another {seconds:.0f} s: other programs use the "
            f"same base. Nothing was changed; it is tried again later, or lower `requests_per_second`",
        )


class AirtableUnanswered(SourceUnavailable):
    """Airtable did not answer, or its answer is not one of its interface. Nothing was used."""

    def __init__(self, source: str, doing: str, reason: str) -> None:
        super().__init__(
            source,
            f"Airtable did not {doing} for source {source!r}: {reason}. Nothing was changed. "
            f"To test the source: reconcile check --source {source}",
        )


class AirtableRequestRefused(ConnectorError):
    """Airtable calls a request for a dataset invalid; `kind` is its own name of the mistake."""

    def __init__(self, source: str, doing: str, kind: str, remedy: str) -> None:
        super().__init__(f"Airtable refused to {doing} for source {source!r} ({kind}). Nothing was changed; {remedy}")


class TableRestless(SourceUnavailable):
    """Records disappeared between the pages of a table as often as it was read."""

    def __init__(self, source: str, table: str) -> None:
        super().__init__(
            source,
            f"Table {table!r} of source {source!r} changed too much while it was read: Airtable ended the listing "
            "again and again. None of it was used; read it at a quieter time",
        )
