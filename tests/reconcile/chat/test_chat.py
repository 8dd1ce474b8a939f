"""Decisions by buttons in Slack: proven, by the right person, about what the message showed, once."""

import datetime as dt
import http.client
import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import sqlalchemy as sa

from reconcile.chat import endpoint
from reconcile.chat.sockets import Sockets
from reconcile.coordination.lease import Owner
from reconcile.decisions import decide
from reconcile.people import users
from reconcile.store import Store, tables
from reconcile.testing.slack_server import SlackServer, ratelimited
from tests.reconcile.chat.chat import MARIA, NOOR, STRANGER, VIEWER, Chat, shown
from tests.support.serve import forked, until

pytestmark = pytest.mark.slow


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer() as server:
        yield server


@pytest.fixture
def chat(tmp_path: Path, slack: SlackServer) -> Iterator[Chat]:
    with Chat.at(tmp_path, slack) as chat:
        yield chat


@pytest.mark.parametrize(
    ("action", "state", "sentence", "outcome"),
    [
        ("dismiss", "dismissed", "is dismissed: its 2 records are not the same", "not a duplicate, says maria"),
        ("handle", "handled", "is handled: it is real, and was dealt with outside Reconcile", "handled by maria ("),
        ("snooze", "snoozed", "is snoozed until ", "snoozed until "),
    ],
)
def test_a_press_decides_and_the_message_shows_it_to_everybody(
    chat: Chat, action: str, state: str, sentence: str, outcome: str
) -> None:
    chat.add("A", "A", "B", "B")
    message = chat.run()

    answered = chat.press(message, action)
    assert (answered.status, answered.kept, chat.states()) == (200, 1, ["open", "open"]), "nothing before the answer"
    [told] = chat.work()

    [updated] = chat.slack.parents()
    assert chat.states() == sorted(["open", state])
    assert sentence in told
    assert [(each["user"], each["blocks"][0]["text"]["text"]) for each in chat.slack.ephemeral] == [(MARIA, told)]
    assert (outcome in shown(updated), len(chat.buttons(updated, action))) == (True, 1)
    assert chat.slack.refused == []
    assert [finding.decided_by for finding in chat.findings() if finding.state.value == state] == ["maria"]


def test_an_approval_is_of_the_plan_that_the_message_showed(tmp_path: Path, slack: SlackServer) -> None:
    with Chat.at(tmp_path, slack, clean={"action": "delete"}) as chat:
        chat.add("A", "A")
        message = chat.run()
        stale = chat.slack.pressed(message, chat.buttons(message, "approve")[0])
        chat.add("A")
        newer = chat.run()
        headers, body = slack.request(stale)
        assert endpoint.answer(chat.application.project, chat.application.store, headers, body).status == 200
        [refused] = chat.work()
        assert chat.sql("select count(*) from orders") == [(3,)]

        assert chat.press(newer, "approve").status == 200
        [approved] = chat.work()
        assert chat.application.clean_due() is not None
        chat.application.deliver()

        assert "its plan is " in refused
        assert "is approved" in approved
        assert chat.sql("select id from orders") == [(1,)]
        assert all("cleaned (" in shown(each) for each in slack.parents())
        assert slack.parents()[1]["text"].startswith("✅ Done: ")
        assert [b for each in slack.parents() for b in slack.buttons(each)] == []
        assert any(button["confirm"]["title"]["text"] for button in slack.buttons(newer)) is False


def test_a_message_shows_what_somebody_did_about_its_finding(chat: Chat) -> None:
    chat.add("A", "A")
    chat.run()
    [finding] = chat.findings()

    decide.handle(chat.application.store, finding.id, actor="ann", note="refunded <!channel> 4711")
    chat.application.deliver()

    [updated] = chat.slack.parents()
    [told] = re.findall(r'{"type": "text", "text": "(handled by ann [^"]+)"', shown(updated))
    assert re.fullmatch(r"handled by ann \(.+\): refunded <!channel> 4711", told), "plain text: nobody is rung"
    assert (chat.slack.buttons(updated), chat.slack.refused) == ([], [])


