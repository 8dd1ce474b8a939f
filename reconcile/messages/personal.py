"""Personal data: mask the values of a dataset's records unless a person asked to see them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from notifications.base import MASK
from notifications.wording import words
from reconcile.config.settings import Project
from reconcile.findings.identity import is_of_content
from rules.values import PLACE

_IDENTIFYING = 3
"""A shorter text identifies nobody and would match everywhere."""


@dataclass(frozen=True)
class Hidden:
    """The columns whose values are masked; None: all of them. `id` are the columns that identify records.

    `span` is the column of a rule's window, `amount` the column of the money at risk. `texts` are masked values: a
    text or a record's name that contains one is masked too.
    """

    columns: frozenset[str] | None = frozenset()
    id: tuple[str, ...] = ()
    span: str | None = None
    amount: str | None = None
    texts: frozenset[str] = frozenset()

    @classmethod
    def of(cls, project: Project, dataset: str, rule: str, show: Collection[str] = ()) -> Hidden:
        """Return the masked columns of a rule's findings, without those in `show`.

        For a dataset that is no longer in the configuration all columns are masked: its `pii` is unknown.
        """
        settings, rule_settings = project.datasets.get(dataset), project.rules.get(rule)
        if settings is None:
            return cls(None)
        span = rule_settings.ordered_by if rule_settings else None
        amount = settings.money.amount if settings.money else None
        return cls(frozenset(settings.pii) - frozenset(show), settings.id, span, amount)

    def hides(self, column: str | None) -> bool:
        """Return True if the column's values are masked; an unknown column (None) could be any of them.

        If a key has a column twice, the name of the second includes its normalisers: `email (lower)`.
        """
        if self.columns is None or column is None:
            return self.columns is None or bool(self.columns)
        return column in self.columns or any(column.startswith(f"{name} (") for name in self.columns)

    def value(self, column: str | None, value: Any) -> Any:
        """Return the value as it is shown; null is never personal."""
        return MASK if value is not None and self.hides(column) else value

    def with_values_of(self, rows: Iterable[Mapping[str, str]]) -> Hidden:
        """Mask the personal values of these rows wherever they appear in a text or a record's name."""
        values = (text for row in rows for column, text in row.items() if self.hides(column))
        return replace(self, texts=frozenset(text for text in values if len(text) >= _IDENTIFYING))

    def text(self, text: str) -> str:
        """Return the text, masked if it contains a masked value."""
        return MASK if any(hidden in text for hidden in self.texts) else text

    def record(self, name: Sequence[Any]) -> list[Any]:
        """Return a record's id as it is shown. The dataset may have another `id` since."""
        if self.tells_content(name):
            return list(name)
        columns = self.id if len(self.id) == len(name) else (None,) * len(name)
        shown = (self.value(column, part) for column, part in zip(columns, name, strict=True))
        return [MASK if self.text(str(part)) == MASK else part for part in shown]

    def tells_content(self, name: Sequence[Any]) -> bool:
        """Return True if the name is our own, of a record without an id, and so never personal."""
        return not self.id and self.columns is not None and is_of_content(name)

    def risk(self, amounts: Mapping[str, Decimal], findings: int = 1) -> Mapping[str, Decimal]:
        """Return the amounts at risk in so many findings as they may be shown; empty if they may not.

        The amount of one finding is as personal as its column; a sum over several is not.
        """
        return {} if findings < 2 and self.hides(self.amount) else amounts

    def at_risk(self, amounts: Mapping[str, Decimal], findings: int = 1) -> str:
        """Return the same in words."""
        return words.money(amounts) if self.risk(amounts, findings) or not amounts else MASK

    def finding(self, finding: Mapping[str, Any]) -> dict[str, Any]:
        """Return a finding's public JSON as it is shown."""
        shown = {**finding, "key": {column: self.value(column, value) for column, value in finding["key"].items()}}
        shown["keeper"] = finding["keeper"] and self.record(finding["keeper"])
        lists = [name for name in ("surplus", "settled") if name in finding]
        shown |= {name: [self.record(record) for record in finding[name]] for name in lists}
        if "settled_pairs" in finding:
            shown["settled_pairs"] = [[self.record(a), self.record(b)] for a, b in finding["settled_pairs"]]
        shown |= self._places(finding)
        if "nearby" in finding:
            shown["nearby"] = finding["nearby"] | {
                "nearest": [self.record(record) for record in finding["nearby"]["nearest"]],
                "at": [self.value(self.span, at) for at in finding["nearby"]["at"]],
                **self._places(finding["nearby"]),
            }
        if "money" in finding:
            shown["money"] = {currency: self.value(self.amount, value) for currency, value in finding["money"].items()}
        if "span" in finding:
            shown["span"] = [self.value(self.span, value) for value in finding["span"]]
        return shown

    def _places(self, finding: Mapping[str, Any]) -> dict[str, Any]:
        """Return the places of records without an id as they are shown."""
        shown: dict[str, Any] = {}
        if "places" in finding:
            shown["places"] = [list(map(self.value, PLACE, place)) for place in finding["places"]]
        if "values" in finding:
            shown["values"] = [
                {name: self.value(name, part) for name, part in row.items()} for row in finding["values"]
            ]
        return shown


def names(shown: Mapping[str, Any]) -> list[str]:
    """Return names for people for the records of a finding's public JSON, or of its `nearby`, keeper first."""
    if "places" in shown:
        return [f"{file}, row {row}" for file, row in shown["places"]]
    if "values" in shown:
        return [" · ".join(_text(value) for value in row.values()) for row in shown["values"]]
    keeper = [shown["keeper"]] if shown.get("keeper") else []
    records = shown["nearest"] if "nearest" in shown else (*keeper, *shown["surplus"])
    return [" / ".join(map(_text, record)) for record in records]


def _text(value: Any) -> str:
    return "" if value is None else str(value)
