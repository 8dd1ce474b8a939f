"""A rule is ended by its limits, a run by a signal, whatever a source does; the other rules go on."""

import datetime as dt
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import sqlalchemy as sa

from reconcile import config
from reconcile.app import Application
from reconcile.coordination import lease
from reconcile.detection.bounded import RuleStalled, RuleTimedOut, TimeLimits, bounded, duration_text
from reconcile.runs.report import RunReport
from reconcile.store import Store
from rules.engines.base import Readable, Relation, Stop
from rules.kinds.duplicates import DuplicatesRule
from rules.values import schema_from_arrow
from tests.connectors.sql.stop import InThread, Server, served, sqlite_at, until
from tests.support.rules import detect
from tests.support.runs import ChargesProject, Command, twice
from tests.support.servers import MARIADB, POSTGRES, scratch_database
from tests.support.tcp_proxy import TcpProxy

MINUTE = dt.timedelta(minutes=1)
HOUR = dt.timedelta(hours=1)
SOON = {"time_limit": "60s", "stall": "3s"}
"""Long enough for the other rules of the job on a machine that is busy."""


class Clock:
    """Stands still until it is told to go on, and then at every look by so many seconds."""

    def __init__(self) -> None:
        self.now = self.step = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


class Hanging:
    """Work that waits until it is stopped, and for `deaf` work not even then."""

    def __init__(self, *, deaf: bool = False) -> None:
        self.deaf, self.stops = deaf, 0
        self.released, self.ended = threading.Event(), threading.Event()
        self.raised: BaseException | None = None

    def __call__(self, tell: Callable[[int], None]) -> str:
        try:
            assert self.released.wait(20)
            tell(1)
        except BaseException as error:
            self.raised = error
            raise
        finally:
            self.ended.set()
        return "never used"

    def stop(self) -> None:
        self.stops += 1
        if not self.deaf:
            self.released.set()


def test_work_within_its_limits_gives_its_result_or_its_error() -> None:
    def breaks(_tell: Callable[[int], None]) -> None:
        raise LookupError("its own")

    assert bounded(lambda _tell: 7, "r", TimeLimits(), lambda: None) == 7
    with pytest.raises(LookupError, match="its own"):
        bounded(breaks, "r", TimeLimits(), lambda: None)


@pytest.mark.slow
def test_work_that_takes_too_long_is_stopped_and_the_sentence_says_what_to_raise() -> None:
    work, clock = Hanging(), Clock()
    clock.step = 600

    with pytest.raises(RuleTimedOut) as told:
        bounded(work, "double-charge", TimeLimits(HOUR, HOUR, "nightly"), work.stop, clock=clock)

    assert str(told.value) == (
        "Rule 'double-charge' timed out after 1h, the `time_limit` of job 'nightly': its records could not be "
        "read in time. Its findings are unchanged. Raise `time_limit:` of the job, add an index to the source, or "
        "narrow the dataset"
    )
    assert work.ended.is_set()


@pytest.mark.slow
def test_work_that_is_silent_is_stopped_and_work_that_tells_of_progress_is_not() -> None:
    work, clock = Hanging(), Clock()
    clock.step = 30

    with pytest.raises(RuleStalled, match=r"sent nothing for 15m, the `stall` of job 'nightly'.*could not be read"):
        bounded(work, "r", TimeLimits(HOUR * 99, 15 * MINUTE, "nightly"), work.stop, clock=clock)

    looks: list[int] = []

    def diligent(tell: Callable[[int], None]) -> str:
        for read in range(1, 4):
            clock.now += 14 * 60
            tell(read)
            until(lambda read=read: read in looks, "nobody looks")  # type: ignore[misc]
        return "done"

    clock.step = 0
    assert (
        bounded(diligent, "r", TimeLimits(HOUR * 99, 15 * MINUTE), work.stop, clock=clock, watch=looks.append) == "done"
    )


@pytest.mark.slow
def test_progress_is_passed_on_once_and_silence_is_not_progress() -> None:
    beats: list[int] = []
    looks: list[int] = []

    def work(tell: Callable[[int], None]) -> None:
        tell(5)
        until(lambda: looks.count(5) > 3, "nobody looks")

    bounded(work, "r", TimeLimits(), lambda: None, watch=looks.append, alive=lambda: beats.append(1))

    assert beats == [1]


