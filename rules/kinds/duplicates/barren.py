"""Rules that cannot find anything, as far as the rule and its dataset's settings tell: nothing is read. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal

from rules.document.mistakes import listed
from rules.errors import RuleError
from rules.expressions import parse, parse_group
from rules.expressions.possible import Range, Ranges, narrowed
from rules.kinds.base import DatasetFacts, SettingPath
from rules.kinds.duplicates.model import DuplicatesRule
from rules.normalise import emptying_step
from rules.values import PLACE


def reasons(rule: DuplicatesRule, dataset: DatasetFacts) -> Iterator[tuple[SettingPath, str]]:
    """Why the rule cannot find anything: the path of the setting, and a sentence about it. Empty where it may."""
    yield from _emptied(rule)
    try:
        written = [parse(text).root for text in (dataset.where, rule.where) if text is not None]
    except RuleError:
        return  # told where expressions are read
    known = narrowed(written, {})
    if known is None:
        path = ("where",) if rule.where is not None else ("dataset",)
        of = "the dataset's `where`" if rule.where is None else "this condition"
        both = " together with the dataset's `where`" if rule.where is not None and dataset.where is not None else ""
        yield path, f"no record can meet {of}{both}; correct it"
        return
    is_fixed = _fixed(rule, dataset, known)
    yield from _unequal(dataset, is_fixed)
    yield from _empty(rule, known)
    if rule.distinct is not None and is_fixed(rule.distinct):
        yield ("distinct",), f"`{rule.distinct}` has one value at most in every group; remove it or name another column"
    if rule.having is not None:
        with suppress(RuleError):
            yield from _having(rule, rule.having, is_fixed)


def _emptied(rule: DuplicatesRule) -> Iterator[tuple[SettingPath, str]]:
    for number, part in enumerate(rule.key if rule.key != "all" else ()):
        if (step := emptying_step(part.steps)) is not None:
            yield ("key", number, part.column), f"nothing is left of any text after `{step.name}`; remove a normaliser"


def _fixed(rule: DuplicatesRule, dataset: DatasetFacts, known: Ranges) -> Callable[[str], bool]:
    """Whether a column has one value at most in every group."""
    plain = {part.column for part in rule.key if not part.steps} if rule.key != "all" else set()
    aside = {*dataset.id, *PLACE}

    def is_fixed(name: str, within: frozenset[str] = frozenset()) -> bool:
        if name in plain or known.get(name, Range()).is_fixed:
            return True
        if name in dataset.derived and name not in within:
            with suppress(RuleError):
                return all(is_fixed(one, within | {name}) for one in parse(dataset.derived[name]).columns)
        return rule.key == "all" and name not in aside and name not in dataset.derived

    return is_fixed


def _unequal(dataset: DatasetFacts, is_fixed: Callable[[str], bool]) -> Iterator[tuple[SettingPath, str]]:
    names: Sequence[tuple[Sequence[str], str]] = ((dataset.id, "the whole id"), (PLACE, "file and row"))
    for columns, what in names:
        if columns and all(map(is_fixed, columns)):
            sentence = f"it holds {what} ({listed(columns)}), so no two records are equal; leave a column out"
            yield ("key",), sentence


def _empty(rule: DuplicatesRule, known: Ranges) -> Iterator[tuple[SettingPath, str]]:
    required = [part.column for part in rule.key if part.column not in rule.nulls] if rule.key != "all" else []
    for column in dict.fromkeys([*required, *([rule.span.column] if rule.span else [])]):
        if known.get(column, Range()).is_null:
            yield ("where",), f"it lets only empty values of `{column}` through, and records without one take no part"


def _having(rule: DuplicatesRule, having: str, is_fixed: Callable[[str], bool]) -> Iterator[tuple[SettingPath, str]]:
    expression = parse_group(having)
    whole = Range(is_null=False, is_whole=True)
    known = {"records": whole.compared(">=", Decimal(rule.minimum))}
    for column in expression.columns:
        count = whole.compared(">=", Decimal(0))
        known[f"count_distinct({column})"] = count.compared("<=", Decimal(1)) if is_fixed(column) else count
    if narrowed([expression.root], known) is None:
        beside = f" beside `minimum: {rule.minimum}`" if rule.minimum != 2 else ""
        yield ("having",), f"no group can meet this condition{beside}; correct it"
