"""A state that can't be written: every door says so, and people get one message when it begins and one when it ends."""

import contextlib
import datetime as dt
import json
import signal
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import structlog

from reconcile import config
from reconcile.app import Application
from reconcile.audit import log
from reconcile.messages import direct
from reconcile.messages.direct import StateTrouble
from reconcile.service import duties as served
from reconcile.service import scheduler, starting
from reconcile.service.duties import Duties
from reconcile.store import Store, StoreError, failing
from reconcile.store.failing import CALM, Failing
from tests.support.cli import Project
from tests.support.serve import Forked, Serving, request, until
from tests.support.tcp_proxy import TcpProxy

NO_TIME = dt.timedelta(seconds=0.02)


def hasten() -> None:
    """Make `serve` wait less for a state that can't be written, in this process."""
    direct.LASTS, failing.CALM, served.REPEAT = 1.0, 1.5, 2.0
    scheduler.LEASE = dt.timedelta(seconds=4)
    starting.PAUSE, starting.REPEAT = 0.5, served.REPEAT
    defaults: Any = Store.open.__func__.__kwdefaults__  # type: ignore[attr-defined]
    defaults["patience"] = dt.timedelta(seconds=0.5)


@contextlib.contextmanager
def mounted(folder: Path, *options: str) -> Iterator[Path]:
    """A small disk of its own."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this machine allows no mounts")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Fill the disk of this folder with a file."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    return ballast


def write(folder: Path, state: str, **more: Any) -> Path:
    written = {
        "state": state,
        "listen": "127.0.0.1:0",
        "sources": {"shop": {"type": "files"}},
        "datasets": {"charges": {"source": "shop", "path": "charges.csv", "id": "id"}},
        "rules": {"twice": {"kind": "duplicates", "dataset": "charges", "key": ["order"]}},
        "jobs": {"nightly": {"rules": ["twice"], "schedule": "0 4 * * *", "notify": ["team"]}},
        "channels": {"team": {"type": "file", "path": "messages.jsonl", "format": "jsonl"}},
    }
    (folder / "charges.csv").write_text("id,order\n1,A\n2,B\n")
    file = folder / "reconcile.yaml"
    file.write_text(json.dumps(written | more))
    return file


def told(folder: Path) -> list[tuple[str, bool]]:
    """What people got: the subject of each trouble, and if it ended."""
    file = folder / "messages.jsonl"
    notices = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return [(notice["trouble"]["subject"], notice["trouble"]["ended"]) for notice in notices if notice.get("trouble")]


def ask(server: Serving, path: str) -> tuple[int, str]:
    address = server.heard("listener.started")[0]["address"]
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def troubles_after_a_run(server: Serving, url: str, folder: Path) -> list[str]:
    """The entries of the log about troubles, after a run that succeeded: the state can be written again."""
    with Store.open(url, folder) as store:
        request(store, "nightly")
        server.hear("run.ended", job="nightly", how="succeeded")
        with store.read() as tx:
            return [entry.event for entry in log.entries(tx, event="trouble")]


@pytest.mark.slow
def test_a_full_disk_is_told_once_seen_at_every_door_and_over_by_itself_when_there_is_room(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=4m") as disk:
        write(tmp_path, f"sqlite:///{disk}/state.db")
        server = Forked(tmp_path, prepare=hasten).ready()
        try:
            until(lambda: ask(server, "/readyz")[0] == 200)
            ballast = fill(disk)
            until(lambda: told(tmp_path) == [("state", False)], 30, lambda: str(server.lines[-5:]))
            until(lambda: "reconcile_scheduler_leads 0.0" in ask(server, "/metrics")[1], 60)
            page, ready, status = ask(server, "/metrics")[1], ask(server, "/readyz"), Project(tmp_path)("status")
            server.hear("duty.failed", 2, duty="schedule")
            ballast.unlink()
            until(lambda: len(told(tmp_path)) == 2, 30, lambda: str(server.lines[-5:]))
            until(lambda: ask(server, "/readyz")[0] == 200)
            entries = troubles_after_a_run(server, f"sqlite:///{disk}/state.db", tmp_path)
        finally:
            server.kill()

        assert told(tmp_path) == [("state", False), ("state", True)]
        assert entries == ["trouble.begun", "trouble.ended"]
        assert "reconcile_store_up 0.0" in page
        assert "reconcile_ready 0.0" in page
        assert "reconcile_state_free_bytes 0.0" in page
        assert (ready[0], "can't be written" in ready[1]) == (503, True)
        assert "saved nothing since" in status.out
        assert "reconcile doctor" in status.out
        assert "start `reconcile serve`" not in status.out
        assert server.heard("duty.recovered", duty="schedule")


@dataclass
class Watch:
    """A process that watches its state, with a clock that we move."""

    store: Store
    application: Application
    now: float = 0.0
    seen: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.trouble = StateTrouble(lambda channel, _error: self.seen.append(channel), lambda: self.now)
        self.store.writes = Failing(lambda: self.now)

    def passes(self, seconds: float) -> None:
        """Let so much time pass, in which it writes and looks every five seconds."""
        for _ in range(int(seconds / 5)):
            self.now += 5
            with contextlib.suppress(StoreError):
                direct.probe(self.store)
            with contextlib.suppress(StoreError):
                self.trouble.tick(self.store, self.application.project, self.application.channels)


Break = Callable[[Sequence[Store]], Callable[[], object]]
"""Break the state that these processes have open; call the result to put it right."""


@dataclass
class Place:
    folder: Path
    url: str
    breaks: Break


@contextlib.contextmanager
def full(folder: Path) -> Iterator[Place]:
    with mounted(folder / "disk", "size=4m") as disk:
        yield Place(folder, f"sqlite:///{disk}/state.db", lambda _: fill(disk).unlink)


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[Place]:
    with mounted(folder / "disk", "size=4m") as disk:

        def remount(how: str) -> None:
            subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True)

        def breaks(stores: Sequence[Store]) -> Callable[[], None]:
            for store in stores:
                store._engine.dispose()  # the kernel refuses while a file is open for writing
            remount("ro")
            return lambda: remount("rw")

        yield Place(folder, f"sqlite:///{disk}/state.db", breaks)


@contextlib.contextmanager
def moved_away(folder: Path) -> Iterator[Place]:
    file, away = folder / "state.db", folder / "away.db"

    def breaks(_: Sequence[Store]) -> Callable[[], object]:
        file.rename(away)
        return lambda: away.rename(file)

    yield Place(folder, "sqlite:///state.db", breaks)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[Place]:
    def breaks(_: Sequence[Store]) -> Callable[[], None]:
        connection = sqlite3.connect(folder / "state.db", isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        return connection.close

    yield Place(folder, "sqlite:///state.db", breaks)


WAYS = {"full": full, "read-only": read_only, "moved away": moved_away, "locked": locked}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_whatever_keeps_the_state_from_being_written_is_told_once_by_one_process_of_a_host(
    way: str, tmp_path: Path
) -> None:
    with WAYS[way](tmp_path) as place:
        tell_once(place)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["full", "read-only", "locked"])
def test_a_serve_that_is_started_while_the_state_cannot_be_written_waits_and_tells_it_once(
    way: str, tmp_path: Path
) -> None:
    with WAYS[way](tmp_path) as place:
        write(tmp_path, place.url)
        Store.open(place.url, tmp_path).close()
        heals = place.breaks([])
        server = Forked(tmp_path, prepare=hasten)
        try:
            until(lambda: told(tmp_path) == [("state", False)], 60, lambda: str(server.lines[-5:]))
            waits = server.hear("serve.waits")
            health, ready = ask(server, "/healthz"), ask(server, "/readyz")
            time.sleep(2)  # twice what it waits until it tells
            during = (told(tmp_path), server.heard("serve.started"), server.has_ended())
            heals()
            until(lambda: len(told(tmp_path)) == 2, 60, lambda: str(server.lines[-5:]))
            entries = troubles_after_a_run(server, place.url, tmp_path)
        finally:
            server.kill()

        assert during == ([("state", False)], [], False)
        assert "The state database" in waits[0]["why"]
        assert (health[0], ready[0]) == (200, 503)
        assert "can't be written since" in ready[1]
        assert told(tmp_path) == [("state", False), ("state", True)]
        assert entries == ["trouble.begun", "trouble.ended"]


@pytest.mark.slow
def test_a_serve_that_waits_for_its_state_ends_when_it_is_stopped(tmp_path: Path) -> None:
    with locked(tmp_path) as place:
        write(tmp_path, place.url)
        Store.open(place.url, tmp_path).close()
        heals = place.breaks([])
        server = Forked(tmp_path, prepare=hasten)
        server.hear("serve.waits")

        assert server.stop() == 128 + signal.SIGTERM
        assert told(tmp_path) == []
        heals()


@pytest.mark.slow
@pytest.mark.server
def test_a_server_that_refuses_connections_is_told_once(tmp_path: Path, postgres_url: str) -> None:
    direct_url = sa.make_url(postgres_url)
    proxy = TcpProxy((direct_url.host or "127.0.0.1", direct_url.port or 5432))
    url = direct_url.set(host=proxy.host, port=proxy.port).render_as_string(hide_password=False)

    def breaks(_: Sequence[Store]) -> Callable[[], None]:
        proxy.reset()
        return proxy.passes

    tell_once(Place(tmp_path, url, breaks))
    proxy.close()


def tell_once(place: Place) -> None:
    project = config.load(write(place.folder, place.url), {})
    with contextlib.ExitStack() as stack:
        watches = []
        for _ in range(2):
            store = stack.enter_context(Store.open(place.url, place.folder, patience=NO_TIME))
            watches.append(Watch(store, Application(project, store=store)))
        ours, neighbour = watches
        for watch in watches:
            watch.passes(60)
        before = told(place.folder)
        heals = place.breaks([watch.store for watch in watches])
        for watch in watches:
            watch.passes(direct.LASTS - 5)
        at_first = told(place.folder)
        for watch in watches:
            watch.passes(200)
        during = told(place.folder)
        is_down = [watch.store.writes.ongoing() is not None for watch in watches]
        heals()
        for watch in watches:
            watch.passes(CALM + 10)
        for watch in watches:
            watch.application.deliver()
        with ours.store.read() as tx:
            entries = [entry.event for entry in log.entries(tx, event="trouble")]

        assert (before, at_first, during) == ([], [], [("state", False)])
        assert is_down == [True, True]
        assert told(place.folder) == [("state", False), ("state", True)]
        assert entries == ["trouble.begun", "trouble.ended"]
        assert (ours.trouble.trouble, neighbour.trouble.trouble) == (None, None)


@pytest.mark.slow
def test_a_channel_that_does_not_answer_is_asked_again_and_no_other_is_told_twice(tmp_path: Path) -> None:
    hook = {"type": "webhook", "url": "http://127.0.0.1:9/hook", "allow": ["127.0.0.0/8"]}
    channels = {"team": {"type": "file", "path": "messages.jsonl", "format": "jsonl"}, "hook": hook}
    with locked(tmp_path) as place:
        project = config.load(write(tmp_path, place.url, channels=channels, alerts=["team", "hook"]), {})
        with Store.open(place.url, tmp_path, patience=NO_TIME) as store:
            watch = Watch(store, Application(project, store=store))
            heals = place.breaks([store])
            watch.passes(300)
            heals()

            assert told(tmp_path) == [("state", False)]
            assert 3 < len(watch.seen) < 12
            assert set(watch.seen) == {"hook"}


def test_a_write_that_fails_once_is_no_trouble(tmp_path: Path) -> None:
    with locked(tmp_path) as place:
        project = config.load(write(tmp_path, place.url), {})
        with Store.open(place.url, tmp_path, patience=NO_TIME) as store:
            watch = Watch(store, Application(project, store=store))
            for _ in range(5):
                heals = place.breaks([store])
                watch.passes(5)
                heals()
                watch.passes(CALM + 10)
            watch.application.deliver()

            assert told(tmp_path) == []


def test_a_duty_that_goes_on_failing_is_logged_every_few_minutes_and_told_once(
    tmp_path: Path,
) -> None:
    project = config.load(write(tmp_path, "sqlite:///state.db"), {})
    asked: list[str] = []
    now = [0.0]
    lines: list[dict[str, Any]] = []

    def sentence(error: Exception) -> str:
        asked.append(str(error))
        return f"It is broken: {error}"

    with Store.open("sqlite:///state.db", tmp_path) as store, capturing(lines):
        duties = Duties(sentence, lambda: now[0])
        for _ in range(1200):
            now[0] += 1
            duties.failed("work", [ValueError("a"), KeyError("b")][int(now[0]) % 2])
            duties.tell(store, project)
        for _ in range(120):
            now[0] += 1
            duties.succeeded("work")
            duties.tell(store, project)
        Application(project, store=store).deliver()

    assert len(asked) == 2
    assert [line["event"] for line in lines].count("duty.failed") == 8
    assert [line["event"] for line in lines].count("duty.recovered") == 1
    assert told(tmp_path) == [("duty:work", False), ("duty:work", True)]


@contextlib.contextmanager
def capturing(lines: list[dict[str, Any]]) -> Iterator[None]:
    with structlog.testing.capture_logs() as captured:
        yield
    lines += [dict(line) for line in captured]


def test_a_disk_that_takes_no_more_files_is_named(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=8m", "nr_inodes=12") as disk:
        write(tmp_path, f"sqlite:///{disk}/state.db")
        with Store.open(f"sqlite:///{disk}/state.db", tmp_path):
            pass
        with contextlib.suppress(OSError):
            for number in range(20):
                (disk / str(number)).touch()

        refused = Project(tmp_path)("status")
        for number in range(4):
            (disk / str(number)).unlink()
        warned = Project(tmp_path)("status")

        assert refused.code == 3
        assert "cannot be written" in refused.err
        assert "more files" in warned.out
