"""Checkpoints: the store signs every hundredth head, and the last one when it is asked to."""

from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from reconcile.audit import checkpoints, log, proof
from reconcile.audit.verifier import Mark
from reconcile.store import Store, tables
from reconcile.upkeep import backup, restore
from tests.support.servers import STATE
from tests.support.store import FixedClock, in_parallel, store

__all__ = ["store"]


def write(store: Store, count: int) -> None:
    with store.begin() as tx:
        for _ in range(count):
            log.append(tx, "reconcile", "note", "x", {})


def signed(store: Store) -> list[Mark]:
    with store.read() as tx:
        return list(checkpoints.all_of(tx))


def test_every_hundredth_entry_is_signed_in_the_transaction_that_writes_it(store: Store) -> None:
    for count in (99, 2, 250, 48, 1):
        write(store, count)

    marks = signed(store)

    assert [mark.seq for mark in marks] == [100, 200, 300, 400]
    assert all(mark.is_signed and mark.store == store.id and mark.epoch == 1 for mark in marks)
    with store.read() as tx:
        assert [mark.head for mark in marks] == [entry.head for entry in log.entries(tx) if entry.seq % 100 == 0]


def test_a_transaction_that_is_not_kept_signs_nothing(store: Store) -> None:
    with pytest.raises(sa.exc.IntegrityError), store.begin() as tx:  # noqa: PT012 - both lines are one transaction
        [log.append(tx, "reconcile", "note", "x", {}) for _ in range(100)]
        tx.connection.execute(sa.update(tables.meta).values(id=2))

    assert signed(store) == []


def test_the_last_entry_is_signed_when_asked_and_once(store: Store) -> None:
    empty = log.checkpoint(store)
    write(store, 3)

    asked = [log.checkpoint(store), log.checkpoint(store)]
    write(store, 1)
    asked.append(log.checkpoint(store))

    assert empty is False
    assert asked == [True, False, True]
    assert [mark.seq for mark in signed(store)] == [3, 4]


@pytest.mark.parametrize("field", ["store", "epoch", "seq", "head", "at"])
def test_a_signature_is_of_every_field(field: str, store: Store) -> None:
    mark = checkpoints.mark(store, 7, "aa" * 32, "2026-11-21T12:00:00.000000Z")
    settings = {"store": "st_0", "epoch": 2, "seq": 8, "head": "ab" * 32, "at": "2026-11-21T12:00:00.000001Z"}

    assert mark.is_signed
    assert not replace(mark, **{field: settings[field]}).is_signed


def test_the_key_pair_is_the_stores_and_stays_so(tmp_path: Path) -> None:
    """A golden value: what was signed today must verify with every later version."""
    with Store.open(STATE, tmp_path) as store:
        store.id, store.key = "st_0", b"k" * 32

        mark = checkpoints.mark(store, 1, "aa" * 32, "2026-11-21T12:00:00.000000Z")

    assert (mark.signer, mark.signature[:32]) == GOLDEN


GOLDEN = ("0d5889bb3a49fca19910812995e48219ebe0b2e456c248c2e96dcfc2f10cc781", "df97c7e14b6e70f6ca81236be3ae7b34")


@pytest.mark.slow
def test_racing_writers_sign_every_hundredth_entry_once(url: str, store: Store, tmp_path: Path) -> None:
    code = """
    with Store.open(url, root, patience=dt.timedelta(seconds=60)) as store:
        for n in range(25):
            with store.begin() as tx:
                for _ in range(3):
                    audit.append(tx, str(os.getpid()), "test", "x", {"n": n})
            if n % 5 == 0:
                audit.checkpoint(store)
    """

    in_parallel(4, code, url, tmp_path)

    seqs = [mark.seq for mark in signed(store)]
    assert {100, 200, 300} <= set(seqs)
    assert len(seqs) == len(set(seqs))
    assert proof.prove(store, {}).intact


def test_a_log_is_proven_with_what_was_signed_before_and_after_a_restore(
    url: str, store: Store, tmp_path: Path
) -> None:
    write(store, 150)
    file = tmp_path / "backup.db"
    backup.make(store, file)
    write(store, 250)
    restore.restore(store, file, yes=True)

    with Store.open(url, tmp_path) as again:
        write(again, 60)
        result = proof.prove(again, {})
        epochs = [(mark.seq, mark.epoch) for mark in signed(again)]

    assert result.problem is None
    assert epochs == [(100, 1), (200, 2)]


@pytest.mark.parametrize(
    ("statement", "seq", "words"),
    [
        ("UPDATE checkpoints SET head = 'x' WHERE seq = 200", 200, "signature is wrong"),
        ("UPDATE checkpoints SET signer = signature WHERE seq = 200", 200, "another key signed"),
        ("UPDATE checkpoints SET epoch = 2 WHERE seq = 200", 200, "signature is wrong"),
        ("DELETE FROM checkpoints WHERE seq = 200", 101, "checkpoint of entry 200 is missing"),
    ],
)
def test_a_checkpoint_that_was_tampered_with_is_named(statement: str, seq: int, words: str, store: Store) -> None:
    write(store, 330)
    with store.begin() as tx:
        tx.connection.execute(sa.text(statement))

    problem = proof.prove(store, {}).problem

    assert problem is not None
    assert (problem.seq, words in problem.sentence) == (seq, True)


def test_a_log_from_before_there_were_checkpoints_is_proven_from_its_first_signed_entry_on(store: Store) -> None:
    write(store, 330)
    with store.begin() as tx:
        tx.connection.execute(sa.text("DELETE FROM checkpoints WHERE seq < 300"))

    assert proof.prove(store, {}).problem is None


def test_times_of_checkpoints_are_the_stores(tmp_path: Path) -> None:
    clock = FixedClock()
    with Store.open(STATE, tmp_path, clock=clock) as store:
        write(store, 1)
        clock.sleep(90)
        log.checkpoint(store)

        assert [mark.at for mark in signed(store)] == ["2026-11-21T12:01:30.000000Z"]
