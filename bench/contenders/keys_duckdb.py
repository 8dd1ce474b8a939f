"""A full join of the counts by key, by hand: `keys_duckdb.py ORDERS CHARGES` prints the number of each form."""

import json
import sys

import duckdb

orders, charges = sys.argv[1:]
con = duckdb.connect()
con.execute("set preserve_insertion_order = false; set threads = 2; set memory_limit = '4GB'")
rows = con.execute(f"""
with l as (select reference, count(*) as n, min(id) as id, sum(total) as money from '{orders}' group by reference),
     r as (select reference, count(*) as n, min(id) as id, sum(amount) as money from '{charges}' group by reference)
select case when r.n is null then 'left_only' when l.n is null then 'right_only' when l.n > r.n then 'duplicate_left'
            when r.n > 1 then 'duplicate_right' else 'mismatch' end as form, l.id, r.id, l.money, r.money
from l full join r using (reference)
where l.n is null or r.n is null or l.n > 1 or r.n > 1 or l.money <> r.money
""").fetchall()
forms: dict[str, int] = {}
for row in rows:
    forms[row[0]] = forms.get(row[0], 0) + 1
print(json.dumps(forms, sort_keys=True))
