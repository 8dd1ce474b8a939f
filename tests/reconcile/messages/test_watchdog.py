"""A watchdog outside hears of successes only; a job that does not succeed in its time is told, once."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from notifications.wording import document, render
from reconcile import config
from reconcile.app import Application
from reconcile.config.settings import JobConfig
from reconcile.coordination import clock
from reconcile.messages import watchdog
from tests.support.office import HOUR, Office
from tests.support.store import NOON

# Outside


class Listener:
    """A service that is called; it answers as it is told, and then with 200."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.answers: list[int] = []
        self.drips = False
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                listener.calls.append(self.path)
                if listener.drips:
                    self.drip()
                    return
                self.send_response(listener.answers.pop(0) if listener.answers else 200)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def drip(self) -> None:
                try:
                    for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 10_000:
                        self.wfile.write(bytes([byte]))
                        time.sleep(0.2)
                except OSError:
                    return

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/ping/canary"
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()


@pytest.fixture
def listener() -> Iterator[Listener]:
    created = Listener()
    yield created
    created.http.shutdown()
    created.http.server_close()


@dataclass
class Folder:
    """A folder with one file of payments and a job whose watchdog is called."""

    path: Path
    listener: Listener

    def __post_init__(self) -> None:
        self.pauses: list[float] = []
        (self.path / "payments.csv").write_text("reference\n1\n2\n", encoding="utf-8")
        self.write()

    def write(self, **job: Any) -> Folder:
        settings = {
            "sources": {"bank": {"type": "files"}},
            "datasets": {"payments": {"source": "bank", "path": "payments.csv"}},
            "rules": {
                name: {"kind": "duplicates", "dataset": "payments", "key": "reference"} for name in ("twice", "again")
            },
            "jobs": {
                "nightly": {
                    "rules": "all",
                    "heartbeat": self.listener.url,
                    "heartbeat_allow": "127.0.0.0/8",
                    **job,
                }
            },
        }
        (self.path / "reconcile.yaml").write_text(json.dumps(settings), encoding="utf-8")
        return self

    def open(self) -> Application:
        return Application(config.load(self.path / "reconcile.yaml"), sleep=self.pauses.append)

    @property
    def job(self) -> JobConfig:
        return config.load(self.path / "reconcile.yaml").jobs["nightly"]

    def call(self) -> str | None:
        return watchdog.call(self.job, sleep=self.pauses.append)


@pytest.fixture
def folder(tmp_path: Path, listener: Listener) -> Folder:
    return Folder(tmp_path, listener)


@pytest.mark.slow
def test_each_success_of_the_job_is_heard_once(folder: Folder) -> None:
    with folder.open() as application:
        first = application.run("nightly", slot=NOON)
        again = application.run("nightly", slot=NOON)
        by_trigger = application.run_slot("nightly", NOON + HOUR, "schedule")

    assert folder.listener.calls == ["/ping/canary"] * 2
    assert (first.watchdog, again.repeated, by_trigger.watchdog) == (None, True, None)


@pytest.mark.slow
def test_a_run_that_failed_in_part_a_partial_one_and_a_rehearsal_are_not_heard(folder: Folder) -> None:
    with folder.open() as application:
        application.run("nightly", rules=["twice"])
        application.run("nightly", dry_run=True)
        (folder.path / "payments.csv").unlink()
        failed = application.run("nightly")

    assert failed.status == "failed"
    assert folder.listener.calls == []


@pytest.mark.slow
def test_a_run_of_every_rule_by_name_is_one_of_the_whole_job(folder: Folder) -> None:
    with folder.open() as application:
        application.run("nightly", rules=["again", "twice"])

    assert len(folder.listener.calls) == 1


@pytest.mark.slow
def test_a_watchdog_that_does_not_hear_makes_no_success_a_failure(folder: Folder) -> None:
    folder.listener.answers = [500, 503, 502]

    with folder.open() as application:
        report = application.run("nightly")

    assert (report.status, report.failed) == ("succeeded", False)
    assert report.watchdog == (
        "The watchdog of job 'nightly' did not receive this success (3 tries): it answered HTTP 502"
    )
    assert report.to_json()["watchdog"] == report.watchdog
    assert folder.pauses == [1.0, 1.0]


