"""Findings as every door shows them, in a list or one with its records, history and next step."""

from __future__ import annotations

import datetime as dt
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from notifications.base import MASK
from notifications.wording import words
from reconcile.documents import JsonObject
from reconcile.errors import Refused
from reconcile.findings.approval import GivenApprovals, person
from reconcile.findings.chosen_values import by_record, chosen_values
from reconcile.findings.identity import is_of_content, member_name, public
from reconcile.findings.keeper import CHOOSABLE, handle_of
from reconcile.findings.payload import DUPLICATE, apart
from reconcile.findings.shown import Finding
from reconcile.findings.states import IN_HAND, LIVE, PlanState, State
from reconcile.masking import linked, records
from reconcile.masking.personal import Masking
from reconcile.masking.public import finding_json
from reconcile.masking.records import SideBySide, local, rule_of
from reconcile.people.roles import Person
from reconcile.store.findings import FindingFilter, count, find, get, some
from reconcile.store.sealing import RowsUnreadable
from rules.groups.forms import form_words
from rules.groups.group import Difference
from rules.pairs import evidence
from rules.pairs.evidence import in_percent
from rules.values import Value

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.store import Transaction
    from reconcile.store.approvals import Approval
    from reconcile.store.audit_log import LogEntry
    from reconcile.store.plans import StoredPlan
    from reconcile.views.history import EventView
    from reconcile.views.plans import PlanView

_NEXT = {
    "open": "reconcile handle {0} if it was dealt with elsewhere, or reconcile dismiss {0} if it is {2}",
    "awaiting_approval": "reconcile approve {0}{1} or reconcile reject {0}{1}",
    "quarantined": "check the records, then reconcile quarantine {0} with --done, --not-done or --abandon",
    "failed": "reconcile plan --finding {0}, then reconcile retry {0}",
    "undone": "reconcile reopen {0}, then reconcile plan --finding {0}",
}
"""The next command for a finding that waits for a person, or whose cleaning was undone."""
_NEXT_OF_UNDO = {
    "approved": "reconcile retry {0} tries it now, reconcile reject {0} withdraws it",
    "retry_wait": "reconcile retry {0} tries it now, reconcile reject {0} withdraws it",
    "quarantined": "check the records, then reconcile quarantine {1} with --done, --not-done or --abandon",
}
"""The next command for an undo that waits or has an unknown outcome."""
_EXPIRED = "reconcile run, which plans it again: its plan expired"
_UNDECIDED = (State.OPEN, State.SNOOZED, State.STALE, State.FAILED)
_BEGINNING = 12
"""Characters of a plan's hash that identify it."""
_MOST_DIFFERENCES = 3
_FEW_RECORDS = 20
_NAMED = 2
_MOST_NAMED = 500
"""Findings of a list that are named by their records: these are read for it."""


