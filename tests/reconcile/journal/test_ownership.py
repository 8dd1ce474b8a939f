"""Whose target it is: one store cleans there, and a restored side of the two is seen before anything is done."""

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from connectors.target import Owned, Target
from reconcile.audit import log
from reconcile.journal import ownership
from reconcile.journal.ownership import AnotherOwner, OwnershipRaced, StoreBehind, TargetBehind
from reconcile.store import tables
from tests.reconcile.journal.journal import Journal, effects_postgres, journal, local

__all__ = ["effects_postgres", "journal", "local"]

Owner = tuple[str, int, int]
TABLE = "customers"


@dataclass
class Held:
    """What a target holds of us; `before` runs when somebody is about to adopt it, `after_look` when one was told."""

    owner: Owner | None = None
    can: bool = True
    name: str = "shop"
    address: str = "postgresql:1:shop/public"
    before_that: str | None = None
    before: list[Any] = field(default_factory=list)
    after_look: list[Any] = field(default_factory=list)

    def target(self) -> Target:
        return cast("Target", _Fake(self))


class _Fake:
    def __init__(self, held: Held) -> None:
        self._held = held
        self.name = held.name

    def remembers(self, table: str) -> bool:
        assert table == TABLE
        return self._held.can

    def owned(self, table: str) -> Owned:
        assert table == TABLE
        seen = self._held.owner
        while self._held.after_look:
            self._held.after_look.pop()()
        return Owned(self._held.address, seen, self._held.before_that)

    def adopt(self, store: str, epoch: int, ratchet: int, instead_of: Owner | None, table: str) -> bool:
        assert table == TABLE
        for item in self._held.before:
            item()
        if self._held.owner != instead_of:
            return False
        self._held.owner = (store, epoch, ratchet)
        return True


def enter(journal: Journal, held: Held) -> None:
    ownership.enter(journal.store, held.target(), TABLE, set())


def known(journal: Journal) -> list[tuple[int, int]]:
    return [(row["ratchet"], row["confirmed"]) for row in journal.rows(tables.targets)]


def test_a_target_that_was_nobodys_becomes_ours_and_counts_every_run(journal: Journal) -> None:
    held = Held()
    for number in (1, 2, 3):
        enter(journal, held)
        assert held.owner == (journal.store.id, 1, number)
        assert known(journal) == [(number, number)]

    assert journal.events() == ["target.first_seen"]


def test_another_stores_target_is_refused_until_a_person_takes_it_over(journal: Journal) -> None:
    held = Held(("st_other", 4, 9))
    with pytest.raises(AnotherOwner, match="target adopt shop"):
        enter(journal, held)
    assert (held.owner, known(journal)) == (("st_other", 4, 9), [])

    assert ownership.adopt(journal.store, held.target(), TABLE, by="eve") == ("st_other", 4, 9)

    enter(journal, held)
    assert held.owner == (journal.store.id, 1, 11)
    with journal.store.read() as tx:
        [entry] = log.entries(tx, event="target.adopted")
    assert (entry.actor, entry.body["instead_of"]) == ("eve", ["st_other", 4, 9])


@pytest.mark.parametrize(("epoch", "ratchet"), [(1, 6), (1, 4), (2, 3), (7, 1)])
def test_a_store_that_was_restored_knows_less_than_its_target(epoch: int, ratchet: int, journal: Journal) -> None:
    """Keys kept over a restore of the store: what it did since then it would do again."""
    held = Held()
    for _ in range(3):
        enter(journal, held)
    held.owner = (journal.store.id, epoch, ratchet)

    with pytest.raises(StoreBehind, match="lacks cleanings that source 'shop' has recorded"):
        enter(journal, held)
    ownership.adopt(journal.store, held.target(), TABLE, by="eve")
    enter(journal, held)


def test_a_store_that_forgot_its_target_is_behind_it(journal: Journal) -> None:
    held = Held((journal.store.id, 1, 1))
    with pytest.raises(StoreBehind):
        enter(journal, held)


@pytest.mark.parametrize("left", [2, 1, None])
def test_a_target_that_was_restored_knows_less_than_the_store(left: int | None, journal: Journal) -> None:
    held = Held()
    for _ in range(3):
        enter(journal, held)
    held.owner = None if left is None else (journal.store.id, 1, left)

    with pytest.raises(TargetBehind, match="restored from a backup or recreated"):
        enter(journal, held)
    ownership.adopt(journal.store, held.target(), TABLE, by="eve")
    enter(journal, held)


@pytest.mark.parametrize("times", [0, 2])
def test_a_kill_between_the_two_sides_is_no_restore(times: int, journal: Journal) -> None:
    """Between any two of the three steps; whoever comes next goes on with that step."""
    held = Held()
    for _ in range(times):
        enter(journal, held)

    def die() -> None:
        raise KeyboardInterrupt

    held.before = [die]
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            enter(journal, held)
    assert known(journal) == [(times + 1, times)]
    held.owner = (journal.store.id, 1, times + 1)  # it was adopted, and then we died
    held.before = []
    enter(journal, held)
    assert known(journal) == [(times + 1, times + 1)]
    enter(journal, held)
    assert known(journal) == [(times + 2, times + 2)]


def test_workers_that_enter_at_once_count_one_step(journal: Journal) -> None:
    held = Held()
    enter(journal, held)
    once = iter([None])

    def another() -> None:
        if next(once, "over") is None:
            enter(journal, held)

    held.before = [another]
    enter(journal, held)

    [both] = known(journal)
    assert held.owner == (journal.store.id, 1, both[0])
    assert both in ((2, 2), (3, 3))


def test_a_worker_that_counts_up_while_another_looks_is_no_restore(journal: Journal) -> None:
    held = Held()
    enter(journal, held)
    held.after_look = [lambda: enter(journal, held)]

    enter(journal, held)

    assert known(journal) == [(3, 3)]


def test_two_stores_that_take_a_free_target_at_once_do_not_both_get_it(journal: Journal) -> None:
    held = Held()

    def another() -> None:
        held.owner = ("st_other", 1, 1)

    held.before = [another]
    with pytest.raises(AnotherOwner):
        enter(journal, held)
    held.owner = None
    with pytest.raises(OwnershipRaced):
        ownership.adopt(journal.store, held.target(), TABLE, by="eve")


def test_a_target_that_can_hold_nothing_is_known_by_its_identity(journal: Journal) -> None:
    held = Held(can=False)
    enter(journal, held)
    enter(journal, held)

    assert held.owner is None
    assert [row["identity"] for row in journal.rows(tables.targets)] == [held.address]


def test_a_target_behind_another_address_is_another_target(journal: Journal) -> None:
    held = Held()
    for _ in range(3):
        enter(journal, held)
    staging = Held(address="postgresql:2:shop/public")

    enter(journal, staging)

    assert staging.owner == (journal.store.id, 1, 1)
