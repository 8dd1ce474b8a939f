"""Slack: valid whatever the data, delivered once by slack-sdk."""

import datetime as dt
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import slack_sdk
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from notifications import conformance
from notifications.base import FailureNotice, GroupNotice, Notice, RecordNotice, RuleNotice, TroubleNotice
from notifications.errors import (
    CannotBeAsked,
    ChannelRefused,
    ChannelUnreachable,
    DeliveryReaction,
    DeliveryUnknown,
    PartlySent,
    RateLimited,
    TokenMissingScope,
)
from notifications.slack import blockkit
from notifications.slack.channel import SlackChannel, SlackSettings
from notifications.slack.limits import escape_stray
from notifications.wording import render
from notifications.wording.headline import SEVERITIES
from reconcile.testing.slack_server import (
    WEBHOOK,
    SlackServer,
    error,
    lost_answer,
    ratelimited,
    reset,
    server_error,
    slow,
)
from tests.support.chance import examples
from tests.support.notifications import SLOT, double_charges, night, trouble

POST = "chat.postMessage"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer() as server:
        yield server


def bot(server: SlackServer, **more: Any) -> SlackChannel:
    output = {"type": "slack", "token": server.token, "channel": "#finance-ops", "base_url": server.base_url, **more}
    return SlackChannel("finance", SlackSettings.model_validate(output), Path())


def hook(server: SlackServer) -> SlackChannel:
    return SlackChannel("finance", SlackSettings(type="slack", webhook_url=server.webhook_url), Path())


def shown(message: dict[str, Any]) -> str:
    return blockkit.as_text(message)


@pytest.mark.parametrize("groups", [1, 30, 5_000])
def test_the_message_is_delivered_by_slack_sdk_whatever_the_names_in_the_data(slack: SlackServer, groups: int) -> None:
    notice = night(double_charges(groups, hostile=True))

    receipt = bot(slack).send(notice)

    assert slack.refused == []
    (parent,) = slack.parents()
    assert receipt.details["ts"] == parent["ts"]
    assert len(slack.replies(parent["ts"])) == (1 if groups > 3 else 0)
    assert all(blockkit.check(message) == [] for message in slack.messages)


def test_data_is_shown_as_it_is_and_rings_nobody(slack: SlackServer) -> None:
    bot(slack).send(night(double_charges(8, hostile=True)))

    everything = [element for message in slack.messages for element in leaves(message["blocks"])]
    assert {element["type"] for element in everything} == {"text", "link"}
    assert {"type": "text", "text": "<!channel>", "style": {"bold": True}} in everything
    assert not [e for e in everything if e["type"] == "link" and e["url"] != "https://wiki.example.com/double-charge"]


def leaves(node: Any) -> Iterator[dict[str, Any]]:
    """The texts, links and mentions of rich_text."""
    if isinstance(node, list):
        for item in node:
            yield from leaves(item)
    elif isinstance(node, dict) and isinstance(node.get("elements"), list):
        yield from leaves(node["elements"])
    elif isinstance(node, dict) and node.get("type") not in ("header", "divider", "plain_text"):
        yield node


def test_only_an_owner_that_the_channel_s_mentions_have_rings(slack: SlackServer) -> None:
    group, user = replace(double_charges(1), owner="@finance"), replace(double_charges(1), rule="x", owner="U012345678")

    bot(slack, mentions={"@finance": "S0614TZR7"}).send(night(group, user))

    rung = [element for element in leaves(slack.messages[0]["blocks"]) if element["type"] in ("user", "usergroup")]
    assert rung == [{"type": "usergroup", "usergroup_id": "S0614TZR7"}]


def test_a_trouble_with_reconcile_itself_is_one_message_and_is_found_again(slack: SlackServer) -> None:
    channel = bot(slack)

    receipt = channel.send(trouble())

    assert slack.refused == []
    assert slack.messages[0]["text"].startswith("⚠️ Reconcile: job nightly has not succeeded since 20 Nov 06:15")
    assert channel.find(trouble()) == receipt


@pytest.mark.parametrize(
    "owner", ["WAREHOUSE", "@here", "<!channel>", "!here", "finance & Co", "U012345678", "<@U012345678>", "S0614TZR7"]
)
def test_an_owner_nobody_gave_an_id_is_only_named(slack: SlackServer, owner: str) -> None:
    bot(slack).send(night(replace(double_charges(1), owner=owner)))

    everything = list(leaves(slack.messages[0]["blocks"]))
    assert {"type": "text", "text": owner} in everything
    assert {element["type"] for element in everything} == {"text", "link"}


