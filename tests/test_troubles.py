"""Trouble with Reconcile itself: reported when it begins and when it ends, each once, to its channels."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from store_support import NOON, FixedClock, in_parallel

from notifications.base import Notice
from notifications.file import FileChannel, FileSettings
from notifications.wording import document, render
from reconcile import config
from reconcile.audit import log
from reconcile.config.settings import Project
from reconcile.messages import delivery, outbox, troubles
from reconcile.store import Store, tables
from reconcile.store import troubles as stored_troubles

SENTENCE = "The clock jumped from about noon to midnight. Set it right, then: reconcile resume --clock"
JOBS = {
    "nightly": {"rules": "all", "notify": ["finance"]},
    "hourly": {"rules": "all", "notify": ["finance", "sales"]},
    "silent": {"rules": "all"},
}


def project(folder: Path, **more: Any) -> Project:
    """Three jobs, one of which tells nobody, and four channels."""
    said = {
        "timezone": "Europe/Berlin",
        "sources": {"bank": {"type": "files"}},
        "datasets": {"payments": {"source": "bank", "path": "*.csv"}},
        "rules": {"twice": {"kind": "duplicates", "dataset": "payments", "key": "reference"}},
        "jobs": JOBS,
        "channels": {name: {"type": "file", "path": f"{name}.txt"} for name in ("finance", "sales", "ops", "unused")},
    }
    (folder / "reconcile.yaml").write_text(json.dumps(said | more), encoding="utf-8")
    return config.load(folder / "reconcile.yaml")


class Office:
    """A store whose clock stands still, and the project it belongs to."""

    def __init__(self, store: Store, clock: FixedClock, project: Project, url: str = "sqlite:///reconcile.db") -> None:
        self.store = store
        self.url = url
        self.clock = clock
        self.project = project

    def begin(self, subject: str = "clock", sentence: str = SENTENCE, job: str | None = None) -> bool:
        with self.store.begin() as tx:
            return troubles.begin(tx, self.project, subject, sentence, job=job)

    def end(self, subject: str = "clock", how: str | None = None) -> bool:
        with self.store.begin() as tx:
            return troubles.end(tx, self.project, subject, how)

    def told(self) -> list[tuple[str, str]]:
        """Every message in the outbox: its channel and headline."""
        return [(channel, render.headline(notice)) for channel, notice in self.notices()]

    def notices(self) -> Iterator[tuple[str, Notice]]:
        order = (tables.outbox.c.queued_at, tables.outbox.c.channel)
        with self.store.read() as tx:
            for row in tx.connection.execute(sa.select(tables.outbox).order_by(*order)):
                yield row.channel, outbox.notice_of(row.notice)

    def events(self) -> list[tuple[str, Mapping[str, Any]]]:
        with self.store.read() as tx:
            return [(one.event, one.body) for one in log.entries(tx, event="trouble")]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    shared = request.param == "postgresql"
    url = str(request.getfixturevalue("postgres_url")) if shared else "sqlite:///reconcile.db"
    clock = FixedClock()
    with Store.open(url, tmp_path, clock=clock) as store:
        yield Office(store, clock, project(tmp_path, alerts=["ops"]), url)


def test_a_trouble_is_told_once_when_it_begins_and_once_when_it_ends(office: Office) -> None:
    assert office.begin()
    office.clock.sleep(60)
    assert not office.begin()
    office.clock.sleep(60)
    assert office.end(how="A person said that the time is right.")
    assert not office.end()

    assert office.told() == [
        ("ops", "⚠️ Reconcile: the clock jumped from about noon to midnight"),
        ("ops", "✅ Resolved: the clock jumped from about noon to midnight"),
    ]
    assert office.events() == [
        ("trouble.begun", {"subject": "clock", "job": None, "channels": ["ops"]}),
        ("trouble.ended", {"subject": "clock", "job": None, "since": "2026-11-21T12:00:00.000000Z"}),
    ]


def test_the_messages_say_when_and_how_it_ended(office: Office) -> None:
    office.begin()
    office.clock.sleep(7_200)
    office.end(how="A person said that the time is right.")

    begun, ended = (document.text(render.document(notice, render.PAPER)) for _, notice in office.notices())
    assert "noticed Sat 21 Nov 2026, 13:00 CET" in begun
    assert "Set it right, then: reconcile resume --clock" in begun
    assert "A person said that the time is right. It was resolved 2 h after it was noticed." in ended


def test_a_sentence_that_changes_is_kept_and_not_told_again(office: Office) -> None:
    office.begin("configuration", "The configuration cannot be used: one mistake.")
    office.clock.sleep(60)
    assert not office.begin("configuration", "The configuration cannot be used: two mistakes.")

    with office.store.read() as tx:
        [one] = stored_troubles.ongoing(tx)
    assert one == troubles.Trouble(
        "configuration", None, "The configuration cannot be used: two mistakes.", NOON, ("ops",)
    )
    assert len(office.told()) == 1

    office.end("configuration")
    assert office.told()[-1] == ("ops", "✅ Resolved: the configuration cannot be used: two mistakes")


def test_the_trouble_of_a_job_is_told_to_its_channels_and_to_those_of_alerts(office: Office) -> None:
    office.begin("job:hourly", "Job hourly could not be run.", job="hourly")

    assert [channel for channel, _ in office.told()] == ["finance", "ops", "sales"]
    assert {notice.job for _, notice in office.notices()} == {"hourly"}


@pytest.mark.parametrize("job", [None, "silent", "gone"])
def test_without_alerts_all_channels_that_any_job_tells_hear_of_it(tmp_path: Path, job: str | None) -> None:
    with Store.open("sqlite:///reconcile.db", tmp_path, clock=FixedClock()) as store:
        office = Office(store, FixedClock(), project(tmp_path))

        office.begin(job=job)

        assert [channel for channel, _ in office.told()] == ["finance", "sales"]


def test_where_nobody_is_to_be_told_the_trouble_is_kept_all_the_same(tmp_path: Path) -> None:
    with Store.open("sqlite:///reconcile.db", tmp_path) as store:
        office = Office(store, FixedClock(), project(tmp_path, jobs={"silent": {"rules": "all"}}))

        assert office.begin()

        assert office.told() == []
        with store.read() as tx:
            assert [one.subject for one in stored_troubles.ongoing(tx)] == ["clock"]
        assert office.end()


def test_who_heard_that_it_began_hears_that_it_ended_whatever_the_configuration_says_by_then(office: Office) -> None:
    office.begin("job:nightly", "Job nightly could not be run.", job="nightly")
    office.clock.sleep(60)
    said = {name: {"type": "file", "path": f"{name}.txt"} for name in ("finance", "sales")}
    office.project = project(
        office.project.directory, alerts=["sales"], channels=said, jobs={"hourly": {"rules": "all"}}
    )

    office.end("job:nightly")

    assert [channel for channel, _ in office.told()] == ["finance", "ops", "finance"]  # ops is configured no more


def test_the_same_trouble_later_is_another_one(office: Office) -> None:
    for _ in range(2):
        office.begin()
        office.clock.sleep(60)
        office.end()
        office.clock.sleep(60)

    assert len(office.told()) == 4


def test_nothing_is_told_of_a_transaction_that_was_not_kept(office: Office) -> None:
    with pytest.raises(sa.exc.IntegrityError):
        _begin_and_break(office)

    assert (office.told(), office.events()) == ([], [])
    assert office.begin()


def _begin_and_break(office: Office) -> None:
    with office.store.begin() as tx:
        troubles.begin(tx, office.project, "clock", SENTENCE)
        tx.connection.execute(sa.update(tables.meta).values(id=2))


def test_message_ids_are_the_same_in_every_process_and_version(office: Office) -> None:
    """A change here makes messages that wait in somebody's outbox be told twice."""
    office.begin()
    office.clock.now = NOON + dt.timedelta(hours=1)
    office.end()

    assert [notice.id for _, notice in office.notices()] == [
        "msg1_f45f053e781473b36b6d5c54",
        "msg1_348e545b3fa0bb2bbc92a5e2",
    ]


def test_of_processes_that_see_one_trouble_at_once_one_tells_it(office: Office) -> None:
    code = """
        from reconcile import config
        from reconcile.messages import troubles
        project = config.load(root / "reconcile.yaml")
        with Store.open(url, root) as store, store.begin() as tx:
            print(troubles.begin(tx, project, "clock", "The clock jumped."))
        """

    said = in_parallel(4, code, office.url, office.project.directory)

    assert sorted(said) == ["False", "False", "False", "True"]
    assert len(office.told()) == 1


def test_a_trouble_is_delivered_like_any_message(office: Office) -> None:
    office.begin()
    place = office.project.directory
    channel = FileChannel("ops", FileSettings(type="file", path="ops.txt"), place)

    report = delivery.deliver(office.store, {"ops": channel}, sleep=office.clock.sleep)

    assert [(one.channel, one.run, one.job) for one in report.sent] == [("ops", None, "")]
    assert "⚠️ Reconcile: the clock jumped from about noon to midnight" in (place / "ops.txt").read_text("utf-8")
