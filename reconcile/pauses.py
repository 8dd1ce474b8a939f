"""What a person stopped: a job, or everything. Checked where work begins, and between two rules of a run."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import sqlalchemy as sa

from reconcile import audit
from reconcile.store import Transaction
from reconcile.store.finding_memory import insert_for
from reconcile.store.tables import pauses
from rules.values import canonical_instant

EVERYTHING = "everything"


def of_job(name: str) -> str:
    """How a paused job is called."""
    return f"job:{name}"


@dataclass(frozen=True)
class Pause:
    """One thing that a person stopped, until a time or until somebody resumes it."""

    subject: str
    reason: str
    by: str
    since: dt.datetime
    until: dt.datetime | None

    @property
    def sentence(self) -> str:
        what = "Everything" if self.subject == EVERYTHING else f"Job {self.subject.removeprefix('job:')!r}"
        until = f", until {self.until:%d %b %Y %H:%M} UTC" if self.until else ""
        resume = "--all" if self.subject == EVERYTHING else self.subject.removeprefix("job:")
        return (
            f"{what} is paused by {self.by} since {self.since:%d %b %Y %H:%M} UTC{until}: {self.reason}. "
            f"`reconcile resume {resume}` lets it run again"
        )


class Paused(Exception):
    """A person stopped this; nothing was run. What was finished before is kept, and gone on with later."""

    def __init__(self, pause: Pause) -> None:
        super().__init__(pause.sentence)
        self.pause = pause


def pause(tx: Transaction, subject: str, *, reason: str, by: str, until: dt.datetime | None = None) -> Pause:
    """Stop a subject; a pause that is there already is replaced."""
    one = Pause(subject, reason, by, tx.now, until)
    insert = insert_for(tx, pauses)
    newer = {name: insert.excluded[name] for name in ("reason", "by", "since", "until")}
    row = {"subject": subject, "reason": reason, "by": by, "since": tx.now, "until": until}
    tx.connection.execute(insert.on_conflict_do_update(index_elements=["subject"], set_=newer), row)
    audit.append(tx, by, "pause.begun", subject, {"subject": subject, "until": until and canonical_instant(until)})
    return one


def resume(tx: Transaction, subject: str, by: str) -> bool:
    """Let it run again; False when it was not paused."""
    if tx.connection.execute(sa.delete(pauses).where(pauses.c.subject == subject)).rowcount == 0:
        return False
    audit.append(tx, by, "pause.ended", subject, {"subject": subject})
    return True


def active(tx: Transaction) -> dict[str, Pause]:
    """Everything that is paused now, by subject; pauses whose time is over count no more."""
    query = sa.select(pauses.c.subject, pauses.c.reason, pauses.c.by, pauses.c.since, pauses.c.until)
    found = [Pause(*row) for row in tx.connection.execute(query)]
    return {one.subject: one for one in found if one.until is None or one.until > tx.now}


def refuse(tx: Transaction, job: str) -> None:
    """Raises Paused when this job, or everything, is paused."""
    paused = active(tx)
    for subject in (EVERYTHING, of_job(job)):
        if subject in paused:
            raise Paused(paused[subject])
