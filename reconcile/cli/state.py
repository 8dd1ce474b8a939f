"""`backup`, `restore`, `migrate`, `compact`, `seal`: maintenance of the state."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli import exits
from reconcile.cli.output import FILE, Config, Output
from reconcile.cli.progress import working
from reconcile.documents import JsonObject

if TYPE_CHECKING:
    from reconcile.upkeep.backup import Backup

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be deleted.")]


def register(app: typer.Typer) -> None:
    app.command(help="Back up the state and its key, even during runs.")(backup)
    app.command(help="Replace the state with a backup; active runs stop.")(restore)
    app.command(help="Upgrade the state to the schema of this version.")(migrate)
    app.command(help="Delete data older than `retention`.")(compact)
    app.command(help="Encrypt plans stored before `encryption_key` was set.")(seal)


def backup(
    out: Output,
    file: Annotated[
        Path | None, typer.Argument(help="The file; by default a timestamped name in this folder.", metavar="FILE")
    ] = None,
    config: Config = FILE,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an existing file.")] = False,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.upkeep import backup as backups

    with load_for_state(config) as application, working(out, "backing up the state"):
        place = file or Path(backups.name_for(dt.datetime.now(dt.UTC)))
        with application.state_as_it_is() as store:
            result = backups.make(store, place, replace=replace)
    if out.json:
        out.emit(_to_json(result))
        return
    out.say(f"{result.file}: {_held(result.rows)}; verified")
    out.note(f"Its key is in {result.file}.key: keep both files together, readable only by you")


def _to_json(backup_: Backup) -> JsonObject:
    document = {"file": str(backup_.file), "store": backup_.store, "schema": backup_.schema, "bytes": backup_.size}
    return document | {
        "until": backup_.until.isoformat(),
        "entries": backup_.entries,
        "head": backup_.head,
        "rows": dict(backup_.rows),
    }


def _held(rows: Mapping[str, int]) -> str:
    return ", ".join(_counted(name, rows[name]) for name in ("runs", "findings", "audit"))


_WORDS = {
    "runs": ("run", "runs"),
    "findings": ("finding", "findings"),
    "not_same": ("decision about a pair of records", "decisions about pairs of records"),
    "plans": ("plan", "plans"),
    "approvals": ("approval", "approvals"),
    "effects": ("record of a cleaning", "records of cleanings"),
    "outbox": ("message", "messages"),
    "pauses": ("pause", "pauses"),
    "releases": ("release", "releases"),
    "slots": ("due time", "due times"),
    "erasures": ("erasure", "erasures"),
    "anchors": ("anchor", "anchors"),
    "audit": ("log entry", "log entries"),
}
"""Names of the state's rows for people, the most important first; other tables follow from these."""


def _counted(name: str, rows: int) -> str:
    from notifications.wording.words import plural

    return plural(rows, *_WORDS[name])


def _lost(rows: Mapping[str, int]) -> str:
    """Describe the rows a restore lost; other tables as one number, so that nothing is left out."""
    from notifications.wording.words import plural

    counted = [_counted(name, rows[name]) for name in _WORDS if name in rows]
    others = sum(count for name, count in rows.items() if name not in _WORDS)
    return ", ".join([*counted, *([plural(others, "related row", "related rows")] if others else [])])


def restore(
    out: Output,
    file: Annotated[Path, typer.Argument(help="A backup file, with its key next to it.", metavar="FILE")],
    config: Config = FILE,
    yes: Annotated[bool, typer.Option("--yes", help="Accept the loss of everything newer than the backup.")] = False,
    other_store: Annotated[
        bool, typer.Option("--other-store", help="Restore even if the backup is of a different state.")
    ] = False,
) -> None:
    from notifications.wording.words import to_the_minute
    from reconcile.cli.opening import load_for_state
    from reconcile.cli.people import person
    from reconcile.journal import ownership
    from reconcile.upkeep import backup as backups
    from reconcile.upkeep import restore as restoring

    with load_for_state(config) as application:
        backups.refuse_unfit(file)
        done = restoring.restore(application.store, file, other_store=other_store, yes=yes, actor=person())
        cleaned = ownership.cleaned(application.project)
        until = to_the_minute(done.backup.until, application.project.timezone)
    if out.json:
        after: JsonObject = {"slots_missed": done.slots_missed, "messages_unknown": done.messages_unknown}
        after |= {"erased_again": done.erased_again, "erased_left": list(done.erased_left)}
        out.emit({"backup": _to_json(done.backup), "epoch": done.epoch, "gone": dict(done.gone)} | after)
        return
    out.say(f"restored to {until}: {_held(done.backup.rows)}")
    if done.gone:
        out.say(f"lost: {_lost(done.gone)}")
    if done.slots_missed:
        out.say(f"waiting due times recorded as missed: {done.slots_missed:,}")
    if done.erased_again:
        out.say(f"erasures newer than the backup, repeated: {done.erased_again:,}")
    for plan in done.erased_left:
        out.say(f"{plan} still holds erased data, because it is in progress: wait until it ends, then erase again")
    if done.messages_unknown:
        out.say(f"messages that may have been sent since; their channels are checked first: {done.messages_unknown:,}")
    if cleaned:
        out.note("Cleanings since the backup are unknown here: `reconcile target` shows the affected sources")


