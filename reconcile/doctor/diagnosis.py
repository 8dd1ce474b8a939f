"""The result of a doctor's check."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from reconcile.app import Application
from reconcile.documents import JsonObject
from reconcile.store import Transaction

State = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Diagnosis:
    """`ok`; `warning`: a person should look at it; `error`: something does not work. The sentence says what to do."""

    subject: str
    state: State
    sentence: str

    def to_json(self) -> JsonObject:
        return {"subject": self.subject, "state": self.state, "sentence": self.sentence}


Check = Callable[[Application], Iterable[Diagnosis]]
"""A check of the configuration, the host or the sources."""

StateCheck = Callable[[Application, Transaction], Iterable[Diagnosis]]
"""A check of the state, in its own read-only transaction."""
