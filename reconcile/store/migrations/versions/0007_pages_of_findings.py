"""Indexes that give pages of findings in their order."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.drop_index(op.f("ix_findings_rule_state_severity"), table_name="findings")
    ordered = ["severity", "first_seen", "id"]
    op.create_index(op.f("ix_findings_rule_state_severity_first_seen_id"), "findings", ["rule", "state", *ordered])
    op.create_index(op.f("ix_findings_state_severity_first_seen_id"), "findings", ["state", *ordered])
    op.create_index(op.f("ix_findings_assigned_to"), "findings", ["assigned_to"])
