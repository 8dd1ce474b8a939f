"""Completion as the shells do it: the printed script is loaded, and a person types and presses Tab."""

import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reconcile.cli.completion import SCRIPTS
from tests.support.cli import FILES, ORDERS, Project
from tests.support.folders import ROOT

pytestmark = pytest.mark.slow

BEGIN = {
    "bash": ("bash", "--norc", "--noprofile", "-i"),
    "zsh": ("zsh", "-f", "-i"),
}
"""How a shell is begun that reads no file of its user."""
READY = {
    "bash": "PS1='> '; bind 'set bell-style none'; source script; echo RE''ADY\n",
    "zsh": "PS1='> '; setopt no_beep; autoload -Uz compinit; compinit -u -D; source script; echo RE''ADY\n",
}
_SECONDS = 60
_DRAWING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")


def _installed(shell: str) -> None:
    if shutil.which(shell) is None:
        message = f"{shell} is missing; install it (Debian, Ubuntu: apt-get install {shell})"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A person's folder with `reconcile` in `bin`, and a project with one finding in `work`."""
    tool = tmp_path / "bin" / "reconcile"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -P -m reconcile "$@"\n')
    tool.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    (work / "orders.csv").write_text(ORDERS, encoding="utf-8")
    project = Project(work).write(FILES)
    assert project("run", "--quiet").code == 0
    second = tmp_path / "my configuration"
    second.mkdir()
    text = FILES.replace("root: .", f"root: {work}").replace("twice", "thrice")
    Project(second).write(f"state: sqlite:///{work}/reconcile.db\n{text}")
    for shell in SCRIPTS:
        (work / f"script.{shell}").write_text(project("completion", shell).out, encoding="utf-8")
    return tmp_path


@pytest.fixture
def finding(home: Path) -> str:
    [finding] = Project(home / "work")("findings", "--json").json
    return str(finding["id"])


def _environ(home: Path) -> dict[str, str]:
    path = f"{home / 'bin'}:{os.environ['PATH']}"
    return os.environ | {"PATH": path, "HOME": str(home), "TERM": "xterm", "LC_ALL": "C.UTF-8", "COLUMNS": "120"}


class Terminal:
    """A shell in a terminal."""

    def __init__(self, shell: str, home: Path) -> None:
        self._pid, self._file = pty.fork()
        if not self._pid:
            os.chdir(home / "work")
            os.execvpe(shell, BEGIN[shell], _environ(home))  # noqa: S606 - a shell, in a terminal
        fcntl.ioctl(self._file, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.type(READY[shell].replace("script", f"./script.{shell}"))
        self.read_until("READY")

    def type(self, text: str) -> None:
        os.write(self._file, text.encode())

    def read_until(self, expected: str) -> str:
        """Return what it drew, up to and with this text."""
        drawn, end = "", time.monotonic() + _SECONDS
        while expected not in _DRAWING.sub("", drawn):
            ready, _, _ = select.select([self._file], [], [], max(0, end - time.monotonic()))
            assert ready, f"the shell drew only {drawn!r}"
            drawn += os.read(self._file, 65_536).decode(errors="replace")
        return _DRAWING.sub("", drawn)

    def close(self) -> None:
        os.kill(self._pid, 9)
        os.waitpid(self._pid, 0)
        os.close(self._file)


@pytest.fixture(params=SCRIPTS)
def completed(request: pytest.FixtureRequest, home: Path) -> Iterator[Callable[[str, str], str]]:
    """What a shell makes of a typed line when Tab is pressed; the second text is waited for in it."""
    shell = str(request.param)
    _installed(shell)
    terminals: list[Terminal] = []

    def press_tab(typed: str, expected: str) -> str:
        if shell == "fish":
            return _by_fish(typed, home)
        terminals.append(Terminal(shell, home))
        terminals[-1].type(f"{typed}\t")
        return terminals[-1].read_until(expected)

    yield press_tab
    for terminal in terminals:
        terminal.close()


def _by_fish(typed: str, home: Path) -> str:
    """Fish offers its completions to scripts as it does to people."""
    code = f"source script.fish; complete -C {shlex.quote(typed)}"
    command = ["fish", "--no-config", "-c", code]
    done = subprocess.run(
        command, cwd=home / "work", env=_environ(home), capture_output=True, text=True, check=False, timeout=_SECONDS
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


TYPED = {
    "a command": ("reconcile find", "findings"),
    "an option": ("reconcile findings --sev", "--severity"),
    "a value after =": ("reconcile findings --severity=h", "high"),
    "a rule": ("reconcile run --rule t", "twice"),
    "a finding": ("reconcile show F-", "FINDING"),
    "a finding in quotes": ("reconcile show 'F-", "FINDING"),
    "a configuration in quotes": ("reconcile run -c '../my configuration/reconcile.yaml' --rule th", "thrice"),
    "a configuration with an escape": (r"reconcile run -c ../my\ configuration/reconcile.yaml --rule th", "thrice"),
    "a program by its path": ("../bin/reconcile show F-", "FINDING"),
    "a program at home": ("~/bin/reconcile show F-", "FINDING"),
    "a file": ("reconcile version ord", "orders.csv"),
}


@pytest.mark.parametrize("name", TYPED)
def test_a_shell_completes(completed: Callable[[str, str], str], finding: str, name: str) -> None:
    typed, expected = TYPED[name]
    expected = expected.replace("FINDING", finding)

    assert expected in completed(typed, expected)


def test_a_shell_completes_files_where_the_configuration_has_mistakes(
    completed: Callable[[str, str], str], home: Path
) -> None:
    Project(home / "work").write("rules: [")

    assert "orders.csv" in completed("reconcile run --rule ord", "orders.csv")


def test_zsh_completes_at_the_first_tab_with_the_script_among_its_functions(home: Path, finding: str) -> None:
    """Packages install it there as `_reconcile`; zsh runs it when it is first needed."""
    _installed("zsh")
    functions = home / "functions"
    functions.mkdir()
    shutil.copy(home / "work" / "script.zsh", functions / "_reconcile")
    (home / "work" / "script.zsh").write_text(f"fpath=({functions} $fpath); compinit -u -D\n", encoding="utf-8")
    terminal = Terminal("zsh", home)
    terminal.type("reconcile show F-\t")

    assert finding in terminal.read_until(finding)
    terminal.close()


def test_fish_offers_what_a_word_means_and_no_error_for_a_program_that_is_not_there(home: Path) -> None:
    _installed("fish")

    assert _by_fish("reconcile findi", home) == (
        "findings\tList unresolved findings. Most severe first, then largest amount, then oldest.\n"
    )
    assert _by_fish("../nowhere/reconcile show F-", home) == ""
