"""pandas: read with pyarrow, normalise, duplicated."""

import sys

import pandas as pd

path = sys.argv[1]
columns = ["id", "email", "order_id", "amount"]
if path.endswith(".parquet"):
    frame = pd.read_parquet(path, columns=columns, dtype_backend="pyarrow")
else:
    frame = pd.read_csv(path, usecols=columns, dtype="string[pyarrow]", engine="pyarrow")
frame = frame.dropna(subset=["email", "order_id", "amount"])
frame["mail"] = frame["email"].str.strip().str.replace(r"\+[^@]*@", "@", regex=True).str.lower()
print(len(frame[frame.duplicated(["mail", "order_id", "amount"], keep=False)]))
