"""Execute plans on a target: one transaction for a batch, each plan completely or not at all, and once.

Steps inside the transaction: write the receipts, which prove the execution; lock every row, the keeper included;
compare each row with the plan; compare the rows that refer to them; apply the changes; read the rows again. Nothing
here touches the store: the caller has durably marked these plans as `sent` there.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from connectors.calls import Answer
from connectors.errors import ConnectorError, Reaction, SourceUnavailable
from connectors.target import (
    Cell,
    Change,
    Receipt,
    ReceiptStands,
    Reference,
    Row,
    RowName,
    RowsDiffer,
    Target,
    TargetError,
    TransactionOutcome,
    Witness,
    Work,
)
from reconcile import points
from reconcile.cleaning.execution import images, leaving, verdict
from reconcile.cleaning.execution.images import Images
from reconcile.findings.plan import Plan

MOST_FAILURES = 2
"""After this many failures in a row, the rest of the batch waits for later."""


class How(enum.Enum):
    """The outcome of a plan."""

    DONE = "done"
    DONE_BEFORE = "done_before"  # its receipts exist: an earlier attempt did it
    UNDONE_BEFORE = "undone_before"  # its receipts and those of its undo exist
    DRIFTED = "drifted"  # proven not done: the rows are not as planned
    KEY_CONFLICT = "key_conflict"  # a receipt with its key belongs to another operation
    NOT_DONE = "not_done"  # proven; the same may work later
    PAUSED = "paused"  # proven not done, and a person has to fix the target first
    CONFLICT = "conflict"  # proven not done: a constraint of the target forbids it
    REFUSED = "refused"  # proven not done, and a retry cannot help
    COMMIT_UNKNOWN = "commit_unknown"  # the connection broke in COMMIT
    UNKNOWN = "unknown"  # the target was asked, and cannot tell


_OF: dict[TransactionOutcome, How] = {
    TransactionOutcome.NOT_DONE: How.NOT_DONE,
    TransactionOutcome.UNKNOWN: How.COMMIT_UNKNOWN,
    TransactionOutcome.PAUSE: How.PAUSED,
    TransactionOutcome.CONFLICT: How.CONFLICT,
    TransactionOutcome.TERMINAL: How.REFUSED,
}
_REACTIONS = {Reaction.RETRY: How.NOT_DONE, Reaction.ASK: How.PAUSED, Reaction.STOP: How.REFUSED}
"""Outcomes of errors outside a transaction, before COMMIT."""
_OF_ONE = (TransactionOutcome.CONFLICT, TransactionOutcome.TERMINAL)
"""Errors of a single plan; the transaction continues after its savepoint."""


@dataclass(frozen=True)
class SentPlan:
    """A `sent` plan with one receipt per operation; none if the target keeps no receipts. `keys` are of its calls."""

    id: str
    plan: Plan
    receipts: tuple[Receipt, ...] = ()
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """The result of a job. `why` is a sentence without values, `code` the target's own error code.

    `images` are the rows before and after; None if it was not done, or if they are no longer known. `answer` is that of
    the call of a plan that makes one.
    """

    job: SentPlan
    how: How
    why: str = ""
    code: str = ""
    images: Images | None = None
    beside: tuple[str, ...] = ()
    """Sentences about side effects of triggers, and fields that triggers kept an undo from restoring."""
    answer: Answer | None = None

    @property
    def outcome(self) -> list[Any] | None:
        """The stored form of it, as plain JSON; None if nothing is known."""
        if self.answer is not None:
            return [{"answer": dict(self.answer)}]
        return None if self.images is None else images.to_json(self.images)


@dataclass(frozen=True)
class TransactionLimits:
    """Limits of a transaction. `seconds` returns its longest duration, and raises if the claim was lost.

    `named` gets the target's name of a transaction before its COMMIT if no receipt can be kept. `stamps` are the
    catalogue's, by table: references to a table that loses rows must not have changed since it was read.
    """

    seconds: Callable[[], float]
    named: Callable[[Sequence[SentPlan], str], None] = lambda _jobs, _name: None
    stamps: Mapping[str, str] = field(default_factory=dict)


class _NeedsSeparation(Exception):
    """The transaction was rolled back. `apart` names the plans to execute one by one; empty for all."""

    def __init__(self, apart: Collection[str] = ()) -> None:
        super().__init__()
        self.apart = frozenset(apart)


class _Drift(Exception):
    """Rows differ from the plan. `jobs` names the plans; empty if they are unknown."""

    def __init__(self, reason: str, jobs: Collection[str] = (), outcome: How = How.DRIFTED) -> None:
        super().__init__(reason)
        self.why = reason
        self.jobs = frozenset(jobs)
        self.how = outcome


def perform(target: Target, jobs: Sequence[SentPlan], limits: TransactionLimits) -> list[Result]:
    """Execute these plans and return their results in any order. Raises only what `limits` raises.

    All share one transaction if possible. A plan whose rows are not as planned gets a savepoint; after an error of the
    target, each plan gets its own transaction.
    """
    results: list[Result] = []
    together, apart = _split(jobs)
    for batch, execute in ((together, _at_once), (apart, _in_turn)):
        while batch:
            try:
                results += execute(target, batch, limits)
            except _NeedsSeparation as error:
                looked_at = [job for job in batch if job.id in error.apart] or batch
                apart += looked_at
                batch = [job for job in batch if job not in looked_at]  # noqa: PLW2901 - the remaining batch
                continue
            except TargetError as error:
                results += _after(error, target, batch, limits)
            except ConnectorError as error:
                results += [failed(job, error) for job in batch]
            break
    return results


def _split(jobs: Sequence[SentPlan]) -> tuple[list[SentPlan], list[SentPlan]]:
    """Split into jobs that can run together, and jobs whose effects must be observed separately."""
    if len(jobs) > 1 and _touch_one_another(jobs):
        return [], list(jobs)
    return [job for job in jobs if not job.plan.triggers], [job for job in jobs if job.plan.triggers]


def _after(error: TargetError, target: Target, jobs: Sequence[SentPlan], limits: TransactionLimits) -> list[Result]:
    """Handle a failed transaction: the error may belong to one of its plans alone."""
    writes_all = target.promises.writes_all
    of_none = error.outcome in (TransactionOutcome.UNKNOWN, TransactionOutcome.PAUSE)
    if len(jobs) == 1 or of_none or (writes_all and error.outcome is TransactionOutcome.NOT_DONE):
        return [failed(job, error) for job in jobs]
    if not writes_all:
        return _alone(target, jobs, limits)
    middle = len(jobs) // 2  # of many plans, only a few fail: each half is one version of the file
    return [result for half in (jobs[:middle], jobs[middle:]) for result in perform(target, half, limits)]


def _alone(target: Target, jobs: Sequence[SentPlan], limits: TransactionLimits) -> list[Result]:
    results: list[Result] = []
    failures = 0
    for job in jobs:
        if failures >= MOST_FAILURES:
            results.append(replace(results[-1], job=job))
            continue
        try:
            results += _in_turn(target, [job], limits)
        except ConnectorError as error:
            results.append(failed(job, error))
        failures = failures + 1 if results[-1].how in (How.NOT_DONE, How.PAUSED) else 0
    return results


def failed(job: SentPlan, error: ConnectorError) -> Result:
    """Return the result of a job that failed with this error."""
    if isinstance(error, TargetError):
        return Result(job, _OF[error.outcome], str(error), error.code)
    return Result(job, _REACTIONS[error.reaction], str(error))


def before_sent(job: SentPlan, error: ConnectorError) -> Result:
    """Return the result of a job whose target failed before anything was sent to it, which another attempt may do."""
    how = How.PAUSED if _is_for_person(error) else How.NOT_DONE
    return Result(job, how, str(error), error.code if isinstance(error, TargetError) else "")


def _is_for_person(error: ConnectorError) -> bool:
    return (
        error.outcome is TransactionOutcome.PAUSE if isinstance(error, TargetError) else error.reaction is Reaction.ASK
    )


def may_answer_later(error: ConnectorError) -> bool:
    """Return True if the target may do later what it did not do now: it is busy, away or refuses access."""
    if isinstance(error, TargetError):
        return error.outcome in (TransactionOutcome.NOT_DONE, TransactionOutcome.PAUSE)
    return isinstance(error, SourceUnavailable) or error.reaction in (Reaction.RETRY, Reaction.ASK)


# All at once


def _at_once(target: Target, jobs: Sequence[SentPlan], limits: TransactionLimits) -> list[Result]:
    """Execute the whole batch without savepoints; raises _NeedsSeparation if any row is not as planned."""
    with target.work(limits.seconds()) as work:
        points.reach("target.begun")
        try:
            done = _steps(work, jobs, limits.stamps)
        except _Drift as error:
            raise _NeedsSeparation(error.jobs) from error
        except ReceiptStands as error:
            existing = [job.id for job in jobs if any(receipt.key in error.found for receipt in job.receipts)]
            raise _NeedsSeparation(existing) from error
        except (RowsDiffer, verdict.Unassigned) as error:
            raise _NeedsSeparation from error
        _commit(work, jobs, limits)
    return done


def _in_turn(target: Target, jobs: Sequence[SentPlan], limits: TransactionLimits) -> list[Result]:
    """Execute each plan inside a savepoint, so that a failing one does not affect the others."""
    results: list[Result] = []
    with target.work(limits.seconds()) as work:
        points.reach("target.begun")
        for job in jobs:
            try:
                with work.savepoint():
                    results += _steps(work, [job], limits.stamps)
            except _Drift as error:
                results.append(Result(job, error.how, error.why))
            except RowsDiffer as error:
                results.append(_vetoed(job, error))
            except ReceiptStands as error:
                results.append(done_before(work, job, error.found))
            except TargetError as error:
                if error.outcome not in _OF_ONE:
                    raise
                results.append(failed(job, error))
        if any(result.how is How.DONE for result in results):
            _commit(work, [result.job for result in results if result.how is How.DONE], limits)
    return results


def _vetoed(job: SentPlan, error: RowsDiffer) -> Result:
    """Return a conflict: the row was locked and compared, so the target itself prevented the change."""
    reason = f"a trigger or rule of {error.row.table} prevented a row from being changed as planned"
    return Result(job, How.CONFLICT, reason)


def _commit(work: Work, jobs: Sequence[SentPlan], limits: TransactionLimits) -> None:
    if not all(job.receipts for job in jobs) and work.transaction is not None:
        limits.named(jobs, work.transaction)
    points.reach("target.before_commit")
    work.commit()
    points.reach("target.committed")


def _steps(work: Work, jobs: Sequence[SentPlan], stamps: Mapping[str, str]) -> list[Result]:
    """Run all steps between BEGIN and COMMIT for these plans: all are DONE, or none.

    Raises _Drift, ReceiptStands, RowsDiffer, Unassigned, TargetError.
    """
    plans = [job.plan for job in jobs]
    receipts = sorted((receipt for job in jobs for receipt in job.receipts), key=lambda receipt: receipt.key)
    if receipts:
        work.receive(receipts)
        points.reach("target.received")
    before = work.lock(_unique(change.row for plan in plans for change in plan.changes))
    points.reach("target.locked")
    drifted = {job.id: reason for job in jobs if (reason := images.drift(job.plan, before))}
    if drifted:
        raise _Drift(next(iter(drifted.values())), drifted)
    as_done = [replace(job, plan=images.as_locked(job.plan, before)) for job in jobs]
    plans = [job.plan for job in as_done]
    _hold(work, plans, stamps)
    _compare_references(work, plans)
    _must_be_reversible(work, as_done)
    changes = [change for plan in plans for change in plan.changes if not change.is_guard]
    related = {plan.table for plan in plans}
    related |= {guard.reference.table for plan in plans for guard in plan.references if guard.reference.soft}
    witness = work.witness(changes, related=sorted(related), triggers=any(plan.triggers for plan in plans))
    _apply(work, changes, at_once=len(jobs) > 1)
    after = work.lock(_unique([*map(images.name_after, changes), *verdict.guards_of(plans)]))
    points.reach("target.read_back")
    image_sets = [images.done(plan, before, after) for plan in plans]
    beside = _verified(work, witness, as_done, image_sets, after)
    if receipts:
        work.seal(_sealed(jobs, image_sets))
        points.reach("target.sealed")
    return [
        Result(job, How.DONE, images=own, beside=notes)
        for job, own, notes in zip(jobs, image_sets, beside, strict=True)
    ]


def _apply(work: Work, changes: Sequence[Change], *, at_once: bool) -> None:
    if at_once:
        work.apply_all(changes)
        return
    for change in changes:
        work.apply(change)
        points.reach("target.changed")


def _verified(
    work: Work, witness: Witness, jobs: Sequence[SentPlan], image_sets: Sequence[Images], after: Mapping[RowName, Row]
) -> list[tuple[str, ...]]:
    """Return the side effects of each job; raises _Drift if they contradict the plan, and Unassigned."""
    for job, own in zip(jobs, image_sets, strict=True):
        if reason := images.left_over(own):
            raise _Drift(reason, (job.id,), How.CONFLICT)
    try:
        return verdict.verify(work, witness, [job.plan for job in jobs], image_sets, after)
    except verdict.NotAsPlanned as error:
        raise _Drift(str(error), [job.id for job in jobs], How.REFUSED) from error


def _hold(work: Work, plans: Sequence[Plan], stamps: Mapping[str, str]) -> None:
    """Lock the references to tables that lose rows; raises _Drift if they changed since the catalogue was read."""
    tables = [table for table in dict.fromkeys(leaving.tables(plans)) if table in stamps]
    if tables and work.hold(tables) != {table: stamps[table] for table in tables}:
        raise _Drift("a reference to its table, or one of its triggers, changed since it was planned")


def _sealed(jobs: Sequence[SentPlan], image_sets: Sequence[Images]) -> list[Receipt]:
    digests = (images.digest(image_set) for image_set in image_sets)
    return [replace(item, after=digest) for job, digest in zip(jobs, digests, strict=True) for item in job.receipts]


def _compare_references(work: Work, plans: Sequence[Plan]) -> None:
    """Check that the rows referring to the surplus are the planned ones; raises _Drift.

    The guards of one reference are checked together. A row that now refers to another plan's record is still found,
    because each of these rows is compared completely as well.
    """
    to: dict[Reference, list[tuple[Cell, ...]]] = defaultdict(list)
    planned: dict[Reference, set[RowName]] = defaultdict(set)
    for plan in plans:
        for guard in plan.references:
            if guard.to:
                to[guard.reference] += guard.to
                planned[guard.reference].update(guard.rows)
    for reference, cells in to.items():
        referring = {row.name for row in work.referring(reference, list(dict.fromkeys(cells)), lock=True)}
        if referring != planned[reference]:
            difference = "another row refers" if referring - planned[reference] else "a row no longer refers"
            raise _Drift(f"{difference} to the surplus by {reference.name} of {reference.table}")


def _must_be_reversible(work: Work, jobs: Sequence[SentPlan]) -> None:
    """Raise _Drift if a plan that can be undone changes a row that the database would refuse to restore."""
    undoable = [job for job in jobs if job.plan.reversible != "no"]
    changes = [change for job in undoable for change in job.plan.changes if not change.is_guard]
    violations = {item.row: item for item in work.violations(changes) if item.is_certain} if changes else {}
    if not violations:
        return
    rows = {job.id: {change.row for change in job.plan.changes if not change.is_guard} for job in undoable}
    drifted = [name for name, changed in rows.items() if not changed.isdisjoint(violations)]
    violation = next(iter(violations.values()))
    raise _Drift(f"a row of {violation.row.table} violates {violation.rule}, so it could not be restored", drifted)


def _unique(rows: Iterable[RowName]) -> list[RowName]:
    return list(dict.fromkeys(rows))


# Existing receipts


def done_before(work: Work, job: SentPlan, existing: Mapping[str, Receipt]) -> Result:
    """Return the result that existing receipts prove, after the plan's own attempt was rolled back."""
    received = [existing[receipt.key] for receipt in job.receipts if receipt.key in existing]
    own = {receipt.key: receipt for receipt in job.receipts}
    if any(item.fingerprint != own[item.key].fingerprint or item.store != own[item.key].store for item in received):
        return Result(job, How.KEY_CONFLICT, "the target has a receipt with this key for a different operation")
    if len(received) < len(job.receipts):
        return Result(job, How.DRIFTED, "a part of it was done before, with other records")
    return Result(job, How.DONE_BEFORE, images=_as_received(work, job, received[0].after))


