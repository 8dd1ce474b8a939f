"""The order of findings: the worst, then the largest amount, then the oldest, behind every door on both stores."""

import base64
import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconcile.people import tokens
from tests.support.web import Browser, Site, cheap_hashes, site_of
from tests.support.world import World

pytestmark = pytest.mark.slow

__all__ = ["cheap_hashes"]

CHARGES: dict[str, Any] = {
    "source": "shop",
    "table": "charges",
    "id": "id",
    "columns": {"amount": "decimal"},
    "money": {"amount": "amount", "currency": "currency"},
}
PII = CHARGES | {"pii": ["amount"]}
FIRST = {
    "debit": (("-5000", "EUR"),),
    "pounds": (("100", "GBP"),),
    "mixed": (("30", "EUR"), ("60", "USD")),
    "even-1": (("20", "EUR"),),
    "nine": (("9", "EUR"),),
    "none": (("", "EUR"),),
}
LATER = {"even-2": (("20", "EUR"),), "fraction": (("9.5", "EUR"),)}
ORDER = ["debit", "pounds", "mixed", "even-1", "even-2", "fraction", "nine", "none"]
Charges = dict[str, tuple[tuple[str, str], ...]]


def charge(world: World, charges: Charges) -> None:
    """Add a group of each name: a keeper without an amount, and a surplus record of each amount."""
    for name, amounts in charges.items():
        for amount, currency in (("", "EUR"), *amounts):
            value = f"'{amount}'" if amount else "NULL"
            world.shop.sql(f"INSERT INTO charges (name, amount, currency) VALUES ('{name}@x', {value}, '{currency}')")


def charged(folder: Path, url: str, dataset: dict[str, Any]) -> World:
    """A world after two runs, the second of which found the later groups too; one other rule is less severe."""
    more = {"key": ["name"], "dataset": "charges"}
    world = World.at(folder, twins=more | {"severity": "high"}, others=more | {"severity": "low"})
    world.shop.sql("CREATE TABLE charges (id INTEGER PRIMARY KEY, name TEXT, amount TEXT, currency TEXT)")
    world.config |= {"state": url, "datasets": {"charges": dataset}}
    charge(world, FIRST)
    world.run()
    charge(world, LATER)
    world.run()
    return world


@pytest.fixture
def world(url: str, tmp_path: Path) -> World:
    return charged(tmp_path / "w", url, CHARGES)


@pytest.fixture
def site(world: World) -> Iterator[Site]:
    with site_of(world) as site:
        yield site


def names(findings: list[dict[str, Any]]) -> list[str]:
    return [finding["key"]["name"].removesuffix("@x") for finding in findings]


def program(site: Site) -> Browser:
    with site.store.begin() as tx:
        token = tokens.add(tx, "of-vic", "vic", by="ada")
    return Browser(site.listener.address, {"Authorization": f"Bearer {token}"})


def pages(program: Browser, limit: int) -> Iterator[dict[str, Any]]:
    """Yield the findings of the API page by page."""
    cursor = ""
    while True:
        answer = program.get(f"/api/v1/findings?limit={limit}{cursor}").json
        yield from answer["findings"]
        if answer["cursor"] is None:
            return
        cursor = f"&cursor={answer['cursor']}"


def test_commands_list_the_worst_then_the_largest_amount_then_the_oldest(world: World) -> None:
    listed = world.command("findings", "--json").json
    some = world.command("findings", "--json", "--limit", "3").json
    searched = world.command("findings", "--json", "--search", "@x").json
    world.command("export", "findings.csv")
    with (world.folder / "findings.csv").open(encoding="utf-8-sig") as file:
        exported = [row["id"] for row in csv.DictReader(file)]

    assert names(listed) == ORDER * 2
    assert [finding["severity"] for finding in listed] == ["high"] * 8 + ["low"] * 8
    assert some == listed[:3]
    assert [finding["id"] for finding in searched] == exported == [finding["id"] for finding in listed]


def test_the_console_and_the_api_have_the_same_order_over_all_pages(site: Site) -> None:
    every = [finding["id"] for finding in site.world.command("findings", "--json").json]
    api, browser = program(site), site.browser("bob")

    for limit in (1, 3, 4, 100):
        assert [finding["id"] for finding in pages(api, limit)] == every
    page = browser.get("/review").body.decode()
    document = api.ask("POST", "/api/v1/findings/search", '{"text": "@x"}', **{"Content-Type": "application/json"}).json

    assert list(dict.fromkeys(re.findall(r"/review\?finding=(F-\w+)", page))) == every
    assert [finding["id"] for finding in document["findings"]] == every


def test_a_cursor_holds_no_amount_in_clear_and_only_this_store_reads_it(site: Site) -> None:
    api = program(site)
    cursor = api.get("/api/v1/findings?limit=1").json["cursor"]
    form, key_id, sealed = cursor.split(".")
    letter = "A" if sealed[20] != "A" else "B"

    assert b"5000" not in base64.urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
    for wrong in (f"{form}.{key_id}.{sealed[:20]}{letter}{sealed[21:]}", f"{form}.00000000.{sealed}", "x", ""):
        answer = api.get(f"/api/v1/findings?cursor={wrong}")
        assert (answer.status, "cursor" in answer.json["detail"]) == (422, True), wrong


def test_masked_amounts_order_nothing_and_count_again_once_they_are_shown(url: str, tmp_path: Path) -> None:
    world = charged(tmp_path / "w", url, PII)
    masked = world.command("findings", "--rule", "twins", "--json").json
    world.config["datasets"] = {"charges": CHARGES}
    world.run()
    shown = names(world.command("findings", "--rule", "twins", "--json").json)
    world.config["datasets"] = {"charges": PII}
    world.run()
    masked_again = world.command("findings", "--rule", "twins", "--json").json

    ids = [finding["id"] for finding in masked]
    assert set(names(masked)[:6]) == set(FIRST)
    assert (ids[:6], ids[6:]) == (sorted(ids[:6]), sorted(ids[6:]))
    assert shown == ORDER
    assert [finding["id"] for finding in masked_again] == ids
