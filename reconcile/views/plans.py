"""Plans of findings as every door shows them, before their approval. Nothing is written."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from connectors.errors import ConnectorError
from notifications.wording.words import plural, to_the_minute, to_the_second
from reconcile.cleaning import shown
from reconcile.cleaning.actions.base import NotPlannable
from reconcile.cleaning.chunks import in_chunks
from reconcile.cleaning.execution.terms import Terms
from reconcile.cleaning.next_run import plan_asked_before
from reconcile.cleaning.planning.planner import RulePlanner
from reconcile.cleaning.shown import ShownRow
from reconcile.config.settings import Project
from reconcile.documents import JsonObject
from reconcile.errors import Wrong
from reconcile.findings.approval import GivenApprovals
from reconcile.findings.plan import Plan
from reconcile.findings.shown import Finding
from reconcile.findings.states import PlanState, State
from reconcile.journal import approvals, limits
from reconcile.masking import records
from reconcile.masking.personal import Masking
from reconcile.masking.public import chosen_values
from reconcile.masking.records import SideBySide
from reconcile.store import findings as stored_findings
from reconcile.store import plans as stored_plans
from reconcile.store.plans import STANDING, StoredPlan
from reconcile.views.findings import approvals_to_json, values_in_words
from rules import values
from rules.cleaning import Caps
from rules.kinds.base import Rule

if TYPE_CHECKING:
    from reconcile.app import Application

_CHUNK = 500
_BEGINNING = 12
"""The characters of a plan's hash that identify it."""
_TO_RETRY = (PlanState.APPROVED, PlanState.RETRY_WAIT)
_PLANNED = (State.OPEN, State.STALE, State.AWAITING, State.APPROVED)


class NothingToPlan(Wrong):
    """A named rule or finding is without cleaning."""


