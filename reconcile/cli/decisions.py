"""`findings`, `show`, `dismiss`, `handle`, `snooze`, `reopen`, `assign`: findings, and decisions about them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli import people
from reconcile.cli.columns import Cell, severity_cell
from reconcile.cli.drawing import draw_plan, draw_records
from reconcile.cli.output import FILE, HIDDEN, Config, Note, Output, Show
from reconcile.cli.pairs import list_uncertain
from reconcile.cli.selecting import (
    Confirm,
    Finding_,
    FindingOptions,
    Severity,
    States,
    Where,
    decide_about,
    person,
    states,
)
from reconcile.cli.selecting import at_least as severity_at_least

if TYPE_CHECKING:
    from decimal import Decimal

    from reconcile.app import Application
    from reconcile.store.findings import FindingFilter
    from reconcile.views.findings import FindingDetail, FindingView


_FINDING = re.compile(r"F-[0-9A-Z]{6}", re.IGNORECASE)
_LINKS = 10
"""The most links between records that are shown; those that hold the group together come first."""
_EVENTS = 5
"""The events of a finding's history that are shown: the last ones."""
_NOTHING_FITS = "No finding matches. Type a whole record id as it is shown, or part of a key value."
_HIDDEN_AMOUNT = "finding whose amount is hidden is"
_HIDDEN_AMOUNTS = "findings whose amounts are hidden are"
_USUAL = 50
"""The default number of listed findings."""


def register(app: typer.Typer) -> None:
    app.command(help="List unresolved findings. Most severe first, then largest amount, then oldest.")(findings)
    app.command(help="Show one finding with its records and its history.")(show)
    app.command(help="Dismiss a finding: not a duplicate, or accepted as it is.")(dismiss)
    app.command(help="Mark a finding as handled. It is real, and you dealt with it yourself.")(handle)
    app.command(help="Mute a finding until a time, or until it grows.")(snooze)
    app.command(help="Reopen a dismissed, handled, snoozed or undone finding.")(reopen)
    app.command(help="Assign a finding to a person.")(assign)


