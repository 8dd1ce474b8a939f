"""Which findings a decision about many is for: by ids, rule, condition, or a file of plans that a person looked at.

Each finding is taken as it is at that moment: if it or its plan changes before its turn, that decision is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from notifications.wording.words import plural
from reconcile.deciding.decisions import Wish
from reconcile.deciding.terms import matching
from reconcile.errors import Refused, Wrong
from reconcile.findings.shown import Finding
from reconcile.findings.states import SETTLED, State
from reconcile.store import Transaction, finding_states
from reconcile.store.findings import FindingFilter, each, get
from reconcile.store.plans import standing
from reconcile.views.decisions import possible
from rules.models import Severity

if TYPE_CHECKING:
    from reconcile.app import Application

MOST_UNCONFIRMED = 20
"""Findings that are decided at once without their number."""
_LARGEST_FILE = 200_000_000


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


def selected(application: Application, decision: str, selection: Selection, confirmed: int | None = None) -> list[Wish]:
    """Return a wish for each selected finding, the worst first, or in the order of the ids.

    Raises NumberNotConfirmed, PlanFileRefused, NameUnknown, ConditionRefused, a FindingError, StoreError.
    """
    for name in selection.rules:
        application.require("rule", name, tuple(application.project.rules))
    with application.memory.read() as tx:
        wishes = {wish.finding: wish for wish in _wishes(application, tx, decision, selection)}
        if decision == "approve" and selection.plan_file is None:
            for name in finding_states.chosen(tx, wishes):  # the person did not see this plan, which keeps another
                wishes[name] = replace(wishes[name], plan=None)
    number = len(wishes)
    if confirmed != number and (number > MOST_UNCONFIRMED or confirmed is not None):
        raise NumberNotConfirmed(number, confirmed)
    return list(wishes.values())


def _wishes(application: Application, tx: Transaction, decision: str, selection: Selection) -> Iterator[Wish]:
    if selection.plan_file is not None:
        for name, plan_hash in _planned(selection.plan_file):
            finding = get(tx, name)
            yield Wish(finding.id, version=finding.version, plan=plan_hash)
    elif selection.ids:
        for name in selection.ids:
            yield _wish(tx, get(tx, name))
    else:
        criteria = FindingFilter(tuple(selection.rules), states_for(decision), selection.severity)
        for finding in fitting(application, tx, criteria, selection.where):
            yield _wish(tx, finding)


def fitting(application: Application, tx: Transaction, criteria: FindingFilter, where: str | None) -> list[Finding]:
    """Return the findings that fit a filter and a condition, without their records. Raises ConditionRefused."""
    findings = list(each(tx, criteria, members=False))
    return findings if where is None else list(matching(findings, where, tx.now, application.project.timezone))


def states_for(decision: str) -> tuple[State, ...]:
    """Return the states of findings that a filter selects: those in which the decision changes something."""
    left_out = {"snooze": (State.SNOOZED,), "assign": (*SETTLED, State.RESOLVED, State.CLEANED)}.get(decision, ())
    fitting = (state for state in State if decision in possible(state.value, has_plan=True, undo=None))
    return tuple(state for state in fitting if state not in left_out)


def _wish(tx: Transaction, finding: Finding) -> Wish:
    plan = standing(tx, finding.id)
    return Wish(finding.id, version=finding.version, plan=None if plan is None else plan.plan_hash)


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
