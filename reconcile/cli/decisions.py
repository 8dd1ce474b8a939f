"""`findings`, `show`, `dismiss`, `snooze`, `reopen`, `assign`: findings, and people's decisions about them.

The audit events of a finding, in words for people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reconcile.cli import people
from reconcile.cli.output import FILE, HIDDEN, AsJson, Config, NoColor, Note, Output, Quiet, Show

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.findings.shown import Finding, FindingMember
    from reconcile.messages.personal import Hidden
    from reconcile.store.audit_log import LogEntry
    from reconcile.store.bundles import Stored
    from reconcile.tracking.decide import Decision


Finding_ = Annotated[str, typer.Argument(help="The id of a finding, or its first characters.", metavar="ID")]
_NEXT = {
    "awaiting_approval": "reconcile plan --finding {0}, then reconcile approve {0}{1} or reconcile reject {0}{1}",
    "quarantined": "check the records, then reconcile quarantine {0} with --done, --not-done or --abandon",
    "failed": "reconcile plan --finding {0}, then reconcile retry {0}",
}
"""The next command for a finding whose cleaning waits for a person."""
_BEGINNING = 12
"""Characters of a plan's hash that identify it."""
_USUAL = 50
"""The default number of listed findings."""
_NEXT_OF_UNDO = {
    "approved": "reconcile retry {0} tries it now, reconcile reject {0} withdraws it",
    "retry_wait": "reconcile retry {0} tries it now, reconcile reject {0} withdraws it",
    "quarantined": "check the records, then reconcile quarantine {1} with --done, --not-done or --abandon",
}
"""The next command for an undo that waits or has an unknown outcome."""


def register(app: typer.Typer) -> None:
    app.command(help="List unresolved findings, the most severe and oldest first.")(findings)
    app.command(help="Show one finding with its records and its history.")(show)
    app.command(help="Mark a finding as not a duplicate.")(dismiss)
    app.command(help="Mute a finding until a time, or until it grows.")(snooze)
    app.command(help="Reopen a dismissed, snoozed or undone finding.")(reopen)
    app.command(help="Assign a finding to a person.")(assign)