class RevealRefused(Refused):
    """The person may not see personal data in clear; nothing was shown."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} may not see personal data; an administrator can allow it: "
            f"`reconcile users role {name} --personal-data`"
        )


@dataclass(frozen=True)
class FindingView:
    """A finding as it may be shown. `form` is what is wrong with its records, in words; instants are in `timezone`.

    `periods` are those of its rule, and `named` is its records in short, if its key has masked values. `approvals` are
    those of its plan while that waits for several people.
    """

    _finding: Finding
    _hidden: Masking
    form: str
    timezone: str
    periods: Mapping[str, str]
    approvals: GivenApprovals | None
    named: str

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
    def probability(self) -> str:
        """The probability that all its records are the same thing, in words; empty without one."""
        probability = self._finding.probability
        return "" if probability is None else in_percent(probability)

    @property
    def first_seen(self) -> dt.datetime:
        return self._finding.first_seen

    @property
    def version(self) -> int:
        return self._finding.version

    @property
    def assigned_to(self) -> str | None:
        return self._finding.assigned_to

    @property
    def risk(self) -> str:
        """The meaning of its amount: "at risk", or "was at risk" once it is over."""
        is_over = self._finding.state not in (*LIVE, *IN_HAND)
        return "was at risk" if is_over else "at risk"

    @property
    def decided(self) -> str | None:
        """The last decision's person and time in words; None without a decision."""
        by = self._finding.decided_by
        return None if by is None else f"{by}, {words.instant(self._finding.state_since, self.timezone)}"

    @property
    def key(self) -> JsonObject:
        return {name: self._of_key(name, value) for name, value in self._finding.key.items()}

    def _of_key(self, column: str | None, value: Value) -> Any:
        shown = self._hidden.of_key(column, public(value), self._finding.datasets)
        return local(shown, value, self.timezone, self.periods.get(column or ""))

    @property
    def title(self) -> str:
        """Its key; instead of masked values, its records, which distinguish it from other findings."""
        values = ["" if value is None else str(value) for value in self.key.values()]
        return " · ".join([self.named, *(text for text in values if text != MASK)] if self.named else values)

    @property
    def at_risk(self) -> str:
        """The money at risk in words; empty without any."""
        return self._hidden.at_risk(self._finding.money)

    @property
    def money(self) -> Mapping[str, Decimal]:
        """The money at risk per currency; empty if it may not be shown."""
        return self._hidden.risk(self._finding.money)

    def names(self, role: str) -> list[str]:
        """Return the names of its records in a role."""
        return self._hidden.names(self._finding.in_role(role), self._finding.datasets)

    @property
    def record_names(self) -> list[str]:
        """The names of its records without those of their datasets, in the order in which they are side by side."""
        return [self._hidden.side(member.dataset).name(member) for member in self._finding.members]

    def approval_refusal(self, name: str) -> str | None:
        """Return why this person cannot give the next approval; None if they can, or if one approval is enough."""
        if self.approvals is None:
            return None
        if self.approvals.has(name):
            return "You have approved this plan; another person must approve it too."
        if person(name) in map(person, self._finding.choosers):
            choice = "the keeper" if self._finding.kept_by else "values"
            return f"You chose {choice}, so two other people must approve this plan."
        return None

    @property
    def is_duplicate(self) -> bool:
        return self._finding.form == DUPLICATE

    @property
    def is_masked(self) -> bool:
        """True if personal data may be masked in the key or the money."""
        finding, hidden = self._finding, self._hidden
        hides_amount = bool(finding.money) and hidden.hides_amounts
        return hides_amount or any(hidden.hides_of_key(column, finding.datasets) for column in finding.key)


def to_json(view: FindingView) -> JsonObject:
    """Return the finding as public JSON."""
    return finding_json(view._finding, view._hidden) | approvals_to_json(view.approvals)  # noqa: SLF001 - its own JSON


def approvals_to_json(given: GivenApprovals | None) -> JsonObject:
    """Return who approved a plan and how many approvals it needs; empty unless it waits for several."""
    return {} if given is None else {"approvals": {"needed": given.needed, "by": list(given.by)}}


def of(application: Application, tx: Transaction, finding: Finding, *, show: bool = False) -> FindingView:
    """Return a finding as it may be shown; `show` masks nothing."""
    [view] = of_all(application, tx, [finding], show=show)
    return view


def of_all(
    application: Application, tx: Transaction, findings: Iterable[Finding], *, show: bool = False
) -> list[FindingView]:
    """Return findings as they may be shown, in this order; `show` masks nothing."""
    listed_findings, project = list(findings), application.project
    given = _given(tx, [finding.id for finding in listed_findings if finding.state is State.AWAITING])
    hidden = [Masking() if show else Masking.of(project, finding.dataset, finding.rule) for finding in listed_findings]
    named = _named(tx, [*zip(listed_findings, hidden, strict=True)])
    views = []
    for finding, of_finding in zip(listed_findings, hidden, strict=True):
        rule = rule_of(project, finding)
        periods, form = {} if rule is None else rule.periods, _form(application, finding)
        about = (finding, of_finding, form, project.timezone, periods, given.get(finding.id))
        views.append(FindingView(*about, named.get(finding.id, "")))
    return views


