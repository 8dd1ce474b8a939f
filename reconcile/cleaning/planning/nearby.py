"""Read the records of a large table that decide about some of its rows, by the values of their key."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from connectors.base import Trackable
from connectors.target import Row
from reconcile.detection.subject import Subject
from rules.engines import answers
from rules.groups.group import Group
from rules.kinds.base import Fitted, Neighbouring
from rules.values import Value

LARGE = 100_000
"""Records of a dataset above which only the records near some rows are read."""
MOST = 200_000
"""Records near some rows, above which reading all records is faster."""


@dataclass(frozen=True)
class NearbyRecords:
    """The records that decide about some rows. `all_records` is the number of records of the dataset."""

    fitted: Neighbouring
    records: Sequence[Mapping[str, Value]]
    all_records: int

    def groups(self, slot: dt.datetime) -> Sequence[Group]:
        return self.fitted.regroup(self.records, slot)


def read(fitted: Fitted, subject: Subject, rows: Sequence[Row]) -> NearbyRecords | None:
    """Return the records that share the key of one of these rows; None if the table cannot be asked for them.

    Raises a ConnectorError.
    """
    source, settings = subject.source, subject.dataset.settings
    if not isinstance(fitted, Neighbouring) or not isinstance(source, Trackable):
        return None
    columns = fitted.neighbours()
    if not columns or source.untracked(settings) is not None:
        return None
    with source.changes(settings, subject.relation.id[0]) as view:
        usable = view.usable(columns)
        values = dict.fromkeys(tuple(row.values[name] for name in usable) for row in rows)
        keys = [key for key in values if None not in key]
        if not usable or (table := view.matching(usable, keys, fitted.needed[subject.dataset.name], MOST)) is None:
            return None
        return NearbyRecords(fitted, answers.rows(table), view.records())
