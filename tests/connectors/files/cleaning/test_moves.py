"""A record moves between two files: after a kill at any step, and a save in any window, it is in exactly one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from connectors.disk.cleaning import exchange, swapping
from connectors.files.connector import FilesDataset, FilesSettings
from connectors.files.source import FilesSource
from connectors.target import Change, ReceiptStands, RowName, TargetError, TransactionOutcome, Undecided
from tests.support.csv_target import CsvFileTarget
from tests.support.forked import SERVER

HEADER = "id,email,name\n"
ANN = "2,a@x,Ann\n"
BEFORE = f"{HEADER}1,a@x,Anna\n{ANN}3,b@x,Bob\n"
AFTER = BEFORE.replace(ANN, "")
EARLIER = f"{HEADER}7,q@x,Quin\n"
STEPS = [f"{step} {name}" for step in exchange.STEPS for name in ("gone.csv", "customers.csv")]
"""The order of the steps in which a record leaves `customers.csv`, but for the exchanges, which go file by file."""
STEPS[6:10] = ["exchanged gone.csv", "verified gone.csv", "exchanged customers.csv", "verified customers.csv"]
BEGUN = STEPS.index("exchanged gone.csv")
OVER = STEPS.index("kept gone.csv")


class Killed(BaseException):
    """As a kill: no handler of an error runs."""


@pytest.fixture
def file(tmp_path: Path) -> CsvFileTarget:
    gone_from(tmp_path).write(EARLIER)
    return CsvFileTarget(tmp_path).write(BEFORE)


def gone_from(folder: Path) -> CsvFileTarget:
    return CsvFileTarget(folder, name="gone.csv")


def texts(file: CsvFileTarget) -> tuple[str, str]:
    return file.path.read_text(), gone_from(file.folder).path.read_text()


MOVED, STAYED = (AFTER, EARLIER + ANN), (BEFORE, EARLIER)


def move(file: CsvFileTarget) -> None:
    file.make(file.moves(gone_from(file.folder), "2"), "key")


def put_back(file: CsvFileTarget) -> None:
    """Undo the move, as an undo of Reconcile does."""
    [row] = gone_from(file.folder).rows("2")
    name = RowName(file.name, row.name.key)
    file.make([Change(name, None, row.cells, "surplus"), Change(row.name, row.cells, None, "moved")], "undo")


def at(number: int, act: Callable[[], None]) -> Callable[[str], None]:
    """Act once, after so many steps."""
    reached: list[str] = []

    def armed(step: str) -> None:
        reached.append(step)
        if len(reached) == number + 1:
            act()

    return armed


def die() -> None:
    raise Killed


def killed_at(number: int, act: Callable[[], None]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "armed", at(number, die))
        with pytest.raises(Killed):
            act()


def opened(file: CsvFileTarget) -> None:
    """Open the file as any transaction does."""
    with file.target.work(5) as work:
        work.lock([RowName(file.name, (("id", ("f", "1")),))])


def was_done(file: CsvFileTarget, key: str = "key") -> bool:
    """Ask as recovery does: try the receipt again, and commit nothing."""
    try:
        with file.target.work(5) as work:
            work.receive([file.receipt(key)])
    except ReceiptStands:
        return True
    return False


def left_beside(file: CsvFileTarget) -> set[str]:
    """The files of ours that a change that is over does not leave."""
    kept = {name for name in file.beside() if ".reconcile-former" in name}
    return file.beside() - kept - {"gone.csv", ".gone.csv.reconcile", ".customers.csv.reconcile"}


@pytest.fixture(params=["exchange", "link"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to replace a file: where the system exchanges two in one step, and where it cannot."""
    if request.param == "link":
        monkeypatch.setattr(swapping, "exchanged", lambda _one, _two: False)
    return str(request.param)


def test_a_record_moves_and_moves_back_with_every_other_byte_as_it_was(file: CsvFileTarget) -> None:
    move(file)
    assert texts(file) == MOVED
    assert was_done(file)

    put_back(file)

    assert texts(file) == STAYED
    assert was_done(file, "undo")
    assert left_beside(file) == set()


def test_the_files_change_in_an_order_in_which_no_record_is_ever_in_neither(
    file: CsvFileTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, int]] = []
    monkeypatch.setattr(exchange, "armed", lambda step: seen.append((step, "".join(texts(file)).count(ANN))))

    move(file)
    put_back(file)

    assert [step for step, _ in seen] == [step.split()[0] for step in STEPS] * 2
    assert {count for _, count in seen} == {1, 2}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("number", range(len(STEPS)), ids=STEPS)
