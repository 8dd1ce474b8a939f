"""The suite that every target passes, ours and others: the promises on which cleaning relies.

The author of a connector writes a kit, which stores two small tables where the target can change them, and runs the
checks:

    @pytest.mark.parametrize("check", conformance_target.CHECKS, ids=lambda check: check.__name__)
    def test_shop_conforms(check, tmp_path):
        check(ShopKit(tmp_path))

Each check stores its own tables and opens its own targets. A broken promise raises a ConformanceFailure that names it.
No test framework is needed. Targets that cannot keep receipts do not pass.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pyarrow as pa

from connectors.conformance.promises import ConformanceFailure, is_same, raised
from connectors.target import (
    Change,
    Image,
    Receipt,
    ReceiptStands,
    Row,
    RowsDiffer,
    Target,
    TargetError,
    TransactionOutcome,
)

SECONDS = 8.0
"""The time limit of each transaction in the suite; a target waits no longer for another's lock."""
CUSTOMERS: Sequence[Mapping[str, Any]] = (
    {"id": 1, "name": "Zoë 🦊", "email": "a@x.org"},
    {"id": 2, "name": "", "email": "A@X.ORG"},
    {"id": 3, "name": None, "email": '100% o\'clock \\ "x" :y {z}'},
    {"id": 4, "name": " two  spaces ", "email": None},
)
NOTES: Sequence[Mapping[str, Any]] = (
    {"id": 10, "customer": 1, "body": "first"},
    {"id": 11, "customer": 2, "body": "second"},
    {"id": 12, "customer": 2, "body": None},
)


@dataclass(frozen=True)
class StoredTarget:
    """The tables in a target.

    `customers` and `notes` are datasets with the columns of CUSTOMERS and NOTES and the primary key `id`;
    `notes.customer` is a foreign key to `customers.id`. `another` opens one more target on the same tables, as another
    process would; `elsewhere` one on another database. `scan` returns the customers as the source reads them.
    """

    target: Target
    customers: Any
    notes: Any
    another: Callable[[], Target]
    elsewhere: Callable[[], Target]
    scan: Callable[[], pa.Table]
    close: Callable[[], None] = lambda: None


class TargetKit(Protocol):
    """Creates targets for the suite; `secret` is a text in its settings that must never be shown (None: no secret)."""

    secret: str | None

    def store(self) -> StoredTarget:
        """Store CUSTOMERS and NOTES, replacing earlier ones, without receipts or an owner."""


def records_are_found_by_their_ids_and_no_others(kit: TargetKit) -> None:
    """Rows come in the requested order; a missing id is None; the case of a text matters."""
    with _stored(kit) as stored:
        by_id = stored.target.rows(stored.customers, ["id"], [(3,), (99,), (1,)])
        is_same("rows in the order asked for", [row and row.values["id"] for row in by_id], [3, None, 1])
        by_mail = stored.target.rows(stored.customers, ["email"], [("A@X.ORG",), ("a@x.org",), ("a@x.org ",)])
        is_same("rows by exactly this text", [row and row.values["id"] for row in by_mail], [2, 1, None])
        by_two_columns = stored.target.rows(stored.customers, ["id", "email"], [(1, "a@x.org"), (1, "A@X.ORG")])
        is_same("rows by two columns", [row and row.values["id"] for row in by_two_columns], [1, None])


def values_are_those_of_a_scan(kit: TargetKit) -> None:
    """The values for rules have the types of a scan."""
    with _stored(kit) as stored:
        scanned = {record["id"]: record for record in stored.scan().to_pylist()}
        for row in _customers(stored):
            is_same("the values of a row", dict(row.values), scanned[row.values["id"]])


def a_row_that_is_deleted_and_inserted_again_is_the_same(kit: TargetKit) -> None:
    """Cells are lossless: a row written from its cells has the same cells."""
    with _stored(kit) as stored:
        before = _customers(stored)[2:]
        with stored.target.work(SECONDS) as work:
            for row in before:
                work.apply(Change(row.name, row.cells, None, "surplus"))
            is_same("rows after they were deleted", work.lock([row.name for row in before]), {})
            for row in before:
                work.apply(Change(row.name, None, row.cells, "surplus"))
            work.commit()
        is_same("rows after they were inserted again", _customers(stored)[2:], before)


def a_text_is_taken_for_any_column(kit: TargetKit) -> None:
    """A planner may write a text into any column; the target converts it to the column's type."""
    with _stored(kit) as stored:
        row = stored.target.rows(stored.notes, ["id"], [(10,)])[0]
        assert row is not None  # noqa: S101 - for the type checker
        with stored.target.work(SECONDS) as work:
            work.apply(Change(row.name, row.cells, {"customer": ("t", "3"), "body": ("t", "%s moved")}, "reference"))
            work.commit()
        after = stored.target.rows(stored.notes, ["id"], [(10,)])[0]
        is_same(
            "values that were written as texts",
            after and dict(after.values),
            {"id": 10, "customer": 3, "body": "%s moved"},
        )


