"""Jobs as every door lists them: when they are due, whether they run, and their last success."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from reconcile.config.settings import JobConfig
from reconcile.coordination import pauses
from reconcile.coordination.pauses import Pause
from reconcile.documents import JsonObject
from reconcile.schedule.slots import slot_text
from reconcile.service import scheduler
from reconcile.store import Transaction, slots, triggers


@dataclass(frozen=True)
class JobView:
    """A job now. `state` is running, paused, due or idle; `due` are the times that wait."""

    name: str
    when: str | None
    next: dt.datetime | None
    state: str
    due: tuple[dt.datetime, ...]
    last_success: dt.datetime | None
    pause: Pause | None

    def to_json(self) -> JsonObject:
        return {
            "job": self.name,
            "when": self.when,
            "next": slot_text(self.next) if self.next else None,
            "state": self.state,
            "due": list(map(slot_text, self.due)),
            "last_success": slot_text(self.last_success) if self.last_success else None,
            "paused": self.pause.sentence if self.pause else None,
        }


def look_at(job: JobConfig, tx: Transaction | None) -> JobView:
    """Return a job as it is now; without a state, as its schedule says."""
    if tx is None:
        nearest = job.schedule.following(dt.datetime.now(dt.UTC)) if job.schedule else None
    else:
        nearest = scheduler.next_due(tx, job)
    paused = pauses.active(tx) if tx else {}
    pause = paused.get(pauses.EVERYTHING) or paused.get(pauses.of_job(job.name))
    open_slots = slots.listed(tx, job=job.name, statuses=("running", "due")) if tx else []
    success = triggers.last_success(tx, job.name) if tx else None
    is_running = any(slot.status == "running" for slot in open_slots)
    return JobView(
        job.name,
        _when(job),
        nearest.at if nearest else None,
        "running" if is_running else "paused" if pause else "due" if open_slots else "idle",
        tuple(slot.slot for slot in open_slots if slot.status == "due"),
        success.finished if success else None,
        pause,
    )


def _when(job: JobConfig) -> str | None:
    parts = [job.schedule.in_words()] if job.schedule else []
    parts += [f"after {' and '.join(job.after)}"] if job.after else []
    parts += [f"when files of {' or '.join(job.watch)} change"] if job.watch else []
    return "; ".join(parts) or None
