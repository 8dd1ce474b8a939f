"""Every change of a workbook leaves all other bytes and values alone, and its inverse brings the former bytes back."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from connectors.workbook.editing.book import Book
from connectors.workbook.editing.edits import SheetEdits
from tests.support import libreoffice, others
from tests.support.chance import SECONDS, spread
from tests.support.workbook_trial import Trial, Version, formulas, values
from tests.support.workbooks import by_openpyxl, everything, macros, orders, plain, protected, xlsx

WORKBOOKS: dict[str, Callable[[], bytes]] = {
    "plain.xlsx": plain,
    "everything.xlsx": lambda: xlsx(everything),
    "inline.xlsx": lambda: xlsx(orders, constant_memory=True),
    "protected.xlsx": lambda: xlsx(protected),
    "macros.xlsm": macros,
    "openpyxl.xlsx": by_openpyxl,
}


@pytest.mark.parametrize("name", WORKBOOKS)
def test_changes_and_their_inverse_leave_everything_else_as_it_was(name: str) -> None:
    outcomes = Trial(name, WORKBOOKS[name]()).run()

    assert outcomes["cells set"] > 3 or outcomes["cell refused"] > 3, outcomes
    assert outcomes["inexact dimension"] == (name == "openpyxl.xlsx"), outcomes  # openpyxl writes A1:A1


@libreoffice.needed
@pytest.mark.slow
def test_libreoffice_computes_the_same_values_after_changes_and_their_inverse(tmp_path: Path) -> None:
    trials = {name: Trial(name, WORKBOOKS[name]()) for name in ("everything.xlsx", "openpyxl.xlsx")}
    for trial in trials.values():
        trial.run()
    compare_computed(list(trials.values()), tmp_path)


@libreoffice.needed
@pytest.mark.slow
def test_libreoffice_computes_formulas_from_the_new_values(tmp_path: Path) -> None:
    after = Book.open("a.xlsx", xlsx(everything)).edited({"Orders": SheetEdits(cells={(2, 3): ("n", "100")})})

    cells = libreoffice.computed({"a": after}, tmp_path)["a"]

    assert (cells["Orders", 2, 7], cells["Summary", 1, 1], cells["Summary", 2, 1]) == ("200", "1220.49", "200")


@pytest.mark.chaos
@pytest.mark.timeout(3600)
def test_workbooks_that_others_made_are_edited_right_or_refused_in_a_sentence(tmp_path: Path) -> None:
    if not (SECONDS or others.FOLDER):
        pytest.skip("only the long tier fetches workbooks of others")
    workbooks = others.workbooks(tmp_path / "others")
    assert len(workbooks) >= 100, "the registries gave too few workbooks"
    outcomes: Counter[str] = Counter()
    trials = []
    for path in workbooks:
        trial = Trial(path.name, path.read_bytes())
        outcomes += trial.run(most_sheets=3)
        if trial.versions:
            trials.append(trial)
    print(f"{len(workbooks)} workbooks: {dict(outcomes)}")
    assert len(trials) > 0.9 * len(workbooks)
    chosen = spread(trials, 16)
    for start in range(0, len(chosen), 20):
        compare_computed(chosen[start : start + 20], tmp_path / str(start))


def compare_computed(trials: list[Trial], folder: Path) -> None:
    """Assert that LibreOffice computes the same before and after each edit, but for edited cells and formulas."""
    workbooks: dict[str, bytes] = {}
    versions: list[tuple[str, str, Version, bytes]] = []
    for number, trial in enumerate(trials):
        workbooks[f"b{number}"] = trial.data
        for position, version in enumerate(trial.versions[:2]):
            workbooks[f"b{number}e{position}"], workbooks[f"b{number}r{position}"] = version.edited, version.restored
            versions.append((f"b{number}", str(position), version, trial.data))
    cells = libreoffice.computed(workbooks, folder)
    for name, position, version, data in versions:
        before, edited, restored = cells[name], cells[f"{name}e{position}"], cells[f"{name}r{position}"]
        allowed = {(version.sheet, *place) for place in version.places} | formulas(data)
        assert before or not values(data)
        assert restored == before
        assert {place for place in before.keys() | edited.keys() if before.get(place) != edited.get(place)} <= allowed
