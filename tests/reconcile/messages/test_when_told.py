"""When people are told: digests, throttles, quiet hours, routes, escalations, fallbacks."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from notifications.base import FailureNotice, Notice
from notifications.wording.headline import headline
from reconcile import config
from reconcile.app import Application
from reconcile.config.channel_entries import ChannelEntry
from reconcile.decisions import decide
from reconcile.messages import delivery, escalation, outbox, timing, troubles
from reconcile.runs.report import RunReport
from reconcile.store import Store
from reconcile.store import outbox as stored
from reconcile.store.findings import find
from tests.support.chance import few
from tests.support.notifications import double_charges, night, trouble
from tests.support.runs import START, ChargesProject, charge, twice
from tests.support.store import FixedClock

HOUR = dt.timedelta(hours=1)
EVENING = dt.datetime(2026, 11, 20, 20, 0, tzinfo=dt.UTC)  # 21:00 in Berlin
BERLIN = "Europe/Berlin"


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


# The times, which need no store


@pytest.mark.parametrize(
    ("written", "now", "until", "why"),
    [
        ({"digest": "daily"}, "2026-11-20T20:00Z", "2026-11-21T07:00Z", "digest"),
        ({"digest": "daily"}, "2026-11-20T07:00Z", None, None),
        ({"digest": {"at": "08:00", "days": ["mon"]}}, "2026-11-20T20:00Z", "2026-11-23T07:00Z", "digest"),
        ({"digest": {"at": "02:30"}}, "2026-03-28T20:00Z", "2026-03-29T01:30Z", "digest"),
        ({"digest": {"at": "02:30"}}, "2026-10-24T20:00Z", "2026-10-25T00:30Z", "digest"),
        ({"quiet_hours": {"from": "22:00", "to": "07:00"}}, "2026-11-20T20:59Z", None, None),
        ({"quiet_hours": {"from": "22:00", "to": "07:00"}}, "2026-11-20T21:00Z", "2026-11-21T06:00Z", "quiet_hours"),
        ({"quiet_hours": {"from": "22:00", "to": "07:00"}}, "2026-03-28T22:00Z", "2026-03-29T05:00Z", "quiet_hours"),
        ({"throttle": "2h"}, "2026-11-20T20:00Z", "2026-11-20T21:00Z", "throttle"),
        ({"throttle": "30m"}, "2026-11-20T20:00Z", None, None),
        (
            {"throttle": "3h", "quiet_hours": {"from": "22:00", "to": "07:00"}},
            "2026-11-20T20:00Z",
            "2026-11-21T06:00Z",
            "quiet_hours",
        ),
        (
            {"digest": {"at": "23:00"}, "quiet_hours": {"from": "22:00", "to": "07:00"}},
            "2026-11-20T20:00Z",
            "2026-11-21T06:00Z",
            "quiet_hours",
        ),
    ],
)
def test_a_message_waits_for_the_time_of_its_channel(
    written: dict[str, Any], now: str, until: str | None, why: str | None
) -> None:
    """The last message was an hour ago; times of day are Berlin's, also on the days when clocks change."""
    entry = ChannelEntry.model_validate(written)
    hold = timing.hold(entry, BERLIN, at(now), night(double_charges(1)), at(now) - HOUR)
    assert hold == (None if until is None or why is None else timing.Hold(at(until), why))


def test_what_is_severe_enough_passes() -> None:
    entry = ChannelEntry.model_validate(
        {
            "digest": {"at": "08:00", "except": "critical"},
            "throttle": {"every": "9h", "except": "critical"},
            "quiet_hours": {"from": "20:00", "to": "09:00", "except": "high"},
        }
    )
    critical, failing = night(double_charges(1)), night(failures=(FailureNotice("source bank", "is down"),))

    assert timing.hold(entry, BERLIN, EVENING, critical, EVENING - HOUR) is None
    held = timing.hold(entry, BERLIN, EVENING, failing, EVENING - HOUR)
    assert held == timing.Hold(at("2026-11-21T07:00Z"), "digest"), "quiet hours let it pass, the digest does not"
    assert timing.quiet(entry, BERLIN, EVENING, trouble()) is None


# Runs and their messages


