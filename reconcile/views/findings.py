"""Findings as every door shows them, in a list or one with its records, history and next step."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reconcile.audit import log
from reconcile.findings.identity import public
from reconcile.findings.shown import Finding
from reconcile.messages.personal import Hidden
from reconcile.store.findings import FindingFilter, count, foremost, get
from reconcile.store.plans import StoredPlan, undo_of, waiting_plans
from reconcile.views import history
from reconcile.views.history import EventView

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
    """A finding as it may be shown."""

    _finding: Finding
    _hidden: Hidden

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
        return {name: self._hidden.value(name, public(value)) for name, value in self._finding.key.items()}

    @property
    def at_risk(self) -> str:
        """The money at risk in words; empty without any."""
        return self._hidden.at_risk(self._finding.money)

    @property
    def is_masked(self) -> bool:
        """True if personal data may be masked in the key or the money."""
        return self._hides(self._finding.key)

    def _hides(self, columns: Iterable[str]) -> bool:
        amount = (self._hidden.amount,) if self._finding.money else ()
        return any(map(self._hidden.hides, (*columns, *amount)))


def to_json(view: FindingView) -> dict[str, Any]:
    """Return the finding as public JSON."""
    return view._hidden.finding(view._finding)  # noqa: SLF001 - the view's own JSON


def of(application: Application, finding: Finding, *, show: bool = False) -> FindingView:
    """Return a finding as it may be shown; `show` masks nothing."""
    hidden = Hidden() if show else Hidden.of(application.project, finding.dataset, finding.rule)
    return FindingView(finding, hidden)


def listed(
    application: Application, criteria: FindingFilter, *, show: bool, members: bool
) -> tuple[list[FindingView], int]:
    """Return the foremost findings, and the number of all; `members` also reads their records, for JSON."""
    with application.memory.read() as tx:
        total = count(tx, criteria)
        return [of(application, finding, show=show) for finding in foremost(tx, criteria, members=members)], total


@dataclass(frozen=True)
class MemberView:
    """A record of a finding: keeper or surplus. `cells` are its values as texts, by column."""

    role: str
    name: str
    cells: Mapping[str, str]


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

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(name for member in self._finding.members for name in member.values))

    @property
    def members(self) -> Iterator[MemberView]:
        """The records, keeper first."""
        roles = ("keeper" if place == 0 else "surplus" for place in range(len(self._finding.members)))
        shown_names, columns = self._hidden.names(self._finding.members), self.columns
        for role, name, member in zip(roles, shown_names, self._finding.members, strict=True):
            cells = {column: _text(self._hidden.value(column, public(member.values.get(column)))) for column in columns}
            yield MemberView(role, name, cells)

    @property
    def remarks(self) -> Iterator[str]:
        """The records nearby, the reason of its state, the note on it, and the finding it became part of."""
        finding = self._finding
        if near := _near(finding, self._hidden):
            yield near
        if finding.reason:
            yield finding.reason
        if finding.note:
            yield f"note: {finding.note}"
        if finding.merged_into:
            yield f"part of {finding.merged_into}"

    @property
    def not_undone(self) -> str | None:
        """The reason why the last requested undo was not done."""
        return self._finding.not_undone

    @property
    def is_masked(self) -> bool:
        return self._hides((*self._finding.key, *self.columns, *self._hidden.id))


def detail(application: Application, identifier: str, *, show: bool) -> FindingDetail:
    """Return one finding by its id or the beginning of it. Raises a FindingError, StoreError."""
    with application.memory.read() as tx:
        finding = get(tx, identifier)
        events = tuple(map(EventView.of, log.entries(tx, finding=finding.id)))
        undo = undo_of(tx, finding.id)
        plan = waiting_plans(tx, [finding.id]).get(finding.id)
    view = of(application, finding, show=show)
    undo_view = None if undo is None else UndoView(undo.id, undo.state.value, undo.reason)
    return FindingDetail(finding, view._hidden, events, undo_view, _next(finding, undo, plan))  # noqa: SLF001


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


def _near(finding: Finding, hidden: Hidden) -> str | None:
    """Return the records that a window left out, as one line; None without any."""
    if not finding.nearby:
        return None
    times = (hidden.value(hidden.span, public(record.at)) for record in finding.nearby)
    near = [f"{name} ({at})" for name, at in zip(hidden.names(finding.nearby), times, strict=True)]
    rest = finding.nearby_records - len(near)
    return f"nearby, not in the group  {', '.join([*near, *([f'{rest:,} more'] if rest else [])])}"


def _text(value: Any) -> str:
    return "" if value is None else str(value)
