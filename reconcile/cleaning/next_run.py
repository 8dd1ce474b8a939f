"""The part of a run's plans that only the next run carries out, because no run told yet what the rule finds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from reconcile.cleaning.shown import limits_said
from reconcile.findings.bundle import Bundle
from reconcile.journal import limits as budgets
from rules import sums
from rules.cleaning import Caps


@dataclass
class NextRun:
    """Plans that ask nobody, counted as limits count them."""

    findings: int = 0
    rows: int = 0
    money: dict[str, Decimal] = field(default_factory=dict)

    def add(self, bundle: Bundle) -> None:
        use = budgets.Use.of("", bundle)
        self.findings += 1
        self.rows += use.records
        sums.add(self.money, use.money)

    def sentence(self, limits: Iterable[Caps]) -> str | None:
        """What the next run does about them; None where there are none.

        It may be less: findings are settled meanwhile, and earlier cleanings of the day count in limits too.
        """
        if not self.findings:
            return None
        what = "1 finding" if self.findings == 1 else f"{self.findings:,} findings"
        over = next((over for caps in limits if (over := self._over(caps))), None)
        does = f"cleans at most {what} by itself"
        if over is not None:
            does = f"asks people about {what}, because they exceed the limit in {over}"
        why = "the rule, its dataset or its database is new or changed"
        return f"The next run {does}; this one only reports, because {why}."

    def _over(self, caps: Caps) -> str | None:
        """The limits that they go beyond, by name."""
        return limits_said(caps, rows=self.rows, group=0, money=self.money)[1]
