"""An API that answers badly: every fault is survived, or told in one sentence, and no part of a list passes for all."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from connectors.errors import ConnectorError, DatasetMissing, FileUnreadable, Reaction, ReadStopped, SourceUnavailable
from connectors.http.connector import HttpDataset
from connectors.http.errors import (
    AnswerCut,
    ApiAddressRefused,
    ApiBusy,
    ApiRefused,
    ApiTooLarge,
    ApiUnanswered,
    CertificateRefused,
    DeadlinePassed,
    ListRestless,
    NoRoom,
    PagesEndless,
    PathMissing,
    RedirectRefused,
    RequestRefused,
)
from tests.support.http_source import LIST, Pauses, opened, read, rows
from tests.support.json_api import (
    JSON_TYPE,
    Asked,
    PagedList,
    Reply,
    answer,
    certificate,
    compressed,
    head,
    reply,
    serving,
)

PAGE = {"data": {"items": [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bob"}]}}
GOOD = [{"id": "1", "name": "Ann"}, {"id": "2", "name": "Bob"}]
BODY = json.dumps(PAGE).encode()
FULL = head(200, {**JSON_TYPE, "Content-Length": str(len(BODY))})
CHUNKED = head(200, {**JSON_TYPE, "Transfer-Encoding": "chunked"})
GZIP = {**JSON_TYPE, "Content-Encoding": "gzip"}


def bomb() -> Reply:
    return reply(gzip.compress(b" " * 60_000_000), 200, GZIP)


PASSING = {
    "no answer": Reply(),
    "reset before the answer": Reply(end="reset"),
    "reset in the headers": Reply([FULL[:20]], end="reset"),
    "closed in the headers": Reply([FULL[:40]]),
    "reset in the body": Reply([FULL + BODY[:10]], end="reset"),
    "closed in the body": Reply([FULL + BODY[:10]]),
    "closed before the body": Reply([FULL]),
    "cut chunks": Reply([CHUNKED + b"8\r\n" + BODY[:8] + b"\r\n"]),
    "a chunk without a size": Reply([CHUNKED + b"none\r\n" + BODY]),
    "cut JSON of unknown length": Reply([head(200, JSON_TYPE) + BODY[:-9]]),
    "an empty body": reply(b"", 200, JSON_TYPE),
    "cut gzip": reply(gzip.compress(BODY)[:-12], 200, GZIP),
    "gzip without its checksum": reply(gzip.compress(BODY)[:-8], 200, GZIP),
    "damaged gzip": reply(b"\x1f\x8b\x08" + bytes(40), 200, GZIP),
    "no HTTP": Reply([b"SSH-2.0-OpenSSH_9.6\r\n"]),
    "a body longer than its length": reply(BODY, 200, JSON_TYPE, length=len(BODY) - 3),
    **{f"HTTP {status}": answer({"error": "canary"}, status) for status in (408, 425, 429, 500, 502, 503, 504, 529)},
    "429 with seconds": answer({}, 429, Retry_After="7"),
    "503 with a date": answer({}, 503, Retry_After="Fri, 31 Dec 1999 23:59:59 GMT"),
}
"""Faults that may pass: the request is sent again."""


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_a_fault_that_passes_costs_a_second_request(fault: Reply) -> None:
    with serving(lambda asked: fault if asked.number == 1 else answer(PAGE)) as api:
        assert read(api) == GOOD
        assert len(api.asked) == 2


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_a_fault_that_stays_is_told_after_the_last_try(fault: Reply) -> None:
    with serving(lambda _: fault) as api:
        with pytest.raises((ApiUnanswered, ApiBusy, AnswerCut)) as raised:
            read(api)

        assert len(api.asked) == 3
        assert "another 0 s" not in str(raised.value)
        assert raised.value.reaction is Reaction.RETRY
        assert f"127.0.0.1:{api.port}/orders" in str(raised.value)
        assert "canary" not in str(raised.value)


LASTING: dict[str, tuple[Reply, type[ConnectorError], str]] = {
    "a page of a login": (
        reply("<html>canary</html>", 200, {"Content-Type": "text/html"}), FileUnreadable, "not of the type JSON"),
    "no type": (reply(BODY), FileUnreadable, "not of the type JSON"),
    "another compression": (reply(BODY, 200, {**JSON_TYPE, "Content-Encoding": "br"}), FileUnreadable, "compression"),
    "an unknown charset": (
        reply(BODY, 200, {"Content-Type": "application/json; charset=klingon"}), FileUnreadable, "unknown `charset`"),
    "a charset that is no text": (
        reply(BODY, 200, {"Content-Type": "application/json; charset=rot13"}), FileUnreadable, "unknown `charset`"),
    "a wrong charset": (
        reply('{"data": {"items": [{"n": "Zoë"}]}}'.encode("latin-1"), 200, JSON_TYPE), FileUnreadable, "not utf-8"),
    "an error with 200": (
        answer({"error": {"message": "canary"}}), FileUnreadable, "no list at `records: data.items`, and has `error`"),
    "null instead of the list": (answer({"data": {"items": None}}), FileUnreadable, "no list at"),
    "the list elsewhere": (answer({"data": {"rows": [{"id": 1}]}}), FileUnreadable, "set `records: data.rows`"),
    "the list at the top": (answer([{"id": 1}]), FileUnreadable, "leave out `records`"),
    "values instead of objects": (answer({"data": {"items": [1]}}), FileUnreadable, "record 1: it is not a JSON"),
    "a key twice": (reply('{"data": {"items": [{"a": 1, "a": 2}]}}', 200, JSON_TYPE), FileUnreadable, "'a' twice"),
    "not a number": (reply('{"data": {"items": [{"a": NaN}]}}', 200, JSON_TYPE), FileUnreadable, "NaN is not JSON"),
    "a deep document": (
        reply('{"data": {"items": [{"a": ' + "[" * 50_000 + "]" * 50_000 + "}]}}", 200, JSON_TYPE),
        FileUnreadable, "nested too deeply"),
    "a quite deep record": (
        reply('{"data": {"items": [{"a": ' + "[" * 700 + "]" * 700 + "}]}}", 200, JSON_TYPE),
        FileUnreadable, "nested too deeply"),
    "half of a character": (
        reply('{"data": {"items": [{"a": "\\ud800"}]}}', 200, JSON_TYPE), FileUnreadable, "incomplete"),
    "a bomb": (bomb(), ApiTooLarge, "`max_page` allows (50,000,000)"),
    "204": (Reply([head(204, {})]), ApiUnanswered, "HTTP 204"),
    "304 unasked": (Reply([head(304, {})]), ApiUnanswered, "HTTP 304"),
    "206": (answer(PAGE, 206), ApiUnanswered, "HTTP 206"),
    "400": (answer({"error": "canary"}, 400), RequestRefused, "check `path`, `params` and `paging`"),
    "401": (answer({"error": "canary"}, 401), ApiRefused, "check `auth`"),
    "403": (answer({"error": "canary"}, 403), ApiRefused, "HTTP 403"),
    "404": (answer({"error": "canary"}, 404), PathMissing, "correct `path`"),
    "410": (answer({}, 410), PathMissing, "HTTP 410"),
    "422": (answer({}, 422), RequestRefused, "HTTP 422"),
    "451": (answer({}, 451), RequestRefused, "HTTP 451"),
    "501": (answer({}, 501), ApiUnanswered, "HTTP 501"),
    "a redirect to itself": (answer({}, 302, Location="/orders"), RedirectRefused, "in circles"),
    "a redirect without an address": (answer({}, 301), RedirectRefused, "to an invalid address"),
    "a redirect to nonsense": (answer({}, 301, Location="http://[canary/"), RedirectRefused, "to an invalid address"),
    "a redirect inside": (
        answer({}, 307, Location="http://169.254.169.254/canary"), RedirectRefused, "origin, '169.254.169.254'"),
    "a redirect to another port": (answer({}, 308, Location="http://127.0.0.1:9/"), RedirectRefused, "another origin"),
    "a redirect to https": (answer({}, 302, Location="https://127.0.0.1/"), RedirectRefused, "another origin"),
    "a redirect to a file": (answer({}, 302, Location="file:///etc/passwd"), RedirectRefused, "invalid address"),
}  # fmt: skip
"""Faults that a person has to look at: they are told at once."""


@pytest.mark.parametrize(("fault", "error", "words"), LASTING.values(), ids=LASTING)
def test_a_fault_that_lasts_is_told_at_once(fault: Reply, error: type[ConnectorError], words: str) -> None:
    with serving(lambda _: fault) as api:
        with pytest.raises(error) as raised:
            read(api)

        assert words in str(raised.value)
        assert "canary" not in str(raised.value)
        assert len(api.asked) == 1


def test_there_are_at_least_forty_faults() -> None:
    assert len(PASSING) + len(LASTING) >= 40


def test_redirects_on_the_same_origin_are_followed_but_not_for_ever() -> None:
    def hop(asked: Asked) -> Reply:
        step = int(asked.query.get("step", "0"))
        return answer(PAGE) if step == limit else answer({}, 302, Location=f"/orders?step={step + 1}")

    with serving(hop) as api:
        limit = 5
        assert read(api) == GOOD
        assert {asked.headers["host"] for asked in api.asked} == {f"127.0.0.1:{api.port}"}

        limit = 99
        with pytest.raises(RedirectRefused, match="in circles"):
            read(api)


# Time


def test_an_answer_that_drips_is_given_up_in_time() -> None:
    dripping = Reply([FULL, *(bytes([byte]) for byte in BODY)], pause=0.2)
    with serving(lambda _: dripping) as api:
        began = time.monotonic()
        with pytest.raises(ApiUnanswered, match="no answer in 1 s"):
            rows(opened(api.url, timeout=1, retries=0))

    assert time.monotonic() - began < 3


def test_a_server_that_says_nothing_is_given_up_in_time() -> None:
    with serving(lambda _: Reply(end="hang")) as api, pytest.raises(ApiUnanswered, match="no answer in 1 s"):
        rows(opened(api.url, timeout=1, retries=0))


def test_a_slow_answer_within_its_time_is_read() -> None:
    with serving(lambda _: Reply([FULL[:9], FULL[9:], BODY[:9], BODY[9:]], pause=0.05)) as api:
        assert read(api) == GOOD


@pytest.mark.parametrize(
    ("header", "pause"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 0.0),
        (lambda: format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True), 90.0),
        ("soon", 30.0),
        ("-5", 30.0),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_the_api_says_how_long_to_wait(header: str | Callable[[], str], pause: float, status: int) -> None:
    pauses, text = Pauses(), header if isinstance(header, str) else header()
    with serving(lambda asked: answer({}, status, Retry_After=text) if asked.number == 1 else answer(PAGE)) as api:
        assert rows(opened(api.url, pauses)) == GOOD

    assert sum(pauses.taken) == pytest.approx(pause, abs=2)


def test_without_a_word_the_waits_double() -> None:
    pauses = Pauses()
    with serving(lambda asked: answer({}, 503) if asked.number < 5 else answer(PAGE)) as api:
        assert rows(opened(api.url, pauses, retries=4)) == GOOD

    assert pauses.taken == [1, 2, 4, 8]


def test_waiting_ends_with_the_deadline() -> None:
    pauses = Pauses()
    busy = serving(lambda _: answer({}, 429, Retry_After="100"))
    with busy as api, pytest.raises(ApiBusy, match="another 100 s") as raised:
        rows(opened(api.url, pauses, deadline=150, retries=9))

    assert (pauses.taken, raised.value.reaction) == ([100.0], Reaction.RETRY)


def test_all_pages_have_one_deadline() -> None:
    pauses = Pauses()

    def slow(asked: Asked) -> Reply:
        pauses.now += 40
        return pages(asked)

    pages = PagedList([{"id": number} for number in range(20)], "cursor")
    with serving(slow) as api, pytest.raises(DeadlinePassed, match="more than the 3 pages"):
        rows(opened(api.url, pauses, deadline=100), paging=PagedList.PAGING["cursor"])


def test_requests_are_paced() -> None:
    pauses = Pauses()
    with serving(PagedList([{"id": number} for number in range(20)], "cursor")) as api:
        rows(opened(api.url, pauses, rate=4), paging=PagedList.PAGING["cursor"])

        assert len(api.asked) == 10
    assert sum(pauses.taken) == pytest.approx(9 / 4 * 1.05)


def test_a_read_is_stopped_from_another_thread() -> None:
    with serving(lambda _: Reply(end="hang")) as api:
        source = opened(api.url, timeout=20, retries=9)

        def answering(_: Asked) -> Reply:
            source.stop()
            return Reply(end="hang")

        api.answering = answering
        began = time.monotonic()
        with pytest.raises(ReadStopped):
            rows(source)
        assert time.monotonic() - began < 5

        api.answering = lambda _: answer(PAGE)
        assert rows(source) == GOOD


# Addresses


def test_an_address_inside_is_refused_before_anything_is_sent() -> None:
    with serving(lambda _: answer(PAGE)) as api:
        with pytest.raises(ApiAddressRefused, match=r'127\.0\.0\.1 is not .* `allow: \["127\.0\.0\.1/32"\]'):
            rows(opened(api.url, allow=[]))
        with pytest.raises(ApiAddressRefused):
            opened(api.url, allow=["10.0.0.0/8"]).datasets()

        assert api.asked == []


def test_a_name_whose_address_changes_leads_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is resolved once for a connection, and each answer of DNS is checked."""
    real, told = socket.getaddrinfo, list[str]()

    def changing(host: Any, *more: Any, **named: Any) -> Any:
        if host != "api.example":
            return real(host, *more, **named)
        told.append("127.0.0.1" if not told else "10.0.0.7")
        return real(told[-1], *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", changing)
    with serving(PagedList([{"id": number} for number in range(5)], "cursor")) as api:
        source = opened(f"http://api.example:{api.port}", insecure=True, allow=["127.0.0.1/32"])
        with pytest.raises(ApiAddressRefused, match=r"api\.example is 10\.0\.0\.7, which"):
            rows(source, paging=PagedList.PAGING["cursor"])

        assert [asked.headers["host"] for asked in api.asked] == [f"api.example:{api.port}"]
    assert told == ["127.0.0.1", "10.0.0.7"]


def test_a_name_without_an_address_and_a_closed_port_are_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ApiUnanswered, match="connection refused"):
            rows(opened(f"http://127.0.0.1:{taken.getsockname()[1]}"))
    with pytest.raises(ApiUnanswered, match="no-such-host"):
        rows(opened("http://no-such-host.invalid", insecure=True))


