"""Webhooks: no body without its signature is worked on, and each event once, however often it is delivered."""

import base64
import datetime as dt
import hashlib
import hmac
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from reconcile.guard.webhooks import (
    EventUnnamed,
    GitHub,
    Headers,
    Hmac,
    SecretMissing,
    Sender,
    Shopify,
    SignatureRefused,
    Slack,
    Stripe,
    WebhookAnswer,
    WebhookEvent,
    receive,
)
from tests.reconcile.guard.doors import Door, clock, door, place
from tests.support.chance import examples
from tests.support.store import NOON

__all__ = ["clock", "door", "place"]

SECRET = "whsec_test-secret"
SENDERS: dict[str, Sender] = {
    "stripe": Stripe(SECRET),
    "github": GitHub(SECRET),
    "slack": Slack(SECRET),
    "shopify": Shopify(SECRET),
    "hex": Hmac(SECRET, header="X-Signature", prefix="sha256=", timestamp="X-Time", id_field="event.id"),
    "base64": Hmac(SECRET, header="X-Sign", encoding="base64", id_header="X-Event"),
}
BODY = json.dumps({"id": "evt_1", "event_id": "evt_1", "event": {"id": "evt_1"}, "amount": 20}).encode()


def signed(
    kind: str, body: bytes, *, at: dt.datetime = NOON, secret: str = SECRET, name: str = "evt_1"
) -> dict[str, str]:
    """The headers of a sender, written from its documentation and not from our code."""
    seconds = str(int(at.timestamp()))

    def digest(text: bytes) -> Any:
        return hmac.new(secret.encode(), text, hashlib.sha256)

    match kind:
        case "stripe":
            right = digest(seconds.encode() + b"." + body).hexdigest()
            return {"Stripe-Signature": f"t={seconds},v1={'0' * 64},v1={right},v0=abc"}
        case "github":
            return {"X-Hub-Signature-256": f"sha256={digest(body).hexdigest()}", "X-GitHub-Delivery": name}
        case "slack":
            right = digest(b"v0:" + seconds.encode() + b":" + body).hexdigest()
            return {"X-Slack-Request-Timestamp": seconds, "X-Slack-Signature": f"v0={right}"}
        case "shopify":
            right = base64.b64encode(digest(body).digest()).decode()
            return {"X-Shopify-Hmac-Sha256": right, "X-Shopify-Event-Id": name, "X-Shopify-Topic": "orders/create"}
        case "hex":
            return {"X-Time": seconds, "X-Signature": f"sha256={digest(seconds.encode() + b'.' + body).hexdigest()}"}
        case "base64":
            return {"X-Sign": base64.b64encode(digest(body).digest()).decode(), "X-Event": name}
    raise AssertionError(kind)


kinds = pytest.mark.parametrize("kind", SENDERS)
SIGNED_IN = {
    "stripe": "Stripe-Signature",
    "github": "X-Hub-Signature-256",
    "slack": "X-Slack-Signature",
    "shopify": "X-Shopify-Hmac-Sha256",
    "hex": "X-Signature",
    "base64": "X-Sign",
}
TIMED = ("stripe", "slack", "hex")


def check(kind: str, headers: Any, body: bytes, now: dt.datetime = NOON) -> str:
    return SENDERS[kind].check(Headers(headers), body, now)


# Signatures


@kinds
def test_the_signature_of_a_sender_is_right_and_names_the_event(kind: str) -> None:
    expected = "orders/create evt_1" if kind == "shopify" else "evt_1"

    assert check(kind, signed(kind, BODY), BODY) == expected
    assert check(kind, [(name.upper(), value) for name, value in signed(kind, BODY).items()], BODY) == expected


