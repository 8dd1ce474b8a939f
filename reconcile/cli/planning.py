"""`plan`: show the changes of a cleaning row by row before its approval. It writes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reconcile.cli.output import FILE, HIDDEN, AsJson, Config, NoColor, Output, Quiet, Show
from reconcile.errors import Wrong

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.cleaning.actions.base import NotPlannable
    from reconcile.cleaning.execution.terms import Terms
    from reconcile.cleaning.planning.plan import Tools
    from reconcile.cleaning.shown import Line
    from reconcile.findings.bundle import Bundle
    from reconcile.findings.shown import Finding
    from reconcile.messages.personal import Hidden
    from rules.cleaning import Caps
    from rules.kinds.base import Rule

_CHUNK = 500
_BEGINNING = 12
"""The characters of a plan's hash that identify it."""
_REASONS = 20
"""The most different reasons that are shown; findings with the same reason are counted."""


class NothingToPlan(Wrong):
    """The command line names a rule or a finding without cleaning."""


def register(app: typer.Typer) -> None:
    app.command(help="Show every row and field that cleaning would change, before and after; changes nothing.")(plan)


def plan(
    rules: Annotated[list[str] | None, typer.Argument(help="Rules; default: all that clean.", metavar="RULE")] = None,
    config: Config = FILE,
    finding: Annotated[list[str] | None, typer.Option("--finding", help="Only this finding; repeatable.")] = None,
    show: Show = False,
    limit: Annotated[int | None, typer.Option("--limit", help="At most this many findings per rule.", min=1)] = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load

    out = Output(json, quiet, no_color)
    with load(config) as application:
        planning = _Planning(application, show=show, limit=limit)
        selected = planning.chosen(rules or (), finding or ())
        if json:
            out.stream(plan for rule, names in selected for plan in planning.as_json(rule, names))
            return
        if not selected:
            out.note("No rule has `clean:`, so nothing would change.")
        for rule, names in selected:
            _Printer(out, planning, rule).all(names)


def tell(application: Application, out: Output, rule: str, findings: Sequence[str]) -> None:
    """Print the plans for these findings of a rule."""
    _Printer(out, _Planning(application, show=True, limit=None), application.rule(rule)).all(list(findings))


@dataclass
class Planned:
    """A finding with its plan, or the reason why it has none. `asks` is the approval policy, `stands` the stored plan's
    state."""

    finding: Finding
    plan: Bundle | NotPlannable
    asks: str | None = None
    stands: str | None = None


class _Planning:
    """Plans of findings in chunks, for the current configuration and rows."""

    def __init__(self, application: Application, *, show: bool, limit: int | None) -> None:
        from reconcile.cleaning.execution.terms import Terms

        self.application = application
        self.show = show
        self.limit = limit
        self.terms: Terms = Terms(application.project)
        self.told: tuple[str, ...] = ()

    def chosen(self, rules: Sequence[str], findings: Sequence[str]) -> list[tuple[Rule, list[str] | None]]:
        """Return rules in the order of the configuration, each with its named findings; None: all of them."""
        application = self.application
        for name in rules:
            if application.rule(name).clean is None:
                raise NothingToPlan(f"Rule `{name}` only reports: it has no `clean:`, so there is no plan.")
        named = self._named(findings)
        cleaning = [rule for name in application.project.rules if (rule := application.rule(name)).clean is not None]
        chosen_rules = [rule for rule in cleaning if not rules or rule.name in rules]
        if not findings:
            return [(rule, None) for rule in chosen_rules]
        return [(rule, named[rule.name]) for rule in chosen_rules if rule.name in named]

    def _named(self, findings: Sequence[str]) -> Mapping[str, list[str]]:
        from reconcile.store.findings import get

        by_rule: dict[str, list[str]] = {}
        if not findings:
            return by_rule
        with self.application.memory.read() as tx:
            for finding_id in findings:
                finding = get(tx, finding_id)
                if self.terms.rule(finding.rule) is None:
                    sentence = f"{finding.id} is of rule `{finding.rule}`, which does not clean, so there is no plan."
                    raise NothingToPlan(sentence)
                by_rule.setdefault(finding.rule, []).append(finding.id)
        return by_rule

    def plans(self, rule: Rule, names: list[str] | None) -> Iterator[Planned]:
        """Plan the findings. Raises the source's ConnectorError."""
        from reconcile.cleaning.planning.plan import make_many
        from reconcile.findings.bundle import Bundle
        from reconcile.store.findings import some

        names = self._findings(rule) if names is None else names
        if not names:
            return
        tools = self.tools(rule)
        self.told = tools.catalogue.told
        for start in range(0, len(names), _CHUNK):
            with self.application.memory.read() as tx:
                findings = {finding.id: finding for finding in some(tx, names[start : start + _CHUNK])}
            plans = list(make_many(findings.values(), tools))
            stored = self._stored([plan for _, plan in plans if isinstance(plan, Bundle)])
            for name, new in plans:
                asks = self.terms.asks(new) if isinstance(new, Bundle) else None
                plan, state = stored.get(name, (new, None))
                yield Planned(findings[name], plan, asks, state)

    def _findings(self, rule: Rule) -> list[str]:
        from reconcile.findings.states import State
        from reconcile.store.findings import Filter, names

        states = (State.OPEN, State.STALE, State.AWAITING, State.APPROVED)
        with self.application.memory.read() as tx:
            return names(tx, Filter(rules=(rule.name,), states=states, limit=self.limit))

    def tools(self, rule: Rule) -> Tools:
        """Return the tools to plan the rule's findings. Raises NothingToPlan, ConnectorError."""
        from connectors.target import Target
        from reconcile.cleaning.planning.plan import Tools
        from reconcile.detection.detect import subjects_of
        from reconcile.journal import effects

        application = self.application
        subjects = subjects_of(rule, application.subject)
        source = subjects[rule.dataset].source
        if not isinstance(source, Target):
            raise NothingToPlan(f"Rule `{rule.name}`: source `{source.name}` cannot be cleaned.")
        identity = source.identity()

        def generations(pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], int]:
            with application.memory.read() as tx:
                numbers: Mapping[tuple[str, str], int] = effects.generations(tx, identity, pairs)
            return numbers

        with application.memory.read() as tx:
            now = tx.now
        binding = self.terms.binding(rule.name) or ""
        return Tools.of(source, subjects, rule, now, generations, binding)

    def _stored(self, plans: Sequence[Bundle]) -> Mapping[str, tuple[Bundle, str]]:
        """Return, by finding, the stored plan and its state; it may differ only in columns that may drift. If another
        plan is stored, return the new plan and `another`."""
        from reconcile.store import bundles

        with self.application.memory.read() as tx:
            pairs = [(new, bundles.standing(tx, new.finding)) for new in plans]
        by_finding = {}
        for new, stored in pairs:
            if stored is not None:
                shown = new if stored.plan_hash == new.plan_hash or not stored.is_for(new) else stored.bundle
                state = stored.state.value if shown.plan_hash == stored.plan_hash else "another"
                by_finding[new.finding] = (shown, state)
        return by_finding

    def hidden(self, rule: Rule) -> tuple[str, ...]:
        """The columns whose values are masked."""
        return () if self.show else self.application.project.datasets[rule.dataset].pii

    def veil(self, rule: Rule) -> Hidden:
        """The masking of the money at risk."""
        from reconcile.messages.personal import Hidden

        return Hidden() if self.show else Hidden.of(self.application.project, rule.dataset, rule.name)

    def caps(self, rule: Rule) -> Caps:
        """The most that one run of the rule may change."""
        with self.application.memory.read() as tx:
            return self.terms.caps(tx, rule.name)

    def as_json(self, rule: Rule, names: list[str] | None) -> Iterator[dict[str, Any]]:
        from reconcile.cleaning.shown import to_json
        from reconcile.findings.bundle import Bundle

        for planned in self.plans(rule, names):
            if isinstance(planned.plan, Bundle):
                veil, money = self.veil(rule), planned.plan.money
                shown = {currency: veil.value(veil.amount, amount) for currency, amount in sorted(money.items())}
                details = {"money": shown, "approval": planned.asks, "stands": planned.stands}
                yield to_json(planned.plan, self.hidden(rule)) | details
            else:
                yield {"finding": planned.finding.id, "rule": rule.name, "plan": None, "reason": str(planned.plan)}


