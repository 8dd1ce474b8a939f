"""Nothing is delivered elsewhere: no redirect is followed, no proxy is used that the configuration does not name."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from notifications.errors import ChannelRefused
from notifications.slack.channel import SlackChannel, SlackSettings
from notifications.webhook import WebhookChannel, WebhookSettings
from reconcile.audit.anchors.base import AnchorError
from reconcile.audit.anchors.settings import SlackAnchorSettings
from reconcile.audit.anchors.slack import SlackAnchor
from reconcile.audit.verifier import Mark
from reconcile.testing.slack_server import SlackServer
from tests.support.notifications import double_charges, night

TOKEN = "xoxb-canary"
NOTICE = night(double_charges(2))
REDIRECTS = (301, 302, 303, 307, 308)
MARK = Mark("st_1", 1, 1, "0" * 64, "2026-11-21T00:00:00Z", "0" * 64, "0" * 128)


class Server:
    """A server that keeps what came and gives the same answer to everything."""

    def __init__(self, status: int = 200, body: str = "ok", location: str | None = None) -> None:
        self.came: list[tuple[str, str, dict[str, str]]] = []
        kept = self.came

        class Handler(BaseHTTPRequestHandler):
            def _any(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                kept.append((self.command, self.path, {name.lower(): text for name, text in self.headers.items()}))
                self.send_response(status)
                if location is not None:
                    self.send_header("Location", location)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            do_GET = do_POST = do_CONNECT = _any  # noqa: N815 - http.server's names

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def elsewhere() -> Iterator[Server]:
    """Where a redirect or a proxy of the environment leads: it says yes to everything."""
    server = Server(body=json.dumps({"ok": True, "channel": "C0123456", "ts": "1.2", "messages": [], "channels": []}))
    yield server
    server.close()


@pytest.fixture(params=REDIRECTS)
def moved(request: pytest.FixtureRequest, elsewhere: Server) -> Iterator[Server]:
    server = Server(status=request.param, body='{"ok": true}', location=f"{elsewhere.url}/moved")
    yield server
    server.close()


def settings(url: str, **more: Any) -> SlackSettings:
    output = {"type": "slack", "token": TOKEN, "channel": "C0123456", "base_url": f"{url}/api/", **more}
    return SlackSettings.model_validate(output)


def test_slack_is_not_followed_elsewhere_with_the_token(moved: Server, elsewhere: Server) -> None:
    channel = SlackChannel("team", settings(moved.url), Path())

    with pytest.raises(ChannelRefused, match="redirects are not followed") as refused:
        channel.send(NOTICE)
    with pytest.raises(ChannelRefused, match="redirects are not followed"):
        channel.find(NOTICE)

    assert elsewhere.came == []
    assert len(moved.came) == 2
    assert TOKEN not in str(refused.value)


def test_an_incoming_webhook_that_redirects_has_not_delivered(moved: Server, elsewhere: Server) -> None:
    address = f"{moved.url}/services/canary"
    channel = SlackChannel("team", SlackSettings.model_validate({"type": "slack", "webhook_url": address}), Path())

    with pytest.raises(ChannelRefused, match="redirects are not followed") as refused:
        channel.send(NOTICE)

    assert elsewhere.came == []
    assert "canary" not in str(refused.value)


def test_a_webhook_that_redirects_has_not_delivered(moved: Server, elsewhere: Server) -> None:
    output = {"type": "webhook", "url": f"{moved.url}/canary", "allow": ["127.0.0.0/8"]}
    channel = WebhookChannel("hook", WebhookSettings.model_validate(output), Path())

    with pytest.raises(ChannelRefused, match="redirects are not followed") as refused:
        channel.send(NOTICE)

    assert elsewhere.came == []
    assert "canary" not in str(refused.value)


def test_an_anchor_in_slack_is_not_followed_elsewhere(moved: Server, elsewhere: Server) -> None:
    anchor = SlackAnchor("team", SlackAnchorSettings(type="slack", channel="ops"), Path(), {"ops": settings(moved.url)})

    with pytest.raises(AnchorError, match="redirects are not followed"):
        anchor.write(MARK)
    with pytest.raises(AnchorError, match="redirects are not followed"):
        list(anchor.read("st_1"))

    assert elsewhere.came == []


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, elsewhere: Server) -> None:
    """A proxy in every variable that libraries read."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, elsewhere.url)
        monkeypatch.setenv(name.lower(), elsewhere.url)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("environment")
def test_a_proxy_of_the_environment_is_not_used(elsewhere: Server) -> None:
    hooked = Server()
    output = {"type": "webhook", "url": hooked.url, "allow": ["127.0.0.0/8"]}
    with SlackServer() as slack:
        given = {"type": "slack", "token": slack.token, "channel": "#finance-ops", "base_url": slack.base_url}
        SlackChannel("team", SlackSettings.model_validate(given), Path()).send(NOTICE)
        SlackChannel("team", SlackSettings(type="slack", webhook_url=slack.webhook_url), Path()).send(NOTICE)
        WebhookChannel("hook", WebhookSettings.model_validate(output), Path()).send(NOTICE)
    hooked.close()

    assert elsewhere.came == []
    assert len(hooked.came) == 1


def test_slack_is_reached_through_the_proxy_that_is_configured(elsewhere: Server) -> None:
    """A name that cannot be looked up: only the proxy can answer for it."""
    through = settings("https://slack.invalid", proxy=elsewhere.url.replace("//", "//ann:canary@"))

    with pytest.raises(Exception, match="Channel 'team'") as error:
        SlackChannel("team", through, Path()).send(NOTICE)

    assert [(method, path) for method, path, _ in elsewhere.came] == [("CONNECT", "slack.invalid:443")]
    assert all("authorization" not in headers for _, _, headers in elsewhere.came)
    assert elsewhere.came[0][2]["proxy-authorization"].startswith("Basic ")
    assert "canary" not in str(error.value)


@pytest.mark.parametrize("proxy", ["", "proxy:3128", "socks5://proxy:1080", "http://", "http://a b:3128", "ftp://x:1"])
def test_a_proxy_that_is_none_is_refused_and_not_shown(proxy: str) -> None:
    with pytest.raises(ValidationError, match="`proxy` must be") as refused:
        settings("https://slack.com", proxy=proxy)

    (error,) = refused.value.errors(include_input=False)
    assert error["msg"].endswith("must be like http://host:3128 or http://user:password@host:3128")
