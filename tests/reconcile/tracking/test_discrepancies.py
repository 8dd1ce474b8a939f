"""Findings of rules over several datasets: their records in the store, their identity, decisions and erasure."""

import datetime as dt
import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from reconcile.audit import log
from reconcile.decisions import decide
from reconcile.findings.identity import dataset_of, id_of, record_of, without_dataset
from reconcile.findings.states import State
from reconcile.store import tables
from reconcile.upkeep import erasure
from rules.groups.group import Difference, Discrepancy, DuplicateGroup, Member
from rules.pairs.evidence import Link
from rules.values import Value
from tests.support.findings import BANK, FindingsOffice, discrepancy, ids
from tests.support.store import NOON


class BankOffice(FindingsOffice):
    """An office whose runs compare the bank with the ledger."""

    record = functools.partialmethod(FindingsOffice.record, rule=BANK)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[FindingsOffice]:
    office = BankOffice.new("sqlite:///state.db", tmp_path)
    yield office
    office.store.close()


SETTLING = pytest.mark.parametrize(
    ("settle", "state"),
    [(decide.dismiss, State.DISMISSED), (decide.handle, State.HANDLED)],
    ids=["dismissed", "handled"],
)
Settle = Callable[..., decide.DecisionResult]


def names(office: FindingsOffice) -> set[str]:
    with office.store.read() as tx:
        return set(tx.connection.execute(sa.select(tables.finding_members.c.record)).scalars())


# Names


@given(
    dataset=st.none() | st.text(min_size=1, max_size=9),
    record=st.tuples(st.none() | st.integers(-9, 9) | st.text(max_size=4), st.text(max_size=4)),
)
def test_a_record_is_read_back_from_its_name(dataset: str | None, record: tuple[int | str | None, str]) -> None:
    name = record_of(record, dataset)

    assert (id_of(name), dataset_of(name)) == (record, dataset)
    assert without_dataset(name) == record_of(record)


def test_records_of_two_datasets_with_the_same_id_are_two_records(office: FindingsOffice) -> None:
    office.record(discrepancy("mismatch", "A", [1], [1]))

    assert names(office) == {'[["n","1"]]', '[["@","ledger"],["n","1"]]'}
    assert [(member.role, member.dataset, member.id) for member in office.only().members] == [
        ("left", None, (1,)),
        ("right", "ledger", (1,)),
    ]


def test_a_finding_comes_back_from_the_store_with_its_form_its_differences_and_its_reason(
    office: FindingsOffice,
) -> None:
    office.record(discrepancy("mismatch", "A", [1], [7], amounts=("20.00", "18.00"), money="2.00", reason="no date"))

    finding = office.only()
    assert (finding.form, finding.form_reason, finding.datasets) == ("mismatch", "no date", ("bank", "ledger"))
    assert finding.differences == (Difference("amount / total", Decimal("20.00"), Decimal("18.00"), "amount", "total"),)
    assert (finding.keeper, finding.surplus, finding.money) == (None, (), {"EUR": Decimal("2.00")})


def test_links_are_kept_between_the_records_that_are_stored(office: FindingsOffice) -> None:
    """Two records of one id are one record in the store."""
    twin, crm, shop = Member((1,), {}), Member((1,), {}, "ledger"), Member((2,), {}, "ledger")
    links = (Link(0, 1, (0,)), Link(0, 2, (0, 1)), Link(2, 3, (1,), bridge=True))

    office.record(DuplicateGroup({"email": "a@x"}, twin, (twin, crm, shop), links=links))

    assert office.only().links == (Link(0, 1, (0, 1)), Link(1, 2, (1,), bridge=True))


# Identity


def test_a_record_without_a_partner_is_a_finding_until_its_partner_arrives(office: FindingsOffice) -> None:
    office.record(discrepancy("left_only", "A", [1]))

    again = office.record(discrepancy("left_only", "A", [1]))
    partner = office.record()

    assert (again.new, again.known, partner.resolved) == (0, 1, 1)
    assert office.only().state is State.RESOLVED


def test_a_missing_partner_that_arrives_with_another_amount_continues_the_finding(office: FindingsOffice) -> None:
    office.record(discrepancy("left_only", "A", [1]))
    before = office.only()

    outcome = office.record(discrepancy("mismatch", "A", [1], [7], amounts=("20", "18")))

    assert (outcome.grown, office.only().id, office.only().form) == (1, before.id, "mismatch")
    assert office.get(before.id).form == "mismatch"


