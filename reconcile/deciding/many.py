"""Many decisions at once: each is checked by itself, and one that is refused does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from connectors.errors import ConnectorError
from notifications.wording.words import plural
from reconcile.deciding.decisions import Answer, Wish
from reconcile.errors import Failed, Refused, Wrong

_STATUSES = {"decided": "decided", "unchanged": "unchanged", "not_done": "not done"}
_NAMED = 5
"""The most findings of an outcome that are named."""


@dataclass(frozen=True)
class Outcome:
    """What became of one decision: `decided`, `unchanged`, or `not_done` with the reason as its sentence.

    `became` is what the finding is now, like "dismissed".
    """

    finding: str
    status: str
    sentence: str
    became: str = ""


@dataclass(frozen=True)
class OutcomeGroup:
    """Findings with the same outcome: their number in words like "12 findings dismissed", the first five, and how many
    more there are."""

    words: str
    findings: tuple[str, ...]
    more: int


@dataclass(frozen=True)
class Outcomes:
    """What became of many decisions."""

    each: tuple[Outcome, ...]

    @property
    def not_done(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.each if outcome.status == "not_done")

    @property
    def summary(self) -> str:
        """The numbers in words: `43 findings: 40 decided, 1 unchanged, 2 not done.`"""
        counts = [(number, _STATUSES[status]) for status, number in self._counts.items() if number]
        shown = ", ".join(f"{number:,} {words}" for number, words in counts) or "nothing to decide"
        return f"{plural(len(self.each), 'finding', 'findings')}: {shown}."

    @property
    def groups(self) -> list[OutcomeGroup]:
        """The findings that were decided, by what they are now, then those that were so before."""
        by_outcome: dict[str, list[str]] = {}
        for outcome in sorted(self.each, key=lambda outcome: outcome.status):
            if outcome.status != "not_done":
                became = outcome.became if outcome.status == "decided" else "unchanged"
                by_outcome.setdefault(became, []).append(outcome.finding)
        return [
            OutcomeGroup(
                f"{plural(len(names), 'finding', 'findings')} {became}", tuple(names[:_NAMED]), len(names[_NAMED:])
            )
            for became, names in by_outcome.items()
        ]

    @property
    def _counts(self) -> dict[str, int]:
        return {status: sum(outcome.status == status for outcome in self.each) for status in _STATUSES}

    def to_json(self) -> dict[str, Any]:
        named = [{name: getattr(outcome, name) for name in ("finding", "status", "sentence")} for outcome in self.each]
        return self._counts | {"findings": named}


def decide_each(wishes: Iterable[Wish], act: Callable[[Wish], Answer]) -> Iterator[Outcome]:
    """Carry out the decisions one after the other; `act` raises for one that is refused or fails."""
    return (_outcome(wish, act) for wish in wishes)


def _outcome(wish: Wish, act: Callable[[Wish], Answer]) -> Outcome:
    try:
        answer = act(wish)
    except (Wrong, Refused, Failed, ConnectorError) as error:
        return Outcome(wish.finding, "not_done", str(error))
    return Outcome(wish.finding, "decided" if answer.changed else "unchanged", answer.sentence, answer.became)