@dataclass(frozen=True)
class PlanView:
    """A plan as it may be shown, with the records of its finding. `asks` is the approval policy.

    `state` is the state of the finding's stored plan; `another` if that is a different plan; None without one.
    `approvals` are those of this plan while it waits for several people. `waits` says what failed and when it is tried
    again, `doubt` what to look at before the approval, and `expires` until when it may be approved and executed.
    """

    _plan: Plan
    _finding: Finding
    _hidden: Masking
    _of_finding: Masking
    _project: Project
    asks: str
    state: str | None
    approvals: GivenApprovals | None
    waits: str | None = None
    doubt: str | None = None
    expires: dt.datetime | None = None
    is_expired: bool = False

    @property
    def finding(self) -> str:
        return self._plan.finding

    @property
    def rule(self) -> str:
        return self._plan.rule

    @property
    def hash(self) -> str:
        return self._plan.plan_hash

    @property
    def side_by_side(self) -> SideBySide:
        """The records of the finding."""
        return records.side_by_side(self._project, self._finding, self._of_finding)

    @property
    def why(self) -> str | None:
        """The reason why the records belong together, as a sentence."""
        rule = records.rule_of(self._project, self._finding)
        return None if rule is None else rule.because(self._finding.form)

    @property
    def title(self) -> str:
        """The plan in a few words."""
        return shown.title(self._plan)

    @property
    def at_risk(self) -> str | None:
        """The money at risk in words; None without any."""
        return self._hidden.at_risk(_money(self._plan)) if self._plan.money else None

    @property
    def lines(self) -> list[ShownRow]:
        """Every row of the plan: the keeper, the surplus, then all other rows."""
        return shown.for_people(self._plan, self._hidden)

    @property
    def asked_before(self) -> str | None:
        """A sentence on a plan that waits for people although its rule needs no approval now; None for others."""
        rule = self._project.rules.get(self.rule)
        if self.state != PlanState.AWAITING.value or rule is None or rule.clean is None:
            return None
        return plan_asked_before(rule.name) if rule.approval.is_automatic else None

    @property
    def remarks(self) -> Iterator[str]:
        """Facts that a person should know before the approval, one sentence each."""
        if self._finding.kept_by:
            yield f"keeper: chosen by {self._finding.kept_by}"
        if sentence := values_in_words(self._finding, self._hidden):
            yield sentence
        for record, reason in shown.uncounted(self._plan, self._hidden):
            yield f"Limits cannot count the amount of record {record}: it has {reason}."
        if self.state == PlanState.COMPENSATED.value:
            yield "undo: done"
        else:
            yield {"no": "undo: none", "yes": "undo: yes"}.get(
                self._plan.reversible, "undo: possible unless these rows change"
            )
        yield from (f"  {sentence}" for sentence in self._plan.why)
        if self._plan.triggers:
            yield f"triggers that fire: {', '.join(self._plan.triggers)}"
        if self.waits is not None:
            yield self.waits
        if self.expires is not None:
            until = to_the_minute(self.expires, self._project.timezone)
            yield f"it {'could' if self.is_expired else 'can'} be approved until {until}"
        if self.doubt is not None:
            yield f"{self.doubt}."
        if self.asked_before is not None:
            yield self.asked_before
        yield f"plan: {self._plan.plan_hash}"

    @property
    def next_step(self) -> str:
        """The plan's next step, with the command that decides it."""
        approve = f"reconcile approve {self.finding} --plan-hash {self._plan.plan_hash[:_BEGINNING]}"
        if self.is_expired:
            return "its plan expired, and the next run plans it again: reconcile run"
        match self.state:
            case "awaiting_approval":
                given = "" if self.approvals is None else f" ({self.approvals.sentence})"
                return f"waiting for approval{given}: {approve}"
            case None if self._finding.state is State.FAILED:
                return f"its cleaning failed, and no run retries it: reconcile retry {self.finding}"
            case None | "another":
                waits = "an earlier plan waits and is replaced; " if self.state else ""
                asks = {"none": "cleans it without approval", "two_person": "asks two people for approval"}.get(
                    self.asks, "asks for approval"
                )
                command = "" if self.asks == "none" else f": {approve}"
                return f"{waits}the next run {asks}{command}"
            case state:
                return f"state: {state.replace('_', ' ')}"


@dataclass(frozen=True)
class NotPlanned:
    """A finding without a plan, and the reason."""

    finding: str
    rule: str
    reason: str


def to_json(view: PlanView | NotPlanned) -> JsonObject:
    """Return a plan, or the reason why there is none, as public JSON."""
    if isinstance(view, NotPlanned):
        return {"finding": view.finding, "rule": view.rule, "plan_hash": None, "reason": view.reason}
    plan, hidden = view._plan, view._hidden  # noqa: SLF001 - the view's own JSON
    money = {currency: hidden.value(hidden.amount, amount) for currency, amount in sorted(plan.money.items())}
    kept_by = view._finding.kept_by  # noqa: SLF001 - the view's own JSON
    chosen: JsonObject = {"kept_by": kept_by} if kept_by else {}
    values_chosen = chosen_values(view._finding, hidden)  # noqa: SLF001 - the view's own JSON
    chosen |= {"chosen_values": values_chosen} if values_chosen else {}
    chosen |= {"waits": view.waits} if view.waits else {}
    chosen |= {"doubt": view.doubt} if view.doubt else {}
    chosen |= {"expires": view.expires.isoformat()} if view.expires else {}
    chosen |= {"expired": True} if view.is_expired else {}
    chosen |= {"asked_before": view.asked_before} if view.asked_before else {}
    about = {"money": money, "approval": view.asks, "state": view.state}
    return shown.to_json(plan, hidden) | about | approvals_to_json(view.approvals) | chosen


