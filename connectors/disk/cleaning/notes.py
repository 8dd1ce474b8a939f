"""What we note beside a file that we clean, in `.customers.csv.reconcile`: owner, receipts, and places to undo.

Any state that cleans the file meets the same notes. They hold no value of a record: rows are known by salted digests.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from connectors.disk.cleaning.contents import FormerPlace
from connectors.disk.cleaning.exchange import Outcome
from connectors.disk.cleaning.swapping import write_durably
from connectors.disk.cleaning.versions import UNKNOWN_TIME
from connectors.disk.paths import beside
from connectors.target import Cell, Cells, Receipt, TargetRefused

_VERSION = 1
_MOST_VERSIONS = 1_000
Owner = tuple[str, int, int]


@dataclass(frozen=True)
class ChangedRow:
    """The digests of a row's key and of its cells before and after a change; None where there is no row."""

    table: str
    key: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Version:
    """A change of the file: the digests of its bytes before and after, and the owner's ratchet then.

    `together` names the transaction of a change of several files. It is the same in the notes of each. `at` is when it
    was made; see `versions.stamp_of`.
    """

    before: str
    after: str
    ratchet: int
    together: str = ""
    at: str = ""


@dataclass(frozen=True)
class Pending:
    """A change that may not have been made yet, noted before it begins.

    `keys` are the columns that name the rows of each table. `files` are all files of a change of several, in the order
    in which they are exchanged.
    """

    version: Version
    receipts: Mapping[str, Receipt]
    removed: Mapping[str, tuple[FormerPlace, ...]]
    keys: Mapping[str, tuple[str, ...]]
    rows: tuple[ChangedRow, ...]
    files: tuple[str, ...] = ()

    @property
    def is_of_bytes(self) -> bool:
        """Return True if the file itself changes. Otherwise the change of others is noted here, with its receipts."""
        return self.version.before != self.version.after


@dataclass(frozen=True)
class Notes:
    """The content of the file of notes. `settings` are those of the dataset by which each table was read last.

    `removed` are the removed records of each table, in the order of the file. `undecided` are keys of receipts of a
    change that may or may not have been made; True once the question was answered with that. `undecided_files` are the
    files that such a change was about. `partners` are the files that ever changed together with this one.
    """

    salt: str
    owner: Owner | None = None
    receipts: Mapping[str, Receipt] = field(default_factory=dict)
    removed: Mapping[str, tuple[FormerPlace, ...]] = field(default_factory=dict)
    versions: tuple[Version, ...] = ()
    pending: Pending | None = None
    undecided: Mapping[str, bool] = field(default_factory=dict)
    undecided_files: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    partners: tuple[str, ...] = ()

    def done(self) -> Notes:
        """The notes after the pending change was made."""
        assert self.pending is not None  # noqa: S101 - the caller looked
        pending = self.pending
        newest = (pending.version,) if pending.is_of_bytes else ()
        versions = (*self.versions, *newest)[-_MOST_VERSIONS:]
        receipts = {**self.receipts, **pending.receipts}
        removed = {**self.removed, **pending.removed}
        undecided = {key: asked for key, asked in self.undecided.items() if key not in pending.receipts}
        noted = replace(self, receipts=receipts, removed=removed, versions=versions, undecided=undecided)
        return replace(noted, pending=None, partners=tuple(sorted({*self.partners, *pending.files})))

    def not_done(self) -> Notes:
        return replace(self, pending=None)

    def unknown(self) -> Notes:
        """The notes after nobody could tell if the pending change was made."""
        assert self.pending is not None  # noqa: S101 - the caller looked
        undecided = {**self.undecided, **dict.fromkeys(self.pending.receipts, False)}
        return replace(self, pending=None, undecided=undecided, undecided_files=self.pending.files)

    def settled(self, outcome: Outcome | None) -> Notes:
        """The notes after the pending change came out like this; None if nobody can tell."""
        if outcome is None:
            return self.unknown()
        return self.done() if outcome == "done" else self.not_done()

    def has_made(self, together: str) -> bool:
        """Return True if that change of several files was made."""
        return any(version.together == together for version in self.versions)

    def owner_of(self, now: str) -> Owner | None:
        """The owner; with a lower ratchet if the file, whose digest is `now`, is an older version of itself."""
        if self.owner is None or not self.versions or self.versions[-1].after == now:
            return self.owner
        lost = next((version for version in reversed(self.versions) if version.before == now), None)
        return self.owner if lost is None else (*self.owner[:2], lost.ratchet - 1)

    def has_replaced(self, digest: str) -> bool:
        """Return True for the digest of a version that we replaced."""
        return self.replaced_at(digest) is not None

    def replaced_at(self, digest: str) -> str | None:
        """The time of the last change of ours that replaced the version with this digest; None if none did."""
        version = next((version for version in reversed(self.versions) if version.before == digest), None)
        return None if version is None else version.at or UNKNOWN_TIME

    def adopted(self, owner: Owner, now: str) -> Notes:
        """The notes with another owner, who accepts the file as it is: its digest is `now`."""
        is_older = self.owner_of(now) != self.owner
        versions = (*self.versions, Version("", now, owner[2])) if is_older else self.versions
        return replace(self, owner=owner, versions=versions)

    def digest_of(self, row: Cells | Sequence[tuple[str, Cell]]) -> str:
        content = sorted(row.items() if isinstance(row, Mapping) else row)
        return hashlib.sha256(f"{self.salt}{json.dumps(content)}".encode()).hexdigest()[:32]

    def digest_of_key(self, columns: Sequence[str], texts: Sequence[str]) -> str:
        return self.digest_of([(name, ("", text)) for name, text in zip(columns, texts, strict=True)])


