"""How a server of a replication describes itself: its role, its database, and how far it has got.

PostgreSQL counts the bytes of its log. MariaDB counts the transactions of each domain of its binary log: its GTIDs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connectors.sql.errors import ErrorContext

Ask = Callable[[str], Sequence[Any]]
"""Run a statement in a transaction of its own; return its only row."""
Position = Mapping[str, tuple[str, int]]
"""The last writer and number in each stream of changes, by the stream's name."""

# A commit is visible before it is flushed if `synchronous_commit` is off: hence the position of inserted records.
_POSTGRESQL = """
    select pg_is_in_recovery(), cast(system_identifier as text), cast(current_database() as text),
        array_to_string(current_schemas(false), ', '),
        cast(case when pg_is_in_recovery() then coalesce(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0'), 0)
        else pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') end as bigint),
        cast(current_setting('wal_block_size') as bigint), pg_size_bytes(current_setting('wal_segment_size'))
    from pg_control_system()
"""
_MARIADB = """
    select @@global.gtid_current_pos, @@global.gtid_slave_pos, coalesce(database(), ''),
        cast(@@global.read_only as char) in ('0', 'OFF'),
        (select variable_value > 0 from information_schema.global_status where variable_name = 'SLAVES_RUNNING')
"""
_LONG_HEADER, _SHORT_HEADER = 40, 24
"""Bytes at the beginning of a file of PostgreSQL's log, and of each other page."""
_UNITS = ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"))


@dataclass(frozen=True)
class ServerState:
    """A server at one moment.

    `follows`: it repeats what a primary does. `leads`: others may change it too. `cluster` is the same for a primary
    and its replicas, and empty if their software has no such name. `schemas` are those in which names of tables are
    looked up. `has_own_changes`: it follows, but something else changed it too. `position`: how far it has got; of a
    primary, at least to all that it shows.
    """

    follows: bool
    leads: bool
    cluster: str
    database: str
    schemas: str
    position: Position
    has_own_changes: bool = False


def postgresql(ask: Ask) -> ServerState:
    follows, cluster, database, schemas, position, page, file = ask(_POSTGRESQL)
    end = position if follows else _record_end(position, page, file)
    return ServerState(follows, not follows, cluster, database, schemas, {"log": ("", end)})


def _record_end(position: int, page: int, file: int) -> int:
    """Return where the last record ends, before the header of the page on which the next one will begin."""
    header = _LONG_HEADER if position % file < page else _SHORT_HEADER
    return position - header if position % page == header else position


def mariadb(ask: Ask) -> ServerState:
    current, repeated, database, is_writable, is_running = ask(_MARIADB)
    follows, position = bool(is_running), _gtids(current)
    has_own_changes = follows and position != _gtids(repeated)
    return ServerState(follows, bool(is_writable) or not follows, "", database, "", position, has_own_changes)


def _gtids(text: str) -> Position:
    """Return the position of `0-1-57,1-1-3`: domain, server, number."""
    parts = (gtid.split("-") for gtid in text.split(",") if gtid)
    return {domain: (server, int(number)) for domain, server, number in parts}


def lacking(there: Position, goal: Position) -> int:
    """Return how much of the goal is missing there; 0 if nothing is."""
    return sum(max(0, number - there.get(stream, ("", 0))[1]) for stream, (_, number) in goal.items())


def diverges(there: Position, goal: Position, later: Position) -> bool:
    """Return True if no replica can be there whose primary was at the goal before and is at `later` now.

    It would be ahead, or have the same number from another server.
    """
    is_ahead = any(there[stream][1] > number for stream, (_, number) in later.items() if stream in there)
    return is_ahead or any(
        there[stream] != point
        for position in (goal, later)
        for stream, point in position.items()
        if stream in there and there[stream][1] == point[1]
    )


def lag_in_words(place: ErrorContext, lag: int) -> str:
    """Return a lag of a server of that place, as the object of a sentence."""
    if place.dialect != "postgresql":
        return f"{lag:,} {'transaction' if lag == 1 else 'transactions'}"
    for size, unit in _UNITS:
        if lag >= size:
            return f"{lag / size:,.1f} {unit} of the log"
    return f"{lag} {'byte' if lag == 1 else 'bytes'} of the log"
