"""A file is exchanged in one step: a kill between any two steps, and a save in between, lose nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from connectors.disk.cleaning import exchange, swapping
from connectors.target import ReceiptStands, TargetError, TargetRefused, TransactionOutcome
from tests.support.csv_target import CsvFileTarget
from tests.support.forked import SERVER

TWINS = "id,email,name\n1,a@x,Anna\n2,a@x,Ann\n3,b@x,Bob\n"
CLEANED = "id,email,name\n1,a@x,Anna\n3,b@x,Bob\n"
THEIRS = "id,email,name\n1,a@x,Anna\n2,a@x,Ann\n3,b@x,Bob\n4,c@x,Cy\n"
NOTES = {".customers.csv.reconcile"}
KEPT = {*NOTES, ".customers.csv.reconcile-former"}


@pytest.fixture
def file(tmp_path: Path) -> CsvFileTarget:
    return CsvFileTarget(tmp_path).write(TWINS)


@pytest.fixture(params=["exchange", "link"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to replace a file: where the system exchanges two in one step, and where it cannot."""
    if request.param == "link":
        monkeypatch.setattr(swapping, "exchanged", lambda _one, _two: False)
    return str(request.param)


def by_replacing(path: Path, text: str) -> None:
    """Save as most programs do."""
    path.with_name("theirs.tmp").write_text(text)
    path.with_name("theirs.tmp").rename(path)


def in_place(path: Path, text: str) -> None:
    """Save as simple programs do."""
    path.write_text(text)


Save = Callable[[Path, str], None]


def at(step: str, act: Callable[[], None]) -> Callable[[str], None]:
    return lambda reached: act() if reached == step else None


def delete(file: CsvFileTarget) -> None:
    file.change({"2": None}, "key")


def dies_at(folder: str, step: str, way: str) -> None:
    """Delete the twin, and die by SIGKILL after this step."""
    if way == "link":
        swapping.exchanged = lambda _one, _two: False  # type: ignore[assignment]
    exchange.armed = at(step, lambda: os.kill(os.getpid(), signal.SIGKILL))
    delete(CsvFileTarget(Path(folder)))


def killed_at(file: CsvFileTarget, step: str, way: str = "exchange") -> None:
    process = SERVER.Process(target=dies_at, args=(str(file.folder), step, way))
    process.start()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL


def was_done(file: CsvFileTarget) -> bool:
    """Ask as recovery does: try the receipt again, and commit nothing."""
    try:
        with file.target.work(5) as work:
            work.receive([file.receipt("key")])
    except ReceiptStands:
        return True
    return False


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("save", [by_replacing, in_place])
@pytest.mark.parametrize("step", exchange.STEPS)
def test_a_save_at_any_moment_is_what_the_file_holds(
    file: CsvFileTarget, monkeypatch: pytest.MonkeyPatch, step: str, save: Save
) -> None:
    monkeypatch.setattr(exchange, "armed", at(step, lambda: save(file.path, THEIRS)))
    changes = file.changes({"2": None})
    is_late = exchange.STEPS.index(step) >= exchange.STEPS.index("exchanged")

    if is_late:
        file.make(changes, "key")
    else:
        with pytest.raises(TargetError, match="another program saved it at the same moment") as error:
            file.make(changes, "key")
        assert error.value.outcome is TransactionOutcome.NOT_DONE

    assert file.path.read_text() == THEIRS
    assert was_done(file) == is_late
    assert file.beside() <= KEPT


