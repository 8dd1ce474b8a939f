"""Functions compiled per dialect mean the same on every engine."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.functions import (
    calendar_field,
    characters,
    exact,
    find,
    in_calendar,
    is_ascii,
    micros_between,
    plain,
    render,
    seen,
    squeezed,
    strip,
    trim_sp,
    trimmed,
)
from rules.normalise.text import squeeze, trim
from rules.values import Type
from rules.values.normal_forms import INVISIBLE
from tests.rules.expressions.engines import ENGINES, Run, opened
from tests.support.chance import examples

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


@pytest.mark.slow
def test_exact_orders_by_code_point(run: Run) -> None:
    @settings(max_examples=examples(40))
    @given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=60))
    def check(rows: list[tuple[str, str]]) -> None:
        less = run([Type.TEXT, Type.TEXT], rows, lambda a, b: sa.case((exact(a) < exact(b), 1), else_=0))

        assert less == [int(a < b) for a, b in rows]

    check()


@pytest.mark.slow
def test_text_functions_mean_what_python_means(run: Run) -> None:
    cases: list[tuple[Any, Any]] = [
        (lambda x: sa.case((is_ascii(x), 1), else_=0), lambda s: int(s.isascii())),
        (lambda x: trim_sp(plain(x)), lambda s: s.strip(" ")),
        (lambda x: strip(plain(x)), str.strip),
        (lambda x: characters(plain(x)), len),
        (lambda x: find(x, sa.literal("a")), lambda s: s.find("a") + 1),
    ]

    @settings(max_examples=examples(40))
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


@pytest.mark.server
def test_exact_overrules_the_collations_postgresql_can_have(postgres_url: str) -> None:
    engine = sa.create_engine(postgres_url)
    with engine.begin() as connection:
        connection.execute(sa.text("create extension citext"))
        connection.execute(
            sa.text("create collation blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
        )
        connection.execute(sa.text("create table t (c citext, b text collate blind)"))
        connection.execute(sa.text("insert into t values ('a1', 'a1'), ('A1', 'A1'), ('Ä1', 'Ä1')"))
        table = sa.table("t", sa.column("c", sa.Text()), sa.column("b", sa.Text()))

        for column in table.c:
            by_collation = connection.execute(sa.select(sa.func.count(sa.distinct(column)))).scalar_one()
            by_code_point = connection.execute(sa.select(sa.func.count(sa.distinct(exact(column))))).scalar_one()
            lowered = connection.execute(sa.select(sa.func.lower(strip(plain(column))).label("x"))).scalars()
            result = connection.execute(sa.select(find(column, sa.literal("A")))).scalars()

            assert (by_collation < 3, by_code_point) == (True, 3)
            assert {t for t in lowered if t.isascii()} == {"a1"}
            assert sorted(result) == [0, 0, 1]
    engine.dispose()


@pytest.mark.server
def test_fields_outside_pythons_calendar_are_null_on_postgresql(postgres_url: str) -> None:
    engine = sa.create_engine(postgres_url)
    times = ["0001-01-01", "9999-12-31", "infinity", "-infinity", "0044-03-15 BC", "10000-01-01", None]
    with engine.begin() as connection:
        connection.execute(sa.text("create table t (n int, d date, at timestamptz)"))
        connection.execute(sa.text("set local time zone 'America/New_York'"))
        insert = sa.text(
            "insert into t select :n, cast(x as date), cast(x as timestamp) at time zone 'UTC'"
            " from (select cast(:t as text) as x) as texts"
        )
        connection.execute(insert, [{"n": n, "t": t} for n, t in enumerate(times)])
        columns = sa.column("d", sa.Date()), sa.column("at", sa.DateTime(timezone=True))
        fields = [calendar_field(column, field) for column in columns for field in ("year", "isodow")]
        statement = sa.select(*(f.label(f"x{n}") for n, f in enumerate(fields))).select_from(sa.table("t"))

        answers = connection.execute(statement.order_by(sa.column("n"))).all()

        assert [tuple(row) for row in answers] == [(1, 1, 1, 1), (9999, 5, 9999, 5), *[(None,) * 4] * 5]
    engine.dispose()


@pytest.mark.server
@pytest.mark.parametrize(
    ("charset", "collation"),
    [("latin1", "latin1_german2_ci"), ("utf8mb4", "utf8mb4_turkish_ci"), ("utf8mb4", "utf8mb4_unicode_ci")],
)
def test_exact_overrules_the_collations_mariadb_can_have(mariadb_url: str, charset: str, collation: str) -> None:
    engine = sa.create_engine(mariadb_url)
    values = ["I1", "i1", "I1 ", "Ä1", "AE1", "ä1"]
    with engine.begin() as connection:
        connection.execute(sa.text(f"create table t (c varchar(20)) character set {charset} collate {collation}"))
        connection.execute(sa.text("insert into t values (:v)"), [{"v": v} for v in values])
        column = sa.table("t", sa.column("c", sa.Text())).c.c

        by_code_point = connection.execute(sa.select(sa.func.count(sa.distinct(exact(column))))).scalar_one()
        equal = [
            connection.execute(sa.select(column).where(exact(column) == exact(sa.literal(v)))).scalars().all()
            for v in values
        ]
        lowered = connection.execute(sa.select(sa.func.lower(plain(column))).where(is_ascii(column))).scalars().all()

        assert by_code_point == len(values)
        assert equal == [[v] for v in values]
        assert sorted(lowered) == ["ae1", "i1", "i1", "i1 "]
    engine.dispose()


@pytest.mark.server
def test_exact_tells_long_texts_apart_that_begin_alike_on_mariadb(mariadb_url: str) -> None:
    """Comparing looks at every byte; only sorting there stops at max_sort_length."""
    engine = sa.create_engine(mariadb_url)
    with engine.connect() as connection:
        a, b = (exact(sa.literal("x" * 5_000 + end)) for end in "ab")

        assert connection.execute(sa.select(a == b)).scalar_one() == 0
    engine.dispose()


@pytest.mark.parametrize("name", ["oracle", "DuckDB"])
def test_an_unknown_dialect_is_told_with_the_known_ones(name: str) -> None:
    with pytest.raises(ValueError, match="use one of duckdb, postgresql, mysql, sqlite"):
        render(sa.select(sa.literal(1)), name)


def test_decimals_are_rendered_exactly_for_duckdb() -> None:
    statement = sa.select(sa.cast(sa.literal("9007199254740993.01", sa.String()), sa.Numeric()))

    assert render(statement, "duckdb") == "SELECT CAST('9007199254740993.01' AS DECIMAL(38, 10)) AS anon_1"


@pytest.mark.server
@pytest.mark.parametrize(
    ("database", "texts"),
    [
        ("postgres_url", ["0001-01-01", "9999-12-31", "infinity", "-infinity", "0044-03-15 BC"]),
        ("mariadb_url", ["0001-01-01", "9999-12-31", "0000-00-00", "2026-00-15", "2026-03-00"]),
    ],
)
def test_days_that_python_has_not_are_null_in_a_calendar(
    database: str, texts: list[str], request: pytest.FixtureRequest
) -> None:
    engine = sa.create_engine(request.getfixturevalue(database))
    with engine.begin() as connection:
        if engine.dialect.name != "postgresql":
            connection.execute(sa.text("set sql_mode = ''"))
        instant = "timestamptz" if engine.dialect.name == "postgresql" else "datetime"
        connection.execute(sa.text(f"create table t (n int, d date, at {instant})"))
        insert = sa.text("insert into t values (:n, :d, :at)")
        connection.execute(insert, [{"n": n, "d": t, "at": t} for n, t in enumerate(texts)])
        columns = sa.column("d", sa.Date()), sa.column("at", sa.DateTime(timezone=True))
        days = [in_calendar(column, engine.dialect.name).is_(None) for column in columns]
        statement = sa.select(*(d.label(f"x{n}") for n, d in enumerate(days))).select_from(sa.table("t"))

        answers = connection.execute(statement.order_by(sa.column("n"))).all()

        assert [tuple(map(bool, row)) for row in answers] == [(False,) * 2] * 2 + [(True,) * 2] * 3
    engine.dispose()


BORDERS = [code for first, last in INVISIBLE for code in (first - 1, first, last, last + 1)]
UNSEEN = st.text(st.sampled_from([*map(chr, BORDERS), " ", "\xa0", "a", "ä"]), max_size=8)


@pytest.mark.slow
def test_invisible_characters_are_dropped_wherever_they_are(run: Run) -> None:
    """SQLite has no regular expressions: there the forms are for texts of ASCII."""

    @settings(max_examples=examples(15))
    @given(st.lists(UNSEEN, min_size=1, max_size=40))
    def check(texts: list[str]) -> None:
        texts += [f"a{chr(code)}b" for code in BORDERS]
        if run.dialect == "sqlite":
            texts = [text.encode("ascii", "ignore").decode() for text in texts]
        rows = [(text,) for text in texts]

        assert run([Type.TEXT], rows, lambda x: trimmed(plain(x))) == list(map(trim, texts))
        assert run([Type.TEXT], rows, lambda x: trimmed(sa.func.lower(plain(x)))) == [
            trim(text) for text in run([Type.TEXT], rows, lambda x: sa.func.lower(plain(x)))
        ]
        if run.dialect != "sqlite":
            assert run([Type.TEXT], rows, lambda x: squeezed(seen(plain(x)))) == list(map(squeeze, texts))

    check()
