"""The first schema: runs, findings, outbox, leases and the audit chain."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Document, Instant, Json, Word

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("actor", Word(), nullable=False),
        sa.Column("event", Word(), nullable=False),
        sa.Column("subject", Word(), nullable=False),
        sa.Column("body_commitment", Word(), nullable=False),
        sa.Column("prev", Word(), nullable=False),
        sa.Column("head", Word(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_audit")),
    )
    op.create_index(op.f("ix_audit_subject"), "audit", ["subject"], unique=False)
    op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("head", Word(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_audit_head_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_head")),
    )
    op.create_table(
        "leases",
        sa.Column("name", Word(), nullable=False),
        sa.Column("owner", Json(), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", Instant(), nullable=False),
        sa.Column("taken_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
    op.create_table(
        "meta",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("store_id", Word(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("revision", Word(), nullable=False),
        sa.Column("key_check", Word(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_meta_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_meta")),
    )
    op.create_table(
        "releases",
        sa.Column("hash", Word(), nullable=False),
        sa.Column("config", Json(), nullable=False),
        sa.Column("first_seen", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_releases")),
    )
    op.create_table(
        "audit_bodies",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("salt", Word(), nullable=False),
        sa.Column("body", Json(), nullable=False),
        sa.Column("finding", Word(), nullable=True),
        sa.Column("run", Word(), nullable=True),
        sa.ForeignKeyConstraint(["seq"], ["audit.seq"], name=op.f("fk_audit_bodies_seq")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_audit_bodies")),
    )
    op.create_index(op.f("ix_audit_bodies_finding"), "audit_bodies", ["finding"], unique=False)
    op.create_index(op.f("ix_audit_bodies_run"), "audit_bodies", ["run"], unique=False)
    op.create_table(
        "runs",
        sa.Column("id", Word(), nullable=False),
        sa.Column("job", Word(), nullable=False),
        sa.Column("slot", Instant(), nullable=False),
        sa.Column("release", Word(), nullable=False),
        sa.Column("trigger", Word(), nullable=False),
        sa.Column("status", Word(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("started", Instant(), nullable=False),
        sa.Column("finished", Instant(), nullable=True),
        sa.Column("summary", Json(), nullable=True),
        sa.ForeignKeyConstraint(["release"], ["releases.hash"], name=op.f("fk_runs_release")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sa.UniqueConstraint("job", "slot", name=op.f("uq_runs_job_slot")),
    )
    op.create_table(
        "dataset_stats",
        sa.Column("dataset", Word(), nullable=False),
        sa.Column("rule", Word(), nullable=False),
        sa.Column("run", Word(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("read", sa.BigInteger(), nullable=False),
        sa.Column("scanned", sa.BigInteger(), nullable=False),
        sa.Column("groups", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("fk_dataset_stats_run")),
        sa.PrimaryKeyConstraint("dataset", "rule", "run", name=op.f("pk_dataset_stats")),
    )
    op.create_index(op.f("ix_dataset_stats_dataset_rule_at"), "dataset_stats", ["dataset", "rule", "at"], unique=False)
    op.create_table(
        "failures",
        sa.Column("job", Word(), nullable=False),
        sa.Column("subject", Word(), nullable=False),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("since", Instant(), nullable=False),
        sa.Column("first_run", Word(), nullable=False),
        sa.Column("last_run", Word(), nullable=False),
        sa.ForeignKeyConstraint(["first_run"], ["runs.id"], name=op.f("fk_failures_first_run")),
        sa.ForeignKeyConstraint(["last_run"], ["runs.id"], name=op.f("fk_failures_last_run")),
        sa.PrimaryKeyConstraint("job", "subject", name=op.f("pk_failures")),
    )
    op.create_table(
        "findings",
        sa.Column("id", Word(), nullable=False),
        sa.Column("fingerprint", Word(), nullable=False),
        sa.Column("rule", Word(), nullable=False),
        sa.Column("kind", Word(), nullable=False),
        sa.Column("dataset", Word(), nullable=False),
        sa.Column("state", Word(), nullable=False),
        sa.Column("severity", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("key", Json(), nullable=False),
        sa.Column("payload", Json(), nullable=False),
        sa.Column("money", Json(), nullable=False),
        sa.Column("records", sa.Integer(), nullable=False),
        sa.Column("first_run", Word(), nullable=False),
        sa.Column("first_seen", Instant(), nullable=False),
        sa.Column("last_run", Word(), nullable=False),
        sa.Column("last_seen", Instant(), nullable=False),
        sa.Column("state_since", Instant(), nullable=False),
        sa.Column("snoozed_until", Instant(), nullable=True),
        sa.Column("assigned_to", Word(), nullable=True),
        sa.Column("decided_by", Word(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("merged_into", Word(), nullable=True),
        sa.ForeignKeyConstraint(["first_run"], ["runs.id"], name=op.f("fk_findings_first_run")),
        sa.ForeignKeyConstraint(["last_run"], ["runs.id"], name=op.f("fk_findings_last_run")),
        sa.ForeignKeyConstraint(["merged_into"], ["findings.id"], name=op.f("fk_findings_merged_into")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_findings")),
    )
    op.create_index(op.f("ix_findings_fingerprint"), "findings", ["fingerprint"], unique=False)
    op.create_index(op.f("ix_findings_rule_state"), "findings", ["rule", "state"], unique=False)
    op.create_table(
        "outbox",
        sa.Column("message", Word(), nullable=False),
        sa.Column("channel", Word(), nullable=False),
        sa.Column("job", Word(), nullable=False),
        sa.Column("run", Word(), nullable=True),
        sa.Column("notice", Document(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("status", Word(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("queued_at", Instant(), nullable=False),
        sa.Column("next_at", Instant(), nullable=False),
        sa.Column("give_up_at", Instant(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("owner", Json(), nullable=True),
        sa.Column("lease_until", Instant(), nullable=False),
        sa.Column("in_doubt", sa.Boolean(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("receipt", Json(), nullable=True),
        sa.Column("sent_at", Instant(), nullable=True),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("fk_outbox_run")),
        sa.PrimaryKeyConstraint("message", name=op.f("pk_outbox")),
    )
    op.create_index(op.f("ix_outbox_run"), "outbox", ["run"], unique=False)
    op.create_index(op.f("ix_outbox_status_next_at"), "outbox", ["status", "next_at"], unique=False)
    op.create_table(
        "rule_state",
        sa.Column("rule", Word(), nullable=False),
        sa.Column("definition", Word(), nullable=False),
        sa.Column("first_run", Word(), nullable=False),
        sa.Column("first_run_at", Instant(), nullable=False),
        sa.Column("last_run", Word(), nullable=False),
        sa.Column("last_run_at", Instant(), nullable=False),
        sa.Column("renamed_from", Word(), nullable=True),
        sa.ForeignKeyConstraint(["first_run"], ["runs.id"], name=op.f("fk_rule_state_first_run")),
        sa.ForeignKeyConstraint(["last_run"], ["runs.id"], name=op.f("fk_rule_state_last_run")),
        sa.PrimaryKeyConstraint("rule", name=op.f("pk_rule_state")),
    )
    op.create_table(
        "run_rules",
        sa.Column("run", Word(), nullable=False),
        sa.Column("rule", Word(), nullable=False),
        sa.Column("status", Word(), nullable=False),
        sa.Column("outcome", Json(), nullable=False),
        sa.Column("finished", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("fk_run_rules_run")),
        sa.PrimaryKeyConstraint("run", "rule", name=op.f("pk_run_rules")),
    )
    op.create_table(
        "finding_aliases",
        sa.Column("fingerprint", Word(), nullable=False),
        sa.Column("finding", Word(), nullable=False),
        sa.Column("since", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["finding"], ["findings.id"], name=op.f("fk_finding_aliases_finding")),
        sa.PrimaryKeyConstraint("fingerprint", name=op.f("pk_finding_aliases")),
    )
    op.create_index(op.f("ix_finding_aliases_finding"), "finding_aliases", ["finding"], unique=False)
    op.create_table(
        "finding_members",
        sa.Column("finding", Word(), nullable=False),
        sa.Column("record", Word(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("role", Word(), nullable=False),
        sa.Column("values", Json(), nullable=False),
        sa.Column("first_seen", Instant(), nullable=False),
        sa.Column("settled_at", Instant(), nullable=True),
        sa.ForeignKeyConstraint(["finding"], ["findings.id"], name=op.f("fk_finding_members_finding")),
        sa.PrimaryKeyConstraint("finding", "record", name=op.f("pk_finding_members")),
    )
    op.create_index(op.f("ix_finding_members_record"), "finding_members", ["record"], unique=False)
    op.create_table(
        "not_same",
        sa.Column("rule", Word(), nullable=False),
        sa.Column("record_a", Word(), nullable=False),
        sa.Column("record_b", Word(), nullable=False),
        sa.Column("values_a", Json(), nullable=False),
        sa.Column("values_b", Json(), nullable=False),
        sa.Column("finding", Word(), nullable=False),
        sa.Column("decided_by", Word(), nullable=False),
        sa.Column("decided_at", Instant(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.CheckConstraint("record_a < record_b", name=op.f("ck_not_same_ordered")),
        sa.ForeignKeyConstraint(["finding"], ["findings.id"], name=op.f("fk_not_same_finding")),
        sa.PrimaryKeyConstraint("rule", "record_a", "record_b", name=op.f("pk_not_same")),
    )
    op.create_table(
        "told",
        sa.Column("finding", Word(), nullable=False),
        sa.Column("channel", Word(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("message", Word(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["finding"], ["findings.id"], name=op.f("fk_told_finding")),
        sa.ForeignKeyConstraint(["message"], ["outbox.message"], name=op.f("fk_told_message")),
        sa.PrimaryKeyConstraint("finding", "channel", name=op.f("pk_told")),
    )
