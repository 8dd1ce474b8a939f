"""Changes of a table whose database does not tell which transactions were open: the overlap allows for late commits.

The mark is the time of the view, and the latest change that it shows. If a later view shows changes between that one
and the overlap, then the table lags behind, as a replica or a copied file does: it is read from the latest change on.
"""

from __future__ import annotations

import datetime as dt
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import sqlalchemy as sa

from connectors.sql.changes.indexes import TableIndexes
from connectors.sql.changes.view import ChangingTable, Condition, TableChanges, since, written
from connectors.sql.snapshot import SqlSnapshot

_NAME = "latest"
_ONE_SECOND = dt.timedelta(seconds=1)


class OverlappingChanges(TableChanges):
    """See `connectors.base.Changes`. `place` differs if the table was replaced by another."""

    def __init__(
        self, snapshot: SqlSnapshot, table: ChangingTable, indexes: TableIndexes, now: dt.datetime, place: str
    ) -> None:
        super().__init__(snapshot, table, indexes)
        self._now, self._place = now, place

    def mark(self) -> Mapping[str, Any]:
        latest = None if self._latest is None else written(self._latest)
        return {"at": written(self._now), "latest": latest, "place": self._place}

    def refusal(self, mark: Mapping[str, Any]) -> str | None:
        if mark.get("place") != self._place:
            return "the table was replaced or altered since"
        if mark["latest"] is not None and (self._latest is None or written(self._latest) < mark["latest"]):
            return f"the latest `{self._table.by}` is earlier than in the last run, as after a restore"
        return None

    def _changed_since(self, mark: Mapping[str, Any], overlap: dt.timedelta) -> Iterator[Condition]:
        begin = self._begin(mark, overlap)
        yield self._table.time.is_not(None) if begin is None else self._is_since(begin)

    def _begin(self, mark: Mapping[str, Any], overlap: dt.timedelta) -> dt.datetime | None:
        """Return the time from which on records may have changed; None for any time."""
        usual = since(mark["at"], overlap)
        if mark["latest"] is None:
            return None if self._any(self._table.time.is_not(None), before=usual) else usual
        latest = since(mark["latest"], dt.timedelta())
        lags = latest < usual and self._any(self._is_since(latest + _ONE_SECOND), before=usual)
        return latest - overlap if lags else usual

    def _any(self, condition: Condition, before: dt.datetime) -> bool:
        """Return True if a record meets the condition and changed before that time."""
        any_record = sa.select(sa.literal(1).label(_NAME)).select_from(self._table.plain)
        return len(self._whole(any_record.where(condition, sa.not_(self._is_since(before))).limit(1))) > 0

    @cached_property
    def _latest(self) -> dt.datetime | None:
        """The latest time of a change that is not in the future; None if there is none."""
        time, selected = self._table.time, self._table.selected(self._table.by)
        latest = sa.select(selected.label(_NAME)).where(self._is_until(self._now)).order_by(time.desc()).limit(1)
        [moment] = self._whole(latest).column(_NAME).to_pylist() or [None]
        if moment is None:
            return None
        is_day = not isinstance(moment, dt.datetime)
        return min(dt.datetime.combine(moment, dt.time(), dt.UTC) if is_day else moment, self._now)

    @abstractmethod
    def _is_since(self, moment: dt.datetime) -> Condition:
        """Return a condition that every record meets that changed at this time or later."""

    @abstractmethod
    def _is_until(self, moment: dt.datetime) -> Condition:
        """Return a condition that holds for records that changed at this time or before, and for a range of times."""
