"""Upgrades: the next version opens a store of every schema up to now, with rows in every state, and goes on."""

from pathlib import Path

import pytest

from reconcile.audit import log
from reconcile.store import Store, tables
from reconcile.upkeep.upgrade import without_backup
from tests.support import filled, next_version
from tests.support.runs import START, ChargesProject, charge, twice
from tests.support.servers import STATE

pytestmark = pytest.mark.slow


UPGRADES = [
    *((revision, "sqlite") for revision in filled.REVISIONS),
    *(pytest.param(filled.REVISIONS[place], "postgresql", marks=pytest.mark.server) for place in (0, -1)),
]
"""Every schema, and where it is: on PostgreSQL the first and the last."""


@pytest.fixture
def url(place: str, request: pytest.FixtureRequest) -> str:
    return STATE if place == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.mark.parametrize("revision", filled.REVISIONS)
def test_there_is_a_row_for_every_table_of_every_schema(revision: str, tmp_path: Path) -> None:
    filled.build(STATE, tmp_path, revision)

    assert [name for name, rows in filled.stored(STATE, tmp_path).items() if not rows] == []


@pytest.mark.parametrize(("revision", "place"), UPGRADES)
def test_an_upgrade_keeps_every_row_as_it_was(
    revision: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled.build(url, tmp_path, revision)
    before = filled.stored(url, tmp_path)
    next_version.install(tmp_path / "versions", monkeypatch.setattr)

    with Store.open(url, tmp_path, upgrade=without_backup) as store:
        verified = log.verify(store)

    after = filled.stored(url, tmp_path)
    assert (verified.intact, verified.entries) == (True, len(before["audit"]))
    assert [row.pop("revision") for row in after["meta"]] == [next_version.REVISION]
    assert (after.pop("later"), {row["later"] for row in after["findings"]}) == ([], {None})
    for name, rows in before.items():
        columns = [column for column in rows[0] if column != "revision"]
        assert _texts(after[name], columns) == _texts(rows, columns), name


def _texts(rows: list[filled.Row], columns: list[str]) -> list[list[str]]:
    return sorted([repr(row[column]) for column in columns] for row in rows)


@pytest.mark.parametrize(("revision", "place"), UPGRADES)
def test_a_run_that_was_under_way_goes_on_after_the_upgrade(
    revision: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = ChargesProject.at(tmp_path / "shop", url).add(*twice(1, "A-1"), charge(9, "A-2"))
    filled.build(url, shop.folder, revision)
    shop.environ |= next_version.ENVIRON

    ended = shop.run("nightly", "--slot", START).json

    assert (ended["run"], ended["status"]) == (filled.RUNNING, "succeeded")
    [run] = [row for row in filled.stored(url, shop.folder)["runs"] if row["id"] == filled.RUNNING]
    assert (run["attempt"], run["status"]) == (2, "succeeded")
    told = [message["id"] for message in shop.messages()]
    assert {"m-queued", "m-sending"} < set(told)
    assert len(told) == 3
    assert {row["id"]: row["state"] for row in shop.cli("findings", "--state", "all", "--json").json}.items() >= {
        *filled.STATES.items(),
        ("F-MERGED", "merged_into"),
    }
    next_version.install(tmp_path / "versions", monkeypatch.setattr)
    assert shop.chained()


@pytest.mark.parametrize("revision", filled.REVISIONS)
def test_migrate_says_what_it_would_do_and_what_it_did(revision: str, tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop")
    filled.build(shop.state, shop.folder, revision)
    shop.environ |= next_version.ENVIRON

    asked, done = shop.cli("migrate", "--check"), shop.cli("migrate", "--no-backup")
    again = shop.cli("migrate", "--check")

    assert (asked.code, asked.out) == (1, f"schema {revision}, an upgrade to {next_version.REVISION} is due\n")
    assert (done.code, done.out) == (0, f"upgraded from schema {revision} to {next_version.REVISION}\n")
    assert (again.code, again.out) == (0, f"schema {next_version.REVISION}, nothing to upgrade\n")


def test_migrate_makes_a_state_where_there_is_none_and_only_says_so_when_asked(tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop")

    asked = shop.cli("migrate", "--check", "--json")
    nothing = not (shop.folder / "state.db").exists()
    done = shop.cli("migrate", "--json")

    assert (asked.code, asked.json) == (0, {"from": None, "to": tables.REVISION, "upgraded": False})
    assert nothing
    assert (done.code, done.json) == (0, {"from": None, "to": tables.REVISION, "upgraded": False})
    assert (shop.folder / "state.db").exists()
