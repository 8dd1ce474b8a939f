"""Detect checks that cannot find anything, from the settings of the rule and its dataset alone. Pure; reads no data."""

from __future__ import annotations

from collections.abc import Iterator

from rules.binding.rule import DatasetFacts, SettingPath
from rules.document.mistakes import RuleError
from rules.expressions import parse
from rules.expressions.possible import narrowed
from rules.kinds.check.model import CheckRule
from rules.normalise import emptying_step


def reasons(rule: CheckRule, dataset: DatasetFacts) -> Iterator[tuple[SettingPath, str]]:
    """Yield why the rule cannot find anything: the path of a setting, and a sentence about it."""
    for path, part in rule.key_parts():
        if (step := emptying_step(part.steps)) is not None:
            yield (*path, part.column), f"`{step.name}` empties every text; remove a normaliser"
    try:
        conditions = [parse(text).root for text in (dataset.where,) if text is not None]
        conditions += [] if rule.condition is None else [rule.condition.expression.root]
    except RuleError:
        return  # reported where expressions are read
    if conditions and narrowed(conditions, {}) is None:
        both = " together with the dataset's `where`" if rule.where is not None and dataset.where is not None else ""
        path = ("where",) if rule.where is not None else ("dataset",)
        condition = "the dataset's `where`" if rule.where is None else "this condition"
        yield path, f"no record can meet {condition}{both}; correct it"
