"""From records to what Slack shows, through slack-sdk: valid whatever the data, once whatever the wire, no secrets."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from notifications.slack.limits import check
from reconcile.testing.faults import Fault
from reconcile.testing.slack_server import WEBHOOK, SlackServer, error, lost_answer, ratelimited, reset, server_error
from tests.support.runs import DOUBLE, ChargesProject, Ended, charge, twice

pytestmark = pytest.mark.slow

TOKEN = "xoxb-canary-5up3rs3cr3t"
HOSTILE = (
    "<!channel>",
    "<@U012345> @here *bold* _it_ ~no~ `code` ```block```",
    "<https://evil.example|your bank> &amp; Co",
    "two\r\nlines\tand \u202eturned\u200b",
    "O'Brien; drop table charges --",
    "𝔘" * 4000,
    "{{ 7 * 7 }} {% raw %} ${HOME} %s {0}",
    "שלום \u2067עולם",
    "=HYPERLINK(1)",
    " ",
)


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer(TOKEN) as server:
        yield server


@pytest.fixture
def shop(tmp_path: Path, slack: SlackServer) -> ChargesProject:
    """An empty shop that tells Slack; the token comes from the environment."""
    shop = ChargesProject.at(tmp_path / "shop")
    shop.environ = {"SLACK_TOKEN": TOKEN}
    shop.config["channels"] = {
        "slack": {
            "type": "slack",
            "token": "${secret:SLACK_TOKEN}",
            "channel": "C0FINANCE1",
            "base_url": slack.base_url,
        }
    }
    shop.config["jobs"]["nightly"]["notify"] = ["slack"]
    return shop.write()


def _hostile(groups: int) -> list[tuple[str | None, ...]]:
    """That many groups of two, their orders named as names must not be."""
    return [item for n in range(groups) for item in twice(10 * n, f"{HOSTILE[n % len(HOSTILE)]}#{n}")]


@pytest.mark.parametrize("groups", [1, 30, 1_000])
def test_a_message_about_any_number_of_hostile_groups_is_valid_and_delivered_once(
    shop: ChargesProject, slack: SlackServer, groups: int
) -> None:
    shop.add(*_hostile(groups))

    begun = time.monotonic()
    ended = shop.run()
    seconds = time.monotonic() - begun

    again = shop.run()
    assert ended.counts == {"new": groups}
    assert again.counts == {"known": groups}
    assert "sent" not in again.json
    assert slack.refused == []
    [parent] = slack.parents()
    assert all(check(message) == [] for message in slack.messages)
    assert len(slack.replies(parent["ts"])) == (1 if groups > 3 else 0)
    assert f"{groups:,} " in parent["text"]
    for message in slack.messages:
        assert list(_rings(message)) == []
        assert "\u202e" not in json.dumps(message, ensure_ascii=False)
    rule = ended.rule("double-charge")
    print(f"\n{groups} groups: run {seconds:.2f} s, of it detection {rule['seconds']:.2f} s")


def test_a_message_that_slack_limits_waits_as_long_as_slack_says(shop: ChargesProject, slack: SlackServer) -> None:
    shop.add(*twice(1, "A-1"))
    posts = _timed(slack)
    slack.fail("chat.postMessage", ratelimited(1))

    ended = shop.run()

    assert ended.json["sent"] == ["slack"]
    assert len(slack.parents()) == 1
    first, second = posts
    assert 1.0 <= second - first < 8


def test_a_thread_that_slack_limits_is_completed_without_a_second_message(
    shop: ChargesProject, slack: SlackServer
) -> None:
    shop.add(*(item for n in range(8) for item in twice(10 * n, f"A-{n}")))
    slack.limit("C0FINANCE1", 1.0)

    ended = shop.run()

    assert ended.json["sent"] == ["slack"]
    [parent] = slack.parents()
    assert len(slack.replies(parent["ts"])) == 1


@pytest.mark.parametrize("fault", [lost_answer(), reset(posted=True), server_error(posted=True)])
def test_an_answer_that_is_lost_does_not_post_twice(shop: ChargesProject, slack: SlackServer, fault: Fault) -> None:
    shop.add(*twice(1, "A-1"))
    slack.fail("chat.postMessage", fault)

    ended = shop.run()

    assert ended.json["sent"] == ["slack"]
    assert len(slack.messages) == 1
    assert "sent" not in shop.run().json
    assert len(slack.messages) == 1


@pytest.mark.parametrize(("on_unknown", "code", "posted"), [("person", 3, 1), ("again", 0, 2)])
def test_where_nobody_can_look_a_lost_answer_is_left_to_a_person_or_sent_again_as_the_channel_says(
    shop: ChargesProject, slack: SlackServer, on_unknown: str, code: int, posted: int
) -> None:
    shop.add(*twice(1, "A-1"))
    shop.config["channels"]["slack"] = {"type": "slack", "webhook_url": slack.webhook_url, "on_unknown": on_unknown}
    shop.write()
    slack.fail(WEBHOOK, lost_answer())

    ended = shop.run(code=code)
    shop.run()

    assert len(slack.messages) == posted
    assert ("undelivered" in ended.json) == (code == 3)


def test_a_message_that_slack_refuses_is_told_with_what_to_do_and_goes_out_once_that_is_done(
    shop: ChargesProject, slack: SlackServer
) -> None:
    shop.add(*twice(1, "A-1"))
    slack.fail("chat.postMessage", error("not_in_channel"))

    refused = shop.run(code=3)
    assert refused.json["status"] == "succeeded"
    [sentence] = refused.json["undelivered"]
    assert "invite" in sentence
    ended = _until_sent(shop)

    assert ended.counts == {"known": 1}
    assert len(slack.messages) == 1


def test_while_slack_is_down_the_message_waits_and_the_next_run_delivers_it_once(
    shop: ChargesProject, slack: SlackServer
) -> None:
    shop.add(*twice(1, "A-1"))
    up = shop.config["channels"]["slack"]["base_url"]
    shop.config["channels"]["slack"]["base_url"] = "http://127.0.0.1:9/api/"
    shop.write()

    down = shop.resumed(None)["report"]
    shop.config["channels"]["slack"]["base_url"] = up
    shop.write()
    ended = shop.run()

    assert down["status"] == "succeeded"
    assert down["rules"][0]["findings"]["new"] == 1
    assert down["undelivered"][0].startswith("slack: ")
    assert ended.counts == {"known": 1}
    assert ended.json["sent"] == ["slack"]
    assert len(slack.messages) == 1
    assert shop.intact()


def test_a_grown_finding_says_which_records_joined_since_the_channel_heard_of_it(
    shop: ChargesProject, slack: SlackServer
) -> None:
    shop.add(*twice(1, "A-1"))
    shop.run()
    shop.add(charge(3, "A-1", amount="20.00", second=50))
    shop.run()

    _, grown = slack.parents()
    assert "1 double charge grew, 40.00 EUR at risk" in grown["text"]
    assert "Joined since the last message: ch_00003, adds 20.00 EUR" in json.dumps(grown)


def test_readers_hear_what_was_not_checked_and_operators_why(shop: ChargesProject, slack: SlackServer) -> None:
    shop.config["channels"]["ops"] = {"type": "file", "path": "ops.txt"}
    shop.config |= {"alerts": "ops", "name": "shop-test"}
    shop.write()
    shop.add(*twice(1, "A-1"))
    shop.sql("alter table charges rename to away")
    shop.run(code=3)
    shop.sql("alter table away rename to charges")
    shop.run()

    broken, back = slack.parents()
    told = (shop.folder / "ops.txt").read_text(encoding="utf-8")
    assert broken["text"] == "⚠️ Could not check rule double-charge · shop-test"
    assert "this is not a clean result. The next run checks it again." in json.dumps(broken)
    assert "charges" not in json.dumps(broken["blocks"])
    assert "Source 'shop' has no table charges" in told
    assert back["text"].startswith("🔴 Critical, first run: 1 double charge, 20.00 EUR at risk")
    assert "✅ Works again: rule double-charge" in told
    assert "double charge," not in told, "findings are for readers"


def test_personal_data_is_in_no_message_line_error_or_audit_entry(shop: ChargesProject, slack: SlackServer) -> None:
    mail, name = "anna.canary@example.com", "Zebulon-Canary"
    shop.sql("alter table charges add column email text")
    shop.sql("alter table charges add column holder text")
    for number, order in ((1, "A-1"), (2, "A-1"), (3, "A-2")):
        row = (*charge(number, order), mail, name)
        shop.sql(f"insert into charges values {row!r}")
    dataset = shop.config["datasets"]["charges"]
    shop.config["datasets"]["charges"] = dataset | {"pii": ["email", "holder"], "id": ["id", "holder"]}
    shop.config["rules"]["double-charge"] = DOUBLE | {"key": ["order_id", {"email": ["email"]}]}
    shop.config["channels"]["team"] = {"type": "file", "path": "messages.jsonl", "format": "jsonl"}
    shop.config["jobs"]["nightly"]["notify"] = ["slack", "team"]
    shop.write()

    ended = [shop.cli("run"), shop.cli("run", "--dry-run")]
    shop.sql("alter table charges rename column email to mail")
    ended.append(shop.cli("run"))

    audit = shop.cli("audit", "--json").out
    sent = json.dumps(slack.messages, ensure_ascii=False) + (shop.folder / "messages.jsonl").read_text()
    assert [item.code for item in ended] == [0, 0, 2]
    assert "•••" in sent or "\\u2022\\u2022\\u2022" in sent
    for place, text in {"sent": sent, "audit": audit, **_streams(ended)}.items():
        assert mail not in text, place
        assert name not in text, place
        assert "anna" not in text, place


def test_a_channel_may_show_what_it_is_allowed_to_and_no_more(shop: ChargesProject, slack: SlackServer) -> None:
    shop.add(*twice(1, "A-secret"))
    shop.config["datasets"]["charges"] = shop.config["datasets"]["charges"] | {"pii": ["order_id", "currency"]}
    shop.config["channels"]["slack"]["show"] = ["order_id"]
    shop.write()

    shop.run()

    [message] = slack.messages
    assert "A-secret" in json.dumps(message)
    assert "•••" in json.dumps(message, ensure_ascii=False)


@pytest.mark.parametrize("fault", [None, error("invalid_auth"), ratelimited(120)])
def test_a_secret_is_nowhere_but_in_the_call(shop: ChargesProject, slack: SlackServer, fault: Fault | None) -> None:
    shop.add(*twice(1, "A-1"))
    if fault is not None:
        slack.fail("chat.postMessage", fault)

    ended = [shop.cli("run"), shop.cli("runs", "--json"), shop.cli("audit", "--json"), shop.cli("findings", "--json")]

    assert [item.code for item in ended] == [0 if fault is None else 3, 0, 0, 0], ended
    assert "chat.postMessage" in [method for method, _ in slack.calls]
    for place, text in _streams(ended).items():
        assert "canary" not in text, place
    for file in shop.folder.rglob("*"):
        assert not file.is_file() or b"canary" not in file.read_bytes(), file
    assert "canary" not in json.dumps(slack.messages)


def _rings(node: Any, *, parsed: bool = True) -> Iterator[Any]:
    """What would ring or link in a message: elements that do so, and their marks where Slack parses text.

    The text of a rich text element is shown as it is; `text` of a message and of a section is parsed.
    """
    if isinstance(node, list):
        for item in node:
            yield from _rings(item, parsed=parsed)
    elif isinstance(node, dict):
        kind = node.get("type")
        if kind in ("user", "usergroup", "broadcast", "link"):
            yield node
        for name, value in node.items():
            yield from _rings(value, parsed=kind != "text" and name != "metadata")
    elif parsed and isinstance(node, str) and any(mark in node for mark in ("<!", "<@", "<#", "<http")):
        yield node


def _until_sent(shop: ChargesProject) -> Ended:
    """Runs until the message that waits is due and delivered; each waits up to 30 s for it."""
    for _ in range(3):
        ended = shop.cli("run", "--json")
        if ended.json.get("sent"):
            return ended
    pytest.fail(f"never sent: {ended.out}")


def _timed(slack: SlackServer) -> list[float]:
    """When each post reaches the server, by the server's clock."""
    times: list[float] = []
    called = slack.called

    def note(method: str, arguments: dict[str, object], token: str | None) -> object:
        if method == "chat.postMessage":
            times.append(time.monotonic())
        return called(method, arguments, token)

    slack.called = note  # type: ignore[method-assign,assignment]
    return times


def _streams(ended: list[Ended]) -> dict[str, str]:
    return {
        f"{kind} {n}": text for n, item in enumerate(ended) for kind, text in (("out", item.out), ("err", item.err))
    }
