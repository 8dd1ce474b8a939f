"""People teach a rule of kind `similar`: the same, not the same, and records that are split off a finding."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from reconcile.audit import log, proof
from reconcile.decisions import decide, pairs
from reconcile.decisions.pairs import PairRequest
from reconcile.decisions.refusals import (
    JudgedInFinding,
    NothingToSplit,
    PairUnknown,
    RecordNotKnown,
    RecordUnknown,
    RuleTakesNoJudgement,
    RuleUnknown,
    SameRecordTwice,
)
from reconcile.decisions.request import DecisionRequest
from reconcile.findings.identity import id_of, record_of
from reconcile.findings.record_names import RecordIds
from reconcile.findings.states import State
from reconcile.people.roles import NotAllowed, Person, Role
from reconcile.store import pair_judgements, tables, uncertain_pairs
from reconcile.tracking.renaming import Renaming, rename
from reconcile.upkeep import erasure
from rules.values import Type
from tests.support.similar import ADA, COMPARE, STRANGERS, TWIN, person
from tests.support.taught import Taught
from tests.support.world import TWO, World

THIRD = ADA | {"id": "a3", "name": "Ada Lovlace"}
NEAR = person("b1", "Nora Quist", phone="+47 22 000001", born="1970-01-01", email="nora@example.com")
LIKE = person("b2", "Nora Kvist", phone="+47 22 999999", born="1970-01-01", email="n.kvist@example.org")
"""Two records that the rule is not sure about."""


@pytest.fixture
def taught(tmp_path: Path) -> Iterator[Taught]:
    office = Taught.new(tmp_path, [*STRANGERS, ADA, TWIN, NEAR, LIKE])
    yield office
    office.office.store.close()


def events(taught: Taught) -> list[str]:
    with taught.office.store.read() as tx:
        return [entry.event for entry in log.entries(tx)]


def is_proven(taught: Taught) -> bool:
    return proof.prove(taught.office.store, {}).problem is None


# The same


def test_records_that_a_person_says_are_the_same_are_in_one_group_in_the_next_run(taught: Taught) -> None:
    before = taught.run()

    result = taught.judge("same", "b1", "b2")

    assert before == [["a1", "a2"]]
    assert result.sentence == "b1 and b2 are the same; the next run of `twins` puts them together."
    assert taught.run() == [["a1", "a2"], ["b1", "b2"]]
    assert taught.learnt() == {frozenset({"b1", "b2"}): (True, "judged")}
    assert is_proven(taught)


def test_a_repeated_answer_changes_nothing_and_says_so(taught: Taught) -> None:
    taught.run()
    taught.judge("same", "b1", "b2")
    log_before = events(taught)

    result = taught.judge("same", "b2", "b1", actor="zoe")

    assert (result.changed, result.sentence) == (
        False,
        "b2 and b1 were already judged the same; nothing was changed.",
    )
    assert events(taught) == log_before
    assert log_before[-1] == "pair.same"


def test_the_same_ends_when_the_records_differ_in_another_value_and_holds_when_one_is_corrected(taught: Taught) -> None:
    taught.run()
    taught.judge("same", "b1", "b2")

    taught.edit("b2", name="Nora Quist")
    corrected = taught.run()
    taught.edit("b2", email=None)
    emptied = taught.run()
    taught.edit("b2", name="Hedda Gabler", born="1999-09-09")
    moved = taught.run()
    taught.edit("b2", name="Nora Kvist", born="1970-01-01")

    assert ["b1", "b2"] in corrected
    assert ["b1", "b2"] in emptied
    assert ["b1", "b2"] not in moved
    assert ["b1", "b2"] in taught.run()


def test_a_veto_and_an_exception_of_the_rule_win_over_the_same(taught: Taught) -> None:
    taught.run()
    taught.judge("same", "b1", "b2")

    taught.settings = {"veto": ["phone"]}
    vetoed = taught.run()
    taught.settings = {"except": [["b1", "b2"]]}
    excepted = taught.run()
    taught.settings = {}

    assert ["b1", "b2"] not in vetoed
    assert ["b1", "b2"] not in excepted
    assert ["b1", "b2"] in taught.run()


def test_not_the_same_wins_over_records_that_others_connect(taught: Taught) -> None:
    taught.rows["a3"] = THIRD
    taught.run()

    taught.judge("not_the_same", "a1", "a2")
    taught.judge("same", "a1", "a3")
    taught.judge("same", "a2", "a3")
    groups = taught.run()

    assert not any({"a1", "a2"} <= set(group) for group in groups)
    assert any("a3" in group for group in groups)


def test_two_findings_become_one_when_records_of_both_are_the_same(taught: Taught) -> None:
    taught.run()
    taught.judge("same", "b1", "b2")
    taught.run()

    taught.judge("same", "a1", "b1")

    assert taught.run() == [["a1", "a2", "b1", "b2"]]
    assert sorted(finding.state.value for finding in taught.office.all(states=tuple(State))) == ["merged_into", "open"]


# Not the same


def test_records_that_are_not_the_same_stay_apart_until_they_agree_in_another_value(taught: Taught) -> None:
    taught.run()

    taught.judge("not_the_same", "a1", "a2")
    apart = taught.run()
    taught.edit("a2", email="ada@example.com")
    agree = taught.run()

    assert apart == []
    assert agree == [["a1", "a2"]]
    assert taught.learnt() == {frozenset({"a1", "a2"}): (False, "judged")}
    assert is_proven(taught)


def test_an_answer_is_taken_back_and_a_later_one_replaces_an_earlier_one(taught: Taught) -> None:
    taught.run()

    taught.judge("not_the_same", "a1", "a2")
    taught.judge("same", "a1", "a2")
    same = taught.learnt()
    taken_back = taught.judge("forget", "a1", "a2")
    again = taught.judge("forget", "a1", "a2")

    assert same == {frozenset({"a1", "a2"}): (True, "judged")}
    assert (taken_back.changed, again.changed) == (True, False)
    assert taught.learnt() == {}
    assert events(taught)[-3:] == ["pair.not_same", "pair.same", "pair.forgotten"]
    assert is_proven(taught)


def test_the_answer_of_a_dismissed_finding_is_taken_back_by_reopening_it(taught: Taught) -> None:
    taught.run()
    finding = taught.office.only().id
    decide.dismiss(taught.office.store, finding, actor="zoe")

    unchanged = taught.judge("not_the_same", "a1", "a2")
    with pytest.raises(JudgedInFinding, match=rf"`reconcile reopen {finding}` takes that back"):
        taught.judge("same", "a1", "a2")

    assert not unchanged.changed
    assert taught.learnt() == {frozenset({"a1", "a2"}): (False, "dismissed")}


def test_reopening_a_finding_keeps_what_was_judged_the_same(taught: Taught) -> None:
    taught.run()
    taught.judge("same", "b1", "b2")
    taught.run()
    [finding] = [finding for finding in taught.office.all() if finding.members[0].id == ("b1",)]

    decide.handle(taught.office.store, finding.id, actor="zoe")
    handled = taught.learnt()
    decide.reopen(taught.office.store, finding.id, actor="zoe")

    assert handled == taught.learnt() == {frozenset({"b1", "b2"}): (True, "judged")}
    assert taught.run() == [["a1", "a2"], ["b1", "b2"]]


def test_a_handled_finding_is_learnt_as_the_same(taught: Taught) -> None:
    taught.run()

    decide.handle(taught.office.store, taught.office.only().id, actor="zoe")

    assert taught.learnt() == {frozenset({"a1", "a2"}): (True, "handled")}


# Split


def test_a_record_that_is_split_off_stays_apart_and_the_others_stay_together(taught: Taught) -> None:
    taught.rows["a3"] = THIRD
    taught.run()
    finding = taught.office.only().id

    taught.split(finding, "a3")
    again = taught.split(finding, "a3")
    groups = taught.run()
    taught.rows["a4"] = THIRD | {"id": "a4"}
    grown = taught.run()

    assert not again.changed
    assert groups == [["a1", "a2"]]
    assert not any("a3" in group and {"a1", "a2"} & set(group) for group in grown)
    assert taught.learnt() == {frozenset({"a3", other}): (False, "split") for other in ("a1", "a2")}
    assert is_proven(taught)


def test_a_split_is_taken_back_by_reopening_until_the_next_run(taught: Taught) -> None:
    taught.rows["a3"] = THIRD
    taught.run()
    finding = taught.office.only().id
    taught.split(finding, "a3")

    decide.reopen(taught.office.store, finding, actor="anna")

    assert taught.learnt() == {}
    assert taught.run() == [["a1", "a2", "a3"]]


def test_of_two_records_a_split_is_a_dismissal(taught: Taught) -> None:
    taught.run()
    finding = taught.office.only().id

    result = taught.split(finding, "a2")

    assert taught.office.get(finding).state is State.DISMISSED
    assert result.sentence == f"{finding} is dismissed: its 2 records are not the same."


def test_only_records_of_the_finding_can_be_split_off(taught: Taught) -> None:
    taught.run()

    with pytest.raises(RecordUnknown, match="has no such record"):
        taught.split(taught.office.only().id, "b1")


def test_a_rule_with_one_key_splits_nothing_and_learns_nothing(tmp_path: Path) -> None:
    world = World.at(tmp_path, *TWO, twins={})
    world.run()
    [finding] = world.findings()

    with world.decisions() as decisions:
        with pytest.raises(NothingToSplit, match="joins its records by one key"):
            decisions.decide(_split(finding))
        with pytest.raises(RuleTakesNoJudgement, match="is of kind `duplicates`"):
            decisions.judge_pair(PairRequest("twins", "same", records=(("1",), ("2",))))
        with pytest.raises(RuleUnknown, match="did you mean `twins`"):
            decisions.judge_pair(PairRequest("twin", "same", records=(("1",), ("2",))))


def _split(finding: str) -> DecisionRequest:
    return DecisionRequest("split", finding, keeper=("1",))


# Refusals


@pytest.mark.parametrize(
    ("records", "error"),
    [(("a1", "gone"), RecordNotKnown), (("a1", "a1"), SameRecordTwice), (("s0", "a1"), RecordNotKnown)],
)
def test_a_pair_needs_two_records_that_the_last_run_found(
    taught: Taught, records: tuple[str, str], error: type[Exception]
) -> None:
    taught.run()
    before = events(taught)

    with pytest.raises(error):
        taught.judge("same", *records)

    assert events(taught) == before


def test_a_pair_that_a_newer_run_no_longer_lists_is_refused(taught: Taught) -> None:
    taught.run()
    decisions = taught.application.decisions("anna")

    with pytest.raises(PairUnknown, match="a newer run found others"):
        decisions.judge_pair(PairRequest("twins", "same", pair="0" * 32))


def test_a_viewer_judges_nothing(taught: Taught) -> None:
    taught.run()
    [pair] = [pair for pair in taught.uncertain() if "b1" in pair.records[0]]
    viewer = Person("vera", Role.VIEWER, sees_personal=False, origin="")

    with pytest.raises(NotAllowed):
        taught.application.decisions_of(viewer).judge_pair(PairRequest("twins", "same", pair=pair.id))


# Uncertain pairs


def test_the_uncertain_pairs_are_those_of_the_last_run_without_the_judged_ones(taught: Taught) -> None:
    taught.run()
    [first] = [pair for pair in taught.uncertain() if "b1" in pair.records[0]]

    taught.judge("same", "b1", "b2")
    answered = taught.uncertain()
    taught.run()

    assert 0 < first.probability < 1
    assert "same born" in first.evidence
    assert [dict(values)["name"] for values in first.values] == ["Nora Quist", "Nora Kvist"]
    assert first not in answered
    assert first.id not in [pair.id for pair in taught.uncertain()]


def test_a_handled_pair_is_not_asked(taught: Taught) -> None:
    taught.settings = {"threshold": "1%"}
    taught.run()
    [finding] = [finding for finding in taught.office.all() if finding.members[0].id == ("b1",)]

    decide.handle(taught.office.store, finding.id, actor="zoe")
    taught.run()

    assert not any("b1" in pair.records[0] for pair in taught.uncertain())


# What happens to the rule and the records


def test_answers_move_with_the_name_of_the_rule(taught: Taught) -> None:
    taught.run()
    taught.judge("same", "b1", "b2")
    taught.run()

    taught.settings = {"name": "people", "was": "twins"}
    groups = taught.run()

    with taught.office.store.read() as tx:
        [learnt] = pair_judgements.learnt_pairs(tx, "people", "similar")
    assert ["b1", "b2"] in groups
    assert (learnt.is_same, learnt.source) == (True, "judged")
    assert taught.uncertain() == []
    assert is_proven(taught)


def test_an_erased_record_is_in_no_answer_and_in_no_uncertain_pair(taught: Taught) -> None:
    taught.rows["b3"] = LIKE | {"id": "b3", "email": "third@example.org"}
    taught.rows["b4"] = NEAR | {"id": "b4", "email": "fourth@example.org", "phone": "+47 22 555555"}
    taught.run()
    pair = taught.uncertain()[0]
    first, second = (str(id_of(record)[0]) for record in pair.records)
    taught.judge("not_the_same", first, second)

    with taught.office.store.begin() as tx:
        uncertain_pairs.replace(tx, "twins", [pair])
    wanted = erasure.of_record(taught.office.store, "things", record_of((first,)), ["email"])
    reached = erasure.erase(taught.office.store, wanted).reached

    assert (reached["judgements"], reached["pairs"]) == (1, 1)
    assert taught.learnt() == {}
    with taught.office.store.read() as tx:
        assert uncertain_pairs.of_rule(tx, "twins") == []
    assert is_proven(taught)


SHARING = [
    person("z1", "Zoltan Quux", city="Oslo", email="z@example.com", phone="+47 22 111111"),
    person("z2", "Zoltan Quuxx", city="Oslo", email="z@example.com", phone="+47 22 111111"),
]
"""Two records of one person, who lives where all others do."""


@pytest.fixture
def neighbours(tmp_path: Path) -> Iterator[Taught]:
    near = NEAR | {"phone": LIKE["phone"]}
    rows = [row | {"city": "Oslo"} for row in (*STRANGERS, ADA, TWIN, near, LIKE)]
    office = Taught.new(tmp_path, [*rows, *SHARING], compare=COMPARE | {"city": "text"})
    office.run()
    yield office
    office.office.store.close()


def erase(taught: Taught, record: str) -> None:
    wanted = erasure.of_record(taught.office.store, "things", record_of((record,)), ["name", "email", "phone", "city"])
    erasure.erase(taught.office.store, wanted, actor="dpo")
    del taught.rows[record]


@pytest.mark.parametrize("is_dismissed", [False, True])
def test_an_answer_about_records_that_share_a_city_with_an_erased_one_still_holds(
    neighbours: Taught, is_dismissed: bool
) -> None:
    [finding] = [each.id for each in neighbours.office.all() if each.members[0].id == ("a1",)]
    if is_dismissed:
        decide.dismiss(neighbours.office.store, finding, actor="anna", note="They told me.")
    else:
        neighbours.judge("not_the_same", "a1", "a2")
    neighbours.judge("same", "b1", "b2")
    before = neighbours.run()
    shown = [each for each in neighbours.office.all() if each.id == finding]

    erase(neighbours, "z1")

    assert [each for each in neighbours.office.all() if each.id == finding] == shown
    after = neighbours.run()
    assert ["z1", "z2"] in before
    assert after == [group for group in before if group != ["z1", "z2"]]
    assert {each.id for each in neighbours.office.all() if each.state is State.OPEN} == {
        each.id for each in neighbours.office.all() if each.members[0].id == ("b1",)
    }
    assert is_proven(neighbours)


def test_the_note_on_an_answer_loses_what_it_says_of_an_erased_record(neighbours: Taught) -> None:
    request = PairRequest("twins", "not_the_same", records=(("a1",), ("a2",)), note="Not Zoltan Quux either")
    pairs.judge(neighbours.office.store, neighbours.rule, request, actor="anna")

    erase(neighbours, "z1")

    with neighbours.office.store.read() as tx:
        notes = tx.connection.execute(sa.select(tables.not_same.c.note)).scalars().all()
    assert notes == ["•••"]
    assert neighbours.learnt() == {frozenset({"a1", "a2"}): (False, "judged")}
    assert is_proven(neighbours)


def test_an_uncertain_pair_that_shares_a_city_with_an_erased_record_is_as_before(neighbours: Taught) -> None:
    waiting = [pair for pair in neighbours.uncertain() if not any("z1" in record for record in pair.records)]

    erase(neighbours, "z1")

    assert waiting
    assert neighbours.uncertain() == waiting


def test_an_answer_about_other_records_of_an_erased_ones_finding_still_holds(neighbours: Taught) -> None:
    neighbours.rows["z3"] = SHARING[1] | {"id": "z3"}
    neighbours.run()
    [finding] = [each.id for each in neighbours.office.all() if each.members[0].id == ("z1",)]
    decide.dismiss(neighbours.office.store, finding, actor="anna")

    erase(neighbours, "z1")

    assert neighbours.learnt() == {frozenset({"z2", "z3"}): (False, "dismissed")}
    assert not any("z2" in group for group in neighbours.run())
    assert is_proven(neighbours)


def test_an_answer_follows_records_that_are_named_anew(taught: Taught) -> None:
    taught.run()
    taught.judge("same", "b1", "b2")
    ids = RecordIds(("id",), (Type.TEXT,))

    with taught.office.store.begin() as tx:
        rename(tx, Renaming("things", ids, lambda name: name.replace('"b', '"z')), "run-1")
    taught.rows = {name.replace("b", "z"): row | {"id": name.replace("b", "z")} for name, row in taught.rows.items()}

    assert taught.learnt() == {frozenset({"z1", "z2"}): (True, "judged")}
    assert ["z1", "z2"] in taught.run()
    assert is_proven(taught)


@pytest.mark.server
def test_answers_are_stored_and_followed_in_postgresql_too(postgres_url: str, tmp_path: Path) -> None:
    taught = Taught.new(tmp_path, [*STRANGERS, ADA, TWIN, THIRD, NEAR, LIKE], url=postgres_url)
    taught.run()
    [finding] = taught.office.all()

    taught.judge("same", "b1", "b2")
    taught.split(finding.id, "a3")
    groups = taught.run()
    decide.handle(taught.office.store, finding.id, actor="zoe")
    again = taught.judge("same", "b2", "b1")

    assert groups == [["a1", "a2"], ["b1", "b2"]]
    assert not again.changed
    assert {pair: source for pair, (_, source) in taught.learnt().items()} == {
        frozenset({"b1", "b2"}): "judged",
        frozenset({"a1", "a2"}): "handled",
        frozenset({"a1", "a3"}): "split",
        frozenset({"a2", "a3"}): "split",
    }
    assert is_proven(taught)
    taught.office.store.close()
