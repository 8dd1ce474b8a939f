"""Search: every door finds a finding by what a person has at hand, and tells nobody what is masked for them."""

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconcile.cli import exits
from reconcile.people import tokens, users
from reconcile.store.finding_search import MARKS, SPECIAL, folded
from reconcile.store.findings import FindingFilter, some
from reconcile.views.search import SearchRefused, search
from rules.models import Severity
from tests.support.web import PII, Browser, Site, cheap_hashes, site_of
from tests.support.world import DELETE, World

__all__ = ["cheap_hashes"]

ROWS = (
    *((1, "Jürgen.MÜLLER@x", "Ann"), (2, "Jürgen.MÜLLER@x", "Ann")),
    *((10, "100%_off!@x", "Bob"), (11, "100%_off!@x", "Bo")),
    *((77, "a-1@x", "Eve"), (78, "a-1@x", "Eve")),
)
NUMBERS = itertools.count()
COMPOSITE: dict[str, Any] = {"source": "shop", "table": "customers", "id": ["name", "id"]}


@pytest.fixture
def world(tmp_path: Path, url: str) -> World:
    """Three pairs of customers with an e-mail of their own; the state is in a file and in PostgreSQL."""
    world = World.at(tmp_path / "w", *ROWS, config={"state": url}, twins=DELETE | {"key": ["email"]})
    world.run()
    return world


def emails(world: World, text: str, **given: Any) -> list[str]:
    """The keys of the findings that fit, as they are listed."""
    criteria = FindingFilter(**{name: given.pop(name) for name in ("rules", "states", "severity") if name in given})
    with world.open() as application:
        result = search(application, text, criteria, **{"limit": None, "sees_personal": True, "show": True} | given)
    return [str(next(iter(view.key.values()))) for view in result.findings]


FITTING = {
    "müller": ["Jürgen.MÜLLER@x"],
    "JÜRGEN.müller@X": ["Jürgen.MÜLLER@x"],
    "100%_": ["100%_off!@x"],
    "_": ["100%_off!@x"],
    "!": ["100%_off!@x"],
    "email": [],
    '"': [],
    "\\": [],
    "\0": [],
    "\ud800": [],
    "2": ["Jürgen.MÜLLER@x"],
    "2.0": ["Jürgen.MÜLLER@x"],
    " 77 ": ["a-1@x"],
    "7": [],
    "1'; drop table findings": [],
}


def test_a_part_of_a_key_or_a_whole_id_of_a_record_finds_it(world: World) -> None:
    assert {text: emails(world, text) for text in FITTING} == FITTING


@pytest.mark.slow
def test_an_i_with_or_without_its_dot_is_the_same_letter(tmp_path: Path, url: str) -> None:
    rows = ((1, "İSTANBUL@x", "A"), (2, "İSTANBUL@x", "A"), (3, "Izmir@x", "B"), (4, "Izmir@x", "B"))
    rules = {"plain": {"key": ["email"]}, "folded": {"key": [{"email": "casefold"}, "name"]}}
    world = World.at(tmp_path / "w", *rows, config={"state": url}, **rules)
    world.run()

    for text in ("istanbul", "ISTANBUL", "İstanbul", "i\u0307stanbul", "I\u0307STANBUL", "İSTAN", "stanbul@X"):
        assert sorted(emails(world, text)) == ["i̇stanbul@x", "İSTANBUL@x"], text
    assert sorted(emails(world, "izmir")) == ["Izmir@x", "izmir@x"]
    assert emails(world, "istambul") == []


