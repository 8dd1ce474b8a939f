"""A rule in words, for people who do not write rules, and records as it compares them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence

from rules.binding.fitted import Rows
from rules.expressions.words import condition_in_words, duration_in_words, name_in_words
from rules.groups.ids import content_digest
from rules.groups.sample import Sample
from rules.kinds.reconciliation.bound import AmountLimits, BoundReconciliation, BoundSide
from rules.kinds.reconciliation.model import DateTolerance
from rules.kinds.reconciliation.pairs import KeyPair, Pair
from rules.normalise import chain_function
from rules.normalise.words import in_words
from rules.values import Value

_MATCHES = {
    "one_to_one": "one left record with one right record",
    "one_to_many": "one left record with all right records of its key",
    "many_to_one": "all left records of a key with one right record",
    "many_to_many": "all left records of a key with all right records of that key",
}
_MATCHES_ALONE = {
    "one_to_many": "one left record with the right records of its key that add up to it",
    "many_to_one": "the left records of a key that add up to a right record with that",
}


def describe(bound: BoundReconciliation) -> Mapping[str, Sequence[str]]:
    """Return the rule's sentences below their headings; see `rules.binding.fitted.Fitted`."""
    sentences = {
        "compares": list(_keys(bound)),
        "takes part": list(_takes_part(bound)),
        "pairs": list(_pairs(bound)),
        "prefers": [_part(pair, "equal") for pair in bound.rule.prefer],
        "must differ": [_part(pair, "different") for pair in bound.rule.differ],
        "must agree": [_part(pair, _how(AmountLimits.of(pair), pair.days)) for pair in bound.every_compared],
        "waits": list(_waits(bound)),
    }
    return {heading: listed for heading, listed in sentences.items() if listed}


def _keys(bound: BoundReconciliation) -> Iterator[str]:
    for number, key in enumerate(bound.keys):
        for pair in key:
            yield (f"key {number + 1}, " if len(bound.keys) > 1 else "") + _part(pair, _agreement(pair))


def _agreement(pair: KeyPair) -> str:
    if pair.contained is None:
        return "equal"
    value, text = pair.side(pair.contained).column, pair.side(pair.text_side).column
    return (
        f"{name_in_words(text)} contains {name_in_words(value)}, if that has at least {pair.least} letters and digits"
    )


def _part(pair: Pair, how: str) -> str:
    left, right = (in_words(part.steps) or "as it is" for part in (pair.left, pair.right))
    if pair.left == pair.right:
        return f"{name_in_words(pair.left.column)}: {left}, {how}"
    return f"{name_in_words(pair.left.column)} ({left}) and {name_in_words(pair.right.column)} ({right}): {how}"


def _takes_part(bound: BoundReconciliation) -> Iterator[str]:
    for side in bound.sides:
        dataset = side.relation.dataset
        wheres = {f"`where` of dataset {dataset}": side.relation.where, "`where` of the rule": side.where}
        for place, text in wheres.items():
            if text is not None:
                yield f"{side.name}: records of {dataset} where {condition_in_words(text)} ({place})"
        if not any(wheres.values()):
            yield f"{side.name}: all records of {dataset}"


def _pairs(bound: BoundReconciliation) -> Iterator[str]:
    rule, limits = bound.rule, bound.limits
    amounts = (bound.left.amount or "", bound.right.amount or "")
    if rule.totals:
        yield f"no records: only the sums of {amounts[0]} and {amounts[1]} are compared"
    else:
        yield _MATCHES_ALONE[rule.match] if rule.bundle else _MATCHES[rule.match]
    for side in bound.sides:
        for part in side.group:
            yield f"{side.name}: grouped by {name_in_words(part.column)}, {in_words(part.steps) or 'as it is'}"
    if bound.date:
        yield f"{bound.date.left} and {bound.date.right}: {_days(bound.date)}"
    if limits:
        how = _how(limits, None)
        yield f"{'' if rule.is_assigned else 'sums of '}{amounts[0]} and {amounts[1]}: {how}"


def _days(date: DateTolerance) -> str:
    unit = "business days" if date.business_days is not None else "days"
    if date.later == date.earlier:
        return f"at most {date.later} {unit} apart"
    return f"right at most {date.later} {unit} after left, and at most {date.earlier} before"


def _how(limits: AmountLimits, days: int | None) -> str:
    sentences = [f"at most {limits.by} apart"] if limits.by is not None else []
    sentences += [f"at most {limits.percent} % of the larger apart"] if limits.percent is not None else []
    sentences += [f"at most {days} days apart"] if days is not None else []
    return (" or " if limits.either else " and ").join(sentences) or "equal"


def _waits(bound: BoundReconciliation) -> Iterator[str]:
    for side in bound.sides:
        if side.grace:
            due = f"{duration_in_words(side.grace.by)} after {name_in_words(side.grace.column)}"
            yield f"{side.name}: a record without a partner becomes a finding {due}"


def samples(bound: BoundReconciliation, dataset: str, rows: Rows, slot: dt.datetime) -> list[Sample]:
    """Return how records of a dataset are compared; see `rules.binding.fitted.Fitted`."""
    side = next(each for each in bound.sides if each.relation.dataset == dataset)
    is_of_another = side.name == "right"
    return [
        sample for row in rows if (sample := _sample(side, row, slot, dataset if is_of_another else None)) is not None
    ]


def _sample(side: BoundSide, row: Mapping[str, Value], slot: dt.datetime, dataset: str | None) -> Sample | None:
    record = side.columns.complete(row, slot)
    if not side.passes(record, slot):
        return None
    zone = side.relation.timezone
    compared = tuple(
        (part.column, record[part.column], chain_function(part.steps, zone)(record[part.column])) for part in side.parts
    )
    names = side.relation.id
    record_id = tuple(record[name] for name in names) if names else (content_digest(record, side.content), 0)
    return Sample(record_id, {name: record[name] for name in side.shown}, compared, dataset)
