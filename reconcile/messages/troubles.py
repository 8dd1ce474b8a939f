"""Trouble with Reconcile itself: a broken configuration, a clock that jumped, a job that dies, or never succeeds.

Each is reported once when it begins and once when it ends, through the outbox, in the transaction that detects it. The
channels that received the beginning also receive the end, even if the configuration changed.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterator

from notifications.base import Notice, TroubleNotice
from reconcile.audit import log
from reconcile.config.settings import Project
from reconcile.messages import outbox, timing
from reconcile.store import Transaction
from reconcile.store import outbox as stored_outbox
from reconcile.store import troubles as stored
from reconcile.store.troubles import Trouble
from rules.values import canonical_instant

_ACTOR = "reconcile"


def begin(tx: Transaction, project: Project, subject: str, sentence: str, *, job: str | None = None) -> bool:
    """Report a trouble to people unless it was reported before; return True if it is new.

    `subject` is its permanent name (`clock`, `late:nightly`). The first sentence, or line, of `sentence` is the
    message's headline, and the rest says what to do; it holds no secret and nothing from data. A changed sentence is
    stored but not reported again. `job` is the job in trouble, if there is one.
    """
    existing = stored.get(tx, subject)
    if existing is not None:
        if existing.sentence != sentence:
            stored.reword(tx, subject, sentence)
        return False
    trouble = Trouble(subject, job, sentence, tx.now, channels(project, job))
    if not stored.insert(tx, trouble):
        return False  # another process reported it first
    _tell(tx, project, trouble, TroubleNotice(subject, sentence, tx.now))
    body = {"subject": subject, "job": job, "channels": list(trouble.channels)}
    log.append(tx, _ACTOR, "trouble.begun", subject, body)
    return True


def end(tx: Transaction, project: Project, subject: str, how: str) -> bool:
    """Report the end to those who received the beginning; False if nothing was wrong.

    The first sentence of `how` is the message's headline: it says what is true now.
    """
    trouble = stored.delete(tx, subject)
    if trouble is None:
        return False
    tell_end(tx, project, trouble, how)
    return True


def tell_end(tx: Transaction, project: Project, trouble: Trouble, how: str) -> None:
    """Report and record the end of a trouble; see `end`."""
    subject = trouble.subject
    _tell(tx, project, trouble, TroubleNotice(subject, trouble.sentence, trouble.since, ended=True, end=how))
    body = {"subject": subject, "job": trouble.job, "since": canonical_instant(trouble.since)}
    log.append(tx, _ACTOR, "trouble.ended", subject, body)


def channels(project: Project, job: str | None = None) -> tuple[str, ...]:
    """Return the channels of `alerts`; without any, those of the job in trouble; without any, those of all jobs."""
    own = project.jobs[job].notify if job is not None and job in project.jobs else ()
    every = (channel for configured in project.jobs.values() for channel in configured.notify)
    return project.alerts or own or tuple(dict.fromkeys(every))


def _tell(tx: Transaction, project: Project, trouble: Trouble, notice: TroubleNotice) -> None:
    begun = {channel: message for message, channel in messages(trouble, ended=False)}
    for message, channel in messages(trouble, ended=notice.ended):
        if channel in project.channels:
            if notice.ended and stored_outbox.take_back_one(tx, begun[channel]):  # one message tells both
                outbox.log(tx, _ACTOR, "message.merged", begun[channel], {"channel": channel})
            message_notice = message_of(project, trouble, notice, message, tx.now)
            hold = timing.quiet(project.channels[channel].entry, project.timezone, tx.now, message_notice)
            outbox.enqueue(tx, channel, message_notice, hold)


def message_of(project: Project, trouble: Trouble, notice: TroubleNotice, message: str, now: dt.datetime) -> Notice:
    """Return the message with this id about a trouble."""
    return Notice(
        id=message,
        job=trouble.job,
        run=None,
        slot=now,
        created=now,
        timezone=project.timezone,
        trouble=notice,
        project=project.name,
        link=project.page("/"),
    )


def messages(trouble: Trouble, *, ended: bool) -> Iterator[tuple[str, str]]:
    """Yield a stable message id for each channel."""
    for channel in trouble.channels:
        what = "ended" if ended else "begun"
        text = f"reconcile/trouble/1|{trouble.subject}|{canonical_instant(trouble.since)}|{channel}|{what}"
        yield f"msg1_{hashlib.sha256(text.encode()).hexdigest()[:24]}", channel
