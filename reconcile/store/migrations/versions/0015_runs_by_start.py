"""The newest runs, without reading the summaries of all others."""

from __future__ import annotations

from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_index(op.f("ix_runs_started"), "runs", ["started"])
    op.create_index(op.f("ix_runs_job_started"), "runs", ["job", "started"])
