"""People judge pairs of records that are in no finding: that they are the same, or not."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from reconcile.store.columns import Instant, Json, Word

revision = "0020"
down_revision = "0019"

_NEW = ("pair", "kind", "dataset")


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        _rebuild()
    else:
        op.alter_column("not_same", "finding", nullable=True)
        for name in _NEW:
            op.add_column("not_same", sa.Column(name, Word()))
        op.create_unique_constraint(op.f("uq_not_same_pair"), "not_same", ["pair"])
    op.create_table(
        "uncertain_pairs",
        sa.Column("pair", Word(), nullable=False),
        sa.Column("rule", Word(), nullable=False),
        sa.Column("kind", Word(), nullable=False),
        sa.Column("dataset", Word(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("record_a", Word(), nullable=False),
        sa.Column("record_b", Word(), nullable=False),
        sa.Column("values_a", Json(), nullable=False),
        sa.Column("values_b", Json(), nullable=False),
        sa.Column("probability", Word(), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("found_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("pair", name=op.f("pk_uncertain_pairs")),
    )
    op.create_index(op.f("ix_uncertain_pairs_rule"), "uncertain_pairs", ["rule"], unique=False)


def _rebuild() -> None:
    """Make `finding` nullable where a column cannot be altered."""
    columns = ("rule", "record_a", "record_b", "values_a", "values_b", "finding", "decided_by", "decided_at", "note")
    op.create_table(
        "not_same_with_pairs",
        sa.Column("rule", Word(), nullable=False),
        sa.Column("record_a", Word(), nullable=False),
        sa.Column("record_b", Word(), nullable=False),
        sa.Column("values_a", Json(), nullable=False),
        sa.Column("values_b", Json(), nullable=False),
        sa.Column("finding", Word()),
        sa.Column("decided_by", Word(), nullable=False),
        sa.Column("decided_at", Instant(), nullable=False),
        sa.Column("note", sa.Text()),
        sa.Column("decision", Word()),
        *(sa.Column(name, Word()) for name in _NEW),
        sa.CheckConstraint("record_a < record_b", name=op.f("ck_not_same_ordered")),
        sa.ForeignKeyConstraint(["finding"], ["findings.id"], name=op.f("fk_not_same_finding")),
        sa.PrimaryKeyConstraint("rule", "record_a", "record_b", name=op.f("pk_not_same")),
        sa.UniqueConstraint("pair", name=op.f("uq_not_same_pair")),
    )
    new = sa.table("not_same_with_pairs", *map(sa.column, (*columns, "decision")))
    old = sa.table("not_same", *map(sa.column, (*columns, "decision")))
    op.execute(sa.insert(new).from_select([*columns, "decision"], sa.select(old)))
    op.drop_table("not_same")
    op.rename_table("not_same_with_pairs", "not_same")
    op.create_index(op.f("ix_not_same_finding"), "not_same", ["finding"], unique=False)
    op.create_index(op.f("ix_not_same_rule_record_b"), "not_same", ["rule", "record_b"], unique=False)
