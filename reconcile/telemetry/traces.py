"""OpenTelemetry spans of runs and rules, where somebody asked for them; else nothing is loaded and nothing is done.

Spans go out in the background, over HTTP. What cannot be sent is given up after a few seconds: a run is never held up
or failed by who watches it. Attributes are names and counts; of an error a span has the class, for its message may hold
data.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExportResult
    from opentelemetry.trace import Span as OtelSpan

FLUSH = 5.0
"""Seconds for what is left to be sent when a process ends."""

MODULES = ("opentelemetry.sdk.trace.export", "opentelemetry.exporter.otlp.proto.http.trace_exporter")
"""What costs time to load: a server of processes loads it once for all of them."""

_PATH = "/v1/traces"

log = logging.getLogger("reconcile.telemetry.traces")


class Span(Protocol):
    """One thing that is being done, while it is being done."""

    def tell(self, **attributes: str | int | float | bool) -> None:
        """What is known of it only now."""

    def failed(self) -> None:
        """It did not come to its end."""


class Spans(Protocol):
    """Where spans go."""

    def span(self, name: str, /, **attributes: str | int) -> AbstractContextManager[Span]:
        """A span around the block; inside of another one's block it is its child."""

    def close(self) -> None:
        """Send what is left, within `FLUSH`. Safe to call twice."""


def begin(setting: str | None, environ: Mapping[str, str]) -> Spans:
    """Spans to where `traces:` or OpenTelemetry's own variables say; to nowhere without them."""
    address = _address(setting, environ)
    if address is None:
        return NOWHERE
    try:
        return _Sent(address, environ.get("OTEL_SERVICE_NAME") or "reconcile")
    except ImportError:
        log.warning("traces are asked for, and OpenTelemetry is not installed: pip install 'reconcile-runner[otel]'")
        return NOWHERE


def wanted(setting: str | None, environ: Mapping[str, str]) -> bool:
    """Whether spans go anywhere."""
    return _address(setting, environ) is not None


def _address(setting: str | None, environ: Mapping[str, str]) -> str | None:
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    if setting is not None:
        return setting if urlsplit(setting).path.strip("/") else setting.rstrip("/") + _PATH
    if exact := environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        return exact
    collector = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    return collector.rstrip("/") + _PATH if collector else None


class _Nowhere:
    """Spans that nobody asked for; it is both all of them and each one."""

    @contextlib.contextmanager
    def span(self, name: str, /, **attributes: str | int) -> Iterator[Span]:  # noqa: ARG002 - nobody asked
        yield self

    def tell(self, **attributes: str | int | float | bool) -> None:
        pass

    def failed(self) -> None:
        pass

    def close(self) -> None:
        pass


NOWHERE = _Nowhere()


class _Sent:
    """Spans that are sent to a collector."""

    def __init__(self, address: str, service: str) -> None:
        _silence_the_library()
        self._address = address
        self._provider, self._exporter = _provider(address, service)
        self._tracer = self._provider.get_tracer("reconcile")
        self._is_open = True

    @contextlib.contextmanager
    def span(self, name: str, /, **attributes: str | int) -> Iterator[Span]:
        with self._tracer.start_as_current_span(
            name, attributes=_named(attributes), record_exception=False, set_status_on_exception=False
        ) as started:
            one = _One(started)
            try:
                yield one
            except BaseException as error:
                one.tell(error=type(error).__name__)
                one.failed()
                raise

    def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        ended = threading.Thread(target=self._send_what_is_left, name="traces", daemon=True)
        ended.start()
        ended.join(FLUSH)
        if ended.is_alive() or self._exporter.lost:
            place = urlsplit(self._address)
            log.warning("traces could not be sent to %s://%s; the run is not affected", place.scheme, place.hostname)

    def _send_what_is_left(self) -> None:
        self._provider.force_flush(round(FLUSH * 1000))
        self._provider.shutdown()


class _One:
    def __init__(self, span: OtelSpan) -> None:
        self._span = span

    def tell(self, **attributes: str | int | float | bool) -> None:
        self._span.set_attributes(_named(attributes))

    def failed(self) -> None:
        from opentelemetry.trace import StatusCode  # noqa: PLC0415 - loaded already, by who asked for traces

        self._span.set_status(StatusCode.ERROR)


def _named(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {f"reconcile.{name}": value for name, value in attributes.items()}


def _silence_the_library() -> None:
    """It logs each failed attempt, with tracebacks; we say once what became of the spans."""
    library = logging.getLogger("opentelemetry")
    library.setLevel(logging.CRITICAL)
    library.propagate = False


def _provider(address: str, service: str) -> tuple[TracerProvider, Any]:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - an extra
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - an extra
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult  # noqa: PLC0415 - an extra

    class Exporter(OTLPSpanExporter):
        """It remembers whether something was lost."""

        lost = False

        def export(self, spans: Any) -> SpanExportResult:
            result = super().export(spans)
            self.lost = self.lost or result is not SpanExportResult.SUCCESS
            return result

    exporter = Exporter(endpoint=address, timeout=FLUSH - 1)
    provider = TracerProvider(resource=Resource.create({"service.name": service}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider, exporter
