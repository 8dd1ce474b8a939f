"""The settings of a Spark source and of its datasets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from connectors.base import DatasetSettings, SourceSettings
from connectors.declared import Declared, Notation, declared
from connectors.errors import ColumnMissing
from connectors.sql.settings import seconds

_JDBC = "jdbc:postgresql:"
_URL = re.compile(r"(spark|sc)://[^/\s]+.*|local(\[(\d+|\*)\])?|yarn|k8s://\S+", re.DOTALL)


class SparkSettings(SourceSettings):
    """A Spark cluster. Without `url`, the session that is active in this process is used, as in a notebook.

    `config` holds Spark's own settings for a session that is created; `statement_timeout` stops longer computations.
    With `jdbc`, the tables are those of a PostgreSQL database, which Spark reads.
    """

    url: SecretStr | None = None
    config: Mapping[str, str] = Field(default_factory=dict)
    jdbc: SecretStr | None = None
    user: SecretStr | None = None
    password: SecretStr | None = None
    statement_timeout: str = "1h"

    @field_validator("url")
    @classmethod
    def _is_url(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not _URL.fullmatch(url.get_secret_value()):
            raise ValueError(
                "this is not the address of a cluster; write spark://host:port, sc://host:port (Spark Connect), "
                "local[2], yarn or k8s://…"
            )
        return url

    @field_validator("jdbc")
    @classmethod
    def _is_postgresql(cls, jdbc: SecretStr | None) -> SecretStr | None:
        if jdbc is not None and not jdbc.get_secret_value().startswith(_JDBC):
            raise ValueError("only PostgreSQL is read by JDBC; write jdbc:postgresql://host:port/database")
        return jdbc

    @model_validator(mode="after")
    def _user_of_a_database(self) -> SparkSettings:
        if self.jdbc is None and (self.user is not None or self.password is not None):
            raise ValueError("`user` and `password` sign in to a database; write `jdbc` too")
        return self

    @field_validator("statement_timeout")
    @classmethod
    def _is_duration(cls, text: str) -> str:
        seconds(text)
        return text


class Partition(BaseModel):
    """How Spark reads a table of a database in parts: by ranges of a column, each over a connection of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    column: str = Field(min_length=1)
    parts: int = Field(ge=2, le=1000)


class SparkDataset(DatasetSettings):
    """A `table` (or view) of Spark's catalogue or of the database, or a `path` of Parquet: a file or a folder."""

    table: str | None = Field(default=None, min_length=1)
    path: str | None = Field(default=None, min_length=1)
    partition: Partition | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> SparkDataset:
        if (self.table is None) == (self.path is None):
            raise ValueError("a Spark dataset has either a `table` or a `path`")
        return self

    @property
    def place(self) -> str:
        """The table or path, for people."""
        return f"table {self.table}" if self.table else f"path {self.path}"

    @property
    def notation(self) -> Notation:
        return Notation(self.decimal, self.null_values, self.timezone)

    def declared(self, column: str) -> Declared | None:
        """The declaration of a column in `columns:`. Raises ColumnTypeUnknown."""
        return declared(column, self.columns[column]) if column in self.columns else None

    def must_have(self, source: str, columns: Iterable[str], names: Iterable[str]) -> None:
        """Raise ColumnMissing for the first of these columns that is not among the names."""
        names = list(names)
        for column in columns:
            if column not in names:
                raise ColumnMissing(f"{self.place} of source {source!r}", column, names)