def test_after_a_kill_at_any_step_either_file_settles_both(file: CsvFileTarget, number: int) -> None:
    killed_at(number, lambda: move(file))
    assert ANN in "".join(texts(file))
    is_late = number >= BEGUN

    opened(gone_from(file.folder) if number % 2 else file)

    assert texts(file) == (MOVED if is_late else STAYED)
    assert was_done(file) == is_late
    if not is_late:
        move(file)
    assert texts(file) == MOVED
    assert left_beside(file) == set()


@pytest.mark.parametrize("number", range(len(STEPS)), ids=STEPS)
def test_after_a_kill_at_any_step_an_undo_is_made_once(file: CsvFileTarget, number: int) -> None:
    move(file)
    killed_at(number, lambda: put_back(file))
    assert ANN in "".join(texts(file))

    opened(file if number % 2 else gone_from(file.folder))

    is_late = number >= BEGUN
    assert texts(file) == (STAYED if is_late else MOVED)
    assert was_done(file, "undo") == is_late
    if not is_late:
        put_back(file)
    assert texts(file) == STAYED
    assert left_beside(file) == set()


def save(file: CsvFileTarget, name: str) -> str:
    """Save the version that an editor opened before everything, with another record."""
    text = {"customers.csv": BEFORE, "gone.csv": EARLIER}[name] + "9,z@x,Zoe\n"
    (file.folder / "theirs.tmp").write_text(text)
    (file.folder / "theirs.tmp").rename(file.folder / name)
    return text


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", ["customers.csv", "gone.csv"])
@pytest.mark.parametrize("number", range(len(STEPS)), ids=STEPS)
def test_a_save_at_any_moment_stays_and_the_record_is_in_one_file(
    file: CsvFileTarget, monkeypatch: pytest.MonkeyPatch, number: int, name: str
) -> None:
    saved: list[str] = []
    monkeypatch.setattr(exchange, "armed", at(number, lambda: saved.append(save(file, name))))
    changes = file.moves(gone_from(file.folder), "2")

    if number >= OVER:  # as with any save after a change is made, the file holds what was saved
        file.make(changes, "key")
    else:
        with pytest.raises(TargetError, match=f"{name} was not changed: another program saved it") as error:
            file.make(changes, "key")
        assert error.value.outcome is TransactionOutcome.NOT_DONE
        assert "".join(texts(file)).count(ANN) == 1

    assert (file.folder / name).read_text() == saved[-1]
    assert was_done(file) == (number >= OVER)
    assert left_beside(file) == set()


@pytest.mark.parametrize("name", ["customers.csv", "gone.csv"])
@pytest.mark.parametrize("number", range(BEGUN, len(STEPS)), ids=STEPS[BEGUN:])
def test_a_save_after_a_kill_stays_and_the_record_is_in_one_file(file: CsvFileTarget, number: int, name: str) -> None:
    killed_at(number, lambda: move(file))
    saved = save(file, name)

    opened(file if number % 2 else gone_from(file.folder))

    assert (file.folder / name).read_text() == saved
    assert "".join(texts(file)).count(ANN) == 1
    assert not was_done(file)
    assert left_beside(file) == set()


@pytest.mark.parametrize("number", range(BEGUN, len(STEPS)), ids=STEPS[BEGUN:])
def test_a_save_of_the_file_that_has_the_record_already_does_not_hinder_the_move(
    file: CsvFileTarget, number: int
) -> None:
    killed_at(number, lambda: move(file))
    gone = gone_from(file.folder)
    gone.write(gone.path.read_text().replace("Ann", "Annie") + "9,z@x,Zoe\n")

    opened(gone)

    assert texts(file) == (AFTER, f"{EARLIER}{ANN.replace('Ann', 'Annie')}9,z@x,Zoe\n")
    assert was_done(file)


def test_a_record_that_was_edited_where_it_came_from_stays_there(file: CsvFileTarget) -> None:
    killed_at(BEGUN, lambda: move(file))
    edited = BEFORE.replace("Ann\n", "Annie\n")
    file.write(edited)

    opened(file)

    assert texts(file) == (edited, EARLIER)
    assert not was_done(file)


def test_a_record_that_was_deleted_where_it_came_from_stays_where_it_went(file: CsvFileTarget) -> None:
    killed_at(BEGUN, lambda: move(file))
    file.write(AFTER.replace("Bob", "Rob"))

    opened(file)

    assert texts(file) == (AFTER.replace("Bob", "Rob"), EARLIER + ANN)
    assert was_done(file)


