"""All records of a list, page by page, in a temporary file; and whether the list stood still meanwhile.

An API promises nothing about a list that changes while its pages are read: a record that somebody inserts moves the
others, so that one comes twice; one that is deleted moves another past us. So:

- a record that comes again on a later page, with the same `id` and content, is used once; with another content, all
  pages are listed again
- if the API names the `total`, it must stay the same, and so many records must have come
- else, unless pages follow each other by a cursor, the list is read a second time, and both must have the same records

If that fails as often as we try, nothing of it is used.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from connectors.errors import ConnectorError, FileUnreadable
from connectors.files.json.exploded import Exploding
from connectors.files.json.located import Located
from connectors.files.json.values import TOO_DEEP, at
from connectors.files.left_out import NONE, MalformedRecords
from connectors.headers import OURS
from connectors.http.client import Answer, FormerPage, HttpClient, OutOfTime
from connectors.http.connector import HttpDataset, HttpSettings
from connectors.http.document import parsed, records_of
from connectors.http.errors import ApiTooLarge, DeadlinePassed, ListRestless, NoRoom, PagesEndless
from connectors.http.paging import Page, Pages

LISTINGS = 3
"""How often a list that changes is read."""
_DIGEST = 16


@dataclass(frozen=True)
class StoredPage:
    """A page in the file. `left_out` are the positions of its records that came before."""

    answer: Answer
    where: str
    start: int
    length: int
    left_out: frozenset[int]


@dataclass
class Listing:
    """The records of a list as they came: a layout for `connectors.files.json.reader.JsonFile`."""

    name: str
    records: str | None
    pages: list[StoredPage] = field(default_factory=list)
    repeated: int = 0
    """The number of records that were left out, because they came before."""
    only_first: bool = False
    """True if the list has one page although it may have more: no answer had a place for the next page."""
    read_at: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))
    left_out: ClassVar[MalformedRecords] = NONE

    def __post_init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with the last reader
        weakref.finalize(self, self._file.close)
        self._content = hashlib.sha256()
        self._count = 0

    def add(self, page: Page, left_out: frozenset[int], content: bytes) -> int:
        """Store a page; returns the bytes of all pages. Raises OSError."""
        text = page.answer.text.encode("utf-8")
        start = self._file.tell()
        self._file.write(text)
        slim = Answer(page.answer.url, "", None, page.answer.link, page.answer.etag)
        self.pages.append(StoredPage(slim, page.where, start, len(text), left_out))
        self._content.update(content)
        self._count += len(page.records) - len(left_out)
        self.repeated += len(left_out)
        return start + len(text)

    def end(self) -> None:
        """Let readers see everything. Raises OSError."""
        self._file.flush()

    @property
    def content(self) -> str:
        """A digest of all records, in their order."""
        return self._content.hexdigest()

    def located(self) -> Iterator[Located]:
        """Yield the records, with their number in the list from 1, and that of their page."""
        number = 0
        for page_number, page in enumerate(self.pages, 1):
            document = parsed(self.text(page), page.where)
            for position, record in enumerate(records_of(document, self.records, page.where)):
                if position not in page.left_out:
                    number += 1
                    yield Located(number, page_number, record)

    def place(self, located: Located) -> str:
        return f"{self.pages[located.line - 1].where}, record {located.number}"

    def count(self) -> int:
        return self._count

    def text(self, page: StoredPage) -> str:
        return os.pread(self._file.fileno(), page.length, page.start).decode("utf-8")

    def tagged(self) -> dict[str, FormerPage]:
        """The pages that the API can call unchanged, by their address."""
        return {
            page.answer.url: FormerPage(page.answer.etag, lambda page=page: self.text(page), page.answer.link)  # type: ignore[misc]
            for page in self.pages
            if page.answer.etag is not None
        }


class _Restless(Exception):
    """The list changed while it was read; the text is a clause for people."""


class _SamePage(_Restless):
    """A page came twice; perhaps the API does not know the parameter that differs."""

    def __init__(self, page: int, earlier: int) -> None:
        super().__init__(f"page {page} is the same as page {earlier}")
        self.page, self.earlier = page, earlier


@dataclass
class _Seen:
    """The records of the pages so far, as digests: of each id that of the content and its page."""

    ids: dict[bytes, tuple[bytes, int]] = field(default_factory=dict)
    names: dict[bytes, int] = field(default_factory=dict)
    """How often each record came, by the digest of its id, or of its content without one."""
    count: int = 0


class Lister:
    """Reads a list as often as needed to have all of its records at one time."""

    def __init__(self, client: HttpClient, settings: HttpSettings, dataset: HttpDataset, where: str) -> None:
        self._client, self._settings, self._dataset, self._where = client, settings, dataset, where
        self._exploding = None if dataset.explode is None else Exploding(dataset.explode)
        self._until = client.clock() + settings.deadline
        self._pages_read = 0

    def read(self, former: Mapping[str, FormerPage]) -> Listing:
        """Read the list. `former` are pages of an earlier listing. Raises a ConnectorError."""
        restless, before = _Restless("records came or went"), dict[bytes, int]()
        has_before = False
        for _ in range(LISTINGS):
            try:
                listing, names, is_verified = self._once(former)
            except _Restless as change:
                restless, has_before = change, False
                continue
            except OutOfTime:
                raise DeadlinePassed(
                    self._client.name, self._where, self._pages_read, self._settings.deadline
                ) from None
            except RecursionError:
                raise FileUnreadable(self._where, TOO_DEEP[0], "read less by `params`") from None
            except OSError as error:
                raise NoRoom(self._client.name, (error.strerror or type(error).__name__).lower()) from None
            if is_verified or not self._reads_twice(listing) or (has_before and names == before):
                return listing
            before, has_before, former = names, True, {**former, **listing.tagged()}
        raise self._refusal(restless)

    def _refusal(self, restless: _Restless) -> ConnectorError:
        if isinstance(restless, _SamePage):
            remedy = "perhaps the API ignores the parameter that differs between pages: correct `paging`, or set `id`"
            return PagesEndless(self._where, restless.page, f"it is the same as page {restless.earlier}", remedy)
        return ListRestless(self._client.name, self._where, str(restless), self._remedy())

    def _reads_twice(self, listing: Listing) -> bool:
        paging = self._dataset.paging
        if paging is None or len(listing.pages) < 2:
            return False
        return paging.by != "cursor" if paging.twice is None else paging.twice

    def _remedy(self) -> str:
        stable = "read it at a quieter time, or give it a stable order by `params`"
        return stable if self._dataset.id else f"{stable}, or set `id`, so that records are recognised by it"

    def _once(self, former: Mapping[str, FormerPage]) -> tuple[Listing, dict[bytes, int], bool]:
        """List all pages once: the records, how often each came, and if the total proves that there are no others."""
        pages = Pages(self._settings.url, self._where, self._dataset)
        listing, seen = Listing(self._where, self._dataset.records), _Seen()
        earlier: dict[bytes, int] = {}
        url: str | None = pages.first()
        self._pages_read = 0
        while url is not None:
            number = len(listing.pages) + 1
            if number > self._settings.max_pages:
                raise ApiTooLarge(self._where, self._settings.max_pages, "max_pages")
            answer = self._client.get(url, pages.place(number), self._until, former.get(url))
            self._pages_read = number
            page = pages.page(number, answer)
            records = [_digest(record) for record in page.records]
            content = hashlib.blake2b(b"".join(records), digest_size=_DIGEST).digest()
            if content in earlier and self._tells_apart(page):
                raise _SamePage(number, earlier[content])
            earlier[content] = number
            left_out = self._repeated(page, records, seen)
            if listing.add(page, left_out, content) > self._settings.max_bytes:
                raise ApiTooLarge(self._where, self._settings.max_bytes, "max_bytes")
            url = pages.after(page)
        listing.end()
        has_next = self._dataset.paging is not None and self._dataset.paging.by in ("cursor", "link", "next")
        names_next = has_next and not (self._dataset.paging and self._dataset.paging.last)
        listing.only_first = bool(names_next and not pages.next_was_met and not pages.totals and listing.count())
        return listing, seen.names, self._is_complete(pages.totals, listing)

    def _tells_apart(self, page: Page) -> bool:
        """Return False for a page that another one may equal: of records that are alike, or of none."""
        where = page.where
        return any(self._ids(record, where) for record in page.records) or any(
            record != page.records[0] for record in page.records
        )

    def _is_complete(self, totals: list[int], listing: Listing) -> bool:
        """Return True if the total says so. Raises _Restless if it contradicts."""
        if not totals:
            return False
        if min(totals) != max(totals):
            raise _Restless(f"`{self._total}` went from {totals[0]:,} to {totals[-1]:,}")
        if listing.count() != totals[0]:
            raise _Restless(f"`{self._total}` is {totals[0]:,}, but {listing.count():,} came")
        return True

    @property
    def _total(self) -> str | None:
        return self._dataset.paging.total if self._dataset.paging is not None else None

    def _repeated(self, page: Page, contents: Sequence[bytes], seen: _Seen) -> frozenset[int]:
        """The positions of the records that came on an earlier page. Raises _Restless if they changed since."""
        if self._dataset.paging is None:
            return frozenset()
        left_out = set()
        for position, (record, content) in enumerate(zip(page.records, contents, strict=True)):
            ids = self._ids(record, f"{page.where}, record {position + 1}")
            before = [seen.ids[each] for each in ids if each in seen.ids and seen.ids[each][1] < page.number]
            if before:
                if len(before) < len(ids) or any(digest != content for digest, _ in before):
                    raise _Restless(
                        f"a record of page {before[0][1]} came again on page {page.number}, with other values; if they "
                        "are two records, correct `id`"
                    )
                left_out.add(position)
                continue
            for each in ids:
                seen.ids.setdefault(each, (content, page.number))
            for each in ids or [content]:
                seen.names[each] = seen.names.get(each, 0) + 1
        return frozenset(left_out)

    def _ids(self, record: Mapping[str, Any], where: str) -> list[bytes]:
        """The digests of the ids of a record, or of those of its elements; none without a complete id in it."""
        names = self._dataset.id
        if not names or not {*OURS}.isdisjoint(names):
            return []
        located = Located(1, 1, record)
        parts = [located] if self._exploding is None else list(self._exploding.records(located, lambda _: where))
        ids = []
        for part in parts:
            values = [part.record[name] if name in part.record else at(part.record, name.split(".")) for name in names]
            if any(value is None or value == "" for value in values):
                return []
            ids.append(_digest(values))
        return ids


def _digest(value: Any) -> bytes:
    return hashlib.blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()
