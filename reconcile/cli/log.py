"""`audit`, `audit verify`, `audit export`, `audit key`, `erase`: the audit log and its verification."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli import exits
from reconcile.cli.output import FILE, Config, Output
from reconcile.cli.progress import working
from reconcile.documents import JsonObject

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.audit.proof import Proof
    from reconcile.store.audit_log import LogEntry
    from reconcile.upkeep.erasure import Erased, ErasureRequest


def register(app: typer.Typer) -> None:
    about = "List, verify or export the audit log."
    group = typer.Typer(help=about, invoke_without_command=True, rich_markup_mode=None)
    group.callback()(listing)
    group.command(help="Verify the log, its signatures, its anchors and the state. Exit with 1 at the first problem.")(
        verify
    )
    group.command(help="Export the whole log and a verifier to a new folder or .zip file.")(export)
    group.command(help="Print the public key that verifies the log's signatures.")(key)
    app.add_typer(group, name="audit")
    app.command(help="Erase a record's personal data from the state and log it.")(erase)


def listing(
    context: typer.Context,
    out: Output,
    config: Config = FILE,
    finding: Annotated[
        str | None, typer.Option("--finding", help="Only entries about this finding.", metavar="ID")
    ] = None,
    run: Annotated[str | None, typer.Option("--run", help="Only entries of this run.", metavar="ID")] = None,
    event: Annotated[
        str | None,
        typer.Option("--event", help="Only this event, like run.finished, or this kind, like finding.", metavar="NAME"),
    ] = None,
) -> None:
    if context.invoked_subcommand is not None:
        return
    from notifications.wording.words import to_the_second
    from reconcile.audit import log
    from reconcile.cli.opening import load_for_state
    from reconcile.store.findings import name_of

    with load_for_state(config) as application, application.memory.read() as tx:
        about = None if finding is None else name_of(tx, finding)
        entries = log.entries(tx, finding=about, run=run, event=event)
        if out.json:
            out.stream(map(_to_json, entries))
            return
        entry = None
        for entry in entries:
            fields = {"erased": "yes"} if entry.body is None else entry.body
            body = " ".join(f"{name}={value}" for name, value in fields.items() if value is not None)
            at = to_the_second(entry.at, application.project.timezone)
            out.say(f"{entry.seq}  {at}  {entry.actor}  {entry.event}  {body}".rstrip())
        if entry is None:
            out.note("No matching log entries.")


def _to_json(row: LogEntry) -> JsonObject:
    entry = {"seq": row.seq, "at": row.at.isoformat(), "actor": row.actor, "event": row.event}
    return entry | {"body": row.body, "head": row.head}


def verify(out: Output, config: Config = FILE) -> None:
    from reconcile.audit import proof
    from reconcile.cli.opening import load_for_state

    with load_for_state(config) as application, working(out, "verifying the audit log"):
        result = proof.prove(application.memory, application.anchors)
    if out.json:
        out.emit(_proof_to_json(result))
    else:
        _say(out, result)
    if not result.intact:
        raise typer.Exit(exits.FOUND)


def _proof_to_json(result: Proof) -> JsonObject:
    from reconcile.audit import facts

    broken = result.problem
    problem = {"seq": broken and broken.seq, "until": broken and broken.until, "problem": broken and broken.sentence}
    anchors = [
        {"anchor": anchor.name, "heads": anchor.heads, "until": anchor.last, "problem": anchor.problem}
        for anchor in result.anchors
    ]
    summary = {"intact": result.intact, "entries": result.entries, "head": result.head, "public_key": result.public_key}
    covered = {"signed": result.signed, "anchored": result.anchored, "anchors": anchors}
    return summary | problem | covered | {"remarks": list(result.remarks), "not_compared": facts.left_out()}


def _say(out: Output, result: Proof) -> None:
    from reconcile.audit import facts

    if result.problem is not None:
        where = result.problem.seq
        last = result.problem.until
        at = f"entries {where:,} to {last:,}" if last and last != where else f"entry {where:,}"
        out.say(f"broken at {at}: {result.problem.sentence}")
    else:
        out.say(f"{result.entries:,} entries, intact; the head is {result.head}")
        out.say(f"signed up to entry {result.signed:,}; the state matches the log")
    for anchor in result.anchors:
        out.say(anchor.problem or f"anchor {anchor.name}: {anchor.heads:,} heads, up to entry {anchor.last:,}")
    for remark in result.remarks:
        out.say(remark)
    if result.intact:
        out.note(f"Not compared with the log: {'; '.join(facts.left_out_in_words())}")
    if result.intact and result.entries > result.anchored:
        if result.anchors:
            out.note(f"Entries after {result.anchored:,} are not anchored: they could be removed unnoticed")
        else:
            out.note(
                "No anchor is configured: a user who can write the state could truncate or rebuild the log unnoticed"
            )


def export(
    out: Output,
    place: Annotated[Path, typer.Argument(help="A new folder, or a new file that ends in .zip.", metavar="PLACE")],
    config: Config = FILE,
) -> None:
    from reconcile.audit import exporting
    from reconcile.cli.opening import load_for_state

    with load_for_state(config) as application, working(out, "exporting the audit log"):
        application.anchor()  # so that due anchors cover the export
        done = exporting.export(application.memory, place, application.anchors)
    if out.json:
        summary = {"place": str(done.place), "entries": done.entries, "head": done.head}
        out.emit(summary | {"public_key": done.public_key, "unread": dict(done.unread)})
        return
    out.say(f"{done.place}: {done.entries:,} entries, up to head {done.head}")
    for sentence in done.unread.values():
        out.note(sentence)
    out.note("To verify it, run python -I verify.py in it, with the key and anchors named in its README")


def key(out: Output, config: Config = FILE) -> None:
    from reconcile.audit import checkpoints
    from reconcile.cli.opening import load_for_state

    with load_for_state(config) as application:
        store = application.memory
        public = checkpoints.public_key(store)
    if out.json:
        out.emit({"store": store.id, "public_key": public})
    else:
        out.say(f"{public}  {store.id}")


def erase(
    out: Output,
    dataset: Annotated[str, typer.Argument(help="The record's dataset.", metavar="DATASET")],
    record: Annotated[
        list[str] | None, typer.Option("--id", help="The record's id; repeat it for each id column.", metavar="ID")
    ] = None,
    column: Annotated[
        str | None, typer.Option("--column", help="Instead of --id: a column of the records to erase.", metavar="NAME")
    ] = None,
    value: Annotated[str | None, typer.Option("--value", help="The value of that column.", metavar="TEXT")] = None,
    config: Config = FILE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be erased.")] = False,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.cli.people import person
    from reconcile.upkeep import erasure, versions

    if (record is None) == (column is None) or (column is None) != (value is None):
        raise typer.BadParameter("name a record by --id, or by --column and --value")
    with load_for_state(config) as application:
        wanted, texts = _wanted(application, dataset, record, column, value)
        store, project = application.memory, application.project
        done = erasure.erase(store, wanted, texts=texts, dry_run=True)
        if column is not None and not done.anything:
            _require_column(application, dataset, column)
        if done.left and not dry_run:
            raise erasure.ErasureWaits(done.left)
        rows = erasure.removed_rows(store, wanted, texts)  # the state forgets them
        beside = versions.erase(project, application.sources.__getitem__, dataset, rows, dry_run=dry_run)
        if not dry_run:
            done = erasure.erase(store, wanted, texts=texts, actor=person(), beside=beside.reached)
            application.anchor()
    reached = {**done.reached, **beside.reached}
    if out.json:
        erased = {"erasure": done.id or None, "dry_run": dry_run, "reached": reached}
        out.emit({**erased, "unreached": dict(beside.unreached)})
        return
    _tell_erased(out, replace(done, reached=reached), beside.unreached, dry_run=dry_run)


def _wanted(
    application: Application, dataset: str, record: list[str] | None, column: str | None, value: str | None
) -> tuple[ErasureRequest, tuple[str, ...]]:
    from reconcile.upkeep import erasure

    application.require("dataset", dataset, tuple(application.project.datasets))
    chosen, store = application.project.datasets[dataset], application.memory
    if record is None:
        assert column is not None and value is not None  # noqa: PT018, S101 - the caller looked
        return erasure.of_value(store, dataset, column, value), (value,)
    if chosen.id and len(record) != len(chosen.id):
        raise typer.BadParameter(f"a record of {dataset} is identified by {', '.join(chosen.id)}", param_hint="--id")
    with store.read() as tx:
        name = erasure.named(tx, dataset, record)
    return erasure.of_record(store, dataset, name, chosen.pii), ()


def _require_column(application: Application, dataset: str, column: str) -> None:
    """Refuse a misspelt column if nothing was found; the name of a removed column may still hold data."""
    from connectors.errors import ConnectorError
    from rules.document.mistakes import suggestion

    with contextlib.suppress(ConnectorError):
        relation = application.subject(dataset).relation
        columns = (*relation.schema.names, *relation.derived)
        if column not in columns:
            wrong = (
                f"dataset {dataset} has no column `{column}`, and the state keeps none of it; "
                f"{suggestion(column, columns)}"
            )
            raise typer.BadParameter(wrong, param_hint="--column")


def _tell_erased(out: Output, done: Erased, unreached: Mapping[str, str], *, dry_run: bool) -> None:
    from reconcile.upkeep import erasure

    if not done.anything:
        out.say("the state has no data about it")
    for what, count in done.reached.items():
        out.say(f"{what}: {count:,}")
    if dry_run and done.left:
        out.note(f"A cleaning of it is pending or running: {', '.join(done.left)}")
    for source, reason in unreached.items():
        out.note(f"What is kept beside the files of source {source!r} was not erased: {reason}. Then erase again")
    out.note(f"Not reached: {'; '.join(erasure.NOT_REACHED)}")
