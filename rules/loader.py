"""From the `rules:` of a configuration to rule models, with every mistake at its line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pkgutil import resolve_name

from rules.cleaning import Clean, parse_when
from rules.document.mistakes import Problem, listed, nearest, short, suggestion
from rules.document.reading import Reader, name_problem
from rules.document.tree import Entry, MapNode, Node, ScalarNode, locate
from rules.errors import RuleError
from rules.expressions import ExpressionError, parse, parse_group
from rules.kinds import KINDS
from rules.kinds.base import Rule
from rules.models import Step
from rules.normalise import NORMALISERS, register

NO_MORE: Mapping[str, str] = {}
_EXPRESSIONS: Mapping[str, Callable[[str], object]] = {"where": parse, "having": parse_group}
LATER_KINDS = ("similar", "reconciliation", "sql")
LATER_KEYS = ("examples", "use")
LATER_ACTIONS = ("call", "refund")


def load_rules(
    section: Node,
    kinds: Mapping[str, str] = KINDS,
    normalisers: Mapping[str, str] = NO_MORE,
    actions: Mapping[str, str] = NO_MORE,
) -> tuple[dict[str, Rule], list[Problem]]:
    """The rules of a `rules:` mapping by name, and every mistake in them; a wrong rule is left out.

    `kinds` maps each kind to the class whose `Settings` is a Rule, `normalisers` those of other packages to theirs,
    and `actions` those of `clean:` to the class whose `Settings` is a Clean; all `module:object`.
    """
    if not isinstance(section, MapNode):
        return {}, [Problem.at(section.at, "rules must be a mapping: the name of each rule, then its settings")]
    rules: dict[str, Rule] = {}
    problems: list[Problem] = []
    for name, entry in section.entries.items():
        rule, wrong = load_rule(name, entry, kinds, normalisers, actions)
        problems += wrong
        if rule is not None:
            rules[name] = rule
    return rules, problems


def load_rule(
    name: str,
    entry: Entry,
    kinds: Mapping[str, str] = KINDS,
    normalisers: Mapping[str, str] = NO_MORE,
    actions: Mapping[str, str] = NO_MORE,
) -> tuple[Rule | None, list[Problem]]:
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
    clean, wrong_clean = _clean(entry.node, what, actions)
    reader = Reader(model, what, given={"name": name, "clean": clean}, also=("clean",), later=LATER_KEYS)
    rule, wrong = reader.read(entry.node, entry.key_at)
    problems += wrong
    problems += wrong_clean
    problems += expression_problems(entry.node, _EXPRESSIONS)
    problems += _approval_problems(entry.node)
    if rule is not None:
        problems += _chain_problems(rule, entry.node, normalisers)
        problems += _cleaning_problems(rule, entry.node)
    return (None if problems else rule), problems


def expression_problems(node: MapNode, settings: Mapping[str, Callable[[str], object]]) -> Iterator[Problem]:
    """What is wrong with the expressions in some settings of a mapping, each told at its character."""
    for key, parsed in settings.items():
        entry = node.entries.get(key)
        if entry is None or not isinstance(entry.node, ScalarNode) or entry.node.text is None:
            continue
        try:
            parsed(entry.node.text)
        except RuleError as wrong:
            at = entry.node.position(wrong.at) if isinstance(wrong, ExpressionError) else entry.node.at
            yield Problem.at(at, f"`{key}`: {str(wrong).rstrip('.')}")


def _kind(entry: Entry, what: str, kinds: Mapping[str, str]) -> tuple[type[Rule] | None, list[Problem]]:
    assert isinstance(entry.node, MapNode)  # noqa: S101 - the caller looked
    given = entry.node.entries.get("kind")
    if given is None:
        meant = nearest("kind", set(entry.node.entries) - set(Rule.model_fields))
        if meant is not None:
            place = entry.node.entries[meant].key_at
            return None, [Problem.at(place, f"`{meant}` is not known here; did you mean `kind`?")]
        return None, [Problem.at(entry.key_at, f"{what} needs `kind`; add `kind: {next(iter(kinds))}`")]
    name = given.node.text if isinstance(given.node, ScalarNode) else None
    if name is None:
        return None, [Problem.at(given.node.at, f"`kind`: must be a name; known are {', '.join(sorted(kinds))}")]
    if name in kinds:
        model: type[Rule] = resolve_name(kinds[name]).Settings
        return model, []
    if name in LATER_KINDS:
        sentence = f"kind `{name}` comes with a later version; this one knows {', '.join(sorted(kinds))}"
    else:
        sentence = f"`{short(name)}` is not a kind of rule; {suggestion(name, kinds)}"
    return None, [Problem.at(given.node.at, sentence)]


def _clean(rule: MapNode, what: str, actions: Mapping[str, str]) -> tuple[Clean | None, list[Problem]]:
    """What `clean:` says, as the model of its action; None, with the mistakes, where it cannot be made."""
    entry = rule.entries.get("clean")
    if entry is None:
        return None, []
    of_rule = f"`clean` of {what}"
    if not isinstance(entry.node, MapNode):
        return Reader(Clean, of_rule).read(entry.node, entry.key_at)
    model, wrong = _action(entry, of_rule, actions)
    return (None, wrong) if model is None else Reader(model, of_rule).read(entry.node, entry.key_at)


def _action(entry: Entry, what: str, actions: Mapping[str, str]) -> tuple[type[Clean] | None, list[Problem]]:
    assert isinstance(entry.node, MapNode)  # noqa: S101 - the caller looked
    given = entry.node.entries.get("action")
    if given is None:
        meant = nearest("action", set(entry.node.entries) - set(Clean.model_fields))
        if meant is not None:
            place = entry.node.entries[meant].key_at
            return None, [Problem.at(place, f"`{meant}` is not known here; did you mean `action`?")]
        return None, [Problem.at(entry.key_at, f"{what} needs `action`; it is one of {listed(actions)}")]
    name = given.node.text if isinstance(given.node, ScalarNode) else None
    if name is not None and name in actions:
        model: type[Clean] = resolve_name(actions[name]).Settings
        return model, []
    if name in LATER_ACTIONS:
        sentence = f"action `{name}` comes with a later version; this one knows {listed(sorted(actions))}"
    else:
        sentence = f"`{short(name or '')}` is not an action; {suggestion(name or '', actions)}"
    return None, [Problem.at(given.node.at, sentence)]


def _approval_problems(rule: MapNode) -> Iterator[Problem]:
    approval = rule.entries.get("approval")
    if approval is not None and isinstance(approval.node, MapNode):
        yield from expression_problems(approval.node, {"when": parse_when})


def _cleaning_problems(rule: Rule, node: MapNode) -> Iterator[Problem]:
    """What does not go together with cleaning, as far as the rule alone tells."""
    if rule.clean is None:
        return
    if rule.approval.may_ask_nobody and not rule.clean.can_undo:
        said = f"what `{rule.clean.action}` does cannot be undone, so somebody has to be asked; write `required`"
        yield Problem.at(locate(node, ("approval",)).node.at, f"`approval`: {said}")
    for setting, sentence in rule.not_cleanable():
        yield Problem.at(locate(node, (setting,)).node.at, f"`{setting}`: {sentence}")


def _chain_problems(rule: Rule, node: Node, normalisers: Mapping[str, str]) -> Iterator[Problem]:
    """What is wrong with the normalisers of a rule, whatever its kind."""
    for path, part in rule.key_parts():
        for index, step in enumerate(part.steps):
            said = _step_mistake(step, normalisers)
            if said:
                place = locate(node, (*path, part.column, index, step.name))
                yield Problem.at(place.key_at if place.path[-1:] == (step.name,) else place.node.at, said)


def _step_mistake(step: Step, normalisers: Mapping[str, str]) -> str | None:
    if step.name not in NORMALISERS and step.name in normalisers:
        register(resolve_name(normalisers[step.name]))
    if step.name not in NORMALISERS:
        return f"there is no normaliser `{short(step.name)}`; {suggestion(step.name, {*NORMALISERS, *normalisers})}"
    try:
        NORMALISERS[step.name].check(step.argument)
    except RuleError as wrong:
        return str(wrong)
    except ValueError as wrong:
        return f"`{step.name}` {wrong}"
    return None