def test_what_the_watcher_raises_ends_the_work_at_once() -> None:
    work = Hanging()

    def watch(_read: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bounded(work, "r", TimeLimits(), work.stop, watch=watch)

    assert work.ended.is_set()


@pytest.mark.slow
def test_work_that_does_not_let_go_is_left_behind_and_ended_by_its_next_word() -> None:
    work, clock = Hanging(deaf=True), Clock()
    clock.step = 600
    looks: list[int] = []

    with pytest.raises(RuleTimedOut):
        bounded(work, "r", TimeLimits(HOUR, HOUR), work.stop, clock=clock, grace=0.3, watch=looks.append)
    seen = len(looks)
    assert work.stops > 1
    work.released.set()

    assert work.ended.wait(5)
    assert type(work.raised).__name__ == "_GivenUp"
    assert len(looks) == seen


@pytest.mark.slow
def test_a_process_ends_while_work_that_was_left_behind_hangs_in_c() -> None:
    code = """
        import datetime as dt, socket, threading
        from reconcile.detection.bounded import TimeLimits, RuleStalled, bounded
        import adbc_driver_postgresql.dbapi as adbc
        import duckdb, pyarrow.compute
        mute = socket.create_server(("127.0.0.1", 0))
        address = f"postgresql://127.0.0.1:{mute.getsockname()[1]}/x"
        try:
            bounded(lambda _: adbc.connect(address), "r", TimeLimits(stall=dt.timedelta(0)), lambda: None, grace=0.3)
        except RuleStalled:
            print("ended", any(one.name == "checking r" for one in threading.enumerate()))
    """

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=30, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "ended True\n", "")


@pytest.mark.parametrize(
    ("length", "text"), [(HOUR, "1h"), (90 * MINUTE, "90m"), (dt.timedelta(seconds=1.5), "1.5s"), (HOUR * 48, "2d")]
)
def test_lengths_of_time_are_said_as_they_are_configured(length: dt.timedelta, text: str) -> None:
    assert duration_text(length) == text


# Whole runs


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


