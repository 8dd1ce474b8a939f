"""The console in a real Chromium: from the code on the terminal to a cleaned and undone finding, by keys alone."""

import os
import pty
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from openpyxl import load_workbook
from playwright.sync_api import Browser

from reconcile.people import users
from reconcile.store import runs
from reconcile.web.console import review
from tests.reconcile.web.chromium import PHONE, Person, chromium
from tests.support.docs import ROOT
from tests.support.web import PASSWORD, Site, cheap_hashes, site_of
from tests.support.world import World

__all__ = ["cheap_hashes", "chromium"]
pytestmark = pytest.mark.slow

GROUPS = 12
ROWS = tuple((number, f"p{number // 2}@x", f"Name {number}") for number in range(2, 2 * GROUPS + 2))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Twelve groups whose plans wait for approval."""
    world = World.at(tmp_path / "w", *ROWS, twins={"clean": {"action": "delete"}})
    world.run()
    with site_of(world) as site:
        yield site


def states(site: Site) -> list[str]:
    return sorted(site.world.findings().values())


def current(person: Person) -> str:
    return person.page.inner_text(".items .current .key")


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """`reconcile serve` in a terminal: its address, the code for the first user, and what it wrote, which grows."""
    terminal, end = pty.openpty()
    command = [str(Path(sys.executable).with_name("reconcile")), "serve", "--no-color", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=folder, stdout=end, stderr=end, stdin=end) as process:
        os.close(end)
        written: list[str] = []
        reader = threading.Thread(target=_read, args=(terminal, written), daemon=True)
        reader.start()
        try:
            yield *_announced(written), written
        finally:
            process.terminate()
            assert process.wait(30) == 0


def become_first(person: Person, code: str) -> None:
    """Fill in the form for the first user, which is shown."""
    person.page.fill("#code", code)
    person.page.fill("#name", "ada")
    person.page.fill("#password", PASSWORD)
    person.page.click("text=Create administrator")
    person.page.wait_for_selector("h1:text('Today')")


def test_from_the_code_on_the_terminal_to_a_decision(chromium: Browser, tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *ROWS[:4], twins={})
    world.run()
    with serving(world.folder) as (address, code, written):
        person = Person.at(chromium, f"http://{address}")
        person.go("/")
        box, words = (person.page.locator(f"label.row {part}").bounding_box() for part in ("input", "span"))
        become_first(person, code)
        person.page.click("a:text('Review')")
        person.page.fill("#note", "two people")
        person.page.click(".decide button:text('Not a duplicate')")
        person.page.wait_for_selector("text=is dismissed")
    assert sorted(world.findings().values()) == ["dismissed", "open"]
    assert box is not None
    assert words is not None
    assert (box["x"] < words["x"], box["width"]) == (True, 24), "the box is beside its words"
    assert person.trouble == []
    assert all(url.startswith(person.url) for url in person.asked)
    assert "without_users" not in "".join(written), "the code is enough"


def test_the_example_of_an_office_is_cleaned_in_the_console(chromium: Browser, tmp_path: Path) -> None:
    office = shutil.copytree(ROOT / "examples" / "office", tmp_path / "office", ignore=shutil.ignore_patterns("*.db*"))
    workbook = office / "office.xlsx"
    for command in ([sys.executable, "build.py"], [Path(sys.executable).with_name("reconcile"), "run"]):
        subprocess.run(command, cwd=office, check=True, capture_output=True)
    with serving(office) as (address, code, _):
        person = Person.at(chromium, f"http://{address}")
        person.go("/")
        become_first(person, code)
        person.go("/review?rule=paid-twice")
        plan = person.page.inner_text("article.detail")
        person.page.click(".decide button:text('Approve')")
        person.page.wait_for_selector("text=is approved")
        until = time.monotonic() + 60
        while (statuses := _statuses(workbook))[104] == "booked" and time.monotonic() < until:
            time.sleep(0.2)

    assert "booked twice" in plan
    assert [payment for payment, status in statuses.items() if status == "booked twice"] == [104]
    assert person.trouble == []


def _statuses(workbook: Path) -> dict[int, str]:
    """The status of each payment."""
    with closing(load_workbook(workbook, read_only=True)) as book:
        return {row[0]: row[5] for row in book["Payments"].iter_rows(min_row=2, values_only=True)}


def _read(terminal: int, written: list[str]) -> None:
    try:
        while part := os.read(terminal, 4096):
            written.append(part.decode())
    except OSError:  # the process ended
        return


def _announced(written: list[str]) -> tuple[str, str]:
    """The address and the code that the terminal shows."""
    until = time.monotonic() + 60
    pattern = re.compile(r"http://([\d.:]+)/welcome\D.*?((?:[A-Z2-7]{4}-){3}[A-Z2-7]{4})", re.DOTALL)
    while (match := pattern.search("".join(written))) is None:
        assert time.monotonic() < until, "".join(written)
        time.sleep(0.1)
    return match[1], match[2]


def test_the_demo_is_shown_in_the_console(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("reconcile")), "demo", "--serve", "--in", str(tmp_path / "demo")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = next(match[1] for line in process.stderr if (match := re.search(r"started +address=(\S+)", line)))
        with urllib.request.urlopen(f"http://{address}/sign-in", timeout=20) as answer:
            page = answer.url, answer.read().decode()
        process.terminate()
        rest = process.stderr.read()

    assert page[0].endswith("/welcome")
    assert "Create the first user" in page[1]
    assert (process.returncode, "serve.stopped" in rest) == (0, True)
    assert "console.without_users" in rest, "no terminal has the code"


def test_a_queue_is_cleared_by_keys_with_the_focus_on_what_comes_next(chromium: Browser, site: Site) -> None:
    person = Person.at(chromium, site.url).sign_in("otto")
    person.go("/review")
    first = current(person)

    person.press("j")
    second = current(person)
    person.press("k")
    back = current(person)
    person.press("d")
    after_dismissal = (current(person), person.focused())
    person.press("s")
    after_snooze = current(person)
    person.press("a")
    approved = person.page.inner_text("[role=status]")

    assert back == first
    assert second != first
    assert after_dismissal == (second, second)
    assert after_snooze not in (first, second)
    assert "is approved" in approved
    assert states(site)[:1] + states(site)[-2:] == ["approved", "dismissed", "snoozed"]
    assert person.trouble == []


@pytest.mark.parametrize(("keys", "dismissed"), [("jd", 0), ("ja", 0), ("dd", 1), ("dj", 1), ("jjd", 0)])
def test_a_key_never_decides_about_a_finding_that_the_person_left(
    keys: str, dismissed: int, chromium: Browser, site: Site
) -> None:
    """All keys arrive before the next page does."""
    person = Person.at(chromium, site.url).sign_in("otto")
    person.go("/review")
    person.press("j")

    with person.page.expect_navigation():
        person.page.evaluate(
            "keys => { for (const key of keys) document.body.dispatchEvent(new KeyboardEvent('keydown', "
            "{key, bubbles: true, cancelable: true})); }",
            keys,
        )
    person.press("k")  # keys work again

    assert states(site) == ["awaiting_approval"] * (GROUPS - dismissed) + ["dismissed"] * dismissed
    assert person.trouble == []


def test_the_decision_bar_leaves_the_page_to_the_plan(chromium: Browser, site: Site) -> None:
    person = Person.at(chromium, site.url, viewport={"width": 1280, "height": 800}).sign_in("otto")
    person.go("/review")

    box = person.page.locator(".decide").bounding_box()

    assert box is not None
    assert box["height"] <= 135


def test_one_and_many_are_handled_with_a_key(chromium: Browser, site: Site) -> None:
    person = Person.at(chromium, site.url).sign_in("bob")
    person.go("/review")
    first = current(person)
    person.press("h")
    told, after = person.page.inner_text("[role=status]"), current(person)
    person.page.check("[data-ticks]")
    person.press("h")
    many = person.page.inner_text("[role=status]")

    assert "is handled." in told
    assert after != first
    assert f"{GROUPS - 1} findings handled: " in many
    assert states(site) == ["handled"] * GROUPS
    assert person.trouble == []


def test_keys_do_nothing_while_somebody_types_and_can_be_turned_off(chromium: Browser, site: Site) -> None:
    person = Person.at(chromium, site.url).sign_in("bob")
    person.go("/review")

    person.page.keyboard.press("n")
    person.page.keyboard.type("dad said so")
    typed = person.page.input_value("#note")
    person.go("/account")
    person.page.click("text=Turn keys off")
    person.go("/review")
    person.page.keyboard.press("d")
    person.page.wait_for_timeout(300)

    assert typed == "dad said so"
    assert states(site) == ["awaiting_approval"] * GROUPS


def test_a_key_leads_to_the_search_which_finds_a_record_by_its_id(chromium: Browser, site: Site) -> None:
    person = Person.at(chromium, site.url).sign_in("vic")
    person.go("/review")
    person.press("/")
    person.page.wait_for_selector("input:focus")  # a browser gives the focus with its first frame, which may be later
    person.page.keyboard.type("2")
    person.press("Enter")
    person.page.wait_for_selector("table")
    listed = person.page.locator("tbody tr").first.inner_text()
    violations, address = person.violations(), person.page.url
    person.page.click("tbody tr:first-child a")
    person.page.wait_for_selector("article.detail")

    assert "awaiting approval" in listed
    assert (violations, address.endswith("/search"), person.trouble) == ([], True, [])


def test_what_was_approved_is_cleaned_shown_and_undone(chromium: Browser, site: Site) -> None:
    person = Person.at(chromium, site.url).sign_in("otto")
    person.go("/review")
    person.page.click(".items .current .key")
    person.page.click("main a.mono")
    shown = person.page.inner_text("section[aria-labelledby=plan]")
    person.press("a")
    site.clean()
    person.page.wait_for_selector(".about .pill:text('cleaned')")
    person.press("u")
    person.page.wait_for_selector(".about .pill:text('undone')")

    assert "DELETE" in shown.upper()
    assert states(site) == ["awaiting_approval"] * (GROUPS - 1) + ["undone"]
    assert person.trouble == []


def test_all_that_are_selected_are_decided_at_once(chromium: Browser, site: Site) -> None:
    person = Person.at(chromium, site.url).sign_in("bob")
    person.go("/review")
    person.page.check("[data-ticks]")
    counted = person.page.inner_text("[data-ticked]")
    person.page.click(".items li:nth-child(2) input")
    one_less = person.page.inner_text("[data-ticked]")
    person.page.fill("#many-note", "no twins")
    with person.page.expect_navigation():
        person.page.click(".list .foot button:text('Not a duplicate')")

    assert (counted, one_less) == (f"{GROUPS} selected", f"{GROUPS - 1} selected")
    assert f"{GROUPS - 1} findings dismissed: " in person.page.inner_text("[role=status]")
    assert states(site) == ["awaiting_approval"] + ["dismissed"] * (GROUPS - 1)


def test_all_that_match_a_filter_are_selected_decided_and_taken_back_by_keys(
    chromium: Browser, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review, "SHOWN", 5)
    person = Person.at(chromium, site.url).sign_in("bob")
    person.go("/review")
    person.page.keyboard.press("f")
    person.page.keyboard.type("@x")
    person.press("Enter")
    person.page.keyboard.press("Escape")
    person.press("A")
    heading, barred = person.page.inner_text("h1"), person.violations()
    person.press("d")
    told = person.page.inner_text("[role=status]")
    dismissed = set(states(site))
    with person.page.expect_navigation():
        person.page.click("text=/Take all/")

    assert heading == f"{GROUPS} findings selected"
    assert f"{GROUPS} findings dismissed" in told
    assert "%40x" not in person.page.url
    assert "@x" not in "".join(person.asked)
    assert dismissed == {"dismissed"}
    assert set(states(site)) == {"open"}
    assert barred == person.trouble == []


def test_two_browsers_at_the_same_moment_and_one_that_was_signed_out(chromium: Browser, site: Site) -> None:
    bob, rita = (Person.at(chromium, site.url).sign_in(name) for name in ("bob", "rita"))
    for person in (bob, rita):
        person.go("/review")
    bob.press("d")
    rita.press("s")
    lost = rita.page.inner_text("[role=alert]")
    with site.store.begin() as tx:
        users.set_password(tx, "rita", PASSWORD + "!", by="ada")
    rita.go("/sign-in")
    rita.page.fill("#name", "rita")
    rita.page.fill("#password", PASSWORD + "!")
    rita.page.click("button.primary")
    rita.page.wait_for_selector(".frame")
    rita.go("/review")
    rita.page.fill("#note", "wait for Bob")
    with site.store.begin() as tx:
        users.set_password(tx, "rita", PASSWORD, by="ada")
    rita.page.click(".decide button:text('Snooze')")
    again = rita.page.inner_text("form p")
    rita.page.fill("#name", "rita")
    rita.page.fill("#password", PASSWORD)
    rita.page.click("button.primary")
    rita.page.wait_for_selector(".frame")

    assert re.search(r"already dismissed by bob on \d{4}-", lost)
    assert "nothing was changed" in again
    assert rita.page.input_value("#note") == "wait for Bob"
    assert states(site) == ["awaiting_approval"] * (GROUPS - 1) + ["dismissed"]


LOOKED_AT = ("/", "/review", "/search", "/runs", "/rules", "/rules/twins", "/effects", "/audit", "/people")
PAGES = (*LOOKED_AT, "/account", "/nothing")


@pytest.mark.parametrize(
    "settings",
    [{"color_scheme": "dark"}, {"color_scheme": "light", "viewport": PHONE}],
    ids=["dark", "light on a phone"],
)
def test_nothing_keeps_anybody_out_of_a_page(chromium: Browser, site: Site, settings: dict[str, object]) -> None:
    """axe-core finds nothing, and no page is wider than a phone; nothing is loaded from elsewhere."""
    person = Person.at(chromium, site.url, **settings)
    person.go("/sign-in")
    result = {"/sign-in": person.violations()}
    person.sign_in("ada")
    wide = []
    with site.store.read() as tx:
        [run] = runs.listed(tx, None, 5)
    for path in (*PAGES, f"/findings/{min(site.world.findings())}", f"/runs/{run.id}"):
        person.go(path)
        result[path] = person.violations()
        wide += [path] if person.is_too_wide() else []

    assert {path: problems for path, problems in result.items() if problems} == {}
    assert wide == []
    assert all(url.startswith(person.url) for url in person.asked)


def test_everything_works_without_javascript(chromium: Browser, site: Site) -> None:
    person = Person.at(chromium, site.url, java_script_enabled=False)
    person.sign_in("bob")
    person.go("/review")
    person.page.select_option("#severity", "medium")
    person.page.click("text=Filter")
    person.page.fill("#note", "two people")
    person.page.click(".decide button:text('Not a duplicate')")
    person.page.wait_for_selector("text=is dismissed")
    for number in (1, 2):
        person.page.check(f".items li:nth-child({number}) input")
    person.page.click(".list .foot button:text('Snooze')")
    person.page.wait_for_selector("text=2 findings snoozed: ")

    assert states(site) == ["awaiting_approval"] * (GROUPS - 3) + ["dismissed", "snoozed", "snoozed"]


@pytest.mark.parametrize("has_script", [True, False])
def test_one_bar_at_a_time_decides_about_the_finding_or_about_all_that_are_ticked(
    has_script: bool, chromium: Browser, site: Site
) -> None:
    person = Person.at(chromium, site.url, java_script_enabled=has_script).sign_in("bob")
    person.go("/review")
    of_one, of_many = person.page.locator(".decide"), person.page.locator(".many")
    at_first = of_one.is_visible(), of_many.is_visible()
    person.page.check(".items li:nth-child(2) input")
    ticked = of_one.is_visible(), of_many.is_visible()
    if has_script:
        person.page.keyboard.press("n")
    person.page.uncheck(".items li:nth-child(2) input")

    assert (at_first, ticked) == ((True, False), (False, True))
    assert (of_one.is_visible(), of_many.is_visible()) == (True, False)


def test_ticks_stay_from_finding_to_finding_until_they_are_decided_about(chromium: Browser, site: Site) -> None:
    person = Person.at(chromium, site.url).sign_in("bob")
    person.go("/review")
    ticks = person.page.locator(".items input[name=finding]").all()[:3]
    first = [str(tick.get_attribute("value")).partition(":")[0] for tick in ticks]
    for _ in range(2):
        person.page.keyboard.press("x")
        person.press("j")
    person.page.keyboard.press("x")
    counted = person.page.inner_text("[data-ticked]")
    person.page.keyboard.press("h")
    person.page.wait_for_selector("text=3 findings handled: ")

    assert counted == "3 selected"
    assert {name for name, state in site.world.findings().items() if state == "handled"} == set(first)
    assert person.page.locator(".list input[name=finding]:checked").count() == 0


def test_a_page_opens_at_its_heading_wherever_its_finding_is_in_the_list(chromium: Browser, site: Site) -> None:
    person = Person.at(chromium, site.url, viewport=PHONE).sign_in("bob")
    person.go("/review")
    links = [link.get_attribute("href") for link in person.page.locator(".items li a").all()]
    assert len(links) == GROUPS

    for link in (links[0], links[GROUPS // 2], links[-1]):
        person.go(str(link))
        assert person.page.evaluate("window.scrollY") == 0, link


def test_on_a_phone_the_note_is_with_the_buttons_and_no_page_of_the_menu_is_hidden(
    chromium: Browser, site: Site
) -> None:
    person = Person.at(chromium, site.url, viewport=PHONE).sign_in("ada")
    person.go(f"/review?finding={min(site.world.findings())}")
    shown = {}
    for selector in ("#note", ".decide button.primary", ".nav a:has-text('People')"):
        box = person.page.locator(selector).bounding_box()
        assert box is not None
        shown[selector] = box["y"] > 0 and box["y"] + box["height"] <= PHONE["height"]
        shown[selector] &= box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"]

    assert set(shown.values()) == {True}, shown


def test_another_record_is_kept_at_a_press_and_the_new_plan_is_shown(chromium: Browser, site: Site) -> None:
    """Without JavaScript."""
    person = Person.at(chromium, site.url, java_script_enabled=False)
    person.sign_in("bob")
    person.go(f"/findings/{min(site.world.findings())}")
    before = person.page.inner_text(".compare thead th:nth-child(2) .name")
    chosen = person.page.inner_text(".compare thead th:nth-child(3) .name")

    person.page.click("button.keep")
    person.page.wait_for_selector(f"text=keeper chosen by bob; the rule would keep {before}")

    assert person.page.inner_text(".compare thead th:nth-child(2) .name") == chosen
    assert f"id = {chosen}" in person.page.inner_text(".operation:has-text('kept')")


def test_a_value_of_another_record_is_taken_at_a_press_without_javascript(chromium: Browser, tmp_path: Path) -> None:
    clean = {"action": "merge", "fields": {"name": "longest"}, "surplus": "delete"}
    world = World.at(tmp_path / "w", (1, "a@x", "Anna"), (2, "a@x", "Ann"), twins={"clean": clean})
    world.config["datasets"] = {"customers": {"source": "shop", "table": "customers", "id": "id", "display": ["name"]}}
    world.run()
    with site_of(world) as site:
        person = Person.at(chromium, site.url, java_script_enabled=False).sign_in("bob")
        person.go("/review")
        person.page.fill("#why", "she signs so")
        person.page.focus("button.keep:text('Use this value') >> nth=1")
        with person.page.expect_navigation():
            person.page.keyboard.press("Enter")

        assert "values chosen: name from 2 (bob)" in person.page.inner_text("main")
        assert person.page.locator("td .chosen").inner_text() == "chosen by bob"
        person.page.click(".decide button:text('Approve')")
        site.clean()
    assert world.shop.rows() == [(1, "a@x", "Ann")]


@pytest.mark.parametrize("has_script", [True, False])
def test_enter_in_a_field_decides_nothing_but_assigns_where_a_person_is_named(
    has_script: bool, chromium: Browser, site: Site
) -> None:
    person = Person.at(chromium, site.url, java_script_enabled=has_script).sign_in("bob")
    person.go("/review")
    fields = [
        ("#note", None),
        ("#to", ".assign summary"),
        ("#many-note", ".items li:nth-child(2) input"),
    ]
    for field, shown_by in fields:
        if has_script or field != "#to":
            if shown_by is not None:
                person.page.click(shown_by)
            person.page.fill(field, "ada")
            person.page.press(field, "Enter")
            person.page.wait_for_timeout(300)
    decided = states(site)
    assigned = [
        finding["assigned_to"] for finding in site.world.command("findings", "--json").json if "assigned_to" in finding
    ]

    assert decided == ["awaiting_approval"] * GROUPS
    assert assigned == (["ada"] if has_script else [])


def test_keys_decide_about_all_that_are_ticked(chromium: Browser, site: Site) -> None:
    person = Person.at(chromium, site.url).sign_in("bob")
    person.go("/review")
    for place in (1, 2):
        person.page.click(f".items li:nth-child({place}) input")
    person.page.keyboard.press("u")
    person.press("d")

    assert "2 findings dismissed: " in person.page.inner_text("[role=status]")
    assert states(site) == ["awaiting_approval"] * (GROUPS - 2) + ["dismissed"] * 2


@pytest.mark.parametrize("records", [2, 6])
def test_on_a_phone_the_records_scroll_in_their_own_box(records: int, chromium: Browser, tmp_path: Path) -> None:
    rows = [(number, "anna@example.com", f"Anna Katharina of a Long Name {number}") for number in range(records)]
    world = World.at(tmp_path / "w", *rows, twins={"clean": {"action": "delete"}})
    world.run()
    with site_of(world) as site:
        person = Person.at(chromium, site.url, viewport=PHONE).sign_in("bob")
        wide = {}
        for path in (f"/findings/{world.only()}", f"/review?finding={world.only()}"):
            person.go(path)
            wide[path] = person.is_too_wide()
        table, box = (
            person.page.locator(selector).bounding_box() for selector in (".compare", ".scroll:has(.compare)")
        )

        assert set(wide.values()) == {False}, wide
        assert table is not None
        assert box is not None
        assert box["width"] <= PHONE["width"]
        assert (table["width"] > box["width"]) == (records > 2)  # two fit beside each other


def listed_keys(person: Person) -> dict[str, str]:
    """What the help says of this page; it is closed again."""
    person.page.keyboard.press("?")
    lines = person.page.locator("dialog dl > *").all_inner_texts()
    person.page.keyboard.press("Escape")
    person.page.wait_for_selector("dialog", state="hidden")
    return dict(zip(lines[::2], lines[1::2], strict=True))


def test_the_help_lists_the_keys_that_work_on_the_page(chromium: Browser, site: Site) -> None:
    everywhere = {"/": "search", "?": "show the keys of this page"}
    deciding = {"n": "write a note", "a": "approve", "d": "not a duplicate", "h": "handled", "s": "snooze"}
    listing = {"f": "filter by a text", "j": "next finding"}
    person, viewer = (Person.at(chromium, site.url).sign_in(name) for name in ("bob", "vic"))
    listed = {}
    for path in ("/account", "/rules", f"/findings/{min(site.world.findings())}", "/review"):
        person.go(path)
        listed[path] = listed_keys(person)
    person.page.click(".items li:nth-child(2) input")
    of_many = listed_keys(person)
    viewer.go("/review")

    assert listed["/account"] == listed["/rules"] == everywhere
    assert listed[f"/findings/{min(site.world.findings())}"] == everywhere | deciding
    assert listed["/review"] == everywhere | deciding | listing | {"x": "select this finding"}
    assert of_many == listed["/review"] | {"n": "write a note for all selected"}
    assert listed_keys(viewer) == everywhere | listing
    assert person.violations() == []


def test_no_key_decides_behind_the_help(chromium: Browser, site: Site) -> None:
    person = Person.at(chromium, site.url).sign_in("bob")
    person.go("/review")

    person.page.keyboard.press("?")
    person.page.keyboard.press("d")
    person.page.wait_for_timeout(300)

    assert person.page.locator("dialog").is_visible()
    assert states(site) == ["awaiting_approval"] * GROUPS


def test_u_takes_back_the_decision_that_was_just_made(chromium: Browser, site: Site) -> None:
    person = Person.at(chromium, site.url).sign_in("bob")
    person.go("/review")
    finding = person.page.inner_text(".about .mono")
    person.press("d")
    listed = listed_keys(person)

    person.press("u")

    assert listed["u"] == f"reopen {finding}"
    assert f"{finding} is open." in person.page.inner_text("[role=status]")
    assert site.world.findings()[finding] == "open"


def test_an_undone_finding_is_reopened_by_its_key(chromium: Browser, site: Site) -> None:
    finding = min(site.world.findings())
    site.world.approve(finding, actor="ada")
    site.world.undo(finding)
    person = Person.at(chromium, site.url).sign_in("bob")
    person.go(f"/findings/{finding}")
    listed = listed_keys(person)

    person.press("u")

    assert listed["u"] == "reopen"
    assert site.world.findings()[finding] == "open"
