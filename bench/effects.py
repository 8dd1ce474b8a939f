"""Effects a second: through the journal, next to the bare statement with a commit a row, and next to DBOS Transact.

Every contender is a process a worker; all are ready before the clock starts, and it stops with the last.
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
    """One way to make effects: a script of bench/contenders, what it is told, and what it came to each time.

    `prepare` is given the target and a folder, and returns what the script is told besides.
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
    """Once, on a fresh table of pairs: the even ids are the copies; every flush takes so many milliseconds longer.

    Raises RuntimeError unless the copies are gone.
    """
    with _database(url, 2 * way.effects, slower) as target, tempfile.TemporaryDirectory(prefix="bench-") as folder:
        told = () if way.prepare is None else way.prepare(target, folder)
        share = way.effects // way.workers
        processes = [
            _Process(way, target, slower, str(1 + 2 * share * number), str(share), *told)
            for number in range(way.workers)
        ]
        for one in processes:
            one.expect_ready()
        for one in processes:
            one.send("\n")
        said = [one.result() for one in processes]
        _check(target, way.effects)
    way.rates.append(way.effects / max(one["seconds"] for one in said))
    way.processor.append(1000 * sum(one["processor"] for one in said) / way.effects)
    way.megabytes.append(max(one["megabytes"] for one in said))
    print(f"  {way.name}, {way.workers}: {way.rates[-1]:,.0f} a second", file=sys.stderr)


def approved(target: str, folder: str) -> tuple[str, ...]:
    """A store with an approved plan for each pair; nothing of them is done, for the source was paused."""
    state = "sqlite:///state.db" if target.startswith("sqlite") else target.replace("+psycopg", "")
    limits = {"records": 10_000_000, "share": "100%", "group": 100}
    rule = {
        "kind": "duplicates",
        "dataset": "people",
        "key": ["email"],
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
    """Other rows meanwhile: what a rule finds in its first run is never cleaned by itself, and too much more in its
    second run looks wrong."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)

    def say(*statements: str) -> None:
        with engine.begin() as connection:
            for one in statements:
                connection.execute(sa.text(one))

    others = f"insert into {TABLE} select id, 'other' || cast(id / 2 as varchar(60)), name from aside where id % 6 < 2"
    say(f"create table aside as select * from {TABLE}", f"delete from {TABLE}", others)
    yield
    say(f"delete from {TABLE}", f"insert into {TABLE} select * from aside", "drop table aside")
    engine.dispose()


def _reconcile(folder: str, *arguments: str) -> float:
    """Run the command; its peak memory in MB."""
    one, _ = took([sys.executable, "-m", "reconcile", *arguments], folder, allowed=(0, 1))
    return one.megabytes


def table(ways: Sequence[Way], bare: dict[int, Way]) -> str:
    rows = [
        "| | workers | effects/s | of the bare rate | own CPU ms an effect | peak MB |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for one in ways:
        ratio = statistics.median(ours / base for ours, base in zip(one.rates, bare[one.workers].rates, strict=True))
        rows.append(
            f"| {one.name} | {one.workers} | {one.rate:,.0f} | {ratio:.2f} | {statistics.median(one.processor):.2f} "
            f"| {statistics.median(one.megabytes):.0f} |"
        )
    return "\n".join(rows)


@contextmanager
def _database(server: str, rows: int, slower: float = 0) -> Iterator[str]:
    """A fresh database with one table of pairs of rows, dropped afterwards."""
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
        gone = 2 * effects - int(connection.execute(sa.text(f"select count(*) from {TABLE}")).scalar_one())
        copies = connection.execute(sa.text(f"select count(*) from {TABLE} where id % 2 = 0")).scalar_one()
    engine.dispose()
    if (gone, copies) != (effects, 0):
        raise RuntimeError(f"{gone} rows are gone of {effects}, and {copies} copies are left")


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
        said: dict[str, float] = json.loads(out.splitlines()[-1])
        return said


SLOWER = 1
"""Milliseconds, about what a flush takes on a disk in a cloud; the system's timer may make it more."""


def section(effects: int, runs: int, servers: Mapping[str, str]) -> str:
    """Both databases, interleaved; one bundle at a time, in batches, and next to what others do."""
    parts = []
    for name, url in servers.items():
        for slower in (0, SLOWER):
            flushes = f"a flush takes {flush.own():.2f} ms" + (f" and sleeps {slower} ms first" if slower else "")
            ways = _ways(effects, shared=not url.startswith("sqlite"))
            for _ in range(runs):
                for one in ways:
                    measure(one, url, slower)
            bare = {one.workers: one for one in ways if one.script == "effects_bare"}
            parts.append(f"### Effects, {name}: {flushes}\n\n{effects:,} deletes each time\n\n{table(ways, bare)}")
    return "\n\n".join(parts)


def _ways(effects: int, *, shared: bool) -> list[Way]:
    """Those that take long make a fifth of the effects."""
    few = max(effects // 5, 8)
    ways = [Way("bare statement, a commit a row", "effects_bare", effects, workers) for workers in (1, 4)]
    for name, told in OURS.items():
        many = few if told[0] == "1" else effects
        ways += [Way(name, "effects_reconcile", many, workers, told, approved) for workers in (1, 4)]
    for name, how in DBOS.items() if shared else ():
        ways += [Way(name, "effects_dbos", few, workers, (how,)) for workers in (1, 4)]
    return ways


def streamed(operations: int) -> str:
    """So many plans, each looked at and carried out by a process of its own: their peak memory."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, _database("sqlite", 2 * operations) as target:
        approved(target, folder)
        shown = _reconcile(folder, "plan", "--json")
        way = Way("", "effects_reconcile", operations, more=OURS["Reconcile, batches of 250"])
        out = _Process(way, target, 0, "0", "0", folder)
        out.expect_ready()
        out.send("\n")
        carried = out.result()["megabytes"]
        _check(target, operations)
    return f"{operations:,} plans: {shown:.0f} MB at most while they are shown, {carried:.0f} MB while carried out."
