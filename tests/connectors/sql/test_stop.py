"""Reads are ended from outside: cancelled in the database, else cut off, and the source can be used again."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
import xlsxwriter

import connectors.sql.source
from connectors.base import Stoppable
from connectors.errors import ConnectorError, ReadStopped, SourceUnreachable
from connectors.sql.generic.source import GenericSource
from connectors.sql.source import SqlSource
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource
from tests.connectors.sql.stop import InThread, Server, served, sqlite_at, until
from tests.support.servers import MARIADB, POSTGRES, scratch_database

STOP_SECONDS = 6.0
"""On a busy machine; on an idle one it is at most 1.5."""


class Read(InThread):
    """A dataset read to its end, or asked for inside the database, in a thread; `begun` is set by the first batch."""

    def __init__(self, source: SqlSource | GenericSource, table: str, *, pushdown: bool = False) -> None:
        self.source, self.table = source, table
        self.begun = threading.Event()
        super().__init__(self._ask if pushdown else self._scan)

    def _scan(self) -> None:
        with closing(self.source.scan(SqlSource.Dataset(table=self.table), ["id", "word"])) as scan:
            for _ in scan.reader:
                self.begun.set()

    def _ask(self) -> None:
        assert isinstance(self.source, SqlSource)
        dataset = SqlSource.Dataset(table=self.table)
        columns = self.source.relation(dataset)
        with self.source.snapshot() as snapshot:
            for _ in snapshot.query(sa.select(columns.c.id, columns.c.word)):
                self.begun.set()


def source_at(url: str, folder: Path) -> SqlSource:
    sql_source = SqlSource("shop", SqlSource.Settings(type="sql", url=url), folder)
    assert isinstance(sql_source, Stoppable)
    return sql_source


def stopped(read: Read) -> BaseException | None:
    """What the read raised after a stop, both within a few seconds."""
    began = time.monotonic()
    read.source.stop()
    error = read.ended(STOP_SECONDS)
    assert time.monotonic() - began < STOP_SECONDS
    return error


def works(source: SqlSource | GenericSource) -> bool:
    return source.describe(SqlSource.Dataset(query="select 1 as id")).names == ["id"]


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    for direct in scratch_database(POSTGRES):
        with served(direct) as server:
            yield server


@pytest.fixture(scope="module")
def mariadb() -> Iterator[Server]:
    for direct in scratch_database(MARIADB):
        with served(direct) as server:
            yield server


@pytest.fixture(params=["postgresql by ADBC", "postgresql by rows", "mariadb"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    if request.param == "postgresql by rows":
        monkeypatch.setattr(connectors.sql.source, "has_adbc", lambda: False)
    server_asked: Server = request.getfixturevalue("mariadb" if request.param == "mariadb" else "postgres")
    server_asked.proxy.passes()
    yield server_asked
    server_asked.proxy.cut()
    server_asked.proxy.passes()
    server_asked.rid()


pytestmark = pytest.mark.server


@pytest.mark.parametrize("pushdown", [False, True])
def test_a_statement_that_takes_its_time_is_cancelled_in_the_database(
    server: Server, tmp_path: Path, pushdown: bool
) -> None:
    source = source_at(server.url, tmp_path)
    read = Read(source, "slow", pushdown=pushdown)
    until(lambda: server.running, "the statement does not begin")

    error = stopped(read)

    assert isinstance(error, ReadStopped), error
    until(lambda: not server.running, "the statement goes on")
    assert works(source)


@pytest.mark.parametrize("pushdown", [False, True])
def test_an_answer_that_streams_is_ended_half_way(server: Server, tmp_path: Path, pushdown: bool) -> None:
    source = source_at(server.url, tmp_path)
    read = Read(source, "endless", pushdown=pushdown)
    assert read.begun.wait(20)

    assert isinstance(stopped(read), ReadStopped)

    until(lambda: not server.running, "the statement goes on")
    assert works(source)


def test_a_read_that_is_ended_between_two_statements_says_so(server: Server, tmp_path: Path) -> None:
    source = source_at(server.url, tmp_path)

    with pytest.raises(ReadStopped):
        _stopped_between_statements(source)

    assert works(source)


@pytest.mark.parametrize("table", ["slow", "endless"])
@pytest.mark.parametrize("pushdown", [False, True])
def test_a_read_of_a_server_that_became_silent_is_cut_off(
    server: Server, tmp_path: Path, table: str, pushdown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connectors.sql.stop.CANCEL_SECONDS", 0.3)
    source = source_at(server.url, tmp_path)
    read = Read(source, table, pushdown=pushdown)
    until(lambda: server.running if table == "slow" else read.begun.is_set(), "the read does not begin")
    server.proxy.silent()

    assert isinstance(stopped(read), ReadStopped)

    server.proxy.passes()
    assert works(source)


def test_a_read_that_is_still_connecting_ends_with_the_time_out_of_connecting(server: Server, tmp_path: Path) -> None:
    patience = "connect_timeout=2" + ("&read_timeout=2" if server.url.startswith("mysql") else "")
    joint = "&" if "?" in server.url else "?"
    source = source_at(f"{server.url}{joint}{patience}", tmp_path)
    server.proxy.silent()
    before = server.proxy.connections
    read = Read(source, "endless")
    until(lambda: server.proxy.connections > before, "nobody connects")

    source.stop()

    assert isinstance(read.ended(4), ReadStopped)


def test_a_server_that_dies_half_way_is_told_as_one_that_did_not_answer(server: Server, tmp_path: Path) -> None:
    source = source_at(server.url, tmp_path)
    read = Read(source, "endless")
    assert read.begun.wait(20)

    server.proxy.cut()

    assert isinstance(read.ended(5), SourceUnreachable)


def test_a_reply_that_is_dropped_ends_the_read(server: Server, tmp_path: Path) -> None:
    source = source_at(server.url, tmp_path)
    read = Read(source, "endless")
    assert read.begun.wait(20)

    server.proxy.drop_reply_after(1_000)

    assert isinstance(read.ended(5), ConnectorError)


def test_a_slow_line_only_takes_longer(server: Server, tmp_path: Path) -> None:
    source = source_at(server.url, tmp_path)
    server.proxy.delay(0.01)

    assert works(source)


def test_a_stop_ends_all_reads_of_the_source_and_none_that_begins_later(postgres: Server, tmp_path: Path) -> None:
    postgres.proxy.passes()
    source, other_source = source_at(postgres.url, tmp_path), source_at(postgres.url, tmp_path)
    reads = [Read(source, "endless"), Read(source, "endless", pushdown=True)]
    stranger = Read(other_source, "endless")
    for read in (*reads, stranger):
        assert read.begun.wait(20)

    source.stop()

    assert all(isinstance(read.ended(STOP_SECONDS), ReadStopped) for read in reads)
    later = Read(source, "endless")
    assert later.begun.wait(20)
    assert stranger.alive
    assert isinstance(stopped(stranger), ReadStopped)
    assert isinstance(stopped(later), ReadStopped)


def test_no_handle_is_left_of_reads_that_ended_or_were_ended(postgres: Server, tmp_path: Path) -> None:
    postgres.proxy.passes()
    source = source_at(postgres.url, tmp_path)
    works(source)
    before = _handles()

    for _ in range(5):
        works(source)
        read = Read(source, "endless")
        assert read.begun.wait(20)
        stopped(read)

    until(lambda: _handles() <= before, "handles are left")


@pytest.mark.parametrize(
    ("table", "pushdown"), [("slow", False), ("slow", True), ("endless", False), ("endless", True)]
)
def test_an_endless_statement_of_sqlite_is_interrupted(tmp_path: Path, table: str, pushdown: bool) -> None:
    source = source_at(sqlite_at(tmp_path / "shop.db"), tmp_path)
    read = Read(source, table, pushdown=pushdown)
    if table == "endless":
        assert read.begun.wait(20)

    deadline = time.monotonic() + 30
    while read.alive and time.monotonic() < deadline:  # a stop that came before the read began is not for it
        source.stop()
        time.sleep(0.05)

    assert isinstance(read.ended(0), ReadStopped)
    assert works(source)


def test_a_read_of_sqlite_that_is_ended_between_two_statements_says_so(tmp_path: Path) -> None:
    source = source_at(sqlite_at(tmp_path / "shop.db"), tmp_path)

    with pytest.raises(ReadStopped):
        _stopped_between_statements(source)
    with closing(source.scan(SqlSource.Dataset(table="endless"), ["id", "word"])) as scan:
        source.stop()
        with pytest.raises(ReadStopped):
            scan.reader.read_all()
    assert works(source)


def _stopped_between_statements(source: SqlSource) -> None:
    columns = source.relation(SqlSource.Dataset(table="endless"))
    with source.snapshot() as snapshot:
        source.stop()
        for _ in snapshot.query(sa.select(columns.c.id, columns.c.word)):
            pass


@pytest.mark.parametrize("table", ["slow", "endless"])
def test_a_driver_of_any_database_is_interrupted_where_it_can_be(tmp_path: Path, table: str) -> None:
    url = sqlite_at(tmp_path / "shop.db")
    source = GenericSource("shop", GenericSource.Settings(type="sql", url=url), tmp_path)
    read = Read(source, table)

    deadline = time.monotonic() + 30
    while read.alive and time.monotonic() < deadline:
        source.stop()
        time.sleep(0.05)

    assert isinstance(read.ended(0), ReadStopped)
    assert works(source)


def test_a_child_that_reads_a_workbook_and_hangs_is_killed(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "crm.xlsx") as workbook:
        sheet = workbook.add_worksheet("Contacts")
        for row, values in enumerate((["id", "mail"], [1, "a@x.org"])):
            sheet.write_row(row, 0, values)
    source = WorkbookSource("crm", WorkbookSettings(type="workbook", path="crm.xlsx"), tmp_path)
    assert isinstance(source, Stoppable)
    before = _children()
    read = InThread(lambda: source.describe(WorkbookDataset()))
    until(lambda: _children() - before, "there is no child")
    for child in _children() - before:
        os.kill(child, signal.SIGSTOP)

    source.stop()

    assert isinstance(read.ended(STOP_SECONDS), ReadStopped)
    assert "id" in source.describe(WorkbookDataset()).names
    source.close()


def _children() -> set[int]:
    """The processes of ours that read workbooks."""
    tasks = Path("/proc/self/task").iterdir()
    pids = {pid for task in tasks for pid in (task / "children").read_text().split()}
    return {int(pid) for pid in pids if b"workbook.child" in Path(f"/proc/{pid}/cmdline").read_bytes()}


def _handles() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
