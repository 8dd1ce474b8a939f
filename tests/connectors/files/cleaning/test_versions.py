"""The versions before our changes stay beside the file until they are released, and are erased with a person's data."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from connectors.disk.cleaning import exchange, versions
from connectors.files.connector import FilesDataset
from connectors.target import KeptVersions, TargetError
from tests.support.csv_target import CsvFileTarget

TEXTS = [f"id,name\n1,{name}\n2,b\n" for name in ("a", "first", "second", "third")]
NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CsvFileTarget:
    """A file that was changed on three days."""
    days = iter(range(1, 30))
    monkeypatch.setattr(versions, "stamp_now", lambda: versions.stamp_of(NOON + dt.timedelta(days=next(days))))
    file = CsvFileTarget(tmp_path).write(TEXTS[0])
    file.path.chmod(0o640)
    for name in ("first", "second", "third"):
        file.change({"1": {"name": name}})
    return file


def kept_texts(file: CsvFileTarget) -> dict[str, str]:
    prefix = ".customers.csv.reconcile-former"
    return {name.removeprefix(prefix): (file.folder / name).read_text() for name in file.beside() if prefix in name}


def release(file: CsvFileTarget, days: float | None, *, dry_run: bool = False) -> KeptVersions:
    until = None if days is None else NOON + dt.timedelta(days=days)
    return file.target.release_versions([file.dataset], until, dry_run=dry_run)


def test_each_former_version_is_kept_by_the_time_of_its_change_with_the_mode_of_the_file(file: CsvFileTarget) -> None:
    assert file.path.read_text() == TEXTS[3]
    assert kept_texts(file) == {"-20260302T120000Z": TEXTS[0], "-20260303T120000Z": TEXTS[1], "": TEXTS[2]}
    modes = {(file.folder / name).stat().st_mode & 0o777 for name in file.beside()}
    assert modes == {0o640}
    assert file.target.kept_versions([file.dataset]) == KeptVersions(3, sum(len(text) for text in TEXTS[:3]))


def test_versions_are_released_when_their_changes_are_old_enough(file: CsvFileTarget) -> None:
    assert release(file, 0.5) == KeptVersions()
    assert release(file, 2, dry_run=True).number == 2

    assert release(file, 2).number == 2
    assert kept_texts(file) == {"": TEXTS[2]}
    assert release(file, 2.9) == KeptVersions()

    assert release(file, 3).number == 1
    assert kept_texts(file) == {}
    assert file.path.read_text() == TEXTS[3]


def test_no_pattern_takes_a_kept_version_for_a_file_of_its_dataset(file: CsvFileTarget) -> None:
    assert set(file.target.dialect(FilesDataset(path="*", format="csv"))) == {"customers.csv"}


def test_changes_of_one_second_keep_all_their_versions(file: CsvFileTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "stamp_now", lambda: "20260401T120000Z")
    release(file, None)

    for name in "abc":
        file.change({"2": {"name": f"{name}{name}"}})

    assert [version.path.name[-2:] for version in versions.kept(file.path)] == ["er", "0Z", "-2"]
    assert len(set(kept_texts(file).values())) == 3


@pytest.mark.parametrize(("bound", "value"), [("MOST", 1), ("MOST_BYTES", 30)])
def test_the_oldest_versions_go_when_there_are_too_many(
    file: CsvFileTarget, monkeypatch: pytest.MonkeyPatch, bound: str, value: int
) -> None:
    monkeypatch.setattr(versions, bound, value)

    file.change({"1": {"name": "fourth"}})

    assert kept_texts(file) == {"-20260304T120000Z": TEXTS[2], "": TEXTS[3]}


def test_a_version_that_somebody_wrote_into_is_kept_by_a_clear_name(file: CsvFileTarget) -> None:
    (file.folder / ".customers.csv.reconcile-former-20260302T120000Z").write_text("theirs")

    release(file, None)

    assert (file.folder / "customers.csv.saved-1").read_text() == "theirs"
    assert kept_texts(file) == {}


def test_an_interrupted_change_is_settled_before_its_version_is_released(
    file: CsvFileTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(step: str) -> None:
        if step == "exchanged":
            raise KeyboardInterrupt

    monkeypatch.setattr(exchange, "armed", die)
    with pytest.raises(KeyboardInterrupt):
        file.change({"2": None}, "key")
    monkeypatch.setattr(exchange, "armed", None)

    release(file, None)

    assert set(file.target.receipts(["key"], file.name)) == {"key"}
    assert file.beside() == {".customers.csv.reconcile"}


def test_versions_of_a_file_that_was_removed_are_released(file: CsvFileTarget) -> None:
    target = file.target
    file.path.unlink()

    assert target.release_versions([file.dataset], None).number == 3
    assert kept_texts(file) == {}


def test_files_that_changed_together_are_released_together(file: CsvFileTarget) -> None:
    gone = CsvFileTarget(file.folder, name="gone.csv").write("id,name\n")
    file.make(file.moves(gone, "2"))

    assert release(file, None).number == 5
    assert {name for name in file.beside() if "former" in name} == set()


def test_a_file_that_is_being_cleaned_is_not_waited_for_long(
    file: CsvFileTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connectors.disk.cleaning.keeping._SECONDS", 0.1)
    [row] = file.rows("1")

    with file.target.work(5) as work:
        work.lock([row.name])
        with pytest.raises(TargetError, match="another process of Reconcile"):
            release(file, None)


def test_what_the_notes_tell_of_a_removed_row_is_erased_and_others_are_put_back(tmp_path: Path) -> None:
    file = CsvFileTarget(tmp_path).write("id,name\n1,Ada\n2,Bob\n3,Cy\n4,Di\n")
    [ada] = file.rows("1")
    undo_of_ada = file.change({"1": None})
    undo_of_others = file.change({"2": None, "3": None})
    notes = file.path.with_name(".customers.csv.reconcile")
    assert notes.read_text().count('"tail"') == 3

    other_name = ("orders.csv", ada.cells)
    assert file.target.forget_rows([file.dataset], [(file.name, ada.cells), other_name]) == 1

    assert notes.read_text().count('"tail"') == 2
    assert file.target.forget_rows([file.dataset], [(file.name, ada.cells)]) == 0
    file.make(undo_of_others)
    assert file.path.read_text() == "id,name\n2,Bob\n3,Cy\n4,Di\n"
    file.make(undo_of_ada)  # its place is unknown
    assert file.path.read_text() == "id,name\n2,Bob\n3,Cy\n4,Di\n1,Ada\n"
