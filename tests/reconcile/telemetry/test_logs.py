"""What serve logs: one line an event, the same from every process, and never a secret, data or a traceback."""

import datetime as dt
import io
import json
import logging
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import structlog
from pydantic import SecretStr

from reconcile.telemetry import logs


@pytest.fixture(autouse=True)
def one_log() -> Iterator[None]:
    """What a process sets up once is put back."""
    handlers, hook = list(logging.getLogger().handlers), threading.excepthook
    yield
    logging.captureWarnings(capture=False)
    logging.getLogger().handlers[:] = handlers
    threading.excepthook = hook
    structlog.reset_defaults()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def logged(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def as_json(*, quiet: bool = False) -> io.StringIO:
    stream = io.StringIO()
    logs.set_up(as_json=True, quiet=quiet, colors=True, stream=stream)
    return stream


def log() -> Any:
    return structlog.get_logger("reconcile")


def test_an_event_is_one_line_of_json_with_its_time_level_and_name_first() -> None:
    stream = as_json()

    log().info("run.started", job="nightly", attempt=1, why=None)

    [line] = stream.getvalue().splitlines()
    document = json.loads(line)
    assert list(document) == ["at", "level", "event", "job", "attempt", "why"]
    assert (document["level"], document["event"], document["job"], document["why"]) == (
        "info",
        "run.started",
        "nightly",
        None,
    )
    assert document["at"].endswith("Z")
    assert abs(dt.datetime.fromisoformat(document["at"]) - dt.datetime.now(dt.UTC)) < dt.timedelta(minutes=1)


def test_for_people_it_is_one_line_of_words_with_colours_on_a_terminal_only() -> None:
    terminal, file = Terminal(), io.StringIO()

    logs.set_up(as_json=False, quiet=False, colors=True, stream=terminal)
    log().warning("duty.failed", duty="work", why="no answer", none=None)
    logs.set_up(as_json=False, quiet=False, colors=True, stream=file)
    log().warning("duty.failed", duty="work", why="no answer", none=None)

    assert file.getvalue()[27:] == ' warning duty.failed duty=work why="no answer"\n'
    assert terminal.getvalue()[27:] == ' \x1b[33mwarning\x1b[0m duty.failed duty=work why="no answer"\n'


def test_quiet_leaves_warnings_and_errors() -> None:
    stream = as_json(quiet=True)

    log().info("run.started")
    log().warning("listener.open")
    log().error("duty.failed")

    assert [line["event"] for line in logged(stream)] == ["listener.open", "duty.failed"]


def test_secrets_become_stars_wherever_they_stand() -> None:
    stream = as_json()

    log().info(
        "x", key=SecretStr("hidden"), place="postgresql://u:hidden@db/x?password=hidden", many=[{"a": b"hidden"}]
    )

    assert "hidden" not in stream.getvalue()
    [line] = logged(stream)
    assert line["key"] == "***"
    assert line["place"] == "postgresql://u:***@db/x?password=***"
    assert line["many"] == [{"a": "***"}]


def test_an_exception_leaves_its_class_and_nothing_it_says() -> None:
    stream = as_json()

    try:
        int("Mrs Petersen, 4111 1111 1111 1111")
    except ValueError as error:
        log().exception("duty.failed", why=error)

    assert "Petersen" not in stream.getvalue()
    assert "Traceback" not in stream.getvalue()
    [line] = logged(stream)
    assert (line["error"], line["why"], line["level"]) == ("ValueError", "<ValueError>", "error")


def test_what_libraries_log_and_warn_of_comes_out_the_same_way_from_warnings_upwards() -> None:
    stream = as_json()

    logging.getLogger("apscheduler.scheduler").info("Added job")
    logging.getLogger("apscheduler.scheduler").error("Job raised", exc_info=ValueError("Mrs Petersen"))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=False)
        logging.captureWarnings(capture=True)
        warnings.warn("soon gone", UserWarning, stacklevel=1)

    raised, warned = logged(stream)
    assert (raised["event"], raised["library"], raised["text"], raised["error"]) == (
        "library.said",
        "apscheduler.scheduler",
        "Job raised",
        "ValueError",
    )
    assert warned["library"] == "py.warnings"
    assert "soon gone" in warned["text"]
    assert "Petersen" not in stream.getvalue()


def test_a_thread_that_fails_is_one_line_without_its_traceback() -> None:
    stream = as_json()

    thread = threading.Thread(target=lambda: {}["Mrs Petersen"], name="beat")
    thread.start()
    thread.join()

    [line] = logged(stream)
    assert (line["event"], line["thread"], line["error"]) == ("thread.failed", "beat", "KeyError")


@pytest.mark.parametrize("json_lines", [True, False])
def test_no_text_can_break_a_line_or_steer_a_terminal(json_lines: bool) -> None:
    stream = io.StringIO()
    logs.set_up(as_json=json_lines, quiet=False, colors=False, stream=stream)

    log().info("x", text="one\ntwo\x1b[31m\x9b1m\u202e\r\udc80", odd="a=b c")

    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().rstrip("\n").isprintable()


def test_no_line_is_longer_than_what_is_written_in_one_piece() -> None:
    stream = as_json()

    log().info("x", first="ä" * 100_000, second=["b" * 3000] * 50, third={"c": "\x00" * 9000})
    log().info("y", short="kept whole")

    first, second = stream.getvalue().splitlines()
    assert len(first.encode()) < logs.MAX_LINE
    assert json.loads(first)["first"].endswith("…")
    assert json.loads(second)["short"] == "kept whole"


def test_values_of_every_kind_are_shown_plainly_and_strangers_by_their_class() -> None:
    stream = as_json()
    local = dt.datetime(2026, 11, 21, 7, tzinfo=dt.timezone(dt.timedelta(hours=1)))

    log().info("x", at_=local, d=Decimal("1.50"), p=Path("/srv/x"), o=object(), t=dt.timedelta(minutes=1), n=(1, True))

    [line] = logged(stream)
    assert line["at_"] == "2026-11-21T06:00:00Z"
    assert (line["d"], line["p"], line["o"], line["t"], line["n"]) == (
        "1.50",
        "/srv/x",
        "<object>",
        "0:01:00",
        [1, True],
    )


def test_a_log_that_nobody_takes_stops_no_work() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", buffering=1) as stream:
        logs.set_up(as_json=True, quiet=False, colors=False, stream=stream)

        log().info("run.started")
        log().info("run.ended")

        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # so that closing it has somewhere to write


@pytest.mark.slow
def test_lines_of_several_processes_and_threads_do_not_mix(tmp_path: Path) -> None:
    code = """
import sys, threading, structlog
from reconcile.telemetry import logs
logs.set_up(as_json=True, quiet=False, colors=False)
log = structlog.get_logger("reconcile")
def say():
    for number in range(150):
        log.info("x", who=sys.argv[1], text="t" * (number * 13 % 3000))
threads = [threading.Thread(target=say) for _ in range(3)]
[one.start() for one in threads]
[one.join() for one in threads]
"""
    place = tmp_path / "log"

    with place.open("ab") as file:
        children = [subprocess.Popen([sys.executable, "-c", code, str(n)], stderr=file) for n in range(3)]
        assert [child.wait(60) for child in children] == [0, 0, 0]

    lines = [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 3 * 3 * 150


@pytest.mark.slow
def test_only_serve_pays_for_it() -> None:
    code = """
import sys, reconcile.cli.commands, reconcile.app
print([name for name in ("structlog", "prometheus_client", "opentelemetry") if name in sys.modules])
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
