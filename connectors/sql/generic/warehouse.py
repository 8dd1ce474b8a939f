"""Warehouses that rules of kind `duplicates` run in: Snowflake, BigQuery, Redshift and Trino.

They are read like every database. The SQL of a rule is compiled by our own dialect `warehouse.NAME` and sent as text:
what was tested is what is sent, whichever version of the warehouse's SQLAlchemy dialect is installed.

All queries of a rule read one moment: Redshift's transactions see one snapshot; the others read tables as of the time
at which the rule began (time travel). A table that cannot be read so is not pushed down; see `no_pushdown`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.elements import quoted_name
from sqlalchemy.sql.functions import FunctionElement

from connectors.base import UnreadableCells
from connectors.declared import Notation
from connectors.errors import QueryRefused
from connectors.sql.generic.source import Base, GenericSource
from connectors.sql.generic.values import GenericColumn, GenericReading, Moment, answer_column
from connectors.sql.reading import ROWS, AnswerColumn, AsDeclared, Kind
from connectors.sql.settings import SqlDataset, SqlSettings
from connectors.sql.stand_in import stand_in
from connectors.sql.stream import close_connection
from connectors.sql.values import DIGITS

THE_MOMENT = "the time at which the rule begins"


@dataclass(frozen=True)
class Warehouse:
    """Comparisons that a warehouse makes exactly as we do, as templates of SQL; `{0}` is a column.

    `instants` are its types of times that have a zone without saying so. `instant` and `wall` make a time with a zone,
    or a naive one in UTC, the type that the dialect compares; both count up to `fraction` decimals of a second.
    `now` asks for its time, and `at` follows a table's name to read it as of `{0}`, an answer of `now`. `longest` is
    the length up to which texts can be compared. `bare` are decimals without a precision that have a fixed scale.
    """

    instant: str
    wall: str
    instants: frozenset[str] = frozenset()
    fraction: int = 6
    session: tuple[str, ...] = ()
    now: str = ""
    at: str = ""
    longest: int | None = None
    bare: frozenset[str] = frozenset()


WAREHOUSES: Mapping[str, Warehouse] = {
    "snowflake": Warehouse(
        instant="DATE_TRUNC('MICROSECOND', CAST(CONVERT_TIMEZONE('UTC', {0}) AS TIMESTAMP_NTZ))",
        wall="DATE_TRUNC('MICROSECOND', {0})",
        instants=frozenset({"TIMESTAMP_TZ", "TIMESTAMP_LTZ"}),
        fraction=9,  # which its driver cuts to 6, as the templates do
        now="SELECT TO_VARCHAR(SYSDATE(), 'YYYY-MM-DD HH24:MI:SS.FF6') || ' +00:00'",
        at=" AT (TIMESTAMP => CAST('{0}' AS TIMESTAMP_TZ))",
    ),
    "bigquery": Warehouse(
        instant="{0}",
        wall="TIMESTAMP({0}, 'UTC')",
        instants=frozenset({"TIMESTAMP"}),
        now="SELECT CAST(CURRENT_TIMESTAMP() AS STRING)",
        at=" FOR SYSTEM_TIME AS OF TIMESTAMP '{0}'",
        bare=frozenset({"NUMERIC"}),
    ),
    "redshift": Warehouse(
        instant="{0}",
        wall="CAST({0} AS TIMESTAMP WITH TIME ZONE)",
        instants=frozenset({"TIMESTAMPTZ"}),
        session=("SET TIME ZONE 'UTC'",),
        longest=32_767,  # two hexadecimal digits a byte fit into its longest text
    ),
    "trino": Warehouse(
        instant="{0}",
        wall="WITH_TIMEZONE({0}, 'UTC')",
        session=("SET TIME ZONE 'UTC'",),
        now="SELECT CAST(CURRENT_TIMESTAMP(6) AS VARCHAR)",
        at=" FOR TIMESTAMP AS OF TIMESTAMP '{0}'",
    ),
}


class table_at(FunctionElement[Any]):  # noqa: N801  functions in a statement read like functions
    """`table_at(table, suffix)`: the table as of the moment of the snapshot that compiles it."""

    name = "table_at"
    inherit_cache = False  # the moment differs from snapshot to snapshot

    def __init__(self, table: str, at: str) -> None:
        super().__init__()
        self.table, self.at = table, at


@compiles(table_at)
def _table_at(element: Any, compiler: Any, **_kw: Any) -> str:
    return str(element.table + element.at.format(getattr(compiler.dialect, "moment", THE_MOMENT)))


@dataclass(frozen=True)
class _Form:
    """A column in a statement: its SQL, and its type there."""

    sql: str
    kind: Kind


def exact_form(warehouse: Warehouse, column: GenericColumn, quoted: str, zone: str) -> _Form | None:
    """Return the column as the warehouse compares it exactly; None if it does not."""
    kind = column.reflected
    match kind:
        case sa.Boolean():
            return _Form(quoted, sa.Boolean())
        case sa.Date():
            return _Form(quoted, sa.Date())
        case sa.Integer():
            return _Form(quoted, sa.BigInteger())
        case sa.Float() | sa.CHAR():
            return None  # floats have several zeros and NaNs, and CHAR trailing blanks
        case sa.Numeric():
            fixed = _name(kind) in warehouse.bare if kind.precision is None else kind.precision <= DIGITS
            return _Form(quoted, sa.Numeric(kind.precision, kind.scale)) if fixed else None
        case sa.String():
            too_long = warehouse.longest is not None and (kind.length is None or kind.length > warehouse.longest)
            return None if too_long else _Form(quoted, sa.Text())
    if kind is None or not isinstance(column.kind, Moment) or (getattr(kind, "precision", 0) or 0) > warehouse.fraction:
        return None
    if _name(kind) in warehouse.instants or getattr(kind, "timezone", False):
        return _Form(warehouse.instant.format(quoted), sa.DateTime(timezone=True))
    return _Form(warehouse.wall.format(quoted), sa.DateTime(timezone=True)) if zone == "UTC" else None


def _name(kind: Kind) -> str:
    return str(kind.__visit_name__).upper()


class WarehouseSource(GenericSource):
    """Tables of a warehouse, which runs rules itself, and queries, whose records are compared here."""

    def __init__(self, name: str, settings: SqlSettings, root: Path) -> None:
        super().__init__(name, settings, root)
        self.dialect = self._url.get_backend_name()
        self._warehouse = WAREHOUSES[self.dialect]
        self._compiler: Any = sa.dialects.registry.load(f"warehouse.{self.dialect}")

    def describe(self, dataset: SqlDataset) -> pa.Schema:
        """Columns in their order, with the types of `scan`; metadata as in the port."""
        with self._connected() as connection:
            _, columns = self._columns(connection, dataset)
        reading = self._reading(columns, dataset)
        reading.close()
        fields = zip(reading.schema, columns, strict=True)
        return pa.schema(
            [f.with_metadata({"pushdown": "exact"} if self._form(c, "", dataset) else {}) for f, c in fields]
        )

    def relation(self, dataset: SqlDataset) -> sa.FromClause:
        """The dataset as a FROM clause, of one moment, with times in UTC."""
        with self._connected() as connection:
            base, columns = self._columns(connection, dataset)
            names = [self._stored(connection, column.name) for column in columns]
            source = self._from(connection, base)
        selected = []
        for column, quoted in zip(columns, names, strict=True):
            form = self._form(column, quoted, dataset)
            declared = AsDeclared(column.kind, dataset.declared(column.name), dataset.notation)
            shown = _Form(quoted, declared) if form is None else form
            selected.append(sa.literal_column(shown.sql, shown.kind).label(quoted_name(column.name, quote=True)))
        return sa.select(*selected).select_from(source).subquery(str(dataset.table).rpartition(".")[2])

    def stand_in(self, relation: sa.FromClause, records: pa.Table) -> sa.FromClause:
        """The records as constants, with the column types of the relation."""
        return stand_in(relation, records, self.dialect)

    def no_pushdown(self, dataset: SqlDataset) -> str | None:
        """See connectors.base.LimitedPushdown: the warehouse must read the dataset as of one moment."""
        if dataset.table is None:
            return "a warehouse compares only a `table`, not a `query`"
        if not self._warehouse.at:
            return None
        with self._connected() as connection:
            source = self._from(connection, self._columns(connection, dataset)[0])
            nothing: sa.Select[Any] = (
                sa.select(sa.literal_column("1").label("one")).select_from(source).where(sa.text("1 = 0"))
            )
            try:
                self._sent(connection, nothing, self._now(connection)).close()
            except QueryRefused:
                return f"{dataset.table} cannot be read as of one moment (time travel)"
        return None

    @contextmanager
    def snapshot(self) -> Iterator[WarehouseSnapshot]:
        """Open a session whose queries see the same state of all tables."""
        connection = self._connected()
        try:
            yield WarehouseSnapshot(self, connection, self._now(connection))
        finally:
            close_connection(connection)

    def _connected(self) -> sa.Connection:
        connection = super()._connected()
        try:
            with self._guarded(connection):
                for statement in self._warehouse.session:
                    connection.exec_driver_sql(statement)
        except BaseException:
            close_connection(connection)
            raise
        return connection

    def _form(self, column: GenericColumn, quoted: str, dataset: SqlDataset) -> _Form | None:
        is_text = isinstance(column.reflected, sa.String)
        if column.name in dataset.columns or (is_text and dataset.null_values):
            return None
        return exact_form(self._warehouse, column, quoted, dataset.timezone)

    def _stored(self, connection: sa.Connection, name: str) -> str:
        """The name as the warehouse stores it, quoted: SQLAlchemy shows upper-case names in lower case."""
        folds = connection.dialect.requires_name_normalize and not isinstance(name, quoted_name)
        return self._quoted(connection.dialect.denormalize_name(name) if folds else name)

    def _quoted(self, name: str) -> str:
        return str(self._compiler().identifier_preparer.quote_identifier(name))

    def _from(self, connection: sa.Connection, base: Base) -> sa.FromClause:
        assert isinstance(base, sa.TableClause)  # noqa: S101 - queries have no pushdown
        parts = [*str(base.schema or "").split("."), base.name]
        table = ".".join(self._stored(connection, part) for part in parts if part)
        return table_at(table, self._warehouse.at)

    def _now(self, connection: sa.Connection) -> str:
        if not self._warehouse.now:
            return ""
        with self._guarded(connection):
            return str(connection.exec_driver_sql(self._warehouse.now).scalar_one())

    def _sent(self, connection: sa.Connection, statement: sa.Select[Any], moment: str) -> sa.CursorResult[Any]:
        """Send the statement as text, so that no driver looks for parameters in it."""
        dialect = self._compiler(paramstyle="named")
        dialect.moment = moment
        text = str(statement.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
        with self._guarded(connection):
            streamed = connection.execution_options(yield_per=ROWS, no_parameters=True)
            return streamed.exec_driver_sql(text)


@dataclass
class WarehouseSnapshot:
    """Runs statements that all read the tables as of one moment."""

    source: WarehouseSource
    connection: sa.Connection
    moment: str
    _readings: list[GenericReading] = field(default_factory=list)

    def query(self, statement: sa.Select[Any]) -> pa.RecordBatchReader:
        """Stream the answer. Raises ValueDoesNotFit for a value that its column's type cannot hold."""
        columns = list(statement.selected_columns)
        declaring = (column.type.notation for column in columns if isinstance(column.type, AsDeclared))
        result = self.source._sent(self.connection, statement, self.moment)  # noqa: SLF001 - one module
        answers = [_answer_column(name, column.type) for name, column in zip(result.keys(), columns, strict=True)]
        reading = GenericReading(answers, next(declaring, Notation()), self.source._place)  # noqa: SLF001 - see above
        self._readings.append(reading)
        batches = self.source._rows(self.connection, result, reading)  # noqa: SLF001 - see above
        return pa.RecordBatchReader.from_batches(reading.schema, batches)

    def whole(self, statement: sa.Select[Any]) -> pa.Table:
        """The whole answer, of few records."""
        return self.query(statement).read_all()

    def unique(self, _dataset: Any, _columns: Any) -> bool:
        """Return False: warehouses enforce no keys."""
        return False

    def problems(self) -> tuple[UnreadableCells, ...]:
        """The cells of the answers that could not be read as declared."""
        return tuple(problem for reading in self._readings for problem in reading.problems())


def _answer_column(name: str, kind: Kind) -> AnswerColumn:
    if isinstance(kind, AsDeclared):
        return answer_column(GenericColumn(name, kind.kind), kind.declared)
    read = Moment("UTC") if isinstance(kind, sa.DateTime) else kind
    return replace(answer_column(GenericColumn(name, read), None), compared=True)
