"""A full join of the counts by key in polars: `keys_polars.py ORDERS CHARGES` prints the number of each form."""

import json
import sys

import polars as pl


def side(path: str, money: str) -> pl.LazyFrame:
    frame = pl.scan_parquet(path).select("reference", "id", pl.col(money).alias("money"))
    return frame.group_by("reference").agg(pl.len().alias("n"), pl.col("id").min(), pl.col("money").sum())


left, right, both = pl.col("n"), pl.col("n_right"), pl.col("money") != pl.col("money_right")
form = (
    pl.when(right.is_null())
    .then(pl.lit("left_only"))
    .when(left.is_null())
    .then(pl.lit("right_only"))
    .when(left > right)
    .then(pl.lit("duplicate_left"))
    .when(right > 1)
    .then(pl.lit("duplicate_right"))
    .otherwise(pl.lit("mismatch"))
)
joined = side(sys.argv[1], "total").join(side(sys.argv[2], "amount"), on="reference", how="full")
differ = left.is_null() | right.is_null() | (left > 1) | (right > 1) | both
forms = joined.filter(differ).with_columns(form.alias("form")).collect()["form"].value_counts()
print(json.dumps(dict(forms.iter_rows()), sort_keys=True))
