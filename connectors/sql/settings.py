"""The settings of a database and of its tables and queries, for every reader.

The only entry of a user's own SQL: a dataset's `query`, which must be a single select.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic import Field, SecretStr, field_validator, model_validator

from connectors.base import DatasetSettings, SourceSettings
from connectors.declared import Declared, Notation, declared
from connectors.errors import ColumnMissing, NotReadOnly
from connectors.sql.address import parsed

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class SqlSettings(SourceSettings):
    """A database. `url` is a secret as a whole; a relative SQLite path is relative to the configuration file.

    `statement_timeout` (`30s`, `5m`, `2h`) stops a statement that runs longer; without a reader of our own, only if the
    driver can cancel.
    """

    url: SecretStr
    statement_timeout: str = "1h"

    @field_validator("url")
    @classmethod
    def _is_url(cls, url: SecretStr) -> SecretStr:
        parsed(url)
        return url

    @field_validator("statement_timeout")
    @classmethod
    def _is_duration(cls, text: str) -> str:
        seconds(text)
        return text


class SqlDataset(DatasetSettings):
    """A `table` (or view), with its schema where it is not the default one, or a read-only `query`."""

    table: str | None = Field(default=None, min_length=1)
    query: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _one_of_them(self) -> SqlDataset:
        if (self.table is None) == (self.query is None):
            raise ValueError("a dataset of a database is either a `table` or a `query`")
        return self

    @property
    def notation(self) -> Notation:
        return Notation(self.decimal, self.null_values, self.timezone)

    def declared(self, column: str) -> Declared | None:
        """The declaration of a column in `columns:`. Raises ColumnTypeUnknown."""
        return declared(column, self.columns[column]) if column in self.columns else None

    def must_have(self, source: str, columns: Iterable[str], names: Iterable[str]) -> None:
        """Raise ColumnMissing for the first of these columns that is not among the names."""
        names = list(names)
        relation = f"table {self.table}" if self.table else "the query"
        for column in columns:
            if column not in names:
                raise ColumnMissing(f"{relation} of source {source!r}", column, names)


def seconds(text: str) -> float:
    """The length of `90s`, `5m`, `2h`, `1d`. Raises ValueError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip())
    if not match or float(match[1]) == 0:
        raise ValueError("a time limit is a number and a unit: 30s, 5m, 2h")
    return float(match[1]) * _UNITS[match[2]]


_READS = ("select", "with", "values", "table")
_PASSED_OVER = re.compile(
    r"""--[^\n]*                           # a comment to the end of the line
      | /\*.*?\*/                          # a comment
      | '(?:[^']|'')*'                     # text
      | "(?:[^"]|"")*" | `(?:[^`]|``)*`    # a quoted name
      | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$    # PostgreSQL's dollar quotes
    """,
    re.VERBOSE | re.DOTALL,
)


def select_only(source: str, query: str) -> str:
    """The query without a closing semicolon, usable in parentheses. Raises NotReadOnly for anything but a select.

    This catches mistakes and pasted scripts; the read-only session keeps a hostile query from writing.
    """
    text = query.strip()
    bare = _PASSED_OVER.sub(lambda match: "''" if match[0][0] in "'\"`$" else " ", text)
    if bare.rstrip().endswith(";"):
        text, bare = text[: text.rindex(";")], bare.rstrip()[:-1]
    word = re.match(r"[\s(]*(\w*)", bare)
    first = word[1].lower() if word else ""
    if first not in _READS:
        raise NotReadOnly(source, f"it starts with {first!r}" if first else "it is empty")
    if ";" in bare:
        raise NotReadOnly(source, "it holds more than one statement")
    if not _balanced(bare):
        raise NotReadOnly(source, "its parentheses do not match")
    if re.search(r"['\"`]", bare.replace("''", "")):
        raise NotReadOnly(source, "a quotation mark in it is not closed")
    return text + "\n"


def _balanced(bare: str) -> bool:
    depth = 0
    for character in bare:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return depth == 0
