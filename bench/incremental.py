"""Runs that read only what changed, next to runs that read all: whole processes over a changing table."""

from __future__ import annotations

import random
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from bench.measure import RECONCILE, Contender, common, run_once, table

CHANGED = 10_000
_INDEXES = """
create index {name}_updated_at on {name} (updated_at);
create index {name}_customer on {name} (customer_id);
"""
_CHANGE = """
update {name} set amount = amount + 1, updated_at = {now},
    customer_id = case when id % 7 = 0 then customer_id + 1 else customer_id end where id = :id
"""
_PLAIN, _NORMALISED = "[customer_id, email]", "[customer_id, {email: [email]}]"


@dataclass(frozen=True)
class _Kind:
    """A kind of database: its name, the statements that make a table, its present time, and the keys to compare by."""

    name: str
    table: str
    now: str
    keys: Mapping[str, str]


_KINDS = {
    "postgresql": _Kind(
        "PostgreSQL",
        """
create unlogged table {name} (
    id bigint primary key, customer_id bigint, email text, amount numeric(12, 2), updated_at timestamptz
);
insert into {name}
select i, j % ({rows} / 4), 'User' || j || '@Example.com ', (j % 50000) / 100.0,
    timestamptz '2025-01-01' + i * interval '1 millisecond'
from (select i, case when i % 1000 = 999 then i - 1 else i end as j from generate_series(0, {rows} - 1) i) drawn;"""
        + _INDEXES
        + "vacuum analyze {name};",
        "clock_timestamp()",
        {"plain": _PLAIN, "normalised": _NORMALISED},
    ),
    "mysql": _Kind(
        "MariaDB",
        """
create table {name} (
    id bigint primary key, customer_id bigint, email varchar(60), amount decimal(12, 2), updated_at datetime(6)
);
insert into {name}
select seq, j % ({rows} div 4), concat('User', j, '@Example.com '), (j % 50000) / 100,
    timestamp '2025-01-01 00:00:00' + interval seq * 1000 microsecond
from (select seq, case when seq % 1000 = 999 then seq - 1 else seq end as j from seq_0_to_{last}) drawn;"""
        + _INDEXES
        + "analyze table {name};",
        "utc_timestamp(6)",
        {"normalised": _NORMALISED},
    ),
    "sqlite": _Kind(
        "SQLite",
        """
create table {name} (
    id integer primary key, customer_id integer, email text, amount numeric(12, 2), updated_at datetime
);
with recursive numbers(i) as (select 0 union all select i + 1 from numbers where i < {last}),
    drawn as (select i, case when i % 1000 = 999 then i - 1 else i end as j from numbers)
insert into {name}
select i, j % ({rows} / 4), 'User' || j || '@Example.com ', (j % 50000) / 100.0,
    strftime('%Y-%m-%d %H:%M:%f', '2025-01-01', (i / 1000.0) || ' seconds') from drawn;"""
        + _INDEXES
        + "analyze;",
        "strftime('%Y-%m-%d %H:%M:%f', 'now')",
        {"normalised": _NORMALISED},
    ),
}


@dataclass(frozen=True)
class _Changing:
    """A table of so many rows in a database."""

    engine: sa.Engine
    rows: int

    @property
    def kind(self) -> _Kind:
        return _KINDS[self.engine.dialect.name]

    @property
    def name(self) -> str:
        return f"changing_{self.rows}"

    def create(self) -> None:
        print(f"making {self.rows:,} rows in {self.kind.name}", file=sys.stderr)
        script = f"drop table if exists {self.name};" + self.kind.table
        for statement in filter(
            str.strip, script.format(name=self.name, rows=self.rows, last=self.rows - 1).split(";")
        ):
            with self.engine.connect() as connection:
                connection.execute(sa.text(statement))

    def drop(self) -> None:
        with self.engine.connect() as connection:
            connection.exec_driver_sql(f"drop table {self.name}")

    def change(self) -> None:
        """Change records by chance, and wait until they are older than the overlap."""
        ids = [{"id": number} for number in random.choices(range(self.rows), k=CHANGED)]
        with self.engine.execution_options(isolation_level=self._usual).begin() as connection:
            connection.execute(sa.text(_CHANGE.format(name=self.name, now=self.kind.now)), ids)
        time.sleep(1.1)

    @property
    def _usual(self) -> str:
        return "SERIALIZABLE" if self.kind.name == "SQLite" else "READ COMMITTED"


