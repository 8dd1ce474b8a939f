"""Normalisers that need Python, said in DuckDB's SQL for the values that are simple enough, which are nearly all.

A shortcut is a condition on the column and the normalised value where it holds; all other values go through Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from rules.functions import is_ascii
from rules.models import Step

Form = tuple[tuple[sa.ColumnElement[bool], sa.ColumnElement[Any]], ...]
"""Conditions with the values where they hold, to be tried in order."""

_DOMAIN = r"@[a-z0-9-]+(\.[a-z0-9-]+)+"
_PLAIN = r"[a-z0-9_.-]+" + _DOMAIN
_MIXED = r"(?i)[a-z0-9_.-]+(\+[a-z0-9_.+-]*)?" + _DOMAIN
_LEAVE_ADDRESSES_ALONE = ("trim", "squeeze", "lower", "casefold", "nfkc", "unaccent")


def simple_forms(steps: Sequence[Step], column: sa.ColumnElement[Any]) -> Form:
    """The shortcuts for a chain, if any. Steps before it that change nothing in simple values may stand there."""
    if not steps or any(step.name not in _LEAVE_ADDRESSES_ALONE for step in steps[:-1]):
        return ()
    forms = _FORMS.get(steps[-1].name)
    return forms(column) if forms else ()


def _email(column: sa.ColumnElement[Any]) -> Form:
    lowered = sa.func.lower(column, type_=sa.Text())
    return (
        (sa.and_(_matches(column, _PLAIN), _ordinary(column, "xn--")), column),
        (sa.and_(is_ascii(column), _matches(column, _MIXED), _ordinary(lowered, "xn--")), lowered),
    )


def _mailbox(column: sa.ColumnElement[Any]) -> Form:
    # Gmail's dots are left to Python, and so are labels in punycode, which a package checks.
    special = ("xn--", "@gmail.com", "@googlemail.com")
    lowered = sa.func.lower(column, type_=sa.Text())
    local, domain = (sa.func.split_part(lowered, "@", n, type_=sa.Text()) for n in (1, 2))
    untagged = sa.func.split_part(local, "+", 1, type_=sa.Text()) + "@" + domain
    return (
        (sa.and_(_matches(column, _PLAIN), _ordinary(column, *special)), column),
        (sa.and_(is_ascii(column), _matches(column, _MIXED), _ordinary(lowered, *special)), untagged),
    )


def _matches(column: sa.ColumnElement[Any], pattern: str) -> sa.ColumnElement[bool]:
    return sa.func.regexp_full_match(column, pattern, type_=sa.Boolean())


def _ordinary(text: sa.ColumnElement[Any], *special: str) -> sa.ColumnElement[bool]:
    return sa.and_(*(sa.not_(sa.func.contains(text, part, type_=sa.Boolean())) for part in special))


_FORMS: dict[str, Callable[[sa.ColumnElement[Any]], Form]] = {"email": _email, "mailbox": _mailbox}
