"""Findings keep their identity over runs: each line of the semantics is a test."""

import datetime as dt
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
import sqlalchemy as sa

from reconcile.audit import log, proof
from reconcile.decisions import decide
from reconcile.findings.identity import (
    Existing,
    RuleIdentity,
    decode,
    encode,
    fingerprint,
    holds,
    id_of,
    keyed,
    public,
    read_id,
    record_of,
    short_id,
    short_ids,
)
from reconcile.findings.judgement import FindingChange, judge
from reconcile.findings.known import Known, NotSame
from reconcile.findings.states import SETTLED, TRANSITIONS, Event, State, TransitionRefused, after
from reconcile.masking.personal import Masking
from reconcile.masking.public import finding_json
from reconcile.store import Store, finding_memory, judgements, tables
from reconcile.store import findings as stored
from reconcile.store.findings import FindingAmbiguous, FindingUnknown
from reconcile.tracking.remember import preview, record
from rules.engines.base import MoneyColumns
from rules.groups.group import DuplicateGroup, Member
from rules.kinds.duplicates import DuplicatesRule
from rules.models import Severity
from rules.values import Value
from tests.support.findings import KEY, RULE, SPAN, FindingsOffice, group, ids
from tests.support.store import NOON


@pytest.fixture
def office(tmp_path: Path) -> Iterator[FindingsOffice]:
    item = FindingsOffice.new("sqlite:///state.db", tmp_path)
    yield item
    item.store.close()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def any_office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FindingsOffice]:
    url = "sqlite:///state.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    item = FindingsOffice.new(url, tmp_path)
    yield item
    item.store.close()


# Names


def test_a_fingerprint_is_the_same_for_ever() -> None:
    """Golden values: changing them would lose every finding people have."""
    mark = fingerprint("double-charge", "duplicates", {"order": "A-17", "amount": Decimal("20.00")})

    assert mark == "68dc18aafe8ebb11b3ab355866b7ad2fa107c5bec88fda5e3b7912ead890b9b7"
    assert short_id(keyed(mark, bytes(32))) == "F-P04AB5"


def test_a_fingerprint_does_not_depend_on_the_order_of_columns_or_the_form_of_a_number() -> None:
    item = fingerprint("r", "duplicates", {"a": 1, "b": Decimal("2.50")})

    assert item == fingerprint("r", "duplicates", {"b": Decimal("2.5"), "a": Decimal("1.0")})


@pytest.mark.parametrize(
    "other",
    [
        ("s", "duplicates", {"a": 1}, None, 0),
        ("r", "similar", {"a": 1}, None, 0),
        ("r", "duplicates", {"a": "1"}, None, 0),
        ("r", "duplicates", {"b": 1}, None, 0),
        ("r", "duplicates", {"a": None}, None, 0),
        ("r", "duplicates", {"a": 1}, NOON, 0),
        ("r", "duplicates", {"a": 1}, None, 1),
    ],
)
def test_a_fingerprint_depends_on_rule_kind_key_and_anchor(
    other: tuple[str, str, dict[str, Value], Value, int],
) -> None:
    assert fingerprint("r", "duplicates", {"a": 1}) != fingerprint(*other)


def test_an_id_uses_letters_nobody_misreads_and_is_read_back_however_it_is_typed() -> None:
    written = {short_id(fingerprint("r", "k", {"n": number})) for number in range(300)}

    assert all(re.fullmatch(r"F-[0-9A-HJKMNP-TV-Z]{6}", item) for item in written)
    assert read_id(" f-o1lI9q ") == "F-01119Q"


def test_an_id_that_is_taken_is_extended_in_the_same_way_whatever_the_order() -> None:
    marks = [fingerprint("r", "k", {"n": number}) for number in range(20)]
    key = b"k" * 32
    digits = keyed(marks[3], key)
    taken = {short_id(digits), short_id(digits, 7)}

    given = short_ids(marks, taken, key)

    assert given[marks[3]] == short_id(digits, 8)
    assert given == short_ids(marks[::-1], taken, key)


def test_an_id_tells_nothing_of_the_key_to_anybody_without_the_key_of_the_state() -> None:
    mark = fingerprint("r", "k", {"born": dt.date(1815, 12, 10)})

    [first], [second] = (short_ids([mark], (), key).values() for key in (b"a" * 32, b"b" * 32))

    assert len({first, second, short_id(mark)}) == 3


@pytest.mark.parametrize(
    "value",
    [None, True, "", "é\x00", 5, -5, Decimal("20.00"), Decimal("1E+3"), 2.5, dt.date(2026, 1, 2), NOON, b"\xff"],
)
def test_a_remembered_value_comes_back_with_its_type_and_its_zeros(value: Value) -> None:
    back = decode(encode(value))

    assert (type(back), str(back)) == (type(value), str(value))


def test_public_values_are_plain_json() -> None:
    values = [None, True, "x", 5, Decimal("20.00"), 2.5, float("inf"), dt.date(2026, 1, 2), NOON, b"\xff"]

    shown = [public(value) for value in values]

    assert shown == [None, True, "x", 5, "20.00", 2.5, "inf", "2026-01-02", "2026-11-21T12:00:00Z", "ff"]


def test_a_record_is_read_back_from_its_name() -> None:
    assert id_of(record_of(("ch_1", 7, Decimal("1.50"), NOON, None))) == ("ch_1", 7, Decimal("1.5"), NOON, None)


def test_a_judgement_holds_while_its_values_are_the_same() -> None:
    judged: dict[str, Value] = {"a": 1, "b": "x"}

    assert holds(judged, {"a": Decimal("1.0"), "b": "x", "c": "more"})
    assert not holds(judged, {"a": 1, "b": "y"})
    assert not holds(judged, {"a": 1})


def _rule(**settings: object) -> DuplicatesRule:
    return DuplicatesRule.model_validate({"name": "r", "dataset": "d", "key": ["email"]} | settings)


def test_only_an_edit_of_what_a_rule_matches_changes_its_definition() -> None:
    plain = RuleIdentity.of(_rule()).definition

    for same in ({"severity": "low"}, {"owner": "@a"}, {"runbook": "https://x"}, {"was": "q"}, {"engine": "embedded"}):
        assert RuleIdentity.of(_rule(**same)).definition == plain
    assert RuleIdentity.of(_rule(keep={"first": "at"})).definition == plain
    for second in ({"key": ["name"]}, {"where": "a = 1"}, {"gap": {"at": "1m"}}, {"minimum": 3}, {"distinct": "v"}):
        assert RuleIdentity.of(_rule(**second)).definition != plain
    assert RuleIdentity.of(_rule(), dataset_definition="where x").definition != plain


