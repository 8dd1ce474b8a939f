"""What a kill, a defect or an outage kept from people is told later, once."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from notifications.base import DeliveryReceipt, Notice
from notifications.errors import ChannelUnreachable
from reconcile import config
from reconcile.coordination.lease import Owner
from reconcile.messages import delivery, outbox, troubles
from reconcile.runs import runner
from reconcile.store import Store, tables
from reconcile.store import outbox as stored_outbox
from reconcile.store import troubles as stored_troubles
from tests.support.runs import START
from tests.support.store import FixedClock
from tests.support.world import ALONE, DELETE, TWO, Killed, World

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)


class Defective:
    """A channel that fails as none may."""

    def send(self, notice: Notice) -> DeliveryReceipt:
        raise KeyError(notice.id)

    def find(self, notice: Notice) -> DeliveryReceipt | None:
        raise KeyError(notice.id)


class Mailbox:
    def __init__(self) -> None:
        self.arrived: list[str] = []

    def send(self, notice: Notice) -> DeliveryReceipt:
        self.arrived.append(notice.id)
        return DeliveryReceipt("mailbox")

    def find(self, notice: Notice) -> DeliveryReceipt | None:
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

    assert (post.arrived, [item.message for item in report.waiting]) == (["m2"], ["m1"])
    [failed] = over.failed
    assert "failed with KeyError, which is a defect" in (failed.problem or "")


MINUTE = dt.timedelta(minutes=1)


def test_what_was_being_sent_to_a_channel_that_is_gone_is_given_up_and_said(office: tuple[Store, FixedClock]) -> None:
    """Its sender was killed, and the channel has another name by now."""
    store, clock = office
    queue(store, "m1", "pigeon")
    dead = Owner.this_process(MINUTE).to_json() | {"started": 1}
    with store.begin() as tx:
        tx.connection.execute(sa.update(tables.outbox).values(status="sending", owner=dead))

    clock.sleep(4 * 86_400)
    report = delivery.deliver(store, {}, sleep=clock.sleep)

    assert [item.problem for item in report.failed] == ["channel 'pigeon' is no longer configured"]


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
            [item] = stored_troubles.ongoing(tx)
        (world.folder / "away.db").rename(world.folder / "shop.db")
        world.clock += MINUTE * 15
        application.clean_due(lambda: None)

    assert item.subject.startswith("target:")
    assert world.findings() == {world.only(): "cleaned"}
    assert sum(tried[:30]) > sum(tried[30:]) > 0
    assert sum(tried) < 15


def killed(world: World, monkeypatch: pytest.MonkeyPatch, slot: str | None = None) -> None:
    """A run that is killed after it cleaned, and before it tells anybody."""

    def kill(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(runner._Run, "end", kill)
        with pytest.raises(Killed), world.open() as application:
            application.run("nightly", slot=slot)
    world.bury()


@pytest.mark.parametrize("edit", [None, {"keep": [{"last": "id"}]}, {"key": ["name"]}])
@pytest.mark.slow
def test_a_run_that_was_killed_before_it_told_lets_the_next_one_clean_nothing(
    edit: dict[str, Any] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule's first run, and its first after an edit, tells what there is; only then something is done by itself."""
    world = World.at(tmp_path / "w", (1, "a@x", "Ann"), (3, "b@x", "Bob"), twins=ALONE)
    if edit is not None:
        world.run()
        world.run()
        world.rules["twins"] = ALONE | edit
    world.add((2, "a@x", "Ann"))
    for _ in range(2):
        killed(world, monkeypatch)

    told = world.run()

    assert (world.cleaning(told), world.shop.ids()) == ({}, [1, 2, 3])
    assert world.only() in world.messages()
    assert world.cleaning(world.run()) == {"cleaned": 1}


def test_a_run_that_is_taken_up_again_with_another_configuration_cleans_nothing_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    killed(world, monkeypatch, slot=START)
    world.rules["twins"] = ALONE | {"severity": "high"}

    with world.open() as application:
        told = application.run("nightly", slot=START)

    assert (world.cleaning(told), world.shop.ids()) == ({}, [1, 2, 3])


@pytest.mark.slow
def test_what_a_run_cleaned_that_was_killed_before_it_told_is_told_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    told = world.messages()
    killed(world, monkeypatch)
    [done] = world.plans()
    assert (world.shop.ids(), world.messages()) == ([1, 3], told)
    world.add((4, "b@x", "Bo"))

    report = world.run()
    heard = world.messages()[len(told) :]
    world.run()

    assert "2 cleaned" in heard
    assert all(f"reconcile undo --run {run}\n" in heard for run in (done.run, report.run))
    assert report.rules[0].cleaning.of_killed == {done.run: 1}
    assert world.messages() == told + heard, "once"


@pytest.mark.parametrize("state", ["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
@pytest.mark.slow
def test_what_a_message_that_was_given_up_would_have_told_of_a_failure_is_told_by_a_later_one(
    state: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres_url") if state == "postgresql" else "sqlite:///reconcile.db"
    (tmp_path / "w" / "away").mkdir(parents=True)
    away, back = ({"team": {"type": "file", "path": path}} for path in ("away", "messages.txt"))
    world = World.at(tmp_path / "w", *TWO, config={"channels": away, "state": url}, twins={})
    world.clock = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
    world.shop.sql("ALTER TABLE customers RENAME TO elsewhere")
    world.run()
    world.clock += dt.timedelta(days=4)
    world.run()
    with world.open() as application, application.store.read() as tx:
        assert "failed" in [item.status for item in stored_outbox.listed(tx)]
    world.config["channels"] = back

    world.run()
    heard = world.messages()
    world.run()

    assert "since Sat 21 Nov 2026" in heard
    assert world.messages() == heard, "once"
    world.shop.sql("ALTER TABLE elsewhere RENAME TO customers")
    world.run()
    assert "not checked since" in world.messages()[len(heard) :]


class Away:
    """A channel that cannot be reached until it is `back`."""

    def __init__(self) -> None:
        self.back = False
        self.arrived: list[Notice] = []

    def send(self, notice: Notice) -> DeliveryReceipt:
        if not self.back:
            raise ChannelUnreachable("team", "127.0.0.1:9", "connection refused")
        self.arrived.append(notice)
        return DeliveryReceipt("mailbox")

    def find(self, notice: Notice) -> DeliveryReceipt | None:
        del notice
        return None


@pytest.mark.slow
@pytest.mark.parametrize("lasts", [True, False])
def test_a_message_about_trouble_is_not_given_up_while_that_lasts(lasts: bool, tmp_path: Path) -> None:
    world, channel, clock = World.at(tmp_path / "w", twins={}), Away(), FixedClock()
    world.write()
    project = config.load(world.folder / "reconcile.yaml", {})
    with Store.open("sqlite:///reconcile.db", world.folder, clock=clock) as store:
        with store.begin() as tx:
            troubles.begin(tx, project, "clock", "The clock jumped.")
        for day in range(30):
            clock.sleep(86_400)
            if day == 2 and not lasts:
                with store.begin() as tx:
                    troubles.end(tx, project, "clock", "The time is confirmed.")
            delivery.deliver(store, {"team": channel}, sleep=clock.sleep)

        channel.back = True
        clock.sleep(86_400)
        delivery.deliver(store, {"team": channel}, sleep=clock.sleep)

    assert [item.trouble and item.trouble.sentence for item in channel.arrived] == ["The clock jumped."] * lasts
