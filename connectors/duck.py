"""Write names and constants into the SELECTs with which DuckDB reads files; nothing else pastes text into SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


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
