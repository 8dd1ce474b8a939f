"""Made-up sets of known truth: persons with typos, and companies and products written in other ways."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.similar.background import TYPES, Background, Record
from bench.similar.labelled import Labelled, shuffled
from bench.similar.mutations import MUTATIONS

_TWINS = 0.2
"""The share of records of which another is a mutation."""
_BEYOND_RECOGNITION = "script|acronym|all but|other phone|model number missing|only brand"
"""Ways after which, with a second one, a person could not say either."""


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
    return Labelled([table], compare, truth)


_PERSONS = ("first_name", "surname", "birth_date", "email", "city", "postcode")
_PERSON_TYPES = ("given_name", "surname", "date", "email", "city", "postcode")


def companies(size: int) -> Labelled:
    """Return made-up companies, a fifth of them written twice in two other ways."""
    return _mutated("companies", size)


def products(size: int) -> Labelled:
    """Return made-up products, a fifth of them written twice in two other ways."""
    return _mutated("products", size)


def _mutated(kind: str, size: int) -> Labelled:
    background = Background(42)
    source = background.records(kind)
    base = [next(source) for _ in range(round(size / (1 + _TWINS)))]
    records = base + [_twin(background, kind, record) for record in base[: size - len(base)]]
    order = shuffled(pa.table({"row": np.arange(len(records))}), 3)["row"].to_pylist()
    row = {original: place for place, original in enumerate(order)}
    pairs = ((row[number], row[len(base) + number]) for number in range(len(records) - len(base)))
    truth = {(min(pair), max(pair)) for pair in pairs}
    return Labelled([table_of([records[number] for number in order], kind)], TYPES[kind], truth)


def _twin(background: Background, kind: str, record: Record) -> Record:
    """Return a record written in two other ways that apply to it."""
    changed = record
    ways = [way for way in MUTATIONS[kind] if not re.search(_BEYOND_RECOGNITION, way)]
    applied = 0
    while applied < 2:
        way = background.pick(ways)
        twin = MUTATIONS[kind][way](background, changed)
        if twin is not None:
            ways.remove(way)
            changed, applied = twin, applied + 1
    return changed


def table_of(records: list[Record], kind: str) -> pa.Table:
    """Return records of a kind as a table of texts."""
    return pa.table({column: pa.array([record[column] for record in records], pa.string()) for column in TYPES[kind]})
