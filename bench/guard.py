"""The front door beside what people write by hand, and with few and many kept keys: `python -m bench.guard`.

By hand is one `INSERT … ON CONFLICT DO NOTHING` in a transaction of its own, through the driver, into a table of the
same database with the same durability: no lease, no fence, no result, no payload. Both claim new keys, in turns. Kept
keys are compared in turns, too: new claims, and repeats that get a stored result.
"""

from __future__ import annotations

import argparse
import datetime as dt
import secrets
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from reconcile.guard import Done, Guard, Namespace
from reconcile.guard.keys import key_of
from reconcile.store import Store, bulk, tables

NAMESPACES = {"bench": Namespace()}
TABLE = "CREATE TABLE by_hand (key TEXT PRIMARY KEY, claimed_at TEXT NOT NULL)"
CLAIM = "INSERT INTO by_hand VALUES ({0}, {0}) ON CONFLICT DO NOTHING RETURNING key"
ROUNDS = 9


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres", help="the address of a PostgreSQL server; by default only SQLite is measured")
    parser.add_argument("--claims", type=int, default=200, help="claims in each of the rounds")
    parser.add_argument("--few", type=int, default=10_000, help="kept keys, few")
    parser.add_argument("--many", type=int, default=1_000_000, help="kept keys, many")
    chosen = parser.parse_args(arguments)
    print("| state | measured | a second | beside | ratio |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="bench-guard-") as folder:
        _measure("SQLite", _sqlite(Path(folder)), chosen)
    if chosen.postgres:
        with tempfile.TemporaryDirectory(prefix="bench-guard-") as folder, _databases(chosen.postgres, 2) as urls:
            _measure("PostgreSQL", [(url, Path(folder) / str(number)) for number, url in enumerate(urls)], chosen)
    return 0


Place = tuple[str, Path]
"""The address of a state, and the folder of its key."""


def _sqlite(folder: Path) -> list[Place]:
    return [("sqlite:///state.db", folder / name) for name in ("few", "many")]


def _measure(name: str, places: list[Place], chosen: argparse.Namespace) -> None:
    doors = []
    for (url, folder), kept in zip(places, (chosen.few, chosen.many), strict=True):
        folder.mkdir()
        store = Store.open(url, folder)
        _fill(store, kept)
        doors.append(Guard.over(store, NAMESPACES))
    few, many = doors
    by_hand = _by_hand(*places[0])
    _row(name, "claims of new keys, beside by hand", few, chosen.claims, _new(few), by_hand)
    kept_keys = f"{chosen.many:,} kept keys beside {chosen.few:,}"
    _row(name, f"claims of new keys, {kept_keys}", many, chosen.claims, _new(many), _new(few))
    repeats = _repeats(many, chosen.many), _repeats(few, chosen.few)
    _row(name, f"repeats of done keys, {kept_keys}", many, chosen.claims, *repeats)
    for door in doors:
        door.store.close()


def _row(
    name: str, what: str, door: Guard, claims: int, measured: Callable[[], None], beside: Callable[[], None]
) -> None:
    """Measure two ways in turns, and print the median of each and the median of their ratios in time."""
    times: list[tuple[float, float]] = []
    for number in range(ROUNDS + 1):
        pair = []
        for way in (measured, beside) if number % 2 else (beside, measured):
            began = time.perf_counter()
            for _ in range(claims):
                way()
            pair.append(time.perf_counter() - began)
        if number:  # the first round warms up
            times.append((pair[0], pair[1]) if number % 2 else (pair[1], pair[0]))
    ours, theirs = (claims / statistics.median(column) for column in zip(*times, strict=True))
    ratio = statistics.median(first / second for first, second in times)
    print(f"| {name} | {what} | {ours:,.0f} | {theirs:,.0f} | {ratio:.2f} |", flush=True)
    door.counts.save(door.store)


def _new(door: Guard) -> Callable[[], None]:
    return lambda: _claimed(door.claim("bench", secrets.token_hex(8), {"amount": 20}))


def _claimed(answer: object) -> None:
    if isinstance(answer, Done):
        raise SystemExit("a new key was done")


def _repeats(door: Guard, kept: int) -> Callable[[], None]:
    def repeat() -> None:
        answer = door.claim("bench", f"kept-{secrets.randbelow(kept)}")
        if not isinstance(answer, Done):
            raise SystemExit("a kept key was not done")

    return repeat


def _fill(store: Store, kept: int) -> None:
    """Keep done keys, as claims and their ends would have left them over the last year."""
    with Guard.over(store, NAMESPACES) as door:
        claim = door.claim("bench", "a sample")
        if isinstance(claim, Done):
            raise SystemExit("the sample was done")
        door.complete("bench", claim.key, getattr(claim, "fence", 0), {"message": "m-1"})
        with store.read() as tx:
            [sample] = tx.connection.execute(sa.select(tables.guarded_keys)).mappings()
    year, batch = dt.timedelta(days=365), 50_000
    for begin in range(0, kept, batch):
        rows: list[dict[str, Any]] = []
        for number in range(begin, min(begin + batch, kept)):
            at = sample["created_at"] - year * (1 - number / kept)
            row = dict(sample) | {"key": key_of(store.key, "bench", f"kept-{number}"), "created_at": at}
            rows.append(row | {"changed_at": at, "keep_until": at + NAMESPACES["bench"].keep})
        with store.begin() as tx:
            bulk.insert(tx, tables.guarded_keys, rows)
    if not store.is_shared:  # else each look-up would search what was just written in the log beside the file
        with closing(sqlite3.connect(store.where)) as file:
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _by_hand(url: str, folder: Path) -> Callable[[], None]:
    if url.startswith("sqlite"):
        connection = sqlite3.connect(folder / "state.db", isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(TABLE)
        statement = CLAIM.format("?")

        def claim_in_file() -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(statement, (secrets.token_hex(16), "2026-12-01T00:00:00Z")).fetchone()
            connection.execute("COMMIT")

        return claim_in_file
    import psycopg

    server = psycopg.connect(url.replace("postgresql+psycopg", "postgresql"))
    server.execute(TABLE)
    server.commit()
    prepared = CLAIM.format("%s")

    def claim_in_server() -> None:
        server.execute(prepared, (secrets.token_hex(16), "2026-12-01T00:00:00Z")).fetchone()
        server.commit()

    return claim_in_server


@contextmanager
def _databases(server: str, number: int) -> Iterator[list[str]]:
    """New databases on a server, deleted at the end."""
    url = sa.make_url(server)
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    names = [f"bench_guard_{secrets.token_hex(4)}" for _ in range(number)]
    with engine.connect() as connection:
        for name in names:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
    try:
        yield [url.set(database=name).render_as_string(hide_password=False) for name in names]
    finally:
        with engine.connect() as connection:
            for name in names:
                connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