def test_the_environments_proxy_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with serving(lambda _: answer(PAGE)) as api:
        assert read(api) == GOOD


def test_a_certificate_that_nobody_signed_is_refused_and_a_trusted_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, file = certificate(tmp_path)
    with serving(lambda _: answer(PAGE), context) as api:
        with pytest.raises(CertificateRefused, match="SSL_CERT_FILE"):
            read(api)
        assert api.asked == []

        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        assert read(api) == GOOD
        with pytest.raises(CertificateRefused):
            rows(opened(api.url.replace("127.0.0.1", "localhost")))


def test_plain_http_to_a_port_of_tls_and_the_reverse_are_told(tmp_path: Path) -> None:
    context, _ = certificate(tmp_path)
    with serving(lambda _: answer(PAGE), context) as api, pytest.raises(ApiUnanswered):
        rows(opened(api.url.replace("https", "http"), retries=0))
    with serving(lambda _: answer(PAGE)) as api, pytest.raises(ApiUnanswered):
        rows(opened(api.url.replace("http", "https"), retries=0))


# Pages


def paged(records: list[Any], by: str, **more: Any) -> tuple[PagedList, dict[str, Any]]:
    return PagedList(records, by, **more), {"paging": dict(PagedList.PAGING[by])}


NUMBERED = [{"id": number} for number in range(7)]
IDS = [{"id": str(number)} for number in range(7)]