@dataclass
class Team:
    """A shop with one file of orders, and an application whose clock stands still until it is moved."""

    folder: Path
    store: Store
    clock: FixedClock
    written: dict[str, Any] = field(default_factory=dict)

    def configure(self, rules: dict[str, Any] | None = None, **channels: dict[str, Any]) -> Team:
        """The channels write to a file of their name each; the job tells `team`, and those that begin with `to`."""
        self.written = {
            "timezone": BERLIN,
            "sources": {"shop": {"type": "files"}},
            "datasets": {
                "orders": {
                    "source": "shop",
                    "path": "orders.csv",
                    "id": "id",
                    "columns": {"amount": "decimal"},
                    "money": {"amount": "amount", "currency": "EUR"},
                }
            },
            "rules": rules or {"double-order": {"kind": "duplicates", "dataset": "orders", "key": ["order"]}},
            "channels": {
                name: {"type": "file", "path": f"{name}.jsonl", "format": "jsonl", **settings}
                for name, settings in channels.items()
            },
            "jobs": {"nightly": {"rules": "all", "notify": [n for n in channels if n.startswith("t")]}},
        }
        (self.folder / "reconcile.yaml").write_text(json.dumps(self.written), encoding="utf-8")
        return self

    @property
    def project(self) -> config.Project:
        return config.load(self.folder / "reconcile.yaml", {})

    def orders(self, *orders: str) -> None:
        """Records by their order; the n-th record has the id n and costs n."""
        rows = [f"{number},{order},{number}.00" for number, order in enumerate(orders, 1)]
        (self.folder / "orders.csv").write_text("\n".join(["id,order,amount", *rows]) + "\n", encoding="utf-8")

    def run(self) -> RunReport:
        self.clock.sleep(60)  # longer than a run takes: the clock stands still meanwhile
        with Application(self.project, store=self.store, sleep=self.clock.sleep) as application:
            return application.run("nightly", slot=self.clock.now)

    def wait(self, length: dt.timedelta) -> delivery.DeliveryReport:
        self.clock.sleep(length.total_seconds())
        with Application(self.project, store=self.store, sleep=self.clock.sleep) as application:
            return application.deliver()

    def told(self, channel: str = "team") -> list[Notice]:
        """What arrived on a channel, the oldest first."""
        file = self.folder / f"{channel}.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        dataclass_fields = set(Notice.__dataclass_fields__)
        return [
            outbox.notice_of({k: v for k, v in json.loads(line).items() if k in dataclass_fields}) for line in lines
        ]

    def headlines(self, channel: str = "team") -> list[str]:
        return [headline(notice) for notice in self.told(channel)]

    def states(self) -> list[tuple[str, str]]:
        with self.store.read() as tx:
            return [(message.channel, message.status) for message in stored.listed(tx)]


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    clock = FixedClock(EVENING)
    with Store.open("sqlite:///state.db", tmp_path, clock=clock) as store:
        yield Team(tmp_path, store, clock)


@pytest.mark.slow
def test_a_digest_is_one_message_about_what_still_holds_when_it_is_sent(team: Team) -> None:
    team.configure(team={"digest": "daily"})
    team.orders("A", "A", "B", "B", "C")
    first = team.run()
    team.orders("A", "A", "B", "x", "C", "C", "A")
    second = team.run()

    assert (first.failed, first.undelivered, team.told()) == (False, (), [])
    assert [(each.channel, each.why, each.until) for each in second.held] == [
        ("team", "digest", at("2026-11-21T07:00Z"))
    ]
    assert team.states() == [("team", "merged"), ("team", "queued")]
    assert [message.channel for message in team.wait(11 * HOUR).sent] == ["team"]
    [sent] = team.told()
    [rule] = sent.rules
    assert (rule.new, rule.grown, rule.resolved) == (2, 0, 1)
    assert {group.key["order"]: group.surplus for group in rule.largest} == {"A": ("2", "7"), "C": ("6",)}
    assert team.wait(24 * HOUR).sent == []


@pytest.mark.slow
def test_a_finding_that_grew_while_its_message_waited_is_told_with_all_that_joined_since_the_last_one(
    team: Team,
) -> None:
    team.configure(team={"throttle": "6h"})
    team.orders("A", "A")
    team.run()
    for more in (["A"], ["A", "A"]):
        team.orders("A", "A", *more)
        team.run()
    team.wait(7 * HOUR)

    _, grown = team.told()
    [group] = grown.rules[0].largest
    assert (group.state, group.joined, group.added) == ("grown", ("3", "4"), {"EUR": 7})


