"""The benchmark of kind `similar` at a small size: what it measures is what the engine finds."""

import re
from pathlib import Path

import pytest

from bench.similar import ablation, accuracy, incremental, leave_one_out, made_up, mutation_table, report, sets
from bench.similar.background import Background
from bench.similar.evaluation import Prepared, replaced
from bench.similar.labelled import Labelled, Rates, reported_pairs
from bench.similar.leave_one_out import Outcome, chosen
from bench.similar.mutations import CONTROLS, MUTATIONS
from rules.kinds.similar.matching import Matching
from rules.kinds.similar.model import estimation
from rules.kinds.similar.records import Records


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Labelled:
    """A small set among the labelled ones, which is `toy`."""
    labelled = made_up.companies(120)
    monkeypatch.setitem(sets.SETS, "toy", lambda: labelled)
    return labelled


def _rates(labelled: Labelled) -> Rates:
    matching = Matching(Records.of(labelled.tables, labelled.settings), labelled.settings)
    return Rates.of(reported_pairs(matching), labelled.truth)


def test_a_set_is_measured_in_a_process_and_an_absent_specialist_is_skipped_with_a_sentence(
    toy: Labelled, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(accuracy, "PYTHON", str(tmp_path / "absent"))

    page = accuracy.sections(["toy"], figures=tmp_path / "figures.json")

    rates = _rates(toy)
    assert rates.f1 > 0.7
    assert "Splink is not installed, so it was not measured." in page
    precision, recall = report.rate(rates.precision), report.rate(rates.recall)
    assert f"| toy | 120 | 20 | {report.rate(rates.f1)} ({precision} / {recall}) |" in page
    assert "| toy | 120 | 20 | 9 | 9 |" in page


def test_pairs_that_are_remembered_give_what_the_engine_gives(toy: Labelled) -> None:
    prepared = Prepared.of(toy)

    assert prepared.rates() == prepared.rates() == _rates(toy)


def test_a_part_is_absent_only_while_it_is_measured(toy: Labelled) -> None:
    whole = _rates(toy)

    page = ablation.sections(["toy"])

    assert f"| toy | {report.rate(whole.f1)} |" in page
    assert all(part.name in page for part in ablation.PARTS)
    assert _rates(toy) == whole


def test_a_constant_has_its_value_again_afterwards() -> None:
    shipped = estimation.BELIEF

    with replaced(estimation, "BELIEF", 1.0):
        during = estimation.BELIEF

    assert (during, estimation.BELIEF) == (1.0, shipped)


def test_constants_are_chosen_without_the_whole_family_of_the_set_left_out() -> None:
    low, high = (0.1, 1.0), (0.9, 1.0)
    outcomes = {
        "febrl1": Outcome(builtin={low: 0.0, high: 1.0}),
        "febrl2": Outcome(builtin={low: 0.0, high: 1.0}),
        "restaurants": Outcome(builtin={low: 0.7, high: 0.6}),
    }

    choices = {name: chosen(name, outcomes, lambda outcome: outcome.builtin, low) for name in outcomes}

    assert choices == {"febrl1": low, "febrl2": low, "restaurants": high}


def test_the_shipped_constants_are_in_the_grids() -> None:
    assert leave_one_out.SHIPPED_BUILTIN[0] in leave_one_out.THRESHOLDS
    assert leave_one_out.SHIPPED_BUILTIN[1] in leave_one_out.NEIGHBOURS
    assert estimation.BUILTIN_ASSIGNED in leave_one_out.ASSIGNED
    belief, share, least = leave_one_out.SHIPPED_ESTIMATED
    assert belief in leave_one_out.BELIEFS
    assert share in leave_one_out.SHARES_OF_BELIEF
    assert (least, estimation.LEAST_ASSIGNED) in leave_one_out.LEAST


def test_a_part_of_a_set_keeps_together_what_belongs_together() -> None:
    whole = made_up.companies(600)

    part = whole.at_most(150)

    assert 100 < part.records < 200
    assert 0 < len(part.truth) < len(whole.truth)
    names = part.tables[0]["city"].to_pylist()
    originals = {tuple(row.values()) for row in whole.tables[0].to_pylist()}
    assert {tuple(row.values()) for row in part.tables[0].to_pylist()} <= originals
    assert all(max(pair) < len(names) for pair in part.truth)


@pytest.mark.parametrize("kind", MUTATIONS)
def test_every_mutation_applies_to_some_records_and_changes_them(kind: str) -> None:
    mutated = mutation_table.Mutated.of(kind, records=10, copies=3)

    ways = [way for way, _ in mutated.origin.values()]
    assert {way: ways.count(way) for way in ways} == dict.fromkeys(MUTATIONS[kind] | CONTROLS[kind], 3)
    assert all(mutated.rows[copy] != mutated.rows[original] for copy, (_, original) in mutated.origin.items())


def test_the_same_seed_makes_the_same_records() -> None:
    first, second = (Background(5).records("persons") for _ in range(2))

    assert [next(first) for _ in range(50)] == [next(second) for _ in range(50)]


def test_a_section_is_written_in_place_of_the_former_one(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    report.write(page, "About.", f"{report.section('Accuracy', 'old')}\n\n{report.section('Mutations', 'kept')}")

    report.write(page, "About.", report.section("Accuracy", "new"))

    assert page.read_text() == f"{report.HEAD}About.\n\n### Accuracy\n\nnew\n\n### Mutations\n\nkept\n"


@pytest.mark.slow
def test_an_e_mail_built_from_names_is_measured_with_and_without_what_recognises_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sets.SETS, "toy", lambda: made_up.persons(300))

    page = ablation.sections(["toy"])

    [heads] = [line for line in page.splitlines() if line.startswith("| set |")][:1]
    [row] = [line for line in page.splitlines() if line.startswith("| toy |")][:1]
    assert row.split("|")[heads.split("|").index(" no derived e-mail ")].strip()


@pytest.mark.slow
def test_a_run_that_compares_new_records_is_measured_next_to_one_that_compares_all() -> None:
    page = incremental.sections(3_000, 60, 1)

    full, new = (re.search(rf"\| compares {what} \|(.*)\|", page) for what in ("full", "new"))
    assert full is not None
    assert new is not None
    assert full[1].split("|")[1].strip() == "1.00"
    assert float(new[1].split("|")[2]) > 0
    first = re.search(r"Findings after the first run: (\d+) and (\d+)", page)
    assert first is not None
    assert first[1] == first[2]
    assert int(first[1]) > 250
