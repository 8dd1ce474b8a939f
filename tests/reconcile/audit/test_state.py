"""Every column of the state that says a fact is compared with the log, or docs/guarantees.md says that it is not."""

import datetime as dt
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from reconcile.audit import facts, proof
from reconcile.decisions import decide
from reconcile.people import tokens, users
from reconcile.people.roles import Role
from reconcile.store import Store, tables
from reconcile.upkeep import backup, restore
from tests.support.folders import ROOT
from tests.support.world import World

FILE = "reconcile.db"
COVERED = {(part.table, column) for parts in facts.KINDS.values() for part in parts for column in part.columns}
NAMED_BY = {(part.table, part.of) for parts in facts.KINDS.values() for part in parts}
BY_THEMSELVES = {("findings", "state"), ("plans", "state"), ("effects", "state")}


def not_covered() -> Iterator[str]:
    for table, why in facts.NOT_COVERED.items():
        columns = [column.name for column in tables.metadata.tables[table].c] if isinstance(why, str) else [*why]
        yield from (f"{table}.{column}" for column in columns if (table, column) not in BY_THEMSELVES)


def test_every_column_is_compared_with_the_log_or_said_not_to_be() -> None:
    """A new column makes this fail until somebody decides: cover it in reconcile/audit/facts.py, or say why not."""
    texts = {f"{table.name}.{column.name}" for table in tables.metadata.sorted_tables for column in table.c}
    decided = [*not_covered(), *(f"{table}.{column}" for table, column in COVERED | NAMED_BY | BY_THEMSELVES)]

    assert sorted(decided) == sorted(texts)


def test_the_guarantees_list_what_is_not_compared() -> None:
    text = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    section = text.split("### What `audit verify` does not compare", 1)[1].split("\n### ", 1)[0]

    assert [words for words in facts.left_out_in_words() if words not in section] == []


def test_what_is_not_compared_is_said_without_names_of_the_schema() -> None:
    sentence = "; ".join(facts.left_out_in_words())

    assert "due times of jobs" in sentence
    assert not re.search(r"_|\.", sentence)
    assert len(facts.left_out_in_words()) < len(facts.left_out())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state with something in every table that is compared: cleaned, undone, dismissed, approved, limited."""
    folder = tmp_path_factory.mktemp("state") / "w"
    rows = (
        (1, "a@x", "Anna"),
        (2, "a@x", "Ann"),
        (3, "b@x", "Bob"),
        (4, "b@x", "Bo"),
        (5, "c@x", "C"),
        (6, "c@x", "D"),
    )
    world = World.at(folder, *rows, twins={"clean": {"action": "delete"}})
    world.run()
    first, second, third = sorted(world.findings())
    world.approve(first, note="yes")
    world.approve(second, note="yes")
    world.undo(second)
    with world.open() as application:
        decide.dismiss(application.store, third, actor="anna", note="two people")
        with application.store.begin() as tx:
            users.add(tx, "ada", Role.ADMIN, by="anna")
            tokens.add(tx, "nightly", "ada", by="anna", expires=tx.now + dt.timedelta(days=1))
    assert set(world.findings().values()) == {"cleaned", "undone", "dismissed"}
    return folder


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    """A copy to tamper with."""
    for name in (FILE, f"{FILE}.key", f"{FILE}.key.signed"):
        shutil.copy2(built / name, tmp_path / name)
    return tmp_path


def problem_of(folder: Path) -> str | None:
    with Store.open(f"sqlite:///{FILE}", folder) as store:
        problem = proof.prove(store, {}).problem
    return None if problem is None else problem.sentence


def tamper(folder: Path, statement: str, *bound: object) -> int:
    with closing(sqlite3.connect(folder / FILE)) as state, state:
        return state.execute(statement, bound).rowcount


@pytest.mark.slow
def test_the_state_that_nobody_touched_is_what_the_log_says(folder: Path) -> None:
    with Store.open(f"sqlite:///{FILE}", folder) as store:
        result = proof.prove(store, {})

    assert (result.problem, result.remarks) == (None, ())


@pytest.mark.parametrize(("table", "column"), sorted(COVERED), ids=lambda name: name)
@pytest.mark.slow
def test_a_column_that_somebody_edited_is_named(table: str, column: str, folder: Path) -> None:
    kind = tables.metadata.tables[table].c[column].type
    with closing(sqlite3.connect(folder / FILE)) as state, state:
        [number, value] = state.execute(f'SELECT rowid, "{column}" FROM {table} LIMIT 1').fetchone()
        if isinstance(kind, sa.Integer | sa.Boolean):
            second: object = 1 - value if isinstance(kind, sa.Boolean) else value + 1
        else:
            second = "[]" if not value else f"{value}x" if column == "record_b" else f"!{value}"
        assert state.execute(f'UPDATE {table} SET "{column}" = ? WHERE rowid = ?', (second, number)).rowcount == 1

    assert problem_of(folder) is not None


@pytest.mark.parametrize("table", sorted({table for table, _ in COVERED}))
def test_rows_that_somebody_deleted_are_named(table: str, folder: Path) -> None:
    assert tamper(folder, f"DELETE FROM {table} WHERE rowid = (SELECT min(rowid) FROM {table})") == 1

    assert problem_of(folder) is not None


def test_a_member_that_somebody_added_is_named_with_its_finding(folder: Path) -> None:
    assert tamper(
        folder,
        'INSERT INTO finding_members (finding, record, position, role, "values", first_seen, settled_at) '
        "SELECT finding, record || 'x', position, role, \"values\", first_seen, settled_at "
        "FROM finding_members LIMIT 1",
    )

    assert re.search(r"the finding F-\w+ differs from what this entry recorded: its records", problem_of(folder) or "")


def test_a_digest_that_somebody_took_away_or_put_back_is_named(folder: Path) -> None:
    """Whoever edits a row would have to make its digest fit, which takes the store's key."""
    assert tamper(folder, "DELETE FROM facts WHERE kind = 'plan'")

    assert "is missing from the state" in (problem_of(folder) or "")


