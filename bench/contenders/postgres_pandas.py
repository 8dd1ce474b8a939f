"""A typical script: pull the columns into pandas, normalise, duplicated."""

import sys

import pandas as pd
import sqlalchemy as sa

url, table = sys.argv[1:]
engine = sa.create_engine(url)
frame = pd.read_sql(f"select id, order_id, amount, currency from {table}", engine, dtype_backend="pyarrow")
frame = frame.dropna(subset=["order_id", "amount", "currency"])
frame["unit"] = frame["currency"].str.strip().str.lower()
print(len(frame[frame.duplicated(["order_id", "amount", "unit"], keep=False)]))
