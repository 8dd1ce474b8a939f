"""Sources `delta` and `iceberg`: a run reads one version of a table, with Parquet's values, and nothing outside."""

import datetime as dt
import hashlib
import json
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError
from pyiceberg.manifest import DataFileContent, FileFormat
from pyiceberg.types import LongType, StringType

from connectors.conformance import source
from connectors.conformance.source import Stored
from connectors.errors import (
    ColumnMissing,
    DatasetMissing,
    FileRefused,
    Reaction,
    RecordsLost,
    SourceMissing,
    SourceUnreachable,
)
from connectors.lake.delta import DeltaDataset, DeltaSettings
from connectors.lake.errors import FilesGone, TableRefused
from connectors.lake.iceberg import IcebergDataset
from reconcile.app import Application, load
from reconcile.findings.results import RuleResult
from tests.connectors.lake.tables import Delta, Iceberg, data_file, deletes, read
from tests.support.cli import Project

SECRET = "hunter2-hunter2"
ORDERS = DeltaDataset(path="orders")
SHOP_ORDERS = IcebergDataset(table="shop.orders")
FEW = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]})


def tree(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


class DeltaKit:
    settings: ClassVar[dict[str, Any]] = {"type": "delta", "root": "lake", "options": {"aws_secret_access_key": SECRET}}
    secret = SECRET
    empty_is_null = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def store(self, table: pa.Table) -> Stored:
        shutil.rmtree(self._folder / "lake", ignore_errors=True)
        lake = Delta(self._folder)
        lake.write("orders", table)
        opened = lake.source(options=self.settings["options"])
        return Stored(opened, ORDERS, DeltaDataset(path="ordrs"), "orders", lambda: tree(self._folder))


class IcebergKit:
    settings: ClassVar[dict[str, Any]] = {
        "type": "iceberg",
        "root": "lake",
        "options": {"uri": "sqlite:///catalog.db", "credential": SECRET},
    }
    secret = SECRET
    empty_is_null = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def store(self, table: pa.Table) -> Stored:
        shutil.rmtree(self._folder / "lake", ignore_errors=True)
        (self._folder / "catalog.db").unlink(missing_ok=True)
        lake = Iceberg(self._folder)
        lake.write("orders", table)
        missing = IcebergDataset(table="shop.ordrs")
        opened = lake.source(options=self.settings["options"])
        return Stored(opened, SHOP_ORDERS, missing, "shop.orders", lambda: tree(self._folder))


@pytest.mark.slow
@pytest.mark.parametrize("kit", [DeltaKit, IcebergKit])
@pytest.mark.parametrize("check", source.CHECKS, ids=lambda check: check.__name__)
def test_lakes_conform(check: Any, kit: Any, tmp_path: Path) -> None:
    check(kit(tmp_path))


# The same findings as the same records in Parquet

UTC = pa.timestamp("us", "UTC")
LONG = "x" * 3_000


def ugly() -> pa.Table:
    """Records in pairs that are equal in every column, of every type that both formats store."""
    moment = dt.datetime.fromisoformat("2024-10-27 01:30:00.123456")  # twice in Berlin
    early, late = map(dt.datetime.fromisoformat, ("1900-01-01", "9999-12-31"))
    columns: dict[str, tuple[pa.DataType, list[Any]]] = {
        "text": (pa.string(), ["a ", "\u00e4\u0308\ud7ff", LONG, "", None]),
        "whole": (pa.int64(), [9007199254740993, -(2**63), 0, 1, None]),
        "small": (pa.int32(), [-(2**31), 7, 0, 1, None]),
        "exact": (
            pa.decimal128(38, 9),
            [Decimal("12345678901234567890123456789.123456789"), Decimal("-0.1"), Decimal(0), 1, None],
        ),
        "single": (pa.float32(), [0.1, float("inf"), -0.0, 1.5, None]),
        "double": (pa.float64(), [0.1, float("nan"), -0.0, 1e308, None]),
        "flag": (pa.bool_(), [True, False, True, False, None]),
        "day": (
            pa.date32(),
            [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 12, 31), dt.date(2024, 2, 29), None],
        ),
        "at": (UTC, [moment.replace(tzinfo=dt.UTC), dt.datetime(1, 1, 1, tzinfo=dt.UTC), moment, moment, None]),
        "wall": (pa.timestamp("us"), [moment, early, moment, late, None]),
        "bytes": (pa.binary(), [b"\xff\x00", b"", b"a", b"a\0", None]),
        "list": (pa.list_(pa.int64()), [[1, 2], [], [None], [3], None]),
        "struct": (
            pa.struct({"a": pa.int64(), "b": pa.string()}),
            [{"a": 1, "b": "x, y"}, {"a": None, "b": None}, {}, {"a": 3, "b": ""}, None],
        ),
        "group": (pa.string(), ["eu/w", "a=b %", "eu/w", "", None]),
    }
    repeated = {name: pa.array(values * 2, kind) for name, (kind, values) in columns.items()}
    return pa.table({"id": pa.array(range(10), pa.int64()), **repeated})


