"""Rules of kind reconciliation over two small datasets, from YAML to their answer."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rules.document.mistakes import Position
from rules.document.tree import Entry, parse
from rules.engines.base import MoneyColumns
from rules.groups.detection import Detection
from rules.groups.group import Discrepancy
from rules.kinds.base import Fitted, Rule
from rules.kinds.reconciliation import Reconciliation
from rules.loader import load_rule
from rules.values import Type, Value
from tests.support.rules import Rows

SLOT = dt.datetime(2026, 3, 10, 6, 0, tzinfo=dt.UTC)
TYPES = {
    "id": Type.INTEGER,
    "ref": Type.TEXT,
    "day": Type.DATE,
    "at": Type.INSTANT,
    "amount": Type.DECIMAL,
    "currency": Type.TEXT,
    "status": Type.TEXT,
}
MONEY = MoneyColumns("amount", "currency")


def rule(text: str) -> Rule:
    """Load the settings of a rule, in YAML, without `kind`, `left` and `right`."""
    tree = parse(f"kind: reconciliation\nleft: bank\nright: ledger\n{text}")
    assert tree.root is not None, tree.problems
    loaded, mistakes = load_rule("agree", Entry(Position("reconcile.yaml", 1, 1), tree.root))
    assert loaded is not None, mistakes
    return loaded


def mistakes(text: str) -> list[str]:
    """Return the mistakes in the settings of a rule, each with its line and column."""
    tree = parse(f"kind: reconciliation\nleft: bank\nright: ledger\n{text}")
    assert tree.root is not None
    _, problems = load_rule("agree", Entry(Position("reconcile.yaml", 1, 1), tree.root))
    return [f"{each.line - 3}:{each.column} {each.sentence}" for each in problems]


def row(number: int, ref: str | None = "A", **values: Value) -> dict[str, Value]:
    """One record, on 1 March, of 10 EUR."""
    return {
        "id": number,
        "ref": ref,
        "day": dt.date(2026, 3, 1),
        "at": dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC),
        "amount": 10,
        "currency": "EUR",
        "status": "ok",
    } | values


@dataclass(frozen=True)
class Compared:
    """Two datasets, `bank` and `ledger`, with the same columns."""

    left: Sequence[Mapping[str, Value]]
    right: Sequence[Mapping[str, Value]]
    types: Mapping[str, Type] = field(default_factory=lambda: dict(TYPES))
    right_types: Mapping[str, Type] | None = None
    money: MoneyColumns | None = None
    id: tuple[str, ...] = ("id",)
    timezones: tuple[str, str] = ("UTC", "UTC")

    @property
    def rows(self) -> tuple[Rows, Rows]:
        left = Rows(self.types, self.left, self.id, timezone=self.timezones[0], money=self.money)
        right = Rows(self.right_types or self.types, self.right, self.id, timezone=self.timezones[1], money=self.money)
        return left, right

    def fitted(self, text: str) -> Fitted:
        relations = {
            name: replace(rows.relation(), dataset=name)
            for name, rows in zip(("bank", "ledger"), self.rows, strict=True)
        }
        return Reconciliation().fit(rule(text), relations)

    def detect(self, text: str, *, memory: str | None = None, folder: Path | None = None) -> Detection:
        """Run the rule over streams, or over files in `folder`."""
        records = {
            name: rows.streamed() if folder is None else rows.readable(folder)
            for name, rows in zip(("bank", "ledger"), self.rows, strict=True)
        }
        return self.fitted(text).detect(records, SLOT, memory)


def shown(detection: Detection) -> list[Any]:
    """Return the findings as (form, left ids, right ids), sorted."""
    groups = [group for group in detection.groups if isinstance(group, Discrepancy)]
    assert len(groups) == len(detection.groups)
    return sorted((g.form, [m.id[0] for m in g.left], [m.id[0] for m in g.right]) for g in groups)