def test_a_rule_with_a_span_is_followed_by_its_records() -> None:
    assert RuleIdentity.of(_rule(window={"at": "1m"})).by_records
    assert not RuleIdentity.of(_rule()).by_records


# States


def test_every_transition_is_in_the_table_and_nothing_else_happens() -> None:
    for state in (None, *State):
        for event in Event:
            if (state, event) in TRANSITIONS:
                assert after(state, event) is TRANSITIONS[state, event]
            else:
                with pytest.raises(TransitionRefused, match="nothing was changed"):
                    after(state, event)


def test_a_merged_finding_only_goes_back_to_a_decision_and_every_other_state_can_be_left() -> None:
    left = {state for state, _ in TRANSITIONS}

    assert {*State, None} == left
    assert {after for (state, _), after in TRANSITIONS.items() if state is State.MERGED} == set(SETTLED)


# A rule without gap or window: the key is the identity


def test_a_new_group_is_told_once_and_known_afterwards(office: FindingsOffice) -> None:
    first = office.record(group("A", 1, 2, money="20.00"))
    told = office.last_heard
    second = office.record(group("A", 1, 2, money="20.00"))

    assert (first.new, first.known, first.money) == (1, 0, {"EUR": Decimal("20.00")})
    assert told == [(office.only().id, "new")]
    assert (second.new, second.known, office.last_heard) == (0, 1, [])
    assert office.only().first_run == "run-1"
    assert office.only().last_run == "run-2"


def test_the_key_keeps_the_finding_though_all_records_are_others(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))
    before = office.only()

    outcome = office.record(group("A", 3, 4))

    assert outcome.grown == 1
    assert office.only().id == before.id
    assert ids(office.only().members) == [3, 4]


def test_a_third_record_is_told_as_growth(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))

    outcome = office.record(group("A", 1, 2, 3))

    assert (outcome.grown, office.last_heard) == (1, [(office.only().id, "grown")])
    assert office.only().version == 2


def test_a_record_that_leaves_is_not_told(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2, 3))

    outcome = office.record(group("A", 1, 2))

    assert (outcome.known, office.last_heard) == (1, [])
    assert ids(office.only().members) == [1, 2]


def test_a_record_that_comes_and_goes_is_told_once(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2, 3))
    office.record(group("A", 1, 2))

    outcome = office.record(group("A", 1, 2, 3))

    assert (outcome.known, office.last_heard) == (1, [])
    assert ids(office.only().members) == [1, 2, 3]


def test_another_keeper_or_other_values_are_taken_over_silently(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2, money="20.00"))

    office.record(group("A", 2, 1, money="25.00"))

    assert (ids([office.only().keeper]), office.only().money) == ([2], {"EUR": Decimal("25.00")})
    assert office.last_heard == []


def test_a_group_that_is_gone_resolves_its_finding_without_an_alert(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))

    outcome = office.record()

    assert (outcome.resolved, office.last_heard) == (1, [])
    assert (office.only().state, office.only().reason) == (State.RESOLVED, "its records no longer match")


def test_a_resolved_finding_that_is_found_again_is_reopened_with_its_history(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))
    name = office.only().id
    office.record()

    outcome = office.record(group("A", 1, 2))

    assert (outcome.reopened, office.last_heard) == (1, [(name, "reopened")])
    assert office.only().first_run == "run-1"
    assert office.only().reason == "its records match again"


def test_a_run_that_did_not_look_at_everything_resolves_nothing(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))

    outcome = office.record(complete=False)

    assert (outcome.resolved, office.only().state) == (0, State.OPEN)


def test_a_run_that_was_overtaken_while_it_read_resolves_nothing(office: FindingsOffice) -> None:
    """Of two jobs with one rule the slow one read first and ends last: the other's finding is newer than its read."""
    office.record(group("A", 1, 2))
    office.record(group("A", 1, 2), group("B", 3, 4))

    late = office.record(group("A", 1, 2), began=dt.timedelta(minutes=2))
    then = office.record(group("A", 1, 2), group("B", 3, 4))

    assert (late.resolved, late.known, then.known, then.reopened) == (0, 1, 2, 0)


def test_what_was_recorded_before_the_clock_was_set_back_overtakes_nobody(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))
    office.clock.now -= dt.timedelta(hours=1)

    outcome = office.record(began=dt.timedelta(seconds=1))

    assert outcome.resolved == 1


def test_after_an_edit_of_the_rule_resolving_says_that_the_rule_changed(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))

    outcome = office.record(rule=replace(RULE, definition="d2"))

    assert outcome.edited
    assert office.only().reason == "the rule changed and no longer finds these records"


def test_a_change_of_severity_reaches_known_findings_silently(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))

    office.record(group("A", 1, 2), rule=replace(RULE, severity=Severity.critical))

    assert (office.only().severity, office.last_heard) == (Severity.critical, [])


# The first run


def test_a_first_run_and_the_first_after_an_edit_are_one_summary(office: FindingsOffice) -> None:
    rule = replace(RULE, existing=Existing.SUMMARY)
    first = office.record(group("A", 1, 2), rule=rule)
    second = office.record(group("A", 1, 2), group("B", 3, 4), rule=rule)
    edited = office.record(group("A", 1, 2), group("B", 3, 4), group("C", 5, 6), rule=replace(rule, definition="d2"))

    assert [(outcome.first_run, outcome.edited) for outcome in (first, second, edited)] == [
        (True, False),
        (False, False),
        (False, True),
    ]
    summaries = {ids(finding.members)[0]: finding.summary for finding in office.all()}
    assert summaries == {1: True, 3: False, 5: True}


def test_what_existed_before_may_be_ignored_until_it_grows(office: FindingsOffice) -> None:
    rule = replace(RULE, existing=Existing.IGNORE)
    office.record(group("A", 1, 2), rule=rule)
    first = office.last_heard

    office.record(group("A", 1, 2, 3), rule=rule)

    assert (first, office.last_heard) == ([], [(office.only().id, "grown")])


# Names of rules


