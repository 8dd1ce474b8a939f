"""Compiles a rule's columns, conditions and keys to SQL in one dialect, and finds obstacles to that."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from inspect import Parameter, Signature
from typing import Any

import sqlalchemy as sa

from rules import values
from rules.document.mistakes import RuleError, listed
from rules.expressions import BoundExpression, parse
from rules.functions import WAREHOUSES, exact, filled, in_calendar, is_ascii, micros_between, plain, strip
from rules.models import Distance, KeyPart, Percent
from rules.models.calendar import ONLY_WEEKENDS, Calendar
from rules.normalise import Exactness, chain_function, chain_sql, chain_type, never_blank, never_empty, weakest
from rules.normalise.shortcuts import simple_forms
from rules.values import Column, Schema, Type, Value, canonical

DATABASES = {"postgresql": "PostgreSQL", "mysql": "MariaDB or MySQL", "mariadb": "MariaDB", "sqlite": "SQLite"} | {
    "spark": "Spark",
    **WAREHOUSES,
}
_TIMES = (Type.DATE, Type.INSTANT)
_MYSQL_PREFIX = 250  # characters: sorting there looks at the first 1,024 bytes of a value only
_REMEMBERED = 32_768
_SHORT = 200
"""Values of so many characters are normalised once while they are among the last ones: 12 times as fast if repeated."""
_TYPES: dict[Type, sa.types.TypeEngine[Any]] = {
    Type.TEXT: sa.Text(),
    Type.INTEGER: sa.BigInteger(),
    Type.DECIMAL: sa.Numeric(),
    Type.FLOAT: sa.Double(),
    Type.BOOLEAN: sa.Boolean(),
    Type.DATE: sa.Date(),
    Type.INSTANT: sa.DateTime(timezone=True),
    Type.BYTES: sa.LargeBinary(),
}
_READ: dict[Type, Callable[[str], Value]] = {
    Type.TEXT: str,
    Type.INTEGER: int,
    Type.DECIMAL: Decimal,
    Type.FLOAT: float,
    Type.BOOLEAN: lambda text: text == "true",
    Type.DATE: dt.date.fromisoformat,
    Type.INSTANT: dt.datetime.fromisoformat,
}


def column_type(kind: Type) -> sa.types.TypeEngine[Any]:
    """Return the SQLAlchemy type of a rule type."""
    return _TYPES[kind]


@dataclass(frozen=True)
class Columns:
    """The columns a rule can name: the dataset's and the derived ones, each of which may use earlier ones."""

    schema: Schema
    derived: Mapping[str, BoundExpression] = field(default_factory=dict)

    @classmethod
    def of(
        cls, schema: Schema, derived: Mapping[str, str], timezone: str, calendar: Calendar = ONLY_WEEKENDS
    ) -> Columns:
        """Bind derived columns in order; raises RuleError for an expression that does not fit the earlier columns."""
        bound: dict[str, BoundExpression] = {}
        for name, text in derived.items():
            bound[name] = parse(text).bind(schema, timezone, calendar)
            kept = (c for c in schema if c.name != name)
            typed = bound[name].typed
            schema = Schema((*kept, Column(name, typed.type, pushable=True, stays_ascii=typed.stays_ascii)))
        return cls(schema, bound)

    def sources(self, names: Sequence[str]) -> Iterator[str]:
        """Yield the dataset's own columns that these depend on, each once."""
        yielded: set[str] = set()
        for name in names:
            own_names = self.sources(self.derived[name].expression.columns) if name in self.derived else (name,)
            for own_name in own_names:
                if own_name not in yielded:
                    yielded.add(own_name)
                    yield own_name

    def texts(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the dataset's own text columns that these depend on."""
        return tuple(name for name in self.sources(names) if self.schema[name].type is Type.TEXT)

    def exactness(self, bound: BoundExpression, dialect: str) -> Exactness:
        """Return how far the SQL of an expression is exact, including its derived columns."""
        inner = (self.exactness(self.derived[n], dialect) for n in bound.expression.columns if n in self.derived)
        return weakest(bound.exactness(dialect), *inner)

    def complete(self, row: Mapping[str, Value], slot: dt.datetime) -> dict[str, Value]:
        """Return the row with its derived columns; empty values are None."""
        completed = {name: values.filled(value) for name, value in row.items()}
        for name, bound in self.derived.items():
            if all(needed in completed for needed in bound.expression.columns):
                completed[name] = bound.evaluate(completed, slot)
        return completed


def unused(names: Iterable[str], used: Iterable[str]) -> dict[str, str]:
    """Map each name to itself plus enough underscores that none is used already."""
    names, used, tail = list(names), set(used), ""
    while any(name + tail in used for name in names):
        tail += "_"
    return {name: name + tail for name in names}


@dataclass
class Compiler:
    """Expressions over `table` in one dialect.

    DuckDB compiles everything: where SQL is not exact, DuckDB calls back a function in `python`, only for texts that
    are not ASCII where that is enough; their names begin with `prefix`. For a database, check `obstacle` first.
    """

    columns: Columns
    table: sa.FromClause
    dialect: str
    slot: dt.datetime
    timezone: str = "UTC"
    python: dict[str, tuple[Callable[..., str | None], int]] = field(default_factory=dict)
    prefix: str = "python"

    def column(self, name: str) -> sa.ColumnElement[Any]:
        """Return a column of the dataset or a derived one, null where it is empty; every column use starts here."""
        bound = self.columns.derived.get(name)
        return self.value(bound) if bound else self.given(name, self.table.c[name])

    def given(self, name: str, element: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        """Return a column of the dataset, null where it is empty; `element` is the source's value."""
        return filled(element) if self.columns.schema[name].type is Type.TEXT else element

    def condition(self, bound: BoundExpression) -> sa.ColumnElement[bool]:
        return self.value(bound)

    def value(self, bound: BoundExpression) -> sa.ColumnElement[Any]:
        """Return the value of an expression."""
        exactness = self.columns.exactness(bound, self.dialect)
        if self.dialect == "duckdb" and exactness == "never":
            return self._evaluated(bound)
        sql = bound.sql({name: self.column(name) for name in bound.expression.columns}, self.slot, self.dialect)
        if self.dialect == "duckdb" and exactness == "ascii":
            texts = [self.table.c[name] for name in self.columns.texts(bound.expression.columns)]
            return sa.case((_all_ascii(texts), sql), else_=self._evaluated(bound))
        return sql

    def _evaluated(self, bound: BoundExpression) -> sa.ColumnElement[Any]:
        names = tuple(self.columns.sources(bound.expression.columns))
        called = self._called(_row_function(bound, self.columns, names, self.slot), *(self.table.c[n] for n in names))
        return sa.cast(called, column_type(bound.type))

    def key(self, part: KeyPart) -> sa.ColumnElement[Any]:
        """Return the normalised value, possibly still white space. Raises RuleError without an exact form."""
        kind = self.columns.schema[part.column].type
        # Normalisers turn white space into white space, so checking their result is enough.
        as_it_is = bool(part.steps) and part.column in self.table.c
        column = self.table.c[part.column] if as_it_is else self.column(part.column)
        compiled = chain_sql(column, kind, part.steps, self.dialect, self.timezone)
        if self.dialect == "duckdb":
            return self._with_python(column, kind, part, compiled)
        if compiled is None:
            raise RuleError(f"The normalisers of `{part.column}` have no exact form in {self.dialect}.")
        return compiled[0]

    def comparable(self, part: KeyPart, value: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        """Return `key` for grouping: equal values are equal, and on MariaDB also long texts with the same beginning.

        Empty values are null.
        """
        kind = self._key_type(part)
        mysql = self.dialect in ("mysql", "mariadb")
        if kind is Type.TEXT:
            text = filled(value) if part.steps and not never_empty(part.steps) else value
            return exact(sa.func.substr(plain(text), 1, _MYSQL_PREFIX)) if mysql else exact(text)
        if kind is Type.BYTES and mysql:
            return sa.func.substr(value, 1, 4 * _MYSQL_PREFIX, type_=sa.LargeBinary())
        if kind is Type.FLOAT and self.dialect == "duckdb":
            # NaN equals NaN, but its two signs have two hashes.
            return sa.case((sa.func.isnan(value), sa.cast(sa.literal("nan"), sa.Double())), else_=value)
        return value

    def hashed(self, part: KeyPart, seed: int) -> sa.ColumnElement[int] | None:
        """Return PostgreSQL's 64-bit hash, equal and null where `comparable` is; None for floats.

        Texts that differ only in surrounding white space may share a hash; this avoids computing them twice.
        """
        value, kind = self.key(part), self._key_type(part)
        if kind is Type.FLOAT:
            return None
        if kind in (Type.INTEGER, Type.DECIMAL):
            number = sa.cast(value, sa.Numeric())
            return sa.func.hash_numeric_extended(number, sa.literal_column(str(seed)), type_=sa.BigInteger())
        if kind is Type.TEXT and part.steps:
            value = sa.func.nullif(value if never_blank(part.steps) else strip(plain(value)), "", type_=sa.Text())
        return sa.func.hashtextextended(exact(value), sa.literal_column(str(seed)), type_=sa.BigInteger())

    def _key_type(self, part: KeyPart) -> Type:
        if self.dialect == "duckdb" and part_exactness(self.columns, part, "duckdb", self.timezone) == "never":
            return Type.TEXT
        return chain_type(self.columns.schema[part.column].type, part.steps)

    def whole(self, name: str) -> sa.ColumnElement[Any]:
        """Return a column for comparison in full length."""
        element = self.column(name)
        return exact(element) if self.columns.schema[name].type is Type.TEXT else element

    def place(self, name: str) -> sa.ColumnElement[Any]:
        """Return a column of `gap`, `window` or `overlap`; null where it is no finite number or no day."""
        element = self.column(name)
        if self.columns.schema[name].type is Type.FLOAT:
            return sa.case((element - element == 0, element), else_=sa.null())
        return in_calendar(element, self.dialect) if self.columns.schema[name].type in _TIMES else element

    def within(
        self, name: str, by: Distance
    ) -> Callable[[sa.ColumnElement[Any], sa.ColumnElement[Any]], sa.ColumnElement[bool]]:
        """Return the condition that two values are at most `by` apart; for floats slightly more, and Python decides."""
        kind = self.columns.schema[name].type

        def judge(earlier: sa.ColumnElement[Any], later: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
            if isinstance(by, dt.timedelta):
                return micros_between(earlier, later) <= by // dt.timedelta(microseconds=1)
            if isinstance(by, Percent):
                return _within_percent(earlier, later, by.percent)
            if kind is Type.FLOAT:
                slack = 1e-9 * (sa.func.abs(earlier) + sa.func.abs(later) + float(by))
                return later - earlier <= float(by) + slack
            if kind is Type.INTEGER and self.dialect != "sqlite":
                # The distance between two 64-bit numbers may need 65 bits.
                earlier, later = (sa.cast(value, sa.Numeric(38, 0)) for value in (earlier, later))
            return later - earlier <= sa.literal(by, sa.Numeric())

        return judge

    def ascii_only(self, names: Sequence[str]) -> sa.ColumnElement[bool]:
        """Return the condition that these text columns are all ASCII or null; it is never null itself."""
        return _all_ascii([self.table.c[name] for name in names])

    def canonical_text(self, element: sa.ColumnElement[Any], kind: Type) -> sa.ColumnElement[Any]:
        """Return a value of that type as its canonical text, equal for equal values of any type of number."""
        read = _READ[kind]
        return self._called(lambda text: None if text is None else _written(read(text)), element)

    def _called(self, function: Callable[..., str | None], *columns: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        """Call a Python function over the columns as texts."""
        name = f"{self.prefix}_{len(self.python) + 1}"
        self.python[name] = (function, len(columns))
        return sa.Function(name, *(sa.cast(column, sa.Text) for column in columns), type_=sa.Text())

    def _with_python(
        self,
        column: sa.ColumnElement[Any],
        kind: Type,
        part: KeyPart,
        compiled: tuple[sa.ColumnElement[Any], Exactness] | None,
    ) -> sa.ColumnElement[Any]:
        if compiled is not None and compiled[1] == "always":
            return compiled[0]
        called = self._called(_text_function(kind, part, self.timezone), column)
        if kind is Type.TEXT and (forms := simple_forms(part.steps, column)):
            return sa.case((column.is_(None), sa.null()), *forms, else_=called)
        if compiled is None:
            return called
        return sa.case((is_ascii(column), compiled[0]), else_=called)


def _within_percent(
    earlier: sa.ColumnElement[Any], later: sa.ColumnElement[Any], percent: Decimal
) -> sa.ColumnElement[bool]:
    one: sa.ColumnElement[Any] = sa.literal_column("1e0", sa.Double())
    sizes: list[sa.ColumnElement[Any]] = [sa.func.abs(value * one, type_=sa.Double()) for value in (earlier, later)]
    larger = sa.case((sizes[0] > sizes[1], sizes[0]), else_=sizes[1])
    share: sa.ColumnElement[Any] = sa.literal_column(repr(float(percent) / 100 * (1 + 1e-9) + 1e-9), sa.Double())
    return later * one - earlier * one <= larger * share


def _text_function(kind: Type, part: KeyPart, timezone: str) -> Callable[[str | None], str | None]:
    chain, read = chain_function(part.steps, timezone), _READ[kind]

    def computed(text: str) -> str | None:
        return _written(chain(read(text)))

    remembered = functools.lru_cache(maxsize=_REMEMBERED)(computed)

    def function(text: str | None) -> str | None:
        if text is None:
            return None
        return remembered(text) if len(text) <= _SHORT else computed(text)

    return function


def _row_function(
    bound: BoundExpression, columns: Columns, names: Sequence[str], slot: dt.datetime
) -> Callable[..., str | None]:
    readers = [(name, _READ[columns.schema[name].type]) for name in names]

    def function(*texts: str | None) -> str | None:
        row = {name: None if text is None else read(text) for (name, read), text in zip(readers, texts, strict=True)}
        return _written(bound.evaluate(columns.complete(row, slot), slot))

    # DuckDB passes as many values as the signature has parameters, and `*texts` counts as one.
    parameters = [Parameter(f"text_{n}", Parameter.POSITIONAL_ONLY) for n in range(len(names))]
    vars(function)["__signature__"] = Signature(parameters)
    return function


def _written(value: Value) -> str | None:
    tagged = canonical(value)
    return None if tagged is None else tagged[1]


@dataclass(frozen=True)
class Uses:
    """The parts of a rule that a database would compute: conditions, key parts, and unchanged columns."""

    columns: Columns
    conditions: tuple[BoundExpression, ...]
    key: tuple[KeyPart, ...]
    plain: tuple[str, ...]
    timezone: str

    @property
    def names(self) -> tuple[str, ...]:
        named = (*self.plain, *(part.column for part in self.key))
        return (*named, *(name for condition in self.conditions for name in condition.expression.columns))

    def obstacle(self, dialect: str) -> str | None:
        """Return the reason that database cannot answer exactly as we do, as a clause; None when it can."""
        database = DATABASES.get(dialect)
        if database is None:
            return f"Reconcile does not know how {dialect} compares values"
        for name in self.columns.sources(self.names):
            column = self.columns.schema[name]
            if not column.pushable:
                return f"{database} does not compare `{name}` exactly as Reconcile does"
            if dialect == "sqlite" and column.type is Type.DECIMAL:
                return f"SQLite stores the decimals of `{name}` as floating-point numbers"
        for part in self.key:
            if part_exactness(self.columns, part, dialect, self.timezone) == "never":
                steps = ", ".join(step.name for step in part.steps)
                return f"`{steps}` on `{part.column}` has no exact form in {database}"
        for bound in self._bound():
            if self.columns.exactness(bound, dialect) == "never":
                return f"an expression over {listed(bound.expression.columns)} has no exact form in {database}"
        return None

    def guard(self, dialect: str) -> tuple[str, ...]:
        """Return the text columns that must be ASCII for that database's answer to be exact."""
        folded = [p.column for p in self.key if part_exactness(self.columns, p, dialect, self.timezone) == "ascii"]
        folded += [
            n
            for bound in self._bound()
            if self.columns.exactness(bound, dialect) == "ascii"
            for n in bound.expression.columns
        ]
        return self.columns.texts(folded)

    def _bound(self) -> tuple[BoundExpression, ...]:
        return (*self.conditions, *(self.columns.derived[n] for n in self.names if n in self.columns.derived))


def part_exactness(columns: Columns, part: KeyPart, dialect: str, timezone: str) -> Exactness:
    """Return how far the SQL of one part of a key is exact."""
    column = columns.schema[part.column]
    compiled = chain_sql(sa.column(part.column, column_type(column.type)), column.type, part.steps, dialect, timezone)
    if compiled is None or (compiled[1] == "ascii" and not column.stays_ascii):
        return "never"
    return compiled[1]


def _all_ascii(texts: Sequence[sa.ColumnElement[Any]]) -> sa.ColumnElement[bool]:
    checks = (sa.case((text.is_(None), 1), (is_ascii(text), 1), else_=0) == 1 for text in texts)
    return sa.and_(sa.true(), *checks)
