"""What a configuration says of a database and of the tables and queries in it, whichever way it is read."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic import Field, SecretStr, field_validator, model_validator

from connectors.base import DatasetSettings, SourceSettings
from connectors.declared import Declared, Notation, declared
from connectors.errors import ColumnMissing
from connectors.sql.address import parsed

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class SqlSettings(SourceSettings):
    """A database. `url` is a secret as a whole; a relative SQLite path is relative to the configuration file.

    `statement_timeout` (`30s`, `5m`, `2h`) stops a statement that runs longer, in databases without a reader of their
    own as far as their driver can be told to.
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
        """What `columns:` says of a column. Raises ColumnTypeUnknown."""
        return declared(column, self.columns[column]) if column in self.columns else None

    def must_have(self, source: str, wanted: Iterable[str], known: Iterable[str]) -> None:
        """Raises ColumnMissing for the first column that is wanted and not known."""
        known = list(known)
        what = f"table {self.table}" if self.table else "the query"
        for column in wanted:
            if column not in known:
                raise ColumnMissing(f"{what} of source {source!r}", column, known)


def seconds(text: str) -> float:
    """The length of `90s`, `5m`, `2h`, `1d`. Raises ValueError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip())
    if not found or float(found[1]) == 0:
        raise ValueError("a time limit is a number and a unit: 30s, 5m, 2h")
    return float(found[1]) * _UNITS[found[2]]