def test_a_release_that_writes_keys_in_another_way_keeps_findings_and_their_ids(office: FindingsOffice) -> None:
    office.record(group("1231", 1, 2), group("1232", 3, 4), rule=replace(RULE, definition="old"))
    names = {ids(finding.members)[0]: finding.id for finding in office.all()}
    decide.dismiss(office.store, names[3], actor="anna")
    now = replace(RULE, definition="new", unversioned="old")

    outcome = office.record(group("12-31", 1, 2), group("12-32", 3, 4), rule=now)
    later = office.record(group("12-31", 1, 2), group("12-32", 3, 4), rule=now)

    assert (outcome.edited, outcome.new, outcome.resolved) == (True, 0, 0)
    assert (outcome.known, outcome.reopened, later.known) == (1, 1, 2)
    assert {ids(finding.members)[0]: finding.id for finding in office.all()} == names
    assert office.get(names[1]).key == {"order": "12-31"}
    assert (office.get(names[3]).reason, office.get(names[3]).decided_by) == (
        "values changed since it was decided",
        "anna",
    )


def test_only_a_rule_with_a_rewritten_normaliser_has_a_version_in_its_definition() -> None:
    plain = RuleIdentity.of(_rule(key=[{"order": "lower"}]))
    rewritten = RuleIdentity.of(_rule(key=[{"order": "docno"}]))

    assert plain.definition == plain.unversioned
    assert rewritten.definition != rewritten.unversioned


def test_findings_survive_two_renames_of_their_rule(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))
    office.record(group("B", 3, 4), group("A", 1, 2))
    office.record(group("B", 3, 4))
    before = {ids(finding.members)[0]: finding.id for finding in office.all()}

    second = replace(RULE, name="paid-twice", was="double-charge")
    third = replace(RULE, name="charged-twice", was="paid-twice")
    renamed = office.record(group("B", 3, 4), rule=second)
    again = office.record(group("B", 3, 4), group("A", 1, 2), rule=third)

    assert (renamed.new, renamed.known, renamed.first_run, renamed.edited) == (0, 1, False, False)
    assert (again.new, again.known, again.reopened) == (0, 1, 1)
    assert {ids(finding.members)[0]: finding.id for finding in office.all(rules=("charged-twice",))} == before


def owner(office: FindingsOffice, mark: str) -> str:
    with office.store.read() as tx:
        return finding_memory.owners(tx, [mark])[mark]


def test_every_fingerprint_a_finding_had_still_recognises_it(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))
    first = office.only().fingerprint
    office.record(group("A", 1, 2), rule=replace(RULE, name="paid-twice", was="double-charge"))

    now = office.only()

    assert now.fingerprint != first
    assert owner(office, first) == owner(office, now.fingerprint) == now.id


def test_a_rule_under_a_name_that_was_given_up_starts_anew(office: FindingsOffice) -> None:
    renamed = replace(RULE, name="paid-twice", was="double-charge")
    office.record(group("A", 1, 2))
    office.record(group("A", 1, 2), rule=renamed)

    other_record = office.record(group("A", 1, 2))
    office.record(group("A", 1, 2), rule=renamed)

    assert (other_record.first_run, other_record.new) == (True, 1)
    assert sorted(finding.rule for finding in office.all()) == ["double-charge", "paid-twice"]
    assert len({finding.fingerprint for finding in office.all()}) == 2


def test_a_rename_said_late_merges_what_both_names_found(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))
    first = office.only().id
    office.record(group("A", 1, 2), rule=replace(RULE, name="paid-twice"))

    outcome = office.record(group("A", 1, 2), rule=replace(RULE, name="paid-twice", was="double-charge"))

    assert (outcome.known, outcome.merged) == (1, 1)
    [merged] = office.all(states=(State.MERGED,))
    assert merged.merged_into == first


def test_a_dismissal_survives_a_rename(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))
    decide.dismiss(office.store, office.only().id, actor="anna")

    outcome = office.record(group("A", 1, 2), rule=replace(RULE, name="paid-twice", was="double-charge"))

    assert (outcome.settled, office.last_heard, office.only().state) == (1, [], State.DISMISSED)


# A rule with gap or window: the records are the identity


def test_a_span_group_continues_the_finding_it_shares_most_records_with(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2, start=1), group("A", 5, 6, 7, start=9), rule=SPAN)
    larger = next(finding.id for finding in office.all() if len(finding.members) == 3)

    outcome = office.record(group("A", 2, 5, 6, 7, start=2), rule=SPAN)

    assert (outcome.grown, outcome.merged, outcome.new) == (1, 1, 0)
    assert ids(office.get(larger).members) == [2, 5, 6, 7]
    [merged] = office.all(states=(State.MERGED,))
    assert merged.merged_into == larger


def test_a_tie_goes_to_the_older_finding(office: FindingsOffice) -> None:
    office.record(group("A", 3, 4, start=5), rule=SPAN)
    older = office.only().id
    office.record(group("A", 1, 2, start=1), group("A", 3, 4, start=5), rule=SPAN)

    office.record(group("A", 1, 2, 3, 4, start=1), rule=SPAN)

    assert ids(office.get(older).members) == [1, 2, 3, 4]
    assert [finding.merged_into for finding in office.all(states=(State.MERGED,))] == [older]


def test_a_split_leaves_the_finding_with_the_keeper_and_the_other_part_is_new(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2, 3, 4, 5, start=1), rule=SPAN)
    name = office.only().id

    outcome = office.record(group("A", 1, 2, start=1), group("A", 3, 4, 5, start=8), rule=SPAN)

    assert (outcome.known, outcome.new) == (1, 1)
    assert ids(office.get(name).members) == [1, 2]
    assert [change for _, change in office.last_heard] == ["new"]


def test_a_split_whose_keeper_is_gone_stays_with_the_larger_part(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2, 3, 4, 5, start=1), rule=SPAN)
    name = office.only().id

    office.record(group("A", 2, 3, start=1), group("A", 4, 5, 6, 7, start=8), rule=SPAN)

    assert ids(office.get(name).members) == [2, 3]


def test_a_group_refused_by_one_finding_continues_its_next(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2, 3, 4, start=1), group("A", 8, 9, start=20), rule=SPAN)
    first, second = (next(f.id for f in office.all() if f.keeper and f.keeper.id == (k,)) for k in (1, 8))

    outcome = office.record(group("A", 1, 2, start=1), group("A", 3, 4, 8, start=5), rule=SPAN)

    assert (outcome.new, outcome.merged) == (0, 0)
    assert (ids(office.get(first).members), ids(office.get(second).members)) == ([1, 2], [3, 4, 8])


def test_two_groups_of_one_key_are_two_findings(office: FindingsOffice) -> None:
    outcome = office.record(group("A", 1, 2, start=1), group("A", 3, 4, start=9), rule=SPAN)

    assert outcome.new == 2
    assert len({finding.fingerprint for finding in office.all()}) == 2


