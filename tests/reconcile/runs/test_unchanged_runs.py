"""Runs that change nothing: one entry of the log each, a row a day once they are old, and no slot runs twice."""

import datetime as dt
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from reconcile import config
from reconcile.app import Application
from reconcile.audit import log, proof
from reconcile.store import Store, tables, unchanged_runs
from reconcile.store import slots as stored_slots
from reconcile.store.slots import NewSlot
from reconcile.upkeep import compaction
from reconcile.views import runs as views
from tests.support.runs import ChargesProject, charge, twice
from tests.support.servers import STATE
from tests.support.store import FixedClock

pytestmark = pytest.mark.slow

START = dt.datetime(2026, 11, 21, 6, tzinfo=dt.UTC)
MINUTE, DAY = dt.timedelta(minutes=1), dt.timedelta(days=1)


class Minutely:
    """A shop whose job runs every minute under a steered clock, as `serve` does it."""

    def __init__(self, url: str, folder: Path) -> None:
        self.shop = ChargesProject.at(folder / "shop", url).add(*twice(1, "A-1"))
        self.clock = FixedClock(START)
        self.store = Store.open(url, self.shop.folder, clock=self.clock)
        self.project = config.load(self.shop.folder / "reconcile.yaml", self.shop.environ)
        self.application = Application(self.project, store=self.store)

    def run(self, times: int = 1) -> None:
        for _ in range(times):
            slot = self.clock.now
            with self.store.begin() as tx:
                stored_slots.write_down(tx, [NewSlot("nightly", slot, f"schedule:{slot:%FT%R}/0", slot)])
                [row] = stored_slots.ready(tx)
                taken = stored_slots.take(tx, row, {}, slot + MINUTE)
            assert taken is not None
            assert self.application.run_slot("nightly", slot, "schedule").status == "succeeded"
            with self.store.begin() as tx:
                stored_slots.end(tx, taken, "succeeded")
            self.application.anchor()
            self.clock.now += MINUTE

    def compact_later(self, *, limit: int = 500) -> None:
        """Compact when all runs are old enough."""
        self.clock.now += DAY
        compaction.compact(self.store, self.project.retention, limit=limit)

    def bytes(self) -> int:
        """The size of an SQLite state, without the space that the next rows use again."""
        database = sqlite3.connect(self.shop.folder / "state.db")
        database.execute("VACUUM")
        pages, page_size, free = (
            database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size", "freelist_count")
        )
        database.close()
        return int((pages - free) * page_size)

    def count(self, table: sa.Table) -> int:
        with self.store.read() as tx:
            return int(tx.connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


@pytest.fixture
def minutely(url: str, tmp_path: Path) -> Iterator[Minutely]:
    minutely = Minutely(url, tmp_path)
    with minutely.store:
        yield minutely


def test_an_unchanged_run_costs_less_than_a_kilobyte_of_state(tmp_path: Path) -> None:
    minutely = Minutely(STATE, tmp_path)
    minutely.run(5)
    minutely.compact_later()
    before = minutely.bytes()

    minutely.run(60)
    minutely.compact_later()

    assert (minutely.bytes() - before) / 60 < 1000
    minutely.store.close()


def test_an_unchanged_run_is_one_entry_that_tells_how_it_began_and_ended(minutely: Minutely) -> None:
    minutely.run(2)

    with minutely.store.read() as tx:
        *_, last = log.entries(tx)
        [*of_second] = log.entries(tx, run=last.body["run"])
    assert [entry.event for entry in of_second] == ["run.finished"]
    body = {"job": "nightly", "slot": "2026-11-21T06:01:00Z", "started": "2026-11-21T06:01:00Z", "attempt": 1}
    body |= {"run": last.body["run"], "release": minutely.project.release, "trigger": "schedule"}
    assert last.body == body | {"rules": ["double-charge"], "status": "succeeded", "failed": []}


@pytest.mark.parametrize("limit", [500, 3])
def test_old_unchanged_runs_become_a_row_a_day_and_none_of_their_slots_runs_again(
    minutely: Minutely, limit: int
) -> None:
    minutely.run(12)

    minutely.compact_later(limit=limit)

    with minutely.store.read() as tx:
        [folded] = unchanged_runs.listed(tx, "nightly", 9)
        remembered = stored_slots.kept(tx, "nightly", START)
    [first, *_] = folded.slots
    assert folded.runs == 12 - minutely.count(tables.runs)
    assert folded.runs >= 7  # the first found something, the last three are compared with, and are the last
    assert first[1] == 60_000_000
    assert {START + MINUTE * number for number in range(12)} <= remembered
    entries = log.verify(minutely.store).entries
    repeated = minutely.application.run_slot("nightly", folded.first_slot, "schedule")
    assert (repeated.repeated, repeated.status, repeated.slot) == (True, "succeeded", folded.first_slot)
    assert log.verify(minutely.store).entries == entries
    assert proof.prove(minutely.store, {}).intact


def test_later_compactions_add_to_the_row_of_a_day(minutely: Minutely) -> None:
    minutely.run(8)
    minutely.compact_later()
    minutely.clock.now = START + 10 * MINUTE
    minutely.run(8)

    minutely.compact_later()

    with minutely.store.read() as tx:
        [folded] = unchanged_runs.listed(tx, None, 9)
        slots = unchanged_runs.since(tx, "nightly", START)
    assert folded.runs == len(slots) == 16 - minutely.count(tables.runs)


def test_a_run_that_changed_something_keeps_its_row(minutely: Minutely) -> None:
    minutely.run(3)
    minutely.shop.add(charge(7, "B-1"), charge(8, "B-1", second=30))
    changed = minutely.clock.now
    minutely.run(8)

    minutely.compact_later()

    with minutely.store.read() as tx:
        slots = set(tx.connection.execute(sa.select(tables.runs.c.slot)).scalars())
    assert {START, changed} <= slots
    assert changed not in {
        slot for folded in views.unchanged(minutely.application, None, 9) for slot in [folded.last_slot]
    }


def test_signed_heads_that_later_ones_cover_go_and_the_log_is_still_proven(minutely: Minutely) -> None:
    minutely.run(12)
    before = minutely.count(tables.checkpoints)

    minutely.compact_later()

    assert minutely.count(tables.checkpoints) < before
    result = proof.prove(minutely.store, {})
    assert (result.intact, result.problem) == (True, None), json.dumps(result.remarks)
