"""The doctor: each thing that can be wrong is found, said with what to do, and keeps no other check from being made."""

import datetime as dt
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from notifications.base import Notice, TroubleNotice
from reconcile import config, doctor
from reconcile.app import Application
from reconcile.audit import log
from reconcile.coordination import lease, pauses
from reconcile.coordination.clock import HostTime, look
from reconcile.doctor import Diagnosis, host
from reconcile.messages import outbox
from reconcile.store import Store, Transaction, health, tables
from reconcile.store import slots as stored
from reconcile.store.slots import NewSlot, ScheduleRow
from reconcile.store.tables import audit_head, slots
from reconcile.store.tables import outbox as messages
from tests.product.docs.terminal import Terminal
from tests.support import next_version
from tests.support.docs import ROOT
from tests.support.store import NOON, FixedClock

MINUTE = dt.timedelta(minutes=1)


class Place:
    """A folder with a configuration, and what the doctor says of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "charges.csv").write_text("id,order\n1,A\n2,A\n3,B\n")
        self.write()

    def write(self, job: dict[str, Any] | None = None, **more: Any) -> None:
        written = {
            "sources": {"shop": {"type": "files"}},
            "datasets": {"charges": {"source": "shop", "path": "charges.csv", "id": "id"}},
            "rules": {"twice": {"kind": "duplicates", "dataset": "charges", "key": ["order"]}},
            "jobs": {"nightly": {"rules": ["twice"], "notify": ["team"], **(job or {})}},
            "channels": {"team": {"type": "file", "path": "messages.jsonl", "format": "jsonl"}},
        }
        (self.folder / "reconcile.yaml").write_text(json.dumps(written | more))

    def store(self) -> Store:
        return Store.open("sqlite:///reconcile.db", self.folder)

    def change(self, work: Callable[[Transaction], object]) -> None:
        with self.store() as store, store.begin() as tx:
            work(tx)

    def look(self) -> list[Diagnosis]:
        return list(doctor.examine(self.folder / "reconcile.yaml", {}))

    def said(self, subject: str) -> Diagnosis:
        [result] = [check for check in self.look() if check.subject == subject]
        return result

    def worse(self) -> list[tuple[str, str]]:
        """What is not well; this host's time zone data, and where it keeps temporary files, are what they are."""
        return [
            (check.subject, check.state)
            for check in self.look()
            if check.state != "ok" and check.subject != "time zones" and "is in memory" not in check.sentence
        ]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# A healthy place


def test_where_all_is_well_it_says_so_and_leaves_everything_as_it_was(place: Place) -> None:
    place.store().close()
    before = sorted(path.name for path in place.folder.iterdir())

    assert place.worse() == []
    assert sorted(path.name for path in place.folder.iterdir()) == before


def test_without_a_state_it_makes_none(place: Place) -> None:
    assert place.said("state").sentence.startswith("none yet; the first run creates it in /")
    assert not (place.folder / "reconcile.db").exists()


def test_the_command_prints_the_worst_first_and_its_code_says_how_bad_it_is(place: Place) -> None:
    terminal = Terminal(place.folder)
    place.write({"schedule": "0 6 * * *"})
    terminal.type("reconcile doctor --json")
    looked_at = json.loads(terminal.out), terminal.code
    (place.folder / "charges.csv").unlink()

    terminal.type("reconcile doctor --quiet")

    assert (looked_at[0]["state"], looked_at[1]) == ("warning", 1)
    assert {"subject": "job nightly", "state": "warning"}.items() <= next(
        check for check in looked_at[0]["checks"] if check["subject"] == "job nightly"
    ).items()
    assert terminal.code == 3
    states = [line.split()[0] for line in terminal.out.splitlines()]
    assert states == sorted(states)
    assert set(states) == {"error", "warning"}


