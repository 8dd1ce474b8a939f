"""Undo: what was done is taken back, newest first, as plans like any other; nothing is overwritten that is not ours.

Everything is planned before anything is done: a field that somebody changed since is a conflict, and stops it all
unless the person says that the rest goes back without it.
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
from reconcile.cleaning.execution import carrier, images
from reconcile.cleaning.execution.carried import Tally
from reconcile.cleaning.execution.leaving import DatasetMissing, Leaving
from reconcile.cleaning.inverse import Conflict, inserted, inverse, rows_of
from reconcile.cleaning.planning.draft import cells_at
from reconcile.config.settings import DatasetConfig
from reconcile.coordination import releases
from reconcile.findings.bundle import Bundle, ReferenceGuard
from reconcile.findings.operations import WITHDRAWABLE, BundleState
from reconcile.findings.states import Event
from reconcile.journal import effects
from reconcile.store import Store, Transaction
from reconcile.store import bundles as stored
from reconcile.store.bundles import Stored

CHUNK = 250
SECONDS = 20.0
_SHOWN = 5
_DONE = ("operation.succeeded", "operation.judged")
"""What the log says of a plan when it was carried out, by itself or as a person says."""


class UndoRefused(Exception):
    """It cannot be taken back as asked; nothing was changed. The message is one sentence for people."""


class NothingToUndo(UndoRefused):
    def __init__(self, what: str) -> None:
        super().__init__(f"Nothing that was done for {what} is left to take back")


class TooLate(UndoRefused):
    """What it was like before is not kept any more."""

    def __init__(self, one: Stored, window: dt.timedelta) -> None:
        when = f" on {one.ended_at:%Y-%m-%d}" if one.ended_at else ""
        super().__init__(
            f"{one.finding} was cleaned{when}, and what it was like before is kept for {window.days} days "
            "(`undo_window`); it cannot be taken back any more. Nothing was changed"
        )


class AnotherDatabase(UndoRefused):
    """The source is not the database that was cleaned."""

    def __init__(self, one: Stored) -> None:
        super().__init__(
            f"Source {one.source!r} is another database now than the one in which {one.finding} was cleaned; nothing "
            "was changed. Give it the address of that one, and take it back then"
        )


class DatasetGone(UndoRefused):
    """Who refers to the rows that would go again cannot be asked."""

    def __init__(self, one: Stored) -> None:
        super().__init__(
            f"Dataset {one.dataset!r} is not in the configuration any more, so nobody can ask what refers to the rows "
            f"that {one.finding} put elsewhere; write it there again, and take it back then. Nothing was changed"
        )


class NotKnown(UndoRefused):
    """A person said that it was done; how the rows looked afterwards was never read."""

    def __init__(self, one: Stored) -> None:
        super().__init__(
            f"How the records of {one.finding} looked right after bundle {one.id} was never read, so it cannot be said "
            "what changed since; compare them with `reconcile plan` of that plan and set them back by hand"
        )


class Forged(UndoRefused):
    """What is stored of a cleaning is not what was stored when it was done."""

    def __init__(self, one: Stored, against: str) -> None:
        super().__init__(
            f"What the state holds of the rows of {one.finding} before they were cleaned is not what {against} commits "
            f"to: bundle {one.id} was changed outside Reconcile. Nothing was changed. Run `reconcile audit verify`, "
            "and compare the state with a backup"
        )


class Unproven(UndoRefused):
    """Nothing commits to what is stored of a cleaning."""

    def __init__(self, one: Stored) -> None:
        super().__init__(
            f"Nothing proves what the state holds of the rows of {one.finding} before they were cleaned: an earlier "
            f"version stored bundle {one.id}, and its receipts are not in the database. Nothing was changed; compare "
            "the rows with `reconcile plan` of that plan and set them back by hand"
        )


class Conflicts(UndoRefused):
    """Rows changed since; `later` are plans of ours that changed them."""

    def __init__(self, found: Sequence[tuple[str, Conflict]], later: Sequence[str]) -> None:
        shown = "; ".join(f"{finding}: {conflict}" for finding, conflict in found[:_SHOWN])
        more = f"; and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
        ours = f" Later cleanings did that: {', '.join(later)}; `--with-later` takes them back first." if later else ""
        super().__init__(
            f"Rows changed since they were cleaned, so nothing was taken back: {shown}{more}.{ours} `--partial` takes "
            "back what nobody touched and leaves the rest as it is now"
        )
        self.found = tuple(found)
        self.later = tuple(later)


@dataclass(frozen=True)
class Undone:
    """What taking back came to: finding by finding what was done, and the conflicts that were left as they are."""

    taken_back: tuple[str, ...]
    failed: tuple[tuple[str, str], ...] = ()
    conflicts: tuple[tuple[str, Conflict], ...] = ()
    unchanged: int = 0


def chosen(tx: Transaction, wanted: stored.Filter, *, only: str | None = None, with_later: bool = False) -> list[str]:
    """The plans that were carried out and not taken back, newest first; with those that built on them since.

    Plans of a run are those it planned and those it carried out.
    """
    done = stored.find(tx, replace(wanted, states=(BundleState.SUCCEEDED,)))
    names = {one.id for one in done if one.undoes is None and only in (None, one.id)}
    if wanted.run is not None:
        names |= _carried_out(tx, wanted.run)
    found = _order(tx, names)
    waiting = list(found) if with_later else []
    while waiting:
        fresh = {name: at for name, at in _later(tx, waiting.pop()).items() if name not in found}
        found |= fresh
        waiting += fresh
    return sorted(found, key=lambda name: (found[name], name), reverse=True)


def _carried_out(tx: Transaction, run: str) -> set[str]:
    """The plans that the run carried out, whoever planned them, and that were not taken back."""
    logged = log.entries(tx, run=run, event=Event.CLEANED.value)
    names = [entry.body["plan"] for entry in logged if entry.body and "plan" in entry.body]
    standing = (stored.in_state(tx, some, BundleState.SUCCEEDED) for some in in_chunks(names, CHUNK))
    return set().union(*standing)


def _later(tx: Transaction, name: str) -> dict[str, int]:
    """Plans that were carried out after this one on any of the same records, and when."""
    sharing = stored.sharing_with(tx, stored.get(tx, name))
    at = _order(tx, [name, *sharing])
    return {other: at[other] for other in sharing if at[other] > at[name]}


def _order(tx: Transaction, names: Collection[str]) -> dict[str, int]:
    """The order in which plans were carried out, by the log that tells of it: clocks are set back, and it goes on."""
    seqs = log.first_of(tx, [f"bundle:{name}" for name in names], _DONE)
    return {name: seqs.get(f"bundle:{name}", 0) for name in names}


@dataclass
class _Planning:
    """`now` is how rows will be once what was planned so far is taken back, where that is not how they are."""

    store: Store
    target: Target
    datasets: Mapping[str, DatasetConfig]
    now: dict[RowName, Cells | None] = field(default_factory=dict)
    layers: list[list[Bundle]] = field(default_factory=list)
    conflicts: list[tuple[str, Conflict]] = field(default_factory=list)
    unchanged: int = 0
    _layer_of: dict[RowName | str, int] = field(default_factory=dict)
    """The last layer in which a row is touched, or a finding has a plan."""

    @cached_property
    def _left(self) -> Leaving:
        return Leaving(self.target, self.datasets)

    @cached_property
    def identity(self) -> str:
        return self.target.identity()

    def add(self, some: Sequence[Stored]) -> None:
        """Plan to take these back, in this order."""
        opened = [(one, one.bundle, _images(one)) for one in some]
        self._prove(opened)
        rows = self._read(name for _, _, seen in opened for name in rows_of(seen))
        for one, bundle, seen in opened:
            now = rows | {k: v for k, v in self.now.items() if v is not None}
            leaning = {row: self._leaning(one, row, now[row]) for row in inserted(seen) if row in now}
            made = inverse(one.id, bundle, seen, now, leaning)
            self.conflicts += [(one.finding, conflict) for conflict in made.conflicts]
            if made.bundle is None:
                self.unchanged += not made.conflicts
                continue
            self._stand(replace(made.bundle, catalogue=self._catalogue(one, made.bundle)))

    def _prove(self, opened: Sequence[tuple[Stored, Bundle, images.Images]]) -> None:
        """The images are those that the audit log and the target's receipts commit to; raises Forged, Unproven."""
        keys = {one.id: effects.keys_of(self.store, one.target, bundle) for one, bundle, _ in opened}
        receipts: dict[str, Receipt] = {}
        for one, bundle, _ in opened:
            receipts |= self.target.receipts(keys[one.id], bundle.table)
        with self.store.read() as tx:
            recorded = facts.as_recorded(tx, facts.PLAN, list(keys))
        for one, _, seen in opened:
            if not recorded.get(one.id, True):
                raise Forged(one, "the audit log")
            received = {receipts[key].after for key in keys[one.id] if key in receipts}
            if received - {images.digest(seen)}:
                raise Forged(one, "the receipt in the database")
            if one.id not in recorded and not received:
                raise Unproven(one)

    def _catalogue(self, one: Stored, bundle: Bundle) -> str:
        try:
            return self._left.digest(bundle)
        except DatasetMissing as error:
            raise DatasetGone(one) from error

    def _read(self, names: Iterable[RowName]) -> dict[RowName, Cells]:
        wanted = [name for name in dict.fromkeys(names) if name not in self.now]
        with self.target.work(SECONDS) as work:
            return {name: dict(row.cells) for name, row in work.lock(wanted).items()}

    def _leaning(self, one: Stored, row: RowName, cells: Cells) -> list[ReferenceGuard]:
        """Who refers to a row that goes again: nothing goes with it that nobody planned."""
        guards = []
        for reference in self._referring_to(one, row.table):
            key = cells_at(cells, reference.to_columns)
            if key is not None:
                rows = tuple(found.name for found in self.target.referring(reference, [key]))
                guards.append(ReferenceGuard(reference, (key,), rows))
        return guards

    def _referring_to(self, one: Stored, table: str) -> Sequence[Reference]:
        try:
            found = self._left.catalogue(one.dataset, table)
        except DatasetMissing as error:
            raise DatasetGone(one) from error
        return [link for link in found.references if link.to_table == found.table]

    def _stand(self, bundle: Bundle) -> None:
        touched: set[RowName | str] = {name for one in bundle.changes for name in (one.row, images.name_after(one))}
        touched.add(bundle.finding)
        layer = max((self._layer_of[name] + 1 for name in touched if name in self._layer_of), default=0)
        while len(self.layers) <= layer:
            self.layers.append([])
        self.layers[layer].append(bundle)
        self._layer_of |= dict.fromkeys(touched, layer)
        for one in bundle.changes:
            self.now[one.row] = None
            self.now[images.name_after(one)] = None if one.after is None else {**(one.before or {}), **one.after}


