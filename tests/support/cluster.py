"""A PostgreSQL of our own, to be stopped in the middle of things: the shared one is others' too."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import psycopg
import pytest

_USER = "postgres"


def _programs() -> Path:
    result = shutil.which("initdb")
    if result:
        return Path(result).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not versions:
        if os.environ.get("CI"):
            pytest.fail("there are no PostgreSQL server programs: initdb is not to be found")
        pytest.skip("there are no PostgreSQL server programs: initdb is not to be found")
    return versions[-1].parent


class Cluster:
    """A server with a folder and a port of its own, with every promise of durability on. Use it in a `with`."""

    def __init__(self) -> None:
        self._programs = _programs()
        self.folder = Path(tempfile.mkdtemp(prefix="reconcile-cluster-"))
        self._who: dict[str, int] = {}
        if os.geteuid() == 0:  # the server refuses to run as root
            try:
                owner = pwd.getpwnam(_USER)
            except KeyError:
                pytest.skip(f"root cannot run a PostgreSQL, and there is no user {_USER}")
            self._who = {"user": owner.pw_uid, "group": owner.pw_gid}
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._create()
        with (self.folder / "data" / "postgresql.auto.conf").open("a") as settings:
            settings.write(
                f"port = {self.port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n"
                "shared_buffers = '32MB'\nmax_connections = 80\nautovacuum = off\nfsync = on\n"
            )

    def _create(self) -> None:
        self._run("initdb", "-D", self._data, "-U", "root", "--auth", "trust", "-E", "UTF8", "--no-sync")

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def url(self, database: str = "postgres") -> str:
        return f"postgresql+psycopg://root@127.0.0.1:{self.port}/{database}"

    def create(self, database: str) -> str:
        """Its address."""
        with psycopg.connect(f"host=127.0.0.1 port={self.port} user=root dbname=postgres", autocommit=True) as server:
            server.execute(f'create database "{database}"'.encode())
        return self.url(database)

    def start(self) -> None:
        """Start it, and wait until it has recovered and answers."""
        self._run("pg_ctl", "-D", self._data, "-l", str(self.folder / "log"), "-w", "-t", "60", "start")

    def stop_immediately(self) -> None:
        """As if the power went: no checkpoint, nobody is told."""
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")

    def restarts(self) -> None:
        """Gone without a word, and back after its recovery."""
        self.stop_immediately()
        self.start()

    def close(self) -> None:
        if (self.folder / "data" / "postmaster.pid").exists():
            self.stop_immediately()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, program: str, *arguments: str) -> None:
        """The output goes to a file: a server that keeps a pipe open would keep us waiting."""
        with (self.folder / f"{program}.out").open("ab") as out:
            done = subprocess.run(
                [str(self._programs / program), *arguments],
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
                check=False,
                timeout=90,
                start_new_session=True,
                **self._who,  # type: ignore[arg-type]
            )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {(self.folder / f'{program}.out').read_text()[-1500:]}")


class Standby(Cluster):
    """A standby that streams the log of a running cluster."""

    def __init__(self, primary: Cluster) -> None:
        self._primary = primary
        super().__init__()

    def _create(self) -> None:
        address = ("-h", "127.0.0.1", "-p", str(self._primary.port), "-U", "root")
        self._run("pg_basebackup", *address, "-D", self._data, "-R", "-X", "stream", "-c", "fast", "--no-sync")

    def promote(self) -> None:
        """Make it a primary, and wait until it is one."""
        self._run("pg_ctl", "-D", self._data, "-w", "-t", "60", "promote")

    def ask(self, statement: str) -> object:
        """The first value of the answer."""
        with psycopg.connect(f"host=127.0.0.1 port={self.port} user=root dbname=postgres", autocommit=True) as server:
            answer = server.execute(statement.encode())
            row = answer.fetchone() if answer.description else None
            return None if row is None else row[0]

    @contextmanager
    def lagging(self) -> Iterator[None]:
        """It receives the log, but does not repeat it."""
        self.ask("select pg_wal_replay_pause()")
        deadline = time.monotonic() + 30
        while self.ask("select pg_get_wal_replay_pause_state()") != "paused":
            assert time.monotonic() < deadline, "the standby did not pause"
            time.sleep(0.01)
        try:
            yield
        finally:
            self.ask("select pg_wal_replay_resume()")


if __name__ == "__main__":
    with Cluster() as cluster:
        begun = time.monotonic()
        cluster.restarts()
        print(time.monotonic() - begun)
