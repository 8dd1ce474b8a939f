"""From a tree to a pydantic model, with every mistake told in our words at its own line.

Used for rules here and by `reconcile` for everything else in a configuration.
"""

from __future__ import annotations

import itertools
import json
import re
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, SecretBytes, SecretStr, ValidationError

from rules.document.mistakes import Position, Problem, listed, nearest, short, suggestion
from rules.document.tree import Data, ListNode, MapNode, Node, Place, ScalarNode, data, locate, walk

Model = TypeVar("Model", bound=BaseModel)

_NAME = re.compile(r"\w[\w.-]{0,63}")
_MOST = 100  # mistakes of one mapping that are told: each may take a walk through all of it
_WALKED = 2_000  # values that are looked at for the place of one mistake
_FINDABLE = 4  # a secret shorter than this would blank out half the alphabet of a sentence
_GLUED = re.compile(r"([\w-]+):(\S.*)")
_BOUNDS = {"greater_than": "more than", "greater_than_equal": "at least", "less_than": "less than"}
_BOUNDS |= {"less_than_equal": "at most"}
_LIMITS = {"greater_than": "gt", "greater_than_equal": "ge", "less_than": "lt", "less_than_equal": "le"}


@dataclass(frozen=True)
class Reader(Generic[Model]):
    """How one mapping of a configuration becomes a model.

    `what` names it in sentences (rule `twin-contact`); `given` are fields that are not the author's to set, `defaults`
    are values the author may replace; `also` are keys that belong here but are read elsewhere; `later` are keys of
    versions to come; `hide` takes secrets out of a sentence.
    """

    model: type[Model]
    what: str
    given: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Data] = field(default_factory=dict)
    also: Collection[str] = ()
    later: Collection[str] = ()
    hide: Callable[[str], str] = str

    def read(self, node: Node, key_at: Position) -> tuple[Model | None, list[Problem]]:
        """The model, None where it cannot be made, and every mistake, such as unknown keys beside a whole model."""
        if not isinstance(node, MapNode):
            return None, [Problem.at(node.at, self.hide(f"{self.what} {_not_a_mapping(node)}"))]
        values, problems = self._own_values(node)
        try:
            model = self.model.model_validate(values | dict(self.given))
        except ValidationError as wrong:
            problems += self._problems(wrong, node, key_at)
            return None, problems
        return model, problems

    def _own_values(self, node: MapNode) -> tuple[dict[str, Data], list[Problem]]:
        known = sorted({k for k in known_keys(self.model) if k not in self.given} | set(self.also))
        values: dict[str, Data] = dict(self.defaults)
        problems: list[Problem] = []
        for key, entry in node.entries.items():
            if key not in known:
                sentence = not_yet(key) if key in self.later else unknown_key(key, known)
                problems.append(Problem.at(entry.key_at, sentence))
            elif key not in self.also:
                values[key] = data(entry.node)
        return values, problems

    def _problems(self, wrong: ValidationError, node: MapNode, key_at: Position) -> list[Problem]:
        secrets = Secrets.of(self.model, node)
        errors = wrong.errors(include_url=False)
        found = ((error, locate(node, error["loc"], key_at)) for error in errors[:_MOST])
        problems = [self._problem(error, at, secrets) for error, at in found if not self._is_misspelt(error, at)]
        if len(errors) > _MOST:
            problems.append(Problem.at(key_at, f"{self.what} has more than {_MOST} mistakes; correct these first"))
        return problems

    def _is_misspelt(self, error: Any, place: Place) -> bool:
        """Whether something is missing, or does not fit, only because a name is misspelt, which is told already."""
        missing = error["type"] == "missing"
        model = _model_at(self.model, error["loc"][: -1 if missing else None])
        if model is None or not isinstance(place.node, MapNode) or error["type"] not in ("missing", "value_error"):
            return False
        known = {*known_keys(model), *(self.also if model is self.model else ())}
        meant = {nearest(key, known) for key in place.node.entries if key not in known and key not in self.later} - {
            None
        }
        return error["loc"][-1] in meant if missing else bool(meant)

    def _problem(self, error: Any, place: Place, secrets: Secrets) -> Problem:
        kind, loc = error["type"], error["loc"]
        if kind == "extra_forbidden":
            model = _model_at(self.model, loc[:-1])
            return Problem.at(place.key_at, unknown_key(str(loc[-1]), known_keys(model) if model else ()))
        if kind == "missing":
            named = next((step for step in reversed(place.path) if isinstance(step, str)), None)
            inside = f" in `{named}`" if len(loc) > 1 and named else ""
            return Problem.at(place.key_at, f"{self.what} needs `{loc[-1]}`{inside}; add it")
        name = next((str(step) for step in reversed(place.path) if isinstance(step, str)), None)
        said = self.hide(secrets.hide(_sentence(error, place.node, secrets)))
        subject = f"`{name}`" if name else self.what
        return Problem.at(_at_fault(place, said), said if said.startswith(subject) else f"{subject}: {said}")


def name_problem(name: str, key_at: Position) -> Problem | None:
    """What is wrong with the name that an author gave to a rule, a source, a job …"""
    if _NAME.fullmatch(name):
        return None
    sentence = f"`{short(name)}` is not a name; use letters, digits, `-`, `_` and `.`, at most 64, not `-` or `.` first"
    return Problem.at(key_at, sentence)


