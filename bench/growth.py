"""Exact keys over more and more records, and over more than fit into memory: whole runs over nearly distinct keys."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.data import FOLDER
from bench.measure import RECONCILE, Took, took

CONFIGURATION = """
version: 1
memory: MEMORY
sources: {files: {type: files, root: "ROOT"}}
datasets: {payments: {source: files, path: FILE, id: id}}
rules: {twin: {kind: duplicates, dataset: payments, key: [reference]}}
"""
TWINS = 1_000
"""Records that repeat the key of the previous one, whatever the number of records."""
DEFAULT, ENOUGH, LITTLE = "2GB", "1GB", "300MB"
REFUSED = 3


def growth(rows: int) -> str:
    """Time per record for a tenth of the records, all, and five times as many."""
    lines, first = [], 0.0
    for count in (rows // 10, rows, 5 * rows):
        cost, answer = _run(count, DEFAULT)
        micros = 1e6 * cost.processor / count
        first = first or micros
        lines.append(
            f"| {count:,} | {cost.seconds:.1f} | {cost.processor:.1f} | {micros:.2f} | {micros / first:.2f} "
            f"| {cost.megabytes:.0f} | {answer} |"
        )
    head = (
        "| records | seconds | CPU seconds | CPU microseconds per record | ratio | peak MB | answer |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    )
    return "\n".join(["### growth: `reconcile run --dry-run` over Parquet, nearly distinct keys", "", *head, *lines])


def memory(rows: int) -> str:
    """Five times as many records, with enough memory and with little."""
    count = 5 * rows
    lines = []
    for limit in (ENOUGH, LITTLE):
        cost, answer = _run(count, limit)
        lines.append(f"| `{limit}` | {cost.seconds:.1f} | {cost.processor:.1f} | {cost.megabytes:.0f} | {answer} |")
    head = ("| `memory` | seconds | CPU seconds | peak MB | answer |", "| --- | --- | --- | --- | --- |")
    return "\n".join([f"### memory: {count:,} records with nearly distinct keys, Parquet", "", *head, *lines])


def _run(count: int, limit: str) -> tuple[Took, str]:
    path = _payments(count)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        text = CONFIGURATION.replace("MEMORY", limit).replace("ROOT", str(path.parent)).replace("FILE", path.name)
        (Path(folder) / "reconcile.yaml").write_text(text)
        cost, report = took([*RECONCILE, "run", "--dry-run", "--quiet", "--json"], folder, (0, 1, REFUSED))
    [rule] = json.loads(report)["rules"]
    return cost, rule.get("error") or f"{len(json.loads(report)['findings']):,} groups"


def _payments(count: int) -> Path:
    """That many payments, of which TWINS repeat the previous one's reference; made once."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"payments-distinct-{count}.parquet"
    if not path.exists():
        subprocess.run([sys.executable, "-m", "bench.growth", str(count), str(path)], check=True)
    return path


def _make(count: int, path: str) -> None:
    import duckdb

    every = max(2, count // TWINS)
    number = f"if(i % {every} = {every} - 1, i - 1, i)"
    select = f"select i as id, 'PAY-2026-' || md5(({number})::varchar)[1:16] as reference from range({count}) t(i)"
    duckdb.connect().execute(f"copy ({select}) to '{path}' (format parquet, compression zstd)")


if __name__ == "__main__":
    _make(int(sys.argv[1]), sys.argv[2])
