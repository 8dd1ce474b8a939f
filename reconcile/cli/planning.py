"""`plan`: what cleaning would do, row by row, before anybody approves it. It writes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reconcile.cli.output import FILE, HIDDEN, AsJson, Config, NoColor, Output, Quiet, Show

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
"""So much of a plan's hash tells it from any other."""
_REASONS = 20
"""Different reasons that are told; findings with one and the same are counted."""


class NothingToPlan(Exception):
    """The command line names a rule or a finding that cleaning does not touch."""


def register(app: typer.Typer) -> None:
    app.command(help="Show what cleaning would do, every row and field before and after; changes nothing.")(plan)


def plan(
    rules: Annotated[
        list[str] | None, typer.Argument(help="Rules; all that clean without any.", metavar="RULE")
    ] = None,
    config: Config = FILE,
    finding: Annotated[list[str] | None, typer.Option("--finding", help="Only this one; may be repeated.")] = None,
    show: Show = False,
    limit: Annotated[int | None, typer.Option("--limit", help="At most so many findings a rule.", min=1)] = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load

    out = Output(json, quiet, no_color)
    with load(config) as application:
        planning = _Planning(application, show=show, limit=limit)
        chosen = planning.chosen(rules or (), finding or ())
        if json:
            out.stream(one for rule, names in chosen for one in planning.as_json(rule, names))
            return
        if not chosen:
            out.note("No rule says `clean:`, so nothing would be changed.")
        for rule, names in chosen:
            _Telling(out, planning, rule).all(names)


def tell(application: Application, out: Output, rule: str, findings: Sequence[str]) -> None:
    """The plans for these findings of a rule, for people."""
    _Telling(out, _Planning(application, show=True, limit=None), application.rule(rule)).all(list(findings))


@dataclass
class Planned:
    """A finding with its plan, or why it has none. `asks` says who is asked, `stands` what waits for it already."""

    finding: Finding
    plan: Bundle | NotPlannable
    asks: str | None = None
    stands: str | None = None


class _Planning:
    """Plans of findings, a few at a time, as the configuration and the rows are now."""

    def __init__(self, application: Application, *, show: bool, limit: int | None) -> None:
        from reconcile.cleaning.execution.terms import Terms

        self.application = application
        self.show = show
        self.limit = limit
        self.terms: Terms = Terms(application.project)
        self.told: tuple[str, ...] = ()

    def chosen(self, rules: Sequence[str], findings: Sequence[str]) -> list[tuple[Rule, list[str] | None]]:
        """Rules in the order of the configuration, each with the findings that were named; None: all of them."""
        application = self.application
        for name in rules:
            if application.rule(name).clean is None:
                raise NothingToPlan(f"Rule `{name}` only reports: it says nothing of `clean:`, so there is no plan.")
        named = self._named(findings)
        cleaning = [one for name in application.project.rules if (one := application.rule(name)).clean is not None]
        picked = [one for one in cleaning if not rules or one.name in rules]
        return [(one, named.get(one.name) if findings else None) for one in picked if not findings or one.name in named]

    def _named(self, findings: Sequence[str]) -> Mapping[str, list[str]]:
        from reconcile.store.findings import get

        by_rule: dict[str, list[str]] = {}
        if not findings:
            return by_rule
        with self.application.memory.read() as tx:
            for asked in findings:
                one = get(tx, asked)
                if self.terms.rule(one.rule) is None:
                    raise NothingToPlan(f"{one.id} is of rule `{one.rule}`, which cleans nothing, so there is no plan.")
                by_rule.setdefault(one.rule, []).append(one.id)
        return by_rule

    def plans(self, rule: Rule, names: list[str] | None) -> Iterator[Planned]:
        """Raises the source's ConnectorError."""
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
                found = {one.id: one for one in some(tx, names[start : start + _CHUNK])}
            made = list(make_many(found.values(), tools))
            stands = self._stands([one for _, one in made if isinstance(one, Bundle)])
            for name, one in made:
                asks = self.terms.asks(one) if isinstance(one, Bundle) else None
                plan, state = stands.get(name, (one, None))
                yield Planned(found[name], plan, asks, state)

    def _findings(self, rule: Rule) -> list[str]:
        from reconcile.findings.states import State
        from reconcile.store.findings import Filter, names

        states = (State.OPEN, State.STALE, State.AWAITING, State.APPROVED)
        with self.application.memory.read() as tx:
            return names(tx, Filter(rules=(rule.name,), states=states, limit=self.limit))

    def tools(self, rule: Rule) -> Tools:
        """What planning the rule's findings needs. Raises NothingToPlan, ConnectorError."""
        from connectors.target import Target
        from reconcile.cleaning.planning.plan import Tools
        from reconcile.detection.detect import subjects_of
        from reconcile.journal import effects

        application = self.application
        subjects = subjects_of(rule, application.subject)
        source = subjects[rule.dataset].source
        if not isinstance(source, Target):
            raise NothingToPlan(f"Rule `{rule.name}`: nothing can be changed in source `{source.name}`.")
        identity = source.identity()

        def lives(pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], int]:
            with application.memory.read() as tx:
                known: Mapping[tuple[str, str], int] = effects.generations(tx, identity, pairs)
            return known

        with application.memory.read() as tx:
            now = tx.now
        binding = self.terms.binding(rule.name) or ""
        return Tools.of(source, subjects, rule, now, lives, binding)

    def _stands(self, made: Sequence[Bundle]) -> Mapping[str, tuple[Bundle, str]]:
        """What is known, by finding, of plans for these: the one that stands, which may differ in what may drift, and
        its state; or the new one, and `another` where a different one stands."""
        from reconcile.store import bundles

        with self.application.memory.read() as tx:
            found = [(one, bundles.standing(tx, one.finding)) for one in made]
        stands = {}
        for one, stored in found:
            if stored is not None:
                shown = one if stored.plan_hash == one.plan_hash or not stored.is_for(one) else stored.bundle
                state = stored.state.value if shown.plan_hash == stored.plan_hash else "another"
                stands[one.finding] = (shown, state)
        return stands

    def hidden(self, rule: Rule) -> tuple[str, ...]:
        """The columns whose values are not shown."""
        return () if self.show else self.application.project.datasets[rule.dataset].pii

    def veil(self, rule: Rule) -> Hidden:
        """What is not shown of what is at risk."""
        from reconcile.messages.personal import Hidden

        return Hidden() if self.show else Hidden.of(self.application.project, rule.dataset, rule.name)

    def caps(self, rule: Rule) -> Caps:
        """What one run of the rule may change at most."""
        with self.application.memory.read() as tx:
            return self.terms.caps(tx, rule.name)

    def as_json(self, rule: Rule, names: list[str] | None) -> Iterator[dict[str, Any]]:
        from reconcile.cleaning.shown import to_json
        from reconcile.findings.bundle import Bundle

        for one in self.plans(rule, names):
            if isinstance(one.plan, Bundle):
                veil, money = self.veil(rule), one.plan.money
                shown = {currency: veil.value(veil.amount, amount) for currency, amount in sorted(money.items())}
                said = {"money": shown, "approval": one.asks, "stands": one.stands}
                yield to_json(one.plan, self.hidden(rule)) | said
            else:
                yield {"finding": one.finding.id, "rule": rule.name, "plan": None, "reason": str(one.plan)}


