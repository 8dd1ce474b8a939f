"""The common part of the conformance checks: a broken promise is named in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Kind = TypeVar("Kind", bound=Exception)


class ConformanceFailure(AssertionError):
    """A connector broke a promise of its port; the text says which."""


def is_true(promise: str, is_kept: bool) -> None:  # noqa: FBT001 - it reads as an assertion
    if not is_kept:
        raise ConformanceFailure(promise)


def is_same(promise: str, actual: object, expected: object) -> None:
    if actual != expected:
        raise ConformanceFailure(f"{promise}: expected {expected!r}, got {actual!r}")


def raised(action: str, kind: type[Kind], act: Callable[[], object]) -> Kind:
    """Return the error of this kind that the action raises."""
    try:
        act()
    except kind as error:
        return error
    except Exception as error:
        raise ConformanceFailure(f"{action} raises {kind.__name__}, not {type(error).__name__}: {error}") from error
    raise ConformanceFailure(f"{action} raises {kind.__name__}, but it went through")


def refusal(action: str, kind: type[Exception], act: Callable[[], object]) -> str:
    """Return the sentence of the error that the action raises."""
    return str(raised(action, kind, act))
