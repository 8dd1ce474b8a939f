"""Normalisers: what each means, and that its SQL says the same wherever it claims to."""

import datetime as dt
import functools
import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rules.document.mistakes import RuleError
from rules.functions import filled
from rules.models import Step
from rules.normalise import NORMALISERS, Normaliser, chain_function, chain_sql, chain_type, contact, normalise, register
from rules.values import Type, Value
from tests.rules.expressions.engines import ENGINES, SQL, Run, opened
from tests.support.chance import examples

UNICODE = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=12)
SPACED = st.text(st.sampled_from(" \t\n\r\x1c\x1f\x85\xa0\u2003\u3000aA0-ä"), max_size=8)
CODES = st.text(st.sampled_from("0019aZ-/. \n_é٣"), max_size=10)
ASCII = st.text(st.characters(min_codepoint=1, max_codepoint=127), max_size=12)
EPOCH = dt.datetime(1900, 1, 1, tzinfo=dt.UTC)
ARGUMENTS: dict[str, list[Any]] = {
    "prefix": [1, 3],
    "suffix": [1, 3],
    "translit": ["de", "latin"],
    "map": [{"a": "b", "A ": "c", "0": None}, {"ä": "a", "1": "é'\\"}],
    "regex": [["[0-9]+", "#"], ["^(.)(.)", r"\2\1"], [r"(?i)A|\s", ""]],
    "round": [0, 2, 3, -1],
}
CHAINS: list[list[str | tuple[str, Any]]] = [
    ["trim", "lower"], ["squeeze", "casefold", "alnum"], ["nfkc", "trim", "docno"], ["strip_zeros", "digits"],
    ["unaccent", "letters", "lower"], ["trim", ("prefix", 2), "trim"], [("map", {"a": "ß"}), "trim"],
    [("translit", "de"), "unaccent", "casefold"], ["trim", ("suffix", 2), "trim"],
    ["unaccent", "casefold", "words"], ["words", "letters"],
]  # fmt: skip


def steps(*chain: str | tuple[str, Any]) -> tuple[Step, ...]:
    return tuple(Step(name=s) if isinstance(s, str) else Step(name=s[0], argument=s[1]) for s in chain)


def text_chains() -> list[tuple[Step, ...]]:
    single = [
        steps((name, argument))
        for name, normaliser in NORMALISERS.items()
        if Type.TEXT in normaliser.types
        for argument in ARGUMENTS.get(name, [None])
        if name != "phone"
    ]
    return single + [steps(*chain) for chain in CHAINS]


@pytest.fixture(params=ENGINES)
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    with opened(request) as engine:
        yield engine


def check_chains(run: Run, kind: Type, chains: list[tuple[Step, ...]], claim: str, values: list[Any]) -> None:
    def compiled(x: sa.ColumnElement[Any], chain: tuple[Step, ...]) -> sa.ColumnElement[Any] | None:
        result = chain_sql(x, kind, chain, run.dialect)
        if result is None or result[1] != claim:
            return None
        return filled(result[0]) if chain_type(kind, chain) is Type.TEXT else result[0]

    claimed = [chain for chain in chains if compiled(sa.column("c0", SQL[kind]), chain) is not None]
    if not claimed:
        return

    answers = run.many([kind], [(v,) for v in values], [functools.partial(compiled, chain=c) for c in claimed])

    for chain, answer in zip(claimed, answers, strict=True):
        assert [_utc(a) for a in answer] == [normalise(v, chain) for v in values], chain


def _utc(value: Any) -> Any:
    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) else value


@pytest.mark.slow
def test_sql_of_text_says_the_same_for_every_text_where_it_claims_so(run: Run) -> None:
    @settings(max_examples=examples(60))
    @given(st.lists(UNICODE | SPACED | CODES, min_size=1, max_size=60))
    @example(["000", "0-00-010", "a\n", "\n0", "", " ", "ÀÉ", "İ", "ß", "\U00010400", "a ", "A ", "é'\\"])
    def check(texts: list[str]) -> None:
        check_chains(run, Type.TEXT, text_chains(), "always", texts)

    check()


