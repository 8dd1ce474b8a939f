"""Databases: PostgreSQL, MariaDB and MySQL, SQLite. Read-only sessions, exact values, bounded memory.

Every other database that SQLAlchemy has a dialect for is read as `connectors.sql.generic.source` tells.

    sources:
      shop: {type: sql, url: "postgresql://reader@db.example.com/shop", statement_timeout: 5m}
    datasets:
      charges: {source: shop, table: public.charges}
      ledger:  {source: shop, query: "select * from ledger where not void"}

What a column's values become is told in `connectors.sql.values`, which types are read as text in
`connectors.sql.columns`. In SQLite any cell may hold anything: a value that is not of its column's declared type
becomes null and is counted. Dates and times there are ISO text; integers are times (seconds since 1970) only where
`columns:` declares them `instant`. A column without a declared type is text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.sql.elements import quoted_name

from connectors.base import DatasetSettings, Scan, Snapshot, SourceSettings
from connectors.errors import ConnectorError, DatasetMissing
from connectors.sql.address import Deadline, engine, has_own_reader, parsed, where
from connectors.sql.changing import Changing
from connectors.sql.columns import Base, SqlColumn, columns, unfit_in_sqlite
from connectors.sql.errors import Place
from connectors.sql.generic.source import GenericSource
from connectors.sql.query import select_only
from connectors.sql.reading import AsDeclared, Asked, Reading
from connectors.sql.settings import SqlDataset, SqlSettings, seconds
from connectors.sql.snapshot import opened
from connectors.sql.stop import read_of, watched
from connectors.sql.stream import AdbcStream, RowStream, has_adbc, let_go, telling
from connectors.sql.values import arrow_type

if TYPE_CHECKING:
    from connectors.sql.target.database import SqlTarget


class SqlSource(Changing):
    """Tables and queries of one database. Opening connects to nothing; connections live as long as a read.

    It is a `connectors.target.Target` as well; changes go over other connections: `connectors.sql.target.database`.

    A URL of a database without a reader of its own gives a GenericSource instead, which cannot be queried (pushdown).
    """

    Settings: ClassVar[type[SourceSettings]] = SqlSettings
    Dataset: ClassVar[type[DatasetSettings]] = SqlDataset

    def __new__(cls, name: str, settings: SqlSettings, root: Path) -> Any:
        if has_own_reader(parsed(settings.url)):
            return super().__new__(cls)
        return GenericSource(name, settings, root)

    def __init__(self, name: str, settings: SqlSettings, root: Path) -> None:
        self.name = name
        self._url = parsed(settings.url)
        self._root = root
        self._seconds = seconds(settings.statement_timeout)
        self.dialect = self._url.get_backend_name()
        self._place = Place(name, where(self._url), self.dialect, settings.statement_timeout)
        self._made: sa.Engine | None = None

    def __repr__(self) -> str:
        return f"SqlSource({self.name!r} at {self._place.where})"

    @staticmethod
    def obstacle(settings: SqlSettings, dataset: SqlDataset) -> str | None:
        """Why no record of the dataset could ever be changed; see connectors.target.Cleanable."""
        url = parsed(settings.url)
        if not has_own_reader(url):
            return f"only PostgreSQL, MariaDB, MySQL and SQLite are written to, not {url.get_backend_name()}"
        return None if dataset.table else "it is a `query`, and only a `table` can be changed"

    @staticmethod
    def file(settings: SqlSettings, root: Path) -> Path | None:
        """The file of a SQLite database; None for a database on a server."""
        url = parsed(settings.url)
        return root / str(url.database) if url.get_backend_name() == "sqlite" else None

    def datasets(self) -> Sequence[str]:
        """Tables and views; those outside the default schema as `schema.table`."""
        with self._session() as connection, telling(self._place, read_of(connection)):
            return _names(connection)

    def describe(self, dataset: SqlDataset) -> pa.Schema:
        """Columns in their order, with the types of `scan`; metadata `pushdown: exact` as the port says."""
        with self._session() as connection:
            base, found = self._columns(connection, dataset)
            with telling(self._place, read_of(connection)):
                unfit = unfit_in_sqlite(connection, base, found) if self.dialect == "sqlite" else set()
        reading = Reading([_asked(one, dataset) for one in found], dataset.notation, self._place)
        reading.close()
        fields = []
        for field, one in zip(reading.schema, found, strict=True):
            declared = _is_declared(one, dataset)
            exact = one.pushable and not declared and one.name not in unfit
            fields.append(
                field.with_nullable(one.nullable or declared).with_metadata({"pushdown": "exact"} if exact else {})
            )
        return pa.schema(fields)

    def scan(self, dataset: SqlDataset, columns: Sequence[str]) -> Scan:
        """Stream these columns, through ADBC from PostgreSQL where it is installed, else row by row."""
        stops = self._place.underway.stops
        connection = self._connected()
        try:
            base, found = self._columns(connection, dataset)
            by_name = {one.name: one for one in found}
            dataset.must_have(self.name, columns, by_name)
            relation = _relation(base, found)
            statement = sa.select(*(relation.c[name] for name in columns))
        except BaseException:
            let_go(connection)
            raise
        reading = Reading([_asked(by_name[name], dataset) for name in columns], dataset.notation, self._place)
        stream: RowStream | AdbcStream
        if self.dialect == "postgresql" and has_adbc():
            let_go(connection)
            stream = AdbcStream(self._url, self._seconds, statement, reading, self._place, stops)
        else:
            stream = RowStream(connection, statement, reading, self._place, Deadline(connection, self._seconds))
        return Scan(pa.RecordBatchReader.from_batches(reading.schema, iter(stream)), reading.problems, stream.close)

    def relation(self, dataset: SqlDataset) -> sa.FromClause:
        """The dataset as a FROM clause, columns typed as `connectors.sql.values` tells; casts make text of others.

        A column that the dataset declares takes its declaration along, into every statement.
        """
        with self._session() as connection:
            base, found = self._columns(connection, dataset)
        return _relation(base, [_declaring(one, dataset) for one in found])

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """One read-only transaction; every query in it sees the same state of the database."""
        return opened(self._connected, self._base, self._place, self._seconds)

    def close(self) -> None:
        """Nothing is held between reads but the engine, and between changes one connection."""
        if self._changing is not None:
            self._changing.close()
        if self._made is not None:
            self._made.dispose()
            self._made = None

    def stop(self) -> None:
        """End every read under way: cancelled in the database, then cut off; see `connectors.sql.stop`."""
        self._place.underway.stop()

    def _made_target(self) -> SqlTarget:
        from connectors.sql.target.database import SqlTarget  # noqa: PLC0415 - what only reads need not wait for it

        return SqlTarget(self._url, self._root, self._place, self._seconds, self.datasets)

    @contextmanager
    def _session(self) -> Iterator[sa.Connection]:
        connection = self._connected()
        try:
            yield connection
        finally:
            let_go(connection)

    def _connected(self) -> sa.Connection:
        if self._made is None:
            made = engine(self.name, self._url, self._root, self._seconds)
            self._made = watched(made, self._place.underway)
        stops = self._place.underway.stops
        with telling(self._place):
            connection = self._made.connect()
        try:
            self._place.must_go_on(stops)
        except ConnectorError:
            let_go(connection)
            raise
        return connection

    def _columns(self, connection: sa.Connection, dataset: SqlDataset) -> tuple[Base, list[SqlColumn]]:
        Deadline(connection, self._seconds)
        with telling(self._place, read_of(connection)):
            base = self._base(connection, dataset)
            found = columns(connection, base, dataset.timezone)
        dataset.must_have(self.name, dataset.columns, [one.name for one in found])
        return base, found

    def _base(self, connection: sa.Connection, dataset: SqlDataset) -> Base:
        if dataset.query is not None:
            return sa.text(select_only(self.name, dataset.query).replace(":", "\\:"))
        name = str(dataset.table)
        inspector = sa.inspect(connection)
        schema, _, rest = name.rpartition(".")
        for table, inside in ((name, None), (rest, schema or None)):
            if inspector.has_table(table, schema=inside):
                return sa.table(quoted_name(table, quote=True), schema=inside and quoted_name(inside, quote=True))
        raise DatasetMissing(self.name, f"table {name}", [f"table {one}" for one in _names(connection)])


def _relation(base: Base, found: Sequence[SqlColumn]) -> sa.FromClause:
    plain: list[sa.ColumnClause[Any]] = [
        sa.column(quoted_name(one.name, quote=True), sa.types.NULLTYPE if one.cast else one.kind) for one in found
    ]
    name = base.name if isinstance(base, sa.TableClause) else "records"
    source: sa.FromClause
    if isinstance(base, sa.TableClause):
        source = sa.table(base.name, *plain, schema=base.schema)
    else:
        source = base.columns(*plain).subquery("query" if any(one.cast for one in found) else name)
    if not any(one.cast for one in found):
        return source
    wanted = [
        sa.cast(source.c[one.name], one.kind).label(quoted_name(one.name, quote=True))
        if one.cast
        else source.c[one.name]
        for one in found
    ]
    return sa.select(*wanted).subquery(name)


def _names(connection: sa.Connection) -> list[str]:
    inspector = sa.inspect(connection)
    default = inspector.default_schema_name
    system = {"information_schema", "mysql", "performance_schema", "sys", "temp"}
    every = [default] if connection.dialect.name == "mysql" and default else inspector.get_schema_names()
    schemas = [one for one in every if one not in system and not one.startswith("pg_")]
    found = []
    for schema in schemas:
        names = [*inspector.get_table_names(schema=schema), *inspector.get_view_names(schema=schema)]
        found += names if schema in (default, "main") else [f"{schema}.{name}" for name in names]
    return found


def _is_declared(column: SqlColumn, dataset: SqlDataset) -> bool:
    """Whether a value may mean something else than what the database holds."""
    return column.name in dataset.columns or bool(dataset.null_values and arrow_type(column.kind) == pa.string())


def _declaring(column: SqlColumn, dataset: SqlDataset) -> SqlColumn:
    if not _is_declared(column, dataset):
        return column
    return replace(column, kind=AsDeclared(column.kind, dataset.declared(column.name), dataset.notation))


def _asked(column: SqlColumn, dataset: SqlDataset) -> Asked:
    return Asked(column.name, column.kind, dataset.declared(column.name))
