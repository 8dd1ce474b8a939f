"""PostgreSQL gone without a word and back, again and again, while four workers are killed: nothing twice, nothing lost.

The store and the target are databases of one server of our own, so both go at one moment.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.product.chaos.storm import Storm
from tests.product.chaos.watched_world import Places, warm
from tests.support.chance import SECONDS, SEED, lasting
from tests.support.cluster import Cluster
from tests.support.fork_server import Warm

__all__ = ["warm"]

pytestmark = [pytest.mark.chaos, pytest.mark.server, pytest.mark.timeout(600 + SECONDS)]
CYCLES = 4


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as created:
        yield created


def test_a_database_that_goes_at_any_moment_loses_and_doubles_nothing(
    cluster: Cluster, warm: Warm, tmp_path: Path
) -> None:
    places = Places(tmp_path, postgres=cluster.url())
    storm = Storm(
        places.world("postgres", "postgres"), warm, random.Random(f"{SEED} database"), "database gone and back"
    )
    storm.begin()

    def restart() -> None:
        cluster.restarts()
        storm.restarts += 1

    storm.keep_going(until=lasting(0.15, lambda: storm.restarts >= CYCLES), disturb=restart)
    came = storm.end()

    assert came.effects > 0
    assert storm.restarts > 0
