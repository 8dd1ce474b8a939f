"""A process that cleans a file is killed at any moment, and a person saves the file: nothing is lost or done twice."""

from __future__ import annotations

import csv
import io
import random
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import openpyxl
import pytest

from connectors.disk.cleaning import exchange
from connectors.target import ReceiptStands
from tests.connectors.disk.cleaned_file import set_name, was_done
from tests.support.chance import SECONDS, SEED, few
from tests.support.forked import SERVER

HEADER, RECORDS = ("id", "name", "note"), 12
ROUNDS = 60
"""Rounds of one file: its receipts become more from round to round."""
LONGEST = 0.25
"""Seconds in which a process of ours reads and replaces such a file on a busy machine."""
Rows = dict[str, tuple[str, str]]


@dataclass(frozen=True)
class Kind:
    """A kind of file: how a person reads and saves it without our code."""

    name: str
    read: Callable[[bytes], Rows]
    save: Callable[[Rows], bytes]


def _read_csv(data: bytes) -> Rows:
    header, *rows = csv.reader(io.StringIO(data.decode()))
    assert tuple(header) == HEADER
    return {identifier: (name, note) for identifier, name, note in rows}


def _save_csv(rows: Rows) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerows([HEADER, *((identifier, *values) for identifier, values in rows.items())])
    return text.getvalue().encode()


def _read_workbook(data: bytes) -> Rows:
    header, *rows = openpyxl.load_workbook(io.BytesIO(data)).active.iter_rows(values_only=True)
    assert header == HEADER
    return {identifier: (name, note or "") for identifier, name, note in rows}


def _save_workbook(rows: Rows) -> bytes:
    book, data = openpyxl.Workbook(), io.BytesIO()
    for row in (HEADER, *((identifier, *values) for identifier, values in rows.items())):
        book.active.append(row)
    book.save(data)
    return data.getvalue()


KINDS = {
    "csv": Kind("a.csv", _read_csv, _save_csv),
    "xlsx": Kind("a.xlsx", _read_workbook, _save_workbook),
}


@dataclass
class Storm:
    """One file, cleaned by processes that are killed, and what it has to hold."""

    kind: str
    folder: Path
    random: random.Random
    rows: Rows = field(default_factory=lambda: {str(n): (f"name {n}", "") for n in range(1, RECORDS + 1)})
    kills: int = 0
    done_before_kill: int = 0

    def __post_init__(self) -> None:
        self._save()

    @property
    def path(self) -> Path:
        return self.folder / KINDS[self.kind].name

    def round(self, number: int) -> None:
        identifier, name, key = str(number % RECORDS + 1), f"cleaned {number}", f"key {number}"
        cleaned = {**self.rows, identifier: (name, self.rows[identifier][1])}
        self._killed(identifier, name, key)

        now = self._read()
        assert now in (self.rows, cleaned), f"round {number}: the file is neither as before nor as after"
        is_done = now == cleaned
        self.done_before_kill += is_done
        self.rows = now
        if self.random.random() < 0.4:
            self._edits(str((number + 5) % RECORDS + 1), number)

        assert was_done(self.kind, self.folder, key) == is_done, f"round {number}"
        assert self._read() == self.rows, f"round {number}: what a person saved is lost"
        if not is_done:
            set_name(self.kind, str(self.folder), identifier, name, key)
            self.rows = {**self.rows, identifier: (name, self.rows[identifier][1])}
            assert self._read() == self.rows, f"round {number}"
        if self.random.random() < 0.2:
            self._edits(identifier, number)
        with pytest.raises(ReceiptStands):
            set_name(self.kind, str(self.folder), identifier, f"{name} twice", key)
        assert self._read() == self.rows, f"round {number}: it was done twice"

    def _killed(self, identifier: str, name: str, key: str) -> None:
        """Start a process, and kill it after a step of the exchange or at any moment."""
        step = self.random.choice([None, *exchange.STEPS])
        arguments = (self.kind, str(self.folder), identifier, name, key, step)
        process = SERVER.Process(target=set_name, args=arguments)
        process.start()
        if step is None:
            process.join(self.random.uniform(0, LONGEST))
            process.kill()
        process.join(60)
        assert process.exitcode in (0, -signal.SIGKILL)
        self.kills += process.exitcode != 0

    def _edits(self, identifier: str, number: int) -> None:
        """A person changes a record and saves; half of the time they saved another version just before."""
        self.rows = {**self.rows, identifier: (f"typed {number}", "by hand")}
        if self.random.random() < 0.5:
            rows, self.rows = self.rows, {**self.rows, "new": ("Cy", "")}
            self._save()
            self.rows = rows
        self._save()

    def _save(self) -> None:
        theirs = self.path.with_name("theirs.tmp")
        theirs.write_bytes(KINDS[self.kind].save(self.rows))
        theirs.rename(self.path)

    def _read(self) -> Rows:
        return KINDS[self.kind].read(self.path.read_bytes())


@pytest.mark.chaos
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_whole_and_each_effect_is_made_once_however_often_processes_die(kind: str, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    rounds, kills, done = few(5, 1000), 0, 0
    for first in range(0, rounds, ROUNDS):
        folder = tmp_path / str(first)
        folder.mkdir()
        storm = Storm(kind, folder, chance)
        for number in range(first, min(first + ROUNDS, rounds)):
            storm.round(number)
        kills, done = kills + storm.kills, done + storm.done_before_kill

    print(f"{kind}: {rounds} rounds, {kills} kills, {done} done before the kill; RECONCILE_SEED={SEED}")
    assert kills > rounds // 2, f"RECONCILE_SEED={SEED}"
    assert SECONDS == 0 or 0 < done < rounds, f"RECONCILE_SEED={SEED}"
