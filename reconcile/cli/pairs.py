"""`judge` and `split`: people teach a rule which records are the same. And the pairs that it is not sure about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli.output import FILE, HIDDEN, Config, Note, Output
from reconcile.cli.selecting import Finding_, person

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconcile.app import Application


def register(app: typer.Typer) -> None:
    app.command(help="Judge whether two records are the same.")(judge)
    app.command(help="Split off a record that is not the same as the others.")(split)


def judge(
    out: Output,
    rule: Annotated[str, typer.Argument(help="The name of the rule.", metavar="RULE")],
    first: Annotated[str, typer.Argument(help="The id of a record, as `findings --uncertain` prints it.", metavar="A")],
    second: Annotated[str, typer.Argument(help="The id of the other record.", metavar="B")],
    config: Config = FILE,
    same: Annotated[bool, typer.Option("--same", help="They are the same.")] = False,
    not_the_same: Annotated[bool, typer.Option("--not-the-same", help="They are not the same.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Take your answer back.")] = False,
    note: Note = None,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.decisions.pairs import ANSWERS, PairRequest

    chosen = [answer for answer, is_given in zip(ANSWERS, (same, not_the_same, forget), strict=True) if is_given]
    if len(chosen) != 1:
        raise typer.BadParameter("give one of --same, --not-the-same and --forget", param_hint="--same")
    with load_for_state(config) as application:
        application.require("rule", rule, tuple(application.project.rules))
        request = PairRequest(rule, chosen[0], records=((first,), (second,)), note=note)
        result = application.decisions_of(person()).judge_pair(request)
    if out.json:
        out.emit({"changed": result.changed, "sentence": result.sentence})
    else:
        out.say(result.sentence)


def split(
    out: Output,
    finding: Finding_,
    record: Annotated[
        list[str],
        typer.Argument(help="The id of the record that is another one, as `show` prints it.", metavar="RECORD"),
    ],
    config: Config = FILE,
    note: Note = None,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.decisions.request import DecisionRequest
    from reconcile.views.findings import named, to_json

    with load_for_state(config) as application:
        name = named(application, finding).id
        wanted = DecisionRequest("split", name, note, keeper=tuple(record))
        result = application.decisions_of(person()).decide(wanted)
        shown = to_json(named(application, name)) if out.json else None
    if shown is not None:
        out.emit({"changed": result.changed, "sentence": result.sentence, "finding": shown})
    else:
        out.say(result.sentence)


def list_uncertain(
    out: Output,
    config: str,
    rules: Sequence[str],
    limit: int | None,
    *,
    show: bool,
    others: Sequence[object],
) -> None:
    """Print the pairs that wait for an answer, those that teach most first; `others` are options that do not apply."""
    from reconcile.cli.opening import load_for_state
    from reconcile.views import pairs

    if any(option is not None for option in others):
        message = "can only be combined with --rule, --limit, --all and --show"
        raise typer.BadParameter(message, param_hint="--uncertain")
    with load_for_state(config) as application:
        for name in rules:
            application.require("rule", name, tuple(application.project.rules))
        views = pairs.waiting(application, rules, show=show)
        next_step = _next_step(application, rules)
    shown = views if limit is None else views[:limit]
    if len(views) > len(shown):
        out.note(f"{len(shown):,} of {len(views):,} pairs; use --all to list all, or --limit N")
    if out.json:
        out.emit(list(map(pairs.to_json, shown)))
        return
    if not shown:
        out.note(f"No pairs wait for an answer. {next_step}")
        return
    for place, view in enumerate(shown):
        if place:
            out.say("")
        out.heading(f"{view.rule}  {view.percent}")
        fields = [(name, first, f"{second} ≠" if differs else second) for name, first, second, differs in view.rows]
        out.table(("record", *view.names), fields)
        out.wrapped(view.evidence)
    if any(view.is_masked for view in shown):
        out.note(HIDDEN)
    out.note(f"Next: reconcile judge {shown[0].rule} A B with --same or --not-the-same")


def _next_step(application: Application, rules: Sequence[str]) -> str:
    """Return why no pair waits, or what to do."""
    named = [application.project.rules[name] for name in rules or application.project.rules]
    if not any(rule.learns for rule in named):
        return "Only rules of kind `similar` list them."
    return "The next run of the rule looks for others."
