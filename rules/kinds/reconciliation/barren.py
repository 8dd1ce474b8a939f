"""Detect rules whose records can never match, from the settings of the rule and its datasets alone. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rules.binding.rule import DatasetFacts, SettingPath
from rules.document.mistakes import RuleError, listed
from rules.expressions import parse
from rules.expressions.possible import Range, narrowed
from rules.kinds.reconciliation.model import ReconciliationRule
from rules.kinds.reconciliation.pairs import SIDES
from rules.normalise import emptying_step


def reasons(rule: ReconciliationRule, datasets: Mapping[str, DatasetFacts]) -> Iterator[tuple[SettingPath, str]]:
    """Yield why no records can match: the path of a setting, and a sentence about it."""
    for path, part in rule.key_parts():
        if path[0] != "compare" and (step := emptying_step(part.steps)) is not None:
            yield (*path, part.column), f"`{step.name}` empties every text; remove a normaliser"
    for side, dataset in zip(SIDES, (rule.dataset, rule.right), strict=True):
        columns = {part.column for part in rule.group.of(side) if not part.steps} if rule.group else set()
        if datasets[dataset].id and columns >= set(datasets[dataset].id):
            yield ("group", side), "it names the whole `id`, so each record is alone; name the column of a document"
    texts = [getattr(rule.where, side) if rule.where else None for side in SIDES]
    if rule.dataset == rule.right and texts[0] == texts[1]:
        yield ("right",), "a dataset always agrees with itself; name another one, or give each side its own `where`"
    for side, dataset, text in zip(SIDES, (rule.dataset, rule.right), texts, strict=True):
        yield from _conditions(rule, side, datasets[dataset].where, text)
    if not set(rule.report) & set(rule.possible_forms):
        yield ("report",), f"this rule finds only {listed(rule.possible_forms)}; name one of these"


def _conditions(
    rule: ReconciliationRule, side: str, of_dataset: str | None, of_rule: str | None
) -> Iterator[tuple[SettingPath, str]]:
    try:
        conditions = [parse(text).root for text in (of_dataset, of_rule) if text is not None]
    except RuleError:
        return  # reported where expressions are read
    ranges = narrowed(conditions, {})
    path: SettingPath = ("where", side) if of_rule is not None else ("dataset",)
    if ranges is None:
        both = " together with the dataset's `where`" if of_rule is not None and of_dataset is not None else ""
        yield path, f"no record of `{side}` can meet the condition{both}; correct it"
        return
    keys = [rule.totals.by] if rule.totals else rule.keys
    for column in dict.fromkeys(pair.side(side).column for key in keys for pair in key):
        in_every_key = all(any(pair.side(side).column == column for pair in key) for key in keys)
        if in_every_key and ranges.get(column, Range()).is_null:
            yield path, f"it lets through only empty values of `{column}`, and such records match nothing"