@pytest.mark.slow
def test_every_type_gives_the_findings_that_it_gives_in_parquet(tmp_path: Path) -> None:
    """Times are in a zone with summer time, the tables are partitioned by a text with special characters."""
    table = ugly()
    pq.write_table(table, tmp_path / "orders.parquet")
    Delta(tmp_path).write("delta", table, partition_by=["group"])
    Iceberg(tmp_path).write("orders", table, "group")
    sources = {
        "files": {"type": "files"},
        "delta": {"type": "delta", "root": "lake"},
        "iceberg": {"type": "iceberg", "root": "lake", "options": {"uri": "sqlite:///catalog.db"}},
    }
    places = {"files": {"path": "orders.parquet"}, "delta": {"path": "delta"}, "iceberg": {"table": "shop.orders"}}
    plain = {name: {"source": name, "id": "id", "timezone": "Europe/Berlin", **at} for name, at in places.items()}
    repeated = {f"{name}-twin": {**dataset, "id": "whole"} for name, dataset in plain.items()}
    datasets = plain | repeated
    fixed = {"kind": "duplicates", "where": "small <> 7", "max_share": "100%"}
    rules = {name: {**fixed, "dataset": name, "key": "all" if name in plain else ["flag"]} for name in datasets}
    (tmp_path / "reconcile.yaml").write_text(json.dumps({"sources": sources, "datasets": datasets, "rules": rules}))

    with load(tmp_path / "reconcile.yaml", {}) as application:
        records = {name: contents(application, name, table.column_names) for name in plain}
    answer = Project(tmp_path)("run", "--json", "--quiet")

    assert records["delta"] == records["files"]
    assert records["iceberg"] == records["files"]
    for tail in ("", "-twin"):
        parquet = facts(answer.json, f"files{tail}")
        assert (parquet["read"], parquet["groups"]) == (10, 1 if tail else 3)
        ids = {entry["reason"] for entry in parquet["skipped"] if entry["column"] == "id"}
        assert ids == ({"not unique", "null"} if tail else set())
        assert facts(answer.json, f"delta{tail}") == parquet
        assert facts(answer.json, f"iceberg{tail}") == parquet


def contents(application: Application, dataset: str, columns: list[str]) -> list[str]:
    """Every record as a rule reads it, in the order of ids; what is not a number has no other text."""
    subject = application.subject(dataset)
    scan = subject.source.scan(subject.dataset.settings, columns)
    table = scan.reader.read_all()
    scan.close()
    types = str([field.type for field in table.schema])
    return [types, *(str(row) for row in sorted(table.to_pylist(), key=lambda row: row["id"]))]


def facts(report: dict[str, Any], name: str) -> dict[str, Any]:
    """What a rule reported, but for its name, its time and its source."""
    [rule] = [rule for rule in report["rules"] if rule["rule"] == name]
    kept = ("read", "scanned", "skipped", "groups", "findings", "failed")
    findings = [finding for finding in report["findings"] if finding["rule"] == name]
    members = sorted([finding["keeper"], *finding["surplus"]] for finding in findings)
    keys = sorted(str(finding["key"]) for finding in findings)
    return {**{key: rule.get(key) for key in kept}, "members": members, "keys": keys}


# One version


@pytest.mark.slow
def test_a_run_reads_one_version_while_writers_commit(tmp_path: Path) -> None:
    """A second read and a longer one see what the first one saw; the next run sees the newest version."""
    lake, many = Delta(tmp_path), pa.table({"id": range(200_000)})
    lake.write("orders", many)
    opened = lake.source()
    scan = opened.scan(ORDERS, ["id"])
    first = scan.reader.read_next_batch().num_rows
    lake.write("orders", FEW.select(["id"]), mode="overwrite")

    assert first + sum(batch.num_rows for batch in scan.reader) == 200_000
    scan.close()
    assert len(read(opened, ORDERS)) == 200_000
    assert (opened.version(ORDERS), opened.content(ORDERS, lambda _: None)[-9:]) == ("version 0", "version 0")
    opened.renew()
    assert (len(read(opened, ORDERS)), opened.version(ORDERS)) == (3, "version 1")


