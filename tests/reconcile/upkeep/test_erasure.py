"""Erasing: nothing of the person is left anywhere in the state, what was decided stands, and the log says what went."""

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from notifications.base import FailureNotice, GroupNotice, Notice, Ours, RuleNotice
from reconcile.audit import log, proof
from reconcile.decisions import decide
from reconcile.findings.identity import record_of
from reconcile.findings.results import RuleFailure, RunSummary, outcome_of, to_json
from reconcile.findings.states import State
from reconcile.messages import outbox
from reconcile.store import Store, audit_log, erasing, runs, tables
from reconcile.upkeep import backup, erasure, restore
from reconcile.upkeep.erasure import ErasureRequest, ErasureWaits
from rules.groups.group import Nearby
from tests.support.filled import stored
from tests.support.findings import KEY, NOON, FindingsOffice, group

STATE = "sqlite:///state.db"
ANN = "Zoë.Ann@example.org"
BOB = "bob@example.org"
LEFT = "ann@example.org"
"""What would be left of her, however JSON writes the ë."""


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    wanted = getattr(request, "param", "sqlite")
    return STATE if wanted == "sqlite" else str(request.getfixturevalue("postgres_url"))


BOTH = pytest.mark.parametrize("url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.server)], indirect=True)


@pytest.fixture
def office(url: str, tmp_path: Path) -> Iterator[FindingsOffice]:
    """Ann's two records in one finding and Bob's in another, both dismissed, noted and told."""
    office = FindingsOffice.new(url, tmp_path)
    office.record(group(ANN, 1, 2), group(BOB, 3, 4))
    for finding in office.all():
        decide.dismiss(office.store, finding.id, actor="eve", note=f"I asked {finding.key['order']}")
    with office.store.begin() as tx:
        log.append(tx, "eve", "note", "x", {"text": f"mail to {ANN} came back"})
    yield office
    office.store.close()


def held(url: str, root: Path) -> str:
    """Everything the state holds, as text."""
    return repr(stored(url, root)).casefold()


def name(number: int) -> str:
    return record_of((number,))


def by_value(office: FindingsOffice, value: str = ANN) -> erasure.Erased:
    wanted = erasure.of_value(office.store, "charges", "order", value)
    return erasure.erase(office.store, wanted, texts=(value,), actor="dpo")


def by_record(office: FindingsOffice, number: int) -> erasure.Erased:
    wanted = erasure.of_record(office.store, "charges", name(number), ("order",))
    return erasure.erase(office.store, wanted, actor="dpo")


def ids_of(office: FindingsOffice, value: str) -> str:
    [finding] = [item.id for item in office.all() if item.key.get("order") == value]
    return finding


# What is left


@BOTH
def test_nothing_of_a_value_is_left_and_nothing_else_is_touched(
    office: FindingsOffice, url: str, tmp_path: Path
) -> None:
    bob = ids_of(office, BOB)
    before = office.get(bob)

    done = by_value(office)

    assert LEFT not in held(url, tmp_path)
    assert office.get(bob) == before
    assert done.reached == {"entries": 2, "findings": 1, "judgements": 1, "records": 2}


def test_nothing_of_a_record_is_left(office: FindingsOffice, url: str, tmp_path: Path) -> None:
    done = by_record(office, 1)

    assert LEFT not in held(url, tmp_path)
    with office.store.read() as tx:
        records = set(tx.connection.execute(sa.select(tables.finding_members.c.record)).scalars())
    assert name(1) not in records
    assert name(2) in records
    assert done.reached["records"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("by", [by_record, by_value])
def test_nothing_is_left_of_a_record_that_was_only_near_a_group(
    by: Any, office: FindingsOffice, url: str, tmp_path: Path
) -> None:
    carl = "carl@example.org"
    near = Nearby((7,), {"order": carl}, at=NOON)
    office.record(replace(group("dora@example.org", 5, 6), nearby=(near,), nearby_records=1))
    assert carl in held(url, tmp_path)

    by(office, 7 if by is by_record else carl)

    assert carl not in held(url, tmp_path)
    assert name(7) not in held(url, tmp_path)
    [finding] = [finding for finding in office.all() if finding.key.get("order") == "dora@example.org"]
    assert (finding.nearby, len(finding.surplus)) == ((), 1)


@pytest.mark.parametrize("written", [ANN.upper(), f"  {ANN} ", ANN])
def test_a_value_is_found_however_it_is_written(written: str, office: FindingsOffice) -> None:
    wanted = erasure.of_value(office.store, "charges", "order", written)

    assert erasure.erase(office.store, wanted).reached["records"] == 2


def test_what_was_decided_still_stands_and_the_finding_can_be_shown(office: FindingsOffice) -> None:
    ann = ids_of(office, ANN)

    by_value(office)

    finding = office.get(ann)
    assert (finding.state, finding.key, finding.note, finding.records) == (State.DISMISSED, {}, None, 2)
    assert all(str(member.id[0]).startswith("erased:") for member in finding.members)


def test_erasing_again_finds_nothing(office: FindingsOffice) -> None:
    by_value(office)

    assert not by_value(office).anything


def test_another_dataset_with_the_same_id_is_not_touched(office: FindingsOffice, url: str, tmp_path: Path) -> None:
    wanted = erasure.of_record(office.store, "refunds", name(1), ("order",))

    assert not erasure.erase(office.store, wanted).anything
    assert LEFT in held(url, tmp_path)


def test_a_dry_run_says_the_same_and_changes_nothing(office: FindingsOffice, url: str, tmp_path: Path) -> None:
    wanted = erasure.of_value(office.store, "charges", "order", ANN)
    before = stored(url, tmp_path)

    planned = erasure.erase(office.store, wanted, texts=(ANN,), dry_run=True)

    assert stored(url, tmp_path) == before
    assert planned.reached == by_value(office).reached


def test_a_run_goes_on_after_an_erasure(office: FindingsOffice) -> None:
    """The source still has the records: they are found anew, which is said in the docs; the erased finding stays."""
    ann = ids_of(office, ANN)
    by_value(office)

    office.record(group(ANN, 1, 2), group(BOB, 3, 4))

    assert office.get(ann).state is State.DISMISSED
    assert len(office.all()) == 3


# The log


@BOTH
def test_the_log_names_the_entries_whose_bodies_went_and_is_proven(office: FindingsOffice, url: str) -> None:
    by_value(office)

    with office.store.read() as tx:
        *before, last = log.entries(tx)
    gone = [item.seq for item in before if item.body is None]
    assert (last.event, last.actor, [entry["seq"] for entry in last.body["entries"]]) == ("erasure.made", "dpo", gone)
    assert len(gone) == 2
    assert proof.prove(office.store, {}).problem is None


def test_a_body_that_is_missing_without_an_erasure_is_tampering(office: FindingsOffice) -> None:
    with office.store.begin() as tx:
        tx.connection.execute(sa.delete(tables.audit_bodies).where(tables.audit_bodies.c.seq == 2))

    problem = proof.prove(office.store, {}).problem

    assert problem is not None
    assert (problem.seq, problem.sentence) == (2, "the entry's body is missing, and no erasure names it")


def test_a_body_that_came_back_after_its_erasure_is_named(office: FindingsOffice) -> None:
    with office.store.read() as tx:
        kept = [dict(row) for row in tx.connection.execute(sa.select(audit_log.RAW_BODIES)).mappings()]
    by_value(office)
    with office.store.begin() as tx:
        present = set(tx.connection.execute(sa.select(tables.audit_bodies.c.seq)).scalars())
        [first, *_] = [row for row in kept if row["seq"] not in present]
        tx.connection.execute(sa.insert(audit_log.RAW_BODIES), [first])

    problem = proof.prove(office.store, {}).problem

    assert problem is not None
    assert (problem.seq, "though it was erased" in problem.sentence) == (first["seq"], True)


def test_a_state_changed_after_an_erasure_is_still_named(office: FindingsOffice) -> None:
    """The erasure's entry keeps the states of the erased entries."""
    ann = ids_of(office, ANN)
    by_value(office)
    with office.store.begin() as tx:
        tx.connection.execute(sa.update(tables.findings).where(tables.findings.c.id == ann).values(state="open"))

    problem = proof.prove(office.store, {}).problem

    assert problem is not None
    assert f"{ann} is open, but the last entry about it says dismissed" in problem.sentence


def test_what_was_erased_is_remembered_without_being_said(office: FindingsOffice, url: str, tmp_path: Path) -> None:
    done = by_value(office)

    [row] = stored(url, tmp_path)["erasures"]
    with office.store.read() as tx:
        [entry] = log.entries(tx, subject=f"erasure:{done.id}")
    assert (row["id"], row["by"], row["seq"]) == (done.id, "dpo", entry.seq)
    assert "ann" not in row["subjects"].replace("erasure", "")


# Messages


def _notice(message: str, finding: str, value: str, **more: Any) -> Notice:
    shown = GroupNotice(finding, "new", {"order": value}, "1", ("2",), 2, {}, None, None, (), ("7",), 1)
    fixed = {"rule": "double-charge", "kind": "duplicates", "severity": "high", "dataset": "charges", "new": 1}
    counts = {"grown": 0, "reopened": 0, "known": 0, "resolved": 0, "records": 1, "money": {}, "first_run": False}
    rule = RuleNotice(**fixed, **counts, owner=None, runbook=None, why=None, trend=None, largest=(shown,), skipped=())
    failure = FailureNotice("source shop", f"said no to {value}", NOON, ended=False)
    return Notice(
        message, "nightly", None, NOON, rules=(rule,), failures=(failure,), created=NOON, timezone="UTC", **more
    )


@BOTH
def test_messages_lose_what_they_told_of_the_person_and_those_that_wait_can_still_be_sent(
    office: FindingsOffice, url: str, tmp_path: Path
) -> None:
    ann, bob = ids_of(office, ANN), ids_of(office, BOB)
    with office.store.begin() as tx:
        for message, finding, value in (("m-w", ann, ANN), ("m-s", ann, ANN), ("m-b", bob, BOB)):
            outbox.enqueue(tx, "finance", _notice(message, finding, value))
        sent = sa.update(tables.outbox).where(tables.outbox.c.message == "m-s")
        tx.connection.execute(sent.values(status="sent", sent_at=NOON))

    done = by_value(office)

    with office.store.read() as tx:
        rows = {row.message: row.notice for row in tx.connection.execute(sa.select(tables.outbox))}
    waiting = outbox.notice_of(rows["m-w"])
    assert done.reached["messages"] == 2
    assert ANN not in repr(rows)
    assert (waiting.rules[0].largest[0].keeper, waiting.rules[0].new) == ("•••", 1)
    assert list(rows["m-s"]) == ["blanked"]
    assert outbox.notice_of(rows["m-b"]) == _notice("m-b", bob, BOB)


@dataclass(frozen=True)
class NewPart:
    rule: Ours[str]
    first: str
    count: int


@dataclass(frozen=True)
class NewNotice:
    rule: Ours[str]
    first: Ours[str]
    note: str
    parts: Mapping[str, tuple[NewPart, ...] | None]


def test_a_new_field_is_masked_unless_it_is_marked_wherever_its_name_occurs() -> None:
    assert erasure.own_fields(NewNotice) == {"rule"}


def test_sentences_and_records_are_never_ours() -> None:
    ours = erasure.own_fields(Notice, RunSummary)

    assert {"rule", "column", "subject", "checked", "undo"} <= ours
    assert not ours & {
        "key",
        "keeper",
        "surplus",
        "nearby",
        "history",
        "why",
        "sentence",
        "failed",
        "reason",
        "stopped",
    }


def test_a_report_loses_what_it_told_of_the_person_and_can_still_be_read(office: FindingsOffice) -> None:
    failure = RuleFailure(rule="r", dataset="d", severity="high", failed=f"no {ANN}", subject="rule r")
    with office.store.begin() as tx:
        run = tx.connection.execute(sa.select(tables.runs.c.id)).scalars().first()
        runs.checkpoint(tx, str(run), "r", "failed", to_json(failure))

    by_value(office)

    with office.store.read() as tx:
        rows = tx.connection.execute(sa.select(tables.run_rules.c.outcome).where(tables.run_rules.c.rule == "r"))
        assert outcome_of(rows.scalar_one()) == replace(failure, failed="•••")


# Plans


def _plan(office: FindingsOffice, finding: str, state: str) -> str:
    row: dict[str, Any] = {"id": f"P-{state}", "finding": finding, "rule": "double-charge", "dataset": "charges"}
    row |= {"source": "shop", "target": "t", "action": "delete", "release": "r1", "plan_hash": "h", "state": state}
    row |= {"content": ANN, "outcome": ANN, "summary": {"email": ANN}, "records": 1, "rows": 1, "money": {}}
    row |= {"reversible": "yes", "policy": "required", "proposed_by": "reconcile", "fence": 0, "attempts": 0}
    row |= dict.fromkeys(("created_at", "lease_until", "next_at"), office.clock.now)
    approval = {
        "plan": row["id"],
        "by": "eve",
        "decision": "approved",
        "plan_hash": "h",
        "at": office.clock.now,
        "note": ANN,
    }
    with office.store.begin() as tx:
        tx.connection.execute(sa.insert(tables.plans).values(row))
        tx.connection.execute(sa.insert(tables.approvals).values(approval))
        body = {"plan": row["id"], "from": None, "to": state, "plan_hash": "h"}
        log.append(tx, "reconcile", "plan.proposed", f"plan:{row['id']}", body)
        body = {"plan": row["id"], "by": "eve", "decision": "approved", "plan_hash": "h", "was": None}
        log.append(tx, "eve", "approval.approved", f"plan:{row['id']}", body)
    return str(row["id"])


@pytest.mark.parametrize("state", ["succeeded", "failed", "skipped", "compensated"])
@pytest.mark.slow
def test_images_of_what_was_done_go_and_the_plan_stands(
    state: str, office: FindingsOffice, url: str, tmp_path: Path
) -> None:
    plan = _plan(office, ids_of(office, ANN), state)

    done = by_value(office)

    [row] = stored(url, tmp_path)["plans"]
    assert (row["id"], row["state"], row["content"], row["outcome"]) == (plan, state, None, None)
    assert done.reached["plans"] == 1
    assert LEFT not in held(url, tmp_path)
    assert proof.prove(office.store, {}).problem is None


@pytest.mark.parametrize("state", ["awaiting_approval", "approved", "sent", "unknown", "quarantined", "compensating"])
@pytest.mark.slow
def test_nothing_is_erased_while_a_cleaning_needs_it(
    state: str, office: FindingsOffice, url: str, tmp_path: Path
) -> None:
    plan = _plan(office, ids_of(office, ANN), state)
    before = stored(url, tmp_path)

    with pytest.raises(ErasureWaits, match=plan):
        by_value(office)

    assert stored(url, tmp_path) == before


# Restores


@pytest.mark.slow
@BOTH
def test_a_restored_backup_loses_again_what_was_erased_since(office: FindingsOffice, url: str, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    backup.make(office.store, file)
    office.clock.now += dt.timedelta(minutes=5)
    first, second = by_value(office), by_record(office, 3)

    done = restore.restore(office.store, file, yes=True, actor="eve")

    assert done.erased_again == 2
    assert LEFT not in held(url, tmp_path)
    assert BOB not in held(url, tmp_path)
    with Store.open(url, tmp_path, key=KEY) as store:
        assert proof.prove(store, {}).problem is None
        with store.read() as tx:
            assert [erasure.id for erasure in erasing.recorded(tx)] == [first.id, second.id]


def test_a_restore_of_a_backup_made_after_the_erasure_erases_nothing_twice(
    office: FindingsOffice, url: str, tmp_path: Path
) -> None:
    by_value(office)
    backup.make(office.store, tmp_path / "backup.db")

    done = restore.restore(office.store, tmp_path / "backup.db", yes=True, actor="eve")

    assert done.erased_again == 0
    with Store.open(url, tmp_path, key=KEY) as store:
        assert proof.prove(store, {}).problem is None


def test_a_cleaning_under_way_in_a_restored_backup_is_left_and_said(
    office: FindingsOffice, tmp_path: Path, url: str
) -> None:
    plan = _plan(office, ids_of(office, ANN), "sent")
    backup.make(office.store, tmp_path / "backup.db")
    with office.store.begin() as tx:
        tx.connection.execute(sa.update(tables.plans).values(state="succeeded"))
        body = {"plan": plan, "from": "sent", "to": "succeeded"}
        log.append(tx, "reconcile", "operation.succeeded", f"plan:{plan}", body)
    by_value(office)

    restore.restore(office.store, tmp_path / "backup.db", yes=True, actor="eve")

    with Store.open(url, tmp_path, key=KEY) as store, store.read() as tx:
        [entry] = log.entries(tx, event="erasure")
    assert (entry.body["again"], entry.body["left"]) == (True, [plan])


# Names


def test_a_person_names_a_record_as_it_is_shown(office: FindingsOffice) -> None:
    with office.store.read() as tx:
        assert erasure.named(tx, "charges", ["1"]) == name(1)
        assert erasure.named(tx, "charges", ["unknown"]) == record_of(("unknown",))


def test_what_is_wanted_survives_being_stored() -> None:
    wanted = ErasureRequest("charges", ("a",), ("b",), ("order",))

    assert ErasureRequest.of(wanted.to_json()) == wanted