def take_back(
    tools: carrier.Tools, names: Sequence[str], *, by: str, what: str, partial: bool = False, note: str | None = None
) -> Undone:
    """Take back these plans, in this order; `what` is what the person asked for.

    Raises UndoRefused, and then nothing was changed; ConnectorError, StoreError.
    """
    if not names:
        raise NothingToUndo(what)
    plannings: dict[str, _Planning] = {}
    findings: dict[str, str] = {}
    for some in in_chunks(names, CHUNK):
        for one in _opened(tools, some):
            if one.source not in plannings:
                plannings[one.source] = _Planning(tools.store, tools.target(one.source), tools.terms.project.datasets)
            planning = plannings[one.source]
            if one.target != planning.identity:
                raise AnotherDatabase(one)
            findings[one.id] = one.finding
            planning.add([one])
    conflicts = [one for planning in plannings.values() for one in planning.conflicts]
    if conflicts and not partial:
        raise Conflicts(conflicts, _built_on(tools, names, {finding for finding, _ in conflicts}, findings))
    points.reach("undo.planned")
    done: list[str] = []
    failed: list[tuple[str, str]] = []
    for planning in plannings.values():
        for layer in planning.layers:
            for bundles in in_chunks(layer, CHUNK):
                ids = _approved(tools, bundles, by, note)
                points.reach("undo.committed")
                tally = carrier.carry_out(tools, ids=ids)
                _ended(tools, ids, tally, note, done, failed)
    unchanged = sum(planning.unchanged for planning in plannings.values())
    return Undone(tuple(done), tuple(failed), tuple(conflicts), unchanged)