@pytest.mark.parametrize("by", PagedList.PAGING)
def test_a_list_is_read_to_its_end_in_each_way(by: str) -> None:
    pages, dataset = paged(NUMBERED, by)
    with serving(pages) as api:
        assert read(api, **dataset) == IDS


@pytest.mark.parametrize("by", ["cursor", "next", "link"])
def test_pages_that_lead_in_circles_are_told(by: str) -> None:
    def circling(asked: Asked) -> Reply:
        number = 0 if "after" not in asked.query else int(asked.query["after"])
        number = number or int(asked.query.get("from", "0"))
        following = (number + 1) % 4
        meta = {"next": str(following or 1) if by == "cursor" else f"/orders?from={following or 1}"}
        link = {"Link": f'</orders?from={following or 1}>; rel="next"'}
        return answer({"meta": meta, "data": {"items": [{"id": number}]}}, **link)

    with serving(circling) as api:
        with pytest.raises(PagesEndless, match=r"page 4: the (cursor|address) of the next page was used before"):
            read(api, paging=PagedList.PAGING[by])
        assert len(api.asked) == 4


def test_a_cursor_that_stays_the_same_is_told() -> None:
    with serving(lambda _: answer({**PAGE, "meta": {"next": "same"}})) as api:
        with pytest.raises((PagesEndless, ListRestless)):
            read(api, paging=PagedList.PAGING["cursor"])
        assert len(api.asked) <= 6


