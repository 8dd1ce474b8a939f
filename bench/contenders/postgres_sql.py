"""The hand-written SQL a database engineer would push down: a window count over the key."""

import sys

import psycopg

url, table = sys.argv[1:]
with psycopg.connect(url) as connection:
    rows = connection.execute(f"""
        select id, order_id, amount, currency from (
            select id, order_id, amount, currency, count(*) over (partition by order_id, amount, unit) as n from (
                select id, order_id, amount, currency, lower(trim(currency)) collate "C" as unit from {table}
                where order_id is not null and amount is not null and currency is not null) keyed) counted
        where n > 1""").fetchall()
print(len(rows))
