"""The connector `sql` as a configuration needs it: its settings and what they allow, without the readers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from connectors.base import DatasetSettings, SourceSettings
from connectors.sql.address import has_own_reader, parsed
from connectors.sql.declaring import address_of
from connectors.sql.read_only import refusal
from connectors.sql.settings import SqlAnswer, SqlDataset, SqlSettings

if TYPE_CHECKING:
    from connectors.sql.generic.source import GenericSource
    from connectors.sql.source import SqlSource


class SqlConnector:
    """The base class of SqlSource. It loads no reader: most commands read a configuration, but no records."""

    Settings: ClassVar[type[SourceSettings]] = SqlSettings
    Dataset: ClassVar[type[DatasetSettings]] = SqlDataset

    @staticmethod
    def open(name: str, settings: SqlSettings, root: Path) -> SqlSource | GenericSource:
        """Return the source; for a database without a reader of its own a WarehouseSource or a GenericSource."""
        url = parsed(settings.url)
        if has_own_reader(url):
            from connectors.sql.source import SqlSource  # noqa: PLC0415 - see above

            return SqlSource(name, settings, root)
        from connectors.sql.generic.source import GenericSource  # noqa: PLC0415 - see above
        from connectors.sql.generic.warehouse import WAREHOUSES, WarehouseSource  # noqa: PLC0415 - see above

        source = WarehouseSource if url.get_backend_name() in WAREHOUSES else GenericSource
        return source(name, settings, root)

    @staticmethod
    def obstacle(settings: SqlSettings, dataset: SqlDataset) -> str | None:
        """The reason why no record of the dataset can ever be changed; see connectors.target.Cleanable."""
        url = parsed(settings.url)
        if not has_own_reader(url):
            return f"only PostgreSQL, MariaDB, MySQL and SQLite are written to, not {url.get_backend_name()}"
        return None if dataset.table else "it is a `query`, and only a `table` can be changed"

    @staticmethod
    def file(settings: SqlSettings, root: Path) -> Path | None:
        """The file of a SQLite database; None for a database on a server."""
        url = parsed(settings.url)
        return root / str(url.database) if url.get_backend_name() == "sqlite" else None

    @staticmethod
    def answer(settings: SqlSettings, dataset: SqlDataset, query: str) -> SqlAnswer:
        """The answer of a query as a dataset; see connectors.base.Answering."""
        url = parsed(settings.url)
        if not has_own_reader(url):
            raise ValueError(f"only PostgreSQL, MariaDB, MySQL and SQLite run it, not {url.get_backend_name()}")
        reason = refusal(query, url.get_backend_name())
        if reason is not None:
            raise ValueError(f"{reason}; write a single read-only select")
        return SqlAnswer(**{**dict(dataset), "table": None, "query": query})

    @staticmethod
    def of_file(path: Path) -> Mapping[str, Any] | None:
        address = address_of(path)
        return {"type": "sql", "url": address} if address else None
