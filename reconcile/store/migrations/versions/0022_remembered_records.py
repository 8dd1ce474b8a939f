"""Rules remember the records that they compared, so that the next run compares only new ones with all."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Word

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.create_table(
        "remembered",
        sa.Column("rule", Word(), nullable=False),
        sa.Column("name", Word(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("dataset", Word(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("rule", "name", "number", name=op.f("pk_remembered")),
    )
    op.create_index(op.f("ix_remembered_dataset"), "remembered", ["dataset"], unique=False)
