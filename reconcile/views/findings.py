"""Findings as every door shows them, in a list or one with its records, history and next step."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from notifications.base import MASK
from notifications.wording import words
from reconcile.audit import log
from reconcile.findings.identity import public
from reconcile.findings.payload import DUPLICATE
from reconcile.findings.shown import Finding, FindingMember
from reconcile.messages.personal import Hidden
from reconcile.messages.public import finding_json
from reconcile.store.findings import FindingFilter, count, foremost, get
from reconcile.store.plans import StoredPlan, undo_of, waiting_plans
from reconcile.views import history
from reconcile.views.history import EventView
from rules.forms import form_words
from rules.values import Value

if TYPE_CHECKING:
    from reconcile.app import Application

_NEXT = {
    "awaiting_approval": "reconcile plan --finding {0}, then reconcile approve {0}{1} or reconcile reject {0}{1}",
    "quarantined": "check the records, then reconcile quarantine {0} with --done, --not-done or --abandon",
    "failed": "reconcile plan --finding {0}, then reconcile retry {0}",
}
"""The next command for a finding whose cleaning waits for a person."""
_NEXT_OF_UNDO = {
    "approved": "reconcile retry {0} tries it now, reconcile reject {0} withdraws it",
    "retry_wait": "reconcile retry {0} tries it now, reconcile reject {0} withdraws it",
    "quarantined": "check the records, then reconcile quarantine {1} with --done, --not-done or --abandon",
}
"""The next command for an undo that waits or has an unknown outcome."""
_BEGINNING = 12
"""Characters of a plan's hash that identify it."""


@dataclass(frozen=True)
class FindingView:
    """A finding as it may be shown. `form` is what is wrong with its records, in words; instants are in `timezone`."""

    _finding: Finding
    _hidden: Hidden
    form: str
    timezone: str

    @property
    def id(self) -> str:
        return self._finding.id

    @property
    def severity(self) -> str:
        return self._finding.severity.name

    @property
    def rule(self) -> str:
        return self._finding.rule

    @property
    def state(self) -> str:
        return self._finding.state.value

    @property
    def records(self) -> int:
        return self._finding.records

    @property
    def first_seen(self) -> dt.datetime:
        return self._finding.first_seen

    @property
    def key(self) -> dict[str, Any]:
        return {name: self._of_key(name, value) for name, value in self._finding.key.items()}

    def _of_key(self, column: str | None, value: Value) -> Any:
        return self._local(self._hidden.of_key(column, public(value), self._finding.datasets), value)

    def _local(self, shown: Any, value: Value) -> Any:
        """Return a value as it is shown, an instant in the time zone of the project."""
        if isinstance(value, dt.datetime) and shown != MASK:
            return words.instant(value, self.timezone)
        return shown

    @property
    def at_risk(self) -> str:
        """The money at risk in words; empty without any."""
        return self._hidden.at_risk(self._finding.money)

    @property
    def is_duplicate(self) -> bool:
        return self._finding.form == DUPLICATE

    @property
    def is_masked(self) -> bool:
        """True if personal data may be masked in the key or the money."""
        finding, hidden = self._finding, self._hidden
        hides_amount = bool(finding.money) and hidden.hides_amounts
        return hides_amount or any(hidden.hides_of_key(column, finding.datasets) for column in finding.key)


def to_json(view: FindingView) -> dict[str, Any]:
    """Return the finding as public JSON."""
    return finding_json(view._finding, view._hidden)  # noqa: SLF001 - the view's own JSON


def of(application: Application, finding: Finding, *, show: bool = False) -> FindingView:
    """Return a finding as it may be shown; `show` masks nothing."""
    hidden = Hidden() if show else Hidden.of(application.project, finding.dataset, finding.rule)
    return FindingView(finding, hidden, _form(application, finding), application.project.timezone)


def _form(application: Application, finding: Finding) -> str:
    """Return the form in the words of its rule, if that is still of the same kind."""
    rule = application.project.rules.get(finding.rule)
    if rule is None or rule.kind != finding.kind:
        return form_words(finding.form, finding.datasets).phrase
    return rule.form_words(finding.form).phrase


def listed(
    application: Application, criteria: FindingFilter, *, show: bool, members: bool
) -> tuple[list[FindingView], int]:
    """Return the foremost findings, and the number of all; `members` also reads their records, for JSON."""
    with application.memory.read() as tx:
        total = count(tx, criteria)
        return [of(application, finding, show=show) for finding in foremost(tx, criteria, members=members)], total


@dataclass(frozen=True)
class MemberView:
    """A record of a finding in its role. `cells` are its values as texts, by column."""

    role: str
    name: str
    cells: Mapping[str, str]


@dataclass(frozen=True)
class RecordTable:
    """Records with the same columns: all of a group of duplicates, or those of one side."""

    columns: tuple[str, ...]
    records: tuple[MemberView, ...]


@dataclass(frozen=True)
class Comparison:
    """The fields that differ between two datasets: the name of each field, and its value on both sides."""

    left: str
    right: str
    fields: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class UndoView:
    """The last undo of a finding."""

    plan: str
    state: str
    why: str | None