@pytest.fixture(params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    server_asked: Server = request.getfixturevalue(request.param)
    server_asked.proxy.passes()
    yield server_asked
    server_asked.proxy.cut()
    server_asked.proxy.passes()
    server_asked.rid()


def shop_with(folder: Path, url: str, table: str, engine: str = "embedded", **limits: str) -> ChargesProject:
    """A shop whose job has three rules: one of its own, one on the table at that address, and the bank's."""
    shop = ChargesProject.at(folder / "shop").add(*twice(1, "A-1")).with_bank("1;x", "2;x")
    shop.config["sources"]["far"] = {"type": "sql", "url": url}
    shop.config["datasets"]["words"] = {"source": "far", "table": table, "id": "id"}
    shop.config["rules"]["same-word"] = {
        "kind": "duplicates",
        "dataset": "words",
        "key": ["word"],
        "keep": [{"first": "id"}],
        "engine": engine,
    }
    shop.config["jobs"]["nightly"]["rules"] = ["double-charge", "same-word", "paid-twice"]
    shop.config["jobs"]["nightly"].update(SOON | limits)
    return shop.write()


def run(shop: ChargesProject, watch: Callable[[str, int], None] = lambda _rule, _read: None) -> RunReport:
    with Application(config.load(shop.folder / "reconcile.yaml")) as application:
        return application.run("nightly", watch=watch)


def failed(report: RunReport) -> str:
    """Why the rule same-word could not be checked, while the others were and its job's lease is free again."""
    [failure] = report.failures
    assert failure.rule == "same-word"
    assert {result.rule: result.groups for result in report.checked} == {"double-charge": 1, "paid-twice": 1}
    return failure.failed


def is_free(shop: ChargesProject) -> bool:
    with closing(Store.open(shop.state, shop.folder)) as store:
        return isinstance(lease.acquire(store, "job:nightly", MINUTE), lease.Lease)


@pytest.mark.server
@pytest.mark.parametrize("engine", ["embedded", "pushdown"])
def test_a_slow_database_is_told_to_cancel_and_the_other_rules_are_checked(
    server: Server, tmp_path: Path, engine: str
) -> None:
    if engine == "pushdown" and server.url.startswith("mysql"):
        pytest.skip("a column of concat() is not compared exactly there")
    shop = shop_with(tmp_path, server.url, "slow", engine, time_limit="3s", stall="30s")

    report = run(shop)

    assert "timed out after 3s, the `time_limit` of job 'nightly'" in failed(report)
    until(lambda: not server.running, "the statement goes on in the database", 5)
    assert is_free(shop)
    [message] = shop.messages()
    assert "could not be read" in str(message)


@pytest.mark.server
@pytest.mark.parametrize("engine", ["embedded", "pushdown"])
def test_a_source_that_falls_silent_while_it_is_read_is_given_up(server: Server, tmp_path: Path, engine: str) -> None:
    if engine == "pushdown" and server.url.startswith("mysql"):
        pytest.skip("a column of concat() is not compared exactly there")
    shop = shop_with(tmp_path, server.url, "endless" if engine == "embedded" else "slow", engine)

    def watch(rule: str, read: int) -> None:
        if rule == "same-word" and (read if engine == "embedded" else server.running):
            server.proxy.silent()

    report = run(shop, watch)

    assert "sent nothing for 3s, the `stall` of job 'nightly'" in failed(report)
    assert is_free(shop)


@pytest.mark.server
def test_a_source_that_accepts_and_says_nothing_could_not_be_read(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        shop = shop_with(tmp_path, f"postgresql://127.0.0.1:{port}/shop?connect_timeout=2", "charges")

        report = run(shop)

    assert "did not answer at" in failed(report)
    assert is_free(shop)


@pytest.mark.server
def test_a_source_that_dies_half_way_could_not_be_read(server: Server, tmp_path: Path) -> None:
    shop = shop_with(tmp_path, server.url, "endless", stall="60s")

    def watch(rule: str, read: int) -> None:
        if rule == "same-word" and read:
            server.proxy.cut()

    report = run(shop, watch)

    assert "did not answer at" in failed(report)


@pytest.mark.slow
def test_an_endless_statement_of_sqlite_is_interrupted(tmp_path: Path) -> None:
    for engine in ("embedded", "pushdown"):
        url = sqlite_at(tmp_path / f"{engine}.db")
        shop = shop_with(tmp_path / engine, url, "slow", engine, time_limit="3s")

        assert "timed out after 3s" in failed(run(shop))


def test_duckdb_is_interrupted_while_it_computes() -> None:
    """Files are read by DuckDB itself: there is no connection that could be cut."""
    endless = Readable(lambda _columns: "select range as id, (range % 7)::varchar as word from range(1000000000000)")
    rule = DuplicatesRule.model_validate({"name": "same-word", "dataset": "words", "key": ["word"]})
    schema = schema_from_arrow(pa.schema([pa.field("id", pa.int64()), pa.field("word", pa.string())]))
    relation = Relation("words", schema, id=("id",))
    stop = Stop()
    work = InThread(lambda: detect(rule, relation, endless, dt.datetime.now(dt.UTC), stop=stop))

    deadline = time.monotonic() + 10
    while work.alive and time.monotonic() < deadline:
        stop()
        time.sleep(0.05)

    assert isinstance(work.ended(0), duckdb.InterruptException)


@pytest.mark.slow
def test_a_dry_run_has_the_same_limits(tmp_path: Path) -> None:
    shop = shop_with(tmp_path, sqlite_at(tmp_path / "far.db"), "slow", time_limit="3s")

    with Application(config.load(shop.folder / "reconcile.yaml")) as application:
        report = application.run("nightly", dry_run=True)

    assert "timed out after 3s" in failed(report)


# Signals


@pytest.mark.server
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("when", ["connecting", "reading"])
def test_a_signal_ends_a_run_whose_source_is_silent(
    postgres: Server, tmp_path: Path, number: int, code: int, when: str
) -> None:
    with TcpProxy((postgres.proxy.host, postgres.proxy.port)) as proxy:
        address = sa.make_url(postgres.url).set(port=proxy.port).render_as_string(hide_password=False)
        shop = shop_with(tmp_path, address, "slow", time_limit="1h", stall="1h")
        if when == "connecting":
            proxy.silent()
        command = Command(shop.folder, "run", "-q")
        until(lambda: proxy.connections and (when == "connecting" or postgres.running), "it does not read")
        proxy.silent()

        began = time.monotonic()
        os.kill(command.process.pid or 0, number)
        ended = command.end()

        assert (ended.code, ended.err) == (code, "Stopped. Finished work is kept; run the command again to continue\n")
        assert time.monotonic() - began < 6  # about 1.5 on an idle machine
    postgres.rid()
    assert is_free(shop)
    assert shop.intact()