def test_findings_of_one_key_are_told_apart_by_their_records(office: FindingsOffice) -> None:
    office.record(discrepancy("left_only", "A", [1]), discrepancy("left_only", "A", [2]))
    marks = {tuple(ids(finding.members)): finding.fingerprint for finding in office.all()}

    office.record(discrepancy("left_only", "A", [2]))

    assert {finding.state for finding in office.all() if ids(finding.members) == [1]} == {State.RESOLVED}
    assert {tuple(ids(finding.members)): finding.fingerprint for finding in office.all()} == marks


# Growth


def mismatch(left: str, right: str, money: str | None = None) -> Discrepancy:
    return discrepancy("mismatch", "A", [1], [7], amounts=(left, right), money=money)


def test_a_difference_that_grows_is_told_once(office: FindingsOffice) -> None:
    office.record(mismatch("20.00", "19.00", money="1.00"))
    name = office.only().id

    grown, heard = office.record(mismatch("119.00", "19.00", money="100.00")), office.last_heard
    again = office.record(mismatch("119.00", "19.00", money="100.00"))

    assert (grown.grown, heard) == (1, [(name, "grown")])
    assert (again.known, again.grown, office.last_heard) == (1, 0, [])
    assert office.only().reason == "its amount or difference is larger than before"


@pytest.mark.parametrize(
    ("before", "after", "is_grown"),
    [
        (mismatch("20", "19"), mismatch("21", "19"), True),
        (mismatch("20", "19"), mismatch("19", "20"), False),
        (mismatch("20", "19"), mismatch("18", "20"), True),
        (mismatch("20", "18"), mismatch("20", "19"), False),
        (mismatch("20", "19", money="1"), mismatch("20", "19", money="-2"), True),
        (mismatch("20", "19"), mismatch("20", "19", money="1"), True),
        (mismatch("20", "19", money="9"), discrepancy("left_only", "A", [1], money="20"), True),
        (discrepancy("left_only", "A", [1], money="20"), discrepancy("left_only", "A", [1], money="19"), False),
        (discrepancy("unbalanced", "A", [1], [7]), mismatch("20", "19"), True),
    ],
    ids=["number", "turned", "turned larger", "smaller", "sign", "money", "no partner", "less money", "another field"],
)
def test_only_a_discrepancy_larger_than_before_has_grown(
    before: Discrepancy, after: Discrepancy, is_grown: bool, office: FindingsOffice
) -> None:
    office.record(before)

    outcome = office.record(after)

    assert (outcome.grown, len(office.last_heard)) == (is_grown, is_grown)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [(["memo"], "another field differs"), (["memo", "status"], "other fields differ")],
)
def test_the_reason_counts_the_other_fields_that_differ(
    columns: list[str], reason: str, office: FindingsOffice
) -> None:
    before, *others = (Difference(name, "a", "b", name, name) for name in ("payee", *columns))
    base = discrepancy("mismatch", "A", [1], [7])
    office.record(replace(base, differences=(before,)))

    office.record(replace(base, differences=(before, *others)))

    assert office.only().reason == reason


@pytest.mark.parametrize(
    ("before", "after", "is_grown"),
    [
        ((dt.date(2026, 1, 1), dt.date(2026, 1, 5)), (dt.date(2026, 1, 1), dt.date(2026, 1, 6)), True),
        ((dt.date(2026, 1, 1), dt.date(2026, 1, 5)), (dt.date(2026, 2, 1), dt.date(2026, 2, 4)), False),
        ((NOON, NOON + dt.timedelta(seconds=1)), (NOON, NOON + dt.timedelta(seconds=2)), True),
        (("paid", "open"), ("paid", "void"), False),
        ((1.5, float("nan")), (1.5, 1.25), True),
        ((True, False), (False, True), False),
        ((None, 1), (None, 2), False),
    ],
)
def test_differences_of_times_and_numbers_have_a_size(
    before: tuple[Value, Value], after: tuple[Value, Value], is_grown: bool, office: FindingsOffice
) -> None:
    base = discrepancy("mismatch", "A", [1], [7])
    groups = [replace(base, differences=(Difference("x", *values, "x", "x"),)) for values in (before, after)]

    outcomes = [office.record(group) for group in groups]

    assert [outcome.grown for outcome in outcomes] == [0, is_grown]


