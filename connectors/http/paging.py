"""From one page of a list to the next."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from connectors.errors import FileUnreadable
from connectors.http.client import Answer, joined, origin
from connectors.http.connector import HttpDataset, HttpPaging
from connectors.http.document import MISSING, records_of, value_at
from connectors.http.errors import PagesEndless

_LINK = re.compile(r'<([^<>]*)>\s*((?:;\s*[\w*!#$&+.^`|~-]+(?:\s*=\s*(?:"[^"]*"|[^\s;,"]+))?\s*)*)(?:,|$)')
_IS_NEXT = re.compile(r';\s*rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|next)\s*(?:;|$)', re.IGNORECASE)
_WHOLE = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True)
class Page:
    """A page of the list, with its number from 1. `where` names it for people."""

    number: int
    where: str
    answer: Answer
    records: Sequence[Mapping[str, Any]]


class Pages:
    """The addresses of the pages of one list, one after the other. Each is given once."""

    def __init__(self, base: str, where: str, dataset: HttpDataset) -> None:
        """`base` is the address of the source, and `where` the list for people."""
        self.where = where
        self._dataset, self._paging = dataset, dataset.paging
        path = dataset.path.lstrip("/")
        self._list = f"{base}/{path}" if path else base
        self._received = 0
        self._given: set[str] = set()
        self.next_was_met = False
        """True once an answer had a place for the next page."""
        self.totals: list[int] = []
        """The number of all records, as each page has it."""

    def first(self) -> str:
        """The address of the first page."""
        paging = self._paging
        if paging is None or paging.by in ("cursor", "link", "next"):
            return self._noted(self._address({}))
        start = paging.first if paging.first is not None else {"page": 1, "offset": 0}[paging.by]
        self._position = start
        return self._noted(self._address({paging.parameter: str(start)}))

    def page(self, number: int, answer: Answer) -> Page:
        """The records of an answer. Raises FileUnreadable."""
        where = self.place(number)
        return Page(number, where, answer, records_of(answer.document, self._dataset.records, where))

    def place(self, number: int) -> str:
        return self.where if self._paging is None else f"{self.where}, page {number}"

    def after(self, page: Page) -> str | None:
        """The address of the page after this one; None after the last. Raises FileUnreadable, PagesEndless."""
        paging = self._paging
        if paging is None:
            return None
        self._received += len(page.records)
        total = self._total(page, paging)
        has_more = self._has_more(page, paging)
        following = {
            "cursor": self._by_cursor,
            "page": self._by_position,
            "offset": self._by_position,
            "link": self._by_link,
            "next": self._by_next,
        }[paging.by](page, paging)
        is_counted = paging.by in ("page", "offset") and total is not None and self._received >= total
        if has_more is False or is_counted:
            return None
        if following is None and has_more:
            raise FileUnreadable(
                page.where, f"`{paging.more}` says that there are more records, but not where", _PAGING
            )
        return None if following is None else self._once(following, page, paging)

    def _once(self, url: str, page: Page, paging: HttpPaging) -> str:
        """Note an address. Raises PagesEndless if it was given before, or is on another origin."""
        try:
            is_here = origin(url) == origin(self._list)
        except ValueError:
            is_here = False
        if not is_here:
            reason = "the address of the next page is on another origin"
            raise PagesEndless(
                self.where, page.number, reason, "credentials are only sent to that of `url`: correct `url`"
            )
        if url in self._given:
            what = "cursor" if paging.by == "cursor" else "address"
            reason = f"the {what} of the next page was used before, so the pages go round in circles"
            raise PagesEndless(self.where, page.number, reason, _PAGING)
        return self._noted(url)

    def _noted(self, url: str) -> str:
        self._given.add(url)
        return url

    def _address(self, added: Mapping[str, str]) -> str:
        query = urlencode({**self._dataset.params, **added})
        return f"{self._list}?{query}" if query else self._list

    def _by_cursor(self, page: Page, paging: HttpPaging) -> str | None:
        if paging.last is not None:
            if not page.records:
                return None
            cursor = value_at(page.records[-1], paging.last)
            if cursor is MISSING or not isinstance(cursor, str) or not cursor:
                reason = f"the last record has no text or number at `last: {paging.last}`"
                raise FileUnreadable(page.where, reason, _PAGING)
        else:
            cursor = self._text_at(page, paging)
        return None if cursor is None else self._address({paging.parameter: cursor})

    def _by_position(self, page: Page, paging: HttpPaging) -> str | None:
        if not page.records:
            return None
        self._position += 1 if paging.by == "page" else len(page.records)
        return self._address({paging.parameter: str(self._position)})

    def _by_link(self, page: Page, paging: HttpPaging) -> str | None:
        del paging
        header = page.answer.link
        self.next_was_met = self.next_was_met or bool(header)
        following = next((match[1] for match in _LINK.finditer(header) if _IS_NEXT.search(match[2])), None)
        return None if following is None else _joined(page.answer.url, following)

    def _by_next(self, page: Page, paging: HttpPaging) -> str | None:
        following = self._text_at(page, paging)
        return None if following is None else _joined(page.answer.url, following)

    def _text_at(self, page: Page, paging: HttpPaging) -> str | None:
        """The text at `next`; None for null, an empty text or false. Raises FileUnreadable for anything else."""
        value = value_at(page.answer.document, paging.next or "")
        self.next_was_met = self.next_was_met or value is not MISSING
        if value is MISSING or value is None or value is False or value == "":
            return None
        if not isinstance(value, str):  # numbers are texts, too
            raise FileUnreadable(page.where, f"`{paging.next}` holds no text or number", _PAGING)
        return value

    def _has_more(self, page: Page, paging: HttpPaging) -> bool | None:
        if paging.more is None:
            return None
        value = value_at(page.answer.document, paging.more)
        if not isinstance(value, bool):
            raise FileUnreadable(page.where, f"`{paging.more}` is not true or false", "correct `more`")
        return value

    def _total(self, page: Page, paging: HttpPaging) -> int | None:
        if paging.total is None:
            return None
        value = value_at(page.answer.document, paging.total)
        if not isinstance(value, str) or not _WHOLE.fullmatch(value):
            raise FileUnreadable(page.where, f"`{paging.total}` is not a number of records", "correct `total`")
        self.totals.append(int(value))
        return int(value)


_PAGING = "correct `paging`"


def _joined(url: str, reference: str) -> str:
    """The address of the next page; an empty text, which is on no origin, if it is none."""
    try:
        return joined(url, reference)
    except ValueError:
        return ""
