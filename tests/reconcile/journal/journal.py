"""A small world for tests of the journal: a store with findings and runs, and plans by hand."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from connectors.target import Change, RowName
from reconcile.audit import log
from reconcile.findings.plan import Operation, Plan
from reconcile.findings.states import PlanState
from reconcile.journal import effects, holds
from reconcile.journal.effects import ClaimedPlan, Sent
from reconcile.store import Store, Transaction, plans, tables
from rules.values import canonical_json
from tests.support.servers import POSTGRES, STATE, scratch_database

KEY = bytes(range(32))
NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
TTL = dt.timedelta(minutes=5)
TARGET = "postgresql:7300000000000000000:shop"
RUN = "run1_test"


def record(name: str) -> str:
    return canonical_json((name,))


def plan(
    finding: str,
    *surplus: str,
    keeper: str = "keeper",
    effect: str = "delete",
    fingerprint: str = "f1",
    generation: int = 1,
    target: str = TARGET,
    money: dict[str, str] | None = None,
    undoes: str | None = None,
    note: str = "",
    rule: str = "twins",
) -> Plan:
    """A plan that deletes these records; `note` makes it another plan with the same operations."""
    operations = tuple(Operation(record(member), effect, fingerprint, generation) for member in surplus)
    changes = tuple(
        Change(
            RowName("customers", (("id", ("t", member)),)), {"id": ("t", member), "note": ("t", note)}, None, "surplus"
        )
        for member in surplus
    )
    return Plan(
        finding,
        rule,
        "customers",
        "shop",
        target,
        "customers",
        "delete",
        record(keeper),
        operations,
        changes,
        "catalogue",
        money=money or {},
        undoes=undoes,
    )


@dataclass
class Journal:
    """A store whose clock is `now`, with one run and as many findings as are asked for."""

    store: Store
    now: dt.datetime = NOON
    known: set[str] = field(default_factory=set)

    @classmethod
    def at(cls, url: str, root: Path, *, seals: Any = None) -> Journal:
        journals: list[Journal] = []
        store = Store.open(url, root, key=KEY, clock=lambda: journals[0].now if journals else NOON, seals=seals)
        journals.append(cls(store))
        with store.begin(unchecked=True) as tx:
            empty(tx)
            start(tx)
        return journals[0]

    @contextmanager
    def begin(self) -> Iterator[Transaction]:
        with self.store.begin() as tx:
            yield tx

    def tick(self, **more: float) -> None:
        self.now += dt.timedelta(**more)

    def propose(self, *proposed: Plan, policy: str = "none", **more: Any) -> list[str]:
        with self.begin() as tx:
            self._know(tx, {item.finding for item in proposed})
            created = effects.propose(tx, proposed, run=RUN, release="r1", policy=policy, **more)
            if policy == "none":
                effects.approved(tx, created, by="reconcile")
        return created

    def claim(self, *ids: str, ttl: dt.timedelta = TTL) -> list[ClaimedPlan]:
        with self.begin() as tx:
            return effects.claim(tx, ids, ttl=ttl)

    def send(self, *ids: str) -> Sent:
        """Claim, hold and send; those with a conflict of holds are given back."""
        with self.begin() as tx:
            held = effects.hold(tx, effects.claim(tx, ids, ttl=TTL))
            for item, conflict in held.waiting:
                effects.released(tx, [item], str(conflict))
            return effects.send(tx, held.taken)

    def do(self, *ids: str) -> list[ClaimedPlan]:
        """Execute them at once, all of them well."""
        sent = self.send(*ids).sent
        with self.begin() as tx:
            return effects.succeeded(tx, [(item, None) for item in sent])

    def get(self, name: str) -> plans.StoredPlan:
        with self.store.read() as tx:
            return plans.get(tx, name)

    def state(self, name: str) -> PlanState:
        return self.get(name).state

    def rows(self, table: sa.Table) -> list[dict[str, Any]]:
        with self.store.read() as tx:
            return [dict(row) for row in tx.connection.execute(sa.select(table)).mappings()]

    def events(self) -> list[str]:
        with self.store.read() as tx:
            return [entry.event for entry in log.entries(tx)]

    def proven(self) -> None:
        """The log is whole, tells every state, and operations stand where their plans do."""
        told: dict[str, str | None] = {}
        with self.store.read() as tx:
            assert log.verify_in(tx).intact
            for entry in log.entries(tx):
                body = entry.body
                moves = [*body.get("plans", [])]
                if "to" in body:
                    moves = [*moves, [body["plan"], body["from"], body["to"]]]
                moves += [[name, *states] for kind, name, *states in body.get("also", []) if kind == "plan"]
                for name, before, after in moves:
                    assert told.get(name) == before, (entry.event, name, told.get(name), before)
                    told[name] = after
            states = dict(tx.connection.execute(sa.select(tables.plans.c.id, tables.plans.c.state)).all())
            of_operations = tx.connection.execute(sa.select(tables.effects.c.plan, tables.effects.c.state)).all()
        assert told == states
        assert all(states[name] == state for name, state in of_operations)

    def _know(self, tx: Transaction, names: set[str]) -> None:
        know(tx, names - self.known)
        self.known |= names


def empty(tx: Transaction) -> None:
    """As a new store is: a database is made once a module, and used by one test after the other."""
    if tx.connection.execute(sa.select(tables.releases.c.hash)).first() is None:
        return
    for table in reversed(tables.metadata.sorted_tables):
        if table.name not in ("meta", "audit_head"):
            tx.connection.execute(sa.delete(table))
    tx.connection.execute(sa.update(tables.audit_head).values(seq=0, head=""))


@pytest.fixture(scope="module")
def effects_postgres() -> Iterator[str]:
    """One PostgreSQL database for the tests of a module, one after the other."""
    yield from scratch_database(POSTGRES)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    """On both stores; at the end the log tells every state."""
    url = STATE if request.param == "sqlite" else str(request.getfixturevalue("effects_postgres"))
    item = Journal.at(url, tmp_path)
    yield item
    item.proven()
    item.store.close()


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Journal]:
    """On SQLite alone, for what the database has no part in."""
    item = Journal.at(STATE, tmp_path)
    yield item
    item.proven()
    item.store.close()


def start(tx: Transaction) -> None:
    tx.connection.execute(sa.insert(tables.releases).values(hash="r1", config={}, first_seen=tx.now))
    row = {"id": RUN, "job": "nightly", "slot": tx.now, "release": "r1", "trigger": "manual", "status": "running"}
    tx.connection.execute(sa.insert(tables.runs).values(row | {"attempt": 1, "fence": 1, "started": tx.now}))


def know(tx: Transaction, names: set[str]) -> None:
    """Findings with these ids."""
    fixed: dict[str, Any] = {"rule": "twins", "kind": "duplicates", "dataset": "customers", "state": "open"}
    fixed |= {"severity": 3, "version": 1, "key": [], "payload": {}, "money": {}, "records": 2}
    fixed |= {"first_run": RUN, "first_seen": tx.now, "last_run": RUN, "last_seen": tx.now, "state_since": tx.now}
    rows = [fixed | {"id": name, "fingerprint": f"mark-{name}"} for name in sorted(names)]
    if rows:
        tx.connection.execute(sa.insert(tables.findings), rows)


def hold(tx: Transaction, plan: str, target: str, keeper: Sequence[str], surplus: Sequence[str]) -> None:
    """Hold these records for a plan; raises HoldConflict."""
    for conflict in holds.take_all(tx, [holds.HoldRequest(plan, target, tuple(keeper), tuple(surplus))]):
        raise conflict


def held(journal: Journal, plan: str) -> dict[str, str]:
    """The records a plan holds, with their roles."""
    return {row["record"]: row["role"] for row in journal.rows(tables.holds) if row["plan"] == plan}


def claim_due(tx: Transaction, source: str, limit: int, *, ttl: dt.timedelta) -> list[ClaimedPlan]:
    """Claim up to `limit` due plans of a source; each worker gets different ones."""
    return effects.claim(tx, plans.due_ids(tx, source, limit, lock=True), ttl=ttl)
