"""Find the header of a text file below a preamble of any length, as banks write them."""

from __future__ import annotations

from itertools import islice

from pydantic import BaseModel, ConfigDict, Field

from connectors.disk.opened_file import OpenedFile
from connectors.errors import FileUnreadable

MOST = 200
"""Lines in which the header must be."""
_MARKS = "\ufeff"


class SkipTo(BaseModel):
    """`skip: {to: Buchungstag}`: the header is the first line with a field that is this text."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    to: str = Field(min_length=1)


def lines_above(file: OpenedFile, heading: str, quote: str, delimiter: str | None, encoding: str | None) -> int:
    """Return the number of lines above the header. Raises FileUnreadable if no line has such a field."""
    with file.bytes() as content:
        head = b"".join(islice(content, MOST))
    try:
        text = head.decode(encoding or "utf-8", errors="replace")
    except LookupError as error:
        raise FileUnreadable(file.name, f"encoding {encoding!r} is unknown", "use a name like cp1252") from error
    delimiters = [delimiter] if delimiter else [";", ",", "\t", "|"]
    for number, line in enumerate(text.splitlines()):
        fields = (field for mark in delimiters for field in line.strip(_MARKS).split(mark))
        if any(field.strip().strip(quote).strip() == heading for field in fields):
            return number
    reason = f"none of its first {MOST} lines has the field that `skip: {{to: …}}` names"
    raise FileUnreadable(file.name, reason, "correct `skip`, or set it to the number of lines above the header")
