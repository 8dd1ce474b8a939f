"""The time and memory to verify a long audit log.

`python -m bench.audit FOLDER ENTRIES` writes such a log: findings that went through four states each.
"""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.measure import Contender, interleave, table

STEPS = (
    ("opened", None, "open"),
    ("snoozed", "open", "snoozed"),
    ("woken", "snoozed", "open"),
    ("dismissed", "open", "dismissed"),
)
_BATCH = 5_000
_NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)


def verify(entries: int, runs: int, postgres: str) -> str:
    """Whole processes: `audit verify` over such a log on both databases, and the exported verifier over its export."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder, contenders = Path(name), []
        for kind, url in (("SQLite", "sqlite:///reconcile.db"), ("PostgreSQL", postgres)):
            (folder / kind).mkdir()
            _write(folder / kind, entries, url)
            contenders.append(_verify(f"reconcile audit verify, {kind}", folder / kind))
        export = folder / "export"
        subprocess.run(
            [*_RECONCILE, "export", str(export), "-c", str(folder / "SQLite" / "reconcile.yaml")], check=True
        )
        own = ["--public-key", json.loads((export / "export.json").read_text())["public_key"]]
        own += ["--anchor", str(folder / "SQLite" / "anchor.jsonl")]
        contenders.append(
            Contender("verify.py over the export", lambda: [sys.executable, "-I", str(export / "verify.py"), *own])
        )
        interleave(contenders, runs)
    verified = [json.loads(contender.answer)["entries"] for contender in contenders[:2]]
    if verified != [entries, entries]:
        raise SystemExit(f"verified {verified} entries, not {entries}")
    return f"### Audit log, {entries:,} entries\n\n{table(contenders, contenders[0])}"


_RECONCILE = [sys.executable, "-m", "reconcile", "audit"]


def _verify(name: str, folder: Path) -> Contender:
    return Contender(name, lambda: [*_RECONCILE, "verify", "-c", str(folder / "reconcile.yaml"), "--json"])


def _write(folder: Path, entries: int, url: str) -> None:
    configuration = f"""
version: 1
state: {url}
sources: {{files: {{type: files, root: .}}}}
datasets: {{charges: {{source: files, path: charges.csv, id: id}}}}
rules: {{twin: {{kind: duplicates, dataset: charges, key: [email]}}}}
jobs: {{nightly: {{rules: [twin]}}}}
audit: {{anchors: {{log: {{type: file, path: anchor.jsonl}}}}}}
"""
    (folder / "reconcile.yaml").write_text(configuration)
    subprocess.run([sys.executable, "-m", "bench.audit", str(folder), str(entries)], check=True)


def _fill(folder: Path, entries: int) -> None:
    import sqlalchemy as sa

    from reconcile.app import load
    from reconcile.audit import anchoring, facts, log
    from reconcile.store import tables

    findings = entries // len(STEPS)
    with load(folder / "reconcile.yaml") as application:
        store, anchors = application.store, application.anchors
        with store.begin() as tx:
            tx.connection.execute(sa.insert(tables.releases).values(hash="r1", config={}, first_seen=_NOON))
            fixed = {"job": "nightly", "release": "r1", "trigger": "manual", "status": "running", "attempt": 1}
            tx.connection.execute(
                sa.insert(tables.runs).values(id="run-1", slot=_NOON, fence=1, started=_NOON, **fixed)
            )
            for batch in _batches(findings):
                tx.connection.execute(sa.insert(tables.findings), [_finding(number) for number in batch])
        for batch in _batches(entries):
            with store.begin() as tx:
                for number in batch:
                    event, was, to = STEPS[number // findings] if number < findings * 4 else STEPS[3]
                    name = f"F-{number % findings:06d}"
                    body = {"finding": name, "rule": "twin", "run": "run-1", "from": was, "to": to, "records": 2}
                    log.append(tx, "reconcile", f"finding.{event}", name, body)
                    if was is None:
                        log.touch(tx, facts.FINDING, [name])
            anchoring.write_due(store, anchors, {"log": dt.timedelta(0)})


def _batches(count: int) -> Iterator[range]:
    return (range(start, min(start + _BATCH, count)) for start in range(0, count, _BATCH))


def _finding(number: int) -> dict[str, Any]:
    row: dict[str, Any] = {"id": f"F-{number:06d}", "fingerprint": f"m{number}", "rule": "twin", "kind": "duplicates"}
    row |= {"dataset": "charges", "state": "dismissed", "severity": 2, "version": 1, "key": [], "payload": {}}
    row |= {"money": {}, "records": 2, "first_run": "run-1", "last_run": "run-1"}
    return row | dict.fromkeys(("first_seen", "last_seen", "state_since"), _NOON)


if __name__ == "__main__":
    _fill(Path(sys.argv[1]), int(sys.argv[2]))
