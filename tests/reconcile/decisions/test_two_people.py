"""The first of two approvals: every door says who gave it, and what is still missing."""

import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconcile.audit import log
from reconcile.findings.states import PlanState
from reconcile.people import tokens, users
from reconcile.people.roles import Role
from reconcile.testing.slack_server import SlackServer
from tests.reconcile.chat.chat import MARIA, Chat, shown
from tests.support.web import Browser, Page, Site, cheap_hashes, site_of
from tests.support.world import DELETE, Kept, World

__all__ = ["cheap_hashes"]

ROWS = ((1, "a@x", "Anna"), (2, "a@x", "Ann"), (3, "b@x", "Bob"), (4, "b@x", "Bo"))
FIRST = "1 of 2 approvals: bob; needs another person"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    world = World.at(tmp_path_factory.mktemp("two") / "w", *ROWS, twins=DELETE | {"approval": "two_person"})
    world.run()
    return world.kept()


@pytest.fixture
def site(prepared: Kept) -> Iterator[Site]:
    """Two findings whose plans wait for two people."""
    with site_of(prepared.restored()) as site:
        yield site


def approve_in_queue(browser: Browser, finding: str) -> Page:
    """Approve a finding in the queue; return the page that follows."""
    page = browser.get(f"/review?finding={finding}")
    answer = browser.send(f"/findings/{finding}/approve", "/review", plan=page.field("plan"), next=page.field("next"))
    assert answer.status == 303
    return browser.get(answer.headers["Location"])


def test_the_answer_in_the_queue_and_its_list_name_who_approved(site: Site) -> None:
    first, second = sorted(site.world.findings())

    after = approve_in_queue(site.browser("bob"), first)
    answer = site.browser("vic").send("/search", "/search", text=first)

    assert f"{first} is awaiting approval. {FIRST}." in after.text
    assert after.text.count("1 of 2 approvals: bob") == 2, "in the answer and in the list"
    assert "1 of 2 approvals: bob" in answer.text
    assert f"{second} is" not in after.text


NEW_PASSWORD = "a password of their own"
SHARED = "This approval does not count as a second person's"


def _approve(site: Site, browser: Browser, finding: str) -> None:
    """Approve a finding on its page."""
    page = f"/findings/{finding}"
    assert browser.send(f"{page}/approve", page, plan=_plan_hash(site, finding)).status == 303


def _plan_hash(site: Site, finding: str) -> str:
    plans = (plan for plan in site.world.plans() if plan.finding == finding)
    return next(plan.plan_hash for plan in plans if plan.state is PlanState.AWAITING)


def _approve_by_token(site: Site, finding: str, token: str) -> Page:
    body = json.dumps({"plan_hash": _plan_hash(site, finding)})
    return _by_token(site, token, f"/api/v1/findings/{finding}/approve", body)


def test_an_administrator_who_made_a_token_for_another_person_counts_once(site: Site) -> None:
    finding = min(site.world.findings())
    with site.store.begin() as tx:
        token = tokens.add(tx, "of-bob", "bob", by="ada")
    _approve(site, site.browser("ada"), finding)

    answer = _approve_by_token(site, finding, token)

    assert SHARED in answer.text
    assert "ada made the password or token of bob" in answer.text
    assert site.world.findings()[finding] == "awaiting_approval"
    assert "1 of 2 approvals: ada; needs another person" in site.browser("vic").get(f"/findings/{finding}").text
    _approve(site, site.browser("bob"), finding)
    assert "2 of 2" not in site.browser("vic").get(f"/findings/{finding}").text
    assert site.world.findings()[finding] != "awaiting_approval"


def test_a_password_that_an_administrator_set_counts_as_theirs_until_its_owner_changes_it(site: Site) -> None:
    first, second = sorted(site.world.findings())
    with site.store.begin() as tx:
        users.set_password(tx, "bob", NEW_PASSWORD, by="ada")
    for finding in (first, second):
        _approve(site, site.browser("ada"), finding)
    bob = site.browser("bob", NEW_PASSWORD)
    _approve(site, bob, first)
    waits = site.world.findings()[first]

    changed = bob.send("/account/password", "/account", password=NEW_PASSWORD, new="quite another secret")
    _approve(site, bob, second)
    _approve(site, bob, first)

    assert waits == "awaiting_approval"
    assert changed.status == 303
    assert "awaiting_approval" not in site.world.findings().values()


