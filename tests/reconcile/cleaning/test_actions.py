"""What delete, set, merge and move make of rows, on every database that can be cleaned."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconcile.cleaning.planning.plan import AsksPerson, NothingToDo, NotPlannable, mistakes
from rules.kinds.duplicates import DuplicatesRule
from tests.reconcile.cleaning.planned_shop import PlannedShop, planned_shop, rule_of
from tests.support.shop import LOCAL

SERVERS = [pytest.param(text, marks=pytest.mark.server) for text in ("postgresql", "mariadb")]
CUSTOMERS = (
    "create table customers (id integer primary key, email varchar(60), phone varchar(60), code varchar(20) unique, "
    "rank_ integer, spent decimal(12,2), active boolean, tags varchar(60), street varchar(60), city varchar(60), "
    "status varchar(60), seen date)"
)
ROWS = (
    "insert into customers values "
    "(1, 'ann@x', null, null, 1, 20.00, true, 'vip', 'Elm 1', null, null, '2026-01-01'), "
    "(2, 'ann@x', '0221 ', 'K7', 3, 5.50, false, 'new,vip', 'Oak 2', 'Ulm', null, '2026-03-01'), "
    "(3, 'ann@x', '030', null, 2, null, null, null, null, 'Bonn', 'old', null), "
    "(4, 'bob@x', '040', null, 2, null, null, null, null, null, null, null)"
)


@pytest.fixture(params=["sqlite", *SERVERS])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PlannedShop]:
    created = planned_shop(request, tmp_path)
    created.sql(CUSTOMERS, ROWS)
    yield created
    created.close()


def twins(clean: dict[str, Any], **settings: Any) -> DuplicatesRule:
    return rule_of(clean, key=["email"], **settings)


def record(shop: PlannedShop, number: int, table: str = "customers") -> dict[str, Any] | None:
    with shop.engine.connect() as connection:
        row = connection.exec_driver_sql(f"select * from {table} where id = {number}").mappings().one_or_none()
    return None if row is None else dict(row)


def test_delete_leaves_the_keeper_and_can_be_taken_back(shop: PlannedShop) -> None:
    before = shop.tables("customers")

    back = shop.carry_out(shop.plan(twins({"action": "delete"})))

    assert [row[0] for row in shop.tables("customers")["customers"]] == [1, 4]
    shop.apply(back)
    assert shop.tables("customers") == before


def test_set_writes_values_of_every_type_and_fields_of_both_records(shop: PlannedShop) -> None:
    values = {
        "status": "twin of {{ keeper.id }}: {{record.phone}}",
        "rank_": "{{ keeper.rank_ }}",
        "active": "false",
        "spent": "7.25",
        "tags": None,
        "code": "{{ record.id }}",
        "seen": "2026-11-21",
    }

    before = shop.tables("customers")
    back = shop.carry_out(shop.plan(twins({"action": "set", "values": values})))

    second, third = record(shop, 2), record(shop, 3)
    assert second is not None
    assert third is not None
    assert (second["status"], third["status"]) == ("twin of 1: 0221 ", "twin of 1: 030")
    assert (second["rank_"], third["rank_"], float(second["spent"]), second["tags"]) == (1, 1, 7.25, None)
    assert (second["code"], str(second["seen"]), bool(second["active"])) == ("2", "2026-11-21", False)
    assert record(shop, 1) == record(shop, 1) | {"status": None, "rank_": 1}  # type: ignore[operator]
    shop.apply(back)
    assert shop.tables("customers") == before


def test_what_is_set_already_is_left_alone_and_a_group_of_such_records_is_nothing_to_do(shop: PlannedShop) -> None:
    values = {"status": "twin", "active": "true", "spent": "7.250", "code": None, "rank_": "{{ keeper.rank_ }}"}
    rule = twins({"action": "set", "values": values})
    shop.sql("update customers set status = 'twin', active = true, spent = 7.25, rank_ = 1, code = null where id = 2")

    plan = shop.plan(rule)

    assert plan.surplus == ('[["n","3"]]',)
    shop.carry_out(plan)
    with pytest.raises(NothingToDo):
        shop.plan(rule)


def test_merge_takes_the_best_cells_as_they_are_and_says_whose_they_are(shop: PlannedShop) -> None:
    clean = {
        "action": "merge",
        "fields": {"phone": {"last": "seen"}, "spent": {"max": "rank_"}, "tags": "union", "street": "longest"},
        "linked": [["street", "city"]],
        "surplus": {"set": {"status": "merged into {{ keeper.id }}", "code": None}},
    }

    plan = shop.plan(twins(clean))
    shop.carry_out(plan)

    kept = record(shop, 1)
    assert kept is not None
    assert (kept["phone"], float(kept["spent"]), kept["tags"]) == ("0221 ", 5.5, "vip, new")
    assert (kept["street"], kept["city"]) == ("Oak 2", "Ulm")
    assert (kept["code"], kept["rank_"]) == (None, 1)
    assert dict(plan.origins) == {
        "phone": '[["n","2"]]',
        "spent": '[["n","2"]]',
        "tags": '[["n","1"]]\n[["n","2"]]',
        "street": '[["n","2"]]',
        "city": '[["n","2"]]',
    }
    assert [record(shop, n)["status"] for n in (2, 3)] == ["merged into 1"] * 2  # type: ignore[index]


def test_merge_can_take_over_a_value_that_only_one_row_may_have_once_its_owner_is_gone(shop: PlannedShop) -> None:
    before = shop.tables("customers")

    back = shop.carry_out(shop.plan(twins({"action": "merge", "fields": {"code": "longest"}, "surplus": "delete"})))

    assert record(shop, 1)["code"] == "K7"  # type: ignore[index]
    shop.apply(back)
    assert shop.tables("customers") == before


def test_merge_is_refused_where_both_records_would_have_what_only_one_may(shop: PlannedShop) -> None:
    clean = {"action": "merge", "fields": {"code": "longest"}, "surplus": {"set": {"status": "merged"}}}

    with pytest.raises(NotPlannable, match="would get the same `code`"):
        shop.plan(twins(clean))


def test_a_merge_that_changes_no_field_and_no_record_is_nothing_to_do(shop: PlannedShop) -> None:
    clean = {"action": "merge", "fields": {"rank_": "keep"}, "surplus": {"set": {"email": "ann@x"}}}

    with pytest.raises(NothingToDo):
        shop.plan(twins(clean))


def test_move_puts_the_surplus_into_a_table_made_as_it_was_told(shop: PlannedShop) -> None:
    rule = twins({"action": "move", "to": "quarantine"})
    [told] = mistakes(rule, shop.tools(rule).place, shop.tools(rule).fitted)
    with pytest.raises(NotPlannable, match="table `quarantine`"):
        shop.plan(rule)
    shop.sql(re.sub(r".*?(CREATE TABLE .*)", r"\1", told))
    before = shop.tables("customers", "quarantine")

    plan = shop.plan(rule)
    back = shop.carry_out(plan)

    assert [row[0] for row in shop.tables("customers")["customers"]] == [1, 4]
    moved = record(shop, 2, "quarantine")
    assert moved is not None
    assert moved.pop("reconcile_finding") == plan.finding
    shop.apply(back)
    assert record(shop, 2) == moved
    assert shop.tables("customers", "quarantine") == before


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ("id integer primary key, email varchar(60)", "has no `phone`, `code`"),
        (CUSTOMERS.partition("(")[2][:-1].replace("integer primary key", "integer"), "no primary key and no"),
        (
            CUSTOMERS.partition("(")[2][:-1].replace("integer primary key", "integer") + ", no_ integer primary key",
            "needs a primary key of columns of `customers`",
        ),
        (
            CUSTOMERS.partition("(")[2][:-1].replace("rank_ integer", "rank_ varchar(9)"),
            "`rank_` of `other` have other types",
        ),
        (CUSTOMERS.partition("(")[2][:-1] + ", why varchar(9) not null", "`why` of `other` must have values"),
    ],
)
def test_a_quarantine_table_that_could_not_give_the_records_back_is_refused(
    tmp_path: Path, columns: str, says: str
) -> None:
    shop = PlannedShop(LOCAL, tmp_path)
    shop.sql(CUSTOMERS, f"create table other ({columns})")
    rule = twins({"action": "move", "to": "other"})

    assert any(says in mistake for mistake in mistakes(rule, shop.tools(rule).place, shop.tools(rule).fitted))


@pytest.mark.parametrize(
    ("clean", "says"),
    [
        ({"action": "set", "values": {"stauts": "x"}}, "did you mean `status`?"),
        ({"action": "set", "values": {"id": "9"}}, "cannot change"),
        (
            {"action": "set", "values": {"status": "{{ keeper.nmae }}"}},
            "from `keeper.nmae`, which is not a column",
        ),
        ({"action": "set", "values": {"double": "4"}}, "which the database computes itself"),
        ({"action": "set", "values": {"status": "x"}, "references": "capture"}, "deletes nothing"),
        ({"action": "merge", "surplus": "delete", "fields": {"fone": "keep"}}, "`fields` names `fone`"),
        ({"action": "merge", "surplus": "delete", "linked": [["city", "id"]]}, "cannot change"),
        ({"action": "merge", "surplus": {"set": {"x": "1"}}}, "`surplus` names `x`"),
        (
            {"action": "merge", "surplus": {"set": {"status": "1"}}, "references": "capture"},
            "but the surplus stays here",
        ),
        ({"action": "move", "to": "customers"}, "is the dataset's own table"),
        (
            {"action": "delete", "ignore_drift": ["sene"]},
            "`ignore_drift` names `sene`, which is not a column; did you mean",
        ),
        ({"action": "delete", "ignore_drift": ["seen"]}, None),
    ],
)
def test_settings_that_do_not_fit_the_table_are_told_before_anything_is_planned(
    tmp_path: Path, clean: dict[str, Any], says: str | None
) -> None:
    shop = PlannedShop(LOCAL, tmp_path)
    shop.sql(CUSTOMERS[:-1] + ", double integer generated always as (rank_ * 2))")
    rule = twins(clean)

    wrong = mistakes(rule, shop.tools(rule).place, shop.tools(rule).fitted)

    assert [says in item for item in wrong] == [True] if says else wrong == []


@pytest.mark.parametrize("text", ["{{ keeper }}", "{% if x %}", "{{ record.x | upper }}", "{{ other.id }}", "}} {{"])
def test_a_value_can_hold_fields_of_the_two_records_and_nothing_else(text: str) -> None:
    with pytest.raises(ValueError, match=r"may contain only \{\{ keeper.column \}\} and"):
        rule_of({"action": "set", "values": {"status": text}}, key=["email"])


@pytest.mark.parametrize("action", ["set", "merge"])
def test_two_records_never_point_at_each_other(action: str, shop: PlannedShop) -> None:
    values = {"rank_": "{{ keeper.id }}"}
    clean = {"action": "set", "values": values} if action == "set" else {"action": "merge", "surplus": {"set": values}}
    shop.sql("update customers set rank_ = 3 where id = 1")

    with pytest.raises(AsksPerson, match="The keeper already points at a surplus record by `rank_`"):
        shop.plan(twins(clean))

    shop.sql("update customers set rank_ = 99 where id = 1")
    shop.carry_out(shop.plan(twins(clean)))
    assert [record(shop, n)["rank_"] for n in (1, 2, 3)] == [99, 1, 1]  # type: ignore[index]
