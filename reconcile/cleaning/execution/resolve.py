"""Did it happen? The target is asked about a bundle whose COMMIT nobody heard the answer to.

With receipts: the same receipts are inserted again, and taken back. A receipt that stands was done; where it can be
inserted it was not, and whoever still had it open has ended. Without: the target's own word for the transaction, and
the rows under lock: as they would be afterwards it was done, as they were before it was not; anything else, a person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from connectors.errors import ConnectorError
from connectors.target import Cells, ReceiptStands, Row, RowName, Target, Work
from reconcile import points
from reconcile.cleaning.execution import images
from reconcile.cleaning.execution.execute import How, Job, Result, done_before
from reconcile.findings.bundle import Bundle


def ask(target: Target, job: Job, seconds: float, transaction: str | None) -> Result:
    """DONE_BEFORE, NOT_DONE, KEY_CONFLICT, or IN_DOUBT: ask again later. UNKNOWN: only a person can tell.

    `transaction` is the target's name for the last attempt's, where it gave one.
    """
    try:
        if job.receipts:
            return _by_receipts(target, job, seconds)
        return _by_rows(target, job, seconds, transaction)
    except ConnectorError as error:  # whatever it is: one plan that cannot be asked about keeps no other waiting
        return Result(job, How.IN_DOUBT, str(error), getattr(error, "code", ""))


def _by_receipts(target: Target, job: Job, seconds: float) -> Result:
    """Without a COMMIT nothing of it is kept."""
    with target.work(seconds) as work:
        try:
            with work.savepoint():
                work.receive(sorted(job.receipts, key=lambda one: one.key))
        except ReceiptStands as error:
            answer = done_before(work, job, error.found)
        else:
            answer = Result(job, How.NOT_DONE, "the target has no receipt of it")
        points.reach("resolve.asked")
    return answer


def _by_rows(target: Target, job: Job, seconds: float, transaction: str | None) -> Result:
    """Locks wait for a transaction that is still at it; only then it is asked for."""
    with target.work(seconds) as work:
        answer = _compared(target, work, job, transaction)
        points.reach("resolve.asked")
    return answer


def _compared(target: Target, work: Work, job: Job, transaction: str | None) -> Result:
    changes = [change for change in job.bundle.changes if not change.is_guard]
    rows = work.lock(list(dict.fromkeys(name for c in changes for name in (c.row, images.name_after(c)))))
    happened = None if transaction is None else target.happened(transaction)
    before, after = images.drift(_changed(job.bundle), rows) is None, _is_after(job.bundle, rows)
    if happened is True or (happened is None and after and not before):
        known = after and not job.bundle.ignore_drift  # how a column that may drift was before, nobody read
        return Result(job, How.DONE_BEFORE, images=_as_they_are(job.bundle, rows) if known else None)
    if happened is False or (before and not after):
        return Result(job, How.NOT_DONE, "the target did not keep it")
    return Result(job, How.UNKNOWN, "the rows are neither as they were before nor as they would be after it")


def _changed(bundle: Bundle) -> Bundle:
    return replace(bundle, changes=tuple(one for one in bundle.changes if not one.is_guard))


def _is_after(bundle: Bundle, rows: Mapping[RowName, Row]) -> bool:
    for one in images.expected(bundle):
        row = rows.get(images.name_after(one.change))
        if (row is None) != (one.after is None):
            return False
        if row is not None and not _agrees(one.after or {}, row.cells):
            return False
    return True


def _agrees(expected: Cells, found: Cells) -> bool:
    """A cell that was given as plain text counts by its text: the database gave it another type."""
    for name, cell in expected.items():
        there = found.get(name)
        if cell != there and not (cell is not None and there is not None and cell[0] == "t" and cell[1] == there[1]):
            return False
    return True


def _as_they_are(bundle: Bundle, rows: Mapping[RowName, Row]) -> images.Images:
    seen = []
    for one in images.expected(bundle):
        row = rows.get(images.name_after(one.change))
        seen.append(replace(one, after=None if row is None else dict(row.cells)))
    return tuple(seen)
