"""Conditions on findings: `records > 3 and EUR > 100`, or the columns of their keys."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from reconcile.errors import Wrong
from reconcile.findings.shown import Finding
from rules.cleaning import CURRENCY
from rules.errors import RuleError
from rules.expressions import BoundExpression, ExpressionError, parse
from rules.expressions.tree import Name, walk
from rules.values import Column, Schema, Type, Value

_OF_FINDINGS: Mapping[str, Type] = {
    "rule": Type.TEXT,
    "state": Type.TEXT,
    "form": Type.TEXT,
    "assigned_to": Type.TEXT,
    "records": Type.INTEGER,
    "money": Type.DECIMAL,
    "first_seen": Type.INSTANT,
}
_TYPES: Mapping[type, Type] = {
    str: Type.TEXT,
    bool: Type.BOOLEAN,
    int: Type.INTEGER,
    Decimal: Type.DECIMAL,
    float: Type.FLOAT,
    dt.datetime: Type.INSTANT,
    dt.date: Type.DATE,
    bytes: Type.BYTES,
}


class ConditionRefused(Wrong):
    """The condition cannot be understood, or does not fit the findings."""

    def __init__(self, error: RuleError) -> None:
        super().__init__(f"{error} Nothing was changed")


def matching(findings: Sequence[Finding], text: str, now: dt.datetime, timezone: str) -> Iterator[Finding]:
    """Yield the findings for which a condition is true. Raises ConditionRefused."""
    keys = frozenset(name for finding in findings for name in finding.key)
    try:
        condition = _condition(text, findings, keys, timezone)
    except RuleError as error:
        raise ConditionRefused(error) from None
    for finding in findings:
        if condition.evaluate(_Row(finding, keys), now) is True:
            yield finding


def _condition(text: str, findings: Sequence[Finding], keys: Collection[str], timezone: str) -> BoundExpression:
    expression = parse(text)
    names = {node.name: node.at for node in walk(expression.root) if isinstance(node, Name)}
    columns = [_column(text, name, at, findings, is_key=name in keys) for name, at in names.items()]
    return expression.condition(Schema(tuple(columns)), timezone)


def _column(text: str, name: str, at: int, findings: Sequence[Finding], *, is_key: bool) -> Column:
    """Return a name of a condition as a column. Raises ExpressionError for a name without a meaning, or with two."""
    if name in _OF_FINDINGS:
        if is_key:
            raise ExpressionError(text, at, f"`{name}` could mean the finding's or a column of its key", "use `--rule`")
        return Column(name, _OF_FINDINGS[name])
    if is_key:
        types = {kind for finding in findings if (kind := _TYPES.get(type(finding.key.get(name))))}
        if len(types) > 1:
            raise ExpressionError(text, at, f"`{name}` has several types in these findings", "add `--rule`")
        return Column(name, next(iter(types), Type.TEXT))
    if CURRENCY.fullmatch(name):
        return Column(name, Type.DECIMAL)
    advice = f"use {', '.join(_OF_FINDINGS)}, currencies like EUR, or columns of the key"
    raise ExpressionError(text, at, f"`{name}` is not known here", advice)


@dataclass(frozen=True)
class _Row(Mapping[str, Value]):
    """The names of a condition for one finding; `columns` are those of all keys. A name it lacks is null."""

    finding: Finding
    columns: frozenset[str]

    def __getitem__(self, name: str) -> Value:
        finding = self.finding
        value: Value
        if name in self.columns:
            value = finding.key.get(name)
            return value if type(value) in _TYPES else None  # an erased value is null
        if name == "state":
            return finding.state.value
        if name == "money":
            return next(iter(finding.money.values())) if len(finding.money) == 1 else None
        if name in _OF_FINDINGS:
            value = getattr(finding, name)
            return value
        return finding.money.get(name, Decimal(0)) if finding.money else None

    def __iter__(self) -> Iterator[str]:
        return iter((*_OF_FINDINGS, *self.columns))

    def __len__(self) -> int:
        return len(_OF_FINDINGS) + len(self.columns)
