"""A webhook: signed, to public addresses only, in bounded time."""

import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from notifications import base, conformance
from notifications.errors import (
    AddressRefused,
    CannotBeAsked,
    ChannelRefused,
    ChannelUnreachable,
    DeliveryUnknown,
    RateLimited,
)
from notifications.webhook import WebhookChannel, WebhookSettings
from tests.support.notifications import LATE, double_charges, night, trouble

NOTICE = night(double_charges(2, hostile=True))


class Receiver:
    """A receiver that keeps what came and answers as told."""

    def __init__(self) -> None:
        self.came: list[tuple[dict[str, str], bytes]] = []
        self.answer: tuple[int, dict[str, str]] = (204, {})
        self.drip = False
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.came.append(({k.lower(): v for k, v in self.headers.items()}, body))
                if receiver.drip:
                    self.dripping()
                    return
                self.send_response(receiver.answer[0])
                for name, value in receiver.answer[1].items():
                    self.send_header(name, value)
                self.end_headers()

            def dripping(self) -> None:
                try:
                    for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 10_000:
                        self.wfile.write(bytes([byte]))
                        time.sleep(0.05)
                except OSError:
                    return

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/hook?key=canary"
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    created = Receiver()
    yield created
    created.http.shutdown()
    created.http.server_close()


def opened(url: str, **more: Any) -> WebhookChannel:
    settings = {"type": "webhook", "url": url, "allow": ["127.0.0.0/8"], **more}
    return WebhookChannel("hook", WebhookSettings.model_validate(settings), Path(), clock=lambda: 1_000.5)


def test_a_notice_arrives_as_json_with_its_key_and_a_signature(receiver: Receiver) -> None:
    opened(receiver.url, secret="s3cret", headers={"Authorization": "Bearer x"}).send(NOTICE)

    (headers, body) = receiver.came[0]
    document = json.loads(body)
    signed = hmac.new(b"s3cret", b"1000." + body, hashlib.sha256).hexdigest()
    assert headers["idempotency-key"] == document["id"] == "n-1"
    assert headers["reconcile-signature"] == f"t=1000,v1={signed}"
    assert (headers["authorization"], headers["content-type"]) == ("Bearer x", "application/json")
    assert document["rules"][0]["money"] == {"EUR": "40"}
    assert document["text"].startswith(document["headline"])


def test_a_trouble_with_reconcile_itself_has_no_run(receiver: Receiver) -> None:
    opened(receiver.url).send(trouble(replace(LATE, sentence="Job nightly is late."), job=None))

    document = json.loads(receiver.came[0][1])
    assert document["headline"] == "⚠️ Reconcile: job nightly is late"
    assert (document["job"], document["run"], document["rules"]) == (None, None, [])
    assert document["trouble"] == {
        "subject": "late:nightly",
        "sentence": "Job nightly is late.",
        "since": "2026-11-21T07:15:00Z",
        "ended": False,
        "end": None,
    }


def test_the_shape_of_the_json_is_stable(receiver: Receiver) -> None:
    """Receivers depend on it: fields may be added here, never renamed or taken away."""
    opened(receiver.url).send(replace(NOTICE, cleaning=(base.CleaningNotice("twins", "high", "customers"),)))

    document = json.loads(receiver.came[0][1])
    assert {
        "version",
        "headline",
        "text",
        "id",
        "job",
        "run",
        "slot",
        "since",
        "created",
        "timezone",
        "rules",
        "failures",
        "link",
        "test",
        "trouble",
        "cleaning",
        "project",
        "escalation",
        "fallback_of",
    } == set(document)
    assert {
        "rule",
        "kind",
        "severity",
        "dataset",
        "new",
        "grown",
        "reopened",
        "known",
        "resolved",
        "records",
        "money",
        "first_run",
        "first_message",
        "edited",
        "owner",
        "runbook",
        "why",
        "trend",
        "largest",
        "skipped",
        "datasets",
        "nouns",
        "forms",
        "in_words",
        "balance",
        "undecided",
    } == set(document["rules"][0])
    assert {
        "finding",
        "state",
        "key",
        "keeper",
        "surplus",
        "records",
        "money",
        "first",
        "last",
        "seconds_apart",
        "nearby",
        "nearby_records",
        "repetition",
        "history",
        "plan_hash",
        "plan_does",
        "plan_expires",
        "form",
        "in_words",
        "left",
        "right",
        "record",
        "differences",
        "form_reason",
        "joined",
        "version",
        "proof",
        "outcome",
        "added",
        "kept_by",
        "display",
        "approvals",
        "link",
    } == set(document["rules"][0]["largest"][0])
    assert {
        "rule",
        "severity",
        "dataset",
        "awaiting",
        "quarantined",
        "failed",
        "not_undone",
        "cleaned",
        "undone",
        "waiting",
        "undos_waiting",
        "stale",
        "expired",
        "void",
        "withdrawn",
        "waits_for",
        "money",
        "stopped",
        "doubt",
        "plans",
        "undo",
        "findings",
        "owner",
        "next_run",
        "runbook",
    } == set(document["cleaning"][0])
    assert document["version"] == base.VERSION == 1


