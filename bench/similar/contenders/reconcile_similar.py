"""Kind `similar` by types alone: `reconcile_similar.py FOLDER FILE built-in|estimated`.

A configuration line is a setting of the rule or a compared column.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from rules.kinds.similar.matching import Matching
from rules.kinds.similar.records import Records
from rules.kinds.similar.settings import Settings

SETTINGS = 4
"""The name of the rule, kind, dataset, compare."""


def main() -> None:
    folder, file, weights = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    description = json.loads((folder / "set.json").read_text())
    settings = Settings.of(description["types"], one_to_one=description["one_to_one"])
    paths = [folder / "left.parquet", folder / "right.parquet"]
    records = Records.of([parquet.read_table(path) for path in paths if path.exists()], settings)
    matching = Matching(records, settings)
    if weights == "estimated":
        matching = Matching(records, settings, matching.estimate().model)
    rows = (sorted(records.rows[cluster].tolist()) for cluster in matching.clusters())
    pairs = [(a, b) for group in rows for place, a in enumerate(group) for b in group[place + 1 :]]
    table = pa.table(
        {"a": pa.array([a for a, _ in pairs], pa.int64()), "b": pa.array([b for _, b in pairs], pa.int64())}
    )
    parquet.write_table(table, file)
    lines = SETTINGS + len(description["types"]) + description["one_to_one"]
    print(json.dumps({"lines": lines, "candidates": len(matching.candidates), "threshold": matching.threshold}))


if __name__ == "__main__":
    main()
