"""Effects per second: through the journal, compared with the bare statement with a commit per row and DBOS Transact.

Every contender runs one process per worker; the clock starts when all are ready and stops with the last.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from bench import flush
from bench.measure import took

HERE = Path(__file__).parent
TABLE = "people"
OURS = {
    "Reconcile, one at a time, journal and all": ("1", "together"),
    "Reconcile, a transaction of the target each": ("250", "apart"),
    "Reconcile, batches of 250": ("250", "together"),
}
DBOS = {"DBOS, steps of one workflow": "steps", "DBOS, a workflow each": "workflows"}


@dataclass
class Way:
    """One way to make effects: a script of bench/contenders, its arguments, and its results.

    `prepare` takes the target and a folder, and returns more arguments for the script.
    """

    name: str
    script: str
    effects: int
    workers: int = 1
    more: tuple[str, ...] = ()
    prepare: Callable[[str, str], Sequence[str]] | None = None
    rates: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)


def measure(way: Way, url: str, slower: float = 0) -> None:
    """Measure once, on a fresh table of pairs: the even ids are the copies. A flush takes `slower` milliseconds longer.

    Raises RuntimeError unless the copies are deleted.
    """
    with _database(url, 2 * way.effects, slower) as target, tempfile.TemporaryDirectory(prefix="bench-") as folder:
        arguments = () if way.prepare is None else way.prepare(target, folder)
        share = way.effects // way.workers
        processes = [
            _Process(way, target, slower, str(1 + 2 * share * number), str(share), *arguments)
            for number in range(way.workers)
        ]
        for process in processes:
            process.expect_ready()
        for process in processes:
            process.send("\n")
        results = [process.result() for process in processes]
        _check(target, way.effects)
    way.rates.append(way.effects / max(result["seconds"] for result in results))
    way.processor.append(1000 * sum(result["processor"] for result in results) / way.effects)
    way.megabytes.append(max(result["megabytes"] for result in results))
    print(f"  {way.name}, {way.workers}: {way.rates[-1]:,.0f} a second", file=sys.stderr)


def approved(target: str, folder: str) -> tuple[str, ...]:
    """A store with an approved plan for each pair; none is carried out, because the source was paused."""
    state = "sqlite:///state.db" if target.startswith("sqlite") else target.replace("+psycopg", "")
    limits = {"records": 10_000_000, "share": "100%", "group": 100}
    rule = {
        "kind": "duplicates",
        "dataset": "people",
        "key": ["email"],
        "max_share": "100%",
        "keep": [{"first": "id"}],
        "clean": {"action": "delete"},
        "approval": "none",
        "limits": limits,
    }
    configuration = {
        "version": 1,
        "state": state,
        "sources": {"shop": {"type": "sql", "url": target}},
        "datasets": {"people": {"source": "shop", "table": TABLE, "id": "id"}},
        "rules": {"twice": rule},
        "limits": {"shop": {"records": 10_000_000}},
        "jobs": {"nightly": {"rules": ["twice"]}},
    }
    (Path(folder) / "reconcile.yaml").write_text(json.dumps(configuration))
    _reconcile(folder, "pause", "--source", "shop", "--reason", "to be measured")
    with _others(target):
        _reconcile(folder, "run", "nightly")
    _reconcile(folder, "run", "nightly")
    _reconcile(folder, "resume", "--source", "shop")
    return (folder,)


@contextmanager
def _others(url: str) -> Iterator[None]:
    """Other rows for the first run: a rule never cleans findings of its first run automatically, and too many more
    findings in its second run look wrong."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)

    def say(*statements: str) -> None:
        with engine.begin() as connection:
            for statement in statements:
                connection.execute(sa.text(statement))

    other_rows = (
        f"insert into {TABLE} select id, 'other' || cast(id / 2 as varchar(60)), name from aside where id % 6 < 2"
    )
    say(f"create table aside as select * from {TABLE}", f"delete from {TABLE}", other_rows)
    yield
    say(f"delete from {TABLE}", f"insert into {TABLE} select * from aside", "drop table aside")
    engine.dispose()


def _reconcile(folder: str, *arguments: str) -> float:
    """Run the command; return its peak memory in MB."""
    measured, _ = took([sys.executable, "-m", "reconcile", *arguments], folder, allowed=(0, 1))
    return measured.megabytes


