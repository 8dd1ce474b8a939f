"""What a script does: pull the columns into pandas, normalise, duplicated."""

import sys

import pandas as pd
import sqlalchemy as sa

url, table = sys.argv[1:]
engine = sa.create_engine(url)
frame = pd.read_sql(f"select id, email, order_id, amount from {table}", engine, dtype_backend="pyarrow")
frame = frame.dropna(subset=["email", "order_id", "amount"])
frame["mail"] = frame["email"].str.strip().str.lower()
print(len(frame[frame.duplicated(["mail", "order_id", "amount"], keep=False)]))
