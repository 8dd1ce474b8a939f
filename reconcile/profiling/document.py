"""Write a suggestion as YAML to paste, with comments that say why. It holds no value of a record."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from notifications.wording.words import plural
from reconcile.documents import JsonObject
from reconcile.profiling.suggestion import Setting, SuggestedDataset, SuggestedLikeness, SuggestedRule, Suggestion
from reconcile.profiling.trials import Found, KeyChoice, TooCommon
from rules.kinds import BY_KEY, BY_LIKENESS

_PLAIN = re.compile(r"[A-Za-z_/](?:[\w./@+()=<>'*%-]| (?=[\w(<>=+*/%'-]))*", re.ASCII)
_OTHER_MEANING = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


def text_of(suggestion: Suggestion) -> str:
    """Return the YAML."""
    return "".join(f"{line}\n" for line in _lines(suggestion))


def to_json(suggestion: Suggestion) -> JsonObject:
    """Return the public JSON."""
    return {
        "yaml": text_of(suggestion),
        "datasets": [_json(dataset) for dataset in suggestion.datasets],
        "skipped": [{"dataset": name, "reason": reason} for name, reason in suggestion.skipped],
    }


def _json(dataset: SuggestedDataset) -> JsonObject:
    return {
        "dataset": dataset.name,
        "records": dataset.records,
        "settings": {setting.name: setting.value for setting in dataset.settings if not setting.is_open},
        "columns": {setting.name: setting.value for setting in dataset.types if not setting.is_open},
        "open": [setting.name for setting in (*dataset.settings, *dataset.types) if setting.is_open],
        "rules": [
            {
                "rule": rule.name,
                "key": rule.choice.candidate.setting,
                "groups": rule.choice.found.groups,
                "records": rule.choice.found.records,
                "groups_as_written": rule.choice.as_written.groups,
            }
            for rule in dataset.rules
        ]
        + ([] if dataset.alike is None else [_alike_json(dataset.alike)]),
        "remarks": list(dataset.remarks),
    }


def _alike_json(rule: SuggestedLikeness) -> JsonObject:
    return {
        "rule": rule.name,
        "compare": dict(rule.likeness.compare),
        "groups": rule.likeness.found.groups,
        "records": rule.likeness.found.records,
        "compared": rule.likeness.records,
    }


def _lines(suggestion: Suggestion) -> Iterator[str]:
    yield f"# Suggested for {_name(suggestion.origin)}. Review it, then run `reconcile check`."
    for name, reason in suggestion.skipped:
        yield f"# Skipped {_name(name)}: {_comment(reason)}"
    if (source := suggestion.source) is not None:
        yield from ("version: 1", "sources:", f"  {_flow(source.name)}: {_flow(source.settings)}")
    if suggestion.datasets:
        yield "datasets:"
    for dataset in suggestion.datasets:
        yield from _dataset(dataset)
    if any(dataset.has_rules for dataset in suggestion.datasets):
        yield "rules:"
    elif source is not None:
        yield "# Write a rule: no likely key was found, and a configuration needs one."
    for dataset in suggestion.datasets:
        yield from _rules(dataset)
    for dataset in suggestion.datasets:
        yield from _other_keys(dataset)


def _rules(dataset: SuggestedDataset) -> Iterator[str]:
    for rule in dataset.rules:
        yield from _rule(dataset, rule)
    if dataset.alike is not None:
        yield from _alike(dataset, dataset.alike)


def _dataset(dataset: SuggestedDataset) -> Iterator[str]:
    yield f"  {_flow(dataset.name)}:"
    yield from (f"    # {_comment(remark)}" for remark in dataset.remarks)
    for setting in dataset.settings:
        yield _line(setting, 4)
    certain = [setting for setting in dataset.types if not setting.is_open]
    if certain:
        yield "    columns:"
    yield from (_line(setting, 6) for setting in certain)
    for setting in dataset.types:
        if setting.is_open:
            yield f"    # columns: {{{_flow(setting.name)}: {_comment(str(setting.value))}}}  # {setting.why}"


def _line(setting: Setting, indent: int) -> str:
    mark = "# " if setting.is_open else ""
    value = setting.value if setting.is_open and setting.value == "[]" else _flow(setting.value)
    why = f"  # {_comment(setting.why)}" if setting.why else ""
    return f"{' ' * indent}{mark}{_flow(setting.name)}: {value}{why}"


def _rule(dataset: SuggestedDataset, rule: SuggestedRule) -> Iterator[str]:
    yield f"  {_flow(rule.name)}:  # {_found(rule.choice, dataset.records)}"
    yield f"    kind: {BY_KEY}"
    yield f"    dataset: {_flow(dataset.name)}"
    yield f"    key: {_flow(rule.choice.candidate.setting)}"


def _alike(dataset: SuggestedDataset, rule: SuggestedLikeness) -> Iterator[str]:
    likeness = rule.likeness
    where = "the first " if likeness.records < dataset.records else ""
    yield f"  {_flow(rule.name)}:  # written differently: {_groups(likeness.found, likeness.records, where)}"
    yield f"    kind: {BY_LIKENESS}"
    yield f"    dataset: {_flow(dataset.name)}"
    yield f"    compare: {_flow(dict(likeness.compare))}"


def _groups(found: Found, records: int, where: str = "") -> str:
    groups = plural(found.groups, "group", "groups")
    return f"{groups} with {found.records:,} of {where}{plural(records, 'record', 'records')}"


def _found(choice: KeyChoice, records: int) -> str:
    if not choice.found.groups:
        return f"no duplicates now in {plural(records, 'record', 'records')}"
    summary = _groups(choice.found, records)
    if choice.found == choice.as_written:
        return summary
    return f"{summary}; with the values as written only {plural(choice.as_written.groups, 'group', 'groups')}"


def _other_keys(dataset: SuggestedDataset) -> Iterator[str]:
    if not any(rule.choice.found.groups for rule in dataset.rules) and dataset.records:
        records = plural(dataset.records, "record", "records")
        yield f"# {_name(dataset.name)}: no likely key finds a duplicate in {records}."
    for entry in dataset.common:
        share = f"{100 * entry.surplus / dataset.records:.0f} % of the records"
        yield f"# {_name(dataset.name)}: no rule for {_key(entry)}, which {share} share with an earlier record."


def _key(entry: TooCommon) -> str:
    names = [column.name for column in entry.candidate.columns]
    return " and ".join(map(_name, names)) if names else "all columns"


def _flow(value: Any) -> str:
    """Return a value in one line of YAML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_flow, value))}]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    if isinstance(value, int):
        return text
    return (
        text if _PLAIN.fullmatch(text) and text.lower() not in _OTHER_MEANING else json.dumps(text, ensure_ascii=False)
    )


def _name(name: str) -> str:
    """Return a name for a comment, on one line."""
    return f"`{_comment(name)}`"


def _comment(text: str) -> str:
    return " ".join(text.split())
