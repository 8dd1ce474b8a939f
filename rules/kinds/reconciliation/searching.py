"""bundle: search. Inside a key, each record of one side gets the records of the other that add up to it.

A record takes its only bundle if that shares nothing with another's only bundle and leaves a bundle to each record
that has several; the others are tried again without its records. So the answer does not depend on the order of
records, and a record that has a bundle never loses its last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rules.kinds.reconciliation.bundles import Keys
from rules.kinds.reconciliation.outcomes import LEFT, Outcomes
from rules.kinds.reconciliation.ranges import Window
from rules.kinds.reconciliation.sides import MatchedSide, MatchedSides
from rules.kinds.reconciliation.subsets import Outcome, subset
from rules.pairs.numbers import Integers

NOTHING_ADDS_UP = "no records add up to it"


@dataclass
class Block:
    """The records of one key: `wholes` are to be added up from `pieces`. Its answer is in the last three fields."""

    wholes: list[int]
    pieces: list[int]
    bundles: dict[int, tuple[int, ...]] = field(default_factory=dict)
    undecided: dict[int, set[int]] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)


def searched(sides: MatchedSides, window: Window | None, *, has_many_left: bool, most: int) -> Outcomes:
    """Match the records of both sides."""
    outcomes, keys = Outcomes(), Keys.of(sides)
    search = _Search(sides, window, has_many_left, most)
    for wholes, pieces in _blocks(keys, has_many_left=has_many_left):
        block = search.solved(Block(wholes, pieces))
        _add(outcomes, sides, block, has_many_left=has_many_left)
    return outcomes


def _blocks(keys: Keys, *, has_many_left: bool) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the records of each key: those that are whole, and those that are pieces."""
    orders = [np.argsort(key, kind="stable") for key in (keys.left, keys.right)]
    ends = [np.cumsum(counts) for counts in (keys.lefts, keys.rights)]
    for key in range(len(keys)):
        records = [
            order[end[key] - count[key] : end[key]].tolist()
            for order, end, count in zip(orders, ends, (keys.lefts, keys.rights), strict=True)
        ]
        yield (records[1], records[0]) if has_many_left else (records[0], records[1])


class _Search:
    def __init__(self, sides: MatchedSides, window: Window | None, has_many_left: bool, most: int) -> None:  # noqa: FBT001
        assert sides.within is not None  # noqa: S101 - a search is over amounts
        whole, piece = (sides.right, sides.left) if has_many_left else (sides.left, sides.right)
        self._targets, self._amounts = _integers(whole), _integers(piece)
        self._tolerance = sides.within.by or 0
        self._days = whole.rank, piece.rank
        self._window = window
        if window is not None and has_many_left:
            self._window = Window(window.later, window.earlier)
        self._most = most

    def solved(self, block: Block) -> Block:
        """Find the bundles of a block."""
        free = set(block.pieces)
        waiting = list(block.wholes)
        while True:
            choices = {whole: self._choice(whole, block.pieces, free) for whole in waiting}
            taken = self._taken(choices, block.pieces, free)
            if not taken:
                break
            block.bundles |= taken
            free.difference_update(*taken.values())
            waiting = [whole for whole in waiting if whole not in taken]
        for whole, (outcome, pieces) in choices.items():
            if outcome in (Outcome.FOUND, Outcome.AMBIGUOUS):
                block.undecided[whole] = set(pieces)
            else:
                too_many = f"more than {self._most} records to search"
                block.reasons[whole] = NOTHING_ADDS_UP if outcome is Outcome.NONE else too_many
        return block

    def _taken(
        self, choices: dict[int, tuple[Outcome, tuple[int, ...]]], pieces: Sequence[int], free: set[int]
    ) -> dict[int, tuple[int, ...]]:
        """Return the only bundles that no other record needs."""
        taken = _unshared({whole: chosen for whole, (outcome, chosen) in choices.items() if outcome is Outcome.FOUND})
        rest = free.difference(*taken.values())
        needed: set[int] = set()
        for whole, (outcome, possible) in choices.items():
            if outcome is not Outcome.AMBIGUOUS or rest.issuperset(possible):
                continue
            if self._choice(whole, pieces, rest)[0] is Outcome.NONE:
                needed.update(possible)
        return {whole: chosen for whole, chosen in taken.items() if needed.isdisjoint(chosen)}

    def _choice(self, whole: int, pieces: Sequence[int], free: set[int]) -> tuple[Outcome, tuple[int, ...]]:
        """Return how a search ended, and the pieces of its bundle, or of all bundles if they are several."""
        near = [piece for piece in pieces if piece in free and self._is_near(whole, piece)]
        amounts = [self._amounts[piece] for piece in near]
        target = self._targets[whole]
        answer = subset(target, amounts, self._tolerance, self._most)
        if answer.outcome is not Outcome.AMBIGUOUS:
            return answer.outcome, tuple(near[place] for place in answer.positions)
        return answer.outcome, tuple(
            piece for place, piece in enumerate(near) if self._is_possible(target, amounts, place)
        )

    def _is_possible(self, target: int, amounts: list[int], place: int) -> bool:
        """Return True if a bundle holds the piece at that place."""
        rest, others = target - amounts[place], amounts[:place] + amounts[place + 1 :]
        return abs(rest) <= self._tolerance or subset(rest, others, self._tolerance, self._most).outcome not in (
            Outcome.NONE,
            Outcome.TOO_MANY,
        )

    def _is_near(self, whole: int, piece: int) -> bool:
        of_whole, of_piece = self._days
        if self._window is None or of_whole is None or of_piece is None:
            return True
        return -self._window.earlier <= int(of_piece[piece] - of_whole[whole]) <= self._window.later