def _named(tx: Transaction, listed: Sequence[tuple[Finding, Masking]]) -> Mapping[str, str]:
    """Return in short the records of small findings of whose key a value is masked; too many are not named."""
    masked = {
        finding.id: hidden
        for finding, hidden in listed
        if finding.records <= _FEW_RECORDS
        and any(hidden.hides_of_key(column, finding.datasets) for column in finding.key)
    }
    if len(masked) > _MOST_NAMED:
        return {}
    named: dict[str, str] = {}
    for finding in some(tx, list(masked)):
        names = masked[finding.id].names(finding.members[:_NAMED], finding.datasets)
        more = [f"{finding.records - _NAMED:,} more"] if finding.records > _NAMED else []
        if names and not any(MASK in name for name in names):
            named[finding.id] = words.listed([*names, *more])
    return named


def _given(tx: Transaction, waiting: Sequence[str]) -> Mapping[str, GivenApprovals]:
    if not waiting:
        return {}
    from reconcile.journal import approvals  # noqa: PLC0415 - most lists need no plans

    return approvals.of_waiting(tx, waiting)


def records_of(application: Application, view: FindingView) -> SideBySide:
    """Return the records of a finding side by side, as they may be shown."""
    return records.side_by_side(application.project, view._finding, view._hidden)  # noqa: SLF001 - the view's own


def named(application: Application, identifier: str) -> FindingView:
    """Return one finding by its id or the beginning of it. Raises a FindingError, StoreError."""
    with application.memory.read() as tx:
        return of(application, tx, get(tx, identifier))


def _form(application: Application, finding: Finding) -> str:
    """Return the form in the words of its rule, if that is still of the same kind."""
    rule = rule_of(application.project, finding)
    if rule is None:
        return form_words(finding.form, finding.datasets).phrase
    return rule.phrase(finding.form, finding.differences)


def listed(
    application: Application, criteria: FindingFilter, *, show: bool, members: bool
) -> tuple[list[FindingView], int]:
    """Return the worst findings, and the number of all; `members` also reads their records, for JSON."""
    with application.memory.read() as tx:
        total = count(tx, criteria)
        return of_all(application, tx, find(tx, criteria, members=members), show=show), total


@dataclass(frozen=True)
class FieldComparison:
    """The fields that differ between two datasets: the name of each field, and its value on both sides.

    `is_of_two`: each side is one record, so these are their own values, and the records side by side mark them.
    """

    left: str
    right: str
    fields: tuple[tuple[str, str, str], ...]
    is_of_two: bool


@dataclass(frozen=True)
class UndoView:
    """The last undo of a finding."""

    plan: str
    state: str
    why: str | None


@dataclass(frozen=True)
class UndoneView:
    """The undo that a finding is left with: when it was done, who asked for it, and their note.

    `by` is None if the plan of the undo is no longer kept.
    """

    at: dt.datetime
    by: str | None
    note: str | None


@dataclass(frozen=True)
class ExecutedView:
    """The last cleaning that was executed: when, and who approved it. If the rows of its `plan` are no longer kept,
    `gone` says why. `undo` is the plan that undid it, if it was undone."""

    at: dt.datetime | None
    approved_by: tuple[str, ...]
    plan: PlanView | None
    gone: str | None = None
    undo: StoredPlan | None = None

    def sentence(self, timezone: str) -> str:
        """Return when it was executed and who approved it, and the same of its undo."""
        when = "" if self.at is None else f" on {words.to_the_minute(self.at, timezone)}"
        by = f", approved by {words.listed(self.approved_by)}" if self.approved_by else ", without approval"
        if self.undo is None:
            return f"Executed{when}{by}"
        then = "" if self.undo.ended_at is None else f" on {words.to_the_minute(self.undo.ended_at, timezone)}"
        return f"Executed{when}{by}; undone by {self.undo.proposed_by}{then}"

    def to_json(self) -> JsonObject:
        from reconcile.views import plans  # noqa: PLC0415 - loaded with the plan

        of_plan = {"gone": self.gone} if self.plan is None else {"plan": plans.to_json(self.plan)}
        at = self.undo and self.undo.ended_at
        undone = {} if self.undo is None else {"undone_by": self.undo.proposed_by, "undone_at": at and at.isoformat()}
        return {"at": self.at and self.at.isoformat(), "approved_by": list(self.approved_by), **undone, **of_plan}


