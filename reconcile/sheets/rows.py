"""A finding and its records as rows of a spreadsheet."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, Protocol

from reconcile.app import Application
from reconcile.cleaning import shown
from reconcile.decisions import offered
from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from reconcile.masking import records
from reconcile.masking.linked import evidence
from reconcile.store import Transaction
from reconcile.store.columns import json_text
from reconcile.store.plans import StoredPlan
from reconcile.store.sealing import RowsUnreadable
from reconcile.views.findings import FindingView, of_all, records_of
from rules.kinds.base import Rule
from rules.values import canonical_instant

Cell = str | int | Decimal | dt.datetime | None
ROLES = ("keeper", "surplus", "left", "right")
FILLED_IN = ("decision", "note", "until", "to")
"""The columns that a person fills in."""
CHOICES = tuple(name for name in offered.ROLES if name not in ("keep", "split"))
"""The decisions of a row: all but the choice of another keeper, for which there is no column."""
AS_SEEN = ("version", "plan", "seen")
"""The columns that tie a decision to what the person saw."""
OF_RECORDS = ("finding", "role", "dataset", "id")
"""The first columns of a row for a record; the values of the record follow."""
MOST_CURRENCIES = 20
_NAMED = 50
"""The records of a role that a cell names."""


class Decidable(Protocol):
    """The parts of a finding that change with each decision."""

    @property
    def state(self) -> State: ...

    @property
    def state_since(self) -> dt.datetime: ...

    @property
    def assigned_to(self) -> str | None: ...


def mark(finding: Decidable) -> str:
    """Return a mark that changes with every decision about a finding, whoever takes it back.

    Its version changes only with the records, so a file that is given again could repeat what was reopened meanwhile.
    """
    seen = [finding.state.value, canonical_instant(finding.state_since), finding.assigned_to]
    return f"s{hashlib.sha256(json_text(seen).encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class SheetColumn:
    """A column of the sheet of findings; `width` is in characters."""

    name: str
    width: int = 12
    kind: Literal["text", "integer", "amount", "instant", "share"] = "text"


def columns(currencies: Counter[str], *, probability: bool = False) -> tuple[SheetColumn, ...]:
    """Return the columns for findings with money in these currencies, counted by their findings; and one for their
    `probability` if a rule estimates it."""
    most = [currency for currency, _ in currencies.most_common(MOST_CURRENCIES)]
    return (
        *(
            SheetColumn("id"),
            SheetColumn("rule", 20),
            SheetColumn("severity", 10),
            SheetColumn("state", 18),
            SheetColumn("key", 40),
        ),
        *(SheetColumn("form", 24), SheetColumn("records", 9, "integer")),
        *([SheetColumn("probability", 10, "share")] if probability else []),
        *(SheetColumn(role, 20) for role in ROLES),
        *(SheetColumn("at_risk", 18), *(SheetColumn(f"money {currency}", 14, "amount") for currency in sorted(most))),
        *(SheetColumn("first_seen", 20, "instant"), SheetColumn("assigned_to", 14), SheetColumn("why", 50)),
        *(SheetColumn("would_happen", 30), SheetColumn("link", 30)),
        *(SheetColumn(name, 30 if name == "note" else 14) for name in FILLED_IN),
        *(SheetColumn("version", 9, "integer"), SheetColumn("plan"), SheetColumn("seen", 16)),
    )


@dataclass(frozen=True)
class SheetRows:
    """Rows for findings as they may be shown; `show` masks nothing."""

    application: Application
    columns: Sequence[SheetColumn]
    show: bool

    def views(self, tx: Transaction, findings: Sequence[Finding]) -> list[FindingView]:
        return of_all(self.application, tx, findings, show=self.show)

    def finding(self, finding: Finding, view: FindingView, plan: StoredPlan | None) -> list[Cell]:
        """Return the cells of a finding; `plan` is the one that waits for approval."""
        rule = records.rule_of(self.application.project, finding)
        cells: dict[str, Cell] = {
            **{name: getattr(view, name) for name in _OF_VIEW},
            "key": ", ".join(f"{name} = {'' if value is None else value}" for name, value in view.key.items()),
            **{role: _some(view.names(role)) for role in ROLES},
            **{f"money {currency}": amount for currency, amount in view.money.items()},
            "probability": finding.probability,
            "why": _why(rule, finding, view),
            "would_happen": None if plan is None else _title(plan, view),
            "link": self.application.project.page(f"/findings/{finding.id}"),
            "plan": None if plan is None else plan.plan_hash,
            "seen": mark(finding),
        }
        return [cells.get(column.name) for column in self.columns]

    def records(self, finding: Finding, view: FindingView) -> Iterator[dict[str, str]]:
        """Yield a row for each record of a finding, by column: OF_RECORDS, then the fields that are shown."""
        side_by_side = records_of(self.application, view)
        for record, name in zip(side_by_side.records, view.record_names, strict=True):
            row = {"finding": finding.id, "role": record.role, "dataset": record.dataset, "id": name}
            cells = ((field, record.cells[field].text) for field in side_by_side.fields if field in record.cells)
            yield row | {f"{field} (column)" if field in OF_RECORDS else field: text for field, text in cells}


_OF_VIEW = ("id", "rule", "severity", "state", "form", "records", "at_risk", "first_seen", "assigned_to", "version")


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED:,} more" if len(names) > _NAMED else shown


def _why(rule: Rule | None, finding: Finding, view: FindingView) -> str | None:
    """Return why the records belong together, and by what pairs of them are alike if the rule says so."""
    pairs = evidence(finding, view.record_names)[:_NAMED]
    return " ".join([*([rule.because(finding.form)] if rule else []), *(f"{pair}." for pair in pairs)]) or None


def _title(plan: StoredPlan, view: FindingView) -> str:
    """Return a plan in a few words, or why its rows cannot be read; and who approved it, if it waits for several."""
    given = "" if view.approvals is None else f" ({view.approvals.sentence})"
    try:
        return shown.title(plan.content) + given
    except RowsUnreadable as error:
        return str(error)
