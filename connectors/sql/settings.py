"""The settings of a database and of its tables and queries, for every reader."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator

from connectors.base import DatasetSettings, SourceSettings
from connectors.declared import Declared, Notation, declared
from connectors.errors import ColumnMissing
from connectors.sql.address import has_replicas, parsed
from connectors.sql.read_only import read_only, with_value

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class SqlSettings(SourceSettings):
    """A database. `url` is a secret as a whole; a relative SQLite path is relative to the configuration file.

    `replica`, a secret too, is the address of a replica of that database, from which everything is read that is not
    about to be changed.

    `statement_timeout` (`30s`, `5m`, `2h`) stops a statement that runs longer; without a reader of our own, only if the
    driver can cancel.
    """

    url: SecretStr
    replica: SecretStr | None = None
    statement_timeout: str = "1h"

    @field_validator("url")
    @classmethod
    def _is_url(cls, url: SecretStr) -> SecretStr:
        parsed(url)
        return url

    @field_validator("replica")
    @classmethod
    def _is_url_of_a_replica(cls, replica: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if replica is None or "url" not in info.data:  # a mistake in `url` is reported separately
            return replica
        primary, dialect = parsed(info.data["url"]).get_backend_name(), parsed(replica).get_backend_name()
        if not has_replicas(primary):
            raise ValueError(f"only PostgreSQL and MariaDB can be read from a replica, not {primary}; remove `replica`")
        if dialect != primary:
            raise ValueError(
                f"`url` names {primary}, but `replica` names {dialect}; name a replica of the database at `url`"
            )
        return replica

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
            raise ValueError("a database dataset has either a `table` or a `query`")
        return self

    @property
    def notation(self) -> Notation:
        return Notation(self.decimal, self.null_values, self.timezone)

    def declared(self, column: str) -> Declared | None:
        """The declaration of a column in `columns:`. Raises ColumnTypeUnknown."""
        return declared(column, self.columns[column]) if column in self.columns else None

    def statement(self, source: str, dialect: str) -> str:
        """The query, ready to be sent in parentheses. Raises NotReadOnly."""
        return read_only(source, self.query or "", dialect)

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
        raise ValueError("a time limit is a number with a unit: 30s, 5m, 2h")
    return float(match[1]) * _UNITS[match[2]]


class SqlAnswer(SqlDataset):
    """The answer of a rule's query. `slot` is the due time, in the query `:slot`.

    It has the notation and declared columns of the dataset that it is about, as far as it has these columns.
    """

    slot: dt.datetime = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)

    def at(self, slot: dt.datetime) -> SqlAnswer:
        return self.model_copy(update={"slot": slot})

    def statement(self, source: str, dialect: str) -> str:
        return with_value(super().statement(source, dialect), "slot", _literal(self.slot, dialect), dialect)

    def must_have(self, source: str, columns: Iterable[str], names: Iterable[str]) -> None:
        super().must_have(source, [name for name in columns if name not in self.columns], names)


def _literal(slot: dt.datetime, dialect: str) -> str:
    """Return the time as a constant of the database, in UTC, which is the time zone of our sessions."""
    text = slot.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    if dialect == "postgresql":
        return f"timestamptz '{text}+00'"
    return f"timestamp'{text}'" if dialect == "mysql" else f"'{text[:19]}'"
