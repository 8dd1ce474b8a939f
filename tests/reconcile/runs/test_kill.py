"""kill -9 at any moment of a run: one more run ends in the same findings, and in the same messages, each sent once.

RECONCILE_KILLS is how many kills there are (8; `make chaos` has more), RECONCILE_SEED where their moments come from
(printed).
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile.testing.slack_server import SlackServer
from tests.support.runs import (
    FEW_ARE_MANY,
    NEXT,
    ONE_KEY,
    START,
    ChargesProject,
    Command,
    Json,
    charge,
    known,
    told,
    twice,
)
from tests.support.servers import POSTGRES

KILLS = int(os.environ.get("RECONCILE_KILLS", "8"))
SEED = int(os.environ.get("RECONCILE_SEED") or random.randrange(10**6))
RUN = ("run", "--json", "--quiet", "nightly")

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(max(300, 12 * KILLS))]


@pytest.fixture(scope="module")
def slack() -> Iterator[SlackServer]:
    with SlackServer() as server:
        yield server


def _shop(folder: Path, slack: SlackServer, state: str = "sqlite:///state.db") -> ChargesProject:
    """Two sources, two rules, two channels, and enough groups for Slack to need a thread."""
    shop = ChargesProject.at(folder, state)
    shop.environ[ONE_KEY] = "yes"
    shop.add(*(item for n in range(6) for item in twice(10 * n, f"A-{n}")), charge(99, "A-99"))
    shop.with_bank("1;INV-1", "2;INV-1", "3;INV-2", "4;INV-2", "5;INV-3")
    bot = {"type": "slack", "token": slack.token, "channel": "C0FINANCE1", "base_url": slack.base_url}
    shop.config["channels"]["slack"] = bot
    shop.config["jobs"]["nightly"]["notify"] = ["team", "slack"]
    return shop.write()


def _change(shop: ChargesProject) -> None:
    """A night later: new groups, one that grew, one that is back, one that is gone, and one that was dismissed."""
    shop.sql("update charges set status = 'refunded' where id = 'ch_00001'")
    shop.run("--slot", "2026-11-21T06:15:00Z")
    [dismissed] = [finding["id"] for finding in shop.findings() if finding["key"].get("order_id") == "A-5"]
    assert shop.cli("dismiss", dismissed).code == 0
    shop.sql("update charges set status = 'ok' where id = 'ch_00001'")
    shop.sql("update charges set status = 'refunded' where id = 'ch_00011'")
    shop.add(charge(29, "A-2", second=600), *(item for n in range(7, 12) for item in twice(10 * n, f"A-{n}")))
    shop.pay("1;INV-1", "2;INV-1", "3;INV-2", "5;INV-3", "6;INV-3", "7;INV-4", "8;INV-4")


def _told(message: Json) -> Any:
    """What must be the same of a message however often its run was killed."""
    names = ("rule", "new", "grown", "reopened", "known", "records", "money", "first_run", "skipped")
    rules = [[rule[name] for name in names] for rule in message["rules"]]
    return [
        rules,
        told(message),
        told(message, "paid-twice"),
        [(failure["subject"], failure["ended"]) for failure in message["failures"]],
    ]


@dataclass
class Trial:
    """A shop as it stands before the run that is killed, and what that run comes to when it is not."""

    base: ChargesProject
    slack: SlackServer
    copy: Callable[[Path], ChargesProject]
    before: int
    findings: list[tuple[Any, ...]]
    message: Any
    replies: int
    seconds: float
    statements: int
    status: str

    @classmethod
    def of(
        cls, base: ChargesProject, slack: SlackServer, copy: Callable[[Path], ChargesProject], status: str = "succeeded"
    ) -> Trial:
        """Run copies of it without a kill, the first to be warm; the quickest says how long a run takes."""
        took: list[float] = []
        for name in ("warm", "first", "second", "third"):
            slack.messages.clear()
            shop = copy(base.folder.parent / name)
            command = shop.held(*RUN, "--slot", NEXT).ready()
            begun = time.monotonic()
            command.go()
            assert command.end().json["status"] == status
            took.append(time.monotonic() - begun)
        [parent] = slack.parents()
        before = len(base.messages())
        [message] = shop.messages()[before:]
        left = shop.resumed(NEXT)
        assert left["report"].get("repeated", False) is (status == "succeeded")
        replies, statements = len(slack.replies(parent["ts"])), command.statements
        return cls(
            base, slack, copy, before, known(left["findings"]), _told(message), replies, min(took), statements, status
        )

    def kill(self, place: Path, slot: str | None, *, after: float = 0, at: int = 0) -> str:
        """One kill, one more run, and nothing may differ; returns how far the killed run had come."""
        self.slack.messages.clear()
        shop = self.copy(place)
        given = () if slot is None else ("--slot", slot)
        command = shop.held(*RUN, *given, dies_at=at).ready().go()
        if not at:
            time.sleep(after)
            command.kill()
        _await(command)
        answer = shop.resumed(slot)
        where = f"killed after {after:.3f} s at statement {at} of {self.statements}, which left {answer['left']}"
        assert answer["intact"], (where, answer["problem"])
        assert answer["report"]["status"] == self.status, (where, answer)
        assert "undelivered" not in answer["report"], (where, answer)
        assert known(answer["findings"]) == self.findings, where
        told_now = [_told(message) for message in shop.messages()[self.before :]]
        assert told_now == [self.message], where
        assert len(self.slack.parents()) == 1, where
        assert len(self.slack.replies(self.slack.parents()[0]["ts"])) == self.replies, where
        assert not self.slack.refused, where
        return str(answer["left"])

    def report(self, kind: str, phases: Counter[str]) -> None:
        print(f"\n{kind}: seed {SEED}, {self.seconds:.2f} s and {self.statements} statements a run; kills left:")
        for phase, times in sorted(phases.items()):
            print(f"  {times:4d} × {phase}")


def _await(command: Command) -> None:
    command.process.join(60)
    assert command.process.exitcode in (-9, 0, 3), command.end()


@pytest.fixture(scope="module")
def first_night(tmp_path_factory: pytest.TempPathFactory, slack: SlackServer) -> Trial:
    """The very first run: there is no state yet."""
    base = _shop(tmp_path_factory.mktemp("first") / "shop", slack)
    return Trial.of(base, slack, base.copy)


@pytest.fixture(scope="module")
def second_night(tmp_path_factory: pytest.TempPathFactory, slack: SlackServer) -> Trial:
    """A run that finds new, grown, reopened, resolved and settled groups."""
    base = _shop(tmp_path_factory.mktemp("second") / "shop", slack)
    base.run("--slot", START)
    _change(base)
    return Trial.of(base, slack, base.copy)


@pytest.fixture(scope="module")
def unchanged_night(tmp_path_factory: pytest.TempPathFactory, slack: SlackServer) -> Trial:
    """The same, but groups that did not change are recognised by their digests, as those of many records are."""
    base = _shop(tmp_path_factory.mktemp("unchanged") / "shop", slack)
    base.environ[FEW_ARE_MANY] = "yes"
    base.run("--slot", START)
    _change(base)
    with closing(sqlite3.connect(base.folder / "state.db")) as state:
        assert state.execute("select count(*) from findings where digest is not null").fetchone() == (7,)
    return Trial.of(base, slack, base.copy)


@pytest.fixture(scope="module")
def broken_night(tmp_path_factory: pytest.TempPathFactory, slack: SlackServer) -> Trial:
    """The same while the bank's files are away, so that one rule cannot be checked."""
    base = _shop(tmp_path_factory.mktemp("broken") / "shop", slack)
    base.run("--slot", START)
    _change(base)
    (base.folder / "bank").rename(base.folder / "away")
    return Trial.of(base, slack, base.copy, "failed")


