"""`learn`: weights of a rule from its records, without labels and with what people judged."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from reconcile.cli.output import FILE, Config, Output
from reconcile.cli.progress import progress

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.views.learning import LearntView


def register(app: typer.Typer) -> None:
    app.command(help="Learn the weights of a similar rule from its records. Change nothing without --write.")(learn)


def learn(
    out: Output,
    rule: Annotated[str, typer.Argument(help="The rule's name.", metavar="RULE")],
    config: Config = FILE,
    precision: Annotated[
        str, typer.Option(help="The share of the taken pairs that should be right.", metavar="SHARE")
    ] = "95%",
    write: Annotated[bool, typer.Option("--write", help="Write the file of the learnt weights.")] = False,
) -> None:
    from reconcile.cli.opening import load

    out = replace(out, quiet=out.quiet or out.json)
    wanted = _share(precision)
    with load(config) as application:
        view = _learnt(application, rule, wanted, out)
        is_new = write and view.learnt.doubt is None and _write(view.path, view.learnt.text)
    if out.json:
        out.emit({**view.to_json(), "written": is_new})
    else:
        _tell(view, out)
    if write and view.learnt.doubt is not None:
        _refuse(view.learnt.doubt)
    if out.json:
        return
    if not write:
        advice = f"--write writes {view.file}" if view.learnt.doubt is None else f"do not use it: {view.learnt.doubt}"
        out.note(f"Nothing was written; {advice}.")
        return
    out.say(f"{view.file} is written." if is_new else f"{view.file} has these weights already.")
    if not view.is_named:
        out.note(f"Add `{view.learnt.setting}: {view.file}` to the rule, and commit both.")


def _refuse(doubt: str) -> NoReturn:
    from reconcile.errors import Refused

    raise Refused(f"Nothing was written: {doubt}")


def _share(text: str) -> float:
    from rules.cleaning import parse_share

    try:
        share = float(parse_share(text))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--precision") from error
    if not 0.5 <= share < 1:
        raise typer.BadParameter("give at least 50% and less than 100%", param_hint="--precision")
    return share


def _learnt(application: Application, name: str, precision: float, out: Output) -> LearntView:
    from reconcile.runs.check import RunOrder
    from reconcile.runs.learning import learn
    from reconcile.views.learning import LearntView

    rule = application.rule(name)
    order = RunOrder.to_read(application.project, name, dt.datetime.now(dt.UTC))
    store = application.memory if application.has_state else None
    with progress(out) as watch:
        learnt = learn(rule, order, application.readers(watch), store, precision)
    return LearntView(application.project, rule, learnt)


def _write(path: Path, text: str) -> bool:
    """Write the file unless it has this text already, and return whether it was written. Raises Failed."""
    from reconcile.errors import Failed

    draft = path.with_name(f"{path.name}.new")
    try:
        if path.exists() and path.read_bytes() == text.encode():
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)  # whoever reads the configuration meanwhile sees the whole file
    except OSError as error:
        with suppress(OSError):  # where nothing can be written, there is none
            draft.unlink(missing_ok=True)
        reason = (error.strerror or type(error).__name__).lower()
        raise Failed(f"{path} cannot be written: {reason}; nothing was changed") from error
    return True


def _tell(view: LearntView, out: Output) -> None:
    out.heading(view.heading)
    for sentence in view.sentences():
        out.wrapped(sentence)
    out.say("")
    out.table(("threshold", "pairs", "right", "of all right", ""), view.curve())
    if changes := view.changes():
        out.say("")
        out.table(("column", "agreement", "weight now", "weight learnt"), changes)
    for line in view.difference:
        out.say(line)