@pytest.mark.parametrize(
    ("status", "headers", "raised"),
    [
        (429, {"Retry-After": "9"}, RateLimited),
        (500, {}, DeliveryUnknown),
        (503, {"Retry-After": "4"}, DeliveryUnknown),
        (404, {}, ChannelRefused),
        (302, {"Location": "http://169.254.169.254/"}, ChannelRefused),
    ],
)
def test_an_answer_that_is_no_success_is_told(
    receiver: Receiver, status: int, headers: dict[str, str], raised: type[Exception]
) -> None:
    receiver.answer = (status, headers)

    with pytest.raises(raised) as told:
        opened(receiver.url).send(NOTICE)

    waits = headers.get("Retry-After")
    assert getattr(told.value, "retry_after", None) == (float(waits) if waits else None)
    assert len(receiver.came) == 1
    assert "canary" not in str(told.value)


@pytest.mark.slow
def test_an_answer_that_drips_is_given_up_in_time(receiver: Receiver) -> None:
    receiver.drip = True
    began = time.monotonic()

    with pytest.raises(DeliveryUnknown, match=r"no answer in 0\.5 s"):
        opened(receiver.url, timeout=0.5).send(NOTICE)

    assert time.monotonic() - began < 3


def test_an_address_inside_is_refused_before_anything_is_sent(receiver: Receiver) -> None:
    with pytest.raises(AddressRefused, match=r': 127\.0\.0\.1 is not .* `allow: \["127\.0\.0\.1/32"\]'):
        opened(receiver.url, allow=[]).send(NOTICE)
    with pytest.raises(AddressRefused):
        opened(receiver.url.replace("127.0.0.1", "localhost"), allow=["10.0.0.0/8"]).send(NOTICE)

    assert receiver.came == []


def test_a_name_is_resolved_once(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = socket.getaddrinfo

    def counted(host: Any, *args: Any, **more: Any) -> Any:
        if host == "hook.example":
            asked.append(host)
            return real("127.0.0.1", *args, **more)
        return real(host, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", counted)
    opened(receiver.url.replace("127.0.0.1", "hook.example")).send(NOTICE)

    assert asked == ["hook.example"]
    assert receiver.came[0][0]["host"].startswith("hook.example:")


def test_a_closed_port_and_an_unknown_name_are_known_not_to_have_sent() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ChannelUnreachable, match="connection refused"):
            opened(f"http://127.0.0.1:{taken.getsockname()[1]}/").send(NOTICE)
    with pytest.raises(ChannelUnreachable):
        opened("http://no-such-host.invalid/").send(NOTICE)


def test_the_environments_proxy_is_not_used(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    opened(receiver.url).send(NOTICE)

    assert len(receiver.came) == 1


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"url": "ftp://x/"}, "http:// or https://"),
        ({"url": "https://user:canary@example.com/"}, "Authorization"),
        ({"url": "https://example.com:99999/"}, "port"),
        ({"headers": {"Host": "x"}}, "set by Reconcile"),
        ({"headers": {"X-A": "canary\r\nX-B: y"}}, "line break"),
        ({"allow": ["everything"]}, "is not a network"),
        ({"urll": "x"}, "Extra inputs"),
    ],
)
def test_wrong_settings_are_told_without_their_secrets(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence) as told:
        WebhookSettings.model_validate({"type": "webhook", "url": "https://example.com/", **said})

    assert all("canary" not in error["msg"] for error in told.value.errors())


@pytest.mark.slow
def test_a_webhook_keeps_every_promise_of_a_channel(receiver: Receiver) -> None:
    settings = {
        "type": "webhook",
        "url": receiver.url,
        "secret": "s3cret",
        "headers": {"Authorization": "Bearer canary"},
    }
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}/canary"

        conformance.run(
            conformance.Suite(
                lambda: opened(receiver.url, secret="s3cret", headers={"Authorization": "Bearer canary"}),
                settings,
                lambda: len(receiver.came),
                lambda: opened(dead),
                ["canary", "s3cret"],
            )
        )
    with pytest.raises(CannotBeAsked, match="Idempotency-Key n-1"):
        opened(receiver.url).find(NOTICE)
