"""Checks for settings that are allowed but seldom intended."""

from __future__ import annotations

import contextlib
import datetime as dt
import importlib.util
import itertools
import os
from collections.abc import Iterator

from connectors.errors import ConnectorError
from notifications.wording.words import plural
from reconcile.app import Application
from reconcile.config.settings import JobConfig
from reconcile.doctor.diagnosis import Diagnosis
from reconcile.schedule.schedules import Schedule
from reconcile.telemetry import traces
from reconcile.upkeep import versions
from rules.models import parse_duration

_LOOK_AHEAD = 100


def configuration(application: Application) -> Iterator[Diagnosis]:
    if application.fallback is not None:
        for problem in application.fallback.problems:
            yield Diagnosis("configuration", "error", str(problem))
        yield Diagnosis("configuration", "warning", application.fallback.used)
        return
    for problem in application.project.warnings:
        yield Diagnosis("configuration", "warning", str(problem))
    if not application.project.warnings:
        yield Diagnosis("configuration", "ok", f"release {application.project.release[:12]}, no warnings")


def expectations(application: Application) -> Iterator[Diagnosis]:
    """Find automatic jobs whose failure would go unnoticed."""
    for job in application.project.jobs.values():
        if job.schedule is None and not job.after and not job.watch:
            continue
        missing = []
        if job.success_within is None:
            missing.append("without `success_within`, nobody is notified if it stops succeeding")
        if not job.notify:
            missing.append("without `notify`, nobody is notified of its findings")
        if missing:
            yield Diagnosis(f"job {job.name}", "warning", "; ".join(missing))


def jitters(application: Application) -> Iterator[Diagnosis]:
    for job in application.project.jobs.values():
        if job.schedule is not None and job.schedule.jitter:
            shortest = _shortest_gap(job.schedule)
            if shortest is not None and job.schedule.jitter > shortest:
                sentence = (
                    f"its jitter of {job.schedule.jitter} exceeds the {shortest} between two due times, so runs can "
                    "overtake each other; shorten the jitter"
                )
                yield Diagnosis(f"job {job.name}", "warning", sentence)


def _shortest_gap(schedule: Schedule) -> dt.timedelta | None:
    """Return the shortest gap between the next due times."""
    times: list[dt.datetime] = []
    after = dt.datetime.now(dt.UTC)
    while len(times) < _LOOK_AHEAD and (slot := schedule.following(after)) is not None:
        times.append(slot.at)
        after = slot.at
    return min((later - earlier for earlier, later in itertools.pairwise(times)), default=None)


def increments(application: Application) -> Iterator[Diagnosis]:
    """Find rules that read all records in every run although their dataset asks for incremental runs."""
    from reconcile.detection import detect  # noqa: PLC0415 - `status` needs no engines
    from reconcile.detection import increments as detection  # noqa: PLC0415 - see above
    from reconcile.detection.subject import subjects_of  # noqa: PLC0415 - see above
    from reconcile.runs.history import in_words  # noqa: PLC0415 - see above

    project = application.project
    for rule in project.rules.values():
        entry = detection.entry_of(rule, project.datasets)
        if entry is None:
            continue
        with contextlib.suppress(ConnectorError, detect.RuleDoesNotFit):  # `sources` reports it
            subjects = subjects_of(rule, application.subject)
            obstacle = detection.any_obstacle(rule, detect.fit(rule, subjects), subjects)
            if obstacle is None:
                source = subjects[rule.dataset].source
                yield Diagnosis(f"rule {rule.name}", "ok", in_words(entry, source))
            else:
                yield Diagnosis(f"rule {rule.name}", "warning", f"every run is full, because {obstacle}")


def time_outs(application: Application) -> Iterator[Diagnosis]:
    """Find sources whose statements may run longer than their rule."""
    project = application.project
    for source in project.sources.values():
        written = getattr(source.settings, "statement_timeout", None)
        if written is None:
            continue
        allowed = parse_duration(written)
        for job in project.jobs.values():
            if job.time_limit < allowed and _reads(application, job, source.name):
                sentence = (
                    f"its statement_timeout of {allowed} exceeds the time_limit of job {job.name}, {job.time_limit}, "
                    "which ends the statement first; shorten it"
                )
                yield Diagnosis(f"source {source.name}", "warning", sentence)


def _reads(application: Application, job: JobConfig, source: str) -> bool:
    project = application.project
    datasets = (dataset for rule in job.rules for dataset in project.rules[rule].datasets)
    return any(project.datasets[dataset].source == source for dataset in datasets)


def former_versions(application: Application) -> Iterator[Diagnosis]:
    """Tell how much is kept beside cleaned files; a source that is out of reach is reported by itself."""
    kept = versions.kept(application.project, application.sources.__getitem__)
    if kept.versions:
        number = plural(kept.versions, "former version", "former versions")
        sentence = f"{number} of cleaned files, {kept.size / 1_000_000:,.1f} MB, kept until `undo_window` is over"
        yield Diagnosis("files", "ok", sentence)


def tracing(application: Application) -> Iterator[Diagnosis]:
    if not traces.wanted(application.project.traces, os.environ):
        return
    try:
        is_installed = all(importlib.util.find_spec(module) for module in traces.MODULES)
    except ModuleNotFoundError:
        is_installed = False
    if is_installed:
        yield Diagnosis("traces", "ok", "OpenTelemetry is installed")
    else:
        sentence = "enabled, but OpenTelemetry is not installed: pip install 'reconcile-runner[otel]'"
        yield Diagnosis("traces", "warning", sentence)
