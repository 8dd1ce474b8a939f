"""Conditions on findings: `records > 3 and EUR > 100`, or the columns of their keys."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from reconcile.errors import Wrong
from reconcile.findings.shown import Finding
from rules.cleaning import CURRENCY
from rules.document.mistakes import RuleError
from rules.expressions import ExpressionError, parse
from rules.expressions.hints import quotes_advice
from rules.expressions.tree import Name, walk
from rules.values import Column, Schema, Type, Value

_OF_FINDINGS: Mapping[str, Type] = {
    "rule": Type.TEXT,
    "state": Type.TEXT,
    "form": Type.TEXT,
    "assigned_to": Type.TEXT,
    "records": Type.INTEGER,
    "money": Type.DECIMAL,
    "probability": Type.DECIMAL,
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
    """Yield the findings for which a condition is true; each must have the columns of the key that it names.

    Raises ConditionRefused.
    """
    names = _Names.of(findings)
    try:
        expression = parse(text)
        columns = [names.column(text, node) for node in walk(expression.root) if isinstance(node, Name)]
        condition = expression.condition(Schema(tuple(dict.fromkeys(columns))), timezone)
    except RuleError as error:
        raise ConditionRefused(error) from None
    of_keys = [names.keys[column.name] for column in columns if column.name in names.keys]
    for finding in findings:
        if finding.key.keys() >= set(of_keys) and condition.evaluate(names.row(finding), now) is True:
            yield finding


@dataclass(frozen=True)
class _Names:
    """The names that a condition on these findings may use: `keys` are columns of their keys, by what they are called.

    A column with the name of something else of a finding is called `key_state`.
    """

    findings: Sequence[Finding]
    keys: Mapping[str, str]
    currencies: frozenset[str]

    @classmethod
    def of(cls, findings: Sequence[Finding]) -> _Names:
        columns = dict.fromkeys(name for finding in findings for name in finding.key)
        keys = {f"key_{name}" if name in _OF_FINDINGS else name: name for name in columns}
        return cls(findings, keys, frozenset(code for finding in findings for code in finding.money))

    def column(self, text: str, node: Name) -> Column:
        """Return a name of a condition as a column. Raises ExpressionError for one without a meaning, or with two."""
        name = node.name
        if name in self.keys:
            return Column(name, self._type(text, node))
        if f"key_{name}" in self.keys and name in _OF_FINDINGS:
            problem = f"`{name}` could mean the finding's or a column of its key"
            raise ExpressionError(text, node.at, problem, f"write `key_{name}` for the column")
        if name in _OF_FINDINGS:
            return Column(name, _OF_FINDINGS[name])
        if name in self.currencies:
            return Column(name, Type.DECIMAL)
        quotes = quotes_advice(name, text, node.at)
        if CURRENCY.fullmatch(name):
            raise ExpressionError(
                text, node.at, f"None of these findings has money in `{name}`", f"{quotes}nothing can match"
            )
        advice = f"{quotes}use {', '.join(_OF_FINDINGS)}, currencies like EUR, or columns of the key"
        raise ExpressionError(text, node.at, f"`{name}` is not known here", advice)

    def _type(self, text: str, node: Name) -> Type:
        column = self.keys[node.name]
        types = {kind for finding in self.findings if (kind := _TYPES.get(type(finding.key.get(column))))}
        if len(types) > 1:
            raise ExpressionError(text, node.at, f"`{node.name}` has several types in these findings", "add `--rule`")
        return next(iter(types), Type.TEXT)

    def row(self, finding: Finding) -> Mapping[str, Value]:
        """Return the values of a finding by name; an erased value, and money in a currency that it lacks, are null."""
        row: dict[str, Value] = {name: getattr(finding, name) for name in _PLAIN}
        row["state"] = finding.state.value
        row["money"] = next(iter(finding.money.values())) if len(finding.money) == 1 else None
        row |= {code: finding.money.get(code) for code in self.currencies}
        values = {name: finding.key.get(column) for name, column in self.keys.items()}
        return row | {name: value if type(value) in _TYPES else None for name, value in values.items()}


_PLAIN = tuple(name for name in _OF_FINDINGS if name not in ("state", "money"))
