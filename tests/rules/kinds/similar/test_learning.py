"""What a rule learns from records and from judged pairs, and the file that holds it."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from rules.document.tree import MapNode, data, parse
from rules.kinds.similar.matching import Matching
from rules.kinds.similar.model.curve import Curve
from rules.kinds.similar.model.document import ModelDocument
from rules.kinds.similar.model.judged import Calibration, Judged
from rules.kinds.similar.model.model import Model
from rules.kinds.similar.records import Records
from rules.kinds.similar.settings import Settings
from rules.kinds.similar.types import SemanticType
from tests.rules.kinds.similar.people import COMPARE, SETTINGS, people

TYPES = {name: SemanticType(type_name) for name, type_name in COMPARE.items()}


def engine(persons: int = 150, twins: int = 40, model: Model | None = None) -> Matching:
    return Matching(Records.of([people(persons, twins)], SETTINGS), SETTINGS, model)


def reread(text: str) -> ModelDocument:
    root = parse(text).root
    assert isinstance(root, MapNode)
    return ModelDocument.model_validate(data(root))


def test_a_model_survives_its_file():
    """The text of the file, read as a configuration is, gives the same weights to four digits."""
    model = engine().estimate().model

    document = model.document(TYPES)
    again = reread(document.text("Written for a test."))

    assert again == document
    learnt, written = engine(model=Model.of(again)), engine(model=model)
    assert learnt.threshold == pytest.approx(written.threshold, rel=1e-3)
    for ours, theirs in zip(learnt.scoring.tables, written.scoring.tables, strict=True):
        assert ours == pytest.approx(theirs, abs=0.01)


@pytest.mark.parametrize(
    ("before", "after"),
    [("version: 1", "version: 2"), ("match: 0.", "match: -0."), ("twins: ", "twins: -"), ("features:", "feature:")],
)
def test_a_file_with_mistakes_is_refused(before: str, after: str):
    text = engine().estimate().model.document(TYPES).text("Written for a test.")
    assert before in text

    with pytest.raises(ValidationError):
        reread(text.replace(before, after))


def test_a_level_that_a_file_lacks_has_its_built_in_weight():
    """A model of an earlier version says nothing about levels that were added later."""
    document = engine().estimate().model.document(TYPES)
    email = {name: shares for name, shares in document.features["email"].items() if name != "typo"}

    model = Model.of(document.model_copy(update={"features": {**document.features, "email": email}}))

    number = next(n for n, feature in enumerate(engine().comparison.features) if feature.name == "email")
    levels = [level.name for level in engine().comparison.features[number].levels]
    tables = [engine(model=each).scoring.tables[number] for each in (model, Model.of(document))]
    differing = [levels[level] for level in np.flatnonzero(tables[0] != tables[1]).tolist()]
    assert set(differing) <= {name for name in levels if name.startswith("typo")}
    assert differing


def test_an_estimate_respects_the_weights_and_levels_of_the_rule():
    """A column that does not count moves no probability, and a level that is not chosen is never counted."""
    by = Settings.of(COMPARE, weights={"city": 0}, levels={"email": ("same",)})
    changed = Matching(engine().records, by)

    model = changed.estimate().model

    learnt = Matching(changed.records, by, model)
    city, email = (
        next(n for n, each in enumerate(changed.comparison.features) if each.name == name) for name in ("city", "email")
    )
    assert not learnt.scoring.tables[city].any()
    names = [level.name for level in changed.comparison.features[email].levels]
    table = learnt.scoring.tables[email]
    for number, name in enumerate(names[2:], 2):
        agreement = name.partition(", ")[2]
        different = f"different, {agreement}" if agreement else "different"
        assert name.startswith("same") or table[number] == table[names.index(different)]


def _pairs_with(matching: Matching, least: float, most: float) -> list[tuple[int, int]]:
    scored = matching.score(matching.candidates.first, matching.candidates.second)
    chosen = np.flatnonzero((scored.bits > least) & (scored.bits < most))
    return list(zip(scored.first[chosen].tolist(), scored.second[chosen].tolist(), strict=True))


def test_what_people_say_moves_the_weights():
    """If people call all twins different, what they agree in counts less, and fewer twins are expected."""
    plain = engine()
    twins = _pairs_with(plain, 0, 100)

    judged = plain.estimate(Judged.of(dict.fromkeys(twins, False), plain.records)).model

    unjudged = plain.estimate().model
    assert judged.learnt_from < unjudged.learnt_from - len(twins) / 2
    same = judged.shares["email"].levels.index("same, both names agree")
    assert judged.shares["email"].match[same] < unjudged.shares["email"].match[same]


def test_a_judged_pair_that_no_pass_finds_counts():
    blocked = Matching(engine().records, Settings.of(COMPARE, block=(("email",),)))
    first, second = np.triu_indices(len(blocked.records), 1)
    packed = first * len(blocked.records) + second
    unseen = packed[~np.isin(packed, blocked.candidates.packed)][:30]
    pairs = [(int(pair) // len(blocked.records), int(pair) % len(blocked.records)) for pair in unseen]

    judged = blocked.estimate(Judged.of(dict.fromkeys(pairs, True), blocked.records))

    assert judged.model.learnt_from > blocked.estimate().model.learnt_from + 25


def test_few_judgements_calibrate_nothing_and_many_do():
    bits = np.linspace(0.6, 0.99, 40)

    assert Calibration.of(bits[:9], np.zeros(9, bool)) == Calibration()
    doubtful = Calibration.of(bits, np.zeros(40, bool))
    assert (doubtful.calibrated(bits) < bits).all()
    assert doubtful.of_model(float(doubtful.calibrated(np.array([0.7]))[0])) == pytest.approx(0.7, abs=1e-6)


def test_a_threshold_has_the_expected_precision_and_lies_between_pairs():
    probabilities = np.array([0.99, 0.98, 0.97, 0.5, 0.1])
    curve = Curve.of(probabilities, probabilities, float(probabilities.sum()))

    threshold = curve.cut(0.95, 0.05, 0.999)

    assert 0.5 < threshold < 0.97
    pairs, precision, recall = curve.at(threshold)
    assert (pairs, precision) == (3, pytest.approx(0.98))
    assert recall == pytest.approx(2.94 / probabilities.sum())
    assert curve.cut(0.5, 0.05, 0.999) == 0.05


@pytest.mark.slow
def test_an_address_built_from_a_whole_name_is_counted_once():
    """Namesakes have nearly the same address; that is no evidence of its own, so they are no twins."""
    table = people(600, 60, seed=9)
    names = [
        f"{first} {last}" for first, last in zip(table["first"].to_pylist(), table["last"].to_pylist(), strict=True)
    ]
    compared = Settings.of({"name": "name", "email": "email", "born": "date"})
    records = Records.of([table.append_column("name", [names])], compared)

    matching = Matching(records, compared)

    assert matching.comparison.derived is not None
    assert 50 <= matching.estimate().model.learnt_from <= 75
