"""A look at the findings for shell completion: the store is not opened, so nothing is created, upgraded or written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from pathlib import Path

import sqlalchemy as sa

from reconcile.findings.states import State
from reconcile.store.engine import StoreLocation, frozen, locate
from reconcile.store.tables import WORST_FIRST, findings

_PATIENCE = dt.timedelta(seconds=1)
_CONNECT = {"connect_timeout": "2"}
"""The least that PostgreSQL's library takes, in seconds."""


def findings_in(
    url: str, root: Path, states: Collection[State], beginning: str, most: int, rules: Collection[str] | None = None
) -> list[tuple[str, str]]:
    """Return id and rule of findings in these states, of these rules or all, whose id begins like this, worst first.

    Raises a StoreError or what the driver raises; also if there is no state.
    """
    place = _place(url, root)
    query = sa.select(findings.c.id, findings.c.rule).where(
        findings.c.state.in_([state.value for state in states]), findings.c.id.startswith(beginning, autoescape=True)
    )
    query = query if rules is None else query.where(findings.c.rule.in_(rules))
    worst_first = query.order_by(*WORST_FIRST).limit(most)
    try:
        with place.engine.connect().execution_options(reconcile_reading=True) as connection:
            return [(row.id, row.rule) for row in connection.execute(worst_first)]
    finally:
        place.engine.dispose()


def _place(url: str, root: Path) -> StoreLocation:
    """Return the place of a store; a file that no process has open is read without a lock."""
    place = locate(url, root, _PATIENCE)
    if place.file is None:
        return locate(
            sa.make_url(url).update_query_dict(_CONNECT).render_as_string(hide_password=False), root, _PATIENCE
        )
    return frozen(place.file, unused=not place.file.with_name(f"{place.file.name}-wal").exists())
