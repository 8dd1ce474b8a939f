"""SIGKILL at every named place, on every kind of database: the next command finishes the work, nothing is done twice.

First each scenario runs through without a kill and says which places it comes by, and how often; then it is killed at
each of them, the first or the last time it gets there (both in `make chaos`), and gone on with. A place that is never
reached fails.
"""

import copy
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from reconcile import points
from tests.product.chaos.storm import report
from tests.product.chaos.watched_world import (
    RULES,
    Places,
    Rows,
    Tally,
    WatchedWorld,
    cleaned,
    comparable,
    hold_everything,
    places,
    warm,
)
from tests.support.chance import SECONDS, SEED
from tests.support.crash_points import Fault
from tests.support.fork_server import Warm

__all__ = ["places", "warm"]

pytestmark = [pytest.mark.chaos, pytest.mark.server, pytest.mark.timeout(900)]

REACHED: Counter[str] = Counter()
"""Which places killed a process, over all tests of this module."""
CAME: list[Tally] = []
"""What each killed world came to."""
KNOWN = 1
"""So many places at which an earlier scenario was killed kill a scenario, too, in the short form."""


@dataclass(frozen=True)
class Scenario:
    """`prepare` brings a world to where the command is due, and says what its tables must hold once it is done."""

    name: str
    prepare: Callable[[WatchedWorld, Warm], tuple[tuple[str, ...], Rows]]
    rules: dict[str, dict[str, object]]
    last_too: bool = False


MERGE = {"twins": RULES["twins"]}
ASKING = {"twins": RULES["twins"] | {"approval": "required"}}


def _by_itself(world: WatchedWorld, warm: Warm) -> tuple[tuple[str, ...], Rows]:
    world.run(warm)
    world.spoil(2, random.Random(SEED))
    return ("run", "nightly"), cleaned(world.all_rows(), world.rules)


def _proposed(world: WatchedWorld, warm: Warm) -> tuple[tuple[str, ...], Rows]:
    world.run(warm)
    world.spoil(1, random.Random(SEED))
    return ("run", "nightly"), world.all_rows()


def _approved(world: WatchedWorld, warm: Warm) -> tuple[tuple[str, ...], Rows]:
    world.spoil(1, random.Random(SEED))
    world.run(warm)
    waiting = json.loads(warm.cli("findings", "--json", cwd=world.folder).wait().out)
    [item] = waiting
    return ("approve", item["id"]), cleaned(world.all_rows(), world.rules)


def _in_doubt(world: WatchedWorld, warm: Warm) -> tuple[tuple[str, ...], Rows]:
    """What a kill between the two commits left; the command is the recovery."""
    _by_itself(world, warm)
    expected = cleaned(world.all_rows(), world.rules)
    assert world.begin(warm, "run", "nightly", faults=[Fault("target.committed")]).wait().killed
    return ("run", "nightly"), expected


def _undone(world: WatchedWorld, warm: Warm) -> tuple[tuple[str, ...], Rows]:
    world.run(warm)
    world.spoil(1, random.Random(SEED))
    before = world.all_rows()
    document = json.loads(world.run(warm, more=("--json",)).out)
    assert comparable(world.all_rows()) == cleaned(before, world.rules)
    return ("undo", "--run", document["run"]), before


WHOLE = Scenario("a run that cleans by itself", _by_itself, MERGE)
RECOVERY = Scenario("a recovery", _in_doubt, MERGE)
SERVERS = [
    (("postgres", "postgres"), ("store", "target", "resolve", "holds", "limits")),
    (("sqlite", "mariadb"), ("target",)),
]
"""(store and target, the kinds of places that are inside of their transactions)."""
SCENARIOS = [
    Scenario("a run that cleans by itself", _by_itself, RULES, last_too=True),
    Scenario("a run that proposes", _proposed, ASKING),
    Scenario("an approval", _approved, ASKING),
    Scenario("a recovery", _in_doubt, MERGE),
    Scenario("an undo", _undone, MERGE),
]


def _killed_times(label: str, times: int) -> list[int]:
    """The first and the last of so many times; one of the two in the short form."""
    both = sorted({1, times})
    return both if SECONDS else [random.Random(f"{SEED} {label}").choice(both)]


def _chosen(labels: Iterable[str], scenario: Scenario) -> list[str]:
    """All labels; in the short form those where nothing was killed yet, and a few of the others."""
    everywhere = sorted(labels)
    if SECONDS:
        return everywhere
    killed = [label for label in everywhere if REACHED[label]]
    again = random.Random(f"{SEED} {scenario.name}").sample(killed, min(KNOWN, len(killed)))
    return [label for label in everywhere if not REACHED[label] or label in again]


