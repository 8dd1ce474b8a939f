"""Runs in the store: their rows, checkpoints, record counts and failures."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from reconcile.documents import JsonObject
from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.tables import dataset_stats, failures, releases, rule_state, run_rules, runs


@dataclass(frozen=True)
class RunRow:
    """One run. `summary` is its report once it has ended."""

    id: str
    job: str
    slot: dt.datetime
    release: str
    trigger: str
    status: str
    attempt: int
    started: dt.datetime
    finished: dt.datetime | None
    summary: Any


@dataclass(frozen=True)
class EarlierCounts:
    """The counts of a run for a rule. `skipped` are records that were not compared, or hold values it cannot read."""

    read: int
    scanned: int
    skipped: int
    groups: int


def keep_release(tx: Transaction, release: str, config: Any, files: Mapping[str, str] | None = None) -> None:
    """Store a configuration by its hash, once; missing texts are added, in their order."""
    kept = tx.connection.execute(_KNOWN_RELEASE, {"release": release}).one_or_none()
    if kept is not None and (kept.has_files or files is None):
        return
    insert = insert_for(tx, releases)
    statement = insert.on_conflict_do_update(index_elements=["hash"], set_={"files": insert.excluded.files})
    pairs = None if files is None else [[path, text] for path, text in files.items()]
    row = {"hash": release, "config": config, "first_seen": tx.now, "files": pairs}
    tx.connection.execute(statement, row)


def get(tx: Transaction, run: str) -> RunRow | None:
    row = tx.connection.execute(sa.select(*_RUN).where(runs.c.id == run)).one_or_none()
    return None if row is None else RunRow(*row)


def listed(tx: Transaction, job: str | None, limit: int) -> list[RunRow]:
    """Return the latest runs, newest first."""
    query = sa.select(*_RUN).order_by(runs.c.started.desc(), runs.c.id).limit(limit)
    if job is not None:
        query = query.where(runs.c.job == job)
    return [RunRow(*row) for row in tx.connection.execute(query)]


def start(tx: Transaction, run: str, job: str, slot: dt.datetime, release: str, trigger: str, fence: int) -> int:
    """Start a run, or restart it after it failed or its worker died; return the attempt, from 1."""
    earlier = get(tx, run)
    if earlier is None:
        row = {"id": run, "job": job, "slot": slot, "release": release, "trigger": trigger, "status": "running"}
        tx.connection.execute(sa.insert(runs).values(row | {"attempt": 1, "fence": fence, "started": tx.now}))
        return 1
    again = {"status": "running", "release": release, "attempt": earlier.attempt + 1, "fence": fence, "finished": None}
    tx.connection.execute(sa.update(runs).where(runs.c.id == run).values(again))
    return earlier.attempt + 1


def interrupt_others(tx: Transaction, job: str, run: str) -> list[RunRow]:
    """Mark the runs of dead workers of this job as interrupted; the caller holds the job's lease."""
    orphans = sa.update(runs).where(runs.c.job == job, runs.c.id != run, runs.c.status == "running")
    interrupted = orphans.values(status="interrupted", finished=tx.now).returning(*_RUN)
    return [RunRow(*row) for row in tx.connection.execute(interrupted)]


def is_running(tx: Transaction, job: str) -> bool:
    """Return True if a run of the job began and did not end, perhaps since its process was killed."""
    query = sa.select(runs.c.id).where(runs.c.job == job, runs.c.status == "running").limit(1)
    return tx.connection.execute(query).first() is not None


def never_ended(tx: Transaction, job: str) -> list[str]:
    """Return the job's runs killed since the last one ended, oldest first: their results were never reported."""
    of_job = runs.c.job == job
    over = sa.select(sa.func.max(runs.c.started, type_=runs.c.started.type)).where(of_job, runs.c.status.in_(_ENDED))
    query = sa.select(runs.c.id).where(of_job, runs.c.status == "interrupted").order_by(runs.c.started, runs.c.id)
    if (last := tx.connection.execute(over).scalar()) is not None:
        query = query.where(runs.c.started > last)
    return list(tx.connection.execute(query).scalars())


def finish(tx: Transaction, run: str, status: str, summary: Mapping[str, Any]) -> None:
    values = {"status": status, "finished": tx.now, "summary": dict(summary)}
    tx.connection.execute(sa.update(runs).where(runs.c.id == run).values(values))


def slot_before(tx: Transaction, job: str, slot: dt.datetime) -> dt.datetime | None:
    """Return the slot of the job's previous run that ended."""
    query = sa.select(sa.func.max(runs.c.slot, type_=runs.c.slot.type)).where(
        runs.c.job == job, runs.c.slot < slot, runs.c.finished.is_not(None)
    )
    latest: dt.datetime | None = tx.connection.execute(query).scalar()
    return latest


def outcomes_before(tx: Transaction, job: str, slot: dt.datetime) -> list[JsonObject]:
    """Return the outcomes of rules in the job's previous slot; empty if that run has not ended."""
    query = sa.select(runs.c.summary).where(runs.c.job == job, runs.c.slot < slot)
    summary = tx.connection.execute(query.order_by(runs.c.slot.desc()).limit(1)).scalar_one_or_none()
    return list((summary or {}).get("rules", ()))


