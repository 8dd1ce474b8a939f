"""Filters of lists of findings, compared with plain Python on both stores and page by page."""

import datetime as dt
import random
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import sqlalchemy as sa

from reconcile.app import load
from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from reconcile.people import tokens
from reconcile.store import findings as stored
from reconcile.store import tables
from reconcile.views import queue
from reconcile.views.filters import ListFilter
from rules.models import Severity
from tests.support.cli import Project
from tests.support.web import Browser, Page, Site, cheap_hashes, site_of
from tests.support.world import World

pytestmark = pytest.mark.slow

__all__ = ["cheap_hashes"]

NOW = dt.datetime.now(dt.UTC)
LEDGER = [(f"L{n}", f"A{n}", f"{n * 100}.00") for n in range(1, 13)]
BANK = [(f"B{n}", f"A{n}", f"{n * 100 + (5 if n % 3 else 0)}.00") for n in range(1, 9)]
"""The first eight pair up, most of them with another amount."""
PAID = [(f"P{n}-{twin}", f"mail{n}@x", f"{n * 111}.00") for n in range(1, 5) for twin in "ab"]
CONFIG: dict[str, Any] = {
    "sources": {"files": {"type": "files", "root": "."}},
    "datasets": {
        name: {
            "source": "files",
            "path": f"{name}.csv",
            "id": "id",
            "columns": {"amount": "decimal(12,2)"},
            "money": {"amount": "amount", "currency": "EUR"},
        }
        for name in ("ledger", "bank", "paid")
    },
    "rules": {
        "missing": {
            "kind": "reconciliation",
            "left": "ledger",
            "right": "bank",
            "key": ["ref"],
            "compare": ["amount"],
            "owner": "@books",
            "severity": "high",
        },
        "payers": {"kind": "duplicates", "dataset": "paid", "key": ["ref"], "owner": "@finance", "severity": "low"},
        "amounts": {"kind": "duplicates", "dataset": "paid", "key": ["amount"], "severity": "medium"},
    },
    "jobs": {"nightly": {"rules": "all"}},
    "channels": {},
}


def folder_of(path: Path) -> Path:
    for name, rows in (("ledger", LEDGER), ("bank", BANK), ("paid", PAID)):
        path.mkdir(exist_ok=True)
        (path / f"{name}.csv").write_text("\n".join(["id,ref,amount", *map(",".join, rows)]) + "\n")
    return path


def world_of(path: Path, pii: tuple[str, ...] = (), **config: Any) -> World:
    datasets = {name: dict(settings) for name, settings in CONFIG["datasets"].items()}
    datasets["paid"] |= {"pii": list(pii)} if pii else {}
    return World(folder_of(path), {}, CONFIG | {"datasets": datasets} | config).write()


# What a filter means


def fits(finding: Finding, wanted: ListFilter, at: dt.datetime) -> bool:
    """The documentation in plain Python."""
    owner = CONFIG["rules"][finding.rule].get("owner")
    size = max(map(abs, finding.money.values()), default=None)
    ranged = wanted.at_least is not None or wanted.at_most is not None
    return all(
        (
            not wanted.states or finding.state in wanted.states,
            not wanted.rules or finding.rule in wanted.rules,
            wanted.owner is None or owner == wanted.owner,
            wanted.severity is None or finding.severity >= wanted.severity,
            not wanted.forms or finding.form in wanted.forms,
            wanted.assigned_to is None or (finding.assigned_to or "") == wanted.assigned_to,
            wanted.older_than is None or at - finding.first_seen >= wanted.older_than,
            wanted.since is None or finding.first_seen >= wanted.since,
            not ranged or size is not None,
            wanted.at_least is None or (size is not None and size >= wanted.at_least),
            wanted.at_most is None or (size is not None and size <= wanted.at_most),
        )
    )


def anything(chance: random.Random) -> ListFilter:
    def maybe(*values: Any) -> Any:
        return chance.choice(values) if chance.random() < 0.4 else None

    return ListFilter(
        states=maybe((State.OPEN,), (State.OPEN, State.DISMISSED)) or (),
        rules=maybe(("missing",), ("missing", "payers")) or (),
        owner=maybe("@books", "@finance"),
        severity=maybe(Severity.medium, Severity.high),
        forms=maybe(("left_only",), ("mismatch", "duplicate"), ("duplicate",)) or (),
        assigned_to=maybe("ann", ""),
        older_than=maybe(dt.timedelta(days=3), dt.timedelta(days=9)),
        since=maybe(NOW - dt.timedelta(days=5), NOW - dt.timedelta(days=12)),
        at_least=maybe(Decimal("5.00"), Decimal("111"), Decimal(1000)),
        at_most=maybe(Decimal("5.00"), Decimal("333.0"), Decimal(1100)),
    )


