"""Fit a planned value to its cell: a number, a date in the workbook's system, a text or a boolean."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from connectors.target import Cell
from connectors.workbook.editing.cells import BOOLEAN, DATE, EMPTY, NUMBER, TEXT, RawCell
from connectors.workbook.editing.refusals import NotEditable
from connectors.workbook.editing.styles import Shown

PLANNED = "t"
_DIGITS = 15
"""The digits that a number of a cell keeps in every program."""
_SINCE_1900 = dt.datetime(1899, 12, 30)  # noqa: DTZ001 - cells have no zone
_AFTER_LEAP_DAY = dt.datetime(1900, 3, 1)  # noqa: DTZ001
_FIRST_OF_1900 = dt.datetime(1900, 1, 1)  # noqa: DTZ001
_SINCE_1904 = dt.datetime(1904, 1, 1)  # noqa: DTZ001
_BOOLEANS = {"true": "1", "false": "0"}


@dataclass(frozen=True)
class Place:
    """Where a value goes: the cell that is there, the nearest filled cell of its column, and how numbers are shown."""

    former: RawCell | None
    beside: RawCell | None
    shown: Shown
    dates_from_1904: bool

    @property
    def kind(self) -> str:
        """The tag of the values that belong here; empty if no cell tells."""
        for cell in (self.former, self.beside):
            if cell and cell.tag[:1] in (NUMBER, BOOLEAN, DATE):
                return cell.tag[:1]
            if cell and cell.tag[:1] not in (EMPTY, "e", "f"):
                return TEXT
        return ""


def fitted(cell: Cell, place: Place) -> Cell:
    """The cell as it is written there. Raises NotEditable, with a clause about the cell.

    The tag `t` is a planned text, which the kind of the column decides; `d` a date in ISO form. None empties the cell.
    """
    if cell is None:
        return None if place.former is None else (EMPTY, "")
    tag, text = cell
    if tag == DATE and place.kind != DATE:
        return NUMBER, _serial(text, place)
    if tag == NUMBER:
        return NUMBER, _number(text) if place.former is None or text != place.former.text else text
    if tag == BOOLEAN:
        return BOOLEAN, _BOOLEANS.get(text.lower(), text)
    return _planned(text, place) if tag == PLANNED else cell


def shown_date(number: str, *, dates_from_1904: bool) -> Cell:
    """The date cell of a number; None if the text of its date would not give the very same number."""
    start = _SINCE_1904 if dates_from_1904 else _SINCE_1900
    try:
        moment = start + dt.timedelta(days=float(number))
        if not dates_from_1904 and moment < _AFTER_LEAP_DAY:
            moment += dt.timedelta(days=1)
        moment += dt.timedelta(microseconds=round(moment.microsecond, -3) - moment.microsecond)
        text = moment.date().isoformat() if moment.time() == dt.time() else moment.isoformat()
        return (DATE, text) if serial(text, dates_from_1904=dates_from_1904) == number else None
    except (ValueError, OverflowError, NotEditable):
        return None


def _planned(text: str, place: Place) -> Cell:
    if not text:
        raise NotEditable("would be read as empty")
    kind = place.kind
    if kind == BOOLEAN:
        if text.lower() not in _BOOLEANS:
            raise NotEditable("is in a column of booleans, and the value is none")
        return BOOLEAN, _BOOLEANS[text.lower()]
    if kind == DATE:
        return DATE, _moment(text).isoformat() if "T" in text or " " in text.strip() else _moment(
            text
        ).date().isoformat()
    if kind == TEXT or (not kind and place.shown in ("number", "text")):
        return TEXT, text
    if place.shown == "date":
        return NUMBER, _serial(text, place)
    if place.shown == "duration":
        raise NotEditable("shows a time of day or a duration, which is not written")
    return NUMBER, _number(text)


def _number(text: str) -> str:
    """The number in its shortest form."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation as error:
        raise NotEditable("is in a column of numbers, and the value is none") from error
    if not number.is_finite() or abs(number) >= Decimal("1e308"):
        raise NotEditable("is in a column of numbers, and the value is none")
    if len(number.normalize().as_tuple().digits) > _DIGITS:
        raise NotEditable(f"would lose digits, since numbers of cells keep {_DIGITS}")
    whole = number.to_integral_value()
    return str(int(whole)) if number == whole and abs(whole) < 10**_DIGITS else repr(float(number))


def _moment(text: str) -> dt.datetime:
    try:
        moment = dt.datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise NotEditable("shows a date, and the value is none") from error
    if moment.tzinfo is not None:
        raise NotEditable("shows a date, which has no time zone")
    return moment


def _serial(text: str, place: Place) -> str:
    """The number of a date in the workbook's system."""
    if place.shown != "date":
        raise NotEditable("does not show dates, so a date would be shown as a number")
    return serial(text, dates_from_1904=place.dates_from_1904)


def serial(text: str, *, dates_from_1904: bool) -> str:
    """The number of a date in ISO form. Raises NotEditable."""
    moment = _moment(text)
    first = _SINCE_1904 if dates_from_1904 else _FIRST_OF_1900
    if moment < first:
        raise NotEditable(f"would hold a date before {first.year}, which cells cannot hold")
    start = _SINCE_1904 if dates_from_1904 else _SINCE_1900
    length = moment - start
    # Excel has a 29 February 1900, so that the days before it have numbers of their own
    days = length.days - (not dates_from_1904 and moment < _AFTER_LEAP_DAY)
    seconds = Decimal(length.seconds) + Decimal(length.microseconds) / 1_000_000
    return str(days) if not seconds else repr(float(days + seconds / 86_400))
