"""dedupe as its examples configure it, with the answers of a person to 60 of its questions taken from the truth.

`peer_dedupe.py FOLDER FILE`. A configuration line is a column or a call; the labels come on top.
"""

import contextlib
import io
import logging
import random

import dedupe
import numpy as np
import pandas as pd
from dedupe import variables
from given import Given, answer, within

LABELS = 60
CALLS = 8
"""Matcher, training, the loop of questions with its three calls, train, partition or join."""


def variable(column: str, kind: str) -> object:
    match kind:
        case "amount":
            return variables.Price(column, has_missing=True)
        case "exact" | "postcode" | "number":
            return variables.ShortString(column, has_missing=True)
        case "text" | "product":
            return variables.Text(column, has_missing=True)
        case _:
            return variables.String(column, has_missing=True)


def labelled(matcher: object, truth: set[tuple[int, int]]) -> None:
    """Answer the questions of the matcher by the truth."""
    for _ in range(LABELS):
        (pair,) = matcher.uncertain_pairs()
        rows = tuple(sorted(record["row"] for record in pair))
        matcher.mark_pairs({"match": [pair], "distinct": []} if rows in truth else {"match": [], "distinct": [pair]})


def _by_row(table: pd.DataFrame) -> dict[int, dict[str, object]]:
    """Return the records by row, with None for what is empty; a price of zero is none either."""
    filled = table.astype(object).where(table.notna() & (table != 0), None)
    return {row: {**record, "row": row} for row, record in filled.to_dict("index").items()}


def main() -> None:
    logging.disable(logging.WARNING)
    random.seed(1)
    np.random.seed(1)  # dedupe draws from the global generator
    data = Given.read()
    records = [_by_row(table[[*data.types]]) for table in data.tables]
    columns = [variable(column, kind) for column, kind in data.types.items()]
    matcher = (dedupe.Dedupe if len(records) == 1 else dedupe.RecordLink)(columns, num_cores=1)
    with contextlib.redirect_stdout(io.StringIO()):
        matcher.prepare_training(*records)
        labelled(matcher, data.truth)
        matcher.train()
        if len(records) == 1:
            pairs = within([sorted(rows) for rows, _ in matcher.partition(records[0], 0.5)])
        else:
            pairs = {tuple(rows) for rows, _ in matcher.join(*records, 0.5)}
    answer({(int(a), int(b)) for a, b in pairs}, CALLS + len(columns))


if __name__ == "__main__":
    main()