def test_a_finding_is_handled_where_no_plan_can_be_approved(tmp_path: Path, slack: SlackServer) -> None:
    with Chat.at(tmp_path, slack, clean={"action": "delete"}) as chat:
        chat.add("A", "A")
        proposed = chat.run()

    names = [button["action_id"].partition(":")[0] for button in slack.buttons(proposed)]
    assert names == ["approve", "dismiss", "snooze"]


def test_a_late_press_says_who_decided_and_when(chat: Chat) -> None:
    chat.add("A", "A")
    message = dict(chat.run())
    chat.press(message, "dismiss")
    chat.work()

    assert chat.press(message, "dismiss", NOOR).status == 200
    assert chat.press(message, "snooze", NOOR).status == 200
    again, snooze = chat.work()

    assert "was already dismissed by maria on 20" in again
    assert "cannot be snoozed: it was already dismissed by maria on 20" in snooze
    assert chat.events("finding.dismissed") == 1


def test_a_finding_that_changed_since_the_message_is_not_decided_on_the_old_one(chat: Chat) -> None:
    chat.add("A", "A")
    message = dict(chat.run())
    chat.add("A")
    chat.run()
    chat.press(message, "dismiss")

    [told] = chat.work()
    assert "changed since it was shown" in told
    assert chat.states() == ["open"]


def test_only_a_user_with_the_role_decides(chat: Chat) -> None:
    chat.add("A", "A")
    message = chat.run()
    with chat.application.store.begin() as tx:
        users.disable(tx, "noor", by="tests")

    assert [chat.press(message, "dismiss", user).status for user in (STRANGER, VIEWER, NOOR)] == [200] * 3
    stranger, viewer, disabled = chat.work()

    assert f"Slack user {STRANGER} is not a user of Reconcile" in stranger
    assert "vi is viewer, and this needs the role reviewer" in viewer
    assert f"Slack user {NOOR} is not a user of Reconcile" in disabled
    assert (chat.states(), chat.events("press.refused")) == (["open"], 3)


def test_a_press_that_slack_delivers_often_and_at_once_is_one_decision(chat: Chat) -> None:
    chat.add("A", "A")
    message = chat.run()
    payload = chat.slack.pressed(message, chat.buttons(message, "dismiss")[0])
    project, store = chat.application.project, chat.application.store
    now = time.time()
    requests = [chat.slack.request(payload, at=now - number % 25) for number in range(50)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda request: endpoint.answer(project, store, *request), requests))
    told = chat.work()

    assert sum(answered.kept for answered in answers) == 1
    assert {answered.status for answered in answers} <= {200, 403}
    assert len(told) == chat.events("finding.dismissed") == 1


def test_a_press_whose_worker_died_after_the_decision_is_not_decided_twice(chat: Chat) -> None:
    chat.add("A", "A")
    message = chat.run()
    chat.press(message, "dismiss")
    [finding] = chat.findings()
    decide.dismiss(chat.application.store, finding.id, actor="maria")
    dead = Owner.this_process(dt.timedelta(minutes=5)).to_json() | {"started": 1}
    with chat.application.store.begin() as tx:
        values = {"status": "working", "fence": 1, "attempts": 1, "owner": dead}
        tx.connection.execute(sa.update(tables.presses).values(values))

    [told] = chat.work()
    assert "was already dismissed by maria" in told
    assert chat.events("finding.dismissed") == 1


@pytest.mark.parametrize("change", ["finding", "version", "proof", "message", "place"])
def test_a_value_that_we_did_not_write_there_decides_nothing(chat: Chat, change: str) -> None:
    """The request is signed: it comes from Slack, but not from a button of this message."""
    chat.add("A", "A", "B", "B")
    message = chat.run()
    first, second = chat.buttons(message, "dismiss")
    payload = chat.slack.pressed(message, first)
    value = json.loads(payload["actions"][0]["value"])
    others = json.loads(chat.slack.pressed(message, second)["actions"][0]["value"])
    value |= {
        "finding": {"f": others["f"]},
        "version": {"v": 7},
        "proof": {"h": "0" * 24},
        "message": {"m": "msg1_000000000000000000000000"},
        "place": {},
    }[change]
    payload["actions"][0]["value"] = json.dumps(value)
    if change == "place":
        payload["container"]["message_ts"] = "1795000000.000001"
    headers, body = chat.slack.request(payload)

    assert endpoint.answer(chat.application.project, chat.application.store, headers, body).status == 200
    [told] = chat.work()
    assert "a message that this Reconcile no longer has" in told
    assert chat.states() == ["open", "open"]


