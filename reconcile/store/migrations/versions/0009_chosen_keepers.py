"""The record that a person chose as the keeper of a finding."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Instant, Word

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("finding_members", sa.Column("chosen_by", Word()))
    op.add_column("finding_members", sa.Column("chosen_at", Instant()))