@dataclass(frozen=True)
class FieldChoice:
    """A field that a person may take from another record, `beside` the columns that come from the same one.

    `place` is that of the record chosen for it, `by` this person; None if the rule chooses.
    """

    beside: tuple[str, ...] = ()
    place: int | None = None
    by: str | None = None


@dataclass(frozen=True)
class WeakestView:
    """The records of which a rule is least sure that they belong to a finding of three or more, by their places.

    `command` takes them apart; None if their ids may not be shown.
    """

    places: frozenset[int]
    probability: str
    command: str | None


@dataclass(frozen=True)
class FindingDetail(FindingView):
    """A finding with its records, its history, its undo, and the next command for a person, if any. `undone` is the
    undo that it is left with, if its cleaning was undone, and `executed` its last cleaning that was done.

    `why` says in a sentence why its records belong together. `plan` is the one that waits or is being executed; without
    one, `prospect` says what would happen, unless the finding is over. `can_take_back`: it is open, and a decision that
    `reopen` takes back covers some of its records.
    """

    side_by_side: SideBySide
    weakest: WeakestView | None
    history: tuple[EventView, ...]
    undo: UndoView | None
    undone: UndoneView | None
    next_step: str | None
    why: str | None = None
    plan: PlanView | None = None
    prospect: str | None = None
    executed: ExecutedView | None = None
    can_take_back: bool = False
    alternatives: tuple[str, ...] = ()
    """The match keys in words, if one of several is enough."""
    handles: tuple[str, ...] = ()
    """A handle for each record that a person may keep instead; empty if nobody may choose."""
    splits: tuple[str, ...] = ()
    """A handle for each record that a person may split off, empty for one that is split off already; none of two."""
    field_choices: Mapping[str, FieldChoice] = field(default_factory=dict)
    """The fields side by side that differ and that the keeper may take from another record; empty as `handles`."""

    @property
    def reason(self) -> str | None:
        """The reason for its form, and what keeps its records apart."""
        finding = self._finding
        differences = [self._apart(each) for each in finding.differences]
        if len(differences) > _MOST_DIFFERENCES:
            differences = [f"{len(differences):,} columns differ"]
        return "; ".join(filter(None, [finding.form_reason, ", ".join(differences)])) or None

    def _apart(self, difference: Difference) -> str:
        """Return how far apart both values of a field are, unless they are masked or have no measure."""
        is_masked = MASK in self._hidden.compared(difference, self._finding.datasets)
        far = None if is_masked else apart(difference.left, difference.right)
        if far is None:
            return f"{difference.column} differs"
        return f"{difference.column} differs {far}" if far.startswith("by") else f"{difference.column} {far}"

    @property
    def doubt(self) -> str | None:
        """Which of its records are the least certain, and the command that takes them apart; None of two."""
        if self.weakest is None:
            return None
        names = words.listed([self.record_names[place] for place in sorted(self.weakest.places)])
        remedy = f"; if not the same: {self.weakest.command}" if self.weakest.command else ""
        return f"Least certain: {names} ({self.weakest.probability}){remedy}"

    @property
    def comparison(self) -> FieldComparison | None:
        """The fields that differ; None without any."""
        finding, hidden = self._finding, self._hidden
        if not finding.differences:
            return None
        left, right = (*finding.datasets, finding.dataset, finding.dataset)[:2]
        fields: list[tuple[str, str, str]] = []
        for each in finding.differences:
            ours, theirs = hidden.compared(each, finding.datasets)
            left_text, right_text = self._text(ours, each.left), self._text(theirs, each.right)
            fields.append((each.column, left_text, right_text))
        records = self.side_by_side.records
        is_marked = any(cell.differs for record in records for cell in record.cells.values())
        return FieldComparison(left, right, tuple(fields), is_of_two=len(finding.members) == 2 and is_marked)

    def _text(self, shown: Any, value: Value) -> str:
        """Return a value as text, from its masked public form and itself."""
        text = local(shown, value, self.timezone)
        return "" if text is None else str(text)

    @property
    def links(self) -> Iterator[str]:
        """The links between its records in words, those that hold the group together first."""
        names = self._hidden.names(self._finding.members, self._finding.datasets)
        return linked.sentences(self._finding, names, self.alternatives)

    @property
    def remarks(self) -> Iterator[str]:
        """Who approved its plan and chose the keeper and values, the end of a snooze, the records nearby, the reason
        of its state, the note on it, and the finding it became part of."""
        finding = self._finding
        if self.approvals is not None:
            yield self.approvals.sentence
        yield from self._choices()
        if finding.state is State.SNOOZED and finding.snoozed_until is not None:
            yield f"snoozed until {words.to_the_minute(finding.snoozed_until, self.timezone)}, or until it grows"
        if finding.repetition is not None:
            yield f"each is {finding.repetition.in_words}"
        if finding.nearby:
            yield self._near()
        if split_off := [name for name, handle in zip(self.record_names, self.splits, strict=False) if not handle]:
            yield f"{words.listed(split_off)} split off; the next run takes it out"
        if finding.reason:
            yield finding.reason
        if finding.note:
            yield f"note: {finding.note}"
        if finding.merged_into:
            yield f"part of {finding.merged_into}"

    def _choices(self) -> Iterator[str]:
        """Yield who chose the keeper and its values."""
        finding = self._finding
        if finding.kept_by:
            yield f"keeper chosen by {finding.kept_by}{self._instead()}"
        elif finding.rule_keeper is not None:
            yield f"keeper: one of the records that were handled{self._instead()}"
        if sentence := values_in_words(finding, self._hidden):
            yield sentence

    def _instead(self) -> str:
        """Return the record that the rule would keep, in words; empty if it is the same one."""
        finding = self._finding
        if finding.rule_keeper is None:
            return ""
        [name] = self._hidden.names([finding.rule_keeper], finding.datasets)
        return f"; the rule would keep {name}"

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
    def after_undo(self) -> Iterator[str]:
        """Who undid the cleaning and when, what its state means, and what can be done next; nothing without an undo."""
        if self.undone is None:
            return
        by = "" if self.undone.by is None else f" by {self.undone.by}"
        note = f" ({self.undone.note})" if self.undone.note else ""
        yield f"The cleaning was undone{by} on {words.to_the_minute(self.undone.at, self.timezone)}{note}."
        yield "Its records count as dismissed: runs report nothing until a record joins or a key value changes."
        yield "To clean it with a new plan, or to decide differently, reopen it first."

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
    from reconcile.audit import log  # noqa: PLC0415 - a list needs no history and no plans
    from reconcile.decisions import decide  # noqa: PLC0415 - see above
    from reconcile.store import approvals  # noqa: PLC0415 - see above
    from reconcile.store.plans import last_executed, last_undo, standing, undo_done, undo_of  # noqa: PLC0415 - see above
    from reconcile.views.history import EventView  # noqa: PLC0415 - see above

    with application.memory.read() as tx:
        finding = get(tx, identifier)
        entries = list(log.entries(tx, finding=finding.id))
        done = last_undo(tx, finding.id) if finding.state is State.UNDONE else None
        undo, stored = undo_of(tx, finding.id), standing(tx, finding.id)
        executed = last_executed(tx, finding.id)
        has_expired = undo is None and stored is not None and stored.is_expired(tx.now)
        given = () if executed is None else approvals.of(tx, executed.id)
        was_undone = None if executed is None else undo_done(tx, executed.id)
        can_take_back = decide.can_take_back(tx, finding)
        view = of(application, tx, finding, show=show)
    hidden, project = view._hidden, application.project  # noqa: SLF001 - the view's own
    undo_view = None if undo is None else UndoView(undo.id, undo.state.value, undo.reason)
    plan, prospect = _prospect(application, finding, stored, view.approvals, show=show)
    waiting = stored.plan_hash if stored is not None and stored.state is PlanState.AWAITING else None
    rule = rule_of(project, finding)
    table = records.side_by_side(project, finding, hidden)
    splits = _splits(application, finding)
    return FindingDetail(
        *(finding, hidden, view.form, view.timezone, view.periods, view.approvals, view.named),
        side_by_side=table,
        weakest=_weakest(finding, hidden, splits),
        history=tuple(map(EventView.of, entries)),
        undo=undo_view,
        undone=_undone(finding, done, entries),
        next_step=_EXPIRED if has_expired else _next(finding, undo, waiting),
        why=None if rule is None else rule.because(finding.form),
        plan=plan,
        prospect=prospect,
        executed=None if executed is None else _executed(application, finding, executed, given, was_undone, show=show),
        can_take_back=can_take_back,
        alternatives=() if rule is None else rule.alternatives,
        handles=_handles(application, finding),
        splits=splits,
        field_choices=_field_choices(application, finding, table),
    )


