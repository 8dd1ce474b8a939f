"""Read a YAML tree into a pydantic model; every mistake becomes our own sentence with its line.

Used for rules here and by `reconcile` for everything else in a configuration.
"""

from __future__ import annotations

import itertools
import json
import re
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, SecretBytes, SecretStr, ValidationError

from rules.document.mistakes import Mistake, Position, listed, nearest, short, suggestion
from rules.document.tree import Data, ListNode, MapNode, Node, PathEnd, ScalarNode, data, locate, walk

Model = TypeVar("Model", bound=BaseModel)

_NAME = re.compile(r"\w[\w.-]{0,63}")
_MOST = 100  # mistakes reported per mapping: each may take a walk through all of it
_WALKED = 2_000  # values searched for the position of one mistake
_FINDABLE = 4  # a secret shorter than this would blank out half the alphabet of a sentence
_GLUED = re.compile(r"([\w-]+):(\S.*)")
_BOUNDS = {"greater_than": "more than", "greater_than_equal": "at least", "less_than": "less than"}
_BOUNDS |= {"less_than_equal": "at most"}
_LIMITS = {"greater_than": "gt", "greater_than_equal": "ge", "less_than": "lt", "less_than_equal": "le"}


@dataclass(frozen=True)
class ModelReader(Generic[Model]):
    """Reads one mapping of a configuration into a model.

    `what` names it in sentences (rule `twin-contact`); `given` are fields that the author cannot set, `defaults`
    are values the author may replace; `also` are keys that belong here but are read elsewhere; `later` are keys of
    later versions; `hide` removes secrets from a sentence.
    """

    model: type[Model]
    what: str
    given: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Data] = field(default_factory=dict)
    also: Collection[str] = ()
    later: Collection[str] = ()
    hide: Callable[[str], str] = str

    def read(self, node: Node, key_at: Position) -> tuple[Model | None, list[Mistake]]:
        """Return the model (None if it is invalid) and every mistake, such as unknown keys beside a valid model."""
        if not isinstance(node, MapNode):
            return None, [Mistake.at(node.at, self.hide(f"{self.what} {_not_a_mapping(node)}"))]
        values, problems = self._own_values(node)
        try:
            model = self.model.model_validate(values | dict(self.given))
        except ValidationError as error:
            problems += self._problems(error, node, key_at)
            return None, problems
        return model, problems

    def _own_values(self, node: MapNode) -> tuple[dict[str, Data], list[Mistake]]:
        allowed = sorted({k for k in known_keys(self.model) if k not in self.given} | set(self.also))
        values: dict[str, Data] = dict(self.defaults)
        problems: list[Mistake] = []
        for key, entry in node.entries.items():
            if key not in allowed:
                sentence = not_yet(key) if key in self.later else unknown_key(key, allowed)
                problems.append(Mistake.at(entry.key_at, sentence))
            elif key not in self.also:
                values[key] = data(entry.node)
        return values, problems

    def _problems(self, failure: ValidationError, node: MapNode, key_at: Position) -> list[Mistake]:
        secrets = Secrets.of(self.model, node)
        errors = _without_consequences(failure.errors(include_url=False))
        located = ((error, locate(node, error["loc"], key_at)) for error in errors[:_MOST])
        problems = [self._problem(error, at, secrets) for error, at in located if not self._is_misspelt(error, at)]
        if len(errors) > _MOST:
            problems.append(Mistake.at(key_at, f"{self.what} has more than {_MOST} mistakes; correct these first"))
        return problems

    def _is_misspelt(self, error: Any, place: PathEnd) -> bool:
        """Return True if this error only follows from a misspelt name, which is reported already."""
        is_missing = error["type"] == "missing"
        model = _model_at(self.model, error["loc"][: -1 if is_missing else None])
        if model is None or not isinstance(place.node, MapNode) or error["type"] not in ("missing", "value_error"):
            return False
        allowed = {*known_keys(model), *(self.also if model is self.model else ())}
        meant = {
            nearest(key, allowed) for key in place.node.entries if key not in allowed and key not in self.later
        } - {None}
        return error["loc"][-1] in meant if is_missing else bool(meant)

    def _problem(self, error: Any, place: PathEnd, secrets: Secrets) -> Mistake:
        kind, loc = error["type"], error["loc"]
        if kind == "extra_forbidden":
            model = _model_at(self.model, loc[:-1])
            return Mistake.at(place.key_at, unknown_key(str(loc[-1]), known_keys(model) if model else ()))
        if kind == "missing":
            named = next((step for step in reversed(place.path) if isinstance(step, str)), None)
            inside = f" in `{named}`" if len(loc) > 1 and named else ""
            return Mistake.at(place.key_at, f"{self.what} needs `{loc[-1]}`{inside}; add it")
        name = next((str(step) for step in reversed(place.path) if isinstance(step, str)), None)
        sentence = self.hide(secrets.hide(_sentence(error, place.node, secrets)))
        subject = f"`{name}`" if name else self.what
        text = sentence if sentence.startswith(subject) else f"{subject}: {sentence}"
        return Mistake.at(_at_fault(_setting(place, sentence), sentence), text)