def test_a_difference_that_comes_and_goes_below_its_peak_is_told_once(office: FindingsOffice) -> None:
    sizes = ["21", "29", "20", "29", "25", "29"]

    outcomes = [office.record(mismatch(size, "19")) for size in sizes]

    assert [outcome.grown for outcome in outcomes] == [0, 1, 0, 0, 0, 0]


def test_a_difference_that_came_back_grows_from_its_present_size(office: FindingsOffice) -> None:
    for group in ([mismatch("119", "19")], [], [mismatch("20", "19")]):
        office.record(*group)

    outcome = office.record(mismatch("22", "19"))

    assert outcome.grown == 1


def test_a_snoozed_difference_that_grows_wakes(office: FindingsOffice) -> None:
    office.record(mismatch("20", "19"))
    decide.snooze(office.store, office.only().id, actor="anna")

    silent, grown = office.record(mismatch("20", "19")), office.record(mismatch("21", "19"))

    assert (silent.grown, grown.grown, office.only().state) == (0, 1, State.OPEN)


def test_a_finding_stored_before_sizes_were_kept_grows_from_its_last_run(office: FindingsOffice) -> None:
    office.record(mismatch("20", "19", money="1"))
    with office.store.begin() as tx:
        [payload] = tx.connection.execute(sa.select(tables.findings.c.payload)).scalars()
        del payload["peaks"]
        tx.connection.execute(sa.update(tables.findings).values(payload=payload))

    same, larger = office.record(mismatch("20", "19", money="1")), office.record(mismatch("21", "19", money="2"))

    assert (same.known, same.grown, larger.grown) == (1, 0, 1)


# Decisions


@SETTLING
def test_a_settled_record_without_a_partner_is_not_told_again(
    office: FindingsOffice, settle: Settle, state: State
) -> None:
    office.record(discrepancy("left_only", "A", [1], money="20"))
    settle(office.store, office.only().id, actor="anna")

    outcome = office.record(discrepancy("left_only", "A", [1], money="20"))

    assert (outcome.settled, office.last_heard, office.only().state) == (1, [], state)


@pytest.mark.parametrize(
    "changed",
    [
        discrepancy("mismatch", "A", [1], [7], amounts=("500.00", "18.00"), money="482.00"),
        discrepancy("mismatch", "A", [1], [7], amounts=("21.00", "19.00"), money="2.00"),
        discrepancy("ambiguous", "A", [1], [7], money="2.00"),
    ],
    ids=["larger", "other amounts", "other form"],
)
@SETTLING
def test_a_settled_difference_comes_back_when_its_amounts_or_its_form_change(
    changed: Discrepancy, office: FindingsOffice, settle: Settle, state: State
) -> None:
    same = discrepancy("mismatch", "A", [1], [7], amounts=("20.00", "18.00"), money="2.00")
    office.record(same)
    settle(office.store, office.only().id, actor="anna")
    silent, settled = office.record(same), office.only().state

    outcome = office.record(changed)

    assert (silent.settled, settled, outcome.reopened) == (1, state, 1)
    assert office.only().reason == "values changed since it was decided"


def test_a_pair_that_was_dismissed_across_two_datasets_is_shown_with_a_third_record(office: FindingsOffice) -> None:
    office.record(discrepancy("ambiguous", "A", [1], [7]))
    decide.dismiss(office.store, office.only().id, actor="anna")

    outcome = office.record(discrepancy("ambiguous", "A", [1, 2], [7]))

    [pair] = office.only().settled_pairs
    assert outcome.reopened == 1
    assert {(item.dataset, item.id) for item in pair} == {(None, (1,)), ("ledger", (7,))}


