"""Each setting of cleaning does what its page says, from the configuration to the rows, through the commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from cli_support import Answer, Project, sqlite

TABLES = """\
create table customers (id integer primary key, email text not null, name text, balance numeric(10, 2), currency text);
create table orders (id integer primary key, customer integer references customers (id));
"""
RULES = """\
sources: {{shop: {{type: sql, url: "{url}"}}}}
datasets:
  customers: {{source: shop, table: customers, id: id, money: {{amount: balance, currency: currency}},
              columns: {{balance: {kind}}}}}
rules:
  twins:
    kind: duplicates
    dataset: customers
    key: [email]
    clean: {{action: delete{clean}}}
    limits: {{share: 100%, {limits}}}
    approval: {approval}
    {more}
{top}
"""
EMAIL = "canary-7d1f@example.com"


@dataclass
class Shop:
    """A database with customers, and a rule over it whose settings each test says."""

    project: Project

    def say(
        self,
        clean: str = "",
        limits: str = "records: 100",
        approval: str = "none",
        more: str = "",
        top: str = "",
        kind: str = "decimal",
        url: str = "sqlite:///shop.db",
    ) -> Shop:
        self.project.write(
            RULES.format(
                clean=f", {clean}" if clean else "",
                limits=limits,
                approval=approval,
                more=more,
                top=top,
                kind=kind,
                url=url,
            )
        )
        return self

    def run(self, *words: str, **environ: str) -> Answer:
        return self.project("run", *words, "--json", **environ)

    def do(self, script: str) -> None:
        with sqlite(self.project.folder / "shop.db") as connection:
            connection.executescript(script)

    def add(self, *people: tuple[int, str], balance: str = "10.00", currency: str = "EUR") -> None:
        rows = ", ".join(f"({number}, '{email}', 'x', '{balance}', '{currency}')" for number, email in people)
        self.do(f"insert into customers values {rows};")

    @property
    def left(self) -> list[int]:
        with sqlite(self.project.folder / "shop.db") as connection:
            return [row[0] for row in connection.execute("select id from customers order by id")]

    @property
    def states(self) -> list[str]:
        return sorted(one["status"] for one in self.findings())

    def findings(self, **environ: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.project("findings", "--state", "all", "--json", **environ).json
        return found

    def known(self) -> Shop:
        """A first run is over, so that what comes next may be cleaned without anybody being asked."""
        assert self.run().code == 0
        return self


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(Project(tmp_path))
    shop.do(TABLES)
    shop.add((1, "one@x"), (2, "two@x"))
    yield shop
    assert shop.project("audit", "verify").code == 0


def pair(first: int, email: str = "a@x") -> Iterable[tuple[int, str]]:
    return (first, email), (first + 1, email)


def test_the_first_run_only_tells_even_where_nobody_has_to_be_asked_and_the_next_one_cleans(shop: Shop) -> None:
    shop.say().add(*pair(10, "a@x"))

    first = shop.run()
    told = shop.left, shop.states
    second = shop.run()

    assert (first.code, second.code) == (0, 0)
    assert told == ([1, 2, 10, 11], ["open"])
    assert (shop.left, shop.states) == ([1, 2, 10], ["cleaned"])


@pytest.mark.slow
@pytest.mark.parametrize("more", ["keep: [{last: name}]", "where: id > 0"])
def test_after_an_edit_of_what_it_keeps_or_matches_it_only_tells_once_more(more: str, shop: Shop) -> None:
    shop.say().known().say(more=more).add(*pair(10))

    shop.run()

    assert (shop.left, shop.states) == ([1, 2, 10, 11], ["open"])
    shop.run()
    assert shop.states == ["cleaned"]


def test_after_an_edit_of_what_it_does_it_only_tells_once_more(shop: Shop) -> None:
    shop.say().known().say(clean="references: capture").add(*pair(10))

    shop.run()

    assert (shop.left, shop.states) == ([1, 2, 10, 11], ["open"])


def test_an_edit_of_limits_and_of_words_is_none_of_what_it_does(shop: Shop) -> None:
    shop.say().known().say(limits="records: 50", more="owner: ops").add(*pair(10))

    shop.run()

    assert shop.left == [1, 2, 10]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ("records: 1", "limit"),
        ("money: {EUR: 15}", "EUR"),
        ("money: {USD: 500}", "EUR"),  # a currency that is not named
    ],
)
def test_over_a_limit_all_of_it_waits_and_the_code_is_4(limits: str, told: str, shop: Shop) -> None:
    shop.say(limits=limits).known().add(*pair(10, "a@x"), *pair(20, "b@x"))

    answer = shop.run()

    assert answer.code == 4
    assert shop.left == [1, 2, 10, 11, 20, 21]
    assert shop.states == ["awaiting_approval", "awaiting_approval"]
    assert told in answer.said


@pytest.mark.slow
def test_a_group_that_is_too_large_waits_and_the_others_go_on(shop: Shop) -> None:
    shop.say(limits="group: 2").known().add(*pair(10, "a@x"), *pair(20, "b@x"), (22, "b@x"))

    shop.run()

    assert shop.left == [1, 2, 10, 20, 21, 22]
    assert shop.states == ["awaiting_approval", "cleaned"]


def test_the_limits_of_a_source_count_over_its_rules(shop: Shop) -> None:
    shop.say(top="limits: {shop: {records: 1}}").known().add(*pair(10, "a@x"), *pair(20, "b@x"))

    answer = shop.run()

    assert answer.code == 4
    assert shop.left == [1, 2, 10, 11, 20, 21]


def test_who_is_asked_follows_from_the_group(shop: Shop) -> None:
    shop.say(approval="{when: EUR > 15, else: none}").known()
    shop.add(*pair(10, "a@x"))
    shop.add(*pair(20, "b@x"), balance="15.01")

    shop.run()

    assert shop.left == [1, 2, 10, 20, 21]
    assert shop.states == ["awaiting_approval", "cleaned"]


def test_two_people_approve_where_two_have_to(shop: Shop) -> None:
    shop.say(approval="two_person").add(*pair(10))
    shop.run()
    [finding] = shop.findings()

    one = shop.project("approve", finding["id"], RECONCILE_ACTOR="ada")
    again = shop.project("approve", finding["id"], RECONCILE_ACTOR="ada")
    between = shop.left
    other = shop.project("approve", finding["id"], RECONCILE_ACTOR="bob")

    assert (one.code, other.code) == (0, 0)
    assert again.code in (0, 4)
    assert between == [1, 2, 10, 11]
    assert shop.left == [1, 2, 10]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stop", "start"),
    [
        (("pause", "--rule", "twins"), ("resume", "--rule", "twins")),
        (("pause", "--source", "shop"), ("resume", "--source", "shop")),
    ],
)
def test_a_pause_holds_cleaning_up_and_loses_nothing(stop: tuple[str, ...], start: tuple[str, ...], shop: Shop) -> None:
    shop.say().known().add(*pair(10))
    shop.project(*stop, "--reason", "month end")

    held = shop.run()
    between = shop.left
    shop.project(*start)
    shop.run()

    assert held.code == 0
    assert between == [1, 2, 10, 11]
    assert shop.left == [1, 2, 10]


def test_maintenance_holds_cleaning_up_and_what_was_approved_is_done_after_it(shop: Shop) -> None:
    always = "maintenance: [{source: shop, from: '00:00', to: '24:00'}]"
    shop.say(approval="required", top=always).add(*pair(10))
    shop.run()
    [finding] = shop.findings()

    approved = shop.project("approve", finding["id"])
    between = shop.left
    shop.say(approval="required").run()

    assert "maintenance until" in approved.said
    assert between == [1, 2, 10, 11]
    assert shop.left == [1, 2, 10]


@pytest.mark.slow
def test_rows_that_refer_to_the_surplus_keep_it_unless_they_may_move(shop: Shop) -> None:
    shop.say().known().add(*pair(10))
    shop.do("insert into orders values (1, 11);")

    shop.run()
    refused = shop.left
    shop.say(clean="references: repoint").run()  # which asks, after the edit
    [finding] = shop.findings()
    shop.project("approve", finding["id"])

    assert refused == [1, 2, 10, 11]
    assert shop.left == [1, 2, 10]


@pytest.mark.slow
def test_triggers_ask_unless_they_are_known(shop: Shop) -> None:
    shop.do("create trigger t after delete on customers begin update orders set customer = 1 where customer = -1; end;")
    shop.say().known().add(*pair(10))

    shop.run()
    asked = shop.states
    shop.say(clean="triggers: known").run()
    shop.add(*pair(20, "b@x"))
    shop.run()

    assert asked == ["awaiting_approval"]
    assert 21 not in shop.left


@pytest.mark.slow
def test_a_configuration_that_was_edited_since_the_last_run_can_be_decided_with(shop: Shop) -> None:
    shop.say().add(*pair(10))
    shop.run()
    [finding] = shop.findings()
    shop.say(more="owner: ops")

    approved = shop.project("approve", finding["id"])
    shop.say(more="owner: others")
    undone = shop.project("undo", finding["id"])

    assert (approved.code, undone.code) == (0, 0), approved.said + undone.said
    assert shop.left == [1, 2, 10, 11]


def test_before_images_are_sealed_in_the_state_and_open_only_with_their_key(shop: Shop) -> None:
    one, two = "11" * 32, "22" * 32
    shop.say(approval="required", top="encryption_key: '${secret:KEY}'").add(*pair(10, EMAIL))
    shop.do("update customers set name = 'canary-name-5e2b' where id = 11;")
    shop.run(KEY=one)
    [finding] = shop.findings(KEY=one)
    assert shop.project("approve", finding["id"], KEY=one).code == 0
    kept = (shop.project.folder / "reconcile.db").read_bytes()

    without = shop.say(approval="required").project("undo", finding["id"])
    shop.say(approval="required", top="encryption_key: ['${secret:NEW}', '${secret:KEY}']")
    rotated = shop.project("undo", finding["id"], NEW=two, KEY=one)

    assert b"canary-name-5e2b" not in kept
    assert without.code == 3
    assert "sealed with the key" in without.err
    assert len(without.err.strip().splitlines()) == 1
    assert rotated.code == 0
    assert shop.left == [1, 2, 10, 11]
    shop.say()  # for the end of the test, which has no keys


UNCOUNTABLE = {
    "no currency": ("'10.00'", "null"),
    "a blank currency": ("'10.00'", "'  '"),
    "no amount": ("null", "'EUR'"),
    "an infinite amount": ("9e999", "'EUR'"),
}


@pytest.mark.parametrize(("balance", "currency"), UNCOUNTABLE.values(), ids=UNCOUNTABLE)
@pytest.mark.parametrize("kind", ["decimal", "float"])
@pytest.mark.slow
def test_money_that_cannot_be_counted_waits_for_people_where_money_is_limited(
    balance: str, currency: str, kind: str, shop: Shop
) -> None:
    shop.say(limits="money: {EUR: 500}", kind=kind, more="engine: embedded").known().add(*pair(20, "b@x"))
    shop.do(f"insert into customers values (10, 'a@x', 'x', 5, 'EUR'), (11, 'a@x', 'x', {balance}, {currency})")

    answer = shop.run()

    waiting = next(one["id"] for one in shop.findings() if one["key"] == {"email": "a@x"})
    [said] = [one["cleaning"] for one in answer.json["rules"]]
    assert (shop.left, shop.states) == ([1, 2, 10, 11, 20], ["awaiting_approval", "cleaned"])
    assert answer.code == 4
    assert said["uncounted"].startswith(f"Money cannot be counted in 1 record of {waiting} (no ")
    assert "amount of record 11: it has no" in shop.project("plan", "--finding", waiting).out
    refused = shop.project("approve", waiting)
    assert refused.code == 4
    assert "Money cannot be counted in" in refused.said
    assert shop.project("approve", waiting, "--over-limit").code == 0
    assert shop.left == [1, 2, 10, 20]


@pytest.mark.server
@pytest.mark.parametrize("amount", ["'NaN'::float8", "'Infinity'::float8", "'-Infinity'::float8"])
def test_an_amount_that_is_no_finite_number_waits_for_people(amount: str, postgres_url: str, shop: Shop) -> None:
    engine = sa.create_engine(postgres_url)
    with engine.begin() as connection:
        columns = "id integer primary key, email text, name text, balance float8, currency text"
        connection.exec_driver_sql(f"create table customers ({columns})")
    shop.say(limits="money: {EUR: 500}", url=postgres_url, kind="float").known()
    with engine.begin() as connection:
        values = f"(1, 'a@x', 'x', 5, 'EUR'), (2, 'a@x', 'x', {amount}, 'EUR')"
        connection.exec_driver_sql(f"insert into customers values {values}")
    engine.dispose()

    answer = shop.run()

    assert (answer.code, shop.states) == (4, ["awaiting_approval"])
    assert "(no finite amount), but rule `twins` limits it" in answer.json["rules"][0]["cleaning"]["uncounted"]


def test_money_that_cannot_be_counted_waits_for_nobody_where_only_rows_are_limited(shop: Shop) -> None:
    shop.say().known()
    shop.do("insert into customers values (10, 'a@x', 'x', 5, 'EUR'), (11, 'a@x', 'x', null, null)")

    shop.run()

    assert shop.states == ["cleaned"]


@pytest.mark.slow
def test_money_that_cannot_be_counted_is_told_once_and_not_where_people_are_asked_anyway(shop: Shop) -> None:
    shop.say(limits="money: {EUR: 500}").known()
    shop.do("insert into customers values (10, 'a@x', 'x', 5, 'EUR'), (11, 'a@x', 'x', null, 'EUR')")
    codes = [shop.run().code for _ in range(2)]
    shop.say(limits="money: {EUR: 500}", approval="required").known()
    shop.do("insert into customers values (20, 'b@x', 'x', 5, 'EUR'), (21, 'b@x', 'x', null, 'EUR')")

    assert [*codes, shop.run().code] == [4, 0, 0]
    assert shop.states == ["awaiting_approval", "awaiting_approval"]


def test_what_asks_by_an_amount_asks_where_a_part_of_it_cannot_be_counted(shop: Shop) -> None:
    """Else 10 EUR and something unknown would be taken for 10 EUR."""
    shop.say(approval="{when: EUR > 500, then: required, else: none}").known()
    shop.do("insert into customers values (10, 'a@x', 'x', 5, 'EUR'), (11, 'a@x', 'x', 5, 'EUR')")
    shop.do("insert into customers values (12, 'a@x', 'x', null, 'EUR')")

    shop.run()

    assert shop.states == ["awaiting_approval"]