@pytest.mark.slow
def test_sql_of_text_says_the_same_for_every_ascii_text_where_it_claims_so(run: Run) -> None:
    @settings(max_examples=examples(60))
    @given(st.lists(ASCII | CODES.filter(str.isascii), min_size=1, max_size=60))
    @example(["I", "inv-00123", "INV 123", "a\x7f\x1f", "  A  ", "\t0\n", "", "_", "\\", "'"])
    def check(texts: list[str]) -> None:
        check_chains(run, Type.TEXT, text_chains(), "ascii", texts)

    check()


@pytest.mark.slow
def test_sql_of_text_says_the_same_for_each_ascii_character(run: Run) -> None:
    texts = [text for c in map(chr, range(1, 128)) for text in (c, f"{c}{c}", f"x{c}y", f"{c}0{c}1 {c}", f"A{c}")]

    check_chains(run, Type.TEXT, text_chains(), "ascii", texts)
    check_chains(run, Type.TEXT, text_chains(), "always", texts)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Type.DECIMAL, Type.INTEGER])
def test_sql_of_numbers_says_the_same_where_it_claims_so(run: Run, kind: Type) -> None:
    numbers: st.SearchStrategy[Any] = st.decimals(Decimal(-(10**15)), Decimal(10**15), places=4)
    if kind is Type.INTEGER:
        numbers = st.integers(-(2**63), 2**63 - 1)
    chains = [steps(("round", n)) for n in ARGUMENTS["round"]] + [steps("abs"), steps("abs", ("round", 1))]

    @settings(max_examples=examples(40))
    @given(st.lists(numbers, min_size=1, max_size=40))
    @example(
        [Decimal("0.5"), Decimal("-2.5000"), Decimal("1.0050"), Decimal(5)] if kind is Type.DECIMAL else [-(2**63)]
    )
    def check(values: list[Any]) -> None:
        check_chains(run, kind, chains, "always", values)

    check()


def test_sql_of_instants_says_the_same_where_it_claims_so(run: Run) -> None:
    instants = st.integers(0, 300 * 365 * 86_400_000_000).map(lambda n: EPOCH + dt.timedelta(microseconds=n))

    @settings(max_examples=examples(30))
    @given(st.lists(instants, min_size=1, max_size=40))
    def check(values: list[Any]) -> None:
        chains = [
            steps(*chain)
            for chain in (["day"], ["hour"], ["week"], ["month"], ["quarter"], ["year"], ["day", "weekday"])
        ]
        check_chains(run, Type.INSTANT, chains, "always", values)

    check()


@pytest.mark.parametrize("run", ["duckdb", pytest.param("postgresql", marks=pytest.mark.server)], indirect=True)
def test_sql_of_dates_says_the_same_where_it_claims_so(run: Run) -> None:
    @settings(max_examples=examples(30))
    @given(st.lists(st.dates(), min_size=1, max_size=40))
    def check(values: list[Any]) -> None:
        check_chains(run, Type.DATE, [steps("year"), steps("weekday")], "always", values)

    check()