def _hostile(chat: Chat, message: dict[str, Any], seed: random.Random) -> tuple[dict[str, Any], bytes]:
    """A request that is not Slack's, or not for us."""
    payload = chat.slack.pressed(message, seed.choice(chat.slack.buttons(message))["action_id"])
    headers, body = chat.slack.request(payload)
    stamp, signature = "X-Slack-Request-Timestamp", "X-Slack-Signature"
    now = time.time()
    signed = chat.slack.request
    junk = "".join(seed.choice("vé0=:\x00\n∞-9") for _ in range(seed.randrange(90)))
    attacks: list[Callable[[], tuple[dict[str, Any], bytes]]] = [
        lambda: ({}, body),
        lambda: ({**headers, signature: junk}, body),
        lambda: ({**headers, stamp: junk}, body),
        lambda: ({**headers, stamp: seed.choice(["-1", "1e9", "0x5", "٣", "9" * 40, "", " 1", str(now)])}, body),
        lambda: (headers, body.replace(b"dismiss", b"approve")),
        lambda: (headers, body + b" "),
        lambda: signed(payload, at=now - 301 - seed.randrange(10**6)),
        lambda: signed(payload, at=now + 301 + seed.randrange(10**6)),
        lambda: signed(payload, secret="another"),
        lambda: signed(payload | {"team": {"id": "T0ELSEWHERE"}}),
        lambda: signed(payload | {"api_app_id": "A0ELSEWHERE"}),
        lambda: signed(payload | {"team": None}),
        lambda: signed(payload | {"user": seed.choice([None, [], "U", {"id": 7}, {"id": "<!channel>"}])}),
        lambda: signed(payload | {"container": seed.choice([None, {"channel_id": "C1"}, {"message_ts": "x"}])}),
        lambda: signed(payload | {"actions": seed.choice([None, {}, [], [payload["actions"][0]] * 26])}),
        lambda: signed(payload | {"actions": [payload["actions"][0] | {"value": None}]}),
        lambda: signed(payload | {"actions": [payload["actions"][0] | {"action_ts": "now"}]}),
        lambda: _signed_body(chat, seed.choice([b"", b"payload=", b"payload=[]", b"payload=7", b"x=1", b"\xff\xfe"])),
        lambda: _signed_body(chat, urlencode({"payload": "[" * 100_000}).encode()),
        lambda: _signed_body(chat, urlencode([("payload", json.dumps(payload))] * 2).encode()),
        lambda: _signed_body(chat, b"a" * 300_000),
    ]
    return seed.choice(attacks)()


def _signed_body(chat: Chat, body: bytes) -> tuple[dict[str, Any], bytes]:
    from pydantic import SecretStr  # noqa: PLC0415 - only here

    from notifications.slack.interactions import signature  # noqa: PLC0415 - only here

    stamp = str(int(time.time()))
    secret = SecretStr(chat.slack.signing_secret)
    return {"X-Slack-Request-Timestamp": stamp, "x-slack-signature": signature(secret, stamp, body)}, body


def test_two_hundred_hostile_requests_are_refused_and_none_is_acted_on(chat: Chat) -> None:
    chat.add("A", "A", "B", "B")
    message = chat.run()
    number = random.randrange(10**6)
    seed = random.Random(number)

    for attempt in range(200):
        headers, body = _hostile(chat, message, seed)
        answered = endpoint.answer(chat.application.project, chat.application.store, headers, body)
        assert answered.status in (401, 403), (number, attempt, answered, headers, body[:300])
    assert chat.work() == []
    assert chat.states() == ["open", "open"]


