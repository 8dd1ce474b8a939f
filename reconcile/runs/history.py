"""A rule's earlier runs in the state, and what is kept of this one, so that the next reads only changes."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from connectors.base import ContentHashed, Source
from reconcile.audit import log
from reconcile.config.settings import DatasetConfig, IncrementalEntry, Project
from reconcile.detection.bounded import duration_text
from reconcile.detection.contents import contents_of, obstacle
from reconcile.detection.detect import Detected, definition_of
from reconcile.detection.increments import Earlier, entry_of
from reconcile.findings.identity import RuleIdentity
from reconcile.runs.check import ACTOR
from reconcile.store import Store, Transaction, carried, remembered, watermarks
from reconcile.store.watermarks import Watermark
from reconcile.tracking.known_groups import StoredGroups
from rules.groups.scope import Unscoped
from rules.kinds.base import Rule

FORM = 2
"""Raised by a release that stores other findings for the same records and settings: its first runs are full."""


def earlier(
    store: Store,
    project: Project,
    rule: Rule,
    slot: dt.datetime,
    run: str,
    source: Callable[[str], Source],
    *,
    full: bool = False,
) -> Earlier | None:
    """Return what is known of the rule's earlier runs; None if no dataset of it asks for incremental runs.

    `full`: a person asked for a full run.
    """
    entry = entry_of(rule, project.datasets)
    if entry is None:
        return None
    contents = contents_of([project.datasets[name] for name in rule.datasets], source)
    known_runs = _earlier(store, project, rule, entry, slot, run)
    if full and known_runs.why_full is None:
        known_runs = replace(known_runs, why_full="it was asked for", compares=True)
    if contents is None or known_runs.why_full is not None:
        return replace(known_runs, contents=contents)
    return replace(known_runs, contents=contents, why_full=_why_read(project, rule, known_runs))


def _why_read(project: Project, rule: Rule, known_runs: Earlier) -> str | None:
    """Return why unchanged files are read, as a clause."""
    why = obstacle(rule, [project.datasets[name] for name in rule.datasets])
    if why is not None:
        return why
    try:
        return next((finding.due for finding in known_runs.findings.open() if finding.due), None)
    except Unscoped as unscoped:
        return str(unscoped)


def _earlier(
    store: Store, project: Project, rule: Rule, entry: IncrementalEntry, slot: dt.datetime, run: str
) -> Earlier:
    findings = StoredGroups(store, rule.name)
    with store.read() as tx:
        watermark, last_run = watermarks.get(tx, rule.name), carried.last_run(tx, rule.name)
    begun = None if watermark is None else watermark.run
    if last_run is None:
        return Earlier(findings, begun, why_full="it is the rule's first")
    if watermark is None:
        return Earlier(findings, begun, why_full="the last run could not save its position")
    if last_run == run:
        return Earlier(findings, begun, why_full="an earlier attempt of this run updated the findings")
    if last_run != watermark.run:
        return Earlier(findings, begun, why_full="another run updated the findings")
    version, changed = version_of(project, rule), "the rule or its dataset changed"
    if watermark.version.partition(":")[0] != version.partition(":")[0]:
        return Earlier(findings, begun, why_full=changed)
    records = partial(_remembered, store, rule.name, watermark.run)
    current = Earlier(findings, begun, watermark.mark, remembered=records)
    if watermark.version != version:
        return replace(current, why_full=changed, compares=True)
    zone = project.datasets[rule.dataset].timezone
    if is_due(entry, watermark.full_slot, slot, zone):
        return replace(current, why_full=f"a full run is due ({every(entry)})", compares=True)
    return current


def _remembered(store: Store, rule: str, run: str) -> Mapping[str, bytes]:
    """Return what the rule remembers of the records that this run read; nothing if another run followed."""
    with store.read() as tx:
        watermark = watermarks.get(tx, rule)
        return remembered.get(tx, rule) if watermark is not None and watermark.run == run else {}


def keep(
    tx: Transaction,
    project: Project,
    rule: Rule,
    answer: Detected,
    begun: Earlier,
    slot: dt.datetime,
    run: str,
    missed: int,
) -> None:
    """Keep what the findings are up to date with, in the transaction that updates them.

    If another run updated them since this one `begun`, the next run is full.
    """
    mode, watermark = answer.mode, watermarks.get(tx, rule.name)
    is_alone = begun.watermark == (None if watermark is None else watermark.run)
    if mode is None or mode.mark is None or not is_alone:
        watermarks.forget(tx, rule.name)
        return
    version = version_of(project, rule)
    if mode.name == "full" or watermark is None:
        watermarks.keep(tx, Watermark(rule.name, version, mode.mark, run, slot, missed=missed))
        if missed:
            log.append(tx, ACTOR, "rule.missed", rule.name, {"run": run, "rule": rule.name, "findings": missed})
    else:
        newer = replace(watermark, mark=mode.mark, run=run, increments=watermark.increments + 1)
        watermarks.keep(tx, newer)
    remembered.keep(tx, rule.name, rule.dataset, answer.remembered, all_of_them=mode.name == "full")


def version_of(project: Project, rule: Rule) -> str:
    """Return a hash of what decides which groups a run finds, a colon, and a hash of all that decides what it stores.

    After a change of either, a run is full. If the first is the same, it finds what incremental runs missed.
    """
    datasets = [project.datasets[name] for name in rule.datasets]
    identity = RuleIdentity.of(rule, dataset_definition=definition_of(datasets))
    settings = rule.model_dump(mode="json", by_alias=True, exclude={"examples"})
    deciding = [FORM, identity.definition, [_deciding(dataset) for dataset in datasets]]
    return f"{_hash(deciding)}:{_hash([settings, [_facts(dataset) for dataset in datasets]])}"


def _hash(facts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def _deciding(dataset: DatasetConfig) -> list[Any]:
    """Return what decides which records of the dataset a run compares, and which of them it takes for changed."""
    entry = dataset.incremental
    read = [dataset.name, dataset.source, dataset.id, dataset.timezone, dataset.settings.model_dump(mode="json")]
    return [*read, entry and [entry.by, entry.overlap]]


def _facts(dataset: DatasetConfig) -> list[Any]:
    models = (dataset.money, dataset.holidays, dataset.incremental)
    displayed = [dataset.displayed] if dataset.displayed else []
    return [*(model and model.model_dump(mode="json") for model in models), *displayed]


def is_due(entry: IncrementalEntry, last: dt.datetime, slot: dt.datetime, zone: str) -> bool:
    """Return True if the run of this slot must read all records, after a full run of the slot `last`.

    `daily` and `weekly` are days and weeks (from Monday) of the zone's calendar.
    """
    if isinstance(entry.full, dt.timedelta):
        return slot - last >= entry.full
    then, now = (moment.astimezone(ZoneInfo(zone)).date() for moment in (last, slot))
    return now > then if entry.full == "daily" else now.isocalendar()[:2] > then.isocalendar()[:2]


def in_words(entry: IncrementalEntry, source: Source) -> str:
    """Return what runs read, as a sentence."""
    if isinstance(source, ContentHashed):
        return f"files are read only after a change, and {every(entry)}"
    return f"runs read the records that changed by `{entry.by}`, and all records {every(entry)}"


def every(entry: IncrementalEntry) -> str:
    """Return how often a run reads all records, in words."""
    return entry.full if isinstance(entry.full, str) else f"every {duration_text(entry.full)}"
