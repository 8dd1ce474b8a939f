"""Builds shop.sqlite from shop.sql, anew each time."""

import sqlite3
from pathlib import Path

here = Path(__file__).resolve().parent
target = here / "shop.sqlite"
target.unlink(missing_ok=True)
with sqlite3.connect(target) as connection:
    connection.executescript((here / "shop.sql").read_text(encoding="utf-8"))
    [count] = connection.execute("select count(*) from customers").fetchone()
print(f"{target.name}: {count} customers")  # noqa: T201 - a script for a terminal
