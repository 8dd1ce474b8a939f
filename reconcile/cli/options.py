"""Groups of options that commands share: a command takes one parameter for a group, and its options stand for it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_origin, get_type_hints


class Options:
    """A dataclass; its fields that are annotated for typer are options of every command with a parameter of it."""

    is_last = False
    """True if its options come after all others."""


def expanded(signature: inspect.Signature) -> list[inspect.Parameter]:
    """Return the parameters of a command, with the options of a group in its place."""
    parameters = list(signature.parameters.values())
    first = [each for each in parameters if not (is_group(each) and each.annotation.is_last)]
    last = [each for each in parameters if each not in first]
    return [option for each in (*first, *last) for option in (_options(each) if is_group(each) else (each,))]


def is_group(parameter: inspect.Parameter) -> bool:
    return isinstance(parameter.annotation, type) and issubclass(parameter.annotation, Options)


def gathered(signature: inspect.Signature, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a command, those of the options of a group as the group."""
    left, groups = dict(values), dict[str, Any]()
    for parameter in filter(is_group, signature.parameters.values()):
        names = [option.name for option in _options(parameter)]
        groups[parameter.name] = parameter.annotation(**{name: left.pop(name) for name in names})
    return groups | left


def _options(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    group = parameter.annotation
    for name, annotation in get_type_hints(group, include_extras=True).items():
        if get_origin(annotation) is Annotated:
            yield inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=getattr(group, name, None), annotation=annotation
            )
