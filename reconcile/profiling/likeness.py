"""Columns by which records that are written differently are the same thing, with what each holds. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from reconcile.profiling import headers
from reconcile.profiling.columns import ProfiledColumn, holds_companies, is_name
from reconcile.profiling.headers import ColumnRole
from reconcile.profiling.trials import Found
from rules.values import Type

SAMPLE = 10_000
"""Records that are compared, the first ones."""
_LEAST_FILLED = 0.2
_NAMES = frozenset({"name", "surname", "company"})
_IDENTIFYING = frozenset({"email", "phone", "date", "address"})
_MOST_PHONES = 2
_MOST_SURPLUS = 0.2
"""With a larger share of surplus records, the records are what a person did, such as orders, not the person."""
_FEW = 3
_TYPES: Mapping[ColumnRole, str] = {
    ColumnRole.GIVEN_NAME: "given_name",
    ColumnRole.SURNAME: "surname",
    ColumnRole.NAME: "name",
    ColumnRole.EMAIL: "email",
    ColumnRole.PHONE: "phone",
    ColumnRole.BIRTH: "date",
    ColumnRole.STREET: "address",
    ColumnRole.POSTCODE: "postcode",
}


@dataclass(frozen=True)
class Likeness:
    """Columns to compare, each with its type, and what a rule that compares them finds in the first `records`."""

    compare: Mapping[str, str]
    found: Found
    records: int

    @property
    def is_plausible(self) -> bool:
        """Return True if it finds something, but not so much that its records are no things of their own."""
        return 0 < self.found.surplus <= max(_MOST_SURPLUS * self.records, _FEW)


def compared(
    dataset: str, columns: Sequence[ProfiledColumn], people: Mapping[str, ColumnRole], ids: Collection[str]
) -> Mapping[str, str]:
    """Return the columns to compare with their types; none unless a name and another one identify a person or firm.

    `people` are columns with personal data, by what they hold.
    """
    types: dict[str, str] = {}
    for column in columns:
        if column.name in ids or column.different < 2 or column.records - column.empty < _LEAST_FILLED * column.records:
            continue
        type_name = _type(dataset, column, people.get(column.name, column.role))
        most = _MOST_PHONES if type_name == "phone" else 1
        if type_name and list(types.values()).count(type_name) < most:
            types[column.name] = type_name
    types = dict(_with_both_names(types))
    kinds = set(types.values())
    return types if kinds & _NAMES and len(kinds & (_NAMES | _IDENTIFYING)) > 1 and kinds & _IDENTIFYING else {}


def _type(dataset: str, column: ProfiledColumn, role: ColumnRole) -> str | None:
    if holds_companies(dataset, column):
        return "company"
    if role in _TYPES:
        return _TYPES[role]
    if column.type is Type.TEXT and headers.CITIES.fullmatch(column.words):
        return "city"
    return "name" if is_name(column) and column.is_wordy else None


def _with_both_names(types: Mapping[str, str]) -> Mapping[str, str]:
    """Return the types with a column `name` as the given name or the surname that is missing, or without it."""
    kinds = set(types.values())
    if "name" not in kinds or not kinds & {"given_name", "surname"}:
        return types
    missing = {"given_name", "surname"} - kinds
    named = {column: missing.pop() if kind == "name" and missing else kind for column, kind in types.items()}
    return {column: kind for column, kind in named.items() if kind != "name"}
