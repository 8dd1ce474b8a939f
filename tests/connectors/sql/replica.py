"""A database with a replica, and a project whose runs read the replica."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tests.connectors.sql.mariadb import MariadbServer
from tests.support.cli import Answer, Program, Project
from tests.support.cluster import Cluster, Standby
from tests.support.servers import _letters


@dataclass(frozen=True)
class Pair:
    """A database and its replica. While it is `lagging`, the replica receives changes but shows none."""

    url: str
    replica: str
    lagging: Callable[[], AbstractContextManager[None]]

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]

    @property
    def engine(self) -> sa.Engine:
        return sa.create_engine(self.url, poolclass=sa.NullPool)

    def sql(self, *statements: str) -> None:
        with self.engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with self.engine.connect() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(statement)]


@contextmanager
def postgresql_servers() -> Iterator[tuple[Cluster, Standby]]:
    with Cluster() as primary, Standby(primary) as standby:
        yield primary, standby


@contextmanager
def mariadb_servers() -> Iterator[tuple[MariadbServer, MariadbServer]]:
    with MariadbServer(1) as primary, MariadbServer(2) as replica:
        replica.follow(primary)
        yield primary, replica


def new_pair(primary: Cluster | MariadbServer, replica: Standby | MariadbServer) -> Pair:
    """A new database of the primary, which the replica has, too."""
    name = f"reconcile_{_letters(12)}"
    if isinstance(primary, Cluster):
        primary.create(name)
    else:
        primary.sql(f"create database {name}")
    pair = Pair(primary.url(name), replica.url(name), replica.lagging)
    until_connected(pair.replica)
    return pair


def until_connected(url: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            sa.create_engine(url, poolclass=sa.NullPool).connect().close()
        except sa.exc.OperationalError:
            assert time.monotonic() < deadline, "the replica gets no changes"
            time.sleep(0.05)
        else:
            return


TWINS = {"kind": "duplicates", "dataset": "customers", "key": ["email"], "where": "status = 'ok'"}
MARK = {"keep": [{"first": "id"}], "clean": {"action": "set", "values": {"status": "twin"}}}


@dataclass
class Shop:
    """Customers, some of whom exist twice; the twins are marked, if a person approves it. Runs read the replica."""

    folder: Path
    pair: Pair
    rule: dict[str, Any] = field(default_factory=lambda: dict(MARK))

    @classmethod
    def at(cls, folder: Path, pair: Pair) -> Shop:
        pair.sql("create table customers (id bigint primary key, email varchar(60), status varchar(9))")
        shop = cls(folder, pair)
        shop.add((1, "a@x"), (2, "a@x"), (3, "b@x"))
        return shop

    def add(self, *rows: tuple[int, str]) -> None:
        self.pair.sql(*(f"insert into customers values ({number}, '{email}', 'ok')" for number, email in rows))

    def __call__(self, *words: str) -> Answer:
        """A command of a person, whose name is Anna."""
        return self._project()(*words, RECONCILE_ACTOR="anna")

    def start(self, *words: str) -> Program:
        """A command in a process of its own."""
        return self._project().start(*words)

    def _project(self) -> Project:
        source = {"type": "sql", "url": self.pair.url, "replica": self.pair.replica}
        limits = {"records": 1000, "share": "100%", "group": 100}
        written = {
            "version": 1,
            "sources": {"shop": source},
            "datasets": {"customers": {"source": "shop", "table": "customers", "id": "id"}},
            "rules": {"twins": TWINS | self.rule | ({"limits": limits} if "clean" in self.rule else {})},
            "jobs": {"nightly": {"rules": "all", "existing": "report", "notify": ["team"]}},
            "channels": {"team": {"type": "file", "path": "messages.txt"}},
        }
        return Project(self.folder).write(json.dumps(written))

    def run(self) -> dict[str, Any]:
        """What a run says about the rule."""
        answer = self("run", "--json", "--all")
        assert answer.code == 0, answer.said
        [rule] = answer.json["rules"]
        return dict(rule)

    def findings(self) -> dict[str, str]:
        """The state of every finding by its e-mail."""
        return {finding["key"]["email"]: finding["state"] for finding in self._every}

    @property
    def only(self) -> str:
        [finding] = self._every
        return str(finding["id"])

    @property
    def _every(self) -> list[Any]:
        return list(self("findings", "--state", "all", "--json").json)

    @property
    def messages(self) -> str:
        return (self.folder / "messages.txt").read_text()

    @property
    def statuses(self) -> list[str]:
        return [str(status) for (status,) in self.pair.rows("select status from customers order by id")]
