"""Two states, one database: `target` says whose it is, and hands it over only when a person says so."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.support.cli import Project, in_words

CONFIGURATION = """\
version: 1
sources: {{shop: {{type: sql, url: "sqlite:///{shop}"}}}}
datasets: {{customers: {{source: shop, table: customers, id: id, where: status = 'active'}}}}
rules:
  twins:
    kind: duplicates
    dataset: customers
    key: [email]
    clean: {{action: set, values: {{status: twin}}}}
    limits: {{share: 100%}}
"""


def shop(folder: Path, pairs: int = 2) -> Path:
    path = folder / "shop.db"
    with sqlite3.connect(path) as database:
        database.execute("create table customers (id integer primary key, email text, status text)")
        rows = [(2 * n + twin, f"{n}@example.com", "active") for n in range(1, pairs + 1) for twin in (0, 1)]
        database.executemany("insert into customers values (?, ?, ?)", rows)
    return path


def project(folder: Path, database: Path) -> Project:
    folder.mkdir(exist_ok=True)
    return Project(folder).write(CONFIGURATION.format(shop=database))


def first_waiting(item: Project) -> str:
    return str(item("findings", "--state", "awaiting_approval", "--json").json[0]["id"])


def active(database: Path) -> int:
    with sqlite3.connect(database) as open_:
        return int(open_.execute("select count(*) from customers where status = 'active'").fetchone()[0])


@pytest.mark.slow
def test_a_second_state_cleans_nothing_until_it_adopts_the_database(tmp_path: Path) -> None:
    database = shop(tmp_path)
    ours, theirs = project(tmp_path / "ours", database), project(tmp_path / "theirs", database)
    for item in (ours, theirs):
        assert item("run").code == 0
    assert ours("approve", first_waiting(ours)).code == 0
    assert active(database) == 3

    refused = theirs("approve", first_waiting(theirs))

    assert refused.code == 4
    assert "another state" in refused.out
    assert "target adopt shop" in refused.out
    look = {check["subject"]: check["sentence"] for check in theirs("doctor", "--json").json["checks"]}
    assert "is cleaned by another state" in look["cleaning of source shop"]
    assert "cleaning of source shop" not in ours("doctor").out
    assert active(database) == 3
    [seen] = theirs("target", "--json").json
    assert seen["source"] == "shop"
    assert "another state" in seen["problem"]

    adopted = theirs("target", "adopt", "shop", "--json").json

    assert adopted["before"] == seen["owner"]
    assert theirs("target", "--json").json[0]["problem"] is None
    assert "another state" in ours("target").out
    assert "target.adopted" in theirs("audit").out


@pytest.mark.slow
def test_a_state_from_a_backup_is_noticed_and_repeats_nothing_once_it_goes_on(tmp_path: Path) -> None:
    database = shop(tmp_path)
    ours = project(tmp_path / "ours", database)
    assert ours("run").code == 0
    done, other_id = (finding["id"] for finding in ours("findings", "--json").json)
    assert ours("approve", done).code == 0
    state = tmp_path / "ours" / "reconcile.db"
    assert ours("backup", str(tmp_path / "old.backup")).code == 0
    assert ours("approve", other_id).code == 0
    assert active(database) == 2
    state.unlink()
    for beside in state.parent.glob("reconcile.db-*"):
        beside.unlink()
    in_words(ours("restore", str(tmp_path / "old.backup")), 0, "`reconcile target` shows the affected sources", lines=2)

    behind = ours("approve", other_id)

    assert behind.code == 4
    assert "restored from a backup" in behind.out
    assert "target adopt shop" in behind.out
    assert "→ reconcile target adopt shop" in ours("status", "--quiet").out
    assert ours("target", "adopt", "shop").code == 0
    assert "target adopt" not in ours("status").out
    ours("run")
    assert active(database) == 2
    assert ours("audit", "verify").code == 0
    shutil.rmtree(tmp_path / "ours")


def test_a_source_that_is_not_there_is_named_with_the_nearest(tmp_path: Path) -> None:
    ours = project(tmp_path / "ours", shop(tmp_path))

    in_words(ours("target", "adopt", "shp"), 2, "no source 'shp'", "did you mean `shop`")


def test_without_cleaning_there_is_nothing_to_list(tmp_path: Path) -> None:
    ours = project(tmp_path / "ours", shop(tmp_path))
    text = (tmp_path / "ours" / "reconcile.yaml").read_text()
    ours.write(text.replace("    clean: {action: set, values: {status: twin}}\n    limits: {share: 100%}\n", ""))

    in_words(ours("target"), 0, "nothing is cleaned")


@pytest.mark.slow
def test_of_two_copies_of_a_project_the_second_is_told_what_it_may_be(tmp_path: Path) -> None:
    ours = project(tmp_path / "ours", shop(tmp_path))
    assert ours("run").code == 0
    first, other_id = (finding["id"] for finding in ours("findings", "--json").json)
    assert ours("approve", first).code == 0
    shutil.copytree(tmp_path / "ours", tmp_path / "copy")
    assert ours("approve", other_id).code == 0

    refused = Project(tmp_path / "copy")("approve", other_id)

    assert refused.code == 4
    assert "restored from a backup, or it is a copy and the original cleans there" in refused.out
    assert "If no other state cleans there" in refused.out
