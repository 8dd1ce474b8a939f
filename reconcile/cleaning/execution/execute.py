"""Bundles are done on a target: one transaction for a batch, each bundle whole or not at all, and once.

Inside the transaction, in this order: the receipts, which stand for "this was done"; locks on every row, the keeper
included; every row compared whole with what was planned; the rows that refer to them; the changes; the rows as they
are then. Nothing here touches the store: whoever calls has said there, durably, that these bundles are under way.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from connectors.errors import ConnectorError, Reaction
from connectors.target import (
    Cell,
    Change,
    Outcome,
    Receipt,
    ReceiptStands,
    Reference,
    Row,
    RowName,
    RowsDiffer,
    Target,
    TargetError,
    Witness,
    Work,
)
from reconcile import points
from reconcile.cleaning.execution import images, leaving, verdict
from reconcile.cleaning.execution.images import Images
from reconcile.findings.bundle import Bundle

MOST_FAILURES = 2
"""After so many bundles in a row the target does not take, the rest of the batch is left for later."""


class How(enum.Enum):
    """What became of a bundle."""

    DONE = "done"
    DONE_BEFORE = "done_before"  # its receipts stand: an earlier attempt did it
    UNDONE_BEFORE = "undone_before"  # a receipt of it stands, and one of its undo
    DRIFTED = "drifted"  # proven not done: the rows are not as planned
    KEY_CONFLICT = "key_conflict"  # a receipt with its key stands for something else
    NOT_DONE = "not_done"  # proven; the same may work later
    PAUSED = "paused"  # proven not done, and a person has to see to the target first
    CONFLICT = "conflict"  # proven not done: a constraint of the target forbids it
    REFUSED = "refused"  # proven not done, and it never would be
    IN_DOUBT = "in_doubt"  # the connection broke in COMMIT
    UNKNOWN = "unknown"  # the target was asked, and cannot tell


_OF: dict[Outcome, How] = {
    Outcome.NOT_DONE: How.NOT_DONE,
    Outcome.AMBIGUOUS: How.IN_DOUBT,
    Outcome.PAUSE: How.PAUSED,
    Outcome.CONFLICT: How.CONFLICT,
    Outcome.TERMINAL: How.REFUSED,
}
_REACTIONS = {Reaction.RETRY: How.NOT_DONE, Reaction.ASK: How.PAUSED, Reaction.STOP: How.REFUSED}
"""What an error says that came before COMMIT and is none of a transaction."""
_OF_ONE = (Outcome.CONFLICT, Outcome.TERMINAL)
"""Errors that are about one bundle; the transaction goes on after its savepoint."""


@dataclass(frozen=True)
class Job:
    """A bundle that is `sent`, with a receipt for each of its operations; none where the target keeps none."""

    id: str
    bundle: Bundle
    receipts: tuple[Receipt, ...] = ()


@dataclass(frozen=True)
class Result:
    """What became of a job. `why` is a sentence without values, `code` the target's own word for an error.

    `images` are the rows as they were and are; None where it was not done, or where they cannot be told any more.
    """

    job: Job
    how: How
    why: str = ""
    code: str = ""
    images: Images | None = None
    beside: tuple[str, ...] = ()
    """What triggers did beside it, and what they kept an undo from restoring, in sentences."""


@dataclass(frozen=True)
class Limits:
    """`seconds` says how long the next transaction may take, and raises where the claim does not bear one more.

    `named` is told the target's name of a transaction before its COMMIT, where no receipt can be kept. `stamps` are
    the catalogue's, by table: what refers to a table whose rows leave must not have changed since it was read.
    """

    seconds: Callable[[], float]
    named: Callable[[Sequence[Job], str], None] = lambda _jobs, _name: None
    stamps: Mapping[str, str] = field(default_factory=dict)


class _NotSmooth(Exception):
    """Nothing of the transaction is kept: these bundles need to be looked at by themselves; none: every one does."""

    def __init__(self, apart: Collection[str] = ()) -> None:
        super().__init__()
        self.apart = frozenset(apart)


class _Drift(Exception):
    """Rows are not as these bundles were planned with; none named: it cannot be said whose."""

    def __init__(self, why: str, jobs: Collection[str] = (), how: How = How.DRIFTED) -> None:
        super().__init__(why)
        self.why = why
        self.jobs = frozenset(jobs)
        self.how = how


def perform(target: Target, jobs: Sequence[Job], limits: Limits) -> list[Result]:
    """Do these bundles and say of each what became of it, in no particular order. Only what `limits` raises comes out.

    All in one transaction where nothing speaks against it; those that are not as planned each inside a savepoint of
    its own; after an error of the target each in a transaction of its own.
    """
    results: list[Result] = []
    together, apart = _split(jobs)
    for some, way in ((together, _at_once), (apart, _in_turn)):
        while some:
            try:
                results += way(target, some, limits)
            except _NotSmooth as error:
                looked_at = [job for job in some if job.id in error.apart] or some
                apart += looked_at
                some = [job for job in some if job not in looked_at]  # noqa: PLW2901 - what is left to do at once
                continue
            except TargetError as error:
                results += _after(error, target, some, limits)
            except ConnectorError as error:
                results += [failed(job, error) for job in some]
            break
    return results


def _split(jobs: Sequence[Job]) -> tuple[list[Job], list[Job]]:
    """Those that can be done at once, and those whose effects have to be told apart from others'."""
    if len(jobs) > 1 and _touch_one_another(jobs):
        return [], list(jobs)
    return [job for job in jobs if not job.bundle.triggers], [job for job in jobs if job.bundle.triggers]


