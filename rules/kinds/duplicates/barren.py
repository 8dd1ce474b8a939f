"""Detect rules that cannot find anything, from the settings of the rule and its dataset alone. Pure; reads no data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal

from rules.binding.rule import DatasetFacts, SettingPath
from rules.document.mistakes import RuleError, listed
from rules.expressions import parse, parse_group
from rules.expressions.possible import Range, Ranges, narrowed
from rules.groups.keys import AnyKey, keys_of
from rules.kinds.duplicates import datasets
from rules.kinds.duplicates.model import DuplicatesRule
from rules.models import KeyPart
from rules.normalise import emptying_step
from rules.values import PLACE


def reasons(
    rule: DuplicatesRule, dataset: DatasetFacts, *, among_several: bool = False
) -> Iterator[tuple[SettingPath, str]]:
    """Yield why the rule cannot find anything: the path of a setting, and a sentence about it.

    `among_several`: the rule compares the dataset's records also with those of others.
    """
    if not among_several:
        yield from _emptied(rule)
    where = rule.where if isinstance(rule.where, str) else None
    try:
        conditions = [parse(text).root for text in (dataset.where, where) if text is not None]
    except RuleError:
        return  # reported where expressions are read
    ranges = narrowed(conditions, {})
    if ranges is None:
        path = ("where",) if rule.where is not None else ("dataset",)
        condition = "the dataset's `where`" if rule.where is None else "this condition"
        both = " together with the dataset's `where`" if rule.where is not None and dataset.where is not None else ""
        yield path, f"no record can meet {condition}{both}; correct it"
        return
    yield from _empty(rule, ranges)
    if among_several:
        return  # what is equal in this dataset may differ in others
    is_fixed = _fixed_test(rule, dataset, ranges, rule.keys)
    yield from _unequal(rule, dataset, ranges)
    yield from _without_difference(rule, is_fixed)
    if rule.having is not None:
        with suppress(RuleError):
            yield from _having(rule, rule.having, is_fixed)


def reasons_of_several(rule: DuplicatesRule, facts: Mapping[str, DatasetFacts]) -> Iterator[tuple[SettingPath, str]]:
    """Yield why the rule cannot find anything, or nothing in one of its datasets."""
    yield from _emptied(rule)
    for dataset in rule.several:
        of_one = datasets.of_dataset(rule, dataset, rule.columns.get(dataset, {}).get)
        for path, sentence in reasons(of_one, facts[dataset], among_several=True):
            inside = (dataset,) if path == ("where",) and isinstance(rule.where, dict) else ()
            yield (*path, *inside), f"in dataset `{dataset}`, {sentence}"
    is_fixed = _fixed_test(rule, DatasetFacts(), {}, rule.keys)
    if rule.key != "all":
        yield from _without_difference(rule, is_fixed)


def _without_difference(rule: DuplicatesRule, is_fixed: Callable[[str], bool]) -> Iterator[tuple[SettingPath, str]]:
    ordered_by = rule.consecutive.by if rule.consecutive else None
    for setting, column in (("distinct", rule.distinct), ("repeats", rule.repeats), ("consecutive", ordered_by)):
        if column is not None and is_fixed(column):
            yield (setting,), f"`{column}` has at most one value in every group; remove it or name another column"


def _emptied(rule: DuplicatesRule) -> Iterator[tuple[SettingPath, str]]:
    for path, part in rule.key_parts():
        if (step := emptying_step(part.steps)) is not None:
            yield (*path, part.column), f"`{step.name}` empties every text; remove a normaliser"


def _fixed_test(
    rule: DuplicatesRule, dataset: DatasetFacts, ranges: Ranges, keys: Sequence[Sequence[KeyPart]]
) -> Callable[[str], bool]:
    """Return a function that is True for a column with at most one value in every group joined by any of the keys."""
    columns = [{part.column for part in parts if not part.steps} for parts in keys]
    plain = set.intersection(*columns) if columns else set()
    excluded = {*dataset.id, *PLACE}

    def is_fixed(name: str, within: frozenset[str] = frozenset()) -> bool:
        if name in plain or ranges.get(name, Range()).is_fixed:
            return True
        if name in dataset.derived and name not in within:
            with suppress(RuleError):
                return all(is_fixed(column, within | {name}) for column in parse(dataset.derived[name]).columns)
        return rule.key == "all" and name not in excluded and name not in dataset.derived

    return is_fixed


def _unequal(rule: DuplicatesRule, dataset: DatasetFacts, ranges: Ranges) -> Iterator[tuple[SettingPath, str]]:
    place = [name for name in PLACE if name != "_sheet" or name in dataset.columns]
    names: Sequence[tuple[Sequence[str], str]] = ((dataset.id, "the whole id"), (place, "file and row"))
    for path, keys in _each_key(rule):
        is_fixed = _fixed_test(rule, dataset, ranges, keys)
        for columns, subject in names:
            if columns and all(map(is_fixed, columns)):
                yield path, f"it holds {subject} ({listed(columns)}), so no two records are equal; remove a column"


def _empty(rule: DuplicatesRule, ranges: Ranges) -> Iterator[tuple[SettingPath, str]]:
    joins = isinstance(rule.key, AnyKey)
    for path, keys in _each_key(rule):
        required = [part.column for parts in keys for part in parts if part.column not in rule.nulls]
        for column in dict.fromkeys([*required, *([rule.span.column] if rule.span else []), rule.repeats or ""]):
            if ranges.get(column, Range()).is_null and joins:
                yield (
                    path,
                    f"`where` lets through only empty values of `{column}`, so this key joins nothing; remove it",
                )
            elif ranges.get(column, Range()).is_null:
                yield ("where",), f"it lets through only empty values of `{column}`, and such records are skipped"


def _each_key(rule: DuplicatesRule) -> list[tuple[SettingPath, tuple[tuple[KeyPart, ...], ...]]]:
    """Return the path of each key and the key, alone in a tuple; no key for `all`."""
    return [(path, (parts,)) for path, parts in keys_of(rule.key)] or [(("key",), ())]


def _having(rule: DuplicatesRule, having: str, is_fixed: Callable[[str], bool]) -> Iterator[tuple[SettingPath, str]]:
    expression = parse_group(having)
    whole_number = Range(is_null=False, is_whole=True)
    ranges = {"records": whole_number.compared(">=", Decimal(rule.minimum))}
    for column in expression.columns:
        count = whole_number.compared(">=", Decimal(0))
        ranges[f"count_distinct({column})"] = count.compared("<=", Decimal(1)) if is_fixed(column) else count
    if narrowed([expression.root], ranges) is None:
        minimum = f" together with `minimum: {rule.minimum}`" if rule.minimum != 2 else ""
        yield ("having",), f"no group can meet this condition{minimum}; correct it"