@pytest.mark.slow
def test_a_check_that_failed_and_works_again_before_the_digest_is_told_as_working_again(team: Team) -> None:
    team.configure(team={"digest": "daily"})
    team.orders("A", "B")
    team.run()
    (team.folder / "orders.csv").rename(team.folder / "away.csv")
    team.run()
    (team.folder / "away.csv").rename(team.folder / "orders.csv")
    team.run()
    team.wait(12 * HOUR)

    [sent] = team.told()
    assert [(failure.subject, failure.ended) for failure in sent.failures] == [("rule double-order", True)]


@pytest.mark.slow
def test_news_that_is_gone_before_the_digest_is_no_message(team: Team) -> None:
    team.configure(team={"digest": "daily"})
    team.orders("A", "A", "B")
    team.run()
    team.orders("A", "x", "B")
    team.run()

    assert team.wait(12 * HOUR).sent == []
    assert team.states() == [("team", "merged")]


@pytest.mark.slow
def test_something_critical_takes_everything_that_waits_along(team: Team) -> None:
    rules = {
        "double-order": {"kind": "duplicates", "dataset": "orders", "key": ["order"], "severity": "low"},
        "twin-amount": {"kind": "duplicates", "dataset": "orders", "key": ["amount"], "severity": "critical"},
    }
    team.configure(
        rules,
        team={"digest": {"except": "critical"}, "quiet_hours": {"from": "00:00", "to": "24:00", "except": "critical"}},
    )
    team.orders("A", "A", "B")
    team.run()
    assert team.told() == []
    (team.folder / "orders.csv").write_text("id,order,amount\n1,A,1\n2,A,2\n3,B,3\n4,C,3\n", encoding="utf-8")
    team.run()

    [line] = team.headlines()
    assert line.startswith("🔴 Critical: 1 new twin amount, 3.00 EUR at risk · 1 double order, 2.00 EUR at risk")


def test_trouble_that_begins_and_ends_in_quiet_hours_is_one_message_that_says_both(team: Team) -> None:
    team.configure(team={"quiet_hours": {"from": "20:00", "to": "07:00"}})
    for act, sentence in ((troubles.begin, "The clock jumped."), (troubles.end, "The time is confirmed.")):
        with team.store.begin() as tx:
            act(tx, team.project, "clock", sentence)
        team.clock.sleep(60)
    team.wait(12 * HOUR)

    assert team.headlines() == ["✅ The time is confirmed"]


@pytest.mark.slow
def test_each_channel_gets_the_findings_of_its_route_and_no_finding_is_lost(team: Team) -> None:
    rules = {
        "double-order": {"kind": "duplicates", "dataset": "orders", "key": ["order"], "severity": "low", "owner": "@a"},
        "twin-amount": {"kind": "duplicates", "dataset": "orders", "key": ["amount"], "severity": "critical"},
    }
    team.configure(
        rules,
        to_all={},
        to_a={"route": {"owner": "@a", "severity": "low"}},
        to_critical={"route": {"severity": "critical"}},
        to_much={"route": {"rule": "double-order", "amount": {"EUR": 4}}},
    )
    (team.folder / "orders.csv").write_text("id,order,amount\n1,A,1\n2,A,2\n3,B,5\n4,B,5\n", encoding="utf-8")
    team.run()

    told = {
        name: {
            (rule.rule, group.key.get("order"))
            for notice in team.told(name)
            for rule in notice.rules
            for group in rule.largest
        }
        for name in ("to_all", "to_a", "to_critical", "to_much")
    }
    assert told["to_all"] == {("double-order", "A"), ("double-order", "B"), ("twin-amount", None)}
    assert told["to_a"] == {("double-order", "A"), ("double-order", "B")}
    assert told["to_critical"] == {("twin-amount", None)}
    assert told["to_much"] == {("double-order", "B")}


def _escalated(team: Team) -> list[str]:
    """The orders of the escalations so far, after a look for more."""
    with team.store.begin() as tx:
        escalation.tell(tx, team.project, team.project.rules)
    team.wait(dt.timedelta(0))
    return [group.key["order"] for notice in team.told("on-call") for rule in notice.rules for group in rule.largest]