@pytest.mark.parametrize(
    ("dialect", "chain", "claim"),
    [
        ("duckdb", ["trim"], "always"),
        ("mysql", ["trim"], "always"),
        ("sqlite", ["trim"], "ascii"),
        ("spark", ["squeeze"], "ascii"),
        ("snowflake", ["trim"], "ascii"),
        ("postgresql", ["trim", "lower"], "ascii"),
        ("mysql", [("suffix", 3)], "always"),
        ("sqlite", [("suffix", 3)], None),
        ("sqlite", [("translit", "de")], "ascii"),
        ("sqlite", ["alnum"], None),
        ("postgresql", [("regex", ["a", "b"])], None),
        ("duckdb", [("regex", ["a", "b"])], "always"),
        ("duckdb", ["email"], None),
        ("duckdb", [("map", {"a": "É"}), "lower"], None),
        ("duckdb", ["lower", ("map", {"a": "É"})], "ascii"),
        ("sqlite", [], "always"),
        ("duckdb", ["casefold", "words"], "ascii"),
        ("postgresql", ["words"], None),
        ("sqlite", ["words"], None),
    ],
)
def test_a_chain_claims_no_more_than_its_weakest_step(dialect: str, chain: list[Any], claim: str | None) -> None:
    result = chain_sql(sa.column("x"), Type.TEXT, steps(*chain), dialect)

    assert (result and result[1]) == claim


def test_a_day_is_pushed_only_in_utc() -> None:
    assert chain_sql(sa.column("x"), Type.INSTANT, steps("day"), "duckdb", "Europe/Berlin") is None
    assert chain_sql(sa.column("x"), Type.INSTANT, steps("day"), "duckdb", "UTC") is not None


