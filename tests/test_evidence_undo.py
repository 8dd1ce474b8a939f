"""An undo writes only what the audit log and the target's receipts commit to, whatever the state says."""

from __future__ import annotations

import base64
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from clean_support import World, command

from reconcile.audit import proof
from reconcile.cleaning.undo import Forged, Unproven

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
    from reconcile.findings.bundle import hash_of  # noqa: PLC0415 - what an attacker would do

    with closing(sqlite3.connect(world.folder / "reconcile.db")) as state, state:
        for name, *texts in state.execute("SELECT id, content, outcome FROM bundles").fetchall():
            content, outcome = (text.replace("anna@example.com", FORGED) for text in texts)
            state.execute("UPDATE bundles SET content = ?, outcome = ? WHERE id = ?", (content, outcome, name))
            if not keep_hash:
                state.execute("UPDATE bundles SET plan_hash = ? WHERE id = ?", (hash_of(content), name))


def forget_digests(world: World) -> None:
    """As in a state that an earlier version wrote."""
    with closing(sqlite3.connect(world.folder / "reconcile.db")) as state, state:
        state.execute("DELETE FROM facts")


def test_a_forged_before_image_is_not_written_to_the_cleaned_database(tmp_path: Path) -> None:
    world, finding = cleaned(tmp_path)
    forge(world)

    with pytest.raises(Forged, match="the audit log"):
        world.undo(finding)

    assert world.ids() == [1]


def test_the_receipt_in_the_database_betrays_a_forged_before_image_of_an_older_state(tmp_path: Path) -> None:
    world, finding = cleaned(tmp_path)
    forge(world)
    forget_digests(world)

    with pytest.raises(Forged, match="the receipt in the database"):
        world.undo(finding)

    assert world.ids() == [1]


def test_without_receipts_the_audit_log_betrays_it(tmp_path: Path) -> None:
    world, finding = cleaned(tmp_path)
    world.do("DELETE FROM reconcile_receipts")
    forge(world)

    with pytest.raises(Forged, match="the audit log"):
        world.undo(finding)

    assert world.ids() == [1]


@pytest.mark.slow
def test_what_nothing_commits_to_is_not_written(tmp_path: Path) -> None:
    world, finding = cleaned(tmp_path)
    world.do("DELETE FROM reconcile_receipts")
    forget_digests(world)

    with pytest.raises(Unproven, match="set them back by hand"):
        world.undo(finding)

    assert world.ids() == [1]


@pytest.mark.slow
def test_what_nobody_forged_is_taken_back_with_and_without_receipts(tmp_path: Path) -> None:
    for name in ("with", "without"):
        world, finding = cleaned(tmp_path / name)
        if name == "without":
            world.do("DELETE FROM reconcile_receipts")

        world.undo(finding)

        assert world.ids() == [1, 2]


@pytest.mark.slow
def test_once_a_key_is_configured_only_what_was_sealed_is_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world, finding = cleaned(tmp_path)
    world.config["encryption_key"] = KEY
    world.write()

    assert command(world, "undo", finding) == 3
    assert "run `reconcile seal`" in capsys.readouterr().err
    assert world.ids() == [1]
    assert command(world, "seal") == 0
    assert "1 plan sealed" in capsys.readouterr().out
    assert command(world, "undo", finding) == 0
    assert world.ids() == [1, 2]
    assert command(world, "audit", "verify") == 0


def test_a_text_that_somebody_put_there_is_neither_sealed_nor_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world, finding = cleaned(tmp_path)
    forge(world)
    world.config["encryption_key"] = KEY
    world.write()

    assert command(world, "seal") == 1
    assert "Not sealed, and not opened: B-" in capsys.readouterr().err
    assert command(world, "undo", finding) == 3
    assert world.ids() == [1]


def test_verify_names_a_plan_whose_before_images_were_changed(tmp_path: Path) -> None:
    world, _ = cleaned(tmp_path)
    forge(world)

    with world.open() as application:
        problem = proof.prove(application.store, {}).problem

    assert problem is not None
    assert "plan B-" in problem.sentence or "hash of bundle" in problem.sentence
