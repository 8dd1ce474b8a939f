"""`where` over a lake: files that cannot hold a record it lets through are not read, and nothing else changes."""

import datetime as dt
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connectors.base import ColumnComparison
from connectors.errors import RecordsLost
from connectors.lake.delta import DeltaDataset
from connectors.lake.iceberg import IcebergDataset
from reconcile.app import Application, load
from reconcile.detection.detect import Budget, detect
from reconcile.detection.subject import subjects_of
from rules.expressions import parse
from rules.expressions.comparisons import comparisons
from rules.groups.detection import Detection
from rules.values import schema_from_arrow
from tests.connectors.lake.tables import Delta, Iceberg, read
from tests.support.cli import Project

pytestmark = pytest.mark.slow

UTC = pa.timestamp("us", "UTC")
ORDERS = DeltaDataset(path="orders")
SHOP_ORDERS = IcebergDataset(table="shop.orders")


def files() -> list[pa.Table]:
    """One file of four records for each of six days, and one with nulls and texts of white space."""
    tables = []
    for day in range(1, 8):
        at = dt.datetime.fromisoformat(f"2026-03-0{day} 12:00:00.123456")
        full: dict[str, tuple[pa.DataType, list[Any]]] = {
            "id": (pa.int64(), [day * 10 + number for number in range(4)]),
            "day": (pa.date32(), [at.date()] * 4),
            "region": (pa.string(), [["eu", "it's", "us"][day % 3]] * 4),
            "open": (pa.bool_(), [day % 2 == 0] * 4),
            "number": (pa.int64(), [day * 100, day * 100 + 1, day * 100 + 1, day * 100 + 2]),
            "small": (pa.int32(), [-day] * 4),
            "amount": (pa.decimal128(38, 9), [Decimal(day), Decimal(day) + Decimal("0.000000001")] * 2),
            "price": (pa.float64(), [day + 0.5] * 4),
            "name": (pa.string(), [f"{day}\u00e4", f"{day}z", f"{day}z", f"{day}\U0001f600" + "x" * 40]),
            "at": (UTC, [at, at + dt.timedelta(microseconds=1)] * 2),
            "wall": (pa.timestamp("us"), [at, at + dt.timedelta(microseconds=1)] * 2),
        }
        blank = {"region": " ", "name": "\u3000"}
        columns = {
            name: pa.array(values if day < 7 or name == "id" else [blank.get(name), None, *values[2:]], kind)
            for name, (kind, values) in full.items()
        }
        tables.append(pa.table(columns))
    return tables


CONDITIONS = [
    "day = '2026-03-02'",
    "'2026-03-05' < day",
    "day between '2026-03-02' and '2026-03-03' and price > 0",
    "day >= slot() - 30000d and number <= 101",
    "region = 'it''s'",
    "region in ('eu', 'us') and day <> '2026-03-02'",
    "region < 'f'",
    "open",
    "open = true",
    "not open = true",
    "number > 500",
    "number < 100.5",
    "101 >= number",
    "number in (1, 301, 9223372036854775807)",
    "small <= -6",
    "amount > 6",
    "amount = 3.000000001",
    "name >= '6'",
    "name = '2z'",
    "at <= '2026-03-02 12:00:00.123456'",
    "at = '2026-03-02 12:00:00.123457'",
    "at > '2026-03-06 12:00:00.123456'",
    "wall = '2026-03-02 12:00:00.123457'",
    "price > 6",
    "number > 500 or day = '2026-03-01'",
    "number is null",
    "day = '2031-01-01'",
]
OF_NONE = {
    "open",
    "not open = true",
    "price > 6",
    "number > 500 or day = '2026-03-01'",
    "number is null",
}
OF_ICEBERG = {
    "amount > 6",
    "amount = 3.000000001",
    "name >= '6'",
    "name = '2z'",
    "region = 'it''s'",
    "region in ('eu', 'us') and day <> '2026-03-02'",
    "region < 'f'",
    "open = true",
}
"""Conditions for which only Iceberg leaves out files, unless a table of Delta is partitioned by the column."""
SLOT = dt.datetime(2026, 3, 8, tzinfo=dt.UTC)
PARTITIONS: list[tuple[str, ...]] = [(), ("day",), ("region", "open"), ("at", "wall")]


