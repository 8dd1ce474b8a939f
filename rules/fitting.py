"""Whether a rule fits a dataset: columns that exist, of types its settings can take. One sentence for each that not."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal

from rules.document.mistakes import suggestion
from rules.engines.base import Relation
from rules.errors import RuleError
from rules.models import KeyPart
from rules.normalise import chain_type
from rules.values import PLACE, Schema, Type

TIMES = (Type.DATE, Type.INSTANT)
_UNNAMED = re.compile(r"column_[0-9]+")
_HEADING = "most columns have no heading: where it stands further down, say `header_row` (workbook) or `skip` (file)"


def missing(schema: Schema, relation: Relation, named: Iterable[tuple[str, str]]) -> Iterator[str]:
    """For (setting, column) pairs: a sentence for each column the dataset does not have; what it has is said once."""
    known_are_said = False
    for setting, column in named:
        if column not in schema:
            near = suggestion(column, schema.names)
            is_list = near.startswith("known")
            advice = [
                "write a column, or a currency as three capitals like EUR" if is_list and setting == "money" else "",
                "" if is_list and known_are_said else near,
                _HEADING if is_list and not known_are_said and _is_without_heading(schema.names) else "",
            ]
            known_are_said = known_are_said or is_list
            what = f"`{setting}` names `{column}`, but dataset `{relation.dataset}` has no such column"
            yield "; ".join([what, *filter(None, advice)])


def _is_without_heading(names: Iterable[str]) -> bool:
    """Whether most columns got the names of those whose heading is empty, as below a title that stands alone."""
    heading = [name for name in names if name not in PLACE]
    return 2 * sum(_UNNAMED.fullmatch(name) is not None for name in heading) >= len(heading) > 1


def key_part(schema: Schema, part: KeyPart) -> Iterator[str]:
    """Whether the column's type can take the normalisers."""
    if part.column in schema:
        try:
            chain_type(schema[part.column].type, part.steps)
        except RuleError as error:
            yield f"The key column `{part.column}` cannot be normalised so: {error}"


def span(schema: Schema, setting: str, column: str, by: dt.timedelta | Decimal) -> Iterator[str]:
    """A duration needs a time column, a number a numeric one."""
    if column not in schema:
        return
    kind = schema[column].type
    if isinstance(by, dt.timedelta):
        if kind not in TIMES:
            advice = "write a number" if kind.is_number else f"declare `{column}` as date or instant under columns:"
            yield f"`{setting}` measures time, but `{column}` is of type {kind.value}; {advice}."
        elif kind is Type.DATE and by % dt.timedelta(days=1):
            yield f"`{setting}` of the date `{column}` must be whole days; write days or weeks, like 3d."
    elif not kind.is_number:
        advice = "write a duration like 15m" if kind in TIMES else f"declare `{column}` as a number under columns:"
        yield f"`{setting}` is a number, but `{column}` is of type {kind.value}; {advice}."


def money(schema: Schema, relation: Relation) -> Iterator[str]:
    """An amount is a number, a currency a text."""
    if relation.money is None:
        return
    amount, currency = relation.money.amount, relation.money.currency_column
    if amount in schema and not schema[amount].type.is_number:
        kind = schema[amount].type.value
        yield f"`money` needs a number, but `{amount}` is of type {kind}; declare it as decimal under columns:."
    if currency is not None and currency in schema and schema[currency].type is not Type.TEXT:
        yield f"The currency of `money` must be a text, but `{currency}` is of type {schema[currency].type.value}."