@dataclass(frozen=True)
class FindingDetail(FindingView):
    """A finding with its history, its undo, and the next command for a person, if any."""

    history: tuple[EventView, ...]
    undo: UndoView | None
    next_step: str | None
    alternatives: tuple[str, ...] = ()
    """The match keys in words, if one of several is enough."""

    @property
    def reason(self) -> str | None:
        """The reason for its form."""
        return self._finding.form_reason

    @property
    def tables(self) -> Iterator[RecordTable]:
        """The records, keeper first, or those of one side after those of the other."""
        roles = ("keeper", "surplus") if self.is_duplicate else dict.fromkeys(one.role for one in self._finding.members)
        for part in (roles,) if self.is_duplicate else ((role,) for role in roles):
            yield self._table([member for member in self._finding.members if member.role in part])

    def _table(self, members: Sequence[FindingMember]) -> RecordTable:
        columns = tuple(dict.fromkeys(name for member in members for name in member.values))
        names = self._hidden.names(members, self._finding.datasets)
        records = []
        for name, member in zip(names, members, strict=True):
            side = self._hidden.side(member.dataset)
            values = {column: member.values.get(column) for column in columns}
            shown = {column: self._local(side.value(column, public(value)), value) for column, value in values.items()}
            records.append(MemberView(member.role, name, {column: _text(value) for column, value in shown.items()}))
        return RecordTable(columns, tuple(records))

    @property
    def comparison(self) -> Comparison | None:
        """The fields that differ; None without any."""
        finding, hidden = self._finding, self._hidden
        if not finding.differences:
            return None
        left, right = (*finding.datasets, finding.dataset, finding.dataset)[:2]
        fields: list[tuple[str, str, str]] = []
        for each in finding.differences:
            ours, theirs = hidden.compared(each, finding.datasets)
            fields.append((each.column, _text(self._local(ours, each.left)), _text(self._local(theirs, each.right))))
        return Comparison(left, right, tuple(fields))

    @property
    def links(self) -> Iterator[str]:
        """Which records agree by which key, the links that hold the group together first."""
        names = self._hidden.names(self._finding.members, self._finding.datasets)
        for link in sorted(self._finding.links, key=lambda link: not link.bridge):
            keys = [self.alternatives[key] if key < len(self.alternatives) else f"key {key + 1}" for key in link.keys]
            pair = f"{names[link.first]} and {names[link.second]}"
            yield f"only {words.listed(keys)} links {pair}" if link.bridge else f"{pair} agree by {words.listed(keys)}"

    @property
    def remarks(self) -> Iterator[str]:
        """The records nearby, the reason of its state, the note on it, and the finding it became part of."""
        finding = self._finding
        if finding.nearby:
            yield self._near()
        if finding.reason:
            yield finding.reason
        if finding.note:
            yield f"note: {finding.note}"
        if finding.merged_into:
            yield f"part of {finding.merged_into}"

    def _near(self) -> str:
        """Return the records that a window left out, as one line."""
        finding, hidden = self._finding, self._hidden
        names = hidden.names(finding.nearby, finding.datasets)
        near = [
            f"{name} ({self._of_key(hidden.span, record.at)})"
            for name, record in zip(names, finding.nearby, strict=True)
        ]
        rest = finding.nearby_records - len(near)
        return f"nearby, not in the group  {', '.join([*near, *([f'{rest:,} more'] if rest else [])])}"

    @property
    def not_undone(self) -> str | None:
        """The reason why the last requested undo was not done."""
        return self._finding.not_undone

    @property
    def is_masked(self) -> bool:
        members = ((self._hidden.side(member.dataset), member) for member in self._finding.members)
        return super().is_masked or any(
            side.hides(name) for side, member in members for name in (*member.values, *side.id)
        )


def detail(application: Application, identifier: str, *, show: bool) -> FindingDetail:
    """Return one finding by its id or the beginning of it. Raises a FindingError, StoreError."""
    with application.memory.read() as tx:
        finding = get(tx, identifier)
        events = tuple(map(EventView.of, log.entries(tx, finding=finding.id)))
        undo = undo_of(tx, finding.id)
        plan = waiting_plans(tx, [finding.id]).get(finding.id)
    view = of(application, finding, show=show)
    undo_view = None if undo is None else UndoView(undo.id, undo.state.value, undo.reason)
    rule = application.project.rules.get(finding.rule)
    next_step = _next(finding, undo, plan)
    keys = rule.alternatives if rule else ()
    shown = (finding, view._hidden, view.form, view.timezone)  # noqa: SLF001 - the view's own parts
    return FindingDetail(*shown, events, undo_view, next_step, keys)


def detail_to_json(view: FindingDetail) -> dict[str, Any]:
    """Return the finding with its history and undo as public JSON."""
    undo = {} if view.undo is None else {"undo": dict(vars(view.undo))}
    return to_json(view) | {"history": list(map(history.to_json, view.history))} | undo


def _next(finding: Finding, undo: StoredPlan | None, plan: str | None) -> str | None:
    """Return the next command for a finding, its undo first; `plan` is the hash of the waiting plan."""
    if undo is not None:
        action = _NEXT_OF_UNDO.get(undo.state.value)
        return action and action.format(finding.id, undo.id)
    if finding.not_undone and finding.state.value == "cleaned":
        return f"reconcile undo {finding.id}"
    action = _NEXT.get(finding.state.value)
    return action and action.format(finding.id, f" --plan {plan[:_BEGINNING]}" if plan else "")


def _text(value: Any) -> str:
    return "" if value is None else str(value)
