"""Findings and results as they are shown: with personal data masked, unless a person asked to see it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from notifications.base import MASK
from notifications.wording import words
from reconcile.config.settings import Project
from reconcile.findings.identity import is_of_content, public
from reconcile.findings.results import Outcome, RuleResult, to_json
from reconcile.findings.shown import Finding, Foreseen, Named
from rules.engines.base import DuplicateGroup, Nearby
from rules.values import PLACE, Value

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

    def record(self, name: Sequence[Value]) -> list[Any]:
        """Return a record's id as public JSON. The dataset may have another `id` since."""
        if self.tells_content(name):
            return list(map(public, name))
        columns = self.id if len(self.id) == len(name) else (None,) * len(name)
        shown = (self.value(column, public(part)) for column, part in zip(columns, name, strict=True))
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

    def outcome(self, outcome: Outcome) -> dict[str, Any]:
        """Return the JSON of a rule's part of a report; its sum is masked if it is personal and of one finding."""
        shown = to_json(outcome)
        if isinstance(outcome, RuleResult) and not self.risk(outcome.money, outcome.findings.undecided):
            shown["money"] = dict.fromkeys(outcome.money, MASK)
        return shown

    def foreseen(self, finding: Foreseen) -> dict[str, Any]:
        """Return the JSON of a finding in a dry run."""
        group = finding.group
        surplus = [member for role, member in group.roles if role == "surplus"]
        return {
            "id": finding.id,
            "rule": finding.rule,
            "kind": finding.kind,
            "dataset": finding.dataset,
            "status": finding.state.value,
            "severity": finding.severity.name,
            "change": finding.change.value,
            "keeper": self.record(group.keeper.id) if isinstance(group, DuplicateGroup) else None,
            **self._group(surplus, group.key, len(group.members), group.at_risk),
            **self._places(group.members),
            **(self._nearby(group.nearby, group.nearby_records) if isinstance(group, DuplicateGroup) else {}),
        }

    def finding(self, finding: Finding) -> dict[str, Any]:
        """Return the public JSON of a finding: record ids are lists, instants ISO, decimals text.

        New versions only add fields.
        """
        keeper = finding.keeper
        required: dict[str, Any] = {
            "id": finding.id,
            "fingerprint": finding.fingerprint,
            "rule": finding.rule,
            "kind": finding.kind,
            "dataset": finding.dataset,
            "status": finding.state.value,
            "severity": finding.severity.name,
            "keeper": self.record(keeper.id) if keeper else None,
            **self._group(finding.surplus, finding.key, finding.records, dict(sorted(finding.money.items()))),
            "first_seen": public(finding.first_seen),
            "last_seen": public(finding.last_seen),
            "status_since": public(finding.state_since),
            "version": finding.version,
            "last_change": finding.change.value,
            "first_run": finding.first_run,
            "last_run": finding.last_run,
        }
        optional: dict[str, Any] = {
            "span": [self.value(self.span, public(value)) for value in finding.span] if finding.span else None,
            "reason": finding.reason,
            "snoozed_until": None if finding.snoozed_until is None else public(finding.snoozed_until),
            "assigned_to": finding.assigned_to,
            "decided_by": finding.decided_by,
            "note": finding.note,
            "merged_into": finding.merged_into,
            "not_undone": finding.not_undone,
            "settled": [self.record(member.id) for member in finding.members if member.settled_at] or None,
            "settled_pairs": [[self.record(a.id), self.record(b.id)] for a, b in finding.settled_pairs] or None,
            **self._places(finding.members),
            **self._nearby(finding.nearby, finding.nearby_records),
        }
        return required | {name: value for name, value in optional.items() if value is not None}

    def names(self, members: Sequence[Named]) -> list[str]:
        """Return names for people for records of a finding, or for those near it."""
        places = self._places(members)
        if "places" in places:
            return [f"{file}, row {row}" for file, row in places["places"]]
        if "values" in places:
            return [" · ".join(map(_text, row.values())) for row in places["values"]]
        return [" / ".join(map(_text, self.record(member.id))) for member in members]

    def _group(
        self, surplus: Sequence[Named], key: Mapping[str, Value], records: int, money: Mapping[str, Decimal]
    ) -> dict[str, Any]:
        return {
            "surplus": [self.record(member.id) for member in surplus],
            "key": {column: self.value(column, public(value)) for column, value in key.items()},
            "records": records,
            "money": {currency: self.value(self.amount, public(amount)) for currency, amount in money.items()},
        }

    def _nearby(self, nearest: Sequence[Nearby], records: int) -> dict[str, Any]:
        """Return the records near a group that its window left out, the nearest first; empty if there are none."""
        if not nearest:
            return {}
        shown = {
            "nearest": [self.record(record.id) for record in nearest],
            "at": [self.value(self.span, public(record.at)) for record in nearest],
        }
        return {"nearby": {"records": records, **shown, **self._places(nearest)}}

    def _places(self, members: Sequence[Named]) -> dict[str, Any]:
        """Return file and row of records without an id, else their values; empty if the records have ids."""
        if not members or not all(is_of_content(member.id) for member in members):
            return {}
        at = [[public(member.values.get(name)) for name in PLACE] for member in members]
        if all(None not in place for place in at):
            return {"places": [list(map(self.value, PLACE, place)) for place in at]}
        rows = (member.values.items() for member in members)
        return {"values": [{name: self.value(name, public(value)) for name, value in row} for row in rows]}


def _text(value: Any) -> str:
    return "" if value is None else str(value)
