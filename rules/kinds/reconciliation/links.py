"""Records whose keys agree because a text of one side contains a value of the other.

Such keys are not equal: a text may contain several values, and a value may be in several texts. Records that are linked
in this way, directly or through others, are a component, which takes the place of a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from rules.kinds.reconciliation.bound import BoundReconciliation
from rules.kinds.reconciliation.outcomes import LEFT, RIGHT
from rules.kinds.reconciliation.pairs import KeyPair
from rules.kinds.reconciliation.texts import Finder, core
from rules.pairs import numbers
from rules.pairs.assignment.network import components
from rules.pairs.numbers import Flags, Integers
from rules.values import Value

_AT_ONCE = 50_000
"""Texts that are Python objects at a time."""

Codes = tuple[Integers, Integers]


@dataclass(frozen=True)
class Links:
    """The links of both sides' records, by their places.

    Each link is a record with a text, in `texts`, and a class of records with the same value and the same other parts
    of the key, in `classes`. `class_of` is that of each record with a value. `keys` are the components.
    """

    occurrences: Occurrences
    texts: Integers
    classes: Integers
    class_of: Integers
    keys: Codes

    @property
    def contained(self) -> int:
        """The side of the values."""
        return self.occurrences.contained

    def are_alike(self, side: int, size: int) -> Flags:
        """Return True for each of `size` components whose records of a side have the same value, or name the same."""
        classes_of = np.zeros(size, np.int64)
        first = np.unique(self.class_of, return_index=True)[1]
        np.add.at(classes_of, self.keys[self.contained][first], 1)
        if side == self.contained:
            return np.asarray(classes_of == 1, np.bool_)
        texts_of, links_of = np.zeros(size, np.int64), np.zeros(size, np.int64)
        np.add.at(texts_of, self.keys[side], 1)
        np.add.at(links_of, self.keys[side][self.texts], 1)
        return np.asarray(links_of == texts_of * classes_of, np.bool_)

    @property
    def partners(self) -> Codes:
        """The number of records of the other side with which each record is linked."""
        of_class = np.bincount(self.class_of, minlength=int(self.classes.max(initial=-1)) + 1)
        of_text = np.zeros(len(self.keys[1 - self.contained]), np.int64)
        np.add.at(of_text, self.texts, of_class[self.classes])
        of_value = np.bincount(self.classes, minlength=int(self.class_of.max(initial=-1)) + 1)[self.class_of]
        return (of_text, of_value) if self.contained == RIGHT else (of_value, of_text)


@dataclass(frozen=True)
class Occurrences:
    """The values that occur in texts: each time the place of a record with the text, and the code of the value.

    `value_of` is the code of each record of the side `contained`, -1 if its value has no letter or number.
    """

    contained: int
    texts: Integers
    values: Integers
    value_of: Integers

    @classmethod
    def of(cls, pair: KeyPair, left: pa.ChunkedArray, right: pa.ChunkedArray) -> Occurrences:
        """Look for the values in two columns of texts."""
        contained = LEFT if pair.contained == "left" else RIGHT
        texts, values = (right, left) if contained == LEFT else (left, right)
        codes: dict[str, int] = {}
        distinct, value_of_distinct = _encoded(values)
        cores = [core(value) if value is not None else None for value in distinct.to_pylist()]
        of_distinct = [-1 if each is None else codes.setdefault(each, len(codes)) for each in cores]
        distinct_texts, text_of = _encoded(texts)
        texts_with, codes_in = _occurring(distinct_texts, codes, pair.by_words)
        places, order = _expanded(texts_with, text_of)
        value_of = np.array([*of_distinct, -1], np.int64)[value_of_distinct]
        return cls(contained, places, codes_in[order], value_of)

    def links(self, equal: Codes) -> Links:
        """Return the links of records that also have the same code in `equal`, that of the other parts of the key."""
        of_texts, of_values = equal if self.contained == RIGHT else equal[::-1]
        sizes = len(self.texts), len(self.value_of)
        parts = [(self.values, self.value_of), (of_texts[self.texts], of_values)]
        wanted, given = numbers.combined(parts, sizes)
        has_value = self.value_of >= 0
        distinct = np.unique(given[has_value])
        class_of = np.empty(len(given), np.int64)
        class_of[has_value] = np.searchsorted(distinct, given[has_value])
        class_of[~has_value] = len(distinct) + np.arange(int((~has_value).sum()))
        classes = np.searchsorted(distinct, wanted)
        is_there = (
            distinct[np.minimum(classes, len(distinct) - 1)] == wanted if len(distinct) else np.zeros(sizes[0], bool)
        )
        texts, classes = self.texts[is_there], classes[is_there]
        size = int(class_of.max(initial=-1)) + 1
        key_of_text, key_of_class = components(texts, classes, len(of_texts), size)
        keys = key_of_text, key_of_class[class_of]
        return Links(self, texts, classes, class_of, keys if self.contained == RIGHT else keys[::-1])


def linked(bound: BoundReconciliation, left: pa.Table, right: pa.Table, equal: Codes) -> Links | None:
    """Return the links by the key of `bound`, whose other parts have these codes; None if all parts are equal."""
    if bound.contained is None:
        return None
    name = f"key_{bound.contained}"
    return Occurrences.of(bound.pairs[bound.contained], left[name], right[name]).links(equal)


def name_each_other(pair: KeyPair, lefts: Sequence[Value], rights: Sequence[Value]) -> bool:
    """Return True if each text contains a value and each value is in a text, or if there are none of either."""
    texts, values = (lefts, rights) if pair.contained == "right" else (rights, lefts)
    cores = {core(str(value)) for value in values}
    finder = Finder((each for each in cores if each is not None), pair.by_words)
    named = [set(finder.find(str(text or ""))) for text in texts]
    return not texts or not values or (all(named) and cores == set().union(*named))


def _encoded(column: pa.ChunkedArray) -> tuple[pa.Array, Integers]:
    """Return the different values of a column, and the place of each record's among them; -1 for null."""
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.dictionary, encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def _occurring(texts: pa.Array, codes: dict[str, int], by_words: str | None) -> Codes:
    """Return the place of each text and the code of each value that occurs in it, each pair once, by place."""
    finder = Finder(codes, by_words)
    places: list[Integers] = []
    values: list[Integers] = []
    for first in range(0, len(texts), _AT_ONCE):
        of_texts = [sorted({codes[each] for each in finder.find(text)}) for text in _texts(texts, first)]
        places.append(np.repeat(np.arange(first, first + len(of_texts)), list(map(len, of_texts))))
        values.append(np.fromiter(chain.from_iterable(of_texts), np.int64))
    nothing = np.empty(0, np.int64)
    return np.concatenate([nothing, *places]), np.concatenate([nothing, *values])


def _texts(texts: pa.Array, first: int) -> Sequence[str]:
    return [text or "" for text in texts.slice(first, _AT_ONCE).to_pylist()]


def _expanded(places: Integers, text_of: Integers) -> Codes:
    """Return the records of all texts in `places`, and the position in `places` for each."""
    begin, end = bounds(places, text_of)
    sizes = end - begin
    records = np.repeat(np.arange(len(text_of)), sizes)
    starts = np.cumsum(sizes) - sizes
    return records, np.arange(len(records)) - np.repeat(starts - begin, sizes)


def bounds(ordered: Integers, wanted: Integers) -> Codes:
    """Return where each wanted number begins and ends among numbers in order."""
    return np.searchsorted(ordered, wanted), np.searchsorted(ordered, wanted, side="right")
