"""A guard whose clocks tests move."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconcile.coordination.clock import HostTime
from reconcile.guard import Claim, Guard, Namespace
from reconcile.guard.keys import Key
from reconcile.store import Store
from tests.support.servers import STATE
from tests.support.store import NOON, FixedClock

NAMESPACES = {
    "welcome": Namespace(lease=dt.timedelta(minutes=1), keep=dt.timedelta(days=30)),
    "refunds": Namespace(),
}
BOTH = pytest.mark.parametrize("place", ["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
"""The test is about statements: it runs on both databases of the state."""


class Door:
    """A guard, the clocks of its store and of its host, and the pauses that it made."""

    def __init__(self, store: Store, clock: FixedClock) -> None:
        self.store, self.clock = store, clock
        self.boot, self.ahead = "this-boot", 0.0
        self.pauses: list[float] = []
        self.guard = Guard(NAMESPACES, lambda: store, host=self.host, sleep=self._sleep, owns_store=False)

    def host(self) -> HostTime:
        """The time since boot goes like the clock, but for what only the clock was set `ahead`."""
        return HostTime(self.boot, round(((self.clock.now - NOON).total_seconds() - self.ahead + 1000) * 1e9))

    def pass_time(self, seconds: float) -> None:
        self.clock.sleep(seconds)

    def set_clock(self, seconds: float) -> None:
        """Set the clock of the host that much ahead; no time passes."""
        self.clock.sleep(seconds)
        self.ahead += seconds

    def take(self, key: Key = "a", payload: object = None, namespace: str = "welcome") -> Claim:
        claim = self.guard.claim(namespace, key, payload)
        assert isinstance(claim, Claim), claim
        return claim

    def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.pass_time(seconds)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def place() -> str:
    return "sqlite"


@pytest.fixture
def door(place: str, request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock) -> Iterator[Door]:
    url = STATE if place == "sqlite" else str(request.getfixturevalue("postgres_url"))
    with Store.open(url, tmp_path, clock=clock) as store:
        yield Door(store, clock)
