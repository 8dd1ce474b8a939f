"""What grouping reads of a rule: a kind gives it by its rule, bound to datasets."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any, Protocol

import sqlalchemy as sa

from rules.engines.base import Relation
from rules.engines.compile import Columns, Compiler
from rules.expressions import BoundExpression
from rules.groups.recognised import Recognition
from rules.groups.spans import Consecutive, MaximumDistance, Overlap, Span
from rules.models import Keep, KeyPart
from rules.pairs.evidence import JudgedPairs
from rules.pairs.record import DifferentPairs, Record, RecordName
from rules.values import Value


class GroupSettings(Protocol):
    """What makes records a group, whatever joins them, and what is shown of it."""

    @property
    def name(self) -> str:
        """The name of the rule."""

    @property
    def identifier(self) -> str:
        """The columns that identify the same thing, in words."""

    @property
    def minimum(self) -> int:
        """The fewest records of a group."""

    @property
    def max_share(self) -> Decimal:
        """The largest share of the records that groups may hold."""

    @property
    def keeps_all(self) -> bool:
        """True if all joined records are a group: no other condition leaves some of them out, or splits it."""

    @property
    def excepted(self) -> DifferentPairs:
        """The pairs of records that are known to be different."""

    @property
    def keep(self) -> Sequence[Keep]:
        """The criteria that choose the keeper."""

    @property
    def considered(self) -> Sequence[str]:
        """The columns whose values `most_complete` counts."""

    @property
    def shown(self) -> Sequence[str]:
        """The columns that a finding shows, each once."""

    @property
    def span_column(self) -> str | None:
        """The column whose least and greatest value in a group is its span."""

    def meets_conditions(self, records: Sequence[Record], slot: dt.datetime) -> bool:
        """Return True if these records meet the rule's conditions over a group."""


class KeyedRule(Protocol):
    """The settings of a rule that joins records with equal keys."""

    @property
    def name(self) -> str: ...
    @property
    def key(self) -> object: ...
    @property
    def keys(self) -> Sequence[Sequence[KeyPart]]: ...
    @property
    def nulls(self) -> Mapping[str, str]: ...
    @property
    def open_columns(self) -> Collection[str]: ...
    @property
    def excepted(self) -> frozenset[frozenset[RecordName]]: ...
    @property
    def judged(self) -> JudgedPairs: ...
    @property
    def recognition(self) -> Recognition | None: ...
    @property
    def minimum(self) -> int: ...
    @property
    def max_share(self) -> Decimal: ...
    @property
    def max_shared(self) -> int: ...
    @property
    def by_records(self) -> bool: ...
    @property
    def gap(self) -> MaximumDistance | None: ...
    @property
    def window(self) -> MaximumDistance | None: ...
    @property
    def overlap(self) -> Overlap | None: ...
    @property
    def consecutive(self) -> Consecutive | None: ...
    @property
    def span(self) -> Span | None: ...
    @property
    def place_reasons(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def repeats(self) -> str | None: ...
    @property
    def distinct(self) -> str | None: ...
    @property
    def differing(self) -> str | None: ...
    @property
    def having(self) -> str | None: ...
    @property
    def keep(self) -> tuple[Keep, ...]: ...


class KeySettings(GroupSettings, Protocol):
    """What follows from the settings of a rule that joins records with equal keys."""

    @property
    def rule(self) -> KeyedRule:
        """The settings."""

    @property
    def joins(self) -> bool:
        """True if several keys join records."""

    @property
    def span_columns(self) -> Sequence[str]:
        """The columns of `gap`, `window`, `overlap` or `consecutive`; the first orders."""

    @property
    def parts(self) -> Sequence[KeyPart]:
        """The parts of the key, or of all keys."""

    @property
    def keys(self) -> Sequence[range]:
        """The positions of each key's parts in `parts`; records are joined if one key agrees."""

    @property
    def key_names(self) -> Sequence[str]:
        """The name of each part in the key of a group."""

    @property
    def equal_parts(self) -> Sequence[int]:
        """The positions of the parts in which all records of a group are equal."""

    @property
    def open_parts(self) -> Sequence[int]:
        """The positions of the parts whose empty values agree with every value."""

    @property
    def shared_columns(self) -> Sequence[str]:
        """The name of the answer's column for each of several keys, which tells where it may repeat."""

    def matches_null(self, part: KeyPart) -> bool:
        """Return True if empty values of this part are equal."""

    def split(self, alike: list[Record]) -> list[list[Record]]:
        """Split records of one key, at least one, into those that belong together, each in order."""


class SingleDatasetSettings(KeySettings, Protocol):
    """The settings of a rule over one dataset."""

    @property
    def relation(self) -> Relation:
        """The dataset."""

    @property
    def columns(self) -> Columns:
        """Its columns, derived ones included."""

    @property
    def content(self) -> Sequence[str]:
        """The columns that identify a record without id, or order those that share one."""


class ChangingSettings(SingleDatasetSettings, Protocol):
    """The settings of a rule over one dataset that is asked for the groups that changed."""

    def takes_part(self, row: Mapping[str, Value], slot: dt.datetime) -> bool:
        """Return True if a record meets the conditions and has a place in the order; its key may still be empty."""


class AskedSettings(SingleDatasetSettings, Protocol):
    """The settings of a rule over one dataset, as far as an engine is asked about them."""

    @property
    def filters(self) -> Mapping[str, BoundExpression]:
        """The filters of the dataset and of the rule, by the names that their results have in statements."""

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns to read."""

    @property
    def plain(self) -> tuple[str, ...]:
        """Columns of the key that are equal as they are written in records of one key."""

    @property
    def position(self) -> str:
        """The name of the answer's column for positions in the order of `consecutive`."""

    def ids(self, compiler: Compiler) -> sa.Select[Any]:
        """Select the ids of all records of the dataset."""
