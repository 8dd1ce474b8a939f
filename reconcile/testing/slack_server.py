"""A Slack on this machine: the wire format of its Web API, incoming webhooks, buttons and Socket Mode, with faults.

    with SlackServer() as slack:
        client = slack_sdk.WebClient(slack.token, base_url=slack.base_url)
        slack.fail("chat.postMessage", ratelimited(7))

It keeps posted messages, and checks every message against Slack's limits and the token of every call. `press` presses
a button as a person would: it returns the request that Slack would send, or sends it over Socket Mode.
"""

from __future__ import annotations

import json
import math
import socket
import struct
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, urlencode

from pydantic import SecretStr

from notifications.slack.interactions import signature
from notifications.slack.limits import METADATA, check
from reconcile.documents import JsonObject
from reconcile.testing.faults import Fault, error, lost_answer, ratelimited, reset, server_error, slow
from reconcile.testing.slack_socket import SocketSession

__all__ = ["WEBHOOK", "SlackServer", "error", "lost_answer", "ratelimited", "reset", "server_error", "slow"]

WEBHOOK = "incoming webhook"
"""The name of posts to the incoming webhook in `fail` and `calls`."""


class SlackServer:
    """Start with `with`; all posted messages are in `messages`, newest last, in Slack's own format."""

    def __init__(self, token: str = "xoxb-for-tests", channels: Mapping[str, str] | None = None) -> None:  # noqa: S107 - no real token
        self.token = token
        self.channels = dict(channels or {"C0FINANCE1": "finance-ops"})
        self.messages: list[JsonObject] = []
        self.calls: list[tuple[str, JsonObject]] = []
        self.refused: list[list[str]] = []
        self.pause_seconds: dict[str, float] = {}
        self.ephemeral: list[JsonObject] = []
        self.app_token = "xapp-for-tests"  # noqa: S105 - no real token
        self.signing_secret = "secret-for-tests"  # noqa: S105 - no real secret
        self.sockets: list[SocketSession] = []
        self._faults: defaultdict[str, deque[Fault]] = defaultdict(deque)
        self._last_post: dict[str, float] = {}
        self._lock = threading.Lock()
        self.stopping = threading.Event()
        self._count = 0
        self._http = _Listener(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def base_url(self) -> str:
        """For `WebClient(base_url=…)`."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/api/"

    @property
    def webhook_url(self) -> str:
        """An incoming webhook that posts to the first channel."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/services/T000/B000/secretsecret"

    def __enter__(self) -> SlackServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, where: TracebackType | None
    ) -> None:
        self.stopping.set()
        for session in self.sockets:
            session.close()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def fail(self, method: str, *faults: Fault) -> None:
        """Make the next calls of this method (`chat.postMessage`, WEBHOOK) fail with these faults, one each."""
        with self._lock:
            self._faults[method].extend(faults)

    def limit(self, channel: str, seconds: float) -> None:
        """Answer 429 to posts to this channel id within this many seconds of another."""
        self.pause_seconds[channel] = seconds

    def parents(self) -> list[JsonObject]:
        """The messages in channels, without replies in threads."""
        return [message for message in self.messages if message.get("thread_ts", message["ts"]) == message["ts"]]

    def buttons(self, message: JsonObject) -> list[JsonObject]:
        """The buttons of a message that send a press."""
        blocks = [block for block in message.get("blocks", ()) if block["type"] == "actions"]
        return [button for block in blocks for button in block["elements"] if "value" in button]

    def pressed(self, message: JsonObject, action_id: str, user: str = "U0MARIA01") -> JsonObject:
        """The payload of a press of the message's button with this action id."""
        button = next(each for each in self.buttons(message) if each["action_id"] == action_id)
        self._count += 1
        at = f"{int(time.time())}.{self._count:06d}"
        channel, ts = message["channel"], message["ts"]
        action = {"type": "button", "block_id": "b", **button, "action_ts": at}
        return {
            "type": "block_actions",
            "user": {"id": user, "username": "maria", "name": "maria", "team_id": "T000TESTS"},
            "api_app_id": "A000TESTS",
            "token": "deprecated",
            "container": {"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": False},
            "trigger_id": f"{self._count}.1.f",
            "team": {"id": "T000TESTS", "domain": "tests"},
            "enterprise": None,
            "is_enterprise_install": False,
            "channel": {"id": channel, "name": self.channels[channel]},
            "message": {**_public(message, metadata=True), "user": "U000"},
            "state": {"values": {}},
            "response_url": "https://hooks.slack.com/actions/T000TESTS/1/x",
            "actions": [{name: value for name, value in action.items() if name not in ("confirm", "style")}],
        }

    def request(
        self, payload: JsonObject, *, at: float | None = None, secret: str | None = None
    ) -> tuple[JsonObject, bytes]:
        """The headers and the body of the request in which Slack sends an interaction, signed at that time."""
        body = urlencode({"payload": json.dumps(payload)}).encode()
        stamp = str(int(time.time() if at is None else at))
        signed = SecretStr(secret or self.signing_secret)
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": signature(signed, stamp, body),
        }
        return headers, body

    def send(self, payload: JsonObject, envelope: str = "envelope-1") -> SocketSession:
        """Send an interaction to the newest client of Socket Mode; returns its session."""
        session = next(each for each in reversed(self.sockets) if each.is_open)
        more = {"envelope_id": envelope, "type": "interactive", "accepts_response_payload": False}
        session.send({**more, "payload": payload})
        return session

    def replies(self, ts: str) -> list[JsonObject]:
        """The replies in the thread of that message."""
        return [m for m in self.messages if m.get("thread_ts") == ts and m["ts"] != ts]

    def called(self, method: str, arguments: JsonObject, token: str | None) -> tuple[Fault | None, JsonObject]:
        """The fault and the answer of a call; its effect is done unless the fault prevents it."""
        with self._lock:
            self.calls.append((method, arguments))
            faults = self._faults[method]
            fault = faults.popleft() if faults else None
            if fault is not None and not fault.does:
                return fault, {}
            expected = self.app_token if method == "apps.connections.open" else self.token
            if method != WEBHOOK and token != expected:
                return fault, _no("invalid_auth" if token else "not_authed")
            handler = _METHODS.get(method)
            answer = handler(self, arguments) if handler else _no("unknown_method")
            return fault, answer

    def _channel(self, arguments: JsonObject) -> str | None:
        name_or_id = str(arguments.get("channel", ""))
        if name_or_id in self.channels:
            return name_or_id
        ids = (id_ for id_, name in self.channels.items() if name == name_or_id.removeprefix("#"))
        return next(ids, None)

    def _post(self, arguments: JsonObject) -> JsonObject:
        channel = self._channel(arguments)
        if channel is None:
            return _no("channel_not_found")
        if refusal := self._invalid(arguments):
            return refusal
        wait = self._last_post.get(channel, -1e9) + self.pause_seconds.get(channel, 0) - time.monotonic()
        if wait > 0:
            return {**_no("ratelimited"), "retry_after": wait}
        self._last_post[channel] = time.monotonic()
        message = {"type": "message", "bot_id": "B000", "app_id": "A000", "channel": channel, "ts": self._ts()}
        fields = ("text", "blocks", "metadata", "thread_ts")
        message |= {name: arguments[name] for name in fields if arguments.get(name)}
        self.messages.append(message)
        return {"ok": True, "channel": channel, "ts": message["ts"], "message": _public(message, metadata=True)}

    def _update(self, arguments: JsonObject) -> JsonObject:
        message = self._message(self._channel(arguments), str(arguments.get("ts", "")))
        if message is None:
            return _no("message_not_found")
        if refusal := self._invalid(arguments):
            return refusal
        message |= {name: arguments[name] for name in ("text", "blocks", "metadata") if name in arguments}
        message["edited"] = {"user": "B000", "ts": self._ts()}
        return {"ok": True, "channel": message["channel"], "ts": message["ts"], "text": message.get("text", "")}

    def _history(self, arguments: JsonObject) -> JsonObject:
        channel = str(arguments.get("channel", ""))
        if channel not in self.channels:
            return _no("channel_not_found")
        oldest, latest = float(arguments.get("oldest") or 0), float(arguments.get("latest") or 1e12)
        listed = [m for m in reversed(self.parents()) if m["channel"] == channel and oldest < float(m["ts"]) < latest]
        return self._page(listed, arguments)

    def _replies(self, arguments: JsonObject) -> JsonObject:
        parent = self._message(str(arguments.get("channel", "")), str(arguments.get("ts", "")))
        return self._page([parent, *self.replies(parent["ts"])], arguments) if parent else _no("thread_not_found")

    def _list(self, _arguments: JsonObject) -> JsonObject:
        channels = [{"id": id_, "name": name, "is_archived": False} for id_, name in self.channels.items()]
        return {"ok": True, "channels": channels, "response_metadata": {"next_cursor": ""}}

    def _ephemeral(self, arguments: JsonObject) -> JsonObject:
        channel = self._channel(arguments)
        if channel is None or not arguments.get("user"):
            return _no("user_not_in_channel" if channel else "channel_not_found")
        self.ephemeral.append(arguments)
        return {"ok": True, "message_ts": self._ts()}

    def _open_socket(self, _arguments: JsonObject) -> JsonObject:
        port = self._http.server_address[1]
        return {"ok": True, "url": f"ws://127.0.0.1:{port}/link/?ticket=t"}

    def _who(self, _arguments: JsonObject) -> JsonObject:
        return {
            "ok": True,
            "team": "Tests",
            "team_id": "T000",
            "user": "reconcile",
            "user_id": "U000",
            "bot_id": "B000",
        }

    def _page(self, messages: list[JsonObject], arguments: JsonObject) -> JsonObject:
        limit, start = int(arguments.get("limit") or 100), int(arguments.get("cursor") or 0)
        metadata = str(arguments.get("include_all_metadata", "")).lower() in ("1", "true")
        more = start + limit < len(messages)
        page = [_public(message, metadata=metadata) for message in messages[start : start + limit]]
        cursor = str(start + limit) if more else ""
        return {"ok": True, "messages": page, "has_more": more, "response_metadata": {"next_cursor": cursor}}

    def _message(self, channel: str | None, ts: str) -> JsonObject | None:
        return next((m for m in self.messages if m["channel"] == channel and m["ts"] == ts), None)

    def _ts(self) -> str:
        self._count += 1
        return f"{int(time.time())}.{self._count:06d}"

    def _invalid(self, arguments: JsonObject) -> JsonObject | None:
        if not arguments.get("text") and not arguments.get("blocks"):
            return _no("no_text")
        metadata = arguments.get("metadata")
        if metadata is not None and not _is_metadata(metadata):
            return _no("invalid_metadata_format")
        if problems := check(arguments):
            self.refused.append(problems)
            return {**_no("invalid_blocks"), "errors": problems, "response_metadata": {"messages": problems}}
        return None


