"""Source `http`: the lists of a JSON API, read as JSON Lines with the same records would be.

A list is read once and then stays the same for all rules until `renew`, so every rule of a run sees the same records.
`_file` is the list's place, `_row` the position of a record in the list, from 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from connectors.base import Scan, UnreadableCells
from connectors.coerce import Coercion
from connectors.declared import Declared, Notation, declared
from connectors.errors import ColumnMissing
from connectors.files.json.reader import JsonFile
from connectors.http.client import HttpClient
from connectors.http.connector import HttpConnector, HttpDataset, HttpSettings
from connectors.http.listing import Lister, Listing

ROWS = 65_536
PLACES = (pa.field("_file", pa.string(), nullable=False), pa.field("_row", pa.int64(), nullable=False))
_OF_VALUES = {"columns", "decimal", "null_values", "timezone"}
"""The settings of a dataset that do not change what is asked of the API."""


class HttpSource(HttpConnector):
    """The lists of one API. Reads never change them: only GET is sent, besides the request for a token."""

    def __init__(
        self,
        name: str,
        settings: HttpSettings,
        directory: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] | None = None,
    ) -> None:
        """`clock` and `sleep` are those of pauses and of the deadline."""
        del directory
        self.name = name
        self._settings = settings
        self._client = HttpClient(name, settings, clock, sleep)
        self._listings: dict[str, Listing] = {}
        self._former: dict[str, Listing] = {}
        self._read: dict[tuple[str, tuple[str, ...]], JsonFile] = {}

    def __repr__(self) -> str:
        return f"<HttpSource {self.name!r}>"

    def datasets(self) -> Sequence[str]:
        """None: an API does not tell what lists it has. Raises a ConnectorError if it cannot be reached."""
        self._client.reach()
        return ()

    def describe(self, dataset: HttpDataset) -> pa.Schema:
        return self._coercion(dataset, self._raw(dataset).names).schema

    def scan(self, dataset: HttpDataset, columns: Sequence[str]) -> Scan:
        coercion = self._coercion(dataset, columns)
        batches = _batches(self._file(dataset), columns, dataset.null_values, coercion)
        return Scan(pa.RecordBatchReader.from_batches(coercion.schema, batches), coercion.problems)

    def warnings(self, dataset: HttpDataset, columns: Sequence[str] | None) -> tuple[UnreadableCells, ...]:
        """Records that came on two pages; and for a reader of any columns, a list that may have more pages."""
        file, listing = self._file(dataset), self._listing(dataset)
        warnings = list(file.warnings(columns))
        if listing.repeated:
            came = "record came" if listing.repeated == 1 else "records came"
            reason = (
                f"{listing.repeated:,} {came} again on a later page, because others were inserted while it was read"
            )
            warnings.append(UnreadableCells("*", f"{reason}; each is used once", 0, listing.name))
        if listing.only_first and columns is None:
            assert dataset.paging is not None  # noqa: S101 - only a list with pages has a first one
            place = f"`next: {dataset.paging.next}`" if dataset.paging.next else "a header `Link`"
            reason = f"it has one page, and no {place} in it; if there are more records, correct `paging`"
            warnings.append(UnreadableCells("*", reason, 0, listing.name))
        return tuple(warnings)

    def version(self, dataset: HttpDataset) -> str:
        """See connectors.base.Versioned."""
        listing = self._listing(dataset)
        pages = "1 page" if len(listing.pages) == 1 else f"{len(listing.pages):,} pages"
        return f"{pages} at {listing.read_at:%Y-%m-%dT%H:%M:%SZ}"

    def renew(self) -> None:
        """See connectors.base.Versioned. Pages with an ETag are only sent again if they changed."""
        self._former |= self._listings
        self._listings.clear()
        self._read.clear()

    def content(self, dataset: HttpDataset, progress: Callable[[int], None]) -> str:
        """See connectors.base.ContentHashed: a digest of all records."""
        content = self._listing(dataset).content
        progress(0)
        return content

    def stop(self) -> None:
        """See connectors.base.Stoppable."""
        self._client.stop()

    def close(self) -> None:
        """Forget what was read. An open scan keeps its pages."""
        self._listings.clear()
        self._former.clear()
        self._read.clear()

    def _listing(self, dataset: HttpDataset) -> Listing:
        key = dataset.model_dump_json(exclude=_OF_VALUES)
        if key not in self._listings:
            parts = urlsplit(self._settings.url)
            where = f"{parts.netloc}{parts.path}/{dataset.path.lstrip('/')}".rstrip("/")
            former = self._former[key].tagged() if key in self._former else {}
            lister = Lister(self._client, self._settings, dataset, where)
            self._listings[key] = lister.read(former)
            self._former.pop(key, None)
        return self._listings[key]

    def _file(self, dataset: HttpDataset) -> JsonFile:
        listing = self._listing(dataset)
        key = dataset.model_dump_json(exclude=_OF_VALUES), tuple(dataset.columns)
        if key not in self._read:
            self._read[key] = JsonFile(listing, key[1], dataset.explode)
        return self._read[key]

    def _raw(self, dataset: HttpDataset) -> pa.Schema:
        return pa.schema([*self._file(dataset).columns, *PLACES])

    def _coercion(self, dataset: HttpDataset, columns: Sequence[str]) -> Coercion:
        """Raises ColumnMissing, ColumnTypeUnknown."""
        raw, file = self._raw(dataset), self._file(dataset)
        kinds: dict[str, Declared] = {name: declared(name, word) for name, word in dataset.columns.items()}
        for name in (*kinds, *columns):
            if name not in raw.names:
                raise ColumnMissing(file.name, name, raw.names)
        notation = Notation(dataset.decimal, dataset.null_values, dataset.timezone)
        return Coercion(pa.schema([raw.field(name) for name in columns]), kinds, notation)


def _batches(
    file: JsonFile, columns: Sequence[str], nulls: Sequence[str], coercion: Coercion
) -> Iterator[pa.RecordBatch]:
    stored = [name for name in columns if name not in ("_file", "_row")]
    count = 0
    try:
        for batch in file.batches(stored, nulls, ROWS):
            places: dict[str, pa.Array[Any]] = {
                "_file": pa.repeat(pa.scalar(file.name, pa.string()), batch.num_rows),
                "_row": batch.column("_row"),
            }
            arrays = [places[name] if name in places else batch.column(stored.index(name)) for name in columns]
            names = [*columns]
            part = pa.RecordBatch.from_arrays(arrays, names=names)
            yield coercion.batch(part, file.place)
            count += batch.num_rows
        file.confirm(count)
    finally:
        coercion.close()
