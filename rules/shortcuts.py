"""Normalisers that need Python, said in DuckDB's SQL for the values that are simple enough, which are nearly all.

A shortcut is a condition on the column and the normalised value where it holds; all other values go through Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from rules.models import Step

Form = tuple[sa.ColumnElement[bool], sa.ColumnElement[Any]]

_SIMPLE_ADDRESS = r"[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+"
_LEAVE_ADDRESSES_ALONE = ("trim", "squeeze", "lower", "casefold", "nfkc", "unaccent")


def simple_form(steps: Sequence[Step], column: sa.ColumnElement[Any]) -> Form | None:
    """The shortcut for a chain, or None. Steps before it that change nothing in simple values may stand there."""
    if not steps or any(step.name not in _LEAVE_ADDRESSES_ALONE for step in steps[:-1]):
        return None
    form = _FORMS.get(steps[-1].name)
    return form(column) if form else None


def _email(column: sa.ColumnElement[Any]) -> Form:
    lowered = sa.func.lower(column, type_=sa.Text())
    # Labels in punycode are checked by the idna package.
    plain = sa.func.regexp_full_match(column, _SIMPLE_ADDRESS, type_=sa.Boolean())
    return sa.and_(plain, sa.not_(_contains(lowered, "xn--"))), lowered


def _mailbox(column: sa.ColumnElement[Any]) -> Form:
    fits, lowered = _email(column)
    local, domain = (sa.func.split_part(lowered, "@", n, type_=sa.Text()) for n in (1, 2))
    untagged = sa.func.split_part(local, "+", 1, type_=sa.Text())
    tagged = sa.case((_contains(lowered, "+"), untagged + "@" + domain), else_=lowered)
    # A tag without a name before it, and Gmail's dots, are rare enough for Python.
    gmail = sa.or_(_contains(lowered, "@gmail.com"), _contains(lowered, "@googlemail.com"))
    return sa.and_(fits, sa.not_(gmail), sa.not_(sa.func.starts_with(lowered, "+", type_=sa.Boolean()))), tagged


def _contains(text: sa.ColumnElement[Any], part: str) -> sa.ColumnElement[bool]:
    return sa.func.contains(text, part, type_=sa.Boolean())


_FORMS: dict[str, Callable[[sa.ColumnElement[Any]], Form]] = {"email": _email, "mailbox": _mailbox}
