"""What matching found, as arrays: the records of each discrepancy by their number, its form and its reason."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from rules.kinds.reconciliation.model import FORMS, Form
from rules.pairs.numbers import Flags, Integers

LEFT, RIGHT = 0, 1
NOT_YET_DUE = "not_yet_due"
CODES: dict[str, int] = {name: number for number, name in enumerate((*FORMS, NOT_YET_DUE))}


@dataclass(frozen=True)
class Members:
    """Records of discrepancies: the number of the discrepancy, the side, and the record's row in its table."""

    number: Integers
    side: Integers
    row: Integers


@dataclass
class Outcomes:
    """Discrepancies, numbered from 0 as they are added, and the rows of records that agree with their partners.

    `matched` is the number of pairs or bundles, those that differ in a field included.
    """

    matched: int = 0
    interchangeable: int = 0
    size: int = 0
    _forms: list[Integers] = field(default_factory=list)
    _reasons: list[Integers] = field(default_factory=list)
    _texts: dict[str, int] = field(default_factory=lambda: {"": 0})
    _members: list[tuple[Integers, int, Integers]] = field(default_factory=list)
    _agreeing: tuple[list[Integers], list[Integers]] = field(default_factory=lambda: ([], []))

    def add_agreeing(self, left: Integers, right: Integers) -> None:
        """Add rows of records that agree with their partners."""
        self._agreeing[LEFT].append(left)
        self._agreeing[RIGHT].append(right)

    def agreeing(self, side: int) -> Integers:
        return _joined(self._agreeing[side])

    def add(
        self, form: Form, left: tuple[Integers, Integers], right: tuple[Integers, Integers], size: int, reason: str = ""
    ) -> None:
        """Add `size` discrepancies of a form. A side is (numbers from 0 to size, rows), one of each for a record."""
        self._add(CODES[form], left, right, size, reason)

    def _add(
        self, form: int, left: tuple[Integers, Integers], right: tuple[Integers, Integers], size: int, reason: str = ""
    ) -> None:
        if not size:
            return
        self._forms.append(np.full(size, form, np.int64))
        self._reasons.append(np.full(size, self._texts.setdefault(reason, len(self._texts)), np.int64))
        for side, (numbers, rows) in ((LEFT, left), (RIGHT, right)):
            if len(rows):
                self._members.append((numbers + self.size, side, rows))
        self.size += size

    def add_alone(self, side: int, rows: Integers, due: Flags, reason: str = "") -> None:
        """Add records without a partner, each for itself; one whose grace lasts is not yet due."""
        forms = (CODES["left_only"], CODES["right_only"])
        for form, chosen in ((forms[side], rows[due]), (CODES[NOT_YET_DUE], rows[~due])):
            self._add(form, *_sided(side, (np.arange(len(chosen)), chosen)), len(chosen), reason)

    def add_bundles_alone(self, side: int, numbers: Integers, rows: Integers, due: Flags) -> None:
        """Add bundles without a partner; `numbers` are from 0, and a bundle is due if one of its records is."""
        size = int(numbers.max()) + 1 if len(numbers) else 0
        is_due = np.zeros(size, np.bool_)
        is_due[numbers[due]] = True
        forms = (CODES["left_only"], CODES["right_only"])
        for form, chosen in ((forms[side], is_due), (CODES[NOT_YET_DUE], ~is_due)):
            renumbered = np.cumsum(chosen) - 1
            of_chosen = chosen[numbers]
            members = (renumbered[numbers[of_chosen]], rows[of_chosen])
            self._add(form, *_sided(side, members), int(chosen.sum()))

    def add_undecided(self, left: Integers, right: Integers, *, due: bool) -> None:
        """Add one set of records of which it is open who stays without a partner."""
        sides = ((np.zeros(len(left), np.int64), left), (np.zeros(len(right), np.int64), right))
        self._add(CODES["ambiguous"] if due else CODES[NOT_YET_DUE], *sides, 1)

    def extend(self, outcomes: Outcomes) -> None:
        """Add the discrepancies of another part of the records."""
        texts = list(outcomes._texts)
        numbers = np.array([self._texts.setdefault(text, len(self._texts)) for text in texts], np.int64)
        self._forms += outcomes._forms
        self._reasons += [numbers[reasons] for reasons in outcomes._reasons]
        self._members += [(number + self.size, side, rows) for number, side, rows in outcomes._members]
        self.size += outcomes.size
        self.matched += outcomes.matched
        self.interchangeable += outcomes.interchangeable

    def alone(self, side: int, *, without: Collection[str]) -> tuple[Integers, Integers]:
        """Return the numbers of one side's single records without a partner, and their rows; not those of a reason."""
        members, reasons, sizes = self.members, _joined(self._reasons), self._sizes
        forms = self.forms
        codes = [CODES[("left_only", "right_only")[side]], CODES[NOT_YET_DUE]]
        left_out = [number for text, number in self._texts.items() if text in without]
        is_alone = np.isin(forms, codes) & (sizes == 1) & ~np.isin(reasons, left_out)
        chosen = np.flatnonzero((members.side == side) & is_alone[members.number])
        return members.number[chosen], members.row[chosen]

    @property
    def _sizes(self) -> Integers:
        return np.bincount(self.members.number, minlength=self.size)

    def without(self, numbers: Integers) -> Outcomes:
        """Return the other discrepancies, numbered anew, and the counts of all that matched."""
        is_kept = np.ones(self.size, np.bool_)
        is_kept[numbers] = False
        others = self._where(is_kept)
        others.matched, others.interchangeable = self.matched, self.interchangeable
        return others

    def join_near_misses(self, left: tuple[Integers, Integers], right: tuple[Integers, Integers]) -> Outcomes:
        """Return the discrepancies with pairs of single records as one each.

        A side is (numbers of the discrepancies that the records were, their rows).
        """
        joined = self.without(np.concatenate([left[0], right[0]]))
        places = np.arange(len(left[1]))
        joined.add("near_miss", (places, left[1]), (places, right[1]), len(places))
        return joined

    def with_records(self, records: Callable[[int, Integers], tuple[Integers, Integers]]) -> Outcomes:
        """Return the discrepancies with the rows that `records` gives for a side's rows, each with its row's place."""
        members, whole = self.members, []
        for side in (LEFT, RIGHT):
            of_side = members.side == side
            places, rows = records(side, members.row[of_side])
            whole.append((members.number[of_side][places], side, rows))
        return replace(self, _members=whole)

    def only(self, codes: Collection[int]) -> Outcomes:
        """Return the discrepancies of these forms, numbered anew."""
        return self._where(np.isin(self.forms, list(codes)))

    def _where(self, chosen: Flags) -> Outcomes:
        """Return the chosen discrepancies, numbered anew."""
        forms, members, reasons = self.forms, self.members, _joined(self._reasons)
        renumbered = np.cumsum(chosen) - 1
        of_chosen = chosen[members.number]
        only = Outcomes(size=int(chosen.sum()), _texts=dict(self._texts))
        only._forms, only._reasons = [forms[chosen]], [reasons[chosen]]
        for side in (LEFT, RIGHT):
            of_side = of_chosen & (members.side == side)
            only._members.append((renumbered[members.number[of_side]], side, members.row[of_side]))
        return only

    @property
    def forms(self) -> Integers:
        """The form of each discrepancy, as in CODES."""
        return _joined(self._forms)

    @property
    def reasons(self) -> list[str | None]:
        """The reason of each discrepancy."""
        texts = [text or None for text in self._texts]
        return [texts[number] for number in _joined(self._reasons).tolist()]

    @property
    def members(self) -> Members:
        return Members(
            _joined(numbers for numbers, _, _ in self._members),
            _joined(np.full(len(rows), side, np.int64) for _, side, rows in self._members),
            _joined(rows for _, _, rows in self._members),
        )


def _sided(
    side: int, members: tuple[Integers, Integers]
) -> tuple[tuple[Integers, Integers], tuple[Integers, Integers]]:
    nothing = (np.empty(0, np.int64), np.empty(0, np.int64))
    return (members, nothing) if side == LEFT else (nothing, members)


def _joined(arrays: Iterable[Integers]) -> Integers:
    return np.concatenate([np.empty(0, np.int64), *arrays])
