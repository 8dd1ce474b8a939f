"""datacompy over exact keys: `peer_datacompy_keys.py ORDERS CHARGES` prints the number of each form."""

import json
import logging
import sys

import datacompy
import pandas as pd

logging.disable(logging.WARNING)
orders = pd.read_parquet(sys.argv[1], columns=["reference", "total"]).rename(columns={"total": "amount"})
charges = pd.read_parquet(sys.argv[2], columns=["reference", "amount"])
compared = datacompy.PandasCompare(orders, charges, join_columns=["reference"])
differ = ~compared.intersect_rows["amount_match"]
counts = {
    "left_only": len(compared.df1_unq_rows),
    "right_only": len(compared.df2_unq_rows),
    "mismatch": int(differ.sum()),
}
print(json.dumps(counts, sort_keys=True))
