"""MariaDB servers of our own, one of which repeats what the other does."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import pymysql
import pytest

_USER = "mysql"
_SECONDS = 120


def _program(*names: str) -> str:
    result = next((path for name in names if (path := shutil.which(name))), None)
    if result is None:
        message = f"there are no MariaDB server programs: {names[0]} is not to be found"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return result


class MariadbServer:
    """A server with a folder and a port of its own that keeps a binary log. Use it in a `with`."""

    def __init__(self, number: int) -> None:
        install, self._server = _program("mariadb-install-db", "mysql_install_db"), _program("mariadbd", "mysqld")
        self.number = number
        self.folder = Path(tempfile.mkdtemp(prefix="reconcile-mariadb-"))
        self._who: list[str] = []
        if os.geteuid() == 0:  # the server refuses to run as root
            try:
                owner = pwd.getpwnam(_USER)
            except KeyError:
                pytest.skip(f"root cannot run a MariaDB, and there is no user {_USER}")
            self._who = [f"--user={_USER}"]
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        with (self.folder / "install.out").open("ab") as out:
            options = ("--skip-test-db", "--auth-root-authentication-method=normal")
            subprocess.run(
                [install, "--no-defaults", *self._who, f"--datadir={self.folder}/data", *options],
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                check=True,
                timeout=_SECONDS,
            )

    def url(self, database: str) -> str:
        return f"mysql+pymysql://root@127.0.0.1:{self.port}/{database}"

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """The rows of the last statement."""
        server = pymysql.connect(host="127.0.0.1", port=self.port, user="root", autocommit=True)
        with server, server.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def follow(self, primary: MariadbServer) -> None:
        self.sql(
            f"change master to master_host='127.0.0.1', master_port={primary.port}, master_user='root', "
            "master_use_gtid=slave_pos, master_connect_retry=1",
            "start slave",
            "set global read_only = on",
        )

    def promote(self) -> None:
        """Make it a primary."""
        self.sql("stop slave", "reset slave all", "set global read_only = off")

    @contextmanager
    def lagging(self) -> Iterator[None]:
        """It repeats nothing: a lock of ours holds up the next change, as a long query would."""
        with (
            pymysql.connect(host="127.0.0.1", port=self.port, user="root") as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute("flush tables with read lock")
            yield
            cursor.execute("unlock tables")

    def __enter__(self) -> Self:
        places = (f"--datadir={self.folder}/data", f"--socket={self.folder}/socket", f"--pid-file={self.folder}/pid")
        network = ("--bind-address=127.0.0.1", f"--port={self.port}", "--skip-name-resolve")
        log = (f"--server-id={self.number}", "--log-bin=log", "--innodb-flush-log-at-trx-commit=2")
        with (self.folder / "server.out").open("ab") as out:
            self._process = subprocess.Popen(
                [self._server, "--no-defaults", *self._who, *places, *network, *log, "--innodb-buffer-pool-size=32M"],
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                self.sql("select 1")
            except pymysql.err.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    output = (self.folder / "server.out").read_text()[-1500:]
                    self.close()
                    raise RuntimeError(f"MariaDB did not start: {output}") from None
                time.sleep(0.1)
            else:
                return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(20)
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
