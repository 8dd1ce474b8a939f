"""People's decisions: checked, idempotent, audited, and every error a sentence to act on."""

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from reconcile.audit import log as audit
from reconcile.decisions import decide
from reconcile.decisions.refusals import AssigneeUnknown, FindingChanged, SnoozeInThePast, WrongState
from reconcile.decisions.request import DecisionResult
from reconcile.findings.states import TRANSITIONS, Event, State
from reconcile.people import users
from reconcile.people.roles import Role
from reconcile.store import Store, tables
from reconcile.store.findings import FindingUnknown
from reconcile.tracking.remember import record
from tests.support.findings import KEY, RULE, SPAN, FindingsOffice, group, ids

Decide = Callable[[Store, str], DecisionResult]

EVERY: dict[str, Decide] = {
    "dismiss": lambda store, asked: decide.dismiss(store, asked, actor="anna"),
    "handle": lambda store, asked: decide.handle(store, asked, actor="anna"),
    "snooze": lambda store, asked: decide.snooze(store, asked, actor="anna"),
    "reopen": lambda store, asked: decide.reopen(store, asked, actor="anna"),
    "assign": lambda store, asked: decide.assign(store, asked, actor="anna", to="ben"),
}
_BEGUN = (Event.APPROVED, Event.STARTED)
CLEANING: dict[State, tuple[Event, ...]] = {
    State.AWAITING: (Event.PROPOSED,),
    State.APPROVED: (Event.APPROVED,),
    State.CLEANING: _BEGUN,
    State.CLEANED: (*_BEGUN, Event.CLEANED),
    State.PARTLY: (*_BEGUN, Event.PARTLY),
    State.STALE: (*_BEGUN, Event.DRIFTED),
    State.FAILED: (*_BEGUN, Event.FAILED),
    State.QUARANTINED: (*_BEGUN, Event.QUARANTINED),
    State.UNDONE: (*_BEGUN, Event.CLEANED, Event.UNDONE),
}
"""What leads a finding that is open into each state of a cleaning."""
EVENTS = {
    "dismiss": Event.DISMISSED,
    "handle": Event.HANDLED,
    "snooze": Event.SNOOZED,
    "reopen": Event.DECISION_UNDONE,
}


@pytest.fixture
def office(tmp_path: Path) -> Iterator[FindingsOffice]:
    item = FindingsOffice.new("sqlite:///state.db", tmp_path)
    yield item
    item.store.close()


def _in_state(office: FindingsOffice, state: State) -> str:
    """A finding brought into that state by the ways there are; for merged, the one that was taken in."""
    if state is State.MERGED:
        office.record(group("A", 1, 2, start=1), group("A", 5, 6, 7, start=9), rule=SPAN)
        office.record(group("A", 1, 2, 5, 6, 7, start=1), rule=SPAN)
        return office.all(states=(State.MERGED,))[0].id
    office.record(group("A", 1, 2))
    name = office.only().id
    if state is State.DISMISSED:
        decide.dismiss(office.store, name, actor="zoe")
    if state is State.HANDLED:
        decide.handle(office.store, name, actor="zoe")
    if state is State.SNOOZED:
        decide.snooze(office.store, name, actor="zoe", until=office.clock.now + dt.timedelta(days=1))
    if state is State.RESOLVED:
        office.record()
    office.happens(name, *CLEANING.get(state, ()))
    return name


def _log(office: FindingsOffice, finding: str) -> list[str]:
    with office.store.read() as tx:
        return [entry.event for entry in audit.entries(tx, finding=finding)]


