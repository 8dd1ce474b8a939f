"""Every type of a lake is read exactly, or its column is refused in one sentence and the other columns are read."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import uuid
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyarrow import orc
from pyiceberg.manifest import DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.types import DecimalType, DoubleType

from connectors.lake.delta import DeltaDataset
from connectors.lake.errors import TableRefused
from connectors.lake.iceberg import IcebergDataset
from connectors.lake.inexact import ColumnRefused
from tests.connectors.lake.tables import Delta, Iceberg, data_file, read
from tests.support.cli import Project

ORDERS = DeltaDataset(path="orders")
SHOP_ORDERS = IcebergDataset(table="shop.orders")
ONE = uuid.UUID("12345678-1234-5678-1234-567812345678")
EARLIEST = dt.datetime.fromisoformat("0001-01-01")
MOMENT = dt.datetime.fromisoformat("1900-01-01 00:00:00.000001")
LONGEST = Decimal("9" * 36 + ".99")
NUMBERS = pa.struct([("a", pa.int64()), ("b", pa.int64())])


def values(source: Any, dataset: Any, column: str = "value") -> list[Any]:
    return [row[column] for row in sorted(read(source, dataset, "id", column), key=lambda row: row["id"])]


def refused(source: Any, dataset: Any, column: str = "value") -> str:
    """The sentence about the column; the other columns are read, and a check of the dataset warns of it or reads it."""
    assert source.describe(dataset).names == ["id", column]
    assert [row["id"] for row in read(source, dataset, "id")]
    with pytest.raises(ColumnRefused) as error:
        read(source, dataset)
    return str(error.value)


def two(value: Any, kind: pa.DataType) -> pa.Table:
    return pa.table({"id": [1, 2], "value": pa.array([value, None], kind)})


EXACT: list[tuple[pa.DataType, Any, Any]] = [
    (pa.uuid(), ONE.bytes, str(ONE)),
    (pa.binary(4), b"ab\0\xff", b"ab\0\xff"),
    (pa.large_binary(), b"\0\xff", b"\0\xff"),
    (pa.time64("us"), dt.time(23, 59, 59, 999_999), "23:59:59.999999"),
    (pa.timestamp("us"), MOMENT, MOMENT.replace(tzinfo=dt.UTC)),
    (pa.timestamp("us", "UTC"), MOMENT, MOMENT.replace(tzinfo=dt.UTC)),
    (pa.decimal128(38, 2), LONGEST, LONGEST),
    (pa.decimal128(38, 38), Decimal("0." + "9" * 38), Decimal("0." + "9" * 38)),
    (pa.struct([("a", NUMBERS)]), {"a": {"a": 1, "b": None}}, "{'a': {'a': 1, 'b': NULL}}"),
    (pa.list_(pa.list_(pa.string())), [["a, b"], [None]], "[['a, b'], [NULL]]"),
    (pa.map_(pa.string(), pa.int64()), [("k", 1), ("l", None)], "{k=1, l=NULL}"),
]
ONLY_ICEBERG = (pa.uuid(), pa.time64("us"))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "value", "expected"), EXACT, ids=lambda each: str(each)[:20])
def test_a_value_is_read_exactly(kind: pa.DataType, value: Any, expected: Any, tmp_path: Path) -> None:
    table = two(value, kind)
    iceberg = Iceberg(tmp_path)
    iceberg.write("orders", table)

    assert values(iceberg.source(), SHOP_ORDERS) == [expected, None]
    if kind not in ONLY_ICEBERG:
        delta = Delta(tmp_path)
        delta.write("orders", table)
        assert values(delta.source(), ORDERS) == [expected, None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "value"),
    [(pa.date32(), dt.date(1, 1, 1)), (pa.decimal128(38, 2), LONGEST), (pa.timestamp("us"), MOMENT), (pa.bool_(), True),
     (pa.int64(), 2**60), (pa.string(), "a=b %/é")],
    ids=str,
)  # fmt: skip
def test_a_value_that_only_names_a_partition_is_read_exactly(kind: pa.DataType, value: Any, tmp_path: Path) -> None:
    """Delta never has it in a file; the files of an Iceberg table that was Hive's do not have it either."""
    table = two(value, kind)
    delta, iceberg = Delta(tmp_path), Iceberg(tmp_path)
    delta.write("orders", table, partition_by=["value"])
    iceberg.write("orders", table, "value")
    for path in (tmp_path / "lake/shop").rglob("*.parquet"):
        pq.write_table(pq.ParquetFile(path).read(["id"]), path)
    expected = value.replace(tzinfo=dt.UTC) if isinstance(value, dt.datetime) else value

    assert values(delta.source(), ORDERS) == [expected, None]
    assert values(iceberg.source(), SHOP_ORDERS) == [expected, None]


