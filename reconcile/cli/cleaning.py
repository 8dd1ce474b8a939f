"""`approve`, `reject`, `keep`, `undo`, `retry`, `quarantine`, `allow`: people's decisions about cleanings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli import exits
from reconcile.cli.output import FILE, Config, Note, Output
from reconcile.cli.progress import working
from reconcile.cli.selecting import ChosenPlans, Confirm, Finding_, FindingOptions, Later, decide_about, person

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.decisions.request import DecisionRequest, DecisionResult
    from reconcile.decisions.service import Decisions, Verdict


def register(app: typer.Typer) -> None:
    app.command(help="Approve the plan for a finding and execute it.")(approve)
    app.command(help="Reject the plan for a finding.")(reject)
    app.command(help="Choose another record of a finding to keep.")(keep)
    app.command(help="Undo the cleaning of a finding, a plan or a whole run.")(undo)
    app.command(help="Retry a failed or waiting cleaning now.")(retry)
    app.command(help="List cleanings with an unknown outcome, or settle one.")(quarantine)
    app.command(help="Let a rule continue after its data looked wrong.")(allow)


def approve(
    out: Output,
    chosen: ChosenPlans,
    confirm: Confirm = None,
    later: Later = False,
    over_limit: Annotated[
        bool, typer.Option("--over-limit", help="Approve even if the plan exceeds the limits.")
    ] = False,
    overrule: Annotated[bool, typer.Option("--overrule", help="Approve even if the same plan was rejected.")] = False,
    note: Note = None,
) -> None:
    from reconcile.cli.opening import load
    from reconcile.decisions.request import DecisionRequest

    wanted = DecisionRequest("approve", None, note, later=later, over_limit=over_limit, overrule=overrule)
    _decide(out, chosen, confirm, wanted, load)


def reject(out: Output, chosen: ChosenPlans, confirm: Confirm = None, note: Note = None) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.decisions.request import DecisionRequest

    _decide(out, chosen, confirm, DecisionRequest("reject", None, note), load_for_state)


def keep(
    out: Output,
    finding: Finding_,
    keeper: Annotated[
        list[str] | None,
        typer.Argument(
            help="The id of the record to keep, as `show` prints it; not needed with --field.", metavar="RECORD"
        ),
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            help="Take this field of the keeper from this record; without one, as the rule says.",
            metavar="COLUMN=RECORD",
        ),
    ] = None,
    config: Config = FILE,
    note: Note = None,
) -> None:
    from reconcile.cli.opening import load
    from reconcile.decisions.request import DecisionRequest
    from reconcile.views.findings import named, to_json

    values = _values(field or [])
    with load(config) as application:
        wanted = DecisionRequest("keep", finding, note, keeper=tuple(keeper or ()), values=values)
        answer = application.decisions_of(person()).decide(wanted)
        application.anchor()
        shown = to_json(named(application, finding)) if out.json else None
    if shown is not None:
        out.emit({"changed": answer.changed, "sentence": answer.sentence, "finding": shown})
    else:
        out.say(answer.sentence)


def _values(fields: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the record that is named for each field, none to leave it to the rule. Raises BadParameter."""
    values: dict[str, tuple[str, ...]] = {}
    for text in fields:
        column, equals, record = text.partition("=")
        if not equals or not column:
            raise typer.BadParameter(f"`{text}` is not COLUMN=RECORD, like phone=17", param_hint="--field")
        if column in values:
            raise typer.BadParameter(f"names `{column}` twice; a field comes from one record", param_hint="--field")
        values[column] = (record,) if record else ()
    return values


def retry(out: Output, chosen: FindingOptions, confirm: Confirm = None, note: Note = None) -> None:
    from reconcile.cli.opening import load
    from reconcile.decisions.request import DecisionRequest

    _decide(out, chosen, confirm, DecisionRequest("retry", None, note), load)


def _decide(
    out: Output,
    chosen: FindingOptions | ChosenPlans,
    confirm: int | None,
    wanted: DecisionRequest,
    load: Callable[[str], AbstractContextManager[Application]],
) -> None:
    """Decide about one finding, or about several with a summary, and exit."""
    selection = chosen.selection()
    with load(chosen.config) as application:
        if not selection.is_single:
            wanted = replace(wanted, without_plan="approve waiting")
            code = decide_about(application, out, selection, confirm, wanted)
            application.anchor()
            raise typer.Exit(code)
        plan = chosen.plan_hash if isinstance(chosen, ChosenPlans) else None
        wanted = replace(wanted, finding=selection.ids[0], plan=plan, without_plan="make one")
        result = application.decisions_of(person()).decide(wanted)
        application.anchor()
    _say(out, result)


