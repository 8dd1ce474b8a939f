"""Make the call of a plan: once, unless the target already made it or its records are no longer as planned.

No transaction can undo a call, so the target is asked first, and again while the outcome is unknown. A plan has one
call, so a process that dies leaves one call with an unknown outcome, and no plan that is half done.
"""

from __future__ import annotations

from collections.abc import Callable

from connectors.calls import Call, CallTarget
from connectors.errors import ConnectorError
from connectors.target import Target, TargetError, TransactionOutcome
from reconcile import points
from reconcile.cleaning.execution import images
from reconcile.cleaning.execution.execute import How, Result, SentPlan, before_sent, failed


def perform(target: Target, job: SentPlan, seconds: Callable[[], float]) -> Result:
    """Make the call of a `sent` plan and return its result. Raises only what `seconds` raises: the claim was lost."""
    if not isinstance(target, CallTarget):
        return Result(job, How.REFUSED, f"source {target.name!r} takes no calls")
    limit = seconds()
    points.reach("target.begun")
    try:
        result = _made_or_drifted(target, job, limit)
    except ConnectorError as error:
        return before_sent(job, error)
    return result or _send(target, job, seconds())


def ask(target: Target, job: SentPlan, seconds: float) -> Result:
    """Ask the target about a call that may have been sent: see `resolve.ask`."""
    if not isinstance(target, CallTarget):
        return Result(job, How.UNKNOWN, f"source {target.name!r} takes no calls and cannot be asked about one")
    try:
        answer = target.probe(*_keyed(job), seconds)
    except ConnectorError as error:
        points.reach("resolve.asked")
        return Result(job, How.UNKNOWN if _cannot_tell(error) else How.COMMIT_UNKNOWN, str(error))
    points.reach("resolve.asked")
    if answer is None:
        return Result(job, How.NOT_DONE, "the target did not make the call")
    return Result(job, How.DONE_BEFORE, answer=answer)


def _made_or_drifted(target: CallTarget, job: SentPlan, seconds: float) -> Result | None:
    """Return the result of a call that need not or must not be sent; None: send it.

    A target that cannot tell is no reason to wait: by the journal, nothing was sent with this key before.
    """
    try:
        answer = target.probe(*_keyed(job), seconds)
    except TargetError as error:
        if not _cannot_tell(error):
            raise
        answer = None
    if answer is not None:
        return Result(job, How.DONE_BEFORE, answer=answer)
    current = target.current([change.row for change in job.plan.changes])
    points.reach("target.read_back")
    reason = images.drift(job.plan, current)
    return None if reason is None else Result(job, How.DRIFTED, reason)


def _send(target: CallTarget, job: SentPlan, seconds: float) -> Result:
    points.reach("target.before_commit")
    try:
        answer = target.call(*_keyed(job), seconds)
    except TargetError as error:
        return failed(job, error)
    except ConnectorError as error:  # it says nothing about what arrived
        return Result(job, How.COMMIT_UNKNOWN, str(error))
    points.reach("target.committed")
    return Result(job, How.DONE, answer=answer)


def _keyed(job: SentPlan) -> tuple[Call, str]:
    [call], [key] = job.plan.calls, job.keys
    return call, key


def _cannot_tell(error: ConnectorError) -> bool:
    return isinstance(error, TargetError) and error.outcome is TransactionOutcome.UNKNOWN
