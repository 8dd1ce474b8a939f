"""Requests that changed something and carried an idempotency key."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Instant, Json, Word

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "keyed_requests",
        sa.Column("user", Word(), nullable=False),
        sa.Column("key", Word(), nullable=False),
        sa.Column("digest", Word(), nullable=False),
        sa.Column("received_at", Instant(), nullable=False),
        sa.Column("answer", Json()),
        sa.PrimaryKeyConstraint("user", "key", name=op.f("pk_keyed_requests")),
    )
    op.create_index(op.f("ix_keyed_requests_received_at"), "keyed_requests", ["received_at"], unique=False)
