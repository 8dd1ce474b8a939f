"""A rule in words, for people who do not write rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rules.binding.words import conditions_in_words, filters_in_words, kept_of_several, number_in_words
from rules.expressions.words import name_in_words
from rules.groups.implausible import FEW
from rules.groups.keeper import kept_in_words
from rules.kinds.duplicates.bound import BoundDuplicates
from rules.kinds.duplicates.model import DuplicatesRule
from rules.kinds.duplicates.reasons import distance_in_words, order_in_words
from rules.kinds.duplicates.sides import SeveralBound
from rules.models import KeyPart
from rules.normalise.words import in_words
from rules.values import PLACE

AnyBound = BoundDuplicates | SeveralBound


def describe(bound: BoundDuplicates) -> Mapping[str, Sequence[str]]:
    """Return the rule's sentences below their headings; see `rules.binding.fitted.Fitted`."""
    return {
        "compares": list(_compares(bound)),
        "takes part": list(_takes_part(bound)),
        "groups": list(_groups(bound)),
        "keeps": [kept_in_words(bound.keep, bound.columns.schema, bound.relation.id)],
    }


def describe_several(bound: SeveralBound) -> Mapping[str, Sequence[str]]:
    """Return the sentences of a rule over several datasets."""
    return {
        "compares": [*_compares(bound), *_named(bound)],
        "takes part": [
            f"{side.relation.dataset}: {sentence}" for side in bound.sides for sentence in _takes_part(side)
        ],
        "groups": list(_groups(bound)),
        "keeps": [kept_of_several(bound.keep, bound.schema, bound.rule.dataset)],
    }


def _named(bound: SeveralBound) -> Iterator[str]:
    """Yield which columns of the key have another name in a dataset."""
    for side in bound.sides:
        own = {part.column: side.names.of(part.column) for part in bound.parts}
        others = [f"{name_in_words(name)} is its {column}" for column, name in own.items() if name and name != column]
        if others:
            yield f"in {side.relation.dataset}, {', '.join(others)}"


def _compares(bound: AnyBound) -> Iterator[str]:
    if bound.rule.key == "all":
        yield f"all {len(bound.parts):,} columns except the id: as they are; empty values are equal"
    elif bound.joins:
        keys = (", and ".join(_part(bound, bound.parts[n]) for n in parts) for parts in bound.keys)
        yield from (key if number == 0 else f"or {key}" for number, key in enumerate(keys))
    else:
        yield from (_part(bound, part) for part in bound.parts)


def _part(bound: AnyBound, part: KeyPart) -> str:
    how = in_words(part.steps) or "as it is"
    empty = "; empty values are equal" if bound.matches_null(part) else ""
    if part.column in bound.rule.open_columns:
        empty = "; an empty value agrees with any value, but never joins two different values"
    return f"{name_in_words(part.column)}: {how}{empty}"


def _takes_part(bound: BoundDuplicates) -> Iterator[str]:
    yield from list(filters_in_words(bound)) or ["all records"]
    if bound.joins:
        yield "except records in which every key has an empty column"
        return
    needed = [part.column for part in bound.parts if not bound.matches_null(part)]
    needed += [bound.rule.repeats] if bound.rule.repeats not in (None, *PLACE) else []
    needed += bound.span_columns[:1] if bound.rule.overlap else bound.span_columns
    if needed:
        yield f"except records in which {_any(needed)} is empty"


def _groups(bound: AnyBound) -> Iterator[str]:
    rule = bound.rule
    minimum = number_in_words(rule.minimum)
    if bound.joins:
        yield f"{minimum} or more records that equal keys connect, directly or through other records"
        yield f"a value that more than {rule.max_shared:,} records share connects no records"
    else:
        yield f"{minimum} or more records that are equal in {_all(bound)}"
    if rule.span:
        yield f"of these, {_span(rule)}"
    if rule.repeats:
        column = name_in_words(rule.repeats)
        yield f"of these, the n-th in one {column} with the n-th in another {column}"
    yield from conditions_in_words(rule)
    if "max_share" in rule.model_fields_set and rule.max_share < 1:
        yield f"the rule fails if groups hold more than {100 * rule.max_share:g} % of the records, and over {FEW:,}"


def _all(bound: AnyBound) -> str:
    return "all compared columns" if len(bound.parts) > 1 else name_in_words(bound.parts[0].column)


def _span(rule: DuplicatesRule) -> str:
    if rule.consecutive:
        return f"records that follow one another in {order_in_words(rule.consecutive)}"
    if rule.overlap:
        begin, end = name_in_words(rule.overlap.begin), name_in_words(rule.overlap.end)
        return (
            f"records whose periods from {begin} to {end} overlap, also through others; without {end}, a period is open"
        )
    span = rule.gap or rule.window
    assert span is not None  # noqa: S101 - the caller looked
    if span.also is None:
        other = "the previous one" if rule.gap else "the first one"
        return f"records whose {name_in_words(span.column)} is at most {distance_in_words(span)} after {other}"
    limits = " and ".join(f"{distance_in_words(limit)} in {name_in_words(limit.column)}" for limit in (span, span.also))
    return (
        f"records connected by pairs at most {limits} apart" if rule.gap else f"those at most {limits} from the first"
    )


def _any(columns: Sequence[str]) -> str:
    names = [name_in_words(column) for column in dict.fromkeys(columns)]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
