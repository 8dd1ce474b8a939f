"""Did it happen? What the target says about a plan whose COMMIT nobody heard the answer to; never a guess."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from connectors.target import TargetError, TransactionOutcome, Work
from reconcile.cleaning.execution.execute import How, TransactionLimits, perform
from reconcile.cleaning.execution.resolve import ask
from tests.reconcile.cleaning.customer_shop import CustomerShop, job, otherwise
from tests.support.shop import SERVERS, address

LIMITS = TransactionLimits(lambda: 20.0)


@pytest.fixture(params=SERVERS)
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CustomerShop]:
    shop = CustomerShop.at(address(request), tmp_path)
    shop.add(1, 2)
    assert shop.target.remembers()
    yield shop
    shop.close()


def test_a_receipt_that_stands_was_done_and_the_rows_are_known_still(shop: CustomerShop) -> None:
    item = job(shop.deletion(1, 2), "a")
    [done] = perform(shop.target, [item], LIMITS)

    answer = ask(shop.target, item, 20.0, None)

    assert (answer.how, answer.images) == (How.DONE_BEFORE, done.images)


def test_a_receipt_that_can_be_inserted_was_not_done_and_asking_leaves_none(shop: CustomerShop) -> None:
    item = job(shop.deletion(1, 2), "a")

    answers = [ask(shop.target, item, 20.0, None).how for _ in range(2)]

    assert answers == [How.NOT_DONE, How.NOT_DONE]
    assert shop.target.receipts([receipt.key for receipt in item.receipts]) == {}
    assert len(shop.customers()) == 2


def test_a_receipt_for_something_else_is_a_conflict(shop: CustomerShop) -> None:
    plan = shop.marking(1, 2, status="twin")
    perform(shop.target, [job(plan, "a")], LIMITS)

    assert ask(shop.target, job(otherwise(plan), "b"), 20.0, None).how is How.KEY_CONFLICT


def test_a_target_that_does_not_answer_leaves_the_doubt(shop: CustomerShop, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def away(_seconds: float) -> Iterator[Work]:
        raise TargetError("Source 'shop' is not there", TransactionOutcome.NOT_DONE)
        yield

    item = job(shop.deletion(1, 2), "a")
    monkeypatch.setattr(shop.source, "work", away)

    assert ask(shop.target, item, 20.0, None).how is How.COMMIT_UNKNOWN


@pytest.mark.parametrize(
    ("edit", "how"),
    [
        (None, How.NOT_DONE),
        ("UPDATE customers SET status = 'twin' WHERE id = 2", How.DONE_BEFORE),
        ("UPDATE customers SET status = 'twin', name = 'Zoe' WHERE id = 2", How.UNKNOWN),
        ("DELETE FROM customers WHERE id = 2", How.UNKNOWN),
    ],
    ids=["as before", "as after", "neither", "gone"],
)
def test_without_receipts_only_rows_that_are_exactly_so_decide(shop: CustomerShop, edit: str | None, how: How) -> None:
    item = job(shop.marking(1, 2, status="twin"), "a", receipts=False)
    if edit:
        shop.sql(edit)

    assert ask(shop.target, item, 20.0, None).how is how


@pytest.mark.server
@pytest.mark.parametrize("shop", ["postgres_url"], indirect=True)
def test_postgresql_knows_by_name_whether_a_transaction_was_kept_even_when_rows_moved_on(shop: CustomerShop) -> None:
    names: list[str] = []
    item = job(shop.marking(1, 2, status="twin"), "a", receipts=False)
    perform(shop.target, [item], replace(LIMITS, named=lambda _jobs, name: names.append(name)))
    shop.sql("UPDATE customers SET name = 'Zoe' WHERE id = 2")

    [name] = names
    assert ask(shop.target, item, 20.0, name).how is How.DONE_BEFORE
    assert ask(shop.target, item, 20.0, None).how is How.UNKNOWN
