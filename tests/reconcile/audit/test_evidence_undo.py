"""An undo writes only what the audit log and the target's receipts commit to, whatever the state says."""

import base64
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from reconcile.audit import proof
from reconcile.cleaning.undo import Forged, Unproven
from tests.support.world import World

CLEAN = {"clean": {"action": "delete"}, "approval": "none"}
KEY = base64.b64encode(bytes(range(32))).decode()
FORGED = "mallory@example.com"


def cleaned(folder: Path, **config: object) -> tuple[World, str]:
    """A world whose second Anna was deleted."""
    world = World.at(
        folder, (1, "anna@example.com", "Anna"), (2, "anna@example.com", "Anna"), twins=CLEAN, config=dict(config)
    )
    world.run()
    finding = world.only()
    world.approve(finding)
    assert world.findings() == {finding: "cleaned"}
    return world, finding


def forge(world: World, *, keep_hash: bool = False) -> None:
    """Put another e-mail into everything the state holds of the rows of plans, with the hash that fits."""
    from reconcile.findings.plan import hash_of  # noqa: PLC0415 - what an attacker would do

    with closing(sqlite3.connect(world.folder / "reconcile.db")) as state, state:
        for name, *texts in state.execute("SELECT id, content, outcome FROM plans").fetchall():
            content, outcome = (text.replace("anna@example.com", FORGED) for text in texts)
            state.execute("UPDATE plans SET content = ?, outcome = ? WHERE id = ?", (content, outcome, name))
            if not keep_hash:
                state.execute("UPDATE plans SET plan_hash = ? WHERE id = ?", (hash_of(content), name))


def forget_digests(world: World) -> None:
    """As in a state that an earlier version wrote."""
    with closing(sqlite3.connect(world.folder / "reconcile.db")) as state, state:
        state.execute("DELETE FROM facts")


def test_a_forged_before_image_is_not_written_to_the_cleaned_database(tmp_path: Path) -> None:
    world, finding = cleaned(tmp_path)
    forge(world)

    with pytest.raises(Forged, match="the audit log"):
        world.undo(finding)

    assert world.shop.ids() == [1]


def test_the_receipt_in_the_database_betrays_a_forged_before_image_of_an_older_state(tmp_path: Path) -> None:
    world, finding = cleaned(tmp_path)
    forge(world)
    forget_digests(world)

    with pytest.raises(Forged, match="the receipt in the target"):
        world.undo(finding)

    assert world.shop.ids() == [1]


def test_without_receipts_the_audit_log_betrays_it(tmp_path: Path) -> None:
    world, finding = cleaned(tmp_path)
    world.shop.sql("DELETE FROM reconcile_receipts")
    forge(world)

    with pytest.raises(Forged, match="the audit log"):
        world.undo(finding)

    assert world.shop.ids() == [1]


@pytest.mark.slow
def test_what_nothing_commits_to_is_not_written(tmp_path: Path) -> None:
    world, finding = cleaned(tmp_path)
    world.shop.sql("DELETE FROM reconcile_receipts")
    forget_digests(world)

    with pytest.raises(Unproven, match="set them back by hand"):
        world.undo(finding)

    assert world.shop.ids() == [1]


@pytest.mark.slow
def test_what_nobody_forged_is_taken_back_with_and_without_receipts(tmp_path: Path) -> None:
    for name in ("with", "without"):
        world, finding = cleaned(tmp_path / name)
        if name == "without":
            world.shop.sql("DELETE FROM reconcile_receipts")

        world.undo(finding)

        assert world.shop.ids() == [1, 2]


@pytest.mark.slow
def test_once_a_key_is_configured_only_what_was_sealed_is_opened(tmp_path: Path) -> None:
    world, finding = cleaned(tmp_path)
    world.config["encryption_key"] = KEY
    world.write()

    refused = world.command("undo", finding)
    assert refused.code == 3
    assert "run `reconcile seal`" in refused.err
    assert world.shop.ids() == [1]
    sealed = world.command("seal")
    assert sealed.code == 0
    assert "1 plan sealed" in sealed.out
    assert world.command("undo", finding).code == 0
    assert world.shop.ids() == [1, 2]
    assert world.command("audit", "verify").code == 0


def test_a_text_that_somebody_put_there_is_neither_sealed_nor_opened(tmp_path: Path) -> None:
    world, finding = cleaned(tmp_path)
    forge(world)
    world.config["encryption_key"] = KEY
    world.write()

    refused = world.command("seal")
    assert refused.code == 1
    assert "Not sealed, and not opened: P-" in refused.err
    assert world.command("undo", finding).code == 3
    assert world.shop.ids() == [1]


def test_verify_names_a_plan_whose_before_images_were_changed(tmp_path: Path) -> None:
    world, _ = cleaned(tmp_path)
    forge(world)

    with world.open() as application:
        problem = proof.prove(application.store, {}).problem

    assert problem is not None
    assert "plan P-" in problem.sentence or "hash of plan" in problem.sentence
