"""Undone cleanings in words, and as public JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from notifications.wording.words import plural
from reconcile.documents import JsonObject

if TYPE_CHECKING:
    from reconcile.cleaning.undo import Undone

_NAMED = 5
"""The most findings named in a sentence."""


def undone_in_words(undone: Undone) -> Iterator[str]:
    """Yield a sentence about the undone cleanings, and one for each that could not be undone."""
    if undone.undone:
        yield f"Undone: {plural(len(undone.undone), 'cleaning', 'cleanings')} ({_some(undone.undone)})."
    for finding, why in undone.not_restored:
        yield f"{finding}: {why}"
    if undone.undone_before:
        cleanings = "The cleaning" if len(undone.undone_before) == 1 else "The cleanings"
        verb = "is" if len(undone.undone_before) == 1 else "are"
        yield f"{cleanings} of {_some(undone.undone_before)} {verb} already undone; nothing was changed."
    if undone.unchanged:
        yield f"{plural(undone.unchanged, 'cleaning was', 'cleanings were')} already undone."
    for finding, conflict in undone.conflicts:
        yield f"unchanged: {finding}: {conflict}"
    for finding, why in undone.failed:
        yield f"not undone: {finding}: {why}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED:,} more" if len(names) > _NAMED else shown


def undone_to_json(undone: Undone) -> JsonObject:
    """Return an undo as public JSON."""
    return {
        "undone": list(undone.undone),
        "failed": [{"finding": finding, "why": why} for finding, why in undone.failed],
        "conflicts": [
            {"finding": finding, "table": conflict.row.table, "columns": list(conflict.columns), "why": conflict.why}
            for finding, conflict in undone.conflicts
        ],
        "not_restored": [{"finding": finding, "why": why} for finding, why in undone.not_restored],
    }