@dataclass
class Lakes:
    """A table in both formats, a file at a time."""

    folder: Path
    tables: Sequence[pa.Table]
    partitions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.delta, self.iceberg = Delta(self.folder), Iceberg(self.folder)
        table = self.iceberg.write("orders", self.tables[0].slice(0, 0), *self.partitions)
        for part in self.tables:
            self.delta.write("orders", part, mode="append", partition_by=list(self.partitions) or None)
            table.append(part)

    def sources(self) -> Iterator[tuple[str, Any, Any]]:
        yield "delta", self.delta.source(), ORDERS
        yield "iceberg", self.iceberg.source(), SHOP_ORDERS


@pytest.mark.parametrize("partitions", PARTITIONS, ids=" ".join)
def test_only_records_that_a_condition_certainly_excludes_are_left_out(
    partitions: tuple[str, ...], tmp_path: Path
) -> None:
    """Those for which it is unknown are read, because a run counts them apart."""
    for name, source, dataset in Lakes(tmp_path, files(), partitions).sources():
        schema = schema_from_arrow(source.describe(dataset))
        rows = read(source, dataset)
        for text in CONDITIONS:
            chosen = [ColumnComparison(*each) for each in comparisons(text, schema, "UTC", SLOT)]
            selected, left_out = select(source, dataset, chosen)

            condition = parse(text).condition(schema)
            missing = [row for row in rows if row not in selected]
            assert len(missing) == left_out == len(rows) - len(selected), (name, text)
            assert {condition.evaluate(row, SLOT) for row in missing} <= {False}, (name, text)
            if not partitions:
                has_left_out = text not in OF_NONE and (name == "iceberg" or text not in OF_ICEBERG)
                assert (left_out > 0) == has_left_out, (name, text)
            if partitions == ("region", "open") and "region" in text:
                assert left_out > 0, (name, text)


def select(source: Any, dataset: Any, chosen: Sequence[ColumnComparison]) -> tuple[list[dict[str, Any]], int]:
    scan = source.select(dataset, source.describe(dataset).names, chosen)
    try:
        return scan.reader.read_all().to_pylist(), scan.left_out
    finally:
        scan.close()


def test_times_of_another_zone_and_declared_columns_are_compared_here(tmp_path: Path) -> None:
    """A time without a zone is a time of the dataset's zone, and a declared column has other values than the table."""
    later = ColumnComparison("wall", ">", (dt.datetime(2026, 3, 5, tzinfo=dt.UTC),))
    small = ColumnComparison("small", "<", (-4,))
    for _, source, dataset in Lakes(tmp_path, files()).sources():
        assert select(source, dataset, [later])[1] == select(source, dataset, [small])[1] == 16
        for settings in ({"timezone": "Europe/Berlin"}, {"null_values": ("eu",)}):
            assert select(source, dataset.model_copy(update=settings), [later])[1] == 0
        assert select(source, dataset.model_copy(update={"columns": {"small": "text"}}), [small])[1] == 0


