"""Console blocks of the documentation as a new user types them, and their output without what differs each time.

Each state gives findings ids of its own. A page has the same ids always: those of the fingerprints without a key.
"""

import contextlib
import io
import os
import re
import shlex
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from reconcile import cli
from reconcile.findings.identity import short_id

_CHANGING = (
    (r"run1_[a-z2-7]{26}", "RUN"),
    (r"msg1_[0-9a-f]{24}", "MESSAGE"),
    (r"\b[0-9a-f]{64}\b", "HEAD"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?", "DAY"),
    (r"\bCEST\b", "CET"),  # what runs today says so in summer
    (r"\s+", " "),
)


@dataclass(frozen=True)
class Command:
    """A line after `$ ` and the lines that are shown below it."""

    line: str
    shown: tuple[str, ...]


@dataclass
class Terminal:
    """A folder, an environment and the last exit code. `reconcile` runs in this process, everything else in bash."""

    folder: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    code: int = 0
    out: str = ""
    err: str = ""

    def type(self, line: str) -> None:
        """Run a line; `out`, `err` and `code` are those of its last part."""
        if line == "echo $?":
            self.out, self.err, self.code = f"{self.code}\n", "", 0
            return
        for part in line.split(" && "):
            self._run(part)
            if self.code:
                return

    def _run(self, part: str) -> None:
        words = shlex.split(part)
        if words[0] == "cd":
            self.folder, self.out, self.err, self.code = (self.folder / words[1]).resolve(), "", "", 0
        elif words[0] == "reconcile":
            words = shlex.split(as_stored(part, self.folder))
            out, err, self.code = reconcile(words, self.folder, self.environ)
            self.out, self.err = as_documented(out, self.folder), as_documented(err, self.folder)
        else:
            environ = {**os.environ, **self.environ}
            ended = subprocess.run(
                ["bash", "-c", part], cwd=self.folder, env=environ, capture_output=True, text=True, check=False
            )
            self.out, self.err, self.code = ended.stdout, ended.stderr, ended.returncode


@dataclass
class Shell:
    """A folder in which bash runs what is printed, whole blocks too; it stays where the last one left it."""

    folder: Path
    environ: Mapping[str, str]

    def type(self, text: str) -> subprocess.CompletedProcess[str]:
        left = self.folder / ".left"
        script = f"{as_stored(text, self.folder)}\nended=$?; pwd > '{left}'; exit $ended"
        ended = subprocess.run(
            ["bash", "-c", script], cwd=self.folder, env=dict(self.environ), capture_output=True, text=True, check=False
        )
        self.folder = Path(left.read_text(encoding="utf-8").strip())
        left.unlink()
        ended.stdout, ended.stderr = (as_documented(output, self.folder) for output in (ended.stdout, ended.stderr))
        return ended

    def serve(self, text: str, patience: float = 60) -> tuple[int, str]:
        """Run what goes on until it is told to stop, once it said something; its exit code, and what it said."""
        log = self.folder / ".log"
        with log.open("w", encoding="utf-8") as store:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {text}"], cwd=self.folder, env=dict(self.environ), stdout=store, stderr=store
            )
        until = time.monotonic() + patience
        while not log.read_text(encoding="utf-8") and process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        process.terminate()
        return process.wait(patience), log.read_text(encoding="utf-8")


def reconcile(words: list[str], folder: Path, environ: Mapping[str, str] | None = None) -> tuple[str, str, int]:
    """Output, remarks and exit code of a command, through the door of the installed program."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.chdir(folder),
        mock.patch.object(sys, "argv", words),
        mock.patch.dict(os.environ, environ or {}),
    ):
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return out.getvalue(), err.getvalue(), code


def as_stored(text: str, folder: Path) -> str:
    """Return the text with the ids of the state in the folder instead of those of a page."""
    return _renamed(text, {documented: name for name, documented in _ids(folder).items()})


def as_documented(text: str, folder: Path) -> str:
    """Return the text with the ids of a page instead of those of the state in the folder."""
    return _renamed(text, _ids(folder))


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return re.sub(r"F-[0-9A-Z]{6}", lambda match: names.get(match[0], match[0]), text)


def _ids(folder: Path) -> dict[str, str]:
    ids: dict[str, str] = {}
    for state in folder.glob("*.db"):
        with contextlib.closing(sqlite3.connect(state)) as connection, contextlib.suppress(sqlite3.DatabaseError):
            ids |= {name: short_id(mark) for name, mark in connection.execute("SELECT id, fingerprint FROM findings")}
    return ids


def commands(body: str) -> Iterator[Command]:
    line, shown = None, list[str]()
    for text in body.splitlines():
        if text.startswith("$ "):
            if line is not None:
                yield Command(line, tuple(shown))
            line, shown = text[2:], []
        else:
            shown.append(text)
    if line is not None:
        yield Command(line, tuple(shown))


def difference(shown: tuple[str, ...], out: str, err: str) -> str | None:
    """What is wrong with the lines that are shown; None when they are what was printed.

    Lines of the result stand in their order, and all of them unless a `…` is among them; remarks may be left out.
    """
    if not shown:
        return None
    printed = [plain(line) for line in out.splitlines()]
    remarks = {plain(line) for line in err.splitlines()}
    place = 0
    for line in shown:
        wanted = plain(line)
        if wanted == "…":
            continue
        result = next((n for n in range(place, len(printed)) if _same(wanted, printed[n])), None)
        if result is not None:
            place = result + 1
        elif not any(_same(wanted, remark) for remark in remarks):
            return f"`{line}` was not printed"
    told = sum(1 for line in shown if any(_same(plain(line), item) for item in printed))
    if "…" not in shown and told < len([item for item in printed if item]):
        return "more was printed than is shown"
    return None


def plain(line: str) -> str:
    """The line without what is different each time."""
    for pattern, word in _CHANGING:
        line = re.sub(pattern, word, line)
    return line.strip()


def _same(wanted: str, printed: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in wanted.split("…"))
    return re.fullmatch(pattern, printed) is not None
