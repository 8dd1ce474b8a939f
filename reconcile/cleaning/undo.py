"""Undo cleanings, newest first, with plans like any other; changes made by others are never overwritten.

Everything is planned before anything is changed. A field that changed since the cleaning is a conflict and stops the
whole undo, unless the person asks for a partial one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from connectors.target import Cells, Receipt, Reference, RowName, Target
from reconcile import points
from reconcile.audit import facts, log
from reconcile.cleaning.chunks import in_chunks
from reconcile.cleaning.execution import executor, images
from reconcile.cleaning.execution.leaving import DatasetRemoved, TableCatalogues
from reconcile.cleaning.execution.outcomes import ExecutionResult
from reconcile.cleaning.inverse import Conflict, inserted, inverse, rows_of, taking_back
from reconcile.cleaning.planning.draft import cells_at
from reconcile.config.settings import DatasetConfig
from reconcile.coordination import releases
from reconcile.errors import Refused
from reconcile.findings.plan import Plan, ReferenceGuard
from reconcile.findings.states import WITHDRAWABLE, Event, PlanState
from reconcile.journal import effects
from reconcile.store import Store, Transaction
from reconcile.store import plans as stored
from reconcile.store.findings import get
from reconcile.store.plans import StoredPlan

CHUNK = 250
SECONDS = 20.0
_SHOWN = 5
_DONE = ("operation.succeeded", "operation.judged")
"""Events of the log for an executed plan: recorded by execution, or by a person's verdict."""
_CLEANED = (Event.CLEANED.value, _DONE[0])
"""Events of the log for a cleaned finding: its own, in logs of earlier versions, or that of its plan."""


class NothingToUndo(Refused):
    def __init__(self, scope: str) -> None:
        super().__init__(f"No cleaning of {scope} is left to undo")


class TooLate(Refused):
    """The values from before the cleaning were deleted."""

    def __init__(self, plan: StoredPlan, window: dt.timedelta) -> None:
        date = f" on {plan.ended_at:%Y-%m-%d}" if plan.ended_at else ""
        super().__init__(
            f"{plan.finding} was cleaned{date}, and its earlier values were deleted: after {window.days} days "
            "(`undo_window`), or by `reconcile erase`. It can no longer be undone. Nothing was changed"
        )


class AnotherTarget(Refused):
    """The source now leads to a different target than the cleaned one."""

    def __init__(self, plan: StoredPlan) -> None:
        super().__init__(
            f"Source {plan.source!r} now leads to a different target than the one where {plan.finding} was cleaned. "
            "Nothing was changed. Let it lead to that target again, then undo"
        )


class DatasetGone(Refused):
    """The dataset was removed from the configuration, so references to inserted rows cannot be checked."""

    def __init__(self, plan: StoredPlan) -> None:
        super().__init__(
            f"Dataset {plan.dataset!r} is no longer in the configuration, so references to the rows that "
            f"{plan.finding} moved cannot be checked. Nothing was changed. Add the dataset again, then undo"
        )


class NotKnown(Refused):
    """A person judged the cleaning as done; the rows were never read after it."""

    def __init__(self, plan: StoredPlan) -> None:
        super().__init__(
            f"The records of {plan.finding} were not read after plan {plan.id}, so later changes cannot be "
            "detected; compare them with `reconcile plan` of that plan and set them back by hand"
        )


class Final(Refused):
    """Nothing takes back the call of a cleaning."""

    def __init__(self, plan: StoredPlan) -> None:
        super().__init__(
            f"{plan.finding} was cleaned by a call that nothing takes back, as its plan {plan.id} said. Nothing was "
            "changed; what it did can only be corrected by hand"
        )


class Forged(Refused):
    """The stored values of a cleaning were changed after it."""

    def __init__(self, plan: StoredPlan, against: str) -> None:
        super().__init__(
            f"The stored values of {plan.finding} from before its cleaning do not match {against}: "
            f"plan {plan.id} was changed outside Reconcile. Nothing was changed. Run `reconcile audit verify`, "
            "and compare the state with a backup"
        )


class Unproven(Refused):
    """Neither the audit log nor a receipt proves the stored values of a cleaning."""

    def __init__(self, plan: StoredPlan) -> None:
        super().__init__(
            f"The stored values of {plan.finding} from before its cleaning cannot be verified: an earlier version "
            f"stored plan {plan.id}, and its receipts are not in the target. Nothing was changed; compare "
            "the rows with `reconcile plan` of that plan and set them back by hand"
        )


