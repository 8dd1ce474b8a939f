"""Databases keep the promises of every target, and what each of them adds of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from conftest import MARIADB, POSTGRES, _scratch_database
from target_support import Shop, shop_of

from connectors import conformance_target
from connectors.conformance_target import TargetKit

SERVERS = {"postgresql": POSTGRES, "mysql": MARIADB}
NAMES = [
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.server),
    pytest.param("mysql", marks=pytest.mark.server),
]


@pytest.fixture(scope="module", params=NAMES)
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    name = request.param
    yield from shop_of(name, lambda: _scratch_database(SERVERS[name]), tmp_path_factory.mktemp(name))


@pytest.fixture
def shop(database: Shop) -> Iterator[Shop]:
    database.emptied()
    yield database
    database.close()


@pytest.mark.parametrize("check", conformance_target.CHECKS, ids=lambda check: check.__name__)
def test_databases_keep_the_promises_of_every_target(check: Callable[[TargetKit], None], shop: Shop) -> None:
    check(shop.kit())
