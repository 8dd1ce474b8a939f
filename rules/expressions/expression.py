"""Expressions: parsed from text, then bound to a dataset."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rules.document.mistakes import RuleError
from rules.expressions.parser import ExpressionError, tree
from rules.expressions.shapes import AGGREGATES, FUNCTIONS, check_calls
from rules.expressions.tree import FunctionCall, Name, Node, walk
from rules.models.calendar import ONLY_WEEKENDS, Calendar
from rules.values import Schema, Type, Value

if TYPE_CHECKING:  # parsing an expression must not import SQLAlchemy
    import sqlalchemy as sa

    from rules.expressions.binding import Binder
    from rules.expressions.typed import Typed
    from rules.normalise import Exactness


@dataclass(frozen=True)
class Expression:
    """An expression as written; its columns are not looked up yet."""

    text: str
    root: Node

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns it names, each once, in the order they appear."""
        return tuple(dict.fromkeys(n.name for n in walk(self.root) if isinstance(n, Name)))

    def bind(self, schema: Schema, timezone: str = "UTC", calendar: Calendar = ONLY_WEEKENDS) -> BoundExpression:
        """Type it against a dataset. Raises ExpressionError for unknown columns and for types that do not fit."""
        return BoundExpression(self, schema, self._binder(schema, timezone, calendar).bind(self.root))

    def condition(self, schema: Schema, timezone: str = "UTC", calendar: Calendar = ONLY_WEEKENDS) -> BoundExpression:
        """Bind it; also raises ExpressionError when it is not a condition."""
        return BoundExpression(self, schema, self._binder(schema, timezone, calendar).condition(self.root))

    def _binder(self, schema: Schema, timezone: str, calendar: Calendar) -> Binder:
        from rules.expressions.binding import Binder  # noqa: PLC0415 - imports SQLAlchemy, which parsing does not need

        return Binder(self.text, schema, timezone, calendar)


@dataclass(frozen=True)
class BoundExpression:
    """An expression that fits a dataset."""

    expression: Expression
    schema: Schema
    typed: Typed

    @property
    def type(self) -> Type:
        return self.typed.type

    def evaluate(self, row: Mapping[str, Value], slot: dt.datetime) -> Value:
        """Return its value for one record; this is the reference. A condition is True, False or None (null)."""
        return self.typed.run(row, slot)

    def exactness(self, dialect: str) -> Exactness:
        """Return when SQL of that dialect gives the same answer: `always`, `ascii` (while text is ASCII) or `never`.

        A column that is not pushable makes it `never`, except on DuckDB, which reads our values.
        """
        return self.typed.exact.get("mysql" if dialect == "mariadb" else dialect, "never")

    def sql(
        self, columns: Mapping[str, sa.ColumnElement[Any]], slot: dt.datetime, dialect: str
    ) -> sa.ColumnElement[Any]:
        """Compile it to SQL over these columns; every value is a bound literal. Raises RuleError where it is `never`.

        An INSTANT column is a timestamp with time zone, on MariaDB a DATETIME in UTC. Resulting texts are plain texts.
        """
        if self.exactness(dialect) == "never":
            raise RuleError(f"`{self.expression.text}` has no exact form in the SQL of {dialect}.")
        from rules.expressions.typed import CompileTarget  # noqa: PLC0415 - already loaded by `bind`

        return self.typed.sql(CompileTarget(columns, slot, dialect))


@dataclass(frozen=True)
class GroupExpression:
    """An expression over a group of records, as written: `records > 2 and sum(amount) > 100`."""

    text: str
    root: Node

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads of every member, each once, in the order they appear."""
        inside = {n.arguments[0] for n in walk(self.root) if isinstance(n, FunctionCall) and n.arguments}
        named = (n for n in walk(self.root) if isinstance(n, Name) and (n.name != "records" or n in inside))
        return tuple(dict.fromkeys(n.name for n in named))

    def bind(self, schema: Schema, timezone: str = "UTC", calendar: Calendar = ONLY_WEEKENDS) -> BoundGroup:
        """Type it against a dataset; raises ExpressionError when it does not fit or is not a condition."""
        from rules.expressions.grouping import GroupBinder  # noqa: PLC0415 - see Expression

        return BoundGroup(self, GroupBinder(self.text, schema, timezone, calendar).condition(self.root))


@dataclass(frozen=True)
class BoundGroup:
    """A condition over a group that fits a dataset."""

    expression: GroupExpression
    typed: Typed

    def evaluate(self, rows: Sequence[Mapping[str, Value]], slot: dt.datetime) -> Value:
        """Return True, False or None for the records of one group, in any order."""
        return self.typed.run(rows, slot)


def parse(text: str) -> Expression:
    """Parse an expression; raises ExpressionError (a RuleError) with the column of the mistake."""
    root = tree(text)
    check_calls(text, root, FUNCTIONS)
    return Expression(text, root)


def parse_group(text: str) -> GroupExpression:
    """Parse an expression over a group; raises as `parse`."""
    root = tree(text)
    check_calls(text, root, (*FUNCTIONS, *AGGREGATES))
    return GroupExpression(text, root)


__all__ = ["BoundExpression", "BoundGroup", "Expression", "ExpressionError", "GroupExpression", "parse", "parse_group"]