@pytest.mark.slow
def test_what_nobody_decides_about_is_told_to_another_channel_once_for_each_time_it_is_told(team: Team) -> None:
    on_call = {"escalate": {"after": "4h", "to": "on-call"}}
    team.configure(**{"team": on_call, "on-call": {}})
    team.orders("A", "A", "B", "B", "C", "C", "D", "D")
    team.run()
    with team.store.read() as tx:
        ids = {str(finding.key["order"]): finding.id for finding in find(tx)}
    decide.dismiss(team.store, ids["A"], actor="maria")
    decide.assign(team.store, ids["B"], actor="maria", to="noor")
    decide.snooze(team.store, ids["C"], actor="maria")

    assert _escalated(team) == []
    team.clock.sleep(4 * 3_600)
    assert (_escalated(team), _escalated(team)) == (["D"], ["D"])
    team.clock.sleep(24 * 3_600)
    assert _escalated(team) == ["D"]
    assert team.headlines("on-call")[0].startswith("🟡 Medium: 1 undecided double order, ")

    team.orders("A", "A", "B", "B", "C", "C", "D", "D", "D")
    team.run()
    assert _escalated(team) == ["D"]
    team.clock.sleep(4 * 3_600)
    assert _escalated(team) == ["D", "D"]


@pytest.mark.slow
def test_a_message_whose_delivery_is_given_up_goes_to_the_fallback_once(team: Team) -> None:
    team.configure(team={"path": "no/such/folder.jsonl", "fallback": "ops"}, ops={})
    team.orders("A", "A")
    report = team.run()
    assert report.undelivered != ()

    for _ in range(40):
        team.wait(dt.timedelta(hours=3))
    [sent] = team.told("ops")
    assert sent.fallback_of == "team"
    assert sent.rules[0].new == 1


@pytest.mark.parametrize(("command", "told"), [("requeue", 1), ("drop", 0)])
@pytest.mark.slow
def test_a_person_can_have_a_held_message_sent_now_or_never(team: Team, command: str, told: int) -> None:
    team.configure(team={"digest": "daily"})
    team.orders("A", "A")
    team.run()
    with team.store.begin() as tx:
        [message] = stored.listed(tx)
        assert getattr(outbox, command)(tx, message.message, actor="maria")
    team.wait(dt.timedelta(0))
    team.wait(24 * HOUR)

    assert len(team.told()) == told


# kill -9


@pytest.mark.chaos
@pytest.mark.timeout(300)
def test_a_run_that_is_killed_anywhere_leaves_one_message_that_waits_with_all_news(tmp_path: Path) -> None:
    base = ChargesProject.at(tmp_path / "base")
    base.config["channels"]["team"] |= {
        "digest": {"at": "00:00", "days": ["mon"]},
        "escalate": {"after": "1s", "to": "ops"},
    }
    base.config["channels"]["ops"] = {"type": "file", "path": "ops.jsonl", "format": "jsonl"}
    base.write().add(*twice(1, "A-1"), *twice(10, "A-2"))
    base.run("--slot", START)
    base.add(charge(3, "A-1", second=60), *twice(20, "A-3"))
    whole = base.copy(tmp_path / "whole")
    command = whole.held("run", "--json", "--quiet", "nightly").ready().go()
    assert command.end().code == 0
    expected = _waiting(whole)
    assert [len(groups) for _, groups in expected] == [3]

    for number, statement in enumerate(range(3, command.statements, max(command.statements // few(6, 24), 1))):
        shop = base.copy(tmp_path / f"killed{number}")
        killed = shop.held("run", "--json", "--quiet", "nightly", dies_at=statement).ready().go()
        killed.process.join(60)
        assert shop.cli("run", "--json", "--quiet", "nightly").code == 0
        assert _waiting(shop) == expected, statement
        assert shop.messages() == []
        assert shop.intact()


def _waiting(shop: ChargesProject) -> list[tuple[str, Sequence[Any]]]:
    """The messages that wait: their channel, and their findings."""
    with Store.open("sqlite:///state.db", shop.folder) as store, store.read() as tx:
        held = [message for message in stored.listed(tx, "queued") if message.held]
        contents = [stored.content(tx, message.message) for message in held]
    notices = [outbox.notice_of(content.notice) for content in contents if content is not None]
    groups = [[(g.state, g.keeper, g.surplus) for rule in n.rules for g in rule.largest] for n in notices]
    return [(message.channel, sorted(each)) for message, each in zip(held, groups, strict=True)]
