"""Personal data: what of a dataset's records nobody is shown unless they asked for it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from notifications.base import MASK
from notifications.wording import words
from reconcile.config.settings import Project
from reconcile.findings.identity import is_of_content
from rules.values import PLACE


@dataclass(frozen=True)
class Hidden:
    """The columns whose values are not shown; None: all of them. `id` are the columns records are named by.

    `span` is the column that a rule's window is over, `amount` the one that says what is at risk.
    """

    columns: frozenset[str] | None = frozenset()
    id: tuple[str, ...] = ()
    span: str | None = None
    amount: str | None = None

    @classmethod
    def of(cls, project: Project, dataset: str, rule: str, show: Collection[str] = ()) -> Hidden:
        """What is hidden of a rule's findings but for the columns in `show`.

        Of a dataset that is not in the configuration any more everything is: nothing says what is personal there.
        """
        found, by = project.datasets.get(dataset), project.rules.get(rule)
        if found is None:
            return cls(None)
        span = by.ordered_by if by else None
        amount = found.money.amount if found.money else None
        return cls(frozenset(found.pii) - frozenset(show), found.id, span, amount)

    def hides(self, column: str | None) -> bool:
        """Whether values of that column are not shown; one nobody knows the name of (None) may be any of them.

        A key that has a column twice calls the second one by what was made of it: `email (lower)`.
        """
        if self.columns is None or column is None:
            return self.columns is None or bool(self.columns)
        return column in self.columns or any(column.startswith(f"{one} (") for one in self.columns)

    def value(self, column: str | None, value: Any) -> Any:
        """The value as it is shown; null says of nobody anything."""
        return MASK if value is not None and self.hides(column) else value

    def record(self, name: Sequence[Any]) -> list[Any]:
        """A record's id as it is shown. It may be from when the dataset had another one."""
        if self.tells_content(name):
            return list(name)
        columns = self.id if len(self.id) == len(name) else (None,) * len(name)
        return [self.value(column, part) for column, part in zip(columns, name, strict=True)]

    def tells_content(self, name: Sequence[Any]) -> bool:
        """Whether the name is our own, of a record without an id: it says nothing of anybody."""
        return not self.id and self.columns is not None and is_of_content(name)

    def risk(self, amounts: Mapping[str, Decimal], findings: int = 1) -> Mapping[str, Decimal]:
        """What is at risk in so many findings, as it may be told; empty where it may not.

        The amount of one finding is as personal as its column; a sum over several tells of nobody.
        """
        return {} if findings < 2 and self.hides(self.amount) else amounts

    def at_risk(self, amounts: Mapping[str, Decimal], findings: int = 1) -> str:
        """The same in words."""
        return words.money(amounts) if self.risk(amounts, findings) or not amounts else MASK

    def finding(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """A finding's public JSON as it is shown."""
        shown = {**said, "key": {column: self.value(column, value) for column, value in said["key"].items()}}
        shown["keeper"] = said["keeper"] and self.record(said["keeper"])
        shown |= {name: [self.record(one) for one in said[name]] for name in ("surplus", "settled") if name in said}
        if "settled_pairs" in said:
            shown["settled_pairs"] = [[self.record(a), self.record(b)] for a, b in said["settled_pairs"]]
        shown |= self._places(said)
        if "nearby" in said:
            shown["nearby"] = said["nearby"] | {
                "nearest": [self.record(one) for one in said["nearby"]["nearest"]],
                "at": [self.value(self.span, at) for at in said["nearby"]["at"]],
                **self._places(said["nearby"]),
            }
        if "money" in said:
            shown["money"] = {currency: self.value(self.amount, value) for currency, value in said["money"].items()}
        if "span" in said:
            shown["span"] = [self.value(self.span, value) for value in said["span"]]
        return shown

    def _places(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Where records without an id are, as it is shown."""
        shown: dict[str, Any] = {}
        if "places" in said:
            shown["places"] = [list(map(self.value, PLACE, one)) for one in said["places"]]
        if "values" in said:
            shown["values"] = [{name: self.value(name, part) for name, part in one.items()} for one in said["values"]]
        return shown


def names(shown: Mapping[str, Any]) -> list[str]:
    """The records of a finding's public JSON, or of its `nearby`, as people find them, the keeper first."""
    if "places" in shown:
        return [f"{file}, row {row}" for file, row in shown["places"]]
    if "values" in shown:
        return [" · ".join(_written(value) for value in one.values()) for one in shown["values"]]
    keeper = [shown["keeper"]] if shown.get("keeper") else []
    records = shown["nearest"] if "nearest" in shown else (*keeper, *shown["surplus"])
    return [" / ".join(map(_written, record)) for record in records]


def _written(value: Any) -> str:
    return "" if value is None else str(value)