@pytest.mark.parametrize("state", list(State), ids=lambda state: state.value)
@pytest.mark.parametrize("wish", EVENTS)
@pytest.mark.slow
def test_a_decision_is_possible_exactly_where_the_table_of_states_says(
    office: FindingsOffice, state: State, wish: str
) -> None:
    name = _in_state(office, state)
    before, log = office.get(name), _log(office, name)
    already = (wish, state) in {("dismiss", State.DISMISSED), ("handle", State.HANDLED), ("reopen", State.OPEN)}

    if (state, EVENTS[wish]) in TRANSITIONS:
        decision = EVERY[wish](office.store, name)
        assert decision.changed
        assert office.get(name).state is TRANSITIONS[state, EVENTS[wish]]
        assert _log(office, name) == [*log, EVENTS[wish].value]
    elif already:
        decision = EVERY[wish](office.store, name)
        assert not decision.changed
        assert "nothing was changed" in decision.sentence
    else:
        with pytest.raises(WrongState, match="Nothing was changed"):
            EVERY[wish](office.store, name)
    if (state, EVENTS[wish]) not in TRANSITIONS:
        assert (office.get(name), _log(office, name)) == (before, log)


@pytest.mark.slow
@pytest.mark.parametrize("wish", EVERY)
def test_deciding_the_same_twice_says_so_and_changes_nothing(office: FindingsOffice, wish: str) -> None:
    name = _in_state(office, State.DISMISSED if wish == "reopen" else State.OPEN)
    first = EVERY[wish](office.store, name)
    after, log = office.get(name), _log(office, name)
    office.clock.now += dt.timedelta(hours=1)

    second = EVERY[wish](office.store, name)

    assert (first.changed, second.changed) == (True, False)
    assert "already" in second.sentence
    assert (office.get(name), _log(office, name)) == (after, log)


@pytest.mark.parametrize("wish", EVERY)
def test_an_unknown_id_is_refused_with_the_nearest(office: FindingsOffice, wish: str) -> None:
    name = _in_state(office, State.OPEN)
    typo = name[:-1] + ("0" if name[-1] != "0" else "1")

    with pytest.raises(FindingUnknown, match=f"did you mean `{name}`"):
        EVERY[wish](office.store, typo)


@pytest.mark.parametrize("wish", EVENTS)
def test_a_merged_finding_names_the_one_to_decide_about(office: FindingsOffice, wish: str) -> None:
    name = _in_state(office, State.MERGED)

    with pytest.raises(WrongState, match=f"part of {office.get(name).merged_into}"):
        EVERY[wish](office.store, name)
    with pytest.raises(WrongState, match="cannot be assigned to ben"):
        EVERY["assign"](office.store, name)


def test_a_second_press_says_who_decided_and_when(office: FindingsOffice) -> None:
    name = _in_state(office, State.DISMISSED)

    decision = decide.dismiss(office.store, name, actor="anna")

    assert decision.sentence == f"{name}: it was already dismissed by zoe on 2026-11-21 12:01 UTC; nothing was changed."


def test_a_dismissal_stores_every_pair_with_its_values(office: FindingsOffice) -> None:
    office.record(group("A", 3, 1, 2))

    decision = decide.dismiss(office.store, office.only().id, actor="anna", note="siblings")

    with office.store.read() as tx:
        rows = list(tx.connection.execute(sa.select(tables.not_same)))
    assert [(row.record_a, row.record_b) for row in rows] == [
        ('[["n","1"]]', '[["n","2"]]'),
        ('[["n","1"]]', '[["n","3"]]'),
        ('[["n","2"]]', '[["n","3"]]'),
    ]
    assert {(str(row.values_a), row.decided_by, row.note) for row in rows} == {
        ("[['order', ['t', 'A']]]", "anna", "siblings")
    }
    finding = office.only()
    assert decision.sentence == f"{finding.id} is dismissed: its 3 records are not the same."
    assert (finding.decided_by, finding.note) == ("anna", "siblings")


