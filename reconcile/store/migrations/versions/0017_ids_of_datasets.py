"""By which columns, of which types, the records of each dataset are named."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Instant, Json, Word

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "record_ids",
        sa.Column("dataset", Word(), nullable=False),
        sa.Column("columns", Json(), nullable=False),
        sa.Column("types", Json(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("dataset", name=op.f("pk_record_ids")),
    )