@pytest.mark.parametrize(
    ("chain", "value", "expected"),
    [
        (["trim"], "\u3000\x1c a b\xa0\n", "a b"),
        (["trim"], " \t", None),
        (["squeeze"], "  a \n\u2003 b ", "a b"),
        (["trim"], "\u200b A\u00adc\u200bme\ufeff ", "Acme"),
        (["trim"], "\u200b\ufeff", None),
        (["squeeze"], "Acme \u200b Ltd\u202c", "Acme Ltd"),
        (["nfkc"], "\ufeffＡ\u3164\u200dcme", "Acme"),
        (["trim"], "❤\ufe0f", "❤"),
        (["alnum"], "a\ufe0f\u3164-1", "a1"),
        (["letters"], "a\ufe0f1", "a"),
        (["docno"], "INV\u200b12\u20603", "INV123"),
        (["email"], "\u200bann@\u2060example.com", "ann@example.com"),
        ([("phone", "DE")], "\u202a030 9018\u200e20\u202c", "+4930901820"),
        (["lower"], "a\u200b", "a\u200b"),
        (["lower"], "ΟΔΟΣ İI", "οδοσ ii"),
        (["casefold"], "Straße", "strasse"),
        (["nfkc"], "ﬁ １２", "fi 12"),
        (["unaccent"], "Łódź Ærø Zoë e\u0301 Straße", "Lodz AEro Zoe e Strasse"),
        (["unaccent"], "कि", "कि"),
        (["alnum"], "ab-12 é!", "ab12é"),
        (["alnum"], "कि", "कि"),
        (["alnum"], "--", None),
        (["digits"], "Nr. 12/٣", "12٣"),
        (["letters"], "ab-12 é!", "abé"),
        (["strip_zeros"], "00123-a00-0-01", "123-a0-0-1"),
        (["words"], "Cruise, Tom", "Cruise Tom"),
        (["words"], "  Tom  Cruise\u3000Tom ", "Cruise Tom"),
        (["words"], "Gro\u00adße-Straße 12b", "12b Große Straße"),
        (["words"], "हिन्दी-कि, a_b", "a b कि हिन्दी"),
        (["words"], "b A a", "A a b"),
        (["words"], "-, \u200b!", None),
        (["unaccent", "casefold", "words"], "CRUISE\u200b / Tóm", "cruise tom"),
        (["words", "letters"], "Tom Cruise", "CruiseTom"),
        (["docno"], "inv-00123", "INV123"),
        (["docno"], "INV 123", "INV123"),
        (["docno"], "0000", "0"),
        (["docno"], "12-3", "12-3"),
        (["docno"], "1-23", "1-23"),
        (["docno"], " 2025 / 017.", "2025-17"),
        (["docno"], "20251-7", "20251-7"),
        (["docno"], "-1--2-3-4-", "1-2-3-4"),
        (["docno"], "RE 2025-0004 b", "RE2025-4B"),
        (["docno"], "1-A-2", "1A2"),
        (["docno"], "٣/٤ ½-5\u0331 6", "٣-٤-½-5\u0331-6"),
        (["alnum", "docno"], "2025/017", "2025017"),
        ([("prefix", 2)], "é\U00010400x", "é\U00010400"),
        ([("suffix", 2)], "xé\U00010400", "é\U00010400"),
        ([("suffix", 2)], "x", "x"),
        ([("suffix", 1)], "x ", None),
        ([("translit", "de")], "Müller Mu\u0308ller MÜLLER Übel ÖL Ä", "Mueller Mueller MUELLER Uebel OEL Ae"),
        ([("translit", "de")], "Straße STRAẞE café", "Strasse STRASSE café"),
        ([("translit", "de")], "BÜ-Ü-ü \U00010400ö", "BUE-Ue-ue \U00010400oe"),
        ([("translit", "de"), "unaccent"], "Müller-André", "Mueller-Andre"),
        ([("map", {"n/a": None, "x": "y"})], "n/a", None),
        ([("map", {"n/a": None, "x": "y"})], "x", "y"),
        ([("map", {"n/a": None, "x": "y"})], "z", "z"),
        ([("regex", ["(a+)(b)", r"\2\1"])], "aab-ab", "baa-ba"),
        ([("regex", [".*", ""])], "gone", None),
        (["email"], "Ann Lee <Ann.Lee@Bücher.Example> ", "ann.lee@xn--bcher-kva.example"),
        (["email"], " ann＠example.com.", "ann@example.com"),
        (["email"], "ann+x@my_host.example", "ann+x@my_host.example"),
        (["email"], "ann", None),
        (["email"], "ann@b@example.com", None),
        (["email"], "a@example.com, b@example.com", None),
        (["email"], "@example.com", None),
        (["mailbox"], "A.n.n+promo@GoogleMail.com", "ann@gmail.com"),
        (["mailbox"], "a.n.n+promo@example.com", "a.n.n@example.com"),
        (["mailbox"], "+x@example.com", "+x@example.com"),
        ([("phone", "DE")], "030 / 901820", "+4930901820"),
        ([("phone", "DE")], "+1 (202) 456-1111", "+12024561111"),
        ([("phone", None)], "030 901820", None),
        ([("phone", "DE")], "call me", None),
        ([("phone", "US")], "0800 FLOWERS", None),
        ([("phone", "DE")], "030 901820 Mueller", None),
        ([("phone", "DE")], "Tel. 030 901820", None),
        ([("phone", "DE")], "030 901820 ext. 5", None),
        ([("phone", "DE")], "030 901820 #5", None),
        ([("phone", "DE")], "０３０ / ９０１８２０", "+4930901820"),
        ([("phone", "DE")], "1", None),
        ([("round", 0)], Decimal("-2.5"), Decimal("-3")),
        ([("round", 2)], Decimal("1.005"), Decimal("1.01")),
        ([("round", 2)], 1.005, Decimal("1.01")),
        ([("round", -1)], 155, 160),
        ([("round", 2)], Decimal("1" * 60 + ".005"), Decimal("1" * 60 + ".01")),
        ([("round", 2)], float("nan"), None),
        (["abs"], Decimal("-1" * 1 + "0.5"), Decimal("10.5")),
        (["abs"], -3, 3),
    ],
)
@pytest.mark.slow
def test_a_normaliser_means_what_its_name_says(chain: list[Any], value: Value, expected: Value) -> None:
    normalised = normalise(value, steps(*chain))

    assert normalised == expected
    assert type(normalised) is type(expected)


