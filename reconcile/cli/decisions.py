"""`show`, `dismiss`, `handle`, `snooze`, `reopen`, `assign`: findings, and decisions about them."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli import people
from reconcile.cli.drawing import draw_plan, draw_records
from reconcile.cli.output import FILE, HIDDEN, AsJson, Config, NoColor, Note, Output, Quiet, Show
from reconcile.cli.selecting import (
    Confirm,
    Finding_,
    Ids,
    Rules,
    Severity,
    Where,
    decide,
    person,
    selection,
)

if TYPE_CHECKING:
    from reconcile.deciding.decisions import Answer
    from reconcile.deciding.selection import Selection
    from reconcile.views.findings import FindingDetail


_FINDING = re.compile(r"F-[0-9A-Z]{6}", re.IGNORECASE)
_LINKS = 10
"""The most links between records that are shown; those that hold the group together come first."""
_EVENTS = 5
"""The events of a finding's history that are shown: the last ones."""


def register(app: typer.Typer) -> None:
    app.command(help="Show one finding with its records and its history.")(show)
    app.command(help="Dismiss a finding: not a duplicate, or accepted as it is.")(dismiss)
    app.command(help="Mark a finding as handled: it is real, and you dealt with it yourself.")(handle)
    app.command(help="Mute a finding until a time, or until it grows.")(snooze)
    app.command(help="Reopen a dismissed, handled, snoozed or undone finding.")(reopen)
    app.command(help="Assign a finding to a person.")(assign)


def show(
    finding: Finding_,
    config: Config = FILE,
    history: Annotated[bool, typer.Option("--history", help="Show the whole history.")] = False,
    show: Show = False,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.views.findings import detail, detail_to_json

    out = Output(json, quiet, no_color)
    with load_for_state(config) as application:
        view = detail(application, finding, show=show)
    if json:
        out.emit(detail_to_json(view))
        return
    _tell_finding(view, out)
    if view.plan is not None:
        draw_plan(out, view.plan)
    if view.prospect is not None:
        out.wrapped(view.prospect)
    _tell_executed(view, out)
    _tell_history(view, out, None if history else _EVENTS)
    if view.is_masked:
        out.note(HIDDEN)
    if view.next_step:
        out.note(f"Next: {view.next_step}")


def _tell_finding(view: FindingDetail, out: Output) -> None:
    """Print what the finding is, why its records belong together, and the records."""
    from notifications.wording import words

    risk = f", {view.at_risk} {view.risk}" if view.at_risk else ""
    records = words.plural(view.records, "record", "records")
    out.wrapped(f"{view.id}  {view.severity}  {view.rule}  {words.state(view.state)}  {records}{risk}")
    if not view.is_duplicate:
        out.wrapped(f"{view.form}: {view.reason}" if view.reason else view.form)
    if view.why is not None:
        out.wrapped(view.why)
    key = (f"{name} = {'(empty)' if value is None else value}" for name, value in view.key.items())
    out.wrapped(f"key  {', '.join(key)}")
    if view.comparison is not None and not view.comparison.is_of_two:
        out.table(("differs", view.comparison.left, view.comparison.right), view.comparison.fields, fit=True)
    draw_records(out, view.side_by_side)
    for text in (*itertools.islice(view.links, _LINKS), *view.remarks, *view.after_undo):
        out.wrapped(text)


def _tell_executed(view: FindingDetail, out: Output) -> None:
    """Print the last cleaning that was done, with each changed value."""
    executed = view.executed
    if executed is None:
        return
    out.wrapped(f"{executed.sentence(view.timezone)}:")
    if executed.plan is not None:
        draw_plan(out, executed.plan)
    elif executed.gone is not None:
        out.wrapped(executed.gone)


def _tell_history(view: FindingDetail, out: Output, most: int | None) -> None:
    """Print the last events, and the undo."""
    from notifications.wording import words

    left_out = 0 if most is None else max(0, len(view.history) - most)
    if left_out:
        out.say(f"… {words.plural(left_out, 'earlier event', 'earlier events')}; --history shows all")
    for event in view.history[left_out:]:
        note = f": {event.note}" if event.note else ""
        at = words.to_the_minute(event.at, view.timezone)
        out.wrapped(f"{at}  {event.actor}  {event.words}{note}")
        if event.system:
            out.say(f"{'':{len(at)}}  from {event.system}")
    if view.not_undone:
        out.wrapped(f"Undo failed: {view.not_undone}")
    if view.undo is not None:
        out.wrapped(f"Undo is {words.state(view.undo.state)}{f': {view.undo.why}' if view.undo.why else ''}")


def dismiss(
    ids: Ids = None,
    config: Config = FILE,
    rule: Rules = None,
    severity: Severity = None,
    where: Where = None,
    confirm: Confirm = None,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    _decide(config, Output(json, quiet, no_color), "dismiss", selection(ids, rule, severity, where), confirm, note=note)


def handle(
    ids: Ids = None,
    config: Config = FILE,
    rule: Rules = None,
    severity: Severity = None,
    where: Where = None,
    confirm: Confirm = None,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    _decide(config, Output(json, quiet, no_color), "handle", selection(ids, rule, severity, where), confirm, note=note)


def snooze(
    ids: Ids = None,
    config: Config = FILE,
    rule: Rules = None,
    severity: Severity = None,
    where: Where = None,
    confirm: Confirm = None,
    until: Annotated[
        str | None, typer.Option("--until", help="A duration like 3d, or a time; by default until the finding grows.")
    ] = None,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    out = Output(json, quiet, no_color)
    _decide(config, out, "snooze", selection(ids, rule, severity, where), confirm, note=note, until=until)


def reopen(
    ids: Ids = None,
    config: Config = FILE,
    rule: Rules = None,
    severity: Severity = None,
    where: Where = None,
    confirm: Confirm = None,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    _decide(config, Output(json, quiet, no_color), "reopen", selection(ids, rule, severity, where), confirm, note=note)


def assign(
    ids: Ids = None,
    *,
    to: Annotated[str, typer.Argument(help="The person's name; empty to unassign.", metavar="NAME")],
    config: Config = FILE,
    rule: Rules = None,
    severity: Severity = None,
    where: Where = None,
    confirm: Confirm = None,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    if _FINDING.fullmatch(to):
        raise typer.BadParameter(f"{to} is a finding; give the person's name last", param_hint="NAME")
    out = Output(json, quiet, no_color)
    _decide(config, out, "assign", selection(ids, rule, severity, where), confirm, note=note, to=to or None)


def _decide(
    config: str,
    out: Output,
    decision: str,
    chosen: Selection,
    confirm: int | None,
    *,
    note: str | None,
    until: str | None = None,
    to: str | None = None,
) -> None:
    """Decide about one finding, or about several with a summary."""
    from reconcile.cli.opening import load_for_state
    from reconcile.deciding.decisions import Wish, decided
    from reconcile.views.findings import named, to_json

    with load_for_state(config) as application:
        end = None if until is None else people.moment(until, application.project.timezone, "--until")

        def act(wish: Wish) -> Answer:
            return decided(application, person(), decision, replace(wish, note=note, until=end, to=to))

        if not chosen.is_single:
            raise typer.Exit(decide(application, out, decision, chosen, confirm, act))
        answer = act(Wish(chosen.ids[0]))
        finding = to_json(named(application, chosen.ids[0])) if out.json else None
    if finding is not None:
        out.emit({"changed": answer.changed, "sentence": answer.sentence, "finding": finding})
    else:
        out.say(answer.sentence)
