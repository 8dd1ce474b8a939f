"""Twin records: found without labels, whatever the order of records, with reasons that add up."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.kinds.similar.clusters import Constraints
from rules.kinds.similar.degrees import DEGREES, counts
from rules.kinds.similar.evidence import Reason, evidence
from rules.kinds.similar.matching import Matching
from rules.kinds.similar.model.model import Model
from rules.kinds.similar.records import Records
from rules.kinds.similar.settings import Compared, Settings
from rules.kinds.similar.types import SemanticType
from tests.rules.kinds.similar.people import COMPARE, SETTINGS, people, with_households


def matching(table: pa.Table, model: Model | None = None, by: Settings = SETTINGS) -> Matching:
    return Matching(Records.of([table], by), by, model)


def matching_of(tables: list[pa.Table], by: Settings) -> Matching:
    return Matching(Records.of(tables, by), by)


def together(engine: Matching, table: pa.Table, name: str = "person") -> list[list[int]]:
    """Return the clusters by a column that names the records."""
    names, rows = table[name].to_pylist(), engine.records.rows
    return sorted(sorted(names[row] for row in rows[cluster].tolist()) for cluster in engine.clusters())


def with_row(table: pa.Table) -> pa.Table:
    return table.append_column("row", pa.array(range(table.num_rows)))


@pytest.mark.slow
@pytest.mark.parametrize("learnt", [False, True])
def test_twins_are_found_with_built_in_and_with_estimated_weights(learnt: bool):
    """One typo in any column hides no twin, and no two persons are taken for one."""
    table = people(400, 60)

    model = matching(table).estimate().model if learnt else None

    assert together(matching(table, model), table) == [[person, person] for person in range(60)]


@pytest.mark.slow
@pytest.mark.parametrize("learnt", [False, True])
def test_members_of_a_household_are_not_one_person(learnt: bool):
    """They share a surname, a phone and an address, but neither given name, date of birth nor e-mail."""
    table = with_households(people(400, 60), members=120)
    by = Settings.of({**COMPARE, "phone": "phone"})

    model = matching(table, by=by).estimate().model if learnt else None

    assert together(matching(table, model, by), table) == [[person, person] for person in range(60)]


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_records_changes_nothing(seed: int):
    """Clusters, weights and the estimated model are the same to the bit."""
    table = with_row(with_roles_and_generations(people(150, 30)))
    shuffled = table.take(np.random.default_rng(seed).permutation(table.num_rows))

    first, second = (matching(each) for each in (table, shuffled))

    assert first.estimate().model == second.estimate().model
    assert together(first, table, "row") == together(second, shuffled, "row")
    for ours, theirs in zip(first.pairs(), second.pairs(), strict=True):
        assert np.array_equal(ours.weights, theirs.weights)


@pytest.mark.slow
def test_chunks_of_a_table_change_nothing():
    table = with_row(people(150, 30))
    chunked = pa.concat_tables([table.slice(0, 7), table.slice(7, 100), table.slice(107)])

    assert together(matching(chunked), chunked, "row") == together(matching(table), table, "row")
    assert matching(chunked).estimate().model == matching(table).estimate().model


def with_roles_and_generations(table: pa.Table) -> pa.Table:
    """Return people of whom some share a mailbox and some names end in a generation."""
    rows = table.to_pylist()
    for number, row in enumerate(rows):
        if number % 3 == 0:
            row["email"] = f"info@firm{number % 7}.example"
        if number % 5 == 0:
            row["last"] += (" Sr", " Jr", " III")[number % 3]
    return pa.Table.from_pylist(rows, schema=table.schema)


CHANGED = (
    Settings(SETTINGS.compare, weights={"email": 0.3, "city": 0, "born": 4}),
    Settings(SETTINGS.compare, levels={"first": ("same", "swapped"), "email": ("typo",), "born": ("same",)}),
    Settings(SETTINGS.compare, levels={"last": ("alike",), "street": ("same", "nearly")}, weights={"last": 2}),
)


@pytest.mark.parametrize("by", [SETTINGS, *CHANGED])
def test_no_pair_above_the_threshold_is_dropped_early(by: Settings):
    """Bounds of pairs that are not compared in full are never below their log odds."""
    table = people(200, 60)
    for each in (table, with_roles_and_generations(table)):
        engine = matching(each, by=by)

        at_least = sum(len(batch.first) for batch in engine.pairs())

        every = engine.score(engine.candidates.first, engine.candidates.second)
        assert at_least == int((every.bits >= engine.minimum).sum()) > 0


@pytest.mark.parametrize("by", [SETTINGS, *CHANGED])
def test_weights_of_the_reasons_add_up_to_the_score(by: Settings):
    table = people(100, 20)
    engine = matching(table, by=by)
    pairs = [pair for batch in engine.pairs() for pair in zip(batch.first.tolist(), batch.second.tolist(), strict=True)]

    reasons = list(evidence(engine, pairs))

    assert len(reasons) == len(pairs)
    assert all(sum((each.weight for each in pair.reasons), Decimal(0)) == pair.score for pair in reasons)


def test_a_pair_says_in_words_what_is_for_and_against_it():
    table = pa.table(
        {
            "first": ["Ann", "Ann", "Bob"],
            "last": ["Miller", "Millar", "Stone"],
            "born": ["1970-03-01", "1970-03-01", "1980-01-01"],
            "email": [None, "ann@a.example", "bob@b.example"],
            "street": ["12 High Street", "7 Low Road", "1 Main Street"],
            "city": ["Leeds", "Leeds", "York"],
        }
    )
    engine = matching(table)
    place_of = {int(row): place for place, row in enumerate(engine.records.rows)}

    (pair,) = evidence(engine, [(place_of[0], place_of[1])])

    assert "same born" in pair.words
    assert "last is one letter apart" in pair.words
    assert "street has other numbers" in pair.words
    assert "email" not in pair.words


def reasons_of(columns: dict[str, list[str | None]], types: dict[str, str], **settings: Any) -> dict[str, Reason]:
    """Return the reasons of the first two of some records, by feature."""
    by = Settings.of(types, **settings)
    engine = matching(pa.table(columns), by=by)
    place_of = {int(row): place for place, row in enumerate(engine.records.rows)}
    (pair,) = evidence(engine, [(place_of[0], place_of[1])])
    return {reason.column: reason for reason in pair.reasons}


NUMBERS: dict[str, list[str | None]] = {
    "name": ["Ann Miller", "Ann Miller", "Bob Stone", "Eve Hall"],
    "phone": ["030 1234567", "030 1234568", "030 7654321", "030 7772223"],
    "born": ["1970-03-01", "1970-03-20", "1980-01-01", "1981-05-05"],
}
TYPES = {"name": "name", "phone": "phone", "born": "date"}


def test_a_weight_multiplies_what_a_column_says():
    plain = reasons_of(NUMBERS, TYPES)

    weighted = reasons_of(NUMBERS, TYPES, weights={"phone": 2, "born": 0})

    assert float(weighted["phone"].weight) == pytest.approx(2 * float(plain["phone"].weight), abs=0.02)
    assert weighted["born"].weight == 0
    assert weighted["name"].weight == plain["name"].weight


def test_a_level_that_is_not_chosen_counts_as_different():
    plain = reasons_of(NUMBERS, TYPES)

    restricted = reasons_of(NUMBERS, TYPES, levels={"phone": ("same", "local")})

    assert (plain["phone"].level, restricted["phone"].level) == ("typo", "different")
    assert restricted["phone"].weight < 0 < plain["phone"].weight


@pytest.mark.parametrize(
    ("chosen", "days", "level"),
    [
        ("near", "1970-04-19", "near"),
        ("near", "1970-04-02", "week"),
        ("week", "1970-04-19", "different"),
        ("week", "1970-04-02", "week"),
        ("year", "1970-04-02", "different"),
    ],
)
def test_a_distance_includes_what_is_closer(chosen: str, days: str, level: str):
    columns = {**NUMBERS, "born": ["1970-03-31", days, "1980-01-01", "1981-05-05"]}

    assert reasons_of(columns, TYPES, levels={"born": (chosen,)})["born"].level == level


def test_every_level_of_a_model_belongs_to_a_degree_that_rules_can_choose():
    """The table of degrees has what the features of each type have, in both forms of dates, and nothing else."""
    columns = {
        semantic_type: Compared(semantic_type, semantic_type, (semantic_type,)) for semantic_type in SemanticType
    }
    texts = ["Bob 01", "Robert 10;x@a.example", "bill 11;y@b.example;0301234567;0309876543"] * 4
    for semantic_type, column in columns.items():
        table = pa.table({semantic_type: texts})
        for tables in ([table], [table, table]):
            by = Settings((column,))
            features = matching_of(tables, by).comparison.features
            names = {level.name for feature in features for level in feature.levels[2:]}
            degrees = {degree for degree in DEGREES[semantic_type] if any(counts(name, (degree,)) for name in names)}
            assert all(any(counts(name, (degree,)) for degree in degrees) for name in names)
            optional = {"look", "short form", "days", "swapped"}
            assert set(DEGREES[semantic_type]) - degrees <= optional


def test_swapped_names_are_the_same_person():
    table = pa.concat_tables([people(200, 20), people(1, 0)]).combine_chunks()
    firsts, lasts = (table[name].to_pylist() for name in ("first", "last"))
    firsts[-1], lasts[-1] = lasts[0], firsts[0]
    for name, values in (("first", firsts), ("last", lasts)):
        table = table.set_column(table.column_names.index(name), name, pa.array(values))

    engine = matching(table)
    rows = [engine.records.rows[cluster].tolist() for cluster in engine.clusters()]

    assert any({0, table.num_rows - 1} <= set(cluster) for cluster in rows)


def test_records_that_differ_in_a_veto_column_are_never_together():
    table = people(150, 40)
    vetoed = Settings(SETTINGS.compare, veto=("born",))
    born = table["born"].to_pylist()

    engine = matching(table, by=vetoed)
    clusters = [engine.records.rows[cluster].tolist() for cluster in engine.clusters()]

    assert clusters
    assert all(len({born[row] for row in rows}) == 1 for rows in clusters)


def test_judgements_of_people_hold():
    """A pair judged different is apart; one judged the same is together."""
    table = people(150, 30)
    engine = matching(table)
    twins = next(cluster for cluster in engine.clusters()).tolist()
    strangers = next(place for place in range(len(engine.records)) if place not in twins)
    pair = (min(twins[0], strangers), max(twins[0], strangers))

    apart = list(engine.clusters(Constraints(apart=frozenset({(twins[0], twins[1])}))))
    joined = list(engine.clusters(Constraints(together=frozenset({pair}))))

    assert not any(set(twins[:2]) <= set(cluster.tolist()) for cluster in apart)
    assert any(set(pair) <= set(cluster.tolist()) for cluster in joined)


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_few_records_are_compared(size: int):
    table = people(3, 0).slice(0, size)

    engine = matching(table)

    assert list(engine.clusters()) == []
    assert engine.estimate().model.thin is not None


def test_three_records_hold_a_twin():
    table = people(2, 1)

    assert together(matching(table), table) == [[0, 0]]


@pytest.mark.slow
def test_equal_records_are_twins_and_a_large_block_is_reported():
    """300 equal records are not compared pair by pair."""
    table = pa.concat_tables([people(1, 0)] * 300 + [people(1500, 0, seed=2)]).combine_chunks()

    engine = matching(table)

    assert any(step.blocks for step in engine.candidates.left_out)
    assert max(map(len, engine.clusters())) == 300


def test_only_records_that_agree_in_a_key_of_block_are_compared():
    table = people(150, 40)
    born, last, city = (table[name].to_pylist() for name in ("born", "last", "city"))

    engine = matching(table, by=Settings(SETTINGS.compare, block=(("born",), ("last", "city"))))
    rows = engine.records.rows
    pairs = set(zip(rows[engine.candidates.first].tolist(), rows[engine.candidates.second].tolist(), strict=True))

    expected = {
        frozenset((a, b))
        for a in range(table.num_rows)
        for b in range(a)
        if born[a] == born[b] or (last[a], city[a]) == (last[b], city[b])
    }
    assert {frozenset(pair) for pair in pairs} == expected
