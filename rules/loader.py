"""From the `rules:` of a configuration to rule models, with every mistake at its line."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name

from rules.document import Entry, MapNode, Node, ScalarNode
from rules.kinds import KINDS
from rules.mistakes import Problem, short, suggestion
from rules.models import Rule
from rules.reading import Reader, name_problem

LATER_KINDS = ("similar", "reconciliation", "sql")
LATER_KEYS = ("clean", "approval", "limits", "examples", "use")


def load_rules(section: Node, kinds: Mapping[str, str] = KINDS) -> tuple[dict[str, Rule], list[Problem]]:
    """The rules of a `rules:` mapping by name, and every mistake in them; a wrong rule is left out.

    `kinds` maps each kind to its model, `module:class`.
    """
    if not isinstance(section, MapNode):
        return {}, [Problem.at(section.at, "rules must be a mapping: the name of each rule, then its settings")]
    rules: dict[str, Rule] = {}
    problems: list[Problem] = []
    for name, entry in section.entries.items():
        rule, wrong = load_rule(name, entry, kinds)
        problems += wrong
        if rule is not None:
            rules[name] = rule
    return rules, problems


def load_rule(name: str, entry: Entry, kinds: Mapping[str, str] = KINDS) -> tuple[Rule | None, list[Problem]]:
    """One rule, or None with its mistakes."""
    badly_named = name_problem(name, entry.key_at)
    problems = [badly_named] if badly_named else []
    what = f"rule `{short(name)}`"
    if not isinstance(entry.node, MapNode):
        _, wrong = Reader(Rule, what).read(entry.node, entry.key_at)
        return None, problems + wrong
    model, wrong_kind = _kind(entry, what, kinds)
    if model is None:
        return None, [*problems, *wrong_kind]
    reader = Reader(model, what, given={"name": name}, later=LATER_KEYS)
    rule, wrong = reader.read(entry.node, entry.key_at)
    return (None if problems else rule), problems + wrong


def _kind(entry: Entry, what: str, kinds: Mapping[str, str]) -> tuple[type[Rule] | None, list[Problem]]:
    assert isinstance(entry.node, MapNode)  # noqa: S101 - the caller looked
    given = entry.node.entries.get("kind")
    if given is None:
        return None, [Problem.at(entry.key_at, f"{what} needs `kind`; add `kind: {next(iter(kinds))}`")]
    name = given.node.text if isinstance(given.node, ScalarNode) else None
    if name is None:
        return None, [Problem.at(given.node.at, f"`kind`: must be a name; known are {', '.join(sorted(kinds))}")]
    if name in kinds:
        model: type[Rule] = resolve_name(kinds[name])
        return model, []
    if name in LATER_KINDS:
        sentence = f"kind `{name}` comes with a later version; this one knows {', '.join(sorted(kinds))}"
    else:
        sentence = f"`{short(name)}` is not a kind of rule; {suggestion(name, kinds)}"
    return None, [Problem.at(given.node.at, sentence)]
