"""A mistake in a file: its position, one sentence, and the nearest allowed name."""

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
class Mistake:
    """One mistake: a sentence with the problem and the remedy, and a position."""

    file: str
    line: int
    column: int
    sentence: str

    @classmethod
    def at(cls, place: Position, sentence: str) -> Mistake:
        return cls(place.file, place.line, place.column, sentence)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.sentence}"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name most likely meant, or None when none is near."""
    by_folded = {k.casefold(): k for k in sorted(names)}
    matches = difflib.get_close_matches(name.casefold(), list(by_folded), n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else None


def suggestion(name: str, allowed: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: the nearest allowed name, else all of them."""
    names = sorted(set(allowed))
    closest = nearest(name, names)
    if closest is not None:
        return f"did you mean `{closest}`?"
    return f"known names: {listed(names)}" if names else "there are none yet"


def listed(names: Iterable[str], last: str = "and") -> str:
    """Return the names as `a`, `b` and `c`."""
    quoted = [f"`{n}`" for n in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {last} {quoted[-1]}"


def short(value: str, limit: int = 60) -> str:
    """Shorten a value for a sentence: one line of at most `limit` characters."""
    line = " ".join(value.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


class RuleError(ValueError):
    """A rule that cannot be used as written; the message is one sentence a user can act on."""
