"""Chains of normalisers in words, for people."""

from __future__ import annotations

from collections.abc import Sequence

from rules.models import Step
from rules.models.lookups import Lookup, LookupTable
from rules.normalise.normaliser import NORMALISERS


def in_words(steps: Sequence[Step]) -> str:
    """Return how a value is compared after these steps: "without accents, in lower case"; empty without steps."""
    return ", ".join(map(_step, steps))


def _step(step: Step) -> str:
    if isinstance(step.argument, (Lookup, LookupTable)):
        return step.argument.words
    normaliser = NORMALISERS[step.name]
    words = normaliser.words_of(step.argument) or normaliser.words
    if not words:
        return f"after `{step.name}`" if step.argument is None else f"after `{step.name}: {step.argument}`"
    arguments = step.argument if isinstance(step.argument, list | tuple) else (step.argument,)
    return words.format(*arguments)
