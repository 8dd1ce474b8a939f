"""What could go wrong between the parts, a third look: never sent, erased, put off by a wrong clock, not told."""

from __future__ import annotations

import base64
import datetime as dt
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from clean_support import World
from cli_support import FILES, Project, in_words
from filled_support import stored
from pydantic import SecretStr
from store_support import FixedClock

from notifications.base import Notice, Receipt
from notifications.slack.channel import SlackSettings as SlackChannelSettings
from reconcile import config
from reconcile.app import Application
from reconcile.audit import anchoring
from reconcile.audit.anchors.settings import SlackSettings
from reconcile.audit.anchors.slack import SlackAnchor
from reconcile.audit.proof import prove
from reconcile.cleaning.decisions import AnotherWentBeyond
from reconcile.cleaning.execution import carrier
from reconcile.coordination.clock import HostTime
from reconcile.coordination.lease import Owner
from reconcile.findings.states import BundleState, Event
from reconcile.messages import delivery, outbox
from reconcile.service.scheduler import Scheduler
from reconcile.store import Store, tables
from reconcile.store import troubles as stored_troubles
from reconcile.testing.slack_server import SlackServer
from reconcile.tracking import progress
from reconcile.upkeep import backup, erasure
from reconcile.upkeep.restore import restore

MINUTE = dt.timedelta(minutes=1)
NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
DELETE = {"clean": {"action": "delete"}}
ALONE = DELETE | {"approval": "none"}
TWO = ((1, "a@x", "Anna"), (2, "a@x", "Ann"), (3, "b@x", "Bob"))


def tamper(world: World, finding: str, old: str, new: str) -> None:
    """Somebody edits a plan in the state database."""
    with closing(sqlite3.connect(world.folder / "reconcile.db")) as connection:
        connection.execute("UPDATE bundles SET content = replace(content, ?, ?) WHERE finding = ?", (old, new, finding))
        connection.commit()


# Plans that were never sent, and that a person says were not done


@pytest.mark.slow
def test_a_plan_that_was_never_sent_and_was_judged_not_done_is_carried_out_and_holds_up_nothing(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, (4, "b@x", "Bo"), twins=DELETE)
    world.run()
    bad, good = sorted(world.findings())
    world.approve(bad, later=True)
    word = "Ann" if "Ann" in (world.plans(bad)[0].content or "") else "Bo"
    tamper(world, bad, word, "Eve")
    world.run()
    assert world.findings()[bad] == "quarantined"
    tamper(world, bad, "Eve", word)
    world.approve(good, later=True)

    with world.desk() as desk:
        said = desk.judge(bad, "not_done")
    world.run()

    assert (said.ok, said.state) == (True, BundleState.SUCCEEDED)
    assert (set(world.findings().values()), world.ids(), world.intact()) == ({"cleaned"}, [1, 3], True)


# What is erased, and what stays whole

YEAR = f"{dt.datetime.now(dt.UTC).year}"
BERLIN = ((1, "a@x", "Berlin"), (2, "a@x", "Bonn"))


def personal(folder: Path, rule: dict[str, Any] | None = None, **more: object) -> World:
    """Two twins; their names, of which one is a part of the time zone's, are personal data."""
    people = {"customers": {"source": "shop", "table": "customers", "id": "id", "pii": ["name"]}}
    said = {"datasets": people, "timezone": "Europe/Berlin", **more}
    return World.at(folder, *BERLIN, config=said, twins=rule or {})


def erase(store: Store, value: str) -> None:
    """As `reconcile erase` does it by value."""
    wanted = erasure.of_value(store, "customers", "name", value)
    erasure.erase(store, wanted, texts=(value,))


@pytest.mark.slow
@pytest.mark.parametrize("word", ["Berlin", YEAR, "medium", "customers"])
def test_a_message_that_waits_is_delivered_though_what_is_erased_is_a_part_of_its_facts(
    word: str, tmp_path: Path
) -> None:
    (tmp_path / "w" / "away").mkdir(parents=True)
    world = personal(tmp_path / "w", channels={"team": {"type": "file", "path": "away"}})
    world.run()
    with world.open() as application:
        erase(application.store, word)
    world.config["channels"] = {"team": {"type": "file", "path": "messages.txt"}}

    report = world.run()

    assert ("team" in report.sent, report.undelivered, "twins" in world.messages()) == (True, (), True)


def test_the_report_of_a_run_can_be_read_though_what_is_erased_is_a_part_of_its_time(tmp_path: Path) -> None:
    world = personal(tmp_path / "w")
    run = world.run()
    with world.open() as application:
        erase(application.store, YEAR)

        again = application.run("nightly", slot=run.slot)

    assert (again.repeated, again.slot, again.run) == (True, run.slot, run.run)