def test_of_two_findings_of_one_key_the_one_whose_records_are_gone_is_resolved(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2), group("A", 3, 4))

    outcome = office.record(group("A", 1, 2))
    again = office.record(group("A", 1, 2), group("A", 3, 4))

    assert (outcome.known, outcome.resolved, outcome.merged) == (1, 1, 0)
    assert (again.known, again.reopened, again.new) == (1, 1, 0)


@pytest.mark.parametrize("rule", [RULE, SPAN])
def test_a_pair_that_was_dismissed_is_silent_in_every_group_of_its_key(
    office: FindingsOffice, rule: RuleIdentity
) -> None:
    office.record(group("A", 1, 2, start=1), group("A", 3, 4, 5, start=9), rule=rule)
    first = next(finding for finding in office.all() if ids(finding.members) == [1, 2])
    decide.dismiss(office.store, first.id, actor="anna")
    office.record(group("A", 1, 2, 3, 4, 5, start=1), rule=rule)

    outcome = office.record(group("A", 2, 1, start=2), group("A", 3, 4, 5, start=9), rule=rule)
    larger = office.record(group("A", 1, 2, 9, start=1), rule=rule)

    assert (outcome.settled, outcome.new) == (1, 0)
    assert larger.settled == 0
    [current] = [finding for finding in office.all() if 9 in ids(finding.members)]
    assert list(map(ids, current.settled_pairs)) == [[1, 2]]


def test_a_window_that_begins_earlier_keeps_both_fingerprints(office: FindingsOffice) -> None:
    office.record(group("A", 2, 3, start=5), rule=SPAN)
    first = office.only()

    office.record(group("A", 1, 2, 3, start=1), rule=SPAN)
    other_record = office.record(group("A", 1, 2, 3, start=1), group("A", 7, 8, start=5), rule=SPAN)

    assert other_record.new == 1
    assert owner(office, first.fingerprint) == first.id
    assert office.get(first.id).fingerprint != first.fingerprint
    assert len({finding.fingerprint for finding in office.all()}) == 2


# Settled


def test_a_dismissed_finding_is_silent_for_its_records_and_for_part_of_them(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2, 3))
    decide.dismiss(office.store, office.only().id, actor="anna")

    for result in (group("A", 1, 2, 3), group("A", 2, 3), group("A", 1, 3)):
        outcome = office.record(result)
        assert (outcome.settled, outcome.money, office.last_heard) == (1, {}, [])
    assert office.record().resolved == 0
    assert office.only().state is State.DISMISSED


def test_a_new_record_reopens_a_dismissed_finding_and_shows_the_settled_pair(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))
    decide.dismiss(office.store, office.only().id, actor="anna")

    outcome = office.record(group("A", 1, 2, 3))

    now = office.only()
    assert (outcome.reopened, office.last_heard) == (1, [(now.id, "reopened")])
    assert list(map(ids, now.settled_pairs)) == [[1, 2]]
    assert [member.settled_at is not None for member in now.members] == [True, True, False]
    assert now.reason == "a new record joined that no decision covers"


def test_a_settled_pair_returns_when_its_values_change(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))
    decide.dismiss(office.store, office.only().id, actor="anna")

    outcome = office.record(group("B", 1, 2))

    assert outcome.new == 1
    assert office.record(group("A", 1, 2)).settled == 1


def test_a_settled_span_group_returns_when_its_values_change(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2, start=1), rule=SPAN)
    decide.dismiss(office.store, office.only().id, actor="anna")

    outcome = office.record(group("B", 1, 2, start=1), rule=SPAN)

    assert outcome.reopened == 1
    assert office.only().reason == "values changed since it was decided"


def test_a_part_of_a_dismissed_group_that_splits_off_is_no_finding(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2, 3, 4, start=1), rule=SPAN)
    decide.dismiss(office.store, office.only().id, actor="anna")

    outcome = office.record(group("A", 1, 2, start=1), group("A", 3, 4, start=7), rule=SPAN)
    later = office.record(group("A", 3, 4, start=7), rule=SPAN)

    assert (outcome.settled, outcome.new, later.settled) == (2, 0, 1)
    assert len(office.all()) == 1


def test_settled_pairs_hold_after_their_finding_was_merged(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2, start=1), rule=SPAN)
    office.record(group("A", 1, 2, start=1), group("A", 5, 6, 7, start=9), rule=SPAN)
    decide.dismiss(office.store, next(f.id for f in office.all() if len(f.members) == 2), actor="anna")
    office.record(group("A", 1, 2, 5, 6, 7, start=1), rule=SPAN)

    outcome = office.record(group("A", 1, 2, start=1), group("A", 5, 6, 7, start=9), rule=SPAN)

    assert (outcome.merged, outcome.settled, outcome.new) == (0, 1, 0)


def test_a_dismissed_crowd_is_settled_as_a_whole(office: FindingsOffice) -> None:
    crowd = list(range(judgements.MOST_PAIRS_OF + 1))
    office.record(group("A", *crowd))
    decide.dismiss(office.store, office.only().id, actor="anna")

    outcome = office.record(group("A", *crowd[5:]))

    assert (outcome.settled, office.last_heard) == (1, [])
    with office.store.read() as tx:
        assert tx.connection.execute(sa.select(sa.func.count()).select_from(tables.not_same)).scalar() == 0
    assert office.record(group("A", *crowd, 999)).reopened == 1


def test_a_dismissed_crowd_is_settled_after_its_finding_was_merged(office: FindingsOffice) -> None:
    crowd, others = list(range(judgements.MOST_PAIRS_OF + 1)), list(range(1_000, 1_300))
    office.record(group("A", *crowd, start=1), rule=SPAN)
    decide.dismiss(office.store, office.only().id, actor="anna")
    office.record(group("A", *crowd, start=1), group("A", *others, start=9), rule=SPAN)
    joined = office.record(group("A", *crowd, *others, start=1), rule=SPAN)

    parted = office.record(group("A", *crowd, start=1), group("A", *others, start=9), rule=SPAN)
    changed = office.record(group("A", *crowd, 999, start=1), group("A", *others, start=9), rule=SPAN)

    assert (joined.merged, parted.settled, parted.new, changed.new, changed.reopened) == (1, 1, 0, 0, 1)


# Snoozed