@pytest.mark.parametrize("by", ["page", "offset"])
def test_an_api_that_ignores_the_parameter_is_told(by: str) -> None:
    with serving(lambda _: answer(PAGE)) as api:
        with pytest.raises(PagesEndless, match=r"page 2: it is the same as page 1.*ignores the parameter"):
            read(api, paging=PagedList.PAGING[by])
        assert len(api.asked) == 6


@pytest.mark.parametrize("by", ["next", "link"])
@pytest.mark.parametrize(
    "address", ["http://169.254.169.254/canary", "//10.0.0.1/canary", "https://127.0.0.1/c", "http://["]
)
def test_the_next_page_is_only_fetched_from_the_same_origin(by: str, address: str) -> None:
    link = {"Link": f'<{address}>; rel="next"'}
    with serving(lambda _: answer({**PAGE, "meta": {"next": address}}, **link)) as api:
        with pytest.raises(PagesEndless, match="on another origin") as raised:
            read(api, paging=PagedList.PAGING[by])
        assert (len(api.asked), "canary" in str(raised.value)) == (1, False)


def test_a_hostile_link_header_is_read_in_time() -> None:
    hostile = "<x>" + "; a  =  b  " * 2_000 + "; " + "<" * 2_000 + '"; rel="' + " next" * 2_000
    with serving(lambda _: answer(PAGE, Link=hostile)) as api:
        began = time.process_time()
        assert read(api, paging={**PagedList.PAGING["link"], "total": None}) == GOOD
        assert time.process_time() - began < 2


