"""Our messages against what Slack and others publish: the types of its blocks, and a Slack that others wrote.

The packages come from npm at test time; without npm these tests are skipped, except with CI set, where they fail.
"""

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from slack_sdk import WebClient

from notifications.base import CleaningNotice, DeliveryReceipt, FailureNotice, Notice, RecordNotice
from notifications.errors import DeliveryUnknown
from notifications.slack import blockkit
from notifications.slack.channel import SlackChannel, SlackSettings
from notifications.slack.limits import check
from notifications.wording import render
from reconcile.messages.living import with_proofs
from tests.support.cli import Project
from tests.support.folders import NAUGHTY_STRINGS
from tests.support.notifications import HOSTILE, LATE, double_charges, first_run, group, night, trouble
from tests.support.serve import until

PACKAGES = ("@slack/types@3.2.0", "typescript@7.0.2", "emulate@0.10.0")

ORDERS = """
version: 1
sources: {{here: {{type: files, root: .}}}}
datasets: {{orders: {{source: here, path: orders.csv, id: id}}}}
rules: {{twice: {{kind: duplicates, dataset: orders, key: [ref]}}}}
channels: {{team: {{type: slack, token: "${{secret:SLACK_TOKEN}}", channel: {place}, base_url: "{address}"}}}}
jobs: {{nightly: {{rules: all, notify: [team]}}}}
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages; none of their scripts runs."""
    folder = tmp_path_factory.mktemp("npm")
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder), *PACKAGES]
    if shutil.which("npm") is None or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        if os.environ.get("CI"):
            pytest.fail("npm or its registry is missing")
        pytest.skip("npm or its registry is missing")
    return folder


def _with_buttons(notice: Notice) -> Notice:
    """The notice as a channel with buttons gets it, with links and with plans to approve."""
    waiting = tuple(
        replace(group(number, state="awaiting_approval"), plan_hash="ab" * 32, link="https://reconcile.example.com/f")
        for number in range(4)
    )
    asking = CleaningNotice("twins", "high", "customers", awaiting=4, findings=waiting, owner="@finance")
    return with_proofs(replace(notice, cleaning=(asking,)), b"key")


def _notices() -> list[Notice]:
    hostile = [replace(double_charges(90, hostile=True), rule=f"rule-{number}", why="w" * 900) for number in range(20)]
    failed = FailureNotice("source bank", "x" * 900, LATE.since)
    return [
        night(double_charges(1)),
        night(first_run(double_charges(90))),
        night(*hostile, failures=(failed,) * 12),
        trouble(),
        *(_with_buttons(night(*hostile[:rules])) for rules in (0, 1, 5, 20)),
    ]


def _messages() -> list[dict[str, Any]]:
    messages = []
    for notice in _notices():
        shown = render.document(notice, render.SLACK)
        drawn = [blockkit.message(shown, {"@finance": "S0123ABCD"}, notice.id), blockkit.thread(shown, {})]
        messages += [message for message in drawn if message is not None]
    return messages


def test_every_message_fits_the_types_that_slack_publishes(packages: Path) -> None:
    messages = _messages()
    assert all(check(message) == [] for message in messages)
    assert any(block["type"] == "actions" for message in messages for block in message["blocks"])
    written = [
        f"const m{number}: KnownBlock[] = {json.dumps(message['blocks'])};" for number, message in enumerate(messages)
    ]
    text = "\n".join(['import type { KnownBlock } from "@slack/types";', *written, "export {};"])

    assert _compiled(packages, text) == ""
    assert "does not exist in type" in _compiled(packages, text.replace('"action_id"', '"action_name"', 1))


def _compiled(packages: Path, text: str) -> str:
    file = packages / "messages.ts"
    file.write_text(text, encoding="ascii")
    options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler"]
    command = [str(packages / "node_modules" / ".bin" / "tsc"), *options, str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=packages).stdout


@contextmanager
def _another_slack(packages: Path) -> Iterator[str]:
    """A Slack that others wrote; yields the address of its API."""
    seed = packages / "seed.yaml"
    seed.write_text("slack: {team: {name: T, domain: t}, channels: [{name: finance-ops}]}\n")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    program = packages / "node_modules" / ".bin" / "emulate"
    command = [str(program), "start", "--service", "slack", "--port", str(port), "--seed", str(seed)]
    process = subprocess.Popen(command, cwd=packages, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: _listens(port), 40, lambda: "it does not start")
        yield f"http://127.0.0.1:{port}/api/"
    finally:
        process.terminate()
        process.wait(20)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def _asked(address: str, method: str, **arguments: str) -> Any:
    return WebClient("xoxb-test", base_url=address).api_call(method, params=arguments)


