"""A shop with charges and payments for the tests of whole runs, and the command line in processes of their own.

Processes are forked from a server that imported everything and opened nothing, so that each starts in milliseconds.
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa

from reconcile.audit import log
from reconcile.store import Store, key, tables
from rules.groups import keyed as groups
from tests.support import next_version
from tests.support.forked import SERVER

Json = dict[str, Any]

START = "2026-11-21T05:15:00Z"
NEXT = "2026-11-22T05:15:00Z"
Charge = tuple[str, str | None, str, str, str, str]


def charge(number: int, order: str | None, *, amount: str = "20.00", second: int = 0, status: str = "ok") -> Charge:
    """One charge of an order, so many seconds after noon."""
    at = f"2026-11-20 12:{second // 60:02d}:{second % 60:02d}"
    return (f"ch_{number:05d}", order, amount, "EUR", status, at)


def twice(number: int, order: str, *, times: int = 2) -> list[Charge]:
    """The same order charged that many times, 30 s apart; ids count up from `number`."""
    return [charge(number + n, order, second=30 * n) for n in range(times)]


@dataclass(frozen=True)
class Ended:
    """A command that ended: its exit code, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def rule(self, name: str) -> Json:
        """A rule's part of the report of one run."""
        [result] = [item for item in self.json["rules"] if item["rule"] == name]
        return dict(result)

    @property
    def counts(self) -> dict[str, int]:
        """The counts of a run of one rule, those that are not zero."""
        [rule] = self.json["rules"]
        return {name: number for name, number in rule["findings"].items() if number}


