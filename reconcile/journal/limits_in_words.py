"""The sentences about limits: a plan and a refusal use the same words."""

from __future__ import annotations

from decimal import Decimal

from notifications.base import MASK
from rules.cleaning import Caps


def subject_of(scope: str) -> str:
    kind, _, name = scope.partition(":")
    return f"rule `{name}`" if kind == "rule" else "all rules in this target"


def rows_in_words(subject: str, records: int, span: str, caps: Caps, others: int = 0) -> str:
    setting = "`records`" if caps.most == caps.records else "`share`"
    rows = f"{records:,} {'row' if records == 1 else 'rows'} would be changed by {subject} {span}"
    of_others = f", {others:,} of them by other plans" if others else ""
    return f"{rows}{of_others}; the limit is {caps.most:,} ({setting})"


def money_in_words(
    subject: str, unit: str, amount: Decimal, span: str, caps: Caps, others: Decimal | None = None
) -> str:
    limit = f"the limit is {caps.money[unit]} {unit}" if unit in caps.money else f"no limit is set in {unit}"
    if caps.hides_money:
        return f"{MASK} {unit} would be changed by {subject} {span}; {limit}"
    of_others = f", {others} {unit} of that by other plans" if others else ""
    return f"{amount} {unit} would be changed by {subject} {span}{of_others}; {limit}"
