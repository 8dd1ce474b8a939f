"""A check in words, for people who do not write rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rules.document.mistakes import listed
from rules.expressions.words import condition_in_words, name_in_words
from rules.groups.implausible import FEW
from rules.kinds.check.bound import BoundCheck
from rules.models import KeyPart
from rules.normalise.words import in_words


def describe(bound: BoundCheck) -> Mapping[str, Sequence[str]]:
    """Return the rule's sentences below their headings; see `rules.binding.fitted.Fitted`."""
    sentences = {"finds": list(_finds(bound)), "orders": list(_orders(bound)), "takes part": [_takes_part(bound)]}
    return {heading: listed_sentences for heading, listed_sentences in sentences.items() if listed_sentences}


def _finds(bound: BoundCheck) -> Iterator[str]:
    rule = bound.rule
    if rule.condition is not None:
        yield f"each record where {rule.condition.in_words}"
    if rule.gaps is not None:
        series = ", in each series: a text's last run of digits, with the same text around it"
        yield f"numbers of {_part(rule.gaps)} that are missing{series if bound.is_of_texts else ''}"
    yield f"the rule fails if more than {100 * rule.max_share:g} % of the records fail, and over {FEW:,}"


def _orders(bound: BoundCheck) -> Iterator[str]:
    if bound.rule.order:
        yield f"records by {', then '.join((*map(name_in_words, bound.rule.order), 'the id'))}"
    if bound.rule.by:
        yield f"for each {listed([_part(part) for part in bound.rule.by])} by itself"


def _part(part: KeyPart) -> str:
    how = in_words(part.steps)
    return f"{name_in_words(part.column)} ({how})" if how else name_in_words(part.column)


def _takes_part(bound: BoundCheck) -> str:
    where = bound.relation.where
    if where is None:
        return "all records"
    return f"records where {condition_in_words(where)} (`where` of dataset {bound.relation.dataset})"