def test_the_preview_is_what_the_channel_shows(slack: SlackServer) -> None:
    notice = night(double_charges(30))
    channel = bot(slack)

    preview = channel.preview(notice)
    channel.send(notice)

    assert preview == f"{shown(slack.messages[0])}\nIn its thread:\n{shown(slack.messages[1])}"


def test_a_429_says_how_long_to_wait_and_nothing_was_sent(slack: SlackServer) -> None:
    slack.fail(POST, ratelimited(7))

    with pytest.raises(RateLimited) as told:
        bot(slack).send(night(double_charges(1)))

    assert told.value.retry_after == 7
    assert told.value.reaction is DeliveryReaction.RETRY
    assert (len(slack.calls), slack.messages) == (1, [])


def test_a_channel_that_is_posted_to_too_fast_answers_429_by_itself(slack: SlackServer) -> None:
    slack.limit("C0FINANCE1", 60)
    channel = bot(slack)
    channel.send(night(double_charges(1)))

    with pytest.raises(RateLimited) as told:
        channel.send(night(double_charges(1), name="n-2"))

    assert 0 < (told.value.retry_after or 0) <= 60


@pytest.mark.parametrize("fault", [lost_answer(), server_error(posted=True), reset(posted=True)])
def test_a_lost_answer_does_not_post_twice_when_the_message_is_found_again(slack: SlackServer, fault: Any) -> None:
    slack.fail(POST, fault)
    notice = night(double_charges(1))
    with pytest.raises(DeliveryUnknown) as told:
        bot(slack).send(notice)

    result = bot(slack).find(notice)

    assert told.value.reaction is DeliveryReaction.LOOK
    assert result is not None
    assert result.details["ts"] == slack.messages[0]["ts"]
    assert len(slack.messages) == 1


@pytest.mark.parametrize("fault", [lost_answer(), reset(), ratelimited(3), server_error()])
def test_a_thread_that_was_cut_off_is_completed_once_by_looking(slack: SlackServer, fault: Any) -> None:
    notice = night(double_charges(30))
    channel = bot(slack)
    slack.fail(POST, slow(0), fault)
    with pytest.raises(PartlySent) as told:
        channel.send(notice)

    first, second = channel.find(notice), channel.find(notice)

    assert told.value.retry_after == (3 if fault.status == 429 else None)
    assert first == second
    assert len(slack.parents()) == 1
    assert len(slack.replies(slack.parents()[0]["ts"])) == 1


@pytest.mark.slow
@pytest.mark.parametrize("method", ["conversations.list", "conversations.history", "conversations.replies", POST])
@pytest.mark.parametrize("fault", [ratelimited(4), server_error(), reset()])
def test_who_could_not_look_never_says_that_nothing_was_sent(slack: SlackServer, method: str, fault: Any) -> None:
    notice = night(double_charges(30))
    slack.fail(POST, slow(0), lost_answer() if method != POST else server_error())
    with pytest.raises(PartlySent):
        bot(slack).send(notice)
    slack.fail(method, fault)

    with pytest.raises(DeliveryUnknown) as told:
        bot(slack).find(notice)

    assert told.value.retry_after == (4 if fault.status == 429 else None)


def test_slack_sdk_and_jinja_are_not_loaded_before_they_are_needed() -> None:
    script = "import sys, notifications.slack.channel; sys.exit(bool({'slack_sdk', 'jinja2'} & set(sys.modules)))"

    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=60).returncode == 0


@pytest.mark.slow
def test_an_answer_that_comes_too_late_is_unknown(slack: SlackServer) -> None:
    slack.fail(POST, slow(5))

    with pytest.raises(DeliveryUnknown, match="no answer came in time"):
        bot(slack, timeout=1).send(night(double_charges(1)))


def test_a_connection_that_was_never_made_is_known_not_to_have_sent() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/api/"
        answer = SlackSettings(type="slack", token="xoxb-canary", channel="#x", base_url=address)

        with pytest.raises(ChannelUnreachable, match="connection refused") as told:
            SlackChannel("finance", answer, Path()).send(night(double_charges(1)))

    assert told.value.reaction is DeliveryReaction.RETRY
    assert "canary" not in str(told.value)


