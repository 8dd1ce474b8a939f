"""Files that strangers name and swap: what is read is the file that was checked, and nothing outside the root."""

import gzip
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from connectors.errors import ConnectorError, DatasetMissing, FileRefused
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource
from tests.support.chance import few
from tests.support.files import by_duckdb, records

pytestmark = pytest.mark.slow

CANARY = "canary-of-the-outside"
FORMATS = ("csv", "csv.gz", "jsonl", "parquet", "utf16.csv")
SECONDS = float(os.environ.get("RECONCILE_RACE_SECONDS") or few(1, 3))
SWAP = """
import os, sys
live, good, bad = sys.argv[1:]
print("ready", flush=True)
number = 0
while os.getppid() == int(os.environ["PARENT"]):
    for source in (bad, good):
        number += 1
        os.symlink(source, f"{live}.{number}") if source == bad else os.link(source, f"{live}.{number}")
        os.replace(f"{live}.{number}", live)
"""
SWAP_FOLDER = """
import os, sys
live, good, bad = sys.argv[1:]
print("ready", flush=True)
while os.getppid() == int(os.environ["PARENT"]):
    os.symlink(bad, live)
    os.unlink(live)
    os.rename(good, live)
    os.rename(live, good)
"""


def put(path: Path, text: str, rows: int = 3) -> Path:
    """A file of that format, each record of which holds the text."""
    form = path.name.partition(".")[2]
    if form == "parquet":
        pq.write_table(pa.table({"who": [text] * rows}), path)
    elif form == "xlsx":
        with xlsxwriter.Workbook(path) as book:
            book.add_worksheet("S").write_column(0, 0, ["who", *[text] * rows])
    elif form == "jsonl":
        path.write_text(f'{{"who": "{text}"}}\n' * rows)
    else:
        content = "who\n" + f"{text}\n" * rows
        data = content.encode("utf-16" if form == "utf16.csv" else "utf-8")
        path.write_bytes(gzip.compress(data) if form == "csv.gz" else data)
    return path


@contextmanager
def swapping(code: str, *paths: Path) -> Iterator[None]:
    """Another process that puts one thing and another in the same place, as fast as it can."""
    environ = os.environ | {"PARENT": str(os.getpid())}
    with subprocess.Popen([sys.executable, "-c", code, *map(str, paths)], stdout=subprocess.PIPE, env=environ) as swap:
        assert swap.stdout is not None
        swap.stdout.readline()
        try:
            yield
        finally:
            swap.kill()


