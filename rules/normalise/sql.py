"""The built-in normalisers in SQL, by name; each declares the dialects where that equals Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from rules.functions import (
    calendar_field,
    digits_apart,
    ending,
    exact,
    plain,
    replaced,
    seen,
    sorted_words,
    squeezed,
    trimmed,
    utc_day,
    utc_hour,
    utc_month,
    utc_quarter,
    utc_week,
    zeros_stripped,
)
from rules.normalise.normaliser import Sql


def _keep(pattern: str) -> Sql:
    return lambda x, _argument, _timezone: replaced(plain(x), sa.literal(pattern), sa.literal(""))


def _docno(x: sa.ColumnElement[Any], _argument: Any, _timezone: str) -> sa.ColumnElement[Any]:
    return zeros_stripped(sa.func.upper(digits_apart(plain(x))))


def _map(x: sa.ColumnElement[Any], argument: Mapping[str, str | None], _timezone: str) -> sa.ColumnElement[Any]:
    whens = [
        (exact(x) == exact(sa.literal(old)), sa.null() if new is None else plain(sa.literal(new)))
        for old, new in argument.items()
    ]
    return sa.case(*whens, else_=plain(x))


def _regex(x: sa.ColumnElement[Any], argument: tuple[str, str], _timezone: str) -> sa.ColumnElement[Any]:
    return replaced(plain(x), sa.literal(argument[0]), sa.literal(argument[1]))


def _abs(x: sa.ColumnElement[Any], _argument: Any, _timezone: str) -> sa.ColumnElement[Any]:
    # The smallest integer has no positive counterpart in its own type.
    wide = sa.cast(x, sa.Numeric(38, 0)) if isinstance(x.type, sa.Integer) else x
    return sa.func.abs(wide, type_=wide.type)


FORMS: Mapping[str, Sql] = {
    "trim": lambda x, _a, _z: trimmed(plain(x)),
    "squeeze": lambda x, _a, _z: squeezed(seen(plain(x))),
    "lower": lambda x, _a, _z: sa.func.lower(plain(x)),
    "upper": lambda x, _a, _z: sa.func.upper(plain(x)),
    "casefold": lambda x, _a, _z: sa.func.lower(plain(x)),
    "nfkc": lambda x, _a, _z: plain(x),
    "unaccent": lambda x, _a, _z: plain(x),
    "alnum": _keep("[^A-Za-z0-9]+"),
    "digits": _keep("[^0-9]+"),
    "letters": _keep("[^A-Za-z]+"),
    "words": lambda x, _a, _z: sorted_words(plain(x)),
    "strip_zeros": lambda x, _a, _z: zeros_stripped(plain(x)),
    "docno": _docno,
    "translit": lambda x, _a, _z: plain(x),
    "prefix": lambda x, argument, _z: sa.func.substr(plain(x), 1, argument),
    "suffix": lambda x, argument, _z: ending(plain(x), sa.literal(argument)),
    "map": _map,
    "regex": _regex,
    "round": lambda x, argument, _z: sa.func.round(x, argument, type_=sa.Numeric()),
    "abs": _abs,
    "day": lambda x, _a, _z: utc_day(x),
    "hour": lambda x, _a, _z: utc_hour(x),
    "month": lambda x, _a, _z: utc_month(x),
    "week": lambda x, _a, _z: utc_week(x),
    "quarter": lambda x, _a, _z: utc_quarter(x),
    "year": lambda x, _a, _z: calendar_field(x, "year"),
    "weekday": lambda x, _a, _z: calendar_field(x, "isodow"),
}
