"""The suite that every connector passes, ours and others: the same promises, checked the same way.

The author of a connector writes a kit, which stores a table where the connector can read it, and runs the checks:

    class CsvKit:
        settings = {"type": "files", "root": "exports"}
        ...

    @pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
    def test_csv_files_conform(check, tmp_path):
        check(CsvKit(tmp_path))

Each check stores its own table, opens its own source and closes it. A broken promise raises a ConformanceFailure that
names it. No test framework is needed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from connectors.base import DuckReadable, Source
from connectors.conformance.promises import ConformanceFailure, is_same, is_true, refusal
from connectors.errors import ColumnMissing, ConnectorError, DatasetMissing

MANY = 70_000
LARGEST_BATCH = 65_536


@dataclass(frozen=True)
class Stored:
    """A table in a source.

    `dataset` and `missing` are settings of the connector's `Dataset`: an existing one, and one whose name differs from
    it by a letter; `near` is the name its error should suggest, or None if the source cannot list what it has, as most
    APIs. `digest` returns a value that changes with the stored data.
    """

    source: Source
    dataset: Any
    missing: Any
    near: str | None
    digest: Callable[[], object]


class Kit(Protocol):
    """Creates sources of the connector under test for the suite.

    `settings` are valid settings of a source, `secret` a text in them that must never be shown (None: it has none).
    `empty_is_null`: the source stores an empty text as null.
    """

    settings: Mapping[str, Any]
    secret: str | None
    empty_is_null: bool

    def store(self, table: pa.Table) -> Stored:
        """Store the table, replacing an earlier one, and open a new source over it; the suite closes the source.

        Column types are utf8, int64, decimal128(20, 4), bool, date32 and timestamp[us, UTC]; if the source has no
        types, `dataset` declares them by `columns:`.
        """


def sample() -> pa.Table:
    """Records that a careless connector misreads."""
    instant = pa.timestamp("us", "UTC")
    return pa.table(
        {
            "id": pa.array(["0007", "7", "00123 ", "1e5"], pa.string()),
            "name": pa.array(["Zoë 🦊", "a\u0301", "=1+1", "NULL"], pa.string()),
            "note": pa.array(["", None, "two words", "ﬁ"], pa.string()),
            "number": pa.array([90071992547409931, -1, None, 0], pa.int64()),
            "amount": pa.array(
                [Decimal("9007199254740993.0100"), Decimal("-0.0001"), None, Decimal("20.1000")], pa.decimal128(20, 4)
            ),
            "paid": pa.array([True, False, None, True], pa.bool_()),
            "booked": pa.array([dt.date(2024, 2, 29), dt.date(1999, 12, 31), None, dt.date(2026, 1, 1)], pa.date32()),
            "charged_at": pa.array(
                [
                    dt.datetime(2026, 3, 29, 1, 30, tzinfo=dt.UTC),
                    dt.datetime(1999, 12, 31, 23, 59, 59, 123000, tzinfo=dt.UTC),
                    None,
                    dt.datetime(2026, 10, 25, 0, 30, tzinfo=dt.UTC),
                ],
                instant,
            ),
        }
    )


def describing_tells_what_scanning_gives(kit: Kit) -> None:
    """`describe` names the columns in order, and `scan` returns them with exactly these types."""
    with _stored(kit, sample()) as stored:
        described = stored.source.describe(stored.dataset)
        names = [name for name in described.names if not name.startswith("_")]
        is_same("describe gives the columns in the order of the source", names, sample().column_names)
        scanned = _read(stored, described.names)
        for field in described:
            is_same(
                f"scan gives {field.name!r} the type of describe", scanned.schema.field(field.name).type, field.type
            )


def values_arrive_exactly(kit: Kit) -> None:
    """Leading zeros, 17-digit integers, decimals, Unicode, empty and missing, instants arrive as stored."""
    with _stored(kit, sample()) as stored:
        table = _read(stored, sample().column_names)
        for name in sample().column_names:
            expected = sample().column(name).to_pylist()
            if kit.empty_is_null:
                expected = [None if text == "" else text for text in expected]
            is_same(f"values of {name!r} arrive as stored", table.column(name).to_pylist(), expected)
        is_same("times are instants in UTC", table.schema.field("charged_at").type, pa.timestamp("us", "UTC"))
        is_same("text is utf8", table.schema.field("id").type, pa.string())


def only_the_columns_asked_for_in_that_order(kit: Kit) -> None:
    """A projection is neither wider nor sorted."""
    with _stored(kit, sample()) as stored:
        table = _read(stored, ["number", "amount", "id"])
        is_same("scan gives the columns asked for, in that order", table.column_names, ["number", "amount", "id"])
        is_same(
            "a projected column keeps its values", table.column("id").to_pylist(), sample().column("id").to_pylist()
        )


def reading_twice_gives_the_same(kit: Kit) -> None:
    """Two scans of an unchanged dataset agree, even if both are open."""
    with _stored(kit, sample()) as stored:
        first = stored.source.scan(stored.dataset, ["id", "number"])
        second = _read(stored, ["id", "number"])
        table = first.reader.read_all()
        first.close()
        is_same("two scans of an unchanged dataset agree", table.to_pylist(), second.to_pylist())


def batches_are_bounded(kit: Kit) -> None:
    """A long dataset arrives in pieces and complete."""
    ids = pa.array([f"{i:07d}" for i in range(MANY)], pa.string())
    with _stored(kit, pa.table({"id": ids, "number": pa.array(range(MANY), pa.int64())})) as stored:
        scan = stored.source.scan(stored.dataset, ["id", "number"])
        sizes, total = [], 0
        for batch in scan.reader:
            sizes.append(batch.num_rows)
            total += int(pc.sum(batch.column(1)).as_py() or 0)
        scan.close()
        is_same("every record arrives once", (sum(sizes), total), (MANY, MANY * (MANY - 1) // 2))
        is_true(f"no batch has more than {LARGEST_BATCH} records, one had {max(sizes)}", max(sizes) <= LARGEST_BATCH)


def an_empty_dataset_is_no_error(kit: Kit) -> None:
    """A dataset without records has columns but no rows."""
    with _stored(kit, sample().slice(0, 0)) as stored:
        is_same("an empty dataset has no records", _read(stored, ["id", "note"]).num_rows, 0)


def clean_cells_are_no_problem(kit: Kit) -> None:
    """A clean dataset has no problems."""
    with _stored(kit, sample()) as stored:
        scan = stored.source.scan(stored.dataset, sample().column_names)
        scan.reader.read_all()
        is_same("clean records have no problems", scan.problems(), ())
        scan.close()


def closing_early_and_twice_is_fine(kit: Kit) -> None:
    """A scan closed early releases its source, which can be read again; a second close has no effect."""
    ids = pa.array([f"{i:07d}" for i in range(MANY)], pa.string())
    with _stored(kit, pa.table({"id": ids, "number": pa.array(range(MANY), pa.int64())})) as stored:
        scan = stored.source.scan(stored.dataset, ["id"])
        is_true("a scan of a long dataset has a first batch", scan.reader.read_next_batch().num_rows > 0)
        scan.close()
        scan.close()
        is_same("a source can be read again after an early close", _read(stored, ["id"]).num_rows, MANY)
        stored.source.close()
        stored.source.close()


def reading_changes_nothing(kit: Kit) -> None:
    """The stored data are the same after describe, scan and close."""
    with _stored(kit, sample()) as stored:
        before = stored.digest()
        stored.source.datasets()
        stored.source.describe(stored.dataset)
        _read(stored, ["id"])
        stored.source.close()
        is_same("reading leaves the source as it was", stored.digest(), before)


def a_missing_dataset_is_told_with_the_nearest_name(kit: Kit) -> None:
    """The error suggests the right name."""
    with _stored(kit, sample()) as stored:
        text = refusal("describe of a missing dataset", DatasetMissing, lambda: stored.source.describe(stored.missing))
        if stored.near is None:
            return
        is_true(f"a missing dataset is told with {stored.near!r}, but: {text}", stored.near in text)
        is_true(f"datasets() lists {stored.near!r}", any(stored.near in name for name in stored.source.datasets()))


def a_missing_column_is_told_with_the_nearest_name(kit: Kit) -> None:
    """A request for `amuont` fails with `amount` in its error, before anything is read."""
    with _stored(kit, sample()) as stored:
        text = refusal("scan of a missing column", ColumnMissing, lambda: _read(stored, ["id", "amuont"]))
        is_true(
            f"a missing column is told with the nearest one, but: {text}",
            "amuont" in text and "amount" in text,
        )


def unknown_settings_are_refused(kit: Kit) -> None:
    """A misspelled setting is an error, never ignored."""
    with _stored(kit, sample()) as stored:
        source = type(stored.source)
        source.Settings.model_validate(dict(kit.settings))
        for model, settings in ((source.Settings, dict(kit.settings)), (source.Dataset, {})):
            _refused(model, {**settings, "tresholds": 1})


def no_secret_is_shown(kit: Kit) -> None:
    """The secret appears in no text of the source, its settings or its errors, nor in a refusal of settings."""
    if kit.secret is None:
        return
    with _stored(kit, sample()) as stored:
        model = type(stored.source).Settings
        settings = model.model_validate(dict(kit.settings))
        texts = [repr(settings), str(settings), repr(stored.source), str(stored.source), settings.model_dump_json()]
        texts.append(
            refusal("describe of a missing dataset", ConnectorError, lambda: stored.source.describe(stored.missing))
        )
        for name in kit.settings:
            try:
                model.model_validate({**kit.settings, name: [kit.settings[name]]})
            except ValidationError as error:
                texts.append(str(error))
        is_true("no text for people holds the secret", not any(kit.secret in text for text in texts))


def duckdb_reads_the_same(kit: Kit) -> None:
    """If DuckDB may read by itself, it returns the columns, types and records of `scan`."""
    with _stored(kit, sample()) as stored:
        if not isinstance(stored.source, DuckReadable):
            return
        for columns in (sample().column_names, ["number", "amount", "id"]):
            scan = stored.source.duck_scan(stored.dataset, columns)
            if scan is None:
                continue
            scanned = _read(stored, columns)
            with duckdb.connect() as con:
                con.execute("set TimeZone = 'UTC'")
                for _ in range(2):
                    table = con.sql(scan.sql).to_arrow_table()
                    is_same("duck_scan gives the columns of scan", table.column_names, list(columns))
                    is_same("duck_scan gives the types of scan", table.schema.types, scanned.schema.types)
                    is_same("duck_scan gives the records of scan", _unordered(table), _unordered(scanned))


CHECKS: tuple[Callable[[Kit], None], ...] = (
    describing_tells_what_scanning_gives,
    values_arrive_exactly,
    only_the_columns_asked_for_in_that_order,
    reading_twice_gives_the_same,
    batches_are_bounded,
    an_empty_dataset_is_no_error,
    clean_cells_are_no_problem,
    closing_early_and_twice_is_fine,
    reading_changes_nothing,
    a_missing_dataset_is_told_with_the_nearest_name,
    a_missing_column_is_told_with_the_nearest_name,
    unknown_settings_are_refused,
    no_secret_is_shown,
    duckdb_reads_the_same,
)


def check(kit: Kit) -> None:
    """Run every check; raises ConformanceFailure at the first broken promise."""
    for run_check in CHECKS:
        run_check(kit)


@contextmanager
def _stored(kit: Kit, table: pa.Table) -> Iterator[Stored]:
    stored = kit.store(table)
    try:
        yield stored
    finally:
        stored.source.close()


def _read(stored: Stored, columns: Sequence[str]) -> pa.Table:
    scan = stored.source.scan(stored.dataset, columns)
    try:
        return scan.reader.read_all()
    finally:
        scan.close()


def _unordered(table: pa.Table) -> list[str]:
    return sorted(str(record) for record in table.to_pylist())


def _refused(model: Any, settings: dict[str, Any]) -> None:
    try:
        model.model_validate(settings)
    except ValidationError as error:
        if any(detail["type"] == "extra_forbidden" for detail in error.errors()):
            return
    raise ConformanceFailure(f"{model.__name__} refuses a setting it does not know")
