"""A bad network before the target or the store: slow, down, cut, reset, and the reply to a COMMIT lost."""

import random
import time
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from tests.product.chaos.watched_world import Places, WatchedWorld, cleaned, comparable, hold_everything, places, warm
from tests.support.chance import SECONDS, SEED, spread
from tests.support.fork_server import Warm
from tests.support.tcp_proxy import TcpProxy

__all__ = ["places", "warm"]

pytestmark = [pytest.mark.chaos, pytest.mark.server, pytest.mark.timeout(300)]

Trouble = Callable[[TcpProxy], None]


def _shortly(proxy: TcpProxy, trouble: Trouble, after: float, lasting: float) -> None:
    time.sleep(after)
    trouble(proxy)
    time.sleep(lasting)
    proxy.passes()


ONCE: dict[str, Trouble] = {
    "slow": lambda proxy: proxy.delay(0.005 if SECONDS else 0.001),
    "down": lambda proxy: proxy.cut(),
    "down for a moment": lambda proxy: _shortly(proxy, TcpProxy.cut, 0, 0.3),
    "cut while it works": lambda proxy: _shortly(proxy, TcpProxy.cut, 0.25, 0.05),
    "reset while it works": lambda proxy: _shortly(proxy, TcpProxy.reset, 0.3, 0.05),
    "silent for a while": lambda proxy: _shortly(proxy, TcpProxy.silent, 0.2, 0.7),
    "half an answer": lambda proxy: proxy.drop_reply_after(700),
    "much of an answer": lambda proxy: proxy.drop_reply_after(9_000),
}


def _before(url: str) -> tuple[TcpProxy, str]:
    """A proxy in front of that server, and the address through it."""
    address = sa.make_url(url)
    proxy = TcpProxy((address.host or "127.0.0.1", address.port or (3306 if "mysql" in url else 5432)))
    through = address.set(host=proxy.host, port=proxy.port)
    return proxy, through.render_as_string(hide_password=False)


def _world(places: Places, behind: str, target: str) -> tuple[WatchedWorld, TcpProxy]:
    """A world whose target or store is reached through a proxy, with groups to clean."""
    addresses = {"store": places.fresh("postgres" if behind == "store" else "sqlite"), "target": places.fresh(target)}
    proxy, through = _before(addresses[behind])
    given = {"reached_by": through} if behind == "target" else {}
    world = WatchedWorld.make(places.folder(), addresses["store"], addresses["target"], **given)
    if behind == "store":
        world.config["state"] = through
        world.write()
    return world, proxy


def _met(places: Places, warm: Warm, behind: str, target: str, trouble: Trouble) -> TcpProxy:
    """The trouble in the middle of a run that cleans; afterwards everything is as it must be, and done once."""
    world, proxy = _world(places, behind, target)
    with proxy:
        world.run(warm)
        world.spoil(2, random.Random(SEED))
        expected = comparable(cleaned(world.inserted))
        child = world.begin(warm, "run", "nightly")
        trouble(proxy)
        ended = child.wait(120)
        assert ended.code != 70, ended.err[-3000:]
        proxy.passes()
        last = world.settle(warm, expected)
        assert comparable(world.all_rows()) == expected, (SEED, last.err[-2000:])
        hold_everything(world)
    return proxy


@pytest.mark.parametrize(
    ("behind", "trouble"), spread([(behind, trouble) for behind in ("target", "store") for trouble in ONCE], len(ONCE))
)
def test_whatever_the_network_does_everything_is_done_once(
    places: Places, warm: Warm, behind: str, trouble: str
) -> None:
    _met(places, warm, behind, "postgres", ONCE[trouble])


@pytest.mark.parametrize("target", ["postgres", "mariadb"])
def test_when_the_reply_to_a_commit_of_the_target_is_lost_the_receipt_says_it_was_done(
    places: Places, warm: Warm, target: str
) -> None:
    dropped = 0
    for skip in range(4 if SECONDS else 2):
        proxy = _met(places, warm, "target", target, lambda item, skip=skip: item.drop_reply_to(b"commit", skip=skip))
        dropped += proxy.dropped

    assert dropped >= (3 if SECONDS else 1), "hardly a COMMIT was said"


def test_when_the_reply_to_any_commit_of_the_store_is_lost_nothing_is_done_twice(places: Places, warm: Warm) -> None:
    dropped = 0
    for skip in range(0, 16, 3 if SECONDS else 7):
        proxy = _met(
            places, warm, "store", "postgres", lambda item, skip=skip: item.drop_reply_to(b"commit", skip=skip)
        )
        dropped += proxy.dropped

    assert dropped >= (4 if SECONDS else 2), "hardly a COMMIT was said"
