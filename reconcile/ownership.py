"""Who cleans where: a target belongs to one store, and both know how often that store has worked there.

The number (ratchet) rises once a run, first here, then in the target, then it is confirmed here. Where the two disagree
by more than an interrupted step, one of them was restored from a backup: effects may be forgotten on one side, so
nothing is done until a person says so. A target that can hold nothing of ours is known by its identity only.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from connectors.errors import Reaction
from connectors.target import Target
from reconcile import audit
from reconcile.config.settings import Project
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
    """What a target says of itself."""

    source: str
    identity: str
    owner: Owner | None


def cleaned(project: Project) -> list[str]:
    """The sources that rules with `clean` change."""
    rules = (one for one in project.rules.values() if one.clean is not None)
    return sorted({project.datasets[one.dataset].source for one in rules})


def look(target: Target) -> Seen:
    """Ask the target; no transaction of the store may be open. Raises a ConnectorError."""
    return Seen(target.name, target.identity(), target.owner())


def enter(store: Store, target: Target) -> None:
    """Before the first effect of a run: the target is ours, or becomes ours where it was nobody's, and both count up.

    Raises an OwnershipRefused, a ConnectorError, a StoreError.
    """
    remembers = target.remembers()
    for _ in range(_TRIES):
        seen = look(target)
        try:
            with store.begin() as tx:
                ratchet = _step(tx, seen)
        except OwnershipRefused:
            if look(target).owner == seen.owner:
                raise
            continue  # another worker counted up since we looked
        if not remembers:
            return
        if seen.owner is not None and seen.owner[2] == ratchet and seen.owner[1] == store.epoch:
            break
        if target.adopt(store.id, store.epoch, ratchet, seen.owner):
            break
    else:
        raise OwnershipRaced(target.name)
    _confirm(store, seen, ratchet)


def check(tx: Transaction, seen: Seen) -> None:
    """Raises an OwnershipRefused unless this store may clean there; it locks nothing, so a reader may ask."""
    _refuse(tx, seen, _known(tx, seen.identity, lock=False))


def adopt(store: Store, target: Target, *, by: str) -> Owner | None:
    """Take a target over, whoever had it and whatever it knows, because a person says so; its owner until then.

    Raises OwnershipRaced, a ConnectorError, a StoreError.
    """
    seen = look(target)
    with store.begin() as tx:
        known = _known(tx, seen.identity)
        ratchet = max(known[0] if known else 0, seen.owner[2] if seen.owner else 0) + 1
        _write(tx, seen, ratchet, known=known is not None, confirmed=0)
        body = {
            "target": seen.identity,
            "source": seen.source,
            "instead_of": list(seen.owner or ()),
            "ratchet": ratchet,
        }
        audit.append(tx, by, "target.adopted", f"target:{seen.identity}", body)
    if target.remembers():
        if not target.adopt(store.id, store.epoch, ratchet, seen.owner):
            raise OwnershipRaced(target.name)
        _confirm(store, seen, ratchet)
    return seen.owner


def _step(tx: Transaction, seen: Seen) -> int:
    """The number that both sides will stand at: one more, or that of a step which somebody has begun."""
    known = _known(tx, seen.identity)
    _refuse(tx, seen, known)
    if known is None:
        _write(tx, seen, 1, known=False, confirmed=0)
        return 1
    ratchet, confirmed = known
    if confirmed < ratchet:
        return ratchet
    _write(tx, seen, ratchet + 1, known=True)
    return ratchet + 1


def _refuse(tx: Transaction, seen: Seen, known: tuple[int, int] | None) -> None:
    if seen.owner is None:
        if known is not None and known[1] > 0:
            raise TargetBehind(seen.source)
        return
    store, epoch, ratchet = seen.owner
    if store != tx.store.id:
        raise AnotherOwner(seen.source, store)
    if known is None or epoch > tx.store.epoch or ratchet > known[0]:
        raise StoreBehind(seen.source)
    if ratchet < known[1]:
        raise TargetBehind(seen.source)


def _known(tx: Transaction, identity: str, *, lock: bool = True) -> tuple[int, int] | None:
    query = _KNOWN.with_for_update() if lock else _KNOWN
    row = tx.connection.execute(query, {"the_identity": identity}).one_or_none()
    return None if row is None else (row.ratchet, row.confirmed)


def _write(tx: Transaction, seen: Seen, ratchet: int, *, known: bool, confirmed: int | None = None) -> None:
    values = {"source": seen.source, "ratchet": ratchet, "moved_at": tx.now}
    if confirmed is not None:
        values["confirmed"] = confirmed
    if known:
        tx.connection.execute(sa.update(targets).where(targets.c.identity == seen.identity).values(values))
        return
    row = values | {"identity": seen.identity, "first_seen": tx.now}
    insert = insert_for(tx, targets).on_conflict_do_nothing(index_elements=["identity"])
    if tx.connection.execute(insert, row).rowcount == 0:
        return  # another worker saw it first, and counts it in the same way
    audit.append(
        tx,
        "reconcile",
        "target.first_seen",
        f"target:{seen.identity}",
        {"target": seen.identity, "source": seen.source},
    )


def _confirm(store: Store, seen: Seen, ratchet: int) -> None:
    with store.begin() as tx:
        tx.connection.execute(
            sa.update(targets)
            .where(targets.c.identity == seen.identity, targets.c.confirmed < ratchet, targets.c.ratchet >= ratchet)
            .values(confirmed=ratchet)
        )


_KNOWN = sa.select(targets.c.ratchet, targets.c.confirmed).where(targets.c.identity == sa.bindparam("the_identity"))
