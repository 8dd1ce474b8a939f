"""A rule of kind `similar` in words, for people who do not write rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rules.expressions.words import condition_in_words, group_in_words, name_in_words
from rules.groups.keeper import criteria_in_words, kept_in_words
from rules.kinds.similar.rule import SimilarRule

if TYPE_CHECKING:
    from rules.kinds.similar.bound import BoundSimilar


def because(rule: SimilarRule) -> str:
    """Return why its records belong together: "They are so alike in name that they are probably the same."."""
    return f"They are so alike in {_listed(rule.compare)} that they are probably the same."


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
        veto = "; two different values are never the same" if name in rule.veto else ""
        yield f"{name_in_words(name)}: as {semantic_type.value.replace('_', ' ')}{veto}"


def _takes_part(bound: BoundSimilar, dataset: str) -> Iterator[str]:
    side = next(side for side in bound.sides if side.relation.dataset == dataset)
    conditions = {f"dataset {dataset}": side.relation.where, "the rule": side.where}
    wheres = [(place, text) for place, text in conditions.items() if text is not None]
    of = f"{dataset}: " if len(bound.sides) > 1 else ""
    for place, text in wheres:
        yield f"{of}records where {condition_in_words(text)} (`where` of {place})"
    yield f"{of}{'all records' if not wheres else 'of these, all'} except those in which every compared column is empty"


def _groups(rule: SimilarRule) -> Iterator[str]:
    threshold = f" with a probability of {(100 * rule.threshold).normalize():f} % or more" if rule.threshold else ""
    yield f"{_number(rule.minimum)} or more records that are probably the same{threshold}"
    if rule.one_to_one:
        yield "pairs of one record of each dataset; a record is in one pair at most"
    if rule.distinct:
        yield f"only groups with two or more different values in {name_in_words(rule.distinct)}"
    if rule.having:
        yield f"only groups where {group_in_words(rule.having)}"
    if rule.listed:
        yield f"except pairs of records that dataset {rule.listed.dataset} lists as different"
    elif rule.except_pairs:
        pairs = len(rule.except_pairs)
        yield f"except {pairs:,} {'pair' if pairs == 1 else 'pairs'} of records known to be different"


def _keeps(bound: BoundSimilar) -> str:
    if len(bound.sides) == 1:
        return kept_in_words(bound.keep, bound.schema, bound.sides[0].relation.id)
    criteria = criteria_in_words(bound.keep, bound.schema)
    criteria.append(f"the {'one' if criteria else 'record'} of {bound.rule.dataset}, then the one with the smallest id")
    return ", then ".join(criteria)


def _number(count: int) -> str:
    return "two" if count == 2 else f"{count:,}"


def _listed(columns: Mapping[str, object]) -> str:
    *first, last = map(name_in_words, columns)
    return f"{', '.join(first)} and {last}" if first else last
