"""A lake table that is overwritten, cleaned up or deleted during a run: one version or one sentence, and no loss."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from connectors.errors import Reaction
from connectors.lake.delta import DeltaDataset
from connectors.lake.errors import FilesGone
from connectors.lake.iceberg import IcebergDataset
from tests.connectors.lake.tables import Delta, Iceberg, read
from tests.support.cli import Project

pytestmark = pytest.mark.slow

ORDERS = DeltaDataset(path="orders")
SHOP_ORDERS = IcebergDataset(table="shop.orders")
ROWS = 300_000
FILES = 3
MANY = pa.table({"id": range(ROWS), "name": [f"{number:040}" for number in range(ROWS)]})
FEW = MANY.slice(0, 2)


class DeltaTables:
    dataset = ORDERS

    def __init__(self, folder: Path) -> None:
        self._lake = Delta(folder)
        for _ in range(FILES):
            self._lake.write("orders", MANY, mode="append")
        self.source: Any = self._lake.source()

    def overwrite(self) -> None:
        self._lake.write("orders", FEW, mode="overwrite")

    def clean_up(self) -> None:
        self.overwrite()
        table = DeltaTable(self._lake.path("orders"))
        assert table.vacuum(0, enforce_retention_duration=False, dry_run=False)

    def delete(self) -> None:
        shutil.rmtree(self._lake.path("orders"))

    def replace(self) -> None:
        self.delete()
        self._lake.write("orders", FEW)


class IcebergTables:
    dataset = SHOP_ORDERS

    def __init__(self, folder: Path) -> None:
        self._lake, self._folder = Iceberg(folder), folder / "lake" / "shop" / "orders"
        self._table = self._lake.write("orders", MANY)
        for _ in range(FILES - 1):
            self._table.append(MANY)
        self.source: Any = self._lake.source()

    def overwrite(self) -> None:
        self._table.overwrite(FEW)

    def clean_up(self) -> None:
        old = list((self._folder / "data").iterdir())
        self.overwrite()
        for path in old:
            path.unlink()

    def delete(self) -> None:
        self._lake.catalog.drop_table("shop.orders")
        shutil.rmtree(self._folder)

    def replace(self) -> None:
        self.delete()
        self._lake.write("orders", FEW)


@pytest.mark.parametrize("kind", [DeltaTables, IcebergTables])
@pytest.mark.parametrize("change", ["overwrite", "clean_up", "delete", "replace"])
def test_a_table_that_changes_in_the_middle_of_a_read(change: str, kind: Any, tmp_path: Path) -> None:
    """After an overwrite all records of the version are read; without its files the read fails as a whole."""
    table = kind(tmp_path)
    version = table.source.version(table.dataset)
    scan = table.source.scan(table.dataset, ["id", "name"])
    returned = scan.reader.read_next_batch().num_rows
    getattr(table, change)()

    if change == "overwrite":
        assert returned + sum(batch.num_rows for batch in scan.reader) == FILES * ROWS
    else:
        with pytest.raises(FilesGone, match=f"lost files of {version} while it was read, .*None of it was") as gone:
            for _ in scan.reader:
                pass
        assert gone.value.reaction is Reaction.RETRY
    scan.close()
    if change != "delete":
        table.source.renew()
        assert [row["id"] for row in read(table.source, table.dataset)] == [0, 1]


def test_the_version_is_looked_up_once(tmp_path: Path) -> None:
    """Neither the log of Delta nor the catalogue and the metadata of Iceberg is read again until the next run."""
    delta, iceberg = Delta(tmp_path), Iceberg(tmp_path)
    delta.write("orders", FEW)
    iceberg.write("orders", FEW)
    sources = ((delta.source(), ORDERS), (iceberg.source(), SHOP_ORDERS))
    for source, dataset in sources:
        source.describe(dataset)
    shutil.rmtree(delta.path("orders") / "_delta_log")
    iceberg.catalog.drop_table("shop.orders")
    for path in (tmp_path / "lake/shop/orders/metadata").glob("*.metadata.json"):
        path.unlink()

    for source, dataset in sources:
        for _ in range(2):
            assert read(source, dataset) == FEW.to_pylist()
        assert source.content(dataset, lambda _: None)


def delta_again(folder: Path) -> None:
    Delta(folder).write("orders", pa.table({"id": [1, 3], "name": ["a", "a"]}), mode="overwrite")


def iceberg_again(folder: Path) -> None:
    lake = Iceberg(folder)
    lake.catalog.drop_table("shop.orders")
    lake.write("orders", pa.table({"id": [1, 3], "name": ["a", "a"]}))


@pytest.mark.parametrize(
    ("lake", "dataset", "settings", "write_again"),
    [
        (Delta, {"path": "orders"}, {"type": "delta"}, delta_again),
        (Iceberg, {"table": "shop.orders"}, {"type": "iceberg", "options": {"uri": "sqlite:///catalog.db"}},
         iceberg_again),
    ],
    ids=["delta", "iceberg"],
)  # fmt: skip
def test_a_run_without_the_files_of_its_version_fails_and_keeps_the_findings(
    lake: Any, dataset: Any, settings: Any, write_again: Callable[[Path], None], tmp_path: Path
) -> None:
    lake(tmp_path).write("orders", pa.table({"id": [1, 2], "name": ["a", "a"]}))
    orders = {"source": "lake", "id": "id", **dataset}
    rule = {"kind": "duplicates", "dataset": "orders", "key": ["name"], "max_share": "100%"}
    written = {
        "sources": {"lake": {"root": "lake", **settings}},
        "datasets": {"orders": orders},
        "rules": {"twice": rule},
    }
    project = Project(tmp_path).write(json.dumps(written))
    [finding] = project("run", "--json").json["findings"]
    for path in (tmp_path / "lake").rglob("*.parquet"):
        path.unlink()

    lost = project("run")
    kept = project("findings", "--json").json
    write_again(tmp_path)
    after = project("run", "--json").json

    assert lost.code != 0
    assert lost.said.count("lost files of") == 1
    assert "Traceback" not in lost.said
    assert finding["id"] in json.dumps(kept)
    assert '"open"' in json.dumps(kept)
    [grown] = [each for each in after["findings"] if each["id"] == finding["id"]]
    assert (grown["state"], grown["surplus"]) == ("open", [[3]])
