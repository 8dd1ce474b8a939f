"""The bare statement, a commit per row: `effects_bare.py URL TABLE FIRST COUNT`, no key, no receipt, no guard."""

from __future__ import annotations

import sqlite3
import sys

from bench.effects_clock import Clock


def main() -> None:
    url, table, first, count = sys.argv[1:5]
    ids = range(int(first) + 1, int(first) + 2 * int(count), 2)
    clock = Clock()
    if url.startswith("sqlite"):
        file = sqlite3.connect(url.split("///", 1)[1], isolation_level=None, timeout=60)
        clock.begin()
        for number in ids:
            file.execute("BEGIN IMMEDIATE")
            file.execute(f"DELETE FROM {table} WHERE id = ?", (number,))
            file.execute("COMMIT")
    else:
        import psycopg

        server = psycopg.connect(url.replace("+psycopg", ""))
        clock.begin()
        for number in ids:
            server.execute(f"DELETE FROM {table} WHERE id = %s", (number,))
            server.commit()
    clock.end(len(ids))


if __name__ == "__main__":
    main()
