"""Digests of the groups of findings."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Word

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("findings", sa.Column("digest", Word()))