def nothing_is_kept_without_a_commit(kit: TargetKit) -> None:
    """The end of a block without a commit undoes its changes."""
    with _stored(kit) as stored:
        before = _customers(stored)
        with stored.target.work(SECONDS) as work:
            work.apply(Change(before[3].name, before[3].cells, None, "surplus"))
        is_same("rows after a block without commit", _customers(stored), before)


def a_savepoint_undoes_its_block_and_no_more(kit: TargetKit) -> None:
    """Changes before the savepoint stay, and the transaction goes on."""
    with _stored(kit) as stored:
        before = _customers(stored)
        with stored.target.work(SECONDS) as work:
            work.apply(Change(before[2].name, before[2].cells, None, "surplus"))
            raised("a block that raises", RowsDiffer, lambda: _inside(work, [_drop(before[3]), _drop(before[3])]))
            work.apply(Change(before[0].name, before[0].cells, {"name": ("t", "kept")}, "keeper"))
            work.commit()
        names = [row and row.values["name"] for row in stored.target.rows(stored.customers, ["id"], [(1,), (3,), (4,)])]
        is_same("rows after a savepoint was rolled back", names, ["kept", None, before[3].values["name"]])


def a_change_meets_one_row_or_none_is_made(kit: TargetKit) -> None:
    """A change without a row raises RowsDiffer; one that changes nothing still meets its row; a guard does nothing."""
    with _stored(kit) as stored:
        row = _customers(stored)[0]
        missing = replace(row.name, key=(("id", ("t", "77")),))
        with stored.target.work(SECONDS) as work:
            work.apply(Change(row.name, row.cells, {"name": row.cells["name"]}, "keeper"))
            work.apply(Change(missing, row.cells, {}, "keeper"))
            for after in (None, {"name": row.cells["name"]}):
                changes = [Change(missing, row.cells, after, "surplus")]
                raised("a change of a missing row", RowsDiffer, functools.partial(_inside, work, changes))
                raised("the same at once", RowsDiffer, functools.partial(_inside, work, changes, at_once=True))
            work.commit()


def many_changes_at_once_are_the_same_as_each(kit: TargetKit) -> None:
    """`apply_all` keeps the order, with neighbours of every kind."""
    with _stored(kit) as stored:
        first, _, three, four = _customers(stored)
        renamed = {"name": ("t", "renamed")}
        changes = [
            *(Change(row.name, row.cells, None, "surplus") for row in (three, four)),
            *(Change(row.name, None, row.cells, "surplus") for row in (four, three)),
            Change(first.name, first.cells, {}, "keeper"),
            *(Change(row.name, row.cells, renamed, "surplus") for row in (first, three)),
        ]
        with stored.target.work(SECONDS) as work:
            work.apply_all(changes)
            work.commit()
        names = [row.values["name"] for row in _customers(stored)]
        is_same("names after many changes", names, ["renamed", "", "renamed", four.values["name"]])


def the_witness_counts_what_was_not_planned(kit: TargetKit) -> None:
    """The witness accepts the planned changes, even after a rolled-back savepoint, and reports all others."""
    with _stored(kit) as stored:
        row, second = _customers(stored)[2:4]
        changes = [Change(row.name, row.cells, None, "surplus"), Change(second.name, second.cells, _NAMED, "keeper")]
        with stored.target.work(SECONDS) as work:
            raised("a savepoint that fails", _Back, lambda: _inside_and_back(work, changes))
            work.lock([row.name, second.name])
            witness = work.witness(changes)
            for change in changes:
                work.apply(change)
            after = work.lock([row.name, second.name])
            images = [
                Image(change, change.before, after[change.row].cells if change.row in after else None)
                for change in changes
            ]
            is_same("what was changed beside the plan", witness.unplanned(images), [])
            is_same("values that do not stand", work.unheld(images), [])
            wrong = Change(second.name, second.cells, {"name": ("t", "somebody else")}, "keeper")
            unheld = work.unheld([Image(wrong, second.cells, after[second.name].cells)])
            is_same("columns that hold another value", [columns for _, columns in unheld], [("name",)])


_NAMED = {"name": ("t", "x")}


class _Back(Exception):
    """Rolls a savepoint back."""


def _inside_and_back(work: Any, changes: Sequence[Change]) -> None:
    with work.savepoint():
        for change in changes:
            work.apply(change)
        raise _Back


