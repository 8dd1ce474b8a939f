"""What each part of the engine brings on each set: F1 with all parts, and the difference without one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from bench.similar import report
from bench.similar.evaluation import Prepared, replaced
from bench.similar.sets import load
from rules.kinds.similar import clusters, overlaps
from rules.kinds.similar.candidates import passes
from rules.kinds.similar.candidates.atoms import Atoms
from rules.kinds.similar.candidates.passes import Pass
from rules.kinds.similar.encoded import Encoded, Floats, Places
from rules.kinds.similar.features.crosswise import Crosswise
from rules.kinds.similar.features.derived import Derived

RECORDS = 700
"""A larger set is represented by so many of its records."""

_EVERY_PASS = passes.of


def _no_rarity(_: Encoded, places: Places) -> Floats:
    return np.zeros(len(places), dtype=np.float32)


def _passes_of_one(atoms: Sequence[Atoms], covered: int) -> Iterator[Pass]:
    """Yield the passes of one kind of atom, which come first."""
    return islice(_EVERY_PASS(atoms, covered), len(atoms))


def _all_of(matrix: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    return [np.arange(len(matrix))]


def _all_scored(scored: Mapping[tuple[int, int], float], _: float) -> list[list[int]]:
    return [sorted({place for pair in scored for place in pair})]


@contextmanager
def _chained() -> Iterator[None]:
    """Make a group of each connected component."""
    with replaced(clusters, "average_linkage", _all_of), replaced(clusters, "sparse_linkage", _all_scored):
        yield


def _nothing(*_: object, **__: object) -> None:
    return None


def _anew(owner: object, name: str, value: object) -> Callable[[Prepared], Prepared]:
    """Return what encodes and compares a set again while an attribute has another value."""

    def without(prepared: Prepared) -> Prepared:
        with replaced(owner, name, value):
            return Prepared.of(prepared.labelled)

    return without


def _without_neighbours(prepared: Prepared) -> Prepared:
    return replace(prepared, comparison=replace(prepared.comparison, shared=()))


def _without_assignment(prepared: Prepared) -> Prepared:
    return replace(prepared, labelled=replace(prepared.labelled, one_to_one=False))


def _with_passes_of_one(prepared: Prepared) -> Prepared:
    with replaced(passes, "of", _passes_of_one):
        return replace(prepared, candidates=prepared.fresh_candidates())


@dataclass(frozen=True)
class Part:
    """A part of the engine: when it has an effect, a set without it, or a context in which it is absent."""

    name: str
    applies: Callable[[Prepared], bool]
    without: Callable[[Prepared], Prepared] = lambda prepared: prepared
    absent: Callable[[], AbstractContextManager[None]] = nullcontext


PARTS = (
    Part("no neighbours", lambda each: bool(each.comparison.shared), _without_neighbours),
    Part("no derived e-mail", lambda each: each.comparison.derived is not None, _anew(Derived, "of", _nothing)),
    Part("no crosswise names", lambda each: each.comparison.crosswise is not None, _anew(Crosswise, "of", _nothing)),
    Part("no rarity of values", lambda _: True, absent=lambda: replaced(Encoded, "rarity", _no_rarity)),
    Part("repeated columns count", lambda each: each.has_repeats, _anew(overlaps, "REPEATS", 2.0)),
    Part("no partners one to one", lambda each: each.labelled.one_to_one, _without_assignment),
    Part("chains, no average linkage", lambda each: not each.labelled.one_to_one, absent=_chained),
    Part("no passes of two atoms", lambda each: not each.candidates.is_every_pair, _with_passes_of_one),
)


def sections(names: Sequence[str]) -> str:
    """Return the section on what each part brings."""
    rows: dict[bool, list[list[str]]] = {False: [], True: []}
    for name in names:
        if labelled := load(name):
            prepared = Prepared.of(labelled.at_most(RECORDS))
            for estimated, table in rows.items():
                table.append([name, *_cells(prepared, estimated=estimated)])
                print(f"  {table[-1]}", file=sys.stderr)
    heads = ["set", "all parts", *(part.name for part in PARTS)]
    return report.section(
        "Ablation",
        f"F1 of pairs with all parts, and the difference without one (· for none, empty where it has no "
        f"effect); sets of more than {RECORDS:,} records by a random part. Built-in weights:",
        report.table(heads, rows[False]),
        "Estimated without labels:",
        report.table(heads, rows[True]),
    )


def _cells(prepared: Prepared, *, estimated: bool) -> list[str]:
    whole = prepared.rates(estimated=estimated).f1
    cells = [report.rate(whole)]
    for part in PARTS:
        if not part.applies(prepared):
            cells.append("")
            continue
        with part.absent():
            cells.append(report.difference(part.without(prepared).rates(estimated=estimated).f1 - whole))
    return cells