@pytest.fixture(scope="module")
def shared_night(tmp_path_factory: pytest.TempPathFactory, slack: SlackServer) -> Iterator[Trial]:
    """The same with the state in PostgreSQL; every kill gets a database of its own, copied from one template."""
    server = sa.create_engine(POSTGRES, isolation_level="AUTOCOMMIT", connect_args={"connect_timeout": 5})
    values: list[str] = []

    def database(template: str | None = None) -> str:
        name = f"reconcile_{uuid.uuid4().hex[:12]}"
        with server.connect() as connection:
            connection.execute(sa.text(f"create database {name}" + (f" template {template}" if template else "")))
        values.append(name)
        return name

    def url(name: str) -> str:
        return sa.make_url(POSTGRES).set(drivername="postgresql", database=name).render_as_string(hide_password=False)

    try:
        first = database()
    except sa.exc.OperationalError as error:
        if os.environ.get("CI"):
            pytest.fail(f"no PostgreSQL: {error.orig}")
        pytest.skip(f"no PostgreSQL: {error.orig}")
    base = _shop(tmp_path_factory.mktemp("shared") / "shop", slack, url(first))
    base.run("--slot", START)
    _change(base)
    try:
        yield Trial.of(base, slack, lambda place: base.copy(place, url(database(first))))
    finally:
        with server.connect() as connection:
            for name in values:
                connection.execute(sa.text(f"drop database {name} with (force)"))
        server.dispose()