def allow(
    out: Output, rule: Annotated[str, typer.Argument(help="The rule.", metavar="RULE")], config: Config = FILE
) -> None:
    from reconcile.cli.opening import load_for_state

    with load_for_state(config) as application:
        application.require("rule", rule, tuple(application.project.rules))
        result = application.decisions_of(person()).allow(rule)
    _say(out, result, always=True)


def undo(
    out: Output,
    chosen: FindingOptions,
    run: Annotated[
        str | None, typer.Option("--run", help="Everything that this run planned or executed.", metavar="RUN")
    ] = None,
    plan: Annotated[str | None, typer.Option("--plan", help="One plan, by its id.", metavar="PLAN")] = None,
    confirm: Confirm = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Skip values that have changed since the cleaning.")
    ] = False,
    with_later: Annotated[
        bool, typer.Option("--with-later", help="First undo later cleanings of the same records.")
    ] = False,
    note: Note = None,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.decisions.request import DecisionRequest

    if sum(map(bool, (chosen.ids or chosen.rule or chosen.severity or chosen.where, run, plan))) != 1:
        raise typer.BadParameter(
            "give IDs, or --rule, --severity or --where, or --run RUN, or --plan PLAN", param_hint="ID"
        )
    wanted = DecisionRequest("undo", None, note, run=run, undoes=plan, partial=partial, with_later=with_later)
    with load_for_state(chosen.config) as application:
        selection = None if run or plan else chosen.selection()
        if selection is not None and not selection.is_single:
            code = decide_about(application, out, selection, confirm, wanted)
            application.anchor()
            raise typer.Exit(code)
        with working(out, "undoing"):
            wanted = replace(wanted, finding=selection.ids[0] if selection else None)
            result = application.decisions_of(person()).decide(wanted)
        application.anchor()
    _say(out, result)


def quarantine(
    out: Output,
    subject: Annotated[str | None, typer.Argument(help="A finding or plan to decide about.", metavar="ID")] = None,
    config: Config = FILE,
    done: Annotated[bool, typer.Option("--done", help="It was done; you checked the records.")] = False,
    not_done: Annotated[bool, typer.Option("--not-done", help="It was not done; retry it.")] = False,
    abandon: Annotated[bool, typer.Option("--abandon", help="Give up; leave the records as they are.")] = False,
    note: Note = None,
) -> None:
    from reconcile.cli.opening import load, load_for_state

    choices: tuple[tuple[Verdict, bool], ...] = (("done", done), ("not_done", not_done), ("abandon", abandon))
    verdicts = [verdict for verdict, is_given in choices if is_given]
    if subject is None and not verdicts:
        with load_for_state(config) as application:
            _list(out, application.decisions_of(person()))
        return
    if subject is None or len(verdicts) != 1:
        raise typer.BadParameter("give an ID and one of --done, --not-done and --abandon", param_hint="ID")
    with (load if not_done else load_for_state)(config) as application:
        answer = application.decisions_of(person()).judge(subject, verdicts[0], note=note)
        application.anchor()
    _say(out, answer)


def _list(out: Output, decisions: Decisions) -> None:
    from reconcile.decisions.in_words import quarantined_to_json

    plans = decisions.quarantined()
    if out.json:
        out.emit(list(map(quarantined_to_json, plans)))
    elif not plans:
        out.note("Nothing is in quarantine.")
    else:
        rows = [(plan.finding, plan.rule, plan.action, str(plan.records), plan.reason or "", plan.id) for plan in plans]
        out.table(("finding", "rule", "action", "records", "why", "plan"), rows, right=(3,))
        out.note("Check the records, then: reconcile quarantine ID --done | --not-done | --abandon")


def _say(out: Output, result: DecisionResult, *, always: bool = False) -> None:
    """Print the result, and exit with 4 if the request was refused, or 3 if it waits for its target."""
    if out.json:
        out.emit(result.to_json())
    for sentence in () if out.json else result.sentences:
        out.say(sentence)
    not_done = exits.FAILED if result.held_up else exits.REFUSED
    raise typer.Exit(exits.DONE if result.ok or always else not_done)
