"""What holds data is made for its owner alone, also in a folder where others write and with an open umask."""

import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconcile.audit import anchoring, exporting, log
from reconcile.store import Store, key
from reconcile.upkeep import backup
from reconcile.upkeep.backup import BackupExists
from tests.reconcile.audit.exports import SQLITE, anchors


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(SQLITE, tmp_path) as opened:
        with opened.begin() as tx:
            log.append(tx, "ann", "note", "x", {})
        yield opened


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Path]:
    """A folder where everybody may write, and an umask that takes nothing away."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    umask = os.umask(0)
    yield folder
    os.umask(umask)


def modes(folder: Path) -> dict[str, int]:
    return {str(file.relative_to(folder)): stat.S_IMODE(file.lstat().st_mode) for file in folder.rglob("*")}


def test_links_under_names_that_a_backup_could_use_are_not_written_through(
    store: Store, shared: Path, tmp_path: Path
) -> None:
    """The names a stranger could guess: they hold the process's id."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    part = f".backup.db.{os.getpid()}.part"
    for name in (part, f"{part}.key", f"{part}.key.{os.getpid()}.new", f"{part}-journal"):
        (shared / name).symlink_to(victim)

    backup.make(store, shared / "backup.db")

    assert victim.read_text() == "precious"
    assert {name: mode for name, mode in modes(shared).items() if name.startswith("backup")} == {
        "backup.db": 0o600,
        "backup.db.key": 0o600,
    }


def test_a_key_is_not_written_through_a_link_that_waits_for_it(shared: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (shared / f"reconcile.key.{os.getpid()}.new").symlink_to(victim)

    key.write(shared / "reconcile.key", b"x" * 32, "here")

    assert victim.read_text() == "precious"
    assert key.read(shared / "reconcile.key", "here") == b"x" * 32


def test_while_it_is_made_a_backup_is_closed_to_others(
    store: Store, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, int]] = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: [seen.append(modes(shared)), sync(handle)][1])

    backup.make(store, shared / "backup.db")

    collected = [mode for at_once in seen for mode in at_once.values()]
    assert collected
    assert {mode & 0o077 for mode in collected} == {0}
    assert len({name.partition("/")[0] for at_once in seen for name in at_once if name.startswith(".")}) == 1


@pytest.mark.parametrize("name", ["backup.db", "backup.db.key"])
def test_a_backup_replaces_no_link_and_waits_for_no_fifo(name: str, store: Store, shared: Path) -> None:
    (shared / "backup.db").symlink_to("nowhere") if name == "backup.db" else os.mkfifo(shared / name)

    with pytest.raises(BackupExists):
        backup.make(store, shared / "backup.db")


def test_a_backup_that_could_not_be_made_leaves_nothing(store: Store, shared: Path) -> None:
    (shared / "backup.db").mkdir()

    with pytest.raises(BackupExists):
        backup.make(store, shared / "backup.db")

    assert list(modes(shared)) == ["backup.db"]


def test_an_export_can_be_read_by_its_owner_only(store: Store, shared: Path) -> None:
    exporting.export(store, shared / "log", anchors(shared))
    exporting.export(store, shared / "log.zip", {})

    assert {mode & 0o077 for mode in modes(shared).values()} == {0}
    with zipfile.ZipFile(shared / "log.zip") as packed:
        assert {item.external_attr >> 16 & 0o777 for item in packed.infolist()} == {0o600}


def test_an_export_replaces_no_link(store: Store, shared: Path) -> None:
    (shared / "log.zip").symlink_to("nowhere")

    with pytest.raises(exporting.ExportExists):
        exporting.export(store, shared / "log.zip", {})


def test_an_anchor_file_is_its_owners_unless_it_was_made_otherwise(store: Store, shared: Path) -> None:
    anchoring.write_due(store, anchors(shared), {"log": anchoring.CLAIM * 0})
    assert modes(shared) == {"anchor.jsonl": 0o600}
    (shared / "anchor.jsonl").chmod(0o640)

    with store.begin() as tx:
        log.append(tx, "ann", "note", "x", {})
    anchoring.write_due(store, anchors(shared), {"log": anchoring.CLAIM * 0})

    assert modes(shared) == {"anchor.jsonl": 0o640}
