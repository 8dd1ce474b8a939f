"""The naive designs of `python tests/mutants` can still be put in: their code and their tests are where they were."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MUTANTS = runpy.run_path(str(ROOT / "tests" / "mutants" / "naive.py"), run_name="naive")["MUTANTS"]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_replaces_code_that_is_there_once_and_names_tests_that_exist(mutant: Any) -> None:
    for path, code, _ in mutant.edits:
        assert (ROOT / path).read_text(encoding="utf-8").count(code) == 1, path
    named = [argument.partition("::") for argument in mutant.tests if argument.startswith("tests/")]
    assert named
    for path, _, test in named:
        assert test.partition("[")[0] in (ROOT / path).read_text(encoding="utf-8")
