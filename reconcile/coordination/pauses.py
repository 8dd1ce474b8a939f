"""Pauses set by people: of a job or everything, and of the cleaning of a rule or in a source.

A job's pause is checked where work begins and between two rules of a run. All pauses, with maintenance windows, are
checked in the transaction that sends a cleaning.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from reconcile.audit import log
from reconcile.errors import Refused, Wrong
from reconcile.schedule import maintenance
from reconcile.schedule.maintenance import MaintenanceWindow
from reconcile.store import Transaction, plan_states
from reconcile.store import pauses as stored
from rules.values import canonical_instant

EVERYTHING = "everything"


def of_job(name: str) -> str:
    """The subject of a paused job."""
    return f"job:{name}"


def of_rule(name: str) -> str:
    """The subject of the paused cleaning of a rule; the rule is still checked."""
    return f"rule:{name}"


def of_source(name: str) -> str:
    """The subject of the paused cleaning in a source; the source is still read."""
    return f"source:{name}"


_WORDS = {"job": "Job", "rule": "Cleaning by rule", "source": "Cleaning in source"}


def in_words(subject: str) -> str:
    """A subject in words, at the beginning of a sentence."""
    kind, _, name = subject.partition(":")
    return "Everything" if subject == EVERYTHING else f"{_WORDS[kind]} {name!r}"


def _option(subject: str) -> str:
    kind, _, name = subject.partition(":")
    return "--all" if subject == EVERYTHING else name if kind == "job" else f"--{kind} {name}"


class Pause(stored.PauseRow):
    """A pause of one subject, until a time or until a person resumes it."""

    @property
    def sentence(self) -> str:
        until = f", until {self.until:%d %b %Y %H:%M} UTC" if self.until else ""
        since = f"{self.since:%d %b %Y %H:%M} UTC{until}"
        return (
            f"{in_words(self.subject)} is paused by {self.by} since {since}: {self.reason}. "
            f"Resume it with `reconcile resume {_option(self.subject)}`"
        )


class Paused(Refused):
    """A person paused this; nothing was run. Finished work is kept and continued later."""

    def __init__(self, pause: Pause) -> None:
        super().__init__(pause.sentence)
        self.pause = pause


class PauseInThePast(Wrong):
    """The end of a pause is not in the future; nothing was paused."""

    def __init__(self, until: dt.datetime, now: dt.datetime) -> None:
        super().__init__(
            f"A pause until {until:%Y-%m-%d %H:%M} UTC would be over already: it is {now:%Y-%m-%d %H:%M} UTC. "
            "Give a time in the future, or none to pause until somebody resumes it."
        )


def pause(tx: Transaction, subject: str, *, reason: str, by: str, until: dt.datetime | None = None) -> Pause:
    """Pause a subject, replacing an existing pause. Raises PauseInThePast."""
    if until is not None and until < tx.now:
        raise PauseInThePast(until, tx.now)
    new_pause = Pause(subject, reason, by, tx.now, until)
    stored.put(tx, new_pause)
    log.append(tx, by, "pause.begun", subject, {"subject": subject, "until": until and canonical_instant(until)})
    return new_pause


def resume(tx: Transaction, subject: str, by: str) -> bool:
    """Resume a subject; return False if it was not paused. Plans that the pause held back are due now."""
    ended = next((Pause(*row) for row in stored.listed(tx) if row.subject == subject), None)
    if ended is None:
        return False
    stored.delete(tx, subject)
    plan_states.end_wait(tx, ended.sentence)
    log.append(tx, by, "pause.ended", subject, {"subject": subject})
    return True


def active(tx: Transaction) -> dict[str, Pause]:
    """The current pauses, by subject, without expired ones."""
    rows = [Pause(*row) for row in stored.listed(tx)]
    return {pause.subject: pause for pause in rows if pause.until is None or pause.until > tx.now}


def closed(
    tx: Transaction, windows: Iterable[MaintenanceWindow], *, source: str, rule: str, job: str | None
) -> str | None:
    """The reason, as a sentence, that nothing is cleaned there now (a pause or maintenance); None if there is none.

    Call it in the transaction that writes `sent`, so nothing is sent after a pause.
    """
    paused = active(tx)
    for subject in (EVERYTHING, of_source(source), of_rule(rule), *([of_job(job)] if job else ())):
        if subject in paused:
            return paused[subject].sentence
    return maintenance.closed(windows, source, tx.now)


def refuse(tx: Transaction, job: str) -> None:
    """Raise Paused if this job, or everything, is paused."""
    paused = active(tx)
    for subject in (EVERYTHING, of_job(job)):
        if subject in paused:
            raise Paused(paused[subject])