def test_an_iceberg_run_reads_one_snapshot_while_writers_commit(tmp_path: Path) -> None:
    lake = Iceberg(tmp_path)
    table = lake.write("orders", FEW)
    opened = lake.source()
    before = opened.version(SHOP_ORDERS)
    table.append(FEW)
    with table.update_schema() as update:
        update.rename_column("name", "called")

    assert read(opened, SHOP_ORDERS) == FEW.to_pylist()
    assert opened.version(SHOP_ORDERS) == before
    opened.renew()
    assert [row["called"] for row in read(opened, SHOP_ORDERS)] == ["a", "a", "b", "b", "c", "c"]
    assert opened.version(SHOP_ORDERS) == f"snapshot {table.current_snapshot().snapshot_id}"


def test_files_that_a_cleanup_removed_are_told_as_such(tmp_path: Path) -> None:
    delta, iceberg = Delta(tmp_path), Iceberg(tmp_path)
    delta.write("orders", FEW)
    iceberg.write("orders", FEW)
    for opened, dataset in ((delta.source(), ORDERS), (iceberg.source(), SHOP_ORDERS)):
        version = opened.version(dataset)
        for path in (tmp_path / "lake").rglob("*.parquet"):
            path.unlink()

        with pytest.raises(FilesGone, match=f"lost files of {version} while it was read") as gone:
            read(opened, dataset)
        assert gone.value.reaction is Reaction.RETRY


@pytest.mark.slow
def test_a_table_is_read_again_after_a_commit_and_its_version_is_recorded(tmp_path: Path) -> None:
    lake = Delta(tmp_path)
    lake.write("orders", pa.table({"id": [1, 2], "name": ["a", "a"]}))
    written = {
        "sources": {"lake": {"type": "delta", "root": "lake"}},
        "datasets": {"orders": {"source": "lake", "path": "orders", "id": "id", "incremental": {"by": "content"}}},
        "rules": {"twice": {"kind": "duplicates", "dataset": "orders", "key": ["name"], "max_share": "100%"}},
    }
    (tmp_path / "reconcile.yaml").write_text(json.dumps(written))
    with load(tmp_path / "reconcile.yaml", {}) as application:
        outcomes = []
        for commits in (0, 0, 1):
            for _ in range(commits):
                lake.write("orders", pa.table({"id": [3], "name": ["a"]}), mode="append")
            [report] = application.run_all()
            outcomes += report.rules

    assert [(each.mode, each.versions, each.groups) for each in outcomes if isinstance(each, RuleResult)] == [
        ("full", {"orders": "version 0"}, 1),
        ("unchanged", {"orders": "version 0"}, 1),
        ("full", {"orders": "version 1"}, 1),
    ]
    assert outcomes[2].findings.grown == 1  # type: ignore[union-attr]


# Deleted rows and changed schemas


@pytest.mark.slow
def test_deleted_rows_are_not_read(tmp_path: Path) -> None:
    """By deletion vectors of Delta, and by positions and deletion vectors of Iceberg, in files of several pieces."""
    many = pa.table({"id": range(200_000), "name": [f"{number:020}" for number in range(200_000)]})
    gone = {0, 7, 150_000, 199_999, *range(70_000, 80_000)}
    delta, iceberg = Delta(tmp_path), Iceberg(tmp_path)
    delta.write("orders", many)
    delta.delete_rows("orders", gone)
    positions, vector = (iceberg.write(name, many) for name in ("positions", "vector"))
    iceberg.delete_rows(positions, sorted(gone)[:5])
    iceberg.delete_rows(positions, sorted(gone)[3:])
    iceberg.delete_rows(vector, gone, puffin=True)
    expected = set(range(200_000)) - gone

    assert {row["id"] for row in read(delta.source(), ORDERS, "id")} == expected
    for name in ("positions", "vector"):
        assert {row["id"] for row in read(iceberg.source(), IcebergDataset(table=f"shop.{name}"), "id")} == expected


def test_columns_that_were_added_renamed_and_widened_are_read_as_they_are_now(tmp_path: Path) -> None:
    lake = Iceberg(tmp_path)
    table = lake.write("orders", pa.table({"id": pa.array([1], pa.int32()), "name": ["a"], "dropped": ["x"]}))
    with table.update_schema() as update:
        update.rename_column("name", "called")
        update.update_column("id", LongType())
        update.delete_column("dropped")
    with table.update_schema() as update:
        update.add_column("dropped", StringType())
    table.append(pa.table({"id": [2**40], "called": ["b"], "dropped": ["y"]}))

    rows = [{"id": 1, "called": "a", "dropped": None}, {"id": 2**40, "called": "b", "dropped": "y"}]
    assert read(lake.source(), SHOP_ORDERS) == rows
    assert [list(row.values()) for row in read(lake.source(), SHOP_ORDERS, "dropped", "id")] == [
        ["y", 2**40],
        [None, 1],
    ]


