"""`diff`: the findings that appear, vanish or change between two releases."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli import exits
from reconcile.cli.output import FILE, HIDDEN, Config, Output, Show
from reconcile.cli.progress import progress
from reconcile.documents import JsonObject

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.views.comparison import ComparisonView

_RELEASE = "A release, its first characters, `active`, or a configuration file."


def register(app: typer.Typer) -> None:
    app.command(help="Compare the findings of two releases on the same records.")(diff)


def diff(
    out: Output,
    release: Annotated[str, typer.Argument(help=_RELEASE, metavar="RELEASE")],
    other: Annotated[
        str | None,
        typer.Argument(help="The release to compare with; by default the configuration file.", metavar="OTHER"),
    ] = None,
    config: Config = FILE,
    rule: Annotated[
        list[str] | None, typer.Option("--rule", help="Only this rule; may be repeated.", metavar="NAME")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", help="The maximum number of findings to list.", min=0, metavar="N")
    ] = 10,
    fail_on_changes: Annotated[
        bool, typer.Option("--fail-on-changes", help="Exit with 1 if a finding appears, vanishes or changes.")
    ] = False,
    show: Show = False,
) -> None:
    from reconcile.cli.opening import load, load_for_state
    from reconcile.coordination.releases import is_path
    from reconcile.views import comparison

    out = replace(out, quiet=out.quiet or out.json)
    if other is not None and is_path(other):
        config, other = other, None
    with (load if other is None else load_for_state)(config) as application, progress(out) as watch:
        view = comparison.compare(application, release, other, rules=rule or (), show=show, watch=watch)
    if out.json:
        out.emit(view.to_json())
    else:
        _draw(view, out)
        for line in view.largest(limit):
            out.say(line)
        if view.is_masked:
            out.note(HIDDEN)
    changed = fail_on_changes and view.comparison.has_changes
    failed = exits.FAILED if view.comparison.failed else exits.DONE
    raise typer.Exit(exits.first_that_applies(failed, exits.FOUND if changed else exits.DONE))


def of_promotion(application: Application, release: str | None, out: Output) -> JsonObject | str | None:
    """Print what the promotion of a release changes, if anything; return it as JSON."""
    from reconcile.views import comparison

    with progress(Output(out.json, out.quiet or out.json, out.no_color)) as watch:
        view = comparison.of_promotion(application, release, watch)
    if isinstance(view, str):
        out.note(view)
    if not isinstance(view, comparison.ComparisonView):
        return view
    if not out.json:
        _draw(view, out)
    return view.to_json(findings=False)


def _draw(view: ComparisonView, out: Output) -> None:
    from reconcile.views.comparison import HEADINGS, RIGHT

    out.say(view.title)
    if rows := list(view.rows()):
        out.table(HEADINGS, rows, right=RIGHT)
    for remark in view.remarks():
        out.say(remark)
