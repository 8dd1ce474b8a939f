"""The settings of a rule over several datasets: checked here, and turned into the settings of each dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rules.document.mistakes import suggestion
from rules.expressions import renamed
from rules.models import Keep, KeyPart

if TYPE_CHECKING:
    from rules.kinds.duplicates.model import DuplicatesRule, MaximumDistance

DATASET = "dataset"
"""The name of a record's dataset in `keep`, `distinct` and `having`. A column of this name needs another one."""


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
    for mistake in _mistakes_of_several(rule) if rule.several else _mistakes_of_one(rule):
        raise ValueError(mistake)


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
        yield "a pair of `except` names one record twice; write two different records"
    for name, columns in rule.columns.items():
        if len(set(columns.values())) < len(columns):
            yield f"`columns` gives a column of `{name}` two names; remove one"
    for setting, column in _columns(rule):
        if column == DATASET:
            yield (
                f"`{setting}` cannot name `dataset`, which is a record's dataset in `keep`, `distinct` and `having`; "
                "name that column in `columns`, like {crm: {kind_of_dataset: dataset}}"
            )


def _named(rule: DuplicatesRule) -> Iterator[tuple[str, str]]:
    """Yield each dataset that a setting names besides `datasets`."""
    yield from (("columns", name) for name in rule.columns)
    if isinstance(rule.where, dict):
        yield from (("where", name) for name in rule.where)
    for pair in rule.except_:
        yield from (("except", record.dataset) for record in pair if not isinstance(record, tuple))
    for line in rule.keep if rule.several else ():
        yield from (("keep", name) for name in line.prefer if line.column == DATASET)


def _columns(rule: DuplicatesRule) -> Iterator[tuple[str, str]]:
    """Yield the columns of settings in which `dataset` would be a column."""
    yield from (("columns", column) for columns in rule.columns.values() for column in columns)
    yield from (("key", part.column) for part in rule.key if isinstance(part, KeyPart))
    if rule.span is not None:
        yield "gap" if rule.gap else "window", rule.span.column
    yield from (("keep", line.column) for line in rule.keep if line.column and line.how != "prefer")


def in_rule(given: Mapping[str, str], columns: Iterable[str]) -> Iterator[str]:
    """Yield the rule's names of a dataset's columns, without a column whose name the rule gives to another one."""
    renamed_to = {own: column for column, own in given.items()}
    return (renamed_to.get(column, column) for column in columns if column in renamed_to or column not in given)


def conditions(rule: DuplicatesRule) -> Mapping[str, str]:
    """Return the `where` of each dataset: one text in the rule's names of columns, or texts in the datasets' own."""
    if isinstance(rule.where, dict):
        return rule.where
    return {} if rule.where is None else dict.fromkeys(rule.datasets, rule.where)


def of_dataset(
    rule: DuplicatesRule, dataset: str, own: Callable[[str], str | None], key: Sequence[KeyPart]
) -> DuplicatesRule:
    """Return the rule of one of its datasets, in the names of that dataset's columns; `own` gives them.

    A column that it lacks stays in the key, where it is a mistake, and is left out of `keep` and `distinct`.
    """
    names = _Names(rule.columns.get(dataset, {}))
    where = conditions(rule).get(dataset)
    nulls = [part.column for part in key] if rule.key == "all" else rule.nulls
    span = None if rule.span is None else _span(rule.span, names)
    distinct = None if rule.distinct is None or rule.distinct == DATASET else own(rule.distinct)
    return rule.model_copy(
        update={
            "dataset": dataset,
            "several": (),
            "columns": {},
            "where": renamed(where, names.columns) if isinstance(rule.where, str) and where else where,
            "key": tuple(part.model_copy(update={"column": names[part.column]}) for part in key),
            "nulls": dict.fromkeys(map(names.__getitem__, nulls), "match"),
            "except_": (),
            "gap": span if rule.gap else None,
            "window": span if rule.window else None,
            "distinct": distinct,
            "having": None,
            "keep": tuple(_keep(rule.keep, own)),
        }
    )


class _Names:
    """A dataset's own names of the rule's columns."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        self.columns = columns

    def __getitem__(self, column: str) -> str:
        return self.columns.get(column, column)


def _span(span: MaximumDistance, names: _Names) -> MaximumDistance:
    return span.model_copy(update={"column": names[span.column]})


def _keep(lines: Iterable[Keep], own: Callable[[str], str | None]) -> Iterator[Keep]:
    for line in lines:
        if line.column is None:
            yield line
        elif line.column != DATASET and (column := own(line.column)) is not None:
            yield line.model_copy(update={"column": column})
