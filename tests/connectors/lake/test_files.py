"""Source `files` refuses the Parquet files of Delta and Iceberg tables: some of their rows are deleted or outdated."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connectors.errors import FileRefused
from connectors.files.connector import FilesConnector, FilesDataset, FilesSettings
from connectors.files.source import FilesSource
from connectors.lake.delta import DeltaDataset, DeltaSettings, DeltaSource
from tests.connectors.lake.tables import Delta, Iceberg, read
from tests.support.cli import Project

ROWS = pa.table({"id": [1, 2, 3], "day": ["mon", "mon", "tue"]})
BECAUSE = "so its rows may be deleted or outdated"


def files(folder: Path, root: str = ".") -> FilesSource:
    return FilesConnector.open("files", FilesSettings(type="files", root=root), folder)


def refusal(source: FilesSource, path: str) -> str:
    with pytest.raises(FileRefused) as refused:
        source.describe(FilesDataset(path=path, format="parquet"))
    return str(refused.value)


def part(folder: Path) -> Path:
    return sorted(folder.rglob("*.parquet"))[0]


@pytest.mark.parametrize("partitions", [[], ["day"]])
@pytest.mark.parametrize("root", [".", "lake", "lake/sales/orders"])
def test_files_of_a_delta_table_are_refused_with_settings_that_read_it(
    root: str, partitions: list[str], tmp_path: Path
) -> None:
    """By a pattern and by name, in folders of partitions too; the named settings read the current rows only."""
    lake = Delta(tmp_path)
    lake.write("sales/orders", ROWS, partition_by=partitions)
    lake.write("sales/orders", ROWS.slice(0, 1), partition_by=partitions, mode="overwrite")
    place = lake.path("sales/orders").relative_to(tmp_path / root).as_posix()
    expected = (
        f"it belongs to the Delta table in {lake.path('sales/orders')}, {BECAUSE}; read the table with a source of "
        f"`type: delta` with the same `root` and a dataset with `path: {place}`"
    )

    for path in ("**/*.parquet", part(lake.path("sales/orders")).relative_to(tmp_path / root).as_posix()):
        assert refusal(files(tmp_path, root), path).endswith(expected)
    named = DeltaSource("lake", DeltaSettings(type="delta", root=root), tmp_path)
    assert read(named, DeltaDataset(path=place)) == [{"id": 1, "day": "mon"}]


def test_a_root_below_a_table_and_links_into_one_are_refused_too(tmp_path: Path) -> None:
    lake = Delta(tmp_path)
    lake.write("orders", ROWS, partition_by=["day"])
    (tmp_path / "file.parquet").symlink_to(part(lake.path("orders")))
    (tmp_path / "folder").symlink_to(lake.path("orders") / "day=mon")

    settings = f"a source of `type: delta` with `root: {tmp_path}/lake` and a dataset with `path: orders`"
    assert refusal(files(tmp_path, "lake/orders/day=mon"), "*.parquet").endswith(settings)
    for path in ("file.parquet", "folder/*.parquet"):
        assert "belongs to the Delta table" in refusal(files(tmp_path), path)


@pytest.mark.parametrize("partitions", [[], ["day"]])
@pytest.mark.parametrize("root", ["lake", "lake/shop/orders/data"])
def test_files_of_an_iceberg_table_are_refused(root: str, partitions: list[str], tmp_path: Path) -> None:
    Iceberg(tmp_path).write("orders", ROWS, *partitions)

    assert refusal(files(tmp_path, root), "**/*.parquet").endswith(
        f"it belongs to the Iceberg table in {tmp_path}/lake/shop/orders, {BECAUSE}; read the table with a source of "
        "`type: iceberg` with its catalogue and a dataset with `table: NAMESPACE.TABLE`"
    )


@pytest.mark.slow
def test_files_beside_a_table_and_folders_named_like_those_of_one_are_read(tmp_path: Path) -> None:
    Delta(tmp_path).write("orders", ROWS)
    for folder in ("lake/plain", "lake/named/metadata", "lake/named/_delta_logs"):
        (tmp_path / folder).mkdir(parents=True)
    pq.write_table(ROWS, tmp_path / "lake/plain/a.parquet")
    pq.write_table(ROWS, tmp_path / "lake/named/b.parquet")
    (tmp_path / "lake/named/metadata/notes.json").write_text("{}")
    (tmp_path / "lake/orders/notes.csv").write_text("id\n7\n")

    for path, ids in (("plain/*.parquet", [1, 2, 3]), ("named/b.parquet", [1, 2, 3]), ("orders/notes.csv", ["7"])):
        rows = read(files(tmp_path, "lake"), FilesDataset(path=path), "id")
        assert [row["id"] for row in rows] == ids


def test_an_unchanged_dataset_is_not_skipped_if_its_files_belong_to_a_table(tmp_path: Path) -> None:
    Delta(tmp_path).write("orders", ROWS)

    with pytest.raises(FileRefused, match=BECAUSE):
        files(tmp_path).content(FilesDataset(path="lake/orders/*.parquet"), lambda _: None)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A configuration that reads the files of a Delta table."""
    Delta(tmp_path).write("orders", ROWS, partition_by=["day"])
    Delta(tmp_path).write("flat", ROWS)
    Delta(tmp_path).write("flat", ROWS, mode="append")
    dataset = {"source": "files", "path": "lake/orders/*/*.parquet", "partitions": True, "id": "id"}
    written: dict[str, Any] = {
        "sources": {"files": {"type": "files"}, "flat": {"type": "files", "root": "lake/flat"}},
        "datasets": {"orders": dataset},
        "rules": {"twice": {"kind": "duplicates", "dataset": "orders", "key": ["day"]}},
    }
    return Project(tmp_path).write(json.dumps(written))


@pytest.mark.parametrize("words", [("check",), ("run",), ("doctor",), ("suggest", "orders")])
def test_commands_refuse_them_in_one_sentence(words: tuple[str, ...], project: Project) -> None:
    answer = project(*words)

    assert answer.said.count(BECAUSE) == 1
    assert "Traceback" not in answer.said
    assert answer.code != 0 or words[0] in ("doctor", "suggest")  # what they cannot read is skipped


@pytest.mark.slow
def test_suggest_names_the_files_of_a_table_once(project: Project) -> None:
    [first, _] = sorted((project.folder / "lake/flat").glob("*.parquet"))

    by_source, by_file = project("suggest", "flat"), project("suggest", f"lake/flat/{first.name}")
    by_folder = project("suggest", "lake/flat")

    for answer in (by_source, by_file):
        assert answer.said.count(BECAUSE) == 1
    assert "type: delta" in by_folder.out
    assert BECAUSE not in by_folder.said