@pytest.mark.slow
def test_letters_that_become_others_without_case_are_found_from_either_side(tmp_path: Path, url: str) -> None:
    keys = ("Hauptstraße İ", "HAUPTSTRASSE I", "ﬁsch\u030c", "FISCH", "ŉ K ẖ", "ʼN k h\u0331")
    rows = [(number, key, "A") for number, key in enumerate((*keys, *keys))]
    world = World.at(tmp_path / "w", *rows, config={"state": url}, twins={})
    world.run()

    texts = [*keys, "hauptstrasse", "raße", "sse i\u0307", "fi", "ﬁ", "isc", "\u030c", "ʼ", "n k"]
    fitting = {text: sorted(key for key in keys if folded(text) in folded(key)) for text in texts}
    assert {text: sorted(emails(world, text)) for text in texts} == fitting
    assert all(fitting.values())


def test_every_character_whose_fold_is_in_ascii_is_known() -> None:
    every = (chr(number) for number in range(128, sys.maxunicode + 1))
    folds = {character: character.casefold() for character in every if character.casefold() != character}
    in_ascii = {character: set(filter(str.isascii, fold)) for character, fold in folds.items()}
    caseless = {part for fold in folds.values() for part in fold if part.lower() == part.upper()}

    assert {character: set(letters) for character, letters in SPECIAL.items() if character != "\u0307"} == {
        character: letters for character, letters in in_ascii.items() if letters
    }
    assert caseless == MARKS


def test_an_exact_id_comes_before_parts_of_keys_and_a_finding_is_listed_once(world: World) -> None:
    assert emails(world, "1")[0] == "Jürgen.MÜLLER@x"
    assert sorted(emails(world, "1")) == ["100%_off!@x", "Jürgen.MÜLLER@x", "a-1@x"]
    assert emails(world, "1", limit=1) == ["Jürgen.MÜLLER@x"]


def test_the_id_of_a_finding_or_its_beginning_finds_it(world: World) -> None:
    [first, *_] = sorted(world.findings())
    [wanted] = emails(world, first)

    assert emails(world, first.lower()) == [wanted]
    assert wanted in emails(world, first[:4])
    assert emails(world, first.removeprefix("F-")) == [wanted]


@pytest.mark.slow
def test_a_filter_narrows_what_fits(world: World) -> None:
    assert emails(world, "@x", severity=Severity.critical) == []
    assert emails(world, "@x", rules=("other",)) == []
    assert len(emails(world, "@x", rules=("twins",))) == 3


@pytest.mark.parametrize("text", ["", "   ", "x" * 201])
def test_a_text_that_cannot_be_searched_for_is_refused_in_a_sentence(world: World, text: str) -> None:
    with pytest.raises(SearchRefused, match="type the id of a finding or a record"):
        emails(world, text)


