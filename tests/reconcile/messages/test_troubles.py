"""Trouble with Reconcile itself: reported when it begins and when it ends, each once, to its channels."""

import datetime as dt
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from notifications.file import FileChannel, FileSettings
from notifications.wording import document, render
from reconcile.messages import delivery, troubles
from reconcile.store import tables
from reconcile.store import troubles as stored_troubles
from tests.support.office import STATE, Office
from tests.support.store import NOON, in_parallel

SENTENCE = "The clock jumped from about noon to midnight. Set it right, then: reconcile resume --clock"
JOBS = {
    "nightly": {"notify": ["finance"]},
    "hourly": {"notify": ["finance", "sales"]},
    "silent": {},
}


SECTIONS = {
    "timezone": "Europe/Berlin",
    "jobs": JOBS,
    "channels": {name: {"type": "file", "path": f"{name}.txt"} for name in ("finance", "sales", "ops", "unused")},
}
"""Three jobs, one of which tells nobody, and four channels."""


@pytest.fixture
def office(url: str, tmp_path: Path) -> Iterator[Office]:
    with Office.open(url, tmp_path) as office:
        office.configure(**SECTIONS, alerts=["ops"])
        yield office


def begin(office: Office, subject: str = "clock", sentence: str = SENTENCE, job: str | None = None) -> bool:
    return office.begin_trouble(subject, sentence, job)


def end(office: Office, subject: str = "clock", how: str = "The time is confirmed.") -> bool:
    return office.end_trouble(subject, how)


def events(office: Office) -> list[tuple[str, Mapping[str, Any]]]:
    return [(entry.event, entry.body) for entry in office.entries("trouble")]


def test_a_trouble_is_told_once_when_it_begins_and_once_when_it_ends(office: Office) -> None:
    assert begin(office)
    office.clock.sleep(60)
    assert not begin(office)
    office.clock.sleep(60)
    assert end(office, how="A person said that the time is right.")
    assert not end(office)

    assert office.headlines() == [
        ("ops", "⚠️ Reconcile: the clock jumped from about noon to midnight"),
        ("ops", "✅ A person said that the time is right"),
    ]
    assert events(office) == [
        ("trouble.begun", {"subject": "clock", "job": None, "channels": ["ops"]}),
        ("trouble.ended", {"subject": "clock", "job": None, "since": "2026-11-21T12:00:00.000000Z"}),
    ]


def test_the_messages_say_when_and_how_it_ended(office: Office) -> None:
    begin(office)
    office.clock.sleep(7_200)
    end(office, how="A person said that the time is right.")

    begun, ended = (document.text(render.document(notice, render.PAPER)) for _, notice in office.notices())
    assert "noticed Sat 21 Nov 2026, 13:00 CET" in begun
    assert "Set it right, then: reconcile resume --clock" in begun
    assert ended.startswith("✅ A person said that the time is right\n")
    assert "The trouble lasted 2 h: The clock jumped from about noon to midnight.\n" in ended


def test_a_sentence_that_changes_is_kept_and_not_told_again(office: Office) -> None:
    begin(office, "configuration", "The configuration cannot be used: one mistake.")
    office.clock.sleep(60)
    assert not begin(office, "configuration", "The configuration cannot be used: two mistakes.")

    with office.store.read() as tx:
        [item] = stored_troubles.ongoing(tx)
    assert item == troubles.Trouble(
        "configuration", None, "The configuration cannot be used: two mistakes.", NOON, ("ops",)
    )
    assert len(office.headlines()) == 1

    end(office, "configuration", "The configuration file is correct again.")
    assert office.headlines()[-1] == ("ops", "✅ The configuration file is correct again")