def _undone(finding: Finding, undo: StoredPlan | None, entries: Sequence[LogEntry]) -> UndoneView | None:
    """Return the undo that the finding is left with; `undo` is its plan, None if that is no longer kept."""
    if finding.state is not State.UNDONE:
        return None
    if undo is None:
        return UndoneView(finding.state_since, None, None)
    bodies = [entry.body or {} for entry in entries if entry.event == "plan.proposed"]
    note = next((body.get("note") for body in bodies if body.get("plan") == undo.id), None)
    return UndoneView(finding.state_since, undo.proposed_by, note)


def _executed(
    application: Application,
    finding: Finding,
    plan: StoredPlan,
    given: Sequence[Approval],
    undo: StoredPlan | None,
    *,
    show: bool,
) -> ExecutedView:
    from reconcile.views.plans import stored_view  # noqa: PLC0415 - loads the planner

    approved_by = tuple(approval.by for approval in given if approval.decision == "approved")
    try:
        shown = stored_view(application, finding, plan, None, show=show)
        list(shown.lines)
    except RowsUnreadable as error:
        return ExecutedView(plan.ended_at, approved_by, None, str(error), undo)
    return ExecutedView(plan.ended_at, approved_by, shown, undo=undo)


def values_in_words(finding: Finding, hidden: Masking) -> str:
    """Return who chose which values of the keeper from which records; empty if nobody did."""
    parts = [
        f"{words.listed(columns)} from {name} ({by})"
        for member, by, columns in by_record(finding)
        for name in hidden.names([member], finding.datasets)
    ]
    return f"values chosen: {', '.join(parts)}" if parts else ""


