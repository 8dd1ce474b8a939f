"""A world for the chaos suites: four tables with duplicates, four rules that clean them, a witness, and a model.

The model is a few lines of Python that know nothing of Reconcile: what the tables must hold when everything is over.
"""

from __future__ import annotations

import json
import os
import random
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from connectors.target import Cell, Change
from reconcile.audit import log
from reconcile.findings.states import PlanState
from reconcile.store import Store, tables
from reconcile.store import plans as stored
from tests.product.chaos.table_witness import Event, Witness
from tests.support.fork_server import Child, Ended, Warm
from tests.support.servers import MARIADB, POSTGRES

Json = dict[str, Any]
Rows = dict[str, dict[int, dict[str, Any]]]
PRELOAD = (
    "tests.product.chaos.child",
    *(
        "reconcile.cleaning.execution.execute",
        "reconcile.cleaning.planning.plan",
        "reconcile.cleaning.undo",
        "reconcile.cli.running",
    ),
    *(
        "reconcile.cli.decisions",
        "connectors.sql.cleaning.database",
        "psycopg",
        "pymysql",
        "connectors.sql.catalogue.tables",
    ),
)
WATCHED = ("customers", "notes", "orders", "events", "leads", "leads_kept")

_TABLES = (
    "create table customers (id integer primary key, email varchar(60), phone varchar(30), city varchar(40))",
    """create table notes (id integer primary key, customer_id integer not null, body varchar(60),
    foreign key (customer_id) references customers (id))""",
    "create table orders (id integer primary key, ref varchar(30), status varchar(20) not null, amount decimal(10, 2))",
    "create table events (id integer primary key, code varchar(30), body varchar(60))",
    "create table leads (id integer primary key, email varchar(60), source varchar(20))",
    """create table leads_kept (id integer primary key, email varchar(60), source varchar(20),
    reconcile_finding varchar(64))""",
)
_LIMITS = {"records": 100_000, "share": "100%", "group": 1000}


def _rule(dataset: str, key: str, clean: Json, **more: Any) -> Json:
    return {
        "kind": "duplicates",
        "dataset": dataset,
        "key": [key],
        "keep": [{"first": "id"}],
        "clean": {"triggers": "known", **clean},
        "approval": "none",
        "limits": _LIMITS,
        **more,
    }


RULES: dict[str, Json] = {
    "twins": _rule(
        "customers",
        "email",
        {"action": "merge", "fields": {"phone": "longest"}, "references": "repoint", "surplus": "delete"},
    ),
    "doubles": _rule("orders", "ref", {"action": "set", "values": {"status": "double"}}, where="status = 'ok'"),
    "copies": _rule("events", "code", {"action": "delete"}),
    "strays": _rule("leads", "email", {"action": "move", "to": "leads_kept"}),
}


