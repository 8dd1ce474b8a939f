"""Odd types and changed schemas of lakes: each value is read exactly, or the table is refused in one sentence."""

import datetime as dt
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.types import DecimalType, DoubleType, LongType, StringType

from connectors.base import ColumnComparison
from connectors.files.source import FilesDataset, FilesSettings, FilesSource
from connectors.lake.delta import DeltaDataset
from connectors.lake.errors import TableRefused
from connectors.lake.iceberg import IcebergDataset
from tests.connectors.lake.tables import Delta, Iceberg, read

ORDERS = DeltaDataset(path="orders")
SHOP_ORDERS = IcebergDataset(table="shop.orders")
MOMENT = dt.datetime.fromisoformat("2024-10-27 02:30:00.000001")
NINES = Decimal("9" * 38)
NESTED = pa.struct({"a": pa.list_(pa.list_(pa.decimal128(38, 2))), "b": pa.struct({"t": pa.timestamp("us")})})
UUIDS = [uuid.UUID(int=5).bytes, uuid.UUID(int=7).bytes, None]

IN_BOTH: dict[str, Any] = {
    "fixed": pa.array([b"abcd", b"\x00\xff..", None], pa.binary(4)),
    "map": pa.array([[("a", 1), ("b", None)], [], None], pa.map_(pa.string(), pa.int64())),
    "nested": pa.array([{"a": [[Decimal("1.10")]], "b": {"t": MOMENT}}, {"a": []}, None], NESTED),
    "list": pa.array([["a, b", None], [], None], pa.list_(pa.string())),
    "longest": pa.array([NINES, NINES.copy_negate(), None], pa.decimal128(38, 0)),
    "smallest": pa.array([Decimal("0." + "9" * 38), Decimal(0), None], pa.decimal128(38, 38)),
    "wall": pa.array([MOMENT, dt.datetime.fromisoformat("1500-01-01"), None], pa.timestamp("us")),
    "milliseconds": pa.array([1, 2, None], pa.timestamp("ms")),
    "dictionary": pa.array(["a", "b", None]).dictionary_encode(),
}
IN_ICEBERG: dict[str, Any] = {
    "uuid": pa.array(UUIDS, pa.uuid()),
    "time": pa.array([dt.time(23, 59, 59, 999999), dt.time(0), None], pa.time64("us")),
}


@pytest.mark.parametrize("kind", [*IN_BOTH, *IN_ICEBERG])
@pytest.mark.slow
def test_a_value_is_that_of_the_same_value_in_parquet(kind: str, tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2, 3], "value": (IN_BOTH | IN_ICEBERG)[kind]})
    pq.write_table(table, tmp_path / "orders.parquet")
    parquet = read(
        FilesSource("files", FilesSettings(type="files"), tmp_path), FilesDataset(path="orders.parquet"), "id", "value"
    )

    Iceberg(tmp_path).write("orders", table)
    assert read(Iceberg(tmp_path).source(), SHOP_ORDERS) == parquet
    if kind in IN_BOTH:
        Delta(tmp_path).write("orders", table)
        assert read(Delta(tmp_path).source(), ORDERS) == parquet


def test_delta_reads_types_of_arrow_as_what_it_stores(tmp_path: Path) -> None:
    """Delta has neither UUIDs nor JSON; a writer notes them beside bytes and text."""
    lake = Delta(tmp_path)
    lake.write(
        "orders", pa.table({"id": pa.array(UUIDS, pa.uuid()), "note": pa.array(["{}", "[1]", None], pa.json_())})
    )

    rows = sorted((row["id"], row["note"]) for row in read(lake.source(), ORDERS) if row["id"])
    assert rows == [(UUIDS[0], "{}"), (UUIDS[1], "[1]")]


def test_a_file_with_values_of_another_type_is_refused(tmp_path: Path) -> None:
    lake = Delta(tmp_path)
    lake.write("orders", pa.table({"id": ["one", "two"], "name": ["a", "b"]}))
    log = lake.path("orders") / "_delta_log" / f"{0:020}.json"
    log.write_text(
        log.read_text().replace(r"{\"name\":\"id\",\"type\":\"string\"", r"{\"name\":\"id\",\"type\":\"long\"")
    )

    with pytest.raises(
        TableRefused, match=r"Column .id. of table orders of source .lake. is not read: .*; leave it out"
    ):
        read(lake.source(), ORDERS)
    assert len(read(lake.source(), ORDERS, "name")) == 2


# Changed schemas and partitions


def part(source: Any, column: str, operator: str, value: Any) -> tuple[list[int], int]:
    """The ids that are read for a comparison, and the number of records that are left out."""
    scan = source.select(SHOP_ORDERS, ["id"], [ColumnComparison(column, operator, (value,))])
    try:
        return sorted(scan.reader.read_all()["id"].to_pylist()), scan.left_out
    finally:
        scan.close()


