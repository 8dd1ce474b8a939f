"""Small worlds for the tests of naive designs: one table, one rule, and the command line in forked children."""

import datetime as dt
import json
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from reconcile.findings.states import PlanState
from reconcile.store import tables
from reconcile.store.plans import StoredPlan
from tests.product.chaos.watched_world import RULES, Json, WatchedWorld, plans_of
from tests.support.crash_points import Fault
from tests.support.fork_server import Child, Ended, Warm

DAY = 86400.0


def rule(name: str, **more: Any) -> dict[str, Json]:
    """One of the four rules, changed: `clean__x` changes its cleaning."""
    changed = json.loads(json.dumps(RULES[name]))
    for key, value in more.items():
        place, _, inner = key.partition("__")
        if inner:
            changed[place][inner] = value
        else:
            changed[place] = value
    return {name: changed}


@dataclass
class Decisions:
    """A world and somebody at its command line. `ahead` is how far its clock is put forward, in seconds."""

    world: WatchedWorld
    warm: Warm
    ahead: float = 0

    def command(self, *arguments: str, faults: tuple[Fault, ...] = (), codes: tuple[int, ...] = (0, 1, 4)) -> Ended:
        """To its end, with one of these exit codes or killed where faults were asked for."""
        ended = self.begin(*arguments, faults=faults).wait(120)
        assert ended.code in codes or (faults and ended.killed), (arguments, ended.code, ended.err, ended.out)
        return ended

    def begin(self, *arguments: str, faults: tuple[Fault, ...] = ()) -> Child:
        call = ("tests.product.chaos.child:by_another_clock", self.ahead, *arguments)
        return self.warm.call(*call, cwd=self.world.folder, faults=faults, exits=True)

    def run(self, *arguments: str, **how: Any) -> Ended:
        return self.command("run", "nightly", *arguments, **how)

    def ids(self, state: str) -> list[str]:
        """The findings in this state."""
        with self.world.opened() as store, store.read() as tx:
            query = sa.select(tables.findings.c.id).where(tables.findings.c.state == state)
            return list(tx.connection.execute(query.order_by(tables.findings.c.id)).scalars())

    def plans(self, *states: PlanState) -> list[StoredPlan]:
        return [plan for plan in plans_of(self.world) if not states or plan.state in states]

    @property
    def effects(self) -> int:
        """How many changes of rows were not made from outside."""
        return len(self.world.witness.events()) - sum(self.world.others.values())

    def leases_end(self) -> None:
        """As if so much time had passed that every lease and claim there is has run out, though its owner lives."""
        long_ago = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
        with self.world.opened() as store, store.begin() as tx:
            for table, key in ((tables.leases, "name"), (tables.plans, "id")):
                for row in tx.connection.execute(sa.select(table.c[key], table.c.owner)).all():
                    if row.owner is not None:
                        ended = {"owner": row.owner | {"boot_deadline": 1}, "lease_until": long_ago}
                        tx.connection.execute(sa.update(table).where(table.c[key] == row[0]).values(ended))

    def twice(self, code: str = "a", times: int = 2) -> list[int]:
        """So many events with one code; the first is kept."""
        return [self.world.add("events", code=code, body=f"{n}") for n in range(times)]

    def edit(self, **changes: Any) -> None:
        """Change the only rule."""
        [name] = self.world.rules
        changed = rule(name, **changes)[name]
        self.world.config["rules"] = {name: changed}
        self.world.write()
