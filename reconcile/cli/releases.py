"""`releases`, `hold`, `promote`: the configurations that ran, and the current one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reconcile.cli import people
from reconcile.cli.output import FILE, Config, Note, Output

if TYPE_CHECKING:
    from reconcile.store.releases import Current

_BEGINNING = "A release, or its first characters."
Named = Annotated[str, typer.Argument(help=_BEGINNING, metavar="RELEASE")]
Asked = Annotated[str | None, typer.Argument(help=_BEGINNING, metavar="RELEASE")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="List, show and compare configurations that ran.", invoke_without_command=True, rich_markup_mode=None
    )
    group.callback()(releases)
    group.command(help="Print a stored release.")(show)
    group.command(help="Compare a release with another, or with the configuration file.")(diff)
    app.add_typer(group, name="releases")
    app.command(help="Keep the current release until a person promotes another.")(hold)
    app.command(help="Make a release current; by default the configuration file's.")(promote)


def releases(
    context: typer.Context,
    out: Output,
    config: Config = FILE,
    limit: Annotated[int, typer.Option("--limit", help="The maximum number to list.", min=1, metavar="N")] = 20,
) -> None:
    if context.invoked_subcommand is not None:
        return
    from reconcile.cli.opening import load_for_state
    from reconcile.views.releases import listed

    with load_for_state(config) as application:
        now, views = listed(application, limit)
        timezone = application.project.timezone
    if out.json:
        out.emit([view.to_json() for view in views])
        return
    headings = ("release", "first seen", "", "jobs", "rules", "last run")
    out.table(headings, [view.cells(timezone) for view in views], right=(3, 4))
    if now is not None and now.held:
        out.note(f"{_in_words(now)}. `reconcile hold --off` ends the hold")


def show(
    out: Output,
    release: Named,
    config: Config = FILE,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.coordination.releases import text_of
    from reconcile.views.releases import named

    with load_for_state(config) as application:
        row = named(application, release)
    if out.json:
        files = None if row.files is None else dict(row.files)
        out.emit({"release": row.release, "files": files, "config": dict(row.config)})
        return
    if row.files is None:
        out.note("Its files were not stored; this is its content, without secrets:")
    out.block(text_of(row).rstrip("\n"))


def diff(
    out: Output,
    release: Named,
    other: Annotated[
        str | None,
        typer.Argument(help="The release to compare with; by default the configuration file.", metavar="OTHER"),
    ] = None,
    config: Config = FILE,
) -> None:
    from reconcile.cli.opening import load, load_for_state
    from reconcile.views.releases import difference

    with (load if other is None else load_for_state)(config) as application:
        compared = difference(application, release, other)
    if out.json:
        out.emit({"from": compared.before, "to": compared.after, "diff": list(compared.lines)})
        return
    for line in compared.lines:
        out.say(line)
    if not compared.lines:
        out.note("No differences.")


def hold(
    out: Output,
    release: Asked = None,
    off: Annotated[
        bool, typer.Option("--off", help="End the hold; the next start or reload uses the configuration file.")
    ] = False,
    config: Config = FILE,
    note: Note = None,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.coordination import releases as held

    if off and release is not None:
        raise typer.BadParameter("cannot be combined with a release", param_hint="--off")
    with load_for_state(config) as application:
        store = application.memory if off else application.store
        with store.begin() as tx:
            before = held.current(tx)
            if off:
                now = held.free(tx, by=people.person(), note=note)
            else:
                now = held.hold(tx, application.project, release, by=people.person(), note=note)
            kept = now is None or held.is_kept(tx, now.release)
    _tell(out, before, now or before, kept=kept)
    if off and now is None and not out.json:
        out.note("No release was held; nothing was changed")


def promote(
    out: Output,
    release: Asked = None,
    config: Config = FILE,
    no_diff: Annotated[bool, typer.Option("--no-diff", help="Don't compare the findings first.")] = False,
    note: Note = None,
) -> None:
    from reconcile.cli import comparing
    from reconcile.cli.opening import load, load_for_state
    from reconcile.coordination import releases as promoted

    with (load if release is None else load_for_state)(config) as application:
        compared = None if no_diff or out.quiet else comparing.of_promotion(application, release, out)
        with application.store.begin() as tx:
            before = promoted.current(tx)
            now = promoted.promote(tx, application.project, release, by=people.person(), note=note)
            kept = promoted.is_kept(tx, now.release)
    _tell(out, before, now, kept=kept, more={} if compared is None else {"diff": compared})


def _tell(
    out: Output, before: Current | None, now: Current | None, *, kept: bool, more: Mapping[str, Any] | None = None
) -> None:
    """Print the current release and the consequences."""
    from reconcile.coordination.releases import shortened

    if out.json:
        shown = {"release": now and now.release, "held": now is not None and now.held, "changed": now != before}
        out.emit(shown | {"before": before and before.release, "kept": kept, **(more or {})})
        return
    if now is None:
        return
    if now.held:
        out.say(_in_words(now))
    else:
        out.say(f"Release {shortened(now.release)} is current, until another is started, reloaded or promoted")
    if not kept:
        out.note(
            "Its files are not stored, because they contain a secret in plain text: it can run only where its "
            "configuration file is. Write secrets as ${secret:NAME}"
        )


def _in_words(now: Current) -> str:
    from reconcile.coordination.releases import in_words

    return in_words(now)