def test_a_rule_counts_what_its_where_leaves_out(tmp_path: Path) -> None:
    """The findings, counts and skipped records are those of the same records in Parquet; so for rules that share."""
    Lakes(tmp_path, files())
    pq.write_table(pa.concat_tables(files()), tmp_path / "orders.parquet")
    places = {"files": {"path": "orders.parquet"}, "delta": {"path": "orders"}, "iceberg": {"table": "shop.orders"}}
    sources = {
        "files": {"type": "files"},
        "delta": {"type": "delta", "root": "lake"},
        "iceberg": {"type": "iceberg", "root": "lake", "options": {"uri": "sqlite:///catalog.db"}},
    }
    derived = {"twice": {"is": "number * 2"}}
    datasets = {
        name: {"source": name, "id": "id", "columns": derived, "where": "day > '2026-03-01'", **place}
        for name, place in places.items()
    }
    wheres = ("twice < 1000 and number < 500", "number >= 500")
    rules = {
        f"{name}-{number}": {"kind": "duplicates", "dataset": name, "key": ["day"], "where": where, "max_share": "100%"}
        for number, where in enumerate(wheres)
        for name in datasets
    }
    rules |= {
        f"{name}-{form}": {"kind": "reconciliation", **sides, "key": ["id"], "where": where, "compare": ["number"]}
        for name in ("delta", "iceberg")
        for form, sides, where in (
            ("both", {"left": "files", "right": name}, {"left": "number < 500", "right": "number < 500"}),
            ("parted", {"left": name, "right": name}, {"left": "number < 300", "right": "number > 300"}),
        )
    }
    (tmp_path / "reconcile.yaml").write_text(json.dumps({"sources": sources, "datasets": datasets, "rules": rules}))

    with load(tmp_path / "reconcile.yaml", {}) as application:
        alone = {name: detection(application, name) for name in rules}
    together = Project(tmp_path)("run", "--json", "--quiet").json

    for number in range(len(wheres)):
        parquet = alone[f"files-{number}"]
        reported = facts(together, f"files-{number}")
        for name in ("delta", "iceberg"):
            assert counts(alone[f"{name}-{number}"]) == counts(parquet)
            assert alone[f"{name}-{number}"].unread == 12 + number * 4
            assert facts(together, f"{name}-{number}") == reported
    for name in ("delta", "iceberg"):
        assert (alone[f"{name}-both"].read, alone[f"{name}-both"].matched, alone[f"{name}-both"].unread) == (56, 12, 12)
        assert (alone[f"{name}-parted"].read, alone[f"{name}-parted"].unread) == (28, 0)


def detection(application: Application, name: str) -> Detection:
    rule = application.project.rules[name]
    return detect(rule, subjects_of(rule, application.subject, SLOT), SLOT, Budget("500MB")).detection


def counts(answer: Detection) -> list[Any]:
    groups = sorted(str([sorted(str(member.id) for member in group.members)]) for group in answer.groups)
    return [answer.read, answer.scanned, sorted(map(str, answer.skipped)), answer.identity, groups]


def facts(report: dict[str, Any], name: str) -> list[Any]:
    [rule] = [rule for rule in report["rules"] if rule["rule"] == name]
    members = sorted(
        [finding["keeper"], *finding["surplus"]] for finding in report["findings"] if finding["rule"] == name
    )
    return [rule.get("read"), rule.get("scanned"), rule.get("skipped"), members]


def test_deleted_rows_of_files_that_are_left_out_are_no_records(tmp_path: Path) -> None:
    delta, iceberg = Delta(tmp_path), Iceberg(tmp_path)
    records = pa.table({"id": [1, 2, 3], "area": ["a b%", "a b%", "a b%"]})
    delta.write("orders", records, partition_by=["area"])
    delta.delete_rows("orders", [1])
    table = iceberg.write("orders", records)
    iceberg.delete_rows(table, [1])
    late = records.set_column(1, "area", pa.array(["z", "z", "z"]))
    delta.write("orders", late, mode="append")
    table.append(late)

    for source, dataset in ((delta.source(), ORDERS), (iceberg.source(), SHOP_ORDERS)):
        rows, left_out = select(source, dataset, [ColumnComparison("area", "=", ("z",))])
        assert ([row["area"] for row in rows], left_out) == (["z"] * 3, 2)
        rows, left_out = select(source, dataset, [ColumnComparison("area", "=", ("a b%",))])
        assert ([row["id"] for row in rows], left_out) == ([1, 3], 3)


def test_a_wrong_number_of_records_is_noticed_in_a_part_of_a_table(tmp_path: Path) -> None:
    """A log whose least value is wrong: the record would be neither read nor counted."""
    lake = Delta(tmp_path)
    for day in (1, 2):
        lake.write("orders", pa.table({"number": [day, day**3]}), mode="append")
    log = lake.path("orders") / "_delta_log" / f"{1:020}.json"
    log.write_text(log.read_text().replace('\\"number\\":2', '\\"number\\":3'))

    with pytest.raises(RecordsLost, match="2 records, but 1"):
        select(lake.source(), ORDERS, [ColumnComparison("number", ">", (1,))])