@dataclass(frozen=True)
class _State:
    """A folder with a configuration and the state of its runs; `incremental` or not."""

    folder: Path

    @classmethod
    def of(cls, source: str, name: str, key: str, incremental: str) -> _State:
        folder = Path(tempfile.mkdtemp(prefix="bench-"))
        (folder / "reconcile.yaml").write_text(f"""
version: 1
sources: {{shop: {{type: sql, url: "{source}"}}}}
datasets: {{charges: {{source: shop, table: {name}, id: id{incremental}}}}}
rules: {{twin: {{kind: duplicates, dataset: charges, key: {key}}}}}
""")
        return cls(folder)

    def contender(self, name: str) -> Contender:
        return Contender(name, lambda: [*RECONCILE, "run", "-c", str(self.folder / "reconcile.yaml"), "-q"])


def incremental(rows: int, runs: int, servers: Sequence[str]) -> str:
    """After each change of 10,000 records, a full run and an incremental one, in each database; over a tenth of the
    rows too."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        return "\n\n".join(_section(url, rows, runs) for url in (*servers, f"sqlite:///{folder}/shop.db"))


def _section(url: str, rows: int, runs: int) -> str:
    engine = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    few, many = (_measured(_Changing(engine, size), runs) for size in (rows // 10, rows))
    about = (
        "The table has indexes on `updated_at` and on `customer_id`, a part of the key. Both runs store their "
        "findings, and find the same. Starting a process takes a part of each time: see `Start`."
    )
    name = _KINDS[engine.dialect.name].name
    parts = [f"### Incremental runs in {name}, {CHANGED:,} of {rows:,} rows changed\n\n{about}"]
    for key, contenders in many.items():
        full, increment = contenders
        growth = increment.time / few[key][1].time
        speed = f"{full.time / increment.time:.0f} times as fast ({full.cpu / increment.cpu:.1f} in CPU here)"
        parts.append(
            f"{table(contenders, full)}\n\nThe incremental run is {speed}; "
            f"with {rows:,} rows it takes {growth:.2f} of its time with {rows // 10:,}."
        )
    return "\n\n".join(parts)


def _measured(changing: _Changing, runs: int) -> dict[str, Sequence[Contender]]:
    changing.create()
    try:
        return {label: _raced(changing, key, runs) for label, key in changing.kind.keys.items()}
    finally:
        changing.drop()


def _groups(contender: Contender) -> int:
    """The number of groups in a run's table. Its JSON lists each of them, which takes as long as an incremental run."""
    match = re.search(r"^twin +medium +([0-9,]+) ", contender.answer, re.MULTILINE)
    if match is None:
        raise SystemExit(f"the run has no table: {contender.answer}")
    return int(match[1].replace(",", ""))


def _raced(changing: _Changing, key: str, runs: int) -> Sequence[Contender]:
    asked = ", incremental: {by: updated_at, overlap: 1s, full: 30d}"
    label = f"key {key}, {changing.rows:,} rows"
    source = changing.engine.url.set(drivername=changing.engine.dialect.name).render_as_string(hide_password=False)
    contenders = [
        _State.of(source, changing.name, key, "").contender(f"full, {label}"),
        _State.of(source, changing.name, key, asked).contender(f"incremental, {label}"),
    ]
    for turn in range(runs + 1):
        for contender in contenders:
            run_once(contender)
            print(f"  {turn}/{runs} {contender.name}: {contender.seconds[-1]:.2f} s", file=sys.stderr)
        common(contenders, _groups)
        if turn and "full run" in contenders[1].answer:
            raise SystemExit(f"the run was not incremental: {contenders[1].answer}")
        changing.change()
    for contender in contenders:  # the first run of each read all
        del contender.seconds[0], contender.processor[0], contender.megabytes[0]
    return contenders
