"""Runs, rules, effects, the audit log and people: what each page shows, and what its buttons do."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from reconcile.audit import log
from reconcile.decisions import decide
from reconcile.findings.states import PlanState
from reconcile.journal import breaker
from reconcile.people import tokens
from reconcile.store import slots, tables
from reconcile.store import users as stored_users
from tests.rules.kinds.similar.people import people
from tests.support.web import PASSWORD, PII, Site, cheap_hashes, site_of
from tests.support.world import Kept, World

__all__ = ["cheap_hashes"]

ROWS = ((1, "anna.secret@x", "Anna"), (2, "anna.secret@x", "Ann"), (3, "b@x", "Bob"), (4, "b@x", "Bo"))
PAGES = ("/", "/review", "/search", "/runs", "/rules", "/rules/twins", "/effects", "/audit", "/account", "/people")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    world = World.at(tmp_path_factory.mktemp("prepared") / "w", *ROWS, twins={"clean": {"action": "delete"}})
    world.config["datasets"] = {"customers": PII}
    world.run()
    return world.kept()


@pytest.fixture
def shop(prepared: Kept) -> Iterator[Site]:
    """Two groups of twins by a personal column, whose plans wait for approval."""
    with site_of(prepared.restored()) as site:
        yield site


def events(site: Site, prefix: str) -> list[tuple[str, str]]:
    with site.store.read() as tx:
        return [(entry.actor, entry.event) for entry in log.entries(tx) if entry.event.startswith(prefix)]


def run_of(site: Site) -> str:
    [run] = set(re.findall(r'href="/runs/(run1_\w+)"', site.browser("vic").get("/runs").body.decode()))
    return run


# What pages show


@pytest.mark.slow
def test_each_page_is_in_the_navigation_of_those_who_may_see_it_and_shows_no_personal_data(shop: Site) -> None:
    with shop.store.begin() as tx:
        tx.connection.execute(sa.update(tables.plans).values(reason="lost"))
    for user, pages in (("vic", PAGES[:-1]), ("ada", PAGES)):
        browser = shop.browser(user)
        for path in (*pages, f"/runs/{run_of(shop)}"):
            answer = browser.get(path)
            assert answer.status == 200, path
            assert "anna.secret" not in answer.body.decode(), path
        assert ('href="/people"' in browser.get("/").body.decode()) is (user == "ada")


@pytest.mark.slow
def test_a_run_shows_its_rules_the_run_before_what_happened_and_what_could_not_be_checked(shop: Site) -> None:
    browser = shop.browser("vic")
    first = run_of(shop)
    shop.world.add((5, "c@x", "Cy"), (6, "c@x", "Cyn"))
    shop.world.run()
    [second] = set(re.findall(r'href="/runs/(run1_\w+)"', browser.get("/runs").body.decode())) - {first}

    answer = browser.get(f"/runs/{second}").text
    missing = browser.get("/runs/run1_x")

    assert re.search(r"twins .* 3 2 1 0 0 ", answer), answer
    assert re.search(r"finding found F-.* run finished", answer), answer
    assert (missing.status, "Unknown run run1_x" in missing.text) == (404, True)


def test_a_run_leads_to_the_plans_that_it_left_waiting(shop: Site) -> None:
    browser = shop.browser("vic")

    waiting = browser.get(f"/runs/{run_of(shop)}")
    for finding in shop.world.findings():
        decide.dismiss(shop.store, finding, actor="bob")
    over = browser.get(f"/runs/{run_of(shop)}")

    assert "Next: 2 plans wait for approval." in waiting.text
    assert 'href="/review?rule=twins"' in waiting.body.decode()
    assert "Next:" not in over.text


def test_whoever_chooses_a_password_reads_what_it_needs(shop: Site) -> None:
    rule = "At least 12 characters, 4 of them different. It must not contain the user's name."
    ada = shop.browser("ada")

    refused = [
        ada.send("/people", "/people", name="eve", role="viewer", password=password).text
        for password in ("the password of eve", "ababababababab")
    ]

    assert rule in ada.get("/people").text
    assert rule in ada.get("/account").text
    assert "it contains the user's name" in refused[0]
    assert "it has fewer than 4 different characters" in refused[1]


@pytest.mark.slow
def test_a_rule_shows_its_definition_its_numbers_and_when_people_mostly_reject_it(shop: Site) -> None:
    browser = shop.browser("vic")
    before = browser.get("/rules/twins").text
    for number in range(10, 20):
        shop.world.add((2 * number, f"{number}@x", "A"), (2 * number + 1, f"{number}@x", "B"))
    shop.world.run()
    for finding in sorted(shop.world.findings())[:4]:
        decide.dismiss(shop.store, finding, actor="bob", note=None, seen=None)

    after = browser.get("/rules/twins").text

    assert "kind: duplicates" in before
    assert "0 confirmed, 0 rejected" in before
    assert "0 confirmed, 4 rejected" in after
    assert "People rejected 4 of 4 findings of this rule" in after
    assert "0% of 4" in browser.get("/rules").text
    [listed] = shop.world.command("rules", "--json").json
    assert (listed["rejected"], listed["precision"], listed["waiting"]) == (4, 0.0, 8)
    assert listed["seconds_to_decision"] >= 0
    assert "People rejected 4 of 4" in shop.world.command("rules").out
    assert browser.get("/rules/nobody").status == 404


@pytest.mark.slow
def test_a_rule_draws_its_learnt_weights_and_what_to_expect_of_thresholds(tmp_path: Path) -> None:
    table = people(150, 50).to_pydict()
    names = [f"{first} {last}" for first, last in zip(table["first"], table["last"], strict=True)]
    world = World.at(tmp_path / "w", *((n, *row) for n, row in enumerate(zip(table["email"], names, strict=True))))
    twins = {"kind": "similar", "dataset": "customers", "compare": {"name": "name", "email": "email"}}
    world.config["rules"] = {"twins": {**twins, "max_share": "90%"}}
    world.write()
    assert world.command("learn", "twins", "--write").code == 0
    world.config["rules"]["twins"]["model"] = "models/twins.yaml"
    world.write()
    world.run()

    with site_of(world) as site:
        page = site.browser("vic").get("/rules/twins")

    assert "Learnt weights" in page.text
    assert len(re.findall(r'<polyline class="line [ab]" points="[0-9., ]+"', page.body.decode())) == 2
    assert re.search(r"Threshold Pairs Right Of all right 5% [0-9,]+ [0-9.]+% [0-9.]+%", page.text)
    assert re.search(r"email different -[0-9.]+", page.text)
    assert "model: …" in page.text


def test_effects_show_what_is_in_quarantine_and_what_is_paused(shop: Site) -> None:
    finding, *_ = sorted(shop.world.findings())
    with shop.store.begin() as tx:
        held = tables.plans.c.finding == finding
        values = {"state": PlanState.QUARANTINED.value, "reason": "the reply was lost"}
        tx.connection.execute(sa.update(tables.plans).where(held).values(values))
    browser = shop.browser("otto")
    browser.send("/jobs/nightly/pause", "/runs", reason="stocktaking")

    answer = browser.get("/effects")

    assert re.search(rf"{finding} quarantined the reply was lost twins shop delete 0 0", answer.text), answer.text
    assert "1 in quarantine" in answer.text
    assert "is paused by otto" in answer.text


def test_today_and_effects_say_why_changes_wait_and_until_when(shop: Site) -> None:
    with shop.store.begin() as tx:
        breaker.opened_for_person(tx, breaker.of_source("shop"), "shop.xlsx is open in Excel; close it there")
        breaker.opened_for_person(tx, breaker.of_source("idle"), "nothing waits for it")
    browser = shop.browser("vic")

    today, effects = browser.get("/").text, browser.get("/effects").text

    stopped = "Nothing is changed in shop now: shop.xlsx is open in Excel; close it there. Changes wait since"
    assert stopped in today
    assert stopped in effects
    assert "nothing waits for it" not in today
    assert re.search(r"^.{,40}; tried again \d+ \w+ \d\d:\d\d \.", today[today.index(stopped) + len(stopped) :]), today


# The audit log


@pytest.mark.slow
def test_the_log_is_searched_paged_from_the_newest_and_verified(shop: Site) -> None:
    finding, other_finding = sorted(shop.world.findings())
    for number in range(60):
        decide.dismiss(shop.store, finding, actor="bob", note=f"note {number}", seen=None)
        decide.reopen(shop.store, finding, actor="rita", note=None)
    browser = shop.browser("otto")

    newest = browser.get("/audit")
    older = browser.get(re.findall(r'href="(/audit\?[^"]*before=\d+)"', newest.body.decode())[0].replace("&amp;", "&"))
    of_bob = browser.get(f"/audit?finding={finding}&actor=bob")
    of_other = browser.get(f"/audit?finding={other_finding}&event=finding.dismissed")
    unknown = browser.get("/audit?finding=F-NOBODY")
    verified = browser.send("/audit/verify", "/audit")

    assert "note 59" in newest.text
    assert "note 20" not in newest.text
    assert "note 30" in older.text
    assert of_bob.text.count("finding.dismissed") == 50
    assert "finding.reopened" not in of_bob.text
    assert "No entry matches" in of_other.text
    assert (unknown.status, "F-NOBODY" in unknown.text) == (404, True)
    assert "entries are intact" in verified.text


def test_a_log_that_was_changed_is_said_to_be_broken(shop: Site) -> None:
    browser = shop.browser("otto")
    with shop.store.begin() as tx:
        tx.connection.execute(sa.update(tables.audit).where(tables.audit.c.seq == 1).values(actor="nobody"))

    assert "Broken at entry 1" in browser.send("/audit/verify", "/audit").text


# Jobs


@pytest.mark.slow
def test_an_operator_runs_pauses_and_resumes_a_job_and_a_form_sent_twice_queues_one_run(shop: Site) -> None:
    browser = shop.browser("otto")
    page = browser.get("/runs")
    fields = {"csrf": page.field("csrf"), "key": page.field("key")}

    answers = [browser.post("/jobs/nightly/trigger", fields).status for _ in range(2)]
    browser.send("/jobs/nightly/pause", "/runs", reason="stocktaking")
    paused = browser.get("/runs").text
    browser.send("/jobs/nightly/resume", "/runs")

    with shop.store.read() as tx:
        due = slots.listed(tx, job="nightly", statuses=("due",))
    assert answers == [303, 303]
    assert len(due) == 1
    assert "by otto: stocktaking" in paused
    assert "stocktaking" not in browser.get("/runs").text
    assert events(shop, "pause.") == [("otto", "pause.begun"), ("otto", "pause.ended")]
    assert shop.woken.count("work") == 3
    assert shop.browser("otto").send("/jobs/nobody/pause", "/runs", reason="x").status == 404


def test_run_now_queues_another_run_after_one_that_failed(shop: Site) -> None:
    browser = shop.browser("otto")
    for _ in range(2):
        page = browser.get("/runs")
        browser.post("/jobs/nightly/trigger", {"csrf": page.field("csrf"), "key": page.field("key")})
        with shop.store.begin() as tx:
            due = tables.slots.c.status == "due"
            assert tx.connection.execute(sa.update(tables.slots).where(due).values(status="failed")).rowcount == 1


def test_the_key_of_a_run_holds_nothing_of_the_session(shop: Site) -> None:
    page = shop.browser("otto").get("/runs")

    assert page.field("csrf")[:8] not in page.field("key")


@pytest.mark.server
@pytest.mark.parametrize(
    "path", ["/findings/%00", "/runs/%00", "/rules/%00", "/audit?actor=%00", "/audit?finding=a%00"]
)
def test_a_character_that_no_database_takes_is_a_page_that_does_not_exist(
    tmp_path: Path, postgres_url: str, path: str
) -> None:
    world = World.at(tmp_path / "w", *ROWS, twins={}, config={"state": postgres_url})
    world.write()
    with site_of(world) as site:
        assert site.browser("vic").get(path).status == 404


# People


def test_an_administrator_adds_changes_and_disables_users_and_the_last_administrator_stays(shop: Site) -> None:
    ada = shop.browser("ada")

    added = ada.send("/people", "/people", name="eve", role="reviewer", password="a long password", personal="1")
    short = ada.send("/people", "/people", name="ed", role="viewer", password="short")
    again = ada.send("/people", "/people", name="eve", role="viewer")
    king = ada.send("/people/eve/role", "/people", role="king")
    changed = ada.send("/people/eve/role", "/people", role="operator")
    alone = ada.send("/people/ada/disable", "/people")
    eve = shop.browser()
    assert eve.sign_in("eve", password="a long password").status == 303
    disabled = ada.send("/people/eve/disable", "/people")

    with shop.store.read() as tx:
        user = stored_users.get(tx, "eve")
    assert [answer.status for answer in (added, short, again, king, changed, alone, disabled)] == [
        *(303, 422, 409, 422, 303, 409, 303)
    ]
    assert "shorter than 12 characters" in short.text
    assert "ada is the only administrator" in alone.text
    assert user is not None
    assert (user.role, user.sees_personal, user.disabled_at is not None) == ("operator", False, True)
    assert eve.get("/").status == 303
    assert ada.send("/people/eve/enable", "/people").status == 303
    assert ("ada", "user.enabled") in events(shop, "user.")


def test_a_token_is_shown_once_acts_for_its_user_and_is_revoked(shop: Site) -> None:
    ada = shop.browser("ada")

    shown = ada.send("/tokens", "/people", name="export", user="bob", role="viewer", expires="30d")
    [token] = re.findall(r"rct_[\w-]+", shown.text)
    person = tokens.person(shop.store, token)
    unknown = ada.send("/tokens", "/people", name="import", user="nobody", role="", expires="")

    assert person is not None
    assert (person.name, person.role.word) == ("bob", "viewer")
    assert token not in ada.get("/people").text
    assert (unknown.status, "There is no user `nobody`" in unknown.text) == (404, True)
    assert ada.send("/tokens/export/revoke", "/people").status == 303
    assert tokens.person(shop.store, token) is None


def test_nobody_but_an_administrator_sees_or_changes_people(shop: Site) -> None:
    otto, added = shop.browser("otto"), events(shop, "user.added")

    assert otto.get("/people").status == 403
    assert otto.send("/people", "/account", name="eve", role="admin", password=PASSWORD).status == 403
    assert events(shop, "user.added") == added


# Messages


@pytest.mark.slow
def test_messages_lead_to_the_findings_in_the_console_where_people_have_an_address_for_it(tmp_path: Path) -> None:
    channels = {"team": {"type": "file", "path": "messages.jsonl", "format": "jsonl"}}
    console = {"url": "https://reconcile.example.com/"}
    world = World.at(tmp_path / "w", *ROWS, twins={}, config={"channels": channels, "console": console})

    preview = world.write().command("notify", "preview", "team", "--dry-run").out
    world.run()

    [message] = map(json.loads, (world.folder / "messages.jsonl").read_text().splitlines())
    groups = message["rules"][0]["largest"]
    assert message["link"] == "https://reconcile.example.com/review"
    assert {group["link"] for group in groups} == {
        f"https://reconcile.example.com/findings/{finding}" for finding in world.findings()
    }
    assert "Open in the console https://reconcile.example.com/review" in message["text"]
    assert "F-" in preview
    assert "findings/F-" not in preview
