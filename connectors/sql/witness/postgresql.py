"""PostgreSQL counts the rows that the current transaction inserts, updates and deletes, table by table.

Any role can read the counters (`pg_stat_get_xact_tuples_*`). They include changes by cascades and triggers, also in
rows that row-level security hides. A rolled-back savepoint does not reduce them, and they include earlier transactions
of the session until those are reported, so only differences count. They do not see TRUNCATE, but it takes a lock that
nothing of ours takes, so we look for that lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from connectors.sql.cleaning.outcomes import failed
from connectors.sql.witness.base import Counting, Statements
from connectors.target import Image, TransactionOutcome, Unplanned

_COUNTS = """
    SELECT coalesce(pg_catalog.pg_partition_root(c.oid)::oid, c.oid),
           pg_catalog.pg_stat_get_xact_tuples_inserted(c.oid),
           pg_catalog.pg_stat_get_xact_tuples_updated(c.oid),
           pg_catalog.pg_stat_get_xact_tuples_deleted(c.oid)
    FROM pg_catalog.pg_class c
    WHERE c.relkind = 'r'
    AND (pg_catalog.pg_stat_get_xact_tuples_inserted(c.oid) > 0
         OR pg_catalog.pg_stat_get_xact_tuples_updated(c.oid) > 0
         OR pg_catalog.pg_stat_get_xact_tuples_deleted(c.oid) > 0)
"""
"""Reads one table, without a join: planning a join would take longer than everything else."""
_NAMES = """
    SELECT c.oid, n.nspname, c.relname, n.nspname = current_schema(), c.relkind = 'p'
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = ANY (%s) AND n.nspname <> 'pg_catalog'
"""
_TRUNCATED = """
    SELECT n.nspname, c.relname, n.nspname = current_schema()
    FROM pg_catalog.pg_locks l
    JOIN pg_catalog.pg_class c ON c.oid = l.relation
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND l.granted AND l.mode = 'AccessExclusiveLock'
    AND c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
"""
_RELATED = """
    WITH RECURSIVE reached(oid) AS (
        SELECT c.oid FROM unnest(%s::text[], %s::text[]) given(schema, name)
        JOIN pg_catalog.pg_namespace n ON n.nspname = given.schema
        JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = given.name
        UNION
        SELECT child.oid FROM pg_catalog.pg_constraint con
        JOIN pg_catalog.pg_class child
        ON child.oid IN (con.conrelid, pg_catalog.pg_partition_root(con.conrelid))
        JOIN reached ON reached.oid IN (con.confrelid, pg_catalog.pg_partition_root(con.confrelid))
        WHERE con.contype = 'f'
    )
    SELECT n.nspname, c.relname, n.nspname = current_schema()
    FROM reached JOIN pg_catalog.pg_class c ON c.oid = reached.oid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
"""
_FIRE_DEFERRED = "SET CONSTRAINTS ALL IMMEDIATE"


_Counts = tuple[int, int, int]
"""Rows inserted, updated and deleted."""


class PostgreSqlWitness:
    def __init__(self, counting: Counting) -> None:
        self._counting = counting
        self._session = counting.session
        if self._session.value("SELECT current_setting('track_counts')") != "on":
            raise failed(
                self._session.place,
                "PostgreSQL's setting track_counts is off for this user, so Reconcile cannot check its changes; "
                "switch it on",
                TransactionOutcome.PAUSE,
            )
        self._before = self._counts()
        self._statements: Statements = counting.statements.copy()

    def unplanned(self, images: Sequence[Image]) -> list[Unplanned]:
        del images  # our own statements count the rows they met
        self._session.send(_FIRE_DEFERRED)  # deferred triggers would otherwise fire at COMMIT, after the count
        counted = self._changed_since()
        beyond = {
            table: rows
            for table, (counts, is_partitioned) in counted.items()
            if (rows := _beyond(counts, self._planned(table), is_partitioned=is_partitioned))
        }
        missing = {table for table, _ in self._counting.statements - self._statements} - counted.keys()
        unknown = missing | self._truncated()
        if not beyond and not unknown:
            return []
        related = self._related()
        differences = [Unplanned(table, rows, table in related) for table, rows in sorted(beyond.items())]
        return differences + [Unplanned(table, None, table in related) for table in sorted(unknown)]

    def _counts(self) -> Mapping[int, _Counts]:
        """The counts of each changed table by its oid, with its partitions added up."""
        sums: dict[int, _Counts] = {}
        for oid, inserted, updated, deleted in self._session.run(_COUNTS).rows:
            before = sums.get(oid, (0, 0, 0))
            sums[oid] = (before[0] + inserted, before[1] + updated, before[2] + deleted)
        return sums

    def _changed_since(self) -> dict[str, tuple[_Counts, bool]]:
        """The changes since the count began, by the table's name, and True if the table has partitions."""
        changed: dict[int, _Counts] = {}
        for oid, (inserted, updated, deleted) in self._counts().items():
            before = self._before.get(oid, (0, 0, 0))
            counts = inserted - before[0], updated - before[1], deleted - before[2]
            if any(counts):
                changed[oid] = counts
        rows = self._session.run(_NAMES, (list(changed),)).rows if changed else ()
        return {_name(row[1], row[2], is_default=row[3]): (changed[row[0]], row[4]) for row in rows}

    def _planned(self, table: str) -> _Counts:
        now, before = self._counting.statements, self._statements
        inserted, updated, deleted = (now[table, kind] - before[table, kind] for kind in ("insert", "update", "delete"))
        return inserted, updated, deleted

    def _truncated(self) -> set[str]:
        """Tables that a trigger emptied or altered."""
        if not self._counting.triggers:
            return set()
        return {_name(row[0], row[1], is_default=row[2]) for row in self._session.run(_TRUNCATED).rows}

    def _related(self) -> set[str]:
        """The tables of the plan and all that refer to them in the catalogue."""
        shapes = [self._counting.tables.named(table) for table in self._counting.related_tables]
        bound = ([shape.schema for shape in shapes], [shape.table for shape in shapes])
        rows = self._session.run(_RELATED, bound).rows
        return {_name(row[0], row[1], is_default=row[2]) for row in rows} | {shape.name for shape in shapes}


def _beyond(counts: _Counts, planned: _Counts, *, is_partitioned: bool) -> int:
    """The difference from the planned number of rows. A row that moves to another partition is deleted and inserted."""
    inserted, updated, deleted = (count - plan for count, plan in zip(counts, planned, strict=True))
    if is_partitioned and updated < 0 and inserted == deleted == -updated:
        return 0
    return abs(inserted) + abs(updated) + abs(deleted)


def _name(schema: str, table: str, *, is_default: bool) -> str:
    return table if is_default else f"{schema}.{table}"