def _after(error: TargetError, target: Target, jobs: Sequence[Job], limits: Limits) -> list[Result]:
    """Whatever ended a transaction of several bundles may be about one of them alone."""
    if len(jobs) == 1 or error.outcome in (Outcome.AMBIGUOUS, Outcome.PAUSE):
        return [failed(job, error) for job in jobs]
    return _alone(target, jobs, limits)


def _alone(target: Target, jobs: Sequence[Job], limits: Limits) -> list[Result]:
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


def failed(job: Job, error: ConnectorError) -> Result:
    """What an error says of the job that it ended."""
    if isinstance(error, TargetError):
        return Result(job, _OF[error.outcome], str(error), error.code)
    return Result(job, _REACTIONS[error.reaction], str(error))


# All at once


def _at_once(target: Target, jobs: Sequence[Job], limits: Limits) -> list[Result]:
    """The whole batch without savepoints; raises _NotSmooth when any of it is not as planned."""
    with target.work(limits.seconds()) as work:
        points.reach("target.begun")
        try:
            done = _steps(work, jobs, limits.stamps)
        except _Drift as error:
            raise _NotSmooth(error.jobs) from error
        except ReceiptStands as error:
            raise _NotSmooth([job.id for job in jobs if any(one.key in error.found for one in job.receipts)]) from error
        except (RowsDiffer, verdict.Unassigned) as error:
            raise _NotSmooth from error
        _commit(work, jobs, limits)
    return done


def _in_turn(target: Target, jobs: Sequence[Job], limits: Limits) -> list[Result]:
    """Each bundle inside a savepoint: one that is not as planned leaves the others alone."""
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
        if any(one.how is How.DONE for one in results):
            _commit(work, [one.job for one in results if one.how is How.DONE], limits)
    return results


def _vetoed(job: Job, error: RowsDiffer) -> Result:
    """The row was locked and compared, so only the database itself can have kept the change from meeting it."""
    why = f"a trigger or rule of {error.row.table} kept a row from being changed as planned"
    return Result(job, How.CONFLICT, why)


def _commit(work: Work, jobs: Sequence[Job], limits: Limits) -> None:
    if not all(job.receipts for job in jobs) and work.transaction is not None:
        limits.named(jobs, work.transaction)
    points.reach("target.before_commit")
    work.commit()
    points.reach("target.committed")