def test_the_log_of_a_restored_state_is_whole_though_what_is_erased_is_a_part_of_a_time(tmp_path: Path) -> None:
    world = personal(tmp_path / "w", audit={"anchors": {"log": {"type": "file", "path": "anchors.jsonl"}}})
    world.run()
    with world.open() as application:
        backup.make(application.store, tmp_path / "b.db")
    world.add((3, "c@x", "Cleo"), (4, "c@x", "Clea"))
    world.run()
    with world.open() as application:
        restore(application.store, tmp_path / "b.db", yes=True)

    with world.open() as application:
        erase(application.store, YEAR)
        found = prove(application.store, application.anchors)

    assert found.problem is None


@contextmanager
def sealing(world: World) -> Iterator[Application]:
    """The application of a world whose plans are sealed."""
    key = world.folder / "sealing.key"
    key.write_text(base64.b64encode(bytes(32)).decode())
    key.chmod(0o600)
    world.config["encryption_key"] = f"${{file:{key}}}"
    world.write()
    with Application(config.load(world.folder / "reconcile.yaml", {}), sleep=lambda _: None) as application:
        yield application


def test_a_state_whose_plans_are_sealed_is_restored_though_something_was_erased_since(tmp_path: Path) -> None:
    world = personal(tmp_path / "w", DELETE)
    with sealing(world) as application:
        application.run("nightly")
        application.desk("anna").approve(world.only())
        backup.make(application.memory, tmp_path / "b.db")
        erase(application.memory, "Bonn")

    with sealing(world) as application:
        done = restore(application.store, tmp_path / "b.db", yes=True)

    assert done.erased_again == 1
    assert [one.content for one in world.plans()] == [None]


def test_a_value_is_erased_though_a_sealed_plan_was_damaged(tmp_path: Path) -> None:
    world = personal(tmp_path / "w", DELETE)
    world.add((3, "c@x", "Bonn"), (4, "c@x", "Cleo"))
    with sealing(world) as application:
        application.run("nightly")
        for name in sorted(world.findings()):
            application.desk("anna").approve(name)
    bad, good = sorted(world.findings())
    with closing(sqlite3.connect(world.folder / "reconcile.db")) as connection:
        connection.execute("UPDATE bundles SET content = substr(content, 1, 60) WHERE finding = ?", (bad,))
        connection.commit()

    with sealing(world) as application:
        erase(application.memory, "Bonn")

    assert world.plans(good)[0].content is None


def test_what_people_wrote_when_they_took_back_or_judged_a_cleaning_is_erased_too(tmp_path: Path) -> None:
    """The rule compares e-mails, so nothing of the finding itself names her."""
    world = personal(tmp_path / "w", DELETE)
    world.run()
    world.approve(world.only())
    world.undo(world.only(), note="Bonn rang up")
    with world.open() as application, application.store.begin() as tx:
        why = progress.Move(world.only(), Event.UNDONE, why="Bonn rang up again")
        progress.move(tx, [why], by="anna")

    with world.open() as application:
        erase(application.store, "Bonn")

    kept = stored("sqlite:///reconcile.db", world.folder)
    assert [name for name, rows in kept.items() if "Bonn" in repr(rows)] == []
    assert world.intact()


# The clock was set back


def test_what_waits_for_a_time_that_a_clock_set_back_moved_away_is_not_waited_for_as_long(tmp_path: Path) -> None:
    """A message and a plan from a year that never was."""
    (tmp_path / "w" / "away").mkdir(parents=True)
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.config["channels"] = {"team": {"type": "file", "path": "away"}}
    world.clock = NOON + dt.timedelta(days=400)
    world.run()
    world.approve(world.only(), later=True)

    world.clock = NOON
    world.config["channels"] = {"team": {"type": "file", "path": "messages.txt"}}
    report = world.run()

    assert (report.sent, world.findings(), world.ids()) == (("team",), {world.only(): "cleaned"}, [1, 3])