@dataclass
class WatchedWorld:
    """A folder with a configuration, a store and a target; every address is an SQLAlchemy URL."""

    folder: Path
    store: str
    target: str
    rules: Mapping[str, Json] = field(default_factory=lambda: RULES)
    config: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.engine = sa.create_engine(self.target, poolclass=sa.NullPool)
        self.witness = Witness(self.engine)
        self._next: Counter[str] = Counter()
        self.inserted: Rows = {table: {} for table in WATCHED}
        """Every row that was ever put into the tables from outside, as it was then."""
        self.others: Counter[tuple[str, str, str]] = Counter()
        """What was done to the tables from outside: (table, what, id)."""

    @classmethod
    def make(
        cls, folder: Path, store: str, target: str, *, rules: Mapping[str, Json] = RULES, reached_by: str | None = None
    ) -> WatchedWorld:
        """Empty tables, watched. `reached_by` is another address of the target, for Reconcile: a proxy's."""
        folder.mkdir(parents=True)
        world = cls(folder, store, target, rules)
        with world.engine.begin() as connection:
            for statement in _TABLES:
                connection.execute(sa.text(statement))
        world.witness.watch(*WATCHED)
        world.config = {
            "version": 1,
            "state": store,
            "sources": {"shop": {"type": "sql", "url": reached_by or target}},
            "datasets": {
                name: {"source": "shop", "table": name, "id": "id"}
                for name in dict.fromkeys(rule["dataset"] for rule in rules.values())
            },
            "rules": dict(rules),
            "limits": {"shop": {"records": 100_000}},
            "jobs": {"nightly": {"rules": list(rules)}},
        }
        world.write()
        return world

    def write(self) -> None:
        (self.folder / "reconcile.yaml").write_text(json.dumps(self.config, indent=1), encoding="utf-8")

    # What is in it

    def add(self, table: str, **values: Any) -> int:
        """One row; its id, which counts up."""
        return self.add_all({table: [values]})[table][0]

    def add_all(self, rows: Mapping[str, list[Json]]) -> dict[str, list[int]]:
        """Rows of several tables in one transaction; their ids."""
        ids: dict[str, list[int]] = {table: self._numbered(table, some) for table, some in rows.items()}
        self.insert(rows)
        return ids

    def insert(self, rows: Mapping[str, list[Json]]) -> None:
        """Rows that have their ids."""
        with self.engine.begin() as connection:
            for table, some in rows.items():
                if some:
                    names, places = ", ".join(some[0]), ", ".join(f":{name}" for name in some[0])
                    connection.execute(sa.text(f"insert into {table} ({names}) values ({places})"), some)
        for table, some in rows.items():
            self.inserted[table].update({row["id"]: dict(row) for row in some})
            self.others.update((table, "insert", str(row["id"])) for row in some)

    def alter(self, table: str, key: int, **values: Any) -> bool:
        """A third party's edit; whether the row was there."""
        sets = ", ".join(f"{name} = :{name}" for name in values)
        return self._outside(f"update {table} set {sets} where id = :id", table, "update", key, values)

    def remove(self, table: str, key: int) -> bool:
        """A third party's delete; whether the row was there."""
        return self._outside(f"delete from {table} where id = :id", table, "delete", key, {})

    def _outside(self, statement: str, table: str, what: str, key: int, values: Json) -> bool:
        with self.engine.begin() as connection:
            met = connection.execute(sa.text(statement), {**values, "id": key}).rowcount == 1
        if met:
            self.others[table, what, str(key)] += 1
        return met

    def _numbered(self, table: str, rows: list[Json]) -> list[int]:
        for row in rows:
            self._next[table] += 1
            row["id"] = self._next[table]
        return [row["id"] for row in rows]

    def sql(self, statement: str, **values: Any) -> None:
        with self.engine.begin() as connection:
            connection.execute(sa.text(statement), values)

    def spoil(self, groups: int, chance: random.Random) -> None:
        """In each table so many groups of two or three, and as many rows that are in none; one transaction."""
        word = uuid.UUID(int=chance.getrandbits(128)).hex[:8]
        customers: list[Json] = []
        for number in range(groups):
            for copy in range(chance.choice((2, 2, 3))):
                phone = chance.choice([None, "1", "+49 30 1", "+49 30 12345"])
                customers.append({"email": f"{word}-{number}@x.example", "phone": phone, "city": f"c{copy}"})
            customers.append({"email": f"{word}-{number}-alone@x.example", "phone": None, "city": "alone"})
        chance.shuffle(customers)
        ids = self._numbered("customers", customers)
        rows = {
            "customers": customers,
            "notes": [{"customer_id": chance.choice(ids), "body": f"note {n}"} for n in range(2 * groups)],
            "orders": self._twice(groups, chance, lambda n: {"ref": f"{word}-{n}", "status": "ok", "amount": n}),
            "events": self._twice(groups, chance, lambda n: {"code": f"{word}-{n}", "body": "it's"}),
            "leads": self._twice(groups, chance, lambda n: {"email": f"{word}-{n}", "source": "fair"}),
        }
        for table in ("notes", "orders", "events", "leads"):
            self._numbered(table, rows[table])
        self.insert(rows)

    def _twice(self, groups: int, chance: random.Random, row: Any) -> list[Json]:
        rows = [row(n) for n in range(groups) for _ in range(chance.choice((2, 2, 3)))]
        rows += [row(-1 - n) for n in range(groups)]
        chance.shuffle(rows)
        return rows

    def rows(self, table: str) -> dict[int, dict[str, Any]]:
        with self.engine.connect() as connection:
            result = connection.execute(sa.text(f"select * from {table}")).mappings()
            return {row["id"]: dict(row) for row in result}

    def all_rows(self) -> Rows:
        return {table: self.rows(table) for table in WATCHED}

    def close(self) -> None:
        self.engine.dispose()

    # Running it

    def run(self, warm: Warm, *, code: int | tuple[int, ...] = (0, 1), more: tuple[str, ...] = (), **how: Any) -> Ended:
        """`reconcile run nightly` to its end, with one of these exit codes."""
        ended = self.begin(warm, "run", "nightly", *more, **how).wait(120)
        expected = code if isinstance(code, tuple) else (code,)
        assert ended.code in expected, (ended.code, ended.err[-3000:], ended.out[-3000:])
        return ended

    def begin(self, warm: Warm, *arguments: str, **how: Any) -> Child:
        return warm.cli(*arguments, cwd=self.folder, **how)

    def settle(self, warm: Warm, expected: Rows, *, codes: Collection[int] = (0, 1, 4)) -> Ended:
        """Run until the tables are as expected and nothing waits; each time hours later, for what waits its turn.

        In the end each time a minute later: what is tried again is a few plans a minute, and a long storm leaves
        hundreds. A run may fail while a database that took nothing is left alone, if people had a message.
        Returns the last run; the caller compares.
        """
        for hours in (0, 0, 1, 2, 4, 8, 12, 16, *(19 + run / 60 for run in range(600))):
            ended = warm.call(
                "tests.product.chaos.child:by_another_clock",
                hours * 3600,
                "run",
                "nightly",
                cwd=self.folder,
                exits=True,
            ).wait(180)
            is_put_off = ended.code == 3 and "Too many retries in this minute" in ended.out
            is_put_off |= (
                ended.code == 3 and "Nothing is sent to source" in ended.out and self.target_troubles() == (1, 0)
            )
            assert ended.code in codes or is_put_off, (hours, ended.code, ended.err[-3000:], ended.out[-2000:])
            if comparable(self.all_rows()) == comparable(expected) and not self.waiting():
                break
        return ended

    def target_troubles(self) -> tuple[int, int]:
        """How many troubles of the target began and ended; people are told each."""
        with self.opened() as store, store.read() as tx:
            begun, ended = (
                sum((entry.body or {})["subject"].startswith("target:") for entry in log.entries(tx, event=event))
                for event in ("trouble.begun", "trouble.ended")
            )
        return begun, ended

    def waiting(self) -> list[str]:
        """What is neither over nor a person's: the states."""
        with self.opened() as store, store.read() as tx:
            return [item.state.value for item in stored.find(tx, stored.PlanFilter(states=ALIVE))]

    @contextmanager
    def opened(self) -> Iterator[Store]:
        with Store.open(self.store, self.folder) as store:
            yield store