@pytest.mark.server
def test_a_state_in_postgresql_is_looked_at_too(place: Place, postgres_url: str) -> None:
    place.write(state=postgres_url)
    Store.open(postgres_url, place.folder).close()

    checks = {check.subject: check for check in place.look()}

    assert {checks[name].state for name in ("state", "audit log", "key file", "clock", "queue", "messages")} == {"ok"}
    assert "disk" not in checks
    with sa.create_engine(postgres_url.replace("postgresql://", "postgresql+psycopg://")).connect() as connection:
        lossy = [
            name
            for name in ("fsync", "synchronous_commit", "full_page_writes")
            if connection.exec_driver_sql(f"SHOW {name}").scalar_one() == "off"
        ]
    told = [check.sentence.split("`")[1] for check in place.look() if check.subject == "database"]
    assert set(told) == set(lossy) - {"synchronous_commit"}


@pytest.mark.server
def test_whose_database_it_cleans_is_looked_at_also_where_the_state_is_in_postgresql(
    place: Place, postgres_url: str
) -> None:
    with sqlite3.connect(place.folder / "shop.db") as connection:
        connection.execute("create table charges (id integer primary key, o text)")
    place.write(
        state=postgres_url,
        sources={"shop": {"type": "sql", "url": "sqlite:///shop.db"}},
        datasets={"charges": {"source": "shop", "table": "charges", "id": "id"}},
        rules={"twice": {"kind": "duplicates", "dataset": "charges", "key": ["o"], "clean": {"action": "delete"}}},
    )
    Store.open(postgres_url, place.folder).close()

    assert [subject for subject, _ in place.worse() if subject != "database"] == []  # that of tests may not be durable


# What can be wrong


def test_a_source_that_is_gone_is_broken_and_the_rest_is_looked_at(place: Place) -> None:
    place.store().close()
    (place.folder / "charges.csv").unlink()

    states = {check.subject: check.state for check in place.look()}

    assert states["dataset charges"] == "error"
    assert states["audit log"] == "ok"


