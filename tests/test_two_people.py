"""The first of two approvals: every door says who gave it, and what is still missing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from chat_support import MARIA, Chat, shown
from web_support import Browser, Page, Site, cheap_hashes, site_of
from world_support import DELETE, Kept, World

from reconcile.people import tokens
from reconcile.testing.slack_server import SlackServer

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
    found = site.browser("vic").send("/search", "/search", text=first)

    assert f"{first} is awaiting approval. {FIRST}." in after.text
    assert after.text.count("1 of 2 approvals: bob") == 2, "in the answer and in the list"
    assert "1 of 2 approvals: bob" in found.text
    assert f"{second} is" not in after.text


def test_an_assignment_after_the_first_approval_still_says_what_is_missing(site: Site) -> None:
    first = min(site.world.findings())
    bob = site.browser("bob")
    approve_in_queue(bob, first)

    answer = bob.send(f"/findings/{first}/assign", "/review", to="rita")
    other = bob.send(f"/findings/{max(site.world.findings())}/assign", "/review", to="rita")

    assert f"{first} is awaiting approval. {FIRST}." in bob.get(answer.headers["Location"]).text
    assert "is awaiting approval. 0 of 2 approvals; needs 2 people." in bob.get(other.headers["Location"]).text


def test_who_approved_is_not_offered_to_approve_again_and_may_still_reject(site: Site) -> None:
    first = min(site.world.findings())
    bob, rita = site.browser("bob"), site.browser("rita")
    approve_in_queue(bob, first)

    own, other = (browser.get(f"/findings/{first}") for browser in (bob, rita))

    assert f'formaction="/findings/{first}/approve"' not in own.body.decode()
    assert f'formaction="/findings/{first}/reject"' in own.body.decode()
    assert "You have approved this plan; another person must approve it too." in own.text
    assert f'formaction="/findings/{first}/approve"' in other.body.decode()
    assert "You have approved" not in other.text
    assert FIRST in own.text
    assert FIRST in other.text


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
    assert f"waits for approval ({FIRST})" in " ".join(planned.out.split())
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
