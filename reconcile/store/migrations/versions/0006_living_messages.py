"""Messages that show what became of their findings, and presses of their buttons."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Instant, Json, Word

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("outbox", sa.Column("shown", Word()))
    op.add_column("outbox", sa.Column("shown_at", Instant()))
    op.add_column("outbox", sa.Column("updates", sa.Integer()))
    op.create_table(
        "shown_findings",
        sa.Column("message", Word(), nullable=False),
        sa.Column("finding", Word(), nullable=False),
        sa.ForeignKeyConstraint(["message"], ["outbox.message"], name=op.f("fk_shown_findings_message")),
        sa.ForeignKeyConstraint(["finding"], ["findings.id"], name=op.f("fk_shown_findings_finding")),
        sa.PrimaryKeyConstraint("message", "finding", name=op.f("pk_shown_findings")),
    )
    op.create_index(op.f("ix_shown_findings_finding"), "shown_findings", ["finding"], unique=False)
    op.create_table(
        "presses",
        sa.Column("id", Word(), nullable=False),
        sa.Column("channel", Word(), nullable=False),
        sa.Column("press", Json(), nullable=False),
        sa.Column("signature", Word()),
        sa.Column("received_at", Instant(), nullable=False),
        sa.Column("status", Word(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", Instant(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("owner", Json()),
        sa.Column("lease_until", Instant(), nullable=False),
        sa.Column("answer", sa.Text()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_presses")),
    )
    op.create_index(op.f("ix_presses_status_next_at"), "presses", ["status", "next_at"], unique=False)
    op.create_index(op.f("ix_presses_received_at"), "presses", ["received_at"], unique=False)
