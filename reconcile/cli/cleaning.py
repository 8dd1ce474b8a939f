"""`approve`, `reject`, `keep`, `undo`, `retry`, `quarantine`, `allow`: people's decisions about cleanings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli import exits, people
from reconcile.cli.output import FILE, AsJson, Config, NoColor, Note, Output, Quiet
from reconcile.cli.progress import working
from reconcile.cli.selecting import Confirm, Finding_, Ids, PlanFile, Rules, Severity, Where, decide, person, selection

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.cleaning.decisions import DecisionResult, Decisions
    from reconcile.cleaning.undo import Undone
    from reconcile.deciding.decisions import Wish
    from reconcile.deciding.selection import Selection
    from reconcile.journal.effects import Verdict

PlanHash = Annotated[
    str | None,
    typer.Option("--plan-hash", help="Only the plan with this hash, or its first characters.", metavar="HASH"),
]


def register(app: typer.Typer) -> None:
    app.command(help="Approve the plan for a finding and execute it.")(approve)
    app.command(help="Reject the plan for a finding.")(reject)
    app.command(help="Choose another record of a finding to keep.")(keep)
    app.command(help="Undo the cleaning of a finding, a plan or a whole run.")(undo)
    app.command(help="Retry a failed or waiting cleaning now.")(retry)
    app.command(help="List cleanings with an unknown outcome, or settle one.")(quarantine)
    app.command(help="Let a rule continue after its data looked wrong.")(allow)


def approve(
    ids: Ids = None,
    config: Config = FILE,
    plan_hash: PlanHash = None,
    rule: Rules = None,
    severity: Severity = None,
    where: Where = None,
    plan_file: PlanFile = None,
    confirm: Confirm = None,
    later: Annotated[bool, typer.Option("--later", help="Leave execution to the next run or to serve.")] = False,
    over_limit: Annotated[bool, typer.Option("--over-limit", help="Approve even if it exceeds the limits.")] = False,
    overrule: Annotated[bool, typer.Option("--overrule", help="Approve even if the same plan was rejected.")] = False,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load
    from reconcile.deciding.decisions import check_shown

    out, chosen = (
        Output(json, quiet, no_color),
        _chosen(selection(ids, rule, severity, where, plan_file, of_plans=True), plan_hash),
    )
    with load(config) as application:
        decisions = _decisions(application)

        def act(wish: Wish) -> DecisionResult:
            if not chosen.is_single:
                check_shown(application, wish, names_it=False)
            return decisions.approve(
                wish.finding, plan_hash=wish.plan, note=note, later=later, over_limit=over_limit, overrule=overrule
            )

        _decide(application, out, "approve", chosen, confirm, plan_hash, act)


def reject(
    ids: Ids = None,
    config: Config = FILE,
    plan_hash: PlanHash = None,
    rule: Rules = None,
    severity: Severity = None,
    where: Where = None,
    plan_file: PlanFile = None,
    confirm: Confirm = None,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load_for_state

    out, chosen = (
        Output(json, quiet, no_color),
        _chosen(selection(ids, rule, severity, where, plan_file, of_plans=True), plan_hash),
    )
    with load_for_state(config) as application:
        decisions = _decisions(application)

        def act(wish: Wish) -> DecisionResult:
            return decisions.reject(wish.finding, plan_hash=wish.plan, note=note)

        _decide(application, out, "reject", chosen, confirm, plan_hash, act)


def keep(
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
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load
    from reconcile.deciding.decisions import Wish, decided
    from reconcile.views.findings import named, to_json

    out, values = Output(json, quiet, no_color), _values(field or [])
    with load(config) as application:
        wish = Wish(finding, note=note, keeper=tuple(keeper or ()), values=values)
        answer = decided(application, person(), "keep", wish)
        application.anchor()
        shown = to_json(named(application, finding)) if json else None
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


def retry(
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
    from reconcile.cli.opening import load

    out, chosen = Output(json, quiet, no_color), selection(ids, rule, severity, where)
    with load(config) as application:
        decisions = _decisions(application)

        def act(wish: Wish) -> DecisionResult:
            return decisions.retry(wish.finding, note=note)

        _decide(application, out, "retry", chosen, confirm, None, act)


def _chosen(chosen: Selection, plan_hash: str | None) -> Selection:
    """Return the selection; raises BadParameter for a plan of several findings."""
    if plan_hash is not None and not chosen.is_single:
        raise typer.BadParameter("needs exactly one ID; use --plan-file for several plans", param_hint="--plan-hash")
    return chosen


def _decide(
    application: Application,
    out: Output,
    decision: str,
    chosen: Selection,
    confirm: int | None,
    plan_hash: str | None,
    act: Callable[[Wish], DecisionResult],
) -> None:
    """Decide about one finding, or about several with a summary, and exit."""
    from reconcile.deciding.decisions import Answer, Wish

    if chosen.is_single:
        answer = act(Wish(chosen.ids[0], plan=plan_hash))
        application.anchor()
        _say(out, answer)
    code = decide(application, out, decision, chosen, confirm, lambda wish: Answer.of(act(wish)))
    application.anchor()
    raise typer.Exit(code)


def allow(
    rule: Annotated[str, typer.Argument(help="The rule.", metavar="RULE")],
    config: Config = FILE,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load_for_state

    with load_for_state(config) as application:
        application.require("rule", rule, tuple(application.project.rules))
        answer = _decisions(application).allow(rule)
    _say(Output(json, quiet, no_color), answer, always=True)


def undo(
    ids: Ids = None,
    config: Config = FILE,
    rule: Rules = None,
    severity: Severity = None,
    where: Where = None,
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
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.deciding.decisions import Answer
    from reconcile.views.decisions import undone_to_json

    if sum(map(bool, (ids or rule or severity or where, run, plan))) != 1:
        raise typer.BadParameter(
            "give IDs, or --rule, --severity or --where, or --run RUN, or --plan PLAN", param_hint="ID"
        )
    out = Output(json, quiet, no_color)
    with load_for_state(config) as application:
        decisions = _decisions(application)

        def act(finding: str | None) -> Undone:
            return decisions.undo(finding, run=run, plan=plan, partial=partial, with_later=with_later, note=note)

        chosen = None if run or plan else selection(ids, rule, severity, where)
        if chosen is not None and not chosen.is_single:
            code = decide(application, out, "undo", chosen, confirm, lambda wish: Answer.of_undo(act(wish.finding)))
            application.anchor()
            raise typer.Exit(code)
        with working(out, "undoing"):
            undone = act(chosen.ids[0] if chosen else None)
        application.anchor()
    if json:
        out.emit(undone_to_json(undone))
    else:
        tell(out, undone)
    not_done = exits.FAILED if undone.only_waits else exits.REFUSED
    raise typer.Exit(not_done if undone.failed else exits.DONE)


def tell(out: Output, undone: Undone) -> None:
    """Print the undone cleanings, and those that could not be undone."""
    from reconcile.views.decisions import undone_in_words

    for sentence in undone_in_words(undone):
        out.say(sentence)


def quarantine(
    subject: Annotated[str | None, typer.Argument(help="A finding or plan to decide about.", metavar="ID")] = None,
    config: Config = FILE,
    done: Annotated[bool, typer.Option("--done", help="It was done; you checked the records.")] = False,
    not_done: Annotated[bool, typer.Option("--not-done", help="It was not done; retry it.")] = False,
    abandon: Annotated[bool, typer.Option("--abandon", help="Give up; leave the records as they are.")] = False,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load, load_for_state

    out = Output(json, quiet, no_color)
    choices: tuple[tuple[Verdict, bool], ...] = (("done", done), ("not_done", not_done), ("abandon", abandon))
    verdicts = [verdict for verdict, is_given in choices if is_given]
    if subject is None and not verdicts:
        with load_for_state(config) as application:
            _list(out, _decisions(application))
        return
    if subject is None or len(verdicts) != 1:
        raise typer.BadParameter("give an ID and one of --done, --not-done and --abandon", param_hint="ID")
    with (load if not_done else load_for_state)(config) as application:
        answer = _decisions(application).judge(subject, verdicts[0], note=note)
        application.anchor()
    _say(out, answer)


def _list(out: Output, decisions: Decisions) -> None:
    from reconcile.views.decisions import quarantined_to_json

    plans = decisions.quarantined()
    if out.json:
        out.emit(list(map(quarantined_to_json, plans)))
    elif not plans:
        out.note("Nothing is in quarantine.")
    else:
        rows = [(plan.finding, plan.rule, plan.action, str(plan.records), plan.reason or "", plan.id) for plan in plans]
        out.table(("finding", "rule", "action", "records", "why", "plan"), rows, right=(3,))
        out.note("Check the records, then: reconcile quarantine ID --done | --not-done | --abandon")


def _decisions(application: Application) -> Decisions:
    return application.decisions(people.person(), people.system_user())


def _say(out: Output, answer: DecisionResult, *, always: bool = False) -> None:
    """Print the answer, and exit with 4 if the request was refused, or 3 if it waits for its target."""
    if out.json:
        out.emit(answer.to_json())
    else:
        out.say(answer.sentence)
    not_done = exits.FAILED if answer.held_up else exits.REFUSED
    raise typer.Exit(exits.DONE if answer.ok or always else not_done)