def what_refers_to_a_row_is_found_and_keeps_it(kit: TargetKit) -> None:
    """The catalogue has the foreign key; `referring` finds the rows; deleting a row they need is a CONFLICT."""
    with _stored(kit) as stored:
        catalogue = stored.target.catalogue(stored.customers)
        links = [link for link in catalogue.references if link.table == stored.target.catalogue(stored.notes).table]
        is_same("references to the customers", len(links), 1)
        second = _customers(stored)[1]
        cell = second.cells["id"]
        plain = stored.target.referring(links[0], [(cell,)])
        with stored.target.work(SECONDS) as work:
            is_same("rows that refer, locked or not", work.referring(links[0], [(cell,)], lock=True), plain)
            is_same(
                "ids of rows that refer",
                [dict(row.name.key)["id"] for row in plain],
                [row.cells["id"] for row in plain],
            )
            error = raised(
                "deleting what is referred to", TargetError, lambda: _inside(work, [_drop(second)], commit=True)
            )
            is_same("its outcome", error.outcome, TransactionOutcome.CONFLICT)
        is_same("how many refer", len(plain), 2)


def a_receipt_is_written_once(kit: TargetKit) -> None:
    """The first receipt wins; the second writer gets the existing one; a rolled-back receipt does not exist."""
    with _stored(kit) as stored:
        _is("room for receipts", stored.target.remembers(), "yes")
        is_same("receipts that stand at first", stored.target.receipts(["a"]), {})
        with stored.target.work(SECONDS) as work:
            work.receive([_receipt("b"), _receipt("a")])
            work.seal([replace(_receipt("a"), after="image"), replace(_receipt("b"), after="image")])
        is_same("receipts of a block without commit", stored.target.receipts(["a", "b"]), {})
        with stored.target.work(SECONDS) as work:
            work.receive([_receipt("b"), _receipt("a")])
            work.seal([replace(_receipt("a"), after="image"), replace(_receipt("b"), after="image")])
            work.commit()
        standing = {key: replace(_receipt(key), after="image") for key in ("a", "b")}
        is_same("receipts that stand", stored.target.receipts(["a", "b", "c"]), standing)
        again = [replace(_receipt("b"), fence=9), _receipt("c")]
        with stored.another().work(SECONDS) as work:
            error = raised("a receipt that stands", ReceiptStands, lambda: _received(work, again))
            is_same("what it says of them", dict(error.found), {"b": standing["b"]})
            work.commit()
        is_same("receipts beside one that stood", stored.target.receipts(["c"]), {})


def receipts_of_a_batch_are_told_apart(kit: TargetKit) -> None:
    """Each of many gets its own `after`, texts stay unchanged, and only an existing receipt is reported."""
    with _stored(kit) as stored:
        _is("room for receipts", stored.target.remembers(), "yes")
        many = [replace(_receipt(f"key-{n:03}"), plan=f'"{n}" {{%s}} \\ ü', fence=2**40 + n) for n in range(230)]
        sealed = {receipt.key: replace(receipt, after=f"image of {receipt.key}") for receipt in many}
        with stored.target.work(SECONDS) as work:
            work.receive(many[::-1])
            work.seal(list(sealed.values()))
            work.commit()
        is_same("receipts of a batch", stored.target.receipts(list(sealed)), sealed)
        again = [*(_receipt(f"other-{n:03}") for n in range(120)), many[200]]
        with stored.target.work(SECONDS) as work:
            stands_error = raised("a receipt that stands among many", ReceiptStands, lambda: _received(work, again))
            is_same("what it says of them", dict(stands_error.found), {many[200].key: sealed[many[200].key]})
            error = raised("sealing what is not there", TargetError, lambda: work.seal([*many, _receipt("none")]))
            is_same("its outcome", error.outcome, TransactionOutcome.NOT_DONE)
        is_same("receipts beside one that stood", stored.target.receipts([receipt.key for receipt in again[:-1]]), {})


def two_at_once_make_one_effect(kit: TargetKit) -> None:
    """The second waits for the first, then finds its receipt or gets NOT_DONE."""
    with _stored(kit) as stored:
        stored.target.remembers()
        second_target, outcomes = stored.another(), []

        def second() -> None:
            try:
                with second_target.work(SECONDS) as work:
                    work.receive([_receipt("same")])
                    work.commit()
            except ReceiptStands:
                outcomes.append("stands")
            except TargetError as error:
                outcomes.append(error.outcome.value)

        racer = threading.Thread(target=second)
        with stored.target.work(SECONDS) as work:
            work.receive([_receipt("same")])
            racer.start()
            racer.join(0.3)
            is_same("what the second said while the first was open", outcomes, [])
            work.seal([replace(_receipt("same"), after="image")])
            work.commit()
        racer.join(SECONDS * 2)
        if outcomes not in (["stands"], ["not_done"]):
            raise ConformanceFailure(f"the second of two at once finds the receipt of the first, but: {outcomes}")


