"""Chains of normalisers: their type, their value, and their SQL with the weakest claim of its parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rules.document.mistakes import suggestion
from rules.errors import RuleError
from rules.models import Step
from rules.normalise.normaliser import NORMALISERS, Exactness, Normaliser, weakest
from rules.values import Type, Value, filled

if TYPE_CHECKING:
    import sqlalchemy as sa


def _normaliser(step: Step) -> Normaliser:
    if step.name not in NORMALISERS:
        raise RuleError(f"There is no normaliser `{step.name}`; {suggestion(step.name, NORMALISERS)}")
    return NORMALISERS[step.name]


def chain_type(column_type: Type, steps: Sequence[Step]) -> Type:
    """The type after all steps; raises RuleError naming the step and what it cannot take."""
    kind = column_type
    for step in steps:
        one = _normaliser(step)
        try:
            one.check(step.argument)
        except ValueError as error:
            raise RuleError(f"`{step.name}` {error}.") from error
        if kind not in one.types:
            takes = " or ".join(t.value for t in one.types)
            raise RuleError(f"`{step.name}` takes {takes}, but here the value is of type {kind.value}.")
        kind = one.types[kind]
    return kind


def chain_function(steps: Sequence[Step], timezone: str = "UTC") -> Callable[[Value], Value]:
    """The chain as one function of a value, for steps that `chain_type` accepted. No step sees an empty value."""
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
    """The value after all steps; None when it is empty, when nothing is left of it or when it cannot be parsed."""
    return chain_function(steps, timezone)(value)


_STRIPS = {"trim", "squeeze", "alnum", "digits", "letters", "docno"}
_STAYS_STRIPPED = {*_STRIPS, "lower", "casefold", "unaccent", "strip_zeros", "prefix"}


def never_blank(steps: Sequence[Step]) -> bool:
    """Whether a text that is left after these steps cannot be white space only; False where that is not known."""
    names = [step.name for step in steps]
    begin = next((n for n, name in enumerate(names) if name in _STRIPS), len(names))
    return begin < len(names) and all(name in _STAYS_STRIPPED for name in names[begin:])


_LEAVES = {"digits": "1", "letters": "a", "alnum": "a1", "docno": "a1", "phone": "1"}
_READS = {"digits": "1", "letters": "a", "alnum": "a1", "docno": "a1", "phone": "1", "email": "@", "mailbox": "@"}


def emptying_step(steps: Sequence[Step]) -> Step | None:
    """The first step that leaves nothing of any text, for what it reads is gone by then; None where that is not known.

    Followed are digits (1), letters (a) and the sign in an address (@).
    """
    left = "a1@"
    for step in steps:
        if step.name in _READS and not set(left) & set(_READS[step.name]):
            return step
        if step.name in _LEAVES:
            left = "".join(kind for kind in _LEAVES[step.name] if kind in left)
        elif step.name not in _STAYS_STRIPPED | {"squeeze"}:
            left = "a1@"
    return None


def chain_sql(
    column: sa.ColumnElement[Any], column_type: Type, steps: Sequence[Step], dialect: str, timezone: str = "UTC"
) -> tuple[sa.ColumnElement[Any], Exactness] | None:
    """The chain in SQL and how far it is the Python one: for every value, or while the column's text is ASCII.

    None when some step cannot be said in that dialect with the same meaning. Without steps it is the column itself.
    A text that is left may be white space, which the caller takes for null.
    """
    element, kind, ascii_so_far = column, column_type, True
    exactness: Exactness = "always"
    for step in steps:
        one = _normaliser(step)
        this = one.exact_on(dialect, step.argument, kind, timezone)
        if one.sql is None or this == "never" or (this == "ascii" and not ascii_so_far):
            return None
        if one.fills:
            from rules.functions import filled as sql_filled  # noqa: PLC0415 - brings SQLAlchemy

            element = sql_filled(element)
        element = one.sql(element, step.argument, timezone)
        exactness = weakest(exactness, this)
        ascii_so_far = ascii_so_far and one.stays_ascii(step.argument)
        kind = one.types[kind]
    return element, exactness