def test_serve_waits_no_longer_either_once_it_saw_the_clock_set_back(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.clock = NOON + dt.timedelta(days=400)
    world.run()
    world.approve(world.only(), later=True)
    with world.open() as application:
        host = HostTime("boot-1", 0)
        serving = Scheduler(application.store, host=lambda: host)
        serving.tick(application.project)
        world.clock = NOON

        serving.tick(application.project)

        assert carrier.anything_due(application.store)


# Messages


class Defective:
    """A channel that fails as none may."""

    def send(self, notice: Notice) -> Receipt:
        raise KeyError(notice.id)

    def find(self, notice: Notice) -> Receipt | None:
        raise KeyError(notice.id)


class Mailbox:
    def __init__(self) -> None:
        self.arrived: list[str] = []

    def send(self, notice: Notice) -> Receipt:
        self.arrived.append(notice.id)
        return Receipt("mailbox")

    def find(self, notice: Notice) -> Receipt | None:
        del notice
        return None


@pytest.fixture
def office(tmp_path: Path) -> Iterator[tuple[Store, FixedClock]]:
    clock = FixedClock()
    with Store.open("sqlite:///reconcile.db", tmp_path, clock=clock) as store:
        yield store, clock


def queue(store: Store, name: str, channel: str) -> None:
    with store.begin() as tx:
        outbox.enqueue(tx, channel, Notice(id=name, job="nightly", run="run1_x", slot=NOON, test=True))


def test_a_channel_with_a_defect_keeps_no_other_from_being_told_and_is_given_up(
    office: tuple[Store, FixedClock],
) -> None:
    store, clock = office
    queue(store, "m1", "broken")
    queue(store, "m2", "post")
    post = Mailbox()

    report = delivery.deliver(store, {"broken": Defective(), "post": post}, sleep=clock.sleep)
    clock.sleep(4 * 86_400)
    over = delivery.deliver(store, {"broken": Defective(), "post": post}, sleep=clock.sleep)

    assert (post.arrived, [one.message for one in report.waiting]) == (["m2"], ["m1"])
    [failed] = over.failed
    assert "failed with KeyError, which is a defect" in (failed.problem or "")


def test_what_was_being_sent_to_a_channel_that_is_gone_is_given_up_and_said(office: tuple[Store, FixedClock]) -> None:
    """Its sender was killed, and the channel has another name by now."""
    store, clock = office
    queue(store, "m1", "pigeon")
    dead = Owner.this_process(MINUTE).to_json() | {"started": 1}
    with store.begin() as tx:
        tx.connection.execute(sa.update(tables.outbox).values(status="sending", owner=dead))

    clock.sleep(4 * 86_400)
    report = delivery.deliver(store, {}, sleep=clock.sleep)

    assert [one.problem for one in report.failed] == ["channel 'pigeon' is no longer configured"]


# A database that is away


@pytest.mark.slow
def test_a_database_that_cannot_even_be_reached_is_tried_ever_less_often_and_people_hear_of_it(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE)
    world.clock = NOON
    world.run()
    world.approve(world.only(), later=True)
    (world.folder / "shop.db").rename(world.folder / "away.db")

    tried = []
    with world.open() as application:
        for _ in range(60):
            world.clock += MINUTE / 2
            tally = application.clean_due(lambda: None)
            tried.append(tally is not None and not any("for now" in why for why in tally.reasons))
        with application.store.read() as tx:
            [one] = stored_troubles.ongoing(tx)

    assert one.subject.startswith("target:")
    assert sum(tried[:30]) > sum(tried[30:]) > 0
    assert sum(tried) < 15


# Words that are none


@pytest.mark.parametrize(
    ("words", "actor"), [(("pause", "--all", "--reason", "caf\udce9"), ""), (("pause", "--all"), "Ren\udce9")]
)
def test_what_is_said_in_another_encoding_is_refused_in_a_sentence(
    words: tuple[str, ...], actor: str, tmp_path: Path
) -> None:
    project = Project(tmp_path)
    project.write(FILES)

    answer = project(*words, RECONCILE_ACTOR=actor)

    in_words(answer, 2, "\\xe9` is not UTF-8 text")


# Anchors


@pytest.mark.slow
def test_a_channel_too_busy_to_be_read_to_its_anchor_is_no_tampering(tmp_path: Path) -> None:
    """Ten thousand messages later the head is there still, and cannot be reached."""
    with SlackServer() as slack, Store.open("sqlite:///reconcile.db", tmp_path) as store:
        token = SecretStr("xoxb-for-tests")
        bot = SlackChannelSettings(type="slack", token=token, channel="#finance-ops", base_url=slack.base_url)
        anchor = SlackAnchor("team", SlackSettings(type="slack", channel="ops"), tmp_path, {"ops": bot})
        queue(store, "m1", "post")
        assert anchoring.carry(store, {"team": anchor}, {"team": MINUTE}).written
        [head] = slack.messages
        slack.messages += [head | {"ts": f"{head['ts']}{n:06d}", "metadata": None} for n in range(10_000)]

        found = prove(store, {"team": anchor})

    assert found.problem is None
    assert "lists more than 10,000 messages" in (found.anchors[0].problem or "")


def test_of_two_people_each_says_that_it_goes_beyond_limits(tmp_path: Path) -> None:
    limits = {"records": 1, "share": "100%", "group": 5}
    rule = DELETE | {"approval": "two_person", "limits": limits}
    world = World.at(tmp_path / "w", *TWO, (4, "a@x", "Anne"), twins=rule)
    world.run()
    world.approve(world.only(), "anna", over_limit=True)

    with pytest.raises(AnotherWentBeyond, match=f"too: `reconcile approve {world.only()} --over-limit`"):
        world.approve(world.only(), "ben")
    assert world.ids() == [1, 2, 3, 4]

    assert world.approve(world.only(), "ben", over_limit=True).state is BundleState.SUCCEEDED