def _opened(tools: carrier.Tools, names: Sequence[str]) -> Iterator[Stored]:
    window = tools.terms.project.undo_window
    with tools.store.read() as tx:
        found = [stored.get(tx, name) for name in names]
        now = tx.now
    for one in found:
        if one.content is None or (one.ended_at is not None and one.ended_at + window < now):
            raise TooLate(one, window)
        if one.outcome is None:
            raise NotKnown(one)
        yield one


def withdrawing(finding: str) -> str:
    """What a person can do about an undo that waits."""
    return f"`reconcile reject {finding}` withdraws it"


def _images(one: Stored) -> images.Images:
    return images.from_json(one.bundle, one.outcome_json())


def _built_on(tools: carrier.Tools, names: Sequence[str], findings: set[str], of: Mapping[str, str]) -> list[str]:
    """Findings that were cleaned later and share records with those in conflict."""
    asked = set(names)
    with tools.store.read() as tx:
        later = {
            stored.get(tx, other).finding
            for name in names
            if of.get(name) in findings
            for other in _later(tx, name)
            if other not in asked
        }
    return sorted(later)


def _approved(tools: carrier.Tools, bundles: Sequence[Bundle], by: str, note: str | None) -> list[str]:
    """The plans stand in the store, approved by whoever asked for them."""
    with tools.store.begin() as tx:
        releases.keep(tx, tools.terms.project)  # no run had to begin since the configuration was edited
        ids = effects.propose_many(
            tx, bundles, run=None, release=tools.terms.project.release, policy="none", by=by, expires=None, note=note
        )
        effects.approved(tx, ids, by=by)
        return ids


def _ended(
    tools: carrier.Tools,
    ids: Sequence[str],
    tally: Tally,
    note: str | None,
    done: list[str],
    failed: list[tuple[str, str]],
) -> None:
    with tools.store.read() as tx:
        for name in ids:
            one = stored.get(tx, name)
            if one.state is BundleState.SUCCEEDED:
                done.append(one.finding)
            else:
                said = None if one.reason == note else one.reason
                why = said or "; ".join(tally.reasons) or one.state.value.replace("_", " ")
                if one.state in WITHDRAWABLE:
                    why = f"it waits: {why.rstrip('.')}. {withdrawing(one.finding)}"
                failed.append((one.finding, why))