def test_a_redirect_with_blanks_is_followed() -> None:
    with serving(lambda asked: answer(PAGE) if asked.query else answer({}, 302, Location="/orders?a=b c")) as api:
        assert read(api) == GOOD
        assert api.asked[-1].query == {"a": "b c"}


def test_an_empty_page_in_the_middle_does_not_end_a_list_with_cursors() -> None:
    pages = {"": ([{"id": 1}], "b"), "b": ([], "c"), "c": ([{"id": 2}], None)}

    def sparse(asked: Asked) -> Reply:
        items, following = pages[asked.query.get("after", "")]
        return answer({"meta": {"next": following}, "data": {"items": items}})

    with serving(sparse) as api:
        assert read(api, paging=PagedList.PAGING["cursor"]) == [{"id": "1"}, {"id": "2"}]


def test_an_empty_page_before_the_total_is_told() -> None:
    def broken(asked: Asked) -> Reply:
        return answer({"meta": {"total": 9}, "data": {"items": [{"id": 1}] if asked.query["p"] == "1" else []}})

    with serving(broken) as api, pytest.raises(ListRestless, match=r"`meta.total` is 9, but 1 came"):
        read(api, paging={**PagedList.PAGING["page"], "total": "meta.total"})


def test_a_short_page_does_not_end_the_list() -> None:
    def filtered(asked: Asked) -> Reply:
        items = {"1": [{"id": 1}, {"id": 2}], "2": [{"id": 3}], "3": [{"id": 4}, {"id": 5}]}.get(asked.query["p"], [])
        return answer({"data": {"items": items}})

    with serving(filtered) as api:
        assert len(read(api, paging=PagedList.PAGING["page"])) == 5


