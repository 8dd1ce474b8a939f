"""A run that looked at some keys only: what it changes, and what it leaves as it was."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from reconcile.findings.states import State
from rules.groups.scope import Scope
from rules.values import Value
from tests.support.findings import RULE, FindingsOffice, group


def scope_of(*keys: Value) -> Scope:
    return Scope(tuple({"order": key} for key in keys))


@pytest.fixture
def office(tmp_path: Path) -> Iterator[FindingsOffice]:
    office = FindingsOffice.new("sqlite:///reconcile.db", tmp_path)
    office.record(group("A", 1, 2, money="5.00"), group("B", 3, 4, money="7.50"), group("C", 5, 6))
    yield office
    office.store.close()


def states(office: FindingsOffice) -> dict[Value, State]:
    return {finding.key["order"]: finding.state for finding in office.all()}


def test_findings_of_other_keys_stay_as_they_are_and_are_seen_by_the_run(office: FindingsOffice) -> None:
    outcome = office.record(group("A", 1, 2, 9, money="5.00"), scope=scope_of("A"))

    assert states(office) == {"A": State.OPEN, "B": State.OPEN, "C": State.OPEN}
    assert {finding.last_run for finding in office.all()} == {f"run-{office.runs}"}
    assert (outcome.groups, outcome.grown, outcome.known, outcome.resolved) == (3, 1, 2, 0)
    assert outcome.money == {"EUR": Decimal("12.50")}


def test_a_finding_whose_key_was_looked_at_and_has_no_group_is_resolved(office: FindingsOffice) -> None:
    outcome = office.record(scope=scope_of("A", "unheard of"))

    assert states(office) == {"A": State.RESOLVED, "B": State.OPEN, "C": State.OPEN}
    assert (outcome.groups, outcome.resolved) == (2, 1)


def test_a_resolved_finding_is_not_carried_on(office: FindingsOffice) -> None:
    office.record(scope=scope_of("A"))

    outcome = office.record(scope=scope_of())

    assert (outcome.groups, outcome.known) == (2, 2)
    assert [finding.last_run == f"run-{office.runs}" for finding in office.all(rules=(RULE.name,))].count(False) == 1


def test_a_full_run_counts_what_incremental_runs_would_not_have_seen(office: FindingsOffice) -> None:
    outcome = office.record(group("A", 1, 2), group("B", 3, 4, 7), group("D", 8, 9), expected=scope_of("D", "A"))

    assert outcome.missed == 2  # B grew and C is gone; D is new, but was touched


BY_RECORDS = replace(RULE, by_records=True)


def records(*numbers: int) -> Scope:
    return Scope(records=tuple((number,) for number in numbers))


def test_findings_of_other_records_stay_as_they_are(office: FindingsOffice) -> None:
    outcome = office.record(group("A", 1, 9), rule=BY_RECORDS, scope=records(1, 2, 3, 9))

    assert states(office) == {"A": State.OPEN, "B": State.RESOLVED, "C": State.OPEN}
    assert (outcome.groups, outcome.grown, outcome.known, outcome.resolved) == (2, 1, 1, 1)


def test_a_full_run_counts_changes_of_records_that_incremental_runs_would_not_have_read(office: FindingsOffice) -> None:
    groups = [group("A", 1, 2), group("B", 3, 4, 7), group("D", 8, 9)]

    outcome = office.record(*groups, rule=BY_RECORDS, expected=records(8, 1))

    assert outcome.missed == 2  # B grew and C is gone; D is new, but was touched
