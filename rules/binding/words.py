"""The settings that rules with a keeper share, in words for people who do not write rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rules.binding.grouped import GroupedRule
from rules.binding.side import Side
from rules.expressions.words import condition_in_words, group_in_words, name_in_words
from rules.groups.keeper import criteria_in_words
from rules.models import Keep
from rules.values import Schema


def number_in_words(number: int) -> str:
    """Return "two", or any other number in figures."""
    return "two" if number == 2 else f"{number:,}"


def filters_in_words(side: Side) -> Iterator[str]:
    """Yield which records the filters of a dataset and of the rule let through."""
    conditions = {f"dataset {side.relation.dataset}": side.relation.where, "the rule": side.where}
    for place, text in conditions.items():
        if text is not None:
            yield f"records where {condition_in_words(text)} (`where` of {place})"


def conditions_in_words(rule: GroupedRule) -> Iterator[str]:
    """Yield which groups count, and which pairs do not."""
    if rule.distinct:
        yield f"only groups with two or more different values in {name_in_words(rule.distinct)}"
    if rule.having:
        yield f"only groups where {group_in_words(rule.having)}"
    if rule.listed:
        yield f"except pairs of records that dataset {rule.listed.dataset} lists as different"
    elif rule.except_pairs:
        pairs = len(rule.except_pairs)
        yield f"except {pairs:,} {'pair' if pairs == 1 else 'pairs'} of records known to be different"


def kept_of_several(keep: Sequence[Keep], schema: Schema, first: str) -> str:
    """Return which record of a group stays, of several datasets of which this is the first."""
    criteria = criteria_in_words(keep, schema)
    criteria.append(f"the {'one' if criteria else 'record'} of {first}, then the one with the smallest id")
    return ", then ".join(criteria)