def test_of_two_saves_at_the_same_moment_both_are_kept(file: CsvFileTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    saves = {"compared": THEIRS, "exchanged": f"{THEIRS}5,d@x,Di\n"}
    monkeypatch.setattr(exchange, "armed", lambda step: by_replacing(file.path, saves[step]) if step in saves else None)

    with pytest.raises(TargetError, match=r"the earlier version is now customers\.csv\.saved-1") as error:
        delete(file)
    monkeypatch.undo()

    assert error.value.outcome is TransactionOutcome.UNKNOWN
    assert file.path.read_text() == saves["exchanged"]
    assert file.path.with_name("customers.csv.saved-1").read_text() == THEIRS
    assert not was_done(file)


def test_a_save_into_the_former_version_is_kept_when_the_next_change_comes(file: CsvFileTarget) -> None:
    with file.path.open("r+") as opened_before:
        delete(file)
        opened_before.write(THEIRS)

    file.change({"3": None})

    assert file.path.with_name("customers.csv.saved-1").read_text() == THEIRS


@pytest.mark.chaos
@pytest.mark.parametrize("step", exchange.STEPS)
def test_after_a_kill_it_is_known_what_was_done_and_it_is_done_once(file: CsvFileTarget, way: str, step: str) -> None:
    killed_at(file, step, way)
    is_late = exchange.STEPS.index(step) >= exchange.STEPS.index("exchanged")

    assert file.path.read_text() == (CLEANED if is_late else TWINS)
    assert bool(file.target.receipts(["key"], file.name)) == is_late
    assert was_done(file) == is_late
    if not is_late:
        delete(file)

    assert file.path.read_text() == CLEANED
    assert was_done(file)
    assert file.beside() == KEPT


@pytest.mark.chaos
@pytest.mark.parametrize("step", ["noted", "compared", "exchanged", "kept"])
def test_a_save_after_a_kill_leaves_the_answer_to_the_rows(file: CsvFileTarget, step: str) -> None:
    killed_at(file, step)
    is_late = step in ("exchanged", "kept")
    saved = f"{file.path.read_text()}9,z@x,Zoe\n"
    by_replacing(file.path, saved)

    assert was_done(file) == is_late
    assert file.path.read_text() == saved
    assert file.beside() <= KEPT


@pytest.mark.chaos
def test_a_save_into_the_former_version_after_a_kill_goes_back(file: CsvFileTarget) -> None:
    with file.path.open("r+") as opened_before:
        killed_at(file, "kept")
        opened_before.write(THEIRS)

    assert not was_done(file)
    assert file.path.read_text() == THEIRS


@pytest.mark.chaos
def test_a_save_that_came_out_goes_back_after_a_kill(file: CsvFileTarget) -> None:
    process = SERVER.Process(target=_dies_after_their_save, args=(str(file.folder),))
    process.start()
    process.join(30)
    assert file.path.read_text() == CLEANED

    assert not was_done(file)
    assert file.path.read_text() == THEIRS


def _dies_after_their_save(folder: str) -> None:
    file = CsvFileTarget(Path(folder))

    def act(step: str) -> None:
        if step == "compared":
            by_replacing(file.path, THEIRS)
        if step == "exchanged":
            os.kill(os.getpid(), signal.SIGKILL)

    exchange.armed = act
    delete(file)


@pytest.mark.chaos
def test_rows_that_fit_neither_state_are_left_to_a_person(file: CsvFileTarget) -> None:
    killed_at(file, "kept")
    by_replacing(file.path, TWINS.replace("Ann\n", "Annie\n"))

    with pytest.raises(TargetError, match="its rows do not tell if that was done") as error:
        was_done(file)
    assert error.value.outcome is TransactionOutcome.UNKNOWN

    assert not was_done(file)  # a person decided that it was not


@pytest.mark.parametrize(
    ("marker", "program"), [("~$customers.csv", "Excel"), (".~lock.customers.csv#", "LibreOffice")]
)
def test_a_file_that_is_open_in_an_office_program_waits(file: CsvFileTarget, marker: str, program: str) -> None:
    changes = file.changes({"2": None})
    owner_file = file.path.with_name(marker)
    owner_file.write_text("Erika Mustermann")

    with pytest.raises(TargetError, match=f"it is open in {program}; close it there") as error:
        file.make(changes)

    assert error.value.outcome is TransactionOutcome.PAUSE
    assert "Erika" not in str(error.value)
    assert file.path.read_text() == TWINS
    owner_file.unlink()
    file.make(changes)
    assert file.path.read_text() == CLEANED


@pytest.mark.parametrize("what", ["the file", "its folder"])
def test_a_read_only_file_or_folder_waits(file: CsvFileTarget, what: str) -> None:
    changes = file.changes({"2": None})
    place = file.path if what == "the file" else file.folder
    mode = place.stat().st_mode
    place.chmod(0o444 if what == "the file" else 0o555)

    try:
        with pytest.raises(TargetError, match=f"{what} is read-only|refused to lock") as error:
            file.make(changes)
    finally:
        place.chmod(mode)

    assert error.value.outcome is TransactionOutcome.PAUSE
    assert file.path.read_text() == TWINS


def test_links_are_refused(file: CsvFileTarget) -> None:
    file.path.rename(file.folder / "real.csv")
    file.path.symlink_to("real.csv")
    with pytest.raises(TargetRefused, match="it is a symbolic link"):
        file.target.table(file.dataset)

    file.path.unlink()
    os.link(file.folder / "real.csv", file.path)
    with pytest.raises(TargetRefused, match="it has several names"):
        file.target.table(file.dataset)


def test_the_mode_of_the_file_stays(file: CsvFileTarget) -> None:
    file.path.chmod(0o640)

    delete(file)

    assert file.path.stat().st_mode & 0o777 == 0o640
    assert file.path.with_name(".customers.csv.reconcile").stat().st_mode & 0o777 == 0o640


@pytest.mark.chaos
def test_two_processes_make_one_effect(file: CsvFileTarget) -> None:
    processes = [SERVER.Process(target=_deletes, args=(str(file.folder),)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)

    assert sorted(process.exitcode or 0 for process in processes) == [0, 9, 9, 9]
    assert file.path.read_text() == CLEANED
    assert file.beside() == KEPT


def _deletes(folder: str) -> None:
    file = CsvFileTarget(Path(folder))
    try:
        with file.target.work(30) as work:
            work.receive([file.receipt("key")])
            [row] = file.rows("2")
            work.lock([row.name])
            [change] = file.changes({"2": None})
            work.apply(change)
            work.commit()
    except ReceiptStands:
        os._exit(9)


def test_a_busy_file_is_waited_for_no_longer_than_allowed(file: CsvFileTarget) -> None:
    [row] = file.rows("2")
    with file.target.work(30) as work:
        work.lock([row.name])

        with pytest.raises(TargetError, match="another process of Reconcile") as error, file.target.work(0.2) as second:
            second.lock([row.name])

    assert error.value.outcome is TransactionOutcome.NOT_DONE
