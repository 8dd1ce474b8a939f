"""Who cleans where: a schema, database or file of a target belongs to one store, and both know how often that store
has worked there. It is found by the cleaned table, so that two stores meet however each of them reaches that table.

The number (ratchet) rises once a run, first here, then in the target, then it is confirmed here. Where the two disagree
by more than an interrupted step, one of them was restored from a backup: effects may be forgotten on one side, so
nothing is done until a person says so. A target that can hold nothing of ours is known by its identity only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import sqlalchemy as sa

from connectors.errors import Reaction
from connectors.target import Owned, Target
from reconcile.audit import log
from reconcile.config.settings import DatasetConfig, Project
from reconcile.store import Store, Transaction
from reconcile.store.finding_memory import insert_for
from reconcile.store.tables import targets

_TRIES = 5

Owner = tuple[str, int, int]


class OwnershipRefused(Exception):
    """This store may not clean there; nothing was changed. The message is one sentence for people."""

    reaction = Reaction.ASK


class AnotherOwner(OwnershipRefused):
    """Another store cleans there."""

    def __init__(self, source: str, store: str) -> None:
        super().__init__(
            f"Source {source!r} is cleaned by another state ({store}): two of them would do everything twice. Clean "
            f"from there, or take it over with `reconcile target adopt {source}`"
        )


class StoreBehind(OwnershipRefused):
    """The state was restored from a backup: what it did there since then it does not know."""

    def __init__(self, source: str) -> None:
        super().__init__(
            f"The state database knows less than source {source!r} of what was cleaned there, so it was restored from "
            "a backup. Nothing is cleaned; look at what was done since, and say that it may go on with "
            f"`reconcile target adopt {source}`"
        )


class TargetBehind(OwnershipRefused):
    """The target was restored from a backup: what was done there since then is undone."""

    def __init__(self, source: str) -> None:
        super().__init__(
            f"Source {source!r} knows less than the state database of what was cleaned there, so it was restored from "
            "a backup or made anew. Nothing is cleaned; look at what came back, and say that it may go on with "
            f"`reconcile target adopt {source}`"
        )


class OwnershipRaced(OwnershipRefused):
    """Others changed who owns it, again and again, while this was looked at."""

    def __init__(self, source: str) -> None:
        super().__init__(f"Who cleans source {source!r} changed while it was looked at; nothing was done. Try again")


@dataclass(frozen=True)
class Seen:
    """Whose a table of a source is, as the target itself says."""

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
    """The sources that rules with `clean` change, in order, each with the datasets that are changed."""
    names = sorted({rule.dataset for rule in project.rules.values() if rule.clean is not None})
    found: dict[str, list[DatasetConfig]] = {}
    for dataset in (project.datasets[name] for name in names):
        found.setdefault(dataset.source, []).append(dataset)
    return dict(sorted(found.items()))


def look(target: Target, table: str) -> Seen:
    """Ask the target; no transaction of the store may be open. Raises a ConnectorError."""
    return Seen(target.name, table, target.owned(table))


def look_at(target: Target, datasets: Iterable[DatasetConfig]) -> list[Seen]:
    """Ask about the tables of these datasets, once for all that have one owner. Raises a ConnectorError."""
    tables = dict.fromkeys(target.table(dataset.settings) for dataset in datasets)
    return list({seen.place: seen for seen in (look(target, table) for table in tables)}.values())


def enter(store: Store, target: Target, table: str, entered: set[str]) -> None:
    """Before the first effect of a run: the table is ours, or becomes ours where it was nobody's, and both count up.

    `entered` are the places that this run entered, of which this one is then. Where another store is the owner,
    nothing is made there. Raises an OwnershipRefused, a ConnectorError, a StoreError.
    """
    seen = look(target, table)
    _must_not_be_anothers(store, seen)
    remembers = target.remembers(table)
    for _ in range(_TRIES):
        seen = look(target, table)
        if seen.place in entered:
            return
        try:
            with store.begin() as tx:
                ratchet = _step(tx, seen)
        except OwnershipRefused:
            if look(target, table).owner == seen.owner:
                raise
            continue  # another worker counted up since we looked
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


def must_be_ours(store: Store | None, target: Target, table: str) -> Seen:
    """Look, and raise an OwnershipRefused unless this store may clean there; nothing is changed or locked.

    Without a store there is no state yet, so that whoever is the owner is another one. Raises a ConnectorError.
    """
    for _ in range(_TRIES):
        seen = look(target, table)
        try:
            if store is None:
                _must_be_nobodys(seen)
            else:
                with store.read() as tx:
                    check(tx, seen)
        except OwnershipRefused:
            if look(target, table).owner == seen.owner:
                raise
        else:
            return seen
    raise OwnershipRaced(target.name)


def check(tx: Transaction, seen: Seen) -> None:
    """Raises an OwnershipRefused unless this store may clean there; it locks nothing, so a reader may ask."""
    _refuse(tx, seen, _known(tx, seen, lock=False))


def adopt(store: Store, target: Target, table: str, *, by: str) -> Owner | None:
    """Take a table's place over, whoever had it and whatever it knows, because a person says so; its owner until then.

    Raises OwnershipRaced, a ConnectorError, a StoreError.
    """
    remembers = target.remembers(table)
    seen = look(target, table)
    with store.begin() as tx:
        known = _known(tx, seen)
        ratchet = max(known[0] if known else 0, seen.owner[2] if seen.owner else 0) + 1
        _write(tx, seen, ratchet, confirmed=0)
        body = {
            "target": seen.place,
            "source": seen.source,
            "instead_of": list(seen.owner or ()),
            "ratchet": ratchet,
        }
        log.append(tx, by, "target.adopted", f"target:{seen.place}", body)
    if remembers:
        if not target.adopt(store.id, store.epoch, ratchet, seen.owner, table):
            raise OwnershipRaced(target.name)
        _confirm(store, seen, ratchet)
    return seen.owner


def _step(tx: Transaction, seen: Seen) -> int:
    """The number that both sides will stand at: one more, or that of a step which somebody has begun."""
    known = _known(tx, seen)
    _refuse(tx, seen, known)
    if known is None:
        _write(tx, seen, 1, confirmed=0)
        return 1
    ratchet, confirmed = known
    if confirmed < ratchet:
        _write(tx, seen, ratchet, confirmed=confirmed)
        return ratchet
    _write(tx, seen, ratchet + 1, confirmed=confirmed)
    return ratchet + 1


def _must_not_be_anothers(store: Store, seen: Seen) -> None:
    if seen.owner is not None and seen.owner[0] != store.id:
        raise AnotherOwner(seen.source, seen.owner[0])


def _must_be_nobodys(seen: Seen) -> None:
    if seen.owner is not None:
        raise AnotherOwner(seen.source, seen.owner[0])


def _refuse(tx: Transaction, seen: Seen, known: tuple[int, int] | None) -> None:
    if seen.owner is None:
        if known is not None and known[1] > 0:
            raise TargetBehind(seen.source)
        return
    _must_not_be_anothers(tx.store, seen)
    _, epoch, ratchet = seen.owner
    if known is None or epoch > tx.store.epoch or ratchet > known[0]:
        raise StoreBehind(seen.source)
    if ratchet < known[1]:
        raise TargetBehind(seen.source)


def _known(tx: Transaction, seen: Seen, *, lock: bool = True) -> tuple[int, int] | None:
    """The number, and how far it is confirmed; also under the name that an older version gave the place."""
    query = _KNOWN.with_for_update() if lock else _KNOWN
    for name in (seen.place, seen.owned.before):
        row = tx.connection.execute(query, {"the_identity": name}).one_or_none()
        if row is not None:
            return row.ratchet, row.confirmed
    return None


def _write(tx: Transaction, seen: Seen, ratchet: int, *, confirmed: int) -> None:
    values = {"source": seen.source, "ratchet": ratchet, "moved_at": tx.now, "confirmed": confirmed}
    if tx.connection.execute(sa.update(targets).where(targets.c.identity == seen.place).values(values)).rowcount:
        return
    row = values | {"identity": seen.place, "first_seen": tx.now}
    insert = insert_for(tx, targets).on_conflict_do_nothing(index_elements=["identity"])
    if tx.connection.execute(insert, row).rowcount == 0:
        return  # another worker saw it first, and counts it in the same way
    body = {"target": seen.place, "source": seen.source}
    log.append(tx, "reconcile", "target.first_seen", f"target:{seen.place}", body)


def _confirm(store: Store, seen: Seen, ratchet: int) -> None:
    with store.begin() as tx:
        tx.connection.execute(
            sa.update(targets)
            .where(targets.c.identity == seen.place, targets.c.confirmed < ratchet, targets.c.ratchet >= ratchet)
            .values(confirmed=ratchet)
        )


_KNOWN = sa.select(targets.c.ratchet, targets.c.confirmed).where(targets.c.identity == sa.bindparam("the_identity"))