class Conflicts(Refused):
    """Rows changed since the cleaning; `later` are findings whose later cleanings changed them."""

    def __init__(self, conflicts: Sequence[tuple[str, Conflict]], later: Sequence[str]) -> None:
        shown = "; ".join(f"{finding}: {conflict}" for finding, conflict in conflicts[:_SHOWN])
        rest = f"; and {len(conflicts) - _SHOWN:,} more" if len(conflicts) > _SHOWN else ""
        hint = f" Later cleanings did that: {', '.join(later)}; `--with-later` undoes them first." if later else ""
        super().__init__(
            f"Rows changed since they were cleaned, so nothing was undone: {shown}{rest}.{hint} `--partial` undoes "
            "the unchanged fields and leaves the others as they are now"
        )
        self.conflicts = tuple(conflicts)
        self.later = tuple(later)


@dataclass(frozen=True)
class Undone:
    """The result of an undo: findings that were undone or failed, and conflicts that were left as they are.

    `not_restored` names, by finding, the columns whose values are not as before the cleaning, and other side effects.
    `undone_before` are the findings of a request that was carried out earlier, so that nothing was changed now. Those
    of `failed` whose undo is recorded, and waits for its target, are in `waiting` too.
    """

    undone: tuple[str, ...]
    failed: tuple[tuple[str, str], ...] = ()
    conflicts: tuple[tuple[str, Conflict], ...] = ()
    unchanged: int = 0
    undone_before: tuple[str, ...] = ()
    not_restored: tuple[tuple[str, str], ...] = ()
    waiting: tuple[str, ...] = ()

    @property
    def only_waits(self) -> bool:
        """True if everything that was not undone is recorded, and waits for its target."""
        return bool(self.failed) and {finding for finding, _ in self.failed} <= {*self.waiting}


def chosen(
    tx: Transaction, selection: stored.PlanFilter, *, only: str | None = None, with_later: bool = False
) -> list[str]:
    """Select executed plans that were not undone, newest first; optionally with later plans on the same records.

    Plans of a run are those it planned and those it executed.
    """
    names = _in_state(tx, selection, PlanState.SUCCEEDED, only)
    order = _order(tx, names)
    pending = list(order) if with_later else []
    while pending:
        fresh = {name: at for name, at in _later(tx, pending.pop()).items() if name not in order}
        order |= fresh
        pending += fresh
    return sorted(order, key=lambda name: (order[name], name), reverse=True)


def undone_before(tx: Transaction, selection: stored.PlanFilter, *, only: str | None = None) -> tuple[str, ...]:
    """Return the findings of these plans if they are undone; none as long as an undo of any of them waits."""
    if _in_state(tx, selection, PlanState.COMPENSATING, only):
        return ()
    names = _in_state(tx, selection, PlanState.COMPENSATED, only)
    return tuple(sorted({stored.get(tx, name).finding for name in names}))


def _in_state(tx: Transaction, selection: stored.PlanFilter, state: PlanState, only: str | None) -> set[str]:
    """Select plans in this state that are no undo; those of a run are the ones it planned or executed."""
    plans = stored.find(tx, replace(selection, states=(state,)))
    names = {plan.id for plan in plans if plan.undoes is None and only in (None, plan.id)}
    return names if selection.run is None else names | _executed_by(tx, selection.run, state)


def _executed_by(tx: Transaction, run: str, state: PlanState) -> set[str]:
    """Select plans in this state that the run executed, its own or not."""
    logged = [entry for event in _CLEANED for entry in log.entries(tx, run=run, event=event)]
    stories = [(entry.body, entry.body.get(log.STORY, entry.event)) for entry in logged if entry.body]
    names = [body["plan"] for body, story in stories if "plan" in body and story == Event.CLEANED.value]
    in_state = (stored.in_state(tx, chunk, state) for chunk in in_chunks(names, CHUNK))
    return set().union(*in_state)


def _later(tx: Transaction, name: str) -> dict[str, int]:
    """Select plans executed after this one on any of the same records, with their position."""
    sharing = stored.sharing_with(tx, stored.get(tx, name))
    at = _order(tx, [name, *sharing])
    return {later: at[later] for later in sharing if at[later] > at[name]}


def _order(tx: Transaction, names: Collection[str]) -> dict[str, int]:
    """Return the order of execution by position in the log, since clocks may be set back."""
    seqs = log.first_of(tx, [f"plan:{name}" for name in names], _DONE)
    return {name: seqs.get(f"plan:{name}", 0) for name in names}


