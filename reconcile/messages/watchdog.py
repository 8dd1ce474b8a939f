"""Alarms for missing successes: calls to an external watchdog after each success, and reports of late jobs.

The watchdog is for a dead host: an external service that alarms when it is not called in time. Its address is a secret
and never appears in a sentence. Late jobs are those whose schedule, cron or source is broken while `serve` still runs.
This module also reports failing anchors of the audit log, and targets that accept no changes.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from notifications.errors import AddressRefused, ChannelError, ChannelUnreachable
from notifications.http import HttpLimits, get
from notifications.wording import words
from reconcile.config.settings import JobConfig, Project
from reconcile.coordination import clock as clocks
from reconcile.coordination import pauses
from reconcile.journal import breaker
from reconcile.messages import troubles
from reconcile.store import Store, Transaction, breakers
from reconcile.store import triggers as stored
from reconcile.store import troubles as stored_troubles
from reconcile.store.triggers import Expectation

DEADLINE = 10.0
TRIES = 3
_PAUSE = 1.0
_PASSING = {408, 425, 429}
_UNITS = ((604_800, "w"), (86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


# Outside


@dataclass(frozen=True)
class _Problem:
    """The reason why a call failed; `may_pass` means that a retry may work."""

    sentence: str
    may_pass: bool


def call(job: JobConfig, *, sleep: Callable[[float], None] = time.sleep, deadline: float = DEADLINE) -> str | None:
    """Report a success to the job's watchdog, in at most three tries and `deadline` seconds; return why it failed.

    Return None on success, or without a watchdog. A failed call does not make the run fail, so nothing is raised.
    """
    if job.heartbeat is None:
        return None
    until = time.monotonic() + deadline
    problem = _Problem("no time was left", may_pass=False)
    tries = 0
    while tries < TRIES and (remaining := until - time.monotonic()) > 0:
        tries += 1
        failure = _try(job, job.heartbeat, remaining)
        if failure is None:
            return None
        problem = failure
        if not problem.may_pass:
            break
        if tries < TRIES:
            sleep(min(_PAUSE, max(until - time.monotonic(), 0)))
    times = words.plural(tries, "try", "tries")
    return f"The watchdog of job {job.name!r} did not receive this success ({times}): {problem.sentence}"


def _try(job: JobConfig, address: SecretStr, seconds: float) -> _Problem | None:
    limits = HttpLimits(job.heartbeat_allow, connect=seconds / 2, total=seconds / 2)
    try:
        answer = get("heartbeat", address.get_secret_value(), {"User-Agent": "reconcile"}, limits)
    except AddressRefused:
        why = "its address is not public; if this is intended, set `heartbeat_allow` to its network"
        return _Problem(why, may_pass=False)
    except ChannelUnreachable:
        return _Problem("it is unreachable; check `heartbeat` and the network", may_pass=True)
    except ChannelError:
        return _Problem("it did not answer", may_pass=True)
    if 200 <= answer.status < 300:
        return None
    if 300 <= answer.status < 400:
        return _Problem(f"it answered HTTP {answer.status}, a redirect; set the final address", may_pass=False)
    passing = answer.status >= 500 or answer.status in _PASSING
    return _Problem(f"it answered HTTP {answer.status}", may_pass=passing)


# Jobs that do not succeed


def late(tx: Transaction, project: Project) -> None:
    """Report jobs that have not succeeded within their `success_within`, and jobs that succeeded again.

    It counts from the last success of the whole job, however it was started; without one, from when the job was first
    seen; and again from a resume or a clock jump. Only a success, or a longer `success_within`, ends it.
    """
    wanted = {job.name: job.success_within for job in project.jobs.values() if job.success_within is not None}
    expected = stored.expected(tx)
    stored.expect_no_more(tx, expected.keys() - wanted.keys())
    reported = {trouble.subject for trouble in stored_troubles.ongoing(tx) if trouble.subject.startswith("late:")}
    for subject in sorted(reported - {_subject(name) for name in wanted}):
        job = subject.removeprefix(_subject(""))
        troubles.end(tx, project, subject, f"Job {job} is no longer expected to succeed within a set time.")
    paused, held = pauses.active(tx), clocks.held(tx)
    for name, within in wanted.items():
        if pauses.EVERYTHING in paused or pauses.of_job(name) in paused:
            if name not in expected or expected[name].since is not None:
                stored.expect(tx, name, None)
            continue
        watch = _counted(tx, name, expected.get(name), held)
        _judge(tx, project, watch, within, is_open=_subject(name) in reported)


def _subject(job: str) -> str:
    return f"late:{job}"


def _counted(tx: Transaction, job: str, last: Expectation | None, held: clocks.ClockJump | None) -> Expectation:
    """Return the expectation with the moment it counts from, and store that if it changed."""
    if last is None:
        before = stored.last_success(tx, job)
        watch = Expectation(job, before.finished if before else tx.now, before.finished if before else None)
    elif last.since is None:
        watch = Expectation(job, tx.now, last.succeeded)
    elif held is not None and not held.since <= last.since <= tx.now:
        watch = Expectation(job, held.since, last.succeeded)
    else:
        return last
    stored.expect(tx, job, watch.since)
    return watch


def overdue(tx: Transaction, project: Project) -> dict[str, dt.timedelta]:
    """Return the delay of each job beyond its `success_within`, counted as in `late`."""
    expected, paused = stored.expected(tx), pauses.active(tx)
    lateness = {
        job.name: _lateness(tx, expected[job.name], job.success_within)
        for job in project.jobs.values()
        if job.success_within is not None and job.name in expected and expected[job.name].since is not None
        if pauses.EVERYTHING not in paused and pauses.of_job(job.name) not in paused
    }
    return {job: length for job, length in lateness.items() if length > dt.timedelta(0)}


def _lateness(tx: Transaction, watch: Expectation, within: dt.timedelta) -> dt.timedelta:
    """Return the time since the last success beyond `within`; negative while the job is in time."""
    past = [time for time in (watch.since, watch.succeeded) if time is not None and time <= tx.now]
    return tx.now - max(past, default=tx.now) - within


def _judge(tx: Transaction, project: Project, watch: Expectation, within: dt.timedelta, *, is_open: bool) -> None:
    succeeded = watch.succeeded
    if _lateness(tx, watch, within) > dt.timedelta(0):
        troubles.begin(tx, project, _subject(watch.job), _sentence(tx, project, watch, within), job=watch.job)
    elif is_open and succeeded is not None and dt.timedelta(0) <= tx.now - succeeded <= within:
        at = words.minute(succeeded, tx.now, project.timezone)
        troubles.end(
            tx, project, _subject(watch.job), f"Job {watch.job} succeeds in time again: its last success was on {at}."
        )


def _sentence(tx: Transaction, project: Project, watch: Expectation, within: dt.timedelta) -> str:
    since = f"not succeeded since {words.minute(watch.succeeded, tx.now, project.timezone)}" if watch.succeeded else ""
    return (
        f"Job {watch.job} has {since or 'never succeeded'} (expected every {_span(within)}). "
        f"See its runs: reconcile runs {watch.job}"
    )


def _span(length: dt.timedelta) -> str:
    """Format a length as in the configuration: 26h, 90m, 2w."""
    seconds = round(length.total_seconds())
    size, unit = next((size, unit) for size, unit in _UNITS if seconds % size == 0)
    return f"{seconds // size}{unit}"


# Anchors of the audit log, and targets that are cleaned


def anchors(store: Store, project: Project, failing: Mapping[str, str]) -> bool:
    """Report anchors that have failed for long (by name, with a sentence), and those that work again.

    Return True if there is something new.
    """
    with store.read() as tx:
        begun = _ongoing(tx, _ANCHOR)
    sentences = {f"{_ANCHOR}{name}": f"The audit log is not anchored. {why}" for name, why in failing.items()}
    _tell(store, project, begun, sentences, "The audit log is anchored again.")
    return begun.keys() != sentences.keys()


def targets(store: Store, project: Project) -> None:
    """Report targets that have accepted no changes for long, or wait for a person, and those that recovered.

    Sources that are no longer configured, and those that no cleaning waits for, are left out.
    """
    with store.read() as tx:
        begun = _ongoing(tx, _TARGET)
        circuits = breakers.not_closed(tx)
        waiting = {circuit.target: why for circuit in circuits if (why := breaker.lasting(circuit)) is not None}
        sources = breaker.sources(tx, circuits) if waiting else {}
        idle = breaker.idle(tx, circuits) if waiting else set()
    named = {target: sources[target] for target in waiting.keys() - idle if sources.get(target) in project.sources}
    sentences = {
        f"{_TARGET}{target}": f"Cleaning in source {name!r} is stopped for now\n{waiting[target]}"
        for target, name in named.items()
    }
    ended = {
        f"{_TARGET}{target}": "No cleaning is waiting for the target."
        if sources.get(target) in project.sources
        else "The source is no longer configured."
        for target in waiting.keys() - named.keys()
    }
    _tell(store, project, begun, sentences, "The target accepts changes again, and cleaning continues.", ended)


def _ongoing(tx: Transaction, kind: str) -> dict[str, str]:
    return {
        trouble.subject: trouble.sentence for trouble in stored_troubles.ongoing(tx) if trouble.subject.startswith(kind)
    }


def _tell(
    store: Store,
    project: Project,
    begun: Mapping[str, str],
    sentences: Mapping[str, str],
    over: str,
    ended: Mapping[str, str] | None = None,
) -> None:
    """Begin and end troubles; `over` says how they ended, except for those that `ended` in another way."""
    if begun == sentences:
        return
    with store.begin() as tx:
        for subject, sentence in sentences.items():
            troubles.begin(tx, project, subject, sentence)
        for subject in begun.keys() - sentences.keys():
            troubles.end(tx, project, subject, (ended or {}).get(subject, over))


_ANCHOR, _TARGET = "anchor:", "target:"