def checkpoints(tx: Transaction, run: str) -> dict[str, JsonObject]:
    """Return the outcome of each rule of the run that succeeded: these are not run again."""
    query = sa.select(run_rules.c.rule, run_rules.c.outcome).where(run_rules.c.run == run, run_rules.c.status == "done")
    return {row.rule: row.outcome for row in tx.connection.execute(query)}


def scanned_since(tx: Transaction, run: str, since: dt.datetime) -> dict[str, int]:
    """Return how many records each rule of the run scanned, for those that succeeded at this time or later."""
    query = sa.select(run_rules.c.rule, run_rules.c.outcome).where(
        run_rules.c.run == run, run_rules.c.status == "done", run_rules.c.finished >= since
    )
    return {row.rule: row.outcome.get("scanned", 0) for row in tx.connection.execute(query)}


def checkpoint(tx: Transaction, run: str, rule: str, status: str, outcome: Mapping[str, Any]) -> None:
    insert = insert_for(tx, run_rules)
    newer = {name: insert.excluded[name] for name in ("status", "outcome", "finished")}
    row = {"run": run, "rule": rule, "status": status, "outcome": dict(outcome), "finished": tx.now}
    tx.connection.execute(insert.on_conflict_do_update(index_elements=["run", "rule"], set_=newer), row)


def take_turns(tx: Transaction, rules: Sequence[str]) -> None:
    """Serialise runs that report the same rule, so that each sees what the previous one reported."""
    states = sa.select(rule_state.c.rule).where(rule_state.c.rule.in_(rules)).order_by(rule_state.c.rule)
    tx.connection.execute(states.with_for_update())


def keep_seen(tx: Transaction, run: str, dataset: str, rule: str, seen: EarlierCounts) -> None:
    insert = insert_for(tx, dataset_stats).on_conflict_do_nothing()
    row = {"dataset": dataset, "rule": rule, "run": run, "at": tx.now}
    tx.connection.execute(insert, row | asdict(seen))


def seen_before(tx: Transaction, dataset: str, rule: str, run: str, limit: int = 3) -> list[EarlierCounts]:
    """Return the counts of the latest other runs for the rule, newest first."""
    query = (
        sa.select(*(dataset_stats.c[name] for name in EarlierCounts.__dataclass_fields__))
        .where(dataset_stats.c.dataset == dataset, dataset_stats.c.rule == rule, dataset_stats.c.run != run)
        .order_by(dataset_stats.c.at.desc())
        .limit(limit)
    )
    return [EarlierCounts(*row) for row in tx.connection.execute(query)]


def last_seen(tx: Transaction, dataset: str, rule: str) -> dt.datetime | None:
    """Return when counts were stored last for the rule; None if never."""
    of_rule = (dataset_stats.c.dataset == dataset, dataset_stats.c.rule == rule)
    latest: dt.datetime | None = tx.connection.execute(
        sa.select(sa.func.max(dataset_stats.c.at)).where(*of_rule)
    ).scalar()
    return latest


def accept_unlikely(tx: Transaction, rule: str) -> bool:
    """Store the counts that the rule's last run refused, so that the next one compares with them.

    Return False if the last run refused none.
    """
    query = sa.select(run_rules.c.run, run_rules.c.status, run_rules.c.outcome).where(run_rules.c.rule == rule)
    last = tx.connection.execute(query.order_by(run_rules.c.finished.desc()).limit(1)).one_or_none()
    if last is None or last.status != "failed":
        return False
    refused = last.outcome.get("unlikely", {})
    for dataset, counts in refused.items():
        keep_seen(tx, last.run, dataset, rule, EarlierCounts(*counts))
    return bool(refused)


def ever_passed(tx: Transaction, dataset: str, rule: str) -> bool:
    """Return True if in any run a record passed the rule's `where`."""
    conditions = (dataset_stats.c.dataset == dataset, dataset_stats.c.rule == rule, dataset_stats.c.scanned > 0)
    return bool(tx.connection.execute(sa.select(sa.exists().where(*conditions))).scalar())


def failing(tx: Transaction, job: str) -> dict[str, tuple[str, dt.datetime]]:
    """Return the failures at the end of the job's last run: subject to sentence and start."""
    query = sa.select(failures.c.subject, failures.c.sentence, failures.c.since).where(failures.c.job == job)
    return {row.subject: (row.sentence, row.since) for row in tx.connection.execute(query)}


def keep_failure(tx: Transaction, job: str, subject: str, sentence: str, run: str) -> None:
    insert = insert_for(tx, failures)
    newer = {name: insert.excluded[name] for name in ("sentence", "last_run")}
    row = {"job": job, "subject": subject, "sentence": sentence, "since": tx.now, "first_run": run, "last_run": run}
    tx.connection.execute(insert.on_conflict_do_update(index_elements=["job", "subject"], set_=newer), row)


def end_failure(tx: Transaction, job: str, subject: str) -> None:
    tx.connection.execute(sa.delete(failures).where(failures.c.job == job, failures.c.subject == subject))


_ENDED = ("succeeded", "failed")
_RUN = tuple(
    runs.c[name]
    for name in ("id", "job", "slot", "release", "trigger", "status", "attempt", "started", "finished", "summary")
)
_KNOWN_RELEASE = (
    sa.select(releases.c.files.is_not(None).label("has_files"))
    .where(releases.c.hash == sa.bindparam("release"))
    .with_for_update(read=True, key_share=True)  # prevents its deletion before the run that needs it exists
)
