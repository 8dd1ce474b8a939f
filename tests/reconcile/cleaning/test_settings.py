"""Each setting of cleaning does what its page says, from the configuration to the rows, through the commands."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.support.cli import Answer
from tests.support.shop import LOCAL
from tests.support.world import World

CUSTOMERS = (
    "create table customers (id integer primary key, email text not null, name text, balance numeric(10, 2), "
    "currency text)"
)
ORDERS = "create table orders (id integer primary key, customer integer references customers (id))"
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


def say(
    world: World,
    clean: str = "",
    limits: str = "records: 100",
    approval: str = "none",
    more: str = "",
    top: str = "",
    kind: str = "decimal",
    url: str = LOCAL,
) -> None:
    """Configure a rule over the customers that deletes, with these settings."""
    given = {"limits": limits, "approval": approval, "more": more, "top": top, "kind": kind, "url": url}
    world.command.write(RULES.format(clean=f", {clean}" if clean else "", **given))


def run(world: World, *words: str, **environ: str) -> Answer:
    return world.command("run", *words, "--json", **environ)


def known(world: World) -> None:
    """A first run is over, so that what comes next may be cleaned without anybody being asked."""
    assert run(world).code == 0


def add(world: World, *people: tuple[int, str], balance: str = "10.00", currency: str = "EUR") -> None:
    rows = ", ".join(f"({number}, '{email}', 'x', '{balance}', '{currency}')" for number, email in people)
    world.shop.sql(f"insert into customers values {rows}")


def findings(world: World, **environ: str) -> list[dict[str, Any]]:
    findings: list[dict[str, Any]] = world.command("findings", "--state", "all", "--json", **environ).json
    return findings


def states(world: World) -> list[str]:
    return sorted(finding["state"] for finding in findings(world))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Two customers who are no duplicates."""
    world = World(tmp_path)
    world.shop.sql(CUSTOMERS, ORDERS)
    add(world, (1, "one@x"), (2, "two@x"))
    yield world
    assert world.command.audit_is_intact()


def pair(first: int, email: str = "a@x") -> Iterable[tuple[int, str]]:
    return (first, email), (first + 1, email)


@pytest.mark.slow
def test_the_first_run_only_tells_even_where_nobody_has_to_be_asked_and_the_next_one_cleans(world: World) -> None:
    say(world)
    add(world, *pair(10, "a@x"))

    first = run(world)
    told = world.shop.ids(), states(world)
    second = run(world)

    assert (first.code, second.code) == (0, 0)
    assert told == ([1, 2, 10, 11], ["open"])
    assert (world.shop.ids(), states(world)) == ([1, 2, 10], ["cleaned"])


@pytest.mark.slow
@pytest.mark.parametrize("more", ["keep: [{last: name}]", "where: id > 0"])
def test_after_an_edit_of_what_it_keeps_or_matches_it_only_tells_once_more(more: str, world: World) -> None:
    say(world)
    known(world)
    say(world, more=more)
    add(world, *pair(10))

    run(world)

    assert (world.shop.ids(), states(world)) == ([1, 2, 10, 11], ["open"])
    run(world)
    assert states(world) == ["cleaned"]


def test_after_an_edit_of_what_it_does_it_only_tells_once_more(world: World) -> None:
    say(world)
    known(world)
    say(world, clean="references: capture")
    add(world, *pair(10))

    run(world)

    assert (world.shop.ids(), states(world)) == ([1, 2, 10, 11], ["open"])


def test_an_edit_of_limits_and_of_words_is_none_of_what_it_does(world: World) -> None:
    say(world)
    known(world)
    say(world, limits="records: 50", more="owner: ops")
    add(world, *pair(10))

    run(world)

    assert world.shop.ids() == [1, 2, 10]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ("records: 1", "limit"),
        ("money: {EUR: 15}", "EUR"),
        ("money: {USD: 500}", "EUR"),  # a currency that is not named
    ],
)
def test_over_a_limit_all_of_it_waits_and_the_code_is_4(limits: str, told: str, world: World) -> None:
    say(world, limits=limits)
    known(world)
    add(world, *pair(10, "a@x"), *pair(20, "b@x"))

    answer = run(world)

    assert answer.code == 4
    assert world.shop.ids() == [1, 2, 10, 11, 20, 21]
    assert states(world) == ["awaiting_approval", "awaiting_approval"]
    assert told in answer.said


@pytest.mark.slow
def test_a_group_that_is_too_large_waits_and_the_others_go_on(world: World) -> None:
    say(world, limits="group: 2")
    known(world)
    add(world, *pair(10, "a@x"), *pair(20, "b@x"), (22, "b@x"))

    run(world)

    assert world.shop.ids() == [1, 2, 10, 20, 21, 22]
    assert states(world) == ["awaiting_approval", "cleaned"]


def test_the_limits_of_a_source_count_over_its_rules(world: World) -> None:
    say(world, top="limits: {shop: {records: 1}}")
    known(world)
    add(world, *pair(10, "a@x"), *pair(20, "b@x"))

    answer = run(world)

    assert answer.code == 4
    assert world.shop.ids() == [1, 2, 10, 11, 20, 21]


