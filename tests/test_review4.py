"""What could go wrong between the parts, a fourth look: former configurations, money, and kills between two runs."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from clean_support import Killed, World
from cli_support import Project
from findings_support import World as Findings
from findings_support import group
from runs_support import START
from store_support import FixedClock

from notifications.base import Notice, Receipt
from notifications.errors import ChannelUnreachable
from reconcile import config
from reconcile.messages import delivery, troubles
from reconcile.runs import runner
from reconcile.store import Store
from reconcile.store import outbox as stored_outbox
from reconcile.tracking import decide

DELETE = {"clean": {"action": "delete"}}
ALONE = DELETE | {"approval": "none"}
TWO = ((1, "a@x", "Anna"), (2, "a@x", "Ann"), (3, "b@x", "Bob"))
CUSTOMERS: dict[str, Any] = {"source": "shop", "table": "customers", "id": "id"}


def in_quarantine(folder: Path, **config: Any) -> World:
    """One finding with an unknown outcome, so no run updates it; `team` was notified."""
    world = World.at(folder, *TWO, config=config, twins=DELETE)
    world.run()
    world.approve(world.only(), later=True)
    with closing(sqlite3.connect(folder / "reconcile.db")) as connection:
        connection.execute("UPDATE bundles SET content = replace(content, 'Ann', 'Eve')")
        connection.commit()
    world.run()
    assert world.findings() == {world.only(): "quarantined"}
    return world


def tell_others(world: World) -> str:
    """What a channel is told by the next run that never heard of any finding."""
    world.config["channels"] = {
        "team": {"type": "file", "path": "messages.txt"},
        "others": {"type": "file", "path": "others.txt"},
    }
    world.config["jobs"] = {"nightly": {"rules": "all", "notify": ["team", "others"]}}
    assert world.run().status == "succeeded"
    return (world.folder / "others.txt").read_text()


# Messages


@pytest.mark.slow
@pytest.mark.parametrize(("ids", "rule"), [(["id", "email"], DELETE), ([], {})])
def test_a_finding_from_before_the_id_was_another_one_is_told(ids: list[str], rule: Any, tmp_path: Path) -> None:
    world = in_quarantine(tmp_path / "w")
    world.config["datasets"] = {"customers": CUSTOMERS | {"id": ids}}
    world.rules["twins"] = rule

    told = tell_others(world)

    assert "quarantine" in told
    assert "a@x" in told


@pytest.mark.slow
def test_a_finding_from_before_its_rule_looked_elsewhere_is_told_without_what_was_personal_there(
    tmp_path: Path,
) -> None:
    world = in_quarantine(tmp_path / "w", datasets={"customers": CUSTOMERS | {"pii": ["email"]}})
    world.do("CREATE TABLE firms (id INTEGER PRIMARY KEY, email VARCHAR(60))")
    world.config["datasets"]["firms"] = CUSTOMERS | {"table": "firms"}
    world.rules["twins"] = DELETE | {"dataset": "firms"}

    told = tell_others(world)

    assert "quarantine" in told
    assert "a@x" not in told


def test_a_rule_that_is_gone_since_the_last_run_keeps_no_message_from_being_shown(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=DELETE, others={"key": ["name"]})
    world.run()
    del world.rules["others"]
    world.write()

    shown = Project(world.folder)("notify", "preview", "team")

    assert (shown.code, "twins" in shown.out) == (0, True), shown.said


@pytest.mark.slow
@pytest.mark.parametrize("ids", [(1, 1, 2), (None, None)])
def test_records_of_one_group_that_share_their_id_are_found_and_told_and_never_cleaned(
    ids: tuple[int | None, ...], tmp_path: Path
) -> None:
    """Those that share an id count once; those without one count each."""
    world = _without_a_key(tmp_path, ids)

    reports = [world.run() for _ in range(3)]

    assert [report.checked[0].findings.new for report in reports] == [1, 0, 0]
    assert [report.checked[0].findings.known for report in reports] == [0, 1, 1]
    [finding] = reports[-1].findings
    assert (finding.records, finding.keeper and finding.keeper.id) == (2, (ids[0],))
    assert world.only() in world.messages()
    assert "Nothing is cleaned: the id of" in (reports[-1].rules[0].cleaning.stopped or "")
    assert len(world.rows()) == len(ids)
    with world.open() as application:
        decide.dismiss(application.store, world.only(), actor="anna")
    assert world.run().checked[0].findings.settled == 1


def test_records_that_are_one_by_their_id_are_no_group_and_are_told(tmp_path: Path) -> None:
    world = _without_a_key(tmp_path, (1, 1))

    report = world.run()

    assert report.findings == []
    assert [entry.reason for entry in report.rules[0].skipped] == ["not unique"]
    assert len(world.rows()) == 2


def _without_a_key(folder: Path, ids: Sequence[int | None]) -> World:
    """Customers with these ids and one e-mail."""
    world = World.at(folder / "w", twins=ALONE)
    world.do("DROP TABLE customers", "CREATE TABLE customers (id INTEGER, email VARCHAR(60), name VARCHAR(60))")
    world.add(*((one_id, "a@x", f"Ann {n}") for n, one_id in enumerate(ids)))
    return world


# Money


def test_what_is_at_risk_is_exact_however_large_and_in_whatever_order(tmp_path: Path) -> None:
    """A decimal may have 38 digits; a sum of them kept 28."""
    world = Findings.at("sqlite:///state.db", tmp_path)
    amounts = ("10000000000000000000000000000.01", "0.02", "-10000000000000000000000000000.00")  # a size each
    groups = [group(f"A-{n}", 2 * n, 2 * n + 1, money=amount) for n, amount in enumerate(amounts)]

    outcomes = [world.run(*groups, tell=False), world.run(*reversed(groups), tell=False)]

    assert [outcome.money for outcome in outcomes] == [{"EUR": Decimal("20000000000000000000000000000.03")}] * 2


def test_what_is_less_than_nothing_makes_no_room_in_a_limit(tmp_path: Path) -> None:
    """Refunds that were entered twice are as much money as charges that were."""
    rows = ((1, "a@x", "900"), (2, "a@x", "900"), (3, "b@x", "-900"), (4, "b@x", "-900"))
    money = {"amount": "name", "currency": "EUR"}
    world = World.at(tmp_path / "w", config={"datasets": {"customers": CUSTOMERS | {"money": money}}}, twins=ALONE)
    world.do("DROP TABLE customers", "CREATE TABLE customers (id INTEGER PRIMARY KEY, email VARCHAR(60), name INTEGER)")
    world.add(*rows)
    world.rules["twins"] = ALONE | {"limits": {"share": "100%", "money": {"EUR": 1000}}}
    world.run()

    report = world.run()

    assert (world.ids(), world.cleaning(report), report.refused) == ([1, 2, 3, 4], {"proposed": 2}, True)


# Nothing is done before people were notified


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

    assert (world.cleaning(told), world.ids()) == ({}, [1, 2, 3])
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

    assert (world.cleaning(told), world.ids()) == ({}, [1, 2, 3])


@pytest.mark.slow
def test_what_a_run_cleaned_that_was_killed_before_it_told_is_told_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World.at(tmp_path / "w", *TWO, twins=ALONE)
    world.run()
    told = world.messages()
    killed(world, monkeypatch)
    [done] = world.plans()
    assert (world.ids(), world.messages()) == ([1, 3], told)
    world.add((4, "b@x", "Bo"))

    report = world.run()
    heard = world.messages()[len(told) :]
    world.run()

    assert "2 cleaned" in heard
    assert all(f"reconcile undo --run {run}\n" in heard for run in (done.run, report.run))
    assert report.rules[0].cleaning.of_killed == {done.run: 1}
    assert world.messages() == told + heard, "once"


# What nobody heard


@pytest.mark.parametrize("state", ["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def test_what_a_message_that_was_given_up_would_have_told_of_a_failure_is_told_by_a_later_one(
    state: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres_url") if state == "postgresql" else "sqlite:///reconcile.db"
    (tmp_path / "w" / "away").mkdir(parents=True)
    away, back = ({"team": {"type": "file", "path": path}} for path in ("away", "messages.txt"))
    world = World.at(tmp_path / "w", *TWO, config={"channels": away, "state": url}, twins={})
    world.clock = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
    world.do("ALTER TABLE customers RENAME TO elsewhere")
    world.run()
    world.clock += dt.timedelta(days=4)
    world.run()
    with world.open() as application, application.store.read() as tx:
        assert "failed" in [one.status for one in stored_outbox.listed(tx)]
    world.config["channels"] = back

    world.run()
    heard = world.messages()
    world.run()

    assert "Since Sat 21 Nov 2026" in heard
    assert world.messages() == heard, "once"
    world.do("ALTER TABLE elsewhere RENAME TO customers")
    world.run()
    assert "not checked since" in world.messages()[len(heard) :]


class Away:
    """A channel that cannot be reached until it is `back`."""

    def __init__(self) -> None:
        self.back = False
        self.arrived: list[Notice] = []

    def send(self, notice: Notice) -> Receipt:
        if not self.back:
            raise ChannelUnreachable("team", "127.0.0.1:9", "connection refused")
        self.arrived.append(notice)
        return Receipt("mailbox")

    def find(self, notice: Notice) -> Receipt | None:
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
                    troubles.end(tx, project, "clock")
            delivery.deliver(store, {"team": channel}, sleep=clock.sleep)

        channel.back = True
        clock.sleep(86_400)
        delivery.deliver(store, {"team": channel}, sleep=clock.sleep)

    assert [one.trouble and one.trouble.sentence for one in channel.arrived] == ["The clock jumped."] * lasts