def stored_view(
    application: Application, finding: Finding, stored: StoredPlan, given: GivenApprovals | None, *, show: bool
) -> PlanView:
    """Return a stored plan of a finding, and its approvals, as it may be shown. Raises RowsUnreadable."""
    hidden, of_finding = (
        _hidden(application.project, name, finding.rule, show=show) for name in (stored.dataset, finding.dataset)
    )
    shown_with = (hidden, of_finding, application.project)
    waits = _waits(stored, application.project.timezone)
    with application.memory.read() as tx:
        of_time = _of_time(stored, tx.now)
    state = stored.state.value
    return PlanView(stored.content, finding, *shown_with, stored.policy, state, given, waits, stored.doubt, *of_time)


def _of_time(stored: StoredPlan, now: dt.datetime) -> tuple[dt.datetime | None, bool]:
    """Return until when a plan that is not begun may be approved and executed, and whether it expired."""
    if stored.state not in STANDING or stored.expires_at is None:
        return None, False
    return stored.expires_at, stored.is_expired(now)


def _waits(stored: StoredPlan, timezone: str) -> str | None:
    """Say why a plan was not executed yet, and when it is tried again; None if it was not tried or is over."""
    if stored.reason is None or stored.state not in _TO_RETRY:
        return None
    tried = f"{plural(stored.attempts, 'attempt', 'attempts')} failed" if stored.attempts else "waits"
    return f"{tried}: {stored.reason.rstrip('.')}. Next attempt: {to_the_second(stored.next_at, timezone)}"


def _hidden(project: Project, dataset: str, rule: str, *, show: bool) -> Masking:
    return Masking() if show else Masking.of(project, dataset, rule)


@dataclass(frozen=True)
class Summary:
    """The sums of a rule's plans. `not_planned` counts findings by the reason why they have no plan."""

    title: str
    remarks: tuple[str, ...]
    plans: int
    not_planned: Counter[str]
    is_masked: bool


def chosen(
    application: Application, rules: Sequence[str], findings: Sequence[str], *, show: bool, limit: int | None
) -> list[RulePlans]:
    """Return the plans of these rules, in the order of the configuration; of all findings unless some are named.

    Without rules, of all that clean. Raises NothingToPlan, NameUnknown, a FindingError.
    """
    for name in rules:
        if application.rule(name).clean is None:
            raise NothingToPlan(f"Rule `{name}` only reports: it has no `clean:`, so there is no plan.")
    terms = Terms(application.project)
    named = _named(application, terms, findings)
    return [
        RulePlans(application, rule, named.get(name), show, limit, terms)
        for name, rule in application.project.rules.items()
        if rule.clean is not None and (not rules or name in rules) and (not findings or name in named)
    ]


def _named(application: Application, terms: Terms, findings: Sequence[str]) -> Mapping[str, list[str]]:
    """Return these findings by their rule."""
    by_rule: dict[str, list[str]] = {}
    if not findings:
        return by_rule
    with application.memory.read() as tx:
        for finding_id in findings:
            finding = stored_findings.get(tx, finding_id)
            if terms.rule(finding.rule) is None:
                sentence = f"{finding.id} is of rule `{finding.rule}`, which does not clean, so there is no plan."
                raise NothingToPlan(sentence)
            by_rule.setdefault(finding.rule, []).append(finding.id)
    return by_rule


@dataclass
class _PlanSums:
    """Sums of plans. `counted` and `limited` are the rows and the money as limits count them: without keepers' rows."""

    plans: int = 0
    counted: int = 0
    keepers: int = 0
    calls: int = 0
    largest: int = 0
    surplus: int = 0
    money: dict[str, Decimal] = field(default_factory=dict)
    limited: dict[str, Decimal] = field(default_factory=dict)
    stored: set[str] = field(default_factory=set)
    """The ids of the stored plans of these findings, which limits may have counted already."""
    """Those of them that are not replaced."""
    target: str = ""
    is_uncounted: bool = False
    not_planned: Counter[str] = field(default_factory=Counter)

    def add(self, plan: Plan, finding: Finding, *, is_uncounted: bool) -> None:
        use = limits.Use.of("", plan)
        self.target = plan.target
        self.plans += 1
        self.counted += use.records
        self.keepers += plan.rows + len(plan.calls) - use.records
        self.calls += len(plan.calls)
        self.largest = max(self.largest, finding.records if plan.keeper else plan.group)
        self.surplus += len(plan.surplus)
        values.add(self.money, _money(plan))
        values.add(self.limited, use.money)
        self.is_uncounted = self.is_uncounted or is_uncounted


