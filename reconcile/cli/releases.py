"""`releases`, `hold`, `promote`: the configurations that ran, and the current one."""

from __future__ import annotations

import json as json_text
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reconcile.cli import people
from reconcile.cli.output import FILE, AsJson, Config, NoColor, Note, Output, Quiet

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.store import Transaction
    from reconcile.store.releases import Current, ReleaseRow

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
    app.command(help="Make a release current; by default the file's.")(promote)


def releases(
    context: typer.Context,
    config: Config = FILE,
    limit: Annotated[int, typer.Option("--limit", help="The maximum number to list.", min=1)] = 20,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    if context.invoked_subcommand is not None:
        return
    from reconcile.cli.opening import load_for_state
    from reconcile.store import releases as stored

    out = Output(json, quiet, no_color)
    with load_for_state(config) as application:
        with application.memory.read() as tx:
            now, stored_rows = stored.current(tx), stored.listed(tx, limit)
        listed = [_listed(release, now, application.project.release) for release in stored_rows]
    if json:
        out.emit(listed)
        return
    rows = [_row(release) for release in listed]
    out.table(("release", "first seen", "", "jobs", "rules", "last run"), rows, right=(3, 4))
    if now is not None and now.held:
        out.note(f"{_in_words(now)}. `reconcile hold --off` ends the hold")


def _listed(row: ReleaseRow, now: Current | None, ours: str) -> dict[str, Any]:
    from reconcile.schedule.slots import slot_text

    current = now is not None and now.release == row.release
    return {
        "release": row.release,
        "first_seen": slot_text(row.first_seen),
        "current": current,
        "held": current and now is not None and now.held,
        "file": row.release == ours,
        "kept": row.files is not None,
        "jobs": len(row.config.get("jobs", ())) or 1,
        "rules": len(row.config.get("rules", ())),
        "last_run": slot_text(row.last_run) if row.last_run else None,
    }


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    from reconcile.coordination.releases import shortened

    marks = ["held" if row["held"] else "current"] * row["current"] + ["this file"] * row["file"]
    counts = (str(row["jobs"]), str(row["rules"]))
    return (shortened(row["release"]), row["first_seen"], ", ".join(marks), *counts, row["last_run"] or "never")


def show(
    release: Named,
    config: Config = FILE,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.coordination.releases import text_of

    out = Output(json, quiet, no_color)
    with load_for_state(config) as application, application.memory.read() as tx:
        row = _kept(application, tx, release)
    if json:
        files = None if row.files is None else dict(row.files)
        out.emit({"release": row.release, "files": files, "config": dict(row.config)})
        return
    if row.files is None:
        out.note("Its files were not stored; this is its content, without secrets:")
    out.block(text_of(row).rstrip("\n"))


def diff(
    release: Named,
    other: Annotated[str | None, typer.Argument(help="By default the configuration file.", metavar="OTHER")] = None,
    config: Config = FILE,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load, load_for_state
    from reconcile.coordination.releases import difference, shortened

    out = Output(json, quiet, no_color)
    with (load if other is None else load_for_state)(config) as application, application.memory.read() as tx:
        before = _kept(application, tx, release)
        after, named = application.project.release, f"{application.project.path.name}"
        says = json_text.loads(application.project.canonical)
        if other is not None:
            row = _kept(application, tx, other)
            after, named, says = row.release, shortened(row.release), row.config
    lines = difference(before.config, says, (shortened(before.release), named))
    if json:
        out.emit({"from": before.release, "to": after, "diff": lines})
        return
    for line in lines:
        out.say(line)
    if not lines:
        out.note("No differences.")


def _kept(application: Application, tx: Transaction, name: str) -> ReleaseRow:
    """Return the release of that name; raises ReleaseUnknown, also if the file's release was never stored."""
    from reconcile.coordination.releases import ReleaseUnknown, named
    from reconcile.store import releases as stored

    release, hashes = named(tx, name, application.project), stored.hashes(tx)
    if release not in hashes:
        raise ReleaseUnknown(name, hashes)
    return stored.get(tx, release)


def hold(
    release: Asked = None,
    off: Annotated[bool, typer.Option("--off", help="End the hold: the next start or reload decides again.")] = False,
    config: Config = FILE,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.coordination import releases as held

    if off and release is not None:
        raise typer.BadParameter("cannot be combined with a release", param_hint="--off")
    out = Output(json, quiet, no_color)
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
    if off and now is None and not json:
        out.note("No release was held; nothing was changed")


def promote(
    release: Asked = None,
    config: Config = FILE,
    no_diff: Annotated[bool, typer.Option("--no-diff", help="Do not compare the findings first.")] = False,
    note: Note = None,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli import comparing
    from reconcile.cli.opening import load, load_for_state
    from reconcile.coordination import releases as promoted

    out = Output(json, quiet, no_color)
    with (load if release is None else load_for_state)(config) as application:
        compared = None if no_diff or quiet else comparing.of_promotion(application, release, out)
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
            "Its files are not stored, because they contain a secret in plain text: it runs only where its "
            "configuration file is. Write secrets as ${secret:NAME}"
        )


def _in_words(now: Current) -> str:
    from reconcile.coordination.releases import in_words

    return in_words(now)