@pytest.mark.parametrize(
    ("answers", "calls", "problem"),
    [
        ([500, 200], 2, None),
        ([429, 204], 2, None),
        ([404], 1, "(1 try): it answered HTTP 404"),
        ([302], 1, "(1 try): it answered HTTP 302, a redirect; set the final address"),
    ],
)
def test_what_may_pass_is_tried_again_and_nothing_is_followed(
    folder: Folder, answers: list[int], calls: int, problem: str | None
) -> None:
    folder.listener.answers = answers

    answer = folder.call()

    assert len(folder.listener.calls) == calls
    assert answer == problem or (problem is not None and answer is not None and answer.endswith(problem))


def test_an_address_that_is_not_public_is_called_only_where_its_network_is_named(folder: Folder) -> None:
    folder.write(heartbeat_allow=["10.0.0.0/8"])

    answer = folder.call()

    assert folder.listener.calls == []
    assert answer is not None
    assert "set `heartbeat_allow` to its network" in answer


def test_the_address_is_in_no_sentence(folder: Folder) -> None:
    host = folder.listener.url.split("/")[2]
    collected = []
    for answer in (404, 302):
        folder.listener.answers = [answer]
        collected.append(folder.call())
    collected.append(folder.write(heartbeat_allow=[]).call())
    collected.append(folder.write(heartbeat="http://127.0.0.1:9/ping/canary").call())
    collected.append(folder.write(heartbeat="http://nowhere.invalid/ping/canary").call())

    assert None not in collected
    assert not [
        item for item in collected for secret in ("canary", host, "127.0.0.1", "nowhere") if secret in str(item)
    ]
    assert "canary" not in repr(folder.job)
    assert "canary" not in config.load(folder.path / "reconcile.yaml").canonical


@pytest.mark.slow
def test_all_tries_together_end_at_the_deadline(folder: Folder) -> None:
    """Every answer drips for ever."""
    folder.listener.drips = True
    begun = time.monotonic()

    answer = watchdog.call(folder.job, sleep=lambda _: None, deadline=1)

    assert time.monotonic() - begun < 3
    assert answer is not None
    assert answer.endswith("(3 tries): it did not answer")


# Jobs that do not succeed


@pytest.fixture
def office(url: str, tmp_path: Path) -> Iterator[Office]:
    with Office.open(url, tmp_path) as office:
        expect(office, success_within="26h")
        yield office


def expect(office: Office, **job: Any) -> None:
    """Configure the job nightly with this expectation, and another one with none."""
    office.configure(
        timezone="Europe/Berlin",
        jobs={"nightly": {"notify": ["finance"], **job}, "other": {}},
        channels={"finance": {"type": "file", "path": "finance.txt"}, "ops": {"type": "file", "path": "o.txt"}},
        alerts=["finance", "ops"],
    )


def told(office: Office, channel: str = "finance") -> list[str]:
    """The texts of the messages on a channel."""
    return [document.text(render.document(notice, render.PAPER)) for to, notice in office.notices() if to == channel]


def after(office: Office, hours: float) -> list[str]:
    """The new messages on the channel of the job so many hours later."""
    before = len(told(office))
    office.clock.sleep(hours * 3_600)
    with office.store.begin() as tx:
        watchdog.late(tx, office.project)
    return told(office)[before:]


def test_a_job_that_has_not_succeeded_in_its_time_is_told_once_and_once_when_it_has(office: Office) -> None:
    """Changing words on purpose? Read the new text as the person on call would, then paste it here."""
    office.run()
    assert after(office, 0) == []
    assert after(office, 26) == []
    [late] = after(office, 1)
    office.run("failed")
    assert after(office, 48) == []
    office.run()
    [over] = after(office, 0.5)
    assert after(office, 1) == []

    assert late == (
        "⚠️ Reconcile: job nightly has not succeeded since 21 Nov 13:00 (expected every 26h)\n"
        "Reconcile itself · job nightly · noticed Sun 22 Nov 2026, 16:00 CET\n"
        "\n"
        "See its runs: reconcile runs nightly\n"
        "You'll get another message when it is over.\n"
    )
    assert over == (
        "✅ Job nightly succeeds in time again: its last success was on 24 Nov 16:00\n"
        "Reconcile itself · job nightly · noticed Sun 22 Nov 2026, 16:00 CET\n"
        "\n"
        "The trouble lasted 2 days: Job nightly has not succeeded since 21 Nov 13:00 (expected every 26h).\n"
    )
    assert len(told(office, "ops")) == 2


