"""People who sign in: users, their tokens, sessions and attempts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Instant, Word

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
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
        "sessions",
        sa.Column("id", Word(), nullable=False),
        sa.Column("user", Word(), nullable=False),
        sa.Column("started_at", Instant(), nullable=False),
        sa.Column("seen_at", Instant(), nullable=False),
        sa.Column("ends_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["user"], ["users.name"], name=op.f("fk_sessions_user")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_user"), "sessions", ["user"], unique=False)
    op.create_index(op.f("ix_sessions_ends_at"), "sessions", ["ends_at"], unique=False)
    op.create_table(
        "attempts",
        sa.Column("scope", Word(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("since", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("scope", name=op.f("pk_attempts")),
    )
    op.create_index(op.f("ix_attempts_since"), "attempts", ["since"], unique=False)
