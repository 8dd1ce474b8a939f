"""The charges that every section reads: 0.1 % of the rows repeat their predecessor with a different e-mail spelling."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from pathlib import Path

import duckdb

FOLDER = Path(__file__).with_name(".data")

CHARGES = """
with rows as (select i, case when i % 1000 = 999 then i - 1 else i end as j, i % 1000 = 999 as copy
              from range({n}) t(i)),
     drawn as (select *, ((j * 2654435761) % 4294967296) % 1000000 as c, ((j * 40503 + 12345) % 1000003) % 50000 as a
               from rows)
select i as id, c as customer_id,
       case when c % 20 = 7 then null
            when copy then 'USER' || c || '+promo@Example' || (c % 50) || '.com '
            else 'user' || c || '@example' || (c % 50) || '.com' end as email,
       'ORD-' || lpad(j::varchar, 9, '0') as order_id,
       cast(1 + a / 100.0 as decimal(12, 2)) as amount,
       (['EUR', 'USD', 'GBP'])[1 + c % 3] as currency,
       timestamptz '2025-01-01 00:00:00+00' + to_seconds(3 * j + case when copy then 30 + (j // 1000) % 540 else 0 end)
           as charged_at,
       (['captured', 'captured', 'captured', 'refunded', 'failed'])[1 + j % 5] as status
from drawn order by i
"""


def files(rows: int) -> tuple[Path, Path]:
    """(CSV, Parquet) with that many charges, created once."""
    FOLDER.mkdir(exist_ok=True)
    csv, parquet = FOLDER / f"charges-{rows}.csv", FOLDER / f"charges-{rows}.parquet"
    if not (csv.exists() and parquet.exists()):
        print(f"making {rows:,} charges", file=sys.stderr)
        # In a separate process: the kernel counts a contender's peak memory from its parent's.
        subprocess.run([sys.executable, "-m", "bench.data", str(rows), str(csv), str(parquet)], check=True)
    return csv, parquet


def _make(rows: int, csv: str, parquet: str) -> None:
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    connection.execute(f"copy ({CHARGES.format(n=rows)}) to '{parquet}' (format parquet, compression zstd)")
    connection.execute(f"copy (from read_parquet('{parquet}')) to '{csv}' (header)")


def postgres(rows: int, url: str) -> None:
    """Create table charges_<rows> on that server, once."""
    import psycopg

    csv, _ = files(rows)
    name = f"charges_{rows}"
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        if connection.execute("select to_regclass(%s)", (name,)).fetchone() != (None,):
            return
        print(f"loading {rows:,} charges into PostgreSQL", file=sys.stderr)
        connection.execute(
            f"create unlogged table {name} (id bigint primary key, customer_id bigint, email text, order_id text, "
            "amount numeric(12, 2), currency text, charged_at timestamptz, status text)"
        )
        with csv.open("rb") as data, connection.cursor().copy(f"copy {name} from stdin (format csv, header)") as copy:
            while block := data.read(1 << 20):
                copy.write(block)
        connection.execute(f"vacuum analyze {name}")


def workbook(rows: int) -> Path:
    """A workbook of `rows` contacts with 8 columns, created once."""
    import xlsxwriter

    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"contacts-{rows}.xlsx"
    if not path.exists():
        book = xlsxwriter.Workbook(str(path), {"constant_memory": True, "strings_to_numbers": False})
        sheet, day = book.add_worksheet("Contacts"), book.add_format({"num_format": "yyyy-mm-dd"})
        sheet.write_row(0, 0, ("id", "name", "email", "phone", "city", "score", "balance", "created"))
        for n in range(rows):
            who = n - 1 if n % 1000 == 999 else n
            sheet.write_row(
                n + 1, 0, (f"{n:09d}", f"Person {who}", f"person{who}@example.com", f"0151{who:07d}", "Köln")
            )
            sheet.write_number(n + 1, 5, who % 97)
            sheet.write_number(n + 1, 6, (who % 10007) / 100)
            sheet.write_datetime(n + 1, 7, dt.datetime(2020, 1, 1) + dt.timedelta(days=who % 2000), day)
        book.close()
    return path


if __name__ == "__main__":
    _make(int(sys.argv[1]), *sys.argv[2:])
