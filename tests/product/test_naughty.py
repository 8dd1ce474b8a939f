"""Texts that break programs, in every field: each door shows them as texts, and no page gets an element from them."""

import html.parser
import json
import sqlite3
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from reconcile.people import tokens
from reconcile.store.findings import FindingFilter
from reconcile.views.search import SearchRefused, search
from tests.reconcile.web.chromium import Person, chromium
from tests.support.folders import NAUGHTY_STRINGS
from tests.support.web import Site, cheap_hashes, site_of
from tests.support.world import DELETE, World

__all__ = ["cheap_hashes", "chromium"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not NAUGHTY_STRINGS.is_file(), reason="the shared data is not here"),
]
PLAIN = "a plain text"
ALLOWED = "\n"
"""The only control character of what a command prints."""


class Skeleton(html.parser.HTMLParser):
    """The elements of a page, each with the names of its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: set[tuple[str, ...]] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add((tag, *sorted(name for name, _ in attrs)))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Twins by each of these texts, which is also their name; their plans wait, and a person assigned each to it."""
    texts = [PLAIN, *dict.fromkeys(text for text in json.loads(NAUGHTY_STRINGS.read_text()) if text.strip())]
    world = World.at(tmp_path_factory.mktemp("naughty") / "w", twins=DELETE | {"max_share": "100%"})
    rows = [(2 * number + half, text, text) for number, text in enumerate(texts) for half in (0, 1)]
    with sqlite3.connect(world.folder / "shop.db") as shop:
        shop.executemany("insert into customers values (?, ?, ?)", rows)
    world.config["datasets"] = {
        "customers": {
            "source": "shop",
            "table": "customers",
            "id": "id",
            "link": "https://crm.example/{{ record.name }}",
        }
    }
    world.run()
    with site_of(world) as site:
        yield site


def test_no_page_gets_an_element_or_an_attribute_from_a_text(site: Site) -> None:
    browser = site.browser("otto")
    listed = json.loads(site.world.command("findings", "--all", "--json").out)
    [plain] = [finding["id"] for finding in listed if finding["key"]["email"] == PLAIN]
    expected = Skeleton(browser.get(f"/findings/{plain}").body.decode()).elements
    csrf = browser.csrf()
    browser.post(f"/findings/{plain}/assign", {"csrf": csrf, "to": "ada", "note": PLAIN})
    expected |= Skeleton(browser.get(f"/findings/{plain}").body.decode()).elements

    assert len(listed) > 450
    for finding in listed:
        note = finding["key"]["email"][:200]
        posted = browser.post(f"/findings/{finding['id']}/assign", {"csrf": csrf, "to": "ada", "note": note})
        page = browser.get(f"/findings/{finding['id']}")
        assert (posted.status, page.status) in ((303, 200), (422, 200)), note
        assert Skeleton(page.body.decode()).elements - expected == set(), note


def test_nothing_of_a_text_runs_in_a_browser(site: Site, chromium: Browser) -> None:
    person = Person.at(chromium, site.url).sign_in("otto")
    dialogs: list[str] = []
    person.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    person.go("/review")
    while (following := person.page.locator("a:text('Next page')")).count():
        following.click()
        person.page.wait_for_load_state()
    person.page.goto(f"{site.url}/search")
    for text in ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "javascript:alert(1)"):
        person.page.fill("#text", text)
        person.page.press("#text", "Enter")
        person.page.wait_for_load_state()

    assert (dialogs, person.trouble) == ([], [])
    assert all(url.startswith(site.url) for url in person.asked)


def test_a_text_that_is_searched_for_is_found_by_itself(site: Site) -> None:
    with site.application() as application:
        found_by = {}
        for finding in json.loads(site.world.command("findings", "--all", "--json").out):
            text = finding["key"]["email"]
            try:
                result = search(application, text, FindingFilter(), limit=None, sees_personal=True)
            except SearchRefused:
                assert len(text.strip()) > 200
                continue
            found_by[text] = finding["id"] in [view.id for view in result.findings]

    assert [text for text, is_found in found_by.items() if not is_found] == []
    assert len(found_by) > 430


def test_commands_print_no_control_character_of_a_text(site: Site) -> None:
    printed = site.world.command("findings", "--all").out + site.world.command("plan").out

    assert [character for character in set(printed) if ord(character) < 32 and character not in ALLOWED] == []
    assert not set(printed) & set("\u202e\u2066\u200b\x7f")


def test_the_api_answers_each_text_in_a_search_and_a_note(site: Site) -> None:
    with site.store.begin() as tx:
        token = tokens.add(tx, "naughty", "bob", by="ada")
    program = site.browser(Authorization=f"Bearer {token}")
    name = min(site.world.findings())
    statuses = set()
    for text in json.loads(NAUGHTY_STRINGS.read_text()):
        for path, body in (("search", {"text": text}), (f"{name}/assign", {"to": "ada", "note": text})):
            answer = program.ask(
                "POST", f"/api/v1/findings/{path}", json.dumps(body), **{"Content-Type": "application/json"}
            )
            statuses.add(answer.status)
            assert answer.status in (200, 422), (text, answer.body)

    assert statuses == {200, 422}