def _as_received(work: Work, job: SentPlan, digest: str) -> Images | None:
    """Return the images from when the receipts were sealed; None if they are no longer known."""
    foretold = images.expected(job.plan)
    now = work.lock(_unique(images.name_after(image.change) for image in foretold))
    current = []
    for image in foretold:
        row = now.get(images.name_after(image.change))
        current.append(replace(image, after=None if row is None else dict(row.cells)))
    return next((candidate for candidate in (tuple(current), foretold) if images.digest(candidate) == digest), None)


# Overlap of plans


def _touch_one_another(jobs: Sequence[SentPlan]) -> bool:
    """Return True if one plan changes rows that another one compares, so that they must run in turn.

    Rows are identified by their keys, so all rows of a table must be named by the same columns.
    """
    key_columns: dict[str, tuple[str, ...]] = {}
    by: dict[RowName, int] = {}
    changed: set[RowName] = set()
    for number, job in enumerate(jobs):
        for change in job.plan.changes:
            columns = tuple(column for column, _ in change.row.key)
            if key_columns.setdefault(change.row.table, columns) != columns:
                return True
            for row in {change.row, images.name_after(change)}:
                first_number = by.setdefault(row, number)
                if first_number != number and (row in changed or not change.is_guard):
                    return True
                if not change.is_guard:
                    changed.add(row)
    return _refer_to_one_another([job.plan for job in jobs])