def test_a_handled_finding_has_the_note_of_its_decision_alone(office: FindingsOffice) -> None:
    name = _in_state(office, State.OPEN)
    decide.snooze(office.store, name, actor="anna", note="wait for the bank")

    decide.handle(office.store, name, actor="anna")
    unnoted = office.get(name)
    decide.reopen(office.store, name, actor="anna")
    noted = decide.handle(office.store, name, actor="ben", note="refunded 4711")

    finding = office.get(name)
    assert (unnoted.note, finding.note, finding.decided_by) == (None, "refunded 4711", "ben")
    assert noted.sentence == f"{name} is handled: it is real, and was dealt with outside Reconcile."
    with office.store.read() as tx:
        entries = [entry for entry in audit.entries(tx, finding=name) if entry.event == "finding.handled"]
    assert [(entry.actor, entry.body.get("note"), entry.body["pairs"]) for entry in entries] == [
        ("anna", None, 1),
        ("ben", "refunded 4711", 1),
    ]


def test_the_later_of_two_judgements_about_a_pair_holds(office: FindingsOffice) -> None:
    """A pair that was handled is judged to be different when a third record made people look again."""
    office.record(group("A", 1, 2))
    name = office.only().id
    decide.handle(office.store, name, actor="anna")
    office.record(group("A", 1, 2, 3))
    handled = office.only()

    decide.dismiss(office.store, name, actor="anna")
    office.record(group("A", 1, 2, 3, 4))

    assert list(map(ids, handled.handled_pairs)) == [[1, 2]]
    assert office.only().handled_pairs == ()
    assert sorted(map(ids, office.only().settled_pairs)) == [[1, 2], [1, 3], [2, 3]]


@pytest.mark.parametrize("state", [State.DISMISSED, State.HANDLED], ids=["dismissed", "handled"])
def test_taking_back_a_decision_brings_the_pairs_back(office: FindingsOffice, state: State) -> None:
    name = _in_state(office, state)
    decide.reopen(office.store, name, actor="anna")

    outcome = office.record(group("A", 1, 2))

    assert (outcome.known, outcome.settled, office.last_heard) == (1, 0, [])
    assert (office.only().settled_pairs, office.only().handled_pairs) == ((), ())
    assert office.only().state is State.OPEN


def test_a_finding_dismissed_again_covers_only_what_was_looked_at(office: FindingsOffice) -> None:
    """C left before the second dismissal, which was about A, B and D: C and D were never judged together."""
    office.record(group("A", 1, 2, 3))
    decide.dismiss(office.store, office.only().id, actor="anna")
    office.record(group("A", 1, 2, 4))
    decide.dismiss(office.store, office.only().id, actor="anna")

    assert office.record(group("A", 1, 2, 3)).settled == 1
    assert office.record(group("A", 3, 4)).reopened == 1


def test_a_snooze_that_is_over_already_is_refused(office: FindingsOffice) -> None:
    name = _in_state(office, State.OPEN)

    with pytest.raises(SnoozeInThePast, match="is in the past: it is 2026-11-21 12:01 UTC"):
        decide.snooze(office.store, name, actor="anna", until=office.clock.now)
    assert office.only().state is State.OPEN


@pytest.mark.parametrize("wish", [decide.dismiss, decide.handle, decide.snooze])
def test_nobody_decides_about_records_they_never_saw(
    office: FindingsOffice, wish: Callable[..., DecisionResult]
) -> None:
    office.record(group("A", 1, 2))
    shown = office.only()
    office.record(group("A", 1, 2, 3))

    with pytest.raises(FindingChanged, match=f"{shown.id} changed since it was shown: a record joined"):
        wish(office.store, shown.id, actor="anna", seen=shown.version)
    assert wish(office.store, shown.id, actor="anna", seen=office.only().version).changed


def test_a_snooze_can_be_moved(office: FindingsOffice) -> None:
    name = _in_state(office, State.SNOOZED)

    decision = decide.snooze(office.store, name, actor="anna")

    assert (decision.changed, office.get(name).snoozed_until) == (True, None)
    assert decision.sentence == f"{name} is snoozed until it grows."


