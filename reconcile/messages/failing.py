"""Failed checks of a job: reported once when they begin and once when they work again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from reconcile.config.settings import Project
from reconcile.messages import outbox
from reconcile.messages.notify import FailureNews
from reconcile.store import Transaction
from reconcile.store import runs as stored

Outcomes = Collection[Mapping[str, Any]]
"""The outcome of each rule of a run."""


def news(tx: Transaction, project: Project, job: str, run: str, outcomes: Outcomes) -> tuple[FailureNews, ...]:
    """Return the checks that began to fail and those that work again, and store that."""
    before = stored.failing(tx, job)
    now = {o["subject"]: o["failed"] for o in outcomes if "failed" in o}
    for subject, sentence in now.items():
        stored.keep_failure(tx, job, subject, sentence, run)
    over = [subject for subject in before if subject not in now and _works(project, subject, outcomes)]
    for subject in over:
        stored.end_failure(tx, job, subject)
    begun = [FailureNews(subject, sentence, tx.now) for subject, sentence in now.items() if subject not in before]
    return (*begun, *(FailureNews(s, before[s][0], before[s][1], ended=True) for s in over))


def unheard(
    tx: Transaction, project: Project, job: str, channel: str, reported: Collection[str]
) -> Iterator[FailureNews]:
    """Yield earlier beginnings and ends that the channel missed because their message was given up.

    Leaves out subjects `reported` now, and those whose state changed since.
    """
    person = project.channels[channel].settings.on_unknown == "person"
    still = stored.failing(tx, job)
    for failure in outbox.undelivered_failures(tx, channel, job, doubtful=not person):
        if failure.subject not in reported and failure.ended == (failure.subject not in still):
            sentence, since = still.get(failure.subject, (failure.sentence, failure.since or tx.now))
            yield FailureNews(failure.subject, sentence, since, ended=failure.ended)


def _works(project: Project, subject: str, outcomes: Outcomes) -> bool:
    """Return True if the run ended a former failure: it checked that rule, or read that source."""
    what, _, name = subject.partition(" ")
    return any(
        name in ((outcome["rule"],) if what == "rule" else (project.datasets[outcome["dataset"]].source,))
        for outcome in outcomes
        if "failed" not in outcome
    )
