"""The answers to monitoring: /healthz, /readyz, /metrics. Each is a function of the current state.

No answer holds data or secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from reconcile.service import ready
from reconcile.service.exchange import RouteResponse
from reconcile.service.metrics import Metrics
from reconcile.store import Store


def health(silent: Mapping[str, float]) -> RouteResponse:
    """Answer whether the process works; `silent` are the overdue duties, with their seconds."""
    if not silent:
        return RouteResponse.sentence(HTTPStatus.OK, "ok")
    duties = ", ".join(f"{name} for {seconds:.0f} s" for name, seconds in sorted(silent.items()))
    return RouteResponse.sentence(HTTPStatus.SERVICE_UNAVAILABLE, f"No activity of: {duties}")


def readiness(store: Store, *, is_worker: bool) -> RouteResponse:
    """Answer whether work gets done: the state can be written and, unless this is a worker, some process schedules."""
    why = ready.obstacle(store, is_worker=is_worker)
    if why is None:
        return RouteResponse.sentence(HTTPStatus.OK, "ready")
    return RouteResponse.sentence(HTTPStatus.SERVICE_UNAVAILABLE, why)


def metrics_page(metrics: Metrics, headers: Mapping[str, str]) -> RouteResponse:
    body, kind = metrics.page(headers.get("Accept", ""))
    return RouteResponse(HTTPStatus.OK, body, kind)