def test_more_ends_a_list_and_must_be_a_boolean() -> None:
    def stripe(asked: Asked) -> Reply:
        start = int(asked.query.get("starting_after", "0"))
        return answer({"has_more": more if more is not None else start < 4, "data": {"items": [{"id": start + 1}]}})

    paging = {"by": "cursor", "param": "starting_after", "last": "id", "more": "has_more"}
    with serving(stripe) as api:
        more: Any = None
        assert [row["id"] for row in read(api, paging=paging)] == ["1", "2", "3", "4", "5"]
        assert [asked.query.get("starting_after") for asked in api.asked] == [None, "1", "2", "3", "4"]

        more = "yes"
        with pytest.raises(FileUnreadable, match="`has_more` is not true or false"):
            read(api, paging=paging)


def test_more_records_without_a_place_are_told() -> None:
    with (
        serving(lambda _: answer({**PAGE, "meta": {"more": True}})) as api,
        pytest.raises(FileUnreadable, match="more records, but not where"),
    ):
        read(api, paging={**PagedList.PAGING["cursor"], "more": "meta.more"})


@pytest.mark.parametrize("record", [{}, {"id": None}, {"id": {"a": 1}}, {"id": ""}])
def test_a_last_record_without_its_cursor_is_told(record: dict[str, Any]) -> None:
    with (
        serving(lambda _: answer({"data": {"items": [record]}})) as api,
        pytest.raises(FileUnreadable, match="no text or number at `last: id`"),
    ):
        read(api, paging={"by": "cursor", "param": "a", "last": "id"})


@pytest.mark.parametrize("value", [{"a": 1}, ["x"], True])
def test_a_next_that_is_no_text_is_told(value: Any) -> None:
    with (
        serving(lambda _: answer({**PAGE, "meta": {"next": value}})) as api,
        pytest.raises(FileUnreadable, match=r"`meta\.next` holds no text or number"),
    ):
        read(api, paging=PagedList.PAGING["cursor"])


def test_too_many_pages_and_bytes_are_refused() -> None:
    pages, dataset = paged([{"id": number, "text": "x" * 500} for number in range(20)], "cursor")
    with serving(pages) as api:
        with pytest.raises(ApiTooLarge, match=r"more pages than `max_pages` allows \(3\)"):
            rows(opened(api.url, max_pages=3), **dataset)
        with pytest.raises(ApiTooLarge, match=r"more bytes than `max_bytes` allows \(3,000\)"):
            rows(opened(api.url, max_bytes=3_000), **dataset)
        with pytest.raises(ApiTooLarge, match=r"a page with more bytes than `max_page` allows \(1,000\)"):
            rows(opened(api.url, max_page=1_000), **dataset)