def findings(
    config: Config = FILE,
    rule: Annotated[list[str] | None, typer.Option("--rule", help="Only this rule; may be repeated.")] = None,
    state: Annotated[
        list[str] | None,
        typer.Option("--state", help="open, awaiting_approval, cleaned, quarantined … or all; may be repeated."),
    ] = None,
    severity: Annotated[str | None, typer.Option("--severity", help="Only this severity or higher.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", help="At most this many; 50 by default.", min=1)] = None,
    every: Annotated[bool, typer.Option("--all", help="List all of them.")] = False,
    show: Show = False,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.store.findings import Filter, count, foremost
    from rules.models import parse_severity

    out = Output(json, quiet, no_color)
    if every and limit is not None:
        raise typer.BadParameter("cannot be combined with --all", param_hint="--limit")
    maximum = None if every else limit or _USUAL
    try:
        minimum = None if severity is None else parse_severity(severity)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--severity") from error
    with load_for_state(config) as application:
        for name in rule or ():
            application.require("rule", name, tuple(application.project.rules))
        wanted = Filter(rules=tuple(rule or ()), states=_states(state), severity=minimum, limit=maximum)
        with application.memory.read() as tx:
            in_all = count(tx, wanted)
            listed = foremost(tx, wanted, members=json)
            pairs = [(finding, hidden(application, finding, show=show)) for finding in listed]
    if in_all > len(pairs):
        out.note(f"{len(pairs):,} of {in_all:,} findings; use --all to list all, or --limit N")
    if json:
        out.emit([veil.finding(finding) for finding, veil in pairs])
        return
    if not pairs:
        out.note("No findings.")
        return
    rows = [_row(finding, veil) for finding, veil in pairs]
    headings = ("id", "severity", "rule", "state", "key", "records", "at risk", "since")
    out.table(headings, rows, right=(5, 6))
    if any(veil.hides(column) for finding, veil in pairs for column in (*finding.key, *_of_amount(finding, veil))):
        out.note(HIDDEN)


def _row(finding: Finding, veil: Hidden) -> tuple[str, ...]:
    about = (finding.id, finding.severity.name, finding.rule, finding.state.value, _key(finding, veil))
    return (*about, str(finding.records), veil.at_risk(finding.money), finding.first_seen.strftime("%Y-%m-%d"))


def hidden(application: Application, finding: Finding, *, show: bool) -> Hidden:
    """Return the hidden columns of a finding."""
    from reconcile.messages.personal import Hidden

    return Hidden() if show else Hidden.of(application.project, finding.dataset, finding.rule)


def _states(names: list[str] | None) -> tuple[Any, ...]:
    from reconcile.findings.states import IN_HAND, LIVE, State

    if not names:
        return (*LIVE, *IN_HAND)
    if "all" in names:
        return ()
    allowed = [state.value for state in State]
    for name in names:
        if name not in allowed:
            raise typer.BadParameter(f"{name!r} is not a state; use {', '.join(allowed)} or all", param_hint="--state")
    return tuple(State(name) for name in names)


def _key(finding: Finding, veil: Hidden) -> str:
    from reconcile.findings.identity import public

    return " · ".join("" if v is None else str(veil.value(name, public(v))) for name, v in finding.key.items())


def _of_amount(finding: Finding, veil: Hidden) -> tuple[str | None, ...]:
    return (veil.amount,) if finding.money else ()


def show(
    finding: Finding_,
    config: Config = FILE,
    show: Show = False,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from notifications.wording import words
    from reconcile.audit import log
    from reconcile.cli.opening import load_for_state
    from reconcile.store.bundles import undo_of, waiting_plans
    from reconcile.store.findings import get

    out = Output(json, quiet, no_color)
    with load_for_state(config) as application, application.memory.read() as tx:
        match = get(tx, finding)
        history = list(log.entries(tx, finding=match.id))
        undo = undo_of(tx, match.id)
        plan = waiting_plans(tx, [match.id]).get(match.id)
    veil = hidden(application, match, show=show)
    shown = veil.finding(match)
    if json:
        events = [
            {"seq": e.seq, "at": e.at.isoformat(), "actor": e.actor, "event": e.event}
            | ({"note": note} if (note := _note_of(e)) else {})
            | ({"system": system} if (system := (e.body or {}).get("system")) else {})
            for e in history
        ]
        undo_part = {} if undo is None else {"undo": {"bundle": undo.id, "state": undo.state.value, "why": undo.reason}}
        out.emit(shown | {"history": events} | undo_part)
        return
    risk = f", {veil.at_risk(match.money)} at risk" if match.money else ""
    state = words.state(match.state.value)
    out.say(f"{match.id}  {match.severity.name}  {match.rule}  {state}  {match.records} records{risk}")
    out.say(f"key  {', '.join(f'{name} = {value}' for name, value in shown['key'].items())}")
    columns = list(dict.fromkeys(name for member in match.members for name in member.values))
    roles = ("keeper" if place == 0 else "surplus" for place in range(len(match.members)))
    each = zip(roles, veil.names(match.members), match.members, strict=True)
    rows = [(role, name, *_cells(member, columns, veil)) for role, name, member in each]
    out.table(("", "record", *columns), rows)
    of = (match.reason, match.note and f"note: {match.note}", match.merged_into and f"part of {match.merged_into}")
    for text in filter(None, (_near(match, veil), *of)):
        out.say(text)
    for event in history:
        note = _note_of(event)
        out.say(f"{event.at:%Y-%m-%d %H:%M}  {event.actor}  {in_words(event.event)}{f': {note}' if note else ''}")
        if system := (event.body or {}).get("system"):
            out.say(f"                  from {system}")
    if match.not_undone:
        out.say(f"Undo failed: {match.not_undone}")
    if undo is not None:
        out.say(f"Undo is {words.state(undo.state.value)}{f': {undo.reason}' if undo.reason else ''}")
    if any(map(veil.hides, (*match.key, *columns, *veil.id, *_of_amount(match, veil)))):
        out.note(HIDDEN)
    if then := _next(match, undo, plan):
        out.note(f"Next: {then}")


def _note_of(entry: LogEntry) -> str | None:
    """Return a person's note on a decision, unless it was erased."""
    return (entry.body or {}).get("note")


def _next(finding: Finding, undo: Stored | None, plan: str | None) -> str | None:
    """Return the next command for a finding, its undo first; `plan` is the hash of the waiting plan."""
    if undo is not None:
        action = _NEXT_OF_UNDO.get(undo.state.value)
        return action and action.format(finding.id, undo.id)
    if finding.not_undone and finding.state.value == "cleaned":
        return f"reconcile undo {finding.id}"
    action = _NEXT.get(finding.state.value)
    return action and action.format(finding.id, f" --plan {plan[:_BEGINNING]}" if plan else "")


def _near(finding: Finding, veil: Hidden) -> str | None:
    """Return the records that a window left out, as one line; None without any."""
    from reconcile.findings.identity import public

    if not finding.nearby:
        return None
    times = (veil.value(veil.span, public(record.at)) for record in finding.nearby)
    near = [f"{name} ({at})" for name, at in zip(veil.names(finding.nearby), times, strict=True)]
    rest = finding.nearby_records - len(near)
    return f"nearby, not in the group  {', '.join([*near, *([f'{rest:,} more'] if rest else [])])}"


def _cells(member: FindingMember, columns: list[str], veil: Hidden) -> Iterator[str]:
    from reconcile.findings.identity import public

    cells = (veil.value(name, public(member.values.get(name))) for name in columns)
    return ("" if cell is None else str(cell) for cell in cells)


def dismiss(
    finding: Finding_,
    config: Config = FILE,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.tracking import decide

    _decide(
        config,
        Output(json, quiet, no_color),
        lambda application, actor: decide.dismiss(application.memory, finding, actor=actor, note=note),
    )


def snooze(
    finding: Finding_,
    config: Config = FILE,
    until: Annotated[
        str | None, typer.Option("--until", help="A duration like 3d, or a time; by default until the finding grows.")
    ] = None,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.tracking import decide

    def decision(application: Application, actor: str) -> Decision:
        end = None if until is None else people.moment(until, application.project.timezone, "--until")
        return decide.snooze(application.memory, finding, actor=actor, until=end, note=note)

    _decide(config, Output(json, quiet, no_color), decision)


def reopen(
    finding: Finding_,
    config: Config = FILE,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.tracking import decide

    _decide(
        config,
        Output(json, quiet, no_color),
        lambda application, actor: decide.reopen(application.memory, finding, actor=actor, note=note),
    )


def assign(
    finding: Finding_,
    to: Annotated[str, typer.Argument(help="The person's name; empty to unassign.", metavar="NAME")],
    config: Config = FILE,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.tracking import decide

    _decide(
        config,
        Output(json, quiet, no_color),
        lambda application, actor: decide.assign(application.memory, finding, actor=actor, to=to or None, note=note),
    )


def _decide(config: str, out: Output, decision: Callable[[Application, str], Decision]) -> None:
    from reconcile.cli.opening import load_for_state

    with load_for_state(config) as application:
        result = decision(application, people.person())
        shown = hidden(application, result.finding, show=False).finding(result.finding)
    if out.json:
        out.emit({"changed": result.changed, "sentence": result.sentence, "finding": shown})
    else:
        out.say(result.sentence)


IN_WORDS: Mapping[str, str] = {
    "finding.opened": "found",
    "finding.grown": "grew",
    "finding.shrunk": "shrank",
    "finding.reopened": "reopened",
    "finding.woken": "snooze ended",
    "finding.resolved": "resolved",
    "finding.merged": "became part of another finding",
    "finding.dismissed": "dismissed",
    "finding.snoozed": "snoozed",
    "finding.decision_undone": "decision undone",
    "finding.assigned": "assigned",
    "finding.noted": "note",
    "finding.proposed": "awaiting approval",
    "finding.approved": "approved for cleaning",
    "finding.rejected": "plan rejected",
    "finding.plan_void": "plan no longer valid",
    "finding.cleaning": "cleaning started",
    "finding.cleaned": "cleaned",
    "finding.partly_cleaned": "partly cleaned",
    "finding.stale": "records changed",
    "finding.failed": "cleaning failed",
    "finding.quarantined": "quarantined",
    "finding.not_done": "not done, will be retried",
    "finding.undone": "undone",
    "finding.not_undone": "undo failed",
    "approval.approved": "approved",
    "approval.rejected": "rejected",
    "rejection.overruled": "approved despite a rejection",
    "limits.exceeded": "approved beyond a limit",
    "bundle.proposed": "proposed",
    "bundle.approved": "plan approved",
    "bundle.skipped": "plan dropped",
    "bundle.to_people": "left to a person",
    "operation.claimed": "taken by a worker",
    "operation.sent": "sent",
    "operation.retry_wait": "waiting to retry",
    "operation.ambiguous": "outcome unknown",
    "operation.quarantined": "put in quarantine",
    "operation.succeeded": "executed",
    "operation.failed": "failed",
    "operation.skipped": "skipped",
    "operation.compensating": "undo started",
    "operation.compensated": "undo finished",
    "operation.judged": "decided by a person",
    "operation.due_now": "retried at once",
    "operation.id_reused": "id reused by another record",
    "operation.released": "released by its worker",
    "operation.taken_over": "taken over from a dead worker",
}


def in_words(event: str) -> str:
    """Return the event in words; an event of a later version by its name."""
    return IN_WORDS.get(event) or event.rpartition(".")[2].replace("_", " ")
