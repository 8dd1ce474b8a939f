"""Old runs that changed nothing, one row a day."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Instant, Json, Word

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "unchanged_runs",
        sa.Column("job", Word(), nullable=False),
        sa.Column("day", Word(), nullable=False),
        sa.Column("release", Word(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.Column("slots", Json(), nullable=False),
        sa.Column("first_slot", Instant(), nullable=False),
        sa.Column("last_slot", Instant(), nullable=False),
        sa.Column("started", Instant(), nullable=False),
        sa.Column("finished", Instant(), nullable=False),
        sa.Column("summary", Json(), nullable=False),
        sa.ForeignKeyConstraint(["release"], ["releases.hash"], name=op.f("fk_unchanged_runs_release")),
        sa.PrimaryKeyConstraint("job", "day", "release", name=op.f("pk_unchanged_runs")),
    )
