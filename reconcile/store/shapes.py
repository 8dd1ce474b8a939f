"""Accepted and refused shapes of datasets in the store: one row per dataset and rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.tables import dataset_schemas


def facts(tx: Transaction, dataset: str, rule: str) -> Mapping[str, Any] | None:
    of_rule = (dataset_schemas.c.dataset == dataset, dataset_schemas.c.rule == rule)
    stored: Mapping[str, Any] | None = tx.connection.execute(
        sa.select(dataset_schemas.c.facts).where(*of_rule)
    ).scalar()
    return stored


def keep(tx: Transaction, dataset: str, rule: str, *, digest: str, facts: Mapping[str, Any]) -> None:
    """Replace the facts; `digest` identifies the dataset's columns and types."""
    insert = insert_for(tx, dataset_schemas)
    newer = {name: insert.excluded[name] for name in ("digest", "facts", "at")}
    row = {"dataset": dataset, "rule": rule, "digest": digest, "facts": facts, "at": tx.now}
    tx.connection.execute(insert.on_conflict_do_update(index_elements=["dataset", "rule"], set_=newer), row)