def a_locked_row_is_waited_for_no_longer_than_it_was_given(kit: TargetKit) -> None:
    """Another transaction's lock leads to NOT_DONE, and nothing was done."""
    with _stored(kit) as stored:
        row = _customers(stored)[0]
        with stored.target.work(SECONDS * 4) as work:
            work.lock([row.name])

            def locks_it() -> None:
                with stored.another().work(SECONDS / 4) as second_work:
                    second_work.lock([row.name])

            error = raised("locking a locked row", TargetError, locks_it)
        is_same("its outcome", error.outcome, TransactionOutcome.NOT_DONE)


def a_transaction_that_failed_is_over(kit: TargetKit) -> None:
    """After an error outside a savepoint nothing can be committed."""
    with _stored(kit) as stored:
        before = _customers(stored)
        with stored.target.work(SECONDS) as work:
            work.apply(_drop(before[3]))
            raised("a change of a row that is gone", RowsDiffer, lambda: work.apply(_drop(before[3])))
            raised("a commit after it", TargetError, work.commit)
        is_same("rows after a transaction that failed", _customers(stored), before)


def one_store_owns_it(kit: TargetKit) -> None:
    """`adopt` compares and sets, so only one of two stores can succeed."""
    with _stored(kit) as stored:
        is_same("the owner at first", stored.target.owned("customers").owner, None)
        _is("the first to adopt it", stored.target.adopt("mine", 1, 0, None), "yes")
        _is("the second, who knew of none", stored.another().adopt("yours", 1, 0, None), "no")
        is_same("the owner", stored.another().owned("customers").owner, ("mine", 1, 0))
        _is("one step on", stored.target.adopt("mine", 1, 1, ("mine", 1, 0)), "yes")
        _is("the same step again", stored.target.adopt("mine", 1, 1, ("mine", 1, 0)), "no")
        is_same("the owner after that", stored.target.owned("customers").owner, ("mine", 1, 1))


def it_knows_which_it_is(kit: TargetKit) -> None:
    """The identity is the same by every way to it, differs for another database, and shows no secret."""
    with _stored(kit) as stored:
        identity = stored.target.identity()
        is_same("the identity, asked again", stored.another().identity(), identity)
        if stored.elsewhere().identity() == identity:
            raise ConformanceFailure("another database has another identity")
        if kit.secret is not None and kit.secret in identity:
            raise ConformanceFailure("the identity shows no secret")


CHECKS: Sequence[Callable[[TargetKit], None]] = (
    records_are_found_by_their_ids_and_no_others,
    values_are_those_of_a_scan,
    a_row_that_is_deleted_and_inserted_again_is_the_same,
    a_text_is_taken_for_any_column,
    nothing_is_kept_without_a_commit,
    a_savepoint_undoes_its_block_and_no_more,
    a_change_meets_one_row_or_none_is_made,
    many_changes_at_once_are_the_same_as_each,
    the_witness_counts_what_was_not_planned,
    what_refers_to_a_row_is_found_and_keeps_it,
    a_receipt_is_written_once,
    receipts_of_a_batch_are_told_apart,
    two_at_once_make_one_effect,
    a_locked_row_is_waited_for_no_longer_than_it_was_given,
    a_transaction_that_failed_is_over,
    one_store_owns_it,
    it_knows_which_it_is,
)


@contextmanager
def _stored(kit: TargetKit) -> Iterator[StoredTarget]:
    stored = kit.store()
    try:
        yield stored
    finally:
        stored.close()


def _customers(stored: StoredTarget) -> list[Row]:
    rows = stored.target.rows(stored.customers, ["id"], [(customer["id"],) for customer in CUSTOMERS])
    if None in rows:
        raise ConformanceFailure("every record that is stored is found by its id")
    return [row for row in rows if row is not None]


def _drop(row: Row) -> Change:
    return Change(row.name, row.cells, None, "surplus")


def _receipt(key: str) -> Receipt:
    return Receipt(key, f"of {key}", "store", 1, 3, "B-1")


def _inside(work: Any, changes: Sequence[Change], *, at_once: bool = False, commit: bool = False) -> None:
    with work.savepoint():
        if at_once:
            work.apply_all(changes)
        else:
            for change in changes:
                work.apply(change)
    if commit:  # deferred constraints are checked only now
        work.commit()


def _received(work: Any, receipts: Sequence[Receipt]) -> None:
    with work.savepoint():
        work.receive(receipts)


def _is(subject: str, answer: bool, expected: str) -> None:  # noqa: FBT001 - the answer of the target
    is_same(subject, "yes" if answer else "no", expected)