_METHODS: dict[str, Callable[[SlackServer, JsonObject], JsonObject]] = {
    "apps.connections.open": SlackServer._open_socket,  # noqa: SLF001
    "chat.postEphemeral": SlackServer._ephemeral,  # noqa: SLF001
    "auth.test": SlackServer._who,  # noqa: SLF001 - the table of this class's own methods
    "chat.postMessage": SlackServer._post,  # noqa: SLF001
    "chat.update": SlackServer._update,  # noqa: SLF001
    "conversations.history": SlackServer._history,  # noqa: SLF001
    "conversations.list": SlackServer._list,  # noqa: SLF001
    "conversations.replies": SlackServer._replies,  # noqa: SLF001
    WEBHOOK: lambda server, said: server._post({**said, "channel": next(iter(server.channels))}),  # noqa: SLF001
}


def _no(code: str) -> JsonObject:
    return {"ok": False, "error": code}


def _is_metadata(metadata: Any) -> bool:
    if not isinstance(metadata, dict) or not isinstance(metadata.get("event_type"), str):
        return False
    return isinstance(metadata.get("event_payload"), dict) and len(json.dumps(metadata)) <= METADATA


def _public(message: JsonObject, *, metadata: bool) -> JsonObject:
    return {k: v for k, v in message.items() if k != "channel" and (metadata or k != "metadata")}


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, slack: SlackServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.slack = slack


