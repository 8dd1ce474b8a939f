"""A rule in words, for people who do not write rules."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence

from rules.expressions.words import condition_in_words, duration_in_words, group_in_words, name_in_words
from rules.kinds.duplicates.bound import BoundRule, Criteria
from rules.kinds.duplicates.model import MaximumDistance
from rules.kinds.duplicates.sides import SeveralBound
from rules.models import Keep, KeyPart
from rules.normalise.words import in_words
from rules.values import Schema, Type


def describe(bound: BoundRule) -> Mapping[str, Sequence[str]]:
    """Return the rule's sentences below their headings; see `rules.kinds.base.Fitted`."""
    return {
        "compares": list(_compares(bound)),
        "takes part": list(_takes_part(bound)),
        "groups": list(_groups(bound)),
        "keeps": [_keeps(bound)],
    }


def describe_several(bound: SeveralBound) -> Mapping[str, Sequence[str]]:
    """Return the sentences of a rule over several datasets."""
    return {
        "compares": [_part_of_several(bound, part) for part in bound.parts],
        "takes part": [
            f"{side.relation.dataset}: {sentence}" for side in bound.sides for sentence in _takes_part(side)
        ],
        "groups": list(_groups(bound)),
        "keeps": [_keeps_of_several(bound)],
    }


def _keeps_of_several(bound: SeveralBound) -> str:
    criteria = [_criterion(bound.schema, line) for line in bound.keep]
    criteria.append(f"the {'one' if criteria else 'record'} of {bound.rule.dataset}, then the one with the smallest id")
    return ", then ".join(criteria)


def _part_of_several(bound: SeveralBound, part: KeyPart) -> str:
    own = ((side.relation.dataset, side.names.of(part.column)) for side in bound.sides)
    others = [f"{name_in_words(name)} in {dataset}" for dataset, name in own if name and name != part.column]
    return _part(bound, part) + (f" ({', '.join(others)})" if others else "")


def _compares(bound: BoundRule) -> Iterator[str]:
    if bound.rule.key == "all":
        yield f"all {len(bound.parts):,} columns except the id: as they are; empty values are equal"
    else:
        yield from (_part(bound, part) for part in bound.parts)


def _part(bound: Criteria, part: KeyPart) -> str:
    how = in_words(part.steps) or "as it is"
    empty = "; empty values are equal" if bound.matches_null(part) else ""
    return f"{name_in_words(part.column)}: {how}{empty}"


def _takes_part(bound: BoundRule) -> Iterator[str]:
    conditions = {f"dataset {bound.relation.dataset}": bound.relation.where, "the rule": bound.where}
    wheres = [(place, text) for place, text in conditions.items() if text is not None]
    for place, text in wheres:
        yield f"records where {condition_in_words(text)} (`where` of {place})"
    if not wheres:
        yield "all records"
    needed = [part.column for part in bound.parts if not bound.matches_null(part)]
    needed += [bound.span_column] if bound.span_column else []
    if needed:
        yield f"not records in which {_any(needed)} is empty"


def _groups(bound: Criteria) -> Iterator[str]:
    rule = bound.rule
    yield f"{_number(rule.minimum)} or more records that are equal in {_all(bound)}"
    if rule.gap:
        yield f"of these, records whose {_column(rule.gap)} is at most {_distance(rule.gap)} after the previous one"
    if rule.window:
        yield f"of these, records whose {_column(rule.window)} is at most {_distance(rule.window)} after the first one"
    if rule.distinct:
        yield f"only groups with two or more different values in {name_in_words(rule.distinct)}"
    if rule.having:
        yield f"only groups where {group_in_words(rule.having)}"
    if rule.except_:
        pairs = len(rule.except_)
        yield f"except {pairs:,} {'pair' if pairs == 1 else 'pairs'} of records known to be different"


def _all(bound: Criteria) -> str:
    return "all compared columns" if len(bound.parts) > 1 else name_in_words(bound.parts[0].column)


def _keeps(bound: BoundRule) -> str:
    criteria = [_criterion(bound.columns.schema, line) for line in bound.keep]
    is_decided = any(line.how in ("first", "last") and (line.column,) == bound.relation.id for line in bound.keep)
    if not is_decided:
        tie = "the smallest id" if bound.relation.id else "the first place in the dataset"
        criteria.append(f"the {'one' if criteria else 'record'} with {tie}")
    return ", then ".join(criteria)


def _criterion(schema: Schema, line: Keep) -> str:
    if line.how == "most_complete" or line.column is None:
        return "the record with the fewest empty columns"
    column = name_in_words(line.column)
    if line.how == "prefer":
        preferred = ", else ".join(f"'{value}'" for value in line.prefer)
        return f"the record whose {column} is {preferred}"
    is_first = line.how in ("first", "min")
    if schema[line.column].type in (Type.DATE, Type.INSTANT):
        return f"the record with the {'earliest' if is_first else 'latest'} {column}"
    return f"the record with the {'smallest' if is_first else 'largest'} {column}"


def _column(span: MaximumDistance) -> str:
    return name_in_words(span.column)


def _distance(span: MaximumDistance) -> str:
    return duration_in_words(span.by) if isinstance(span.by, dt.timedelta) else str(span.by)


def _any(columns: Sequence[str]) -> str:
    names = [name_in_words(column) for column in dict.fromkeys(columns)]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _number(number: int) -> str:
    return "two" if number == 2 else f"{number:,}"
