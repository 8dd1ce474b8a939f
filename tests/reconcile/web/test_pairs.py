"""The page of uncertain pairs, the API for them, and records that are split off a finding."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from reconcile.audit import log
from reconcile.people import tokens, users
from reconcile.people.roles import Role
from reconcile.store import pair_judgements
from reconcile.web.console.letters import marked
from tests.reconcile.web.chromium import PHONE, Person, chromium
from tests.support.web import PEOPLE, PII, Site, cheap_hashes, site_of
from tests.support.world import CUSTOMERS, Kept, World

__all__ = ["cheap_hashes", "chromium"]

TWINS = {"kind": "similar", "dataset": "customers", "compare": {"name": "name", "email": "email"}}
ROWS = (
    *((1, "ada@example.com", "Ada Lovelace"), (2, "ada@example.com", "Ada Lovlace")),
    *((3, "ada@example.com", "Lovelace, Ada"), (4, "nora@example.com", "Nora Quist")),
    *((5, "n.kvist@example.org", "Nora Kvist"), (6, "peter@example.com", "Peter Klein")),
    *((7, "petra@example.net", "Petra Klein"), (8, "jo@example.com", "Jonas Holm")),
    *((9, "jholm@example.org", "Jonas Holmes"), (10, "bela@example.com", "Bela Varga")),
)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("prepared") / "w"
    world = World.at(folder, *ROWS, config={"rules": {"twins": TWINS}, "datasets": {"customers": CUSTOMERS}})
    world.run()
    return world.kept()


@pytest.fixture
def site(prepared: Kept) -> Iterator[Site]:
    """One finding of three records, and four pairs that the rule is not sure about."""
    with site_of(prepared.restored()) as site:
        yield site


def judged(site: Site) -> dict[tuple[str, str], bool]:
    """What people said of pairs of records."""
    with site.store.read() as tx:
        return {pair.records: pair.is_same for pair in pair_judgements.learnt_pairs(tx, "twins", "similar")}


def record(number: int) -> str:
    return f'[["n","{number}"]]'


@pytest.mark.slow
def test_pairs_are_answered_one_after_the_other_by_keys(chromium: Browser, site: Site) -> None:
    person = Person.at(chromium, site.url).sign_in("bob")
    person.go("/review")
    person.page.click("text=4 pairs of records wait for your answer")
    person.page.wait_for_selector("h1:text('Are these two the same?')")
    first = person.page.inner_text(".compare thead")

    person.press("k")
    second = person.page.inner_text(".compare thead")
    person.press("ArrowRight")
    third = person.page.inner_text(".compare thead")
    person.press("s")
    same = person.page.inner_text("[role=status]")
    person.press("d")
    left = person.page.inner_text(".facts")
    person.press("u")
    taken_back = person.page.inner_text(".facts"), person.page.inner_text("[role=status]")
    for key in ("d", "s", "s"):
        person.press(key)
    ended = person.page.inner_text(".empty")

    assert len({first, second, third}) == 3
    assert "Judged the same." in same
    assert "2 pairs left" in left
    assert "3 pairs left" in taken_back[0]
    assert "taken back" in taken_back[1]
    assert "reconcile learn twins" in ended
    assert sorted(judged(site).values()) == [False, True, True, True]
    assert person.trouble == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", [{}, {"color_scheme": "dark"}, {"viewport": PHONE}], ids=["light", "dark", "phone"]
)
def test_nothing_keeps_anybody_out_of_the_page(chromium: Browser, site: Site, settings: dict[str, object]) -> None:
    person = Person.at(chromium, site.url, **settings).sign_in("bob")

    person.go("/pairs")

    assert person.violations() == []
    assert not person.is_too_wide()
    assert person.page.locator(".compare mark").count() > 0


@pytest.mark.slow
def test_a_wrong_cluster_is_taken_apart_in_two_key_presses_and_stays_so(chromium: Browser, site: Site) -> None:
    [finding] = site.world.findings()
    person = Person.at(chromium, site.url).sign_in("bob")
    person.go(f"/findings/{finding}")

    person.press("2")
    person.press("3")
    shown = person.page.inner_text(".compare thead")
    site.world.run()

    assert shown.count("split off") == 3
    assert site.world.findings() == {finding: "resolved"}
    assert judged(site) == {
        (record(1), record(2)): False,
        (record(1), record(3)): False,
        (record(2), record(3)): False,
    }
    assert person.trouble == []


def test_a_split_is_refused_to_a_viewer_and_its_buttons_are_not_shown(site: Site) -> None:
    [finding] = site.world.findings()
    viewer, reviewer = site.browser("vic"), site.browser("bob")
    address = f"/findings/{finding}"

    assert "Split off" not in viewer.get(address).text
    assert "Split off" in reviewer.get(address).text
    assert viewer.send(f"{address}/split", keeper="x").status == 403


def test_the_page_masks_personal_data_until_a_person_asks_and_that_is_recorded(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *ROWS, config={"rules": {"twins": TWINS}, "datasets": {"customers": PII}})
    world.run()
    with site_of(world, PEOPLE | {"eve": Role.REVIEWER}) as site:
        with site.store.begin() as tx:
            users.set_role(tx, "bob", Role.REVIEWER, by="ada", sees_personal=True)
        masked = site.browser("bob").get("/pairs?rule=twins")
        pair = masked.body.decode().split("/pairs/")[1].split("/")[0]

        shown = site.browser("bob").send(f"/pairs/{pair}/reveal", rule="twins")
        refused = site.browser("eve").send(f"/pairs/{pair}/reveal", rule="twins")
        with site.store.read() as tx:
            events = [(entry.actor, entry.event) for entry in log.entries(tx)]

    assert "@example" not in masked.text
    assert "Show personal data" in masked.text
    assert "@example" in shown.text
    assert refused.status == 403 or "may not see personal data" in refused.text
    assert ("bob", "personal_data.revealed") in events
    assert ("eve", "personal_data.revealed") not in events


def test_what_a_person_asked_to_see_stays_unmasked_for_the_next_pairs_and_each_is_recorded(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *ROWS, config={"rules": {"twins": TWINS}, "datasets": {"customers": PII}})
    world.run()
    with site_of(world, PEOPLE) as site:
        with site.store.begin() as tx:
            users.set_role(tx, "bob", Role.REVIEWER, by="ada", sees_personal=True)
        bob = site.browser("bob")
        first = bob.get("/pairs").body.decode().split("/pairs/")[1].split("/")[0]
        shown = bob.send(f"/pairs/{first}/reveal")
        following = shown.body.decode().split('name="next" value="')[1].split('"')[0]

        answered = bob.send(f"/pairs/{first}/same", of="twins", next=following, clear="1")
        masked = bob.get("/pairs")
        with site.store.read() as tx:
            events = [entry.event for entry in log.entries(tx) if entry.actor == "bob"]

    assert "@example" in answered.text
    assert "Judged the same." in answered.text
    assert "@example" not in masked.text
    assert events.count("personal_data.revealed") == 2


def test_a_person_who_may_not_see_personal_data_is_told_how_to_get_it(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *ROWS, config={"rules": {"twins": TWINS}, "datasets": {"customers": PII}})
    world.run()
    with site_of(world, PEOPLE) as site:
        page = site.browser("bob").get("/pairs")

    assert "reconcile users role bob --personal-data" in page.text
    assert "Show personal data" not in page.text


def test_after_the_uncertain_pairs_those_that_join_findings_can_be_judged(site: Site) -> None:
    bob = site.browser("bob")
    for _ in range(4):
        pair = bob.get("/pairs").body.decode().split("/pairs/")[1].split("/")[0]
        bob.send(f"/pairs/{pair}/same", of="twins")
    ended = bob.get("/pairs?rule=twins").text
    queue = bob.get("/pairs?joined=1")
    pair = queue.body.decode().split('formaction="/pairs/')[1].split("/")[0]
    judged_before = judged(site)

    bob.send(f"/pairs/{pair}/not_the_same", of="twins", joined="1")
    again = bob.send(f"/pairs/{pair}/not_the_same", of="twins", joined="1")
    left = bob.get("/pairs?joined=1").text
    gone = bob.send(f"/pairs/F-000000{pair[8:]}/same", of="twins", joined="1")

    assert "Judge 2 pairs of findings too" in ended
    assert "joined in a finding" in queue.text
    assert "2 pairs left" in queue.text
    assert again.status in (200, 303)
    assert "1 pair left" in left
    assert gone.status == 409
    assert len(judged(site)) == len(judged_before) + 1


def test_the_queue_is_ordered_and_filtered_by_probability(site: Site) -> None:
    bob = site.browser("bob")

    assert "Least probable first" in bob.get("/review").text
    assert "probable" in bob.get("/review?order=probability").text
    assert "No finding matches" in bob.get("/review?order=probability&unlikely=1%25").text
    assert "is not a probability" in bob.send("/review/filter", likely="often").text


def test_a_program_lists_pairs_and_answers_them_once(site: Site) -> None:
    with site.store.begin() as tx:
        secret = tokens.add(tx, "robot", "bob", by="ada")
    browser = site.browser(Authorization=f"Bearer {secret}")
    kind = {"Content-Type": "application/json"}
    listed = browser.get("/api/v1/pairs?rule=twins").json["pairs"]
    [finding] = browser.get("/api/v1/findings?order=probability&probable_at_least=0.01").json["findings"]
    none = browser.get("/api/v1/findings?probable_at_most=0.01").json["findings"]
    first = listed[0]

    def answer(body: dict[str, str]) -> tuple[int, bool | None]:
        page = browser.ask("POST", f"/api/v1/pairs/{first['pair']}", json.dumps(body), **kind)
        return page.status, page.json.get("changed")

    answers = [answer({"rule": "twins", "answer": text}) for text in ("same", "same", "not_the_same", "maybe")]
    left = browser.get("/api/v1/pairs").json["pairs"]

    assert [(status, changed) for status, changed in answers] == [(200, True), (200, False), (200, True), (422, None)]
    assert (len(listed), len(left)) == (4, 3)
    assert (0 < finding["probability"] < 1, none) == (True, [])
    assert set(first) >= {"pair", "rule", "probability", "evidence", "side_by_side"}
    assert browser.get("/api/v1/pairs?rule=twin").status == 404


def test_letters_that_differ_are_marked() -> None:
    assert marked("Schmidt", "Schmitd") == (
        [("Schmi", False), ("d", False), ("t", True)],
        [("Schmi", False), ("t", True), ("d", False)],
    )
    assert marked("Anna", "ANNA") == ([("Anna", False)], [("ANNA", False)])
    assert marked("Anna", "") == ([("Anna", False)], [("", False)])
    assert marked("•••", "Anna") == ([("•••", False)], [("Anna", False)])