def test_who_is_asked_follows_from_the_group(world: World) -> None:
    say(world, approval="{when: EUR > 15, else: none}")
    known(world)
    add(world, *pair(10, "a@x"))
    add(world, *pair(20, "b@x"), balance="15.01")

    run(world)

    assert world.shop.ids() == [1, 2, 10, 20, 21]
    assert states(world) == ["awaiting_approval", "cleaned"]


@pytest.mark.parametrize("written", ["EUR ", " eur", "Eur"])
def test_a_currency_is_the_same_however_it_is_written(world: World, written: str) -> None:
    say(world, approval="{when: EUR > 10, else: none}")
    known(world)
    add(world, *pair(10, "a@x"), balance="20", currency=written)

    run(world)

    assert states(world) == ["awaiting_approval"]
    assert findings(world)[0]["money"] == {"EUR": "20.00"}


def test_money_in_a_currency_that_the_condition_does_not_name_asks(world: World) -> None:
    say(world, approval="{when: EUR > 10, else: none}")
    known(world)
    add(world, *pair(10, "a@x"), balance="1", currency="EURO")

    run(world)

    assert states(world) == ["awaiting_approval"]


def test_two_people_approve_where_two_have_to(world: World) -> None:
    say(world, approval="two_person")
    add(world, *pair(10))
    run(world)
    [finding] = findings(world)

    first = world.command("approve", finding["id"], RECONCILE_ACTOR="ada")
    again = world.command("approve", finding["id"], RECONCILE_ACTOR="ada")
    between = world.shop.ids()
    second = world.command("approve", finding["id"], RECONCILE_ACTOR="bob")

    assert (first.code, second.code) == (0, 0)
    assert again.code in (0, 4)
    assert between == [1, 2, 10, 11]
    assert world.shop.ids() == [1, 2, 10]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stop", "start"),
    [
        (("pause", "--rule", "twins"), ("resume", "--rule", "twins")),
        (("pause", "--source", "shop"), ("resume", "--source", "shop")),
    ],
)
def test_a_pause_holds_cleaning_up_and_loses_nothing(
    stop: tuple[str, ...], start: tuple[str, ...], world: World
) -> None:
    say(world)
    known(world)
    add(world, *pair(10))
    world.command(*stop, "--reason", "month end")

    held = run(world)
    between = world.shop.ids()
    world.command(*start)
    run(world)

    assert held.code == 0
    assert between == [1, 2, 10, 11]
    assert world.shop.ids() == [1, 2, 10]


@pytest.mark.slow
def test_maintenance_holds_cleaning_up_and_what_was_approved_is_done_after_it(world: World) -> None:
    always = "maintenance: [{source: shop, from: '00:00', to: '24:00'}]"
    say(world, approval="required", top=always)
    add(world, *pair(10))
    run(world)
    [finding] = findings(world)

    approved = world.command("approve", finding["id"])
    between = world.shop.ids()
    say(world, approval="required")
    run(world)

    assert "maintenance until" in approved.said
    assert between == [1, 2, 10, 11]
    assert world.shop.ids() == [1, 2, 10]


@pytest.mark.slow
def test_rows_that_refer_to_the_surplus_keep_it_unless_they_may_move(world: World) -> None:
    say(world)
    known(world)
    add(world, *pair(10))
    world.shop.sql("insert into orders values (1, 11);")

    run(world)
    refused = world.shop.ids()
    say(world, clean="references: repoint")
    run(world)  # which asks, after the edit
    [finding] = findings(world)
    world.command("approve", finding["id"])

    assert refused == [1, 2, 10, 11]
    assert world.shop.ids() == [1, 2, 10]


@pytest.mark.slow
def test_triggers_ask_unless_they_are_known(world: World) -> None:
    world.shop.sql(
        "create trigger t after delete on customers begin update orders set customer = 1 where customer = -1; end;"
    )
    say(world)
    known(world)
    add(world, *pair(10))

    run(world)
    asked = states(world)
    say(world, clean="triggers: known")
    run(world)
    add(world, *pair(20, "b@x"))
    run(world)

    assert asked == ["awaiting_approval"]
    assert 21 not in world.shop.ids()


@pytest.mark.slow
def test_a_configuration_that_was_edited_since_the_last_run_can_be_decided_with(world: World) -> None:
    say(world)
    add(world, *pair(10))
    run(world)
    [finding] = findings(world)
    say(world, more="owner: ops")

    approved = world.command("approve", finding["id"])
    say(world, more="owner: others")
    undone = world.command("undo", finding["id"])

    assert (approved.code, undone.code) == (0, 0), approved.said + undone.said
    assert world.shop.ids() == [1, 2, 10, 11]