def test_a_snoozed_finding_is_told_once_when_its_time_is_over(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))
    name = office.only().id
    decide.snooze(office.store, name, actor="anna", until=office.clock.now + dt.timedelta(hours=1))
    office.record(group("A", 1, 2))
    asleep = office.last_heard
    office.clock.now += dt.timedelta(hours=1)

    office.record(group("A", 1, 2))
    woken = office.last_heard
    office.record(group("A", 1, 2))

    assert (asleep, woken, office.last_heard) == ([], [(name, "woken")], [])
    assert (office.only().state, office.only().snoozed_until) == (State.OPEN, None)


def test_a_snoozed_finding_that_grows_wakes(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2, 3))
    name = office.only().id
    decide.snooze(office.store, name, actor="anna")
    office.clock.now += dt.timedelta(days=400)
    office.record(group("A", 1, 2))
    asleep = office.only().state

    outcome = office.record(group("A", 1, 2, 4))

    assert (asleep, outcome.grown, office.last_heard) == (State.SNOOZED, 1, [(name, "grown")])


def test_a_snoozed_finding_whose_records_are_gone_is_resolved(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))
    decide.snooze(office.store, office.only().id, actor="anna")

    assert office.record().resolved == 1
    assert office.record(group("A", 1, 2)).reopened == 1


# What channels are told


def test_what_a_killed_run_never_told_is_told_by_the_next(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2), tell=False)

    office.record(group("A", 1, 2))

    assert office.last_heard == [(office.only().id, "new")]


def test_each_channel_is_told_once(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))

    assert [finding.id for finding in office.tell("double-charge", channel="ops")] == [office.only().id]
    assert office.tell("double-charge", channel="ops") == []
    assert office.tell("another-rule", channel="new") == []


def test_an_older_message_never_takes_back_a_newer_one(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2), tell=False)
    older = office.only()
    office.record(group("A", 1, 2, 3))

    with office.store.begin() as tx:
        message = tx.connection.execute(sa.select(tables.outbox.c.message)).scalar_one()
        stored.mark_notified(tx, "finance", message, {older.id: older.version})

    assert office.tell("double-charge") == []


def test_what_was_decided_before_it_was_told_is_not_told(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2), group("B", 3, 4), group("C", 5, 6), tell=False)
    names = {ids(finding.members)[0]: finding.id for finding in office.all()}
    decide.dismiss(office.store, names[1], actor="anna")
    decide.snooze(office.store, names[3], actor="anna")

    office.record(group("A", 1, 2), group("B", 3, 4))

    assert office.last_heard == []


def test_the_same_groups_recorded_twice_change_nothing(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))
    before = office.only()
    with office.store.begin() as tx:
        outcome = record(tx, "run-1", RULE, [group("A", 1, 2)])

    assert (outcome.new, outcome.known, outcome.news) == (0, 1, ())
    assert replace(office.only(), last_seen=before.last_seen) == before


def test_a_dry_run_says_what_a_run_would_say_and_writes_nothing(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2), group("B", 3, 4))
    renamed = replace(RULE, name="paid-twice", was="double-charge")
    before = office.all()

    with office.store.read() as tx:
        outcome, _ = preview(tx, renamed, [group("A", 1, 2, 9), group("C", 5, 6)])

    assert (outcome.new, outcome.grown, outcome.resolved, outcome.first_run) == (1, 1, 1, False)
    assert office.all() == before


# Looking them up


def test_a_finding_is_found_by_id_by_its_beginning_and_however_it_is_typed(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2), group("B", 3, 4))
    finding = office.all()[0]

    for asked in (finding.id, finding.id.lower(), finding.id[2:], finding.id[:5]):
        assert office.get(asked).id == finding.id
    with pytest.raises(FindingUnknown):  # whoever guesses a key would learn that it is right
        office.get(finding.fingerprint)


def test_an_unknown_id_names_the_nearest(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))
    name = office.only().id
    typo = name[:-1] + ("0" if name[-1] != "0" else "1")

    with pytest.raises(FindingUnknown, match=f"did you mean `{name}`"):
        office.get(typo)


@pytest.mark.parametrize("asked", ["", "F-", "F-ZZZZZZ", "%", "not an id"])
def test_an_id_in_an_empty_store_is_refused_in_a_sentence(office: FindingsOffice, asked: str) -> None:
    with pytest.raises(FindingUnknown, match="there are none yet"):
        office.get(asked)


def test_a_beginning_that_fits_several_is_refused_with_them(office: FindingsOffice) -> None:
    office.record(*(group(number, 2 * number, 2 * number + 1) for number in range(100)))
    first = office.all()[0].id[:3]

    with pytest.raises(FindingAmbiguous, match="write one more character"):
        office.get(first)


def test_findings_are_listed_by_filter_worst_first(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2), group("B", 3, 4))
    low = replace(RULE, name="low-one", severity=Severity.low)
    office.record(group("A", 1, 2), rule=low)
    decide.assign(office.store, office.all(rules=("low-one",))[0].id, actor="anna", to="ben")

    assert [finding.severity.name for finding in office.all()] == ["high", "high", "low"]
    assert len(office.all(severity=Severity.high)) == 2
    assert [finding.rule for finding in office.all(assigned_to="ben")] == ["low-one"]
    assert len(office.all(limit=1)) == 1
    assert office.all(states=(State.DISMISSED,)) == []
    assert len(office.all(run="run-1")) == 2
    assert len(office.all(since=office.clock.now)) == 1
    assert office.all(dataset="other") == []


def test_a_finding_as_json_has_lists_for_ids_and_text_for_decimals(office: FindingsOffice) -> None:
    key: dict[str, Value] = {"order": "A-17", "amount": Decimal("20.00"), "day": dt.date(2026, 3, 1), "seat": 7}
    duplicate_group = DuplicateGroup(
        key,
        Member(("bank.csv", 7), {"amount": Decimal("20.00")}),
        (Member(("bank.csv", 9), {"amount": Decimal("20.00")}),),
        money={"EUR": Decimal("20.00")},
        span=(NOON, NOON + dt.timedelta(seconds=30)),
    )
    office.record(duplicate_group)

    shown = finding_json(office.only(), Masking())

    golden = {
        "rule": "double-charge",
        "kind": "duplicates",
        "dataset": "charges",
        "state": "open",
        "severity": "high",
        "form": "duplicate",
        "keeper": ["bank.csv", 7],
        "surplus": [["bank.csv", 9]],
        "key": {"order": "A-17", "amount": "20.00", "day": "2026-03-01", "seat": 7},
        "money": {"EUR": "20.00"},
        "records": 2,
        "first_seen": "2026-11-21T12:01:00Z",
        "last_seen": "2026-11-21T12:01:00Z",
        "state_since": "2026-11-21T12:01:00Z",
        "span": ["2026-11-21T12:00:00Z", "2026-11-21T12:00:30Z"],
        "version": 1,
        "last_change": "new",
        "first_run": "run-1",
        "last_run": "run-1",
    }
    assert {name: value for name, value in shown.items() if name != "id"} == golden
    assert list(shown["key"]) == list(key)