def test_a_stored_before_image_is_named_with_its_plan(folder: Path) -> None:
    assert tamper(folder, "UPDATE plans SET content = replace(content, 'Ann', 'Eve') WHERE undoes IS NULL")

    assert re.search(
        r"the plan P-\w+ differs from what this entry recorded: its rows, before-images", problem_of(folder) or ""
    )


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("UPDATE plans SET state = 'failed'", r"the plan P-\w+ is failed, but the last entry about it says \w+"),
        ("UPDATE plans SET plan_hash = 'x'", r"the hash of plan P-\w+ is x, but the last entry about it says \w+"),
        ("UPDATE approvals SET decision = 'x'", r"the decision of \S+ on plan P-\w+ is x \w+, but the last entry"),
        ("UPDATE effects SET state = 'failed'", r"an operation of plan P-\w+ is failed, but the plan is \w+"),
        ("UPDATE limits SET day_records = 77", r"the limit of \w+ \S+ differs from what this entry recorded"),
        ("DELETE FROM facts WHERE kind = 'limits'", r"the digest of the limit of \w+ \S+ of this entry is missing"),
    ],
)
def test_what_was_changed_is_named_in_the_words_of_the_docs(folder: Path, statement: str, sentence: str) -> None:
    assert tamper(folder, statement)

    assert re.match(sentence, problem_of(folder) or "")


@pytest.mark.parametrize(
    ("statement", "thing"),
    [
        (
            """INSERT INTO limits (scope, day_records, day_money, run_records, run_money)
            VALUES ('rule:other', -9, '{}', 0, '{}')""",
            "limit of rule other",
        ),
        (
            """INSERT INTO rule_state (rule, definition, first_run, first_run_at, last_run, last_run_at, cleaning)
            SELECT 'other', definition, first_run, first_run_at, last_run, last_run_at, cleaning
            FROM rule_state LIMIT 1""",
            "rule other",
        ),
        (
            """INSERT INTO finding_members (finding, record, position, role, "values", first_seen)
            SELECT 'F-OTHER', record, position, role, "values", first_seen FROM finding_members LIMIT 1""",
            "finding F-OTHER",
        ),
        (
            """INSERT INTO limit_uses (plan, rule, target, at, records, money)
            SELECT 'P-OTHER', rule, target, created_at, -1000, '{}' FROM plans LIMIT 1""",
            "plan P-OTHER",
        ),
    ],
)
def test_a_row_that_no_entry_is_about_is_named(folder: Path, statement: str, thing: str) -> None:
    assert tamper(folder, statement) == 1

    assert problem_of(folder) == f"the {thing} is in the state, but no entry is about it"


def test_a_digest_that_somebody_edited_is_named_also_after_the_next_change(folder: Path) -> None:
    with Store.open(f"sqlite:///{FILE}", folder) as store:
        with store.read() as tx:
            finding = tx.connection.execute(sa.select(tables.findings.c.id).limit(1)).scalar_one()
        assert tamper(folder, "UPDATE facts SET digest = 'forged' WHERE name = ?", finding) == 1
        decide.assign(store, finding, actor="eve", to="ada", note="seen")

    assert problem_of(folder) == f"the finding {finding} was changed outside Reconcile before this entry"


@pytest.mark.server
def test_a_state_that_moved_to_postgresql_has_the_same_digests(folder: Path, postgres_url: str, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with Store.open(f"sqlite:///{FILE}", folder) as store:
        backup.make(store, tmp_path / "move.db")
    with Store.open(postgres_url, tmp_path / "there") as store:
        restore.restore(store, tmp_path / "move.db", other_store=True)

    with Store.open(postgres_url, tmp_path / "there") as store:
        result = proof.prove(store, {})
        with store.begin() as tx:
            tx.connection.execute(sa.update(tables.finding_members).values(settled_at=None))
        edited = proof.prove(store, {}).problem

    assert (result.problem, result.entries > 0) == (None, True)
    assert edited is not None
