"""Who refers to the rows of many plans, read together: one question a reference, not one a row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from connectors.target import Reference, Row, Target, TargetRefused
from reconcile.cleaning.planning.draft import Key, cells_at

TOGETHER = 500
"""So many rows are asked about at once."""


@dataclass
class ReadReferring:
    """Answers of a target, kept for as long as plans are made of what was read with them."""

    target: Target
    _known: dict[tuple[Reference, Key], Sequence[Row]] = field(default_factory=dict)

    def rows(self, reference: Reference, to: Key) -> Sequence[Row]:
        """The rows that refer to these cells."""
        if (reference, to) not in self._known:
            self._known[reference, to] = tuple(self.target.referring(reference, [to]))
        return self._known[reference, to]

    def read(self, reference: Reference, keys: Iterable[Key]) -> None:
        """Read who refers to any of these, to be asked for each of them later.

        Where one of the rows cannot be named, nothing is kept: each is asked for then, and only that one is refused.
        """
        wanted = [key for key in dict.fromkeys(keys) if (reference, key) not in self._known]
        for start in range(0, len(wanted), TOGETHER):
            some = wanted[start : start + TOGETHER]
            try:
                shared = _shared(reference, some, self.target.referring(reference, some))
            except TargetRefused:
                shared = None
            if shared is not None:
                self._known.update(((reference, key), tuple(rows)) for key, rows in shared.items())


def _shared(reference: Reference, keys: Sequence[Key], rows: Iterable[Row]) -> Mapping[Key, list[Row]] | None:
    """Which of the rows refer to which key, by their cells; None where cells alone do not say: each is asked for then.

    A database may hold other cells alike (a collation, a link from a text to a number): it alone knows how.
    """
    exact = {key: key for key in keys}
    written = _unambiguous(keys)
    found: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        own = cells_at(row.cells, reference.columns)
        key = exact.get(own) if own is not None else None
        if key is None and own is not None:
            key = written.get(_texts(own))
        if key is None:
            return None
        found[key].append(row)
    return {key: found.get(key, []) for key in keys}


def _unambiguous(keys: Sequence[Key]) -> Mapping[tuple[str, ...], Key]:
    by_text: dict[tuple[str, ...], list[Key]] = defaultdict(list)
    for key in keys:
        by_text[_texts(key)].append(key)
    return {text: alike[0] for text, alike in by_text.items() if len(alike) == 1}


def _texts(key: Key) -> tuple[str, ...]:
    return tuple(cell[1] if cell else "" for cell in key)