def test_the_examples_that_the_senders_publish_are_right() -> None:
    """GitHub's test values, and the request in Slack's description of its signatures."""
    github = GitHub("It's a Secret to Everybody")
    signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    headers = Headers({"X-Hub-Signature-256": signature, "X-GitHub-Delivery": "d"})
    assert github.check(headers, b"Hello, World!", NOON) == "d"

    slack = Slack("8f742231b10e8888abcd99yyyzzz85a5")
    body = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&"
        b"channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&"
        b"response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F"
        b"96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    )
    right = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
    at = {"X-Slack-Request-Timestamp": "1531420618", "X-Slack-Signature": right}
    assert slack.check(Headers(at), body, dt.datetime.fromtimestamp(1531420618, dt.UTC)).startswith("signed-")


@kinds
@given(data=st.data())
@settings(max_examples=examples(60, 15), deadline=None, suppress_health_check=list(HealthCheck))
def test_any_change_of_body_or_signature_is_refused(kind: str, data: st.DataObject) -> None:
    body = data.draw(st.sampled_from([BODY, b'{"id":"e","event_id":"e","event":{"id":"e"}}']))
    headers = signed(kind, body)
    changed = bytearray(body)
    if data.draw(st.booleans()):
        changed[data.draw(st.integers(0, len(body) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    else:
        changed += data.draw(st.binary(min_size=1, max_size=5))
    with pytest.raises(SignatureRefused):
        check(kind, headers, bytes(changed))

    name = SIGNED_IN[kind]
    right = headers[name]
    wrong = data.draw(st.text(max_size=80) | st.integers(0, len(right) - 1).map(lambda place: _flipped(right, place)))
    assume(wrong != right and wrong.partition(",v0=")[0] != right.partition(",v0=")[0])
    assume(
        not (kind == "stripe" and right.split("v1=")[2][:64] in wrong and wrong.split(",")[0] == right.split(",")[0])
    )
    with pytest.raises(SignatureRefused):
        check(kind, headers | {name: wrong}, body)


def _flipped(text: str, place: int) -> str:
    return text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]


@kinds
def test_a_wrong_secret_and_a_missing_or_doubled_header_are_refused(kind: str) -> None:
    headers = signed(kind, BODY)
    with pytest.raises(SignatureRefused):
        check(kind, signed(kind, BODY, secret="another"), BODY)
    name = SIGNED_IN[kind]
    with pytest.raises(SignatureRefused, match="there is no header"):
        check(kind, {key: value for key, value in headers.items() if key != name}, BODY)
    with pytest.raises(SignatureRefused, match="or several"):
        check(kind, [*headers.items(), (name.lower(), headers[name])], BODY)


@pytest.mark.parametrize("kind", TIMED)
@pytest.mark.parametrize("minutes", [-6, 6, 60 * 24 * 365])
def test_an_old_or_future_signature_is_refused(kind: str, minutes: int) -> None:
    headers = signed(kind, BODY, at=NOON - dt.timedelta(minutes=minutes))

    with pytest.raises(SignatureRefused, match="too far from now"):
        check(kind, headers, BODY)
    assert check(kind, signed(kind, BODY, at=NOON - dt.timedelta(minutes=4)), BODY) == "evt_1"


@pytest.mark.parametrize("time", ["", "-1", "1e9", "\u0661\u0662", "9" * 40, "nan"])
def test_a_time_that_is_no_number_of_seconds_is_refused(time: str) -> None:
    right = hmac.new(SECRET.encode(), f"v0:{time}:".encode() + BODY, hashlib.sha256).hexdigest()

    with pytest.raises(SignatureRefused):
        check("slack", {"X-Slack-Request-Timestamp": time, "X-Slack-Signature": f"v0={right}"}, BODY)


def test_while_a_secret_is_replaced_both_are_right_and_an_empty_one_never() -> None:
    both = Stripe(["new", SECRET])

    assert both.check(Headers(signed("stripe", BODY)), BODY, NOON) == "evt_1"
    assert both.check(Headers(signed("stripe", BODY, secret="new")), BODY, NOON) == "evt_1"
    for secret in ("", [], ["new", ""]):
        with pytest.raises(SecretMissing):
            Stripe(secret).check(Headers(signed("stripe", BODY, secret="")), BODY, NOON)


@pytest.mark.parametrize(
    "body", [b"{}", b"[1]", b'{"id": ""}', b'{"id": null}', b'{"id": true}', b"no json", b'{"id": {"a": 1}}']
)
def test_an_event_without_an_id_is_told_after_its_signature_was_right(body: bytes) -> None:
    with pytest.raises(EventUnnamed):
        check("stripe", signed("stripe", body), body)
    with pytest.raises(SignatureRefused):
        check("stripe", signed("stripe", b"another"), body)


def test_a_secret_is_in_no_representation() -> None:
    assert all(SECRET not in repr(sender) for sender in SENDERS.values())


# Events


class Shop:
    """What handles events: it counts them, and fails as it is told."""

    def __init__(self, door: Door) -> None:
        self.door = door
        self.worked: list[str] = []
        self.error: Exception | None = None

    def receive(self, kind: str, body: bytes = BODY, headers: Any = None) -> WebhookAnswer:
        given = signed(kind, body, at=self.door.clock.now) if headers is None else headers
        names, now = (ConnectionRefusedError,), self.door.clock
        return receive(self.door.guard, "welcome", SENDERS[kind], given, body, self.work, not_done=names, now=now)

    def work(self, event: WebhookEvent) -> Any:
        self.worked.append(event.id)
        if self.error is not None:
            raise self.error
        return {"amount": event.json["amount"], "number": len(self.worked)}


@kinds
def test_an_event_is_worked_on_once_and_its_repeats_get_the_stored_answer(door: Door, kind: str) -> None:
    shop = Shop(door)

    first, second, third = (shop.receive(kind) for _ in range(3))

    assert len(shop.worked) == 1
    assert (first.status, json.loads(first.body), first.is_repeat) == (200, {"amount": 20, "number": 1}, False)
    assert (second.status, second.body, second.is_repeat) == (200, first.body, True)
    assert third == second


def test_a_redelivery_whose_body_differs_a_little_is_the_same_event(door: Door) -> None:
    """Stripe counts the deliveries that are pending in the body."""
    shop = Shop(door)
    later = BODY.replace(b"}", b', "pending_webhooks": 2}', 1)

    shop.receive("github")
    answer = shop.receive("github", later)

    assert (answer.status, answer.is_repeat, len(shop.worked)) == (200, True, 1)


def test_what_is_not_signed_is_answered_401_and_claims_nothing(door: Door) -> None:
    shop = Shop(door)

    forged = shop.receive("stripe", headers=signed("stripe", BODY, secret="guessed"))
    unnamed = shop.receive("stripe", b"{}")
    genuine = shop.receive("stripe")

    assert (forged.status, unnamed.status, genuine.status) == (401, 400, 200)
    assert "signature" in json.loads(forged.body)["detail"]
    assert shop.worked == ["evt_1"]


def test_a_delivery_while_another_is_worked_on_is_asked_to_come_again(door: Door) -> None:
    door.take("evt_1")

    answer = Shop(door).receive("stripe")

    assert (answer.status, answer.headers["Retry-After"], answer.is_repeat) == (409, "60", True)


def test_after_an_error_the_event_is_worked_on_again_when_the_lease_is_over(door: Door) -> None:
    shop = Shop(door)
    shop.error = TimeoutError()
    with pytest.raises(TimeoutError):
        shop.receive("stripe")
    shop.error = None

    during = shop.receive("stripe")
    door.pass_time(61)
    after = shop.receive("stripe")

    assert (during.status, after.status, shop.worked) == (409, 200, ["evt_1", "evt_1"])


def test_after_an_error_that_says_that_nothing_was_done_the_event_may_come_again_at_once(door: Door) -> None:
    shop = Shop(door)
    shop.error = ConnectionRefusedError()
    with pytest.raises(ConnectionRefusedError):
        shop.receive("slack")
    shop.error = None

    assert shop.receive("slack").status == 200
