"""The schema editors use says the same as the loader: what runs is valid, what is misspelt is not."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconcile.config.scaffold import CONFIG
from reconcile.config.schema import json_schema
from tests.reconcile.config.mistakes import READ, RULE
from tests.support.config import CLEANING, install_plugin, loaded

TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)
}  # fmt: skip
SAID = {"$schema", "title", "description", "default", "examples", "format", "writeOnly"}  # tells people, allows all
CHECKED = {"type", "const", "enum", "pattern", "anyOf", "items", "properties", "required", "additionalProperties"}
BOUNDS = {
    "minimum": lambda value, bound: not is_a(value, "number") or value >= bound,
    "maximum": lambda value, bound: not is_a(value, "number") or value <= bound,
    "minLength": lambda value, bound: not is_a(value, "string") or len(value) >= bound,
    "maxLength": lambda value, bound: not is_a(value, "string") or len(value) <= bound,
    "minItems": lambda value, bound: not is_a(value, "array") or len(value) >= bound,
    "maxItems": lambda value, bound: not is_a(value, "array") or len(value) <= bound,
    "minProperties": lambda value, bound: not is_a(value, "object") or len(value) >= bound,
    "maxProperties": lambda value, bound: not is_a(value, "object") or len(value) <= bound,
}


def is_a(value: Any, name: str) -> bool:
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def wrong(value: Any, schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Where a value does not fit, by the keywords of JSON Schema that ours uses; fails on any other."""
    assert not schema.keys() - SAID - CHECKED - BOUNDS.keys()
    kinds = schema.get("type", [])
    if kinds and not any(is_a(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        yield f"{path} is not {kinds}"
        return
    if value not in schema.get("enum", [schema.get("const", value)]):
        yield f"{path} is not a choice"
    yield from (
        f"{path} is out of bounds" for key, fits in BOUNDS.items() if key in schema and not fits(value, schema[key])
    )
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{path} has another form"
    if "anyOf" in schema and all(any(wrong(value, entry, path)) for entry in schema["anyOf"]):
        yield f"{path} fits none"
    if isinstance(value, dict):
        yield from wrong_inside(value, schema, path)
    for index, item in enumerate(value if isinstance(value, list) else ()):
        yield from wrong(item, schema.get("items", {}), f"{path}[{index}]")


def wrong_inside(value: dict[str, Any], schema: dict[str, Any], path: str) -> Iterator[str]:
    yield from (f"{path} needs {key}" for key in schema.get("required", ()) if key not in value)
    more = schema.get("additionalProperties", True)
    for key, inner in value.items():
        stored = schema.get("properties", {}).get(key)
        if stored is None and more is False:
            yield f"{path} knows no {key}"
        elif stored is not None or isinstance(more, dict):
            yield from wrong(inner, stored if stored is not None else more, f"{path}.{key}")


VALID = {
    "what init writes": CONFIG,
    "the smallest": READ + RULE,
    "every setting of a rule": READ
    + """\
version: 1
timezone: Europe/Berlin
memory: 512MB
include: [rules/*.yaml]
rules:
  twice:
    kind: duplicates
    dataset: charges
    where: status = 'paid'
    key: [order_id, {amount: [abs, {round: 2}]}, {name: trim}]
    nulls: {order_id: match}
    except: [[1, 2], [a, b]]
    window: {charged_at: 15m}
    distinct: vendor
    having: records > 2
    minimum: 3
    keep: [most_complete, {first: charged_at}, {prefer: {status: [paid, open]}}]
    severity: critical
    owner: "@finance"
    runbook: https://wiki.example.com/x
    was: before
    engine: embedded
  ready: {use: preset/shared-iban, dataset: charges, columns: {vendor_id: vendor, iban: account}, severity: low}
  all-columns: {kind: duplicates, dataset: charges, key: all, gap: {position: 3}, keep: most_complete}
jobs:
  nightly: {rules: all, notify: pager, existing: report}
  hourly: {rules: [twice]}
""",
    "everything about cleaning": CLEANING,
    "a variable for a number": READ + RULE.replace("key:", "minimum: '${LEAST}', key:"),
    "sources and channels of another package": "sources: {v: {type: vault, url: 'v://h', retries: 2}}\n"
    "datasets: {charges: {source: v, table: 7, id: [a, b], columns: {x: date %d, y: {is: a + 1}}, timezone: UTC}}\n"
    "channels: {ops: {type: pager, token: '${secret:T}', show: [name]}}\n" + RULE,
}

INVALID = {
    "a preset that is none": READ + "rules: {x: {use: preset/shared-ibn, dataset: charges}}\n",
    "a misspelt section": READ + RULE + "chanels: {}\n",
    "a misspelt setting": READ + RULE.replace("key:", "keys:"),
    "a rule without a key": READ + RULE.replace(", key: [order_id]", ""),
    "a severity that is none": READ + RULE.replace("key:", "severity: hihg, key:"),
    "a minimum of one": READ + RULE.replace("key:", "minimum: 1, key:"),
    "a name inside a rule": READ + RULE.replace("key:", "name: x, key:"),
    "a source without type": READ.replace("type: files", "root: x") + RULE,
    "a dataset without source": READ.replace("source: shop, ", "") + RULE,
    "a misspelt setting of a dataset": READ.replace("path:", "pth:") + RULE,
    "a column of no type": READ.replace("id: id", "columns: {a: decmal}") + RULE,
    "a misspelt action": READ + RULE.replace("key:", "clean: {action: delte}, key:"),
    "an action without what it needs": READ + RULE.replace("key:", "clean: {action: move}, key:"),
    "a setting of another action": READ + RULE.replace("key:", "clean: {action: delete, to: x}, key:"),
    "an approval that is none": READ + RULE.replace("key:", "approval: {when: surplus > 3, els: none}, key:"),
    "a misspelt limit": READ + RULE.replace("key:", "limits: {recrods: 3}, key:"),
    "a time that is none": READ + RULE + "maintenance: [{source: shop, from: 25:00, to: '02:00'}]\n",
    "an anchor of no type": READ + RULE + "audit: {anchors: {log: {path: x}}}\n",
    "a misspelt setting of a schedule": READ + RULE + "jobs: {n: {rules: all, schedule: {corn: x}}}\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("title", VALID)
def test_a_valid_configuration_fits_the_schema(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(tmp_path, monkeypatch)

    assert list(wrong(yaml.safe_load(VALID[title]), json_schema())) == []


@pytest.mark.slow
@pytest.mark.parametrize("title", INVALID)
def test_a_wrong_configuration_does_not_fit(title: str) -> None:
    assert list(wrong(yaml.safe_load(INVALID[title]), json_schema()))


def test_what_the_schema_allows_is_what_the_loader_reads(tmp_path: Path) -> None:
    text = VALID["every setting of a rule"].replace("include: [rules/*.yaml]\n", "").replace("notify: pager, ", "")

    project = loaded(tmp_path, text.replace("gap: {position: 3}, ", "gap: {position: 3}, where: id > 0, "))

    assert list(project.rules) == ["twice", "ready", "all-columns"]


def test_every_setting_of_ours_says_what_it_is_for() -> None:
    top = json_schema()["properties"]
    rules = top["rules"]["additionalProperties"]["anyOf"]
    rule = {key: schema for kind in rules for key, schema in kind["properties"].items()}
    job = top["jobs"]["additionalProperties"]["properties"]

    told = {**top, **rule, **job}

    assert [key for key, schema in told.items() if key != "kind" and not schema.get("description")] == []
    assert top["state"]["default"] == "sqlite:///reconcile.db"