@pytest.mark.slow
def test_partitions_and_types_that_changed_are_read_as_they_are_now(tmp_path: Path) -> None:
    lake = Iceberg(tmp_path)
    table = lake.write("orders", pa.table({"id": [1], "value": pa.array([Decimal("1.23")], pa.decimal128(5, 2)),
                                           "part": pa.array([0.1], pa.float32())}))  # fmt: skip
    with table.update_spec() as partitions:
        partitions.add_identity("id")
    with table.update_schema() as schema:
        schema.update_column("value", DecimalType(38, 2))
        schema.update_column("part", DoubleType())
    wide = pa.decimal128(38, 2)
    table.append(pa.table({"id": [2], "value": pa.array([LONGEST], wide), "part": [0.1]}))
    with table.update_spec() as partitions:
        partitions.remove_field("id")
        partitions.add_identity("value")
    with table.update_schema() as schema:
        schema.rename_column("value", "amount")
    table.append(pa.table({"id": [3], "amount": pa.array([None], wide), "part": [0.1]}))

    assert values(lake.source(), SHOP_ORDERS, "amount") == [Decimal("1.23"), LONGEST, None]
    assert values(lake.source(), SHOP_ORDERS, "part") == [pytest.approx(0.1, abs=1e-7), 0.1, 0.1]
    assert values(lake.source(), SHOP_ORDERS, "part")[0] != 0.1


# Fields of structs


