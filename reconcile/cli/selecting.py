"""Decisions about several findings: how a command chooses them, confirms their number, and reports each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli import exits, people, signals
from reconcile.cli.output import Output

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.deciding.decisions import Answer, Wish
    from reconcile.deciding.selection import Selection
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
PlanFile = Annotated[
    Path | None, typer.Option("--plan-file", help="The plans that `plan --json` wrote.", metavar="FILE")
]


def selection(
    ids: list[str] | None,
    rules: list[str] | None,
    severity: str | None,
    where: str | None,
    plan_file: Path | None = None,
    *,
    of_plans: bool = False,
) -> Selection:
    """Return the selection of a command; raises BadParameter unless findings are chosen in exactly one way.

    `of_plans`: the command takes a file of plans, too.
    """
    from reconcile.deciding.selection import Selection

    chosen = Selection(tuple(ids or ()), tuple(rules or ()), at_least(severity), where, plan_file)
    if chosen.ways != 1:
        file = ", or --plan-file" if of_plans else ""
        raise typer.BadParameter(f"give either IDs, or --rule, --severity or --where{file}", param_hint="ID")
    return chosen


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


def decide(
    application: Application,
    out: Output,
    decision: str,
    chosen: Selection,
    confirmed: int | None,
    act: Callable[[Wish], Answer],
) -> int:
    """Decide about the chosen findings; return the exit code."""
    from reconcile.deciding.selection import selected

    wishes = confirmed_by(out, confirmed, lambda number: selected(application, decision, chosen, number))
    return carry_out(out, wishes, act)


def carry_out(out: Output, wishes: list[Wish], act: Callable[[Wish], Answer]) -> int:
    """Decide about each finding and print what became of it; return the exit code."""
    from reconcile.deciding.many import Outcomes, decide_each

    def act_unless_interrupted(wish: Wish) -> Answer:
        signals.leave()
        return act(wish)

    done = []
    for outcome in decide_each(wishes, act_unless_interrupted):
        done.append(outcome)
        if not out.json:  # at once, so that an interrupted command has printed what it did
            out.say(outcome.sentence)
    outcomes = Outcomes(tuple(done))
    if out.json:
        out.emit(outcomes.to_json())
    else:
        out.say(outcomes.summary)
    return exits.REFUSED if outcomes.not_done else exits.DONE


def confirmed_by(out: Output, confirmed: int | None, choose: Callable[[int | None], list[Wish]]) -> list[Wish]:
    """Return the wishes; a person at a terminal types their number where it is needed."""
    from reconcile.deciding.selection import NumberNotConfirmed

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
