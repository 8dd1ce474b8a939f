"""Messages that wait for the time at which their channel is told."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Instant, Word

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("outbox", sa.Column("held", Word()))
    op.add_column("notified", sa.Column("before_version", sa.Integer()))
    op.add_column("notified", sa.Column("before_message", Word()))
    op.add_column("notified", sa.Column("before_at", Instant()))
