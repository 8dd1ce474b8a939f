"""The `sql` connector keeps the promises of every connector, on each of the real databases."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from connectors.base import Scan
from connectors.conformance import source as conformance
from connectors.conformance.promises import ConformanceFailure
from connectors.conformance.source import Kit, Stored
from connectors.sql.source import SqlDataset, SqlSettings, SqlSource
from tests.support.servers import insert, mariadb_url, postgres_url

__all__ = ["mariadb_url", "postgres_url"]

SECRET = "s3cr3t-canary"
KINDS: dict[str, Callable[[], sa.types.TypeEngine[Any]]] = {
    "id": lambda: sa.String(40),
    "name": lambda: sa.String(40),
    "note": lambda: sa.String(40),
    "number": sa.BigInteger,
    "amount": lambda: sa.Numeric(20, 4),
    "paid": sa.Boolean,
    "booked": sa.Date,
}


class SqlKit:
    """Stores a table in a real database by plain INSERTs."""

    empty_is_null = False

    def __init__(self, url: str, root: Path, secret: str | None) -> None:
        self._url, self._root, self.secret = url, root, secret
        self.settings = {"type": "sql", "url": url, "statement_timeout": "1m"}

    def store(self, table: pa.Table) -> Stored:
        engine = sa.create_engine(self._url, poolclass=sa.pool.NullPool)
        dialect = engine.dialect.name
        stamp = mysql.TIMESTAMP(fsp=6) if dialect == "mysql" else sa.DateTime(timezone=True)
        columns = [sa.Column(n, KINDS[n]() if n in KINDS else stamp, nullable=True) for n in table.column_names]
        if dialect == "sqlite":  # decimals are doubles there: exact ones are kept as text and declared
            columns = [sa.Column(c.name, sa.Text() if c.name == "amount" else c.type) for c in columns]
        stored = sa.Table("charges", sa.MetaData(), *columns)
        with engine.begin() as connection:
            if dialect == "mysql":
                connection.exec_driver_sql("set time_zone = '+00:00'")
            stored.drop(connection, checkfirst=True)
            stored.create(connection)
            rows = [self._row(row, dialect) for row in table.to_pylist()]
            if rows:
                insert(connection, stored, rows)
        source = SqlSource.open("shop", SqlSource.Settings.model_validate(self.settings), self._root)
        declared = {"amount": "decimal(20,4)"} if dialect == "sqlite" and "amount" in table.column_names else {}
        return Stored(
            source=source,
            dataset=SqlSource.Dataset.model_validate({"table": "charges", "columns": declared}),
            missing=SqlSource.Dataset.model_validate({"table": "chargse"}),
            near="charges",
            digest=lambda: self._digest(engine),
        )

    def _row(self, row: dict[str, Any], dialect: str) -> dict[str, Any]:
        if dialect == "sqlite":
            return {**row, **({"amount": row["amount"] and str(row["amount"])} if "amount" in row else {})}
        return row

    def _digest(self, engine: sa.Engine) -> object:
        with engine.connect() as connection:
            return sorted(map(str, connection.exec_driver_sql("select * from charges").all()))


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgresql", marks=pytest.mark.server),
        pytest.param("mariadb", marks=pytest.mark.server),
    ]
)
def kit(request: pytest.FixtureRequest, tmp_path: Path) -> Kit:
    if request.param == "sqlite":
        return SqlKit(f"sqlite:///{tmp_path}/shop.db", tmp_path, None)
    url = sa.make_url(request.getfixturevalue({"postgresql": "postgres_url", "mariadb": "mariadb_url"}[request.param]))
    if request.param == "postgresql":  # the server trusts us: any password will do, and must not be shown
        return SqlKit(url.set(password=SECRET).render_as_string(hide_password=False), tmp_path, SECRET)
    return SqlKit(url.render_as_string(hide_password=False), tmp_path, None)


@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.slow
def test_the_sql_connector_keeps_the_promises_of_every_connector(check: Callable[[Kit], None], kit: Kit) -> None:
    check(kit)


class Sorting(SqlSource):
    """A careless connector: gives columns in the order of the alphabet."""

    def scan(self, dataset: SqlDataset, columns: Sequence[str]) -> Scan:
        return super().scan(dataset, sorted(columns))


class Stripping(SqlSource):
    """A careless connector: leading zeros and outer blanks are lost."""

    def scan(self, dataset: SqlDataset, columns: Sequence[str]) -> Scan:
        scan = super().scan(dataset, columns)
        table = scan.reader.read_all()
        ids = pc.utf8_ltrim(table.column("id"), characters="0") if "id" in columns else None
        changed = table if ids is None else table.set_column(table.column_names.index("id"), "id", ids)
        return Scan(changed.to_reader(), scan.problems, scan.release)


class Gulping(SqlSource):
    """A careless connector: the whole dataset is one batch."""

    def scan(self, dataset: SqlDataset, columns: Sequence[str]) -> Scan:
        scan = super().scan(dataset, columns)
        return Scan(scan.reader.read_all().combine_chunks().to_reader(), scan.problems, scan.release)


class Talkative(SqlSource):
    """A careless connector: its address is in its name."""

    def __repr__(self) -> str:
        return f"SqlSource({self._url.render_as_string(hide_password=False)})"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("careless", "check"),
    [
        (Sorting, conformance.only_the_columns_asked_for_in_that_order),
        (Stripping, conformance.values_arrive_exactly),
        (Gulping, conformance.batches_are_bounded),
        (Talkative, conformance.no_secret_is_shown),
    ],
    ids=lambda text: text.__name__,
)
def test_a_careless_connector_does_not_pass(
    careless: type[SqlSource], check: Callable[[Kit], None], tmp_path: Path
) -> None:
    class CarelessKit(SqlKit):
        def store(self, table: pa.Table) -> Stored:
            stored = super().store(table)
            return replace(stored, source=careless("shop", SqlSettings.model_validate(self.settings), tmp_path))

    with pytest.raises(ConformanceFailure):
        check(CarelessKit(f"sqlite:///{tmp_path}/{SECRET}.db", tmp_path, SECRET if careless is Talkative else None))
