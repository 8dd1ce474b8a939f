"""recordlinkage as its guide configures it: blocks, Jaro-Winkler at .85 or exact, classified by EM without labels.

`peer_recordlinkage.py FOLDER FILE`. A configuration line is a blocking rule, a compared column or a call.
"""

import warnings

import duckdb
import pandas as pd
import recordlinkage
from given import Given, answer
from recordlinkage.classifiers import ECMClassifier

CALLS = 5
"""Indexer, index, comparer, compute, classifier."""
_EXACT = {"date", "phone", "postcode", "number", "exact", "email"}


def keyed(table: pd.DataFrame, rules: list[list[str]]) -> pd.DataFrame:
    """Return the table with a column for each expression of a rule."""
    expressions = sorted({expression for rule in rules for expression in rule})
    columns = ", ".join(f"{expression} AS key{number}" for number, expression in enumerate(expressions))
    keys = duckdb.sql(f"SELECT {columns} FROM frame", connection=_connected(table)).df()
    keys.columns = expressions
    keys.index = table.index
    return table.join(keys, rsuffix=" key")


def _connected(frame: pd.DataFrame) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("frame", frame)
    return connection


def main() -> None:
    warnings.simplefilter("ignore")
    data = Given.read()
    blocking = data.blocking
    tables = [keyed(table, blocking.compare) for table in data.tables]
    indexer = recordlinkage.Index()
    for rule in blocking.compare:
        if rule == ["1"]:
            indexer.full()
        else:
            indexer.block(rule, rule)
    pairs = indexer.index(*tables)
    comparer = recordlinkage.Compare()
    for column, kind in data.independent.items():
        if kind == "amount":
            comparer.numeric(column, column, method="gauss", offset=1, scale=5, label=column)
        elif kind in _EXACT:
            comparer.exact(column, column, label=column)
        else:
            comparer.string(column, column, method="jarowinkler", threshold=0.85, label=column)
    features = comparer.compute(pairs, *tables)
    matches = ECMClassifier(binarize=0.8).fit_predict(features)
    answer(set(matches.to_flat_index()), CALLS + len(blocking.compare) + len(data.independent))


if __name__ == "__main__":
    main()
