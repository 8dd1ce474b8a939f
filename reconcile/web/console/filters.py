"""The filter of the queue: its address is the view, which people bookmark, and a text in it is sealed."""

from __future__ import annotations

import dataclasses
import datetime as dt
import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from reconcile.errors import Wrong
from reconcile.findings.states import WAITING, State
from reconcile.store.findings import FindingFilter
from reconcile.store.sealing import RowsUnreadable, Seals
from reconcile.views import filters, search
from reconcile.views.filters import MOST_BY_TEXT, ListFilter
from reconcile.web.gate import Visit
from rules.models import Severity

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.store import Store, Transaction

GROUPS: Mapping[str, tuple[str, tuple[State, ...]]] = {
    "waiting": ("Waiting", WAITING),
    "progress": ("In progress", (State.APPROVED, State.CLEANING, State.PARTLY)),
    "snoozed": ("Snoozed", (State.SNOOZED,)),
    "dismissed": ("Dismissed", (State.DISMISSED,)),
    "handled": ("Handled", (State.HANDLED,)),
    "cleaned": ("Cleaned", (State.CLEANED,)),
    "undone": ("Undone", (State.UNDONE,)),
    "resolved": ("Resolved", (State.RESOLVED, State.MERGED)),
}
"""States as people look for them."""
ME, NOBODY = "me", "nobody"
"""Whom findings are assigned to, besides the people by name, which begin with `_OF_PERSON`."""
_OF_PERSON = "to:"
BY_PROBABILITY = "probability"
"""The order of the queue that begins with the least probable finding."""
_LONGEST = 200
_LONGEST_SEALED = 2_000
_DAYS = re.compile(r"\d{1,5}", re.ASCII)


class TypedWrong(Wrong):
    """A field of the filter has a value that it cannot have."""

    def __init__(self, sentence: str) -> None:
        super().__init__(f"{sentence}. The list was not filtered by it")


