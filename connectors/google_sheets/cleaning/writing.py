"""One write of ours: it takes a turn, so that a write that was overtaken, or is sent twice, is refused as a whole."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connectors.errors import ConnectorError, Reaction
from connectors.google_sheets.cleaning import replacing
from connectors.google_sheets.cleaning.ledger import Entry, Ledger, Request, Write, turn_taken
from connectors.google_sheets.client import Api, WriteLost
from connectors.google_sheets.grid import facts_of
from connectors.google_sheets.refusals import RequestRefused
from connectors.target import TargetError, TransactionOutcome


class Overtaken(Exception):
    """Google refused the write as a whole: another one came first, or a sheet of it is gone."""

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True)
class Answer:
    """What Google says of a write: how often each cell was replaced, and the changed rows right after it."""

    replaced: Mapping[tuple[int, int, int], int]
    rows: Mapping[tuple[int, int], Sequence[Mapping[str, Any]]]

    def cell(self, entry: Entry, write: Write) -> Mapping[str, Any]:
        cells = self.rows.get((entry.sheet, entry.row), ())
        return cells[write.column] if write.column < len(cells) else {}

    def was_replaced(self, entry: Entry, write: Write) -> bool:
        return self.replaced.get((entry.sheet, entry.row, write.column), 0) == 1


class Writer:
    """Sends writes until a moment of the monotonic clock."""

    def __init__(self, source: str, api: Api, end: float) -> None:
        self.source, self._api, self._end = source, api, end

    @property
    def left(self) -> float:
        return self._end - time.monotonic()

    def write(self, before: Ledger, after: Ledger, requests: Sequence[Request]) -> None:
        """Send requests of which only the ledger tells if they were made. Raises Overtaken, WriteLost, TargetError."""
        self._send({"requests": [*turn_taken(before, after), *requests]})

    def replace(
        self,
        before: Ledger,
        after: Ledger,
        requests: Sequence[Request],
        entries: Sequence[Entry],
        ranges: Sequence[str],
    ) -> Answer:
        """Send requests and replace the cells of the entries. Raises as `write`."""
        first = [*turn_taken(before, after), *requests]
        writes = [(entry, write) for entry in entries for write in entry.writes]
        body = {
            "requests": [*first, *(replacing.replaced(entry, write) for entry, write in writes)],
            "includeSpreadsheetInResponse": True,
            "responseRanges": list(ranges),
            "responseIncludeGridData": True,
        }
        response = self._send(body if ranges else {"requests": body["requests"]})
        replies = response.get("replies", [])[len(first) :]
        if len(replies) != len(writes):
            raise WriteLost
        counts = {
            (entry.sheet, entry.row, write.column): replacing.occurrences(reply)
            for (entry, write), reply in zip(writes, replies, strict=True)
        }
        return Answer(counts, _rows(response.get("updatedSpreadsheet", {})))

    def _send(self, body: Mapping[str, Any]) -> dict[str, Any]:
        if self.left <= 0:
            raise not_changed(self.source, "the time for it is over", "it is tried again")
        try:
            return self._api.batch_update(body, self.left)
        except RequestRefused as error:
            raise Overtaken(error.status) from None
        except ConnectorError as error:
            raise _as_target_error(error) from error


def as_not_done(error: ConnectorError) -> TargetError:
    """The error of a transaction whose reads failed before anything was changed."""
    return error if isinstance(error, TargetError) else _as_target_error(error)


def _as_target_error(error: ConnectorError) -> TargetError:
    outcome = {Reaction.ASK: TransactionOutcome.PAUSE, Reaction.STOP: TransactionOutcome.TERMINAL}
    sentence = f"{str(error).rstrip('.')}. Nothing was changed"
    return TargetError(sentence, outcome.get(error.reaction, TransactionOutcome.NOT_DONE))


def not_changed(
    where: str, reason: str, remedy: str, outcome: TransactionOutcome = TransactionOutcome.NOT_DONE
) -> TargetError:
    return TargetError(f"{where} was not changed: {reason}; {remedy}", outcome)


def _rows(spreadsheet: Mapping[str, Any]) -> dict[tuple[int, int], Sequence[Mapping[str, Any]]]:
    rows: dict[tuple[int, int], Sequence[Mapping[str, Any]]] = {}
    for sheet in spreadsheet.get("sheets", []):
        identifier = facts_of(sheet).id
        for data in sheet.get("data", []):
            first = int(data.get("startRow", 0))
            for number, row in enumerate(data.get("rowData", []), first):
                rows[identifier, number] = row.get("values", [])
    return rows
