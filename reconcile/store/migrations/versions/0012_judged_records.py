"""The pairs that people judged, by their second record: a decision covers a record wherever it went."""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_index(op.f("ix_not_same_rule_record_b"), "not_same", ["rule", "record_b"])