@dataclass
class _Planning:
    """Plans the undo for one source. `now` holds rows as the inverse plans made so far will leave them."""

    store: Store
    target: Target
    datasets: Mapping[str, DatasetConfig]
    now: dict[RowName, Cells | None] = field(default_factory=dict)
    layers: list[list[Plan]] = field(default_factory=list)
    conflicts: list[tuple[str, Conflict]] = field(default_factory=list)
    unchanged: int = 0
    _layer_of: dict[RowName | str, int] = field(default_factory=dict)
    """The last layer that touches a row or holds a plan of a finding."""

    @cached_property
    def _leaving(self) -> TableCatalogues:
        return TableCatalogues(self.target, self.datasets)

    @cached_property
    def identity(self) -> str:
        return self.target.identity()

    def add(self, plans: Sequence[StoredPlan]) -> None:
        """Plan the undo of these plans, in this order."""
        opened = [(plan, plan.content, () if plan.content.calls else _images(plan)) for plan in plans]
        self._prove(opened)
        rows = self._read(name for _, _, before_after in opened for name in rows_of(before_after))
        for plan, content, before_after in opened:
            if content.calls:
                taking = _taking_back(plan, content)
                self._append(replace(taking, catalogue=self._catalogue(plan, taking)))
                continue
            now = rows | {k: v for k, v in self.now.items() if v is not None}
            leaning = {row: self._leaning(plan, row, now[row]) for row in inserted(before_after) if row in now}
            result = inverse(plan.id, content, before_after, now, leaning)
            self.conflicts += [(plan.finding, conflict) for conflict in result.conflicts]
            if result.plan is None:
                self.unchanged += not result.conflicts
                continue
            self._append(replace(result.plan, catalogue=self._catalogue(plan, result.plan)))

    def _prove(self, opened: Sequence[tuple[StoredPlan, Plan, images.Images]]) -> None:
        """Check the images against the audit log and the target's receipts; raise Forged or Unproven."""
        keys = {plan.id: effects.keys_of(self.store, plan.target, content) for plan, content, _ in opened}
        receipts: dict[str, Receipt] = {}
        for plan, content, _ in opened:
            receipts |= self.target.receipts(keys[plan.id], content.table)
        with self.store.read() as tx:
            recorded = facts.as_recorded(tx, facts.PLAN, list(keys))
        for plan, _, before_after in opened:
            if not recorded.get(plan.id, True):
                raise Forged(plan, "the audit log")
            received = {receipts[key].after for key in keys[plan.id] if key in receipts}
            if received - {images.digest(before_after)}:
                raise Forged(plan, "the receipt in the target")
            if plan.id not in recorded and not received:
                raise Unproven(plan)

    def _catalogue(self, plan: StoredPlan, content: Plan) -> str:
        try:
            return self._leaving.digest(content)
        except DatasetRemoved as error:
            raise DatasetGone(plan) from error

    def _read(self, names: Iterable[RowName]) -> dict[RowName, Cells]:
        to_read = [name for name in dict.fromkeys(names) if name not in self.now]
        if not to_read:
            return {}
        with self.target.work(SECONDS) as work:
            return {name: dict(row.cells) for name, row in work.lock(to_read).items()}

    def _leaning(self, plan: StoredPlan, row: RowName, cells: Cells) -> list[ReferenceGuard]:
        """Return the references to an inserted row that undo deletes: no unplanned row may be deleted with it."""
        guards = []
        for reference in self._referring_to(plan, row.table):
            key = cells_at(cells, reference.to_columns)
            if key is not None:
                rows = tuple(referring.name for referring in self.target.referring(reference, [key]))
                guards.append(ReferenceGuard(reference, (key,), rows))
        return guards

    def _referring_to(self, plan: StoredPlan, table: str) -> Sequence[Reference]:
        try:
            catalogue = self._leaving.catalogue(plan.dataset, table)
        except DatasetRemoved as error:
            raise DatasetGone(plan) from error
        return [link for link in catalogue.references if link.to_table == catalogue.table]

    def _append(self, plan: Plan) -> None:
        touched: set[RowName | str] = {
            name for change in plan.changes for name in (change.row, images.name_after(change))
        }
        touched |= {plan.finding, *(call.row for call in plan.calls)}
        layer = max((self._layer_of[name] + 1 for name in touched if name in self._layer_of), default=0)
        while len(self.layers) <= layer:
            self.layers.append([])
        self.layers[layer].append(plan)
        self._layer_of |= dict.fromkeys(touched, layer)
        for change in plan.changes:
            self.now[change.row] = None
            cells = None if change.after is None else {**(change.before or {}), **change.after}
            self.now[images.name_after(change)] = cells


