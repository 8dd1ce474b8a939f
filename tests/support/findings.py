"""Findings for tests: an office whose runs find groups that a test makes by hand."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

import sqlalchemy as sa

from reconcile.findings.identity import Existing, RuleIdentity
from reconcile.findings.shown import Finding
from reconcile.findings.states import Event
from reconcile.store import findings as stored
from reconcile.store import tables
from reconcile.tracking import progress
from reconcile.tracking.remember import RuleOutcome, record
from rules.groups.group import Difference, Discrepancy, DuplicateGroup, Group, Member
from rules.groups.scope import Scope
from rules.models import Severity
from rules.values import Value
from tests.support.office import Office
from tests.support.store import NOON

KEY = bytes(range(32))
RULE = RuleIdentity("double-charge", "duplicates", "charges", "d1", Severity.high, existing=Existing.REPORT)
SPAN = replace(RULE, by_records=True)
BANK = RuleIdentity(
    *("bank-vs-ledger", "comparison", "bank", "d1", Severity.high),
    by_records=True,
    existing=Existing.REPORT,
    datasets=("bank", "ledger"),
)
"""A rule over two datasets."""


def group(key: Value, *ids: Value, start: Value = None, money: str | None = None) -> DuplicateGroup:
    """A group with that value of the column `order`; the first id is the keeper."""
    keeper, *surplus = (Member((identifier,), {"id": identifier, "order": key}) for identifier in ids)
    span = None if start is None else (start, start)
    return DuplicateGroup(
        {"order": key}, keeper, tuple(surplus), money={"EUR": Decimal(money)} if money else {}, span=span
    )


def discrepancy(
    form: str,
    key: Value,
    left: Sequence[Value] = (),
    right: Sequence[Value] = (),
    *,
    amounts: tuple[str, str] | None = None,
    money: str | None = None,
    reason: str | None = None,
) -> Discrepancy:
    """A discrepancy of the bank and the ledger, which name their columns differently."""
    difference = amounts and Difference("amount / total", *map(Decimal, amounts), "amount", "total")
    return Discrepancy(
        {"reference": key},
        form,
        tuple(Member((item,), {"line": item, "reference": key}) for item in left),
        tuple(Member((item,), {"entry": item, "doc_no": key}, "ledger") for item in right),
        differences=(difference,) if difference else (),
        reason=reason,
        money={"EUR": Decimal(money)} if money else {},
    )


@dataclass
class FindingsOffice(Office):
    """An office whose runs find groups made by hand, with one channel that is told what it was not told yet."""

    runs: int = 0
    heard: list[list[Finding]] = field(default_factory=list)

    @classmethod
    def new(cls, url: str, folder: Path) -> FindingsOffice:
        """An office with a new state and the release that its runs name."""
        office = cls.at(url, folder, key=KEY)
        with office.store.begin() as tx:
            tx.connection.execute(sa.insert(tables.releases).values(hash="r1", config={}, first_seen=NOON))
        return office

    def record(
        self,
        *groups: Group,
        rule: RuleIdentity = RULE,
        complete: bool = True,
        tell: bool = True,
        began: dt.timedelta = dt.timedelta(0),
        scope: Scope | None = None,
        expected: Scope | None = None,
    ) -> RuleOutcome:
        """The same as `record_all` with these groups."""
        return self.record_all(
            groups, rule=rule, complete=complete, tell=tell, began=began, scope=scope, expected=expected
        )

    def record_all(
        self,
        groups: Sequence[Group],
        *,
        rule: RuleIdentity = RULE,
        complete: bool = True,
        tell: bool = True,
        began: dt.timedelta = dt.timedelta(0),
        scope: Scope | None = None,
        expected: Scope | None = None,
    ) -> RuleOutcome:
        """One run of the rule, a minute after the last, and (unless it is killed before) its message.

        It began to read so long before it ends, and looked at the keys of the scope.
        """
        self.clock.now += dt.timedelta(minutes=1)
        self.runs += 1
        run = f"run-{self.runs}"
        with self.store.begin() as tx:
            tx.connection.execute(sa.insert(tables.runs).values(_run_row(run, self.clock.now)))
            read_at = self.clock.now - began
            outcome = record(tx, run, rule, groups, complete=complete, read_at=read_at, scope=scope, expected=expected)
        if tell:
            self.tell(rule.name)
        return outcome

    def tell(self, *rules: str, channel: str = "finance") -> list[Finding]:
        """What a channel hears, as one message."""
        message = f"m-{self.runs}-{len(self.heard)}-{channel}"
        with self.store.begin() as tx:
            shown = list(stored.unnotified(tx, channel, rules))
            if shown:
                tx.connection.execute(sa.insert(tables.outbox).values(_outbox_row(message, channel, self.clock.now)))
                stored.mark_notified(tx, channel, message, {item.id: item.version for item in shown})
        self.heard.append(shown)
        return shown

    @property
    def last_heard(self) -> list[tuple[str, str]]:
        """What the last message told: ids and changes."""
        return [(item.id, item.change.value) for item in self.heard[-1]]

    def happens(self, finding: str, *events: Event) -> None:
        """What a cleaning makes of a finding, one event after the other."""
        for event in events:
            with self.store.begin() as tx:
                assert progress.move(tx, [progress.Transition(finding, event)], by="reconcile"), event

    def get(self, asked: str) -> Finding:
        with self.store.read() as tx:
            return stored.get(tx, asked)

    def all(self, **filters: object) -> list[Finding]:
        with self.store.read() as tx:
            return stored.find(tx, stored.FindingFilter(**filters))  # type: ignore[arg-type]  # names are checked by FindingFilter

    def only(self) -> Finding:
        [finding] = self.all()
        return finding


def ids(members: Sequence[object]) -> list[Value]:
    """The ids of members with an id of one column."""
    return [member.id[0] for member in members]  # type: ignore[attr-defined]  # Member and FindingMember alike


def _run_row(run: str, now: dt.datetime) -> dict[str, object]:
    fixed = {"job": "nightly", "release": "r1", "trigger": "manual", "status": "running", "attempt": 1, "fence": 1}
    return fixed | {"id": run, "slot": now, "started": now}


def _outbox_row(message: str, channel: str, now: dt.datetime) -> dict[str, object]:
    fixed = {"job": "nightly", "notice": {}, "version": 1, "status": "queued", "attempts": 0, "fence": 0}
    times = dict.fromkeys(("queued_at", "next_at", "give_up_at", "lease_until"), now)
    return fixed | times | {"message": message, "channel": channel, "outcome_unknown": False}
