"""Two sides that should agree, with planted differences, and customers that share one of several keys.

DuckDB makes every table once for a size, in a process of its own, from hashes of the row number: the same each time.
Records come in no particular order, and an id says nothing about the partner.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import duckdb

from bench.data import FOLDER

TRANSFERS = """
create temp table transfers as
select i, 'A' || lpad(floor(greatest(1, {rows} // 200)
                           * pow((drawn(i, 'account') % 1000003) / 1000003, 1.5))::int::text,
                      7, '0') as account,
       (case when drawn(i, 'price') % 100 < 50 then 999 + 500 * (drawn(i, 'cents') % 20)
             else 100 + drawn(i, 'cents') % 200000 end)::int as cents,
       date '2025-01-01' + (drawn(i, 'day') % 90)::int as booked,
       ([0, 0, 0, 1, 1, 1, 2, 2, 3, 3, -1, -2, -3])[1 + drawn(i, 'shift') % 13] as shift,
       ([-1, 1, 0, 0, 0, 0, 0, 0, 0, 0])[1 + drawn(i, 'fee') % 10] as fee,
       drawn(i, 'fate') % 100 as fate,
       row_number() over (order by drawn(i, 'bank')) as bank, row_number() over (order by drawn(i, 'ledger')) as ledger
from range({rows}) t(i)
"""
"""1 % never reach the ledger and 1 % never the bank; 77 % come up to three days later or earlier, and 20 % differ by a
cent. Half have one of 20 prices. The largest account has about 3,400 of a million."""

PAYMENTS = """
create temp table payments as
select i, 'INV-' || lpad(i::varchar, 9, '0') as reference, (100 + drawn(i, 'cents') % 200000)::int as cents,
       drawn(i, 'fate') % 1000 as fate
from range({rows}) t(i)
"""
"""One in a thousand has no charge, one in a thousand no order, one in a thousand another amount, one in a thousand two
charges."""

PAYOUTS = """
create temp table invoices as
select i, (drawn(i, 'payout') % ({rows} // 10))::int as payout, (1000 + drawn(i, 'cents') % 50000)::int as net,
       (drawn(i, 'fee') % 500)::int as fee
from range({rows}) t(i);
create temp table payouts as
select payout, sum(net - fee)::int as cents, (drawn(payout, 'fate') % 1000)::int as fate from invoices group by payout
"""
"""Ten invoices for each payout on average. Of the payouts, 5 in a thousand are missing, 5 have no invoices, 5 are one
short of their sum, and 10 differ by a cent, which the tolerance allows."""

CUSTOMERS = """
create temp table customers as
with numbered as (
    select i, case when i % 100 = 99 then i - 1 when i % 1000 = 97 then i + 1 else i end as j, (i // 100) % 3 as shared
    from range({rows}) t(i))
select i, case when drawn(i, 'mail') % 20 = 0 then null
               else 'user' || (case when shared = 0 then j else i end) || '@example' || j % 50 || '.com' end as email,
       '+49151' || lpad((case when shared = 1 then j else i end)::varchar, 8, '0') as phone,
       'Name ' || drawn(case when shared = 2 then j else i end, 'name') % 1000000 as name,
       date '1950-01-01' + (drawn(case when shared = 2 then j else i end, 'birth') % 20000)::int as birth_date
from numbered
"""
"""Of each hundred customers two share an e-mail address, a phone number, or name and date of birth; now and then three
do. 5 % have no e-mail address."""

TABLES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "transfers": (
        TRANSFERS,
        {
            "bank": """select bank as id, account, booked, (cents * 0.01)::decimal(12, 2) as amount
                       from transfers where fate <> 1 order by bank""",
            "ledger": """select ledger as id, account, booked + shift as posted,
                                ((cents + fee) * 0.01)::decimal(12, 2) as total
                         from transfers where fate <> 0 order by ledger""",
            "truth": "select bank, ledger, fate from transfers",
        },
    ),
    "payments": (
        PAYMENTS,
        {
            "orders": """select i as id, reference, (cents * 0.01)::decimal(12, 2) as total
                         from payments where fate <> 0 order by drawn(i, 'order')""",
            "charges": """select row_number() over (order by drawn(i, 'charge')) as id, reference,
                                 ((cents + case when fate = 2 then 100 else 0 end) * 0.01)::decimal(12, 2) as amount
                          from payments join (values (1), (2)) v(copy) on fate <> 1 and (copy = 1 or fate = 3)
                          order by id""",
        },
    ),
    "payouts": (
        PAYOUTS,
        {
            "payouts": """select 'P' || payout as id,
                                 ((cents - case when fate between 5 and 9 then 100 when fate between 10 and 19 then 1
                                                else 0 end) * 0.01)::decimal(12, 2) as amount
                          from payouts where fate >= 5
                          union all select 'Q' || payout, 10.00 from payouts where fate < 5 order by id""",
            "invoices": """select i as id, 'P' || payout as payout_id, (net * 0.01)::decimal(12, 2) as net,
                                  (fee * 0.01)::decimal(12, 2) as fee from invoices order by drawn(i, 'order')""",
        },
    ),
    "customers": (
        CUSTOMERS,
        {"customers": "select i as id, email, phone, name, birth_date from customers order by drawn(i, 'order')"},
    ),
}


def tables(name: str, rows: int) -> dict[str, Path]:
    """Return the Parquet file of each table, made once for `rows` transfers, payments, invoices or customers."""
    folder = FOLDER / f"{name}-{rows}"
    files = {table: folder / f"{table}.parquet" for table in TABLES[name][1]}
    if not all(file.exists() for file in files.values()):
        print(f"making {rows:,} {name}", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        # In a separate process: the kernel counts a contender's peak memory from its parent's.
        subprocess.run([sys.executable, "-m", "bench.ledgers", name, str(rows), str(folder)], check=True)
    return files


def _make(name: str, rows: int, folder: Path) -> None:
    connection = duckdb.connect()
    base, selects = TABLES[name]
    connection.execute("create macro drawn(number, what) as (hash(number::varchar || what) >> 1)::bigint")
    connection.execute("set enable_progress_bar = false")
    connection.execute(base.format(rows=rows))
    for table, select in selects.items():
        connection.execute(f"copy ({select}) to '{folder / table}.parquet' (format parquet, compression zstd)")


if __name__ == "__main__":
    _make(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