class _Handler(BaseHTTPRequestHandler):
    server: _Listener

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        if self.server.slack.webhook_url.endswith(path) and path.startswith("/services/"):
            self._call(WEBHOOK, _arguments(body, "application/json"), None)
        elif path.startswith("/api/"):
            scheme, _, token = self.headers.get("Authorization", "").partition(" ")
            bearer = token if scheme == "Bearer" else None
            self._call(path.removeprefix("/api/"), _arguments(body, self.headers.get("Content-Type", "")), bearer)
        else:
            self._answer(404, {}, "no_service")

    def do_GET(self) -> None:
        if not self.path.startswith("/link/") or self.headers.get("Upgrade", "").lower() != "websocket":
            self._answer(404, {}, "no_service")
            return
        session = SocketSession(self)
        self.close_connection = True
        self.server.slack.sockets.append(session)
        session.send({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A000TESTS"}})
        session.serve()

    def _call(self, method: str, arguments: JsonObject | None, token: str | None) -> None:
        if arguments is None:
            self._respond(method, _no("invalid_payload"))
            return
        fault, answer = self.server.slack.called(method, arguments, token)
        if fault is None:
            self._respond(method, answer)
        elif fault.how == "slow":
            self.server.slack.stopping.wait(fault.seconds)
            self._respond(method, answer)
        elif fault.how == "answer":
            self._answer(fault.status, fault.headers, fault.body)
        else:
            self._hang_up(reset=fault.how == "reset")

    def _respond(self, method: str, answer: JsonObject) -> None:
        if "retry_after" in answer:
            wait = {"Retry-After": str(math.ceil(answer.pop("retry_after")))}
            self._answer(429, wait, json.dumps(answer))
        elif method != WEBHOOK:
            self._answer(200, {}, json.dumps(answer))
        else:
            self._answer(200 if answer["ok"] else 400, {}, "ok" if answer["ok"] else answer["error"])

    def _answer(self, status: int, headers: Mapping[str, str], body: str) -> None:
        raw = body.encode()
        kind = "application/json; charset=utf-8" if body.startswith("{") else "text/html"
        try:
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(raw)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(raw)
        except ConnectionError:  # the client stopped waiting, as the test wanted
            self.close_connection = True

    def _hang_up(self, *, reset: bool) -> None:
        if reset:  # lingering for no time makes the kernel send RST instead of FIN
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - a test's terminal is not its log
        """Log nothing: calls are in `calls`."""


def _arguments(body: bytes, kind: str) -> JsonObject | None:
    """The arguments of a call, from JSON or a form whose blocks and metadata are JSON; None for anything else."""
    try:
        if "json" in kind:
            arguments = json.loads(body or b"{}")
            return arguments if isinstance(arguments, dict) else None
        form: JsonObject = dict(parse_qsl(body.decode(), keep_blank_values=True))
        return form | {name: json.loads(form[name]) for name in ("blocks", "metadata") if form.get(name)}
    except ValueError:
        return None
