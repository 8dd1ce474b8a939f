"""pandas and networkx with the objective of the rule: `pairs_networkx.py BANK LEDGER PAIRS` writes the pairs matched.

Equal records pair off first; then most pairs, fewest days, least money, by a matching of each component of the graph
of possible pairs. A component of one pair needs none.
"""

import sys

import networkx as nx
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

DAYS = 3


def read(path: str, amount: str, date: str) -> pd.DataFrame:
    table = pq.read_table(path, columns=["id", "account", date, amount])
    cents = pc.multiply_checked(table[amount], pa.scalar(100)).cast(pa.int64())
    days = table[date].cast(pa.int32())
    return pa.table({"id": table["id"], "account": table["account"], "cents": cents, "day": days}).to_pandas()


bank, ledger, out = sys.argv[1:]
left, right = read(bank, "amount", "booked"), read(ledger, "total", "posted")
for frame in (left, right):
    frame["nth"] = frame.groupby(["account", "cents", "day"]).cumcount()
same = left.merge(right, on=["account", "cents", "day", "nth"], suffixes=("_left", "_right"))
left, right = left[~left["id"].isin(same["id_left"])], right[~right["id"].isin(same["id_right"])]
possible = []
for cents in (0, -1, 1):
    both = left.assign(cents=left["cents"] + cents).merge(right, on=["account", "cents"], suffixes=("_left", "_right"))
    days = (both["day_left"] - both["day_right"]).abs()
    possible.append(both[["id_left", "id_right"]].assign(days=days, money=abs(cents))[days <= DAYS])
edges = pd.concat(possible, ignore_index=True)
is_single = ~(edges["id_left"].duplicated(keep=False) | edges["id_right"].duplicated(keep=False))
pairs = [*zip(edges["id_left"][is_single], edges["id_right"][is_single], strict=True)]
graph = nx.Graph()
for ours, theirs, days, money in edges[~is_single].itertuples(index=False):
    graph.add_edge(("left", ours), ("right", theirs), weight=-(days * 1_000_000 + money))
for component in nx.connected_components(graph):
    for first, second in nx.max_weight_matching(graph.subgraph(component), maxcardinality=True):
        pairs.append((first[1], second[1]) if first[0] == "left" else (second[1], first[1]))
rest = pd.DataFrame(pairs, columns=["id_left", "id_right"])
matched = pd.concat([same[["id_left", "id_right"]], rest], ignore_index=True)
matched.to_parquet(out)
print(len(matched))
