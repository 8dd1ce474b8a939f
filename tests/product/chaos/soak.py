"""What the soak needs: a shop that grows, a receiver that has bad days, faults, and somebody who keeps watch."""

import csv
import json
import os
import random
import resource
import signal
import socket
import sqlite3
import struct
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from reconcile import config
from reconcile.coordination import pauses
from reconcile.service import triggers
from reconcile.store import Store, tables
from reconcile.store.errors import StoreError
from tests.support.serve import Serving, children, runs_of
from tests.support.tcp_proxy import TcpProxy

Json = dict[str, Any]
T = TypeVar("T")
SOURCES = ("file", "book", "erp")
EVERY_MINUTE = "* * * * *"
JOBS: dict[str, Json] = {
    "file-minutely": {"rules": ["file-twice"], "schedule": EVERY_MINUTE},
    "file-spread": {"rules": ["file-twice"], "schedule": {"cron": EVERY_MINUTE, "jitter": "20s"}},
    "file-watching": {"rules": ["file-twice"], "watch": ["file"]},
    "book-minutely": {"rules": ["book-twice"], "schedule": EVERY_MINUTE},
    "book-all": {"rules": ["book-twice"], "schedule": {"cron": EVERY_MINUTE, "catch_up": "all", "max": 3}},
    "book-skip": {"rules": ["book-twice"], "schedule": {"cron": EVERY_MINUTE, "catch_up": "skip", "jitter": "10s"}},
    "erp-minutely": {"rules": ["erp-twice"], "schedule": EVERY_MINUTE, "priority": 5},
    "erp-spread": {"rules": ["erp-twice"], "schedule": {"cron": EVERY_MINUTE, "jitter": "15s"}},
    "erp-after": {"rules": ["erp-twice"], "after": ["erp-minutely"]},
    "all-minutely": {"rules": "all", "schedule": EVERY_MINUTE},
    "all-asked": {"rules": "all"},
    "all-even": {"rules": "all", "schedule": "*/2 * * * *", "priority": -10},
}


def again(work: Callable[[], T], seconds: float = 30) -> T:
    """What the work returns once the database that is being broken lets it."""
    end = time.monotonic() + seconds
    while True:
        try:
            return work()
        except StoreError:
            assert time.monotonic() < end, "the state database does not come back"
            time.sleep(0.1)


# The world outside