def test_two_files_that_were_both_edited_with_the_record_are_left_to_a_person(file: CsvFileTarget) -> None:
    killed_at(BEGUN, lambda: move(file))
    gone = gone_from(file.folder)
    for each in (file, gone):
        each.write(each.path.read_text().replace("Ann\n", "Annie\n"))
    edited = texts(file)

    opened(gone)
    with pytest.raises(Undecided, match=r"gone\.csv and customers\.csv are changed together.*compare the rows"):
        was_done(file)

    assert texts(file) == edited
    assert not was_done(file)  # a person decided that it was not


def test_a_file_that_was_removed_after_a_kill_leaves_the_record_in_the_other(file: CsvFileTarget) -> None:
    killed_at(BEGUN, lambda: move(file))
    gone_from(file.folder).path.unlink()

    assert not was_done(file)
    assert file.path.read_text() == BEFORE

    gone_from(file.folder).write(EARLIER)
    move(file)
    assert texts(file) == MOVED


def test_a_file_that_is_open_is_waited_for_before_an_interrupted_move_goes_on(file: CsvFileTarget) -> None:
    killed_at(BEGUN, lambda: move(file))
    marker = file.path.with_name("~$customers.csv")
    marker.touch()

    sentence = r"A change of gone\.csv and customers\.csv was interrupted and has to be finished first\..*open in Excel"
    with pytest.raises(TargetError, match=sentence) as error:
        opened(gone_from(file.folder))

    assert error.value.outcome is TransactionOutcome.PAUSE
    marker.unlink()
    assert was_done(file)
    assert texts(file) == MOVED


def test_a_file_that_cannot_be_read_after_a_kill_is_waited_for(file: CsvFileTarget) -> None:
    killed_at(BEGUN, lambda: move(file))
    file.write(BEFORE.replace("Ann\n", '"Ann\n'))

    with pytest.raises(TargetError, match="Nothing was changed") as error:
        opened(file)

    assert error.value.outcome is TransactionOutcome.NOT_DONE
    file.write(BEFORE)
    opened(file)
    assert texts(file) == MOVED


@pytest.mark.parametrize("number", [BEGUN, STEPS.index("kept customers.csv")])
def test_a_source_with_another_folder_waits_for_the_one_that_began(file: CsvFileTarget, number: int) -> None:
    killed_at(number, lambda: move(file))
    dataset = FilesDataset(path=f"{file.folder.name}/customers.csv")
    other = FilesSource("others", FilesSettings(type="files"), file.folder.parent)

    with pytest.raises(TargetError, match="another source, which reads it from another folder"), other.work(5) as work:
        work.lock([RowName(other.table(dataset), (("id", ("f", "1")),))])

    assert was_done(file)
    assert texts(file) == MOVED


def test_a_receipt_is_told_without_a_lock_only_when_all_files_have_changed(file: CsvFileTarget) -> None:
    killed_at(STEPS.index("verified gone.csv"), lambda: move(file))
    assert file.target.receipts(["key"], file.name) == {}

    opened(file)

    assert set(file.target.receipts(["key"], file.name)) == {"key"}


def test_a_receipt_of_a_file_that_itself_stays_is_noted_with_the_change(file: CsvFileTarget) -> None:
    """A rule can change only the rows of another file, which refer to its records."""
    gone = gone_from(file.folder)
    changes = gone.changes({"7": {"name": "Quinn"}})
    killed_at(1, lambda: file.make(changes, "key"))
    assert not was_done(file)
    killed_at(4, lambda: file.make(changes, "key"))

    assert was_done(file)
    assert texts(file) == (BEFORE, EARLIER.replace("Quin", "Quinn"))


@pytest.mark.chaos
def test_processes_that_move_one_record_and_die_move_it_once(file: CsvFileTarget) -> None:
    processes = [SERVER.Process(target=_moves, args=(str(file.folder), number)) for number in (7, 99)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)

    assert {process.exitcode for process in processes} <= {0, 9, -signal.SIGKILL}
    opened(file)
    assert texts(file) == MOVED
    assert was_done(file)
    assert left_beside(file) - {".customers.csv.reconcile-lock", ".gone.csv.reconcile-lock"} == set()


def _moves(folder: str, dies_after: int) -> None:
    file = CsvFileTarget(Path(folder))
    exchange.armed = at(dies_after, lambda: os.kill(os.getpid(), signal.SIGKILL))
    name = RowName(file.name, (("id", ("f", "2")),))
    try:
        with file.target.work(30) as work:
            work.receive([file.receipt("key")])
            row = work.lock([name])[name]
            work.apply(Change(RowName("gone.csv", name.key), None, row.cells, "moved"))
            work.apply(Change(name, row.cells, None, "surplus"))
            work.commit()
    except ReceiptStands:
        os._exit(9)
