"""Checks of pending work: the scheduler, delays, pauses and troubles."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from notifications.wording import words
from notifications.wording.words import plural, to_the_minute
from reconcile.app import Application
from reconcile.audit import anchoring
from reconcile.coordination import lease, pauses
from reconcile.doctor.diagnosis import Diagnosis
from reconcile.findings.states import PlanState
from reconcile.journal import breaker, limits
from reconcile.schedule.schedules import tzdata_version
from reconcile.store import Transaction, breakers, outbox, plans, slots, troubles, watermarks
from rules.kinds import BY_LIKENESS

WAITS = dt.timedelta(minutes=10)
"""The delay after which a waiting run is reported."""
UNSENT = dt.timedelta(hours=1)
"""The delay after which a waiting message is reported."""
_ADVICE = "check that `by` of `incremental` is set by every change, or raise its `overlap`"


def increments(application: Application, tx: Transaction) -> Iterator[Diagnosis]:
    """Report what incremental runs missed, as the last full run found."""
    for watermark in watermarks.every(tx):
        rule = application.project.rules.get(watermark.rule)
        if rule is not None and watermark.missed:
            missed = plural(watermark.missed, "finding", "findings")
            full = to_the_minute(watermark.full_slot, application.project.timezone)
            sentence = f"the full run of {full} found {missed} that incremental runs had missed; {_ADVICE}"
            if rule.kind == BY_LIKENESS:
                sentence += f"; a few are usual for kind `{BY_LIKENESS}`, because only full runs count all values anew"
            yield Diagnosis(f"rule {watermark.rule}", "warning", sentence)


def scheduling(application: Application, tx: Transaction) -> Iterator[Diagnosis]:
    if all(job.schedule is None for job in application.project.jobs.values()):
        return
    owner = lease.holder(tx, "scheduler")
    if owner is not None:
        yield Diagnosis("scheduler", "ok", f"running in {owner}")
    elif (silent := lease.silent_owner(tx, "scheduler")) is not None:
        since = to_the_minute(silent[1], application.project.timezone)
        sentence = (
            f"{silent[0]} runs but has saved nothing since {since}: no job will start until it can write the state; "
            "`reconcile doctor` checks the disk, and the log of `serve` has the reason"
        )
        yield Diagnosis("scheduler", "error", sentence)
    elif slots.schedule_rows(tx):
        sentence = "no scheduler is running: no job will start; start `reconcile serve`"
        yield Diagnosis("scheduler", "warning", sentence)
    else:
        sentence = "`reconcile serve` has never run on this state; jobs run by hand, by cron or by a timer"
        yield Diagnosis("scheduler", "ok", sentence)


def queue(_application: Application, tx: Transaction) -> Iterator[Diagnosis]:
    oldest = slots.oldest_due(tx)
    if oldest is not None and tx.now - oldest > WAITS:
        waited = f"{(tx.now - oldest).total_seconds() / 60:,.0f} minutes"
        sentence = f"a run has waited {waited}; check that `reconcile serve` is running, `max_parallel` and pauses"
        yield Diagnosis("queue", "warning", sentence)
    else:
        yield Diagnosis("queue", "ok", "no run is overdue")


def dead_workers(_application: Application, tx: Transaction) -> Iterator[Diagnosis]:
    for row in slots.running(tx):
        owner = lease.Owner.from_json(row.owner)
        if lease.is_dead(tx, owner, row.lease_until):
            sentence = f"its run was abandoned by {owner}, which is gone; `reconcile serve` or --worker takes it over"
            yield Diagnosis(f"job {row.job}", "warning", sentence)


def time_zones(_application: Application, tx: Transaction) -> Iterator[Diagnosis]:
    current = tzdata_version()
    for version in slots.tzdata_of_due(tx):
        if version != current:
            sentence = f"due times were computed with {version}, but this host has {current}; give all hosts the same"
            yield Diagnosis("time zones", "warning", sentence)


def messages(application: Application, tx: Transaction) -> Iterator[Diagnosis]:
    kinds = {
        "failed": outbox.by_channel(tx, "failed"),
        "with an unknown outcome": outbox.by_channel(tx, "unknown"),
        "not sent yet, will be retried": outbox.by_channel(tx, *outbox.WAITING, has_problem=True),
        "waiting for over an hour": outbox.by_channel(
            tx, *outbox.WAITING, has_problem=False, queued_before=tx.now - UNSENT
        ),
    }
    any_unsent = False
    for kind, count in ((kind, count) for kind, counts in kinds.items() for count in counts):
        any_unsent = True
        why = f" ({count.problem})" if count.problem else ""
        sentence = f"{plural(count.count, 'message', 'messages')} {kind}{why}"
        sentence += f"; `reconcile messages` lists them, `reconcile notify test {count.channel}` tests the channel"
        yield Diagnosis(f"channel {count.channel}", "warning", sentence)
    for message in outbox.listed(tx, "queued"):
        if message.is_held(tx.now):
            until = words.moment(message.next_at, application.project.timezone)
            yield Diagnosis(f"channel {message.channel}", "ok", f"a message is held until {until} ({message.held})")
    if not any_unsent:
        yield Diagnosis("messages", "ok", "none failed, none is delayed")


def anchors(application: Application, tx: Transaction) -> Iterator[Diagnosis]:
    """Report how far each anchor of the audit log reaches, and since when one fails."""
    for name in application.anchors:
        anchor = anchoring.state(tx, name)
        if anchor.problem is not None:
            yield Diagnosis(f"anchor {name}", "warning", f"the audit log is not anchored. {anchor.sentence}")
        elif anchor.until:
            yield Diagnosis(f"anchor {name}", "ok", f"it holds the audit log up to entry {anchor.until:,}")


def ongoing_troubles(application: Application, tx: Transaction) -> Iterator[Diagnosis]:
    shown_by_anchors = {f"anchor:{name}" for name in application.anchors}
    for trouble in troubles.ongoing(tx):
        if trouble.subject in shown_by_anchors:
            continue
        since = f"since {trouble.since:%d %b %Y %H:%M} UTC"
        yield Diagnosis(f"trouble {trouble.subject}", "warning", f"{trouble.in_one_line} ({since})")


def cleaning(application: Application, tx: Transaction) -> Iterator[Diagnosis]:
    """Find cleaning that waits for a person."""
    any_problem = False
    if unknown := plans.counts(tx).get(PlanState.QUARANTINED, 0):
        any_problem = True
        sentence = f"{plural(unknown, 'cleaning has', 'cleanings have')} an unknown outcome; see `reconcile quarantine`"
        yield Diagnosis("quarantine", "warning", sentence)
    circuits = breakers.not_closed(tx)
    sources, idle = breaker.sources(tx, circuits), breaker.idle(tx, circuits)
    for circuit in circuits:
        if circuit.target in idle:
            continue
        any_problem = True
        sentence = f"no changes are written to it now: {breaker.reason(tx, circuit.target) or 'it will be retried'}"
        yield Diagnosis(f"source {sources.get(circuit.target, circuit.target)}", "warning", sentence)
    for scope, why in limits.stops(tx).items():
        any_problem = True
        yield Diagnosis(f"cleaning of {scope}", "warning", why.rstrip("."))
    if not any_problem and any(rule.clean is not None for rule in application.project.rules.values()):
        yield Diagnosis("cleaning", "ok", "nothing is quarantined or stopped")


def stopped(_application: Application, tx: Transaction) -> Iterator[Diagnosis]:
    for subject, pause in pauses.active(tx).items():
        yield Diagnosis(f"pause of {subject}", "warning", pause.sentence)
