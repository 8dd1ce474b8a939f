"""Words that are alike: one letter apart, one the beginning of the other, or short forms of one given name."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rules.kinds.similar.features import graded
from rules.kinds.similar.features.lookalikes import look, look_of_house
from rules.normalise.person import namesakes

TYPO = 0.85
BEGINNING = 0.6
VARIANT = 0.6
SHORT_FORM = 0.6
_SHORTEST = 4
_SHORTEST_BEGINNING = 3
_LONG = 60
_END = 20
_CROWD = 60
"""No more words than this share a form from which a letter was left out, or a beginning, and are compared."""
_LARGEST = 400_000
_Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Two words by their numbers, and how much each counts for the other."""


def variants(vocabulary: NDArray[np.object_], used: NDArray[np.int64], *, are_houses: bool) -> sparse.csr_array:
    """Return how much each word with digits counts for each other one: less for one with the same stem.

    The stem ends at the last digit: MDB7851BK and MDB7851AW are variants of a model. Numbers know no typo, but
    characters that look alike; in numbers that `are_houses` also short ones.
    """
    size = len(vocabulary)
    words = [(vocabulary[number], int(number)) for number in used if _is_model(vocabulary[number])]
    stems: dict[str, list[int]] = {}
    for word, number in words:
        stems.setdefault(_stem(word), []).append(number)
    same = [(a, b) for numbers in stems.values() if len(numbers) <= _CROWD for a in numbers for b in numbers if a != b]
    first, second, _ = _beginnings(words)
    ends = np.concatenate([first, second, np.asarray([a for a, _ in same], dtype=np.int64)])
    starts = np.concatenate([second, first, np.asarray([b for _, b in same], dtype=np.int64)])
    matrix = sparse.coo_array((np.ones(len(ends)), (ends, starts)), shape=(size, size)).tocsr()
    matrix.data[:] = VARIANT
    alike = _looking_alike([(vocabulary[number], int(number)) for number in used], are_houses=are_houses)
    return sparse.csr_array(sparse.eye_array(size)).maximum(matrix).maximum(_both_ways(alike, size))


def _looking_alike(words: list[tuple[str, int]], *, are_houses: bool) -> _Pairs:
    """Return pairs of words that look the same, such as WH1000 and WH1OOO."""
    looks: dict[str, list[int]] = {}
    for word, number in words:
        looks.setdefault(look(look_of_house(word) if are_houses else word), []).append(number)
    return _in_pairs(looks, TYPO)


def _stem(word: str) -> str:
    return word.rstrip("abcdefghijklmnopqrstuvwxyz")


def _is_model(word: str) -> bool:
    """Return True if a word has letters before digits, and its stem four characters or more."""
    return word[0].isalpha() and len(_stem(word)) >= _SHORTEST


def similar(vocabulary: NDArray[np.object_], used: NDArray[np.int64], *, are_names: bool) -> sparse.csr_array:
    """Return how much each word counts for each other one: 1 for itself, less for a word that is spelt alike.

    If they `are_names`, also less for another form of the same given name.
    """
    size = len(vocabulary)
    words = [(vocabulary[number], int(number)) for number in used]
    matrix = sparse.csr_array(sparse.eye_array(size))
    if len(words) <= _LARGEST:
        short_forms = [_short_forms(words)] if are_names else []
        for pairs in (_typos(words), _beginnings(words), *short_forms):
            matrix = matrix.maximum(_both_ways(pairs, size))
    return matrix


def _both_ways(pairs: _Pairs, size: int) -> sparse.csr_array:
    first, second, share = pairs
    ends, starts = np.concatenate([first, second]), np.concatenate([second, first])
    return sparse.coo_array((np.concatenate([share, share]), (ends, starts)), shape=(size, size)).tocsr()


def _short_forms(words: list[tuple[str, int]]) -> _Pairs:
    """Return pairs of words that can stand for one given name, such as Bob and Robert."""
    forms: dict[str, list[int]] = {}
    for word, number in words:
        for form in namesakes().get(word, ()):
            forms.setdefault(form, []).append(number)
    return _in_pairs(forms, SHORT_FORM)


def _in_pairs(groups: Mapping[str, list[int]], share: float) -> _Pairs:
    """Return all pairs inside each group, each pair once."""
    pairs = sorted({pair for numbers in groups.values() for pair in combinations(sorted(numbers), 2)})
    first, second = (np.asarray([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    return first, second, np.full(len(pairs), share)


def _forms(word: str) -> set[str]:
    """Return forms of which two words that are one typo apart share one: the word with one letter left out.

    These would need memory for the square of the length. So long words share their beginning or their end: a typo
    changes only one of them.
    """
    forms: set[str] = set()
    if len(word) <= _LONG:
        forms |= {word, *(word[:place] + word[place + 1 :] for place in range(len(word)))}
    if len(word) >= _LONG:
        forms |= {word[:_END], word[-_END:]}
    return forms


def _typos(words: list[tuple[str, int]]) -> _Pairs:
    """Return pairs of words that are one typo apart, by the forms that they share."""
    forms: dict[str, list[int]] = {}
    texts = {number: word for word, number in words}
    for word, number in words:
        if len(word) >= _SHORTEST:
            for form in _forms(word):
                forms.setdefault(form, []).append(number)
    pairs = {
        (a, b)
        for numbers in forms.values()
        if 1 < len(numbers) <= _CROWD
        for place, a in enumerate(numbers)
        for b in numbers[place + 1 :]
    }
    if not pairs:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    first, second = (np.asarray(side, dtype=np.int64) for side in zip(*sorted(pairs), strict=True))
    left = np.asarray([texts[number] for number in first.tolist()], dtype=object)
    right = np.asarray([texts[number] for number in second.tolist()], dtype=object)
    close = graded.edits(left, right, 1) <= 1
    return first[close], second[close], np.full(int(close.sum()), TYPO)


def _beginnings(words: list[tuple[str, int]]) -> _Pairs:
    """Return pairs of words of which one is the beginning of the other."""
    ordered = sorted(words)
    texts = np.asarray([word for word, _ in ordered], dtype=object)
    numbers = np.asarray([number for _, number in ordered], dtype=np.int64)
    first: list[int] = []
    second: list[int] = []
    for place, (word, number) in enumerate(ordered):
        if len(word) >= _SHORTEST_BEGINNING:
            end = place + 1
            while end < len(texts) and end - place <= _CROWD and texts[end].startswith(word):
                end += 1
            if end - place <= _CROWD:
                first.extend([number] * (end - place - 1))
                second.extend(numbers[place + 1 : end].tolist())
    return (
        np.asarray(first, dtype=np.int64),
        np.asarray(second, dtype=np.int64),
        np.full(len(first), BEGINNING),
    )