def test_a_slack_that_others_wrote_keeps_what_we_post_update_and_find(packages: Path) -> None:
    with _another_slack(packages) as address:
        [place] = [c["id"] for c in _asked(address, "conversations.list")["channels"] if c["name"] == "finance-ops"]
        written = {"type": "slack", "token": "xoxb-test", "channel": place, "base_url": address}
        channel = SlackChannel("team", SlackSettings.model_validate(written), Path())
        notice = night(double_charges(8))
        receipt = channel.send(notice)
        settled = replace(
            double_charges(8), largest=tuple(replace(g, outcome="cleaned") for g in notice.rules[0].largest)
        )
        channel.update(replace(notice, rules=(settled,)), receipt)

        assert channel.find(notice) == receipt
        assert channel.find(night(name="another")) is None
        replies = _asked(address, "conversations.replies", channel=place, ts=receipt.details["ts"])["messages"]
        assert [message["ts"] for message in replies] == [receipt.details["ts"], receipt.details["thread"]]
        assert replies[0]["text"].startswith("✅ Done: 8 new double charges")
        assert "cleaned" in json.dumps(replies[1]["blocks"])


def test_a_run_whose_answer_was_lost_looks_there_before_it_posts_again(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the configuration to the channel's history: one message with its thread, and then what became of it."""
    with _another_slack(packages) as address:
        [place] = [c["id"] for c in _asked(address, "conversations.list")["channels"] if c["name"] == "finance-ops"]
        project = Project(tmp_path).write(ORDERS.format(address=address, place=place))
        rows = [f"{number},A-{number // 2}" for number in range(40)]
        (tmp_path / "orders.csv").write_text("\n".join(["id,ref", *rows, ""]))
        post = SlackChannel.send

        def and_lose_the_answer(channel: SlackChannel, notice: Notice) -> DeliveryReceipt:
            post(channel, notice)
            raise DeliveryUnknown(channel.name, "the answer was lost")

        with monkeypatch.context() as patch:
            patch.setattr(SlackChannel, "send", and_lose_the_answer)
            first = project("run", SLACK_TOKEN="xoxb-test")
        [message] = _history(address, place)
        assert "notified team" in first.out
        finding = project("findings", "--limit", "1", "--json").json[0]["id"]
        project("dismiss", finding)
        project("run", SLACK_TOKEN="xoxb-test")

        assert [each["ts"] for each in _history(address, place)] == [message["ts"]]
        replies = _asked(address, "conversations.replies", channel=place, ts=message["ts"])["messages"]
        assert len(replies) == 2
        assert "not a duplicate" in json.dumps([each["blocks"] for each in replies])


def _history(address: str, place: str) -> list[Any]:
    """The messages in the channel, without threads."""
    messages = _asked(address, "conversations.history", channel=place)["messages"]
    return [each for each in messages if each.get("thread_ts", each["ts"]) == each["ts"]]


@pytest.mark.skipif(not NAUGHTY_STRINGS.is_file(), reason="the shared data is not here")
def test_the_naughty_strings_ring_nobody_and_break_no_message() -> None:
    texts = [*json.loads(NAUGHTY_STRINGS.read_text()), *HOSTILE, "@everyone", "<!here>", "<@U0123456>"]
    for number in range(0, len(texts), 4):
        some = texts[number : number + 4]
        groups = tuple(
            replace(
                group(0, name=text),
                keeper=text,
                surplus=(text,),
                history=text,
                joined=(text,),
                outcome=text,
                display=(RecordNotice(text, {text: text}),),
            )
            for text in some
        )
        rules = [
            replace(double_charges(5), rule=text, runbook=text, why=text, trend=text, largest=groups) for text in some
        ]  # the owner is the configuration's, and may ring
        notice = with_proofs(replace(night(*rules), job=some[0], project=some[-1] or None), b"key")
        shown = render.document(notice, render.SLACK)
        for message in (blockkit.message(shown, {}, notice.id), blockkit.thread(shown, {})):
            if message is not None:
                assert check(message) == []
                assert not set(_kinds(message["blocks"])) & {"user", "usergroup", "broadcast", "channel"}
                assert not any(mark in message["text"] for mark in ("<!", "<@", "<#", "<http"))


def _kinds(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for part in node:
            yield from _kinds(part)
    elif isinstance(node, dict):
        yield str(node.get("type"))
        for part in node.values():
            yield from _kinds(part)
