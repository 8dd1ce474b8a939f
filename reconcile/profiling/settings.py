"""Suggest the settings of a dataset from what its columns hold. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from connectors.base import UnreadableCells
from notifications.wording.words import plural
from reconcile.config.settings import DatasetConfig
from reconcile.detection.proposals import Forms, reads_all
from reconcile.profiling.columns import ProfiledColumn, is_amount
from reconcile.profiling.headers import ColumnRole
from reconcile.profiling.ids import Id
from reconcile.profiling.suggestion import Setting
from rules.values import Type

_NULLS = {"n/a", "#n/a", "null", "none", "nil", "-", "--", "n.v.", "k.a.", "nan", "(null)", "\\n"}
"""Texts that mean no value, in lower case."""
_OFFSET = re.compile(r".*(Z|[+-]\d\d:?\d\d)")
_BEST = re.compile(r".*(amount|total|betrag|summe).*")


def types(forms: Forms) -> Iterator[Setting]:
    """Yield types of columns of text; one that several types read is open."""
    declared = forms.settings.columns
    for name, word in forms.types.items():
        if name not in declared:
            yield Setting(name, word, "fits all sampled values")
    for name, texts in forms.values.items():
        is_untyped = name not in forms.columns and name not in forms.unclear
        if is_untyped and is_amount(name) and reads_all(texts, "decimal", forms.mark):
            yield Setting(name, "decimal", "whole amounts")
    for name, words in forms.unclear.items():
        if name not in declared:
            yield Setting(name, " or ".join(words), "choose one", is_open=True)


def notation(forms: Forms, typed: Sequence[str], people: Mapping[str, ColumnRole]) -> Iterator[Setting]:
    """Yield the decimal mark, and texts that mean no value; none of them is from a column with personal data."""
    if len(forms.marks) > 1:
        yield Setting("decimal", ",", 'or ".": the numbers can be read with both', is_open=True)
    elif forms.mark is not None and forms.mark != forms.settings.decimal:
        yield Setting("decimal", forms.mark, "reads the numbers")
    odd = {text for name, texts in forms.odd.items() if name in typed and name not in people for text in texts}
    meant = {text for counts in forms.cells.values() for text in counts if text.lower() in _NULLS}
    if new := sorted((odd | meant) - set(forms.settings.null_values)):
        yield Setting("null_values", [*forms.settings.null_values, *new], "instead of a value")


def of_id(identifier: Id | None, config: DatasetConfig, records: int) -> Iterator[Setting]:
    """Yield the id, unless the dataset has one."""
    if config.id:
        return
    if identifier is None:
        yield Setting(
            "id",
            "[]",
            f"no column or pair of columns reliably identifies each of {plural(records, 'record', 'records')}",
            is_open=True,
        )
    else:
        names = list(identifier.columns)
        yield Setting("id", names[0] if len(names) == 1 else names, identifier.why, is_open=identifier.is_open)


def of_money(columns: Sequence[ProfiledColumn], config: DatasetConfig) -> Iterator[Setting]:
    """Yield the amount at risk and its currency, unless the dataset has them; without a currency it is open."""
    if config.money is not None:
        return
    amounts = [c for c in columns if c.role is ColumnRole.AMOUNT and c.type in (Type.DECIMAL, Type.INTEGER)]
    if not amounts:
        return
    amount = min(amounts, key=lambda column: _BEST.fullmatch(column.words) is None).name
    currency = next((column.name for column in columns if column.role is ColumnRole.CURRENCY), None)
    if currency is None:
        why = "the currency, as three capital letters, if all amounts have the same"
        yield Setting("money", {"amount": amount, "currency": "EUR"}, why, is_open=True)
    else:
        yield Setting("money", {"amount": amount, "currency": currency}, "shown as money at risk")


def of_pii(people: Mapping[str, ColumnRole], config: DatasetConfig) -> Iterator[Setting]:
    """Yield the columns with personal data; columns that are missing in a configured `pii` are open."""
    new = {name: role for name, role in people.items() if name not in config.pii}
    if config.pii and new:
        yield Setting("pii", [*config.pii, *new], f"also {_listed(new)}", is_open=True)
    elif new:
        yield Setting("pii", list(new), _listed(new))


def _listed(people: Mapping[str, ColumnRole]) -> str:
    return ", ".join(dict.fromkeys(role.value for role in people.values()))


def with_offset(forms: Forms) -> set[str]:
    """Return the columns whose times say their offset from UTC, or are counted since 1970 in UTC."""
    since_1970 = {name for name, word in forms.columns.items() if word.startswith("instant epoch")}
    return since_1970 | {name for name, texts in forms.values.items() if all(map(_OFFSET.fullmatch, texts))}


def of_zone(columns: Sequence[ProfiledColumn], zoned: Collection[str], config: DatasetConfig) -> Iterator[Setting]:
    """Yield a hint for times without an offset, which are read as UTC; those of `zoned` columns have one."""
    local = [column.name for column in columns if column.type is Type.INSTANT and column.name not in zoned]
    if local and config.timezone == "UTC":
        why = f"or another, if the times of {', '.join(local)} are local; they are read as UTC"
        yield Setting("timezone", "Europe/Berlin", why, is_open=True)


def of_prices(columns: Sequence[ProfiledColumn]) -> Iterator[str]:
    """Yield a sentence for each column of amounts that no type reads whole."""
    for column in columns:
        if column.role is ColumnRole.PRICE:
            remedy = "set `decimal` to their mark and declare it `decimal`, or export it as numbers"
            prices = ColumnRole.PRICE.value
            yield f"{column.name} holds {prices} that are not all read as numbers, so it is text: {remedy}"


def unreadable(problems: Sequence[UnreadableCells]) -> Iterator[str]:
    """Yield a sentence for each column with values that its type cannot read."""
    for problem in problems:
        if problem.column == "*" and not problem.records:  # about the column as a whole
            yield problem.reason
            continue
        column = "" if problem.column == "*" else f" of {problem.column}"
        yield f"{problem.records:,} values{column} cannot be read: {problem.reason}, first at {problem.first}"
