"""datacompy over the situations: `peer_datacompy.py FOLDER` prints for each what it reports."""

import json
import logging
import sys
from pathlib import Path

import datacompy
import pandas as pd

logging.disable(logging.WARNING)
answers = {}
for case in sorted(Path(sys.argv[1]).iterdir()):
    left, right = (pd.read_parquet(case / f"{side}.parquet") for side in ("left", "right"))
    try:
        compared = datacompy.PandasCompare(left, right, join_columns=["key"], abs_tol=0.01, ignore_spaces=True)
        counts = {
            "left_only": len(compared.df1_unq_rows),
            "right_only": len(compared.df2_unq_rows),
            "mismatch": int((~compared.intersect_rows.filter(like="_match").all(axis=1)).sum()),
        }
        answers[case.name] = {form: count for form, count in counts.items() if count}
    except Exception as error:  # noqa: BLE001 - what it answers is what is measured
        answers[case.name] = {f"error: {type(error).__name__}": 1}
print(json.dumps(answers))