def _without_consequences(errors: Sequence[Any]) -> list[Any]:
    """Leave out that a list is too short where pydantic only dropped an item with a mistake of its own."""
    inside = {error["loc"][:depth] for error in errors for depth in range(len(error["loc"]))}
    return [error for error in errors if error["type"] != "too_short" or error["loc"] not in inside]


def name_problem(name: str, key_at: Position) -> Mistake | None:
    """Return the mistake in the name of a rule, a source, a job …"""
    if _NAME.fullmatch(name):
        return None
    sentence = f"`{short(name)}` is not a name; use letters, digits, `-`, `_` and `.`, at most 64, not `-` or `.` first"
    return Mistake.at(key_at, sentence)


def known_keys(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the keys a mapping for this model may have, as written in YAML."""
    return tuple(info.alias or name for name, info in model.model_fields.items())


def unknown_key(key: str, allowed: Collection[str]) -> str:
    return f"`{short(key)}` is not known here; {suggestion(key, allowed)}"


def not_yet(key: str) -> str:
    return f"`{key}` comes with a later version; remove it"


def _not_a_mapping(node: Node) -> str:
    glued = _GLUED.fullmatch(node.text or "") if isinstance(node, ScalarNode) and not node.sealed_as else None
    if glued:
        return f"has no space after a colon; write `{short(f'{glued[1]}: {glued[2]}')}`"
    return "is empty; give it its settings" if data(node) is None else "must be a mapping of settings, `name: value`"


def _sentence(error: Any, node: Node, secrets: Secrets) -> str:
    kind, context = error["type"], error.get("ctx", {})
    value = "the secret value" if secrets.holds(node) else _shown(node)
    if kind in ("value_error", "assertion_error"):
        return str(context["error"])
    if kind in ("literal_error", "enum"):
        return _choice(value, context["expected"])
    if kind.startswith("union_tag"):
        return _tag(node, context)
    if kind in _BOUNDS:
        return f"{value} must be {_BOUNDS[kind]} {context[_LIMITS[kind]]}"
    if kind in ("too_short", "string_too_short"):
        return f"needs at least {context['min_length']}{_signs(kind, context['min_length'])}; add what is missing"
    if kind in ("too_long", "string_too_long"):
        return f"takes at most {context['max_length']}{_signs(kind, context['max_length'])}; remove the rest"
    expected = next((expectation for words, expectation in _WANTED if any(kind.startswith(w) for w in words)), None)
    if expected is None:
        return f"{value} does not fit: {error['msg'][:1].lower()}{error['msg'][1:]}"
    return f"is empty; it must be {expected}" if data(node) is None else f"must be {expected}, not {value}"


def _signs(kind: str, number: int) -> str:
    return "" if not kind.startswith("string") else " character" if number == 1 else " characters"


_WANTED = (
    (("string",), "text"),
    (("int",), "a whole number"),
    (("bool",), "true or false"),
    (("float", "decimal", "finite"), "a number"),
    (("list", "tuple", "set", "frozen_set"), "a list like [a, b]"),
    (("dict", "mapping", "model"), "a mapping like {name: value}"),
)


def _setting(place: PathEnd, sentence: str) -> PathEnd:
    """Return the place of the setting that a sentence about a mapping begins with, like `columns`; else the mapping."""
    name = sentence.split("`")[1] if sentence.startswith("`") else ""
    is_setting = isinstance(place.node, MapNode) and name in place.node.entries
    return locate(place.node, (name,), place.key_at) if is_setting else place


def _at_fault(place: PathEnd, sentence: str) -> Position:
    """Return the position of the value that a sentence quotes first; else of the mapping's key, or of the value.

    What it quotes after that are names to write instead.
    """
    nodes = itertools.islice(walk(place.node), _WALKED) if "`" in sentence else ()
    scalars = (scalar for _, scalar in nodes if isinstance(scalar, ScalarNode) and scalar.text)
    quoted = [(sentence.index(f"`{scalar.text}`"), scalar.at) for scalar in scalars if f"`{scalar.text}`" in sentence]
    return min(quoted)[1] if quoted else (place.key_at if isinstance(place.node, MapNode) else place.node.at)


def _tag(node: Node, context: Mapping[str, Any]) -> str:
    """Return the sentence for a mapping whose kind is missing or unknown."""
    key = context["discriminator"].strip("'")
    allowed = re.findall(r"'([^']*)'", context.get("expected_tags", ""))
    if not allowed:
        return f"needs `{key}`; add it" if isinstance(node, MapNode) else "must be a mapping"
    return f"`{short(str(context['tag']))}` is not a {key}; {suggestion(str(context['tag']), allowed)}"


def _choice(value: str, expected: str) -> str:
    names = re.findall(r"'([^']*)'", expected) or [expected]
    closest = nearest(value.strip("`"), names)
    hint = f"did you mean `{closest}`?" if closest else f"write {listed(names, 'or')}"
    return f"{value} is not allowed here; {hint}"


def _shown(node: Node) -> str:
    if isinstance(node, ListNode):
        return "a list"
    if isinstance(node, MapNode):
        return "a mapping"
    return f"`{short(node.sealed_as or node.text or '')}`" if node.text is not None else "an empty value"


@dataclass(frozen=True)
class Secrets:
    """The secret texts of one mapping, to be removed from sentences about it."""

    texts: frozenset[str]

    @classmethod
    def of(cls, model: type[BaseModel], node: Node) -> Secrets:
        """Collect the texts that were sealed when read, and those where the model expects a secret."""
        scalars = [(path, scalar) for path, scalar in walk(node) if isinstance(scalar, ScalarNode) and scalar.text]
        secrets = (scalar.text for path, scalar in scalars if scalar.sealed_as or wants_secret(model, path))
        return cls(frozenset(text for text in secrets if text))

    def holds(self, node: Node) -> bool:
        return isinstance(node, ScalarNode) and node.text in self.texts

    def hide(self, sentence: str) -> str:
        """Remove every secret; a sentence with a secret too short to find is replaced as a whole."""
        return without(self.texts, sentence)


def without(secrets: Iterable[str], sentence: str) -> str:
    """Replace every secret with ***, also where it is written as a literal or inside an address."""
    for secret in sorted(secrets, key=len, reverse=True):
        written = {secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], quote(secret, safe="")}
        written = {*written, secret.strip(), " ".join(secret.split())} - {""}
        if len(secret) < _FINDABLE and any(w in sentence for w in written):
            return "this value is not accepted; it is secret, so no details are shown"
        for form in sorted(written, key=len, reverse=True):
            sentence = sentence.replace(form, "***")
    return sentence


def wants_secret(model: type[BaseModel], path: tuple[str | int, ...]) -> bool:
    """Return True if the model keeps the value at this path as a secret."""
    annotation: Any = model
    for step in path:
        inner = next(_models_in(annotation), None)
        if inner is None:
            break
        fields = [info for name, info in inner.model_fields.items() if step in (name, info.alias)]
        if not fields:
            return False
        annotation = fields[0].annotation
    return _mentions(annotation, (SecretStr, SecretBytes))


def _mentions(annotation: Any, types: tuple[type, ...]) -> bool:
    return annotation in types or any(_mentions(part, types) for part in typing.get_args(annotation))


def _model_at(model: type[BaseModel], path: tuple[str | int, ...]) -> type[BaseModel] | None:
    """Return the model at a path inside another model."""
    inner: type[BaseModel] | None = model
    for step in path:
        if inner is None:
            return None
        fields = [info for name, info in inner.model_fields.items() if step in (name, info.alias)]
        inner = next(_models_in(fields[0].annotation), None) if fields else inner
    return inner


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in typing.get_args(annotation):
        yield from _models_in(part)
