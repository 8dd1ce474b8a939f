"""Digests of findings, plans, limits and rules, which the audit log commits to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Word

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "facts",
        sa.Column("kind", Word(), nullable=False),
        sa.Column("name", Word(), nullable=False),
        sa.Column("digest", Word(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "name", name=op.f("pk_facts")),
    )
    op.create_index(op.f("ix_not_same_finding"), "not_same", ["finding"])
