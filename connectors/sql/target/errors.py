"""What went wrong with a change, as a TargetError: one sentence without values, and what it means."""

from __future__ import annotations

from connectors.sql.errors import Place
from connectors.sql.target.outcomes import Phase, meaning
from connectors.target import Outcome, TargetError

_NO_RIGHT = "42501"
_LEFT = {
    Outcome.NOT_DONE: "Nothing of this transaction was kept; it can be tried again",
    Outcome.AMBIGUOUS: "Whether it was kept is not known; the target has to be asked",
    Outcome.PAUSE: "Nothing of this transaction was kept; a person has to change that first",
    Outcome.CONFLICT: "Nothing of it was kept; it has to be planned anew",
    Outcome.TERMINAL: "Nothing of it was kept, and it would never go through; look at the plan",
}


def failed(place: Place, reason: str, outcome: Outcome, code: str = "") -> TargetError:
    """The error for a reason in our own words."""
    said = f" ({code})" if code else ""
    sentence = f"Source {place.source!r} at {place.where} was not changed as asked: {reason}{said}. {_LEFT[outcome]}"
    return TargetError(sentence, outcome, code)


def told(place: Place, code: str, phase: Phase, error: Exception | None = None) -> TargetError:
    """The error for a code of the database. Its words are left out, which quote values; a constraint's name is not."""
    row = meaning(place.dialect, code)
    diagnosis = getattr(error, "diag", None)
    named = getattr(diagnosis, "constraint_name", None)
    if code == _NO_RIGHT:  # of all its sentences this one names objects and never values
        named = getattr(diagnosis, "message_primary", None)
    reason = f"{row.reason}: {named}" if named else row.reason
    return failed(place, reason, row.at(phase), code)


def late(place: Place) -> TargetError:
    return failed(place, "its time was over before it could be completed", Outcome.NOT_DONE)


def over(place: Place, why: str) -> TargetError:
    return failed(place, why, Outcome.NOT_DONE)


def changed_shape(place: Place, table: str, column: str) -> TargetError:
    return failed(place, f"table {table} has no column {column!r} any more", Outcome.CONFLICT)


def no_table(place: Place, table: str) -> TargetError:
    return failed(place, f"there is no table {table} any more", Outcome.CONFLICT)


def unwritable(place: Place, why: str) -> TargetError:
    return failed(place, f"a value cannot be written ({why})", Outcome.TERMINAL)
