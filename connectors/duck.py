"""Writing names and constants into the SELECTs with which DuckDB reads files; nothing else pastes text into SQL.

And asking, after such a SELECT was run, which cells it could not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from connectors.base import DuckScan, Problem


def identifier(name: str) -> str:
    """A column or alias, quoted."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text constant, quoted; DuckDB gives backslashes no meaning here. Raises ValueError for a NUL character."""
    if "\0" in text:
        raise ValueError("a name with a NUL character cannot be written into SQL")
    return "'" + text.replace("'", "''") + "'"


def literals(texts: Iterable[str]) -> str:
    """A list constant of texts."""
    return "[" + ", ".join(literal(one) for one in texts) + "]"


def struct(fields: Mapping[str, str]) -> str:
    """A struct constant of texts, as `columns=` of a reader takes it."""
    return "{" + ", ".join(f"{literal(name)}: {literal(value)}" for name, value in fields.items()) + "}"


def problems_of(scan: DuckScan) -> tuple[Problem, ...]:
    """What was wrong with single cells of a scan that DuckDB ran itself. Raises duckdb.Error as the scan would."""
    if scan.problems_sql is None:
        return ()
    import duckdb  # noqa: PLC0415 - whoever only writes SQL need not wait for it

    with duckdb.connect() as connection:
        rows = connection.execute(scan.problems_sql).fetchall()
    return tuple(Problem(column, reason, records, first) for column, reason, records, first in rows if records)
