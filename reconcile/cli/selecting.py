"""Decisions about several findings: how a command chooses them, confirms their number, and reports each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli import exits, people, signals
from reconcile.cli.output import FILE, Config, Output

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.decisions.request import DecisionRequest, DecisionResult
    from reconcile.decisions.selection import Selection
    from reconcile.findings.states import State
    from reconcile.people.roles import Person
    from rules.models import Severity as Level

Finding_ = Annotated[str, typer.Argument(help="The id of a finding, or its first characters.", metavar="ID")]
Ids = Annotated[list[str] | None, typer.Argument(help="Ids of findings, or their first characters.", metavar="ID")]
Rules = Annotated[
    list[str] | None, typer.Option("--rule", help="All findings of this rule; may be repeated.", metavar="NAME")
]
States = Annotated[
    list[str] | None,
    typer.Option("--state", help="A state like open or cleaned, or waiting, or all; may be repeated.", metavar="STATE"),
]
Severity = Annotated[str | None, typer.Option("--severity", help="Only this severity or higher.", metavar="SEVERITY")]
Where = Annotated[
    str | None,
    typer.Option(
        "--where", help="Only findings that meet a condition, like `records > 3 and EUR > 100`.", metavar="CONDITION"
    ),
]
Confirm = Annotated[
    int | None, typer.Option("--confirm", help="The number of findings; required for more than 20.", metavar="N")
]
PlanHash = Annotated[
    str | None,
    typer.Option("--plan-hash", help="Only the plan with this hash, or its first characters.", metavar="HASH"),
]
Later = Annotated[bool, typer.Option("--later", help="Leave execution to the next run or to serve.")]
PlanFile = Annotated[
    Path | None,
    typer.Option("--plan-file", help="Only the plans in this file, written by `plan --json`.", metavar="FILE"),
]


@dataclass(frozen=True)
class FindingOptions:
    """The options that choose the findings of a decision."""

    ids: Ids = None
    config: Config = FILE
    rule: Rules = None
    severity: Severity = None
    where: Where = None

    def selection(self) -> Selection:
        """Return the selection; raises BadParameter unless findings are chosen in exactly one way."""
        return _selection(self, None)


@dataclass(frozen=True)
class ChosenPlans:
    """The options that choose the findings of a decision about their plans."""

    ids: Ids = None
    config: Config = FILE
    plan_hash: PlanHash = None
    rule: Rules = None
    severity: Severity = None
    where: Where = None
    plan_file: PlanFile = None

    def selection(self) -> Selection:
        """Return the selection; raises BadParameter as `FindingOptions`, and for a plan of several findings."""
        chosen = _selection(self, self.plan_file, ", or --plan-file")
        if self.plan_hash is not None and not chosen.is_single:
            message = "needs exactly one ID; use --plan-file for several plans"
            raise typer.BadParameter(message, param_hint="--plan-hash")
        return chosen


def _selection(chosen: FindingOptions | ChosenPlans, plan_file: Path | None, or_file: str = "") -> Selection:
    from reconcile.decisions.selection import Selection

    severity, rules = at_least(chosen.severity), tuple(chosen.rule or ())
    selection = Selection(tuple(chosen.ids or ()), rules, severity, chosen.where, plan_file)
    if selection.ways != 1:
        raise typer.BadParameter(f"give either IDs, or --rule, --severity or --where{or_file}", param_hint="ID")
    return selection


def at_least(severity: str | None) -> Level | None:
    """Return the severity of an option; raises BadParameter."""
    from rules.models import parse_severity

    try:
        return None if severity is None else parse_severity(severity)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--severity") from error


def states(names: list[str] | None) -> tuple[State, ...]:
    """Return the states of an option, by default those that are not over; raises BadParameter."""
    from reconcile.findings.states import IN_HAND, LIVE, WAITING, State

    if not names:
        return (*LIVE, *IN_HAND)
    wanted = [name.strip().lower().replace(" ", "_").replace("-", "_") for name in names]  # as people see them, too
    if "all" in wanted:
        return ()
    meanings = {state.value: (state,) for state in State} | {"waiting": WAITING}
    for name, written in zip(wanted, names, strict=True):
        if name not in meanings:
            hint = f"use {', '.join(meanings)} or all"
            raise typer.BadParameter(f"{written!r} is not a state; {hint}", param_hint="--state")
    return tuple(dict.fromkeys(state for name in wanted for state in meanings[name]))


def decide_about(
    application: Application, out: Output, selection: Selection, confirmed: int | None, wanted: DecisionRequest
) -> int:
    """Decide as wanted about the chosen findings; return the exit code."""
    from reconcile.decisions.selection import selected

    for name in selection.rules:
        application.require("rule", name, tuple(application.project.rules))
    decisions = application.decisions_of(person())
    requests = confirmed_by(out, confirmed, lambda number: selected(decisions, wanted.decision, selection, number))
    is_executed = wanted.decision == "approve" and not wanted.later
    together = is_executed and decisions.executes_together([request.about for request in requests])

    def act(request: DecisionRequest) -> DecisionResult:
        shown = replace(wanted, finding=request.finding, version=request.version, plan=request.plan)
        return decisions.decide(replace(shown, later=shown.later or together))

    return carry_out(out, requests, act, decisions.execute if together else None)


def carry_out(
    out: Output,
    requests: list[DecisionRequest],
    act: Callable[[DecisionRequest], DecisionResult],
    execute: Callable[[Sequence[str]], Iterable[DecisionResult]] | None = None,
) -> int:
    """Decide about each finding and print what became of it; return the exit code. `execute` as in `decide_each`."""
    from reconcile.decisions.many import DecisionResults, decide_each, reason_of

    def act_unless_interrupted(request: DecisionRequest) -> DecisionResult:
        signals.leave()
        return act(request)

    done = []
    told = set[str]()
    for result in decide_each(requests, act_unless_interrupted, execute):
        done.append(result)
        reason = result.sentence if result.status != "not_done" else reason_of(result)
        if not out.json and reason not in told:  # at once, so that an interrupted command has told what it did
            told.add(reason)
            out.say(result.sentence)
    results = DecisionResults(tuple(done))
    if out.json:
        out.emit(results.to_json())
    else:
        for group in results.refusals:
            if group.others:
                out.say(group.more)
        out.say(results.summary)
    if results.not_done:
        return exits.REFUSED
    return exits.FAILED if any(result.held_up for result in done) else exits.DONE


def confirmed_by(
    out: Output, confirmed: int | None, choose: Callable[[int | None], list[DecisionRequest]]
) -> list[DecisionRequest]:
    """Return the decisions; a person at a terminal types their number where it is needed."""
    from reconcile.decisions.selection import NumberNotConfirmed

    try:
        return choose(confirmed)
    except NumberNotConfirmed as error:
        if confirmed is not None or not (out.is_interactive and sys.stdin.isatty()):
            raise
        try:
            typed = typer.prompt(f"{error.number:,} findings match. Type {error.number} to continue", err=True)
        except typer.Abort:
            raise error from None
        if not typed.strip().isdecimal():
            raise
        return choose(int(typed))


def person() -> Person:
    """Return the person at this terminal: whoever can open the state may decide everything."""
    from reconcile.people.roles import Person, Role

    return Person(people.person(), Role.ADMIN, sees_personal=True, origin=people.system_user())
