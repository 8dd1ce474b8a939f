"""Any of three keys in pandas and networkx: neighbours of one value are edges; prints the records in groups."""

import sys

import networkx as nx
import pandas as pd

frame = pd.read_parquet(sys.argv[1], dtype_backend="pyarrow")
graph = nx.Graph()
for key in (["email"], ["phone"], ["name", "birth_date"]):
    rows = frame.dropna(subset=key)
    rows = rows[rows.duplicated(key, keep=False)]
    sizes = rows.groupby(key)["id"].transform("size")
    rows = rows[sizes <= 50].sort_values([*key, "id"])
    same = (rows[key] == rows[key].shift()).all(axis=1)
    graph.add_edges_from(zip(rows["id"].shift()[same].astype("int64[pyarrow]"), rows["id"][same], strict=True))
groups = {record: number for number, group in enumerate(nx.connected_components(graph)) for record in group}
members = frame[frame["id"].isin(list(groups))]
members = members.assign(grouped=members["id"].map(groups)).sort_values(["grouped", "id"])
print(len([*members.itertuples(index=False)]))
