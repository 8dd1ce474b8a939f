"""The first schema whose states migrate."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Instant, Json, OrderedJson, Word

revision = "0019"
down_revision = None


def upgrade() -> None:  # noqa: PLR0915 - one statement for each table and index
    op.create_table(
        "attempts",
        sa.Column("scope", Word(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("since", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("scope", name=op.f("pk_attempts")),
    )
    op.create_index(op.f("ix_attempts_since"), "attempts", ["since"], unique=False)
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
        "awaited",
        sa.Column("job", Word(), nullable=False),
        sa.Column("other", Word(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("job", "other", name=op.f("pk_awaited")),
    )
    op.create_table(
        "breakers",
        sa.Column("target", Word(), nullable=False),
        sa.Column("state", Word(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("requests", Json(), nullable=False),
        sa.Column("opened_at", Instant()),
        sa.Column("probe_at", Instant()),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.PrimaryKeyConstraint("target", name=op.f("pk_breakers")),
    )
    op.create_table(
        "clock",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("wall", Instant(), nullable=False),
        sa.Column("boot", Word(), nullable=False),
        sa.Column("boot_ns", sa.BigInteger(), nullable=False),
        sa.Column("held_since", Instant()),
        sa.Column("held_from", Instant()),
        sa.CheckConstraint("id = 1", name=op.f("ck_clock_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_clock")),
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
        "expectations",
        sa.Column("job", Word(), nullable=False),
        sa.Column("since", Instant()),
        sa.PrimaryKeyConstraint("job", name=op.f("pk_expectations")),
    )
    op.create_table(
        "facts",
        sa.Column("kind", Word(), nullable=False),
        sa.Column("name", Word(), nullable=False),
        sa.Column("digest", Word(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "name", name=op.f("pk_facts")),
    )
    op.create_table(
        "keyed_requests",
        sa.Column("user", Word(), nullable=False),
        sa.Column("key", Word(), nullable=False),
        sa.Column("digest", Word(), nullable=False),
        sa.Column("received_at", Instant(), nullable=False),
        sa.Column("answer", Json()),
        sa.PrimaryKeyConstraint("user", "key", name=op.f("pk_keyed_requests")),
    )
    op.create_index(op.f("ix_keyed_requests_received_at"), "keyed_requests", ["received_at"], unique=False)
    op.create_table(
        "leases",
        sa.Column("name", Word(), nullable=False),
        sa.Column("owner", Json()),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", Instant(), nullable=False),
        sa.Column("taken_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
    op.create_table(
        "limits",
        sa.Column("scope", Word(), nullable=False),
        sa.Column("stopped_at", Instant()),
        sa.Column("reason", sa.Text()),
        sa.Column("counted_at", Instant()),
        sa.Column("day_records", sa.BigInteger(), nullable=False),
        sa.Column("day_money", Json(), nullable=False),
        sa.Column("run", Word()),
        sa.Column("run_records", sa.BigInteger(), nullable=False),
        sa.Column("run_money", Json(), nullable=False),
        sa.PrimaryKeyConstraint("scope", name=op.f("pk_limits")),
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
        "pauses",
        sa.Column("subject", Word(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("by", Word(), nullable=False),
        sa.Column("since", Instant(), nullable=False),
        sa.Column("until", Instant()),
        sa.PrimaryKeyConstraint("subject", name=op.f("pk_pauses")),
    )
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
    op.create_index(op.f("ix_presses_received_at"), "presses", ["received_at"], unique=False)
    op.create_index(op.f("ix_presses_status_next_at"), "presses", ["status", "next_at"], unique=False)
    op.create_table(
        "record_ids",
        sa.Column("dataset", Word(), nullable=False),
        sa.Column("columns", Json(), nullable=False),
        sa.Column("types", Json(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("dataset", name=op.f("pk_record_ids")),
    )
    op.create_table(
        "releases",
        sa.Column("hash", Word(), nullable=False),
        sa.Column("config", Json(), nullable=False),
        sa.Column("first_seen", Instant(), nullable=False),
        sa.Column("files", Json()),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_releases")),
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
        sa.Column("tzdata", Word()),
        sa.Column("status", Word(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("start_at", Instant(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("sources", Json(), nullable=False),
        sa.Column("owner", Json()),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", Instant(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("ended_at", Instant()),
        sa.PrimaryKeyConstraint("job", "slot", name=op.f("pk_slots")),
        sa.UniqueConstraint("job", "cause", name=op.f("uq_slots_job_cause")),
    )
    op.create_index(op.f("ix_slots_job_status_slot"), "slots", ["job", "status", "slot"], unique=False)
    op.create_index(op.f("ix_slots_status_start_at"), "slots", ["status", "start_at"], unique=False)
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
        "troubles",
        sa.Column("subject", Word(), nullable=False),
        sa.Column("job", Word()),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("since", Instant(), nullable=False),
        sa.Column("channels", Json(), nullable=False),
        sa.PrimaryKeyConstraint("subject", name=op.f("pk_troubles")),
    )
    op.create_table(
        "users",
        sa.Column("name", Word(), nullable=False),
        sa.Column("role", Word(), nullable=False),
        sa.Column("password", Word()),
        sa.Column("sees_personal", sa.Boolean(), nullable=False),
        sa.Column("disabled_at", Instant()),
        sa.Column("created_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_users")),
    )
    op.create_table(
        "watches",
        sa.Column("job", Word(), nullable=False),
        sa.Column("dataset", Word(), nullable=False),
        sa.Column("digest", Word()),
        sa.Column("seen_at", Instant(), nullable=False),
        sa.Column("pending", Word()),
        sa.Column("pending_since", Instant()),
        sa.PrimaryKeyConstraint("job", "dataset", name=op.f("pk_watches")),
    )
    op.create_table(
        "watermarks",
        sa.Column("rule", Word(), nullable=False),
        sa.Column("version", Word(), nullable=False),
        sa.Column("mark", Json(), nullable=False),
        sa.Column("run", Word(), nullable=False),
        sa.Column("full_slot", Instant(), nullable=False),
        sa.Column("increments", sa.Integer(), nullable=False),
        sa.Column("missed", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("rule", name=op.f("pk_watermarks")),
    )
    op.create_table(
        "audit_bodies",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("salt", Word(), nullable=False),
        sa.Column("body", Json(), nullable=False),
        sa.Column("finding", Word()),
        sa.Column("run", Word()),
        sa.ForeignKeyConstraint(["seq"], ["audit.seq"], name=op.f("fk_audit_bodies_seq")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_audit_bodies")),
    )
    op.create_index(op.f("ix_audit_bodies_finding"), "audit_bodies", ["finding"], unique=False)
    op.create_index(op.f("ix_audit_bodies_run"), "audit_bodies", ["run"], unique=False)
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
        "promotion",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("release", Word(), nullable=False),
        sa.Column("held", sa.Boolean(), nullable=False),
        sa.Column("since", Instant(), nullable=False),
        sa.Column("by", Word(), nullable=False),
        sa.Column("note", sa.Text()),
        sa.CheckConstraint("id = 1", name=op.f("ck_promotion_one_row")),
        sa.ForeignKeyConstraint(["release"], ["releases.hash"], name=op.f("fk_promotion_release")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_promotion")),
    )
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
        sa.Column("finished", Instant()),
        sa.Column("summary", Json()),
        sa.ForeignKeyConstraint(["release"], ["releases.hash"], name=op.f("fk_runs_release")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sa.UniqueConstraint("job", "slot", name=op.f("uq_runs_job_slot")),
    )
    op.create_index(op.f("ix_runs_job_started"), "runs", ["job", "started"], unique=False)
    op.create_index(op.f("ix_runs_job_status_fence"), "runs", ["job", "status", "fence"], unique=False)
    op.create_index(op.f("ix_runs_started"), "runs", ["started"], unique=False)
    op.create_table(
        "sessions",
        sa.Column("id", Word(), nullable=False),
        sa.Column("user", Word(), nullable=False),
        sa.Column("started_at", Instant(), nullable=False),
        sa.Column("seen_at", Instant(), nullable=False),
        sa.Column("ends_at", Instant(), nullable=False),
        sa.Column("seal", Word()),
        sa.ForeignKeyConstraint(["user"], ["users.name"], name=op.f("fk_sessions_user")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_ends_at"), "sessions", ["ends_at"], unique=False)
    op.create_index(op.f("ix_sessions_user"), "sessions", ["user"], unique=False)
    op.create_table(
        "tokens",
        sa.Column("name", Word(), nullable=False),
        sa.Column("id", Word(), nullable=False),
        sa.Column("user", Word(), nullable=False),
        sa.Column("role", Word(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant()),
        sa.Column("used_at", Instant()),
        sa.ForeignKeyConstraint(["user"], ["users.name"], name=op.f("fk_tokens_user")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_tokens")),
        sa.UniqueConstraint("id", name=op.f("uq_tokens_id")),
    )
    op.create_index(op.f("ix_tokens_user"), "tokens", ["user"], unique=False)
    op.create_table(
        "unchanged_runs",
        sa.Column("job", Word(), nullable=False),
        sa.Column("day", Word(), nullable=False),
        sa.Column("release", Word(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.Column("slots", Json(), nullable=False),
        sa.Column("first_slot", Instant(), nullable=False),
        sa.Column("last_slot", Instant(), nullable=False),
        sa.Column("started", Instant(), nullable=False),
        sa.Column("finished", Instant(), nullable=False),
        sa.Column("summary", Json(), nullable=False),
        sa.ForeignKeyConstraint(["release"], ["releases.hash"], name=op.f("fk_unchanged_runs_release")),
        sa.PrimaryKeyConstraint("job", "day", "release", name=op.f("pk_unchanged_runs")),
    )
    op.create_table(
        "anchors",
        sa.Column("anchor", Word(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("status", Word(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", Instant(), nullable=False),
        sa.Column("at", Instant()),
        sa.Column("receipt", Json()),
        sa.Column("problem", sa.Text()),
        sa.ForeignKeyConstraint(["seq"], ["checkpoints.seq"], name=op.f("fk_anchors_seq")),
        sa.PrimaryKeyConstraint("anchor", "seq", name=op.f("pk_anchors")),
    )
    op.create_index(op.f("ix_anchors_status_next_at"), "anchors", ["status", "next_at"], unique=False)
    op.create_table(
        "dataset_stats",
        sa.Column("dataset", Word(), nullable=False),
        sa.Column("rule", Word(), nullable=False),
        sa.Column("run", Word(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("read", sa.BigInteger(), nullable=False),
        sa.Column("scanned", sa.BigInteger(), nullable=False),
        sa.Column("skipped", sa.BigInteger(), nullable=False),
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
        sa.Column("snoozed_until", Instant()),
        sa.Column("assigned_to", Word()),
        sa.Column("decided_by", Word()),
        sa.Column("note", sa.Text()),
        sa.Column("merged_into", Word()),
        sa.Column("digest", Word()),
        sa.Column("amount_rank", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["first_run"], ["runs.id"], name=op.f("fk_findings_first_run")),
        sa.ForeignKeyConstraint(["last_run"], ["runs.id"], name=op.f("fk_findings_last_run")),
        sa.ForeignKeyConstraint(["merged_into"], ["findings.id"], name=op.f("fk_findings_merged_into")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_findings")),
    )
    op.create_index(op.f("ix_findings_assigned_to"), "findings", ["assigned_to"], unique=False)
    op.create_index(op.f("ix_findings_fingerprint"), "findings", ["fingerprint"], unique=False)
    op.create_index(
        op.f("ix_findings_rule_state_severity_amount_rank_first_seen_id"),
        "findings",
        ["rule", "state", "severity", "amount_rank", "first_seen", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_findings_state_severity_amount_rank_first_seen_id"),
        "findings",
        ["state", "severity", "amount_rank", "first_seen", "id"],
        unique=False,
    )
    op.create_table(
        "outbox",
        sa.Column("message", Word(), nullable=False),
        sa.Column("channel", Word(), nullable=False),
        sa.Column("job", Word(), nullable=False),
        sa.Column("run", Word()),
        sa.Column("notice", OrderedJson(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("status", Word(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("queued_at", Instant(), nullable=False),
        sa.Column("next_at", Instant(), nullable=False),
        sa.Column("give_up_at", Instant(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("owner", Json()),
        sa.Column("lease_until", Instant(), nullable=False),
        sa.Column("outcome_unknown", sa.Boolean(), nullable=False),
        sa.Column("problem", sa.Text()),
        sa.Column("receipt", Json()),
        sa.Column("sent_at", Instant()),
        sa.Column("held", Word()),
        sa.Column("shown", Word()),
        sa.Column("shown_at", Instant()),
        sa.Column("updates", sa.Integer()),
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
        sa.Column("renamed_from", Word()),
        sa.Column("cleaning", Word()),
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
        sa.Column("settled_at", Instant()),
        sa.Column("chosen_by", Word()),
        sa.Column("chosen_at", Instant()),
        sa.Column("gives", Json()),
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
        sa.Column("note", sa.Text()),
        sa.Column("decision", Word()),
        sa.CheckConstraint("record_a < record_b", name=op.f("ck_not_same_ordered")),
        sa.ForeignKeyConstraint(["finding"], ["findings.id"], name=op.f("fk_not_same_finding")),
        sa.PrimaryKeyConstraint("rule", "record_a", "record_b", name=op.f("pk_not_same")),
    )
    op.create_index(op.f("ix_not_same_finding"), "not_same", ["finding"], unique=False)
    op.create_index(op.f("ix_not_same_rule_record_b"), "not_same", ["rule", "record_b"], unique=False)
    op.create_table(
        "notified",
        sa.Column("finding", Word(), nullable=False),
        sa.Column("channel", Word(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("message", Word(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("before_version", sa.Integer()),
        sa.Column("before_message", Word()),
        sa.Column("before_at", Instant()),
        sa.ForeignKeyConstraint(["finding"], ["findings.id"], name=op.f("fk_notified_finding")),
        sa.ForeignKeyConstraint(["message"], ["outbox.message"], name=op.f("fk_notified_message")),
        sa.PrimaryKeyConstraint("finding", "channel", name=op.f("pk_notified")),
    )
    op.create_table(
        "plans",
        sa.Column("id", Word(), nullable=False),
        sa.Column("finding", Word(), nullable=False),
        sa.Column("rule", Word(), nullable=False),
        sa.Column("dataset", Word(), nullable=False),
        sa.Column("source", Word(), nullable=False),
        sa.Column("target", Word(), nullable=False),
        sa.Column("action", Word(), nullable=False),
        sa.Column("run", Word()),
        sa.Column("release", Word(), nullable=False),
        sa.Column("plan_hash", Word(), nullable=False),
        sa.Column("undoes", Word()),
        sa.Column("state", Word(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("content", sa.Text()),
        sa.Column("outcome", sa.Text()),
        sa.Column("summary", Json(), nullable=False),
        sa.Column("records", sa.Integer(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("money", Json(), nullable=False),
        sa.Column("reversible", Word(), nullable=False),
        sa.Column("policy", Word(), nullable=False),
        sa.Column("proposed_by", Word(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant()),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("owner", Json()),
        sa.Column("lease_until", Instant(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", Instant(), nullable=False),
        sa.Column("give_up_at", Instant()),
        sa.Column("transaction", Word()),
        sa.Column("sent_at", Instant()),
        sa.Column("ended_at", Instant()),
        sa.ForeignKeyConstraint(["finding"], ["findings.id"], name=op.f("fk_plans_finding")),
        sa.ForeignKeyConstraint(["release"], ["releases.hash"], name=op.f("fk_plans_release")),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("fk_plans_run")),
        sa.ForeignKeyConstraint(["undoes"], ["plans.id"], name=op.f("fk_plans_undoes")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_plans")),
    )
    op.create_index(op.f("ix_plans_finding"), "plans", ["finding"], unique=False)
    op.create_index(op.f("ix_plans_rule_state"), "plans", ["rule", "state"], unique=False)
    op.create_index(op.f("ix_plans_run"), "plans", ["run"], unique=False)
    op.create_index(
        op.f("ix_plans_state_source_next_at_id"), "plans", ["state", "source", "next_at", "id"], unique=False
    )
    op.create_index(op.f("ix_plans_undoes"), "plans", ["undoes"], unique=False)
    op.create_table(
        "shown_findings",
        sa.Column("message", Word(), nullable=False),
        sa.Column("finding", Word(), nullable=False),
        sa.ForeignKeyConstraint(["finding"], ["findings.id"], name=op.f("fk_shown_findings_finding")),
        sa.ForeignKeyConstraint(["message"], ["outbox.message"], name=op.f("fk_shown_findings_message")),
        sa.PrimaryKeyConstraint("message", "finding", name=op.f("pk_shown_findings")),
    )
    op.create_index(op.f("ix_shown_findings_finding"), "shown_findings", ["finding"], unique=False)
    op.create_table(
        "approvals",
        sa.Column("plan", Word(), nullable=False),
        sa.Column("by", Word(), nullable=False),
        sa.Column("decision", Word(), nullable=False),
        sa.Column("plan_hash", Word(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("note", sa.Text()),
        sa.ForeignKeyConstraint(["plan"], ["plans.id"], name=op.f("fk_approvals_plan")),
        sa.PrimaryKeyConstraint("plan", "by", name=op.f("pk_approvals")),
    )
    op.create_index(op.f("ix_approvals_plan_hash"), "approvals", ["plan_hash"], unique=False)
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
    op.create_table(
        "effects",
        sa.Column("key", Word(), nullable=False),
        sa.Column("plan", Word(), nullable=False),
        sa.Column("target", Word(), nullable=False),
        sa.Column("effect", Word(), nullable=False),
        sa.Column("record", Word(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("fingerprint", Word(), nullable=False),
        sa.Column("state", Word(), nullable=False),
        sa.Column("outcome_unknown", sa.Boolean(), nullable=False),
        sa.Column("sent_at", Instant(), nullable=False),
        sa.Column("ended_at", Instant()),
        sa.ForeignKeyConstraint(["plan"], ["plans.id"], name=op.f("fk_effects_plan")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_effects")),
    )
    op.create_index(op.f("ix_effects_ended_at"), "effects", ["ended_at"], unique=False)
    op.create_index(op.f("ix_effects_plan"), "effects", ["plan"], unique=False)
    op.create_index(op.f("ix_effects_record_target_effect"), "effects", ["record", "target", "effect"], unique=False)
    op.create_table(
        "holds",
        sa.Column("target", Word(), nullable=False),
        sa.Column("record", Word(), nullable=False),
        sa.Column("plan", Word(), nullable=False),
        sa.Column("role", Word(), nullable=False),
        sa.Column("since", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["plan"], ["plans.id"], name=op.f("fk_holds_plan")),
        sa.PrimaryKeyConstraint("target", "record", "plan", name=op.f("pk_holds")),
    )
    op.create_index(op.f("ix_holds_plan"), "holds", ["plan"], unique=False)
    op.create_table(
        "limit_uses",
        sa.Column("plan", Word(), nullable=False),
        sa.Column("rule", Word(), nullable=False),
        sa.Column("target", Word(), nullable=False),
        sa.Column("run", Word()),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("records", sa.Integer(), nullable=False),
        sa.Column("money", Json(), nullable=False),
        sa.ForeignKeyConstraint(["plan"], ["plans.id"], name=op.f("fk_limit_uses_plan")),
        sa.PrimaryKeyConstraint("plan", name=op.f("pk_limit_uses")),
    )
    op.create_index(op.f("ix_limit_uses_rule_at"), "limit_uses", ["rule", "at"], unique=False)
    op.create_index(op.f("ix_limit_uses_run_rule"), "limit_uses", ["run", "rule"], unique=False)
    op.create_index(op.f("ix_limit_uses_target_at"), "limit_uses", ["target", "at"], unique=False)
