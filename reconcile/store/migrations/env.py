"""Alembic's entry: runs the scripts on the connection passed in; nothing else runs them."""

from __future__ import annotations

from alembic import context

from reconcile.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
