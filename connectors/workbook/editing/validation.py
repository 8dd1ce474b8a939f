"""Data validation: whether a rule of the sheet would refuse a value that a person types.

Only rules that stop a person count: those with an error message of the kind `stop`. An empty cell is always allowed, as
Excel allows to delete any content. A rule that cannot be checked here refuses: its author did not want other values.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from connectors.target import Cell
from connectors.workbook.editing.cells import BOOLEAN, EMPTY, NUMBER, RICH, TEXT
from connectors.workbook.editing.markup import Element
from connectors.workbook.editing.ranges import CellRange, parsed_ranges
from connectors.workbook.editing.refusals import NotEditable

UNPROVEN = "has a data validation that can be checked only by a spreadsheet program"
FORBIDDEN = "has a data validation that forbids the value"
_OPERATORS: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "equal": operator.eq,
    "notEqual": operator.ne,
    "greaterThan": operator.gt,
    "greaterThanOrEqual": operator.ge,
    "lessThan": operator.lt,
    "lessThanOrEqual": operator.le,
}
_LITERAL_LIST = re.compile(r'"((?:[^"]|"")*)"')
Lookup = Callable[[str], Sequence[Cell] | None]
"""The cells that a formula such as Lists!$A$1:$A$9, or a name, refers to; None if that cannot be told."""


@dataclass(frozen=True)
class Validation:
    """A rule for cells: `kind` as the format names it (list, whole, ...), and the bounds or the list as formulas."""

    ranges: tuple[CellRange, ...]
    kind: str
    comparison: str
    formulas: tuple[str, str]

    def obstacle(self, cell: Cell, values: Lookup) -> str | None:
        """The reason why the value may not be typed, as a clause about the cell; None if it may."""
        if cell is None or cell[0] == EMPTY or self.kind == "none":
            return None
        if self.kind == "list":
            return self._outside_list(cell, values)
        if self.kind not in ("whole", "decimal", "date", "time", "textLength"):
            return UNPROVEN
        text = cell[0][:1] in (TEXT, RICH)
        if self.kind == "textLength":
            number = Decimal(len(cell[1]))
        elif cell[0] != NUMBER or text:
            return FORBIDDEN
        else:
            number = Decimal(cell[1].strip())
        if self.kind == "whole" and number != number.to_integral_value():
            return FORBIDDEN
        return self._outside_bounds(number)

    def _outside_bounds(self, number: Decimal) -> str | None:
        bounds = [_constant(formula) for formula in self.formulas]
        if self.comparison in ("between", "notBetween"):
            first, last = bounds
            if first is None or last is None:
                return UNPROVEN
            is_allowed = (first <= number <= last) == (self.comparison == "between")
            return None if is_allowed else FORBIDDEN
        if bounds[0] is None or self.comparison not in _OPERATORS:
            return UNPROVEN
        return None if _OPERATORS[self.comparison](number, bounds[0]) else FORBIDDEN

    def _outside_list(self, cell: tuple[str, str], values: Lookup) -> str | None:
        literal = _LITERAL_LIST.fullmatch(self.formulas[0].strip())
        if literal:
            texts = [text.strip() for text in literal[1].replace('""', '"').split(",")]
            return None if _typed(cell) in texts else FORBIDDEN
        existing = values(self.formulas[0])
        if existing is None:
            return UNPROVEN
        allowed = {_typed(value).casefold() for value in existing if value is not None and value[0] != EMPTY}
        return None if _typed(cell).casefold() in allowed else FORBIDDEN


def validations(root: Element) -> Iterator[Validation]:
    """The rules of a sheet that stop a person. Raises NotEditable for one whose cells cannot be told."""
    for element in root.walk():
        if element.local != "dataValidation":
            continue
        stops = element.get("errorStyle", "stop") == "stop" and element.get("showErrorMessage", "0") in ("1", "true")
        if not stops:
            continue
        extended = element.first("sqref")
        try:
            ranges = tuple(parsed_ranges(extended.text if extended else element.get("sqref")))
        except ValueError as error:
            raise NotEditable("a sheet has a data validation of unknown cells") from error
        formulas = (_formula(element, "formula1"), _formula(element, "formula2"))
        yield Validation(ranges, element.get("type", "none"), element.get("operator", "between"), formulas)


def _formula(element: Element, local: str) -> str:
    formula = element.first(local)
    return "" if formula is None else (formula.text + "".join(child.text for child in formula.children)).strip()


def _constant(formula: str) -> Decimal | None:
    try:
        number = Decimal(formula.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _typed(cell: tuple[str, str]) -> str:
    """The value as a person would type it."""
    if cell[0] == BOOLEAN:
        return "TRUE" if cell[1] in ("1", "true") else "FALSE"
    if cell[0] == NUMBER:
        number = Decimal(cell[1].strip()).normalize()
        return format(number, "f")
    return cell[1]
