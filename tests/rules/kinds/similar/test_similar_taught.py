"""Kind similar: what people judged is followed, and the pairs that are worth a question are found."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rules.groups.detection import Detection
from rules.kinds.similar import SimilarRule
from rules.kinds.similar.clusters import Constraints, clusters
from rules.kinds.similar.detection import FittedSimilar
from rules.kinds.similar.united import unite, unite_sparse
from rules.pairs.evidence import JudgedPairs, LinkingValues, differing_values
from rules.values import Type, Value, canonical_json
from tests.support.rules import Rows
from tests.support.similar import ADA, COMPARE, PEOPLE, SLOT, STRANGERS, TWIN, TYPES, Row, detect, person

BY_ID = {str(row["id"]): row for row in PEOPLE}
RULE = SimilarRule.model_validate({"name": "twins", "dataset": "things", "compare": COMPARE})


def pair(first: str, second: str) -> frozenset[tuple[str | None, str]]:
    return frozenset((None, canonical_json((name,))) for name in (first, second))


def differences(first: str, second: str) -> LinkingValues:
    """The values in which two people differ now."""
    left, right = RULE.as_compared(BY_ID[first]), RULE.as_compared(BY_ID[second])
    shared = ((name, value, right[name]) for name, value in left.items() if name in right)
    return differing_values(values for values in shared if values[1] != values[2])


def same(*pairs: tuple[str, str]) -> JudgedPairs:
    return {pair(first, second): differences(first, second) for first, second in pairs}


def judged(
    rows: list[Row], together: JudgedPairs, apart: JudgedPairs | None = None, **settings: Any
) -> list[list[Value]]:
    """The ids of each group, as people judged."""
    shared = {"name": "twins", "dataset": "things", "compare": COMPARE}
    rule = SimilarRule.model_validate(shared | {name.rstrip("_"): value for name, value in settings.items()})
    given = Rows({name: TYPES.get(name, Type.TEXT) for row in rows for name in row}, rows)
    relations = {"things": replace(given.relation(), dataset="things")}
    fitted = FittedSimilar.of(rule.with_judged(apart or {}, together), relations)
    groups = fitted.detect({"things": given.streamed()}, SLOT).groups
    return [[member.id[0] for member in group.members] for group in groups]


# Together


@pytest.mark.slow
def test_records_that_are_the_same_are_together_whatever_their_score() -> None:
    assert judged(PEOPLE, same(("s0", "s1"))) == [["a1", "a2"], ["s0", "s1"]]
    assert judged(PEOPLE, same(("s0", "s1"), ("s1", "s2"))) == [["a1", "a2"], ["s0", "s1", "s2"]]


def test_a_record_joins_a_group_without_costing_another_its_place() -> None:
    assert judged(PEOPLE, same(("a1", "s1"))) == [["a1", "a2", "s1"]]


@pytest.mark.slow
def test_the_same_ends_with_a_difference_that_was_not_judged() -> None:
    together = same(("s0", "s1"))
    changed = [row | {"phone": "1"} if row["id"] == "s0" else row for row in PEOPLE]
    emptied = [row | {"phone": None} if row["id"] == "s0" else row for row in PEOPLE]

    assert judged(changed, together) == [["a1", "a2"]]
    assert judged(emptied, together) == [["a1", "a2"], ["s0", "s1"]]


@pytest.mark.slow
def test_not_the_same_a_veto_and_an_exception_win() -> None:
    together = same(("s0", "s1"))

    assert judged(PEOPLE, together, {pair("s0", "s1"): frozenset()}) == [["a1", "a2"]]
    assert judged(PEOPLE, together, veto=["born"]) == [["a1", "a2"]]
    assert judged(PEOPLE, together, except_=[["s0", "s1"]]) == [["a1", "a2"]]


def test_records_that_are_not_the_same_are_not_brought_together_by_a_third_one() -> None:
    groups = judged(PEOPLE, same(("s0", "s1"), ("s1", "s2")), {pair("s0", "s2"): frozenset()})

    assert groups == [["a1", "a2"], ["s0", "s1"]]


def test_records_that_a_veto_tells_apart_are_not_brought_together_by_a_third_one() -> None:
    empty = [row | {"born": None} if row["id"] == "s1" else row for row in PEOPLE]

    groups = judged(empty, same(("s0", "s1"), ("s1", "s2")), veto=["born"])

    assert groups == [["a1", "a2"], ["s0", "s1"]]


def test_a_record_that_is_gone_is_together_with_nothing() -> None:
    assert judged([row for row in PEOPLE if row["id"] != "s1"], same(("s0", "s1"))) == [["a1", "a2"]]


OURS, THEIRS = [*STRANGERS, ADA], [TWIN | {"id": "t1"}, STRANGERS[0] | {"id": "t2"}]


def partners(*pairs: tuple[str, str]) -> list[list[Value]]:
    """The ids of each group of two datasets with one_to_one, after a person said that these pairs are the same."""
    rule = SimilarRule.model_validate(
        {"name": "twins", "datasets": ["ours", "theirs"], "compare": COMPARE, "one_to_one": True}
    )
    rows = {"ours": OURS, "theirs": THEIRS}
    given = {name: Rows(TYPES, own) for name, own in rows.items()}
    relations = {name: replace(own.relation(), dataset=name) for name, own in given.items()}
    by_id = {row["id"]: (None if own is OURS else "theirs", row) for own in rows.values() for row in own}
    together = {}
    for pair_of_ids in pairs:
        (_, left), (_, right) = sides = [by_id[identifier] for identifier in pair_of_ids]
        names = frozenset((dataset, canonical_json((row["id"],))) for dataset, row in sides)
        compared = RULE.as_compared(left), RULE.as_compared(right)
        together[names] = differing_values((name, value, compared[1][name]) for name, value in compared[0].items())
    fitted = FittedSimilar.of(rule.with_judged({}, together), relations)
    groups = fitted.detect({name: own.streamed() for name, own in given.items()}, SLOT).groups
    return sorted([member.id[0] for member in group.members] for group in groups)


@pytest.mark.slow
def test_with_one_to_one_records_that_are_the_same_are_partners() -> None:
    assert partners(("a1", "t2")) == [["a1", "t2"]]


@pytest.mark.slow
def test_with_one_to_one_records_of_one_dataset_are_never_together() -> None:
    assert partners(("a1", "s0"), ("t1", "t2")) == partners() == [["a1", "t1"], ["s0", "t2"]]
    assert partners(("a1", "t2"), ("a1", "s0")) == [["a1", "t2"]]


@pytest.mark.slow
def test_with_one_to_one_the_first_of_two_partners_in_order_holds() -> None:
    assert partners(("a1", "t2"), ("s1", "t2")) == partners(("s1", "t2"), ("a1", "t2")) == [["a1", "t2"]]


@pytest.mark.parametrize("size", [30, 500])
def test_constraints_hold_in_components_of_every_size(size: int) -> None:
    """Larger components are put together by their candidates alone."""
    first, second = np.arange(size - 1), np.arange(1, size)
    together, apart = frozenset({(0, size - 1)}), frozenset({(1, 2), (0, 1)})

    grouped = list(
        clusters(
            first,
            second,
            lambda _: (first, second),
            size,
            lambda left, _: np.full(len(left), 2.0),
            Constraints(together, apart),
        )
    )

    members = [set(cluster.tolist()) for cluster in grouped]
    assert sum(map(len, members)) == len(set().union(*members)) <= size
    assert any({0, size - 1} <= group for group in members)
    assert not any({1, 2} <= group or {0, 1} <= group for group in members)


def test_united_records_resemble_another_as_much_as_the_most_similar_of_them() -> None:
    matrix = np.array([[0.0, -5, 3, -np.inf], [-5, 0, -4, 2], [3, -4, 0, 1], [-np.inf, 2, 1, 0]])

    nodes, united = unite(matrix, [(0, 1)])
    names, scored = unite_sparse({(0, 1): -5.0, (0, 2): 3.0, (1, 2): -4.0, (0, 3): -np.inf, (1, 3): 2.0}, [(0, 1)])

    assert [node.tolist() for node in nodes] == [[0, 1], [2], [3]]
    assert (united[0, 1], united[0, 2], united[1, 2]) == (3, -np.inf, 1)
    assert ({name: members.tolist() for name, members in names.items()}, scored) == (
        {0: [0, 1]},
        {(0, 2): 3.0, (0, 3): -np.inf},
    )


# Uncertain pairs


def asked(detection: Detection) -> Mapping[frozenset[Value], float]:
    return {frozenset({each.first.id[0], each.second.id[0]}): each.probability for each in detection.uncertain}


def crowd(seed: int = 1) -> list[Row]:
    """People with twins that resemble them more or less."""
    chance, rows = random.Random(seed), []
    for number in range(120):
        name = f"{chance.choice(_FIRST)} {chance.choice(_LAST)}"
        row = person(f"p{number}", name)
        rows += [row, row | {"id": f"q{number}", **chance.choice(_CHANGES)}]
    return rows


_FIRST = ("Iris", "Bela", "Tom", "Lena", "Igor", "Maya", "Omar", "Sara", "Nils", "Vera")
_LAST = ("Holm", "Varga", "Ayers", "Kraus", "Petrov", "Singh", "Haddad", "Lund", "Berg", "Falk")
_CHANGES: tuple[Row, ...] = (
    {"email": None, "phone": None},
    {"email": "x@example.net", "phone": "+1 555 0100"},
    {"born": "1901-01-01", "email": None},
    {"name": "Somebody Else", "phone": "+1 555 0101", "email": None},
)


def test_the_least_certain_pairs_are_asked_of_both_sides_of_the_threshold_and_no_record_twice() -> None:
    detection = detect(crowd())

    pairs = asked(detection)
    records = [record for each in pairs for record in each]
    threshold = 0.2
    assert 0 < len(pairs) <= 50
    assert len(records) == len(set(records))
    assert {probability >= threshold for probability in pairs.values()} == {True, False}
    assert all(0.005 < probability < 0.98 for probability in pairs.values())
    assert all(each.evidence for each in detection.uncertain)


@pytest.mark.slow
def test_the_pairs_that_are_asked_do_not_depend_on_the_order_of_rows() -> None:
    rows = crowd()
    expected = asked(detect(rows))

    random.Random(3).shuffle(rows)

    assert asked(detect(rows)) == expected


def test_records_that_share_an_id_are_no_pair_to_ask_about() -> None:
    """They share the id by mistake: a person could not name one of them."""
    rows = [person("a1", "Ada Lovelace"), person("a1", "Ada Lovelace"), *STRANGERS]
    ids = [sorted((each.first.id[0], each.second.id[0])) for each in detect(rows, compare={"name": "name"}).uncertain]

    assert ["a1", "a1"] not in ids


@pytest.mark.slow
def test_certain_pairs_and_decided_ones_are_not_asked() -> None:
    assert asked(detect(PEOPLE)) == {}

    rows = crowd()
    first = next(iter(asked(detect(rows))))
    settings: dict[str, Any] = {"except": [sorted(map(str, first))]}
    excepted = detect(rows, **settings)

    assert first not in asked(excepted)
