"""Opening the `files` source on a directory of a test, and reading it both ways."""

from pathlib import Path

import duckdb

from connectors.files.source import FilesDataset, FilesSettings, FilesSource


def source(directory: Path) -> FilesSource:
    return FilesSource("bank", FilesSettings(type="files"), directory)


def records(directory: Path, path: str, wanted: list[str] | None = None, **settings):
    """(rows as tuples, problems) that `scan` gives."""
    opened = source(directory)
    dataset = FilesDataset(path=path, **settings)
    try:
        names = wanted or [n for n in opened.describe(dataset).names if n not in ("_file", "_row")]
        scan = opened.scan(dataset, names)
        table = scan.reader.read_all()
        scan.close()
        return list(zip(*(table.column(n).to_pylist() for n in names), strict=True)), scan.problems()
    finally:
        opened.close()


def by_duckdb(directory: Path, path: str, wanted: list[str], **settings):
    """(Arrow schema, rows, problem rows) that the SELECT of `duck_scan` gives, or None."""
    opened = source(directory)
    try:
        scan = opened.duck_scan(FilesDataset(path=path, **settings), wanted)
        if scan is None:
            return None
        with duckdb.connect(config={"threads": "2"}) as con:
            con.execute("set TimeZone = 'UTC'; set preserve_insertion_order = false")
            table = con.sql(scan.sql).to_arrow_table()
            scan.confirm(table.num_rows)
            problems = [(problem.column, problem.reason, problem.records, problem.first) for problem in scan.problems()]
        return table.schema, list(zip(*(table.column(n).to_pylist() for n in wanted), strict=True)), problems
    finally:
        opened.close()
