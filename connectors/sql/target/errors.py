"""TargetErrors for failed changes: one sentence without values, and the outcome."""

from __future__ import annotations

from connectors.sql.errors import Place
from connectors.sql.target.outcomes import Phase, meaning
from connectors.target import Outcome, TargetError

_NO_RIGHT = "42501"
_LEFT = {
    Outcome.NOT_DONE: "The transaction was rolled back; it can be retried",
    Outcome.AMBIGUOUS: "The outcome is unknown; check the target",
    Outcome.PAUSE: "The transaction was rolled back; a person has to fix the cause first",
    Outcome.CONFLICT: "The transaction was rolled back; it needs a new plan",
    Outcome.TERMINAL: "The transaction was rolled back and can never succeed; check the plan",
}


def failed(place: Place, reason: str, outcome: Outcome, code: str = "") -> TargetError:
    suffix = f" ({code})" if code else ""
    sentence = f"Source {place.source!r} at {place.where} was not changed as asked: {reason}{suffix}. {_LEFT[outcome]}"
    return TargetError(sentence, outcome, code)


def target_error(place: Place, code: str, phase: Phase, error: Exception | None = None) -> TargetError:
    """Create the error for a database code. It names a constraint but omits the database's words: they quote values."""
    row = meaning(place.dialect, code)
    diagnosis = getattr(error, "diag", None)
    object_name = getattr(diagnosis, "constraint_name", None)
    if code == _NO_RIGHT:  # this sentence names objects and never values
        object_name = getattr(diagnosis, "message_primary", None)
    reason = f"{row.reason}: {object_name}" if object_name else row.reason
    return failed(place, reason, row.at(phase), code)


def late(place: Place) -> TargetError:
    return failed(place, "its time limit passed before it completed", Outcome.NOT_DONE)


def over(place: Place, why: str) -> TargetError:
    return failed(place, why, Outcome.NOT_DONE)


def changed_shape(place: Place, table: str, column: str) -> TargetError:
    return failed(place, f"table {table} no longer has a column {column!r}", Outcome.CONFLICT)


def no_table(place: Place, table: str) -> TargetError:
    return failed(place, f"table {table} no longer exists", Outcome.CONFLICT)


def unwritable(place: Place, why: str) -> TargetError:
    return failed(place, f"a value cannot be written ({why})", Outcome.TERMINAL)