def test_a_press_over_socket_mode_is_acknowledged_once_it_is_kept(tmp_path: Path, slack: SlackServer) -> None:
    with Chat.at(tmp_path, slack, app_token=slack.app_token) as chat:
        chat.add("A", "A")
        message = chat.run()
        woken = threading.Event()
        sockets = Sockets(lambda: chat.application.store, woken.set)
        sockets.tick(chat.application.project)
        until(lambda: any(session.is_open for session in slack.sockets), 20, lambda: "no connection")
        payload = slack.pressed(message, chat.buttons(message, "dismiss")[0])
        session = slack.send(payload, "one")
        slack.send(payload, "again")
        slack.send(payload | {"team": {"id": "T0ELSEWHERE"}}, "elsewhere")
        assert woken.wait(20)
        until(lambda: len(session.acknowledged) == 3, 20, lambda: str(session.acknowledged))

        assert {each["envelope_id"] for each in session.acknowledged} == {"one", "again", "elsewhere"}
        assert len(chat.work()) == 1
        sockets.stop()


def test_serve_takes_presses_over_socket_mode_and_updates_the_message(tmp_path: Path, slack: SlackServer) -> None:
    """Killed after the press was kept, the next `serve` carries it out."""
    with Chat.at(tmp_path, slack, app_token=slack.app_token) as chat:
        chat.add("A", "A", "B", "B")
        message = chat.run()
        item, another = chat.buttons(message, "dismiss")
        for button in (item, another):
            with forked(tmp_path) as server:
                server.ready()
                until(lambda: any(session.is_open for session in slack.sockets), 30, lambda: "no connection")
                slack.send(slack.pressed(message, button), button)
                server.hear("press.handled", seconds=30)
                until(lambda b=button: b not in chat.buttons(slack.parents()[0], "dismiss"), 30, lambda: "no update")
                server.kill()

    assert slack.parents()[0]["text"].startswith("✅ Done: ")


def test_serve_takes_presses_over_http_and_answers_before_it_decides(tmp_path: Path, slack: SlackServer) -> None:
    """The answer comes at once, and what is forged, replayed or delivered again changes nothing."""
    with Chat.at(tmp_path, slack) as chat:
        chat.add("A", "A")
        message = chat.run()
        [button] = chat.buttons(message, "dismiss")
        pressed = slack.pressed(message, button)
        genuine, redelivered = slack.request(pressed, at=time.time() - 5), slack.request(pressed)
        forged = slack.request(pressed, secret="another secret")
        with forked(tmp_path, "--listen", "127.0.0.1:0") as server:
            address = server.heard("listener.started")[0]["address"]
            statuses = [_posted(address, *sent) for sent in (forged, genuine)]
            server.hear("press.handled", seconds=30)
            until(lambda: not chat.buttons(slack.parents()[0], "dismiss"), 30, lambda: "no update")
            statuses += [_posted(address, *sent) for sent in (redelivered, genuine)]
            refused = server.hear("press.refused", count=2)

    assert statuses == [401, 200, 200, 403]
    assert [line["why"] for line in refused] == ["wrong signature", "This request was received before"]
    assert (chat.states(), chat.events("finding.dismissed")) == (["dismissed"], 1)


def test_a_site_without_a_signing_secret_has_no_address_for_presses(tmp_path: Path, slack: SlackServer) -> None:
    with (
        Chat.at(tmp_path, slack, signing_secret=None, app_token=slack.app_token),
        forked(tmp_path, "--listen", "127.0.0.1:0") as server,
    ):
        assert _posted(server.heard("listener.started")[0]["address"], {}, b"payload=%7B%7D") == 404


def _posted(address: str, headers: dict[str, Any], body: bytes) -> int:
    """The status of a request to the address that Slack knows."""
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        connection.request("POST", endpoint.PATH, body, headers)
        return connection.getresponse().status
    finally:
        connection.close()


# Living messages


def test_a_message_is_updated_when_its_findings_are_resolved_and_no_new_one_is_posted(chat: Chat) -> None:
    chat.add("A", "A", "B", "B", "C", "C", "D", "D", "E", "E")
    chat.run()
    chat.sql("delete from orders where id % 2 = 0")
    chat.application.run("nightly")

    [message] = chat.slack.parents()
    [thread] = chat.slack.replies(message["ts"])
    assert message["text"].startswith("✅ Done: 5 new double orders")
    assert shown(message).count("resolved (") + shown(thread).count("resolved (") == 5
    assert chat.slack.buttons(message) == []


