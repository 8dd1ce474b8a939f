"""The pairs that are compared: nothing that shares something rare is missed, and no shortcut changes what is chosen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

from rules.kinds.similar import parallel
from rules.kinds.similar.candidates import choice
from rules.kinds.similar.candidates.atoms import Atoms
from rules.kinds.similar.candidates.blocks import Blocks, Keyed
from rules.kinds.similar.matching import Matching
from rules.kinds.similar.records import Records
from rules.kinds.similar.settings import Settings
from tests.rules.kinds.similar.people import COMPARE, people

FEW_COLUMNS = Settings.of({name: COMPARE[name] for name in ("last", "born", "street", "city")})
SIDES = Settings.of(COMPARE, one_to_one=True)


def blocks_of(kinds: tuple[Atoms, ...], records: Records) -> Iterator[list[int]]:
    """Yield the places of records that share an atom of each of these kinds."""
    of_record: list[list[tuple[int, ...]]] = [[()] for _ in range(len(records))]
    for kind in kinds:
        atoms = defaultdict(list)
        holders = range(len(records)) if kind.holders is None else kind.holders.tolist()
        for place, key in zip(holders, kind.keys.tolist(), strict=True):
            if key >= 0:
                atoms[place].append(key)
        of_record = [
            [(*before, key) for before in keys for key in atoms[place]] for place, keys in enumerate(of_record)
        ]
    blocks = defaultdict(list)
    for place, keys in enumerate(of_record):
        for key in keys:
            blocks[key].append(place)
    yield from blocks.values()


def sharing(matching: Matching, largest: int) -> set[tuple[int, int]]:
    """Return the pairs in blocks that are not larger, of one kind of atoms, of two, or of three if columns are few."""
    records, atoms = matching.records, tuple(matching.comparison.atoms())
    few = 3 if len({kind.column for kind in atoms}) <= 4 else 2
    every = [kinds for size in range(1, few + 1) for kinds in combinations(atoms, size)]
    pairs: set[tuple[int, int]] = set()
    for kinds in every:
        columns, several = {kind.column for kind in kinds}, [kind for kind in kinds if not kind.is_single]
        if len(columns) == len(kinds) and len(several) <= 1:
            for places in blocks_of(kinds, records):
                if len(places) <= largest:
                    pairs.update(combinations(places, 2))
    if records.has_sides:
        return {(a, b) for a, b in pairs if records.sides[a] != records.sides[b]}
    return pairs


@pytest.mark.slow
@pytest.mark.parametrize("settings", [Settings.of(COMPARE), FEW_COLUMNS, SIDES], ids=["one", "few columns", "sides"])
def test_every_pair_that_shares_something_rare_is_compared(settings: Settings):
    """Atoms that few records have are not combined with others, and no pair is lost by that."""
    table = people(900, 60)
    tables = [table, table.slice(0, 500)] if settings.one_to_one else [table]
    matching = Matching(Records.of(tables, settings), settings)

    compared = set(zip(matching.candidates.first.tolist(), matching.candidates.second.tolist(), strict=True))

    assert not matching.candidates.is_every_pair
    expected = sharing(matching, settings.max_block)
    assert expected <= compared
    assert len(compared) < 2 * len(expected)  # two words of one column find others


def test_the_smallest_blocks_come_first_and_the_budget_is_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(choice, "LEAST_BUDGET", 20_000)
    table = people(2_000, 100)
    settings = Settings.of(COMPARE)

    candidates = Matching(Records.of([table], settings), settings).candidates

    assert candidates.largest_block < settings.max_block
    assert len(candidates) < 60_000
    assert (np.diff(candidates.packed) > 0).all()


@pytest.mark.slow
def test_one_thread_and_four_find_the_same(monkeypatch: pytest.MonkeyPatch):
    settings = Settings.of(COMPARE)
    results = []
    for count in (1, 4):
        monkeypatch.setattr(parallel, "threads", lambda count=count: count)
        matching = Matching(Records.of([people(1_500, 200)], settings), settings)
        first, second, bits = matching.probable
        results.append((matching.candidates.packed, first, second, bits))

    assert all(np.array_equal(alone, together) for alone, together in zip(*results, strict=True))


def test_results_come_in_the_order_of_their_items_and_errors_come_through():
    assert list(parallel.in_order(lambda number: number * number, range(50))) == [n * n for n in range(50)]

    with pytest.raises(ZeroDivisionError):
        list(parallel.in_order(lambda number: 1 // (number - 3), range(50)))


def test_keys_too_large_for_a_number_with_their_place_are_blocked_alike():
    """Keys of up to 62 bits leave no room for a place."""
    table = pa.table({"name": [str(number) for number in range(300)]})
    records = Records.of([table], Settings.of({"name": "name"}))
    keys = np.arange(300) // 3 * 40_000_000_000_000_000

    blocks = Blocks.of(records, Keyed(keys, np.arange(300), 1 << 62), 100)

    assert {shape: len(places) for shape, places in blocks.by_shape.items()} == {(3, 0): 100}


@pytest.mark.slow
def test_a_value_of_fifty_thousand_records_is_left_out_and_told():
    """All live in one city; pairs are bounded, and twins are found by what else they share."""
    table = people(50_000, 500)
    table = table.set_column(table.column_names.index("city"), "city", pa.array(["Leeds"] * table.num_rows))
    settings = Settings.of(COMPARE)

    candidates = Matching(Records.of([table], settings), settings).candidates

    (city,) = (step for step in candidates.left_out if step.name == "city")
    assert (city.blocks, city.records) == (1, 50_500)
    assert len(candidates) < 2 * choice.LEAST_BUDGET
