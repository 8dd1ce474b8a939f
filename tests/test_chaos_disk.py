"""A disk that is full, for the store and for the target, at whatever write it comes: told, kept, and gone on with.

A limit on the size of files, and SQLite's own limit of pages, stand for it. The limit starts where nothing can be
written and rises until the run is not disturbed any more, so each write of a run is the first to fail in some case.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chaos_support import SEED, Places, World, cleaned, comparable, hold_everything, warmed

from reconcile.testing.fork import Ended, Warm

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]
CASES = 8
"""At least so many runs have to be disturbed, for each kind of limit and file."""


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with warmed() as server:
        yield server


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    made = Places(tmp_path)
    yield made
    made.close()


def _file(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def _met_it(ended: Ended) -> bool:
    """Whether the run says that there was no room."""
    return any(word in ended.out + ended.err for word in ("full", "no room"))


def _case(places: Places, warm: Warm, limited: Callable[[World], Ended]) -> Ended:
    """A run on a full disk ends in an order; with room again everything is done, and once."""
    world = places.world("sqlite", "sqlite")
    world.run(warm)
    world.spoil(6, random.Random(SEED))
    expected = comparable(cleaned(world.inserted))

    ended = limited(world)

    assert ended.code in (0, 1, 3, 4), (ended.code, ended.err[-3000:])
    last = world.settle(warm, expected)
    assert comparable(world.all_rows()) == expected, (SEED, ended.err[-1000:], last.err[-2000:])
    hold_everything(world)
    return ended


@pytest.mark.parametrize("which", ["store", "target"])
def test_a_file_that_cannot_grow_any_more_keeps_what_it_has(places: Places, warm: Warm, which: str) -> None:
    disturbed, room = 0, 0
    for number in range(3 * CASES):
        room = number if number < CASES else 2 * room

        def limited(world: World, pages: int = room) -> Ended:
            file = str(_file(world.store if which == "store" else world.target))
            call = warm.call("chaos_child:with_few_pages", file, pages, "run", "nightly", cwd=world.folder, exits=True)
            return call.wait(120)

        ended = _case(places, warm, limited)
        disturbed += _met_it(ended)
        if number >= CASES and not _met_it(ended):
            break
    else:
        raise AssertionError("there never was room enough")

    assert disturbed >= (CASES - 2 if which == "store" else 2), f"only {disturbed} runs met a full disk"


def test_a_disk_without_room_for_any_file_loses_nothing(places: Places, warm: Warm) -> None:
    disturbed = 0
    size = 4096
    while size < 16 * 1024 * 1024:

        def limited(world: World, most: int = size) -> Ended:
            return warm.call("chaos_child:on_a_small_disk", most, "run", "nightly", cwd=world.folder, exits=True).wait(
                120
            )

        ended = _case(places, warm, limited)
        disturbed += ended.code == 3
        size = int(size * 1.6)

    assert disturbed >= CASES, f"only {disturbed} runs met a full disk"
