"""What a stranger may send: it costs little, in proportion to its size, is never parsed early, and leaves nothing."""

import json
import os
import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from reconcile.people import sessions, tokens
from reconcile.telemetry import defects
from reconcile.web.api import description
from reconcile.web.multipart import MOST_PARTS, parts_of
from tests.support.web import PII, Browser, Page, Site, cheap_hashes, site_of
from tests.support.world import World

__all__ = ["cheap_hashes"]

ROWS = ((1, "anna.secret@x", "Anna"), (2, "anna.secret@x", "Ann"))
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=X"
HEAD = '--X\r\nContent-Disposition: form-data; name="{}"\r\n\r\n'
END = "\r\n--X--\r\n"
SIZE = 120_000
"""Bytes of the smaller of two bodies whose costs are compared."""
LONGEST = 0.5
"""Seconds of the processor for any request of a stranger, on a slow machine."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    world = World.at(tmp_path_factory.mktemp("strangers") / "w", *ROWS, twins={"clean": {"action": "delete"}})
    world.config["datasets"] = {"customers": PII}
    world.run()
    with site_of(world) as site:
        yield site


BODIES: dict[str, tuple[str, Callable[[int], str]]] = {
    "quoted parameter": (MULTIPART, lambda size: HEAD.format('\\"' * (size // 2)) + END),
    "parts without a head": (MULTIPART, lambda size: "--X\r\n\r\n\r\n" * (size // 9) + "--X--\r\n"),
    "small parts": (MULTIPART, lambda size: (HEAD.format("a") + "b\r\n") * (size // 54) + "--X--\r\n"),
    "many heads": (MULTIPART, lambda size: "--X\r\n" + "a: b\r\n" * (size // 6) + END),
    "folded head": (MULTIPART, lambda size: "--X\r\na: b" + "\r\n " * (size // 3) + END),
    "almost boundaries": (MULTIPART, lambda size: HEAD.format("a") + "\r\n--" * (size // 4) + END),
    "line ends": (MULTIPART, lambda size: "\r\n" * (size // 2)),
    "fields": (FORM, lambda size: "a=b&" * (size // 4)),
    "ampersands": (FORM, lambda size: "&" * size),
    "escapes": (FORM, lambda size: "a=" + "%41" * (size // 3)),
    "broken escapes": (FORM, lambda size: "a=" + "%" * size),
    "plus signs": (FORM, lambda size: "csrf=" + "+" * size),
    "JSON arrays": ("application/json", lambda size: "[" * size),
    "JSON of small objects": ("application/json", lambda size: "[" + "{}," * (size // 3) + "{}]"),
    "JSON digits": ("application/json", lambda size: "1" * size),
    "JSON keys": ("application/json", lambda size: '{"a":' * (size // 6) + "1" + "}" * (size // 6)),
    "an unknown type": ("text/plain", lambda size: "x" * size),
}
PATHS = ("/sign-in", "/welcome", "/review/file", "/search", "/slack/interactions", "/api/v1/decisions", "/nowhere")


def cost(browser: Browser, path: str, kind: str, body: str) -> tuple[float, Page]:
    """Seconds of the processor that the whole process took for a request, the least of three."""
    taken = []
    for _ in range(3):
        begun = time.process_time()
        page = browser.ask("POST", path, body, **{"Content-Type": kind})
        taken.append(time.process_time() - begun)
    return min(taken), page


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_what_a_stranger_posts_costs_in_proportion_to_its_size(site: Site, path: str) -> None:
    browser = site.browser()
    browser.get("/sign-in")  # with the cookie of the form, so that the form is looked at

    for name, (kind, body) in BODIES.items():
        once, _ = cost(browser, path, kind, body(SIZE))
        twice, page = cost(browser, path, kind, body(2 * SIZE))

        assert page.status < 500, (name, page.status)
        assert twice < LONGEST, (name, twice)
        assert twice < 3 * max(once, 0.01), (name, once, twice)


@pytest.mark.slow
def test_what_heads_hold_costs_in_proportion_to_its_size(site: Site) -> None:
    browser = site.browser()
    heads: dict[str, Callable[[int], tuple[str, dict[str, str]]]] = {
        "query": lambda size: ("/sign-in?next=/" + "%41" * (size // 3), {}),
        "parameters": lambda size: ("/api/v1/findings?" + "a=b&" * (size // 4), {}),
        "path": lambda size: ("/" + "a/" * (size // 2), {}),
        "escaped path": lambda size: ("/findings/" + "%2e" * (size // 3), {}),
        "cookies": lambda size: ("/", {"Cookie": "a=b; " * (size // 5)}),
        "quoted cookie": lambda size: ("/", {"Cookie": 'reconcile="' + "\\" * size}),
        "quoted type": lambda size: ("/sign-in", {"Content-Type": 'multipart/form-data; a="' + '\\"' * (size // 2)}),
        "token": lambda size: ("/api/v1/me", {"Authorization": "Bearer " + "r" * size}),
        "origin": lambda size: ("/sign-in", {"Origin": "http://[" + ":" * size}),
        "forwarded": lambda size: ("/sign-in", {"X-Forwarded-For": "1," * (size // 2)}),
    }
    for name, head in heads.items():
        taken = []
        for size in (3_500, 7_000):
            path, headers = head(size)
            begun = time.process_time()
            for _ in range(3):
                assert browser.ask("POST", path, "", **headers).status < 500, name
            taken.append(time.process_time() - begun)

        assert taken[1] < 3 * max(taken[0], 0.03), (name, taken)


def test_a_form_with_a_file_of_a_stranger_is_not_parsed_and_others_are_served_meanwhile(site: Site) -> None:
    bomb = BODIES["quoted parameter"][1](900_000)
    begun = time.monotonic()

    refused = site.browser().ask("POST", "/review/file", bomb, **{"Content-Type": MULTIPART})

    assert (refused.status, time.monotonic() - begun < 2) == (401, True)


@pytest.mark.parametrize("path", ["/review/decide", "/search", "/account/password"])
def test_a_form_with_a_file_is_read_only_where_a_file_is_expected(site: Site, path: str) -> None:
    browser = site.browser("bob")
    body = HEAD.format("csrf") + browser.csrf("/review") + END

    assert browser.ask("POST", path, body, **{"Content-Type": MULTIPART}).status == 403


def test_a_body_is_read_only_of_somebody_who_may_use_the_route(site: Site) -> None:
    viewer = site.browser()
    with site.store.begin() as tx:
        viewer.headers["Authorization"] = f"Bearer {tokens.add(tx, 'of-vic', 'vic', by='ada')}"
    kind = {"Content-Type": "application/json"}

    stranger = site.browser().ask("POST", "/api/v1/decisions", "{", **kind)
    too_low = viewer.ask("POST", "/api/v1/decisions", "{", **kind)
    allowed = viewer.ask("POST", "/api/v1/findings/search", "{", **kind)

    assert (stranger.status, too_low.status, allowed.status) == (401, 403, 422)


def test_a_form_of_a_stranger_is_small(site: Site) -> None:
    browser = site.browser()

    answer = browser.sign_in("bob", note="x" * 70_000)

    assert (answer.status, "no longer valid" in answer.text) == (403, True)


@pytest.mark.parametrize(
    "body",
    [
        "".join(f"{HEAD.format('a')}b\r\n" for _ in range(MOST_PARTS + 1)) + "--X--\r\n",
        HEAD.format("a" * 2_000) + END,
        "--X\r\n" + "a: b\r\n" * 20 + "\r\nx" + END,
        HEAD.format("\xff") + END,
        HEAD.format("a") + "the end is missing",
    ],
)
def test_a_form_with_a_file_has_limits_on_its_parts_and_heads(body: str) -> None:
    with pytest.raises(ValueError, match=r"part|head|body|boundar|decode"):
        parts_of(MULTIPART, body.encode("latin-1"))


# Reports of defects


@contextmanager
def temporary_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[Path]]]:
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield lambda: sorted(folder.glob("reconcile-defect-*"))


def failure(number: int) -> Exception:
    """An error whose traceback is its own."""
    try:
        exec(f"def fail_{number}(): raise KeyError\nfail_{number}()", {})  # noqa: S102 - a function of another name
    except KeyError as error:
        return error
    raise AssertionError


def test_the_same_defect_again_is_reported_in_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with temporary_folder(tmp_path / "tmp", monkeypatch) as reports:
        sentences = {defects.sentence(failure(1)) for _ in range(5)}
        another = defects.sentence(failure(2))

        assert (len(sentences), len(reports())) == (1, 2)
        assert str(reports()[0]) in "".join([*sentences, another])


def test_reports_are_limited_by_number_and_age(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with temporary_folder(tmp_path / "tmp", monkeypatch) as reports:
        defects.sentence(failure(0))
        [old] = reports()
        os.utime(old, (0, 0))
        kept = tmp_path / "tmp" / "notes.txt"
        kept.touch()

        for number in range(1, defects.KEPT + 10):
            last = defects.sentence(failure(number))

        assert (len(reports()), old.exists(), kept.exists()) == (defects.KEPT, False, True)
        assert any(str(report) in last for report in reports())


@pytest.mark.slow
def test_no_bytes_of_a_stranger_make_an_error_of_ours(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(27)
    pieces = [
        *(
            b"GET",
            b"POST",
            b"HEAD",
            b" ",
            b"/",
            b"//[",
            b"?",
            b"%00",
            b"%ff",
            b"\xff",
            b"\x00",
            b"..",
            b";",
            b"#",
            b"\\",
        ),
        *(
            b"/sign-in",
            b"/welcome",
            b"/findings/",
            b"/api/v1/findings",
            b"/slack/interactions",
            b"/static/",
            b"/review/file",
        ),
        *(
            b" HTTP/1.1\r\n",
            b" HTTP/1.0\r\n",
            b"\r\n",
            b"\n",
            b": ",
            b"Host: 127.0.0.1",
            b"Origin: http://[",
            b"Cookie: ",
        ),
        *(b"reconcile=", b'"\\101', b"Content-Type: ", MULTIPART.encode(), FORM.encode(), b"application/json", b"--X"),
        *(
            b"Content-Length: 9",
            b"Authorization: Bearer ",
            b"rct_",
            b"csrf=%ed%a0%80&",
            b'{"a":',
            b"[",
            b"1e999",
            b"\xed\xa0\x80",
        ),
        *(b"Sec-Fetch-Site: ", b"X-Slack-Signature: v0=", b"X-Slack-Request-Timestamp: ", b"9" * 5_000, b"nan"),
    ]
    host, _, port = site.listener.address.rpartition(":")
    with temporary_folder(tmp_path / "tmp", monkeypatch) as reports:
        until = time.monotonic() + 4
        while time.monotonic() < until:
            with socket.create_connection((host, int(port)), timeout=10) as raw:
                method = chance.choice([b"GET ", b"POST "])
                start = chance.choice([b"", method + chance.choice(pieces[:22])])
                raw.sendall(start + b"".join(chance.choices(pieces, k=chance.randint(1, 20))) + b"\r\n\r\n")
                answer = b""
                with suppress(OSError):  # a server that has answered may be gone
                    raw.shutdown(socket.SHUT_WR)
                    answer = b"".join(iter(lambda: raw.recv(65_536), b""))
            assert not answer.startswith((b"HTTP/1.1 5", b"HTTP/1.0 5")), answer[:300]
        assert reports() == []


# Behind a proxy, and what everybody may read


def test_the_limit_of_attempts_holds_behind_a_proxy_that_adds_a_line_of_its_own(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *ROWS, twins={})
    with site_of(world, proxies=["127.0.0.1/32"]) as site:
        for number in range(sessions.OF_NAME_AND_ADDRESS + 1):
            refused = _attempt(site, f"198.51.100.{number}", f"203.0.113.7:{50_000 + number}")
        victim = _attempt(site, "203.0.113.8")

    assert (refused, victim) == (429, 401)


def test_a_host_with_an_ipv6_network_has_the_attempts_of_one_address(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *ROWS, twins={})
    with site_of(world, proxies=["127.0.0.1/32"]) as site:
        for number in range(sessions.OF_NAME_AND_ADDRESS + 1):
            refused = _attempt(site, f"2001:db8:1:2::{number:x}")
        neighbour = _attempt(site, "[2001:db8:1:3::1]:443")

    assert (refused, neighbour) == (429, 401)


def _attempt(site: Site, *forwarded: str) -> int:
    """Return the status of a wrong password; each address is a line `X-Forwarded-For` of its own."""
    browser = site.browser()
    body = f"csrf={browser.csrf('/sign-in')}&name=bob&password=wrong"
    cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    lines = ["POST /sign-in HTTP/1.1", "Host: 127.0.0.1", f"Cookie: {cookies}", f"Content-Type: {FORM}"]
    lines += [f"Content-Length: {len(body)}", *(f"X-Forwarded-For: {address}" for address in forwarded)]
    return _status(site, "\r\n".join([*lines, "", body]))


def _status(site: Site, request: str) -> int:
    host, _, port = site.listener.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as raw:
        raw.sendall(request.encode())
        return int(b"".join(iter(lambda: raw.recv(65_536), b"")).split(b" ")[1])


def test_a_user_that_the_proxy_names_twice_is_nobody(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *ROWS, twins={})
    with site_of(world, proxies=["127.0.0.1/32"], user_header="X-Remote-User") as site:
        asked = [
            _status(
                site,
                "\r\n".join(["GET / HTTP/1.1", "Host: 127.0.0.1", *map("X-Remote-User: {}".format, names), "", ""]),
            )
            for names in (["bob"], ["ada", "bob"], ["bob", "bob"], ["ada,bob"])
        ]

    assert asked == [200, 303, 303, 303]


def test_the_description_is_built_once_however_many_ask(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = site.browser()
    first = browser.get(description.PATH)
    monkeypatch.delattr(description, "get_openapi")  # nothing can build another

    again = browser.get(description.PATH)

    assert json.loads(first.body)["openapi"]
    assert again.body == first.body
