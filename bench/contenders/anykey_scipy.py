"""Any of three keys by hand: neighbours of one value from DuckDB, components from scipy; prints the records in groups.

A value on more than 50 records joins none of them. The records of groups are read with their values.
"""

import sys

import duckdb
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

con = duckdb.connect()
con.execute("set preserve_insertion_order = false; set threads = 2")
first, second = [], []
for key in ("email", "phone", "name, birth_date"):
    complete = " and ".join(f"{column} is not null" for column in key.split(", "))
    edges = con.execute(f"""
        with repeated as (select {key} from '{sys.argv[1]}' where {complete}
                          group by all having count(*) between 2 and 50)
        select lag(id) over (partition by {key} order by id) as earlier, id
        from '{sys.argv[1]}' semi join repeated using ({key}) qualify earlier is not null""").fetchnumpy()
    first.append(np.asarray(edges["earlier"]))
    second.append(np.asarray(edges["id"]))
ids, places = np.unique(np.concatenate([*first, *second]), return_inverse=True)
begin, end = np.split(places, 2)
pairs = coo_array((np.ones(len(begin), np.bool_), (begin, end)), shape=(len(ids), len(ids)))
_, group = connected_components(pairs, directed=False)
con.register("joined", {"id": ids, "grouped": group})
rows = con.execute(f"select grouped, r.* from '{sys.argv[1]}' r join joined using (id) order by grouped, id").fetchall()
print(len(rows))