def table(ways: Sequence[Way], bare: dict[int, Way]) -> str:
    rows = [
        "| | workers | effects/s | of the bare rate | own CPU ms an effect | peak MB |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for way in ways:
        ratio = statistics.median(ours / base for ours, base in zip(way.rates, bare[way.workers].rates, strict=True))
        rows.append(
            f"| {way.name} | {way.workers} | {way.rate:,.0f} | {ratio:.2f} | {statistics.median(way.processor):.2f} "
            f"| {statistics.median(way.megabytes):.0f} |"
        )
    return "\n".join(rows)


@contextmanager
def _database(server: str, rows: int, slower: float = 0) -> Iterator[str]:
    """Create a database with one table of pairs of rows; drop it afterwards."""
    pairs = [{"id": n + 1, "email": f"someone{n // 2}@example.com", "name": f"Someone {n}"} for n in range(rows)]
    if server.startswith("sqlite"):
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            url = f"sqlite:///{folder}/shop.db"
            _fill(url, pairs)
            yield url
        return
    name = f"bench_{uuid.uuid4().hex[:10]}"
    admin = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(sa.text(f"create database {name}"))
    try:
        url = sa.make_url(server).set(database=name).render_as_string(hide_password=False)
        _fill(url, pairs)
        with admin.connect() as connection:
            for setting, value in flush.settings(slower).items():
                connection.execute(sa.text(f"alter database {name} set {setting} = {value}"))
        yield url
    finally:
        with admin.connect() as connection:
            connection.execute(sa.text(f"drop database {name} with (force)"))
        admin.dispose()


def _fill(url: str, rows: Sequence[dict[str, object]]) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        make = f"create table {TABLE} (id integer primary key, email varchar(60) not null, name varchar(60) not null)"
        connection.execute(sa.text(make))
        connection.execute(sa.text(f"insert into {TABLE} values (:id, :email, :name)"), rows)
    engine.dispose()


def _check(url: str, effects: int) -> None:
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        deleted = 2 * effects - int(connection.execute(sa.text(f"select count(*) from {TABLE}")).scalar_one())
        copies = connection.execute(sa.text(f"select count(*) from {TABLE} where id % 2 = 0")).scalar_one()
    engine.dispose()
    if (deleted, copies) != (effects, 0):
        raise RuntimeError(f"{deleted} rows of {effects} are deleted, and {copies} copies are left")


class _Process:
    def __init__(self, way: Way, url: str, slower: float, *arguments: str) -> None:
        script = str(HERE / "contenders" / f"{way.script}.py")
        self._process = subprocess.Popen(
            [sys.executable, script, url, TABLE, *arguments, *way.more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(HERE.parent)} | flush.environment(slower),
        )

    def expect_ready(self) -> None:
        out = self._process.stdout
        if out is None or out.readline() != "ready\n":
            self._process.wait()
            raise RuntimeError(f"a contender failed: {self._process.args}")

    def send(self, text: str) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(text)
            self._process.stdin.flush()

    def result(self) -> dict[str, float]:
        out, _ = self._process.communicate()
        if self._process.returncode:
            raise RuntimeError(f"a contender failed: {self._process.args}")
        result: dict[str, float] = json.loads(out.splitlines()[-1])
        return result


SLOWER = 1
"""Milliseconds, about the time of a flush on a cloud disk; the system's timer may make it longer."""


def section(effects: int, runs: int, servers: Mapping[str, str]) -> str:
    """Both databases, interleaved: one plan at a time, in batches, and compared with others."""
    parts = []
    for name, url in servers.items():
        for slower in (0, SLOWER):
            heading = f"### Effects, {name}" + (f", a flush sleeps {slower} ms first" if slower else "")
            ways = _ways(effects, shared=not url.startswith("sqlite"))
            for _ in range(runs):
                for way in ways:
                    measure(way, url, slower)
            bare = {way.workers: way for way in ways if way.script == "effects_bare"}
            about = f"{effects:,} deletes each time. A flush of this disk takes {flush.own():.2f} ms."
            parts.append(f"{heading}\n\n{about}\n\n{table(ways, bare)}")
    return "\n\n".join(parts)


def _ways(effects: int, *, shared: bool) -> list[Way]:
    """All ways; slow ones make a fifth of the effects."""
    few = max(effects // 5, 8)
    ways = [Way("bare statement, a commit a row", "effects_bare", effects, workers) for workers in (1, 4)]
    for name, arguments in OURS.items():
        many = few if arguments[0] == "1" else effects
        ways += [Way(name, "effects_reconcile", many, workers, arguments, approved) for workers in (1, 4)]
    for name, how in DBOS.items() if shared else ():
        ways += [Way(name, "effects_dbos", few, workers, (how,)) for workers in (1, 4)]
    return ways


def streamed(operations: int) -> str:
    """The peak memory of a process that shows so many plans, and of one that carries them out."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, _database("sqlite", 2 * operations) as target:
        approved(target, folder)
        planning = _reconcile(folder, "plan", "--json")
        way = Way("", "effects_reconcile", operations, more=OURS["Reconcile, batches of 250"])
        out = _Process(way, target, 0, "0", "0", folder)
        out.expect_ready()
        out.send("\n")
        carried = out.result()["megabytes"]
        _check(target, operations)
    return f"{operations:,} plans: {planning:.0f} MB at most while they are shown, {carried:.0f} MB while carried out."