def test_two_people_whose_passwords_a_third_one_set_count_once(site: Site) -> None:
    finding = min(site.world.findings())
    with site.store.begin() as tx:
        for name in ("ada", "bob"):
            users.set_password(tx, name, NEW_PASSWORD, by="root")

    for name in ("ada", "bob"):
        _approve(site, site.browser(name, NEW_PASSWORD), finding)

    assert site.world.findings()[finding] == "awaiting_approval"


def test_a_token_that_sets_its_users_password_proves_no_owner(site: Site) -> None:
    finding = min(site.world.findings())
    with site.store.begin() as tx:
        users.set_password(tx, "bob", NEW_PASSWORD, by="bob")
    _approve(site, site.browser("bob", NEW_PASSWORD), finding)

    with site.store.read() as tx:
        [entry] = log.entries(tx, event="approval.approved")

    assert entry.body["credential_by"] == "a terminal or a token"


def test_a_token_made_as_another_person_counts_as_of_whoever_set_their_password(site: Site) -> None:
    """One administrator sets the password of another, and makes the token as them: the owner never notices."""
    finding = min(site.world.findings())
    with site.store.begin() as tx:
        users.add(tx, "root2", Role.ADMIN, by="ada", password=NEW_PASSWORD)
    page = site.browser("root2", NEW_PASSWORD).send("/tokens", "/people", name="hidden", user="root2")
    _approve(site, site.browser("ada"), finding)

    answer = _approve_by_token(site, finding, _token_on(page))

    assert SHARED in answer.text
    assert "ada made the password or token of root2" in answer.text
    assert site.world.findings()[finding] == "awaiting_approval"


@pytest.mark.parametrize("door", ["console", "API"])
def test_a_password_set_as_another_person_counts_as_of_whoever_held_their_credential(site: Site, door: str) -> None:
    finding = min(site.world.findings())
    with site.store.begin() as tx:
        users.add(tx, "root2", Role.ADMIN, by="ada", password=NEW_PASSWORD)
        token = tokens.add(tx, "of-root2", "root2", by="ada")
    if door == "console":
        root2 = site.browser("root2", NEW_PASSWORD)
        assert root2.send("/people", "/people", name="eve", role="reviewer", password=NEW_PASSWORD).status == 303
    else:
        user = json.dumps({"name": "eve", "role": "reviewer", "password": NEW_PASSWORD})
        assert _by_token(site, token, "/api/v1/users", user).status == 200
    _approve(site, site.browser("ada"), finding)

    _approve(site, site.browser("eve", NEW_PASSWORD), finding)

    assert site.world.findings()[finding] == "awaiting_approval"


def test_a_token_that_sets_its_users_password_leaves_it_with_the_tokens_maker(site: Site) -> None:
    finding = min(site.world.findings())
    with site.store.begin() as tx:
        users.add(tx, "root2", Role.ADMIN, by="root2", password="their own long secret")
        token = tokens.add(tx, "of-root2", "root2", by="ada")
    assert _by_token(site, token, "/api/v1/users/root2/password", json.dumps({"password": NEW_PASSWORD})).status == 200
    _approve(site, site.browser("ada"), finding)

    _approve(site, site.browser("root2", NEW_PASSWORD), finding)

    assert site.world.findings()[finding] == "awaiting_approval"


@pytest.mark.parametrize("chooser", ["bob", "ada"])
def test_who_holds_the_credential_that_the_keeper_was_chosen_with_chose_it(site: Site, chooser: str) -> None:
    """Ada made the token of bob: she chooses with it and approves by herself, or the other way round."""
    finding = min(site.world.findings())
    page = f"/findings/{finding}"
    with site.store.begin() as tx:
        token = tokens.add(tx, "of-bob", "bob", by="ada")
    ada = site.browser("ada")
    keeper = ada.get(page).field("keeper")
    if chooser == "bob":
        assert _by_token(site, token, f"/api/v1{page}/keep", json.dumps({"keeper": keeper})).status == 200
        answer = ada.send(f"{page}/approve", page, plan=_plan_hash(site, finding))
    else:
        assert ada.send(f"{page}/keep", page, keeper=keeper).status == 303
        answer = _approve_by_token(site, finding, token)

    assert answer.status == 409
    assert "two other people must approve" in answer.text