def _steps(work: Work, jobs: Sequence[Job], stamps: Mapping[str, str]) -> list[Result]:
    """Everything between BEGIN and COMMIT for these bundles: each DONE, or none of them is.

    Raises _Drift, ReceiptStands, RowsDiffer, Unassigned, TargetError.
    """
    bundles = [job.bundle for job in jobs]
    receipts = sorted((one for job in jobs for one in job.receipts), key=lambda one: one.key)
    if receipts:
        work.receive(receipts)
        points.reach("target.received")
    before = work.lock(_unique(change.row for bundle in bundles for change in bundle.changes))
    points.reach("target.locked")
    drifted = {job.id: why for job in jobs if (why := images.drift(job.bundle, before))}
    if drifted:
        raise _Drift(next(iter(drifted.values())), drifted)
    as_done = [replace(job, bundle=images.as_locked(job.bundle, before)) for job in jobs]
    bundles = [job.bundle for job in as_done]
    _hold(work, bundles, stamps)
    _compare_references(work, bundles)
    changes = [change for bundle in bundles for change in bundle.changes if not change.is_guard]
    related = {bundle.table for bundle in bundles}
    related |= {guard.reference.table for bundle in bundles for guard in bundle.references if guard.reference.soft}
    witness = work.witness(changes, related=sorted(related), triggers=any(bundle.triggers for bundle in bundles))
    _apply(work, changes, at_once=len(jobs) > 1)
    after = work.lock(_unique([*map(images.name_after, changes), *verdict.guards_of(bundles)]))
    points.reach("target.read_back")
    done = [images.done(bundle, before, after) for bundle in bundles]
    beside = _verified(work, witness, as_done, done, after)
    if receipts:
        work.seal(_sealed(jobs, done))
        points.reach("target.sealed")
    return [Result(job, How.DONE, images=own, beside=said) for job, own, said in zip(jobs, done, beside, strict=True)]


def _apply(work: Work, changes: Sequence[Change], *, at_once: bool) -> None:
    if at_once:
        work.apply_all(changes)
        return
    for change in changes:
        work.apply(change)
        points.reach("target.changed")


def _verified(
    work: Work, witness: Witness, jobs: Sequence[Job], done: Sequence[Images], after: Mapping[RowName, Row]
) -> list[tuple[str, ...]]:
    """What else happened with each job; raises _Drift where it is not what was planned, and Unassigned."""
    for job, own in zip(jobs, done, strict=True):
        if why := images.left_over(own):
            raise _Drift(why, (job.id,), How.CONFLICT)
    try:
        return verdict.verify(work, witness, [job.bundle for job in jobs], done, after)
    except verdict.NotAsPlanned as error:
        raise _Drift(str(error), [job.id for job in jobs], How.REFUSED) from error


def _hold(work: Work, bundles: Sequence[Bundle], stamps: Mapping[str, str]) -> None:
    """Nobody comes to refer to a table whose rows leave, nor did since the catalogue was read; raises _Drift."""
    tables = [table for table in dict.fromkeys(leaving.tables(bundles)) if table in stamps]
    if tables and work.hold(tables) != {table: stamps[table] for table in tables}:
        raise _Drift("what refers to its table, or a trigger of it, changed since it was planned")


def _sealed(jobs: Sequence[Job], done: Sequence[Images]) -> list[Receipt]:
    digests = (images.digest(one) for one in done)
    return [replace(one, after=digest) for job, digest in zip(jobs, digests, strict=True) for one in job.receipts]


def _compare_references(work: Work, bundles: Sequence[Bundle]) -> None:
    """The rows that refer to the surplus are still those that were planned with; raises _Drift.

    The guards of one reference are looked at together: each of the rows they name is compared whole as well, so that
    one which now refers to another bundle's record shows there.
    """
    to: dict[Reference, list[tuple[Cell, ...]]] = defaultdict(list)
    planned: dict[Reference, set[RowName]] = defaultdict(set)
    for bundle in bundles:
        for guard in bundle.references:
            if guard.to:
                to[guard.reference] += guard.to
                planned[guard.reference].update(guard.rows)
    for reference, cells in to.items():
        found = {row.name for row in work.referring(reference, list(dict.fromkeys(cells)), lock=True)}
        if found != planned[reference]:
            more = "another row refers" if found - planned[reference] else "a row does not refer any more"
            raise _Drift(f"{more} to the surplus by {reference.name} of {reference.table}")


