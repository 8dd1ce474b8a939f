"""What a check of the doctor came to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from reconcile.app import Application
from reconcile.store import Transaction

State = Literal["ok", "look", "broken"]


@dataclass(frozen=True)
class Diagnosis:
    """`ok`; `look`: somebody should look at it; `broken`: something does not work. The sentence says what to do."""

    subject: str
    state: State
    sentence: str

    def to_json(self) -> dict[str, Any]:
        return {"subject": self.subject, "state": self.state, "sentence": self.sentence}


Check = Callable[[Application], Iterable[Diagnosis]]
"""One thing that is looked at."""

StateCheck = Callable[[Application, Transaction], Iterable[Diagnosis]]
"""One thing that is looked at in the state, in a transaction of its own that only reads."""
