"""The presets of this version, each read from its file."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rules.document.tree import Data, MapNode, data, parse

PREFIX = "preset/"
_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Preset:
    """A ready-made rule. Where it names a column of a dataset it writes `$name`, a name of `columns`; in expressions
    in double quotes, because the name of a column may have blanks.

    `columns` says what each column holds, `rule` is the tree of the rule without its datasets, and `text` the rule
    as YAML with the names of its columns, ready to paste.
    """

    name: str
    description: str
    columns: Mapping[str, str]
    rule: MapNode
    text: str


@functools.cache
def names() -> tuple[str, ...]:
    """Return the names of all presets, sorted."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml")))


@functools.cache
def preset(name: str) -> Preset:
    """Return the preset of that name, one of `names`."""
    text = (_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    root = parse(text, PREFIX + name).root
    settings = data(root)
    assert isinstance(root, MapNode)  # noqa: S101 - our own files, which a test reads
    assert isinstance(settings, dict)  # noqa: S101 - see above
    rule = root.entries["rule"].node
    assert isinstance(rule, MapNode)  # noqa: S101 - see above
    columns, datasets = _texts(settings["columns"]), _texts(settings["datasets"])
    description = str(settings["description"])
    return Preset(name, description, columns, rule, _pasted(name, description, columns, datasets, text))


def _texts(value: Data) -> dict[str, str]:
    return {key: str(text) for key, text in value.items()} if isinstance(value, dict) else {}


def _pasted(name: str, description: str, columns: Mapping[str, str], datasets: Mapping[str, str], text: str) -> str:
    """Return the rule as a part of a configuration, under a comment on what it needs."""
    body = text[text.index("\nrule:\n") + len("\nrule:\n") :].replace("$", "")
    rule, _, examples = body.partition("examples:\n")
    mapping = ", ".join(f"{column}: …" for column in columns)
    lines = [
        f"# {description}",
        f"# To follow this preset through updates: use: {PREFIX}{name}, with columns: {{{mapping}}}",
        "# Columns:",
        *(f"#   {column}: {meaning}" for column, meaning in columns.items()),
        "rules:",
        f"  {name}:",
        *(f"    {setting}: {dataset}" for setting, dataset in datasets.items()),
        *(f"  {line}" for line in rule.splitlines()),
        "    examples:",
        *(f"    {line}" for line in examples.splitlines()),
    ]
    return "".join(f"{line}\n" for line in lines)
