"""Spans of runs and rules, as a collector gets them; and the cost of a run without traces, or without a collector."""

import gzip
import json
import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from reconcile import config
from reconcile.app import Application
from reconcile.runs.report import RunReport
from reconcile.telemetry import traces

SLOT = "2026-11-21T05:15:00+00:00"


class Collector(ThreadingHTTPServer):
    """Takes OTLP over HTTP and keeps the spans; `status` is what it answers."""

    daemon_threads = True

    def __init__(self, status: int = 200) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = status
        self.paths: list[str] = []
        self.requests: list[ExportTraceServiceRequest] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def spans(self) -> dict[str, Span]:
        """By what they are about."""
        requests = [s for r in self.requests for of in r.resource_spans for by in of.scope_spans for s in by.spans]
        return {said(span).get("reconcile.rule", span.name): span for span in requests}

    @property
    def service(self) -> str:
        attributes = self.requests[0].resource_spans[0].resource.attributes
        return next(attribute.value.string_value for attribute in attributes if attribute.key == "service.name")


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        self.server.paths.append(self.path)
        self.server.requests.append(ExportTraceServiceRequest.FromString(body))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def said(span: Span) -> dict[str, Any]:
    return {
        attribute.key: getattr(attribute.value, str(attribute.value.WhichOneof("value")))
        for attribute in span.attributes
    }


@pytest.fixture
def collector() -> Iterator[Collector]:
    item = Collector()
    threading.Thread(target=item.serve_forever, args=(0.02,), daemon=True).start()
    yield item
    item.shutdown()
    item.server_close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "charges.csv").write_text("id,order\n1,A\n2,A\n3,B\n")
    return tmp_path


def run(folder: Path, environ: Mapping[str, str] | None = None, **more: Any) -> RunReport:
    written = {
        "sources": {"shop": {"type": "files"}},
        "datasets": {
            "charges": {"source": "shop", "path": "charges.csv", "id": "id"},
            "gone": {"source": "shop", "path": "gone.csv", "id": "id"},
        },
        "rules": {
            name: {"kind": "duplicates", "dataset": dataset, "key": ["order"]}
            for name, dataset in {"twice": "charges", "lost": "gone"}.items()
        },
        "jobs": {"nightly": {"rules": ["twice"]}, "wrong": {"rules": ["twice", "lost"]}},
    }
    (folder / "reconcile.yaml").write_text(json.dumps({**written, **{k: v for k, v in more.items() if k != "job"}}))
    project = config.load(folder / "reconcile.yaml", {})
    with Application(project, environ=environ or {}) as application:
        return application.run(more.get("job", "nightly"), slot=SLOT)


@pytest.mark.slow
def test_a_run_is_a_span_with_a_span_for_each_rule_inside(collector: Collector, folder: Path) -> None:
    report = run(folder, traces=f"{collector.address}/v1/traces")

    spans = collector.spans
    whole, rule = spans["reconcile.run"], spans["twice"]
    assert said(whole) == {
        "reconcile.job": "nightly",
        "reconcile.run": report.run,
        "reconcile.slot": "2026-11-21T05:15:00Z",
        "reconcile.trigger": "slot",
        "reconcile.status": "succeeded",
    }
    assert rule.name == "reconcile.rule"
    assert said(rule) == {
        "reconcile.job": "nightly",
        "reconcile.rule": "twice",
        "reconcile.dataset": "charges",
        "reconcile.engine": "embedded",
        "reconcile.records": 3,
        "reconcile.groups": 1,
    }
    assert (rule.parent_span_id, rule.trace_id) == (whole.span_id, whole.trace_id)
    assert collector.service == "reconcile"


@pytest.mark.slow
def test_a_rule_that_could_not_be_checked_shows_as_failed_and_nothing_of_why(
    collector: Collector, folder: Path
) -> None:
    report = run(folder, job="wrong", traces=f"{collector.address}/v1/traces")

    spans = collector.spans
    assert report.status == "failed"
    assert spans["lost"].status.code == spans["reconcile.run"].status.code == Status.STATUS_CODE_ERROR
    assert spans["twice"].status.code == Status.STATUS_CODE_UNSET
    assert not any(span.events or span.status.message for span in spans.values())
    assert not any(b"gone.csv" in request.SerializeToString() for request in collector.requests)


def test_an_error_leaves_its_class_alone(collector: Collector) -> None:
    spans = traces.begin(f"{collector.address}/v1/traces", {})

    with pytest.raises(ValueError, match="Petersen"), spans.span("reconcile.run", job="nightly"):
        raise ValueError("Mrs Petersen")
    spans.close()

    [request] = collector.requests
    assert said(collector.spans["reconcile.run"])["reconcile.error"] == "ValueError"
    assert b"Petersen" not in request.SerializeToString()


@pytest.mark.parametrize(
    ("setting", "environ", "path"),
    [
        ("{}", {}, "/v1/traces"),
        ("{}/", {}, "/v1/traces"),
        ("{}/elsewhere", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, "/elsewhere"),
        (None, {"OTEL_EXPORTER_OTLP_ENDPOINT": "{}/"}, "/v1/traces"),
        (None, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "{}/exact"}, "/exact"),
    ],
)
def test_they_go_where_the_setting_or_else_the_environment_says(
    collector: Collector, setting: str | None, environ: dict[str, str], path: str
) -> None:
    filled = {name: value.format(collector.address) for name, value in environ.items()}

    spans = traces.begin(setting and setting.format(collector.address), filled)
    with spans.span("x"):
        pass
    spans.close()

    assert collector.paths == [path]


@pytest.mark.parametrize(
    ("setting", "environ"), [(None, {}), ("http://127.0.0.1:1", {"OTEL_SDK_DISABLED": "true"}), (None, {"OTEL_X": "y"})]
)
def test_without_a_word_nothing_is_sent(setting: str | None, environ: dict[str, str]) -> None:
    assert not traces.wanted(setting, environ)
    assert traces.begin(setting, environ) is traces.NOWHERE


@pytest.mark.slow
def test_what_nobody_asked_for_is_not_even_loaded(folder: Path) -> None:
    run(folder)
    code = """
import sys
from reconcile import app
with app.load("reconcile.yaml") as application:
    application.run("nightly")
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True, env={})

    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_a_collector_that_is_not_there_fails_nothing_and_is_told_in_one_sentence(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        report = run(folder, traces="http://127.0.0.1:1/v1/traces")

    assert report.status == "succeeded"
    assert [record.getMessage() for record in caplog.records] == [
        "traces could not be sent to http://127.0.0.1; the run is not affected"
    ]


@pytest.mark.slow
def test_a_collector_that_refuses_is_told_in_one_sentence(
    collector: Collector, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    collector.status = 403

    with caplog.at_level(logging.WARNING):
        report = run(folder, traces=collector.address)

    assert report.status == "succeeded"
    assert len(caplog.records) == 1


@pytest.mark.slow
def test_a_collector_that_says_nothing_is_waited_for_a_few_seconds_at_most(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(traces, "FLUSH", 1.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        spans = traces.begin(f"http://127.0.0.1:{silent.getsockname()[1]}/v1/traces", {})
        with spans.span("x"):
            pass

        began = time.monotonic()
        spans.close()
        spans.close()

        assert time.monotonic() - began < 3
    assert len(caplog.records) == 1


def test_a_missing_extra_is_one_sentence_and_no_failure(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)

    spans = traces.begin("http://127.0.0.1:1", {})

    assert spans is traces.NOWHERE
    [told] = caplog.records
    assert "pip install 'reconcile-runner[otel]'" in told.getMessage()
