"""The audit log for somebody else to verify: plain files, and the verifier that needs nothing of Reconcile.

An export holds what the log says, so it holds the notes that people wrote; it holds no record and no secret.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reconcile import anchoring, audit, checkpoints, verifier
from reconcile.anchors.base import Anchor, AnchorError, Readable, Torn
from reconcile.store import Store

_FIELDS = ("seq", "at", "actor", "event", "subject", "body_commitment", "prev", "head", "salt", "body")

_README = """Audit log of a Reconcile store
==============================

log.jsonl          every entry, oldest first: its fields as they were hashed, and its body with its salt
checkpoints.jsonl  heads of the log, signed by the store (Ed25519)
anchors/           what each anchor outside the store held when this was made; receipts.json: what it answered
export.json        which store, its public key, and where the log ended
verify.py          the verifier: python verify.py

It needs Python 3.11 and the package `cryptography`, and nothing of Reconcile. A verifier that comes with what it
verifies proves little: take yours from https://pypi.org/project/reconcile-runner (reconcile/verifier.py), name the
public key as you know it (--public-key) and add copies of anchors that only you can write (--anchor FILE).

What was written after the last anchor could have been cut off unseen.
"""


class ExportExists(Exception):
    """An export never overwrites what is there."""

    def __init__(self, place: Path) -> None:
        super().__init__(f"{place} is there already and was left as it is; name another place")


class ExportNotWritten(Exception):
    """The export could not be written."""

    def __init__(self, place: Path, reason: str) -> None:
        super().__init__(f"The export {place} could not be written: {reason}. Nothing of it was kept")


@dataclass(frozen=True)
class Exported:
    """What was written. `unread` are anchors that could not be read, and why."""

    place: Path
    entries: int
    head: str
    public_key: str
    unread: Mapping[str, str]


def export(store: Store, place: Path, anchors: Mapping[str, Anchor]) -> Exported:
    """Write the whole log into a new folder, or a file that ends in .zip. It is not verified: `verify.py` does that.

    Raises ExportExists, ExportNotWritten, StoreError.
    """
    if place.exists():
        raise ExportExists(place)
    try:
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}.") as scratch:
            folder = Path(scratch) / "export"
            done = _write(store, folder, place, anchors)
            if place.suffix == ".zip":
                _pack(folder, place)
            else:
                folder.rename(place)
    except OSError as error:
        raise ExportNotWritten(place, error.strerror or type(error).__name__) from error
    return done


def _write(store: Store, folder: Path, place: Path, anchors: Mapping[str, Anchor]) -> Exported:
    (folder / "anchors").mkdir(parents=True)
    unread = {}
    for name, one in anchors.items():
        try:
            _anchor(store, folder / "anchors" / f"{name}.jsonl", name, one)
        except AnchorError as error:
            (folder / "anchors" / f"{name}.jsonl").unlink(missing_ok=True)
            unread[name] = str(error)
    with store.read() as tx:
        _lines(folder / "checkpoints.jsonl", (one.line() for one in checkpoints.all_of(tx)))
        receipts = {name: anchoring.receipts(tx, name) for name in anchors}
        seq, head = _log(folder / "log.jsonl", audit.rows(tx), verifier.genesis(store.id))
    _json(folder / "anchors" / "receipts.json", receipts)
    key = checkpoints.public_key(store)
    about = {"format": verifier.FORMAT, "store": store.id, "epoch": store.epoch, "public_key": key}
    _json(folder / "export.json", about | {"entries": seq, "head": head, "unread_anchors": unread})
    (folder / "README.txt").write_text(_README, encoding="utf-8")
    shutil.copyfile(verifier.__file__, folder / "verify.py")
    return Exported(place, seq, head, key, unread)


def _anchor(store: Store, file: Path, name: str, one: Anchor) -> None:
    if not isinstance(one, Readable):
        raise AnchorError(name, "cannot be read back")
    _lines(file, (mark.line() for mark in one.read(store.id) if not isinstance(mark, Torn)))


def _log(file: Path, rows: Iterable[tuple[Any, ...]], head: str) -> tuple[int, str]:
    seq = 0
    with file.open("w", encoding="utf-8") as out:
        for row in rows:
            seq, head = row[0], row[7]
            out.write(json.dumps(dict(zip(_FIELDS, row, strict=False)), separators=(",", ":")) + "\n")
    return seq, head


def _lines(file: Path, lines: Iterable[str]) -> None:
    with file.open("w", encoding="utf-8") as out:
        out.writelines(f"{line}\n" for line in lines)


def _json(file: Path, said: Any) -> None:
    file.write_text(json.dumps(said, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _pack(folder: Path, place: Path) -> None:
    part = folder.parent / "export.zip"
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(one for one in folder.rglob("*") if one.is_file()):
            packed.write(file, Path(place.stem) / file.relative_to(folder))
    part.rename(place)