@dataclass
class Stage:
    """Worlds in which the command of a scenario is due. Files are put back for each kill, databases prepared anew."""

    places: Places
    warm: Warm
    scenario: Scenario
    kinds: tuple[str, str]
    _kept: tuple[WatchedWorld, tuple[str, ...], Rows, dict[Path, bytes]] | None = None

    def due(self) -> tuple[WatchedWorld, tuple[str, ...], Rows]:
        """A world, the command, and what the tables must hold after it."""
        if self._kept is None:
            world = _world(self.places, self.scenario, *self.kinds)
            command, expected = self.scenario.prepare(world, self.warm)
            if self.kinds != ("sqlite", "sqlite"):
                return world, command, expected
            folder = world.folder.parent
            files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
            self._kept = world, command, expected, files
        world, command, expected, files = self._kept
        for path in world.folder.parent.rglob("*"):
            if path.is_file() and path not in files:
                path.unlink()
        for path, content in files.items():
            path.write_bytes(content)
        return world, command, copy.deepcopy(expected)


def _world(places: Places, scenario: Scenario, store: str, target: str) -> WatchedWorld:
    world = places.world(store, target, rules=scenario.rules)
    world.config["audit"] = {"anchors": {"file": {"type": "file", "path": "anchors.jsonl"}}}
    world.write()
    return world


def _reached(stage: Stage) -> Counter[str]:
    """Which places the scenario comes by without a kill, and how often; it must come out as the model says."""
    world, command, expected = stage.due()
    log = world.folder / "reached"
    ended = world.begin(stage.warm, *command, log=log).wait(120)
    assert ended.code in (0, 1, 4), (ended.code, ended.err[-3000:], ended.out[-2000:])
    assert comparable(world.all_rows()) == comparable(expected)
    hold_everything(world)
    return Counter(log.read_text().split())


def _killed_at(stage: Stage, fault: Fault) -> None:
    world, command, expected = stage.due()
    warm = stage.warm
    where = f"{stage.scenario.name}, {' and '.join(stage.kinds)}, killed at {fault}, RECONCILE_SEED={SEED}"
    ended = world.begin(warm, *command, faults=[fault]).wait(120)
    assert ended.killed, (where, ended.code, ended.err[-2000:])
    REACHED[fault.label] += 1
    left = str(world.all_rows())
    again = None if command[0] == "run" else warm.cli(*command, cwd=world.folder).wait(120)
    after = world.settle(warm, expected)
    assert comparable(world.all_rows()) == comparable(expected), (where, left, again, after.err[-2000:])
    try:
        CAME.append(hold_everything(world))
    except AssertionError as error:
        raise AssertionError(where) from error


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda item: item.name)
def test_killed_at_any_named_place_it_is_finished_once(places: Places, warm: Warm, scenario: Scenario) -> None:
    stage = Stage(places, warm, scenario, ("sqlite", "sqlite"))
    reached = _reached(stage)
    assert reached, "it comes by no place at all"

    for label in _chosen(reached, scenario):
        for nth in _killed_times(label, reached[label]) if scenario.last_too else [1]:
            _killed_at(stage, Fault(label, nth))


@pytest.mark.parametrize(("kinds", "inside"), SERVERS, ids="+".join)
@pytest.mark.parametrize("scenario", [WHOLE, RECOVERY], ids=lambda item: item.name)
def test_killed_at_any_place_inside_a_transaction_of_a_server_it_is_finished_once(
    places: Places, warm: Warm, scenario: Scenario, kinds: tuple[str, str], inside: tuple[str, ...]
) -> None:
    stage = Stage(places, warm, scenario, kinds)
    reached = _reached(stage)

    for label in _chosen((item for item in reached if item.split(".")[0] in inside), scenario):
        _killed_at(stage, Fault(label, reached[label]))


def test_every_named_place_killed_a_process() -> None:
    """The last test of this module: what no scenario comes by is not tested."""
    sums = [sum(getattr(item, name) for item in CAME) for name in ("effects", "double", "lost", "quarantined")]
    report("crash matrix", Tally(*sums, all(item.verified for item in CAME)), kills=sum(REACHED.values()))
    assert set(REACHED) == set(points.LABELS), f"never reached: {sorted(set(points.LABELS) - set(REACHED))}"
