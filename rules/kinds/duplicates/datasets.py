"""The settings of a rule over several datasets: checked here, and turned into the settings of each dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from rules.binding.names import DATASET
from rules.groups.keys import AnyKey
from rules.groups.spans import MaximumDistance, Overlap
from rules.models import KeyPart

if TYPE_CHECKING:
    from rules.kinds.duplicates.model import DuplicatesRule


def of_dataset(
    rule: DuplicatesRule, dataset: str, own: Callable[[str], str | None], every_column: Sequence[KeyPart] = ()
) -> DuplicatesRule:
    """Return the rule of one of its datasets, in the names of that dataset's columns; `own` gives them.

    A column that it lacks stays in the key and in `repeats`, where it is a mistake, and is left out of `keep` and
    `distinct`.
    `every_column` is the key `all`.
    """
    given = rule.columns.get(dataset, {})
    nulls = dict.fromkeys((part.column for part in every_column), "match") if rule.key == "all" else rule.nulls
    spans = {setting: getattr(rule, setting) for setting in ("gap", "window", "overlap")}
    return rule.of_dataset(
        dataset,
        own,
        key=_key(rule.key, every_column, given),
        nulls={given.get(column, column): how for column, how in nulls.items()},
        repeats=None if rule.repeats in (None, DATASET) else given.get(rule.repeats, rule.repeats),
        **{setting: None if span is None else _span(span, given) for setting, span in spans.items()},
    )


def _key(
    key: Literal["all"] | AnyKey | tuple[KeyPart, ...], every_column: Sequence[KeyPart], given: Mapping[str, str]
) -> AnyKey | tuple[KeyPart, ...]:
    if isinstance(key, AnyKey):
        return key.model_copy(update={"any": tuple(_parts(parts, given) for parts in key.any)})
    return _parts(every_column if key == "all" else key, given)


def _parts(parts: Iterable[KeyPart], given: Mapping[str, str]) -> tuple[KeyPart, ...]:
    return tuple(part.model_copy(update={"column": given.get(part.column, part.column)}) for part in parts)


def _span(span: MaximumDistance | Overlap, given: Mapping[str, str]) -> MaximumDistance | Overlap:
    if isinstance(span, Overlap):
        begin, end = (given.get(column, column) for column in span.columns)
        return span.model_copy(update={"begin": begin, "end": end})
    also = None if span.also is None else _span(span.also, given)
    return span.model_copy(update={"column": given.get(span.column, span.column), "also": also})