# The log


def test_every_transition_has_its_entry_and_the_chain_holds(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))
    name = office.only().id
    office.record(group("A", 1, 2, 3))
    office.record(group("A", 1, 2))
    office.record()
    office.record(group("A", 1, 2))
    decide.snooze(office.store, name, actor="anna", until=office.clock.now + dt.timedelta(minutes=2))
    office.clock.now += dt.timedelta(minutes=5)
    office.record(group("A", 1, 2))
    decide.dismiss(office.store, name, actor="anna", note="twins")
    decide.reopen(office.store, name, actor="ben")

    with office.store.read() as tx:
        history = [(entry.actor, entry.event) for entry in log.entries(tx, finding=name)]

    robot = ["opened", "grown", "shrunk", "resolved", "reopened"]
    assert history == [
        *(("reconcile", f"finding.{event}") for event in robot),
        ("anna", "finding.snoozed"),
        ("reconcile", "finding.woken"),
        ("anna", "finding.dismissed"),
        ("ben", "finding.decision_undone"),
    ]
    assert log.verify(office.store).intact


def test_a_quiet_run_writes_nothing_to_the_log(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))
    with office.store.read() as tx:
        before = len(list(log.entries(tx)))

    office.record(group("A", 1, 2))

    with office.store.read() as tx:
        assert len(list(log.entries(tx))) == before


# Order, size, both stores


def _shuffled(rule: RuleIdentity, seed: int, tmp_path: Path) -> list[dict[str, object]]:
    shuffle = random.Random(seed)
    office = FindingsOffice.new(f"sqlite:///{seed}.db", tmp_path)
    days = (
        [group("A", 1, 2, 3, 4, start=1), group("A", 7, 8, start=9), group("B", 5, 6, start=1)],
        [group("A", 1, 2, start=1), group("A", 3, 7, start=5), group("A", 4, 8, start=9), group("B", 5, 9, start=1)],
        [group("A", 1, 2, 3, 4, 7, start=1), group("B", 5, 6, 9, start=1)],
    )
    for day in days:
        groups = list(day) if rule.by_records else [item for item in day if item.key["order"] == "B"]
        shuffle.shuffle(groups)
        office.record(*groups, rule=rule)
    shown = [finding_json(finding, Masking()) for finding in office.all()]
    office.store.close()
    return shown


@pytest.mark.slow
@pytest.mark.parametrize("rule", [RULE, SPAN], ids=["key", "span"])
def test_findings_do_not_depend_on_the_order_of_groups(rule: RuleIdentity, tmp_path: Path) -> None:
    first = _shuffled(rule, 0, tmp_path)

    assert all(_shuffled(rule, seed, tmp_path) == first for seed in range(1, 8))


def test_a_finding_lives_alike_on_both_stores(any_office: FindingsOffice) -> None:
    office = any_office
    office.record(group("A", 1, 2), group("B", 3, 4), rule=SPAN)
    name = next(finding.id for finding in office.all() if finding.key == {"order": "A"})
    decide.dismiss(office.store, name, actor="anna", note="twins")
    office.record(group("A", 1, 2), rule=SPAN)
    office.record(group("A", 1, 2, 3), group("B", 4, 5), rule=replace(SPAN, name="new-name", was="double-charge"))

    told = {item.id: item.change.value for item in office.heard[-1]}
    assert told[name] == "reopened"
    assert list(map(ids, office.get(name[:6]).settled_pairs)) == [[1, 2]]
    assert office.tell("new-name") == []
    assert log.verify(office.store).intact


@pytest.mark.server
def test_two_runs_of_one_rule_at_once_make_one_finding(postgres_url: str, tmp_path: Path) -> None:
    office = FindingsOffice.new(postgres_url, tmp_path)
    store = Store.open(postgres_url, tmp_path, key=KEY)
    office.record(group("Z", 8, 9))

    outcomes = []
    with office.store.begin() as tx:
        record(tx, "run-1", RULE, [group("A", 1, 2)])

        def second() -> None:
            with store.begin() as late:
                outcomes.append(record(late, "run-1", RULE, [group("A", 1, 2)]))

        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
    thread.join(10)

    assert [(outcome.new, outcome.known) for outcome in outcomes] == [(0, 1)]
    store.close()
    office.store.close()


@pytest.mark.slow
def test_ten_thousand_new_findings_are_recorded_in_three_seconds(office: FindingsOffice) -> None:
    groups = [group(f"order-{number}", 2 * number, 2 * number + 1, money="9.90") for number in range(10_000)]

    start = time.process_time()
    first = office.record(*groups, tell=False)
    taken = time.process_time() - start
    start = time.process_time()
    second = office.record(*groups, tell=False)
    again = time.process_time() - start

    assert (first.new, second.known) == (10_000, 10_000)
    assert taken < 3 * SLACK, f"recording took {taken:.1f} s"
    assert again < 3 * SLACK, f"recording again took {again:.1f} s"


def test_many_new_findings_are_stored_as_they_are_and_the_log_has_their_digests(any_office: FindingsOffice) -> None:
    """PostgreSQL copies that many, and the digests are computed from what is written, not from what is stored."""
    odd = ["\\N", "\t", "\n", "\\.", "a\\b", "", "é\r", "\x00", '"']
    groups = [group(odd[n] if n < len(odd) else f"A-{n}", n, f"\t{n}\\", money="1.50") for n in range(60)]

    assert any_office.record(*groups).new == 60

    assert {(finding.key["order"], finding.members[1].id[0]) for finding in any_office.all()} == {
        (item.key["order"], item.surplus[0].id[0]) for item in groups
    }
    assert proof.prove(any_office.store, {}).problem is None
    assert any_office.record(*groups).known == 60
    assert proof.prove(any_office.store, {}).problem is None


SLACK = 2  # a slower processor than the one where this takes 2 s


# Judging without a store


def test_a_judgement_of_nothing_is_empty() -> None:
    assert judge(RULE, [], [], NotSame(), NOON).verdicts == ()


