"""Load the `rules:` of a configuration as rule models, and report every mistake at its line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pkgutil import resolve_name

from rules.binding.rule import Rule
from rules.cleaning import Clean, parse_when
from rules.document.mistakes import Mistake, Position, RuleError, listed, nearest, short, suggestion
from rules.document.reading import ModelReader, name_problem
from rules.document.tree import Entry, ListNode, MapNode, Node, PathEnd, ScalarNode, locate
from rules.examples.example import Example
from rules.examples.reading import ExampleWords, read_examples
from rules.expressions import ExpressionError
from rules.kinds import KINDS
from rules.models import Step
from rules.models.lookups import Lookup
from rules.normalise import NORMALISERS, register
from rules.normalise.hints import normaliser_advice

NO_MORE: Mapping[str, str] = {}
LATER_ACTIONS = ("call", "refund")


def load_rule(
    name: str,
    entry: Entry,
    kinds: Mapping[str, str] = KINDS,
    normalisers: Mapping[str, str] = NO_MORE,
    actions: Mapping[str, str] = NO_MORE,
) -> tuple[Rule | None, list[Mistake]]:
    """Return a rule, or None with its mistakes."""
    name_mistake = name_problem(name, entry.key_at)
    problems = [name_mistake] if name_mistake else []
    subject = f"rule `{short(name)}`"
    if not isinstance(entry.node, MapNode):
        _, mistakes = ModelReader(Rule, subject).read(entry.node, entry.key_at)
        return None, problems + mistakes
    model, kind_mistakes = _kind(entry, subject, kinds)
    if model is None:
        return None, [*problems, *kind_mistakes]
    clean, clean_mistakes = _clean(entry.node, subject, actions)
    reader = ModelReader(model, subject, given={"name": name, "clean": clean}, also=("clean", "examples"))
    rule, mistakes = reader.read(entry.node, entry.key_at)
    problems += mistakes
    problems += clean_mistakes
    problems += expression_problems(entry.node, model.expressions)
    problems += _approval_problems(entry.node)
    if rule is not None:
        problems += _chain_problems(rule, entry.node, normalisers)
        problems += _cleaning_problems(rule, entry.node)
    examples, example_mistakes = _examples(entry.node, model, rule)
    problems += example_mistakes
    if problems or rule is None:
        return None, problems
    return rule.model_copy(update={"examples": examples}) if examples else rule, []


def _examples(node: MapNode, model: type[Rule], rule: Rule | None) -> tuple[tuple[Example, ...], list[Mistake]]:
    entry = node.entries.get("examples")
    if entry is None:
        return (), []
    keys = model.dataset_keys()
    named = {key: node.entries[key].node for key in keys if key in node.entries and len(keys) > 1}
    sides = {key: value.text for key, value in named.items() if isinstance(value, ScalarNode) and value.text}
    compared, read = (rule.member_datasets, rule.datasets) if rule else (None, ())
    is_known = rule is None or rule.question is None  # otherwise its query says what it reads
    others = [name for name in read if name not in (compared or ())] if is_known else None
    forms = rule.possible_forms if rule else ()
    return read_examples(entry, ExampleWords(sides, compared, model.roles, others, forms))


def expression_problems(node: MapNode, settings: Mapping[str, Callable[[str], object]]) -> Iterator[Mistake]:
    """Yield the mistakes in the expressions of these settings, each at its character.

    A setting is an expression or a mapping of them; `a.b` is the setting b inside a.
    """
    for setting, parse_setting in settings.items():
        for scalar in _scalars(node, setting.split(".")):
            try:
                parse_setting(scalar.text or "")
            except RuleError as error:
                at = scalar.position(error.at) if isinstance(error, ExpressionError) else scalar.at
                yield Mistake.at(at, f"`{setting}`: {str(error).rstrip('.')}")


def _scalars(node: Node, path: Sequence[str]) -> Iterator[ScalarNode]:
    """Yield the text at that path, or the texts of the mapping there."""
    for step in path:
        entry = node.entries.get(step) if isinstance(node, MapNode) else None
        if entry is None:
            return
        node = entry.node
    for inner in [entry.node for entry in node.entries.values()] if isinstance(node, MapNode) else [node]:
        if isinstance(inner, ScalarNode) and inner.text is not None:
            yield inner


def file_settings(node: Node, kinds: Mapping[str, str] = KINDS) -> tuple[str, ...]:
    """Return the settings of a rule's kind that may name a file with their content; none for an unknown kind."""
    kind = node.entries.get("kind") if isinstance(node, MapNode) else None
    name = kind.node.text if kind is not None and isinstance(kind.node, ScalarNode) else None
    if name is None or name not in kinds:
        return ()
    settings: type[Rule] = resolve_name(kinds[name]).Settings
    return settings.file_settings


def _kind(entry: Entry, subject: str, kinds: Mapping[str, str]) -> tuple[type[Rule] | None, list[Mistake]]:
    assert isinstance(entry.node, MapNode)  # noqa: S101 - the caller looked
    setting = entry.node.entries.get("kind")
    if setting is None:
        misspelt = nearest("kind", set(entry.node.entries) - set(Rule.model_fields))
        if misspelt is not None:
            place = entry.node.entries[misspelt].key_at
            return None, [Mistake.at(place, f"`{misspelt}` is not known here; did you mean `kind`?")]
        return None, [Mistake.at(entry.key_at, f"{subject} needs `kind`; add `kind: {next(iter(kinds))}`")]
    name = setting.node.text if isinstance(setting.node, ScalarNode) else None
    if name is None:
        return None, [Mistake.at(setting.node.at, f"`kind`: must be a name; known are {', '.join(sorted(kinds))}")]
    if name in kinds:
        model: type[Rule] = resolve_name(kinds[name]).Settings
        return model, []
    return None, [Mistake.at(setting.node.at, f"`{short(name)}` is not a kind of rule; {suggestion(name, kinds)}")]