def _moments(trial: Trial, count: int, name: str) -> Iterator[float]:
    """Random moments spread evenly over the whole duration of a run, and a little beyond."""
    chance = random.Random(f"{SEED} {name}")
    for number in range(count):
        yield (number + chance.random()) / count * trial.seconds * 1.6


@pytest.mark.parametrize("slot", [NEXT, None], ids=["the same slot again", "a run without a slot"])
def test_whenever_a_run_is_killed_the_next_ends_in_the_same_findings_and_messages(
    second_night: Trial, tmp_path: Path, slot: str | None
) -> None:
    phases: Counter[str] = Counter()

    for number, after in enumerate(_moments(second_night, KILLS // 2, str(slot))):
        phases[second_night.kill(tmp_path / f"k{number}", slot, after=after)] += 1

    second_night.report("by time", phases)
    assert len(phases) > 1, "the kills were not spread over the run"


def test_killed_before_any_of_its_statements_a_run_loses_and_repeats_nothing(
    second_night: Trial, tmp_path: Path
) -> None:
    chance, total = random.Random(f"{SEED} statements"), second_night.statements
    phases: Counter[str] = Counter()
    count = max(2, KILLS // 2)

    for number in range(count):
        at = 1 + int((number + chance.random()) / count * total)
        left = second_night.kill(tmp_path / f"k{number}", NEXT if number % 2 else None, at=at)
        phases[left] += 1

    second_night.report("by statement", phases)
    assert len(phases) > 1, "the kills were not spread over the run"


def test_a_first_run_killed_while_its_state_is_made_leaves_a_state_to_go_on_with(
    first_night: Trial, tmp_path: Path
) -> None:
    chance = random.Random(f"{SEED} first")
    phases: Counter[str] = Counter()
    count = max(2, KILLS // 4)

    for number in range(count):
        at = 1 + int((number + chance.random()) / count * first_night.statements)
        phases[first_night.kill(tmp_path / f"k{number}", NEXT, at=at)] += 1

    first_night.report("a first run, by statement", phases)
    assert len(phases) > 1, "the kills were not spread over the run"


def test_a_killed_run_that_could_not_check_a_source_tells_that_once_when_it_began_and_once_when_it_ended(
    broken_night: Trial, tmp_path: Path
) -> None:
    chance, total = random.Random(f"{SEED} broken"), broken_night.statements
    phases: Counter[str] = Counter()
    count = max(2, KILLS // 8)

    for number in range(count):
        at = 1 + int((number + chance.random()) / count * total)
        place = tmp_path / f"k{number}"
        phases[broken_night.kill(place, NEXT, at=at)] += 1
        (place / "away").rename(place / "bank")
        assert ChargesProject(place).resumed(NEXT)["report"]["status"] == "succeeded"
        assert ChargesProject(place).resumed(None)["report"]["status"] == "succeeded"
        last = [_told(message) for message in ChargesProject(place).messages()[broken_night.before + 1 :]]
        assert [failures for *_, failures in last] == [[("source bank", True)]], f"killed at statement {at}"

    broken_night.report("a source that is down, by statement", phases)


def test_a_run_that_recognises_unchanged_groups_survives_a_kill_before_any_of_its_statements(
    unchanged_night: Trial, second_night: Trial, tmp_path: Path
) -> None:
    """What it leaves is what a run leaves that builds and judges every group."""
    chance, total = random.Random(f"{SEED} unchanged"), unchanged_night.statements
    phases: Counter[str] = Counter()
    count = max(2, KILLS // 8)

    for number in range(count):
        at = 1 + int((number + chance.random()) / count * total)
        phases[unchanged_night.kill(tmp_path / f"k{number}", NEXT if number % 2 else None, at=at)] += 1

    unchanged_night.report("groups recognised, by statement", phases)
    assert unchanged_night.findings == second_night.findings
    assert unchanged_night.message == second_night.message


@pytest.mark.server
def test_a_run_on_a_shared_store_survives_a_kill_at_any_moment_too(shared_night: Trial, tmp_path: Path) -> None:
    chance = random.Random(f"{SEED} shared")
    phases: Counter[str] = Counter()
    count = max(2, KILLS // 8)

    for number, after in enumerate(_moments(shared_night, count, "shared")):
        phases[shared_night.kill(tmp_path / f"t{number}", NEXT if number % 2 else None, after=after)] += 1
        at = 1 + int((number + chance.random()) / count * shared_night.statements)
        phases[shared_night.kill(tmp_path / f"s{number}", None if number % 2 else NEXT, at=at)] += 1

    shared_night.report("PostgreSQL, by time and by statement", phases)
    assert len(phases) > 1, "the kills were not spread over the run"