def _refer_to_one_another(plans: Sequence[Plan]) -> bool:
    """Return True if a plan adds a reference to a row whose references another plan has checked."""
    expected: dict[tuple[str, tuple[str, ...], tuple[Cell, ...]], int] = {}
    columns: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for number, plan in enumerate(plans):
        for guard in plan.references:
            columns[guard.reference.table].add(guard.reference.columns)
            for cells in guard.to:
                expected[guard.reference.table, guard.reference.columns, cells] = number
    for number, plan in enumerate(plans):
        for change in plan.changes:
            for names in columns.get(change.row.table, ()) if change.after else ():
                after = {**(change.before or {}), **(change.after or {})}
                refers = tuple(after.get(name) for name in names)
                if expected.get((change.row.table, names, refers), number) != number:
                    return True
    return False


def overtaken(job: SentPlan, leaves: leaving.TableCatalogues) -> Result | None:
    """Return why an undo is not begun: the references to a table that would lose rows changed."""
    if not job.plan.undoes:
        return None
    try:
        now = leaves.digest(job.plan)
    except leaving.DatasetRemoved:
        return Result(job, How.DRIFTED, f"dataset {job.plan.dataset!r} is no longer in the configuration")
    except ConnectorError as error:
        return failed(job, error)
    if now == job.plan.catalogue:
        return None
    return Result(job, How.DRIFTED, "a table that would lose rows, or a reference to it, changed since it was planned")