def migrate(
    out: Output,
    config: Config = FILE,
    check: Annotated[bool, typer.Option("--check", help="Only check; exit with 1 if an upgrade is due.")] = False,
    no_backup: Annotated[bool, typer.Option("--no-backup", help="Upgrade without a backup first.")] = False,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.store import REVISION, Store
    from reconcile.upkeep import upgrade

    saved: list[Backup] = []
    with load_for_state(config) as application:
        project = application.project
        _, revision = Store.found_at(project.state.get_secret_value(), project.directory)
        due = revision is not None and revision < REVISION
        application.upgrade = upgrade.without_backup if no_backup else upgrade.back_up_first(saved.append)
        if not check or (revision or "") > REVISION:
            application.store.close()  # opened, it is upgraded; a newer one is refused
    if out.json:
        backup_file = {"backup": str(saved[0].file)} if saved else {}
        out.emit({"from": revision, "to": REVISION, "upgraded": due and not check} | backup_file)
    else:
        out.say(_schema(revision, REVISION, due=due, check=check))
        if saved:
            out.say(f"backup before the upgrade: {saved[0].file}")
    if check and due:
        raise typer.Exit(exits.FOUND)


def _schema(revision: str | None, ours: str, *, due: bool, check: bool) -> str:
    if revision is None:
        return f"no state yet; the first run creates it, schema {ours}" if check else f"new state, schema {ours}"
    if not due:
        return f"schema {revision}, nothing to upgrade"
    return f"schema {revision}, an upgrade to {ours} is due" if check else f"upgraded from schema {revision} to {ours}"


def compact(
    out: Output,
    config: Config = FILE,
    dry_run: DryRun = False,
) -> None:
    from reconcile.cli.opening import load
    from reconcile.cli.people import person
    from reconcile.upkeep import compaction, versions

    with load(config) as application:
        project = application.project
        done = compaction.compact(
            application.memory,
            project.retention,
            undo_window=project.undo_window,
            actor=person(),
            dry_run=dry_run,
        )
        released = versions.release(application.memory, project, application.sources.__getitem__, dry_run=dry_run)
    counts = {**done.counts, **released.reached}
    for source, reason in released.unreached.items():
        out.note(f"Former versions beside the files of source {source!r} could not be counted: {reason}")
    if out.json:
        out.emit({"dry_run": dry_run, "counts": counts})
        return
    if not counts:
        out.say("no data is older than `retention` and `undo_window`")
        return
    for what, count in counts.items():
        out.say(f"{what}: {count:,}")


def seal(out: Output, config: Config = FILE) -> None:
    from notifications.wording.words import plural
    from reconcile.cli.opening import load
    from reconcile.cli.people import person
    from reconcile.upkeep import unsealed

    with load(config) as application:
        done = unsealed.seal(application.memory, actor=person())
        application.anchor()
    if out.json:
        out.emit({"sealed": done.plans, "refused": list(done.refused)})
    else:
        out.say(f"{plural(done.plans, 'plan', 'plans')} sealed")
    if done.refused:
        shown = ", ".join(done.refused[:3]) + (f" and {len(done.refused) - 3} more" if len(done.refused) > 3 else "")
        out.note(f"Not sealed, and not opened: {shown}. The audit log has no record that Reconcile stored these rows")
        raise typer.Exit(exits.FOUND)