def _by_token(site: Site, token: str, path: str, body: str) -> Page:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    return Browser(site.listener.address, headers).ask("POST", path, body)


def _token_on(page: Page) -> str:
    """The token that a page shows once."""
    match = re.search(r"rct_[\w-]+", page.text)
    assert match is not None, page.text
    return match[0]


def test_an_assignment_after_the_first_approval_still_says_what_is_missing(site: Site) -> None:
    first = min(site.world.findings())
    bob = site.browser("bob")
    approve_in_queue(bob, first)

    answer = bob.send(f"/findings/{first}/assign", "/review", to="rita")
    other_answer = bob.send(f"/findings/{max(site.world.findings())}/assign", "/review", to="rita")

    assert f"{first} is awaiting approval. {FIRST}." in bob.get(answer.headers["Location"]).text
    assert "is awaiting approval. 0 of 2 approvals; needs 2 people." in bob.get(other_answer.headers["Location"]).text


def test_who_approved_is_not_offered_to_approve_again_and_may_still_reject(site: Site) -> None:
    first = min(site.world.findings())
    bob, rita = site.browser("bob"), site.browser("rita")
    approve_in_queue(bob, first)

    own, stored = (browser.get(f"/findings/{first}") for browser in (bob, rita))

    assert f'formaction="/findings/{first}/approve"' not in own.body.decode()
    assert f'formaction="/findings/{first}/reject"' in own.body.decode()
    assert "You have approved this plan; another person must approve it too." in own.text
    assert f'formaction="/findings/{first}/approve"' in stored.body.decode()
    assert "You have approved" not in stored.text
    assert FIRST in own.text
    assert FIRST in stored.text


def test_who_chose_the_keeper_is_told_that_others_must_approve(site: Site) -> None:
    first = min(site.world.findings())
    rita = site.browser("rita")
    page = f"/findings/{first}"
    assert rita.send(f"{page}/keep", page, keeper=rita.get(page).field("keeper")).status == 303

    chosen = rita.get(page)

    assert f'formaction="{page}/approve"' not in chosen.body.decode()
    assert "You chose the keeper, so two other people must approve this plan." in chosen.text


def test_after_the_second_approval_nothing_is_missing(site: Site) -> None:
    first = min(site.world.findings())
    approve_in_queue(site.browser("bob"), first)

    after = approve_in_queue(site.browser("rita"), first)

    assert f"{first} is approved." in after.text
    assert "of 2 approvals: bob" not in after.text
    assert "approvals" not in site.world.command("show", first, "--json").json


def test_the_command_line_names_who_approved(site: Site) -> None:
    first = min(site.world.findings())
    assert "approvals" not in site.world.command("findings").out, "nobody has approved anything"
    approve_in_queue(site.browser("bob"), first)

    listed, detail, planned = (
        site.world.command(*words) for words in (("findings",), ("show", first), ("plan", "--finding", first))
    )

    assert "1 of 2 approvals: bob" in listed.out
    assert FIRST in detail.out.splitlines()
    assert f"waiting for approval ({FIRST})" in " ".join(planned.out.split())
    [plan] = site.world.command("plan", "--finding", first, "--json").json
    named = [
        finding["approvals"] for finding in site.world.command("findings", "--json").json if finding["id"] == first
    ]
    assert [plan["approvals"], *named] == [{"needed": 2, "by": ["bob"]}] * 2


def test_programs_read_who_approved(site: Site) -> None:
    first = min(site.world.findings())
    approve_in_queue(site.browser("bob"), first)
    with site.store.begin() as tx:
        token = tokens.add(tx, "nightly", "vic", by="ada")
    program = Browser(site.listener.address, {"Authorization": f"Bearer {token}"})

    listed = program.get("/api/v1/findings").json["findings"]
    detail = program.get(f"/api/v1/findings/{first}").json

    assert {finding["id"]: finding["approvals"]["by"] for finding in listed}[first] == ["bob"]
    assert detail["approvals"] == detail["plan"]["approvals"] == {"needed": 2, "by": ["bob"]}


