"""The choice of the keeper in words."""

from __future__ import annotations

from collections.abc import Sequence

from rules.expressions.words import name_in_words
from rules.models import Keep
from rules.values import Schema, Type


def kept_in_words(keep: Sequence[Keep], schema: Schema, identity: Sequence[str]) -> str:
    """Return which record of a group is kept, as the lines of `keep` say; `identity` are the columns of the id."""
    criteria = criteria_in_words(keep, schema)
    is_decided = any(line.how in ("first", "last") and (line.column,) == tuple(identity) for line in keep)
    if not is_decided:
        tie = "the smallest id" if identity else "the first position in the dataset"
        criteria.append(f"the {'one' if criteria else 'record'} with {tie}")
    return ", then ".join(criteria)


def criteria_in_words(keep: Sequence[Keep], schema: Schema) -> list[str]:
    """Return the lines of `keep`, each as a noun: the record that it prefers."""
    return [_criterion(line, schema) for line in keep]


def _criterion(line: Keep, schema: Schema) -> str:
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