@pytest.mark.slow
def test_widened_columns_hold_their_values_in_files_of_either_type(tmp_path: Path) -> None:
    lake = Iceberg(tmp_path)
    narrow = {"number": pa.int32(), "price": pa.decimal128(9, 2), "rate": pa.float32()}
    values = {"number": [5, -7], "price": [Decimal("1.10"), Decimal("-2.00")], "rate": [1.5, 2.5]}
    old = {name: pa.array(values[name], kind) for name, kind in narrow.items()}
    table = lake.write("orders", pa.table({"id": [1, 2], **old}), "number")
    with table.update_schema() as update:
        update.update_column("number", LongType())
        update.update_column("price", DecimalType(30, 2))
        update.update_column("rate", DoubleType())
    price = pa.array([Decimal("9" * 20)], pa.decimal128(30, 2))
    table.append(pa.table({"id": [3], "number": [2**40], "price": price, "rate": [0.1]}))

    assert [list(row.values()) for row in read(lake.source(), SHOP_ORDERS)] == [
        [1, 5, Decimal("1.10"), 1.5],
        [2, -7, Decimal("-2.00"), 2.5],
        [3, 2**40, Decimal("9" * 20), 0.1],
    ]
    assert part(lake.source(), "number", "=", 2**40) == ([3], 2)
    assert part(lake.source(), "number", "<", 0) == ([2], 2)
    assert part(lake.source(), "price", ">", Decimal("1.09")) == ([1, 3], 1)


@pytest.mark.slow
def test_a_name_that_was_another_column_s_reads_its_own_values(tmp_path: Path) -> None:
    """A column is renamed or dropped, and a new one gets its name: old files have no values of the new one."""
    lake = Iceberg(tmp_path)
    table = lake.write("orders", pa.table({"id": [1], "total": [100], "gone": [100]}))
    with table.update_schema() as update:
        update.rename_column("total", "net")
        update.delete_column("gone")
    with table.update_schema() as update:
        update.add_column("total", LongType())
        update.add_column("gone", LongType())
    table.append(pa.table({"id": [2], "net": [1], "total": [5], "gone": [5]}))

    assert read(lake.source(), SHOP_ORDERS) == [
        {"id": 1, "net": 100, "total": None, "gone": None},
        {"id": 2, "net": 1, "total": 5, "gone": 5},
    ]
    assert part(lake.source(), "net", "=", 100) == ([1], 1)
    for column in ("total", "gone"):
        assert part(lake.source(), column, "=", 100) == ([1], 1)  # unknown in the old file, which is read


def test_fields_of_a_struct_can_be_added_and_renamed(tmp_path: Path) -> None:
    lake = Iceberg(tmp_path)
    before = pa.struct({"a": pa.int32(), "b": pa.struct({"x": pa.string()})})
    table = lake.write("orders", pa.table({"id": [1], "s": pa.array([{"a": 1, "b": {"x": "q"}}], before)}))
    with table.update_schema() as update:
        update.add_column(("s", "c"), StringType())
        update.rename_column("s.a", "first")
        update.add_column(("s", "b", "y"), LongType())

    assert [row["s"] for row in read(lake.source(), SHOP_ORDERS)] == [
        "{'first': 1, 'b': {'x': q, 'y': NULL}, 'c': NULL}"
    ]


@pytest.mark.slow
def test_files_of_other_partitions_are_read_and_left_out(tmp_path: Path) -> None:
    """The table was partitioned by nothing, then by its day, then by its name, and a column was renamed."""
    lake = Iceberg(tmp_path)

    def records(day: int) -> pa.Table:
        return pa.table({"id": [day, -day], "day": [dt.date(2026, 1, day)] * 2, "name": [f"n{day}", f"m{day}"]})

    table = lake.write("orders", records(1))
    for number, (old, new) in enumerate([(None, "day"), ("day", "name")], start=2):
        with table.update_spec() as update:
            if old:
                update.remove_field(old)
            update.add_identity(new)
        table.append(records(number))
    with table.update_schema() as update:
        update.rename_column("day", "date")

    assert len(read(lake.source(), SHOP_ORDERS)) == 6
    assert part(lake.source(), "date", ">=", dt.date(2026, 1, 3)) == ([-3, 3], 4)
    assert part(lake.source(), "name", "=", "n3") == ([3], 5)


def test_files_of_a_renamed_delta_column_are_all_read(tmp_path: Path) -> None:
    """The library lists values by either name, so none of them decides."""
    lake = Delta(tmp_path)
    for number in (1, 2):
        lake.write("orders", pa.table({"id": [number]}), mode="append")
    lake.rename("orders", {"id": "number"})

    scan = lake.source().select(ORDERS, ["number"], [ColumnComparison("number", "=", (1,))])
    assert (sorted(scan.reader.read_all()["number"].to_pylist()), scan.left_out) == ([1, 2], 0)
    scan.close()
