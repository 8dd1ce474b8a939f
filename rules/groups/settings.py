"""What grouping reads of a rule: a kind gives it by its rule, bound to datasets."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Protocol

import sqlalchemy as sa

from rules.engines.base import Relation
from rules.engines.compile import Columns, Compiler
from rules.expressions import BoundExpression
from rules.groups.recognised import Recognition
from rules.groups.spans import Consecutive, MaximumDistance, Overlap
from rules.models import Keep, KeyPart
from rules.pairs.evidence import JudgedPairs
from rules.pairs.record import DifferentPairs, Record
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


class KeySettings(GroupSettings, Protocol):
    """The settings of a rule that joins records with equal keys."""

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
    def repeats(self) -> str | None:
        """The column in whose values equal records are numbered."""

    @property
    def window(self) -> MaximumDistance | None:
        """The distance within which records of other groups are shown as near."""

    @property
    def recognition(self) -> Recognition | None:
        """How known groups are recognised; None: all are built."""

    @property
    def max_shared(self) -> int:
        """With several keys, the most records that one value may join."""

    @property
    def shared_columns(self) -> Sequence[str]:
        """The name of the answer's column for each of several keys, which tells where it may repeat."""

    @property
    def judged_pairs(self) -> JudgedPairs:
        """The pairs that people judged to be different, which none of several keys joins."""

    def matches_null(self, part: KeyPart) -> bool:
        """Return True if empty values of this part are equal."""

    def split(self, alike: list[Record]) -> list[list[Record]]:
        """Split records of one key, at least one, into those that belong together, each in order."""


class DatasetSettings(KeySettings, Protocol):
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


class ChangingSettings(DatasetSettings, Protocol):
    """The settings of a rule over one dataset that is asked for the groups that changed."""

    @property
    def by_records(self) -> bool:
        """True if a finding is known again by its records, because one key can have several groups."""

    def takes_part(self, row: Mapping[str, Value], slot: dt.datetime) -> bool:
        """Return True if a record meets the conditions and has a place in the order; its key may still be empty."""


class SpanSettings(KeySettings, Protocol):
    """The settings of a rule that asks an engine for records with equal keys, and which of them are near."""

    @property
    def joins(self) -> bool:
        """True if several keys join records."""

    @property
    def gap(self) -> MaximumDistance | None:
        """The largest distance between neighbours in a group."""

    @property
    def overlap(self) -> Overlap | None:
        """The period in which records of a group overlap."""

    @property
    def consecutive(self) -> Consecutive | None:
        """The order in which records of a group are neighbours."""

    @property
    def span_columns(self) -> Sequence[str]:
        """The columns of `gap`, `window`, `overlap` or `consecutive`; the first orders."""

    @property
    def differing(self) -> str | None:
        """A column of which every group has two or more different values, if the rule asks for that."""


class AskedSettings(SpanSettings, DatasetSettings, Protocol):
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

    @property
    def place_reasons(self) -> Sequence[tuple[str, str]]:
        """The reasons why a record with a key takes no part, each with its column, in the order of checking."""

    def ids(self, compiler: Compiler) -> sa.Select[Any]:
        """Select the ids of all records of the dataset."""