# People who work while we read


class Office:
    """Does something before the request of that number."""

    def __init__(self, at: set[int] | None, do: Callable[[], None]) -> None:
        self.at, self.do = at, do

    def __call__(self, asked: Asked) -> None:
        if self.at is None or asked.number in self.at:
            self.do()


def ids(found: list[dict[str, Any]]) -> list[int]:
    return sorted(int(row["id"]) for row in found)


@pytest.mark.parametrize("by", ["page", "offset", "link", "next"])
def test_a_record_that_an_insertion_moves_to_the_next_page_is_used_once_and_told(by: str) -> None:
    records = [{"id": number} for number in range(6)]
    pages, dataset = paged(records, by, before=Office({2}, lambda: records.insert(0, {"id": 99})))
    with serving(pages) as api:
        source = opened(api.url)
        chosen = HttpDataset.model_validate({**LIST, **dataset, "id": ["id"]})
        read_ids = ids(rows(source, "id", **dataset, id=["id"]))
        again = ids(rows(source, "id", **dataset, id=["id"]))

        assert read_ids == again == [0, 1, 2, 3, 4, 5, 99]
        assert source.warnings(chosen, ["id"]) == ()


def test_a_record_that_comes_twice_where_pages_are_not_read_again_is_used_once_and_told() -> None:
    records = [{"id": number} for number in range(6)]
    pages, dataset = paged(records, "offset", before=Office({2}, lambda: records.insert(0, {"id": 99})))
    dataset["paging"]["twice"] = False
    with serving(pages) as api:
        source = opened(api.url)
        chosen = HttpDataset.model_validate({**LIST, **dataset, "id": ["id"]})
        read_ids = ids(rows(source, "id", **dataset, id=["id"]))
        [warning] = source.warnings(chosen, ["id"])

    assert read_ids == [0, 1, 2, 3, 4, 5]
    assert warning.reason.startswith("1 record came again on a later page")


@pytest.mark.parametrize("by", ["page", "offset", "link", "next"])
@pytest.mark.parametrize("has_id", [True, False])
def test_a_record_that_a_deletion_moves_past_us_is_found(by: str, has_id: bool) -> None:
    records = [{"id": number} for number in range(6)]
    pages, dataset = paged(records, by, before=Office({2}, lambda: records.pop(0)))
    with serving(pages) as api:
        assert ids(read(api, "id", **dataset, id=["id"] if has_id else [])) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("by", PagedList.PAGING)
def test_a_total_that_changes_makes_the_list_be_read_again(by: str) -> None:
    records = [{"id": number} for number in range(6)]
    pages, dataset = paged(records, by, before=Office({2}, lambda: records.pop(0)))
    dataset["paging"]["total"] = "meta.total"
    with serving(pages) as api:
        assert ids(read(api, "id", **dataset, id=["id"])) == [1, 2, 3, 4, 5]
        assert len(api.asked) <= 7


def test_a_record_that_is_deleted_after_it_was_read_is_not_used() -> None:
    """No other record moves, as cursors name the last record: only the total tells."""
    records = [{"id": number} for number in range(1, 7)]

    def keyset(asked: Asked) -> Reply:
        if asked.number == 2:
            records.pop(0)
        after = int(asked.query.get("after", "0"))
        return answer({"total": len(records), "data": {"items": [r for r in records if r["id"] > after][:2]}})

    with serving(keyset) as api:
        paging = {"by": "cursor", "param": "after", "last": "id", "total": "total"}
        assert ids(read(api, "id", paging=paging, id=["id"])) == [2, 3, 4, 5, 6]


