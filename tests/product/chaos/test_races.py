"""Many processes at one moment: every key has one effect, and every group keeps a survivor."""

import os
import time
from collections import Counter

import pytest

from tests.product.chaos.naive import rule
from tests.product.chaos.storm import report
from tests.product.chaos.watched_world import Places, WatchedWorld, cleaned, comparable, hold_everything, places, warm
from tests.support.chance import few
from tests.support.fork_server import Warm

__all__ = ["places", "warm"]

pytestmark = [pytest.mark.chaos, pytest.mark.server, pytest.mark.timeout(600)]
PROCESSES = few(8, 32)
KEYS = int(os.environ.get("RECONCILE_RACE_KEYS") or few(80, 2000))


def _approved(places: Places, warm: Warm, kind: str, keys: int) -> WatchedWorld:
    """A world in which so many deletes are approved, and none is done: the source was paused meanwhile."""
    world = places.world(kind, kind, rules=rule("copies"))
    world.run(warm)
    pairs = [{"code": f"code {n // 2}", "body": "b"} for n in range(2 * keys)]
    world.add_all({"events": pairs})
    assert world.begin(warm, "pause", "--source", "shop", "--reason", "a race").wait().code == 0
    world.run(warm)
    assert world.begin(warm, "resume", "--source", "shop").wait().code == 0
    assert Counter(world.waiting()) == {"approved": keys}
    return world


def _race(world: WatchedWorld, warm: Warm, processes: int, most: int) -> int:
    """Let the processes race, and return how many effects there were."""
    start = time.monotonic() + 0.05 * processes
    racing = [warm.call("tests.product.chaos.child:carry", start, most, cwd=world.folder) for _ in range(processes)]
    ended = [item.wait(300) for item in racing]
    wrong = [item for item in ended if item.code != 0]
    assert not wrong, wrong[0].err[-3000:]
    return _effects(world)


def _effects(world: WatchedWorld) -> int:
    return len(world.witness.events()) - sum(world.others.values())


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_processes_that_race_for_many_keys_make_one_effect_of_each(places: Places, warm: Warm, kind: str) -> None:
    """On a loaded machine a process may give up its turn at SQLite: those keys wait, and later runs make the rest."""
    world = _approved(places, warm, kind, KEYS)
    expected = cleaned(world.all_rows(), ("copies",))

    effects = _race(world, warm, PROCESSES, 20)

    waiting = len(world.waiting())
    assert effects + waiting == KEYS
    assert effects > KEYS / 2
    if waiting:
        world.settle(warm, expected)
    assert comparable(world.all_rows()) == comparable(expected)
    assert _effects(world) == KEYS
    report(f"race for {KEYS} keys, {kind}", hold_everything(world), runs=PROCESSES)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_processes_that_race_for_one_key_make_one_effect(places: Places, warm: Warm, kind: str) -> None:
    world = _approved(places, warm, kind, 1)

    assert _race(world, warm, PROCESSES, 250) == 1
    hold_everything(world)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_rules_that_keep_opposite_records_leave_one_of_each_group(places: Places, warm: Warm, kind: str) -> None:
    rules = {
        "firsts": rule("copies", keep=[{"first": "id"}])["copies"],
        "lasts": rule("copies", keep=[{"last": "id"}])["copies"],
    }
    world = places.world(kind, kind, rules=rules)
    world.config["jobs"] |= {name: {"rules": [name]} for name in rules}
    world.write()
    world.run(warm)
    world.add_all({"events": [{"code": f"code {n // 3}", "body": "b"} for n in range(300)]})

    for _ in range(3):
        start = time.monotonic() + 0.4
        both = [
            warm.call("tests.product.chaos.child:at_once", start, "run", name, cwd=world.folder, exits=True)
            for name in rules
        ]
        assert {item.wait(120).code for item in both} <= {0, 1, 4}
        survivors = Counter(row["code"] for row in world.rows("events").values())
        assert len(survivors) == 100, "a group has no survivor"

    world.settle(warm, world.all_rows())
    assert set(Counter(row["code"] for row in world.rows("events").values()).values()) == {1}
    hold_everything(world)
