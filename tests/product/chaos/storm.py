"""Workers that clean while they are killed at random, rows that keep coming, and what it came to in the end."""

import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from reconcile import points
from tests.product.chaos.watched_world import (
    DONE,
    Json,
    Tally,
    WatchedWorld,
    cleaned,
    comparable,
    hold_everything,
    plans_of,
    tally,
)
from tests.support.chance import REPORT, SECONDS, SEED
from tests.support.crash_points import Fault
from tests.support.fork_server import Child, Warm

LABELS = tuple(
    label for label in points.LABELS if label.split(".")[0] in ("store", "target", "resolve", "holds", "limits")
)


@dataclass
class Storm:
    """Four jobs, one a rule, each run again and again by a worker of its own."""

    world: WatchedWorld
    warm: Warm
    chance: random.Random
    name: str
    kills: int = 0
    restarts: int = 0
    runs: int = 0
    codes: dict[int, int] = field(default_factory=dict)
    _workers: dict[str, Child | None] = field(default_factory=dict)
    _errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        jobs = {f"job-{rule}": {"rules": [rule]} for rule in self.world.rules}
        self.world.config["jobs"] = {**self.world.config["jobs"], **jobs}
        self.world.write()
        self._workers = dict.fromkeys(jobs)

    def begin(self) -> None:
        """The first run of every rule, which cleans nothing. The many rows in no group are for the limits: they count a
        share of a table over 24 hours."""
        many = range(20_000 if SECONDS else 2_000)
        ballast: dict[str, list[Json]] = {
            "customers": [{"email": f"{n}@ballast.example", "phone": None, "city": "b"} for n in many],
            "orders": [{"ref": f"ballast {n}", "status": "ok", "amount": 1} for n in many],
            "events": [{"code": f"ballast {n}", "body": "b"} for n in many],
            "leads": [{"email": f"ballast {n}", "source": "b"} for n in many],
        }
        self.world.add_all(ballast)
        self.world.run(self.warm)

    def keep_going(self, *, until: Callable[[], bool], disturb: Callable[[], None] | None = None) -> None:
        """Kill, start again and add rows until it is so; `disturb` is called now and then."""
        while not until():
            self._fill_up()
            time.sleep(self.chance.random() * 0.25)
            chosen = self.chance.choice([worker for worker in self._workers.values() if worker is not None])
            if chosen.is_alive():
                chosen.kill()
            self._reap()
            if self.chance.random() < 0.15:
                self._spoil()
            if disturb is not None and self.chance.random() < 0.1:
                disturb()

    def _spoil(self) -> None:
        self.world.spoil(self.chance.choice((1, 2, 4)), self.chance)

    def _fill_up(self) -> None:
        for job, child in self._workers.items():
            if child is None:
                faults = [Fault(self.chance.choice(LABELS), self.chance.choice((1, 1, 2, 5)))] * (
                    self.chance.random() < 0.5
                )
                self._workers[job] = self.world.begin(self.warm, "run", job, faults=faults)
                self.runs += 1

    def _reap(self) -> None:
        for job, child in self._workers.items():
            if child is not None and not child.is_alive():
                ended = child.wait()
                self.kills += ended.killed
                self.codes[ended.code] = self.codes.get(ended.code, 0) + 1
                if ended.code == 70:
                    self._errors.append(ended.err)
                self._workers[job] = None

    def end(self, allowed: tuple[int, ...] = (0, 1, 4)) -> Tally:
        """Let everybody finish, run until nothing is left to do, which needs no person, and hold every invariant."""
        for child in self._workers.values():
            if child is not None:
                child.wait(180)
        self._reap()
        expected = comparable(cleaned(self.world.inserted))
        last = self.world.settle(self.warm, expected, codes=allowed)
        where = f"{self.name}, RECONCILE_SEED={SEED}, after {self.kills} kills; {self.codes}"
        report(self.name, tally(self.world), kills=self.kills, restarts=self.restarts, runs=self.runs)
        assert not self._errors, (where, self._errors[0][-3000:])
        assert comparable(self.world.all_rows()) == expected, (
            where,
            last.out[-2000:],
            sorted(
                {(plan.rule, plan.state.value, plan.reason) for plan in plans_of(self.world) if plan.state not in DONE}
            ),
            _difference(self.world, expected),
        )
        return hold_everything(self.world)


def _difference(world: WatchedWorld, expected: Mapping[str, Any]) -> Json:
    """Ids of rows that are wrong, by table."""
    present = comparable(world.all_rows())
    return {
        table: sorted(key for key in set(present[table]) | set(rows) if present[table].get(key) != rows.get(key))[:10]
        for table, rows in expected.items()
        if present[table] != rows
    }


def report(name: str, came: Tally, **more: int) -> None:
    """A line of the table of `make chaos`."""
    line = {"suite": name, "seed": SEED, **more, **asdict(came)}
    print(line)
    if REPORT:
        with Path(REPORT).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
