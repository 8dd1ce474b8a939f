"""Messages through apprise, to services that can be pointed at a server on loopback."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from notifications import conformance
from notifications.apprise import AppriseChannel, AppriseSettings
from notifications.errors import CannotBeAsked, ChannelRefused, DeliveryUnknown, RateLimited
from notifications.wording.headline import headline
from tests.support.folders import NAUGHTY_STRINGS
from tests.support.notifications import HOSTILE, double_charges, group, night

TOKEN = "3ccdd113474722377935511fc85d3dd4"


@dataclass
class Service:
    """What arrived as JSON, and the status that the service answers."""

    port: int
    arrived: list[dict[str, Any]] = field(default_factory=list)
    status: int = 200


@pytest.fixture
def service() -> Iterator[Service]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            service.arrived.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            if service.status == 0:
                self.connection.close()
                return
            self.send_response(service.status)
            self.send_header("Location", f"http://127.0.0.1:{service.port}/elsewhere")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: Any) -> None:
            """Log nothing: what arrived is kept."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service = Service(server.server_port)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield service
    server.shutdown()
    server.server_close()


def channel(folder: Path, url: str) -> AppriseChannel:
    return AppriseChannel("team", AppriseSettings.model_validate({"type": "apprise", "url": url, "timeout": 5}), folder)


@pytest.mark.slow
def test_a_service_gets_the_headline_as_title_and_the_rest_as_body(service: Service, tmp_path: Path) -> None:
    """One service by JSON, and one that has no title."""
    notice = replace(night(double_charges(1)), project="shop-production")

    receipt = channel(tmp_path, f"json://127.0.0.1:{service.port}/{TOKEN}").send(notice)
    channel(tmp_path, f"mmost://127.0.0.1:{service.port}/{TOKEN}").send(notice)

    plain, chat = service.arrived
    assert (plain["title"], plain["type"]) == (headline(notice), "failure")
    assert plain["message"].startswith("shop-production · job nightly")
    assert chat["text"].startswith(headline(notice))
    assert "keep ch_1, surplus ch_2" in chat["text"]
    assert receipt.where == "apprise json"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        *((401, ChannelRefused), (404, ChannelRefused), (301, ChannelRefused), (429, RateLimited)),
        *((500, DeliveryUnknown), (503, DeliveryUnknown), (0, DeliveryUnknown)),
    ],
)
def test_only_an_answer_proves_that_a_message_was_not_taken(
    service: Service, tmp_path: Path, status: int, error: type[Exception]
) -> None:
    service.status = status
    team = channel(tmp_path, f"json://user:{TOKEN}@127.0.0.1:{service.port}/{TOKEN}")

    with pytest.raises(error) as raised:
        team.send(night(double_charges(1)))

    assert TOKEN not in str(raised.value)
    assert len(service.arrived) == 1, "apprise repeats nothing and follows no redirect"
    with pytest.raises(CannotBeAsked):
        team.find(night())


def test_a_long_message_is_cut_to_what_the_service_takes(service: Service, tmp_path: Path) -> None:
    rules = [replace(double_charges(40), rule=f"rule-{number}") for number in range(20)]

    channel(tmp_path, f"mmost://127.0.0.1:{service.port}/{TOKEN}").send(night(*rules))

    [sent] = service.arrived
    assert len(sent["text"]) <= 4_000
    assert "more rules: reconcile findings" in sent["text"]


@pytest.mark.parametrize("url", ["discord", "dbus://", "gnome://", "https //x", "", "nosuch"])
def test_an_address_that_is_none_is_refused_without_repeating_it(tmp_path: Path, url: str) -> None:
    with pytest.raises(ValidationError) as raised:
        channel(tmp_path, url)
    assert "`url` " in str(raised.value)


def test_an_address_that_apprise_does_not_understand_is_told_by_check(tmp_path: Path) -> None:
    with pytest.raises(ChannelRefused, match=r"nosuch://…"):
        channel(tmp_path, f"nosuch://{TOKEN}").check()


def test_the_channel_keeps_the_promises_of_every_channel(service: Service, tmp_path: Path) -> None:
    address = f"json://user:{TOKEN}@127.0.0.1:{service.port}/x"
    suite = conformance.Suite(
        opened=lambda: channel(tmp_path, address),
        settings={"type": "apprise", "url": address},
        arrived=lambda: len(service.arrived),
        unreachable=lambda: channel(tmp_path, f"json://user:{TOKEN}@127.0.0.1:9/x"),
        secrets=(TOKEN,),
    )
    conformance.run(suite)


@pytest.mark.skipif(not NAUGHTY_STRINGS.is_file(), reason="the shared data is not here")
@pytest.mark.slow
def test_the_naughty_strings_ring_nobody(service: Service, tmp_path: Path) -> None:
    texts = [*json.loads(NAUGHTY_STRINGS.read_text()), *HOSTILE, "@everyone", "<@&123>", "[bank](https://evil.example)"]
    team = channel(tmp_path, f"json://127.0.0.1:{service.port}/x")
    for number in range(0, len(texts), 20):
        some = texts[number : number + 20]
        groups = tuple(replace(group(0, name=text), keeper=text, surplus=(text,), history=text) for text in some)
        rules = [replace(double_charges(5), rule=text, owner=text, why=text, largest=groups) for text in some[:5]]
        team.send(replace(night(*rules), job=some[0], project=some[1]))

    for sent in service.arrived:
        for text in (sent["title"], sent["message"]):
            for mark in ("@everyone", "@here", "<@", "<!", "]("):
                assert mark not in text, text
