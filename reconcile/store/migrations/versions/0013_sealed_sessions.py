"""What proves that a session was stored by Reconcile; sessions without it end, so people sign in again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Word

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("sessions", sa.Column("seal", Word()))
