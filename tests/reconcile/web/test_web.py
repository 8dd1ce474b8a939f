"""The doors by plain requests: who gets in, what a form must prove, what each role may, and what is never shown."""

import http.client
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

from reconcile.audit import log
from reconcile.people import sessions, tokens, users
from reconcile.people.roles import Role
from reconcile.service.serve import ServeProcess, UsersMissing
from reconcile.store import Store
from reconcile.web import gate, site
from reconcile.web.gate import COOKIE, Anyone, OfApi, OfConsole
from tests.support.web import PASSWORD, PEOPLE, PII, Browser, Page, Site, cheap_hashes, site_of
from tests.support.world import Kept, World

__all__ = ["cheap_hashes"]

ROWS = ((1, "anna.secret@x", "Anna"), (2, "anna.secret@x", "Ann"), (3, "b@x", "Bob"), (4, "b@x", "Bo"))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Two groups of twins by a personal column, whose plans wait for approval."""
    world = World.at(tmp_path_factory.mktemp("web") / "w", *ROWS, twins={"clean": {"action": "delete"}})
    world.config["datasets"] = {"customers": PII}
    world.run()
    with site_of(world) as site:
        yield site


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    world = World.at(tmp_path_factory.mktemp("prepared") / "w", *ROWS, twins={"clean": {"action": "delete"}})
    world.run()
    return world.kept()


@pytest.fixture
def fresh(prepared: Kept) -> Iterator[Site]:
    """The same of one's own, to decide in."""
    with site_of(prepared.restored()) as site:
        yield site


def findings(site: Site) -> list[str]:
    return sorted(site.world.findings())


def events(site: Site, prefix: str) -> list[tuple[str, str]]:
    with site.store.read() as tx:
        return [(entry.actor, entry.event) for entry in log.entries(tx) if entry.event.startswith(prefix)]


# Who gets in


@pytest.mark.slow
def test_nobody_sees_anything_before_they_sign_in_and_comes_back_to_where_they_wanted(shop: Site) -> None:
    browser = shop.browser()
    [first, _] = findings(shop)

    asked = browser.get(f"/findings/{first}?x=1")
    form = browser.get(asked.headers["Location"])
    signed_in = browser.sign_in("vic", next=form.field("next"))

    assert (asked.status, asked.headers["Location"]) == (303, f"/sign-in?next=%2Ffindings%2F{first}%3Fx%3D1")
    assert (signed_in.status, signed_in.headers["Location"]) == (303, f"/findings/{first}?x=1")
    assert browser.get(f"/findings/{first}").status == 200


@pytest.mark.parametrize(
    "next_page", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:1", ""]
)
def test_nobody_is_sent_to_another_site_after_they_signed_in(shop: Site, next_page: str) -> None:
    assert shop.browser().sign_in("vic", next=next_page).headers["Location"] == "/"


@pytest.mark.slow
def test_a_wrong_password_is_told_without_the_password_and_guessing_ends(fresh: Site) -> None:
    browser = fresh.browser()

    wrong = browser.sign_in("bob", "not my password")
    for _ in range(sessions.OF_NAME_AND_ADDRESS):
        last = browser.sign_in("bob", "not my password")

    assert wrong.status == 401
    assert "The name or the password is wrong" in wrong.text
    assert wrong.field("name") == "bob"
    assert b"not my password" not in wrong.body
    assert last.status == 429
    assert "Too many attempts" in last.text


@pytest.mark.slow
def test_each_answer_forbids_what_it_does_not_need(shop: Site) -> None:
    browser = shop.browser("vic")

    for path in ("/", "/review", "/sign-in", "/nothing", "/static/0/console.css", "/healthz"):
        headers = browser.get(path).headers
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert (headers["X-Frame-Options"], headers["X-Content-Type-Options"]) == ("DENY", "nosniff")
        assert headers["Cache-Control"] == "no-store"


