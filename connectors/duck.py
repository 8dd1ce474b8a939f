"""Write names and constants into the SELECTs with which DuckDB reads; nothing else pastes text into its SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
KEPT = frozenset(("VARCHAR", "BOOLEAN", *WHOLE, "FLOAT", "DOUBLE", "DATE", "BLOB", "TIMESTAMP"))
NAIVE = frozenset(("TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP_S"))
PLACED = frozenset(("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", "TIMESTAMPTZ_NS"))


def identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text constant, quoted; DuckDB gives backslashes no meaning here. Raises ValueError for a NUL character."""
    if "\0" in text:
        raise ValueError("a name with a NUL character cannot be written into SQL")
    return "'" + text.replace("'", "''") + "'"


def literals(texts: Iterable[str]) -> str:
    return "[" + ", ".join(literal(text) for text in texts) + "]"


def struct(fields: Mapping[str, str]) -> str:
    """A struct constant of texts, for `columns=` of a reader."""
    return "{" + ", ".join(f"{literal(name)}: {literal(value)}" for name, value in fields.items()) + "}"


def file_name(names: Mapping[str, str]) -> str:
    """The expression for the name of a record's file, from names by path."""
    if len(names) == 1:
        return literal(*names.values())
    return f"map({literals(names)}, {literals(names.values())})[filename]"


def exact(column: str, kind: str) -> str:
    """A column of DuckDB's type `kind` in a type that Arrow holds exactly; other types become text."""
    if kind in KEPT or (kind.startswith("DECIMAL(") and not kind.endswith("]")):
        return column
    if kind == "TIMESTAMP_NS":
        return f"make_timestamp({_microseconds(column)})"
    if kind == "TIMESTAMPTZ_NS":
        return f"make_timestamptz({_microseconds(column)})"
    if kind in NAIVE:
        return f"{column}::timestamp"
    if kind in PLACED:
        return f"{column}::timestamptz"
    if kind in ("HUGEINT", "UHUGEINT"):
        return f"{column}::decimal(38,0)"
    return f"{column}::varchar"


def _microseconds(column: str) -> str:
    """Cut nanoseconds, as in text: rounding could change the day."""
    return f"((epoch_ns({column}) - ((epoch_ns({column}) % 1000) + 1000) % 1000) // 1000)"
