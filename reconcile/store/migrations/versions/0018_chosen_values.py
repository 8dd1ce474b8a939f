"""The fields whose value a person chose to take from a record of a finding."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Json

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("finding_members", sa.Column("gives", Json()))