@pytest.mark.parametrize(
    ("code", "advice"),
    [("invalid_auth", "xoxb-"), ("not_in_channel", "/invite"), ("is_archived", "use another"), ("strange", "strange")],
)
def test_a_refusal_says_what_to_do(slack: SlackServer, code: str, advice: str) -> None:
    slack.fail(POST, error(code))

    with pytest.raises(ChannelRefused, match=advice) as told:
        bot(slack).send(night(double_charges(1)))

    assert (told.value.code, told.value.reaction) == (code, DeliveryReaction.STOP)


def test_a_wrong_token_and_an_unknown_channel_are_refused(slack: SlackServer) -> None:
    with pytest.raises(ChannelRefused, match="invalid_auth"):
        bot(slack, token="xoxb-other").send(night(double_charges(1)))
    with pytest.raises(ChannelRefused, match="channel_not_found"):
        bot(slack, channel="#other").send(night(double_charges(1)))


def test_a_missing_scope_is_named(slack: SlackServer) -> None:
    slack.fail(POST, error("missing_scope", needed="chat:write", provided="none"))
    slack.fail("conversations.history", error("missing_scope", needed="channels:history", provided="chat:write"))

    with pytest.raises(TokenMissingScope, match="chat:write"):
        bot(slack).send(night(double_charges(1)))
    with pytest.raises(CannotBeAsked, match="channels:history"):
        bot(slack).find(night(double_charges(1)))


@pytest.mark.slow
def test_a_notice_is_found_among_many_messages_by_its_whole_id(slack: SlackServer) -> None:
    channel = bot(slack)
    wanted = channel.send(night(double_charges(1), name="wanted"))
    client = slack_sdk.WebClient(slack.token, base_url=slack.base_url)
    for number in range(250):
        client.chat_postMessage(channel="C0FINANCE1", text=f"chatter {number}")

    assert channel.find(night(double_charges(1), name="wanted")) == wanted
    assert channel.find(night(double_charges(1), name="want")) is None


def test_a_channel_with_too_many_messages_cannot_be_asked(slack: SlackServer) -> None:
    slack.messages += [{"channel": "C0FINANCE1", "ts": f"4000000000.{n:06d}", "text": "x"} for n in range(2_500)]

    with pytest.raises(CannotBeAsked, match="10 pages"):
        bot(slack).find(night(double_charges(1)))


def test_an_incoming_webhook_delivers_and_cannot_be_asked(slack: SlackServer) -> None:
    channel = hook(slack)
    notice = night(double_charges(30, hostile=True))

    receipt = channel.send(notice)

    assert receipt.where == "slack webhook"
    assert len(slack.messages) == 1
    assert "And 25 more: reconcile findings" in shown(slack.messages[0])
    with pytest.raises(CannotBeAsked, match="incoming webhook"):
        channel.find(notice)


@pytest.mark.parametrize(
    ("fault", "raised"),
    [(ratelimited(5), RateLimited), (server_error(), DeliveryUnknown), (lost_answer(), DeliveryUnknown)],
)
def test_a_webhook_tells_its_failures_apart(slack: SlackServer, fault: Any, raised: type[Exception]) -> None:
    slack.fail(WEBHOOK, fault)

    with pytest.raises(raised) as told:
        hook(slack).send(night(double_charges(1)))

    assert "secretsecret" not in str(told.value) + repr(told.value)


