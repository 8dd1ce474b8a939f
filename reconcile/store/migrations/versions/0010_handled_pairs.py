"""What was decided about a pair of records: judged to be different, or handled outside Reconcile."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Word

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("not_same", sa.Column("decision", Word()))