def instant(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("day", instant("2026-03-01T23:30:00Z"), dt.date(2026, 3, 2)),
        ("day", dt.date(2026, 3, 2), dt.date(2026, 3, 2)),
        ("hour", instant("2026-10-25T00:59:59Z"), instant("2026-10-25T00:00:00Z")),
        ("hour", instant("2026-10-25T01:30:00Z"), instant("2026-10-25T01:00:00Z")),
        ("month", instant("2026-03-31T22:30:00Z"), instant("2026-03-31T22:00:00Z")),
        ("month", dt.date(2026, 3, 31), dt.date(2026, 3, 1)),
        ("quarter", instant("2026-03-31T22:30:00Z"), instant("2026-03-31T22:00:00Z")),
        ("quarter", dt.date(2026, 12, 31), dt.date(2026, 10, 1)),
        ("week", instant("2026-03-29T21:59:59Z"), instant("2026-03-22T23:00:00Z")),
        ("week", instant("2026-03-29T22:00:00Z"), instant("2026-03-29T22:00:00Z")),
        ("week", dt.date(2026, 1, 1), dt.date(2025, 12, 29)),
        ("week", dt.date(1, 1, 1), dt.date(1, 1, 1)),
        ("year", instant("2025-12-31T23:00:00Z"), 2026),
        ("year", instant("9999-12-31T23:00:00Z"), None),
        ("year", dt.date(1, 1, 1), 1),
        ("weekday", dt.date(2026, 3, 29), 7),
    ],
)
def test_instants_are_truncated_in_the_datasets_time_zone(name: str, value: Value, expected: Value) -> None:
    assert normalise(value, steps(name), "Europe/Berlin") == expected


def test_a_day_outside_the_calendar_is_null() -> None:
    assert normalise(dt.datetime.min.replace(tzinfo=dt.UTC), steps("day"), "America/New_York") is None


@given(UNICODE | SPACED | CODES)
def test_a_normalised_text_is_never_empty(text: str) -> None:
    for chain in text_chains():
        normalised = normalise(text, chain)

        assert normalised is None or (isinstance(normalised, str) and normalised)


@pytest.mark.parametrize(
    "name", ["trim", "squeeze", "lower", "nfkc", "unaccent", "alnum", "digits", "letters", "docno", "words"]
)
@given(text=UNICODE)
def test_a_second_time_changes_nothing(name: str, text: str) -> None:
    once = normalise(text, steps(name))

    assert normalise(once, steps(name)) == once


@given(words=st.lists(st.text(st.sampled_from("aAbB01é\u0301कि"), min_size=1, max_size=3), max_size=5), data=st.data())
def test_words_are_the_same_in_any_order_and_between_any_signs(words: list[str], data: st.DataObject) -> None:
    first, second = (
        "".join(word + data.draw(st.sampled_from([" ", ", ", "/", "\u3000", "-"])) for word in order)
        for order in (words, data.draw(st.permutations(words)))
    )

    assert normalise(first, steps("words")) == normalise(second, steps("words"))


@given(text=CODES)
def test_a_document_number_keeps_its_runs_of_digits(text: str) -> None:
    normalised = normalise(text, steps("docno"))

    runs = [str(int(run)) for run in re.findall("[0-9]+", text)]
    assert re.findall("[0-9]+", str(normalised or "")) == runs


def test_null_passes_through_every_chain() -> None:
    assert all(chain_function(chain)(None) is None for chain in text_chains())