# The model


def cleaned(rows: Rows, only: Collection[str] = tuple(RULES)) -> Rows:
    """What the four rules make of these rows, told in plain Python; `only` some of them."""
    after: Rows = {table: {key: dict(row) for key, row in of.items()} for table, of in rows.items()}
    if "twins" in only:
        _merge(after)
    if "doubles" in only:
        for _, surplus in _groups({k: r for k, r in after["orders"].items() if r["status"] == "ok"}, "ref"):
            for member in surplus:
                after["orders"][member]["status"] = "double"
    for _, surplus in _groups(after["events"], "code") if "copies" in only else ():
        for member in surplus:
            del after["events"][member]
    for _, surplus in _groups(after["leads"], "email") if "strays" in only else ():
        for member in surplus:
            after["leads_kept"][member] = after["leads"].pop(member) | {"reconcile_finding": None}
    return after


def _merge(after: Rows) -> None:
    """The keeper gets the longest phone and every note; the others go."""
    for keeper, surplus in _groups(after["customers"], "email"):
        phones = [after["customers"][item]["phone"] for item in (keeper, *surplus)]
        collected = [phone for phone in phones if phone is not None]
        if collected:
            after["customers"][keeper]["phone"] = max(collected, key=len)
        for note in after["notes"].values():
            if note["customer_id"] in surplus:
                note["customer_id"] = keeper
        for member in surplus:
            del after["customers"][member]


def comparable(rows: Rows) -> Rows:
    """Without what no model knows: the name of the finding."""
    for row in rows["leads_kept"].values():
        row["reconcile_finding"] = None
    return rows


def _groups(rows: Mapping[int, Mapping[str, Any]], key: str) -> Iterator[tuple[int, list[int]]]:
    """(keeper, surplus): the first by id, and the others with the same key."""
    ids_by_key: dict[Any, list[int]] = defaultdict(list)
    for number in sorted(rows):
        if rows[number][key] is not None:
            ids_by_key[rows[number][key]].append(number)
    for keeper, *surplus in list(ids_by_key.values()):
        if surplus:
            yield keeper, surplus


# What must hold whatever happened


@dataclass(frozen=True)
class Tally:
    """What a world came to, for the table at the end of a chaos run."""

    effects: int
    double: int
    lost: int
    quarantined: int
    verified: bool


def _named(change: Change) -> tuple[str, str, str]:
    """(table, what, id) as the witness would say it."""
    what = "insert" if change.before is None else "delete" if change.after is None else "update"
    cells: dict[str, Cell] = dict(change.row.key)
    cell = cells["id"]
    assert cell is not None
    return change.row.table.rpartition(".")[2], what, cell[1]


def _counted(events: list[Event]) -> Counter[tuple[str, str, str]]:
    return Counter((event.table, event.what, str(event.row["id"])) for event in events)


DONE = (PlanState.SUCCEEDED, PlanState.COMPENSATING, PlanState.COMPENSATED)
ALIVE = (
    PlanState.APPROVED,
    PlanState.CLAIMED,
    PlanState.SENT,
    PlanState.RETRY_WAIT,
    PlanState.UNKNOWN,
    PlanState.COMPENSATING,
)
"""Something is still to come by itself."""
WAITING = (PlanState.CLAIMED, PlanState.SENT, PlanState.UNKNOWN)


