"""The answers to monitoring: /healthz, /readyz, /metrics. Each is a function of the current state.

No answer holds data or secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from reconcile.coordination import lease
from reconcile.service.exchange import RouteResponse
from reconcile.service.metrics import Metrics
from reconcile.store import Store, StoreError


def health(silent: Mapping[str, float]) -> RouteResponse:
    """Answer whether the process works; `silent` are the overdue duties, with their seconds."""
    if not silent:
        return RouteResponse.sentence(HTTPStatus.OK, "ok")
    duties = ", ".join(f"{name} for {seconds:.0f} s" for name, seconds in sorted(silent.items()))
    return RouteResponse.sentence(HTTPStatus.SERVICE_UNAVAILABLE, f"No activity of: {duties}")


def readiness(store: Store, *, is_worker: bool) -> RouteResponse:
    """Answer whether work gets done: the store answers and, unless this is a worker, some process schedules."""
    try:
        with store.read() as tx:
            scheduler = lease.holder(tx, "scheduler")
    except StoreError as error:
        return RouteResponse.sentence(
            HTTPStatus.SERVICE_UNAVAILABLE, f"The state database does not answer ({type(error).__name__})"
        )
    if is_worker or scheduler is not None:
        return RouteResponse.sentence(HTTPStatus.OK, "ready")
    return RouteResponse.sentence(HTTPStatus.SERVICE_UNAVAILABLE, "No scheduler is running yet")


def metrics_page(metrics: Metrics, headers: Mapping[str, str]) -> RouteResponse:
    body, kind = metrics.page(headers.get("Accept", ""))
    return RouteResponse(HTTPStatus.OK, body, kind)