def _clean(rule: MapNode, subject: str, actions: Mapping[str, str]) -> tuple[Clean | None, list[Mistake]]:
    """Read `clean:` as the model of its action; None with the mistakes if it is invalid."""
    entry = rule.entries.get("clean")
    if entry is None:
        return None, []
    clean_of = f"`clean` of {subject}"
    if not isinstance(entry.node, MapNode):
        return ModelReader(Clean, clean_of).read(entry.node, entry.key_at)
    model, mistakes = _action(entry, clean_of, actions)
    return (None, mistakes) if model is None else ModelReader(model, clean_of).read(entry.node, entry.key_at)


def _action(entry: Entry, subject: str, actions: Mapping[str, str]) -> tuple[type[Clean] | None, list[Mistake]]:
    assert isinstance(entry.node, MapNode)  # noqa: S101 - the caller looked
    setting = entry.node.entries.get("action")
    if setting is None:
        misspelt = nearest("action", set(entry.node.entries) - set(Clean.model_fields))
        if misspelt is not None:
            place = entry.node.entries[misspelt].key_at
            return None, [Mistake.at(place, f"`{misspelt}` is not known here; did you mean `action`?")]
        return None, [Mistake.at(entry.key_at, f"{subject} needs `action`; write one of {listed(actions)}")]
    name = setting.node.text if isinstance(setting.node, ScalarNode) else None
    if name is not None and name in actions:
        model: type[Clean] = resolve_name(actions[name]).Settings
        return model, []
    if name in LATER_ACTIONS:
        sentence = f"action `{name}` comes with a later version; this version has {listed(sorted(actions))}"
    else:
        sentence = f"`{short(name or '')}` is not an action; {suggestion(name or '', actions)}"
    return None, [Mistake.at(setting.node.at, sentence)]


def _approval_problems(rule: MapNode) -> Iterator[Mistake]:
    approval = rule.entries.get("approval")
    if approval is not None and isinstance(approval.node, MapNode):
        yield from expression_problems(approval.node, {"when": parse_when})


def _cleaning_problems(rule: Rule, node: MapNode) -> Iterator[Mistake]:
    """Yield the settings of the rule that cannot be combined with `clean`."""
    if rule.clean is None:
        return
    if rule.approval.may_ask_nobody and not rule.clean.can_undo:
        sentence = f"action `{rule.clean.action}` cannot be undone, so it needs approval; write `required`"
        yield Mistake.at(locate(node, ("approval",)).node.at, f"`approval`: {sentence}")
    for path, sentence in rule.not_cleanable():
        setting = next(key for key in reversed(path) if isinstance(key, str))
        yield Mistake.at(locate(node, path).node.at, f"`{setting}`: {sentence}")


def _chain_problems(rule: Rule, node: Node, normalisers: Mapping[str, str]) -> Iterator[Mistake]:
    """Yield the mistakes in the normalisers of a rule of any kind."""
    for step, place in _steps(rule, node):
        mistake = _step_mistake(step, normalisers)
        if mistake:
            yield Mistake.at(place.key_at if place.path[-1:] == (step.name,) else place.node.at, mistake)
    for lookup, at in lookup_places(rule, node):
        if lookup.dataset in rule.member_datasets:
            sentence = (
                f"`map` looks values up in `{short(lookup.dataset)}`, which the rule compares; give the mapping a "
                "dataset of its own"
            )
            yield Mistake.at(at, sentence)


def _steps(rule: Rule, node: Node) -> Iterator[tuple[Step, PathEnd]]:
    """Yield each normaliser of a rule with its place."""
    for path, part in rule.key_parts():
        for index, step in enumerate(part.steps):
            # In a list, the column comes before its normalisers: {left: [reference, trim]}.
            is_listed = isinstance(locate(node, path).node, ListNode)
            yield step, locate(node, (*path, *((index + 1,) if is_listed else (part.column, index)), step.name))


def lookup_places(rule: Rule, node: Node) -> Iterator[tuple[Lookup, Position]]:
    """Yield each lookup of `map` with the position of the name of its dataset."""
    for step, place in _steps(rule, node):
        if isinstance(step.argument, Lookup):
            yield step.argument, locate(place.node, ("dataset",)).node.at


def _step_mistake(step: Step, normalisers: Mapping[str, str]) -> str | None:
    if step.name not in NORMALISERS and step.name in normalisers:
        register(resolve_name(normalisers[step.name]))
    if step.name not in NORMALISERS:
        advice = normaliser_advice(step.name, {*NORMALISERS, *normalisers})
        return f"there is no normaliser `{short(step.name)}`; {advice}"
    try:
        NORMALISERS[step.name].check(step.argument)
    except RuleError as error:
        return str(error)
    except ValueError as error:
        return f"`{step.name}` {error}"
    return None
