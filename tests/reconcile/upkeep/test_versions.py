"""Former versions of cleaned files go with the undo window, and with the data of a person who is erased."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from reconcile.app import Application
from reconcile.doctor.plans import former_versions
from reconcile.upkeep import versions
from tests.reconcile.cleaning.test_csv_files import CUSTOMERS, content, customers
from tests.support.world import DELETE, World

TWINS = CUSTOMERS.replace("Total", "4;b@x;Rob;active;\r\nTotal")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Two twins were deleted, each by a change of its own."""
    world = customers(tmp_path / "w", TWINS, twins=DELETE)
    world.run()
    for finding in world.findings():
        assert world.approve(finding).ok
    return world


def kept(world: World) -> list[str]:
    return sorted(path.name for path in world.folder.glob(".customers.csv.reconcile-former*"))


def release(application: Application) -> versions.Upkeep:
    return versions.release(application.memory, application.project, application.sources.__getitem__)


def test_versions_are_kept_as_long_as_their_changes_can_be_undone(world: World) -> None:
    with world.open() as application:
        [diagnosis] = former_versions(application)
        assert "2 former versions of cleaned files, 0.0 MB" in diagnosis.sentence
        assert release(application).versions == 0

    world.clock = dt.datetime.now(dt.UTC) + dt.timedelta(days=29)
    with world.open() as application:
        assert release(application).versions == 0
    world.clock += dt.timedelta(days=2)
    with world.open() as application:
        assert versions.release(
            application.memory, application.project, application.sources.__getitem__, dry_run=True
        ).reached == {"former versions of files": 2}
    world.run()  # deletes old data once a day

    assert kept(world) == []
    assert content(world) == TWINS.replace('2;a@x;Ann;"active";2,00\n', "").replace("4;b@x;Rob;active;\r\n", "")


def test_erasing_a_person_deletes_former_versions_and_other_cleanings_can_be_undone(world: World) -> None:
    notes = world.folder / ".customers.csv.reconcile"
    assert len(json.loads(notes.read_text())["removed"]["customers.csv"]) == 2

    tried = world.command("erase", "customers", "--id", "2", "--dry-run")
    assert "former versions of files: 2" in tried.said
    assert len(kept(world)) == 2
    erased = world.command("erase", "customers", "--id", "2")

    assert erased.code == 0, erased.said
    assert "former versions of files: 2" in erased.said
    assert "notes beside files: 1" in erased.said
    assert kept(world) == []
    assert not any(b"Ann;" in path.read_bytes() for path in world.folder.glob(".customers.csv*"))
    [other] = [name for name in world.findings() if world.plans(name)[0].sealed_content is not None]
    assert world.undo(other).undone
    assert content(world) == TWINS.replace('2;a@x;Ann;"active";2,00\n', "")
    assert world.intact()


def test_a_source_out_of_reach_is_named_and_its_versions_go_when_it_is_back(tmp_path: Path) -> None:
    world = customers(tmp_path / "w", twins=DELETE)
    folder = world.folder / "office"
    folder.mkdir()
    (world.folder / "customers.csv").rename(folder / "customers.csv")
    world.config["sources"] = {"files": {"type": "files", "root": "office"}}
    world.run()
    assert world.approve(world.only()).ok
    folder.rename(tmp_path / "away")

    erased = world.command("erase", "customers", "--id", "2")

    assert erased.code == 0, erased.said
    assert "What is kept beside the files of source 'files' was not erased" in " ".join(erased.said.split())
    (tmp_path / "away").rename(folder)
    with world.open() as application:
        assert release(application).versions == 1
    assert list(folder.glob(".customers.csv.reconcile-former*")) == []
