"""The filter of a list of findings as every door takes it, and what it means for a person."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from reconcile.errors import Wrong
from reconcile.findings.payload import DUPLICATE
from reconcile.findings.states import State
from reconcile.masking.personal import Masking
from reconcile.store.finding_search import Amount
from reconcile.store.findings import AmountRange, FindingFilter, kinds_of
from rules.document.mistakes import short, suggestion
from rules.groups.forms import form_words
from rules.models import Severity

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.config.settings import Project
    from reconcile.store import Transaction

MOST_BY_TEXT = 1_000
"""Findings that a text chooses: it is compared with each of them."""


class FilterRefused(Wrong):
    """A part of a filter cannot be meant."""

    def __init__(self, sentence: str) -> None:
        super().__init__(f"{sentence}. No finding is listed")


@dataclass(frozen=True)
class ListFilter:
    """A filter for a list of findings; fields that are None or empty do not filter.

    `severity` means that or worse, `owner` that of the rule. `assigned_to` is a person; empty: nobody. `older_than` and
    `since` are about when a finding was first seen. `at_least` and `at_most` are sizes of its amount at risk.
    `probable_at_least` and `probable_at_most` are probabilities from 0 to 1; with them or `by_probability`, which lists
    the least probable findings first, only findings with a probability are listed.
    """

    states: tuple[State, ...] = ()
    rules: tuple[str, ...] = ()
    owner: str | None = None
    severity: Severity | None = None
    forms: tuple[str, ...] = ()
    assigned_to: str | None = None
    older_than: dt.timedelta | None = None
    since: dt.datetime | None = None
    at_least: Decimal | None = None
    at_most: Decimal | None = None
    probable_at_least: Decimal | None = None
    probable_at_most: Decimal | None = None
    by_probability: bool = False

    def criteria(self, application: Application, tx: Transaction, *, show: bool = False) -> FindingFilter:
        """Return it for the store. Unless the person sees everything (`show`), masked amounts are in no range.

        Raises FilterRefused.
        """
        project = application.project
        criteria = FindingFilter(
            states=self.states,
            severity=self.severity,
            assigned_to=self.assigned_to,
            forms=_checked(project, self.forms),
            amount=self._amount(project, tx, show=show),
            known_by=None if self.older_than is None else tx.now - self.older_than,
            known_since=self.since,
            probability=(self.probable_at_least, self.probable_at_most),
            by_probability=self.by_probability,
        )
        if self.owner is None:
            return replace(criteria, rules=self.rules)
        owned = tuple(name for name, rule in project.rules.items() if rule.owner == self.owner)
        rules = tuple(name for name in owned if not self.rules or name in self.rules)
        if not owned:
            raise FilterRefused(f"No rule has the owner {short(self.owner)}; {_owners_hint(project)}")
        return replace(criteria, rules=rules, ids=None if rules else ())

    def _amount(self, project: Project, tx: Transaction, *, show: bool) -> AmountRange | None:
        if self.at_least is None and self.at_most is None:
            return None
        kinds = () if show else kinds_of(tx)
        hidden = frozenset(kind for kind in kinds if Masking.of(project, kind[1], kind[0]).hides_amounts)
        return AmountRange(self.at_least, self.at_most, hidden)


def owners(project: Project) -> list[str]:
    """Return the owners of rules."""
    return sorted({rule.owner for rule in project.rules.values() if rule.owner is not None})


def forms(project: Project) -> Mapping[str, str]:
    """Return the forms that findings of the rules can have, each in words."""
    words: dict[str, set[str]] = {}
    for rule in project.rules.values():
        for form in rule.possible_forms:
            words.setdefault(form, set()).add(rule.form_words(form).phrase)
    several = {form: form_words(form, ("left", "right")).phrase for form in words}
    return {form: next(iter(named)) if len(named) == 1 else several[form] for form, named in words.items()}


def amount_of(text: str) -> Decimal:
    """Return the size of an amount as people write it: `1500` or `1,500.00`. Raises ValueError."""
    amount = Amount.of(text.strip())
    if amount is None or amount.currency is not None or amount.number < 0:
        raise ValueError(f"`{short(text)}` is not an amount; write it like 1500 or 1,500.00, without a currency")
    return amount.number


def probability_of(text: str) -> Decimal:
    """Return a probability as people write it: `90%`, `90 %` or `0.9`. Raises ValueError."""
    match = _SHARE.fullmatch(text.strip())
    share = None if match is None else Decimal(match["number"]) / (100 if match["percent"] else 1)
    if share is None or share > 1:
        raise ValueError(f"`{short(text)}` is not a probability; write it like 90%")
    return share


_SHARE = re.compile(r"(?P<number>\d{1,3}(\.\d{1,9})?) ?(?P<percent>%)?", re.ASCII)


def _checked(project: Project, wanted: tuple[str, ...]) -> tuple[str, ...]:
    possible = (DUPLICATE, *(form for form in forms(project) if form != DUPLICATE))
    for form in wanted:
        if form not in possible:
            raise FilterRefused(f"No rule finds the form {short(form)}; {suggestion(form, possible)}")
    return wanted


def _owners_hint(project: Project) -> str:
    named = owners(project)
    return f"use {', '.join(named)}" if named else "no rule has an `owner`"
