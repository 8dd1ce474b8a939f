"""What the findings of a rule are up to date with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Instant, Json, Word

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "watermarks",
        sa.Column("rule", Word(), nullable=False),
        sa.Column("version", Word(), nullable=False),
        sa.Column("mark", Json(), nullable=False),
        sa.Column("run", Word(), nullable=False),
        sa.Column("full_slot", Instant(), nullable=False),
        sa.Column("increments", sa.Integer(), nullable=False),
        sa.Column("missed", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("rule", name=op.f("pk_watermarks")),
    )
