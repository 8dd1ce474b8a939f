"""How a rule joins records with equal keys, from its settings alone."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import accumulate
from typing import Protocol

from rules.expressions import BoundGroup
from rules.groups import splitting
from rules.groups.settings import KeyedRule
from rules.models import Keep, KeyPart
from rules.pairs.record import DifferentPairs, Record, RecordName
from rules.values import canonical


class WithConditions(Protocol):
    """The settings of a rule about its groups, whatever joins their records."""

    @property
    def name(self) -> str: ...
    @property
    def excepted(self) -> frozenset[frozenset[RecordName]]: ...
    @property
    def minimum(self) -> int: ...
    @property
    def max_share(self) -> Decimal: ...
    @property
    def distinct(self) -> str | None: ...


@dataclass(frozen=True)
class GroupCriteria(ABC):
    """What a rule asks of a group, whatever joins its records: see `rules.groups.settings`."""

    rule: WithConditions

    @property
    @abstractmethod
    def having(self) -> BoundGroup | None:
        """The condition over a group, if any."""

    @property
    def name(self) -> str:
        return self.rule.name

    @property
    def minimum(self) -> int:
        return self.rule.minimum

    @property
    def max_share(self) -> Decimal:
        return self.rule.max_share

    @cached_property
    def excepted(self) -> DifferentPairs:
        """The pairs of records that are known to be different."""
        return DifferentPairs(self.rule.excepted)

    def meets_conditions(self, records: Sequence[Record], slot: dt.datetime) -> bool:
        if self.rule.distinct:
            values = (record.values[self.rule.distinct] for record in records)
            if len({str(canonical(value)) for value in values if value is not None}) < 2:
                return False
        return self.having is None or self.having.evaluate([record.values for record in records], slot) is True


@dataclass(frozen=True)
class Criteria(GroupCriteria):
    """How a rule makes groups of records with known keys, and what it shows of them: see `rules.groups.settings`."""

    rule: KeyedRule

    @property
    @abstractmethod
    def parts(self) -> tuple[KeyPart, ...]:
        """The parts of the key, or of all keys, also for `key: all`."""

    @property
    @abstractmethod
    def shown(self) -> tuple[str, ...]:
        """The columns that a finding shows, each once."""

    @property
    @abstractmethod
    def considered(self) -> tuple[str, ...]:
        """The columns whose values `most_complete` counts."""

    @property
    @abstractmethod
    def shared_columns(self) -> tuple[str, ...]:
        """The name of the answer's column for each of several keys."""

    @cached_property
    def keys(self) -> tuple[range, ...]:
        """The positions of each key's parts in `parts`; records are joined if one key agrees."""
        lengths = [len(parts) for parts in self.rule.keys] or [len(self.parts)]
        return tuple(range(end - length, end) for length, end in zip(lengths, accumulate(lengths), strict=True))

    @property
    def joins(self) -> bool:
        """True if several keys join records."""
        return len(self.keys) > 1

    def matches_null(self, part: KeyPart) -> bool:
        return self.rule.key == "all" or part.column in self.rule.nulls

    @cached_property
    def open_parts(self) -> tuple[int, ...]:
        """The positions of the parts whose empty values agree with every value."""
        return tuple(n for n, part in enumerate(self.parts) if part.column in self.rule.open_columns)

    @cached_property
    def equal_parts(self) -> tuple[int, ...]:
        """The positions of the other parts of a single key: all records of a group are equal in them."""
        return tuple(n for n in self.keys[0] if n not in self.open_parts)

    @property
    def identifier(self) -> str:
        return " or ".join(" and ".join(self.parts[n].column for n in key) for key in self.keys)

    @property
    def keeps_all(self) -> bool:
        rule = self.rule
        splits = (rule.span, rule.repeats, rule.open_columns, rule.distinct, rule.having, self.excepted, rule.judged)
        return not any(splits)

    def split(self, alike: list[Record]) -> list[list[Record]]:
        """Split records of one key, at least one, that take part; without a span they stay together."""
        rule = self.rule
        if rule.overlap:
            return splitting.by_period(rule.overlap, alike)
        if rule.gap:
            return splitting.chains(rule.gap, alike)
        if rule.window:
            return splitting.windows(rule.window, alike)
        return [sorted(alike, key=lambda record: record.place)]

    @property
    def span_column(self) -> str | None:
        return self.rule.span.column if self.rule.span else None

    @property
    def span_columns(self) -> tuple[str, ...]:
        """The columns of `gap`, `window`, `overlap` or `consecutive`; the first orders."""
        return self.rule.span.columns if self.rule.span else ()

    @cached_property
    def keep(self) -> tuple[Keep, ...]:
        """The criteria that choose the keeper; with a span and no `keep`, the first record stays."""
        if self.rule.keep or self.span_column is None:
            return self.rule.keep
        return (Keep(how="first", column=self.span_column),)

    @cached_property
    def key_names(self) -> tuple[str, ...]:
        """The column names of the key; a column that it holds twice also names its normalisers."""
        names: list[str] = []
        for part in self.parts:
            steps = ", ".join(step.name for step in part.steps) or "as it is"
            names.append(f"{part.column} ({steps})" if part.column in names else part.column)
        return tuple(names)