def test_judging_is_pure_and_says_why() -> None:
    remembered = Known(
        "F-1", State.OPEN, {"order": "A"}, '[["n","1"]]', frozenset({'[["n","1"]]', '[["n","2"]]'}), NOON
    )

    judgement = judge(RULE, [group("B", 1, 2)], [remembered], NotSame(), NOON)

    assert [(v.change, v.finding, v.reason) for v in judgement.verdicts] == [
        (FindingChange.NEW, None, None),
        (FindingChange.RESOLVED, "F-1", "its records no longer match"),
    ]


def test_a_taken_fingerprint_never_stops_a_run(office: FindingsOffice) -> None:
    """Another finding has the fingerprint by chance of history; the new one takes the next."""
    office.record(group("A", 1, 2))
    office.record(group("A", 1, 2), rule=replace(RULE, name="b", was="double-charge"))
    office.record(group("A", 1, 2))
    office.record(group("A", 1, 2), rule=replace(RULE, name="c", was="double-charge"))

    outcome = office.record(group("A", 1, 2))

    assert outcome.new == 1
    with office.store.read() as tx:
        marks = [fingerprint("double-charge", "duplicates", {"order": "A"}, again=again) for again in range(3)]
        assert len(finding_memory.owners(tx, marks)) == 3


def test_of_two_first_runs_of_a_rule_at_one_moment_only_one_is_the_first(any_office: FindingsOffice) -> None:
    """The second waits for the first on the rule's row, and must then find the rule known."""
    any_office.record(rule=RULE)
    store, began = any_office.store, threading.Event()
    rule = replace(RULE, name="another")
    entered: list[bool] = []

    def enter() -> None:
        with store.begin() as tx:
            run = tx.connection.execute(sa.select(tables.runs.c.id)).scalars().first()
            began.set()
            entered.append(finding_memory.enter(tx, rule, str(run), tx.now).first)

    with store.begin() as tx:
        run = tx.connection.execute(sa.select(tables.runs.c.id)).scalars().first()
        entered.append(finding_memory.enter(tx, rule, str(run), tx.now).first)
        second = threading.Thread(target=enter)
        second.start()
        if store.is_shared:
            began.wait(10)
            time.sleep(0.2)
    second.join(20)

    assert entered == [True, False]


# Cleaned


def _cleaned(office: FindingsOffice, *, ago: dt.timedelta = dt.timedelta(0)) -> str:
    office.record(group("A", 1, 2))
    office.clock.now -= ago
    office.happens(office.only().id, Event.APPROVED, Event.STARTED, Event.CLEANED)
    office.clock.now += ago
    return office.only().id


@pytest.mark.parametrize("ends", [Event.PARTLY, Event.QUARANTINED])
def test_what_is_found_while_a_cleaning_has_the_records_changes_nothing(office: FindingsOffice, ends: Event) -> None:
    office.record(group("A", 1, 2))
    office.happens(office.only().id, Event.APPROVED, Event.STARTED, ends)
    before = office.only()

    outcome = office.record(group("A", 1, 2, 3))
    office.record()

    assert outcome.settled == 1
    assert replace(office.only(), last_run=before.last_run, last_seen=before.last_seen) == before


def test_a_cleaned_finding_whose_records_are_gone_stays_cleaned(office: FindingsOffice) -> None:
    _cleaned(office)

    outcome = office.record()

    assert (outcome.resolved, office.only().state) == (0, State.CLEANED)


def test_a_read_from_before_the_cleaning_reopens_nothing(office: FindingsOffice) -> None:
    _cleaned(office)

    outcome = office.record(group("A", 1, 2), began=dt.timedelta(minutes=5))

    assert (outcome.settled, office.only().state) == (1, State.CLEANED)


def test_cleaned_records_that_match_again_are_open_again_and_may_be_cleaned_anew(office: FindingsOffice) -> None:
    _cleaned(office)

    outcome = office.record(group("A", 1, 2))

    name = office.only()
    assert (outcome.reopened, name.state) == (1, State.OPEN)
    assert [member.settled_at for member in name.members] == [None, None]
    assert office.record(group("A", 1, 2)).known == 1


def test_a_record_that_joins_a_cleaned_finding_reopens_it_and_it_alone_is_surplus(office: FindingsOffice) -> None:
    _cleaned(office)

    office.record(group("A", 1, 3))

    name = office.only()
    assert name.state is State.OPEN
    assert [member.id for member in name.members if member.settled_at is None] == [(3,)]


def test_an_undone_finding_is_settled_like_a_dismissed_one(office: FindingsOffice) -> None:
    name = _cleaned(office)
    office.happens(name, Event.UNDONE)

    same = office.record(group("A", 1, 2))
    grown = office.record(group("A", 1, 2, 3))

    assert (same.settled, grown.reopened) == (1, 1)


HANDLED = "it is real"


def _handled(office: FindingsOffice, *records: int, key: str = "A", rule: RuleIdentity = RULE) -> str:
    """The finding of these records, handled."""
    [name] = [finding.id for finding in office.all() if ids(finding.members) == list(records)]
    decide.handle(office.store, name, actor="anna", note=HANDLED)
    return name


def test_a_handled_finding_is_silent_for_its_records_and_for_part_of_them(any_office: FindingsOffice) -> None:
    office = any_office
    office.record(group("A", 1, 2, 3, money="10"))
    name = _handled(office, 1, 2, 3)

    for result in (group("A", 1, 2, 3, money="10"), group("A", 2, 3, money="5"), group("A", 1, 3, money="5")):
        for _ in range(2):
            outcome = office.record(result)
            assert (outcome.settled, outcome.money, office.last_heard) == (1, {}, [])
    assert office.record().resolved == 0
    assert (office.get(name).state, office.get(name).note) == (State.HANDLED, HANDLED)
    assert log.verify(office.store).intact


def test_a_further_charge_reopens_a_handled_finding_and_shows_what_was_handled(any_office: FindingsOffice) -> None:
    office = any_office
    office.record(group("A", 1, 2))
    name = _handled(office, 1, 2)

    outcome = office.record(group("A", 1, 2, 3))

    now = office.only()
    assert (outcome.reopened, office.last_heard) == (1, [(name, "reopened")])
    assert (now.reason, now.settled_pairs) == ("a new record joined that no decision covers", ())
    assert list(map(ids, now.handled_pairs)) == [[1, 2]]
    assert [member.settled_at is not None for member in now.members] == [True, True, False]