def plans_of(world: WatchedWorld, finding: str | None = None) -> list[stored.StoredPlan]:
    """Every plan there is, or those of a finding; the oldest first."""
    with world.opened() as store, store.read() as tx:
        return list(stored.find(tx, stored.PlanFilter(finding=finding)))


def tally(world: WatchedWorld, *, in_flight: bool = False) -> Tally:
    """Compare what the store says was done with what the target counted, but for what was done from outside.

    `in_flight`: plans that are sent or in doubt may have been done or not, once.
    """
    result = plans_of(world)
    with world.opened() as store:
        verified = in_flight or log.verify(store).intact
    counter: Counter[tuple[str, str, str]] = Counter()
    for item in result:
        if item.state in DONE:
            counter.update(_named(change) for change in item.content.changes if not change.is_guard)
    counted = _counted(world.witness.events())
    assert not world.others - counted, "the witness did not see what was done from outside"
    counted -= world.others
    if in_flight:  # what stands in the target of these is no surprise
        for item in result:
            if item.state in (PlanState.SENT, PlanState.UNKNOWN, PlanState.QUARANTINED):
                named = Counter(_named(change) for change in item.content.changes if not change.is_guard)
                counted -= (counted - counter) & named
    double = sum((counted - counter).values())
    lost = sum((counter - counted).values())
    quarantined = sum(entry.state is PlanState.QUARANTINED for entry in result)
    return Tally(sum(counter.values()), double, lost, quarantined, verified)


def hold_everything(world: WatchedWorld) -> Tally:
    """I1, I2, I4, I9 and I11 of a world in which everything is over; returns what it came to."""
    came = tally(world)
    assert (came.double, came.lost) == (0, 0), came
    assert came.verified, "the audit log does not verify"
    with world.opened() as store, store.read() as tx:
        for item in stored.find(tx, stored.PlanFilter()):
            assert item.state not in WAITING, (item.id, item.state, item.reason)
        held = tx.connection.execute(
            sa.select(tables.holds.c.plan, tables.plans.c.state).join(
                tables.plans, tables.plans.c.id == tables.holds.c.plan
            )
        ).all()
        assert all(state in ("quarantined", "retry_wait") for _, state in held), held
        wrong = tx.connection.execute(
            sa.select(tables.effects.c.key, tables.effects.c.state, tables.plans.c.state)
            .join(tables.plans, tables.plans.c.id == tables.effects.c.plan)
            .where(tables.effects.c.state != tables.plans.c.state)
        ).all()
        assert not wrong, wrong
    return came


# Places


def warmed() -> Warm:
    """A fork server that has loaded what the chaos suites run."""
    return Warm(PRELOAD)


KINDS = ("sqlite", "postgres", "mariadb")


class Places:
    """Fresh databases on the servers, all dropped at the end."""

    def __init__(self, folder: Path, postgres: str = POSTGRES) -> None:
        self._folder = folder
        self._servers = {"postgres": postgres, "mariadb": MARIADB}
        self._made: list[tuple[str, str]] = []
        self._count = 0

    def fresh(self, kind: str) -> str:
        """The address of an empty database of this kind; it skips the test where there is no server."""
        self._count += 1
        if kind == "sqlite":
            return f"sqlite:///{self._folder / f'{self._count}.db'}"
        name = f"reconcile_{uuid.uuid4().hex[:12]}"
        try:
            self._admin(kind, f"create database {name}")
        except sa.exc.OperationalError as error:
            if os.environ.get("CI"):
                pytest.fail(f"no {kind} server: {error.orig}")
            pytest.skip(f"no {kind} server: {error.orig}")
        self._made.append((kind, name))
        return sa.make_url(self._servers[kind]).set(database=name).render_as_string(hide_password=False)

    def folder(self) -> Path:
        """A folder that is not there yet."""
        self._count += 1
        return self._folder / f"world-{self._count}"

    def world(self, store: str, target: str, **how: Any) -> WatchedWorld:
        """A world with a store and a target of these kinds."""
        return WatchedWorld.make(self.folder(), self.fresh(store), self.fresh(target), **how)

    def close(self) -> None:
        for kind, name in self._made:
            self._admin(kind, f"drop database {name}" + (" with (force)" if kind == "postgres" else ""))

    def _admin(self, kind: str, statement: str) -> None:
        engine = sa.create_engine(
            self._servers[kind],
            isolation_level="AUTOCOMMIT",
            poolclass=sa.NullPool,
            connect_args={"connect_timeout": 5},
        )
        with engine.connect() as connection:
            connection.execute(sa.text(statement))


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with warmed() as server:
        yield server


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    places = Places(tmp_path)
    yield places
    places.close()
