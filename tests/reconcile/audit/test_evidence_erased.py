"""After `erase` the value stands nowhere in the state, whoever wrote it down: the file itself is searched."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reconcile.audit import log, proof
from reconcile.coordination import pauses
from reconcile.decisions import decide
from reconcile.guard import Claim, Done, Guard
from reconcile.journal import limits
from reconcile.store import Store, tables
from reconcile.store import findings as stored_findings
from reconcile.upkeep import erasure
from tests.support.filled import connected
from tests.support.world import World

MAIL, OTHERS = "ann.secret@example.com", "bob@example.com"
ROWS = (
    (1, MAIL, "Anna"),
    (2, "anna.two@example.com", "Anna"),
    (3, OTHERS, "Bob"),
    (4, "bob.two@example.com", "Bob"),
)
PII: dict[str, Any] = {
    "datasets": {"customers": {"source": "shop", "table": "customers", "id": "id", "pii": ["email"]}}
}
BY_NAME = {"key": ["name"], "clean": {"action": "delete"}}


def filled(folder: Path) -> tuple[World, str, str]:
    """Anna's records were cleaned by a rule that does not name the e-mail; everybody wrote it down everywhere."""
    world = World.at(folder, *ROWS, config=PII, twins=BY_NAME)
    world.run()
    with world.open() as application, application.store.read() as tx:
        of = {str(finding.key["name"]): finding.id for finding in stored_findings.find(tx)}
    annas, bobs = of["Anna"], of["Bob"]
    world.approve(annas, note=f"agreed with {MAIL}")
    with world.open() as application:
        store = application.store
        application.decisions("anna").approve(bobs, note=f"asked {MAIL}")
        decide.assign(store, bobs, actor="eve", to="eve", note=f"the same as {MAIL.upper()}?")
        with store.begin() as tx:
            pauses.pause(tx, "everything", by="eve", reason=f"{MAIL} complained")
            log.append(tx, "eve", "note", "x", {"text": f"mail to {MAIL} came back"})
            limits.stop(tx, limits.of_rule("twins"), f"{MAIL} called")
    return world, annas, bobs


def where(folder: Path, value: str) -> list[str]:
    """Every column of every table that holds the value, however it is written."""
    with connected("sqlite:///reconcile.db", folder) as connection:
        collected = []
        for table in tables.metadata.sorted_tables:
            for row in connection.exec_driver_sql(f'SELECT * FROM "{table.name}"').mappings():
                collected += [f"{table.name}.{name}" for name, held in row.items() if value in str(held).casefold()]
    return sorted(set(collected))


def is_told_without_gaps(world: World) -> bool:
    """Each digest in the log follows the one before it, also where the entry between lost its body."""
    last: dict[tuple[str, str], str | None] = {}
    with closing(sqlite3.connect(world.folder / "reconcile.db")) as state:
        bodies = [json.loads(text) for [text] in state.execute("SELECT body FROM audit_bodies ORDER BY seq")]
    collected = [(kept["seq"], kept) for body in bodies for kept in body.get("entries", ())]
    with closing(sqlite3.connect(world.folder / "reconcile.db")) as state:
        collected += [(n, json.loads(text)) for n, text in state.execute("SELECT seq, body FROM audit_bodies")]
    for _, body in sorted(collected, key=lambda entry: entry[0]):
        for kind, name, was, to in body.get("facts", ()):
            if last.get((kind, name)) != was:
                return False
            last[kind, name] = to
    return True


def bytes_of(folder: Path) -> bytes:
    """The state's files, its write-ahead log included."""
    with closing(sqlite3.connect(folder / "reconcile.db")) as state:
        state.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return b"".join(file.read_bytes() for file in sorted(folder.glob("reconcile.db*"))).lower()


@pytest.mark.slow
@pytest.mark.parametrize("how", [("--id", "1"), ("--column", "email", "--value", MAIL)], ids=["id", "value"])
def test_nothing_of_a_person_is_left_anywhere(how: tuple[str, ...], tmp_path: Path) -> None:
    world, annas, bobs = filled(tmp_path / "w")
    assert len(where(world.folder, MAIL)) > 5

    assert world.command("erase", "customers", *how).code == 0

    assert where(world.folder, MAIL) == []
    assert MAIL.encode() not in bytes_of(world.folder)
    assert OTHERS in " ".join(plan.sealed_content or "" for plan in world.plans(bobs))
    with world.open() as application:
        assert proof.prove(application.store, {}).problem is None
    assert set(world.findings()) == {annas, bobs}
    assert is_told_without_gaps(world)


@pytest.mark.slow
def test_a_result_and_a_reason_of_claimed_keys_are_erased_too(tmp_path: Path) -> None:
    world, _, _ = filled(tmp_path / "w")
    with Guard.connect("sqlite:///reconcile.db", {"mails": {}}, folder=world.folder) as guard:
        sent, failed = (guard.claim("mails", number) for number in (1, 2))
        assert isinstance(sent, Claim)
        assert isinstance(failed, Claim)
        sent.complete({"message": "m-1", "to": MAIL})
        failed.fail(f"{MAIL} is blocked")

        assert world.command("erase", "customers", "--column", "email", "--value", MAIL).code == 0

        again = guard.claim("mails", 1)
    assert isinstance(again, Done)
    assert again.result["message"] == "m-1"
    assert MAIL.encode() not in bytes_of(world.folder)


def test_every_text_of_the_state_is_searched_or_named() -> None:
    """A new column with text makes this fail until somebody decides whether data of records can get into it."""
    searched = {f"{table}.{column}" for table, column in erasure.TEXTS}

    assert searched == {
        *("breakers.reason", "limits.reason", "pauses.reason", "slots.reason", "troubles.sentence"),
        *("promotion.note", "runs.summary", "anchors.problem", "failures.sentence", "findings.payload"),
        *("findings.note", "outbox.problem", "run_rules.outcome", "plans.reason", "plans.summary"),
        "finding_members.gives",
        *(
            "unchanged_runs.summary",
            "not_same.note",
            "approvals.note",
            "presses.press",
            "presses.answer",
            "keyed_requests.answer",
            "guarded_keys.result",
            "guarded_keys.reason",
        ),
    }


@pytest.mark.slow
def test_what_was_erased_can_be_erased_again_and_nothing_is_found(tmp_path: Path) -> None:
    world, _, _ = filled(tmp_path / "w")
    assert world.command("erase", "customers", "--id", "1").code == 0

    with Store.open("sqlite:///reconcile.db", world.folder) as store:
        wanted = erasure.of_value(store, "customers", "email", MAIL)
        assert not erasure.erase(store, wanted, texts=(MAIL,), dry_run=True).anything