def test_pages_hold_no_script_and_no_style_and_load_nothing_of_others(shop: Site) -> None:
    browser = shop.browser("ada")
    [first, _] = findings(shop)

    for path in ("/", "/review", f"/findings/{first}", "/account"):
        page = browser.get(path).body.decode()
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", page)
        assert re.findall(r"<script[^>]*>", page) == [f'<script src="{_address("console.js")}" defer>']
        assert re.findall(r"(?:href|src|action)=\"(?!/|#)[^\"]*", page) == []


def _address(name: str) -> str:
    from reconcile.web.console import pieces  # noqa: PLC0415 - of the extra `console`

    return pieces.address(name)


def test_the_cookie_is_for_this_site_alone_and_for_https_where_that_is_used(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *ROWS, twins={})
    with site_of(world, proxies=["127.0.0.1/32"]) as site:
        plain = site.browser().sign_in("vic").headers["Set-Cookie"]
        proxied = site.browser(**{"X-Forwarded-Proto": "https"}).sign_in("vic").headers["Set-Cookie"]

    assert re.fullmatch(rf"{COOKIE}=\S+; HttpOnly; Path=/; SameSite=lax", plain)
    assert re.fullmatch(rf"{COOKIE}=\S+; HttpOnly; Path=/; SameSite=lax; Secure", proxied)


def test_signing_in_gives_another_session_and_signing_out_ends_it(shop: Site) -> None:
    browser = shop.browser()
    browser.cookies[COOKIE] = "vic:chosen-by-somebody-else"
    browser.sign_in("vic")
    stolen = dict(browser.cookies)

    assert browser.cookies[COOKIE] != "vic:chosen-by-somebody-else"
    assert browser.send("/sign-out").status == 303
    assert COOKIE not in browser.cookies
    browser.cookies = stolen
    assert browser.get("/").status == 303


# Proxies


def test_a_header_signs_in_only_from_the_address_of_the_proxy(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *ROWS, twins={})
    header = {"X-Remote-User": "bob"}

    with site_of(world, proxies=["127.0.0.1/32"], user_header="X-Remote-User") as site:
        browser = site.browser(**header)
        trusted = browser.get("/")
        again = browser.get("/")
        other_user = browser.get("/account", **{"X-Remote-User": "vic"})
        unknown = site.browser(**{"X-Remote-User": "mallory"}).get("/")
        begun = events(site, "session.begun")
    with site_of(world, proxies=["10.0.0.1/32"], user_header="X-Remote-User") as site:
        untrusted = site.browser(**header).get("/")

    assert [page.status for page in (trusted, again, other_user)] == [200, 200, 200]
    assert "You are viewer" in other_user.text
    assert [actor for actor, _ in begun] == ["bob", "vic"]
    assert (unknown.status, untrusted.status) == (303, 303)


def test_attempts_are_counted_for_the_client_that_the_proxy_names(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *ROWS, twins={})
    with site_of(world, proxies=["127.0.0.1/32"]) as site:
        attacker = site.browser(**{"X-Forwarded-For": "203.0.113.7"})
        for _ in range(sessions.OF_NAME_AND_ADDRESS + 1):
            refused = attacker.sign_in("bob", "not my password")
        liar = site.browser(**{"X-Forwarded-For": "198.51.100.1, 203.0.113.7"}).sign_in("bob")
        victim = site.browser(**{"X-Forwarded-For": "203.0.113.8"}).sign_in("bob")

    assert (refused.status, liar.status, victim.status) == (429, 429, 303)


# Forms


@pytest.mark.parametrize(
    ("fields", "headers"),
    [
        ({}, {}),
        ({"csrf": "0" * 64}, {}),
        ({"csrf": None}, {"Origin": "https://evil.example"}),
        ({"csrf": None}, {"Sec-Fetch-Site": "cross-site"}),
        ({"csrf": None}, {"Content-Type": "text/plain"}),
    ],
    ids=["no token", "a wrong token", "another origin", "another site", "no form"],
)
def test_a_form_that_is_not_ours_changes_nothing(fresh: Site, fields: dict[str, Any], headers: dict[str, str]) -> None:
    browser = fresh.browser("bob")
    [first, _] = findings(fresh)
    sent = {name: browser.csrf() if value is None else value for name, value in fields.items()}

    answer = browser.post(f"/findings/{first}/dismiss", sent, **headers)

    assert (answer.status, "nothing was changed" in answer.text) == (403, True)
    assert fresh.world.findings()[first] == "awaiting_approval"


