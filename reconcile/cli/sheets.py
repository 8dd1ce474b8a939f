"""`export`, `decide`: findings in a spreadsheet, and the decisions that come back in it."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli import exits
from reconcile.cli.output import FILE, HIDDEN, Config, Output, Show
from reconcile.cli.progress import progress
from reconcile.cli.selecting import (
    Confirm,
    Later,
    Rules,
    Severity,
    States,
    Where,
    at_least,
    carry_out,
    confirmed_by,
    person,
    states,
)
from reconcile.documents import JsonObject

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.decisions.request import DecisionRequest, DecisionResult
    from reconcile.sheets.returned import Returned, ReturnedSheet


def register(app: typer.Typer) -> None:
    app.command(help="Export findings to a new .csv, .xlsx or .parquet file.")(export)
    app.command(help="Apply the decisions in a filled-in export file.")(decide)


def export(
    out: Output,
    sheet: Annotated[Path, typer.Argument(help="A new file ending in .csv, .xlsx or .parquet.", metavar="FILE")],
    config: Config = FILE,
    rule: Rules = None,
    state: States = None,
    severity: Severity = None,
    where: Where = None,
    show: Show = False,
    records: Annotated[
        bool,
        typer.Option("--records", help="Write a row for each record, not for each finding; for .csv and .parquet."),
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
) -> None:
    from notifications.wording.words import plural
    from reconcile.cli.opening import load_for_state
    from reconcile.sheets import exporting
    from reconcile.store.findings import FindingFilter

    criteria = FindingFilter(rules=tuple(rule or ()), states=states(state), severity=at_least(severity))
    with load_for_state(config) as application, progress(out, "exporting to", "findings") as watch:
        for name in criteria.rules:
            application.require("rule", name, tuple(application.project.rules))
        order = exporting.Export(criteria, where, show, records)
        exported = exporting.export(
            application, sheet, order, overwrite=overwrite, watch=lambda done: watch(str(sheet), done)
        )
    if out.json:
        out.emit({"file": str(sheet), "findings": exported.findings})
    else:
        out.say(f"{sheet}: {plural(exported.findings, 'finding', 'findings')}")
    if exported.is_masked and not show:
        out.note(HIDDEN)


def decide(
    out: Output,
    returned: Annotated[Path, typer.Argument(help="The exported file with decisions.", metavar="FILE")],
    config: Config = FILE,
    confirm: Confirm = None,
    later: Later = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check the file and show what would be decided.")] = False,
) -> None:
    from reconcile.cli.opening import load
    from reconcile.sheets import deciding
    from reconcile.sheets.returned import read

    with load(config) as application:
        sheet = read(application, returned)
        if sheet.remark is not None:
            out.note(sheet.remark)
        if dry_run:
            raise typer.Exit(_foresee(application, out, sheet))
        requests = confirmed_by(out, confirm, sheet.confirm)

        decisions = application.decisions_of(person())
        approved = [request.about for request in requests if request.decision == "approve"]
        together = not later and decisions.executes_together(approved)

        def act(request: DecisionRequest) -> DecisionResult:
            returned_decision = sheet.decisions[request.about]
            return deciding.carry_out(application, person(), returned_decision, later=later or together)

        code = carry_out(out, requests, act, decisions.execute if together else None)
        application.anchor()
    raise typer.Exit(code)


def _foresee(application: Application, out: Output, sheet: ReturnedSheet) -> int:
    """Print what would be decided; return the exit code."""
    from notifications.wording.words import plural

    foreseen = [_foreseen(application, returned) for returned in sheet.decisions.values()]
    refused = sum(decision["problem"] is not None for decision in foreseen)
    if out.json:
        out.emit({"decisions": foreseen})
    else:
        for decision in foreseen:
            out.say(decision["problem"] or _in_words(decision, application.project.timezone))
        findings = plural(len(foreseen), "finding", "findings")
        out.say(f"{findings}: {len(foreseen) - refused:,} can be decided, {refused:,} not. Nothing was changed.")
    return exits.REFUSED if refused else exits.DONE


def _foreseen(application: Application, returned: Returned) -> JsonObject:
    from reconcile.errors import Refused
    from reconcile.sheets.deciding import earlier

    request = returned.request
    problem = None
    try:
        before = earlier(application, returned)
    except Refused as error:
        before, problem = None, str(error)
    until = None if request.until is None else request.until.isoformat()
    shown = {name: getattr(request, name) for name in ("finding", "decision")}
    shown |= {"until": until, "to": request.to, "note": request.note}
    return shown | {"done_before": before is not None, "problem": problem}


def _in_words(decision: JsonObject, timezone: str) -> str:
    from notifications.wording.words import to_the_minute

    until, to = decision["until"], decision["to"]
    details = [f"until {to_the_minute(dt.datetime.fromisoformat(until), timezone)}"] if until else []
    details += [f"to {to}"] if to else []
    details += [f"note: {decision['note']}"] if decision["note"] else []
    before = " (done before)" if decision["done_before"] else ""
    return f"{decision['finding']}: {', '.join([decision['decision'], *details])}{before}"
