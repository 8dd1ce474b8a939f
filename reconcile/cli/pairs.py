"""`judge` and `split`: people teach a rule which records are the same. And the pairs that it is not sure about."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli.output import FILE, HIDDEN, Config, Note, Output, Show
from reconcile.cli.selecting import Finding_, person

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconcile.app import Application
    from reconcile.views.pairs import PairView


_KEYS = {"s": "same", "d": "not_the_same"}
"""The answers by the keys of the console."""


def register(app: typer.Typer) -> None:
    app.command(help="Judge whether two records are the same. Without ids, asks about one pair after another.")(judge)
    app.command(help="Split off a record that is not the same as the others.")(split)


def judge(
    out: Output,
    rule: Annotated[str, typer.Argument(help="The name of the rule.", metavar="RULE")],
    first: Annotated[
        str | None, typer.Argument(help="The id of a record, as `findings --uncertain` prints it.", metavar="A")
    ] = None,
    second: Annotated[str | None, typer.Argument(help="The id of the other record.", metavar="B")] = None,
    config: Config = FILE,
    same: Annotated[bool, typer.Option("--same", help="They are the same.")] = False,
    not_the_same: Annotated[bool, typer.Option("--not-the-same", help="They are not the same.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Take your answer back.")] = False,
    show: Show = False,
    note: Note = None,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.decisions.pairs import ANSWERS, PairRequest

    chosen = [answer for answer, is_given in zip(ANSWERS, (same, not_the_same, forget), strict=True) if is_given]
    if first is None and not chosen:
        _ask(out, config, rule, note, show=show)
        return
    if first is None or second is None:
        raise typer.BadParameter("give the ids of two records", param_hint="A B")
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


def _ask(out: Output, config: str, rule: str, note: str | None, *, show: bool) -> None:
    """Ask about one pair after another: those that the rule is not sure about, then those that findings join."""
    from notifications.wording.words import plural
    from reconcile.cli.opening import load_for_state
    from reconcile.views import pairs

    if not (out.is_interactive and sys.stdin.isatty()):
        message = "give the ids of two records; only a person at a terminal is asked about pairs"
        raise typer.BadParameter(message, param_hint="A B")
    answered = 0
    with load_for_state(config) as application:
        application.require("rule", rule, tuple(application.project.rules))
        next_step = _next_step(application, (rule,))
        for joined in (False, True):
            views = pairs.waiting(application, (rule,), joined=joined, show=show)
            if views and joined:
                out.say("")
                out.say("No pair is uncertain any more. These join findings, the least probable first.")
            if any(view.is_masked for view in views) and not joined:
                out.note(HIDDEN)
            given, ended = _answers(out, application, views, note)
            answered += given
            if ended:
                break
    if answered:
        out.note(f"{plural(answered, 'pair', 'pairs')} judged. Next: reconcile learn {rule}")
    elif not ended:
        out.note(f"No pairs wait for an answer. {next_step}")


def _answers(out: Output, application: Application, views: Sequence[PairView], note: str | None) -> tuple[int, bool]:
    """Ask about these pairs; return the number of answers, and True if the person ended it."""
    from reconcile.decisions.pairs import FORGET, PairRequest
    from reconcile.errors import Refused

    decisions = application.decisions_of(person())
    given = set[int]()
    place = 0
    while place < len(views):
        out.say("")
        out.say(f"{place + 1} of {len(views)}")
        _tell_pair(out, views[place])
        key = _pressed()
        if key == "q":
            return len(given), True
        is_back = key == "u"
        place -= is_back and place > 0
        answer = _KEYS.get(key, FORGET if is_back and place in given else "")
        try:
            if answer:
                decisions.judge_pair(PairRequest(views[place].rule, answer, pair=views[place].id, note=note))
                given ^= {place}
        except Refused as error:
            out.say(str(error))
        place += not is_back
    return len(given), False


def _pressed() -> str:
    """Return the key of an answer that the person presses; raises Abort for Ctrl-C."""
    typer.echo("s same, d not the same, k skip, u back, q quit: ", nl=False, err=True)
    key = ""
    while key not in (*_KEYS, "k", "u", "q"):
        key = typer.getchar().lower()
    typer.echo(key, err=True)
    return key


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
        _tell_pair(out, view)
    if any(view.is_masked for view in shown):
        out.note(HIDDEN)
    out.note(f"Next: reconcile judge {shown[0].rule} asks about them; with A B and --same or --not-the-same about one")


def _tell_pair(out: Output, view: PairView) -> None:
    out.heading(f"{view.rule}  {view.percent}")
    fields = [(name, first, f"{second} ≠" if differs else second) for name, first, second, differs in view.rows]
    out.table(("record", *view.names), fields)
    out.wrapped(view.evidence)


def _next_step(application: Application, rules: Sequence[str]) -> str:
    """Return why no pair waits, or what to do."""
    named = [application.project.rules[name] for name in rules or application.project.rules]
    if not any(rule.learns for rule in named):
        return "Only rules of kind `similar` list them."
    return "The next run of the rule looks for others."