@dataclass(frozen=True)
class Filter:
    """The filter of the queue, as in its address. `text` is sealed for the person who typed it."""

    state: str = "waiting"
    rule: str = ""
    severity: str = ""
    form: str = ""
    owner: str = ""
    assigned: str = ""
    older: str = ""
    since: str = ""
    least: str = ""
    most: str = ""
    likely: str = ""
    unlikely: str = ""
    order: str = ""
    text: str = ""
    after: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Filter:
        """Read a filter; what it cannot mean is left out."""
        texts = {field.name: given.get(field.name, "")[:_LONGEST] for field in dataclasses.fields(cls)}
        texts |= {"text": given.get("text", "")[:_LONGEST_SEALED], "after": given.get("after", "")[:400]}
        meant = {name: text for name, text in texts.items() if text and _is_meant(name, text)}
        return cls(**meant)

    @classmethod
    def typed(cls, given: Mapping[str, str], visit: Visit) -> Filter:
        """Read a filter from what a person typed, and seal its text. Raises TypedWrong."""
        for name, words in _TYPED.items():
            text = given.get(name, "").strip()
            if text and not _is_meant(name, text):
                raise TypedWrong(words.format(text[:40]))
        return cls.of_form(given, visit)

    @classmethod
    def of_form(cls, given: Mapping[str, str], visit: Visit) -> Filter:
        """Read a filter from what a person typed; what it cannot mean is left out, and its text is sealed."""
        clear = given.get("wanted", "").strip()[:_LONGEST]
        sealed = _seals(visit.context.store()).seal(clear, visit.person.name) if clear else ""
        trimmed = {name: text.strip() for name, text in given.items()}
        return replace(cls.of(trimmed), text=sealed, after="")

    def clear_text(self, visit: Visit) -> str | None:
        """Return the text; None if it was sealed for another person, or is damaged."""
        if not self.text:
            return ""
        try:
            return _seals(visit.context.store()).open(self.text, visit.person.name)
        except RowsUnreadable:
            return None

    def list_filter(self, visit: Visit) -> ListFilter:
        """Return what it means, without its text."""
        project = visit.context.project()
        assigned = {"": None, ME: visit.person.name, NOBODY: ""}
        person = self.assigned.removeprefix(_OF_PERSON)
        return ListFilter(
            states=GROUPS[self.state][1],
            rules=(self.rule,) if self.rule else (),
            owner=self.owner if self.owner in filters.owners(project) else None,
            severity=Severity[self.severity] if self.severity else None,
            forms=(self.form,) if self.form in filters.forms(project) else (),
            assigned_to=assigned.get(self.assigned, person),
            older_than=dt.timedelta(days=int(self.older)) if self.older else None,
            since=_midnight(self.since, project.timezone) if self.since else None,
            at_least=_amount(self.least),
            at_most=_amount(self.most),
            probable_at_least=_probability(self.likely),
            probable_at_most=_probability(self.unlikely),
            by_probability=self.order == BY_PROBABILITY,
        )

    @property
    def fields(self) -> dict[str, str]:
        """The fields of a form that keep this filter."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @property
    def is_plain(self) -> bool:
        """True if it filters nothing but the state."""
        return self == Filter(self.state, order=self.order, after=self.after)

    @property
    def has_more(self) -> bool:
        """True if it uses fields that are folded away."""
        folded = (self.form, self.owner, self.assigned, self.older, self.since, self.least, self.most)
        return any((*folded, self.likely, self.unlikely))

    def address(self, path: str = "/review", **more: str) -> str:
        """Return the address of the queue, or of another page, with this filter."""
        given = {
            name: value
            for name, value in (self.fields | more).items()
            if value and (name, value) != ("state", "waiting")
        }
        return path + (f"?{urlencode(given)}" if given else "")

    def file(self, form: str) -> str:
        """Return the address of the file with all findings of this filter."""
        return self.address(f"/review/findings.{form}", after="")


@dataclass(frozen=True)
class FilteredFindings:
    """The findings that a filter chooses for a person, as a filter of the store.

    `text` is what the person typed; None if it cannot be read. `is_cut`: more findings match it than are chosen.
    """

    criteria: FindingFilter
    text: str | None
    is_cut: bool = False


def chosen(application: Application, tx: Transaction, visit: Visit, wanted: Filter) -> FilteredFindings:
    """Return the findings that a filter chooses; a text matches only what the list shows. Raises SearchRefused."""
    criteria, text = wanted.list_filter(visit).criteria(application, tx), wanted.clear_text(visit)
    if not text:
        return FilteredFindings(criteria, text)
    matching = search.matching(application, tx, text, criteria, limit=MOST_BY_TEXT, sees_personal=False)
    names = [finding.id for finding in matching]
    return FilteredFindings(replace(criteria, ids=tuple(names[:MOST_BY_TEXT])), text, is_cut=len(names) > MOST_BY_TEXT)


def _seals(store: Store) -> Seals:
    """Return what seals texts of filters: they may be personal data, and addresses are logged and kept by browsers."""
    return Seals([hmac.digest(store.key, b"reconcile/filter/1", "sha256")])


_TYPED = {
    "older": "`{}` is not a number of days; write it like 30",
    "since": "`{}` is not a day; write it like 2026-11-01",
    "least": "`{}` is not an amount; write it like 1500 or 1,500.00, without a currency",
    "most": "`{}` is not an amount; write it like 1500 or 1,500.00, without a currency",
    "likely": "`{}` is not a probability; write it like 90%",
    "unlikely": "`{}` is not a probability; write it like 90%",
}


def _is_meant(name: str, text: str) -> bool:
    match name:
        case "state":
            return text in GROUPS
        case "severity":
            return text in Severity.__members__
        case "assigned":
            return text in (ME, NOBODY) or text.startswith(_OF_PERSON)
        case "older":
            return _DAYS.fullmatch(text) is not None
        case "since":
            return _is_day(text)
        case "least" | "most":
            return _is_read(filters.amount_of, text)
        case "likely" | "unlikely":
            return _is_read(filters.probability_of, text)
        case "order":
            return text == BY_PROBABILITY
    return True


def _is_day(text: str) -> bool:
    try:
        return 1900 <= dt.date.fromisoformat(text).year < 3000
    except ValueError:
        return False


def _is_read(read: Callable[[str], Decimal], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def _amount(text: str) -> Decimal | None:
    return filters.amount_of(text) if text else None


def _probability(text: str) -> Decimal | None:
    return filters.probability_of(text) if text else None


def _midnight(day: str, timezone: str) -> dt.datetime:
    return dt.datetime.combine(dt.date.fromisoformat(day), dt.time(), ZoneInfo(timezone)).astimezone(dt.UTC)
