"""Functions compiled per dialect mean the same on every engine."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from engines_support import ENGINES, Run, opened
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.functions import characters, exact, find, is_ascii, micros_between, plain, render, strip, trim_sp
from rules.values import Type

TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=12)
SPACED = st.text(st.sampled_from(" \t\n\x1c\x1f\x85\xa0\u2003\u3000aAä"), max_size=8)


@pytest.fixture(params=ENGINES)
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    with opened(request) as engine:
        yield engine


def test_exact_tells_case_blanks_and_accents_apart(run: Run) -> None:
    rows = [("A1", "A1"), ("A1", "A1 "), ("A1", "a1"), ("A1", "Ä1"), ("é", "e\u0301")]

    same = run([Type.TEXT, Type.TEXT], rows, lambda a, b: sa.case((exact(a) == exact(b), 1), else_=0))

    assert same == [1, 0, 0, 0, 0]


def test_exact_orders_by_code_point(run: Run) -> None:
    @settings(max_examples=40)
    @given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=60))
    def check(rows: list[tuple[str, str]]) -> None:
        less = run([Type.TEXT, Type.TEXT], rows, lambda a, b: sa.case((exact(a) < exact(b), 1), else_=0))

        assert less == [int(a < b) for a, b in rows]

    check()


def test_text_functions_mean_what_python_means(run: Run) -> None:
    cases: list[tuple[Any, Any]] = [
        (lambda x: sa.case((is_ascii(x), 1), else_=0), lambda s: int(s.isascii())),
        (lambda x: trim_sp(plain(x)), lambda s: s.strip(" ")),
        (lambda x: strip(plain(x)), str.strip),
        (lambda x: characters(plain(x)), len),
        (lambda x: find(x, sa.literal("a")), lambda s: s.find("a") + 1),
    ]

    @settings(max_examples=40)
    @given(st.lists(TEXT | SPACED, min_size=1, max_size=60))
    def check(texts: list[str]) -> None:
        for sql, python in cases:
            assert run([Type.TEXT], [(t,) for t in texts], sql) == [python(t) for t in texts]

    check()


def test_micros_between_is_exact_to_the_microsecond(run: Run) -> None:
    start = dt.datetime(2026, 3, 29, 0, 30, tzinfo=dt.UTC)
    rows = [(start, start + dt.timedelta(microseconds=n)) for n in (-1, 0, 1, 600_000_000, 86_400_000_001)]
    if run.dialect == "sqlite":
        naive = [tuple(x.replace(tzinfo=None) for x in row) for row in rows]
        assert run([Type.INSTANT, Type.INSTANT], naive, micros_between) == [-1, 0, 1, 600_000_000, 86_400_000_001]
        return

    assert run([Type.INSTANT, Type.INSTANT], rows, micros_between) == [-1, 0, 1, 600_000_000, 86_400_000_001]


def test_micros_between_counts_days_of_dates(run: Run) -> None:
    rows = [(dt.date(2026, 3, 28), dt.date(2026, 3, 30)), (dt.date(2026, 1, 1), None)]

    assert run([Type.DATE, Type.DATE], rows, micros_between) == [2 * 86_400_000_000, None]


@pytest.mark.parametrize("dialect", ["duckdb", "postgresql", "sqlite"])
def test_a_rendered_text_is_quoted_and_never_escaped(dialect: str) -> None:
    assert render(sa.select(sa.literal("it's 5% \\ :x")), dialect).startswith("SELECT 'it''s 5% \\ :x'")


def test_a_rendered_text_escapes_the_backslash_for_mysql() -> None:
    assert render(sa.select(sa.literal("it's 5% \\")), "mysql") == "SELECT 'it''s 5% \\\\' AS anon_1"


def test_a_nul_character_cannot_be_rendered() -> None:
    with pytest.raises(ValueError, match="NUL"):
        render(sa.select(sa.literal("a\x00")), "duckdb")
