"""Ownership of targets: a schema, database or file of a target belongs to one store, and both count that store's runs
there. It is identified by the cleaned table, so two stores meet however each of them reaches that table.

The number (ratchet) rises once a run: first here, then in the target, then it is confirmed here. If the two differ by
more than an interrupted step, one of them was restored from a backup, or the store is one of two copies, and may lack
effects, so nothing is done until a person decides. A target that cannot hold our data is known by its identity only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from connectors.target import Owned, Target
from reconcile.audit import log
from reconcile.config.settings import DatasetConfig, Project
from reconcile.errors import Refused
from reconcile.journal import breaker
from reconcile.store import Store, Transaction, targets

_TRIES = 5

Owner = tuple[str, int, int]


class OwnershipRefused(Refused):
    """This store may not clean there; nothing was changed. The message is one sentence for people."""


class AnotherOwner(OwnershipRefused):
    """Another store cleans there."""

    def __init__(self, source: str, store: str) -> None:
        super().__init__(
            f"Source {source!r} is cleaned by another state ({store}), and two states would clean everything "
            f"twice. Clean from there, or take it over with `reconcile target adopt {source}`"
        )


class StoreBehind(OwnershipRefused):
    """The state is an older version of the one that cleaned there last: a backup, or a copy of it."""

    def __init__(self, source: str) -> None:
        super().__init__(
            f"The state database lacks cleanings that source {source!r} has recorded: it was restored from a backup, "
            "or it is a copy and the original cleans there. Nothing is cleaned. If no other state cleans there, check "
            f"what was done since, then allow it again with `reconcile target adopt {source}`"
        )


class TargetBehind(OwnershipRefused):
    """The target was restored from a backup: later cleanings there are lost."""

    def __init__(self, source: str) -> None:
        super().__init__(
            f"Source {source!r} lacks cleanings that the state database has recorded, so it was restored from "
            "a backup or recreated. Nothing is cleaned. Check what came back, then allow it again with "
            f"`reconcile target adopt {source}`"
        )


class OwnershipRaced(OwnershipRefused):
    """The owner changed repeatedly while it was read."""

    def __init__(self, source: str) -> None:
        super().__init__(f"The owner of source {source!r} changed during the check; nothing was done. Try again")


@dataclass(frozen=True)
class TableOwner:
    """The owner of a table of a source, as recorded in the target."""

    source: str
    table: str
    owned: Owned

    @property
    def place(self) -> str:
        return self.owned.place

    @property
    def owner(self) -> Owner | None:
        return self.owned.owner


def cleaned(project: Project) -> dict[str, list[DatasetConfig]]:
    """The sources that rules with `clean` change, in order, each with its changed datasets."""
    names = sorted({rule.cleaned for rule in project.rules.values() if rule.clean is not None})
    by_source: dict[str, list[DatasetConfig]] = {}
    for dataset in (project.datasets[name] for name in names):
        by_source.setdefault(dataset.source, []).append(dataset)
    return dict(sorted(by_source.items()))


def look(target: Target, table: str) -> TableOwner:
    """Ask the target; no transaction of the store may be open. Raises a ConnectorError."""
    return TableOwner(target.name, table, target.owned(table))


def look_at(target: Target, datasets: Iterable[DatasetConfig]) -> list[TableOwner]:
    """Ask about the tables of these datasets; tables in one place are asked once. Raises a ConnectorError."""
    tables = dict.fromkeys(target.table(dataset.settings) for dataset in datasets)
    return list({seen.place: seen for seen in (look(target, table) for table in tables)}.values())


def enter(store: Store, target: Target, table: str, entered: set[str]) -> None:
    """Before the first effect of a run, check or take ownership of the table and increase the number on both sides.

    `entered` are the places this run entered; this one is added. If another store is the owner, nothing is created
    there. Raises an OwnershipRefused, a ConnectorError, a StoreError.
    """
    seen = look(target, table)
    _refuse_another_owner(store, seen)
    remembers = target.remembers(table)
    for _ in range(_TRIES):
        seen = look(target, table)
        if seen.place in entered:
            return
        try:
            with store.begin() as tx:
                ratchet = _next_ratchet(tx, seen)
        except OwnershipRefused:
            if look(target, table).owner == seen.owner:
                raise
            continue  # another worker raised the number meanwhile
        if not remembers:
            break
        if seen.owner is not None and seen.owner[2] == ratchet and seen.owner[1] == store.epoch:
            _confirm(store, seen, ratchet)
            break
        if target.adopt(store.id, store.epoch, ratchet, seen.owner, table):
            _confirm(store, seen, ratchet)
            break
    else:
        raise OwnershipRaced(target.name)
    entered.add(seen.place)


def must_be_ours(store: Store | None, target: Target, table: str) -> TableOwner:
    """Raise an OwnershipRefused unless this store may clean there; nothing is changed or locked.

    Without a store there is no state yet, so any owner is another store. Raises a ConnectorError.
    """
    for _ in range(_TRIES):
        seen = look(target, table)
        try:
            if store is None:
                _refuse_any_owner(seen)
            else:
                with store.read() as tx:
                    check(tx, seen)
        except OwnershipRefused:
            if look(target, table).owner == seen.owner:
                raise
        else:
            return seen
    raise OwnershipRaced(target.name)


def check(tx: Transaction, seen: TableOwner) -> None:
    """Raise an OwnershipRefused unless this store may clean there; it locks nothing, so readers can call it."""
    _refuse(tx, seen, _recorded(tx, seen, lock=False))


def adopt(store: Store, target: Target, table: str, *, by: str) -> Owner | None:
    """Take over a table's place from any owner, as a person decided; return the previous owner.

    Raises OwnershipRaced, a ConnectorError, a StoreError.
    """
    remembers = target.remembers(table)
    seen = look(target, table)
    with store.begin() as tx:
        recorded = _recorded(tx, seen)
        ratchet = max(recorded[0] if recorded else 0, seen.owner[2] if seen.owner else 0) + 1
        _write(tx, seen, ratchet, confirmed=0)
        body = {
            "target": seen.place,
            "source": seen.source,
            "instead_of": list(seen.owner or ()),
            "ratchet": ratchet,
        }
        log.append(tx, by, "target.adopted", f"target:{seen.place}", body)
        breaker.close(tx, breaker.of_source(target.name), by)
    if remembers:
        if not target.adopt(store.id, store.epoch, ratchet, seen.owner, table):
            raise OwnershipRaced(target.name)
        _confirm(store, seen, ratchet)
    return seen.owner


def _next_ratchet(tx: Transaction, seen: TableOwner) -> int:
    """Record the next number for both sides: one more, or that of a step already begun."""
    recorded = _recorded(tx, seen)
    _refuse(tx, seen, recorded)
    if recorded is None:
        _write(tx, seen, 1, confirmed=0)
        return 1
    ratchet, confirmed = recorded
    if confirmed < ratchet:
        _write(tx, seen, ratchet, confirmed=confirmed)
        return ratchet
    _write(tx, seen, ratchet + 1, confirmed=confirmed)
    return ratchet + 1


def _refuse_another_owner(store: Store, seen: TableOwner) -> None:
    if seen.owner is not None and seen.owner[0] != store.id:
        raise AnotherOwner(seen.source, seen.owner[0])


def _refuse_any_owner(seen: TableOwner) -> None:
    if seen.owner is not None:
        raise AnotherOwner(seen.source, seen.owner[0])


def _refuse(tx: Transaction, seen: TableOwner, recorded: tuple[int, int] | None) -> None:
    if seen.owner is None:
        if recorded is not None and recorded[1] > 0:
            raise TargetBehind(seen.source)
        return
    _refuse_another_owner(tx.store, seen)
    _, epoch, ratchet = seen.owner
    if recorded is None or epoch > tx.store.epoch or ratchet > recorded[0]:
        raise StoreBehind(seen.source)
    if ratchet < recorded[1]:
        raise TargetBehind(seen.source)


def _recorded(tx: Transaction, seen: TableOwner, *, lock: bool = True) -> tuple[int, int] | None:
    """The number and its confirmed part; also under the place's name in an older version."""
    recorded = (targets.numbers(tx, name, lock=lock) for name in (seen.place, seen.owned.before))
    return next((numbers for numbers in recorded if numbers is not None), None)


def _write(tx: Transaction, seen: TableOwner, ratchet: int, *, confirmed: int) -> None:
    if targets.put(tx, seen.place, seen.source, ratchet, confirmed):
        body = {"target": seen.place, "source": seen.source}
        log.append(tx, "reconcile", "target.first_seen", f"target:{seen.place}", body)


def _confirm(store: Store, seen: TableOwner, ratchet: int) -> None:
    with store.begin() as tx:
        targets.confirm(tx, seen.place, ratchet)