def test_garbage_instead_of_an_answer_is_unknown(slack: SlackServer) -> None:
    garbage = replace(server_error(), status=200)
    for body in ("<html>portal</html>", "[1]", '"ok"', "", "{"):
        slack.fail(POST, replace(garbage, body=body))

        with pytest.raises(DeliveryUnknown):
            bot(slack).send(night(double_charges(1)))


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({}, "but not both"),
        ({"token": "x"}, "a bot needs both"),
        ({"token": "x", "channel": "c", "webhook_url": "https://hooks.slack.com/x"}, "but not both"),
        ({"webhook_url": "http://hooks.slack.com/x"}, "https://"),
        ({"token": "x", "channel": "c", "base_url": "http://slack.example.com/api/"}, "https://"),
        ({"token": "x", "channel": "c", "mentions": {"@f": "finance"}}, "is not a Slack id"),
        ({"token": "x", "channel": "c", "tokn": "y"}, "Extra inputs"),
    ],
)
def test_wrong_settings_are_told(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        SlackSettings.model_validate({"type": "slack", **said})


def test_the_bot_and_the_webhook_keep_every_promise_of_a_channel(slack: SlackServer) -> None:
    output = {"type": "slack", "token": slack.token, "channel": "C0FINANCE1", "base_url": slack.base_url}

    conformance.run(
        conformance.Suite(
            lambda: bot(slack), output, lambda: len(slack.messages), lambda: bot(slack, channel="#no"), [slack.token]
        )
    )
    conformance.run(
        conformance.Suite(
            lambda: hook(slack),
            {"type": "slack", "webhook_url": slack.webhook_url},
            lambda: len(slack.messages),
            secrets=["secretsecret"],
        )
    )


@pytest.mark.slow
def test_a_template_of_the_users_own_cannot_break_the_message(slack: SlackServer, tmp_path: Path) -> None:
    (tmp_path / "mine.j2").write_text(
        "*{{ headline }}*\n<https://wiki.example.com|Runbook>\n{% for r in notice.rules %}{% for g in r.largest %}"
        "{{ g.key.order_id }} {{ g.key.order_id | truncate(6) }} 1 < 2\n{% endfor %}{% endfor %}"
    )
    answer = SlackSettings.model_validate(
        {
            "type": "slack",
            "token": slack.token,
            "channel": "#finance-ops",
            "base_url": slack.base_url,
            "template": "mine.j2",
        }
    )
    channel = SlackChannel("finance", answer, tmp_path)

    for groups in (1, 8, 3_000):
        channel.send(night(double_charges(groups, hostile=True), name=f"n-{groups}"))

    assert slack.refused == []
    assert "&lt;!channel&gt;" in shown(slack.messages[0])
    assert "<!channel>" not in shown(slack.messages[0])
    assert "<https://wiki.example.com|Runbook>" in shown(slack.messages[0])


WORDS = st.text(max_size=120) | st.sampled_from(["<!channel>", "&", "*x*", "\u202e", "\ud800", "𝔘" * 200, "x" * 5_000])
MONEY = st.dictionaries(WORDS, st.decimals(), max_size=6)
TIMES = st.datetimes(dt.datetime(1970, 1, 2), dt.datetime(2999, 1, 1), timezones=st.just(dt.UTC))  # noqa: DTZ001
COUNTS = st.integers(0, 10**9)
GROUPS = st.builds(
    GroupNotice,
    finding=WORDS,
    state=WORDS,
    key=st.dictionaries(WORDS, WORDS, max_size=9),
    keeper=WORDS,
    surplus=st.lists(WORDS, max_size=9).map(tuple),
    records=COUNTS,
    money=MONEY,
    first=st.none() | TIMES,
    last=st.none() | TIMES,
    seconds_apart=st.lists(st.floats(0, 1e9), max_size=4).map(tuple),
    nearby=st.lists(WORDS, max_size=4).map(tuple),
    nearby_records=COUNTS,
    history=st.none() | WORDS,
    form_reason=st.none() | WORDS,
    display=st.lists(st.builds(RecordNotice, WORDS, st.dictionaries(WORDS, WORDS, max_size=6)), max_size=4).map(tuple),
)
RULES = st.builds(
    RuleNotice,
    rule=WORDS,
    severity=WORDS | st.sampled_from(SEVERITIES),
    dataset=WORDS,
    new=COUNTS,
    grown=COUNTS,
    reopened=COUNTS,
    known=COUNTS,
    resolved=COUNTS,
    records=COUNTS,
    money=MONEY,
    first_run=st.booleans(),
    edited=st.booleans(),
    owner=st.none() | WORDS,
    runbook=st.none() | WORDS,
    why=st.none() | WORDS,
    trend=st.none() | WORDS,
    largest=st.lists(GROUPS, max_size=5).map(lambda few: tuple(few * 9)),
    skipped=st.lists(WORDS, max_size=5).map(tuple),
    kind=WORDS,
)
FAILURES = st.builds(FailureNotice, WORDS, WORDS, st.none() | TIMES, st.booleans())
TROUBLES = st.builds(TroubleNotice, WORDS, WORDS, TIMES, st.booleans(), st.none() | WORDS)
NOTICES = st.builds(
    Notice,
    WORDS,
    st.none() | WORDS,
    st.none() | WORDS,
    TIMES,
    st.lists(RULES, max_size=3).map(lambda few: tuple(few * 7)),
    st.lists(FAILURES, max_size=4).map(lambda few: tuple(few * 4)),
    st.none() | WORDS,
    st.booleans(),
    st.none() | TIMES,
    st.none() | TIMES,
    st.sampled_from(["UTC", "Europe/Berlin", "nowhere", "../etc"]),
    st.none() | TROUBLES,
)


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(NOTICES, st.dictionaries(WORDS, st.sampled_from(["S0614TZR7", "!here"]), max_size=2))
def test_whatever_is_in_a_notice_its_message_is_valid(notice: Notice, mentions: dict[str, str]) -> None:
    for room in (render.SLACK, render.SLACK_WEBHOOK):
        drawn = render.document(notice, room)
        for message in (blockkit.message(drawn, mentions), blockkit.thread(drawn, mentions)):
            assert message is None or blockkit.check(message) == []


@given(st.text())
def test_mended_text_is_valid_and_mending_twice_changes_nothing(text: str) -> None:
    once = escape_stray(text)

    assert escape_stray(once) == once
    assert not text.strip() or len(once) > 4_000 or blockkit.check({"text": once, "blocks": []}) == []


@pytest.mark.parametrize(
    ("blocks", "problem"),
    [
        ([{"type": "divider"}] * 51, "Slack takes 50"),
        ([{"type": "strange"}], "not a block we know"),
        ([{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}], "takes 150"),
        ([{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}], "text of type"),
        ([{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3_001}}], "takes 3000"),
        ([{"type": "section", "text": {"type": "mrkdwn", "text": "a & b"}}], "neither escaped"),
        ([{"type": "section", "text": {"type": "mrkdwn", "text": "cut &am"}}], "neither escaped"),
        ([{"type": "section", "fields": [{"type": "mrkdwn", "text": "x"}] * 11}], "at most 10"),
        ([{"type": "section"}], "neither text nor fields"),
        ([{"type": "context", "elements": [{"type": "plain_text", "text": "x"}] * 11}], "1 to 10"),
        ([{"type": "divider", "block_id": "a"}, {"type": "divider", "block_id": "a"}], "twice"),
        ([{"type": "rich_text", "elements": []}], "no elements"),
        (
            [
                {
                    "type": "rich_text",
                    "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": ""}]}],
                }
            ],
            "without text",
        ),
        ([{"type": "section", "text": {"type": "plain_text", "text": "x" * 2_500}}] * 5, "about 12000"),
    ],
)
def test_the_checker_and_the_server_refuse_what_slack_refuses(
    slack: SlackServer, blocks: list[dict[str, Any]], problem: str
) -> None:
    client = slack_sdk.WebClient(slack.token, base_url=slack.base_url)

    assert problem in "; ".join(blockkit.check({"text": "x", "blocks": blocks}))
    with pytest.raises(slack_sdk.errors.SlackApiError, match="invalid_blocks"):
        client.chat_postMessage(channel="C0FINANCE1", text="x", blocks=blocks)


