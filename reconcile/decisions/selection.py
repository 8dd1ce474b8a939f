"""Which findings a decision about many is for: by ids, rule, condition, or a file of plans that a person looked at.

Each finding is taken as it is at that moment: if it or its plan changes before its turn, that decision is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from notifications.wording.words import plural
from reconcile.decisions.conditions import matching
from reconcile.decisions.offered import states_for
from reconcile.decisions.proposing import Proposing
from reconcile.decisions.request import DecisionRequest
from reconcile.errors import Refused, Wrong
from reconcile.findings.shown import Finding
from reconcile.store import Transaction, finding_states
from reconcile.store.findings import FindingFilter, each, get
from reconcile.store.plans import standing
from rules.models import Severity

MOST_UNCONFIRMED = 20
"""Findings that are decided at once without their number."""
_LARGEST_FILE = 200_000_000
_OF_PLANS = ("approve", "reject")
_OF_CLEANING = (*_OF_PLANS, "undo", "retry")
"""Decisions that check the plan, or what was executed, instead of the finding's version."""


class NumberNotConfirmed(Refused):
    """So many findings are decided only with their number."""

    def __init__(self, number: int, confirmed: int | None) -> None:
        self.number = number
        findings = plural(number, "finding matches", "findings match") if number else "No finding matches"
        wrong = "" if confirmed is None else f", not {confirmed:,}"
        remedy = f"repeat with --confirm {number}" if number else "`reconcile status` lists what waits"
        super().__init__(f"{findings}{wrong}. Nothing changed; {remedy}")


class PlanFileRefused(Wrong):
    """The file does not name plans."""

    def __init__(self, file: Path, why: str) -> None:
        super().__init__(f"{file}: {why}. Nothing was changed; write it with `reconcile plan --json > {file.name}`")


@dataclass(frozen=True)
class Selection:
    """Findings by ids, or by plans, or by rule, severity (that or worse) and condition: those the decision is for."""

    ids: Sequence[str] = ()
    rules: Sequence[str] = ()
    severity: Severity | None = None
    where: str | None = None
    plan_file: Path | None = None

    @property
    def is_single(self) -> bool:
        return len(self.ids) == 1 and not (self.is_filtered or self.plan_file)

    @property
    def is_filtered(self) -> bool:
        return bool(self.rules or self.severity or self.where)

    @property
    def ways(self) -> int:
        """The number of ways in which findings are chosen: ids, a filter, a file."""
        return sum(map(bool, (self.ids, self.is_filtered, self.plan_file)))


def selected(
    decisions: Proposing, decision: str, selection: Selection, confirmed: int | None = None
) -> list[DecisionRequest]:
    """Return a request for each selected finding, the worst first, or in the order of the ids.

    Raises NumberNotConfirmed, PlanFileRefused, ConditionRefused, a FindingError, StoreError.
    """
    with decisions.store.read() as tx:
        timezone = decisions.terms.project.timezone
        requests = {request.about: request for request in _requests(tx, decision, selection, timezone)}
        if decision == "approve" and selection.plan_file is None:
            for name in finding_states.chosen(tx, requests):  # the person did not see this plan, which keeps another
                requests[name] = replace(requests[name], plan=None)
    check_number(len(requests), confirmed)
    return list(requests.values())


def check_number(number: int, confirmed: int | None) -> None:
    """Raise NumberNotConfirmed unless a person confirmed so many decisions."""
    if confirmed != number and (number > MOST_UNCONFIRMED or confirmed is not None):
        raise NumberNotConfirmed(number, confirmed)


def _requests(tx: Transaction, decision: str, selection: Selection, timezone: str) -> Iterator[DecisionRequest]:
    if selection.plan_file is not None:
        for name, plan_hash in _planned(selection.plan_file):
            yield DecisionRequest(decision, get(tx, name).id, plan=plan_hash)
        return
    if selection.ids:
        findings = [get(tx, name) for name in selection.ids]
    else:
        criteria = FindingFilter(tuple(selection.rules), states_for(decision), selection.severity)
        findings = fitting(tx, criteria, selection.where, timezone)
    for finding in findings:
        plan = standing(tx, finding.id) if decision in _OF_PLANS else None
        version = None if decision in _OF_CLEANING else finding.version
        yield DecisionRequest(decision, finding.id, version=version, plan=None if plan is None else plan.plan_hash)


def fitting(tx: Transaction, criteria: FindingFilter, where: str | None, timezone: str) -> list[Finding]:
    """Return the findings that fit a filter and a condition, without their records. Raises ConditionRefused."""
    findings = list(each(tx, criteria, members=False))
    return findings if where is None else list(matching(findings, where, tx.now, timezone))


def _planned(file: Path) -> Iterator[tuple[str, str]]:
    """Yield each finding of a file of plans with the hash of its plan."""
    try:
        if file.stat().st_size > _LARGEST_FILE:
            raise PlanFileRefused(file, f"it is larger than {_LARGEST_FILE // 1_000_000} MB")
        plans = json.loads(file.read_bytes())
    except OSError as error:
        raise PlanFileRefused(file, f"it cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise PlanFileRefused(file, "it is not JSON") from None
    if not isinstance(plans, list):
        raise PlanFileRefused(file, "it is not a list of plans")
    named = set[str]()
    for number, plan in enumerate(plans, 1):
        if not isinstance(plan, Mapping) or not isinstance(plan.get("finding"), str):
            raise PlanFileRefused(file, f"entry {number} is not a plan")
        plan_hash = plan.get("plan_hash")
        if plan_hash is None:
            continue  # a finding for which `plan` could make none
        if not isinstance(plan_hash, str) or not plan_hash:
            raise PlanFileRefused(file, f"entry {number} has no `plan_hash`")
        if plan["finding"] in named:
            raise PlanFileRefused(file, f"entry {number} is a second plan for {plan['finding']}")
        named.add(plan["finding"])
        yield plan["finding"], plan_hash