def findings(
    out: Output,
    config: Config = FILE,
    rule: Annotated[
        list[str] | None, typer.Option("--rule", help="Only this rule; may be repeated.", metavar="NAME")
    ] = None,
    state: States = None,
    severity: Severity = None,
    search: Annotated[
        str | None,
        typer.Option(
            "--search",
            help="Find findings in any state by their id, a record's id, or part of a key value.",
            metavar="TEXT",
        ),
    ] = None,
    where: Where = None,
    form: Annotated[
        list[str] | None,
        typer.Option("--form", help="Only this form, like left_only or mismatch; may be repeated.", metavar="FORM"),
    ] = None,
    owner: Annotated[str | None, typer.Option("--owner", help="Only rules of this owner.", metavar="OWNER")] = None,
    assigned_to: Annotated[
        str | None,
        typer.Option("--assigned-to", help='Only findings assigned to NAME, or with "" to nobody.', metavar="NAME"),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", help="First seen at least this long ago, such as 7d.", metavar="DURATION"),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="First seen on this day or time, or later.", metavar="TIME")
    ] = None,
    at_least: Annotated[
        str | None, typer.Option("--at-least", help="At least this amount at risk, like 1500.", metavar="AMOUNT")
    ] = None,
    at_most: Annotated[
        str | None, typer.Option("--at-most", help="At most this amount at risk.", metavar="AMOUNT")
    ] = None,
    probable_at_least: Annotated[
        str | None,
        typer.Option(
            "--probable-at-least",
            help="At least so probable that all records are the same, like 90%.",
            metavar="PERCENT",
        ),
    ] = None,
    probable_at_most: Annotated[
        str | None, typer.Option("--probable-at-most", help="At most so probable.", metavar="PERCENT")
    ] = None,
    by_probability: Annotated[
        bool, typer.Option("--by-probability", help="Only findings with a probability, the least probable first.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", help="At most this many; 50 by default.", min=1, metavar="N")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List all findings.")] = False,
    uncertain: Annotated[
        bool, typer.Option("--uncertain", help="List instead the pairs of records whose judgement would teach a rule.")
    ] = False,
    show: Show = False,
) -> None:
    if every and limit is not None:
        raise typer.BadParameter("cannot be combined with --all", param_hint="--limit")
    maximum = None if every else limit or _USUAL
    if uncertain:
        others = (state, severity, search, where, form, owner, assigned_to, older_than, since, at_least, at_most)
        probable = (probable_at_least, probable_at_most, by_probability or None)
        list_uncertain(out, config, rule or (), maximum, show=show, others=(*others, *probable))
        return
    from notifications.wording.words import plural
    from reconcile.cli.opening import load_for_state
    from reconcile.store.findings import with_hidden_amount
    from reconcile.views.filters import ListFilter
    from reconcile.views.findings import to_json

    if where is not None and search is not None:
        raise typer.BadParameter("cannot be combined with --search", param_hint="--where")
    chosen = () if search is not None and not state else states(state)
    wanted = ListFilter(
        chosen,
        tuple(rule or ()),
        owner,
        severity_at_least(severity),
        tuple(form or ()),
        assigned_to,
        older_than=people.length(older_than, "--older-than"),
        at_least=_amount(at_least, "--at-least"),
        at_most=_amount(at_most, "--at-most"),
        probable_at_least=_probability(probable_at_least, "--probable-at-least"),
        probable_at_most=_probability(probable_at_most, "--probable-at-most"),
        by_probability=by_probability,
    )
    with load_for_state(config) as application:
        for name in rule or ():
            application.require("rule", name, tuple(application.project.rules))
        if since is not None:
            wanted = replace(wanted, since=people.past(since, application.project.timezone, "--since"))
        with application.memory.read() as tx:
            criteria = wanted.criteria(application, tx, show=show)
            hidden = with_hidden_amount(tx, criteria)
        views, more = _Order(criteria, search, where, maximum).listed(application, show=show, members=out.json)
    if hidden:
        out.note(f"{plural(hidden, _HIDDEN_AMOUNT, _HIDDEN_AMOUNTS)} not listed; --show compares them too")
    if more is not None:
        out.note(f"{more}; use --all to list all, or --limit N")
    if out.json:
        out.emit(list(map(to_json, views)))
    elif not views:
        out.note("No findings." if search is None else _NOTHING_FITS)
    else:
        _list(out, views)


@dataclass(frozen=True)
class _Order:
    """Which findings to list: by a filter, and by a text that is searched for or a condition."""

    criteria: FindingFilter
    search: str | None
    where: str | None
    limit: int | None

    def listed(self, application: Application, *, show: bool, members: bool) -> tuple[list[FindingView], str | None]:
        """Return the findings, and what to say if there are more."""
        from reconcile.views.findings import listed

        criteria = self.criteria
        if self.search is not None:
            return self._searched(application, criteria, self.search, show=show)
        if self.where is not None:
            views, in_all = self._fitting(application, criteria, self.where, show=show, members=members)
        else:
            views, in_all = listed(application, replace(criteria, limit=self.limit), show=show, members=members)
        return views, f"{len(views):,} of {in_all:,} findings" if in_all > len(views) else None

    def _searched(
        self, application: Application, criteria: FindingFilter, text: str, *, show: bool
    ) -> tuple[list[FindingView], str | None]:
        from reconcile.views.search import search

        result = search(application, text, criteria, limit=self.limit, sees_personal=True, show=show)
        return list(result.findings), "there are more" if result.is_cut else None

    def _fitting(
        self, application: Application, criteria: FindingFilter, where: str, *, show: bool, members: bool
    ) -> tuple[list[FindingView], int]:
        """Return the findings that a decision with this condition would be about, and the number of all of them."""
        from reconcile.decisions.selection import fitting
        from reconcile.store.findings import some
        from reconcile.views.findings import of_all

        with application.memory.read() as tx:
            names = [finding.id for finding in fitting(tx, criteria, where, application.project.timezone)]
            shown = some(tx, names[: self.limit], members=members)
            return of_all(application, tx, shown, show=show), len(names)


def _amount(text: str | None, option: str) -> Decimal | None:
    """Return the amount of an option; raises BadParameter."""
    from reconcile.views.filters import amount_of

    try:
        return None if text is None else amount_of(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def _probability(text: str | None, option: str) -> Decimal | None:
    """Return the probability of an option; raises BadParameter."""
    from reconcile.views.filters import probability_of

    try:
        return None if text is None else probability_of(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def _list(out: Output, views: Sequence[FindingView]) -> None:
    """Print a line per finding; its form unless all are duplicates, probabilities and approvals if any has them."""
    headings, rows = ["id", "severity", "rule", "state", "key", "records", "at risk", "since"], list(map(_row, views))
    optional = {
        "form": [view.form for view in views] if not all(view.is_duplicate for view in views) else [],
        "probability": [view.probability for view in views],
        "approvals": [view.approvals.count if view.approvals and view.approvals.by else "" for view in views],
    }
    for heading, cells in optional.items():
        if any(cells):
            headings.append(heading)
            rows = [(*row, cell) for row, cell in zip(rows, cells, strict=True)]
    out.table(headings, rows, right=(5, 6), spare=("since", "records"))
    if any(view.is_masked for view in views):
        out.note(HIDDEN)


def _row(view: FindingView) -> tuple[Cell, ...]:
    from notifications.wording.words import local

    key = view.title
    about = (view.id, severity_cell(view.severity), view.rule, view.state, key)
    return (*about, str(view.records), view.at_risk, f"{local(view.first_seen, view.timezone):%Y-%m-%d}")


def show(
    out: Output,
    finding: Finding_,
    config: Config = FILE,
    history: Annotated[bool, typer.Option("--history", help="Show the whole history.")] = False,
    show: Show = False,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.views.findings import detail, detail_to_json

    with load_for_state(config) as application:
        view = detail(application, finding, show=show)
    if out.json:
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
    if view.doubt:
        out.note(view.doubt)
    if view.next_step:
        out.note(f"Next: {view.next_step}")


def _tell_finding(view: FindingDetail, out: Output) -> None:
    """Print what the finding is, why its records belong together, and the records."""
    from notifications.wording import words

    risk = f", {view.at_risk} {view.risk}" if view.at_risk else ""
    records = words.plural(view.records, "record", "records")
    probability = f", {view.probability} probable" if view.probability else ""
    out.wrapped(f"{view.id}  {view.severity}  {view.rule}  {words.state(view.state)}  {records}{probability}{risk}")
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


def dismiss(out: Output, chosen: FindingOptions, confirm: Confirm = None, note: Note = None) -> None:
    _decide(out, chosen, "dismiss", confirm, note)


def handle(out: Output, chosen: FindingOptions, confirm: Confirm = None, note: Note = None) -> None:
    _decide(out, chosen, "handle", confirm, note)


def snooze(
    out: Output,
    chosen: FindingOptions,
    confirm: Confirm = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until", help="A duration like 3d, or a time; by default until the finding grows.", metavar="WHEN"
        ),
    ] = None,
    note: Note = None,
) -> None:
    _decide(out, chosen, "snooze", confirm, note, until=until)


def reopen(out: Output, chosen: FindingOptions, confirm: Confirm = None, note: Note = None) -> None:
    _decide(out, chosen, "reopen", confirm, note)


def assign(
    out: Output,
    chosen: FindingOptions,
    to: Annotated[str, typer.Argument(help='The person\'s name, or "" to unassign.', metavar="NAME")],
    confirm: Confirm = None,
    note: Note = None,
) -> None:
    if _FINDING.fullmatch(to):
        raise typer.BadParameter(f"{to} is a finding; give the person's name last", param_hint="NAME")
    _decide(out, chosen, "assign", confirm, note, to=to or None)


def _decide(
    out: Output,
    chosen: FindingOptions,
    decision: str,
    confirm: int | None,
    note: str | None,
    *,
    until: str | None = None,
    to: str | None = None,
) -> None:
    """Decide about one finding, or about several with a summary."""
    from reconcile.cli.opening import load_for_state
    from reconcile.decisions.request import DecisionRequest
    from reconcile.views.findings import named, to_json

    selection = chosen.selection()
    with load_for_state(chosen.config) as application:
        end = None if until is None else people.moment(until, application.project.timezone, "--until")
        wanted = DecisionRequest(decision, None, note, until=end, to=to)
        if not selection.is_single:
            raise typer.Exit(decide_about(application, out, selection, confirm, wanted))
        [name] = selection.ids
        result = application.decisions_of(person()).decide(replace(wanted, finding=name))
        finding = to_json(named(application, name)) if out.json else None
    if finding is not None:
        out.emit({"changed": result.changed, "sentence": result.sentence, "finding": finding})
    else:
        out.say(result.sentence)