def _field_choices(application: Application, finding: Finding, table: SideBySide) -> dict[str, FieldChoice]:
    rule = application.project.rules.get(finding.rule)
    if rule is None or rule.clean is None or not _handles(application, finding):
        return {}
    chosen = chosen_values(finding)
    choices = {}
    for name in table.fields:
        together = rule.clean.together(name)
        differs = any(record.cells[name].differs for record in table.records if name in record.cells)
        if together and (differs or name in chosen):
            giver, value = chosen.get(name, (None, None))
            place = None if giver is None else finding.members.index(giver)
            beside = tuple(column for column in together if column != name)
            choices[name] = FieldChoice(beside, place, None if value is None else value.by)
    return choices


def _handles(application: Application, finding: Finding) -> tuple[str, ...]:
    rule = application.project.rules.get(finding.rule)
    may_choose = rule is not None and rule.clean is not None and finding.keeper is not None
    if not may_choose or finding.form != DUPLICATE or finding.state not in CHOOSABLE:
        return ()
    key = application.memory.key
    return tuple(handle_of(key, finding.id, member) for member in finding.members)


def _splits(application: Application, finding: Finding) -> tuple[str, ...]:
    rule = application.project.rules.get(finding.rule)
    may_split = rule is not None and rule.joins and finding.form == DUPLICATE and finding.records > 2
    if not may_split or finding.state not in CHOOSABLE:
        return ()
    key = application.memory.key
    judged = Counter(member_name(member) for pair in finding.settled_pairs for member in pair)
    return tuple(
        "" if judged[member_name(member)] == finding.records - 1 else handle_of(key, finding.id, member)
        for member in finding.members
    )