@pytest.mark.parametrize(
    ("kind", "chain", "sentence"),
    [
        (Type.DECIMAL, [("phone", "DE")], "`phone` takes text, but the value is of type decimal."),
        (Type.INSTANT, ["day", "hour"], "`hour` takes instant, but the value is of type date."),
        (Type.TEXT, ["tirm"], "There is no normaliser `tirm`; did you mean `trim`?"),
        (Type.TEXT, [("trim", 3)], "`trim` takes no argument."),
        (Type.TEXT, [("phone", "de")], "`phone` takes the region of numbers"),
        (Type.TEXT, [("prefix", 0)], "`prefix` takes the number of characters"),
        (Type.TEXT, [("suffix", -1)], "`suffix` takes the number of characters to keep, from 1 to 10000"),
        (Type.DECIMAL, [("suffix", 2)], "`suffix` takes text, but the value is of type decimal."),
        (Type.TEXT, [("translit", "fr")], "`translit` takes de for German umlauts, or latin for all scripts"),
        (Type.TEXT, ["translit"], "`translit` takes de for German umlauts"),
        (Type.TEXT, ["unidecode"], "There is no normaliser `unidecode`; use `translit: latin`"),
        (Type.TEXT, ["soundex"], "There is no normaliser `soundex`; texts that sound alike are not compared; use ["),
        (Type.TEXT, [("substr", 2)], "There is no normaliser `substr`; use `prefix` or `suffix`, or `regex`"),
        (Type.TEXT, ["words", "casefold"], "`casefold` changes words that `words` has already sorted; write it before"),
        (Type.TEXT, ["token_sort"], "There is no normaliser `token_sort`; use `words`, as in ["),
        (Type.TEXT, ["ucase"], "There is no normaliser `ucase`; use `upper`"),
        (Type.TEXT, [("map", {False: "x"})], "`map` maps texts that are not empty; put numbers"),
        (Type.TEXT, [("map", {" ": "x"})], "`map` maps texts that are not empty"),
        (Type.TEXT, [("map", {"x": 1})], "`map` maps to texts or null"),
        (Type.TEXT, [("regex", ["a(?=b)", ""])], "`regex` needs a pattern in RE2 syntax"),
        (Type.TEXT, [("regex", ["(a)", r"\2"])], "`regex` needs a pattern in RE2 syntax"),
        (Type.TEXT, [("regex", [r"\C", ""])], r"`regex` cannot use \C"),
        (
            Type.TEXT,
            [("regex", ["(a).*", "$1"])],
            "`regex` replaces by the text `$1` as it is; write `\\1` for that group",
        ),
        (Type.TEXT, [("regex", "a")], "`regex` takes a pattern and its replacement"),
        (Type.DECIMAL, [("round", "2.5")], "`round` takes a whole number of decimals"),
    ],
)
def test_a_step_that_does_not_fit_is_told_in_one_sentence(kind: Type, chain: list[Any], sentence: str) -> None:
    with pytest.raises(RuleError) as told:
        chain_type(kind, steps(*chain))

    assert str(told.value).startswith(sentence)
    assert str(told.value).count("\n") == 0


def test_a_chain_knows_the_type_it_gives() -> None:
    assert chain_type(Type.INSTANT, steps("day", "month")) is Type.DATE
    assert chain_type(Type.FLOAT, steps("abs", ("round", 2))) is Type.DECIMAL
    assert chain_type(Type.BOOLEAN, ()) is Type.BOOLEAN


def test_a_normaliser_of_somebody_else_registers_like_ours() -> None:
    mine = Normaliser("shout", lambda value, _argument, _timezone: value.upper(), {Type.TEXT: Type.TEXT})
    register(mine)

    try:
        assert normalise("a", steps("shout", "trim")) == "A"
        assert chain_sql(sa.column("x"), Type.TEXT, steps("shout"), "duckdb") is None
        with pytest.raises(RuleError, match="Normaliser `trim` already exists"):
            register(Normaliser("trim", mine.python, mine.types))
    finally:
        del NORMALISERS["shout"]


def test_text_functions_do_not_slow_down_with_hostile_patterns() -> None:
    assert normalise("a" * 5_000, steps(("regex", ["(a*)*b", ""]))) == "a" * 5_000


def test_a_missing_phone_library_is_told_with_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "phonenumbers", None)
    contact.library.cache_clear()

    try:
        with pytest.raises(RuleError, match=r"pip install 'reconcile-runner\[phone\]'"):
            chain_type(Type.TEXT, steps(("phone", "DE")))
    finally:
        contact.library.cache_clear()
