"""Exports to verify, and a forger who rewrites them without the store's key."""

import json
from pathlib import Path
from typing import Any

from reconcile.audit import anchoring, exporting, log
from reconcile.audit.anchors.base import Anchor
from reconcile.audit.anchors.file import FileAnchor
from reconcile.audit.anchors.settings import FileAnchorSettings
from reconcile.audit.verifier import commitment, genesis, next_head
from reconcile.store import Store

SQLITE = "sqlite:///reconcile.db"
LENGTH = 331
FIELDS = ("seq", "at", "actor", "event", "subject", "body_commitment", "prev", "head", "salt", "body")


def anchors(root: Path) -> dict[str, Anchor]:
    return {"log": FileAnchor("log", FileAnchorSettings(type="file", path="anchor.jsonl"), root, {})}


def exported(root: Path) -> Path:
    """A log whose heads 330 and 331 are in an anchor, exported."""
    root.mkdir(exist_ok=True)
    with Store.open(SQLITE, root) as store:
        for _ in range(LENGTH // 30):
            with store.begin() as tx:
                for n in range(30):
                    log.append(tx, "Zoë", "note", "x", {"n": n, "text": "\x00 \ud800 🦆"})
        anchoring.write_due(store, anchors(root), {"log": anchoring.CLAIM * 0})
        with store.begin() as tx:
            log.append(tx, "ann", "note", "x", {})
        anchoring.write_due(store, anchors(root), {"log": anchoring.CLAIM * 0})
        exporting.export(store, root / "export", anchors(root))
    return root / "export"


def copy_of(export: Path, place: Path) -> Path:
    (place / "anchors").mkdir(parents=True)
    for file in (file for file in export.rglob("*") if file.is_file()):
        (place / file.relative_to(export)).write_bytes(file.read_bytes())
    return place


def about_of(place: Path) -> dict[str, Any]:
    return dict(json.loads((place / "export.json").read_text()))


def rewrite(
    place: Path,
    *,
    store: str | None = None,
    actor: str | None = None,
    first: tuple[str, str] | None = None,
    since: int = 1,
) -> None:
    """Change entries from `since` on and hash the log anew, as anybody can who may write it.

    `first` puts an event and its body into the first entry.
    """
    about = about_of(place)
    name = store or about["store"]
    head, lines = genesis(name), []
    for line in (place / "log.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["seq"] >= since:
            row["actor"] = actor or row["actor"]
        if first is not None and row["seq"] == since:
            row["event"], row["body"] = first
            row["body_commitment"] = commitment(row["salt"], row["body"])
        row["prev"] = head
        hashed = [row[field] for field in FIELDS[:6]]
        head = row["head"] = next_head(head, *hashed)
        lines.append(json.dumps(row, separators=(",", ":")) + "\n")
    (place / "log.jsonl").write_text("".join(lines), encoding="utf-8")
    (place / "export.json").write_text(json.dumps(about | {"store": name, "head": head}))