@dataclass
class RulePlans:
    """The plans of one rule for its current configuration and rows, and their sums. `names`: only these findings."""

    application: Application
    rule: Rule
    names: list[str] | None
    show: bool
    limit: int | None
    terms: Terms
    sums: _PlanSums = field(default_factory=_PlanSums)
    target_remarks: tuple[str, ...] = ()
    failure: ConnectorError | None = None
    """Why the rest of the findings has no plan: the source refused or did not answer."""

    @property
    def hidden(self) -> Masking:
        return _hidden(self.application.project, self.rule.cleaned, self.rule.name, show=self.show)

    def __iter__(self) -> Iterator[PlanView | NotPlanned]:
        """Plan the findings and add to the sums. If the source fails, the rest is not planned: see `failure`.

        Raises StoreError.
        """
        names = self._names() if self.names is None else self.names
        if not names:
            return
        not_viewed = dict.fromkeys(names)
        try:
            for view in self._views(names):
                not_viewed.pop(view.finding, None)
                yield view
        except ConnectorError as error:
            self.failure = error
            reason = str(error)
            self.sums.not_planned[reason] += len(not_viewed)
            yield from (NotPlanned(name, self.rule.name, reason) for name in not_viewed)

    def _views(self, names: Sequence[str]) -> Iterator[PlanView | NotPlanned]:
        application, hidden, rule = self.application, self.hidden, self.rule
        of_finding = _hidden(application.project, rule.dataset, rule.name, show=self.show)
        planner = application.planner.of(rule)
        self.target_remarks = planner.tools.catalogue.remarks
        for chunk in in_chunks(names, _CHUNK):
            with application.memory.read() as tx:
                findings = stored_findings.some(tx, chunk)
            plans = list(planner.plans(findings))
            policies = self._policies(planner, plans)
            stored, given = self._stored([plan for _, plan in plans if isinstance(plan, Plan)])
            for finding, planned in plans:
                if isinstance(planned, Plan):
                    plan, state, *of_plan = stored.get(finding.id, (planned, None, None, None, False))
                    self.sums.add(plan, finding, is_uncounted=self.terms.cannot_count(plan))
                    shown_with = (hidden, of_finding, application.project)
                    approved = given.get(finding.id) if state == PlanState.AWAITING.value else None
                    yield PlanView(plan, finding, *shown_with, policies[finding.id], state, approved, None, *of_plan)
                else:
                    self.sums.not_planned[planned.reason] += 1
                    yield NotPlanned(finding.id, rule.name, str(planned))

    def _policies(
        self, planner: RulePlanner, plans: Sequence[tuple[Finding, Plan | NotPlannable]]
    ) -> Mapping[str, str]:
        """Return the approval policy that the next run gives each plan, by finding."""
        with self.application.memory.read() as tx:
            group = self.terms.caps(tx, self.rule.name).group
            decided = self.terms.decided(tx, [finding for finding, _ in plans])
            return {
                finding.id: self.terms.policy(
                    tx, finding, plan, group, was_decided=finding.id in decided, knows=planner.knows
                )
                for finding, plan in plans
                if isinstance(plan, Plan)
            }

    def _names(self) -> list[str]:
        with self.application.memory.read() as tx:
            criteria = stored_findings.FindingFilter(rules=(self.rule.name,), states=_PLANNED, limit=self.limit)
            return stored_findings.names(tx, criteria)

    def _stored(
        self, plans: Sequence[Plan]
    ) -> tuple[Mapping[str, tuple[Plan, str, str | None, dt.datetime | None, bool]], Mapping[str, GivenApprovals]]:
        """Return, by finding, the stored plan, its state, its doubt and its time; it may differ only in columns that
        may drift. If another plan is stored, return the new plan and `another`. Also return the approvals of the plans
        that wait.
        """
        with self.application.memory.read() as tx:
            given = approvals.of_waiting(tx, [plan.finding for plan in plans])
            pairs = [(new, stored_plans.standing(tx, new.finding)) for new in plans]
            now = tx.now
        by_finding = {}
        for new, stored in pairs:
            if stored is not None:
                plan = stored.content if stored.is_for(new) and stored.plan_hash != new.plan_hash else new
                is_kept = plan.plan_hash == stored.plan_hash
                self.sums.stored.add(stored.id)
                state = stored.state.value if is_kept else "another"
                of_plan = (stored.doubt, *_of_time(stored, now)) if is_kept else (None, None, False)
                by_finding[new.finding] = (plan, state, *of_plan)
        return by_finding, given

    def summary(self) -> Summary:
        """Return the sums of all plans so far."""
        sums, hidden = self.sums, self.hidden
        at_risk = f", {hidden.at_risk(sums.money)} at risk" if sums.money else ""
        rows = plural(sums.counted, "row changes", "rows change")
        if sums.calls:
            rows = plural(sums.calls, "call", "calls")
        if sums.keepers:
            rows += f", and {plural(sums.keepers, 'keeper gets', 'keepers get')} values from the surplus"
        plans = plural(sums.plans, "plan", "plans")
        records = (
            plural(sums.surplus, "record", "records")
            if self._is_keeperless
            else plural(sums.surplus, "surplus record", "surplus records")
        )
        title = f"{self.rule.name}: {plans}, {records}, {rows}{at_risk}"
        remarks = (*self._limits(), *self.target_remarks) if sums.plans else ()
        return Summary(title, remarks, sums.plans, sums.not_planned, hidden.hides(None))

    @property
    def _is_keeperless(self) -> bool:
        return self.rule.clean is not None and bool(self.rule.clean.forms)

    def _limits(self) -> Iterator[str]:
        sums = self.sums
        caps, of_day = self._limits_of_day()
        amounts = self.hidden.risk(sums.limited)
        sentence, _ = shown.limits_said(caps, rows=sums.counted, group=sums.largest, money=amounts)
        remark = " (the keeper's own row is not counted)" if sums.keepers else ""
        yield f"limits{remark}: {sentence}"
        yield from (limit.sentence for limit in of_day if limit.name == "rows" or not self.hidden.hides_amounts)
        if over := dict.fromkeys(limit.name for limit in of_day if limit.is_exceeded):
            exceeded = " and ".join(over)
            yield f"over the limit in {exceeded}: every plan needs approval; plans beyond it also need --over-limit."
        if sums.is_uncounted:
            yield "Money is limited, but some amounts cannot be counted: approving such a plan needs --over-limit."

    def _limits_of_day(self) -> tuple[Caps, list[limits.DayLimit]]:
        """Return the rule's limits, and those of the rule and its target for 24 hours, these plans included."""
        sums, name = self.sums, self.rule.name
        with self.application.memory.read() as tx:
            caps = self.terms.caps(tx, name)
            of_rule = limits.used(tx, "rule", name, without=sums.stored)
            of_target = limits.used(tx, "target", sums.target, without=sums.stored)
        planned = sums.counted, sums.limited
        caps_of_target = self.application.project.caps_of(self.application.project.datasets[self.rule.cleaned].source)
        of_day = limits.of_day(limits.of_rule(name), caps, planned, of_rule)
        of_day_in_target = limits.of_day(limits.of_target(sums.target), caps_of_target, planned, of_target)
        return caps, [*of_day, *of_day_in_target]


def _money(plan: Plan) -> dict[str, Decimal]:
    return {currency: Decimal(amount) for currency, amount in plan.money.items()}
