"""The receipts of a record's cleanings, in a long text field of the record itself.

The request that changes a record writes its receipt too, so the record tells if the change was made. A line of the text
is one change, as JSON; what people write there stays.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from connectors.airtable.cleaning.changes import Place
from connectors.target import Receipt

MOST_CHARACTERS = 90_000
"""Of the 100,000 that Airtable keeps in a long text."""
_MARK = '{"reconcile":1,'


@dataclass(frozen=True)
class ChangeNote:
    """A change of ours: its receipts and what is needed to find out what it replaced.

    `nonce` tells it from all others, and salts `before`, the digests of the records' former values by their ids.
    `guards` are records that had to stay as they were, `fields` those that it set. `is_unsure`: a person was asked
    about it. `backs` counts the updates that began to take it back.
    """

    nonce: str
    place: Place
    fields: tuple[str, ...]
    before: Mapping[str, str]
    guards: tuple[str, ...]
    receipts: tuple[Receipt, ...]
    is_unsure: bool = False
    backs: int = 0

    @property
    def records(self) -> tuple[str, ...]:
        return tuple(self.before)

    @property
    def line(self) -> str:
        content = {
            "reconcile": 1,
            "nonce": self.nonce,
            "list": [self.place.webhook, self.place.cursor],
            "fields": self.fields,
            "before": self.before,
            "guards": self.guards,
            "receipts": [list(asdict(receipt).values()) for receipt in self.receipts],
            "unsure": self.is_unsure,
            "backs": self.backs,
        }
        return json.dumps(content, separators=(",", ":"), ensure_ascii=True)


def digest(nonce: str, image: Mapping[str, Any]) -> str:
    """The digest of a record's values that proves nothing to somebody who only guesses them without the nonce."""
    content = json.dumps([nonce, image], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()


def notes_in(text: Any) -> list[ChangeNote]:
    """The changes that a text tells of, the oldest first. Lines that are not ours, or were edited, are left out."""
    lines = text.splitlines() if isinstance(text, str) else []
    return [note for line in lines if (note := _note(line)) is not None]


def _note(line: str) -> ChangeNote | None:
    if not line.startswith(_MARK):
        return None
    try:
        content = json.loads(line)
        webhook, cursor = content["list"]
        return ChangeNote(
            str(content["nonce"]),
            Place(str(webhook), int(cursor)),
            tuple(map(str, content["fields"])),
            {str(key): str(value) for key, value in content["before"].items()},
            tuple(map(str, content["guards"])),
            tuple(Receipt(*values) for values in content["receipts"]),
            bool(content["unsure"]),
            int(content["backs"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def with_note(text: Any, note: ChangeNote) -> str:
    """The text with the change at its end, in the place of an earlier form of it."""
    return "\n".join([*_lines(without_note(text, note.nonce)), note.line])


def without_note(text: Any, nonce: str) -> str:
    """The text without the change of that nonce."""
    return "\n".join(line for line in _lines(text) if not ((note := _note(line)) and note.nonce == nonce))


def _lines(text: Any) -> Sequence[str]:
    return text.splitlines() if isinstance(text, str) else []


def receipts_in(texts: Iterable[Any]) -> dict[str, tuple[Receipt, ChangeNote]]:
    """The receipts in the texts of several records by their key, each with its change."""
    notes = (note for text in texts for note in notes_in(text))
    return {receipt.key: (receipt, note) for note in notes for receipt in note.receipts}