def test_a_spreadsheet_names_who_approved(site: Site, tmp_path: Path) -> None:
    approve_in_queue(site.browser("bob"), min(site.world.findings()))

    assert site.world.command("export", str(tmp_path / "open.csv")).code == 0

    assert f"({FIRST})" in (tmp_path / "open.csv").read_text("utf-8-sig")


@pytest.mark.slow
def test_a_message_with_buttons_names_who_approved_however_old_the_finding_is(tmp_path: Path) -> None:
    with (
        SlackServer() as slack,
        Chat.at(tmp_path, slack, clean={"action": "delete"}, approval="two_person") as chat,
    ):
        chat.add("A", "A")
        message = chat.run()
        before = shown(message)
        with sqlite3.connect(tmp_path / "state.db") as state:
            state.execute("update findings set state_since = '2026-01-01T00:00:00.000000Z'")
        state.close()

        chat.press(message, "approve", user=MARIA)
        chat.work()

        [updated] = slack.parents()
        assert "1 of 2 approvals: maria; needs another person" in shown(updated)
        assert "approvals" not in before
        assert chat.buttons(updated, "approve"), "for another person"


LOSSES = {
    "disabled": lambda tx: users.disable(tx, "bob", by="ada"),
    "viewer": lambda tx: users.set_role(tx, "bob", Role.VIEWER, by="ada"),
}


@pytest.mark.parametrize(("loss", "reason"), [("disabled", "bob is disabled"), ("viewer", "bob is viewer now")])
def test_an_approval_counts_only_while_its_user_may_approve(site: Site, loss: str, reason: str) -> None:
    finding = min(site.world.findings())
    _approve(site, site.browser("bob"), finding)
    with site.store.begin() as tx:
        LOSSES[loss](tx)
        token = tokens.add(tx, "of-rita", "rita", by="rita")
    waits = site.browser("vic").get(f"/findings/{finding}").text

    answer = _approve_by_token(site, finding, token)

    assert "1 of 2" not in waits
    assert f"The approval of bob no longer counts: {reason}." in answer.text
    assert site.world.findings()[finding] == "awaiting_approval"
    assert "1 of 2 approvals: rita; needs another person" in site.browser("vic").get(f"/findings/{finding}").text
    _approve(site, site.browser("ada"), finding)
    assert site.world.findings()[finding] != "awaiting_approval"


def test_an_approval_of_a_user_who_is_enabled_again_counts_again(site: Site) -> None:
    finding = min(site.world.findings())
    _approve(site, site.browser("bob"), finding)
    with site.store.begin() as tx:
        users.disable(tx, "bob", by="ada")
        users.enable(tx, "bob", by="ada")

    _approve(site, site.browser("rita"), finding)

    assert site.world.findings()[finding] == "approved"


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_the_cleaning_does_not_begin_if_an_approver_lost_the_right_meanwhile(site: Site, loss: str) -> None:
    finding = min(site.world.findings())
    for name in ("bob", "rita"):
        _approve(site, site.browser(name), finding)
    with site.store.begin() as tx:
        LOSSES[loss](tx)

    site.clean()

    assert len(site.world.shop.ids()) == len(ROWS)
    [plan] = (plan for plan in site.world.plans() if plan.finding == finding)
    assert plan.state is PlanState.SKIPPED
    assert "the approval of bob no longer counts: bob is " in (plan.reason or "")
    site.world.run()
    assert site.world.findings()[finding] == "awaiting_approval"


def test_names_at_the_command_line_need_no_user_even_where_there_are_users(site: Site) -> None:
    finding = min(site.world.findings())
    site.world.approve(finding, actor="carl")
    with site.store.begin() as tx:
        users.disable(tx, "bob", by="ada")

    site.world.approve(finding, actor="dora")

    assert site.world.findings()[finding] == "cleaned"
