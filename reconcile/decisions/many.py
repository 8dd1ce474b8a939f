"""Many decisions at once: each is checked by itself, and one that is refused does not stop the others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from connectors.errors import ConnectorError
from notifications.wording.words import plural
from reconcile.decisions.request import DecisionRequest, DecisionResult
from reconcile.errors import Failed, Refused, Wrong
from reconcile.findings.states import PlanState

_STATUSES = {"decided": "decided", "unchanged": "unchanged", "not_done": "not done"}
_NAMED = 5
"""The most findings of an outcome that are named."""


@dataclass(frozen=True)
class OutcomeGroup:
    """Findings with the same outcome: their number in words like "12 findings dismissed", the first five, and how many
    more there are."""

    words: str
    findings: tuple[str, ...]
    more: int


@dataclass(frozen=True)
class RefusalGroup:
    """Findings that were not decided for the same reason: the sentence about the first, and the others."""

    finding: str
    sentence: str
    others: tuple[str, ...]

    @property
    def more(self) -> str:
        """The others in words; empty without any."""
        named = ", ".join(self.others[:_NAMED])
        rest = f" and {len(self.others) - _NAMED:,} more" if len(self.others) > _NAMED else ""
        findings = plural(len(self.others), "more finding", "more findings")
        return f"{findings} not done for the same reason as {self.finding}: {named}{rest}." if self.others else ""


@dataclass(frozen=True)
class DecisionResults:
    """The results of many decisions."""

    each: tuple[DecisionResult, ...]

    @property
    def not_done(self) -> tuple[DecisionResult, ...]:
        return tuple(result for result in self.each if result.status == "not_done")

    @property
    def refusals(self) -> list[RefusalGroup]:
        """The findings that were not decided, by reason."""
        alike: dict[str, list[DecisionResult]] = {}
        for result in self.not_done:
            alike.setdefault(reason_of(result), []).append(result)
        return [
            RefusalGroup(first.finding or "", first.sentence, tuple(each.finding or "" for each in others))
            for first, *others in alike.values()
        ]

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
        for result in sorted(self.each, key=lambda result: result.status):
            if result.status != "not_done":
                became = result.became if result.status == "decided" else "unchanged"
                by_outcome.setdefault(became, []).append(result.finding or "")
        return [
            OutcomeGroup(
                f"{plural(len(names), 'finding', 'findings')} {became}", tuple(names[:_NAMED]), len(names[_NAMED:])
            )
            for became, names in by_outcome.items()
        ]

    @property
    def _counts(self) -> dict[str, int]:
        return {status: sum(result.status == status for result in self.each) for status in _STATUSES}

    def to_json(self) -> dict[str, Any]:
        named = [{name: getattr(result, name) for name in ("finding", "status", "sentence")} for result in self.each]
        return self._counts | {"findings": named}


def reason_of(result: DecisionResult) -> str:
    """Return the sentence of a result without what differs from finding to finding: ids and numbers."""
    return _OWN.sub("#", result.sentence)


_OWN = re.compile(r"F-[0-9A-Z]{6}|P-\w+|\d[\d,.]*(?<![,.])")


def decide_each(
    requests: Iterable[DecisionRequest],
    act: Callable[[DecisionRequest], DecisionResult],
    execute: Callable[[Sequence[str]], Iterable[DecisionResult]] | None = None,
) -> Iterator[DecisionResult]:
    """Carry out the decisions one after the other; `act` raises for one that is refused or fails.

    With `execute`, plans that `act` only approved are executed together, after all decisions.
    """
    approved: list[str] = []
    for request in requests:
        try:
            result = act(request)
        except (Wrong, Refused, Failed, ConnectorError) as error:
            result = DecisionResult(str(error), ok=False)
        if execute is not None and result.plan is not None and result.state is PlanState.APPROVED:
            approved.append(result.plan)
        else:
            yield replace(result, finding=request.finding)
    if execute is not None and approved:
        yield from execute(approved)
