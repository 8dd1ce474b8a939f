"""The words of a column: a bag for each record, over one vocabulary for all columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rules.kinds.similar.encoded import Encoded, Places, sorted_distinct
from rules.kinds.similar.types import SemanticType
from rules.normalise.address import address
from rules.normalise.company import company
from rules.normalise.person import name

_READ: Mapping[SemanticType, Callable[[str], str]] = {
    SemanticType.NAME: name,
    SemanticType.COMPANY: company,
    SemanticType.ADDRESS: address,
}
"""The normalisers that leave out words that say nothing, such as titles, and give others one form."""
_COMMON = frozenset(["the", "a", "an", "of", "and", "or", "for", "with", "in", "on", "to", "by", "at", "from"])
"""Words that say nothing in texts."""


@dataclass(frozen=True)
class Bags:
    """Words by record: `places` and `words` (positions in `vocabulary`) of each, sorted, no word twice in a record."""

    places: Places
    words: NDArray[np.int64]
    vocabulary: NDArray[np.object_]
    records: int

    @property
    def packed(self) -> NDArray[np.int64]:
        return self.places * max(len(self.vocabulary), 1) + self.words

    def only(self, kept: NDArray[np.bool_]) -> Bags:
        """Return the bags with only some of the words."""
        return Bags(self.places[kept], self.words[kept], self.vocabulary, self.records)

    def with_digits(self, *, having: bool) -> Bags:
        """Return only the words that have a digit, or only those that have none."""
        digit = np.fromiter(
            (any(map(str.isdigit, word)) for word in self.vocabulary), dtype=bool, count=len(self.vocabulary)
        )
        return self.only(digit[self.words] == having)

    def filled(self) -> NDArray[np.bool_]:
        """Return which records have a word."""
        filled = np.zeros(self.records, dtype=bool)
        filled[self.places] = True
        return filled


def bags(
    columns: list[tuple[Encoded, SemanticType]], spellings: Mapping[str, str] = MappingProxyType({})
) -> list[Bags]:
    """Return the words of each column over one vocabulary. `spellings` are other forms of words, with that to read."""
    split = [_split(encoded.values, semantic_type) for encoded, semantic_type in columns]
    texts = pa.chunked_array([words for _, words in split] or [pa.array([], pa.string())]).combine_chunks()
    encoded_words = _respelled(texts, spellings).dictionary_encode()
    vocabulary_array = np.asarray(encoded_words.dictionary.to_pylist(), dtype=object)
    codes = np.asarray(encoded_words.indices, dtype=np.int64)
    result, begin = [], 0
    for (encoded, _), (parents, words) in zip(columns, split, strict=True):
        numbers = codes[begin : begin + len(words)]
        begin += len(words)
        result.append(by_record(encoded, parents, numbers, vocabulary_array))
    return result


def reader(semantic_type: SemanticType) -> Callable[[str], str]:
    """Return the normaliser of the words of a type."""
    return _READ.get(semantic_type, str)


def _respelled(words: Any, spellings: Mapping[str, str]) -> Any:
    if not spellings:
        return words
    encoded = words.dictionary_encode()
    read = [spellings.get(word, word) for word in encoded.dictionary.to_pylist()]
    return pa.array(read, pa.string()).take(encoded.indices)


def by_record(encoded: Encoded, parents: Places, words: NDArray[np.int64], vocabulary: NDArray[np.object_]) -> Bags:
    """Spread the words of distinct values over the records that have them."""
    width = max(len(vocabulary), 1)
    packed = sorted_distinct(parents * width + words)
    value_of, word_of = packed // width, packed % width
    starts = np.searchsorted(value_of, np.arange(len(encoded.values) + 1))
    holders = np.flatnonzero(encoded.codes >= 0)
    codes = encoded.codes[holders]
    lengths = np.diff(starts)[codes]
    places = np.repeat(holders, lengths)
    within = np.arange(len(places)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return Bags(places, word_of[np.repeat(starts[codes], lengths) + within], vocabulary, len(encoded.codes))


def _split(values: Any, semantic_type: SemanticType) -> tuple[Places, Any]:
    """Return the words of texts, with the position of the text of each."""
    texts = values.cast(pa.string())
    if (read := _READ.get(semantic_type)) is not None:
        return _pieces(pa.array([read(text) for text in texts.to_pylist()], pa.string()), r"[ /-]+")
    parents, words = _of_texts(texts)
    if semantic_type not in {SemanticType.PRODUCT, SemanticType.TEXT}:
        return parents, words
    telling = pc.invert(pc.is_in(words, value_set=pa.array(sorted(_COMMON))))
    return parents[np.asarray(telling)], words.filter(telling)


def _of_texts(texts: Any) -> tuple[Places, Any]:
    """Return the words of texts of any kind.

    In a word with a digit, such as a model number, punctuation says nothing; elsewhere it separates words.
    """
    texts = pc.replace_substring_regex(texts, r"['’`]", "")
    texts = pc.replace_substring_regex(texts, r"\b(\p{L})\.", r"\1")
    parents, words = _pieces(texts, r"[\s/,;()\[\]:|\"]+")
    digits = np.asarray(pc.match_substring_regex(words, r"\p{N}"))
    numbered = pc.replace_substring_regex(words.filter(pa.array(digits)), r"[^\p{L}\p{N}]+", "")
    inner, plain = _pieces(words.filter(pa.array(~digits)), r"[^\p{L}\p{N}&]+")
    return np.concatenate([parents[digits], parents[~digits][inner]]), pa.concat_arrays([numbered, plain])


def _pieces(text: Any, separator: str) -> tuple[Places, Any]:
    pieces = pc.split_pattern_regex(text, separator)
    parents = np.asarray(pc.list_parent_indices(pieces), dtype=np.int64)
    flat = pc.list_flatten(pieces)
    filled = np.asarray(pc.greater(pc.utf8_length(flat), 0))
    return parents[filled], flat.filter(pa.array(filled))