def test_a_renamed_column_of_delta_is_read_by_its_name(tmp_path: Path) -> None:
    lake = Delta(tmp_path)
    lake.write("orders", FEW)
    lake.write("orders", FEW.append_column("more", pa.array([1, 2, 3])), mode="append", schema_mode="merge")
    called = 'it\'s "called"'
    lake.rename("orders", {"name": called})

    rows = read(lake.source(), ORDERS, "more", called)

    assert sorted((row[called], row["more"]) for row in rows if row["more"]) == [("a", 1), ("b", 2), ("c", 3)]
    assert [row[called] for row in rows if row["more"] is None] == ["a", "b", "c"]
    with pytest.raises(ColumnMissing, match="has no column 'name'"):
        read(lake.source(), ORDERS, "name")


@pytest.mark.slow
def test_tables_without_records_are_empty(tmp_path: Path) -> None:
    """Without a snapshot, with files of no rows, and with all rows deleted."""
    delta, iceberg = Delta(tmp_path), Iceberg(tmp_path)
    delta.write("orders", FEW)
    delta.delete_rows("orders", range(3))
    delta.write("none", FEW.slice(0, 0))
    iceberg.catalog.create_table("shop.orders", FEW.schema)
    iceberg.write("none", FEW.slice(0, 0))

    assert read(delta.source(), ORDERS) == read(delta.source(), DeltaDataset(path="none")) == []
    assert read(iceberg.source(), SHOP_ORDERS) == read(iceberg.source(), IcebergDataset(table="shop.none")) == []
    assert iceberg.source().version(SHOP_ORDERS) == "no snapshot"


# What is refused


@pytest.mark.parametrize(
    ("features", "sentence"),
    [
        (["typeWidening"], "needs TypeWidening, which deltalake cannot read; read it with a source of type `spark`"),
        (["inventedLater"], "needs inventedLater, which deltalake cannot read"),
        (["catalogManaged"], "needs catalog-managed, which deltalake cannot read"),
    ],
)
def test_a_table_with_a_feature_that_the_library_lacks_is_refused(
    features: list[str], sentence: str, tmp_path: Path
) -> None:
    lake = Delta(tmp_path)
    lake.write("orders", FEW)
    lake.require("orders", *features)

    with pytest.raises(TableRefused) as refused:
        read(lake.source(), ORDERS)
    assert str(refused.value).startswith("Table orders of source 'lake' is not read: it " + sentence)


def test_equality_deletes_are_refused(tmp_path: Path) -> None:
    lake = Iceberg(tmp_path)
    table = lake.write("orders", FEW)
    path = tmp_path / "lake" / "equal.parquet"
    pq.write_table(pa.table({"id": [1]}), path)
    form, content = FileFormat.PARQUET, DataFileContent.EQUALITY_DELETES
    deletes(table, data_file(f"file://{path}", form, 1, path.stat().st_size, content=content, equality_ids=[1]))

    with pytest.raises(TableRefused, match="it has equality deletes, which pyiceberg cannot read; compact it first"):
        read(lake.source(), SHOP_ORDERS)


@pytest.mark.parametrize("statement", ["3", "null"])
def test_records_are_counted_against_the_log(statement: str, tmp_path: Path) -> None:
    """A log that says nothing is believed."""
    lake = Delta(tmp_path)
    lake.write("orders", FEW)
    added = lake.added("orders")
    (lake.path("orders") / added["path"]).rename(lake.path("orders") / "b.parquet")
    statistics = json.dumps({"numRecords": 4}) if statement == "3" else None
    removed = {"path": added["path"], "deletionTimestamp": 0, "dataChange": True}
    lake.commit("orders", {"remove": removed}, {"add": {**added, "path": "b.parquet", "stats": statistics}})

    if statistics is None:
        assert len(read(lake.source(), ORDERS)) == 3
    else:
        with pytest.raises(RecordsLost, match="holds 4 records, but 3 were read"):
            read(lake.source(), ORDERS)


def test_a_value_of_a_record_is_in_no_error(tmp_path: Path) -> None:
    """A file whose texts stand where the log promises numbers."""
    lake = Delta(tmp_path)
    lake.write("orders", FEW)
    path = lake.path("orders") / "text.parquet"
    pq.write_table(pa.table({"id": [SECRET], "name": ["a"]}), path)
    lake.commit("orders", {"add": {**lake.added("orders"), "path": path.name, "size": path.stat().st_size}})

    with pytest.raises(TableRefused, match=r"deltalake could not read it \(.*Cast error") as refused:
        read(lake.source(), ORDERS)
    assert SECRET not in str(refused.value)


