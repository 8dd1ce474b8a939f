"""The forms of findings in words: what is wrong with the records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class FormWords:
    """The words for a form: a phrase about one finding ("missing in ledger"), and what follows a number of them."""

    phrase: str
    singular: str
    plural: str


def form_words(form: str, datasets: Sequence[str]) -> FormWords:
    """Return the words for a form of a rule that reads these datasets, the left one first."""
    left = datasets[0] if datasets else "one dataset"
    right = datasets[1] if len(datasets) > 1 else "the other dataset"
    match form:
        case "duplicate":
            return FormWords("duplicate", "group of duplicates", "groups of duplicates")
        case "left_only":
            return _always(f"missing in {right}")
        case "right_only":
            return _always(f"missing in {left}")
        case "mismatch":
            return FormWords("values differ", "mismatch", "mismatches")
        case "duplicate_left":
            return _always(f"twice in {left}")
        case "duplicate_right":
            return _always(f"twice in {right}")
        case "near_miss":
            return FormWords("near miss", "near miss", "near misses")
        case "unbalanced":
            return FormWords("sums differ", "sum differs", "sums differ")
    return _always(form.replace("_", " "))


def counted(forms: Mapping[str, int], words: Callable[[str], FormWords]) -> tuple[str, ...]:
    """Return the number of findings of each form in words, the most frequent first."""
    ranked = sorted(forms.items(), key=lambda item: (-item[1], item[0]))
    return tuple(f"{n:,} {words(form).singular if n == 1 else words(form).plural}" for form, n in ranked)


def _always(phrase: str) -> FormWords:
    return FormWords(phrase, phrase, phrase)