@dataclass
class _Printer:
    """Prints a rule's plans."""

    out: Output
    planning: _Planning
    rule: Rule
    plans: int = 0
    counted: int = 0
    """Changed rows as limits count them: without those of keepers."""
    keepers: int = 0
    largest: int = 0
    records: int = 0
    money: dict[str, Decimal] = field(default_factory=dict)
    limited: dict[str, Decimal] = field(default_factory=dict)
    """The money as limits count it."""
    not_planned: Counter[str] = field(default_factory=Counter)
    uncounted: bool = False

    def all(self, names: list[str] | None) -> None:
        from reconcile.findings.bundle import Bundle

        for planned in self.planning.plans(self.rule, names):
            if isinstance(planned.plan, Bundle):
                self._plan(planned, planned.plan)
            else:
                self.not_planned[str(planned.plan)] += 1
        self._sum()

    def _plan(self, planned: Planned, bundle: Bundle) -> None:
        from reconcile.cleaning import shown
        from reconcile.journal import limits
        from rules import values as sums

        self.plans += 1
        use = limits.Use.of("", bundle)
        self.keepers += bundle.rows - use.records
        self.counted += use.records
        sums.add(self.limited, use.money)
        self.uncounted = self.uncounted or self.planning.terms.cannot_count(bundle)
        self.records += len(bundle.surplus)
        self.largest = max(self.largest, planned.finding.records)
        amounts = {currency: Decimal(amount) for currency, amount in bundle.money.items()}
        sums.add(self.money, amounts)
        at_risk = f"  {self.planning.veil(self.rule).at_risk(amounts)} at risk" if amounts else ""
        self.out.heading(f"{bundle.finding}  {bundle.rule}  {shown.title(bundle)}{at_risk}")
        hidden = self.planning.hidden(self.rule)

        def whose(records: Sequence[str]) -> str:
            return " and ".join(shown.record_name(record, bundle, hidden) for record in records)

        rows = [row for line in shown.for_people(bundle, hidden) for row in _rows(line, whose)]
        self.out.table(("", "table", "row", "field", "before", "after"), rows)
        for record, reason in sorted(bundle.uncounted.items()):
            self.out.say(f"Limits cannot count the amount of record {whose([record])}: it has {reason}.")
        for sentence in _remarks(planned, bundle):
            self.out.say(sentence)
        self.out.say("")

    def _sum(self) -> None:
        from notifications.wording.words import plural

        if self.plans:
            veil = self.planning.veil(self.rule)
            at_risk = f", {veil.at_risk(self.money, self.plans)} at risk" if self.money else ""
            plans, rows = plural(self.plans, "plan", "plans"), plural(self.counted, "row changes", "rows change")
            if self.keepers:
                rows += f", and {plural(self.keepers, 'keeper takes', 'keepers take')} in values"
            self.out.heading(f"{self.rule.name}: {plans}, {self.records:,} surplus, {rows}{at_risk}")
            for sentence in (*self._limits(), *self.planning.told):
                self.out.say(sentence)
            if self.planning.hidden(self.rule):
                self.out.note(HIDDEN)
        elif not self.not_planned:
            self.out.note(f"{self.rule.name}: no open findings, so there is nothing to plan.")
        for sentence, number in self.not_planned.most_common(_REASONS):
            self.out.say(f"not planned, {plural(number, 'finding', 'findings')}: {sentence}")
        if len(self.not_planned) > _REASONS:
            self.out.say(f"… and {len(self.not_planned) - _REASONS} more reasons; --json shows all.")

    def _limits(self) -> Iterator[str]:
        from reconcile.cleaning.shown import limits_said

        caps = self.planning.caps(self.rule)
        _, over = limits_said(caps, rows=self.counted, group=self.largest, money=self.limited)
        amounts = self.planning.veil(self.rule).risk(self.limited, self.plans)
        sentence, _ = limits_said(caps, rows=self.counted, group=self.largest, money=amounts)
        remark = " (the keeper's own row is not counted)" if self.keepers else ""
        yield f"limits{remark}: {sentence}"
        if over:
            yield f"over the limit in {over}: every plan needs approval, and beyond the limit also --over-limit."
        if self.uncounted:
            yield "Money is limited, but some amounts cannot be counted: approving such a plan needs --over-limit."


