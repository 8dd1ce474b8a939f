"""That signing began is known where the rows of the log are not: a log without its checkpoints is named as tampered."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from reconcile.audit import anchoring, proof
from reconcile.audit import log as audit
from reconcile.store import Store
from reconcile.upkeep import backup
from tests.reconcile.audit.test_tamper import FILE, URL, Log, anchor, edit, end_here, rebuild, truncate
from tests.support.store import NOON

LENGTH = 250


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A log of 250 entries about no finding, signed up to its end, and anchored once, at entry 100."""
    with Store.open(URL, tmp_path, clock=lambda: NOON) as store:
        for count in (100, 150):
            with store.begin() as tx:
                for number in range(count):
                    audit.append(tx, "reconcile", "noted", f"thing:{number}", {"number": number})
            if count == 100:
                anchoring.write_due(store, anchor(tmp_path), {"log": NOON - NOON})
        audit.checkpoint(store)
    return tmp_path


def proven(root: Path, *, anchored: bool = False) -> proof.Proof:
    with Store.open(URL, root) as store:
        return proof.prove(store, anchor(root) if anchored else {})


def rehashed(root: Path, attack: object, seq: int) -> None:
    """Rebuilt from that entry on, by somebody with the whole database and nothing else; every checkpoint is deleted."""
    log = Log.taken(root)
    attack(log, seq)  # type: ignore[operator]
    log.rehash()
    log.put_back(root)
    end_here(root, log)
    without_checkpoints(root)


def without_checkpoints(root: Path) -> None:
    with closing(sqlite3.connect(root / FILE)) as state, state:
        state.execute("DELETE FROM checkpoints")
        state.execute("DELETE FROM anchors")


def test_the_log_that_nobody_touched_is_proven(root: Path) -> None:
    result = proven(root, anchored=True)

    assert (result.problem, result.remarks, result.signed, result.anchored) == (None, (), LENGTH, 100)


@pytest.mark.parametrize("attack", [edit, rebuild, truncate])
def test_a_rehashed_log_whose_checkpoints_were_deleted_is_named(attack: object, root: Path) -> None:
    rehashed(root, attack, 140)

    problem = proven(root).problem

    assert problem is not None
    assert problem.seq <= 140 <= (problem.until or problem.seq)
    assert "the file beside the store's key" in problem.sentence


def test_a_long_log_without_any_checkpoint_is_named_where_nothing_else_says_that_it_was_signed(root: Path) -> None:
    without_checkpoints(root)
    (root / f"{FILE}.key.signed").unlink()

    assert "no entry of the log is signed" in str(proven(root).problem)


@pytest.mark.parametrize("anchored", [True, False])
def test_checkpoints_that_were_deleted_from_an_unchanged_log_are_named(anchored: bool, root: Path) -> None:
    without_checkpoints(root)
    if anchored:
        (root / f"{FILE}.key.signed").unlink()

    problem = proven(root, anchored=anchored).problem

    assert problem is not None
    assert "deleted from the state" in problem.sentence


def test_the_whole_file_put_back_is_named_without_any_anchor(root: Path) -> None:
    shutil.copy2(root / FILE, root / "before.db")
    with Store.open(URL, root) as store:
        with store.begin() as tx:
            audit.append(tx, "reconcile", "noted", "x", {})
        audit.checkpoint(store)
    shutil.copy2(root / "before.db", root / FILE)

    assert "the log ends with 250: it was truncated or rebuilt" in str(proven(root).problem)


def test_a_restore_is_not_taken_for_tampering(root: Path) -> None:
    from reconcile.upkeep import restore  # noqa: PLC0415

    with Store.open(URL, root) as store:
        backup.make(store, root / "backup.db")
        with store.begin() as tx:
            audit.append(tx, "reconcile", "noted", "x", {})
        audit.checkpoint(store)
        restore.restore(store, root / "backup.db", yes=True)

    result = proven(root)

    assert result.problem is None
    with Store.open(URL, root) as store:
        audit.checkpoint(store)
    assert proven(root).problem is None


def test_a_folder_that_may_not_be_written_keeps_nobody_from_working_and_is_remarked(root: Path) -> None:
    """The name is taken by a folder: as on a read-only mount, the file cannot be made."""
    (root / f"{FILE}.key.signed").unlink()
    (root / f"{FILE}.key.signed").mkdir()

    with Store.open(URL, root) as store:
        with store.begin() as tx:
            audit.append(tx, "reconcile", "noted", "x", {})
        assert audit.checkpoint(store)

    result = proven(root)
    assert result.problem is None
    assert "is missing; the next signature" in result.remarks[0]


def test_a_file_that_holds_no_head_is_remarked(root: Path) -> None:
    (root / f"{FILE}.key.signed").write_text("{}\n")

    assert "holds no signed head" in proven(root).remarks[0]