def test_a_check_that_fails_is_said_and_stops_no_other(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def falls_over(_application: object) -> list[Diagnosis]:
        raise ZeroDivisionError("Mrs Petersen")

    monkeypatch.setattr(doctor, "EVERYWHERE", (falls_over, *doctor.EVERYWHERE))

    first, *others = place.look()

    assert (first.subject, first.state) == ("falls over", "error")
    assert "ZeroDivisionError" in first.sentence
    assert "Petersen" not in first.sentence
    assert len(others) > 5


def test_an_older_state_is_not_upgraded(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.store().close()
    older = tables.REVISION
    next_version.install(place.folder / "versions", monkeypatch.setattr)

    assert place.said("state").state == "warning"
    assert "`reconcile migrate`" in place.said("state").sentence
    with sqlite3.connect(place.folder / "reconcile.db") as connection:
        assert connection.execute("SELECT revision FROM meta").fetchone() == (older,)


def test_a_damaged_state_is_broken(place: Place) -> None:
    place.store().close()
    file = place.folder / "reconcile.db"
    with sqlite3.connect(file) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'runs'").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    with file.open("r+b") as raw:
        raw.seek((root - 1) * size)
        raw.write(b"\xff" * size)

    assert ("state", "error") in place.worse()


def test_an_audit_log_that_was_cut_is_broken(place: Place) -> None:
    place.change(lambda tx: tx.connection.execute(sa.update(audit_head).values(seq=7, head="x")))

    assert place.said("audit log").state == "error"


def test_a_key_that_others_can_read_is_broken(place: Place) -> None:
    place.store().close()
    (place.folder / "reconcile.db.key").chmod(0o644)

    assert "error" in {check.state for check in place.look() if "chmod 600" in check.sentence}


@pytest.mark.parametrize(
    ("kind", "state"),
    [("ext4", "ok"), ("nfs4", "error"), ("cifs", "error"), ("fuse.sshfs", "error"), ("tmpfs", "warning")],
)
def test_the_disk_under_a_state_has_to_be_local_and_lasting(kind: str, state: str) -> None:
    mounts = f"/dev/a / ext4 rw 0 0\nhost:/x /srv/with\\040space {kind} rw 0 0\n"

    result = host.of_filesystem(Path("/srv/with space/state"), mounts)

    assert (result.state, f"({kind})" in result.sentence) == (state, True)


def test_a_full_disk_is_told_before_nothing_can_be_written() -> None:
    states = [host.of_room(Path("/srv"), free).state for free in (10**10, 10**8, 10**7)]

    assert states == ["ok", "warning", "error"]


def test_the_growth_of_a_year_is_told_from_the_last_days(place: Place) -> None:
    clock = FixedClock()
    with Store.open("sqlite:///reconcile.db", place.folder, clock=clock) as store:
        application = Application(config.load(place.folder / "reconcile.yaml", {}), store=store)
        with store.read() as tx:
            [young] = host.growth(application, tx)
        clock.now += dt.timedelta(days=10)
        for _ in range(50):
            clock.now += dt.timedelta(hours=1)
            with store.begin() as tx:
                log.append(tx, "ada", "run.finished", "run1", {"padding": "x" * 2000})
        with store.read() as tx:
            [grown] = host.growth(application, tx)
            size = health.size(tx)
        clock.now += dt.timedelta(days=365)
        with store.read() as tx:
            [idle] = host.growth(application, tx)

    assert "too new" in young.sentence
    [a_year] = re.findall(r"about ([0-9.]+) MB a year", grown.sentence)
    assert float(a_year) == pytest.approx(size / 7 * 365 / 1_000_000, abs=0.1)
    assert "about 0.0 MB a year" in idle.sentence


@pytest.mark.parametrize(("off", "state"), [(0, "ok"), (5, "ok"), (-6, "warning"), (61, "error"), (-3600, "error")])
def test_a_database_with_another_time_is_told(off: int, state: str) -> None:
    assert host.of_clocks(NOON + dt.timedelta(seconds=off), NOON).state == state


def test_a_clock_that_jumped_is_told(place: Place) -> None:
    def jump(tx: Transaction) -> None:
        look(tx, HostTime("boot", 0))
        look(tx, HostTime("boot", int(3600e9)))

    place.change(jump)

    assert ("clock", "warning") in place.worse()


@pytest.mark.parametrize(
    ("used", "packaged", "state"),
    [
        ("system 2025b", "2026a", "warning"),
        ("system 2026b", "2026a", "ok"),
        ("system 2026a", "2026a", "ok"),
        ("system of unknown version", "2026a", "ok"),
        ("tzdata 2026a", "2026a", "ok"),
    ],
)
def test_old_time_zone_data_of_the_host_go_before_the_packages_and_are_told(
    used: str, packaged: str, state: str
) -> None:
    assert host.of_time_zones(used, packaged).state == state


def test_due_times_of_other_time_zone_data_are_told(place: Place) -> None:
    place.change(
        lambda tx: stored.write_down(tx, [NewSlot("nightly", tx.now, "schedule:x/0", tx.now, tzdata="system 1999a")])
    )

    assert any("computed with system 1999a" in check.sentence for check in place.look())


def test_a_schedule_that_nobody_keeps_is_told_once_serve_has_run_here(place: Place) -> None:
    place.write({"schedule": "0 6 * * *", "success_within": "30h"})
    place.store().close()
    never = place.said("scheduler")
    place.change(lambda tx: stored.keep_schedule(tx, ScheduleRow("nightly", "r", tx.now, tx.now)))
    stopped = place.said("scheduler")
    with place.store() as store:
        lease.acquire(store, "scheduler", MINUTE)
        kept = place.said("scheduler")

    assert (never.state, stopped.state, kept.state) == ("ok", "warning", "ok")
    assert "start `reconcile serve`" in stopped.sentence


def test_a_due_time_that_waits_is_told(place: Place) -> None:
    place.change(lambda tx: stored.write_down(tx, [NewSlot("nightly", tx.now, "request:1", tx.now - 11 * MINUTE)]))

    assert place.worse() == [("queue", "warning")]
    assert "waited 11 minutes" in place.said("queue").sentence


def test_a_run_whose_process_is_gone_is_told(place: Place) -> None:
    def leave(tx: Transaction) -> None:
        stored.write_down(tx, [NewSlot("nightly", tx.now, "request:1", tx.now)])
        gone = lease.Owner.this_process(MINUTE).to_json() | {"pid": 2**22 - 1, "started": 1}
        tx.connection.execute(sa.update(slots).values(status="running", owner=gone))

    place.change(leave)

    assert place.worse() == [("job nightly", "warning")]


def test_messages_that_failed_are_in_doubt_or_wait_are_told_by_channel(place: Place) -> None:
    def queue(tx: Transaction) -> None:
        for number, values in enumerate(
            (
                {"status": "failed"},
                {"status": "unknown", "outcome_unknown": True},
                {"queued_at": tx.now - 2 * 60 * MINUTE},
                {"problem": "Channel 'team' was refused: the token is not valid"},
                {},
                {"status": "sent", "queued_at": tx.now - 2 * 60 * MINUTE},
            )
        ):
            trouble = TroubleNotice("x", "It is wrong", tx.now)
            name = f"msg1_{number}"
            notice = Notice(id=name, job=None, run=None, slot=tx.now, created=tx.now, timezone="UTC", trouble=trouble)
            outbox.enqueue(tx, "team", notice)
            if values:
                tx.connection.execute(sa.update(messages).where(messages.c.message == name).values(values))

    place.change(queue)

    told = [
        check.sentence.split(";")[0]
        for check in place.look()
        if check.subject == "channel team" and check.state == "warning"
    ]
    assert told == [
        "1 message failed",
        "1 message with an unknown outcome",
        "1 message not sent yet, will be retried (Channel 'team' was refused: the token is not valid)",
        "1 message waiting for over an hour",
    ]


def test_troubles_and_pauses_are_told_with_their_sentences(place: Place) -> None:
    def stop(tx: Transaction) -> None:
        pauses.pause(tx, "job:nightly", reason="the bank is closed", by="ada")
        tx.connection.execute(
            sa.insert(tables.troubles).values(
                subject="configuration", sentence="It is wrong", since=tx.now, channels=[]
            )
        )

    place.change(stop)

    assert place.worse() == [("trouble configuration", "warning"), ("pause of job:nightly", "warning")]
    assert "the bank is closed" in place.said("pause of job:nightly").sentence


# What the configuration asks for


def test_a_job_that_runs_by_itself_and_that_nobody_would_miss_is_told(place: Place) -> None:
    place.write({"schedule": "0 6 * * *", "notify": []})

    result = place.said("job nightly")

    assert result.state == "warning"
    assert "success_within" in result.sentence
    assert "notify" in result.sentence


def test_a_jitter_longer_than_the_time_between_two_slots_is_told(place: Place) -> None:
    place.write({"schedule": {"cron": "*/10 * * * *", "jitter": "15m"}, "success_within": "1h"})
    longer = place.worse()
    place.write({"schedule": {"cron": "*/10 * * * *", "jitter": "10m"}, "success_within": "1h"})

    assert longer == [("job nightly", "warning")]
    assert place.worse() == []


def test_a_statement_that_may_outlive_its_rule_is_told(place: Place) -> None:
    with sqlite3.connect(place.folder / "shop.sqlite") as connection:
        connection.execute('CREATE TABLE charges (id text, "order" text)')
    place.write(
        {"time_limit": "10m"},
        sources={"shop": {"type": "sql", "url": "sqlite:///shop.sqlite"}},
        datasets={"charges": {"source": "shop", "table": "charges", "id": "id"}},
    )

    assert ("source shop", "warning") in place.worse()


def test_warnings_of_the_configuration_are_told(place: Place) -> None:
    place.write(
        datasets={name: {"source": "shop", "path": "charges.csv", "id": "id"} for name in ("charges", "unread")}
    )

    assert ("configuration", "warning") in place.worse()


def test_everything_the_page_names_is_looked_at() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    section = page.split("\n## Doctor\n", 1)[1].split("\n## ", 1)[0]
    listed = re.findall(r"^- ((?:`[a-z ]+`(?:, )?)+)", section, re.MULTILINE)
    named = {name for names in listed for name in re.findall(r"`([a-z ]+)`", names)}

    assert named == {
        "installation",
        "time zones",
        "configuration",
        "sources",
        "rules",
        "state",
        "disk",
        "clock",
        "work",
        "cleaning",
    }