def load(path: Path) -> Notes:
    """The notes beside this file; empty ones if there are none. Raises TargetRefused for any other file."""
    place = beside(path)
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return Notes(secrets.token_hex(16))
    except OSError as error:
        raise not_ours(path.name) from error
    try:
        return _notes(json.loads(data))
    except (ValueError, KeyError, TypeError) as error:
        raise not_ours(path.name) from error


def save(path: Path, notes: Notes) -> None:
    """Write the notes durably, with the mode of the file. Raises OSError."""
    content = {"version": _VERSION, **asdict(notes)}
    write_durably(beside(path), json.dumps(content, separators=(",", ":")).encode("ascii"), path)


def not_ours(file: str) -> TargetRefused:
    """The error for notes beside a file of this name that we did not write."""
    return TargetRefused(
        f"{beside(Path(file)).name} has the name of the notes that a cleaning keeps beside its file, but cannot be "
        "read as these; restore it from a backup together with the file"
    )


def _notes(content: Mapping[str, Any]) -> Notes:
    if content["version"] != _VERSION:
        raise ValueError(content["version"])
    pending = content["pending"]
    return Notes(
        salt=str(content["salt"]),
        owner=_owner(content["owner"]),
        receipts=_receipts(content["receipts"]),
        removed=_removed(content["removed"]),
        versions=tuple(Version(**version) for version in content["versions"]),
        pending=None if pending is None else _pending(pending),
        undecided=dict(content["undecided"]),
        undecided_files=tuple(content.get("undecided_files", ())),
        settings=dict(content["settings"]),
        partners=tuple(content.get("partners", ())),
    )


def _pending(content: Mapping[str, Any]) -> Pending:
    return Pending(
        version=Version(**content["version"]),
        receipts=_receipts(content["receipts"]),
        removed=_removed(content["removed"]),
        keys={table: tuple(columns) for table, columns in content["keys"].items()},
        rows=tuple(ChangedRow(**row) for row in content["rows"]),
        files=tuple(content.get("files", ())),
    )


def _owner(content: Sequence[Any] | None) -> Owner | None:
    return None if content is None else (str(content[0]), int(content[1]), int(content[2]))


def _receipts(content: Mapping[str, Any]) -> dict[str, Receipt]:
    return {key: Receipt(**receipt) for key, receipt in content.items()}


def _removed(content: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, tuple[FormerPlace, ...]]:
    return {table: tuple(FormerPlace(**record) for record in records) for table, records in content.items()}