def test_a_total_that_stays_saves_the_second_reading() -> None:
    pages, dataset = paged(NUMBERED, "offset")
    dataset["paging"]["total"] = "meta.total"
    with serving(pages) as api:
        assert read(api, **dataset) == IDS
        assert len(api.asked) == 4


@pytest.mark.parametrize("value", [None, "many", 1.5, {"n": 1}])
def test_a_total_that_is_no_number_is_told(value: Any) -> None:
    with (
        serving(lambda _: answer({**PAGE, "meta": {"total": value}})) as api,
        pytest.raises(FileUnreadable, match=r"`meta\.total` is not a number"),
    ):
        read(api, paging={**PagedList.PAGING["page"], "total": "meta.total"})


@pytest.mark.parametrize("by", ["page", "offset"])
def test_a_list_that_never_rests_is_told(by: str) -> None:
    records = [{"id": number} for number in range(9)]
    pages, dataset = paged(records, by, before=Office(None, lambda: records.append({"id": len(records)})))
    with serving(pages) as api:
        pages.size = 3
        with pytest.raises((ListRestless, ApiTooLarge)) as raised:
            rows(opened(api.url, max_pages=9), **dataset)

    assert "None of it was used" in str(raised.value)


def test_a_record_that_changes_between_two_pages_makes_the_list_be_read_again() -> None:
    records: list[dict[str, Any]] = [{"id": number, "name": "old"} for number in range(6)]

    def touch() -> None:
        records.append({**records.pop(0), "name": "new"})

    pages, dataset = paged(records, "cursor", before=Office({2}, touch))
    with serving(pages) as api:
        found = read(api, **dataset, id=["id"])

    assert [row["name"] for row in found if row["id"] == "0"] == ["new"]
    assert ids(found) == [0, 1, 2, 3, 4, 5]


def test_an_id_that_two_records_share_is_told_and_nothing_is_dropped() -> None:
    records = [{"id": number // 4, "name": number} for number in range(6)]
    pages, dataset = paged(records, "cursor")
    with serving(pages) as api:
        with pytest.raises(ListRestless, match="if they are two records, correct `id`"):
            read(api, **dataset, id=["id"])
        assert len(read(api, **dataset)) == 6


def test_equal_records_without_an_id_are_all_kept() -> None:
    pages, dataset = paged([{"name": "Ann"}] * 3 + [{"name": "Bob"}] * 2, "cursor", size=3)
    with serving(pages) as api:
        assert len(read(api, **dataset)) == 5


@pytest.mark.parametrize("by", PagedList.PAGING)
def test_pages_of_equal_records_are_no_circle(by: str) -> None:
    pages, dataset = paged([{"name": "Ann"}] * 6, by)
    with serving(pages) as api:
        assert len(read(api, **dataset)) == 6


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    with serving(lambda _: answer(PAGE)) as api:
        monkeypatch.setattr("tempfile.TemporaryFile", full)
        with pytest.raises(NoRoom, match="no space left on device"):
            read(api)


def test_a_fault_in_the_last_page_leaves_no_part_of_the_list() -> None:
    pages, dataset = paged(NUMBERED, "cursor")
    with serving(lambda asked: answer({}, 500) if asked.query.get("after") == "6" else pages(asked)) as api:
        source = opened(api.url)
        with pytest.raises(SourceUnavailable, match=r"page 4"):
            rows(source, **dataset)

        api.answering = pages
        assert rows(source, **dataset) == IDS


def test_compressed_pages_are_read() -> None:
    with serving(lambda _: compressed(PAGE)) as api:
        assert read(api) == GOOD
        assert api.asked[0].headers["accept-encoding"] == "gzip"


def test_a_path_that_is_missing_is_a_missing_dataset() -> None:
    with serving(lambda _: answer({}, 404)) as api, pytest.raises(DatasetMissing, match="/orders"):
        read(api)