def test_filters_choose_what_plain_python_chooses_on_both_stores_and_page_by_page(url: str, tmp_path: Path) -> None:
    world_of(tmp_path / "w", state=url)
    project = Project(tmp_path / "w")
    project("run", "--quiet")
    chance = random.Random(28)
    with load(project.folder / "reconcile.yaml") as application:
        with application.store.begin() as tx:
            for name in stored.names(tx):
                values = {
                    "first_seen": NOW - dt.timedelta(days=chance.randrange(15), hours=1),
                    "assigned_to": chance.choice([None, "ann"]),
                    "state": chance.choice(["open", "dismissed"]),
                }
                tx.connection.execute(sa.update(tables.findings).where(tables.findings.c.id == name).values(values))
        sizes = []
        for _ in range(60):
            wanted = anything(chance)
            with application.store.read() as tx:
                criteria = wanted.criteria(application, tx)
                names = stored.names(tx, criteria)
                expected = [finding.id for finding in stored.find(tx) if fits(finding, wanted, tx.now)]
            paged: list[str] = []
            cursor = None
            while True:
                page = queue.listed(application, criteria, limit=3, cursor=cursor)
                paged += [view.id for view in page.findings]
                if (cursor := page.cursor) is None:
                    break
            assert names == paged == expected, wanted
            sizes.append(len(names))

    assert len(set(sizes)) > 5, "the filters differ"


@pytest.fixture
def listed(tmp_path: Path) -> Project:
    world_of(tmp_path / "w", pii=("amount",))
    project = Project(tmp_path / "w")
    project("run", "--quiet")
    return project


def test_the_command_filters_and_says_how_many_amounts_it_did_not_compare(listed: Project) -> None:
    some = listed("findings", "--at-least", "400", "--json")
    shown = listed("findings", "--at-least", "400", "--json", "--show")
    forms = listed("findings", "--form", "mismatch", "--form", "left_only", "--json")
    owned = listed("findings", "--owner", "@finance", "--json")

    assert {finding["rule"] for finding in some.json} == {"missing"}
    assert "8 findings whose amounts are hidden are not listed; --show compares them too" in some.err
    assert [finding["rule"] for finding in shown.json if finding["rule"] != "missing"] == ["amounts", "payers"]
    assert "hidden" not in shown.err
    assert {finding["form"] for finding in forms.json} == {"mismatch", "left_only"}
    assert {finding["rule"] for finding in owned.json} == {"payers"}
    assert listed("findings", "--older-than", "1d").out == ""
    assert len(listed("findings", "--since", "2020-01-01", "--all", "--json").json) == len(
        listed("findings", "--all", "--json").json
    )


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--form", "left_onyl"], "No rule finds the form left_onyl; did you mean `left_only`?"),
        (["--owner", "@nobody"], "No rule has the owner @nobody; use @books, @finance"),
        (["--at-least", "much"], "`much` is not an amount; write it like 1500 or 1,500.00, without a currency"),
        (["--at-most", "-5"], "`-5` is not an amount"),
        (["--older-than", "long"], "`long` is not a duration"),
        (["--since", "yesterday"], "'yesterday' is neither a time like"),
        (["--since", "0001-01-01T00:00+14:00"], "is neither a time like"),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused_in_a_sentence(
    listed: Project, arguments: list[str], why: str
) -> None:
    answer = listed("findings", *arguments)

    assert answer.code == 2
    assert why in re.sub(r"\s+", " ", answer.err)


# In the console


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    world = world_of(tmp_path / "w", pii=("ref",))
    Project(world.folder)("run", "--quiet")
    with site_of(world) as site:
        yield site


def items(page: Page) -> list[str]:
    return re.findall(r'name="finding" value="([^":]+):', page.body.decode())


def filtered(browser: Browser, **fields: str) -> Page:
    sent = browser.send("/review/filter", "/review", **fields)
    assert sent.status == 303, sent.text
    return browser.get(sent.headers["Location"])


def test_a_text_is_sealed_in_the_address_and_matches_only_what_the_list_shows(site: Site) -> None:
    browser, other_browser = site.browser("bob"), site.browser("rita")
    sent = browser.send("/review/filter", "/review", wanted="mail1@x")
    address = sent.headers["Location"]
    visible = browser.send("/review/filter", "/review", wanted="P1-a").headers["Location"]

    masked, by_record, of_other = browser.get(address), browser.get(visible), other_browser.get(address)

    assert "mail1" not in address
    assert [list(parse_qs(urlsplit(link).query)) for link in (address, visible)] == [["text"], ["text"]]
    assert items(masked) == [], "the key is masked"
    assert 'value="mail1@x"' in masked.body.decode(), "the field keeps what was typed"
    assert len(items(by_record)) == 2, "one of each rule"
    assert len(items(of_other)) > 1
    assert "another person typed it" in of_other.text
    assert "mail1" not in of_other.body.decode()
    assert len(items(browser.get(address[:-4] + "AAAA"))) > 1, "a damaged text filters nothing and is told"