def known_keys(model: type[BaseModel]) -> tuple[str, ...]:
    """The keys a mapping for this model may have, as people write them."""
    return tuple(info.alias or name for name, info in model.model_fields.items())


def unknown_key(key: str, known: Collection[str]) -> str:
    return f"`{short(key)}` is not known here; {suggestion(key, known, otherwise='known are')}"


def not_yet(key: str) -> str:
    return f"`{key}` comes with a later version; remove it"


def _not_a_mapping(node: Node) -> str:
    glued = _GLUED.fullmatch(node.text or "") if isinstance(node, ScalarNode) and not node.sealed_as else None
    if glued:
        return f"has no blank after a colon; write `{short(f'{glued[1]}: {glued[2]}')}`"
    return "is empty; give it its settings" if data(node) is None else "must be a mapping of settings, `name: value`"


def _sentence(error: Any, node: Node, secrets: Secrets) -> str:
    kind, context = error["type"], error.get("ctx", {})
    value = "the secret given" if secrets.holds(node) else _shown(node)
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
    wanted = next((said for words, said in _WANTED if any(kind.startswith(w) for w in words)), None)
    if wanted is None:
        return f"{value} does not fit: {error['msg'][:1].lower()}{error['msg'][1:]}"
    return f"is empty; it must be {wanted}" if data(node) is None else f"must be {wanted}, not {value}"


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


def _at_fault(place: Place, said: str) -> Position:
    """The place of the value that a sentence quotes; else a mapping's own key, or where the value stands."""
    nodes = itertools.islice(walk(place.node), _WALKED) if "`" in said else ()
    inside = (one for _, one in nodes if isinstance(one, ScalarNode) and one.text)
    quoted = next((one.at for one in inside if f"`{one.text}`" in said), None)
    return quoted or (place.key_at if isinstance(place.node, MapNode) else place.node.at)


def _tag(node: Node, context: Mapping[str, Any]) -> str:
    """A mapping whose kind tells what else may stand in it."""
    key = context["discriminator"].strip("'")
    known = re.findall(r"'([^']*)'", context.get("expected_tags", ""))
    if not known:
        return f"needs `{key}`, which says what it is; add it" if isinstance(node, MapNode) else "must be a mapping"
    return f"`{short(str(context['tag']))}` is not a {key}; {suggestion(str(context['tag']), known)}"


def _choice(value: str, expected: str) -> str:
    names = re.findall(r"'([^']*)'", expected) or [expected]
    near = nearest(value.strip("`"), names)
    choices = f"write {listed(names)}".replace(" and ", " or ")
    return (
        f"{value} is not a choice here; did you mean `{near}`?" if near else f"{value} is not a choice here; {choices}"
    )


def _shown(node: Node) -> str:
    if isinstance(node, ListNode):
        return "a list"
    if isinstance(node, MapNode):
        return "a mapping"
    return f"`{short(node.sealed_as or node.text or '')}`" if node.text is not None else "an empty value"


@dataclass(frozen=True)
class Secrets:
    """The secret texts of one mapping, to be taken out of what is said about it."""

    texts: frozenset[str]

    @classmethod
    def of(cls, model: type[BaseModel], node: Node) -> Secrets:
        """What was sealed on the way in, and what stands where the model wants a secret."""
        scalars = [(path, one) for path, one in walk(node) if isinstance(one, ScalarNode) and one.text]
        secret = (one.text for path, one in scalars if one.sealed_as or wants_secret(model, path))
        return cls(frozenset(text for text in secret if text))

    def holds(self, node: Node) -> bool:
        return isinstance(node, ScalarNode) and node.text in self.texts

    def hide(self, sentence: str) -> str:
        """The sentence without any secret; a sentence about a secret too short to be found is not said at all."""
        return without(self.texts, sentence)


def without(secrets: Iterable[str], sentence: str) -> str:
    """A sentence with every secret, also written as a literal or inside an address, replaced by ***."""
    for secret in sorted(secrets, key=len, reverse=True):
        written = {secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], quote(secret, safe="")}
        written = {*written, secret.strip(), " ".join(secret.split())} - {""}
        if len(secret) < _FINDABLE and any(w in sentence for w in written):
            return "this is not accepted here; a value is secret, so no more is said"
        for form in sorted(written, key=len, reverse=True):
            sentence = sentence.replace(form, "***")
    return sentence


def wants_secret(model: type[BaseModel], path: tuple[str | int, ...]) -> bool:
    """Whether the model keeps what stands at this path as a secret."""
    annotation: Any = model
    for step in path:
        inner = next(_models_in(annotation), None)
        if inner is None:
            break
        found = [info for name, info in inner.model_fields.items() if step in (name, info.alias)]
        if not found:
            return False
        annotation = found[0].annotation
    return _mentions(annotation, (SecretStr, SecretBytes))


def _mentions(annotation: Any, wanted: tuple[type, ...]) -> bool:
    return annotation in wanted or any(_mentions(part, wanted) for part in typing.get_args(annotation))


def _model_at(model: type[BaseModel], path: tuple[str | int, ...]) -> type[BaseModel] | None:
    """The model that a path inside another leads to."""
    here: type[BaseModel] | None = model
    for step in path:
        if here is None:
            return None
        found = [info for name, info in here.model_fields.items() if step in (name, info.alias)]
        here = next(_models_in(found[0].annotation), None) if found else here
    return here


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in typing.get_args(annotation):
        yield from _models_in(part)
