"""Programs claim keys for what they do once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Instant, Json, Word

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.create_table(
        "guarded_keys",
        sa.Column("key", Word(), nullable=False),
        sa.Column("namespace", Word(), nullable=False),
        sa.Column("state", Word(), nullable=False),
        sa.Column("payload", Word(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("refusals", sa.Integer(), nullable=False),
        sa.Column("claimed_by", Word(), nullable=False),
        sa.Column("lease_until", Instant(), nullable=False),
        sa.Column("lease_boot", Word(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("changed_at", Instant(), nullable=False),
        sa.Column("keep_until", Instant(), nullable=False),
        sa.Column("result", Json(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_guarded_keys")),
    )
    op.create_index(
        op.f("ix_guarded_keys_state_keep_until_key"), "guarded_keys", ["state", "keep_until", "key"], unique=False
    )
    op.create_table(
        "guard_counts",
        sa.Column("namespace", Word(), nullable=False),
        sa.Column("event", Word(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("namespace", "event", name=op.f("pk_guard_counts")),
    )
