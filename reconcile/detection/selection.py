"""Leaves out records that a `where` is certain to exclude, if their source knows them without reading them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from connectors.base import ColumnComparison, Scan, Selective, Source
from reconcile.detection.subject import Subjects
from rules.engines.base import Relation
from rules.expressions.comparisons import comparisons
from rules.groups.detection import Detection
from rules.kinds.base import Conditional, Fitted

Selection = Mapping[str, Sequence[ColumnComparison]]
"""For each dataset, comparisons that rule records out: the rule compares no record for which one of them is false."""


def selection(fitted: Fitted, subjects: Subjects, slot: dt.datetime) -> Selection:
    """Return the comparisons of a rule's conditions with constants, in columns of the datasets themselves."""
    conditions = fitted.conditions if isinstance(fitted, Conditional) else {}
    return {name: tuple(_comparisons(subjects[name].relation, texts, slot)) for name, texts in conditions.items()}


def _comparisons(relation: Relation, texts: Sequence[str], slot: dt.datetime) -> Iterator[ColumnComparison]:
    for text in texts:
        for column, operator, values in comparisons(text, relation.schema, relation.timezone, slot):
            yield ColumnComparison(column, operator, values)


def scan_selected(source: Source, settings: Any, columns: Sequence[str], chosen: Sequence[ColumnComparison]) -> Scan:
    """Scan the dataset without records that the source can leave out."""
    if chosen and isinstance(source, Selective):
        return source.select(settings, columns, chosen)
    return source.scan(settings, columns)


def counted(detection: Detection, unread: Mapping[str, int]) -> Detection:
    """Count records that were left out among those that `where` excludes, as if they had been read."""
    read_of = {name: records + unread.get(name, 0) for name, records in detection.read_of.items()}
    return replace(detection, read=detection.read + sum(unread.values()), read_of=read_of, unread_of=unread)


def common(selections: Sequence[Sequence[ColumnComparison]]) -> Sequence[ColumnComparison]:
    """Return the comparisons that all readers of a dataset make."""
    return [each for each in selections[0] if all(each in chosen for chosen in selections)]