def test_an_id_of_several_columns_is_found_as_it_is_shown_and_by_its_first_column(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", *ROWS, twins={"key": ["email"]})
    world.config["datasets"] = {"customers": COMPOSITE}
    world.run()

    assert emails(world, "Bo / 11") == ["100%_off!@x"]
    assert emails(world, "Bo") == ["100%_off!@x"]
    assert emails(world, "BO / 11") == emails(world, "bo") == []
    assert emails(world, "B") == []
    assert emails(world, "Bo / 12") == []


@pytest.mark.slow
def test_what_a_record_shows_finds_the_key_that_the_rule_makes_of_it(tmp_path: Path) -> None:
    rows = ((1, "Maria.Berg+shop@example.com", "INV-00146"), (2, "maria.berg@example.com", "inv 146"))
    keys = {"mail": {"key": [{"email": "mailbox"}]}, "number": {"key": [{"name": "docno"}]}}
    world = World.at(tmp_path / "w", *rows, **keys)
    world.run()

    assert emails(world, "Maria.Berg+shop@example.com") == ["maria.berg@example.com"]
    assert emails(world, "INV-00146") == emails(world, "inv 146") == ["INV146"]
    assert emails(world, "INV-00147") == []
    assert emails(world, "+shop") == []


@pytest.mark.slow
def test_a_part_with_accents_finds_the_key_that_the_rule_made_without_them(tmp_path: Path, url: str) -> None:
    rows = [(n, text, "A") for n, text in enumerate(("José Núñez", "JOSE NUNEZ", "Anna Żółć", "anna zolc"))]
    rules = {"twins": {"key": [{"email": ["lower", "unaccent"]}]}}
    world = World.at(tmp_path / "w", *rows, config={"state": url}, **rules)
    world.run()

    assert [emails(world, text) for text in ("Núñez", "NÚÑEZ", "nunez", "é N")] == [["jose nunez"]] * 4
    assert [emails(world, text) for text in ("Żółć", "zolc")] == [["anna zolc"]] * 2
    assert emails(world, "Ñandú") == []


@pytest.mark.slow
def test_an_amount_is_found_as_it_is_printed_in_the_key_and_at_risk(tmp_path: Path, url: str) -> None:
    amounts = ("1500.00", "1500", "15000", "1234567.5", "20.00", "1500.004")
    rows = [(n, f"{number}@x", amounts[number]) for n, number in enumerate((*range(6), *range(6)), start=100)]
    money = {"amount": "name", "currency": "EUR"}
    typed = {"source": "shop", "table": "customers", "id": "id", "columns": {"name": "decimal(20,3)"}}
    world = World.at(tmp_path / "w", *rows, config={"state": url}, keyed={"key": ["name", "email"]}, risky={})
    world.config["datasets"] = {"customers": typed | {"money": money}}
    world.run()

    def fitting(text: str) -> list[str]:
        with world.open() as application:
            result = search(application, text, FindingFilter(), limit=None, sees_personal=True, show=True)
        return sorted(str(view.key["email"]) for view in result.findings)

    both = ["0@x", "0@x", "1@x", "1@x"]
    assert fitting("1,500.00") == fitting("1,500") == fitting("1,500.00 EUR") == both
    assert fitting("1500") == sorted([*both, "2@x", "5@x"]), "the beginning of a number of a key fits too"
    assert fitting("1500.00") == sorted([*both, "5@x"])
    assert fitting("1,234,567.50") == fitting("1234567.50") == ["3@x", "3@x"]
    assert fitting("1,500.00 USD") == ["0@x", "1@x"], "a key has no currency"
    assert fitting("20") == ["4@x", "4@x"]
    assert fitting("1,50") == fitting("0.00") == []


def test_an_amount_at_risk_that_is_masked_is_found_by_nobody_else(tmp_path: Path) -> None:
    rows = ((1, "a@x", "1500"), (2, "a@x", "1500"))
    world = World.at(tmp_path / "w", *rows, twins={})
    typed = {"source": "shop", "table": "customers", "id": "id", "columns": {"name": "decimal(20,2)"}}
    world.config["datasets"] = {"customers": typed | {"money": {"amount": "name", "currency": "EUR"}, "pii": ["name"]}}
    world.run()

    assert emails(world, "1,500.00", sees_personal=False) == []


@pytest.mark.slow
@pytest.mark.parametrize("text", ["canary", "canary@x", "4711"])
def test_what_is_masked_is_not_even_read_so_that_no_time_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """A masked value that fits and one that does not are the same search: no finding is read for either."""
    rows = ((4711, "canary@x", "Ann"), (4712, "canary@x", "Ann"))
    people = PII | {"pii": ["email", "id"]}
    rules = {"mails": {"key": ["email"]}, "both": {"key": ["email", "name"]}, "names": {"key": ["name"]}}
    world = World.at(tmp_path / "w", *rows, config={"datasets": {"customers": people}}, **rules)
    world.run()
    read: list[str] = []
    monkeypatch.setattr("reconcile.views.search.some", lambda tx, names: read.extend(names) or some(tx, names))

    fitting = emails(world, text, sees_personal=False, show=False)

    assert (fitting, read) == ([], [])
    assert len(emails(world, "Ann", sees_personal=False, show=False)) == 2, "by what is shown"
    assert len(emails(world, text)) >= 2, "for who may see it"


def test_a_record_of_a_second_dataset_is_found_with_and_without_its_name(tmp_path: Path) -> None:
    crm = COMPOSITE | {"id": "id", "where": "id = 1"}
    world = World.at(tmp_path / "w", *ROWS)
    rule = {"kind": "duplicates", "datasets": ["customers", "crm"], "key": ["name"], "keep": [{"first": "id"}]}
    world.config["rules"] = {"both": rule}
    world.config["datasets"] = {"customers": COMPOSITE | {"id": "id", "where": "id = 2"}, "crm": crm}
    world.run()

    assert emails(world, "1") == emails(world, "crm 1") == emails(world, "customers 2") == ["Ann"]
    assert emails(world, "crm 2") == []


@pytest.mark.slow
def test_a_cleaned_finding_is_found_by_the_record_that_is_gone(world: World) -> None:
    for finding in sorted(world.findings()):
        world.approve(finding)

    assert world.shop.sql("SELECT count(*) FROM customers WHERE id = 2") == [(0,)]
    assert emails(world, "2") == ["Jürgen.MÜLLER@x"]


# The doors


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Pairs by a personal column: rita may see it, the others may not."""
    world = World.at(tmp_path / "w", *ROWS, twins=DELETE | {"key": ["email"]})
    world.config["datasets"] = {"customers": PII}
    world.run()
    with site_of(world) as site:
        with site.store.begin() as tx:
            users.set_role(tx, "rita", by="ada", sees_personal=True)
        yield site


def test_the_console_finds_personal_values_for_whom_they_are_shown_alone_and_no_address_holds_the_text(
    site: Site,
) -> None:
    hidden = site.browser("bob").send("/search", text="müller")
    shown = site.browser("rita").send("/search", text="müller")
    by_record = site.browser("bob").send("/search", text="77")

    assert "No finding matches" in hidden.text
    assert ("1 finding" in shown.text, "MÜLLER" in shown.text) == (True, False)
    assert "1 finding" in by_record.text
    assert site.browser("bob").get("/search").status == 200


def test_the_search_of_the_console_answers_what_is_wrong_on_the_page(site: Site) -> None:
    answer = site.browser("vic").send("/search", text=" ")

    assert (answer.status, "The search text is empty" in answer.text) == (422, True)


@pytest.mark.slow
def test_the_api_searches_with_the_rights_of_the_user(site: Site) -> None:
    def ask(user: str, **body: Any) -> Any:
        with site.store.begin() as tx:
            token = tokens.add(tx, f"{user}-{next(NUMBERS)}", user, by="ada")
        program = Browser(site.listener.address, {"Authorization": f"Bearer {token}"})
        headers = {"Content-Type": "application/json"}
        return program.ask("POST", "/api/v1/findings/search", json.dumps(body), **headers).json

    assert ask("vic", text="müller") == {"findings": [], "more": False}
    [finding] = ask("rita", text="müller")["findings"]
    assert finding["key"] == {"email": "•••"}
    assert ask("vic", text="77")["findings"][0]["state"] == "awaiting_approval"
    assert ask("vic", text="77", states=["open"])["findings"] == []
    assert ask("rita", text="@x", limit=2)["more"] is True
    assert "'twin'" in ask("vic", text="77", rules=["twin"])["detail"]


@pytest.mark.slow
def test_the_command_lists_what_fits_in_any_state(site: Site) -> None:
    command = site.world.command
    [finding] = command("findings", "--search", "77", "--json").json
    command("dismiss", finding["id"])
    cut = command("findings", "--search", "@x", "--limit", "1")

    assert finding["id"] in command("findings", "--search", "77").out
    assert [shown["state"] for shown in command("findings", "--search", "77", "--json").json] == ["dismissed"]
    assert command("findings", "--search", "77", "--state", "open", "--json").json == []
    assert "there are more; use --all to list all" in cut.err
    assert command("findings", "--search", " ").code == exits.WRONG
