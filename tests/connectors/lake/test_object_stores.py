"""Lakes in an object store, on a server that speaks S3's protocol: `moto_server`, if it is installed."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import requests
from deltalake import write_deltalake
from pyarrow.fs import FileSelector, S3FileSystem
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO

from connectors.base import ColumnComparison
from connectors.errors import AccessDenied, ConnectorError, DatasetMissing, SourceMissing, SourceUnreachable
from connectors.lake.delta import DeltaDataset, DeltaSettings, DeltaSource
from connectors.lake.errors import FilesGone, TableRefused
from connectors.lake.iceberg import IcebergDataset, IcebergSettings, IcebergSource
from tests.connectors.lake.tables import read
from tests.connectors.spark.cluster import free_port
from tests.support.cli import Project

KEY, SECRET = "AKIA0123456789", "hunter2/hunter2+=#ä"
ORDERS = DeltaDataset(path="orders of 2026")
SHOP_ORDERS = IcebergDataset(table="shop.orders")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("moto_server") is None, reason="moto_server is not installed"),
]


class SmallFileIO(PyArrowFileIO):
    """Writes small files in one request; moto refuses Arrow's uploads in parts."""

    def _initialize_fs(self, scheme: str, netloc: str | None = None) -> S3FileSystem:  # noqa: ARG002 - the library's
        return Store(self.properties["s3.endpoint"]).files