def test_a_snoozed_finding_can_be_woken_by_hand_and_is_not_told_again(office: FindingsOffice) -> None:
    name = _in_state(office, State.SNOOZED)

    decide.reopen(office.store, name, actor="anna")
    office.record(group("A", 1, 2))

    assert (office.only().state, office.only().snoozed_until, office.last_heard) == (State.OPEN, None, [])


def test_an_assignment_can_be_taken_back_and_notes_are_kept_in_the_log(office: FindingsOffice) -> None:
    name = _in_state(office, State.OPEN)
    decide.assign(office.store, name, actor="anna", to="ben", note="your customer")
    decide.assign(office.store, name, actor="ben", to="eve", note="asked them")

    decide.assign(office.store, name, actor="ben", to=None)

    finding = office.get(name)
    assert (finding.assigned_to, finding.note) == (None, "asked them")
    with office.store.read() as tx:
        notes = [(entry.actor, entry.event, entry.body.get("note")) for entry in audit.entries(tx, finding=name)]
    assert notes[1:] == [
        ("anna", "finding.assigned", "your customer"),
        ("ben", "finding.assigned", "asked them"),
        ("ben", "finding.assigned", None),
    ]


def test_where_there_are_users_a_finding_is_assigned_to_one_of_them(office: FindingsOffice) -> None:
    name = _in_state(office, State.OPEN)
    decide.assign(office.store, name, actor="anna", to="whoever")
    with office.store.begin() as tx:
        users.add(tx, "ben", Role.REVIEWER, by="test")

    with pytest.raises(AssigneeUnknown, match=r"there is no user `bem`; did you mean `ben`\?$"):
        decide.assign(office.store, name, actor="anna", to="bem")

    decide.assign(office.store, name, actor="anna", to="ben")
    assert office.get(name).assigned_to == "ben"
    decide.assign(office.store, name, actor="anna", to=None)
    assert office.get(name).assigned_to is None


def test_a_decision_never_reaches_into_another_rule(office: FindingsOffice) -> None:
    office.record(group("A", 1, 2))
    second = replace(RULE, name="same-invoice")
    decide.dismiss(office.store, office.only().id, actor="anna")

    outcome = office.record(group("A", 1, 2), rule=second)

    assert outcome.new == 1


@pytest.mark.server
def test_two_people_deciding_at_once_make_one_decision(postgres_url: str, tmp_path: Path) -> None:
    office = FindingsOffice.new(postgres_url, tmp_path)
    office.record(group("A", 1, 2))
    name = office.only().id
    barrier = threading.Barrier(8)
    decisions: list[DecisionResult] = []

    def press(who: str) -> None:
        barrier.wait()
        decisions.append(decide.dismiss(office.store, name, actor=who))

    threads = [threading.Thread(target=press, args=(f"person-{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert sorted(decision.changed for decision in decisions) == [False] * 7 + [True]
    assert _log(office, name).count("finding.dismissed") == 1
    office.store.close()


@pytest.mark.server
def test_a_decision_made_during_a_run_is_not_lost(postgres_url: str, tmp_path: Path) -> None:
    """The run holds the rule's findings; the decision waits for it, and stands afterwards."""
    office = FindingsOffice.new(postgres_url, tmp_path)
    store = Store.open(postgres_url, tmp_path, key=KEY)
    office.record(group("A", 1, 2))
    name = office.only().id
    deciding = threading.Thread(target=lambda: decide.dismiss(store, name, actor="anna"))

    with office.store.begin() as tx:
        record(tx, "run-1", RULE, [group("A", 1, 2, 3)])
        deciding.start()
        deciding.join(0.3)
        assert deciding.is_alive()
    deciding.join(10)

    assert (office.only().state, ids(office.only().members)) == (State.DISMISSED, [1, 2, 3])
    assert office.record(group("A", 1, 2, 3)).settled == 1
    store.close()
    office.store.close()