def test_an_update_that_slack_limits_is_repeated_and_one_of_a_message_that_is_gone_is_not(chat: Chat) -> None:
    chat.add("A", "A")
    chat.run()
    chat.slack.fail("chat.update", ratelimited(1))
    [finding] = chat.findings()
    decide.dismiss(chat.application.store, finding.id, actor="maria")
    chat.application.deliver()
    assert "says maria" not in shown(chat.slack.parents()[0])

    def is_updated() -> bool:
        chat.application.deliver()
        return "says maria" in shown(chat.slack.parents()[0])

    until(is_updated, 20, lambda: "no update")

    decide.reopen(chat.application.store, finding.id, actor="noor")
    chat.slack.messages.clear()
    chat.application.deliver()
    calls = len(chat.slack.calls)
    chat.application.deliver()
    assert (len(chat.slack.calls), chat.events("message.not_updated")) == (calls, 1)


def test_one_process_updates_a_message_and_a_stale_one_does_not_have_the_last_word(chat: Chat) -> None:
    chat.add("A", "A")
    chat.run()
    [finding] = chat.findings()
    decide.dismiss(chat.application.store, finding.id, actor="maria")
    update = chat.application.channels["team"].update  # type: ignore[attr-defined]

    def slow(notice: Any, receipt: Any) -> None:
        """Another process takes over while this one waits for Slack, and this one's call arrives last."""
        chat.application.channels["team"].update = update  # type: ignore[attr-defined]
        with chat.application.store.begin() as tx:
            tx.connection.execute(sa.update(tables.outbox).values(fence=tables.outbox.c.fence + 1, owner=None))
        decide.reopen(chat.application.store, finding.id, actor="noor")
        chat.application.deliver()
        update(notice, receipt)

    chat.application.channels["team"].update = slow  # type: ignore[attr-defined]
    chat.application.deliver()
    assert "says maria" in shown(chat.slack.parents()[0])
    chat.application.deliver()
    assert "says maria" not in shown(chat.slack.parents()[0])


def test_a_message_of_another_store_with_the_same_app_is_not_ours(tmp_path: Path, slack: SlackServer) -> None:
    """Two deployments share one Slack app: Slack sends a press to either."""
    for name in ("staging", "production"):
        (tmp_path / name).mkdir()
    with Chat.at(tmp_path / "staging", slack) as staging, Chat.at(tmp_path / "production", slack) as production:
        for each in (staging, production):
            each.add("A", "A")
        message = staging.run()
        production.run()
        payload = slack.pressed(message, staging.buttons(message, "dismiss")[0])
        answered = endpoint.answer(
            production.application.project, production.application.store, *slack.request(payload)
        )

        assert answered.status == 200
        assert "or to another Reconcile" in production.work()[0]
        assert production.states() == ["open"]


def test_who_can_only_write_the_state_cannot_press(chat: Chat) -> None:
    """The proof of a button can be read there, so a press carries one that only the key makes."""
    chat.add("A", "A", "B", "B")
    message = chat.run()
    chat.press(message, "dismiss", VIEWER)
    with chat.application.store.begin() as tx:
        [(press,)] = tx.connection.execute(sa.select(tables.presses.c.press)).all()
        forged = press | {"press": press["press"] | {"user": MARIA}}
        tx.connection.execute(sa.update(tables.presses).values(press=forged))

    assert chat.work() == ["Reconcile did not receive this button press. Nothing was changed"]
    assert chat.states() == ["open", "open"]


def test_presses_are_kept_where_a_second_process_sees_them(chat: Chat) -> None:
    chat.add("A", "A")
    chat.press(chat.run(), "dismiss")
    with Store.open("sqlite:///state.db", chat.folder) as store, store.read() as tx:
        rows = tx.connection.execute(sa.select(tables.presses.c.status, tables.presses.c.channel)).all()

    assert [tuple(row) for row in rows] == [("due", "team")]
