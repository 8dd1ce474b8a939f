"""Sums by payout in pandas, in whole cents: `sums_pandas.py PAYOUTS INVOICES` prints the number of each form."""

import json
import sys

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def read(path: str, *amounts: str) -> pd.DataFrame:
    table = pq.read_table(path)
    for name in amounts:
        cents = pc.multiply_checked(table[name], pa.scalar(100)).cast(pa.int64())
        table = table.set_column(table.column_names.index(name), name, cents)
    return table.to_pandas()


payouts, invoices = read(sys.argv[1], "amount"), read(sys.argv[2], "net", "fee")
invoices["cents"] = invoices["net"] - invoices["fee"]
sums = invoices.groupby("payout_id").agg(cents=("cents", "sum"), ids=("id", list))
both = payouts.merge(sums, left_on="id", right_index=True, how="outer", indicator=True)
rest = both[(both["_merge"] != "both") | ((both["amount"] - both["cents"]).abs() > 1)]
forms = rest["_merge"].astype(str).replace("both", "unbalanced").value_counts()
print(json.dumps(forms.to_dict(), sort_keys=True))