def test_the_token_of_one_session_is_none_for_another(fresh: Site) -> None:
    [first, _] = findings(fresh)
    theirs = fresh.browser("bob").csrf()

    answer = fresh.browser("rita").post(f"/findings/{first}/dismiss", {"csrf": theirs})

    assert answer.status == 403
    assert fresh.world.findings()[first] == "awaiting_approval"


def test_nobody_is_signed_in_by_the_form_of_another_site(shop: Site) -> None:
    victim, attacker = shop.browser(), shop.browser()
    victim.get("/sign-in")

    answer = victim.post("/sign-in", {"csrf": attacker.csrf("/sign-in"), "name": "bob", "password": PASSWORD})

    assert answer.status == 403
    assert COOKIE not in victim.cookies


def test_after_a_session_ended_what_was_typed_comes_back_and_nothing_was_acted_on(fresh: Site) -> None:
    browser = fresh.browser("bob")
    [first, _] = findings(fresh)
    csrf = browser.csrf(f"/findings/{first}")
    with fresh.store.begin() as tx:
        users.set_password(tx, "bob", PASSWORD + "!", by="ada")

    fields = {"csrf": csrf, "back": f"/findings/{first}", "note": "zwölf <b>pakete</b>", "until": "7d", "to": "rita"}
    expired = browser.post(f"/findings/{first}/dismiss", fields)
    kept = {name: expired.field(name) for name in ("csrf", "draft", "next")}
    again = browser.post("/sign-in", {"name": "bob", "password": PASSWORD + "!"} | kept)
    back = browser.get(again.headers["Location"])

    assert (expired.status, "nothing was changed" in expired.text) == (401, True)
    assert again.headers["Location"] == f"/findings/{first}"
    assert (back.field("note"), back.field("to")) == ("zwölf <b>pakete</b>", "rita")
    assert '<option value="7d" selected>' in back.body.decode()
    assert fresh.world.findings()[first] == "awaiting_approval"
    assert browser.get(f"/findings/{first}").field("note") == ""


# Roles


def routes() -> Iterator[tuple[APIRoute, Anyone | OfApi | OfConsole]]:
    for router in site.ROUTERS:
        for route in router.routes:
            assert isinstance(route, APIRoute)
            [declared] = gate.declared(route)
            yield route, declared


def _filled(route: APIRoute, finding: str) -> str:
    values = {"finding": finding, "decision": "dismiss", "name": "nobody", "digest": "0", "run": "run1_x", "rule": "x"}
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda match: values.get(match[1], "x"), route.path)


@pytest.mark.slow
def test_every_route_is_for_its_role_and_those_above_it_and_for_nobody_else(shop: Site) -> None:
    """The matrix of routes and roles, from the application itself; forms are without a token, so nothing changes."""
    people: dict[str | None, Browser] = {name: shop.browser(name) for name in ("vic", "bob", "otto", "ada")}
    people[None] = shop.browser()
    for name in ("vic", "bob", "otto", "ada"):
        with shop.store.begin() as tx:
            token = tokens.add(tx, f"of-{name}", name, by="ada")
        people[name].headers["Authorization"] = f"Bearer {token}"
    checked = 0
    for route, declared in routes():
        for method in sorted(route.methods):
            for name, browser in people.items():
                body = {} if method in ("GET", "DELETE") else {"csrf": "0" * 64}
                path = _filled(route, "F-NOBODY")
                answer = browser.post(path, body) if method == "POST" else browser.ask(method, path)
                role = None if name is None else PEOPLE[name]
                assert _is_let_in(answer, declared) == _may(role, declared), (method, route.path, name, answer.status)
                checked += 1

    assert checked > 50


def _may(role: Role | None, declared: Anyone | OfApi | OfConsole) -> bool:
    return isinstance(declared, Anyone) or (role is not None and role >= declared.role)


