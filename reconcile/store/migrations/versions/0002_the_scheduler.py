"""The scheduler: schedules, slots, releases that people promote, pauses, and what is wrong with Reconcile itself."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Instant, Json, Word

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("releases", sa.Column("files", Json(), nullable=True))
    op.create_table(
        "promotion",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("release", Word(), nullable=False),
        sa.Column("held", sa.Boolean(), nullable=False),
        sa.Column("since", Instant(), nullable=False),
        sa.Column("by", Word(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.CheckConstraint("id = 1", name=op.f("ck_promotion_one_row")),
        sa.ForeignKeyConstraint(["release"], ["releases.hash"], name=op.f("fk_promotion_release")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_promotion")),
    )
    op.create_table(
        "schedules",
        sa.Column("job", Word(), nullable=False),
        sa.Column("revision", Word(), nullable=False),
        sa.Column("since", Instant(), nullable=False),
        sa.Column("watermark", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("job", name=op.f("pk_schedules")),
    )
    op.create_table(
        "slots",
        sa.Column("job", Word(), nullable=False),
        sa.Column("slot", Instant(), nullable=False),
        sa.Column("cause", Word(), nullable=False),
        sa.Column("tzdata", Word(), nullable=True),
        sa.Column("status", Word(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("start_at", Instant(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("sources", Json(), nullable=False),
        sa.Column("owner", Json(), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", Instant(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("ended_at", Instant(), nullable=True),
        sa.PrimaryKeyConstraint("job", "slot", name=op.f("pk_slots")),
        sa.UniqueConstraint("job", "cause", name=op.f("uq_slots_job_cause")),
    )
    op.create_index(op.f("ix_slots_status_start_at"), "slots", ["status", "start_at"], unique=False)
    op.create_index(op.f("ix_slots_job_status_slot"), "slots", ["job", "status", "slot"], unique=False)
    op.create_index(op.f("ix_runs_job_status_fence"), "runs", ["job", "status", "fence"], unique=False)
    op.drop_index(op.f("ix_findings_rule_state"), "findings")
    op.create_index(op.f("ix_findings_rule_state_severity"), "findings", ["rule", "state", "severity"], unique=False)
    op.create_table(
        "awaited",
        sa.Column("job", Word(), nullable=False),
        sa.Column("other", Word(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("job", "other", name=op.f("pk_awaited")),
    )
    op.create_table(
        "watches",
        sa.Column("job", Word(), nullable=False),
        sa.Column("dataset", Word(), nullable=False),
        sa.Column("digest", Word(), nullable=True),
        sa.Column("seen_at", Instant(), nullable=False),
        sa.Column("pending", Word(), nullable=True),
        sa.Column("pending_since", Instant(), nullable=True),
        sa.PrimaryKeyConstraint("job", "dataset", name=op.f("pk_watches")),
    )
    op.create_table(
        "pauses",
        sa.Column("subject", Word(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("by", Word(), nullable=False),
        sa.Column("since", Instant(), nullable=False),
        sa.Column("until", Instant(), nullable=True),
        sa.PrimaryKeyConstraint("subject", name=op.f("pk_pauses")),
    )
    op.create_table(
        "troubles",
        sa.Column("subject", Word(), nullable=False),
        sa.Column("job", Word(), nullable=True),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("since", Instant(), nullable=False),
        sa.Column("channels", Json(), nullable=False),
        sa.PrimaryKeyConstraint("subject", name=op.f("pk_troubles")),
    )
    op.create_table(
        "expectations",
        sa.Column("job", Word(), nullable=False),
        sa.Column("since", Instant(), nullable=True),
        sa.PrimaryKeyConstraint("job", name=op.f("pk_expectations")),
    )
    op.create_table(
        "clock",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("wall", Instant(), nullable=False),
        sa.Column("boot", Word(), nullable=False),
        sa.Column("boot_ns", sa.BigInteger(), nullable=False),
        sa.Column("held_since", Instant(), nullable=True),
        sa.Column("held_from", Instant(), nullable=True),
        sa.CheckConstraint("id = 1", name=op.f("ck_clock_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_clock")),
    )
