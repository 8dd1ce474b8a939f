"""What became of cleanings and was not told yet."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Instant, Word

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "cleaning_news",
        sa.Column("plan", Word(), nullable=False),
        sa.Column("rule", Word(), nullable=False),
        sa.Column("what", Word(), nullable=False),
        sa.Column("run", Word()),
        sa.Column("at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["plan"], ["plans.id"], name=op.f("fk_cleaning_news_plan")),
        sa.PrimaryKeyConstraint("plan", name=op.f("pk_cleaning_news")),
    )
