"""Between a run and an act the world changes: the rule is asked again, and what a run would refuse, an act refuses."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile.cleaning.execution import evidence, executor
from reconcile.cleaning.planning import nearby
from reconcile.findings.results import RuleFailure
from reconcile.store import findings as stored_findings
from reconcile.store.plans import StoredPlan
from tests.support.sides import WIDE, Export, Sides, Table, unchanged
from tests.support.world import ALONE, CUSTOMERS, DELETE, World

pytestmark = pytest.mark.slow

DELETE_UNPAID = {"dataset": "invoices", "forms": ["left_only"], "action": "delete"}
APPROVED: dict[str, Any] = {"clean": DELETE_UNPAID}
CALM: dict[str, Any] = {"retry": {"calm": {"base": "10m", "cap": "10m", "attempts": 5, "budget": "10h"}}}
"""No command waits for the next attempt."""


def unpaid(folder: Path, right: str, invoices: int, **rule: Any) -> tuple[Sides, str]:
    """So many invoices, each paid except the last, and the finding of that one after a run."""
    left = f"sqlite:///{folder}/shop.db"
    rule = APPROVED | {"retry": "calm"} | rule
    sides = Sides.at(folder, left, f"sqlite:///{folder}/bank.db" if right == "sqlite" else right, **rule)
    sides.config = CALM
    for table in (sides.invoices, sides.payments):
        for record in list(table.status):
            table.remove(record)
    numbers = range(1, invoices + 1)
    sides.invoices.add(*((f"I-{n}", f"INV-{n}", "10.00", "open") for n in numbers))
    sides.payments.add(*((f"{n}", f"INV-{n}", "10.00", "paid") for n in numbers if n < invoices))
    sides.run()
    return sides, sides.of_record(f"I-{invoices}")


def lose(payments: Table | Export, records: range) -> None:
    for record in records:
        payments.remove(str(record))


# Both sides and their shape


@pytest.mark.parametrize("right", ["sqlite", "csv"])
@pytest.mark.parametrize("lost", [99, 60], ids=["all", "most"])
def test_an_approval_cleans_nothing_while_the_other_side_is_being_reloaded(
    right: str, lost: int, tmp_path: Path
) -> None:
    sides, finding = unpaid(tmp_path, right, 100)
    sides.payments.add(("100", "INV-100", "10.00", "paid"))
    sides.payments.remove("100")
    lose(sides.payments, range(1, lost + 1))

    with unchanged(sides.invoices):
        approved = sides.decide("approve", finding)

    assert approved.code != 0
    assert "Rule `unpaid` cleans nothing now" in approved.said
    assert "99" in approved.said


def test_an_approved_plan_waits_for_the_other_side_and_is_void_once_the_payment_is_there(tmp_path: Path) -> None:
    sides, finding = unpaid(tmp_path, "sqlite", 100)
    assert isinstance(sides.payments, Table)
    sides.decide("approve", finding, "--later")
    sides.payments.sql(
        "alter table payments rename to loading", "create table payments as select * from loading limit 0"
    )
    with unchanged(sides.invoices):
        waiting = sides.decide("retry", finding)
    sides.payments.sql("drop table payments", "alter table loading rename to payments")
    sides.payments.add(("100", "INV-100", "10.00", "paid"))

    with unchanged(sides.invoices):
        late = sides.decide("retry", finding)

    assert "is approved and waits" in waiting.said
    assert "was skipped" in late.said


def test_a_small_dataset_that_lost_half_of_its_records_asks_people_again(tmp_path: Path) -> None:
    sides, finding = unpaid(tmp_path, "sqlite", 6)
    lose(sides.payments, range(1, 4))

    with unchanged(sides.invoices):
        approved = sides.decide("approve", finding)

    assert "it has 2 records instead of 5" in approved.said
    sides.run()
    assert sides.decide("approve", finding).code == 0
    assert f"I-{6}" not in sides.invoices.status


def test_an_automatic_rule_cleans_nothing_by_itself_after_half_of_a_small_dataset_is_gone(tmp_path: Path) -> None:
    sides, _ = unpaid(tmp_path, "sqlite", 25, approval="none", limits=WIDE)
    lose(sides.payments, range(1, 16))

    with unchanged(sides.invoices):
        cleaning = sides.run(code=None)["cleaning"]

    assert "it has 9 records instead of 24" in cleaning["stopped"]


def test_a_small_loss_is_shown_to_whoever_approves(tmp_path: Path) -> None:
    sides, earlier = unpaid(tmp_path, "sqlite", 19)
    sides.config = CALM | {
        "channels": {"team": {"type": "file", "path": "messages.jsonl", "format": "jsonl"}},
        "jobs": {"nightly": {"rules": "all", "existing": "report", "notify": ["team"]}},
    }
    sides.run()
    lose(sides.payments, range(1, 13))
    sentence = "Look at the records before you approve: dataset 'payments' changed unexpectedly: it has 6 records"

    first, second = (sides.run(code=None)["cleaning"] for _ in range(2))

    assert sentence in first["doubt"]
    assert "doubt" not in second
    messages = [json.loads(line) for line in (tmp_path / "messages.jsonl").read_text().splitlines()]
    doubts = [cleaning["doubt"] for message in messages for cleaning in message["cleaning"] if cleaning["doubt"]]
    assert [doubt.startswith(sentence) for doubt in doubts] == [True]
    name = sides.of_record("I-3")
    assert sentence in sides.command("plan", "--finding", name, "--json").json[0]["doubt"]
    for command in (["plan", "--finding", name], ["plan", "--finding", earlier], ["show", name]):
        assert sentence in " ".join(sides.command(*command).out.split())


# Lists of pairs


def listed(folder: Path, *pairs: tuple[int, int], **rule: Any) -> tuple[World, str]:
    """Two customers with one address, a list of pairs that are different, and the finding after a run."""
    settings = {"source": "shop", "table": "different"}
    world = World.at(
        folder / "w",
        *((1, "a@x", "Anna"), (2, "a@x", "Ann")),
        config={"datasets": {"customers": CUSTOMERS, "different": settings}},
        twins=DELETE | {"except": {"dataset": "different"}} | rule,
    )
    world.shop.sql("CREATE TABLE different (first_id INTEGER, second_id INTEGER)")
    list_pairs(world, *pairs)
    world.run()
    return world, world.only()


def list_pairs(world: World, *pairs: tuple[int, int]) -> None:
    world.shop.sql(*(f"INSERT INTO different VALUES {pair}" for pair in pairs))


@pytest.mark.parametrize("cell", ["NULL", "'n/a'"])
@pytest.mark.parametrize("emptied", [1, 9])
def test_people_are_asked_once_when_rows_of_a_list_name_no_pair_any_more(
    emptied: int, cell: str, tmp_path: Path
) -> None:
    list_of_pairs = {"source": "shop", "table": "different"}
    world = World.at(
        tmp_path / "w",
        *((1, "a@x", "Anna"), (2, "a@x", "Ann")),
        config={"datasets": {"customers": CUSTOMERS, "different": list_of_pairs}},
        twins=ALONE | {"except": {"dataset": "different"}},
    )
    world.shop.sql("CREATE TABLE different (first_id ANY, second_id ANY)")
    list_pairs(world, *((n, n + 1) for n in range(1, 20, 2)))
    for _ in range(2):
        world.run()
    world.shop.sql(f"UPDATE different SET second_id = {cell} WHERE first_id < {2 * emptied}")

    [rule] = world.run().rules
    world.run()

    assert world.shop.ids() == [1, 2]
    rows = "1 row" if emptied == 1 else f"{emptied} rows"
    assert f"column second_id is empty or unusable in {rows} of 10; before, in 0" in (rule.cleaning.stopped or "")
    assert world.findings() == {world.only(): "awaiting_approval"}


def test_people_are_asked_when_half_of_a_small_dataset_has_no_key_any_more(tmp_path: Path) -> None:
    world = World.at(
        tmp_path / "w", *((n, f"{n}@x", "Ann") for n in range(1, 9)), twins=ALONE | {"key": ["email"], "limits": WIDE}
    )
    for _ in range(2):
        world.run()
    world.shop.sql("UPDATE customers SET email = NULL WHERE id < 5", "UPDATE customers SET email = 'z@x' WHERE id > 6")

    [rule] = world.run().rules

    assert world.shop.ids() == list(range(1, 9))
    output = rule.failed if isinstance(rule, RuleFailure) else rule.cleaning.stopped or ""
    assert "email" in output


def test_a_pair_that_was_listed_after_the_run_is_not_cleaned(tmp_path: Path) -> None:
    world, finding = listed(tmp_path, (7, 8), (8, 9))
    list_pairs(world, (1, 2))

    world.command("approve", finding)

    assert world.shop.ids() == [1, 2]


@pytest.mark.parametrize("left", [0, 1], ids=["empty", "half loaded"])
def test_nothing_is_cleaned_while_the_list_is_being_reloaded(left: int, tmp_path: Path) -> None:
    pairs = [(n, n + 1) for n in range(10, 14)]
    world, finding = listed(tmp_path, *pairs)
    list_pairs(world, (1, 2))
    world.shop.sql(f"DELETE FROM different WHERE first_id <> {10 if left else 0}")

    approved = world.command("approve", finding)

    assert world.shop.ids() == [1, 2]
    assert approved.code != 0, approved.said


# Queries


@pytest.mark.parametrize("way", ["approve", "later", "run"])
def test_what_a_query_lists_no_longer_is_not_cleaned(way: str, tmp_path: Path) -> None:
    query = "select c.email as group_key, c.id from customers c join orders o on o.id = c.email where not o.paid"
    rule = {"kind": "sql", "dataset": "customers", "query": query, "minimum": 2, "limits": WIDE} | DELETE
    rows = ((1, "o1", "charge"), (2, "o1", "charge"), (3, "o2", "charge"))
    world = World.at(tmp_path / "w", *rows, config={"rules": {"twins": rule}})
    world.shop.sql("CREATE TABLE orders (id VARCHAR(9), paid BOOLEAN)")
    world.shop.sql("INSERT INTO orders VALUES ('o1', false), ('o2', true)")
    world.run()
    finding = world.only()
    if way == "later":
        world.approve(finding, later=True)
    world.shop.sql("UPDATE orders SET paid = true")

    world.run() if way == "run" else world.command("retry" if way == "later" else "approve", finding)

    assert world.shop.ids() == [1, 2, 3]


# The neighbourhood


SPANS = (
    "CREATE TABLE charges (id INTEGER PRIMARY KEY, card VARCHAR(20), phone VARCHAR(20), at TIMESTAMP, ends TIMESTAMP)"
)
CHARGES = {"source": "shop", "table": "charges", "id": "id"}


def charges(folder: Path, rule: dict[str, Any], *rows: tuple[Any, ...]) -> World:
    config = {"datasets": {"charges": CHARGES}}
    world = World.at(folder / "w", (1, "a@x", "Anna"), config=config, twins={"dataset": "charges"} | DELETE | rule)
    world.shop.sql(SPANS)
    charge(world, *rows)
    return world


def charge(world: World, *rows: tuple[Any, ...]) -> None:
    world.shop.sql(*(f"INSERT INTO charges VALUES {row}" for row in rows))


def at(time: str, until: str = "") -> tuple[str, str]:
    return f"2026-11-02 {time}:00", f"2026-11-02 {until or time}:00"


ARRIVALS = {
    "window": ({"key": ["card"], "window": {"at": "15m"}}, [("10:00", ""), ("10:10", "")], ("09:50", "")),
    "gap": ({"key": ["card"], "gap": {"at": "15m"}}, [("10:00", ""), ("10:10", "")], ("09:50", "")),
    "keeper": ({"key": ["card"], "keep": {"first": "at"}}, [("10:00", ""), ("10:10", "")], ("09:50", "")),
}


@pytest.mark.parametrize("name", ARRIVALS)
def test_a_record_that_arrives_before_the_others_changes_who_is_surplus(name: str, tmp_path: Path) -> None:
    rule, times, earlier = ARRIVALS[name]
    rows = [(n, "c", f"p{n}", *at(*time)) for n, time in enumerate(times, 1)]
    world = charges(tmp_path, rule, *rows)
    world.run()
    finding = world.only()
    charge(world, (9, "c", "p9", *at(*earlier)))

    shown = world.command("plan", "--finding", finding)
    world.command("approve", finding)

    assert world.shop.ids("charges") == [1, 2, 9]
    assert "delete" not in shown.out.lower() or "changed" in shown.out


DEPARTURES = {
    "any key": {"key": {"any": [["card"], ["phone"]]}},
    "gap": {"key": ["card"], "gap": {"at": "15m"}},
    "overlap": {"key": ["card"], "overlap": {"from": "at", "to": "ends"}},
}


@pytest.mark.parametrize("name", DEPARTURES)
def test_records_that_only_a_third_one_held_together_are_not_cleaned_without_it(name: str, tmp_path: Path) -> None:
    middle = (2, "c" if name != "any key" else "c1", "p2", *at("10:10", "10:20"))
    rows = [
        (1, "c" if name != "any key" else "c1", "p1", *at("10:00", "10:12")),
        middle,
        (3, "c" if name != "any key" else "c3", "p2", *at("10:18" if name == "overlap" else "10:20", "10:30")),
    ]
    world = charges(tmp_path, DEPARTURES[name], *rows)
    world.run()
    finding = world.only()
    world.approve(finding, later=True)
    world.shop.sql("UPDATE charges SET card = 'other', phone = 'other' WHERE id = 2")

    world.command("retry", finding)

    assert world.shop.ids("charges") == [1, 2, 3]


# Ids


@pytest.mark.parametrize("wrong", ["1", "NULL"], ids=["repeated", "empty"])
def test_ids_that_name_no_single_record_stop_every_way_to_clean(wrong: str, tmp_path: Path) -> None:
    people = {"datasets": {"customers": CUSTOMERS | {"table": "people"}}}
    world = World.at(tmp_path / "w", config=CALM | people, twins=DELETE | {"retry": "calm"})
    world.shop.sql("CREATE TABLE people (place INTEGER PRIMARY KEY, id INTEGER, email VARCHAR(60), name VARCHAR(60))")
    world.shop.sql(
        "INSERT INTO people (id, email, name) VALUES (1, 'b@x', 'Bob'), (2, 'a@x', 'Anna'), (3, 'a@x', 'Ann')"
    )
    world.run()
    finding = world.only()
    world.approve(finding, later=True)
    world.shop.sql(f"INSERT INTO people (id, email, name) VALUES ({wrong}, 'c@x', 'Cy')")

    by_hand = world.command("retry", finding)
    run = world.command("run")

    assert "the id of 1 record of" in by_hand.said or "the id of 2 records" in by_hand.said
    assert "cleaned as planned by earlier runs" not in run.said
    assert len(world.shop.rows("people")) == 4


# Rows that the database hides


@pytest.mark.server
@pytest.mark.parametrize("way", ["table", "view", "view of a view", "query"])
def test_rows_that_a_policy_hides_behind_a_view_are_no_reason_to_clean(
    way: str, tmp_path: Path, postgres_url: str
) -> None:
    """The clerk sees one payment of two, so that a paid invoice looks unpaid."""
    shop = Sides.at(tmp_path, f"sqlite:///{tmp_path}/shop.db", postgres_url, **APPROVED)
    assert isinstance(shop.payments, Table)
    shop.payments.add(("2", "INV-2", "50.00", "paid"))
    shop.payments.sql(
        "create view seen with (security_invoker = true) as select * from payments",
        "create view seen_twice with (security_invoker = true) as select * from seen",
        "drop role if exists reconcile_viewer",
        "create role reconcile_viewer login",
        "grant select on payments, seen, seen_twice to reconcile_viewer",
        "alter table payments enable row level security",
        "create policy own on payments for select to reconcile_viewer using (id = '1')",
    )
    places = {"view": {"table": "seen"}, "view of a view": {"table": "seen_twice"}}
    place = places.get(way, {"table": "payments"} if way == "table" else {"query": "select * from payments"})
    shop.config = {
        "datasets": {
            "invoices": {"source": "shop", "table": "invoices", "id": "id"},
            "payments": {"source": "bank", "id": "id"} | place,
        }
    }
    try:
        shop.payments.url = sa.make_url(postgres_url).set(username="reconcile_viewer").render_as_string()
        run = shop.run(code=None)
    finally:
        shop.payments.sql("drop owned by reconcile_viewer", "drop role reconcile_viewer")

    assert any("Not all records of dataset `payments` can be seen" in why for why in run["cleaning"]["not_planned"])
    assert run["cleaning"]["proposed"] == 0


@pytest.mark.server
def test_a_pair_that_a_policy_hides_from_the_list_is_not_cleaned(tmp_path: Path, postgres_url: str) -> None:
    config = {"datasets": {"customers": CUSTOMERS, "different": {"source": "shop", "table": "different"}}}
    world = World(tmp_path, {"twins": DELETE | {"except": {"dataset": "different"}}}, config, url=postgres_url)
    world.shop.sql(
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, email VARCHAR(60), name VARCHAR(60))",
        "INSERT INTO customers VALUES (1, 'a@x', 'Anna'), (2, 'a@x', 'Ann')",
        "CREATE TABLE different (first_id INTEGER, second_id INTEGER)",
        "INSERT INTO different VALUES (1, 2), (8, 9)",
        "DROP ROLE IF EXISTS reconcile_cleaner",
        "CREATE ROLE reconcile_cleaner LOGIN",
        "GRANT ALL ON SCHEMA public TO reconcile_cleaner",
        "GRANT ALL ON customers, different TO reconcile_cleaner",
        "ALTER TABLE different ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY own ON different FOR SELECT TO reconcile_cleaner USING (first_id = 8)",
    )
    try:
        world.url = sa.make_url(postgres_url).set(username="reconcile_cleaner").render_as_string()
        world.run()
        approved = world.command("approve", world.only())
    finally:
        world.shop.sql("DROP OWNED BY reconcile_cleaner", "DROP ROLE reconcile_cleaner")

    assert "Not all records of dataset `different` can be seen" in approved.said
    assert world.shop.ids() == [1, 2]


# Few records to compare


def shop_of(folder: Path, records: int, where: str = "name = 'succeeded'", **rule: Any) -> World:
    """So many customers to compare, of whom two are one."""
    world = World.at(folder / "w", twins={"where": where} | rule)
    rows = ((n, f"{max(n, 2)}@x", "succeeded") for n in range(1, records + 1))
    world.add(*rows)
    world.run()
    return world


def test_an_edit_after_which_nothing_matches_resolves_nothing_and_says_so(tmp_path: Path) -> None:
    world = shop_of(tmp_path, 5)
    finding = world.only()
    world.rules["twins"]["where"] = "name = 'Succeeded'"

    edited = world.write().command("run")

    assert "compared 0 records of dataset 'customers', usually 5" in edited.said
    assert edited.code == 3
    assert world.findings() == {finding: "open"}
    assert "compared 0 records" in world.messages()


@pytest.mark.parametrize("what", ["records", "where"])
def test_a_rule_that_compares_half_of_the_usual_records_is_not_judged_until_a_person_accepts(
    what: str, tmp_path: Path
) -> None:
    world = shop_of(tmp_path, 293)
    finding = world.only()
    lost = "DELETE FROM customers" if what == "records" else "UPDATE customers SET name = 'failed'"
    world.shop.sql(f"{lost} WHERE id <= 146")

    refused = world.write().command("run")
    state = world.findings()
    accepted = world.command("allow", "twins")
    again = world.command("run")

    assert "compared 147 records of dataset 'customers', usually 293" in refused.said
    assert state == {finding: "open"}
    assert accepted.out == "Rule 'twins' judges its findings again, starting with its next run.\n"
    assert (again.code, world.findings()) == (0, {finding: "resolved"})
    assert world.command("run").code == 0
    assert world.intact()


def test_an_emptied_dataset_is_accepted_by_a_person(tmp_path: Path) -> None:
    world = shop_of(tmp_path, 5)
    world.shop.sql("DELETE FROM customers")

    refused = world.write().command("run")
    world.command("allow", "twins")

    assert "If that is right: `reconcile allow twins`" in refused.said
    assert world.command("run").code == 0
    assert list(world.findings().values()) == ["resolved"]


def test_a_queue_that_was_as_short_before_is_judged(tmp_path: Path) -> None:
    world = shop_of(tmp_path, 10)
    world.add(*((n, f"{n}@x", "succeeded") for n in range(11, 200)))
    world.run()
    world.shop.sql("DELETE FROM customers WHERE id > 10")

    assert world.write().command("run").code == 0


def test_what_a_rule_cleaned_itself_is_no_loss(tmp_path: Path) -> None:
    world = World.at(tmp_path / "w", twins=ALONE)
    world.add(*((n, f"{n // 5}@x", "Anna") for n in range(5, 105)))
    world.run()
    world.run()

    assert len(world.shop.ids()) == 20
    assert world.command("run").code == 0


# Large tables


@pytest.mark.server
@pytest.mark.parametrize("server", ["postgres_url", "mariadb_url"])
@pytest.mark.parametrize("arrives", [True, False], ids=["one arrives", "nothing happens"])
def test_a_large_table_is_asked_for_the_records_near_a_plan(
    server: str, tmp_path: Path, arrives: bool, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearby, "LARGE", 3)
    rule = {"dataset": "charges", "key": ["card"], "window": {"at": "15m"}} | DELETE
    config = {"datasets": {"charges": CHARGES}}
    world = World(tmp_path, {"twins": rule}, config, url=str(request.getfixturevalue(server)))
    world.shop.sql(SPANS)
    rows = ((1, "c", at("10:00")), (2, "c", at("10:10")), (3, "d", at("10:00")), (4, "e", at("10:00")))
    charge(world, *((n, card, "p", *times) for n, card, times in rows))
    world.run()
    finding = world.only()
    if arrives:
        charge(world, (9, "c", "p9", *at("09:50")))

    with world.open() as application, application.store.read() as tx:
        planner = application.planner.of(application.project.rules["twins"])
        [_] = planner.plans([stored_findings.get(tx, finding)])
    world.command("approve", finding)

    assert not planner.tools.asking.has_asked_the_whole_rule
    assert world.shop.ids("charges") == ([1, 2, 3, 4, 9] if arrives else [1, 3, 4])


def test_fewer_plans_are_looked_at_together_where_that_takes_longer_than_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each batch of one would look at all other plans again, 36 in total."""
    monkeypatch.setattr(executor, "BATCH", 1)
    monkeypatch.setattr(evidence, "HOLDS", 0.0)
    looked_at: list[int] = []
    look = evidence.Evidence.look

    def counting(seen: evidence.Evidence, plans: Sequence[StoredPlan]) -> None:
        looked_at.append(len(plans))
        look(seen, plans)

    monkeypatch.setattr(evidence.Evidence, "look", counting)
    world = World.at(tmp_path / "w", twins=ALONE)
    world.add(*((2 * n + twin, f"{n}@x", "") for n in range(8) for twin in (0, 1)))
    world.run()

    report = world.run()

    assert world.cleaning(report)["cleaned"] == 8
    assert [plans for plans in looked_at if plans] == [8, 4, 2, 1, 1, 1, 1, 1]