def _rows(line: Line, whose: Callable[[Sequence[str]], str]) -> Iterator[tuple[str, ...]]:
    """Yield the table rows of a line of the plan: one per changed field, or one for an inserted or deleted row."""
    first = (_CHANGES.get((line.does, line.role), _CHANGES[line.does, ""]), line.table, line.row)
    if line.does in ("delete", "insert"):
        is_deleted = line.does == "delete"
        fields = [(name, before if is_deleted else after) for name, before, after, _ in line.fields]
        values = ", ".join(f"{name} = {_text(value)}" for name, value in fields)
        yield (*first, "all", values if is_deleted else "", "" if is_deleted else values)
        return
    for column, before, after, origins in line.fields:
        yield (*first, column, _text(before), _text(after) + (f"  (from {whose(origins)})" if origins else ""))
        first = ("", "", "")
    if not line.fields:
        yield (*first, "", "", "")


_CHANGES: Mapping[tuple[str, str], str] = {
    ("stay", "keeper"): "stays",
    ("stay", ""): "must stay",
    ("update", "keeper"): "stays, takes in",
    ("update", "reference"): "is re-pointed",
    ("update", ""): "changes",
    ("delete", "captured"): "goes with it",
    ("delete", ""): "goes",
    ("insert", ""): "is put there",
}