def test_a_job_that_never_succeeded_counts_from_when_it_was_first_seen(office: Office) -> None:
    assert after(office, 1_000) == []
    assert after(office, 26) == []

    [late] = after(office, 1)

    assert late.startswith("⚠️ Reconcile: job nightly has never succeeded (expected every 26h)\n")


def test_a_job_that_was_late_before_anybody_served_is_told_at_once(office: Office) -> None:
    office.run()

    assert len(after(office, 27)) == 1


@pytest.mark.parametrize("how", ["slot", "manual", "schedule", "after", "file", "request"])
def test_every_success_counts_however_it_was_started(office: Office, how: str) -> None:
    after(office, 0)
    for _ in range(4):
        assert after(office, 20) == []
        office.run(trigger=how)


def test_runs_of_other_jobs_and_of_some_rules_only_do_not_count(office: Office) -> None:
    office.run()
    after(office, 20)
    office.run(trigger="rules")
    office.run(job="other")

    assert len(after(office, 7)) == 1


@pytest.mark.parametrize("subject", ["job:nightly", "everything"])
def test_a_paused_job_is_not_late_and_counts_anew_when_it_is_resumed(office: Office, subject: str) -> None:
    office.run()
    after(office, 1)
    office.pause(subject)
    assert after(office, 100) == []
    office.resume(subject)
    assert after(office, 0) == []
    assert after(office, 26) == []

    [late] = after(office, 1)
    assert "has not succeeded since 21 Nov 13:00" in late


def test_a_pause_is_no_success(office: Office) -> None:
    office.run()
    assert len(after(office, 27)) == 1
    office.pause("job:nightly")
    assert after(office, 100) == []
    office.resume("job:nightly")
    assert after(office, 1) == []

    office.run()
    assert len(after(office, 0)) == 1


def test_a_longer_time_and_none_at_all_end_it(office: Office) -> None:
    office.run()
    after(office, 27)
    expect(office, success_within="3d")
    [over] = after(office, 0)
    assert "✅ Job nightly succeeds in time again: its last success was on 21 Nov 13:00\n" in over

    after(office, 60)
    expect(office)
    [over] = after(office, 0)
    assert "✅ Job nightly is no longer expected to succeed within a set time\n" in over


def test_after_a_clock_jump_it_counts_from_the_jump(office: Office) -> None:
    office.run()
    after(office, 0)
    with office.store.begin() as tx:
        clock.look(tx, clock.HostTime("boot", 0))
    office.clock.sleep(30 * 86_400)
    with office.store.begin() as tx:
        clock.look(tx, clock.HostTime("boot", 1))
    assert after(office, 0) == []
    assert after(office, 26) == []

    assert len(after(office, 1)) == 1


def test_a_clock_that_is_set_back_to_the_truth_does_not_silence_it_for_as_long(office: Office) -> None:
    with office.store.begin() as tx:
        clock.look(tx, clock.HostTime("boot", 0))
    office.run()
    after(office, 0)
    office.clock.sleep(-30 * 86_400)
    with office.store.begin() as tx:
        clock.look(tx, clock.HostTime("boot", 1))
    assert after(office, 0) == []

    assert len(after(office, 27)) == 1


@pytest.mark.parametrize(
    ("said", "shown"), [("26h", "26h"), ("90m", "90m"), ("24h", "1d"), ("14d", "2w"), ("100s", "100s")]
)
def test_the_time_is_written_as_one_writes_it(office: Office, said: str, shown: str) -> None:
    expect(office, success_within=said)
    after(office, 0)

    [late] = after(office, 1_000)

    assert f"(expected every {shown})" in late