@SETTLING
@pytest.mark.parametrize("settled_first", [True, False], ids=["older", "younger"])
def test_a_settled_record_that_pairs_and_parts_again_stays_settled_and_keeps_its_id(
    settled_first: bool, office: FindingsOffice, settle: Settle, state: State
) -> None:
    """The finding of its partner takes in the mismatch, and stays with the partner."""
    alone, partner = discrepancy("left_only", "A", [1], money="20"), discrepancy("right_only", "A", [], [7], money="18")
    together = discrepancy("mismatch", "A", [1], [7], amounts=("20", "18"), money="2")
    for group in (alone, partner) if settled_first else (partner, alone):
        office.record(group, complete=False)
    of_record = {finding.form: finding.id for finding in office.all()}
    settle(office.store, of_record["left_only"], actor="anna")

    paired = office.record(together)
    heard = office.last_heard
    again, parted = office.record(together), office.record(alone, partner)

    assert (paired.grown, paired.merged, heard) == (1, 0, [(of_record["right_only"], "grown")])
    assert (again.known, parted.settled, parted.known, office.last_heard) == (1, 1, 1, [])
    assert {finding.form: finding.id for finding in office.all()} == of_record
    assert office.get(of_record["left_only"]).state is state


def test_a_dismissal_holds_though_its_record_was_dismissed_in_a_mismatch_since(office: FindingsOffice) -> None:
    alone = discrepancy("left_only", "A", [1], money="20")
    together = discrepancy("mismatch", "A", [1], [7], amounts=("20", "18"), money="2")
    office.record(alone)
    decide.dismiss(office.store, office.only().id, actor="anna")
    office.record(together)
    [mismatch] = (finding for finding in office.all() if finding.state is State.OPEN)
    decide.dismiss(office.store, mismatch.id, actor="anna")

    outcomes = [office.record(group) for group in (alone, together, alone)]

    assert [outcome.settled for outcome in outcomes] == [1, 1, 1]
    assert sum(len(heard) for heard in office.heard) == 2
    assert {finding.state for finding in office.all()} == {State.DISMISSED}


def test_a_mismatch_of_two_dismissed_records_is_a_finding_until_they_part(office: FindingsOffice) -> None:
    parted = discrepancy("left_only", "A", [1]), discrepancy("right_only", "A", [], [7])
    office.record(*parted)
    for finding in office.all():
        decide.dismiss(office.store, finding.id, actor="anna")

    paired = office.record(discrepancy("mismatch", "A", [1], [7], amounts=("20", "18")))
    ended = office.record(*parted)

    assert (paired.new, ended.settled, ended.resolved, ended.merged) == (1, 2, 1, 0)
    assert sorted(finding.state.value for finding in office.all()) == ["dismissed", "dismissed", "resolved"]


# Erasure


@pytest.mark.parametrize(("dataset", "record"), [("bank", 1), ("ledger", 7)])
def test_a_record_is_erased_from_findings_of_rules_that_read_its_dataset_second(
    dataset: str, record: int, office: FindingsOffice
) -> None:
    """The key holds the same value as the record, under a name of the other dataset."""
    office.record(discrepancy("mismatch", "ann@x", [1], [7], amounts=("987.65", "123.45")))
    column = {"bank": "reference", "ledger": "doc_no"}[dataset]
    wanted = erasure.of_record(office.store, dataset, record_of((record,)), (column,))

    done = erasure.erase(office.store, wanted, actor="dpo")

    with office.store.read() as tx:
        stored = repr(tx.connection.execute(sa.select(tables.findings.c.payload)).scalars().all())
    state = repr(office.only())
    assert "864.20" not in stored, "how far the amounts are apart"
    assert done.reached["records"] == 1
    assert "ann@x" not in state
    assert "987.65" not in state
    assert record not in ids(office.only().members)
    assert office.only().form == "mismatch"
    assert log.verify(office.store).intact


def test_a_record_with_the_same_id_in_the_other_dataset_is_not_erased(office: FindingsOffice) -> None:
    office.record(discrepancy("left_only", "A", [7]), discrepancy("right_only", "B", [], [7]))

    erasure.erase(office.store, erasure.of_record(office.store, "bank", record_of((7,)), ()), actor="dpo")

    assert record_of((7,), "ledger") in names(office)
    assert record_of((7,)) not in names(office)


def test_a_record_of_a_second_dataset_is_found_by_the_id_that_people_type(office: FindingsOffice) -> None:
    office.record(discrepancy("right_only", "B", [], [7]))

    with office.store.read() as tx:
        assert erasure.named(tx, "ledger", ["7"]) == record_of((7,))
        assert erasure.named(tx, "bank", ["7"]) == record_of(("7",))
