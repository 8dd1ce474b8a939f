"""Findings are listed by the probability of their weakest link."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Add the column; the next full run of each rule that estimates probabilities fills it."""
    op.add_column("findings", sa.Column("probability", sa.Double()))
    is_probable = sa.text("probability IS NOT NULL")
    op.create_index(
        "ix_findings_state_probability_first_seen_id",
        "findings",
        ["state", "probability", "first_seen", "id"],
        sqlite_where=is_probable,
        postgresql_where=is_probable,
    )
