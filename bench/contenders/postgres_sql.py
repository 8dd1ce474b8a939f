"""The hand-written SQL a database engineer would push down: a window count over the key."""

import sys

import psycopg

url, table = sys.argv[1:]
with psycopg.connect(url) as connection:
    rows = connection.execute(f"""
        select id, mail, order_id, amount, email from (
            select id, email, order_id, amount, mail, count(*) over (partition by mail, order_id, amount) as n from (
                select id, email, order_id, amount, lower(trim(email)) collate "C" as mail from {table}
                where email is not null and order_id is not null and amount is not null) keyed) counted
        where n > 1""").fetchall()
print(len(rows))