class Store:
    """A bucket `lake`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.files = S3FileSystem(
            access_key=KEY,
            secret_key=SECRET,
            endpoint_override=url,
            region="us-east-1",
            allow_bucket_creation=True,
            allow_delayed_open=True,
        )

    @property
    def delta_options(self) -> dict[str, str]:
        keys = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "aws_region": "us-east-1"}
        return {**keys, "aws_endpoint_url": self.url, "aws_allow_http": "true", "max_retries": "1"}

    @property
    def iceberg_options(self) -> dict[str, str]:
        keys = {"s3.access-key-id": KEY, "s3.secret-access-key": SECRET, "s3.region": "us-east-1"}
        return {"uri": "sqlite:///catalog.db", **keys, "s3.endpoint": self.url, "s3.connect-timeout": "1"}

    def write_delta(self, records: pa.Table, **options: Any) -> None:
        storage = {**self.delta_options, "aws_conditional_put": "etag"}
        write_deltalake("s3://lake/sales/orders of 2026", records, storage_options=storage, **options)

    def write_iceberg(self, folder: Path, records: pa.Table) -> None:
        options = {**self.iceberg_options, "uri": f"sqlite:///{folder}/catalog.db"}
        catalog = SqlCatalog(
            "default",
            warehouse="s3://lake/ice",
            **options,
            **{"py-io-impl": f"{SmallFileIO.__module__}.{SmallFileIO.__name__}"},
        )
        catalog.create_namespace_if_not_exists("shop")
        catalog.create_table_if_not_exists("shop.orders", schema=records.schema).append(records)

    def remove(self, suffix: str) -> None:
        for file in self.files.get_file_info(FileSelector("lake", recursive=True)):
            if file.path.endswith(suffix):
                self.files.delete_file(file.path)

    def delta(self, root: str = "s3://lake/sales", **options: str) -> DeltaSource:
        settings = {"type": "delta", "root": root, "options": {**self.delta_options, **options}}
        return DeltaSource("lake", DeltaSettings.model_validate(settings), Path())

    def iceberg(self, folder: Path, **options: str) -> IcebergSource:
        settings = {"type": "iceberg", "options": {**self.iceberg_options, **options}}
        return IcebergSource("shop", IcebergSettings.model_validate(settings), folder)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    port = free_port()
    command = ["moto_server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(url)
        yield url
    finally:
        process.terminate()
        process.wait()


def _wait_for(url: str) -> None:
    for _ in range(300):
        try:
            requests.get(f"{url}/moto-api/", timeout=10)
        except requests.ConnectionError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(url)


@pytest.fixture
def store(server: str) -> Store:
    requests.post(f"{server}/moto-api/reset", timeout=10)
    requests.post(f"{server}/moto-api/reset-auth", data="inf", timeout=10)
    store = Store(server)
    store.files.create_dir("lake")
    return store


FEW = pa.table({"id": [1, 2, 3], "area": ["a b", "ü%", "ü%"]})


def test_tables_are_read_and_files_left_out_as_in_a_folder(store: Store, tmp_path: Path) -> None:
    for part in (FEW.slice(1), FEW.slice(0, 1), FEW.slice(0, 1)):
        store.write_delta(part, mode="append", partition_by=["area"])
        store.write_iceberg(tmp_path, part)
    for source, dataset in ((store.delta(), ORDERS), (store.iceberg(tmp_path), SHOP_ORDERS)):
        assert [row["id"] for row in read(source, dataset)] == [1, 1, 2, 3]
        scan = source.select(dataset, ["id"], [ColumnComparison("area", "=", ("a b",))])
        rows = scan.reader.read_all()["id"].to_pylist()
        scan.close()
        assert (rows, scan.left_out) == ([1, 1], 2)


def test_a_run_reads_one_version_and_skips_one_that_it_has_read(store: Store, tmp_path: Path) -> None:
    """Keys come from the environment; they are in no answer of a command, no log and no file."""
    store.write_delta(FEW)
    store.write_iceberg(tmp_path, FEW)
    keys = {"aws_secret_access_key": "${secret:SECRET_KEY}", "aws_access_key_id": "${secret:ACCESS_KEY}"}
    secret = {"s3.secret-access-key": "${secret:SECRET_KEY}", "s3.access-key-id": "${secret:ACCESS_KEY}"}
    fixed = {"id": "id", "incremental": {"by": "content"}}
    written = {
        "sources": {
            "delta": {"type": "delta", "root": "s3://lake/sales", "options": {**store.delta_options, **keys}},
            "iceberg": {"type": "iceberg", "options": {**store.iceberg_options, **secret}},
        },
        "datasets": {
            "delta": {"source": "delta", "path": ORDERS.path, **fixed},
            "iceberg": {"source": "iceberg", "table": SHOP_ORDERS.table, **fixed},
        },
        "rules": {
            name: {"kind": "duplicates", "dataset": name, "key": ["area"], "max_share": "100%"}
            for name in ("delta", "iceberg")
        },
    }
    (tmp_path / "reconcile.yaml").write_text(json.dumps(written))
    project = partial(Project(tmp_path), SECRET_KEY=SECRET, ACCESS_KEY=KEY)

    modes = []
    for run in range(3):
        if run == 2:
            store.write_delta(FEW, mode="append")
            store.write_iceberg(tmp_path, FEW)
        modes.append([rule["mode"] for rule in project("run", "--json", "--quiet").json["rules"]])
    told = [project(*command).said for command in (("check",), ("explain", "delta"), ("doctor",), ("audit", "log"))]
    store.remove(".parquet")
    store.write_delta(FEW, mode="append")
    told.append(project("run").said)

    assert modes == [["full"] * 2, ["unchanged"] * 2, ["full"] * 2]
    assert "lost files of" in told[-1]
    assert not [text for text in told if SECRET in text or KEY in text]
    stored = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "catalog.db"]
    assert not [content for content in stored if SECRET.encode() in content or KEY.encode() in content]


def test_the_state_of_a_table_changes_with_its_version(store: Store, tmp_path: Path) -> None:
    """Also while a run reads an older one."""
    store.write_delta(FEW)
    store.write_iceberg(tmp_path, FEW)
    for source, dataset in ((store.delta(), ORDERS), (store.iceberg(tmp_path), SHOP_ORDERS)):
        version, before = source.version(dataset), source.state(dataset)
        assert source.state(dataset) == before
        store.write_delta(FEW, mode="append")
        store.write_iceberg(tmp_path, FEW)
        assert source.state(dataset) != before
        assert source.version(dataset) == version
    assert store.delta().state(DeltaDataset(path="none")) is None
    assert store.iceberg(tmp_path).state(IcebergDataset(table="shop.none")) is None


def test_a_table_that_is_deleted_while_it_is_read_is_told_as_such(store: Store, tmp_path: Path) -> None:
    store.write_delta(FEW)
    store.write_iceberg(tmp_path, FEW)
    tables = ((store.delta(), ORDERS), (store.iceberg(tmp_path), SHOP_ORDERS))
    for source, dataset in tables:
        source.version(dataset)
    store.remove(".parquet")
    store.remove(".json")

    for source, dataset in tables:
        with pytest.raises(FilesGone, match=r"lost files of (version 0|snapshot [0-9]+) while it was read"):
            read(source, dataset)
        source.renew()
    with pytest.raises(DatasetMissing, match="has no table orders of 2026"):
        read(*tables[0])
    with pytest.raises(TableRefused, match="files with its metadata do not exist; perhaps it was deleted"):
        read(*tables[1])


def test_a_store_that_refuses_is_told_without_its_keys(store: Store, tmp_path: Path) -> None:
    store.write_delta(FEW)
    store.write_iceberg(tmp_path, FEW)
    nowhere = "http://127.0.0.1:9"
    errors: list[tuple[Any, Any, type[ConnectorError], str]] = [
        (store.delta("s3://nowhere/sales"), ORDERS, SourceMissing, "the object store has no such bucket"),
        (store.delta(aws_endpoint_url=nowhere), ORDERS, SourceUnreachable, "Connection refused"),
        (store.iceberg(tmp_path, **{"s3.endpoint": nowhere}), SHOP_ORDERS, SourceUnreachable, "Could not connect"),
    ]
    for source, dataset, expected, sentence in errors:
        with pytest.raises(expected, match=sentence) as refused:
            read(source, dataset)
        assert SECRET not in str(refused.value)
        assert KEY not in str(refused.value)
    _require_rights(store)
    for source, dataset in ((store.delta(), ORDERS), (store.iceberg(tmp_path), SHOP_ORDERS)):
        with pytest.raises(AccessDenied, match="its user has no right to read it") as denied:
            read(source, dataset)
        assert KEY not in str(denied.value)


def _require_rights(store: Store) -> None:
    """Let the server check keys from now on, until it is reset."""
    requests.post(f"{store.url}/moto-api/reset-auth", data="0", timeout=10)
