"""One dataset as a rule reads it: its filters, and the columns that the rule decides by, shows, names and needs."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import sqlalchemy as sa

from rules.binding.fitted import DoesNotFit
from rules.document.mistakes import RuleError
from rules.engines.base import Pushed, Relation
from rules.engines.compile import Columns, Compiler, column_type
from rules.expressions import BoundExpression, parse
from rules.models import KeyPart
from rules.normalise import chain_type
from rules.values import PLACE, Type, Value


def columns_of(rule: str, relation: Relation) -> Columns:
    """Return the columns of a dataset, derived ones included. Raises DoesNotFit if one of them cannot be computed."""
    try:
        return Columns.of(relation.schema, relation.derived, relation.timezone, relation.calendar)
    except RuleError as error:
        mistake = f"A derived column of dataset `{relation.dataset}` cannot be computed: {error}"
        raise DoesNotFit(rule, [mistake]) from error


def money_columns(relation: Relation) -> tuple[str, ...]:
    """Return the columns of the dataset's money: the amount, and the currency if it has a column."""
    money = relation.money
    return () if money is None else tuple(name for name in (money.amount, money.currency_column) if name)


def place_columns(relation: Relation) -> tuple[str, ...]:
    """Return the file and the row of a record, which name it in a dataset without id."""
    return tuple(name for name in PLACE if name in relation.schema and not relation.id)


@dataclass(frozen=True)
class Side(ABC):
    """A dataset that a rule compares, and the rule's own filter of its records, if any.

    A kind says which columns decide and which it compares; the rest follows.
    """

    relation: Relation
    columns: Columns
    where: str | None

    @property
    @abstractmethod
    def judged(self) -> tuple[str, ...]:
        """The columns that decide which records belong together."""

    @property
    @abstractmethod
    def compared(self) -> tuple[str, ...]:
        """The columns of the rule that a finding shows, each once."""

    @property
    def deciding(self) -> tuple[str, ...]:
        """The columns that decide about a finding: those that are judged, if the kind names no others."""
        return self.judged

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that are more than displayed."""
        return (*self.relation.id, *self.judged, *self.compared)

    @property
    def considered(self) -> tuple[str, ...]:
        """Further columns by which records are chosen."""
        return ()

    @property
    def reads_all(self) -> bool:
        """True if all columns are read: a record without id is known by its values."""
        return not self.relation.id

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The columns that a finding shows, each once."""
        return tuple(dict.fromkeys((*self.compared, *self.relation.display)))

    @cached_property
    def named(self) -> tuple[str, ...]:
        """The dataset's columns that the rule or the dataset names; for a derived column, its source columns."""
        sources = set(self.columns.sources((*self.used, *self.shown)))
        return tuple(name for name in self.relation.schema.names if name in sources)

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """The columns to read."""
        return self.relation.schema.names if self.reads_all else self.named

    @cached_property
    def content(self) -> tuple[str, ...]:
        """The columns that identify a record without id, or order those that share one, displayed ones last.

        They are all that are read, but file and row only if the rule uses them.
        """
        judged, used = (set(self.columns.sources(names)) for names in (self.judged, (*self.used, *self.considered)))
        read = [name for name in self.needed if name not in PLACE or name in judged]
        return tuple(sorted(read, key=lambda name: name not in used) if self.relation.id else read)

    @property
    def filter_texts(self) -> Mapping[str, str]:
        """The filters of the dataset and of the rule, by the names that their results have in statements."""
        texts = {"in_dataset": self.relation.where, "in_rule": self.where}
        return {name: text for name, text in texts.items() if text is not None}

    @cached_property
    def filters(self) -> Mapping[str, BoundExpression]:
        """The bound `filter_texts`."""
        return {name: self.bind_condition(text) for name, text in self.filter_texts.items()}

    def bind_condition(self, text: str) -> BoundExpression:
        return parse(text).condition(self.columns.schema, self.relation.timezone, self.relation.calendar)

    def passes(self, record: Mapping[str, Value], slot: dt.datetime) -> bool:
        """Return True if a record, with its derived columns, meets the filters."""
        return all(condition.evaluate(record, slot) is True for condition in self.filters.values())

    @property
    def filtering(self) -> tuple[str, ...]:
        """The columns of the filters."""
        return tuple(name for condition in self.filters.values() for name in condition.expression.columns)

    def type_of(self, part: KeyPart) -> Type:
        """Return the type of a column after its normalisers."""
        return chain_type(self.columns.schema[part.column].type, part.steps)

    @cached_property
    def table(self) -> sa.TableClause:
        """The table of records in DuckDB."""
        return self.table_named("records")

    def table_named(self, name: str) -> sa.TableClause:
        schema = self.relation.schema
        return sa.table(name, *(sa.column(column, column_type(schema[column].type)) for column in self.needed))

    def pushed(self, records: Pushed) -> Pushed:
        """Return the records inside a database, which keeps no derived id unique: it knows only its own columns."""
        is_derived = not set(self.relation.id).isdisjoint(self.relation.derived)
        return replace(records, unique=lambda _: False) if is_derived else records

    def ids(self, compiler: Compiler) -> sa.Select[Any]:
        """Select the ids of all records of the dataset."""
        every_id = sa.select(*(compiler.whole(name).label(f"id_{n}") for n, name in enumerate(self.relation.id)))
        in_dataset = self.filters.get("in_dataset")
        return every_id if in_dataset is None else every_id.where(compiler.condition(in_dataset))
