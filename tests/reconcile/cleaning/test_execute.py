"""A batch of plans on a target: each whole or not at all, none twice, and none on rows that are not as planned."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from connectors.target import TargetError, TransactionOutcome, Work
from reconcile.cleaning.execution.execute import How, Result, SentPlan, TransactionLimits, perform
from tests.reconcile.cleaning.customer_shop import CustomerShop, job, otherwise, text
from tests.support.shop import LOCAL, SERVERS, address

LIMITS = TransactionLimits(lambda: 20.0)


@pytest.fixture(params=SERVERS)
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CustomerShop]:
    shop = CustomerShop.at(address(request), tmp_path)
    yield shop
    shop.close()


@pytest.fixture
def lite(tmp_path: Path) -> CustomerShop:
    return CustomerShop.at(LOCAL, tmp_path)


def _do(shop: CustomerShop, *jobs: SentPlan) -> dict[str, Result]:
    assert shop.target.remembers()
    return {item.job.id: item for item in perform(shop.target, jobs, LIMITS)}


def _how(results: dict[str, Result]) -> dict[str, How]:
    return {name: result.how for name, result in results.items()}


def test_a_batch_is_done_whole_and_says_how_rows_looked_before_and_after(shop: CustomerShop) -> None:
    shop.add(1, 2, 3, 4)

    results = _do(shop, job(shop.deletion(1, 2), "a"), job(shop.marking(3, 4, status="twin"), "b"))

    assert _how(results) == {"a": How.DONE, "b": How.DONE}
    assert [(customer[0], customer[3]) for customer in shop.customers()] == [(1, "active"), (3, "active"), (4, "twin")]
    [deleted], [marked] = results["a"].images or (), results["b"].images or ()
    assert deleted.after is None
    assert deleted.before == deleted.change.before
    assert marked.before is not None
    assert marked.after is not None
    assert {name for name in marked.after if marked.after[name] != marked.before[name]} == {"status"}


def test_doing_a_batch_again_changes_nothing_and_finds_the_same_images(shop: CustomerShop) -> None:
    shop.add(1, 2, 3, 4)
    jobs = (job(shop.deletion(1, 2), "a"), job(shop.marking(3, 4, status="twin"), "b"))
    first = _do(shop, *jobs)
    left = shop.customers()

    again = _do(shop, *jobs)

    assert _how(again) == {"a": How.DONE_BEFORE, "b": How.DONE_BEFORE}
    assert shop.customers() == left
    assert {name: item.images for name, item in again.items()} == {name: item.images for name, item in first.items()}


def test_a_record_that_changed_since_drops_its_group_and_no_other(shop: CustomerShop) -> None:
    shop.add(1, 2, 3, 4, 5, 6)
    jobs = [job(shop.deletion(1, 2), "a"), job(shop.deletion(3, 4), "b"), job(shop.deletion(5, 6), "c")]
    shop.sql("UPDATE customers SET name = 'Anne' WHERE id = 4")

    results = _do(shop, *jobs)

    assert _how(results) == {"a": How.DONE, "b": How.DRIFTED, "c": How.DONE}
    assert results["b"].why == "a row of customers changed since it was planned (name)"
    assert [customer[0] for customer in shop.customers()] == [1, 3, 4, 5]


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE customers SET name = 'anna' WHERE id = 2", "changed since it was planned (name)"),
        ("UPDATE customers SET name = 'Anna ' WHERE id = 2", "changed since it was planned (name)"),
        ("UPDATE customers SET email = NULL WHERE id = 2", "changed since it was planned (email)"),
        ("UPDATE customers SET email = NULL WHERE id = 1", "changed since it was planned (email)"),
        ("DELETE FROM customers WHERE id = 2", "no longer exists"),
        ("DELETE FROM customers WHERE id = 1", "no longer exists"),
        ("INSERT INTO orders VALUES (1, 2, 10)", "another row refers to the surplus by orders_customer of orders"),
    ],
)
def test_whatever_differs_from_the_plan_by_a_byte_leaves_everything_as_it_is(
    shop: CustomerShop, statement: str, why: str
) -> None:
    shop.add(1, 2)
    item = job(shop.deletion(1, 2), "a")
    shop.sql(statement)
    before = shop.customers()

    results = _do(shop, item)

    assert (results["a"].how, why in results["a"].why) == (How.DRIFTED, True)
    assert shop.customers() == before
    assert shop.target.receipts([r.key for r in item.receipts]) == {}


def test_a_column_that_may_drift_keeps_its_value_and_that_is_what_is_remembered(lite: CustomerShop) -> None:
    lite.add(1, 2)
    item = job(replace(lite.deletion(1, 2), ignore_drift=("touched",)), "a")
    lite.sql("UPDATE customers SET touched = 'today' WHERE id = 2")

    [image] = _do(lite, item)["a"].images or ()

    assert image.before is not None
    assert image.before["touched"] == text("today") or image.before["touched"][1] == "today"  # type: ignore[index]
    assert [row[0] for row in lite.customers()] == [1]


def test_references_move_before_their_record_goes(shop: CustomerShop) -> None:
    shop.add(1, 2)
    shop.order(7, 2)
    shop.order(8, 2)

    results = _do(shop, job(shop.repointing(1, 2, 7, 8), "a"))

    assert _how(results) == {"a": How.DONE}
    assert shop.sql("SELECT id, customer FROM orders ORDER BY id") == [(7, 1), (8, 1)]
    assert [row[0] for row in shop.customers()] == [1]


def test_the_same_key_for_something_else_does_nothing(shop: CustomerShop) -> None:
    shop.add(1, 2, 3)
    _do(shop, job(shop.marking(1, 2, status="twin"), "a"))

    results = _do(shop, job(otherwise(shop.marking(1, 2, status="gone")), "b"))

    assert _how(results) == {"b": How.KEY_CONFLICT}
    assert {row[3] for row in shop.customers()} == {"active", "twin"}


def test_the_receipt_of_another_store_does_not_count_as_ours(lite: CustomerShop) -> None:
    lite.add(1, 2)
    _do(lite, job(lite.marking(1, 2, status="twin"), "a", store="st_other"))

    results = _do(lite, job(lite.marking(1, 2, status="twin"), "b"))

    assert _how(results) == {"b": How.KEY_CONFLICT}


def test_a_group_of_which_a_part_was_done_before_is_left_to_be_planned_anew(lite: CustomerShop) -> None:
    lite.add(1, 2, 3)
    both = job(lite.deletion(1, 2, 3), "both")
    _do(lite, job(lite.deletion(1, 2), "one"))

    results = _do(lite, both)

    assert _how(results) == {"both": How.DRIFTED}
    assert [row[0] for row in lite.customers()] == [1, 3]


def test_a_constraint_of_the_target_stops_one_plan_of_a_batch(shop: CustomerShop) -> None:
    shop.add(1, 2, 3, 4)
    shop.order(7, 2)
    unguarded = job(shop.deletion(1, 2, guarded=False), "a")

    results = _do(shop, unguarded, job(shop.deletion(3, 4), "b"))

    assert _how(results) == {"a": How.CONFLICT, "b": How.DONE}
    assert [row[0] for row in shop.customers()] == [1, 2, 3]
    assert shop.target.receipts([r.key for r in unguarded.receipts]) == {}


def test_a_plan_alone_is_told_as_one_of_a_batch_whatever_becomes_of_it(shop: CustomerShop) -> None:
    """It has no savepoint until something is not as planned, and then its receipts and rows are still looked at."""
    shop.add(1, 2, 3, 4, 5, 6)
    shop.order(7, 4)
    ok, forbidden = job(shop.marking(1, 2, status="twin"), "ok"), job(shop.deletion(3, 4, guarded=False), "forbidden")
    changed = job(shop.deletion(5, 6), "changed")
    shop.sql("update customers set status = 'other' where id = 6")
    left = [row[0] for row in shop.customers()]

    first, second = _do(shop, ok), _do(shop, ok)
    others = _do(shop, forbidden) | _do(shop, changed)

    assert (first["ok"].how, second["ok"].how) == (How.DONE, How.DONE_BEFORE)
    assert second["ok"].images == first["ok"].images
    assert _how(others) == {"forbidden": How.CONFLICT, "changed": How.DRIFTED}
    assert [row[0] for row in shop.customers()] == left
    assert shop.target.receipts([receipt.key for receipt in (*forbidden.receipts, *changed.receipts)]) == {}


def test_plans_that_touch_one_another_are_done_in_turn_and_the_second_sees_what_the_first_did(
    shop: CustomerShop,
) -> None:
    shop.add(1, 2, 3)
    jobs = job(shop.marking(1, 2, status="twin"), "a"), job(shop.deletion(2, 3), "b")

    results = _do(shop, *jobs)

    assert _how(results) == {"a": How.DONE, "b": How.DRIFTED}
    assert [row[0] for row in shop.customers()] == [1, 2, 3]


def test_opposite_keepers_leave_a_survivor(shop: CustomerShop) -> None:
    shop.add(1, 2)

    results = _do(shop, job(shop.deletion(1, 2), "a"), job(shop.deletion(2, 1), "b"))

    assert sorted(value.value for value in _how(results).values()) == ["done", "drifted"]
    assert len(shop.customers()) == 1


def test_a_plan_that_makes_rows_refer_to_the_surplus_of_another_one_is_not_done_beside_it(shop: CustomerShop) -> None:
    shop.add(1, 2, 3, 4)
    shop.order(7, 2)
    moving = shop.repointing(3, 2, 7)

    results = _do(shop, job(moving, "a"), job(shop.deletion(4, 3), "b"))

    assert _how(results)["a"] is How.DONE
    assert _how(results)["b"] is How.DRIFTED
    assert shop.sql("SELECT customer FROM orders") == [(3,)]


def test_a_target_that_is_gone_is_said_of_every_plan_and_nothing_is_tried_for_ever(
    lite: CustomerShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    lite.add(*range(1, 13))
    jobs = [job(lite.deletion(n, n + 1), f"b{n}") for n in range(1, 12, 2)]
    asked = []

    def refuse(seconds: float) -> Work:
        asked.append(seconds)
        raise TargetError("Source 'shop' is not there", TransactionOutcome.NOT_DONE)

    monkeypatch.setattr(lite.source, "work", refuse)

    results = perform(lite.target, jobs, LIMITS)

    assert {result.how for result in results} == {How.NOT_DONE}
    assert len(results) == len(jobs)
    assert len(asked) == 3


def test_without_room_for_receipts_the_rows_alone_decide(lite: CustomerShop) -> None:
    lite.add(1, 2)
    item = job(lite.deletion(1, 2), "a", receipts=False)

    first = perform(lite.target, [item], LIMITS)
    again = perform(lite.target, [item], LIMITS)

    assert ([r.how for r in first], [r.how for r in again]) == ([How.DONE], [How.DRIFTED])
