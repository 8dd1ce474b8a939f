"""Chains of normalisers: their type, their value, and their SQL with the weakest exactness of its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rules.document.mistakes import RuleError
from rules.models import Step
from rules.models.lookups import Lookup, LookupTable
from rules.normalise.hints import normaliser_advice
from rules.normalise.normaliser import NORMALISERS, Exactness, Normaliser, weakest
from rules.values import Type, Value, filled

if TYPE_CHECKING:
    import sqlalchemy as sa


def _normaliser(step: Step) -> Normaliser:
    if step.name not in NORMALISERS:
        raise RuleError(f"There is no normaliser `{step.name}`; {normaliser_advice(step.name, NORMALISERS)}")
    return NORMALISERS[step.name]


_NAMES = ("name", "nickname", "company", "address")
_CHANGES_ORDER = {"lower", "upper", "casefold", "nfkc", "unaccent", "translit", "strip_zeros", "docno"}
"""Steps that can change the order of words, or make two of them equal."""
_SORTED: Mapping[str, set[str]] = {
    "words": _CHANGES_ORDER,
    **{name: {"translit", "strip_zeros"} for name in _NAMES},
}
"""Steps that sort words, each with the steps that may not follow it."""


def chain_type(column_type: Type, steps: Sequence[Step]) -> Type:
    """Return the type after all steps; raises RuleError naming the step and the type it does not take."""
    kind = column_type
    for number, step in enumerate(steps):
        normaliser = _normaliser(step)
        if first := next((s.name for s in steps[:number] if step.name in _SORTED.get(s.name, ())), None):
            raise RuleError(
                f"`{step.name}` changes words that `{first}` has already sorted; write it before `{first}`."
            )
        try:
            normaliser.check(step.argument)
        except ValueError as error:
            raise RuleError(f"`{step.name}` {error}.") from error
        types = normaliser.takes(step.argument)
        if kind not in types:
            raise RuleError(_refusal(step, types, kind))
        kind = types[kind]
    return kind


def _refusal(step: Step, types: Iterable[Type], kind: Type) -> str:
    """Return why a step does not take values of that type."""
    takes, argument = " or ".join(t.value for t in types), step.argument
    if isinstance(argument, LookupTable):
        return (
            f"`{argument.lookup.source}` of dataset `{argument.lookup.dataset}` is of type {argument.source.value}, "
            f"but the value is of type {kind.value}; declare the same type under `columns:`."
        )
    if isinstance(argument, Lookup):
        return f"`{step.name}` needs the records of dataset `{argument.dataset}`."
    return f"`{step.name}` takes {takes}, but the value is of type {kind.value}."


def chain_function(steps: Sequence[Step], timezone: str = "UTC") -> Callable[[Value], Value]:
    """Return the chain as one function, for steps that `chain_type` accepted. No step sees an empty value."""
    applied = [(_normaliser(step).python, step.argument) for step in steps]

    def apply(value: Value) -> Value:
        value = filled(value)
        for python, argument in applied:
            if value is None:
                return None
            value = filled(python(value, argument, timezone))
        return value

    return apply


def normalise(value: Value, steps: Sequence[Step], timezone: str = "UTC") -> Value:
    """Return the value after all steps; None when it is empty, becomes empty or cannot be parsed."""
    return chain_function(steps, timezone)(value)


_STRIPS = {"trim", "squeeze", "alnum", "digits", "letters", "docno", "words", *_NAMES}
_STAYS_STRIPPED = {*_STRIPS, "lower", "upper", "casefold", "unaccent", "strip_zeros", "prefix", "suffix", "translit"}


def never_blank(steps: Sequence[Step]) -> bool:
    """Return True if no text after these steps can be white space only; False where that is unknown."""
    names = [step.name for step in steps]
    begin = next((n for n, name in enumerate(names) if name in _STRIPS), len(names))
    return begin < len(names) and all(name in _STAYS_STRIPPED for name in names[begin:])


def never_empty(steps: Sequence[Step]) -> bool:
    """Return True if the value after these steps is never an empty text or white space; False where that is unknown."""
    return bool(steps) and steps[-1].name in ("email", "mailbox", "phone")


_LEAVES = {
    "digits": "1",
    "letters": "a",
    "alnum": "a1",
    "docno": "a1",
    "words": "a1",
    "phone": "1",
    **dict.fromkeys(_NAMES, "a1"),
}
_READS = {**_LEAVES, "email": "@", "mailbox": "@"}


def emptying_step(steps: Sequence[Step]) -> Step | None:
    """Return the first step that empties every text, because earlier steps removed its input; None if unknown.

    We track digits (1), letters (a) and the @ of an address.
    """
    characters = "a1@"
    for step in steps:
        if step.name in _READS and not set(characters) & set(_READS[step.name]):
            return step
        if step.name in _LEAVES:
            characters = "".join(kind for kind in _LEAVES[step.name] if kind in characters)
        elif step.name not in _STAYS_STRIPPED | {"squeeze"}:
            characters = "a1@"
    return None


def chain_sql(
    column: sa.ColumnElement[Any], column_type: Type, steps: Sequence[Step], dialect: str, timezone: str = "UTC"
) -> tuple[sa.ColumnElement[Any], Exactness] | None:
    """Return the chain in SQL and its exactness: for every value, or while the column's text is ASCII.

    None when some step has no exact form in that dialect. Without steps it is the column itself.
    The resulting text may be white space, which the caller treats as null.
    """
    element, kind, ascii_so_far = column, column_type, True
    exactness: Exactness = "always"
    for step in steps:
        normaliser = _normaliser(step)
        claim = normaliser.exact_on(dialect, step.argument, kind, timezone)
        if normaliser.sql is None or claim == "never" or (claim == "ascii" and not ascii_so_far):
            return None
        if normaliser.fills:
            from rules.functions import filled as sql_filled  # noqa: PLC0415 - brings SQLAlchemy

            element = sql_filled(element)
        element = normaliser.sql(element, step.argument, timezone)
        exactness = weakest(exactness, claim)
        ascii_so_far = ascii_so_far and normaliser.stays_ascii(step.argument)
        kind = normaliser.takes(step.argument)[kind]
    return element, exactness
