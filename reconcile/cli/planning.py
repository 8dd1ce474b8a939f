"""`plan`: show the changes of a cleaning row by row before its approval. It writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli import exits
from reconcile.cli.drawing import draw_plan, draw_records
from reconcile.cli.output import FILE, HIDDEN, Config, Output, Show

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.views.plans import PlanView, RulePlans

_REASONS = 20
"""The most different reasons that are shown; findings with the same reason are counted."""


def register(app: typer.Typer) -> None:
    app.command(help="Show the rows and fields that cleaning would change. Change nothing.")(plan)


def plan(
    out: Output,
    rules: Annotated[
        list[str] | None, typer.Argument(help="The rules; by default all that clean.", metavar="RULE")
    ] = None,
    config: Config = FILE,
    rule: Annotated[
        list[str] | None, typer.Option("--rule", help="Only this rule; may be repeated.", metavar="NAME")
    ] = None,
    finding: Annotated[
        list[str] | None, typer.Option("--finding", help="Only this finding; repeatable.", metavar="ID")
    ] = None,
    show: Show = False,
    limit: Annotated[
        int | None, typer.Option("--limit", help="At most this many findings per rule.", min=1, metavar="N")
    ] = None,
) -> None:
    from reconcile.cli.opening import load
    from reconcile.views import plans

    with load(config) as application:
        selected = plans.chosen(application, [*(rules or ()), *(rule or ())], finding or (), show=show, limit=limit)
        if out.json:
            out.stream(plans.to_json(view) for rule_plans in selected for view in rule_plans)
        elif not selected:
            out.note("No rule has `clean:`, so nothing would change.")
        else:
            for rule_plans in selected:
                _draw(out, rule_plans)
        codes = [rule_plans.failure.exit_code for rule_plans in selected if rule_plans.failure is not None]
    if codes:
        raise typer.Exit(exits.first_that_applies(*codes))


def tell(application: Application, out: Output, rule: str, findings: Sequence[str]) -> None:
    """Print the plans for these findings of a rule."""
    from reconcile.views import plans

    for rule_plans in plans.chosen(application, [rule], findings, show=True, limit=None):
        _draw(out, rule_plans)
        if rule_plans.failure is not None:
            raise rule_plans.failure


def _draw(out: Output, rule_plans: RulePlans) -> None:
    from notifications.wording.words import plural
    from reconcile.views.plans import PlanView

    for view in rule_plans:
        if isinstance(view, PlanView):
            _draw_plan(out, view)
    summary = rule_plans.summary()
    if summary.plans:
        out.heading(summary.title)
        for sentence in summary.remarks:
            out.say(sentence)
        if summary.is_masked:
            out.note(HIDDEN)
    elif not summary.not_planned:
        out.note(f"{rule_plans.rule.name}: no open findings, so there is nothing to plan.")
    for sentence, number in summary.not_planned.most_common(_REASONS):
        out.say(f"not planned, {plural(number, 'finding', 'findings')}: {sentence}")
    if len(summary.not_planned) > _REASONS:
        out.say(f"… and {len(summary.not_planned) - _REASONS} more reasons; --json shows all.")


def _draw_plan(out: Output, view: PlanView) -> None:
    at_risk = f"  {view.at_risk} at risk" if view.at_risk is not None else ""
    out.heading(f"{view.finding}  {view.rule}  {view.title}{at_risk}")
    if view.why is not None:
        out.wrapped(view.why)
    draw_records(out, view.side_by_side)
    draw_plan(out, view)
    out.wrapped(view.next_step)
    out.say("")
