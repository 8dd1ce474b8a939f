"""What every suite shares: the real servers, and real data where it is present."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import ssl
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from pymysql.connections import Connection

from reconcile.store import key
from tests.support.chance import spread
from tests.support.folders import SHARED
from tests.support.former_paths import former_path
from tests.support.servers import MARIADB, POSTGRES, STATE, scratch_database

settings.register_profile(
    "reconcile",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("test", parent=settings.get_profile("reconcile"), max_examples=12)
settings.register_profile("quick", parent=settings.get_profile("reconcile"), max_examples=12)
settings.load_profile("reconcile")


BEGUN = time.monotonic()
_LEAVES_OUT = re.compile(r"not \w+(?: and not \w+)*")
_MARKED = re.compile(r"^pytestmark = .*", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files whose tests are all left out by `-m`: a third of them, which each process would read."""
    left_out = config.option.markexpr
    if collection_path.suffix != ".py" or not _LEAVES_OUT.fullmatch(left_out):
        return None
    line = _MARKED.search(collection_path.read_text(encoding="utf-8"))
    marks = re.findall(r"\bmark\.(\w+)", line[0]) if line else []
    return True if set(marks) & set(left_out.split()) else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--spread",
        type=int,
        default=0,
        help="at most so many cases of each test of a whole project, or with a server, spread evenly; 0: all",
    )
    parser.addoption("--limit", type=float, default=0, help="seconds after which no test begins any more; 0: none")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases of costly tests that have many; tests of chaos choose theirs themselves."""
    if not (most := config.option.spread):
        return
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if _is_costly(item):
            cases[item.nodeid.partition("[")[0]].append(item)
    kept = {item for of_test in cases.values() for item in spread(of_test, most)}
    left_out = [item for of_test in cases.values() for item in of_test if item not in kept]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item in kept or not _is_costly(item)]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    limit = item.config.option.limit
    if limit and time.monotonic() - BEGUN > limit:
        pytest.skip(f"not begun within {limit:,.0f} s; `make every` has no limit")


def _is_costly(item: pytest.Item) -> bool:
    if item.get_closest_marker("chaos"):
        return False
    return "tests/reconcile/" in item.nodeid or any(item.get_closest_marker(mark) for mark in ("server", "slow"))


@pytest.fixture(autouse=True, scope="session")
def keys_of_states() -> Iterator[None]:
    """Each state of a test has its own key, the same each time: ids of findings, and so their order, come of it."""
    created = Counter[str]()

    def token_bytes(size: int) -> bytes:
        path, *names = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0].split("::")
        test = "::".join([former_path(path), *names])
        created[test] += 1
        return hashlib.shake_256(f"{test}|{created[test]}".encode()).digest(size)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key, "secrets", SimpleNamespace(token_bytes=token_bytes, token_hex=secrets.token_hex))
        yield


class Compiled(dict[Any, Any]):
    """SQL that was compiled once, for all SQLite engines of this process: tests open many, each with an empty cache."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(self._known(key), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__(self._known(key), compiled)

    @staticmethod
    def _known(key: Any) -> Any:
        dialect, *statement = key
        return (type(dialect), *statement)


COMPILED = Compiled()


@sa.event.listens_for(sa.Engine, "engine_connect")
def _compile_once(connection: sa.Connection) -> None:
    if connection.dialect.name == "sqlite":
        connection.execution_options(compiled_cache=COMPILED)


@pytest.fixture(autouse=True, scope="session")
def certificates_read_once() -> Iterator[None]:
    """PyMySQL reads all trusted certificates for each connection, 20 ms; without settings of TLS, it checks none."""
    create = vars(Connection)["_create_ssl_ctx"]
    shared = ssl.create_default_context()
    shared.check_hostname, shared.verify_mode = False, ssl.CERT_NONE

    def context(connection: Connection[Any], settings: Any) -> ssl.SSLContext:
        return create(connection, settings) if settings else shared

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "_create_ssl_ctx", context)
        yield


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """A fresh PostgreSQL database."""
    yield from scratch_database(POSTGRES)


@pytest.fixture
def mariadb_url() -> Iterator[str]:
    """A fresh MariaDB database with the server's default collation."""
    yield from scratch_database(MARIADB)


@pytest.fixture(scope="module")
def postgres_server() -> Iterator[str]:
    """A PostgreSQL database for all tests of a module, which empty it."""
    yield from scratch_database(POSTGRES)


@pytest.fixture(scope="module")
def mariadb_server() -> Iterator[str]:
    """A MariaDB database for all tests of a module, which empty it."""
    yield from scratch_database(MARIADB)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def url(request: pytest.FixtureRequest) -> str:
    """The address of a new state: of a file in the folder of the configuration, and of a PostgreSQL database."""
    return STATE if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real, labelled data that is not part of the repository."""
    if not SHARED.is_dir():
        pytest.skip("the shared data folder is not beside this checkout")
    return SHARED