def _weakest(finding: Finding, hidden: Masking, splits: Sequence[str]) -> WeakestView | None:
    """Return the least certain records, unless nobody may split them off any more."""
    links = evidence.holding(finding.links) if all(splits) and splits else ()
    if not links:
        return None
    link, places = links[-1]
    assert link.probability is not None  # noqa: S101 - only such links count
    names = [hidden.side(member.dataset).name(member) for member in finding.members]
    [alone, *others] = sorted(places)
    parts, command = [names[alone]], ["split", finding.id, names[alone]]
    if others:  # to split off one of them would part it from the others
        parts = [names[link.first], names[link.second]]
        command = ["judge", finding.rule, *parts, "--not-the-same"]
    is_typed = not any(MASK in name for name in parts) and not any(is_of_content(each.id) for each in finding.members)
    return WeakestView(places, in_percent(link.probability), shlex.join(["reconcile", *command]) if is_typed else None)


def _prospect(
    application: Application, finding: Finding, stored: StoredPlan | None, given: GivenApprovals | None, *, show: bool
) -> tuple[PlanView | None, str | None]:
    """Return the finding's plan, or else what would happen as a sentence."""
    if stored is not None and stored.undoes is None:
        from reconcile.views.plans import stored_view  # noqa: PLC0415 - loads the planner

        try:
            return stored_view(application, finding, stored, given, show=show), None
        except RowsUnreadable as error:
            return None, str(error)
    if finding.state not in _UNDECIDED:
        return None, None
    rule = application.project.rules.get(finding.rule)
    if rule is None:
        return None, f"Rule `{finding.rule}` is no longer in the configuration, so nothing is cleaned."
    if rule.clean is None or (rule.clean.forms and finding.form not in rule.clean.forms):
        return None, f"Rule `{rule.name}` only reports it: no record is changed."
    shown = f"`reconcile plan --finding {finding.id}` shows the plan now"
    if finding.state is State.FAILED:
        return None, f"Its cleaning failed, and no run retries it: `reconcile retry {finding.id}` does; {shown}."
    return None, f"The next run plans its cleaning; {shown}."


def reveal(application: Application, identifier: str, *, by: Person) -> FindingDetail:
    """Return one finding with personal data in clear, and record who saw it. Raises RevealRefused and as `detail`."""
    if not by.sees_personal:
        raise RevealRefused(by.name)
    from reconcile.audit import log  # noqa: PLC0415 - see above

    view = detail(application, identifier, show=True)
    with application.memory.begin() as tx:
        log.append(tx, by.name, "personal_data.revealed", view.id, {"finding": view.id, "system": by.origin})
    return view


def detail_to_json(view: FindingDetail) -> JsonObject:
    """Return the finding with its records, its plan, its history and its undo as public JSON."""
    from reconcile.views import history  # noqa: PLC0415 - see above

    optional: JsonObject = {"why": view.why, "prospect": view.prospect}
    if view.plan is not None:
        from reconcile.views import plans  # noqa: PLC0415 - loaded with the plan

        optional["plan"] = plans.to_json(view.plan)
    if view.executed is not None:
        optional["executed"] = view.executed.to_json()
    if view.undo is not None:
        optional["undo"] = dict(vars(view.undo))
    if view.undone is not None:
        optional["undone"] = dict(vars(view.undone)) | {"at": view.undone.at.isoformat()}
    shown = {"side_by_side": records.to_json(view.side_by_side), "history": list(map(history.to_json, view.history))}
    return to_json(view) | shown | {name: value for name, value in optional.items() if value is not None}


def _next(finding: Finding, undo: StoredPlan | None, plan: str | None) -> str | None:
    """Return the next command for a finding, its undo first; `plan` is the hash of the waiting plan."""
    if undo is not None:
        action = _NEXT_OF_UNDO.get(undo.state.value)
        return action and action.format(finding.id, undo.id)
    if finding.not_undone and finding.state.value == "cleaned":
        return f"reconcile undo {finding.id}"
    action = _NEXT.get(finding.state.value)
    harmless = "not a duplicate" if finding.form == "duplicate" else "acceptable"
    return action and action.format(finding.id, f" --plan-hash {plan[:_BEGINNING]}" if plan else "", harmless)
