"""What documentation is held to: the settings of the schema, and the blocks of a Markdown page."""

import ast
import gc
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from connectors import KINDS as CONNECTORS
from notifications import KINDS as CHANNELS
from reconcile.config.schema import json_schema
from rules.kinds import KINDS
from tests.support.folders import ROOT

TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
PAGES = tuple(sorted([*(ROOT / name for name in TOP), *ROOT.glob("docs/*.md")]))
_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block: the words after the fence, the text, and where it begins."""

    page: Path
    line: int
    info: str
    body: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path, language: str) -> Iterator[Block]:
    """The blocks of a page in one language."""
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        info = match["info"].strip()
        if info.split(" ")[0] == language:
            yield Block(page, text.count("\n", 0, match.start()) + 1, info, match["body"])


def all_blocks(language: str) -> list[Block]:
    return [block for page in PAGES for block in blocks(page, language)]


def rows(page: Path, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    below = page.read_text(encoding="utf-8").split(f"\n{heading}\n", 1)[1]
    lines = below[below.index("\n| ") :].strip().splitlines()
    table = []
    for line in lines:
        if not line.startswith("|"):
            break
        table.append([cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return table[2:]


Setting = tuple[str, str, str, str]
"""Place, name, allowed words, default."""
_LISTED = re.compile(r"^- (?P<settings>`\w+`(?: \([^()]*\))?(?:, (?:or )?`\w+`(?: \([^()]*\))?)*): .+$")


def documented_settings() -> Iterator[Setting]:
    """Every setting that configuration.md lists below the heading of its place, or of several places."""
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    section = page.split("\n## Every setting\n", 1)[1].split("\n## ", 1)[0]
    for group in section.split("\n### ")[1:]:
        heading, _, listed = group.partition("\n")
        for line in listed.strip().splitlines():
            match = _LISTED.match(line)
            assert match, f"configuration.md lists settings as `name` (words; default), …: meaning, not {line!r}"
            for name, written in re.findall(r"`(\w+)`(?: \(([^()]*)\))?(?:, |$)", match["settings"]):
                words, _, default = written.rpartition("; ")
                if not words and " or " in default:
                    words, default = default, ""
                for place in _places(heading):
                    yield place, name, words, default.strip("`")


def _places(heading: str) -> list[str]:
    """`sources: delta, iceberg` lists what both types have."""
    section, _, types = heading.partition(": ")
    return ["top"] if heading == "Top level" else [": ".join(filter(None, (section, t))) for t in types.split(", ")]


def settings() -> set[Setting]:
    """Every setting a configuration of the built-in kinds can have."""
    schema = json_schema()["properties"]
    sections = ("sources", "datasets", "rules", "jobs", "channels")
    result = {_setting("top", name, output) for name, output in schema.items() if name not in sections}
    by_section = {name: _alternatives(schema[name]["additionalProperties"]) for name in sections}
    result |= _of("sources", dict(zip(CONNECTORS, by_section["sources"], strict=False)))
    result |= _of("datasets", dict(zip(CONNECTORS, by_section["datasets"], strict=False)))
    result |= _of("channels", dict(zip(CHANNELS, by_section["channels"], strict=False)))
    result |= _of("rules", dict(zip(KINDS, by_section["rules"], strict=False)))
    result |= _of("rules", {"preset": next(rule for rule in by_section["rules"] if rule.get("title") == "preset")})
    actions = _alternatives(by_section["rules"][0]["properties"]["clean"])
    result |= _of("clean", {action["properties"]["action"]["const"]: action for action in actions})
    return result | _of("jobs", {"": by_section["jobs"][0]})


def _alternatives(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [schema] if "properties" in schema else list(schema.get("anyOf", [schema]))


def _of(section: str, kinds: Mapping[str, Mapping[str, Any]]) -> set[Setting]:
    """Settings that every kind of the section has are listed once, the others under their kind."""
    every = [set(_said(schema)) for schema in kinds.values()]
    common = set.intersection(*every) if len(every) > 1 else set()
    listed: set[Setting] = set()
    for kind, schema in kinds.items():
        for name, setting in schema["properties"].items():
            shared = name in {name for name, _ in common} or not kind
            required = name in schema.get("required", ()) and name != "type"
            listed.add(_setting(section if shared else f"{section}: {kind}", name, setting, required=required))
    return listed


def _said(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, output in schema["properties"].items():
        yield name, json.dumps({k: v for k, v in output.items() if k not in ("const", "description")}, sort_keys=True)


def _setting(place: str, name: str, schema: Mapping[str, Any], *, required: bool = False) -> Setting:
    return (
        place,
        name,
        _words(schema),
        "required" if required or name in ("type", "kind", "action") else _default(name, schema),
    )


def _words(schema: Mapping[str, Any]) -> str:
    """The words that may be written there, if only they may."""
    return either([f"`{word}`" for word in schema["enum"]]) if "enum" in schema else ""


def either(words: Sequence[str]) -> str:
    """The words as an English list: `a, b or c`."""
    return " or ".join([*([", ".join(words[:-1])] if words[1:] else []), words[-1]])


def _default(name: str, schema: Mapping[str, Any]) -> str:
    if "default" not in schema:
        return ""
    value = schema["default"]
    if name == "severity":
        return "medium"
    if value in ([], ""):
        return ""
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value


if __name__ == "__main__":
    for one in sorted(settings()):
        print("| " + " | ".join(cell.replace("|", "\\|") for cell in one) + " |")


# The cookbook as one configuration: its datasets and the rules of all recipes.

COOKBOOK = ROOT / "docs" / "cookbook.md"


def recipes() -> list[Block]:
    return [block for block in blocks(COOKBOOK, "yaml") if block.info == "yaml recipe"]


def configuration(*recipe: Block) -> str:
    """The datasets of the cookbook with the rules of these recipes."""
    [head] = [block.body for block in blocks(COOKBOOK, "yaml") if block.info == "yaml cookbook"]
    lines = (line for block in recipe for line in block.body.splitlines())
    return f"{head}rules:\n" + "".join(f"  {line}\n" for line in lines)


# Python code as a tree, for tests that look at how something is written.


def tree_of(source: str) -> ast.Module:
    """The tree of this code.

    No garbage is collected meanwhile: what another test left unclosed warns as it is collected, the warning's traceback
    parses code in its turn, and Python 3.11 then takes the outer parse for broken ("AST constructor recursion depth
    mismatch", CPython issue 106905).
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        if collecting:
            gc.enable()