def _text(text: str | None) -> str:
    return "null" if text is None else text or "''"


def _remarks(planned: Planned, bundle: Bundle) -> Iterator[str]:
    match bundle.reversible:
        case "no":
            yield "undo: none"
        case "yes":
            yield "undo: yes"
        case _:
            yield "undo: possible unless these rows change"
    yield from (f"  {sentence}" for sentence in bundle.why)
    if bundle.triggers:
        yield f"triggers that fire: {', '.join(bundle.triggers)}"
    yield f"plan: {bundle.plan_hash}"
    yield _next_step(planned, bundle)


def _next_step(planned: Planned, bundle: Bundle) -> str:
    approve = f"reconcile approve {bundle.finding} --plan {bundle.plan_hash[:_BEGINNING]}"
    match planned.stands:
        case "awaiting_approval":
            return f"waits for approval{' by two people' if planned.asks == 'two_person' else ''}: {approve}"
        case None if planned.finding.state.value == "failed":
            return f"its cleaning failed, and no run retries it: reconcile retry {bundle.finding}"
        case None | "another":
            waits = "an earlier plan waits and is replaced; " if planned.stands else ""
            asks = {"none": "cleans it without approval", "two_person": "asks two people for approval"}.get(
                planned.asks or "", "asks for approval"
            )
            command = "" if planned.asks == "none" else f": {approve}"
            return f"{waits}the next run {asks}{command}"
        case state:
            return f"state: {state.replace('_', ' ')}"


__all__ = ["NothingToPlan", "plan", "register"]
