"""Cells that a stranger wrote to cost time: every normaliser takes time that grows with the cell, not its square."""

import importlib
import pkgutil
import time
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rules.normalise as package
from rules.normalise.normaliser import Normaliser
from rules.values import Type, currency_name
from rules.values.normal_forms import Form, normalised

FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")
SIZE = 40_000
MARKS = "\u0301\u0316"
"""Two marks in the wrong order: each pair costs a library that sorts by insertion the whole run."""
ARGUMENTS = {"translit": "latin", "prefix": 3, "suffix": 3, "phone": "DE", "regex": (r"\s+$", ""), "map": {"a": "b"}}
CELLS = {
    "marks": "e" + MARKS * SIZE,
    "marks without a class of their own": "\u0f73\u0301\uff9e" * SIZE,
    "marks in a name": MARKS * SIZE + "@example.org",
    "marks in a domain": "a@e" + MARKS * SIZE + ".example",
    "letters of another script": "ü." * SIZE,
    "at signs": "a@" * SIZE,
    "brackets": "<(" * SIZE,
    "zeros": "0" * 2 * SIZE,
    "groups of digits": "9-9." * (SIZE // 2),
    "blanks": " \t" * SIZE + "x",
    "signs": "+-" * SIZE,
    "single letters": "a. b/" * SIZE,
    "titles": "dr. med. " * (SIZE // 4),
    "units": "apt # " * SIZE,
    "dates": "2020-01-01T" * (SIZE // 8),
}


def normalisers() -> Iterator[Normaliser]:
    """Every normaliser of a text, by its name."""
    modules = (importlib.import_module(f"rules.normalise.{m.name}") for m in pkgutil.iter_modules(package.__path__))
    values = [value for module in modules for value in vars(module).values()]
    listed = [each for value in values for each in (value if isinstance(value, tuple) else (value,))]
    named = {each.name: each for each in listed if isinstance(each, Normaliser) and Type.TEXT in each.types}
    yield from (named[name] for name in sorted(named))


def _seconds(work: Callable[[], Any]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


@pytest.mark.slow
@pytest.mark.parametrize("normaliser", list(normalisers()), ids=lambda normaliser: normaliser.name)
def test_no_cell_costs_a_normaliser_its_square(normaliser: Normaliser) -> None:
    """80,000 marks cost the library 1.5 seconds, and four times as much when they are twice as many."""
    argument = ARGUMENTS.get(normaliser.name)

    slow = {
        name: seconds
        for name, cell in CELLS.items()
        if (seconds := _seconds(lambda cell=cell: normaliser.python(cell, argument, "UTC"))) > 0.7  # type: ignore[misc]  # a default binds
    }

    assert slow == {}


def test_a_name_of_a_currency_costs_no_square() -> None:
    assert _seconds(lambda: currency_name("EUR" + MARKS * SIZE)) < 0.7


_ODD = st.sampled_from("ae\u0301\u0316\u0327\u0345\u0344\u0f71\u0f73\u0f75\u3099\uff9e\u1161\u11a8가ﬁṩ が１")


@given(st.text(_ODD | st.characters(), min_size=1, max_size=40), st.text(_ODD, min_size=5, max_size=9))
def test_a_long_text_has_the_normal_form_that_the_library_gives_it(start: str, repeated: str) -> None:
    text = start + repeated * 70

    assert len(text) > 300
    assert [normalised(form, text) for form in FORMS] == [unicodedata.normalize(form, text) for form in FORMS]
