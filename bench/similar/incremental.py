"""A run of kind `similar` after new records came, by a state that reads all records and by one that reads new ones."""

from __future__ import annotations

import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from bench.measure import RECONCILE, Contender, run_once, table
from bench.similar import made_up, report
from bench.similar.labelled import Labelled

RECORDS, NEW = 1_000_000, 10_000
_ASKED = ", incremental: {by: updated_at, overlap: 1s, full: 30d}"


def sections(records: int = RECORDS, new: int = NEW, turns: int = 2) -> str:
    """Return the section on incremental runs: `turns` times, `new` persons are added to `records`, and both runs."""
    persons = made_up.persons(records + turns * new)
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        shop = Path(name) / "shop.db"
        _insert(shop, persons.tables[0].slice(0, records), 1, "'2025-01-01', id || ' seconds'")
        contenders = [
            _contender(Path(name), persons, what, incremental) for what, incremental in (("full", ""), ("new", _ASKED))
        ]
        first = _runs(contenders)
        for turn in range(turns):
            _insert(shop, persons.tables[0].slice(records + turn * new, new), records + turn * new + 1)
            time.sleep(1.1)  # new records are older than the overlap then
            findings = _runs(contenders)
            if "full run" in contenders[1].answer:
                raise SystemExit(f"the run was not incremental: {contenders[1].answer}")
    for contender in contenders:  # the first run of each read all
        del contender.seconds[0], contender.processor[0], contender.megabytes[0]
    return report.section(
        "Incremental runs",
        f"{new:,} new persons come to {records:,} in an SQLite database, {turns} times, each with a run that compares "
        "all records and one that compares new ones with all, as whole processes with all findings. Medians.",
        table(contenders, contenders[0]),
        f"Findings after the first run: {first[0]:,} and {first[1]:,}; after the last: {findings[0]:,} and "
        f"{findings[1]:,}. The run of new records counts with the statistics of the last full one.",
    )


def _insert(shop: Path, persons: pa.Table, begin: int, changed: str = "'now'") -> None:
    """Insert persons with ids from `begin` on, which changed at a time in the words of SQLite."""
    columns = ", ".join(persons.column_names)
    marks = ", ".join(f"?{number + 2}" for number in range(len(persons.column_names)))
    database = sqlite3.connect(shop)
    with database:
        database.execute(
            f"create table if not exists persons (id integer primary key, {columns}, updated_at datetime not null)"
        )
        database.execute("create index if not exists persons_updated_at on persons (updated_at)")
        rows = zip(*(column.to_pylist() for column in persons.columns), strict=True)
        database.executemany(
            f"insert into persons (id, {columns}, updated_at) "
            f"values (?1, {marks}, strftime('%Y-%m-%d %H:%M:%f', {changed.replace('id', '?1')}))",
            ((begin + number, *row) for number, row in enumerate(rows)),
        )
    database.close()


def _contender(folder: Path, persons: Labelled, what: str, incremental: str) -> Contender:
    configuration = folder / what / "reconcile.yaml"
    configuration.parent.mkdir()
    compare = ", ".join(f"{column}: {meaning}" for column, meaning in persons.types.items())
    configuration.write_text(f"""
version: 1
sources: {{shop: {{type: sql, url: "sqlite:///{folder}/shop.db"}}}}
datasets: {{persons: {{source: shop, table: persons, id: id{incremental}}}}}
rules: {{twin: {{kind: similar, dataset: persons, compare: {{{compare}}}, max_share: 50%}}}}
""")
    return Contender(f"compares {what}", lambda: [*RECONCILE, "run", "-c", str(configuration), "-q"])


def _runs(contenders: Sequence[Contender]) -> list[int]:
    """Run each contender once; return how many findings each has."""
    findings = []
    for contender in contenders:
        run_once(contender)
        print(f"  {contender.name}: {contender.processor[-1]:.1f} s of processor time", file=sys.stderr)
        match = re.search(r"^twin +medium +([0-9,]+) ", contender.answer, re.MULTILINE)
        if match is None:
            raise SystemExit(f"the run has no table: {contender.answer}")
        findings.append(int(match[1].replace(",", "")))
    return findings