def test_the_server_updates_messages_and_says_who_calls(slack: SlackServer) -> None:
    client = slack_sdk.WebClient(slack.token, base_url=slack.base_url)
    ts = client.chat_postMessage(channel="#finance-ops", text="first")["ts"]

    client.chat_update(channel="C0FINANCE1", ts=ts, text="second")

    assert slack.messages[0]["text"] == "second"
    assert client.auth_test()["team"] == "Tests"
    with pytest.raises(slack_sdk.errors.SlackApiError, match="message_not_found"):
        client.chat_update(channel="C0FINANCE1", ts="1.1", text="third")
    assert client.conversations_history(channel="C0FINANCE1")["messages"][0]["text"] == "second"


def test_amounts_are_never_added_across_currencies(slack: SlackServer) -> None:
    rule = replace(double_charges(2), money={"EUR": Decimal(20), "USD": Decimal(5)})

    bot(slack).send(night(rule))

    assert "20.00 EUR and 5.00 USD at risk" in shown(slack.messages[0])
    assert "25.00" not in shown(slack.messages[0])


def test_a_catch_up_run_is_looked_for_from_when_it_was_written(slack: SlackServer) -> None:
    notice = replace(night(double_charges(1)), slot=SLOT + dt.timedelta(days=9_000))
    channel = bot(slack)
    sent = channel.send(notice)

    assert channel.find(notice) == sent