@dataclass
class _Telling:
    """One rule's plans for people."""

    out: Output
    planning: _Planning
    rule: Rule
    plans: int = 0
    counted: int = 0
    """Rows that change, as limits count them: all but those of keepers."""
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

        for one in self.planning.plans(self.rule, names):
            if isinstance(one.plan, Bundle):
                self._plan(one, one.plan)
            else:
                self.not_planned[str(one.plan)] += 1
        self._sum()

    def _plan(self, one: Planned, bundle: Bundle) -> None:
        from reconcile.cleaning import shown
        from reconcile.journal import limits
        from rules import sums

        self.plans += 1
        use = limits.Use.of("", bundle)
        self.keepers += bundle.rows - use.records
        self.counted += use.records
        sums.add(self.limited, use.money)
        self.uncounted = self.uncounted or self.planning.terms.cannot_count(bundle)
        self.records += len(bundle.surplus)
        self.largest = max(self.largest, one.finding.records)
        amounts = {currency: Decimal(amount) for currency, amount in bundle.money.items()}
        sums.add(self.money, amounts)
        at_risk = f"  {self.planning.veil(self.rule).at_risk(amounts)} at risk" if amounts else ""
        self.out.heading(f"{bundle.finding}  {bundle.rule}  {shown.title(bundle)}{at_risk}")
        hidden = self.planning.hidden(self.rule)

        def whose(records: Sequence[str]) -> str:
            return " and ".join(shown.record_name(one, bundle, hidden) for one in records)

        told = [row for line in shown.for_people(bundle, hidden) for row in _rows(line, whose)]
        self.out.table(("", "table", "row", "field", "before", "after"), told)
        for record, lacks in sorted(bundle.uncounted.items()):
            self.out.say(f"The amount of record {whose([record])} cannot be counted in limits: it has {lacks}.")
        for sentence in _beside(one, bundle):
            self.out.say(sentence)
        self.out.say("")

    def _sum(self) -> None:
        from notifications.wording.words import plural

        if self.plans:
            veil = self.planning.veil(self.rule)
            at_risk = f", {veil.at_risk(self.money, self.plans)} at risk" if self.money else ""
            plans, rows = plural(self.plans, "plan", "plans"), plural(self.counted, "row changes", "rows change")
            if self.keepers:
                rows += f", and {plural(self.keepers, 'keeper takes', 'keepers take')} values in"
            self.out.heading(f"{self.rule.name}: {plans}, {self.records:,} surplus, {rows}{at_risk}")
            for sentence in (*self._limits(), *self.planning.told):
                self.out.say(sentence)
            if self.planning.hidden(self.rule):
                self.out.note(HIDDEN)
        elif not self.not_planned:
            self.out.note(f"{self.rule.name}: no finding waits, so there is nothing to plan.")
        for sentence, many in self.not_planned.most_common(_REASONS):
            findings = "1 finding" if many == 1 else f"{many:,} findings"
            self.out.say(f"not planned, {findings}: {sentence}")
        if len(self.not_planned) > _REASONS:
            self.out.say(f"… and {len(self.not_planned) - _REASONS} other reasons; --json has them all.")

    def _limits(self) -> Iterator[str]:
        from reconcile.cleaning.shown import limits_said

        caps = self.planning.caps(self.rule)
        _, over = limits_said(caps, rows=self.counted, group=self.largest, money=self.limited)
        amounts = self.planning.veil(self.rule).risk(self.limited, self.plans)
        said, _ = limits_said(caps, rows=self.counted, group=self.largest, money=amounts)
        beside = " (the keeper's own row is not counted)" if self.keepers else ""
        yield f"limits{beside}: {said}"
        if over:
            yield f"over the limit in {over}: nothing of it is done by itself; beyond it, approving takes --over-limit."
        if self.uncounted:
            yield "Money is limited, and some of it cannot be counted: approving such a plan takes --over-limit."


