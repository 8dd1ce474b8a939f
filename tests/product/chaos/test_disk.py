"""A disk that is full, for the store and for the target, at whatever write it comes: told, kept, and gone on with.

A limit on the size of files, and SQLite's own limit of pages, stand for it. The limit starts where nothing can be
written and rises until the run is not disturbed any more, so another write of a run is the first to fail in each case.
"""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.product.chaos.storm import report
from tests.product.chaos.watched_world import (
    Places,
    Tally,
    WatchedWorld,
    cleaned,
    comparable,
    hold_everything,
    places,
    warm,
)
from tests.support.chance import SEED, spread
from tests.support.fork_server import Ended, Warm

__all__ = ["places", "warm"]

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]
STEPS = {
    "store": spread((0, 1, 2, 3, 5, 8, 12, 16, 20, 27, 40, 60), 3),
    "target": spread((0, 1, 2, 3, 5), 2),
}
"""By how many pages a file may still grow, in the cases that must be disturbed; with MORE no case is."""
MORE = 100_000
SIZES = spread(range(4096, 1_700_000, 120_000), 4)
"""Bytes no file may grow beyond, in the cases that must be disturbed. With the steps above 9, in `make chaos` 32."""
CAME: list[Tally] = []
"""What each disturbed world came to."""
SAID = re.compile(r".*has no (?:space|room) left.*")


def _file(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def _case(
    places: Places, warm: Warm, limited: Callable[[WatchedWorld], Ended], *, disturbed: bool, groups: int = 25
) -> None:
    """A run on a full disk says so and ends in an order; with room again everything is done, and once.

    A target that was full is left alone for a while and people hear of it; nobody has to say that there is room.
    """
    world = places.world("sqlite", "sqlite")
    world.run(warm)
    world.spoil(groups, random.Random(SEED))
    expected = comparable(cleaned(world.inserted))

    ended = limited(world)

    where = (SEED, ended.code, ended.out[-1000:], ended.err[-3000:])
    assert ended.code in ((0, 1, 3, 4) if disturbed else (0, 1)), where
    output = {line.partition(": ")[2] or line for line in SAID.findall(ended.out + ended.err)}
    assert bool(output) == disturbed, where
    if ended.code == 3:  # the rules after the one that met it say that nothing is sent there for now
        assert len([item for item in output if not item.startswith("Nothing is sent")]) == 1, where
    last = world.settle(warm, expected)
    assert comparable(world.all_rows()) == expected, (where, last.err[-2000:])
    came = hold_everything(world)
    assert came.quarantined == 0, where
    begun, ended_again = world.target_troubles()
    assert begun == ended_again <= 1, where
    if disturbed:
        CAME.append(came)


@pytest.mark.parametrize(("which", "pages"), [(which, step) for which in STEPS for step in (*STEPS[which], MORE)])
def test_a_file_that_cannot_grow_any_more_keeps_what_it_has(places: Places, warm: Warm, which: str, pages: int) -> None:
    def limited(world: WatchedWorld) -> Ended:
        file = str(_file(world.store if which == "store" else world.target))
        call = warm.call(
            "tests.product.chaos.child:with_few_pages", file, pages, "run", "nightly", cwd=world.folder, exits=True
        )
        return call.wait(120)

    few = 8  # what is tried again is, on purpose, a few plans a minute
    _case(places, warm, limited, disturbed=pages != MORE, groups=25 if which == "store" else few)


@pytest.mark.parametrize("most", [*SIZES, 1 << 30])
def test_a_disk_without_room_for_any_file_loses_nothing(places: Places, warm: Warm, most: int) -> None:
    def limited(world: WatchedWorld) -> Ended:
        call = warm.call(
            "tests.product.chaos.child:on_a_small_disk", most, "run", "nightly", cwd=world.folder, exits=True
        )
        return call.wait(120)

    _case(places, warm, limited, disturbed=most in SIZES)


def test_every_limit_disturbed_a_run() -> None:
    """The last test of this module."""
    sums = [sum(getattr(item, name) for item in CAME) for name in ("effects", "double", "lost", "quarantined")]
    report("full disk", Tally(*sums, all(item.verified for item in CAME)), runs=len(CAME))
    assert len(CAME) == len(SIZES) + sum(map(len, STEPS.values()))
