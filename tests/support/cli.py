"""The command line for tests: in this process where speed matters, in one of its own where signals and limits do."""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import os
import resource
import shutil
import signal
import sqlite3
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from typer import testing
from typer.testing import CliRunner, Result

from reconcile import cli
from reconcile.cli import exits
from reconcile.cli.commands import app, program
from tests.support.forked import SERVER

ORDERS = "id,order_id,amount,paid_at\nP-1,A-1,20.00,2026-03-01T10:00:00Z\nP-2,A-1,20.00,2026-03-01T10:00:30Z\n"
"""One order paid twice."""

FILES = """\
version: 1
sources: {shop: {type: files, root: .}}
datasets: {orders: {source: shop, path: orders.csv, id: id, columns: {amount: decimal, paid_at: instant}}}
rules: {twice: {kind: duplicates, dataset: orders, key: [order_id], severity: high}}
"""
"""The smallest project over a file."""


@dataclass(frozen=True)
class Answer:
    """What a command answered: exit code, standard output and standard error, seconds it took."""

    code: int
    out: str
    err: str
    seconds: float = 0.0

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def said(self) -> str:
        """Everything a person saw."""
        return self.out + self.err


@dataclass(frozen=True)
class Project:
    """A folder with a configuration, and the commands in it, which read `typed` on their standard input."""

    folder: Path
    typed: str = ""

    def write(self, text: str, name: str = "reconcile.yaml") -> Project:
        (self.folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
        return self

    def __call__(self, *words: str, **environ: str) -> Answer:
        """The command in this process, through the door the installed program goes through."""
        out, err = io.StringIO(), io.StringIO()
        begin = time.monotonic()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            contextlib.chdir(self.folder),
            mock.patch.object(sys, "argv", ["reconcile", *words]),
            mock.patch.object(sys, "stdin", io.StringIO(self.typed)),
            mock.patch.dict(os.environ, environ),
        ):
            code = _ended_with(cli.main)
        return Answer(code, out.getvalue(), err.getvalue(), time.monotonic() - begin)

    def start(self, *words: str, file_size: int | None = None, user: int | None = None, **environ: str) -> Program:
        """The command in a process of its own, under limits: the largest file it may write, the user it is."""
        return Program(self.folder, words, environ, file_size, user)

    def audit_is_intact(self) -> bool:
        return self("audit", "verify").code == 0


class Program:
    """A command in a process of its own."""

    def __init__(
        self, folder: Path, words: tuple[str, ...], environ: Mapping[str, str], file_size: int | None, user: int | None
    ) -> None:
        self._begin = time.monotonic()
        self._files = [folder / f".{name}-{time.monotonic_ns()}" for name in ("out", "err")]
        for file in self._files:
            file.touch()
        limits = (file_size, user)
        self.process = SERVER.Process(
            target=_run, args=(folder, words, dict(environ), self._files, limits), daemon=True
        )
        self.process.start()

    def signal(self, number: int) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def said_so_far(self) -> str:
        return self._files[1].read_text(encoding="utf-8")

    def end(self, seconds: float = 60) -> Answer:
        """What it answered; killed, and the test failed, when it takes longer than that."""
        self.process.join(seconds)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
            raise AssertionError(f"it did not end within {seconds:g} s")
        out, err = (file.read_text(encoding="utf-8") for file in self._files)
        return Answer(self.process.exitcode, out, err, time.monotonic() - self._begin)


def _run(
    folder: Path,
    words: tuple[str, ...],
    environ: Mapping[str, str],
    files: list[Path],
    limits: tuple[int | None, int | None],
) -> None:
    for number, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", 1, "utf-8", closefd=False) for number in (1, 2))
    os.chdir(folder)
    os.environ.update(environ)
    file_size, user = limits
    if file_size is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    if user is not None:
        sys.argv = ["reconcile", "run", "--dry-run", "--quiet"]  # load what Python reads late, while we may
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            _ended_with(cli.main)
        codecs.lookup("ascii")
        os.setgid(user)
        os.setuid(user)
    sys.argv = ["reconcile", *words]
    code = _ended_with(cli.main)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def invoked(*arguments: str, typed: str | None = None) -> tuple[int, Result]:
    """The exit code of a command in this process, and its result, which has the error itself."""
    with mock.patch.object(testing, "_get_command", return_value=program):  # else all commands are built anew
        ended = CliRunner().invoke(app, list(arguments), standalone_mode=False, input=typed)
    error = ended.exception
    if error is not None and not isinstance(error, SystemExit):
        assert isinstance(error, Exception)
        return exits._code(error), ended
    return ended.return_value if isinstance(ended.return_value, int) else ended.exit_code, ended


def _ended_with(door: Callable[[], object]) -> int:
    try:
        door()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def in_words(answer: Answer, code: int, *parts: str, lines: int = 3) -> None:
    """The answer is that exit code and a few plain lines that hold these parts: no traceback, no wall of text."""
    assert answer.code == code, answer.said
    for part in parts:
        assert part in answer.said, f"{part!r} is not in: {answer.said}"
    assert "Traceback" not in answer.said
    assert 0 < len(answer.err.strip().splitlines()) <= lines, answer.err


@contextlib.contextmanager
def sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    """A database of the test's own, committed and closed."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        yield connection
        connection.commit()


# A folder that was prepared once, for many tests that go on from there.


class KeptFolder:
    """The files of a folder, which tests may change and delete.

    They stay the same ones for the file system, in the same folder: by that, plans know their database.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._links = folder.with_name(f"{folder.name}-kept")
        self._links.mkdir()
        self._files: dict[str, tuple[bytes, int]] = {}
        for file in folder.iterdir():
            os.link(file, self._links / file.name)
            self._files[file.name] = (file.read_bytes(), file.stat().st_mode)

    def restored(self) -> Path:
        """Put every file back as it was, remove all others, and return the folder."""
        shutil.rmtree(self._folder)
        self._folder.mkdir()
        for name, (content, mode) in self._files.items():
            link = self._links / name
            link.write_bytes(content)
            link.chmod(mode)
            os.link(link, self._folder / name)
        return self._folder