def _unique(rows: Iterable[RowName]) -> list[RowName]:
    return list(dict.fromkeys(rows))


# Receipts that stand


def done_before(work: Work, job: Job, found: Mapping[str, Receipt]) -> Result:
    """What receipts that stand already say of a bundle whose own attempt was rolled back."""
    standing = [found[one.key] for one in job.receipts if one.key in found]
    ours = {one.key: one for one in job.receipts}
    if any(one.fingerprint != ours[one.key].fingerprint or one.store != ours[one.key].store for one in standing):
        return Result(job, How.KEY_CONFLICT, "a receipt of this operation stands in the target for something else")
    if len(standing) < len(job.receipts):
        return Result(job, How.DRIFTED, "a part of it was done before, with other records")
    return Result(job, How.DONE_BEFORE, images=_as_received(work, job, standing[0].after))


def _as_received(work: Work, job: Job, digest: str) -> Images | None:
    """How the rows looked when the receipts were sealed, where that can still be told."""
    foretold = images.expected(job.bundle)
    now = work.lock(_unique(images.name_after(one.change) for one in foretold))
    seen = []
    for one in foretold:
        row = now.get(images.name_after(one.change))
        seen.append(replace(one, after=None if row is None else dict(row.cells)))
    return next((one for one in (tuple(seen), foretold) if images.digest(one) == digest), None)


# Whether bundles can be done together


def _touch_one_another(jobs: Sequence[Job]) -> bool:
    """Whether one bundle of the batch changes what another one is compared with, so that they have to be done in turn.

    Rows are told apart by their keys, so all rows of a table have to be named by the same columns.
    """
    named: dict[str, tuple[str, ...]] = {}
    by: dict[RowName, int] = {}
    changed: set[RowName] = set()
    for number, job in enumerate(jobs):
        for change in job.bundle.changes:
            columns = tuple(column for column, _ in change.row.key)
            if named.setdefault(change.row.table, columns) != columns:
                return True
            for row in {change.row, images.name_after(change)}:
                other = by.setdefault(row, number)
                if other != number and (row in changed or not change.is_guard):
                    return True
                if not change.is_guard:
                    changed.add(row)
    return _refer_to_one_another([job.bundle for job in jobs])


def _refer_to_one_another(bundles: Sequence[Bundle]) -> bool:
    """Whether a bundle makes a row refer to what another one expects nobody new to refer to."""
    expected: dict[tuple[str, tuple[str, ...], tuple[Cell, ...]], int] = {}
    columns: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for number, bundle in enumerate(bundles):
        for guard in bundle.references:
            columns[guard.reference.table].add(guard.reference.columns)
            for cells in guard.to:
                expected[guard.reference.table, guard.reference.columns, cells] = number
    for number, bundle in enumerate(bundles):
        for change in bundle.changes:
            for names in columns.get(change.row.table, ()) if change.after else ():
                after = {**(change.before or {}), **(change.after or {})}
                refers = tuple(after.get(name) for name in names)
                if expected.get((change.row.table, names, refers), number) != number:
                    return True
    return False


def overtaken(job: Job, leaves: leaving.Leaving) -> Result | None:
    """Why an undo is not even begun: somebody came to refer to a table that rows would leave."""
    if not job.bundle.undoes:
        return None
    try:
        now = leaves.digest(job.bundle)
    except leaving.DatasetMissing:
        return Result(job, How.DRIFTED, f"dataset {job.bundle.dataset!r} is not in the configuration any more")
    except ConnectorError as error:
        return failed(job, error)
    if now == job.bundle.catalogue:
        return None
    return Result(job, How.DRIFTED, "a table that rows would leave, or what refers to it, changed since it was planned")
