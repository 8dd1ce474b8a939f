"""pandas.merge_asof as a careful person writes it: `pairs_merge_asof.py BANK LEDGER PAIRS` writes the pairs matched.

Amounts are whole cents. Equal records pair off first. Then each difference of a cent is a pass; in a pass the nearest
date wins, a ledger record goes to the nearest of those that want it, and the others try again until nobody gets one.
"""

import sys

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

DAYS = pd.Timedelta(days=3)


def read(path: str, amount: str, date: str) -> pd.DataFrame:
    table = pq.read_table(path, columns=["id", "account", date, amount])
    cents = pc.multiply_checked(table[amount], pa.scalar(100)).cast(pa.int64())
    days = table[date].cast(pa.timestamp("s"))
    codes = table["account"].dictionary_encode()
    table = pa.table({"id": table["id"], "account": codes, "cents": cents, "date": days})
    return table.to_pandas()


bank, ledger, out = sys.argv[1:]
left, right = read(bank, "amount", "booked"), read(ledger, "total", "posted")
accounts = pd.api.types.union_categoricals([left["account"], right["account"]])
left["account"], right["account"] = accounts.codes[: len(left)], accounts.codes[len(left) :]
for frame in (left, right):
    frame["nth"] = frame.groupby(["account", "cents", "date"]).cumcount()
same = left.merge(right, on=["account", "cents", "date", "nth"], suffixes=("_left", "_right"))
pairs = [same[["id_left", "id_right"]]]
left = left[~left["id"].isin(same["id_left"])].sort_values("date")
right = right[~right["id"].isin(same["id_right"])].sort_values("date")
right["on"] = right["date"]
while True:
    paired = 0
    for cents in (0, -1, 1):
        wanted = left.assign(cents=left["cents"] + cents)
        near = pd.merge_asof(
            wanted,
            right,
            on="date",
            by=["account", "cents"],
            tolerance=DAYS,
            direction="nearest",
            suffixes=("_left", "_right"),
        ).dropna(subset=["id_right"])
        near["apart"] = (near["date"] - near["on"]).abs()
        near = near.sort_values("apart", kind="stable").drop_duplicates("id_right")
        near["id_right"] = near["id_right"].astype("int64")
        pairs.append(near[["id_left", "id_right"]])
        left, right = left[~left["id"].isin(near["id_left"])], right[~right["id"].isin(near["id_right"])]
        paired += len(near)
    if not paired:
        break
matched = pd.concat(pairs, ignore_index=True)
matched.to_parquet(out)
print(len(matched))
