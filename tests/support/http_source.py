"""A source of type `http` over a server of a test: its clock is the test's, so nothing waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from connectors.http.connector import HttpDataset, HttpSettings
from connectors.http.source import HttpSource
from tests.support.json_api import JsonApi

LIST: dict[str, Any] = {"path": "/orders", "records": "data.items"}


class Pauses:
    """A clock that only pauses move, and the pauses."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.taken: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.taken.append(seconds)
        self.now += seconds


def opened(url: str, pauses: Pauses | None = None, **more: Any) -> HttpSource:
    """A source that waits as `pauses` says; 127.0.0.1 is allowed, and a request may take two seconds."""
    settings = {"type": "http", "url": url, "allow": ["127.0.0.0/8"], "timeout": 2, "retries": 2, **more}
    pauses = pauses or Pauses()
    return HttpSource("shop", HttpSettings.model_validate(settings), Path(), clock=pauses.clock, sleep=pauses.sleep)


def rows(source: HttpSource, *columns: str, **dataset: Any) -> list[dict[str, Any]]:
    """The records of a dataset; all columns by default."""
    chosen = HttpDataset.model_validate({**LIST, **dataset})
    names = columns or [name for name in source.describe(chosen).names if name not in ("_file", "_row")]
    records: list[dict[str, Any]] = source.scan(chosen, list(names)).reader.read_all().to_pylist()
    return records


def read(api: JsonApi, *columns: str, **dataset: Any) -> list[dict[str, Any]]:
    return rows(opened(api.url), *columns, **dataset)