def fields(kind: Any, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the fields of the innermost structs of a type in Delta's schema."""
    if isinstance(kind, dict):
        inner = kind.get("elementType") or kind.get("valueType")
        if kind["type"] == "struct":
            change(kind["fields"])
        elif inner:
            fields(inner, change)


def mapped(lake: Delta, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Map the columns to those of the files by name, and change the fields of the structs in the last one."""
    schema = json.loads(DeltaTable(lake.path("orders")).schema().to_json())

    numbers = itertools.count(1)

    def number(columns: list[dict[str, Any]]) -> None:
        for column in columns:
            physical = {"delta.columnMapping.id": next(numbers), "delta.columnMapping.physicalName": column["name"]}
            column["metadata"] = physical
            fields(column["type"], number)

    number(schema["fields"])
    fields(schema["fields"][1]["type"], change)
    settings = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}
    metadata = {"id": "x", "format": {"provider": "parquet", "options": {}}, "partitionColumns": [], "createdTime": 0}
    lake.commit("orders", {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}})
    lake.commit("orders", {"metaData": {**metadata, "schemaString": json.dumps(schema), "configuration": settings}})


def added_again(columns: list[dict[str, Any]]) -> None:
    """Drop the field `a`, and add another one of that name."""
    columns[0]["metadata"] = {"delta.columnMapping.id": 9, "delta.columnMapping.physicalName": "later"}


def renamed(columns: list[dict[str, Any]]) -> None:
    columns[0]["name"] = "z"


STRUCTS: list[tuple[pa.DataType, Any, str]] = [
    (NUMBERS, {"a": 1, "b": 2}, "{a}"),
    (pa.list_(NUMBERS), [{"a": 1, "b": 2}], "[{a}]"),
    (pa.list_(pa.list_(NUMBERS)), [[{"a": 1, "b": 2}]], "[[{a}]]"),
]
IN_MAPS: list[tuple[pa.DataType, Any]] = [
    (pa.map_(pa.string(), NUMBERS), [("k", {"a": 1, "b": 2})]),
    (pa.map_(pa.string(), pa.list_(NUMBERS)), [("k", [{"a": 1, "b": 2}])]),
]


@pytest.mark.parametrize(("kind", "value", "shape"), STRUCTS, ids=["struct", "list", "list of lists"])
def test_renamed_and_dropped_fields_of_delta_structs_are_read_as_they_are_now(
    kind: pa.DataType, value: Any, shape: str, tmp_path: Path
) -> None:
    for change, expected in ((renamed, "{'z': 1, 'b': 2}"), (added_again, "{'a': NULL, 'b': 2}")):
        lake = Delta(tmp_path / change.__name__)
        lake.write("orders", two(value, kind))
        mapped(lake, change)
        assert values(lake.source(), ORDERS) == [shape.replace("{a}", expected), None]


@pytest.mark.parametrize(("kind", "value"), IN_MAPS, ids=["map", "map of lists"])
def test_structs_in_maps_of_delta_are_refused_if_fields_can_be_renamed(
    kind: pa.DataType, value: Any, tmp_path: Path
) -> None:
    """deltalake would give a dropped field's values to a new one of its place."""
    lake = Delta(tmp_path)
    lake.write("orders", two(value, kind))
    assert values(lake.source(), ORDERS)[0] is not None
    mapped(lake, added_again)

    assert refused(lake.source(), ORDERS) == (
        "Column 'value' of table orders of source 'lake' is not read: deltalake confuses fields that were renamed or "
        "dropped in structs inside maps; leave it out, or read the table with a source of type `spark`"
    )


@pytest.mark.parametrize(
    ("kind", "value"), [*((kind, value) for kind, value, _ in STRUCTS[1:]), *IN_MAPS,
                        (pa.struct([("in", pa.list_(NUMBERS))]), {"in": [{"a": 1, "b": 2}]})],
    ids=str,
)  # fmt: skip
def test_lists_and_maps_of_structs_in_iceberg_are_refused(kind: pa.DataType, value: Any, tmp_path: Path) -> None:
    """pyiceberg makes empty ones of null, and gives values to other fields of their name."""
    lake = Iceberg(tmp_path)
    lake.write("orders", two(value, kind))
    opened = lake.source()
    reason = "pyiceberg confuses null with empty, and renamed fields, in lists and maps of structs"

    assert refused(opened, SHOP_ORDERS).startswith(
        f"Column 'value' of table shop.orders of source 'lake' is not read: {reason}; leave it out, or"
    )
    [warning] = opened.warnings(SHOP_ORDERS, None)
    assert warning.reason == f"column 'value' cannot be read: {reason}"
    assert opened.warnings(SHOP_ORDERS, ["id"]) == ()


# Refused


def test_binary_partitions_of_delta_are_refused(tmp_path: Path) -> None:
    lake = Delta(tmp_path)
    lake.write("orders", two(b"ab", pa.binary()), partition_by=["value"])

    assert "is not read: the table is partitioned by it, and deltalake reads bytes" in refused(lake.source(), ORDERS)


@pytest.mark.slow
def test_a_map_that_has_a_key_twice_is_refused(tmp_path: Path) -> None:
    delta, iceberg = Delta(tmp_path), Iceberg(tmp_path)
    table = two([("hidden", 1), ("hidden", 2)], pa.map_(pa.string(), pa.int64()))
    delta.write("orders", table)
    iceberg.write("orders", table)

    for sentence in (refused(delta.source(), ORDERS), refused(iceberg.source(), SHOP_ORDERS)):
        assert "is not read: a value has no exact text, such as a map that has the same key twice; leave it" in sentence
        assert "hidden" not in sentence


def later_format(lake: Iceberg, kind: str, stored: pa.Array[Any] | None, version: int = 3, **more: Any) -> None:
    """Make the column `value` one of a type that pyiceberg does not write."""
    [data] = (lake.folder / "lake").rglob("data/*.parquet")
    schema = pq.read_schema(data)
    kept = [schema.field("id")] + ([] if stored is None else [schema.field("value").with_type(stored.type)])
    columns: list[Any] = [pa.array([1, 2]), stored]
    pq.write_table(pa.table(columns[: len(kept)], schema=pa.schema(kept)), data)
    path = max((lake.folder / "lake").rglob("*.metadata.json"))
    metadata = json.loads(path.read_text())
    metadata |= {"format-version": version, "next-row-id": 0}
    for column in (column for each in metadata["schemas"] for column in each["fields"] if column["name"] == "value"):
        column |= {"type": kind, **more}
    path.write_text(json.dumps(metadata))


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.slow
def test_nanoseconds_are_refused_and_whole_microseconds_are_read(zone: str | None, tmp_path: Path) -> None:
    for name, nanoseconds in (("whole", 2_000), ("finer", 2_001)):
        (tmp_path / name).mkdir()
        lake = Iceberg(tmp_path / name)
        lake.write("orders", two("x", pa.string()))
        kind = "timestamptz_ns" if zone else "timestamp_ns"
        later_format(lake, kind, pa.array([nanoseconds, None], pa.timestamp("ns", zone)))
        if name == "whole":
            assert values(lake.source(), SHOP_ORDERS) == [dt.datetime(1970, 1, 1, 0, 0, 0, 2, dt.UTC), None]
        else:
            sentence = "it has times in nanoseconds, but Reconcile compares microseconds; leave it out, or store it as"
            assert sentence in refused(lake.source(), SHOP_ORDERS)


@pytest.mark.parametrize("format_", ["int96", "orc"])
def test_times_that_pyiceberg_would_cut_are_refused(format_: str, tmp_path: Path) -> None:
    """It would read the year 1 as 1754."""
    lake = Iceberg(tmp_path)
    records = two(EARLIEST, pa.timestamp("us"))
    if format_ == "int96":
        lake.write("orders", records)
        [data] = (tmp_path / "lake").rglob("data/*.parquet")
        pq.write_table(pq.read_table(data), data, use_deprecated_int96_timestamps=True)
    else:
        names = json.dumps([{"field-id": place, "names": [name]} for place, name in enumerate(records.column_names, 1)])
        mapping = {"schema.name-mapping.default": names}
        table = lake.catalog.create_table("shop.orders", records.schema, properties=mapping)
        add_orc(table, tmp_path / "lake" / "data.orc", two(EARLIEST, pa.timestamp("us")))

    assert refused(lake.source(), SHOP_ORDERS).endswith(
        "is not read: files store its times in nanoseconds or as INT96, which pyiceberg truncates; rewrite its "
        "files, or "
        "leave the column out"
    )


def add_orc(table: Table, path: Path, records: pa.Table) -> None:
    orc.write_table(records, str(path))
    size, content = path.stat().st_size, DataFileContent.DATA
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(data_file(f"file://{path}", FileFormat.ORC, records.num_rows, size, content=content))


def test_int96_times_of_delta_are_read(tmp_path: Path) -> None:
    lake = Delta(tmp_path)
    early = two(EARLIEST, pa.timestamp("us", "UTC"))
    lake.write("orders", early)
    added = lake.added("orders")
    path = lake.path("orders") / "old.parquet"
    pq.write_table(early, path, use_deprecated_int96_timestamps=True)
    lake.commit(
        "orders",
        {"remove": {"path": added["path"], "deletionTimestamp": 0, "dataChange": True}},
        {"add": {**added, "path": path.name, "size": path.stat().st_size, "stats": None}},
    )

    assert values(lake.source(), ORDERS) == [EARLIEST.replace(tzinfo=dt.UTC), None]


@pytest.mark.slow
def test_types_of_later_formats_are_read_or_refused(tmp_path: Path) -> None:
    """A default fills in for old files; a column of an unknown type is named; nothing is known of a later version."""
    lakes = {}
    for name in ("default", "geometry", "variant", "version"):
        (tmp_path / name).mkdir()
        lakes[name] = Iceberg(tmp_path / name)
        lakes[name].write("orders", two("x", pa.string()))
    later_format(lakes["default"], "long", None, **{"initial-default": 7, "write-default": 7})
    later_format(lakes["geometry"], "geometry", pa.array([b"x", None]))
    later_format(lakes["variant"], "variant", pa.array([b"x", None]))
    later_format(lakes["version"], "string", pa.array(["x", None]), version=9)

    assert values(lakes["default"].source(), SHOP_ORDERS) == [7, 7]
    assert "column 'value'" in refused(lakes["geometry"].source(), SHOP_ORDERS).lower()
    for name in ("variant", "version"):
        with pytest.raises(TableRefused, match="its format version or the type of a column is unknown to pyiceberg; r"):
            lakes[name].source().describe(SHOP_ORDERS)


@pytest.mark.slow
def test_a_rule_without_the_refused_column_runs_and_one_with_it_fails(tmp_path: Path) -> None:
    lake = Iceberg(tmp_path)
    lake.write("orders", pa.table({"id": [1, 2], "name": ["a", "a"], "lines": pa.array([[{"a": 1}], None])}))
    (tmp_path / "reconcile.yaml").write_text(
        json.dumps(
            {
                "sources": {"lake": {"type": "iceberg", "root": "lake", "options": {"uri": "sqlite:///catalog.db"}}},
                "datasets": {"orders": {"source": "lake", "table": "shop.orders", "id": "id"}},
                "rules": {
                    "names": {"kind": "duplicates", "dataset": "orders", "key": ["name"], "max_share": "100%"},
                    "lines": {"kind": "duplicates", "dataset": "orders", "key": ["lines"], "max_share": "100%"},
                },
            }
        )
    )
    project = Project(tmp_path)

    checked, ran = project("check"), project("run", "--json", "--quiet")

    assert "column 'lines' cannot be read: pyiceberg confuses null with empty" in checked.said
    assert checked.code == 0
    names, lines = ran.json["rules"]
    assert (names["groups"], "failed" in names) == (1, False)
    assert lines["failed"].startswith(
        "Column 'lines' of table shop.orders of source 'lake' is not read: pyiceberg conf"
    )