def _is_let_in(answer: Page, declared: Anyone | OfApi | OfConsole) -> bool:
    """Return True if the role was enough: only then a form is looked at, or the thing looked for."""
    if answer.status == 403:
        return "this needs the role" not in answer.text
    return answer.status != 401 and not answer.headers.get("Location", "").startswith("/sign-in?")


def test_a_route_that_declares_nothing_stops_the_site_from_being_built(
    shop: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fastapi import APIRouter  # noqa: PLC0415 - of the extra `console`

    router = APIRouter()
    router.add_api_route("/open", lambda: "x")
    monkeypatch.setattr(site, "ROUTERS", (*site.ROUTERS, router))

    with pytest.raises(site.RouteUndeclared, match="/open"):
        site.application(shop.office)


# Deciding


def test_a_decision_is_of_the_person_who_signed_in_and_goes_on_with_the_next_finding(fresh: Site) -> None:
    browser = fresh.browser("bob")
    queue = browser.get("/review")
    first, second = queue.field("finding").partition(":")[0], queue.field("next")

    fields = {"note": "two people", "next": second, "version": queue.field("version")}
    answer = browser.send(f"/findings/{first}/dismiss", "/review", **fields)
    after = browser.get(answer.headers["Location"])

    assert (answer.status, answer.headers["Location"]) == (303, f"/review?finding={second}&done={first}")
    assert f"{first} is dismissed." in after.text
    assert '<h1 id="finding" tabindex="-1" autofocus>' in after.body.decode()
    assert fresh.world.findings()[first] == "dismissed"
    assert ("bob", "finding.dismissed") in events(fresh, "finding.")
    assert "dismissed by bob" in browser.get(f"/findings/{first}").text


@pytest.mark.slow
def test_what_somebody_dealt_with_elsewhere_is_handled_listed_and_reopened(fresh: Site) -> None:
    browser = fresh.browser("bob")
    page = browser.get("/review")
    first = page.field("finding").partition(":")[0]

    answer = browser.send(f"/findings/{first}/handle", "/review", note="refunded 4711", version=page.field("version"))
    after = browser.get(answer.headers["Location"])
    listed = browser.get("/review?state=handled")
    story = browser.get(f"/findings/{first}")

    assert f"{first} is handled." in after.text
    assert "Reopen it" in after.text
    assert (first in listed.text, fresh.world.findings()[first]) == (True, "handled")
    assert ("bob", "finding.handled") in events(fresh, "finding.")
    assert "handled outside Reconcile by bob" in story.text
    assert "refunded 4711" in story.text
    browser.send(f"/findings/{first}/reopen", f"/findings/{first}")
    assert fresh.world.findings()[first] == "open"


@pytest.mark.slow
def test_of_two_who_decide_at_the_same_moment_one_wins_and_the_other_is_told_who_and_when(fresh: Site) -> None:
    bob, rita = fresh.browser("bob"), fresh.browser("rita")
    [first, _] = findings(fresh)
    page = f"/findings/{first}"
    seen = {"plan": rita.get(page).field("plan"), "note": "mine"}

    won = bob.send(f"{page}/dismiss", page)
    lost = [rita.send(f"{page}/{decision}", page, **seen) for decision in ("approve", "snooze")]

    assert won.status == 303
    assert [answer.status for answer in lost] == [409, 409]
    for answer in lost:
        assert re.search(r"already dismissed by bob on \d{4}-\d\d-\d\d \d\d:\d\d UTC", answer.text), answer.text
        assert answer.field("note") == "mine"
    assert fresh.world.findings()[first] == "dismissed"


@pytest.mark.slow
def test_a_plan_is_approved_exactly_as_it_was_seen_and_carried_out_by_the_duty(fresh: Site) -> None:
    browser = fresh.browser("bob")
    [first, second] = findings(fresh)
    page = f"/findings/{first}"

    stale = browser.send(f"{page}/approve", page, plan="0" * 64)
    done = browser.send(f"{page}/approve", page, plan=browser.get(page).field("plan"), note="yes")
    state = fresh.world.findings()[first]
    fresh.clean()

    assert (stale.status, "Nothing was decided" in stale.text) == (409, True)
    assert (done.status, state, fresh.woken) == (303, "approved", ["clean"])
    assert fresh.world.findings() == {first: "cleaned", second: "awaiting_approval"}
    with fresh.store.read() as tx:
        [approval] = [entry.body for entry in log.entries(tx, event="approval.approved")]
    assert (approval["by"], approval["system"]) == ("bob", "bob@console")


def test_an_undone_finding_says_who_undid_it_and_what_can_be_done_next(fresh: Site) -> None:
    [first, _] = findings(fresh)
    fresh.world.approve(first, actor="ada")
    with fresh.application() as application:
        application.decisions("otto").undo(first, note="two people after all")

    page = fresh.browser("bob").get(f"/findings/{first}")

    assert re.search(r"The cleaning was undone by otto on [\d: -]+ UTC \(two people after all\)\.", page.text)
    assert (
        "Its records count as dismissed: runs report nothing until a record joins or a key value changes." in page.text
    )
    assert "To clean it with a new plan, or to decide differently, reopen it first." in page.text
    assert f'formaction="/findings/{first}/reopen"' in page.body.decode()
    assert "Executed plan: " in page.text
    assert re.search(r"Executed on [\d: -]+ UTC, approved by ada; undone by otto on [\d: -]+ UTC\.", page.text)


@pytest.mark.slow
def test_two_people_approve_and_one_person_with_a_browser_and_a_token_is_one(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *ROWS, twins={"clean": {"action": "delete"}, "approval": "two_person"})
    world.run()
    with site_of(world) as site:
        [first, _] = findings(site)
        page = f"/findings/{first}"
        bob, rita = site.browser("bob"), site.browser("rita")
        plan = bob.get(page).field("plan")
        once = bob.send(f"{page}/approve", page, plan=plan)
        again = bob.send(f"{page}/approve", page, plan=plan)
        waiting = site.world.findings()[first]
        second = rita.send(f"{page}/approve", page, plan=plan)
        site.clean()

        assert (once.status, again.status, second.status) == (303, 409, 303)
        assert "bob has already approved" in again.text
        assert (waiting, site.world.findings()[first]) == ("awaiting_approval", "cleaned")


def test_many_are_decided_at_once_each_with_its_own_checks(fresh: Site) -> None:
    browser = fresh.browser("bob")
    [first, second] = findings(fresh)
    ticks = dict(re.findall(r'name="finding" value="([^":]+):(\d+:\w*)"', browser.get("/review").body.decode()))

    chosen = [f"{first}:{ticks[first]}", f"{second}:7:", "F-NOBODY:1"]
    sent = browser.send("/review/decide", "/review", finding=chosen, decision="dismiss", note="no twins")
    answer = browser.follow(sent)

    assert (sent.status, answer.status) == (303, 200)
    assert f"1 finding dismissed: {first} ." in answer.text
    assert "2 findings not decided:" in answer.text
    assert f"{second} changed since it was shown" in answer.text
    assert f"{second} {second}" not in answer.text
    assert "There is no finding `F-NOBODY`" in answer.text
    assert fresh.world.findings() == {first: "dismissed", second: "awaiting_approval"}


def test_the_answer_to_many_decisions_links_the_first_five_and_counts_the_rest(tmp_path: Path) -> None:
    rows = [(number, f"p{number // 2}@x", "Pat") for number in range(2, 16)]
    world = World.at(tmp_path / "w", *rows, twins={"clean": {"action": "delete"}, "approval": "two_person"})
    world.run()
    with site_of(world) as site:
        browser = site.browser("bob")
        ticks = re.findall(r'name="finding" value="([^"]+)"', browser.get("/review").body.decode())
        names = [tick.partition(":")[0] for tick in ticks]

        approved = browser.follow(browser.send("/review/decide", "/review", finding=ticks, decision="approve"))
        dismissed = browser.follow(browser.send("/review/decide", "/review", finding=ticks[:2], decision="dismiss"))

        [note] = re.findall(r'<div class="note good" role="status">(.*?)</div>', approved.body.decode(), re.DOTALL)
        assert re.findall(r'<a href="/findings/([^"]+)"', note) == names[:5]
        assert "7 findings approved by the first of two people: " in approved.text
        assert f"{names[4]} and 2 more." in approved.text
        assert f"2 findings dismissed: {names[0]} , {names[1]} ." in dismissed.text


def ticks_of(browser: Browser) -> list[str]:
    return re.findall(r'name="finding" value="([^"]+)"', browser.get("/review").body.decode())


def test_a_reload_after_many_decisions_neither_decides_nor_tells_again(fresh: Site) -> None:
    browser = fresh.browser("bob")
    sent = browser.send("/review/decide", "/review", finding=ticks_of(browser), decision="snooze", state="waiting")

    first, again = browser.follow(sent), browser.follow(sent)

    assert "2 findings snoozed:" in first.text
    assert "2 findings snoozed:" not in again.text
    assert sent.headers["Location"] == "/review"


def test_decisions_about_many_are_taken_back_at_once(fresh: Site) -> None:
    browser = fresh.browser("bob")
    [first, second] = findings(fresh)
    told = browser.follow(
        browser.send("/review/decide", "/review", finding=ticks_of(browser), decision="dismiss", severity="low")
    )
    other_browser = fresh.browser("rita")
    other_browser.send(f"/findings/{second}/reopen", f"/findings/{second}")
    other_browser.send(f"/findings/{second}/handle", f"/findings/{second}")
    hidden = re.findall(r'<input type="hidden" name="finding" value="([^"]+)"', told.body.decode())

    back = browser.send("/review/decide", "/review", finding=hidden, decision="take-back", severity="low")

    assert "Take all 2 back" in told.text
    assert back.headers["Location"] == "/review?severity=low"
    shown = browser.follow(back)
    assert f"1 finding reopened: {first} ." in shown.text
    assert f"{second} changed since it was shown" in shown.text
    assert fresh.world.findings() == {first: "open", second: "handled"}
    assert "back" not in re.findall(r'<div class="note[^>]*>(.*?)</div>', shown.body.decode(), re.DOTALL)[0]


def test_many_are_assigned_and_their_plans_rejected(fresh: Site) -> None:
    browser = fresh.browser("bob")
    [first, second] = findings(fresh)
    assigned = browser.follow(
        browser.send("/review/decide", "/review", finding=ticks_of(browser), decision="assign", to="rita")
    )

    rejected = browser.follow(browser.send("/review/decide", "/review", finding=ticks_of(browser), decision="reject"))

    assert "2 findings assigned to rita:" in assigned.text
    assert "2 findings with a rejected plan:" in rejected.text
    assert fresh.world.findings() == {first: "open", second: "open"}


def test_what_became_of_decisions_is_told_to_their_maker_alone(fresh: Site) -> None:
    browser, other_browser = fresh.browser("bob"), fresh.browser("rita")
    browser.send("/review/decide", "/review", finding=ticks_of(browser), decision="dismiss")
    sealed = browser.cookies["reconcile-outcome"]

    for cookie in (sealed, "made up", "v1.", sealed.split(".")[0] + ".", sealed[:-3], f"{sealed[:-5]}AAAA="):
        other_browser.cookies["reconcile-outcome"] = cookie
        page = other_browser.get("/review")
        assert (page.status, "findings dismissed" in page.text) == (200, False)
    assert "2 findings dismissed:" in browser.get("/review").text


def test_refusals_that_do_not_fit_are_counted(fresh: Site) -> None:
    browser = fresh.browser("bob")
    names = [f"F-{'X' * 300}{number}:1:" for number in range(200)]

    told = browser.follow(browser.send("/review/decide", "/review", finding=names, decision="dismiss"))

    assert "200 findings not decided:" in told.text


def test_decisions_about_many_are_called_as_those_about_one(fresh: Site) -> None:
    page = fresh.browser("bob").get("/review").body.decode()
    single, many = (
        {words.strip() for words in re.findall(rf"<button[^>]*{mark}[^>]*>([^<]+)", page)}
        for mark in ('formaction="/findings/', 'name="decision"')
    )

    assert many == {"Approve", "Reject plan", "Not a duplicate", "Handled", "Snooze", "Assign"}
    assert many <= single


# Personal data


@pytest.mark.slow
def test_personal_data_is_masked_for_everybody_and_shown_once_to_whom_it_is_allowed_and_recorded(shop: Site) -> None:
    with shop.store.begin() as tx:
        users.set_role(tx, "rita", by="ada", sees_personal=True)
    [first, second] = findings(shop)
    paths = ("/", "/review", *(f"/findings/{name}" for name in (first, second)))

    masked = [shop.browser(user).get(path) for user in ("ada", "rita") for path in paths]
    rita = shop.browser("rita")
    shown = [rita.send(f"/findings/{name}/reveal", f"/findings/{name}") for name in (first, second)]
    refused = shop.browser("ada").send(f"/findings/{first}/reveal", "/")

    assert not any(b"secret@x" in page.body for page in masked)
    assert any(b"anna.secret@x" in page.body for page in shown)
    assert (refused.status, "ada may not see personal data" in refused.text) == (403, True)
    assert events(shop, "personal_data") == [("rita", "personal_data.revealed")] * 2
    assert b"secret@x" not in rita.get(f"/findings/{first}").body


# The first user


@pytest.mark.parametrize("personal", [{}, {"personal": "1"}], ids=["masked", "unmasked"])
def test_the_code_of_the_terminal_makes_the_first_user_once(tmp_path: Path, personal: dict[str, str]) -> None:
    world = World.at(tmp_path / "w", *ROWS, twins={})
    with site_of(world, people={}) as empty:
        browser = empty.browser()
        sent = browser.get("/sign-in").headers["Location"]
        fields = {"csrf": browser.csrf("/welcome"), "name": "ada", "password": PASSWORD} | personal
        wrong = browser.post("/welcome", fields | {"code": "AAAA-AAAA-AAAA-AAAA"})
        weak = browser.post("/welcome", fields | {"code": empty.welcome.code, "password": "short"})
        right = browser.post("/welcome", fields | {"code": empty.welcome.code.lower().replace("-", " ")})
        second_browser = empty.browser()
        late = {"csrf": second_browser.csrf("/sign-in"), "name": "eve", "code": empty.welcome.code}
        second = second_browser.post("/welcome", late | {"password": PASSWORD})
        account = browser.get("/account").text

    assert ("may see personal data unmasked" in account) == bool(personal)
    assert sent == "/welcome"
    assert (wrong.status, "This code is wrong" in wrong.text) == (409, True)
    assert (weak.status, "shorter than 12" in weak.text) == (422, True)
    assert (right.status, browser.cookies[COOKIE].partition(":")[0]) == (303, "ada")
    assert second.status == 409


def test_serve_refuses_an_open_address_without_users_and_takes_it_with_one(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *ROWS, twins={}).write()

    with pytest.raises(UsersMissing, match=r"there is no user yet\. Nothing was started"):
        ServeProcess(world.folder / "reconcile.yaml", {}, str, listen="0.0.0.0:0", site=site.of_server)
    monitoring = ServeProcess(world.folder / "reconcile.yaml", {}, str, listen="0.0.0.0:0")
    monitoring._abandon()
    with Store.open("sqlite:///reconcile.db", world.folder) as store, store.begin() as tx:
        users.add(tx, "ada", Role.ADMIN, by="test", password=PASSWORD)
    server = ServeProcess(world.folder / "reconcile.yaml", {}, str, listen="0.0.0.0:0", site=site.of_server)

    assert server.listener is not None
    server._abandon()


def test_a_request_beyond_what_http_allows_is_never_an_error_of_ours(shop: Site) -> None:
    browser = shop.browser("ada")
    paths = [
        "/%00",
        "/%ff%fe",
        "/findings/%00",
        "/findings/" + "x" * 4000,
        "/review?after=%00",
        "/review?after=e30",
        "//",
    ]

    statuses = [browser.get(path).status for path in paths]
    many = browser.post("/review/decide", {"csrf": browser.csrf(), "finding": ["x"] * 9000})
    connection = http.client.HTTPConnection(shop.listener.address)
    connection.request("OPTIONS", "*")

    assert [status for status in statuses if status >= 500] == []
    assert many.status == 403
    assert connection.getresponse().status < 500
