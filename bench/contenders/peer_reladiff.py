"""reladiff over the situations, in a DuckDB file: `peer_reladiff.py FOLDER` prints for each what it reports."""

import json
import logging
import sys
import tempfile
from pathlib import Path

import duckdb
from reladiff import connect_to_table, diff_tables

logging.disable(logging.CRITICAL)
answers = {}
with tempfile.TemporaryDirectory() as folder:
    for case in sorted(Path(sys.argv[1]).iterdir()):
        files = {side: f"{folder}/{case.name}-{side}.duckdb" for side in ("left", "right")}
        for side, file in files.items():
            with duckdb.connect(file) as con:
                con.execute(
                    f"create table {side}_side as "
                    f"select key, day::timestamp as day, amount from '{case}/{side}.parquet'"
                )
        try:
            tables = [
                connect_to_table(f"duckdb://main:@{file}", f"{side}_side", "key", extra_columns=("amount", "day"))
                for side, file in files.items()
            ]
            signs: dict[object, set[str]] = {}
            for sign, row in diff_tables(*tables, extra_columns=("amount", "day")):
                signs.setdefault(row[0], set()).add(sign)
            names = {"-": "left_only", "+": "right_only", "+-": "mismatch"}
            counts: dict[str, int] = {}
            for each in signs.values():
                form = names["".join(sorted(each))]
                counts[form] = counts.get(form, 0) + 1
            answers[case.name] = counts
        except Exception as error:  # noqa: BLE001 - what it answers is what is measured
            answers[case.name] = {f"error: {str(error)[:60]}": 1}
print(json.dumps(answers))
