"""Export the audit log for others to verify: plain files, and a verifier that needs nothing of Reconcile.

An export holds the whole log, including the notes that people wrote; it holds no record and no secret.
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
from reconcile.audit.anchors.base import Anchor, AnchorError, Torn
from reconcile.errors import Failed, Wrong
from reconcile.store import Store, audit_log, private_files

_FIELDS = ("seq", "at", "actor", "event", "subject", "body_commitment", "prev", "head", "salt", "body")

_README = """Audit log of a Reconcile store
==============================

log.jsonl          every entry, oldest first: its fields as they were hashed, and its body with its salt
checkpoints.jsonl  heads of the log, signed by the store (Ed25519)
anchors/           the heads in each anchor outside the store at export; receipts.json: the anchors' receipts
export.json        which store, its public key, and the end of the log
verify.py          the verifier: python -I verify.py --public-key KEY --anchor FILE

It needs Python 3.11 and the package `cryptography`, but not Reconcile itself. A verifier from the
export itself proves little: take yours from https://pypi.org/project/reconcile-runner (reconcile/audit/verifier.py),
pass the public key from your own records (--public-key) and copies of anchors that only you can write (--anchor FILE).

It exits with 0 if they cover the log to its end, with 1 if something is wrong, and with 2 if something cannot be read.
It exits with 3 if they cover the log only up to an earlier entry, which it prints, or if you gave neither.

Entries after the last anchor could have been removed unnoticed.
"""


class ExportExists(Wrong):
    """The place already exists; an export never overwrites it."""

    def __init__(self, place: Path) -> None:
        super().__init__(f"{place} already exists and was not changed. Choose another place")


class ExportNotWritten(Failed):
    """The export could not be written."""

    def __init__(self, place: Path, reason: str) -> None:
        super().__init__(f"The export {place} could not be written: {reason}. No part of it was kept")


@dataclass(frozen=True)
class AuditExport:
    """A finished export. `unread` are the anchors that could not be read, with the reasons."""

    place: Path
    entries: int
    head: str
    public_key: str
    unread: Mapping[str, str]


def export(store: Store, place: Path, anchors: Mapping[str, Anchor]) -> AuditExport:
    """Write the whole log into a new folder or .zip file. It is not verified: `verify.py` does that.

    The end of the log is signed first, so the export can be proven to its end. Only the owner can read it.
    Raises ExportExists, ExportNotWritten, StoreError.
    """
    if os.path.lexists(place):
        raise ExportExists(place)
    log.checkpoint(store)
    try:
        with Scratch(place.parent, hidden=True) as scratch:
            folder = scratch / "export"
            exported = _write(store, folder, place, anchors)
            if place.suffix == ".zip":
                _pack(folder, place)
            else:
                folder.rename(place)
    except FileExistsError:
        raise ExportExists(place) from None
    except OSError as error:
        raise ExportNotWritten(place, error.strerror or type(error).__name__) from error
    return exported


def _write(store: Store, folder: Path, place: Path, anchors: Mapping[str, Anchor]) -> AuditExport:
    for new_folder in (folder, folder / "anchors"):
        new_folder.mkdir(0o700)
    unread = {}
    for name, anchor in anchors.items():
        file = folder / "anchors" / f"{name}.jsonl"
        try:
            _lines(file, (mark.line() for mark in anchor.read(store.id) if not isinstance(mark, Torn)))
        except AnchorError as error:
            file.unlink(missing_ok=True)
            unread[name] = str(error)
    with store.read() as tx:
        _lines(folder / "checkpoints.jsonl", (mark.line() for mark in checkpoints.all_of(tx)))
        receipts = {name: anchoring.receipts(tx, name) for name in anchors}
        seq, head = _log(folder / "log.jsonl", audit_log.chain(tx), verifier.genesis(store.id))
    _json(folder / "anchors" / "receipts.json", receipts)
    key = checkpoints.public_key(store)
    about = {"format": verifier.FORMAT, "store": store.id, "epoch": store.epoch, "public_key": key}
    _json(folder / "export.json", about | {"entries": seq, "head": head, "unread_anchors": unread})
    _lines(folder / "README.txt", _README.splitlines())
    _lines(folder / "verify.py", Path(verifier.__file__).read_text(encoding="utf-8").removesuffix("\n").split("\n"))
    return AuditExport(place, seq, head, key, unread)


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


def _json(file: Path, value: Any) -> None:
    _lines(file, [json.dumps(value, indent=2, sort_keys=True)])


def _pack(folder: Path, place: Path) -> None:
    packed_file = folder.parent / "export.zip"
    with private_files.create(packed_file) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            archive.write(file, Path(place.stem) / file.relative_to(folder))
    private_files.keep(packed_file, place)
