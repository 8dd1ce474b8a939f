"""Read the references to the rows of many plans together: one query per reference, not per row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from connectors.target import Reference, Row, Target, TargetRefused
from reconcile.cleaning.planning.draft import Key, cells_at

TOGETHER = 500
"""Rows per query."""


@dataclass
class ReadReferring:
    """Referring rows of a target, cached while the plans of one chunk are made."""

    target: Target
    _cache: dict[tuple[Reference, Key], Sequence[Row]] = field(default_factory=dict)

    def rows(self, reference: Reference, to: Key) -> Sequence[Row]:
        """Return the rows that refer to these cells."""
        if (reference, to) not in self._cache:
            self._cache[reference, to] = tuple(self.target.referring(reference, [to]))
        return self._cache[reference, to]

    def read(self, reference: Reference, keys: Iterable[Key]) -> None:
        """Read the rows that refer to any of these keys, for later calls of `rows`.

        If the target refuses a row, nothing is cached: `rows` then reads key by key, and only that key is refused.
        """
        unread = [key for key in dict.fromkeys(keys) if (reference, key) not in self._cache]
        for start in range(0, len(unread), TOGETHER):
            chunk = unread[start : start + TOGETHER]
            try:
                shared = _by_key(reference, chunk, self.target.referring(reference, chunk))
            except TargetRefused:
                shared = None
            if shared is not None:
                self._cache.update(((reference, key), tuple(rows)) for key, rows in shared.items())


def _by_key(reference: Reference, keys: Sequence[Key], rows: Iterable[Row]) -> Mapping[Key, list[Row]] | None:
    """Group rows by the key they refer to; None if their cells do not tell, so that each key is read alone.

    A database may treat different cells as equal (a collation, a link from a text to a number).
    """
    exact = {key: key for key in keys}
    written = _unambiguous(keys)
    rows_by_key: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        own = cells_at(row.cells, reference.columns)
        key = exact.get(own) if own is not None else None
        if key is None and own is not None:
            key = written.get(_texts(own))
        if key is None:
            return None
        rows_by_key[key].append(row)
    return {key: rows_by_key.get(key, []) for key in keys}


def _unambiguous(keys: Sequence[Key]) -> Mapping[tuple[str, ...], Key]:
    by_text: dict[tuple[str, ...], list[Key]] = defaultdict(list)
    for key in keys:
        by_text[_texts(key)].append(key)
    return {text: alike[0] for text, alike in by_text.items() if len(alike) == 1}


def _texts(key: Key) -> tuple[str, ...]:
    return tuple(cell[1] if cell else "" for cell in key)