@pytest.mark.slow
def test_before_images_are_sealed_in_the_state_and_open_only_with_their_key(world: World) -> None:
    item, two = "11" * 32, "22" * 32
    say(world, approval="required", top="encryption_key: '${secret:KEY}'")
    add(world, *pair(10, EMAIL))
    world.shop.sql("update customers set name = 'canary-name-5e2b' where id = 11;")
    run(world, KEY=item)
    [finding] = findings(world, KEY=item)
    assert world.command("approve", finding["id"], KEY=item).code == 0
    kept = (world.folder / "reconcile.db").read_bytes()

    say(world, approval="required")
    without = world.command("undo", finding["id"])
    say(world, approval="required", top="encryption_key: ['${secret:NEW}', '${secret:KEY}']")
    rotated = world.command("undo", finding["id"], NEW=two, KEY=item)

    assert b"canary-name-5e2b" not in kept
    assert without.code == 3
    assert "sealed with the key" in without.err
    assert len(without.err.strip().splitlines()) == 1
    assert rotated.code == 0
    assert world.shop.ids() == [1, 2, 10, 11]
    say(world)  # for the end of the test, which has no keys


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
    balance: str, currency: str, kind: str, world: World
) -> None:
    say(world, limits="money: {EUR: 500}", kind=kind, more="engine: embedded")
    known(world)
    add(world, *pair(20, "b@x"))
    world.shop.sql(f"insert into customers values (10, 'a@x', 'x', 5, 'EUR'), (11, 'a@x', 'x', {balance}, {currency})")

    answer = run(world)

    waiting = next(finding["id"] for finding in findings(world) if finding["key"] == {"email": "a@x"})
    [cleaning] = [rule["cleaning"] for rule in answer.json["rules"]]
    assert (world.shop.ids(), states(world)) == ([1, 2, 10, 11, 20], ["awaiting_approval", "cleaned"])
    assert answer.code == 4
    assert cleaning["uncounted"].startswith(f"Money cannot be counted in 1 record of {waiting} (no ")
    assert "amount of record 11: it has no" in world.command("plan", "--finding", waiting).out
    refused = world.command("approve", waiting)
    assert refused.code == 4
    assert "Money cannot be counted in" in refused.said
    assert world.command("approve", waiting, "--over-limit").code == 0
    assert world.shop.ids() == [1, 2, 10, 20]


@pytest.mark.server
@pytest.mark.parametrize("amount", ["'NaN'::float8", "'Infinity'::float8", "'-Infinity'::float8"])
def test_an_amount_that_is_no_finite_number_waits_for_people(amount: str, postgres_url: str, world: World) -> None:
    engine = sa.create_engine(postgres_url)
    with engine.begin() as connection:
        columns = "id integer primary key, email text, name text, balance float8, currency text"
        connection.exec_driver_sql(f"create table customers ({columns})")
    say(world, limits="money: {EUR: 500}", url=postgres_url, kind="float")
    known(world)
    with engine.begin() as connection:
        values = f"(1, 'a@x', 'x', 5, 'EUR'), (2, 'a@x', 'x', {amount}, 'EUR')"
        connection.exec_driver_sql(f"insert into customers values {values}")
    engine.dispose()

    answer = run(world)

    assert (answer.code, states(world)) == (4, ["awaiting_approval"])
    assert (
        "(no finite amount), but money is limited for rule `twins`" in answer.json["rules"][0]["cleaning"]["uncounted"]
    )


def test_money_that_cannot_be_counted_waits_for_nobody_where_only_rows_are_limited(world: World) -> None:
    say(world)
    known(world)
    world.shop.sql("insert into customers values (10, 'a@x', 'x', 5, 'EUR'), (11, 'a@x', 'x', null, null)")

    run(world)

    assert states(world) == ["cleaned"]


@pytest.mark.slow
def test_money_that_cannot_be_counted_is_told_once_and_not_where_people_are_asked_anyway(world: World) -> None:
    say(world, limits="money: {EUR: 500}")
    known(world)
    world.shop.sql("insert into customers values (10, 'a@x', 'x', 5, 'EUR'), (11, 'a@x', 'x', null, 'EUR')")
    codes = [run(world).code for _ in range(2)]
    say(world, limits="money: {EUR: 500}", approval="required")
    known(world)
    world.shop.sql("insert into customers values (20, 'b@x', 'x', 5, 'EUR'), (21, 'b@x', 'x', null, 'EUR')")

    assert [*codes, run(world).code] == [4, 0, 0]
    assert states(world) == ["awaiting_approval", "awaiting_approval"]


def test_what_asks_by_an_amount_asks_where_a_part_of_it_cannot_be_counted(world: World) -> None:
    """Else 10 EUR and something unknown would be taken for 10 EUR."""
    say(world, approval="{when: EUR > 500, then: required, else: none}")
    known(world)
    world.shop.sql("insert into customers values (10, 'a@x', 'x', 5, 'EUR'), (11, 'a@x', 'x', 5, 'EUR')")
    world.shop.sql("insert into customers values (12, 'a@x', 'x', null, 'EUR')")

    run(world)

    assert states(world) == ["awaiting_approval"]
