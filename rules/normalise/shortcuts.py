"""DuckDB SQL for normalisers that need Python, for values that are simple enough (nearly all).

A shortcut is a condition on the column and the normalised value where it holds; Python computes all other values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from rules.functions import is_ascii, trim_sp
from rules.models import Step

Form = tuple[tuple[sa.ColumnElement[bool], sa.ColumnElement[Any]], ...]
"""Conditions with the values where they hold, in order."""

_LABEL = "[a-z0-9]+(?:-[a-z0-9]+)*"  # without two hyphens in a row, so never xn--, which needs the package idna
_DOMAIN = rf"@{_LABEL}(?:\.{_LABEL})+"
_LOCAL = "[a-z0-9_.-]+"
_PLAIN = _LOCAL + _DOMAIN
_NO_GMA_NOR_GOO = "(?:[a-fh-z0-9]{0}|g(?:[a-lnp-z0-9]{0}|m(?:[b-z0-9]{0})?|o(?:[a-np-z0-9]{0})?)?)".format("[a-z0-9]*")
_NO_GMAIL = rf"{_LOCAL}@{_NO_GMA_NOR_GOO}(?:-[a-z0-9]+)*(?:\.{_LABEL})+"
"""A plain address whose domain begins with neither gma nor goo: one pattern is cheaper than a comparison with each."""
_MIXED = rf"(?i) *[a-z0-9_.-]+(?:\+[a-z0-9_.+-]*)?{_DOMAIN} *"
_GMAIL = ("gmail.com", "googlemail.com")
_LEAVE_ADDRESSES_ALONE = ("trim", "squeeze", "lower", "casefold", "nfkc", "unaccent")


def simple_forms(steps: Sequence[Step], column: sa.ColumnElement[Any]) -> Form:
    """Return the shortcuts for a chain, if any. Earlier steps must not change simple values."""
    if not steps or any(step.name not in _LEAVE_ADDRESSES_ALONE for step in steps[:-1]):
        return ()
    forms = _FORMS.get(steps[-1].name)
    return forms(column) if forms else ()


def _email(column: sa.ColumnElement[Any]) -> Form:
    return ((_matches(column, _PLAIN), column), (_is_mixed(column), _lowered(column)))


def _mailbox(column: sa.ColumnElement[Any]) -> Form:
    address, domain = _parts(_lowered(column), "@")
    local, _ = _parts(address, "+")
    undotted = sa.func.replace(local, ".", "", type_=sa.Text())
    gmail = sa.case((undotted == "", local), else_=undotted) + "@gmail.com"
    return (_matches(column, _NO_GMAIL), column), (
        _is_mixed(column),
        sa.case((domain.in_(_GMAIL), gmail), else_=local + "@" + domain),
    )


def _lowered(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    return sa.func.lower(trim_sp(column), type_=sa.Text())


def _is_mixed(column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    return sa.and_(is_ascii(column), _matches(column, _MIXED))


def _matches(column: sa.ColumnElement[Any], pattern: str) -> sa.ColumnElement[bool]:
    return sa.func.regexp_full_match(column, pattern, type_=sa.Boolean())


def _parts(text: sa.ColumnElement[Any], separator: str) -> tuple[sa.ColumnElement[Any], sa.ColumnElement[Any]]:
    """Return the text before the separator, and the text between it and the next one."""
    before, after = (sa.func.split_part(text, separator, n, type_=sa.Text()) for n in (1, 2))
    return before, after


_FORMS: dict[str, Callable[[sa.ColumnElement[Any]], Form]] = {"email": _email, "mailbox": _mailbox}