# Nothing outside the root


OUTSIDE = ("../../out.parquet", "{root}/out.parquet", "file://{root}/out.parquet", "%2e%2e/%2e%2e/out.parquet",
           "a\\..\\..\\..\\out.parquet")  # fmt: skip


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_log_that_names_files_outside_its_folder_is_refused(path: str, tmp_path: Path) -> None:
    lake = Delta(tmp_path)
    lake.write("orders", FEW)
    pq.write_table(FEW, tmp_path / "out.parquet")
    size = (tmp_path / "out.parquet").stat().st_size
    lake.commit("orders", {"add": {**lake.added("orders"), "path": path.format(root=tmp_path), "size": size}})

    with pytest.raises(FileRefused, match="its log names files outside its folder, as in a shallow clone"):
        read(lake.source(), ORDERS)


@pytest.mark.parametrize("part", ["", "_delta_log", "_delta_log/00000000000000000000.json", "*.parquet"])
def test_a_link_to_a_place_outside_the_root_is_not_followed(part: str, tmp_path: Path) -> None:
    lake = Delta(tmp_path)
    lake.write("orders", FEW)
    [inside] = [lake.path("orders")] if not part else lake.path("orders").glob(part)
    inside.rename(tmp_path / "out")
    inside.symlink_to(tmp_path / "out")

    with pytest.raises(FileRefused, match="it is outside the root of its source; copy it there or widen `root`"):
        read(lake.source(), ORDERS)


def test_an_iceberg_table_outside_the_root_is_not_read(tmp_path: Path) -> None:
    """Also if only its data is elsewhere, by a link."""
    lake = Iceberg(tmp_path)
    lake.write("orders", FEW)
    (tmp_path / "elsewhere").mkdir()

    with pytest.raises(FileRefused, match=r"metadata.json is not read: it is outside the root"):
        read(lake.source(root="elsewhere"), SHOP_ORDERS)
    data = tmp_path / "lake" / "shop" / "orders" / "data"
    data.rename(tmp_path / "elsewhere" / "data")
    data.symlink_to(tmp_path / "elsewhere" / "data")
    with pytest.raises(FileRefused, match="parquet is not read: it is outside the root"):
        read(lake.source(), SHOP_ORDERS)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"root": "hdfs://host/lake"}, "'hdfs:' is not an address of tables"),
        ({"root": "https://host/lake"}, "'https:' is not an address of tables"),
        ({"path": "../lake"}, "relative to `root`, without .."),
        ({"path": "/lake"}, "relative to `root`, without .."),
        ({"path": "s3://bucket"}, "relative to `root`, without .."),
        ({"table": "orders"}, "write namespace.table"),
    ],
)
def test_a_place_that_cannot_be_read_is_a_mistake_of_the_configuration(settings: Any, sentence: str) -> None:
    model = {"root": DeltaSettings, "path": DeltaDataset, "table": IcebergDataset}[next(iter(settings))]

    with pytest.raises(ValidationError, match=sentence):
        model.model_validate({"type": "delta", **settings} if "root" in settings else settings)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    lake = Iceberg(tmp_path)
    lake.write("orders", FEW)

    with pytest.raises(SourceMissing, match=r"nowhere.db: file not found. Nothing was created"):
        read(lake.source(options={"uri": "sqlite:///nowhere.db"}), SHOP_ORDERS)
    assert not (tmp_path / "nowhere.db").exists()
    with pytest.raises(SourceMissing, match="folder not found"):
        read(Delta(tmp_path).source(root="nowhere"), ORDERS)
    with pytest.raises(DatasetMissing, match="there are no others"):
        read(Delta(tmp_path).source(), ORDERS)


def test_a_store_that_does_not_answer_is_told_without_its_keys(tmp_path: Path) -> None:
    keys = {"aws_access_key_id": "AKIA-" + SECRET, "aws_secret_access_key": SECRET, "aws_region": "eu-central-1"}
    store = {"aws_endpoint_url": "http://127.0.0.1:9", "aws_allow_http": "true", "max_retries": "0"}
    lake = Delta(tmp_path).source(root="s3://bucket/lake", options=keys | store)

    with pytest.raises(SourceUnreachable, match=r"did not answer at s3://bucket/lake: .*Connection refused") as down:
        read(lake, ORDERS)
    assert SECRET not in str(down.value)
    assert SECRET not in repr(vars(lake)["_place"])
