"""`reconcile messages`: a person decides about a message with an unknown outcome, and it is sent once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconcile.testing.faults import Fault, error, lost_answer, ratelimited, slow
from reconcile.testing.slack_server import WEBHOOK, SlackServer
from tests.support.cli import Answer, Project
from tests.support.runs import ChargesProject, twice

pytestmark = pytest.mark.slow

TOKEN = "xoxb-for-tests"
POST = "chat.postMessage"
NO_HISTORY = error("missing_scope", needed="channels:history", provided="chat:write")


class Decisions:
    """A shop whose messages go to Slack, where nobody can look, and the commands of a person in its folder."""

    def __init__(self, folder: Path, slack: SlackServer) -> None:
        self.slack = slack
        self.shop = ChargesProject.at(folder)
        self.shop.environ = {"SLACK_TOKEN": TOKEN}
        self.command = Project(self.shop.folder)

    def tells(self, **channel: Any) -> Decisions:
        self.shop.config["channels"] = {"slack": {"type": "slack", "on_unknown": "person", **channel}}
        self.shop.config["jobs"]["nightly"]["notify"] = ["slack"]
        self.shop.write()
        return self

    def over_a_webhook(self) -> Decisions:
        return self.tells(webhook_url=self.slack.webhook_url)

    def over_a_bot(self) -> Decisions:
        bot = {"token": "${secret:SLACK_TOKEN}", "channel": "C0FINANCE1", "base_url": self.slack.base_url}
        self.slack.fail("conversations.history", *[NO_HISTORY] * 20)
        return self.tells(**bot)

    def finds(self, groups: int = 1) -> Decisions:
        self.shop.add(*(row for number in range(groups) for row in twice(10 * number, f"A-{number}")))
        return self

    def __call__(self, *words: str) -> Answer:
        return self.command(*words, SLACK_TOKEN=TOKEN, RECONCILE_ACTOR="ann")

    def unknown(self) -> str:
        [message] = [item for item in self("messages", "--json").json if item["status"] == "unknown"]
        name: str = message["message"]
        return name

    def doctor(self) -> dict[str, str]:
        return {check["subject"]: check["sentence"] for check in self("doctor", "--json").json["checks"]}

    def events(self, kind: str) -> list[str]:
        """Who did this to a message, in order."""
        lines = self("audit", "--event", f"message.{kind}", "--json").out.splitlines()
        return re.findall(r'"actor": ?"(\w+)"', "\n".join(lines))


@pytest.fixture
def decisions(tmp_path: Path) -> Iterator[Decisions]:
    with SlackServer(TOKEN) as slack:
        yield Decisions(tmp_path / "shop", slack)


def test_a_message_that_may_have_arrived_names_the_commands_that_decide_about_it(decisions: Decisions) -> None:
    decisions.over_a_webhook().finds()
    decisions.slack.fail(WEBHOOK, lost_answer())

    run = decisions("run")

    name = decisions.unknown()
    commands = (f"reconcile messages requeue {name}", f"reconcile messages drop {name}")
    assert run.code == 3
    assert all(command in run.out for command in commands), run.out
    assert all(command in decisions.doctor()["channel slack"] for command in commands), decisions.doctor()
    assert name in decisions("messages").out


def test_a_requeued_message_is_sent_once_however_often_and_by_whomever_it_is_requeued(decisions: Decisions) -> None:
    decisions.over_a_webhook().finds()
    decisions.slack.fail(WEBHOOK, lost_answer())
    decisions("run")
    name = decisions.unknown()

    first, second = decisions("messages", "requeue", name), decisions("messages", "requeue", name)
    decisions("run")

    assert (first.code, second.code) == (0, 0)
    assert "was sent" in first.out
    assert "nothing was changed" in second.out
    assert len(decisions.slack.messages) == 2, "once by the run whose answer was lost, once by the person"
    assert decisions.events("requeued") == ["ann"]
    assert "unknown outcome" not in decisions.doctor()["channel slack"]
    assert decisions("messages", "--json").json == []
    assert decisions("audit", "verify").code == 0


def test_a_dropped_message_is_never_sent_and_what_it_told_is_not_told_again(decisions: Decisions) -> None:
    decisions.over_a_webhook().finds()
    decisions.slack.fail(WEBHOOK, lost_answer())
    decisions("run")
    name = decisions.unknown()

    first, second = decisions("messages", "drop", name), decisions("messages", "drop", name)
    too_late = decisions("messages", "requeue", name)
    run = decisions("run", "--json")

    assert (first.code, second.code, too_late.code) == (0, 0, 4)
    assert "was dropped by ann" in too_late.err
    assert "sent" not in run.json
    assert len(decisions.slack.messages) == 1
    assert decisions.events("dropped") == ["ann"]
    assert "unknown outcome" not in decisions.doctor()["channel slack"]
    assert decisions("audit", "verify").code == 0


def test_a_message_that_was_sent_cannot_be_dropped_and_an_unknown_name_is_told_with_those_there_are(
    decisions: Decisions,
) -> None:
    decisions.over_a_webhook().finds()
    decisions.slack.fail(WEBHOOK, lost_answer())
    decisions("run")
    name = decisions.unknown()
    decisions("messages", "requeue", name)

    dropped, nothing = decisions("messages", "drop", name), decisions("messages", "requeue", "msg1_typo")

    assert dropped.code == 4
    assert "was sent" in dropped.err
    assert nothing.code == 2
    assert "Message 'msg1_typo' not found" in nothing.err


def test_two_people_who_requeue_at_once_send_one_message(decisions: Decisions) -> None:
    decisions.over_a_webhook().finds()
    decisions.slack.fail(WEBHOOK, lost_answer())
    decisions("run")
    name = decisions.unknown()
    people = [
        decisions.command.start("messages", "requeue", name, SLACK_TOKEN=TOKEN, RECONCILE_ACTOR=actor)
        for actor in ("ann", "bob")
    ]

    codes = [person.end().code for person in people]

    assert codes == [0, 0]
    assert len(decisions.slack.messages) == 2
    assert len(decisions.events("requeued")) == 1


def test_of_two_people_who_requeue_and_drop_at_once_one_decides_and_the_other_hears_of_it(decisions: Decisions) -> None:
    decisions.over_a_webhook().finds()
    decisions.slack.fail(WEBHOOK, lost_answer())
    decisions("run")
    name = decisions.unknown()
    people = [
        decisions.command.start("messages", verb, name, SLACK_TOKEN=TOKEN, RECONCILE_ACTOR=actor)
        for verb, actor in (("requeue", "ann"), ("drop", "bob"))
    ]

    codes = sorted(person.end().code for person in people)

    assert codes == [0, 4]
    sent = len(decisions.slack.messages) - 1
    assert (len(decisions.events("requeued")), len(decisions.events("dropped"))) in {(sent, 1 - sent)}


@pytest.mark.parametrize("fault", [lost_answer(), ratelimited(1), error("internal_error"), error("invalid_blocks")])
@pytest.mark.parametrize("on_unknown", ["person", "again"])
def test_a_message_whose_thread_failed_is_never_posted_twice(
    decisions: Decisions, fault: Fault, on_unknown: str
) -> None:
    decisions.over_a_bot().finds(8)
    decisions.shop.config["channels"]["slack"]["on_unknown"] = on_unknown
    decisions.shop.write()
    decisions.slack.fail(POST, slow(0), fault)

    decisions("run", "-q")
    for message in decisions("messages", "--json").json:
        if message["status"] == "unknown":
            assert decisions("messages", "requeue", message["message"]).code == 0
    decisions("run", "-q")

    [parent] = decisions.slack.parents()
    assert len(decisions.slack.replies(parent["ts"])) in ((1, 2) if fault == lost_answer() else (1,))
    assert decisions("messages", "--json").json == []


def test_the_thread_of_a_message_is_posted_when_a_person_requeues_it(decisions: Decisions) -> None:
    decisions.over_a_bot().finds(8)
    decisions.slack.fail(POST, slow(0), Fault("drop"))
    decisions("run", "-q")
    [parent] = decisions.slack.parents()
    before = len(decisions.slack.replies(parent["ts"]))

    decisions("messages", "requeue", decisions.unknown())

    assert before == 0
    assert [item["ts"] for item in decisions.slack.parents()] == [parent["ts"]]
    assert len(decisions.slack.replies(parent["ts"])) == 1