def test_masked_amounts_are_in_no_range_and_are_counted(tmp_path: Path) -> None:
    world = world_of(tmp_path / "w", pii=("amount",))
    Project(world.folder)("run", "--quiet")
    with site_of(world) as site:
        browser = site.browser("bob")
        pages = [filtered(browser, least=least, rule="payers") for least in ("0", "111", "9999999")]
        everything = filtered(browser, least="1", most="1,000.00")

        assert [items(page) for page in pages] == [[], [], []]
        assert all("4 findings whose amounts are hidden are not shown." in page.text for page in pages)
        assert 0 < len(items(everything)) < len(items(browser.get("/review")))
        assert len(items(filtered(browser, rule="payers"))) == 4


def test_the_filter_goes_with_pages_files_decisions_and_their_answer(site: Site) -> None:
    browser = site.browser("bob")
    page = filtered(browser, form="mismatch", least="1", assigned="nobody", older="0", since="2020-01-01")
    [address] = {
        link.replace("&amp;", "&") for link in re.findall(r'href="(/review/findings\.csv[^"]*)"', page.body.decode())
    }
    names = items(page)
    ticks = re.findall(r'name="finding" value="([^"]+)"', page.body.decode())

    rows = browser.get(address).body.decode("utf-8-sig").splitlines()
    sent = browser.send("/review/decide", "/review", finding=ticks[:1], decision="dismiss", form="mismatch", least="1")

    assert len(rows) - 1 == len(names) > 1
    assert sent.headers["Location"] == "/review?form=mismatch&least=1"
    assert items(browser.follow(sent)) == names, "the first is its offer to take it back"


@pytest.mark.parametrize(
    ("field", "typed"), [("least", "much"), ("most", "5 EUR"), ("older", "a week"), ("since", "2026-13-40")]
)
def test_what_a_field_cannot_mean_is_told_and_the_rest_of_the_filter_stays(site: Site, field: str, typed: str) -> None:
    browser = site.browser("vic")

    page = browser.send("/review/filter", "/review", rule="payers", wanted="P1-a", **{field: typed})

    assert page.status == 422
    assert f"{typed} is not a" in page.text
    assert 'value="P1-a"' in page.body.decode()


def test_a_view_is_saved_under_a_name_for_one_person_in_one_browser_and_removed(site: Site) -> None:
    browser, other_browser = site.browser("vic"), site.browser("rita")
    other_browser.cookies |= {}
    sent = browser.send("/review/views", "/review", name="Overdue", rule="payers", older="0", after="x")
    browser.send("/review/views", "/review", name="Mine <b>", assigned="me")
    page = browser.get("/review")
    other_browser.cookies |= {
        name: value for name, value in browser.cookies.items() if name.startswith("reconcile-views")
    }
    nameless = browser.send("/review/views", "/review", name=" ")
    long = browser.send("/review/views", "/review", name="x" * 41)
    full = [browser.send("/review/views", "/review", name=f"v{n}", rule="x" * 190).status for n in range(15)]
    browser.send("/review/views", "/review", remove="Overdue")

    assert sent.headers["Location"] == "/review?rule=payers&older=0"
    links = dict(re.findall(r'<li class="row"><a href="([^"]+)">([^<]+)</a>', page.body.decode()))
    assert links == {"/review?rule=payers&amp;older=0": "Overdue", "/review?assigned=me": "Mine &lt;b&gt;"}
    assert "Overdue" not in other_browser.get("/review").text
    assert "Overdue" not in "".join(browser.cookies.values())
    assert (nameless.status, long.status) == (422, 422)
    assert "The view was not saved: give it a name" in nameless.text
    assert full[-1] == 422, "a browser keeps no more"
    assert "Overdue" not in browser.get("/review").text


