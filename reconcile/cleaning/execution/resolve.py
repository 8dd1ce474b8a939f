"""Ask the target about a plan whose COMMIT was not acknowledged: was it done?

With receipts: insert the same receipts again and roll back. An existing receipt proves that it was done; a successful
insert proves that it was not, and that no transaction still holds it. Without: ask for the transaction's status and
compare the locked rows with the states before and after. If neither matches, a person decides. A call
is asked about by its key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from connectors.errors import ConnectorError
from connectors.target import Cells, ReceiptStands, Row, RowName, Target, Undecided, Work
from reconcile import points
from reconcile.cleaning.execution import calling, images
from reconcile.cleaning.execution.execute import How, Result, SentPlan, done_before
from reconcile.findings.plan import Plan


def ask(target: Target, job: SentPlan, seconds: float, transaction: str | None) -> Result:
    """Return DONE_BEFORE, NOT_DONE, KEY_CONFLICT, COMMIT_UNKNOWN (ask again later) or UNKNOWN (only a person can tell).

    `transaction` is the target's name of the last attempt's transaction, if it gave one.
    """
    if job.plan.calls:
        return calling.ask(target, job, seconds)
    try:
        if job.receipts:
            return _by_receipts(target, job, seconds)
        return _by_rows(target, job, seconds, transaction)
    except Undecided as error:
        return Result(job, How.UNKNOWN, str(error))
    except ConnectorError as error:  # one failing question must not block other plans
        return Result(job, How.COMMIT_UNKNOWN, str(error), getattr(error, "code", ""))


def _by_receipts(target: Target, job: SentPlan, seconds: float) -> Result:
    """Try the receipts; nothing is committed."""
    with target.work(seconds) as work:
        try:
            with work.savepoint():
                work.receive(sorted(job.receipts, key=lambda receipt: receipt.key))
        except ReceiptStands as error:
            answer = done_before(work, job, error.found)
        else:
            answer = Result(job, How.NOT_DONE, "the target has no receipt of it")
        points.reach("resolve.asked")
    return answer


def _by_rows(target: Target, job: SentPlan, seconds: float, transaction: str | None) -> Result:
    """Compare the rows; the locks wait until a running transaction has ended."""
    with target.work(seconds) as work:
        answer = _compared(target, work, job, transaction)
        points.reach("resolve.asked")
    return answer


def _compared(target: Target, work: Work, job: SentPlan, transaction: str | None) -> Result:
    changes = [change for change in job.plan.changes if not change.is_guard]
    rows = work.lock(list(dict.fromkeys(name for c in changes for name in (c.row, images.name_after(c)))))
    happened = None if transaction is None else target.happened(transaction)
    before, after = images.drift(_changed(job.plan), rows) is None, _is_after(job.plan, rows)
    if happened is True or (happened is None and after and not before):
        is_known = after and not job.plan.ignore_drift  # earlier values of columns that may drift were never read
        return Result(job, How.DONE_BEFORE, images=_as_they_are(job.plan, rows) if is_known else None)
    if happened is False or (before and not after):
        return Result(job, How.NOT_DONE, "the target rolled it back")
    return Result(job, How.UNKNOWN, "the rows match neither the state before nor the state after it")


def _changed(plan: Plan) -> Plan:
    return replace(plan, changes=tuple(change for change in plan.changes if not change.is_guard))


def _is_after(plan: Plan, rows: Mapping[RowName, Row]) -> bool:
    for image in images.expected(plan):
        row = rows.get(images.name_after(image.change))
        if (row is None) != (image.after is None):
            return False
        if row is not None and not _agrees(image.after or {}, row.cells):
            return False
    return True


def _agrees(expected: Cells, actual: Cells) -> bool:
    """Compare cells; one that was written as text is compared as text, since the target converted it."""
    for name, cell in expected.items():
        now = actual.get(name)
        if cell != now and not (cell is not None and now is not None and cell[0] == "t" and cell[1] == now[1]):
            return False
    return True


def _as_they_are(plan: Plan, rows: Mapping[RowName, Row]) -> images.Images:
    current = []
    for image in images.expected(plan):
        row = rows.get(images.name_after(image.change))
        current.append(replace(image, after=None if row is None else dict(row.cells)))
    return tuple(current)