def _child(
    arguments: Sequence[str], folder: str, environ: Mapping[str, str], path: str, barrier: Any, dies_at: int
) -> None:
    os.chdir(folder)
    _prepare(environ)
    for number, end in ((1, "out"), (2, "err")):
        file = os.open(f"{path}.{end}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, number)
    sys.argv = ["reconcile", *arguments]
    from reconcile.cli import main  # noqa: PLC0415 - after the streams are in place

    if "NEXT_VERSION" in environ:
        next_version.install(Path(f"{path}.versions"))
    if barrier is not None:
        barrier.send("ready")
        barrier.recv()
    seen = _count_statements(dies_at)
    try:
        main()
    finally:
        Path(f"{path}.count").write_text(str(len(seen)))


def _count_statements(dies_at: int) -> list[None]:
    """A list with an entry for every statement and commit of this process; at that number it kills itself."""
    seen: list[None] = []

    def tick(*_: Any) -> None:
        seen.append(None)
        if len(seen) == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    sa.event.listen(sa.Engine, "before_cursor_execute", tick)
    sa.event.listen(sa.Engine, "commit", tick)
    return seen


FEW_ARE_MANY = "FEW_ARE_MANY"
"""In the environment of a command: it recognises unchanged groups of few records, too."""

ONE_KEY = "ONE_KEY"
"""In the environment of a command: states that it makes have the same key, so findings the same ids."""


def _prepare(environ: Mapping[str, str]) -> None:
    os.environ.update(environ)
    if FEW_ARE_MANY in environ:
        groups.FEW = 0
    if ONE_KEY in environ:
        key.secrets = SimpleNamespace(token_bytes=bytes, token_hex=secrets.token_hex)  # type: ignore[assignment]  # a fork


_NUMBERS = itertools.count()


class Command:
    """`reconcile …` in a process of its own; with `held` it waits, ready to run, until `go`."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        environ: Mapping[str, str] | None = None,
        held: bool = False,
        dies_at: int = 0,
    ) -> None:
        place = folder.parent / f"{folder.name}-output"
        place.mkdir(exist_ok=True)
        self._output = str(place / str(next(_NUMBERS)))
        self._pipe: Connection | None = None
        theirs: Connection | None = None
        if held:
            self._pipe, theirs = SERVER.Pipe()
        given = (arguments, str(folder), dict(environ or {}), self._output, theirs, dies_at)
        self.process = SERVER.Process(target=_child, args=given, daemon=True)
        self.process.start()
        if theirs is not None:
            theirs.close()

    def ready(self) -> Command:
        assert self._pipe is not None
        assert self._pipe.poll(60), "the command does not start"
        assert self._pipe.recv() == "ready"
        return self

    def go(self) -> Command:
        assert self._pipe is not None
        self._pipe.send("go")
        return self

    def kill(self) -> None:
        self.process.kill()
        self.process.join(60)

    @property
    def statements(self) -> int:
        """How many statements and commits the ended process made."""
        return int(Path(f"{self._output}.count").read_text())

    def end(self) -> Ended:
        self.process.join(120)
        code = self.process.exitcode
        assert code is not None, "the command does not end"
        out, err = (Path(f"{self._output}.{end}").read_text(encoding="utf-8") for end in ("out", "err"))
        return Ended(code, out, err)


def together(*commands: Command) -> list[Ended]:
    """Let commands that were held run at one moment, and wait for all of them."""
    for command in commands:
        command.ready()
    for command in commands:
        command.go()
    return [item.end() for item in commands]


def _resume(folder: str, slot: str | None, environ: Mapping[str, str], answer: Any) -> None:
    os.chdir(folder)
    _prepare(environ)
    from reconcile import config  # noqa: PLC0415 - imported before the fork, looked up after it
    from reconcile.app import Application  # noqa: PLC0415
    from reconcile.audit import log  # noqa: PLC0415 - imported before the fork, looked up after it
    from reconcile.masking.personal import Masking  # noqa: PLC0415
    from reconcile.masking.public import finding_json  # noqa: PLC0415
    from reconcile.store.findings import find  # noqa: PLC0415

    with Application(config.load("reconcile.yaml"), sleep=lambda seconds: time.sleep(seconds / 20)) as application:
        left = _left(application.store)
        report = application.run("nightly", slot=slot).to_json()
        with application.store.read() as tx:
            findings = [finding_json(item, Masking()) for item in find(tx)]
        verified = log.verify(application.store)
        after = _left(application.store)
    answer.send(
        {"left": left, "after": after, "report": report, "findings": findings, "intact": verified.intact}
        | {"problem": verified.problem}
    )


def _left(store: Any) -> str:
    """How far a job came: its last run with its checkpoints, and its messages."""
    with store.read() as tx:
        ran = list(tx.connection.execute(sa.select(tables.runs.c.status).order_by(tables.runs.c.started)).scalars())
        done = tx.connection.execute(sa.select(sa.func.count()).select_from(tables.run_rules)).scalar()
        sent = tx.connection.execute(sa.select(tables.outbox.c.status).order_by(tables.outbox.c.queued_at)).scalars()
        return f"{len(ran)} runs, the last {ran[-1] if ran else 'none'}, {done} rules, messages {' '.join(sent)}"


DOUBLE: Json = {
    "kind": "duplicates",
    "dataset": "charges",
    "where": "status = 'ok'",
    "key": ["order_id", "amount", "currency"],
    "keep": [{"first": "charged_at"}],
    "severity": "critical",
}
PAID: Json = {"kind": "duplicates", "dataset": "payments", "key": ["reference"], "keep": [{"first": "entry"}]}
CHARGES: Json = {"source": "shop", "table": "charges", "id": "id", "money": {"amount": "amount", "currency": "EUR"}}
PAYMENTS: Json = {"source": "bank", "path": "*.csv", "id": "entry"}


@dataclass
class ChargesProject:
    """A folder with a database of charges, a bank's CSV files, and a configuration that can be changed."""

    folder: Path
    state: str = "sqlite:///state.db"
    config: Json = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)

    @classmethod
    def at(cls, folder: Path, state: str = "sqlite:///state.db") -> ChargesProject:
        """An empty shop with the rule double-charge, the job nightly and the channel team."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "bank").mkdir()
        shop = cls(folder, state)
        with sqlite3.connect(folder / "shop.sqlite") as database:
            database.execute(
                "create table charges (id text primary key, order_id text, amount decimal(12, 2) not null, "
                "currency text not null, status text not null, charged_at text not null)"
            )
        database.close()
        shop.config = {
            "version": 1,
            "state": state,
            "sources": {"shop": {"type": "sql", "url": "sqlite:///shop.sqlite"}},
            "datasets": {"charges": CHARGES},
            "rules": {"double-charge": DOUBLE},
            "jobs": {"nightly": {"rules": ["double-charge"], "notify": ["team"]}},
            "channels": {"team": {"type": "file", "path": "messages.jsonl", "format": "jsonl"}},
        }
        return shop.write()

    def write(self) -> ChargesProject:
        (self.folder / "reconcile.yaml").write_text(json.dumps(self.config, indent=1), encoding="utf-8")
        return self

    def with_bank(self, *lines: str) -> ChargesProject:
        """The bank's files as a second source, with the rule paid-twice in the same job."""
        self.config["sources"]["bank"] = {"type": "files", "root": "bank"}
        self.config["datasets"]["payments"] = PAYMENTS
        self.config["rules"]["paid-twice"] = PAID
        self.config["jobs"]["nightly"]["rules"] = ["double-charge", "paid-twice"]
        self.pay(*lines)
        return self.write()

    def pay(self, *lines: str) -> None:
        """Replace the bank's file; a line is `entry;reference`."""
        text = "\n".join(["entry;reference", *lines, ""])
        (self.folder / "bank" / "payments.csv").write_text(text, encoding="utf-8")

    def add(self, *charges: Iterable[Any]) -> ChargesProject:
        with sqlite3.connect(self.folder / "shop.sqlite") as database:
            database.executemany("insert into charges values (?, ?, ?, ?, ?, ?)", [tuple(item) for item in charges])
        database.close()
        return self

    def sql(self, statement: str) -> None:
        with sqlite3.connect(self.folder / "shop.sqlite") as database:
            database.execute(statement)
        database.close()

    def copy(self, to: Path, state: str | None = None) -> ChargesProject:
        """The same shop with all it remembers, in another folder; its state at another address if one is given."""
        shutil.copytree(self.folder, to)
        config = self.config | {"state": state or self.state}
        return ChargesProject(to, state or self.state, config, self.environ).write()

    # Running

    def cli(self, *arguments: str) -> Ended:
        return Command(self.folder, *arguments, environ=self.environ).end()

    def run(self, *arguments: str, code: int = 0) -> Ended:
        """`reconcile run … --json`, which ends with that code."""
        ended = self.cli("run", "--json", "--all", *arguments)
        assert ended.code == code, (ended.code, ended.err, ended.out)
        return ended

    def held(self, *arguments: str, dies_at: int = 0) -> Command:
        """A command that waits to be let go; it kills itself at its statement of that number, if there is one."""
        return Command(self.folder, *arguments, environ=self.environ, held=True, dies_at=dies_at)

    def resumed(self, slot: str | None) -> Json:
        """What a kill left, and what one more run of the job then comes to, with waits a twentieth as long."""
        ours, theirs = SERVER.Pipe()
        process = SERVER.Process(target=_resume, args=(str(self.folder), slot, self.environ, theirs), daemon=True)
        process.start()
        theirs.close()
        assert ours.poll(120), "the next run does not end"
        answer: Json = ours.recv()
        process.join(60)
        return answer

    # Looking

    def messages(self, path: str = "messages.jsonl") -> list[Json]:
        """Every message in the file channel."""
        file = self.folder / path
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def findings(self) -> list[Json]:
        return list(self.cli("findings", "--all", "--json").json)

    def intact(self) -> bool:
        return bool(self.cli("audit", "verify", "--json").json["intact"])

    def chained(self) -> bool:
        """The log alone is intact: rows that were laid by hand are in no entry."""
        with Store.open(self.state, self.folder) as store:
            return log.verify(store).intact


def told(message: Json, rule: str = "double-charge") -> list[tuple[str, str, list[str]]]:
    """The groups a message tells of a rule: what happened to each, its keeper, its surplus."""
    groups = [group for item in message["rules"] if item["rule"] == rule for group in item["largest"]]
    return sorted((item["state"], item["keeper"], list(item["surplus"])) for item in groups)


def known(findings: Iterable[Json]) -> list[tuple[Any, ...]]:
    """What must be the same of findings however often a run was killed."""
    names = ("id", "rule", "state", "keeper", "surplus", "key", "version", "records", "money")
    return sorted(tuple(json.dumps(finding.get(name)) for name in names) for finding in findings)