def test_programs_filter_alike_and_read_what_is_wrong(site: Site) -> None:
    with site.store.begin() as tx:
        token = tokens.add(tx, "of-vic", "vic", by="ada")
    program = Browser(site.listener.address, {"Authorization": f"Bearer {token}"})

    def ask(query: str) -> Page:
        return program.get(f"/api/v1/findings?{query}")

    chosen = ask("form=left_only&owner=@books&at_least=1000&at_most=1100&since=2020-01-01T00:00:00Z&assigned_to=")

    assert [finding["money"]["EUR"] for finding in chosen.json["findings"]] == ["1100.00", "1000.00"]
    assert ask("older_than=1d").json["findings"] == []
    assert {ask(f"older_than={wrong}").status for wrong in ("long", "99999w", "-1d")} == {422}
    assert {ask(f"since={wrong}").status for wrong in ("0001-01-01T00:00:00%2B14:00", "2026-01-01", "x")} == {422}
    assert {ask(f"at_least={wrong}").status for wrong in ("-1", "NaN", "1e400", "x")} == {422}
    assert "No rule finds the form nope" in ask("form=nope").json["detail"]


# Select all of a filter


def test_all_of_a_filter_are_decided_as_they_were_shown_and_taken_back(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reconcile.web.console import review  # noqa: PLC0415 - the page is made smaller for this test

    monkeypatch.setattr(review, "SHOWN", 2)
    browser, other_browser = site.browser("bob"), site.browser("rita")
    page = browser.get("/review?rule=missing")
    [link] = re.findall(r'href="(/review/all[^"]*)"[^>]*>Select all (\d+) that match', page.body.decode())
    shown = browser.get(link[0].replace("&amp;", "&"))
    names = items(shown)
    other_browser.send(f"/findings/{names[0]}/handle", f"/findings/{names[0]}")
    fields = {"finding": re.findall(r'name="finding" value="([^"]+)"', shown.body.decode()), "rule": "missing"}

    sent = browser.send("/review/decide", "/review", decision="dismiss", note="month end", **fields)
    told = browser.follow(sent)
    again = browser.follow(sent)
    hidden = re.findall(r'<input type="hidden" name="finding" value="([^"]+)"', told.body.decode())
    back = browser.follow(browser.send("/review/decide", "/review", finding=hidden, decision="take-back"))

    number = len(names)
    assert (int(link[1]), len(items(page))) == (number, 2)
    assert f"Dismiss {number} findings" in shown.text
    assert f"{number - 1} findings dismissed:" in told.text
    assert f"1 finding not decided: {names[0]}" in told.text
    assert "rita" in told.text, "who decided first"
    assert "findings dismissed:" not in again.text, "a reload neither decides nor tells again"
    assert f"Take all {number - 1} back" in told.text
    assert f"{number - 1} findings reopened:" in back.text
    states = {name: state for name, state in site.world.findings().items() if name in names}
    assert sorted(states.values()) == ["handled", *["open"] * (number - 1)]


def test_what_comes_or_changes_after_the_selection_is_not_decided(site: Site) -> None:
    browser = site.browser("bob")
    shown = browser.get("/review/all?rule=missing")
    ticks = re.findall(r'name="finding" value="([^"]+)"', shown.body.decode())
    ledger = site.world.folder / "ledger.csv"
    ledger.write_text(ledger.read_text().replace("L12,A12,1200.00", "L12,A12,1300.00") + "L99,A99,9900.00\n")
    Project(site.world.folder)("run", "--quiet")

    told = browser.follow(browser.send("/review/decide", "/review", decision="handle", finding=ticks))

    assert f"{len(ticks) - 1} findings handled:" in told.text
    assert "1 finding not decided:" in told.text
    assert "changed since it was shown" in told.text
    after = browser.get("/review/all?rule=missing")
    assert len(items(after)) == 2, "the one that changed and the one that came"


def test_a_selection_is_bounded_and_says_so(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from reconcile.web.console import listing, review  # noqa: PLC0415 - their limit is made smaller for this test

    monkeypatch.setattr(listing, "MOST", 3)
    monkeypatch.setattr(review, "MOST", 3)
    monkeypatch.setattr(review, "SHOWN", 2)
    browser = site.browser("bob")
    page, shown = browser.get("/review"), browser.get("/review/all")
    ticks = re.findall(r'name="finding" value="([^"]+)"', shown.body.decode())

    too_many = browser.send("/review/decide", "/review", decision="dismiss", finding=[*ticks, "F-NOBODY:1:"])

    assert re.search(r"Select the first 3 of \d\d", page.text)
    assert "3 findings selected" in shown.text
    assert "The console decides at most 3 at once: these are the first." in shown.text
    assert len(ticks) == 3
    assert too_many.status == 422
    assert "4 findings are selected, and the console decides at most 3 at once. Nothing was changed" in too_many.text
    assert set(site.world.findings().values()) == {"open"}


def test_a_viewer_selects_nothing(site: Site) -> None:
    browser = site.browser("vic")

    assert browser.get("/review/all").status == 403
    assert "/review/all" not in browser.get("/review").body.decode()
