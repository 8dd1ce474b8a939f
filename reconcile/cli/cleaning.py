"""`approve`, `reject`, `undo`, `retry`, `quarantine`, `allow`: what people decide about cleanings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from reconcile.cli import exits, people
from reconcile.cli.output import FILE, AsJson, Config, NoColor, Note, Output, Quiet

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.cleaning.decisions import Answer, Desk
    from reconcile.cleaning.undo import Undone
    from reconcile.journal.effects import Verdict

Finding = Annotated[str, typer.Argument(help="A finding's id, or the beginning of one.", metavar="ID")]
Plan = Annotated[
    str | None, typer.Option("--plan", help="Only the plan with this hash, or the beginning of it.", metavar="HASH")
]


def register(app: typer.Typer) -> None:
    app.command(help="Approve the plan for a finding, and carry it out.")(approve)
    app.command(help="Turn the plan for a finding down.")(reject)
    app.command(help="Take back what was cleaned: a finding, a bundle or a whole run.")(undo)
    app.command(help="Try now what failed or waits for its next attempt.")(retry)
    app.command(help="List cleanings nobody knows the end of; say what happened to one.")(quarantine)
    app.command(help="Let a rule clean again that was stopped because something looked wrong.")(allow)


def approve(
    finding: Finding,
    config: Config = FILE,
    plan: Plan = None,
    later: Annotated[bool, typer.Option("--later", help="Leave it to the next run or to serve.")] = False,
    over_limit: Annotated[bool, typer.Option("--over-limit", help="Even beyond what the limits allow.")] = False,
    overrule: Annotated[bool, typer.Option("--overrule", help="Even if somebody rejected the same plan.")] = False,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load

    out = Output(json, quiet, no_color)
    with load(config) as application:
        desk = _desk(application)
        answer = desk.approve(finding, plan=plan, note=note, later=later, over_limit=over_limit, overrule=overrule)
        application.anchor()
    _say(out, answer)


def reject(
    finding: Finding,
    config: Config = FILE,
    plan: Plan = None,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load_for_state

    with load_for_state(config) as application:
        answer = _desk(application).reject(finding, plan=plan, note=note)
    _say(Output(json, quiet, no_color), answer)


def retry(
    finding: Finding,
    config: Config = FILE,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load

    with load(config) as application:
        answer = _desk(application).retry(finding, note=note)
    _say(Output(json, quiet, no_color), answer)


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
        answer = _desk(application).allow(rule)
    _say(Output(json, quiet, no_color), answer, always=True)


def undo(
    finding: Annotated[
        str | None, typer.Argument(help="A finding's id, or the beginning of one.", metavar="ID")
    ] = None,
    config: Config = FILE,
    run: Annotated[
        str | None, typer.Option("--run", help="All that this run planned or carried out.", metavar="RUN")
    ] = None,
    bundle: Annotated[
        str | None, typer.Option("--bundle", help="What was done at once, by its id.", metavar="BUNDLE")
    ] = None,
    partial: Annotated[bool, typer.Option("--partial", help="Leave out what somebody changed since.")] = False,
    with_later: Annotated[
        bool, typer.Option("--with-later", help="Also take back later cleanings of the same records, first.")
    ] = False,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load_for_state

    if sum(one is not None for one in (finding, run, bundle)) != 1:
        raise typer.BadParameter("say one of: a finding, --run RUN, --bundle BUNDLE", param_hint="ID")
    out = Output(json, quiet, no_color)
    with load_for_state(config) as application:
        done = _desk(application).undo(
            finding, run=run, bundle=bundle, partial=partial, with_later=with_later, note=note
        )
        application.anchor()
    if json:
        out.emit(_undone(done))
    else:
        tell(out, done)
    raise typer.Exit(exits.REFUSED if done.failed else exits.DONE)


def _undone(done: Undone) -> dict[str, Any]:
    return {
        "taken_back": list(done.taken_back),
        "failed": [{"finding": finding, "why": why} for finding, why in done.failed],
        "conflicts": [
            {"finding": finding, "table": one.row.table, "columns": list(one.columns), "why": one.why}
            for finding, one in done.conflicts
        ],
    }


def tell(out: Output, done: Undone) -> None:
    """What was taken back, and what was not."""
    from notifications.wording.words import plural

    if done.taken_back:
        out.say(f"Taken back: {plural(len(done.taken_back), 'cleaning', 'cleanings')} ({_some(done.taken_back)}).")
    if done.unchanged:
        out.say(f"{plural(done.unchanged, 'cleaning was', 'cleanings were')} taken back by somebody else already.")
    for finding, conflict in done.conflicts:
        out.say(f"left as it is: {finding}: {conflict}")
    for finding, why in done.failed:
        out.say(f"not taken back: {finding}: {why}")


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:5])
    return f"{shown} and {len(names) - 5:,} more" if len(names) > 5 else shown


def quarantine(
    asked: Annotated[str | None, typer.Argument(help="A finding or bundle to decide about.", metavar="ID")] = None,
    config: Config = FILE,
    done: Annotated[bool, typer.Option("--done", help="It was done: you looked at the records.")] = False,
    not_done: Annotated[bool, typer.Option("--not-done", help="It was not done: try it again.")] = False,
    abandon: Annotated[bool, typer.Option("--abandon", help="Give it up; leave everything as it is.")] = False,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load, load_for_state

    out = Output(json, quiet, no_color)
    choices: tuple[tuple[Verdict, bool], ...] = (("done", done), ("not_done", not_done), ("abandon", abandon))
    said = [how for how, is_said in choices if is_said]
    if asked is None and not said:
        with load_for_state(config) as application:
            _list(out, _desk(application))
        return
    if asked is None or len(said) != 1:
        raise typer.BadParameter("say which, and one of --done, --not-done, --abandon", param_hint="ID")
    with (load if not_done else load_for_state)(config) as application:
        answer = _desk(application).judge(asked, said[0], note=note)
        application.anchor()
    _say(out, answer)


def _list(out: Output, desk: Desk) -> None:
    found = desk.quarantined()
    if out.json:
        names = ("finding", "rule", "source", "action", "reason")
        out.emit([{"bundle": one.id} | {name: getattr(one, name) for name in names} for one in found])
    elif not found:
        out.note("Nothing is in quarantine.")
    else:
        rows = [(one.finding, one.rule, one.action, str(one.records), one.reason or "", one.id) for one in found]
        out.table(("finding", "rule", "action", "records", "why", "bundle"), rows, right=(3,))
        out.note("Look at the records, then: reconcile quarantine ID --done | --not-done | --abandon")


def _desk(application: Application) -> Desk:
    return application.desk(people.person(), people.system_user())


def _say(out: Output, answer: Answer, *, always: bool = False) -> None:
    """What was done, and exit code 4 where it was not."""
    if out.json:
        out.emit(answer.to_json())
    else:
        out.say(answer.sentence)
    raise typer.Exit(exits.DONE if answer.ok or always else exits.REFUSED)
