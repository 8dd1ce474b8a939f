"""`rules`: what each rule found, and how often people agreed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from reconcile.cli.columns import Cell, severity_cell
from reconcile.cli.output import FILE, Config, Output

if TYPE_CHECKING:
    from reconcile.views.rules import RuleView


def register(app: typer.Typer) -> None:
    app.command(help="List the rules with their findings, precision and money.")(rules)


def rules(out: Output, config: Config = FILE) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.views import rules as views

    with load_for_state(config) as application:
        listed = views.listed(application)
    if out.json:
        out.emit([view.to_json() for view in listed])
        return
    headings = (
        "rule",
        "severity",
        "waiting",
        "at risk",
        "findings",
        "precision",
        "decided in",
        "recovered, 30 days",
        "handled",
    )
    out.table(headings, list(map(_cells, listed)), right=(2, 3, 4, 5, 6, 7, 8))
    for view in listed:
        if view.advice:
            out.say(f"{view.rule.name}: {view.advice}")


def _cells(view: RuleView) -> tuple[Cell, ...]:
    from notifications.wording.words import span

    precision, median = view.feedback.precision, view.feedback.time_to_decision
    return (
        view.rule.name,
        severity_cell(view.rule.severity.name),
        f"{view.waiting:,}",
        view.at_risk,
        f"{view.every:,}",
        "" if precision is None else f"{precision:.0%} of {view.feedback.decided:,}",
        "" if median is None else span(median.total_seconds()),
        view.recovered,
        view.handled,
    )