def undo_plans(
    tools: executor.ExecutionContext,
    names: Sequence[str],
    *,
    by: str,
    scope: str,
    partial: bool = False,
    note: str | None = None,
) -> Undone:
    """Undo these plans, in this order; `scope` names the request for messages.

    Raises a Refused (nothing was changed then), ConnectorError, StoreError.
    """
    if not names:
        raise NothingToUndo(scope)
    plannings: dict[str, _Planning] = {}
    findings: dict[str, str] = {}
    for chunk in in_chunks(names, CHUNK):
        for plan in _load(tools, chunk):
            if plan.source not in plannings:
                plannings[plan.source] = _Planning(tools.store, tools.target(plan.source), tools.terms.project.datasets)
            planning = plannings[plan.source]
            if plan.target != planning.identity:
                raise AnotherTarget(plan)
            findings[plan.id] = plan.finding
            planning.add([plan])
    conflicts = [conflict for planning in plannings.values() for conflict in planning.conflicts]
    if conflicts and not partial:
        raise Conflicts(conflicts, _later_findings(tools, names, {finding for finding, _ in conflicts}, findings))
    points.reach("undo.planned")
    succeeded: list[str] = []
    failed: list[tuple[str, str]] = []
    not_restored: list[tuple[str, str]] = []
    waiting: list[str] = []
    for planning in plannings.values():
        for layer in planning.layers:
            for plans in in_chunks(layer, CHUNK):
                ids = _store_approved(tools, plans, by, note)
                points.reach("undo.committed")
                tally = executor.execute_plans(tools, ids=ids)
                _collect(tools, ids, tally, note, succeeded, failed, not_restored, waiting)
    unchanged = sum(planning.unchanged for planning in plannings.values())
    return Undone(
        tuple(succeeded),
        tuple(failed),
        tuple(conflicts),
        unchanged,
        not_restored=tuple(dict.fromkeys(not_restored)),
        waiting=tuple(waiting),
    )


def _load(tools: executor.ExecutionContext, names: Sequence[str]) -> Iterator[StoredPlan]:
    window = tools.terms.project.undo_window
    with tools.store.read() as tx:
        plans = [stored.get(tx, name) for name in names]
        now = tx.now
    for plan in plans:
        if plan.sealed_content is None or (plan.ended_at is not None and plan.ended_at + window < now):
            raise TooLate(plan, window)
        if plan.outcome is None:
            raise NotKnown(plan)
        yield plan


def withdrawing(finding: str) -> str:
    """Tell how to try a waiting undo now, and how to withdraw it."""
    return f"`reconcile retry {finding}` tries it now, `reconcile reject {finding}` withdraws it"


def _images(plan: StoredPlan) -> images.Images:
    return images.from_json(plan.content, plan.outcome_json())


def _taking_back(plan: StoredPlan, content: Plan) -> Plan:
    [outcome] = plan.outcome_json()
    inverse_plan = taking_back(plan.id, content, outcome["answer"])
    if inverse_plan is None:
        raise Final(plan)
    return inverse_plan


def _later_findings(
    tools: executor.ExecutionContext, names: Sequence[str], findings: set[str], of: Mapping[str, str]
) -> list[str]:
    """Return findings that were cleaned later and share records with those in conflict."""
    chosen_ids = set(names)
    with tools.store.read() as tx:
        later = {
            stored.get(tx, later_id).finding
            for name in names
            if of.get(name) in findings
            for later_id in _later(tx, name)
            if later_id not in chosen_ids
        }
    return sorted(later)


def _store_approved(tools: executor.ExecutionContext, plans: Sequence[Plan], by: str, note: str | None) -> list[str]:
    """Store the plans, approved by the person who asked for them."""
    with tools.store.begin() as tx:
        releases.keep(tx, tools.terms.project)  # the configuration may have changed since the last run
        ids = effects.propose(
            tx, plans, run=None, release=tools.terms.project.release, policy="none", by=by, expires=None, note=note
        )
        effects.approved(tx, ids, by=by)
        return ids


def _collect(
    tools: executor.ExecutionContext,
    ids: Sequence[str],
    tally: ExecutionResult,
    note: str | None,
    succeeded: list[str],
    failed: list[tuple[str, str]],
    not_restored: list[tuple[str, str]],
    waiting: list[str],
) -> None:
    with tools.store.read() as tx:
        for name in ids:
            plan = stored.get(tx, name)
            if plan.state is PlanState.SUCCEEDED:
                succeeded.append(plan.finding)
                if why := get(tx, plan.finding).reason:  # what the transition to undone told
                    not_restored.append((plan.finding, why))
            else:
                reason = None if plan.reason == note else plan.reason
                failure = reason or "; ".join(tally.reasons) or plan.state.value.replace("_", " ")
                if plan.state in WITHDRAWABLE:
                    waiting += [plan.finding] if tally.held_up else []
                    failure = f"waiting: {failure.rstrip('.')}. {withdrawing(plan.finding)}"
                failed.append((plan.finding, failure))