def _integers(side: MatchedSide) -> list[int]:
    assert side.amount is not None  # noqa: S101 - see above
    amounts: list[int] = side.amount.tolist()
    return amounts


def _unshared(bundles: dict[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    """Return the bundles that share no record with another."""
    users: dict[int, int] = {}
    for pieces in bundles.values():
        for piece in pieces:
            users[piece] = users.get(piece, 0) + 1
    return {whole: pieces for whole, pieces in bundles.items() if all(users[piece] == 1 for piece in pieces)}


def _add(outcomes: Outcomes, sides: MatchedSides, block: Block, *, has_many_left: bool) -> None:
    free = set(block.pieces).difference(*block.bundles.values(), *block.undecided.values())
    outcomes.matched += len(block.bundles)
    for whole, pieces in block.bundles.items():
        wholes = np.full(len(pieces), whole), np.array(pieces)
        left, right = reversed(wholes) if has_many_left else wholes
        rows = _rows(sides, {whole}, set(pieces), has_many_left=has_many_left)
        if sides.differences(left, right).any():
            numbers = [np.zeros(len(each), np.int64) for each in rows]
            outcomes.add("mismatch", (numbers[0], rows[0]), (numbers[1], rows[1]), 1)
        else:
            outcomes.add_agreeing(*rows)
    for wholes_, pieces_ in _connected(block.undecided):
        rows = _rows(sides, wholes_, pieces_, has_many_left=has_many_left)
        side, chosen = (sides.right, wholes_) if has_many_left else (sides.left, wholes_)
        outcomes.add_undecided(*rows, due=bool(side.due[sorted(chosen)].any()))
    number, other = (1 - LEFT, LEFT) if has_many_left else (LEFT, 1 - LEFT)
    both = (sides.left, sides.right)
    for reason in sorted(set(block.reasons.values())):
        alone = np.array(sorted(whole for whole, why in block.reasons.items() if why == reason), np.int64)
        outcomes.add_alone(number, both[number].row[alone], both[number].due[alone], reason if block.pieces else "")
    alone = np.array(sorted(free), np.int64)
    outcomes.add_alone(other, both[other].row[alone], both[other].due[alone])


def _rows(sides: MatchedSides, wholes: set[int], pieces: set[int], *, has_many_left: bool) -> tuple[Integers, Integers]:
    left, right = (pieces, wholes) if has_many_left else (wholes, pieces)
    return sides.left.row[sorted(left)], sides.right.row[sorted(right)]


def _connected(undecided: dict[int, set[int]]) -> Iterator[tuple[set[int], set[int]]]:
    """Yield the wholes that could take the same pieces, with all their pieces."""
    waiting = dict(undecided)
    while waiting:
        first, pieces = waiting.popitem()
        wholes, pieces = {first}, set(pieces)
        while shared := {whole for whole, needed in waiting.items() if not pieces.isdisjoint(needed)}:
            for whole in shared:
                pieces |= waiting.pop(whole)
            wholes |= shared
        yield wholes, pieces