def everything_read(root: Path, path: str) -> set[object]:
    """What both ways of reading give."""
    values = {value for row in records(root, path, ["who"])[0] for value in row}
    answer = by_duckdb(root, path, ["who"])
    return values | ({value for row in answer[1] for value in row} if answer else set())


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("name", "meant"), [("pay-s[e]cret", "pay-secret"), ("export[1]", "export1"), ("a?*b", "a-xb")]
)
def test_the_name_of_a_file_is_no_pattern(tmp_path: Path, form: str, name: str, meant: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    put(root / f"{name}.{form}", "mine")
    (root / f"{meant}.{form}").symlink_to(put(tmp_path / f"secret.{form}", CANARY))

    assert everything_read(root, f"{name}.{form}") == {"mine"}
    assert records(root, f"{name}.{form}", ["_file"])[0] == [(f"{name}.{form}",)] * 3


@pytest.mark.parametrize("form", FORMATS)
def test_a_pattern_of_the_configuration_still_means_every_file_that_matches(tmp_path: Path, form: str) -> None:
    for name in ("bank-1", "bank-2", "bank-[3]", "bank-it's"):
        put(tmp_path / f"{name}.{form}", name, rows=1)
    (tmp_path / "sub").mkdir()
    put(tmp_path / "sub" / f"bank-4.{form}", "bank-4", rows=1)
    put(tmp_path / f"other.{form}", CANARY)

    assert everything_read(tmp_path, f"bank-*.{form}") == {"bank-1", "bank-2", "bank-[3]", "bank-it's"}
    assert everything_read(tmp_path, f"bank-[12].{form}") == {"bank-1", "bank-2"}
    assert everything_read(tmp_path, f"**/bank-?.{form}") == {"bank-1", "bank-2", "bank-4"}
    both = by_duckdb(tmp_path, f"**/bank-*.{form}", ["who", "_file"])
    rows = both[1] if both else records(tmp_path, f"**/bank-*.{form}", ["who", "_file"])[0]
    assert {(who, Path(file).name.removesuffix(f".{form}")) for who, file in rows} == {
        (name, name) for name in ("bank-1", "bank-2", "bank-[3]", "bank-it's", "bank-4")
    }


def test_a_link_inside_the_root_may_be_absolute_and_lead_over_other_links(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "days").mkdir(parents=True)
    put(root / "days" / "monday.csv", "mine")
    (tmp_path / "alias").symlink_to(root)
    (root / "latest.csv").symlink_to(tmp_path / "alias" / "days" / "monday.csv")
    (root / "week").symlink_to("days")

    assert everything_read(root, "latest.csv") == {"mine"}
    assert everything_read(tmp_path / "alias", "week/monday.csv") == {"mine"}


@pytest.mark.chaos
@pytest.mark.parametrize("form", [*FORMATS, "xlsx"])
def test_a_file_that_is_swapped_for_a_link_is_never_read_through_the_link(tmp_path: Path, form: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    secret, good = put(tmp_path / f"secret.{form}", CANARY), put(tmp_path / f"good.{form}", "mine")
    live = put(root / f"live.{form}", "mine")

    with swapping(SWAP, live, good, secret):
        values = read_for_a_while(root, f"live.{form}")

    assert values == {"mine"}


@pytest.mark.chaos
def test_a_folder_that_is_swapped_for_a_link_is_never_entered_through_the_link(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for folder, text in ((root / "good", "mine"), (tmp_path / "outside", CANARY)):
        folder.mkdir(parents=True)
        put(folder / "live.csv", text)

    with swapping(SWAP_FOLDER, root / "sub", root / "good", tmp_path / "outside"):
        values = read_for_a_while(root, "sub/live.csv", may_be_gone=True)

    assert values <= {"mine"}


def read_for_a_while(root: Path, path: str, *, may_be_gone: bool = False) -> set[object]:
    values: set[object] = set()
    end, refused, read = time.monotonic() + SECONDS, 0, 0
    while time.monotonic() < end or not (read or may_be_gone):
        try:
            values |= read_workbook(root, path) if path.endswith("xlsx") else everything_read(root, path)
            read += 1
        except (FileRefused, DatasetMissing):
            refused += 1
        assert time.monotonic() < end + 60, f"{read} reads, {refused} refused"
    return values


def read_workbook(root: Path, path: str) -> set[object]:
    source = WorkbookSource("crm", WorkbookSettings(type="workbook", path=path), root)
    try:
        return set(source.scan(WorkbookDataset(), ["who"]).reader.read_all().column("who").to_pylist())
    finally:
        source.close()


def test_more_files_are_read_than_a_process_may_hold_open_at_first(tmp_path: Path) -> None:
    """The limit that a process may raise by itself is raised."""
    for number in range(300):
        (tmp_path / f"{number}.csv").write_text(f"who\n{number}\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208 - what earlier tests left open counts
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 60, hard))
    try:
        assert everything_read(tmp_path, "*.csv") == {str(number) for number in range(300)}
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_descriptors_go_back_when_a_source_is_closed_and_when_its_files_change(tmp_path: Path) -> None:
    put(tmp_path / "a.csv", "mine")
    everything_read(tmp_path, "a.csv")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count

    for number in range(20):
        put(tmp_path / "a.csv", f"mine {number}")
        put(tmp_path / "b.utf16.csv", f"mine {number}")
        everything_read(tmp_path, "*.csv")

    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - a count


def test_a_refusal_is_one_sentence_without_the_place_a_link_leads_to(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.csv").symlink_to(put(tmp_path / "hidden-place.csv", CANARY))

    with pytest.raises(ConnectorError) as refusal:
        records(root, "a.csv")

    assert "hidden-place" not in str(refusal.value)
    assert "\n" not in str(refusal.value)
