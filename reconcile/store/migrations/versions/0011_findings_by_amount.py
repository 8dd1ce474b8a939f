"""The order of findings by their amounts, and the operations that ended since a time."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_BATCH = 5_000


def upgrade() -> None:
    op.add_column("findings", sa.Column("amount_rank", sa.Double(), nullable=False, server_default=sa.text("0")))
    _rank()
    for name in ("rule_state_severity_first_seen_id", "state_severity_first_seen_id"):
        op.drop_index(op.f(f"ix_findings_{name}"), table_name="findings")
    ordered = ["state", "severity", "amount_rank", "first_seen", "id"]
    op.create_index(op.f("ix_findings_rule_state_severity_amount_rank_first_seen_id"), "findings", ["rule", *ordered])
    op.create_index(op.f("ix_findings_state_severity_amount_rank_first_seen_id"), "findings", ordered)
    op.create_index(op.f("ix_effects_ended_at"), "effects", ["ended_at"])


def _rank() -> None:
    """Set the rank of findings with money: minus their largest amount."""
    findings = sa.table("findings", sa.column("id"), sa.column("money"), sa.column("amount_rank"))
    connection = op.get_bind()
    rows = connection.execute(sa.select(findings.c.id, findings.c.money).where(findings.c.money != "{}")).all()
    ranks = [
        {"finding": name, "rank": min(-abs(float(amount)) for amount in json.loads(money).values())}
        for name, money in rows
    ]
    statement = sa.update(findings).where(findings.c.id == sa.bindparam("finding"))
    for at in range(0, len(ranks), _BATCH):
        connection.execute(statement.values(amount_rank=sa.bindparam("rank")), ranks[at : at + _BATCH])