def _rows(line: Line, whose: Callable[[Sequence[str]], str]) -> Iterator[tuple[str, ...]]:
    """A row of the plan as rows of a table: one for each field that changes, one for a row that comes or goes."""
    first = (_DOES.get((line.does, line.role), _DOES[line.does, ""]), line.table, line.row)
    if line.does in ("delete", "insert"):
        gone = line.does == "delete"
        whole = ", ".join(f"{name} = {_said(before if gone else after)}" for name, before, after, _ in line.fields)
        yield (*first, "all", whole if gone else "", "" if gone else whole)
        return
    for column, before, after, origins in line.fields:
        yield (*first, column, _said(before), _said(after) + (f"  (from {whose(origins)})" if origins else ""))
        first = ("", "", "")
    if not line.fields:
        yield (*first, "", "", "")


_DOES: Mapping[tuple[str, str], str] = {
    ("stay", "keeper"): "stays",
    ("stay", ""): "must stay",
    ("update", "keeper"): "stays, takes in",
    ("update", "reference"): "is re-pointed",
    ("update", ""): "changes",
    ("delete", "captured"): "goes with it",
    ("delete", ""): "goes",
    ("insert", ""): "is put there",
}


def _said(text: str | None) -> str:
    return "null" if text is None else text or "''"


def _beside(one: Planned, bundle: Bundle) -> Iterator[str]:
    match bundle.reversible:
        case "no":
            yield "undo: none"
        case "yes":
            yield "undo: yes"
        case _:
            yield "undo: as long as nothing stands in its way"
    yield from (f"  {sentence}" for sentence in bundle.why)
    if bundle.triggers:
        yield f"triggers that fire: {', '.join(bundle.triggers)}"
    yield f"plan: {bundle.plan_hash}"
    yield _next_step(one, bundle)


def _next_step(one: Planned, bundle: Bundle) -> str:
    approve = f"reconcile approve {bundle.finding} --plan {bundle.plan_hash[:_BEGINNING]}"
    match one.stands:
        case "awaiting_approval":
            people = "two people" if one.asks == "two_person" else "somebody"
            return f"it waits until {people} approved it: {approve}"
        case None if one.finding.state.value == "failed":
            return f"its cleaning failed, and no run tries it again: reconcile retry {bundle.finding}"
        case None | "another":
            waits = "a plan made earlier waits and is replaced; " if one.stands else ""
            asks = {"none": "does it without asking", "two_person": "asks two people"}.get(
                one.asks or "", "asks for approval"
            )
            how = "" if one.asks == "none" else f": {approve}"
            return f"{waits}the next run {asks}{how}"
        case state:
            return f"it is {state.replace('_', ' ')}"


__all__ = ["NothingToPlan", "plan", "register"]
