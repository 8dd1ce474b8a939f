"""Plans that a run leaves to the next run, because no run has reported the rule's findings yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from reconcile.cleaning.shown import limits_said
from reconcile.findings.plan import Plan
from reconcile.journal.limits import Use
from rules import values
from rules.cleaning import Caps


def asked_before(rule: str, plans: int) -> str:
    """Say that plans of a rule that needs no approval wait for a person, because people were asked about them."""
    wait, them = ("1 plan still waits", "it") if plans == 1 else (f"{plans:,} plans still wait", "them")
    return (
        f"{wait} for a decision: rule {rule!r} needs no approval now, but people were asked about {them} before. "
        f"Approve with `reconcile approve --rule {rule}`, or reject with `reconcile reject --rule {rule}`."
    )


def plan_asked_before(rule: str) -> str:
    """Say the same of one plan, where it is shown with the commands that decide it."""
    return f"It still waits for a decision: rule {rule!r} needs no approval now, but people were asked about it before."


@dataclass
class NextRun:
    """Totals of plans that need no approval, counted like limits."""

    findings: int = 0
    rows: int = 0
    money: dict[str, Decimal] = field(default_factory=dict)

    def add(self, plan: Plan) -> None:
        use = Use.of("", plan)
        self.findings += 1
        self.rows += use.records
        values.add(self.money, use.money)

    def sentence(self, limits: Iterable[Caps]) -> str | None:
        """Say what the next run does about them; None if there are none.

        It may clean less: findings may be settled in between, and earlier cleanings of the day count in limits too.
        """
        if not self.findings:
            return None
        findings = "1 finding" if self.findings == 1 else f"{self.findings:,} findings"
        exceeded = next((exceeded for caps in limits if (exceeded := self._over(caps))), None)
        action = f"cleans at most {findings} without approval"
        if exceeded is not None:
            action = f"asks for approval of {findings}, because they exceed the limit in {exceeded}"
        reason = "the rule, its dataset or its target is new or changed"
        return f"The next run {action}; this one only reports, because {reason}."

    def _over(self, caps: Caps) -> str | None:
        """Name the limits that they exceed."""
        return limits_said(caps, rows=self.rows, group=0, money=self.money)[1]
