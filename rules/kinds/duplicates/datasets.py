"""The settings of a rule over several datasets: checked here, and turned into the settings of each dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from rules.binding.names import DATASET
from rules.document.mistakes import suggestion
from rules.expressions import renamed
from rules.groups.keys import AnyKey
from rules.groups.spans import MaximumDistance, Overlap
from rules.models import Keep, KeyPart

if TYPE_CHECKING:
    from rules.kinds.duplicates.model import DuplicatesRule


def with_first(settings: Any) -> Any:
    """Return the settings with the first of `datasets` as `dataset`. Raises ValueError if both are given."""
    several = settings.get("datasets") if isinstance(settings, dict) else None
    if several is None:
        return settings
    if "dataset" in settings:
        raise ValueError("write `dataset` for one dataset, or `datasets` for several, not both")
    first = several[0] if isinstance(several, (list, tuple)) and several else ""
    return settings | {"dataset": first}


def check(rule: DuplicatesRule) -> None:
    """Raise ValueError for the first setting that does not fit the datasets."""
    for mistake in (
        *(_mistakes_of_several(rule) if rule.several else _mistakes_of_one(rule)),
        *_mistakes_of_list(rule),
    ):
        raise ValueError(mistake)


def _mistakes_of_list(rule: DuplicatesRule) -> Iterator[str]:
    listed = rule.listed
    if listed is None:
        return
    if listed.dataset in rule.member_datasets:
        yield f"`except` lists pairs in `{listed.dataset}`, which the rule compares; give the list a dataset of its own"
    if listed.columns is None and rule.several:
        yield "`except` needs `columns` with several `datasets`, like [crm_id, {shop: shop_id}]"


def _mistakes_of_one(rule: DuplicatesRule) -> Iterator[str]:
    for setting, _ in _named(rule):
        yield f"`{setting}` names several datasets; write `datasets`, or one value"


def _mistakes_of_several(rule: DuplicatesRule) -> Iterator[str]:
    if len(set(rule.several)) < max(len(rule.several), 2):
        yield "`datasets` needs two different datasets; write `dataset` for one"
    for setting, name in _named(rule):
        if name not in rule.several:
            yield f"`{setting}` names `{name}`, which is not in `datasets`; {suggestion(name, rule.several)}"
    if any(len(pair) < 2 for pair in rule.excepted):
        yield "a pair in `except` names the same record twice; write two different records"
    for name, columns in rule.columns.items():
        if len(set(columns.values())) < len(columns):
            yield f"`columns` gives a column of `{name}` two names; remove one"
    for setting, column in _columns(rule):
        if column == DATASET:
            yield (
                f"`{setting}` cannot name `dataset`, which is a record's dataset in `keep`, `repeats`, `distinct` and "
                "`having`; "
                "name that column in `columns`, like {crm: {kind_of_dataset: dataset}}"
            )


def _named(rule: DuplicatesRule) -> Iterator[tuple[str, str]]:
    """Yield each dataset that a setting names besides `datasets`."""
    yield from (("columns", name) for name in rule.columns)
    if isinstance(rule.where, dict):
        yield from (("where", name) for name in rule.where)
    listed = (rule.listed.columns,) if rule.listed is not None and rule.listed.columns is not None else ()
    for pair in (*rule.except_pairs, *listed):
        yield from (("except", record.dataset) for record in pair if not isinstance(record, tuple))
    for line in rule.keep if rule.several else ():
        yield from (("keep", name) for name in line.prefer if line.column == DATASET)


def _columns(rule: DuplicatesRule) -> Iterator[tuple[str, str]]:
    """Yield the columns of settings in which `dataset` would be a column."""
    yield from (("columns", column) for columns in rule.columns.values() for column in columns)
    yield from (("key", part.column) for _, part in rule.key_parts())
    if rule.span is not None:
        yield from ((rule.span_setting, column) for column in rule.span.columns)
    yield from (("keep", line.column) for line in rule.keep if line.column and line.how != "prefer")


def conditions(rule: DuplicatesRule) -> Mapping[str, str]:
    """Return the `where` of each dataset: one text in the rule's names of columns, or texts in the datasets' own."""
    if isinstance(rule.where, dict):
        return rule.where
    return {} if rule.where is None else dict.fromkeys(rule.member_datasets, rule.where)


def of_dataset(
    rule: DuplicatesRule, dataset: str, own: Callable[[str], str | None], every_column: Sequence[KeyPart] = ()
) -> DuplicatesRule:
    """Return the rule of one of its datasets, in the names of that dataset's columns; `own` gives them.

    A column that it lacks stays in the key and in `repeats`, where it is a mistake, and is left out of `keep` and
    `distinct`.
    `every_column` is the key `all`.
    """
    given = rule.columns.get(dataset, {})
    where = conditions(rule).get(dataset)
    nulls = dict.fromkeys((part.column for part in every_column), "match") if rule.key == "all" else rule.nulls
    spans = {setting: getattr(rule, setting) for setting in ("gap", "window", "overlap")}
    return rule.model_copy(
        update={
            "dataset": dataset,
            "several": (),
            "columns": {},
            "where": renamed(where, given) if isinstance(rule.where, str) and where else where,
            "key": _key(rule.key, every_column, given),
            "nulls": {given.get(column, column): how for column, how in nulls.items()},
            "except_": (),
            **{setting: None if span is None else _span(span, given) for setting, span in spans.items()},
            "repeats": None if rule.repeats in (None, DATASET) else given.get(rule.repeats, rule.repeats),
            "distinct": None if rule.distinct is None or rule.distinct == DATASET else own(rule.distinct),
            "having": None,
            "keep": tuple(_keep(rule.keep, own)),
        }
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


def _keep(lines: Iterable[Keep], own: Callable[[str], str | None]) -> Iterator[Keep]:
    for line in lines:
        if line.column is None:
            yield line
        elif line.column != DATASET and (column := own(line.column)) is not None:
            yield line.model_copy(update={"column": column})
