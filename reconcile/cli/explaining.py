"""`explain`: a rule in words, or its SQL."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli.output import FILE, HIDDEN, Config, Output, Show
from reconcile.cli.progress import progress
from reconcile.telemetry import visible

if TYPE_CHECKING:
    from reconcile.app import Application
    from rules.kinds.base import Rule


def register(app: typer.Typer) -> None:
    app.command(help="Explain what a rule compares, keeps and skips. Show samples.")(explain)


def explain(
    out: Output,
    rule: Annotated[str, typer.Argument(help="The rule's name.", metavar="RULE")],
    config: Config = FILE,
    sql: Annotated[bool, typer.Option("--sql", help="Show the engine and its SQL instead; read no records.")] = False,
    show: Show = False,
) -> None:
    from reconcile.cli.opening import load

    out = replace(out, quiet=out.quiet or out.json)
    with load(config) as application:
        chosen, due = application.rule(rule), dt.datetime.now(dt.UTC)
        if sql:
            _tell_sql(application, chosen, due, out)
        else:
            _tell(application, chosen, due, out, show=show)


def _tell(application: Application, rule: Rule, due: dt.datetime, out: Output, *, show: bool) -> None:
    from reconcile.runs import explanation
    from reconcile.runs.check import RunOrder
    from reconcile.views.explanation import ExplanationView

    order = RunOrder.to_read(application.project, rule.name, due)
    with progress(out) as watch:
        view = ExplanationView(
            explanation.explain(rule, order, application.readers(watch)), application.project, show=show
        )
    if out.json:
        out.emit(view.to_json())
        return
    out.heading(view.title)
    for heading, sentences in view.sections():
        out.say("")
        out.heading(heading)
        for sentence in sentences:
            bare = sentence.lstrip()
            out.wrapped(bare, "  " + " " * (len(sentence) - len(bare)))
    if view.is_masked:
        out.note(HIDDEN)


def _tell_sql(application: Application, rule: Rule, due: dt.datetime, out: Output) -> None:
    from reconcile.detection import detect
    from reconcile.detection.subject import replicas_of, subjects_of
    from reconcile.views.explanation import engine_in_words, replica_in_words

    subjects = subjects_of(rule, application.subject, due)
    choice, replicas = detect.explain(rule, subjects, due), replicas_of(subjects)
    if out.json:
        told = {"rule": rule.name, "engine": choice.engine, "reason": choice.reason, "sql": list(choice.statements)}
        out.emit(told | ({"replicas": dict(replicas)} if replicas else {}))
        return
    out.say(f"{rule.name} runs {engine_in_words(choice.engine)}: {choice.reason}.")
    for source, place in replicas.items():
        out.say(f"It {replica_in_words(source, place)}.")
    for statement in choice.statements:
        text = statement.rstrip().rstrip(";")
        out.block(f"\n{_QUOTED.sub(_on_one_line, text)};")


def _on_one_line(part: re.Match[str]) -> str:
    return part[0] if part[0].startswith("--") else visible.line(part[0])


_QUOTED = re.compile(r"""--[^\n]*|'[^']*'|"[^"]*"|`[^`]*`""")
"""Names and texts in SQL: a line break inside them is data, any other is ours. Comments hold neither."""
