"""Check that a rule fits its dataset: its columns exist and have the right types. One sentence for each mistake."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from rules.binding.fitted import DoesNotFit
from rules.binding.side import money_columns
from rules.document.mistakes import RuleError, suggestion
from rules.engines.base import Relation
from rules.models import Distance, KeyPart, Percent
from rules.normalise import chain_type
from rules.values import PLACE, Schema, Type

TIMES = (Type.DATE, Type.INSTANT)
_UNNAMED = re.compile(r"column_[0-9]+")
_HEADING = "most columns have no heading; if it is further down, set `header_row` (workbook) or `skip` (file)"


def refuse(rule: str, mistakes: Iterable[str]) -> None:
    """Raise DoesNotFit with each mistake once, if there is any."""
    if sentences := list(dict.fromkeys(mistakes)):
        raise DoesNotFit(rule, sentences)


def failing(tests: Iterable[tuple[str, Callable[[], object]]]) -> Iterator[str]:
    """Yield a sentence for each (setting, test) pair whose test raises RuleError."""
    for setting, test in tests:
        try:
            test()
        except RuleError as error:
            yield f"{setting}: {error}"


def named(relation: Relation, by_rule: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield each column that the dataset's id, the rule or the dataset's money names, with its setting."""
    yield from (("id", name) for name in relation.id)
    yield from by_rule
    yield from (("money", name) for name in money_columns(relation))


def missing(schema: Schema, relation: Relation, named: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a sentence for each (setting, column) pair whose column is missing; known columns are listed only once."""
    columns_listed = False
    for setting, column in named:
        if column not in schema:
            hint = _inside(column, schema) or suggestion(column, schema.names)
            is_list = hint.startswith("known")
            advice = [
                "write a column, or a currency as three capitals like EUR" if is_list and setting == "money" else "",
                "" if is_list and columns_listed else hint,
                _HEADING if is_list and not columns_listed and _is_without_heading(schema.names) else "",
            ]
            columns_listed = columns_listed or is_list
            mistake = f"`{setting}` names `{column}`, but dataset `{relation.dataset}` has no such column"
            yield "; ".join([mistake, *filter(None, advice)])


def _inside(column: str, schema: Schema) -> str:
    """Return how to reach a value inside a column of JSON texts, if the name looks like one."""
    document, _, path = column.partition(".")
    is_inside = path and document in schema and schema[document].type is Type.TEXT
    return f"declare it under columns: (JSON files), or derive it: json({document}, '{path}')" if is_inside else ""


def _is_without_heading(names: Iterable[str]) -> bool:
    """Return True if most columns have the names of columns without heading, as below a title line."""
    heading = [name for name in names if name not in PLACE]
    return 2 * sum(_UNNAMED.fullmatch(name) is not None for name in heading) >= len(heading) > 1


def key_part(schema: Schema, part: KeyPart) -> Iterator[str]:
    """Yield a sentence if the normalisers do not fit the column's type."""
    if part.column in schema:
        try:
            chain_type(schema[part.column].type, part.steps)
        except RuleError as error:
            yield f"The key column `{part.column}` cannot be normalised this way: {error}"


def span(schema: Schema, setting: str, column: str, by: Distance) -> Iterator[str]:
    """Yield a sentence unless a duration has a time column, or a number or percentage a numeric column."""
    if column not in schema:
        return
    type_ = schema[column].type
    if isinstance(by, dt.timedelta):
        if type_ not in TIMES:
            advice = "write a number" if type_.is_number else f"declare `{column}` as date or instant under columns:"
            yield f"`{setting}` measures time, but `{column}` is of type {type_.value}; {advice}."
        elif type_ is Type.DATE and by % dt.timedelta(days=1):
            yield f"`{setting}` of the date `{column}` must be whole days; write days or weeks, like 3d."
    elif not type_.is_number:
        advice = "write a duration like 15m" if type_ in TIMES else f"declare `{column}` as a number under columns:"
        what = "percentage" if isinstance(by, Percent) else "number"
        yield f"`{setting}` is a {what}, but `{column}` is of type {type_.value}; {advice}."


def order(schema: Schema, setting: str, column: str) -> Iterator[str]:
    """Yield a sentence unless a column has an order in time or by number."""
    if column not in schema:
        return
    type_ = schema[column].type
    if type_ not in TIMES and not type_.is_number:
        advice = f"declare `{column}` as date, instant, integer or decimal under columns:"
        yield f"`{setting}` orders by times or numbers, but `{column}` is of type {type_.value}; {advice}."


def period(schema: Schema, begin: str, end: str) -> Iterator[str]:
    """Yield a sentence unless both columns of a period have one type: of times, or exact numbers."""
    if begin not in schema or end not in schema:
        return
    types = schema[begin].type, schema[end].type
    for column, type_ in zip((begin, end), types, strict=True):
        if type_ not in (*TIMES, Type.INTEGER, Type.DECIMAL):
            advice = f"declare `{column}` as date, instant, integer or decimal under columns:"
            yield f"`overlap` compares times or exact numbers, but `{column}` is of type {type_.value}; {advice}."
            return
    if types[0] is not types[1]:
        both = f"`{begin}` is of type {types[0].value} and `{end}` of type {types[1].value}"
        yield f"`overlap` needs two columns of one type, but {both}; declare them alike under columns:."


def money(schema: Schema, relation: Relation) -> Iterator[str]:
    """Yield a sentence if the amount is not a number or the currency not a text."""
    if relation.money is None:
        return
    amount, currency = relation.money.amount, relation.money.currency_column
    if amount in schema and not schema[amount].type.is_number:
        type_ = schema[amount].type.value
        yield f"`money` needs a number, but `{amount}` is of type {type_}; declare it as decimal under columns:."
    if currency is not None and currency in schema and schema[currency].type is not Type.TEXT:
        yield f"The currency of `money` must be a text, but `{currency}` is of type {schema[currency].type.value}."


def excepted(relation: Relation, records: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield a sentence if `except` names records of this dataset by ids of another form."""
    other_form = next((record for record in records if len(record) != len(relation.id)), None)
    if records and not relation.id:
        yield f"`except` names records by their id, but dataset `{relation.dataset}` has none; give it an `id`."
    elif other_form is not None:
        parts = len(other_form)
        yield f"`except` has an id of {parts} parts, but the id of `{relation.dataset}` has {len(relation.id)}."
