"""A mistake in a file people wrote: where it is, one sentence, and the nearest name they may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Position:
    """A place in a file; lines and columns count from 1, columns in characters."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake: what is wrong and what to do, in one sentence, and where."""

    file: str
    line: int
    column: int
    sentence: str

    @classmethod
    def at(cls, place: Position, sentence: str) -> Problem:
        return cls(place.file, place.line, place.column, sentence)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.sentence}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a person most likely meant, or None when none is near."""
    by_folded = {k.casefold(): k for k in sorted(known)}
    found = difflib.get_close_matches(name.casefold(), list(by_folded), n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def suggestion(name: str, known: Iterable[str], *, otherwise: str = "known are") -> str:
    """The end of a sentence about an unknown name: the nearest one, else all of them, else nothing to choose from."""
    names = sorted(set(known))
    near = nearest(name, names)
    if near is not None:
        return f"did you mean `{near}`?"
    return f"{otherwise} {listed(names)}" if names else "there is none yet"


def listed(names: Iterable[str]) -> str:
    """`a`, `b` and `c`."""
    quoted = [f"`{n}`" for n in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def short(value: str, limit: int = 60) -> str:
    """A value as a sentence can hold it: on one line and not too long."""
    line = " ".join(value.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