@pytest.mark.parametrize("decision", [decide.handle, decide.dismiss])
def test_a_decision_covers_its_finding_again_once_what_joined_has_left(
    any_office: FindingsOffice, decision: Callable[..., decide.DecisionResult]
) -> None:
    office = any_office
    office.record(group("A", 1, 2))
    name = office.only().id
    decision(office.store, name, actor="anna", note=HANDLED)
    decided = office.only()
    office.record(group("A", 1, 2, 3))
    office.happens(name, Event.PROPOSED)

    left = office.record(group("A", 1, 2))

    now = office.only()
    assert (left.settled, left.resolved, office.last_heard) == (1, 0, [])
    assert (now.state, now.state_since, now.decided_by) == (decided.state, decided.state_since, "anna")
    assert (now.reason, now.note) == ("only records with an earlier decision are left", HANDLED)
    assert ids(now.members) == [1, 2]
    assert office.record(group("A", 1, 2)).settled == 1
    assert office.record(group("A", 1, 2, 4)).reopened == 1
    assert log.verify(office.store).intact


def test_when_only_what_was_dismissed_in_another_is_left_the_finding_is_resolved(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2, start=1), group("A", 3, 4, 5, start=9), rule=SPAN)
    decide.dismiss(
        office.store, next(finding.id for finding in office.all() if ids(finding.members) == [1, 2]), actor="anna"
    )
    office.record(group("A", 1, 2, 3, 4, 5, start=1), rule=SPAN)

    outcome = office.record(group("A", 1, 2, start=1), rule=SPAN)
    later = office.record(group("A", 1, 2, start=1), rule=SPAN)

    assert (outcome.resolved, outcome.settled, outcome.groups) == (1, 1, 1)
    assert (later.resolved, later.settled, later.reopened) == (0, 1, 0)
    [resolved] = [finding for finding in office.all() if finding.state is State.RESOLVED]
    assert resolved.reason == "only records with an earlier decision are left"
    assert office.record(group("A", 1, 2, 3, start=1), rule=SPAN).reopened == 1


def _charges(*ids: int) -> DuplicateGroup:
    """A group in which each record, except the keeper, is one euro too much."""
    keeper, *surplus = (
        Member((identifier,), {"id": identifier, "order": "A", "amount": Decimal(1)}) for identifier in ids
    )
    money = {"EUR": Decimal(len(surplus))}
    priced = {None: MoneyColumns("amount", currency="EUR")}
    return DuplicateGroup({"order": "A"}, keeper, tuple(surplus), money=money, priced=priced)


@pytest.mark.parametrize("size", [2, judgements.MOST_PAIRS_OF + 1], ids=["pair", "crowd"])
def test_the_money_of_what_joins_is_counted_alone_and_with_the_rest_once_all_is_decided(
    any_office: FindingsOffice, size: int
) -> None:
    office = any_office
    handled = tuple(range(size))
    office.record(_charges(*handled))
    name = _handled(office, *handled)

    joined = office.record(_charges(*handled, 1000, 1001))
    again = office.record(_charges(*handled, 1000, 1001))

    assert (joined.money, again.money) == ({"EUR": Decimal(2)}, {"EUR": Decimal(2)})
    assert (joined.reopened, again.known, office.get(name).money) == (1, 1, {"EUR": Decimal(2)})
    decide.dismiss(office.store, name, actor="anna")
    assert office.get(name).money == {"EUR": Decimal(size + 1)}
    assert log.verify(office.store).intact


def test_a_handled_finding_is_handled_again_once_only_its_records_are_left_of_what_took_it_in(
    any_office: FindingsOffice,
) -> None:
    office = any_office
    office.record(group("A", 1, 2, start=1), group("A", 3, 4, 5, start=9), rule=SPAN)
    handled = _handled(office, 1, 2)
    office.record(group("A", 1, 2, 3, 4, 5, start=1), rule=SPAN)
    [taking] = [finding.id for finding in office.all() if finding.state is State.OPEN]

    office.record(group("A", 1, 2, start=1), rule=SPAN)

    assert {finding.id: finding.state for finding in office.all()} == {handled: State.HANDLED, taking: State.RESOLVED}


def test_a_handled_finding_comes_back_with_other_values(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2, start=1), rule=SPAN)
    _handled(office, 1, 2)

    assert office.record(group("B", 1, 2, start=1), rule=SPAN).reopened == 1
    assert office.only().reason == "values changed since it was decided"


@pytest.mark.parametrize("size", [2, judgements.MOST_PAIRS_OF + 1], ids=["pair", "crowd"])
@pytest.mark.slow
def test_what_was_handled_stays_silent_after_its_finding_was_merged(any_office: FindingsOffice, size: int) -> None:
    office = any_office
    mine, others = list(range(size)), list(range(1_000, 1_301))
    apart = group("A", *mine, start=1), group("A", *others, start=9)
    office.record(*apart, rule=SPAN)
    name = _handled(office, *mine)

    joined = office.record(group("A", *mine, *others, start=1), rule=SPAN)
    told = office.last_heard
    shown = [list(map(ids, finding.handled_pairs)) for finding in office.all() if finding.state is State.OPEN]
    assert office.get(name).state is State.MERGED
    parted = office.record(*apart, rule=SPAN)
    again = office.record(*apart, rule=SPAN)

    assert (joined.merged, [change for _, change in told], office.get(name).state) == (1, ["grown"], State.HANDLED)
    assert shown == [[[0, 1]] if size == 2 else []]
    assert (parted.settled, parted.new, again.settled, again.new, office.last_heard) == (1, 0, 1, 0, [])


def test_handled_and_dismissed_pairs_together_answer_a_group_but_not_one_with_an_open_pair(
    office: FindingsOffice,
) -> None:
    office.record(group("A", 1, 2, start=1), group("A", 3, 4, start=9), rule=SPAN)
    _handled(office, 1, 2)
    decide.dismiss(
        office.store, next(finding.id for finding in office.all() if finding.state is State.OPEN), actor="anna"
    )

    both = office.record(group("A", 1, 2, 3, 4, start=1), rule=SPAN)

    assert (both.settled, both.reopened) == (0, 1)
    assert office.record(group("A", 1, 2, start=1), group("A", 3, 4, start=9), rule=SPAN).settled == 2


def test_a_plan_waits_no_longer_once_its_finding_grew(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))
    office.happens(office.only().id, Event.PROPOSED)

    outcome = office.record(group("A", 1, 2, 3))

    assert (outcome.grown, office.only().state) == (1, State.OPEN)
