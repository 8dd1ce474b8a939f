"""The migrations of the store: forward only, each in one transaction, run by the program when it opens the store."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def upgrade(connection: sa.Connection, revision: str) -> None:
    """Bring the schema to that revision inside the caller's transaction."""
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def newest() -> str | None:
    """The revision of the last migration script."""
    return ScriptDirectory.from_config(_config()).get_current_head()
