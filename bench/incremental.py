"""Runs that read only what changed, next to runs that read all: whole processes over a changing table of PostgreSQL."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from bench.measure import RECONCILE, Contender, run_once, table

CHANGED = 10_000
_TABLE = """
create unlogged table {name} (
    id bigint primary key, customer_id bigint, email text, amount numeric(12, 2), updated_at timestamptz
);
insert into {name}
select i, j % ({rows} / 4), 'User' || j || '@Example.com ', (j % 50000) / 100.0,
    timestamptz '2025-01-01' + i * interval '1 millisecond'
from (select i, case when i % 1000 = 999 then i - 1 else i end as j from generate_series(0, {rows} - 1) i) drawn;
create index on {name} (updated_at);
create index on {name} (customer_id);
vacuum analyze {name};
"""
_CHANGE = """
update {name} t set amount = amount + 1, updated_at = clock_timestamp(),
    customer_id = case when t.id % 7 = 0 then t.customer_id + 1 else t.customer_id end
from (select cast(random() * {rows} as bigint) as id from generate_series(1, {changed})) chosen where chosen.id = t.id
"""
_KEYS = {"plain": "[customer_id, email]", "normalised": "[customer_id, {email: [email]}]"}


@dataclass(frozen=True)
class _State:
    """A folder with a configuration and the state of its runs; `incremental` or not."""

    folder: Path

    @classmethod
    def of(cls, server: str, name: str, key: str, incremental: str) -> _State:
        folder = Path(tempfile.mkdtemp(prefix="bench-"))
        (folder / "reconcile.yaml").write_text(f"""
version: 1
sources: {{shop: {{type: sql, url: "{server}"}}}}
datasets: {{charges: {{source: shop, table: {name}, id: id{incremental}}}}}
rules: {{twin: {{kind: duplicates, dataset: charges, key: {key}}}}}
""")
        return cls(folder)

    def contender(self, name: str) -> Contender:
        return Contender(name, lambda: [*RECONCILE, "run", "-c", str(self.folder / "reconcile.yaml"), "--json", "-q"])


def incremental(rows: int, runs: int, server: str) -> str:
    """After each change of 10,000 records, a full run and an incremental one; over a tenth of the rows too."""
    few, many = (_measured(size, runs, server) for size in (rows // 10, rows))
    about = (
        "The table has indexes on `updated_at` and on `customer_id`, a part of the key. Both runs store their "
        "findings, and find the same. Starting a process takes a part of each time: see `Start`."
    )
    parts = [f"### Incremental runs, {CHANGED:,} of {rows:,} rows changed\n\n{about}"]
    for key, contenders in many.items():
        full, increment = contenders
        growth = increment.time / few[key][1].time
        speed = f"{full.time / increment.time:.0f} times as fast ({full.cpu / increment.cpu:.1f} in CPU here)"
        parts.append(
            f"{table(contenders, full)}\n\nThe incremental run is {speed}; "
            f"with {rows:,} rows it takes {growth:.2f} of its time with {rows // 10:,}."
        )
    return "\n\n".join(parts)


def _measured(rows: int, runs: int, server: str) -> dict[str, Sequence[Contender]]:
    name = f"changing_{rows}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"drop table if exists {name}")
        print(f"making {rows:,} rows", file=sys.stderr)
        for statement in filter(str.strip, _TABLE.format(name=name, rows=rows).split(";")):
            connection.execute(statement)
        try:
            return {label: _raced(connection, server, name, key, rows, runs) for label, key in _KEYS.items()}
        finally:
            connection.execute(f"drop table {name}")


def _raced(
    connection: psycopg.Connection, server: str, name: str, key: str, rows: int, runs: int
) -> Sequence[Contender]:
    asked = ", incremental: {by: updated_at, overlap: 1s, full: 30d}"
    label = f"key {key}, {rows:,} rows"
    contenders = [
        _State.of(server, name, key, "").contender(f"full, {label}"),
        _State.of(server, name, key, asked).contender(f"incremental, {label}"),
    ]
    for turn in range(runs + 1):
        for contender in contenders:
            run_once(contender)
            print(f"  {turn}/{runs} {contender.name}: {contender.seconds[-1]:.2f} s", file=sys.stderr)
        reports = [json.loads(contender.answer)["rules"][0] for contender in contenders]
        if len({report["groups"] for report in reports}) != 1:
            raise SystemExit(f"the runs disagree: {reports}")
        if turn and reports[1]["mode"] != "incremental":
            raise SystemExit(f"the run was not incremental: {reports[1]['mode_reason']}")
        connection.execute(_CHANGE.format(name=name, rows=rows, changed=CHANGED))
        connection.execute("select pg_sleep(1.1)")
    for contender in contenders:  # the first run of each read all
        del contender.seconds[0], contender.processor[0], contender.megabytes[0]
    return contenders
