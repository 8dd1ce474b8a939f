"""`reconcile messages`: a person decides about a message with an unknown outcome, and it is sent once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_support import Answer, Project
from runs_support import Shop, twice

from reconcile.testing.faults import Fault, error, lost_answer, ratelimited, slow
from reconcile.testing.slack_server import WEBHOOK, SlackServer

TOKEN = "xoxb-for-tests"
POST = "chat.postMessage"
NO_HISTORY = error("missing_scope", needed="channels:history", provided="chat:write")


class Desk:
    """A shop whose messages go to Slack, where nobody can look, and the commands of a person in its folder."""

    def __init__(self, folder: Path, slack: SlackServer) -> None:
        self.slack = slack
        self.shop = Shop.at(folder)
        self.shop.environ = {"SLACK_TOKEN": TOKEN}
        self.command = Project(self.shop.folder)

    def tells(self, **channel: Any) -> Desk:
        self.shop.config["channels"] = {"slack": {"type": "slack", "on_unknown": "person", **channel}}
        self.shop.config["jobs"]["nightly"]["notify"] = ["slack"]
        self.shop.write()
        return self

    def over_a_webhook(self) -> Desk:
        return self.tells(webhook_url=self.slack.webhook_url)

    def over_a_bot(self) -> Desk:
        bot = {"token": "${secret:SLACK_TOKEN}", "channel": "C0FINANCE1", "base_url": self.slack.base_url}
        self.slack.fail("conversations.history", *[NO_HISTORY] * 20)
        return self.tells(**bot)

    def finds(self, groups: int = 1) -> Desk:
        self.shop.add(*(row for number in range(groups) for row in twice(10 * number, f"A-{number}")))
        return self

    def __call__(self, *words: str) -> Answer:
        return self.command(*words, SLACK_TOKEN=TOKEN, RECONCILE_ACTOR="ann")

    def unknown(self) -> str:
        [message] = [one for one in self("messages", "--json").json if one["status"] == "unknown"]
        name: str = message["message"]
        return name

    def doctor(self) -> dict[str, str]:
        return {check["subject"]: check["sentence"] for check in self("doctor", "--json").json["checks"]}

    def events(self, kind: str) -> list[str]:
        """Who did this to a message, in order."""
        lines = self("audit", "--event", f"message.{kind}", "--json").out.splitlines()
        return re.findall(r'"actor": ?"(\w+)"', "\n".join(lines))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with SlackServer(TOKEN) as slack:
        yield Desk(tmp_path / "shop", slack)


@pytest.mark.slow
def test_a_message_that_may_have_arrived_names_the_commands_that_decide_about_it(desk: Desk) -> None:
    desk.over_a_webhook().finds()
    desk.slack.fail(WEBHOOK, lost_answer())

    run = desk("run")

    name = desk.unknown()
    commands = (f"reconcile messages requeue {name}", f"reconcile messages drop {name}")
    assert run.code == 3
    assert all(command in run.out for command in commands), run.out
    assert all(command in desk.doctor()["channel slack"] for command in commands), desk.doctor()
    assert name in desk("messages").out


@pytest.mark.slow
def test_a_requeued_message_is_sent_once_however_often_and_by_whomever_it_is_requeued(desk: Desk) -> None:
    desk.over_a_webhook().finds()
    desk.slack.fail(WEBHOOK, lost_answer())
    desk("run")
    name = desk.unknown()

    first, second = desk("messages", "requeue", name), desk("messages", "requeue", name)
    desk("run")

    assert (first.code, second.code) == (0, 0)
    assert "was sent" in first.out
    assert "nothing was changed" in second.out
    assert len(desk.slack.messages) == 2, "once by the run whose answer was lost, once by the person"
    assert desk.events("requeued") == ["ann"]
    assert "unknown outcome" not in desk.doctor()["channel slack"]
    assert desk("messages", "--json").json == []
    assert desk("audit", "verify").code == 0


@pytest.mark.slow
def test_a_dropped_message_is_never_sent_and_what_it_told_is_not_told_again(desk: Desk) -> None:
    desk.over_a_webhook().finds()
    desk.slack.fail(WEBHOOK, lost_answer())
    desk("run")
    name = desk.unknown()

    first, second = desk("messages", "drop", name), desk("messages", "drop", name)
    too_late = desk("messages", "requeue", name)
    run = desk("run", "--json")

    assert (first.code, second.code, too_late.code) == (0, 0, 4)
    assert "was dropped by ann" in too_late.err
    assert "sent" not in run.json
    assert len(desk.slack.messages) == 1
    assert desk.events("dropped") == ["ann"]
    assert "unknown outcome" not in desk.doctor()["channel slack"]
    assert desk("audit", "verify").code == 0


@pytest.mark.slow
def test_a_message_that_was_sent_cannot_be_dropped_and_an_unknown_name_is_told_with_those_there_are(desk: Desk) -> None:
    desk.over_a_webhook().finds()
    desk.slack.fail(WEBHOOK, lost_answer())
    desk("run")
    name = desk.unknown()
    desk("messages", "requeue", name)

    dropped, nothing = desk("messages", "drop", name), desk("messages", "requeue", "msg1_typo")

    assert dropped.code == 4
    assert "was sent" in dropped.err
    assert nothing.code == 2
    assert "Message 'msg1_typo' not found" in nothing.err


@pytest.mark.slow
def test_two_people_who_requeue_at_once_send_one_message(desk: Desk) -> None:
    desk.over_a_webhook().finds()
    desk.slack.fail(WEBHOOK, lost_answer())
    desk("run")
    name = desk.unknown()
    people = [
        desk.command.start("messages", "requeue", name, SLACK_TOKEN=TOKEN, RECONCILE_ACTOR=actor)
        for actor in ("ann", "bob")
    ]

    codes = [person.end().code for person in people]

    assert codes == [0, 0]
    assert len(desk.slack.messages) == 2
    assert len(desk.events("requeued")) == 1


@pytest.mark.slow
def test_of_two_people_who_requeue_and_drop_at_once_one_decides_and_the_other_hears_of_it(desk: Desk) -> None:
    desk.over_a_webhook().finds()
    desk.slack.fail(WEBHOOK, lost_answer())
    desk("run")
    name = desk.unknown()
    people = [
        desk.command.start("messages", verb, name, SLACK_TOKEN=TOKEN, RECONCILE_ACTOR=actor)
        for verb, actor in (("requeue", "ann"), ("drop", "bob"))
    ]

    codes = sorted(person.end().code for person in people)

    assert codes == [0, 4]
    sent = len(desk.slack.messages) - 1
    assert (len(desk.events("requeued")), len(desk.events("dropped"))) in {(sent, 1 - sent)}


@pytest.mark.parametrize("fault", [lost_answer(), ratelimited(1), error("internal_error"), error("invalid_blocks")])
@pytest.mark.parametrize("on_unknown", ["person", "again"])
@pytest.mark.slow
def test_a_message_whose_thread_failed_is_never_posted_twice(desk: Desk, fault: Fault, on_unknown: str) -> None:
    desk.over_a_bot().finds(8)
    desk.shop.config["channels"]["slack"]["on_unknown"] = on_unknown
    desk.shop.write()
    desk.slack.fail(POST, slow(0), fault)

    desk("run", "-q")
    for message in desk("messages", "--json").json:
        if message["status"] == "unknown":
            assert desk("messages", "requeue", message["message"]).code == 0
    desk("run", "-q")

    [parent] = desk.slack.parents()
    assert len(desk.slack.replies(parent["ts"])) in ((1, 2) if fault == lost_answer() else (1,))
    assert desk("messages", "--json").json == []


@pytest.mark.slow
def test_the_thread_of_a_message_is_posted_when_a_person_requeues_it(desk: Desk) -> None:
    desk.over_a_bot().finds(8)
    desk.slack.fail(POST, slow(0), Fault("drop"))
    desk("run", "-q")
    [parent] = desk.slack.parents()
    before = len(desk.slack.replies(parent["ts"]))

    desk("messages", "requeue", desk.unknown())

    assert before == 0
    assert [one["ts"] for one in desk.slack.parents()] == [parent["ts"]]
    assert len(desk.slack.replies(parent["ts"])) == 1
