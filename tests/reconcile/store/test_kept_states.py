"""Every version opens the states that earlier ones wrote, and goes on where they stopped."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from reconcile.store import tables
from tests.reconcile.store import kept_states
from tests.reconcile.store.kept_states import STATES
from tests.support import next_version
from tests.support.cli import Project

SCHEMAS = sorted(folder.name for folder in STATES.iterdir())


VERSIONS = [
    *((schema, "this version") for schema in SCHEMAS),
    *((schema, "the next version") for schema in (SCHEMAS[0], SCHEMAS[-1])),
]


@pytest.fixture
def version(opened_by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if opened_by == "the next version":
        next_version.install(tmp_path / "versions", monkeypatch.setattr)
    return tables.REVISION


def test_a_state_of_each_schema_that_migrates_is_kept() -> None:
    assert SCHEMAS[0] == tables.FIRST_REVISION
    assert SCHEMAS[-1] == tables.REVISION


@pytest.mark.slow
@pytest.mark.parametrize(("schema", "opened_by"), VERSIONS)
def test_a_kept_state_migrates_and_a_run_finds_nothing_new(schema: str, version: str, tmp_path: Path) -> None:
    shop = kept_states.open_state(schema, tmp_path)
    before = _findings(tmp_path)

    migrated = shop("migrate", "--json").json
    ran = shop("run", "--json").json

    assert (migrated["from"], migrated["to"], migrated["upgraded"]) == (schema, version, schema != version)
    assert [rule["findings"]["new"] + rule["findings"]["reopened"] for rule in ran["rules"]] == [0, 0, 0, 0]
    assert _findings(tmp_path) == before
    assert not (tmp_path / "messages.jsonl").exists()
    assert shop.audit_is_intact()


@pytest.mark.slow
@pytest.mark.parametrize(("schema", "opened_by"), VERSIONS)
def test_a_plan_of_a_kept_state_can_be_approved_and_undone(schema: str, version: str, tmp_path: Path) -> None:
    """Its database is in another place now, which a person confirms."""
    shop = kept_states.open_state(schema, tmp_path)
    assert shop("migrate", "--json").json["to"] == version
    [awaiting] = _in_state(shop, "awaiting_approval")

    refused, adopted = shop("approve", awaiting), shop("target", "adopt", "shop")
    planned, approved = shop("run", "--quiet"), shop("approve", awaiting)
    cleaned = _marked(tmp_path)
    undone = shop("undo", awaiting)

    assert (refused.code, adopted.code, planned.code) == (4, 0, 0)
    assert (approved.code, undone.code) == (0, 0), approved.said + undone.said
    assert (cleaned, _marked(tmp_path)) == ([(4, 3), (7, 8)], [(4, 3)])
    assert shop.audit_is_intact()


def _marked(folder: Path) -> list[tuple[int, int]]:
    with closing(sqlite3.connect(folder / "shop.db")) as database:
        return database.execute(
            "select id, merged_into from customers where status = 'duplicate' order by id"
        ).fetchall()


def _in_state(shop: Project, state: str) -> list[str]:
    return [row["id"] for row in shop("findings", "--state", state, "--json").json]


def _findings(folder: Path) -> list[tuple[str, str, int]]:
    with closing(sqlite3.connect(folder / "state.db")) as state:
        return state.execute("select id, state, version from findings order by id").fetchall()