@pytest.mark.parametrize(("alerts", "channels"), [(["ops"], ["ops"]), ([], ["finance", "sales"])])
def test_the_trouble_of_a_job_goes_to_alerts_or_without_them_to_the_channels_of_the_job(
    office: Office, alerts: list[str], channels: list[str]
) -> None:
    office.configure(**SECTIONS, alerts=alerts)
    begin(office, "job:hourly", "Job hourly could not be run.", job="hourly")

    assert [channel for channel, _ in office.headlines()] == channels
    assert {notice.job for _, notice in office.notices()} == {"hourly"}


@pytest.mark.parametrize("job", [None, "silent", "gone"])
def test_without_alerts_all_channels_that_any_job_tells_hear_of_it(tmp_path: Path, job: str | None) -> None:
    with Office.open(STATE, tmp_path) as office:
        office.configure(**SECTIONS)

        begin(office, job=job)

        assert [channel for channel, _ in office.headlines()] == ["finance", "sales"]


def test_where_nobody_is_to_be_told_the_trouble_is_kept_all_the_same(tmp_path: Path) -> None:
    with Office.open(STATE, tmp_path) as office:
        office.configure(jobs={"silent": {}})

        assert begin(office)

        assert office.headlines() == []
        assert office.troubles() == ["clock"]
        assert end(office)


def test_who_heard_that_it_began_hears_that_it_ended_whatever_the_configuration_says_by_then(office: Office) -> None:
    office.configure(**SECTIONS, alerts=["ops", "finance"])
    begin(office, "job:nightly", "Job nightly could not be run.", job="nightly")
    office.clock.sleep(60)
    channels = {name: {"type": "file", "path": f"{name}.txt"} for name in ("finance", "sales")}
    office.configure(alerts=["sales"], channels=channels, jobs={"hourly": {}})

    end(office, "job:nightly")

    assert [channel for channel, _ in office.headlines()] == ["finance", "ops", "finance"]  # ops is configured no more


def test_the_same_trouble_later_is_another_one(office: Office) -> None:
    for _ in range(2):
        begin(office)
        office.clock.sleep(60)
        end(office)
        office.clock.sleep(60)

    assert len(office.headlines()) == 4


def test_nothing_is_told_of_a_transaction_that_was_not_kept(office: Office) -> None:
    with pytest.raises(sa.exc.IntegrityError):
        _begin_and_break(office)

    assert (office.headlines(), events(office)) == ([], [])
    assert begin(office)


def _begin_and_break(office: Office) -> None:
    with office.store.begin() as tx:
        troubles.begin(tx, office.project, "clock", SENTENCE)
        tx.connection.execute(sa.update(tables.meta).values(id=2))


def test_message_ids_are_the_same_in_every_process_and_version(office: Office) -> None:
    """A change here makes messages that wait in somebody's outbox be told twice."""
    begin(office)
    office.clock.now = NOON + dt.timedelta(hours=1)
    end(office)

    assert [notice.id for _, notice in office.notices()] == [
        "msg1_f45f053e781473b36b6d5c54",
        "msg1_348e545b3fa0bb2bbc92a5e2",
    ]


@pytest.mark.slow
def test_of_processes_that_see_one_trouble_at_once_one_tells_it(office: Office) -> None:
    code = """
        from reconcile import config
        from reconcile.messages import troubles
        project = config.load(root / "reconcile.yaml")
        with Store.open(url, root) as store, store.begin() as tx:
            print(troubles.begin(tx, project, "clock", "The clock jumped."))
        """

    answer = in_parallel(4, code, office.url, office.folder)

    assert sorted(answer) == ["False", "False", "False", "True"]
    assert len(office.headlines()) == 1


def test_a_trouble_is_delivered_like_any_message(office: Office) -> None:
    begin(office)
    place = office.folder
    channel = FileChannel("ops", FileSettings(type="file", path="ops.txt"), place)

    report = delivery.deliver(office.store, {"ops": channel}, sleep=office.clock.sleep)

    assert [(item.channel, item.run, item.job) for item in report.sent] == [("ops", None, "")]
    assert "⚠️ Reconcile: the clock jumped from about noon to midnight" in (place / "ops.txt").read_text("utf-8")
