"""Amounts as people write them, read by a declared decimal: one sign, one currency, the same in every text."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from connectors import amounts
from connectors.coerce import Coercion
from connectors.declared import Notation, declared
from tests.support.cli import Project

NEGATIVE = (
    "(1,234.50)", "-1234.50", "1,234.50-", "-$1,234.50", "$-1,234.50", "\u22121,234.50", "1,234.50 DR", "1,234.50dr",
    "USD -1,234.50", "- 1,234.50", "($1,234.50)", "$(1,234.50)", "(1,234.50 EUR)", "EUR 1,234.50-", "1,234.50 €-",
    "1,234.50- EUR", "-1,234.50 €", "( 1,234.50 )", "USD 1,234.50 DR",
)  # fmt: skip
POSITIVE = ("+1,234.50", "1,234.50 CR", "$ 1,234.50", "USD 1,234.50", "1,234.50 €", "US$1,234.50", "1,234.50\u00a0zł")
CONTRADICTORY = (
    "(-1)", "-1-", "--1", "+-1", "-1 CR", "+1 DR", "(1) DR", "1- CR", "(1", "1)", "()", "$", "USD", "€ 1 USD", "$1 $",
    "-$-1", "INV 123", "1 XYZ", "CR 1", "1 2 €", "1.5e3 €", "DR",
)  # fmt: skip


def read(texts: list[str], mark: str | None = ".", word: str = "decimal(20,2)") -> tuple[list[Any], Any]:
    batch = pa.RecordBatch.from_pydict({"v": pa.array(texts, pa.string())})
    coercion = Coercion(batch.schema, {"v": declared("v", word)}, Notation(mark))
    try:
        return coercion.batch(batch).column(0).to_pylist(), coercion.problems()
    finally:
        coercion.close()


@pytest.mark.parametrize(("texts", "value"), [(NEGATIVE, "-1234.50"), (POSITIVE, "1234.50")])
def test_every_notation_is_the_same_amount(texts: tuple[str, ...], value: str) -> None:
    values, _ = read(list(texts))

    assert dict(zip(texts, values, strict=True)) == dict.fromkeys(texts, Decimal(value))


def test_a_comma_is_the_mark_where_the_dataset_says_so() -> None:
    texts = ["1 234,50 €", "(1.234,50)", "EUR -1.234,50", "1234,50 DR"]

    assert read(texts, ",")[0] == [Decimal(text) for text in ("1234.50", "-1234.50", "-1234.50", "-1234.50")]


@pytest.mark.slow
def test_dashes_after_the_mark_are_no_cents_and_no_sign() -> None:
    texts = ["5,-", "1.250,-", "5,--", "€ 5,-", "-5,-", "5,- €", "5,\u2014", "5,- DR", "5,00-"]
    values = [Decimal(text) for text in ("5", "1250", "5", "5", "-5", "5", "5", "-5", "-5")]

    assert read(texts, ",")[0] == values
    assert read(["5.-", "CHF 5.\u2013", "(5.-)"])[0] == [Decimal(5), Decimal(5), Decimal(-5)]
    assert read(["5,-", "5.-"], None)[0] == [None, Decimal(5)]
    assert read(["5,-"], ",", "float")[0] == [5.0]
    assert read(["5,-", "--5", "5,---", ",-"], ",", "integer")[0] == [None] * 4
    assert read(["5,---", ",-"], ",")[0] == [None, None]


def test_what_contradicts_itself_or_is_no_amount_is_counted() -> None:
    values, problems = read(list(CONTRADICTORY))

    assert dict(zip(CONTRADICTORY, values, strict=True)) == dict.fromkeys(CONTRADICTORY)
    assert [problem.records for problem in problems] == [len(CONTRADICTORY)]


def test_one_group_of_digits_is_ambiguous_in_an_amount_too() -> None:
    assert read(["$1,234", "$1,234.00"], None)[0] == [None, Decimal("1234.00")]
    assert read(["$1.005"], ".")[0] == [None]


@pytest.mark.parametrize("word", ["integer", "float", "instant epoch s"])
def test_only_decimals_are_amounts(word: str) -> None:
    assert read(["$1", "(1)"], word=word)[0] == [None, None]


@pytest.mark.slow
@given(
    st.decimals(min_value=0, max_value=Decimal("9999999.99"), places=2),
    st.sampled_from(["{}", "${}", "{} €", "USD {}", "CHF{}"]),
    st.sampled_from(["{}", "-{}", "({})", "{}-", "{} CR", "{} DR"]),
    st.booleans(),
)
def test_a_sign_and_a_currency_never_change_the_number(number: Decimal, money: str, sign: str, grouped: bool) -> None:
    text = sign.format(money.format(f"{number:,.2f}" if grouped else f"{number:.2f}"))
    is_negative = any(mark in sign for mark in ("-", "(", "DR"))

    assert read([text])[0] == [-number if is_negative else number], text


def test_currencies_that_differ_are_told_with_their_counts() -> None:
    _, problems = read(["$1", "€2", "EUR 3", "4", "$5", "oops"])

    assert [(problem.column, problem.records) for problem in problems] == [("v", 1), ("*", 0)]
    assert "`v` mixes currencies ($ in 2, EUR in 2)" in problems[1].reason
    assert problems[1].first == "record 2"
    assert read(["€1", "EUR 2", "3"])[1] == ()


@pytest.mark.parametrize("text", [*NEGATIVE, *POSITIVE])
def test_what_is_bare_of_currency_and_side_has_digits_alone(text: str) -> None:
    assert not set(amounts.bare(text)) - set("0123456789.,- +\u2212\u00a0")


def _project(folder: Path, source: str, place: str) -> Project:
    return Project(folder).write(
        f"""\
        version: 1
        sources: {{f: {source}}}
        datasets: {{d: {{source: f, {place}, id: n, decimal: ".", columns: {{amount: decimal}}}}}}
        rules: {{r: {{kind: duplicates, dataset: d, key: [amount]}}}}
        """
    )


def _written(folder: Path, name: str, texts: list[str]) -> Project:
    if name == "a.csv":
        (folder / name).write_text("n,amount\n" + "".join(f'{n},"{text}"\n' for n, text in enumerate(texts)))
    elif name == "a.jsonl":
        (folder / name).write_text("".join(f'{{"n": {n}, "amount": "{text}"}}\n' for n, text in enumerate(texts)))
    else:
        with sa.create_engine(f"sqlite:///{folder / name}").begin() as connection:
            connection.exec_driver_sql("create table t (n text primary key, amount text)")
            connection.exec_driver_sql("insert into t values (?, ?)", [(str(n), t) for n, t in enumerate(texts)])
        return _project(folder, "{type: sql, url: 'sqlite:///a.db'}", "table: t")
    return _project(folder, "{type: files}", f"path: {name}")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.db"])
def test_a_run_compares_them_and_tells_mixed_currencies(tmp_path: Path, name: str) -> None:
    project = _written(tmp_path, name, ["(1,234.50)", "-1234.50", "USD -1,234.50", "1 €", "(-1)"])

    ran = project("run", "--dry-run", "--json")

    [finding] = ran.json["findings"]
    assert (finding["key"], finding["records"]) == ({"amount": "-1234.50"}, 3)
    reasons = " | ".join(entry["reason"] for entry in ran.json["rules"][0]["skipped"])
    assert "`amount` mixes currencies (EUR in 1, USD in 1)" in reasons
    assert "not a decimal" in reasons


@pytest.mark.slow
def test_check_tells_mixed_currencies(tmp_path: Path) -> None:
    checked = _written(tmp_path, "a.csv", ["$1", "€2"])("check")

    assert "`amount` mixes currencies" in checked.said


@pytest.mark.slow
def test_suggest_proposes_a_decimal_for_amounts_with_a_sign(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('n,total\n1,"$1,234.50"\n2,($2.00)\n3,€ 3.00\n')

    suggested = Project(tmp_path)("suggest", "a.csv")

    assert "total: decimal" in suggested.out
    assert "`total` mixes currencies" in suggested.out
