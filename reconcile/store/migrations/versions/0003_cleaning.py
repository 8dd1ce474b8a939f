"""Cleaning: plans and their effects, holds, approvals, limits, breakers, owners of targets, and signed audit heads."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Instant, Json, Word

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("rule_state", sa.Column("cleaning", Word(), nullable=True))
    op.create_table(
        "breakers",
        sa.Column("target", Word(), nullable=False),
        sa.Column("state", Word(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("requests", Json(), nullable=False),
        sa.Column("opened_at", Instant(), nullable=True),
        sa.Column("probe_at", Instant(), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("target", name=op.f("pk_breakers")),
    )
    op.create_table(
        "budgets",
        sa.Column("scope", Word(), nullable=False),
        sa.Column("stopped_at", Instant(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("counted_at", Instant(), nullable=True),
        sa.Column("day_records", sa.BigInteger(), nullable=False),
        sa.Column("day_money", Json(), nullable=False),
        sa.Column("run", Word(), nullable=True),
        sa.Column("run_records", sa.BigInteger(), nullable=False),
        sa.Column("run_money", Json(), nullable=False),
        sa.PrimaryKeyConstraint("scope", name=op.f("pk_budgets")),
    )
    op.create_table(
        "dataset_schemas",
        sa.Column("dataset", Word(), nullable=False),
        sa.Column("rule", Word(), nullable=False),
        sa.Column("digest", Word(), nullable=False),
        sa.Column("facts", Json(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("dataset", "rule", name=op.f("pk_dataset_schemas")),
    )
    op.create_table(
        "targets",
        sa.Column("identity", Word(), nullable=False),
        sa.Column("source", Word(), nullable=False),
        sa.Column("ratchet", sa.BigInteger(), nullable=False),
        sa.Column("confirmed", sa.BigInteger(), nullable=False),
        sa.Column("first_seen", Instant(), nullable=False),
        sa.Column("moved_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("identity", name=op.f("pk_targets")),
    )
    op.create_table(
        "checkpoints",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("head", Word(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("signer", Word(), nullable=False),
        sa.Column("signature", Word(), nullable=False),
        sa.ForeignKeyConstraint(["seq"], ["audit.seq"], name=op.f("fk_checkpoints_seq")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_checkpoints")),
    )
    op.create_table(
        "erasures",
        sa.Column("id", Word(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("by", Word(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("subjects", Json(), nullable=False),
        sa.Column("reached", Json(), nullable=False),
        sa.ForeignKeyConstraint(["seq"], ["audit.seq"], name=op.f("fk_erasures_seq")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_erasures")),
    )
    op.create_table(
        "anchors",
        sa.Column("anchor", Word(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("status", Word(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", Instant(), nullable=False),
        sa.Column("at", Instant(), nullable=True),
        sa.Column("receipt", Json(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["seq"], ["checkpoints.seq"], name=op.f("fk_anchors_seq")),
        sa.PrimaryKeyConstraint("anchor", "seq", name=op.f("pk_anchors")),
    )
    op.create_index(op.f("ix_anchors_status_next_at"), "anchors", ["status", "next_at"], unique=False)
    op.create_table(
        "bundles",
        sa.Column("id", Word(), nullable=False),
        sa.Column("finding", Word(), nullable=False),
        sa.Column("rule", Word(), nullable=False),
        sa.Column("dataset", Word(), nullable=False),
        sa.Column("source", Word(), nullable=False),
        sa.Column("target", Word(), nullable=False),
        sa.Column("action", Word(), nullable=False),
        sa.Column("run", Word(), nullable=True),
        sa.Column("release", Word(), nullable=False),
        sa.Column("plan_hash", Word(), nullable=False),
        sa.Column("undoes", Word(), nullable=True),
        sa.Column("state", Word(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("summary", Json(), nullable=False),
        sa.Column("records", sa.Integer(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("money", Json(), nullable=False),
        sa.Column("reversible", Word(), nullable=False),
        sa.Column("policy", Word(), nullable=False),
        sa.Column("proposed_by", Word(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("owner", Json(), nullable=True),
        sa.Column("lease_until", Instant(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", Instant(), nullable=False),
        sa.Column("give_up_at", Instant(), nullable=True),
        sa.Column("transaction", Word(), nullable=True),
        sa.Column("sent_at", Instant(), nullable=True),
        sa.Column("ended_at", Instant(), nullable=True),
        sa.ForeignKeyConstraint(["finding"], ["findings.id"], name=op.f("fk_bundles_finding")),
        sa.ForeignKeyConstraint(["release"], ["releases.hash"], name=op.f("fk_bundles_release")),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("fk_bundles_run")),
        sa.ForeignKeyConstraint(["undoes"], ["bundles.id"], name=op.f("fk_bundles_undoes")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bundles")),
    )
    op.create_index(op.f("ix_bundles_finding"), "bundles", ["finding"], unique=False)
    op.create_index(op.f("ix_bundles_rule_state"), "bundles", ["rule", "state"], unique=False)
    op.create_index(op.f("ix_bundles_run"), "bundles", ["run"], unique=False)
    op.create_index(
        op.f("ix_bundles_state_source_next_at_id"), "bundles", ["state", "source", "next_at", "id"], unique=False
    )
    op.create_index(op.f("ix_bundles_undoes"), "bundles", ["undoes"], unique=False)
    op.create_table(
        "approvals",
        sa.Column("bundle", Word(), nullable=False),
        sa.Column("by", Word(), nullable=False),
        sa.Column("decision", Word(), nullable=False),
        sa.Column("plan_hash", Word(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["bundle"], ["bundles.id"], name=op.f("fk_approvals_bundle")),
        sa.PrimaryKeyConstraint("bundle", "by", name=op.f("pk_approvals")),
    )
    op.create_index(op.f("ix_approvals_plan_hash"), "approvals", ["plan_hash"], unique=False)
    op.create_table(
        "budget_uses",
        sa.Column("bundle", Word(), nullable=False),
        sa.Column("rule", Word(), nullable=False),
        sa.Column("target", Word(), nullable=False),
        sa.Column("run", Word(), nullable=True),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("records", sa.Integer(), nullable=False),
        sa.Column("money", Json(), nullable=False),
        sa.ForeignKeyConstraint(["bundle"], ["bundles.id"], name=op.f("fk_budget_uses_bundle")),
        sa.PrimaryKeyConstraint("bundle", name=op.f("pk_budget_uses")),
    )
    op.create_index(op.f("ix_budget_uses_rule_at"), "budget_uses", ["rule", "at"], unique=False)
    op.create_index(op.f("ix_budget_uses_run_rule"), "budget_uses", ["run", "rule"], unique=False)
    op.create_index(op.f("ix_budget_uses_target_at"), "budget_uses", ["target", "at"], unique=False)
    op.create_table(
        "effects",
        sa.Column("key", Word(), nullable=False),
        sa.Column("bundle", Word(), nullable=False),
        sa.Column("target", Word(), nullable=False),
        sa.Column("effect", Word(), nullable=False),
        sa.Column("record", Word(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("fingerprint", Word(), nullable=False),
        sa.Column("state", Word(), nullable=False),
        sa.Column("doubtful", sa.Boolean(), nullable=False),
        sa.Column("sent_at", Instant(), nullable=False),
        sa.Column("ended_at", Instant(), nullable=True),
        sa.ForeignKeyConstraint(["bundle"], ["bundles.id"], name=op.f("fk_effects_bundle")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_effects")),
    )
    op.create_index(op.f("ix_effects_bundle"), "effects", ["bundle"], unique=False)
    op.create_index(op.f("ix_effects_record_target_effect"), "effects", ["record", "target", "effect"], unique=False)
    op.create_table(
        "holds",
        sa.Column("target", Word(), nullable=False),
        sa.Column("record", Word(), nullable=False),
        sa.Column("bundle", Word(), nullable=False),
        sa.Column("role", Word(), nullable=False),
        sa.Column("since", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["bundle"], ["bundles.id"], name=op.f("fk_holds_bundle")),
        sa.PrimaryKeyConstraint("target", "record", "bundle", name=op.f("pk_holds")),
    )
    op.create_index(op.f("ix_holds_bundle"), "holds", ["bundle"], unique=False)
