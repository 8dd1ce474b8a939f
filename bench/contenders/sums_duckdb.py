"""Sums by payout, by hand: `sums_duckdb.py PAYOUTS INVOICES` prints the number of each form."""

import json
import sys

import duckdb

payouts, invoices = sys.argv[1:]
con = duckdb.connect()
con.execute("set preserve_insertion_order = false; set threads = 2")
rows = con.execute(f"""
with r as (select payout_id as id, sum(net - fee) as money, list(id) as ids from '{invoices}' group by payout_id)
select case when r.money is null then 'left_only' when l.amount is null then 'right_only' else 'unbalanced' end, l.id,
       l.amount, r.money, r.ids
from '{payouts}' l full join r using (id) where l.amount is null or r.money is null or abs(l.amount - r.money) > 0.01
""").fetchall()
forms: dict[str, int] = {}
for row in rows:
    forms[row[0]] = forms.get(row[0], 0) + 1
print(json.dumps(forms, sort_keys=True))
