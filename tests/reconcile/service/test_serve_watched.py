"""`reconcile serve` as those who watch it see it: over HTTP, in its log, and in the spans of its runs."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconcile.store import Store
from tests.reconcile.telemetry.test_traces import Collector, said
from tests.support.serve import Serving, forked, request, serving, until

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "charges.csv").write_text("id,order\n1,A\n2,A\n3,B\n")
    write(tmp_path)
    return tmp_path


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with Store.open("sqlite:///state.db", folder) as item:
        yield item


def write(folder: Path, **more: Any) -> None:
    written = {
        "state": "sqlite:///state.db",
        "listen": "127.0.0.1:0",
        "sources": {"shop": {"type": "files"}},
        "datasets": {"charges": {"source": "shop", "path": "charges.csv", "id": "id"}},
        "rules": {"twice": {"kind": "duplicates", "dataset": "charges", "key": ["order"]}},
        "jobs": {"nightly": {"rules": ["twice"], "notify": ["team"]}},
        "channels": {"team": {"type": "file", "path": "messages.jsonl", "format": "jsonl"}},
    }
    (folder / "reconcile.yaml").write_text(json.dumps(written | more))


def ask(server: Serving, path: str) -> tuple[int, str]:
    address = server.heard("listener.started")[0]["address"]
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_it_is_well_ready_and_counts_what_it_does(folder: Path, store: Store) -> None:
    with serving(folder) as server:
        until(lambda: ask(server, "/readyz")[0] == 200)
        request(store, "nightly")
        server.hear("run.ended", job="nightly", how="succeeded")
        server.hear("message.sent", channel="team")

        until(
            lambda: 'reconcile_runs_total{reconcile_job="nightly",status="succeeded"} 1.0' in ask(server, "/metrics")[1]
        )
        metrics = ask(server, "/metrics")[1]

        assert ask(server, "/healthz") == (200, "ok\n")
        assert 'reconcile_records_scanned_total{reconcile_job="nightly",rule="twice"} 3.0' in metrics
        assert 'reconcile_messages_total{channel="team",status="sent"} 1.0' in metrics
        assert "reconcile_scheduling_lag_seconds_count 1.0" in metrics
        assert "reconcile_scheduler_leads 1.0" in metrics


def test_a_worker_alone_is_ready_and_schedules_nothing(folder: Path) -> None:
    with forked(folder, "--worker") as server:
        assert ask(server, "/readyz") == (200, "ready\n")
        assert "reconcile_scheduler_leads 0.0" in ask(server, "/metrics")[1]


def test_a_state_that_is_gone_shows_in_readiness_and_not_in_health(folder: Path, store: Store) -> None:
    with forked(folder) as server:
        until(lambda: ask(server, "/readyz")[0] == 200)
        store.close()
        (folder / "state.db").rename(folder / "moved.db")

        until(lambda: ask(server, "/readyz")[0] == 503)
        assert ask(server, "/healthz")[0] == 200


def test_a_taken_port_ends_the_start_with_a_sentence_before_anything_is_done(folder: Path) -> None:
    with forked(folder) as first:
        taken = first.heard("listener.started")[0]["address"]
        lines = len(first.lines)

        done = subprocess.run(
            [sys.executable, "-m", "reconcile", "serve", "--listen", taken],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert f"`listen`: cannot listen on {taken}: address already in use" in done.stderr
        assert len(first.lines) == lines


def test_nothing_listens_where_nobody_wants_it(folder: Path) -> None:
    with forked(folder, "--listen", "none") as server:
        assert server.heard("listener.started") == []


def test_its_runs_send_spans_and_a_collector_that_is_gone_costs_them_nothing(folder: Path, store: Store) -> None:
    collector = Collector()
    threading.Thread(target=collector.serve_forever, args=(0.02,), daemon=True).start()
    write(folder, traces=collector.address)
    with forked(folder) as server:
        request(store, "nightly")
        server.hear("run.ended", job="nightly", how="succeeded")
        traced = collector.spans
        collector.shutdown()
        collector.server_close()
        request(store, "nightly")
        server.hear("run.ended", 2, job="nightly", how="succeeded")
        server.hear("library.said", library="reconcile.telemetry.traces")

    assert said(traced["reconcile.run"])["reconcile.trigger"] == "request"
    assert traced["twice"].parent_span_id == traced["reconcile.run"].span_id


def test_everything_it_writes_is_a_line_of_json(folder: Path, store: Store) -> None:
    with serving(folder) as server:
        request(store, "nightly", 3)
        server.hear("run.ended", 3, job="nightly")
        server.signal(signal.SIGTERM)
        assert server.end() == 0

    assert server.heard("text") == []
    assert all({"at", "level", "event"} <= set(line) for line in server.lines)
    assert os.environ.get("HOME", "/root") not in json.dumps(server.lines)
