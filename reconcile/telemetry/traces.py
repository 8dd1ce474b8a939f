"""OpenTelemetry spans of runs and rules, if tracing is configured; otherwise nothing is loaded and nothing is done.

Spans are sent in the background, over HTTP. Spans that cannot be sent are dropped after a few seconds: tracing never
delays or fails a run. Attributes are names and counts; of an error a span has only the class, because its message may
hold data.
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
"""Seconds to send the remaining spans when a process ends."""

MODULES = ("opentelemetry.sdk.trace.export", "opentelemetry.exporter.otlp.proto.http.trace_exporter")
"""Modules that load slowly: the fork server loads them once for all its processes."""

_PATH = "/v1/traces"

log = logging.getLogger("reconcile.telemetry.traces")


class Span(Protocol):
    """An operation in progress."""

    def tell(self, **attributes: str | int | float | bool) -> None:
        """Add attributes."""

    def failed(self) -> None:
        """Mark the operation as failed."""


class Spans(Protocol):
    """Creates spans."""

    def span(self, name: str, /, **attributes: str | int) -> AbstractContextManager[Span]:
        """A span around the block; inside the block of another span it is its child."""

    def close(self) -> None:
        """Send the remaining spans, within `FLUSH`. Safe to call twice."""


def begin(setting: str | None, environ: Mapping[str, str]) -> Spans:
    """Send spans to the address in `traces:` or OpenTelemetry's own variables; without one, nowhere."""
    address = _address(setting, environ)
    if address is None:
        return NOWHERE
    try:
        return _SentSpans(address, environ.get("OTEL_SERVICE_NAME") or "reconcile")
    except ImportError:
        log.warning("traces are configured, but OpenTelemetry is not installed: pip install 'reconcile-runner[otel]'")
        return NOWHERE


def wanted(setting: str | None, environ: Mapping[str, str]) -> bool:
    """Return True if spans are sent anywhere."""
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
    """Spans that are not sent; it is both `Spans` and `Span`."""

    @contextlib.contextmanager
    def span(self, name: str, /, **attributes: str | int) -> Iterator[Span]:  # noqa: ARG002 - not sent
        yield self

    def tell(self, **attributes: str | int | float | bool) -> None:
        pass

    def failed(self) -> None:
        pass

    def close(self) -> None:
        pass


NOWHERE = _Nowhere()


class _SentSpans:
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
            name, attributes=_prefixed(attributes), record_exception=False, set_status_on_exception=False
        ) as started:
            span = _SentSpan(started)
            try:
                yield span
            except BaseException as error:
                span.tell(error=type(error).__name__)
                span.failed()
                raise

    def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        thread = threading.Thread(target=self._send_rest, name="traces", daemon=True)
        thread.start()
        thread.join(FLUSH)
        if thread.is_alive() or self._exporter.lost:
            url = urlsplit(self._address)
            log.warning("traces could not be sent to %s://%s; the run is not affected", url.scheme, url.hostname)

    def _send_rest(self) -> None:
        self._provider.force_flush(round(FLUSH * 1000))
        self._provider.shutdown()


class _SentSpan:
    def __init__(self, span: OtelSpan) -> None:
        self._span = span

    def tell(self, **attributes: str | int | float | bool) -> None:
        self._span.set_attributes(_prefixed(attributes))

    def failed(self) -> None:
        from opentelemetry.trace import StatusCode  # noqa: PLC0415 - already loaded by _provider

        self._span.set_status(StatusCode.ERROR)


def _prefixed(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {f"reconcile.{name}": value for name, value in attributes.items()}


def _silence_the_library() -> None:
    """Turn off its logs of each failed attempt, with tracebacks; we log once if spans are lost."""
    library = logging.getLogger("opentelemetry")
    library.setLevel(logging.CRITICAL)
    library.propagate = False


def _provider(address: str, service: str) -> tuple[TracerProvider, Any]:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - an extra
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - an extra
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult  # noqa: PLC0415 - an extra

    class Exporter(OTLPSpanExporter):
        """Remembers if spans were lost."""

        lost = False

        def export(self, spans: Any) -> SpanExportResult:
            result = super().export(spans)
            self.lost = self.lost or result is not SpanExportResult.SUCCESS
            return result

    exporter = Exporter(endpoint=address, timeout=FLUSH - 1)
    provider = TracerProvider(resource=Resource.create({"service.name": service}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider, exporter
