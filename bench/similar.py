"""Measure kind `similar` on labelled sets: precision, recall and F1 of pairs, seconds, peak memory.

    python -m bench.similar [SET …]

The sets are read from ../shared/data and from a folder with the FEBRL sets that RECONCILE_SETS names; absent ones are
skipped. Rows are shuffled first. One default serves all sets: only the types are named.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, parquet

from rules.kinds.similar.matching import Matching
from rules.kinds.similar.records import Records
from rules.kinds.similar.settings import Settings

DATA = Path(os.environ.get("RECONCILE_DATA", "../shared/data"))
SETS = Path(os.environ.get("RECONCILE_SETS", "../keep/sets"))


@dataclass(frozen=True)
class Labelled:
    """A set: its tables, and the true pairs of rows (rows of the second table count on after the first)."""

    tables: list[pa.Table]
    settings: Settings
    truth: set[tuple[int, int]]


def _shuffled(table: pa.Table, seed: int) -> pa.Table:
    return table.take(np.random.default_rng(seed).permutation(table.num_rows))


def _same_value(values: list[object]) -> set[tuple[int, int]]:
    rows: dict[object, list[int]] = {}
    for row, value in enumerate(values):
        if value is not None:
            rows.setdefault(value, []).append(row)
    return {(a, b) for group in rows.values() for place, a in enumerate(group) for b in group[place + 1 :]}


def _linked(left: list[object], right: list[object], links: list[tuple[object, object]]) -> set[tuple[int, int]]:
    first = {value: row for row, value in enumerate(left)}
    second = {value: row + len(left) for row, value in enumerate(right)}
    return {(first[a], second[b]) for a, b in links if a in first and b in second}


def _text(table: pa.Table) -> pa.Table:
    return pa.table({name: table[name].cast(pa.string()) for name in table.column_names})


_FEBRL = {
    "given_name": "given_name",
    "surname": "surname",
    "street_number": "number",
    "address_1": "address",
    "address_2": "address",
    "suburb": "city",
    "postcode": "postcode",
    "state": "exact",
    "date_of_birth": "date",
    "soc_sec_id": "exact",
}


def _febrl(number: int) -> Labelled:
    table = _shuffled(parquet.read_table(SETS / f"febrl{number}.parquet"), number)
    links = parquet.read_table(SETS / f"febrl{number}-links.parquet")
    row = {value: place for place, value in enumerate(table["rec_id"].to_pylist())}
    pairs = zip(links["a"].to_pylist(), links["b"].to_pylist(), strict=True)
    truth = {(min(row[a], row[b]), max(row[a], row[b])) for a, b in pairs}
    return Labelled([table], Settings.of(_FEBRL), truth)


def _febrl4() -> Labelled:
    tables = [_shuffled(parquet.read_table(SETS / f"febrl4{side}.parquet"), 4 + n) for n, side in enumerate("ab")]
    links = parquet.read_table(SETS / "febrl4-links.parquet")
    ids = [table["rec_id"].to_pylist() for table in tables]
    pairs = list(zip(links["a"].to_pylist(), links["b"].to_pylist(), strict=True))
    return Labelled(tables, Settings.of(_FEBRL, one_to_one=True), _linked(ids[0], ids[1], pairs))


def _people() -> Labelled:
    table = _shuffled(parquet.read_table(DATA / "people-historical/people.parquet"), 5)
    compare = {
        "full_name": "name",
        "first_and_surname": "name",
        "first_name": "given_name",
        "surname": "surname",
        "dob": "date",
        "birth_place": "city",
        "postcode_fake": "postcode",
        "gender": "exact",
        "occupation": "text",
    }
    return Labelled([table], Settings.of(compare), _same_value(table["cluster"].to_pylist()))


def _early_childhood() -> Labelled:
    path = DATA / "early-childhood/sites-with-true-ids.csv"
    table = csv.read_csv(path, parse_options=csv.ParseOptions(newlines_in_values=True))
    table = _shuffled(table, 6)
    compare = {"Site name": "company", "Address": "address", "Zip": "postcode", "Phone": "phone"}
    return Labelled([table], Settings.of(compare), _same_value(table["True Id"].to_pylist()))


def _restaurants() -> Labelled:
    tables = [
        _shuffled(csv.read_csv(DATA / f"restaurants/{name}.csv"), n) for n, name in ((7, "fodors"), (8, "zagats"))
    ]
    links = csv.read_csv(DATA / "restaurants/matches_fodors_zagats.csv")
    pairs = list(zip(links["fodors_id"].to_pylist(), links["zagats_id"].to_pylist(), strict=True))
    compare = {"name": "company", "addr": "address", "city": "city", "phone": "phone", "type": "text"}
    ids = [table["id"].to_pylist() for table in tables]
    return Labelled(tables, Settings.of(compare, one_to_one=True), _linked(ids[0], ids[1], pairs))


def _products() -> Labelled:
    tables = [_shuffled(csv.read_csv(DATA / f"products/{name}.csv"), n) for n, name in ((9, "abt"), (10, "buy"))]
    tables = [_text(table) for table in tables]
    left, right = (table["unique_id"].to_pylist() for table in tables)
    truth = {(a, len(left) + b) for a, value in enumerate(left) for b, partner in enumerate(right) if value == partner}
    compare = {"title": "product", "description": "text", "price": "amount"}
    return Labelled(tables, Settings.of(compare, one_to_one=True), truth)


def _transfers() -> Labelled:
    tables = [
        _shuffled(parquet.read_table(DATA / f"transfers/{name}.parquet"), n)
        for n, name in ((11, "sent"), (12, "received"))
    ]
    links = parquet.read_table(DATA / "transfers/matches.parquet")
    pairs = list(zip(links["sent_id"].to_pylist(), links["received_id"].to_pylist(), strict=True))
    compare = {"memo": "text", "transaction_date": "date", "amount": "amount"}
    ids = [table["id"].to_pylist() for table in tables]
    return Labelled(tables, Settings.of(compare, one_to_one=True), _linked(ids[0], ids[1], pairs))


def _syllables(generator: np.random.Generator, count: int, low: int, high: int) -> NDArray[np.object_]:
    names: dict[str, None] = {}
    while len(names) < count:
        size = int(generator.integers(low, high + 1))
        pieces = zip(generator.integers(0, 20, size), generator.integers(0, 5, size), strict=True)
        names["".join("bcdfghjklmnpqrstvwxz"[c] + "aeiou"[v] for c, v in pieces)] = None
    return np.asarray(list(names), dtype=object)


def _zipf(generator: np.random.Generator, values: NDArray[np.object_], power: float, size: int) -> NDArray[np.object_]:
    shares = 1 / np.arange(1, len(values) + 1) ** power
    chosen: NDArray[np.object_] = values[generator.choice(len(values), size, p=shares / shares.sum())]
    return chosen


def _edited(generator: np.random.Generator, text: str) -> str:
    """Return a text with one typo: a letter substituted, deleted, inserted or swapped with the next."""
    place, letter = int(generator.integers(0, len(text))), "abcdefghijklmnopqrstuvwxyz"[generator.integers(0, 26)]
    match int(generator.integers(0, 4)):
        case 0:
            return text[:place] + letter + text[place + 1 :]
        case 1:
            return text[:place] + text[place + 1 :]
        case 2:
            return text[:place] + letter + text[place:]
        case _:
            return text[:place] + text[place : place + 2][::-1] + text[place + 2 :]


def persons(size: int) -> Labelled:
    """Return made-up persons, a tenth of them written twice with one to three typos and some empty fields."""
    generator = np.random.default_rng(42)
    base = size - size // 10
    firsts, lasts = _syllables(generator, 2_000, 2, 3), _syllables(generator, 20_000, 2, 4)
    cities = _syllables(generator, 500, 2, 4)
    first, last = _zipf(generator, firsts, 0.8, base), _zipf(generator, lasts, 0.7, base)
    born = (np.datetime64("1940-01-01") + generator.integers(0, 65 * 365, base)).astype(str)
    letters = np.asarray(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), dtype=object)
    digits = np.char.zfill(generator.integers(0, 10_000, base).astype(str), 4).astype(object)
    postcode = letters[generator.integers(0, 26, base)] + letters[generator.integers(0, 26, base)] + digits
    email = first + "." + last + generator.integers(0, 1000, base).astype(str).astype(object) + "@mail.example"
    columns = [first, last, born.astype(object), email, _zipf(generator, cities, 0.9, base), postcode]
    originals = generator.choice(base, size - base, replace=False)
    edits = generator.choice([1, 2, 3], size - base, p=[0.5, 0.3, 0.2])
    copies: list[list[str | None]] = [[] for _ in columns]
    for original, count in zip(originals.tolist(), edits.tolist(), strict=True):
        row: list[str | None] = [column[original] for column in columns]
        for field in generator.choice(len(columns), count, replace=False).tolist():
            row[field] = _edited(generator, str(row[field]))
        for field, blank in enumerate(generator.random(len(columns)) < 0.05):
            copies[field].append(None if blank else row[field])
    compare = dict(zip(_PERSONS, _PERSON_TYPES, strict=True))
    order = np.random.default_rng(7).permutation(size)
    table = pa.table(
        {
            name: pa.array([*column, *copy], pa.string())
            for name, column, copy in zip(compare, columns, copies, strict=True)
        }
    ).take(order)
    row_of = np.empty(size, dtype=np.int64)
    row_of[order] = np.arange(size)
    truth = {(min(a, b), max(a, b)) for a, b in zip(row_of[originals].tolist(), row_of[base:].tolist(), strict=True)}
    return Labelled([table], Settings.of(compare), truth)


_PERSONS = ("first_name", "surname", "birth_date", "email", "city", "postcode")
_PERSON_TYPES = ("given_name", "surname", "date", "email", "city", "postcode")

LABELLED: dict[str, Callable[[], Labelled]] = {
    "febrl1": lambda: _febrl(1),
    "febrl2": lambda: _febrl(2),
    "febrl3": lambda: _febrl(3),
    "febrl4": _febrl4,
    "restaurants": _restaurants,
    "products": _products,
    "early-childhood": _early_childhood,
    "people-historical": _people,
    "transfers": _transfers,
    "persons-100k": lambda: persons(100_000),
    "persons-1m": lambda: persons(1_000_000),
}


def found_pairs(matching: Matching) -> set[tuple[int, int]]:
    """Return the pairs of rows that are together."""
    clusters = (np.sort(matching.records.rows[cluster]).tolist() for cluster in matching.clusters())
    return {pair for rows in clusters for pair in combinations(rows, 2)}


def rates(found: set[tuple[int, int]], truth: set[tuple[int, int]]) -> tuple[float, float, float]:
    """Return precision, recall and F1."""
    right = len(found & truth)
    precision, recall = right / max(len(found), 1), right / max(len(truth), 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def measure(name: str) -> None:
    """Print the figures of a set with the built-in weights and with estimated ones."""
    labelled = LABELLED[name]()
    for estimated in (False, True):
        begin = time.perf_counter()
        records = Records.of(labelled.tables, labelled.settings)
        matching = Matching(records, labelled.settings)
        if estimated:
            model = matching.estimate().model
            learnt = time.perf_counter()
            fresh = Matching(records, labelled.settings, model)
        else:
            learnt, fresh = begin, matching
        pairs = found_pairs(fresh)
        end = time.perf_counter()
        precision, recall, f1 = rates(pairs, labelled.truth)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name:18} {'estimated' if estimated else 'built-in':9} P {precision:.3f} R {recall:.3f} F1 {f1:.4f}  "
            f"learn {learnt - begin:5.1f} s  run {end - learnt:5.1f} s  peak {peak:5.0f} MB  "
            f"candidates {len(fresh.candidates):,}  threshold {fresh.threshold:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    for chosen in sys.argv[1:] or [name for name in LABELLED if not name.startswith("persons")]:
        measure(chosen)
