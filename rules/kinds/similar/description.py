"""A rule of kind `similar` in words, for people who do not write rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rules.binding.words import conditions_in_words, filters_in_words, kept_of_several, number_in_words
from rules.expressions.words import name_in_words
from rules.groups.keeper import kept_in_words
from rules.kinds.similar.rule import SimilarRule

if TYPE_CHECKING:
    from rules.kinds.similar.bound import BoundSimilar


def because(rule: SimilarRule) -> str:
    """Return why its records belong together: "Taken together, name and phone are so alike that ..."."""
    what = f"taken together, {_listed(rule.compare)} are" if len(rule.compare) > 1 else f"{_listed(rule.compare)} is"
    return f"They are probably the same: {what} alike enough."


def describe(bound: BoundSimilar) -> Mapping[str, Sequence[str]]:
    """Return the rule's sentences below their headings; see `rules.binding.fitted.Fitted`."""
    return {
        "compares": list(_compares(bound.rule)),
        "takes part": [sentence for side in bound.sides for sentence in _takes_part(bound, side.relation.dataset)],
        "groups": list(_groups(bound.rule)),
        "keeps": [_keeps(bound)],
    }


def _compares(rule: SimilarRule) -> Iterator[str]:
    for name, semantic_type in rule.compare.items():
        type_in_words = semantic_type.value.replace("_", " ")
        yield f"{name_in_words(name)}: {'; '.join((f'as {type_in_words}', *_changes(rule, name)))}"


def _changes(rule: SimilarRule, name: str) -> Iterator[str]:
    """Yield what the rule says about a compared column beside its type."""
    if name in rule.levels:
        yield f"only these levels are an agreement: {', '.join(rule.levels[name])}"
    if (weight := rule.weights.get(name, 1)) != 1:
        yield f"counts {weight:g} times" if weight else "does not count"
    if name in rule.veto:
        yield "two different values are never the same"


def _takes_part(bound: BoundSimilar, dataset: str) -> Iterator[str]:
    side = next(side for side in bound.sides if side.relation.dataset == dataset)
    wheres = list(filters_in_words(side))
    of = f"{dataset}: " if len(bound.sides) > 1 else ""
    yield from (f"{of}{sentence}" for sentence in wheres)
    yield f"{of}{'of these, all' if wheres else 'all records'} except those in which every compared column is empty"


def _groups(rule: SimilarRule) -> Iterator[str]:
    threshold = f" with a probability of {(100 * rule.threshold).normalize():f} % or more" if rule.threshold else ""
    yield f"{number_in_words(rule.minimum)} or more records that are probably the same{threshold}"
    if rule.one_to_one:
        yield "pairs of one record of each dataset; a record is in one pair at most"
    yield from conditions_in_words(rule)


def _keeps(bound: BoundSimilar) -> str:
    if len(bound.sides) == 1:
        return kept_in_words(bound.keep, bound.schema, bound.sides[0].relation.id)
    return kept_of_several(bound.keep, bound.schema, bound.rule.dataset)


def _listed(columns: Mapping[str, object]) -> str:
    *first, last = map(name_in_words, columns)
    return f"{', '.join(first)} and {last}" if first else last
