"""The audit log for somebody else to verify: plain files, and the verifier that needs nothing of Reconcile.

An export holds what the log says, so it holds the notes that people wrote; it holds no record and no secret.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from connectors.disk.scratch import Scratch
from reconcile.audit import anchoring, checkpoints, log, verifier
from reconcile.audit.anchors.base import Anchor, AnchorError, Readable, Torn
from reconcile.store import Store, private_files

_FIELDS = ("seq", "at", "actor", "event", "subject", "body_commitment", "prev", "head", "salt", "body")

_README = """Audit log of a Reconcile store
==============================

log.jsonl          every entry, oldest first: its fields as they were hashed, and its body with its salt
checkpoints.jsonl  heads of the log, signed by the store (Ed25519)
anchors/           what each anchor outside the store held when this was made; receipts.json: what it answered
export.json        which store, its public key, and where the log ended
verify.py          the verifier: python -I verify.py --public-key KEY --anchor FILE

It needs Python 3.11 and the package `cryptography`, and nothing of Reconcile. A verifier that comes with what it
verifies proves little: take yours from https://pypi.org/project/reconcile-runner (reconcile/audit/verifier.py), name
the public key as you know it (--public-key) and add copies of anchors that only you can write (--anchor FILE).

It exits with 0 if all of that covers the log to its end, with 1 if something is wrong, with 2 if something cannot be
read, and with 3 if the log is covered up to an earlier entry only, which it prints, or by nothing that you brought.

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

    The end of the log is signed first, so that what is exported can be proven to its end. Only the owner can read it.
    Raises ExportExists, ExportNotWritten, StoreError.
    """
    if os.path.lexists(place):
        raise ExportExists(place)
    log.checkpoint(store)
    try:
        with Scratch(place.parent, hidden=True) as scratch:
            folder = scratch / "export"
            done = _write(store, folder, place, anchors)
            if place.suffix == ".zip":
                _pack(folder, place)
            else:
                folder.rename(place)
    except FileExistsError:
        raise ExportExists(place) from None
    except OSError as error:
        raise ExportNotWritten(place, error.strerror or type(error).__name__) from error
    return done


def _write(store: Store, folder: Path, place: Path, anchors: Mapping[str, Anchor]) -> Exported:
    for new in (folder, folder / "anchors"):
        new.mkdir(0o700)
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
        seq, head = _log(folder / "log.jsonl", log.rows(tx), verifier.genesis(store.id))
    _json(folder / "anchors" / "receipts.json", receipts)
    key = checkpoints.public_key(store)
    about = {"format": verifier.FORMAT, "store": store.id, "epoch": store.epoch, "public_key": key}
    _json(folder / "export.json", about | {"entries": seq, "head": head, "unread_anchors": unread})
    _lines(folder / "README.txt", _README.splitlines())
    _lines(folder / "verify.py", Path(verifier.__file__).read_text(encoding="utf-8").removesuffix("\n").split("\n"))
    return Exported(place, seq, head, key, unread)


def _anchor(store: Store, file: Path, name: str, one: Anchor) -> None:
    if not isinstance(one, Readable):
        raise AnchorError(name, "cannot be read back")
    _lines(file, (mark.line() for mark in one.read(store.id) if not isinstance(mark, Torn)))


def _log(file: Path, rows: Iterable[tuple[Any, ...]], head: str) -> tuple[int, str]:
    seq = 0
    with private_files.create(file) as out:
        for row in rows:
            seq, head = row[0], row[7]
            line = json.dumps(dict(zip(_FIELDS, row, strict=False)), separators=(",", ":"))
            out.write(f"{line}\n".encode())
    return seq, head


def _lines(file: Path, lines: Iterable[str]) -> None:
    with private_files.create(file) as out:
        out.writelines(f"{line}\n".encode() for line in lines)


def _json(file: Path, said: Any) -> None:
    _lines(file, [json.dumps(said, indent=2, sort_keys=True)])


def _pack(folder: Path, place: Path) -> None:
    part = folder.parent / "export.zip"
    with private_files.create(part) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(one for one in folder.rglob("*") if one.is_file()):
            packed.write(file, Path(place.stem) / file.relative_to(folder))
    private_files.keep(part, place)
