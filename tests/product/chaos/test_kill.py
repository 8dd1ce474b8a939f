"""Four workers killed at random, by time and at named places, while rows keep coming: nothing twice, nothing lost."""

import random

import pytest

from tests.product.chaos.storm import Storm
from tests.product.chaos.watched_world import Places, places, warm
from tests.support.chance import SECONDS, SEED, lasting
from tests.support.fork_server import Warm

__all__ = ["places", "warm"]

pytestmark = [pytest.mark.chaos, pytest.mark.server, pytest.mark.timeout(600 + SECONDS)]
KILLS = 15
"""In the short tier, for each kind of store and target."""


@pytest.mark.parametrize(("store", "target"), [("sqlite", "sqlite"), ("postgres", "postgres")])
def test_workers_killed_at_random_do_every_effect_once(places: Places, warm: Warm, store: str, target: str) -> None:
    storm = Storm(
        places.world(store, target), warm, random.Random(f"{SEED} {store}"), f"random kill, {store} and {target}"
    )
    storm.begin()

    storm.keep_going(until=lasting(0.12, lambda: storm.kills >= KILLS))
    came = storm.end()

    assert came.effects > 0
    assert came.quarantined == 0
