"""Scratch files of a killed process are removed by the next one, and those of a process that lives never are."""

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing import forkserver
from pathlib import Path

import pytest

from connectors.disk import scratch
from connectors.disk.scratch import FOREIGN_AGE, Scratch
from tests.support.cli import FILES, ORDERS, Project
from tests.support.store import Program

WORKS = """
from reconcile.app import load
application = load(root / "reconcile.yaml")
folder = application.budget.folder
(folder / "spilled").write_bytes(b"x" * 100_000)
print(folder)
wait()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of this process and of those it starts."""
    forkserver.ensure_running()  # its socket is in the temporary folder, and a path this long is too long for one
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.fixture
def shop(tmp_path: Path, temporary: Path) -> Project:
    (tmp_path / "orders.csv").write_text(ORDERS)
    return Project(tmp_path).write(FILES)


@pytest.fixture
def at_work(shop: Project, temporary: Path) -> Iterator[Callable[[], tuple[Program, Path]]]:
    """Starts a process that works in a scratch folder, and names that."""
    programs: list[Program] = []

    def start() -> tuple[Program, Path]:
        code = f"import tempfile; tempfile.tempdir = {str(temporary)!r}\n{WORKS}"
        programs.append(Program(code, "", shop.folder).ready().go())
        return programs[-1], Path(programs[-1].line())

    yield start
    for program in programs:
        program.kill()


@pytest.mark.slow
def test_a_run_removes_what_a_killed_process_left_and_nothing_of_one_that_lives(
    shop: Project, temporary: Path, at_work: Callable[[], tuple[Program, Path]]
) -> None:
    killed, left = at_work()
    _, used = at_work()
    killed.signal(signal.SIGKILL)
    killed.exit_code()
    before = left.exists()

    ended = shop("run", "-q")

    assert (before, ended.code) == (True, 0)
    assert [file for file in temporary.iterdir() if not file.name.startswith("pymp-")] == [used]  # that is the tests'
    assert (used / "spilled").exists()


@pytest.mark.slow
def test_a_killed_backup_leaves_nothing_once_the_next_one_is_made_in_that_folder(shop: Project) -> None:
    shop("run", "-q")
    code = """
    from connectors.disk.scratch import Scratch
    kept = Scratch(root / "backups", hidden=True)
    print("made")
    wait()
    """
    (shop.folder / "backups").mkdir()
    program = Program(code, "", shop.folder).ready().go()
    program.line()
    program.signal(signal.SIGKILL)
    program.exit_code()
    before = len(list((shop.folder / "backups").iterdir()))

    shop("backup", "backups/b.db")

    assert before == 1
    assert {file.name for file in (shop.folder / "backups").iterdir()} == {"b.db", "b.db.key"}


def test_a_folder_of_this_process_is_left_alone_by_its_next_ones_and_removed_when_it_is_closed(temporary: Path) -> None:
    first = Scratch()
    with Scratch() as second:
        assert set(temporary.iterdir()) == {first.path, second}
    first.close()
    first.close()

    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_a_forked_process_that_ends_leaves_the_folder_to_its_owner(temporary: Path) -> None:
    owned = Scratch()
    child = os.fork()
    if child == 0:
        owned.close()
        os._exit(0)
    os.waitpid(child, 0)
    Scratch().close()

    assert list(temporary.iterdir()) == [owned.path]
    owned.close()


def test_a_folder_of_another_boot_is_removed_only_when_nothing_in_it_changed_for_a_week(temporary: Path) -> None:
    """It may be another host's, whose lock is not to be seen here."""
    young, old = (temporary / f"reconcile-scratch-00000000-{name}" for name in ("young", "old"))
    for folder in (young, old):
        folder.mkdir()
        (folder / "spilled").touch()
    past = time.time() - FOREIGN_AGE - 60
    for path in (old / "spilled", old, young):
        os.utime(path, (past, past))

    scratch.remove_left(temporary)

    assert list(temporary.iterdir()) == [young]


def test_only_folders_with_our_name_are_removed_and_no_link_is_followed(temporary: Path, tmp_path: Path) -> None:
    boot = Scratch().path.name.split("-")[2]
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    (temporary / f"reconcile-scratch-{boot}-linked").symlink_to(precious)
    (temporary / f"reconcile-scratch-{boot}-file").touch()
    for name in ("reconcile-demo-abc", "reconcile-scratch", f"my-reconcile-scratch-{boot}-abc"):
        (temporary / name).mkdir()
    before = set(temporary.iterdir())

    scratch.remove_left(temporary)

    assert set(temporary.iterdir()) == before
    assert (precious / "file").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_folder_of_another_user_is_left_alone(temporary: Path) -> None:
    created = Scratch()
    second = temporary / (created.path.name[:-4] + "othr")
    second.mkdir()
    os.chown(second, 65534, 65534)

    scratch.remove_left(temporary)

    assert second.exists()
    created.close()


@pytest.mark.slow
def test_many_processes_that_begin_at_once_in_one_folder_take_nothing_from_each_other(temporary: Path) -> None:
    code = """
    from connectors.disk.scratch import Scratch
    for _ in range(200):
        with Scratch(root) as folder:
            (folder / "a").write_text("b")
            assert (folder / "a").read_text() == "b"
    print("well")
    """
    programs = [Program(code, "", temporary).ready() for _ in range(4)]

    collected = [program.go() for program in programs]

    assert [program.end() for program in collected] == ["well"] * 4
    assert list(temporary.iterdir()) == []
