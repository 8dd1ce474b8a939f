"""polars: lazy scan, expression normaliser, window count."""

import sys

import polars as pl

path = sys.argv[1]
columns = ["id", "email", "order_id", "amount"]
frame = pl.scan_parquet(path) if path.endswith(".parquet") else pl.scan_csv(path, infer_schema=False)
mail = pl.col("email").str.strip_chars().str.replace(r"\+[^@]*@", "@").str.to_lowercase().alias("mail")
rows = (
    frame.select(columns)
    .drop_nulls(["email", "order_id", "amount"])
    .with_columns(mail)
    .filter(pl.len().over(["mail", "order_id", "amount"]) > 1)
    .collect()
)
print(rows.height)