class Soaked:
    """A folder with a configuration of twelve jobs, three sources that grow, and the proxies before its databases."""

    def __init__(self, folder: Path, state: str, erp: str, hook: str) -> None:
        self.folder, self._direct, self._erp_url = folder, state, erp
        self.state_proxy, self.erp_proxy = TcpProxy(_address(state)), TcpProxy(_address(erp))
        self._erp = sa.create_engine(erp)
        self._groups: dict[str, list[str]] = defaultdict(list)
        self._next = 1
        self._lines: list[tuple[int, str]] = []
        with self._erp.begin() as connection:
            connection.execute(sa.text("create table charges (id integer primary key, ref text)"))
        with self._book() as book:
            book.execute("create table charges (id integer primary key, ref text)")
        for source in SOURCES:
            for _ in range(5):
                self.grow(source)
        self._hook = hook
        self.good = json.dumps(self._configuration(_through(state, self.state_proxy), _through(erp, self.erp_proxy)))
        self.write(self.good)
        self.project = config.load(folder / "reconcile.yaml", {})

    def close(self) -> None:
        self._erp.dispose()
        self.state_proxy.close()
        self.erp_proxy.close()

    def store(self) -> Store:
        """The state, not through the proxy."""
        return Store.open(self._direct, self.folder)

    def write(self, text: str) -> None:
        _replace(self.folder / "reconcile.yaml", text)

    def write_fresh(self) -> Path:
        """The same rules over the same sources with a state that remembers nothing."""
        fresh = self._configuration("sqlite:///fresh.db", self._erp_url)
        fresh |= {"jobs": {"once": {"rules": "all", "notify": []}}, "channels": {}}
        del fresh["alerts"]
        (self.folder / "fresh.yaml").write_text(json.dumps(fresh))
        return self.folder / "fresh.yaml"

    def _configuration(self, state: str, erp: str) -> Json:
        job = {"notify": ["team", "hook"], "existing": "report", "time_limit": "20s", "stall": "4s"}
        allow = ["127.0.0.0/8"]
        return {
            "state": state,
            "listen": "none",
            "max_parallel": 2,
            "alerts": ["team"],
            "sources": {
                "files": {"type": "files"},
                "book": {"type": "sql", "url": "sqlite:///book.db"},
                "erp": {"type": "sql", "url": erp},
            },
            "datasets": {
                "file": {"source": "files", "path": "charges.csv", "id": "id"},
                "book": {"source": "book", "table": "charges", "id": "id"},
                "erp": {"source": "erp", "table": "charges", "id": "id"},
            },
            "rules": {
                f"{source}-twice": {"kind": "duplicates", "dataset": source, "key": ["ref"]} for source in SOURCES
            },
            "jobs": {name: {**job, **more} for name, more in JOBS.items()},
            "channels": {
                "team": {"type": "file", "path": "messages.jsonl", "format": "jsonl", "quiet": False},
                "hook": {"type": "webhook", "url": self._hook, "allow": allow, "timeout": 5},
            },
        }

    # Growing

    def grow(self, source: str, *, old: str | None = None) -> None:
        """A new pair of one reference, or one more record of an old one, there at once or not at all."""
        ref = old or f"{source}-{len(self._groups[source])}"
        rows = [(self._next + n, ref) for n in range(1 if old else 2)]
        self._next += len(rows)
        if old is None:
            self._groups[source].append(ref)
        {"file": self._grow_file, "book": self._grow_book, "erp": self._grow_erp}[source](rows)

    def grow_somewhere(self, chance: random.Random) -> None:
        source = chance.choice(SOURCES)
        self.grow(source, old=chance.choice(self._groups[source]) if chance.random() < 0.2 else None)

    def _grow_file(self, rows: list[tuple[int, str]]) -> None:
        self._lines += rows
        with (self.folder / "charges.new").open("w", newline="") as file:
            csv.writer(file).writerows([("id", "ref"), *self._lines])
        (self.folder / "charges.new").replace(self.folder / "charges.csv")

    def _grow_book(self, rows: list[tuple[int, str]]) -> None:
        with self._book() as book:
            book.executemany("insert into charges values (?, ?)", rows)

    def _grow_erp(self, rows: list[tuple[int, str]]) -> None:
        with self._erp.begin() as connection:
            for number, ref in rows:
                connection.execute(sa.text("insert into charges values (:id, :ref)"), {"id": number, "ref": ref})

    @contextmanager
    def _book(self) -> Iterator[sqlite3.Connection]:
        book = sqlite3.connect(self.folder / "book.db", timeout=30)
        try:
            with book:
                yield book
        finally:
            book.close()

    def ask(self, store: Store, job: str, key: str) -> None:
        """Request a run; asking again for the same key, because the database broke meanwhile, is the same run."""

        def asked() -> None:
            with store.begin() as tx:
                triggers.request(tx, self.project, job, key, by="soak")

        again(asked)

    def restart_state(self) -> None:
        """What a restart does to those connected: every connection ends."""
        url = sa.make_url(self._direct)
        engine = sa.create_engine(url.set(database="postgres"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            ends = "select pg_terminate_backend(pid) from pg_stat_activity where datname = :name"
            connection.execute(sa.text(ends), {"name": url.database})
        engine.dispose()

    def witnessed(self) -> tuple[list[Json], list[str]]:
        """What stands in the file channel: whole messages, a line each, and those that a full disk or a kill cut off.

        A cut one is completed in its place, or, where another message came first, written anew behind it.
        """
        whole, cut = [], []
        for line in (self.folder / "messages.jsonl").read_text().splitlines():
            try:
                whole.append(json.loads(line))
            except ValueError:
                cut.append(line)
        return whole, cut


def _replace(file: Path, text: str) -> None:
    new = file.with_suffix(".new")
    new.write_text(text)
    new.replace(file)


def _address(url: str) -> tuple[str, int]:
    address = sa.make_url(url)
    return address.host or "127.0.0.1", address.port or 5432


def _through(url: str, proxy: TcpProxy) -> str:
    created = sa.make_url(url).set(drivername="postgresql", host=proxy.host, port=proxy.port)
    return created.render_as_string(hide_password=False)


class Hook:
    """A receiver of webhooks that now and then fails, before or after it took the message; it keeps what it took."""

    def __init__(self, chance: random.Random) -> None:
        self.taken: list[tuple[str, bytes]] = []
        self.trouble: Counter[str] = Counter()
        self.calm = False
        self._chance = chance
        self._lock = threading.Lock()
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.take(self, self.headers["Idempotency-Key"], body)

            def log_message(self, *_: Any) -> None:
                """Says nothing: what was taken is kept."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/hook"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def take(self, call: BaseHTTPRequestHandler, key: str, body: bytes) -> None:
        with self._lock:
            ill = not self.calm and self._chance.random() < 0.1
            how = self._chance.choice(["500", "500 after", "reset", "reset after", "slow"]) if ill else ""
            if how:
                self.trouble[how] += 1
            if how in ("", "500 after", "reset after", "slow"):
                self.taken.append((key, body))
        if how == "slow":
            time.sleep(1)
        if how.startswith("reset"):
            call.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            call.connection.close()
            call.close_connection = True
            return
        with suppress(ConnectionError):  # whoever called was killed meanwhile
            call.send_response(500 if how.startswith("500") else 204)
            call.end_headers()


# Those who serve, and what is done to them


@dataclass
class Fleet:
    """Two schedulers and a worker. The first of them is the one that is killed; the others live as long as the soak."""

    soaked: Soaked
    environ: dict[str, str]
    every: list[Serving] = field(default_factory=list)
    now: list[Serving] = field(default_factory=list)

    def start(self) -> None:
        self.now = [self._one(), self._one(), self._one("--worker")]
        for item in self.now:
            item.ready()

    def _one(self, *arguments: str) -> Serving:
        serving = Serving(self.soaked.folder, *arguments, environ=self.environ)
        self.every.append(serving)
        return serving

    @property
    def survivors(self) -> list[Serving]:
        return self.now[1:]

    def kill_first(self, after: float) -> None:
        """Only the process itself: what it started has to end by itself."""
        os.kill(self.now[0].process.pid, signal.SIGKILL)
        self.now[0].process.wait(30)
        time.sleep(after)
        self.now[0] = self._one().ready()

    def running(self) -> list[int]:
        """The processes that carry out runs."""
        values: list[int] = []
        for item in self.now:
            with suppress(FileNotFoundError, ProcessLookupError):  # one that ended while we looked
                values += runs_of(item.process.pid)
        return values

    def stop(self) -> list[int]:
        for item in self.now:
            item.signal(signal.SIGTERM)
        return [entry.end() for entry in self.now]

    def kill(self) -> None:
        for item in self.now:
            if item.process.poll() is None:
                item.kill()


@dataclass
class Chaos:
    """Faults, one after another, each noted with when it began and how long it lasted."""

    soaked: Soaked
    fleet: Fleet
    store: Store
    chance: random.Random
    noted: list[tuple[float, str, float]] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)

    def run(self, seconds: float, over: threading.Event) -> None:
        """Every kind once in an order of chance, and again, as long as there is time; every 20 s at the most."""
        gap = min(0.85 * seconds / len(self.kinds), 20)
        while not over.is_set():
            for kind in self.chance.sample(list(self.kinds), len(self.kinds)):
                begin = time.monotonic()
                if over.is_set() or begin - self.begun > 0.95 * seconds:
                    return
                self.kinds[kind]()
                self.noted.append((begin - self.begun, kind, time.monotonic() - begin))
                over.wait(max(0.2, gap * self.chance.uniform(0.5, 1.5) - (time.monotonic() - begin)))

    def count(self, kind: str) -> int:
        return sum(item == kind for _, item, _ in self.noted)

    @property
    def kinds(self) -> dict[str, Callable[[], None]]:
        return {
            "source down": lambda: self._broken(self.soaked.erp_proxy, "cut", 2),
            "source silent": lambda: self._broken(self.soaked.erp_proxy, "silent", 5),
            "source cut": lambda: self._broken(self.soaked.erp_proxy, "cut", 0),
            "state restarted": self.soaked.restart_state,
            "state cut off": lambda: self._broken(self.soaked.state_proxy, "cut", 1.5),
            "state silent": lambda: self._broken(self.soaked.state_proxy, "silent", 1.5),
            "server killed": lambda: self.fleet.kill_first(self.chance.uniform(0, 2)),
            "server stopped": lambda: self._stopped(self.chance.choice(self.fleet.now).process.pid, 2),
            "run killed": lambda: self._with_a_run(lambda pid: os.kill(pid, signal.SIGKILL)),
            "run stopped": lambda: self._with_a_run(lambda pid: self._stopped(pid, 3)),
            "reload": self._reload,
            "broken configuration": self._broken_configuration,
            "disk full": self._disk_full,
            "job paused": self._job_paused,
        }

    def _broken(self, proxy: TcpProxy, how: str, seconds: float) -> None:
        {"cut": proxy.cut, "silent": proxy.silent}[how]()
        time.sleep(seconds * self.chance.uniform(0.7, 1.3))
        proxy.passes()

    def _stopped(self, pid: int, seconds: float) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(pid, signal.SIGCONT)

    def _with_a_run(self, harm: Callable[[int], None]) -> None:
        """To a run somewhere on its way, or, as often, to one in the middle of its read."""
        is_held = self.chance.random() < 0.5
        if is_held:
            self.soaked.erp_proxy.silent()
        self.soaked.ask(self.store, "erp-minutely" if is_held else "all-asked", f"victim-{time.monotonic_ns()}")
        end = time.monotonic() + 5
        while not (result := self.fleet.running()) and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(self.chance.uniform(0, 0.5) if is_held else self.chance.uniform(0, 0.1))
        with suppress(ProcessLookupError):  # it ended just now
            harm(self.chance.choice(self.fleet.running() or result))
        self.soaked.erp_proxy.passes()

    def _reload(self) -> None:
        for item in self.fleet.now:
            item.signal(signal.SIGHUP)

    def _broken_configuration(self) -> None:
        self.soaked.write(self.soaked.good.replace('"file-twice"', '"file-twise"', 1))
        time.sleep(8)
        self.soaked.write(self.soaked.good)
        self._reload()

    def _disk_full(self) -> None:
        """No server may make a file longer than the witness is, but for a few bytes."""
        witness = self.soaked.folder / "messages.jsonl"
        size = witness.stat().st_size if witness.exists() else 0
        pids = [item.process.pid for item in self.fleet.now]
        for pid in pids:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size + self.chance.randrange(500), resource.RLIM_INFINITY))
        time.sleep(2)
        for pid in pids:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def _job_paused(self) -> None:
        subject = pauses.of_job(self.chance.choice(list(JOBS)))
        again(lambda: self._pause(subject))
        time.sleep(2)
        again(lambda: self._resume(subject))

    def _pause(self, subject: str) -> None:
        with self.store.begin() as tx:
            pauses.pause(tx, subject, reason="soak", by="soak")

    def _resume(self, subject: str) -> None:
        with self.store.begin() as tx:
            pauses.resume(tx, subject, "soak")


# Watching


@dataclass
class Watch:
    """Memory and open files of those who are never killed, runs that overlap, and the dead that nobody buried."""

    fleet: Fleet
    store: Store
    memory: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    handles: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    overlaps: list[str] = field(default_factory=list)
    zombies: set[int] = field(default_factory=set)
    _dead: set[int] = field(default_factory=set)

    def run(self, over: threading.Event) -> None:
        while not over.wait(2):
            for survivor in self.fleet.survivors:
                self._measure(survivor.process.pid)
            dead = {pid for item in self.fleet.survivors for pid in children(item.process.pid) if _state(pid) == "Z"}
            self.zombies |= dead & self._dead
            self._dead = dead
            self.overlaps += again(self._overlapping)

    def _measure(self, pid: int) -> None:
        """With the process that forks its runs: a handle kept for each run would be kept there."""
        direct = [
            int(word) for task in Path(f"/proc/{pid}/task").glob("*/children") for word in task.read_text().split()
        ]
        self.memory[pid].append(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize())
        self.handles[pid].append(sum(len(list(Path(f"/proc/{item}/fd").iterdir())) for item in (pid, *direct)))

    def _overlapping(self) -> list[str]:
        twice = sa.select(tables.runs.c.job).where(tables.runs.c.status == "running").group_by(tables.runs.c.job)
        with self.store.read() as tx:
            return list(tx.connection.execute(twice.having(sa.func.count() > 1)).scalars())


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def at_work_in(folder: Path) -> list[int]:
    """The processes, but ourselves, whose working directory is this folder."""
    collected = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended
            if (process / "cwd").readlink() == folder and int(process.name) != os.getpid():
                collected.append(int(process.name))
    return collected
