"""Empty is one thing: NULL, a text without characters and one of white space give the same answer in every use."""

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from connectors.coerce import BLANKS
from rules.engines.base import MoneyColumns
from rules.expressions import ExpressionError, parse, parse_group
from rules.functions import WHITE_SPACE
from rules.groups.detection import Detection
from rules.kinds.duplicates import DuplicatesRule
from rules.models import Step
from rules.normalise import normalise
from rules.values import Type
from tests.support.rules import Rows, databases, detect, pushdown_obstacle, pushed

__all__ = ["databases"]
SLOT = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
TYPES = {
    "id": Type.TEXT,
    "name": Type.TEXT,
    "code": Type.TEXT,
    "other": Type.TEXT,
    "currency": Type.TEXT,
    "amount": Type.DECIMAL,
}
NOT_WHITE = "\u200b\ufeff\u180e\u2800\u3164\u00ad\u2060\x7f"
"""Characters that nobody sees and that are no white space."""
USES: Mapping[str, Mapping[str, Any]] = {
    "a key": {"key": ["name"]},
    "a key of two columns": {"key": ["name", "code"]},
    "a key of all columns": {"key": "all"},
    "nulls": {"key": ["name", "code"], "nulls": {"code": "match"}},
    "a normalised key": {"key": [{"name": ["lower", "trim"]}, "code"]},
    "a cut key": {"key": [{"name": [{"prefix": 2}]}]},
    "a mapped key": {"key": [{"name": [{"map": {"a": None, "b": " "}}]}]},
    "a replaced key": {"key": [{"name": ["digits", {"regex": ["^", "x"]}]}]},
    "where is null": {"key": ["name"], "where": "code is null"},
    "where is not null": {"key": ["name"], "where": "not (code is null) and not (other is null)"},
    "where compares": {"key": ["name"], "where": "code <> 'a' or other < 'b'"},
    "where like": {"key": ["name"], "where": "code like '%'"},
    "where computes": {"key": ["name"], "where": "coalesce(code, other, 'x') = 'x' or trim(lower(code)) = 'a'"},
    "distinct": {"key": ["name"], "distinct": "code"},
    "having": {"key": ["name"], "having": "count_distinct(code) = 1 and min(other) = 'a'"},
    "having none": {"key": ["name"], "having": "max(code) is null or count_distinct(code) = 0"},
    "keep first": {"key": ["name"], "keep": [{"first": "code"}, {"last": "other"}]},
    "keep preferred": {"key": ["name"], "keep": [{"prefer": {"code": ["b"]}}]},
    "keep most complete": {"key": ["name"], "keep": ["most_complete"]},
    "a derived column": {"key": ["either"]},
    "a derived column of one": {"key": ["same", "name"], "nulls": {"same": "match"}, "keep": [{"first": "either"}]},
}

empties = st.sampled_from([None, None, "", " ", "\t", "\r\n", "\xa0", "\u3000 ", "\x1c", "\u2028"])
words = st.sampled_from(["a", "a ", "A", "b", "\u200b", "  b", "é", "7"])
texts = st.one_of(empties, words, words)
row = st.fixed_dictionaries(
    {"name": texts, "code": texts, "other": texts, "currency": texts, "amount": st.just(Decimal(1))}
)
ids = st.one_of(st.none(), st.sampled_from(["", " ", "\xa0"]))


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    result = draw(st.lists(row, max_size=12))
    return [{"id": draw(ids) if draw(st.integers(0, 9)) == 0 else f"r{n}", **item} for n, item in enumerate(result)]


@pytest.mark.server
@pytest.mark.parametrize("use", USES)
def test_white_space_says_what_null_says_in_every_use_on_every_engine(
    use: str, databases: dict[str, sa.Engine], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rule = DuplicatesRule(name="twins", dataset="things", **USES[use])
    folder = tmp_path_factory.getbasetemp()

    @settings(max_examples=6)
    @given(data=tables())
    @example(data=[_record(n, name="a", code=text, other=text) for n, text in enumerate((None, "", " ", "a", "\xa0"))])
    @example(data=[_record(n, name=text) for n, text in enumerate((*WHITE_SPACE, *NOT_WHITE, *NOT_WHITE))])
    def check(data: list[dict[str, Any]]) -> None:
        plain = _rows([{name: _emptied(value) for name, value in record.items()} for record in data])
        expected = _answer(detect(rule, plain.relation(), plain.streamed(), SLOT))

        given_rows = _rows(data)
        relation = given_rows.relation()
        assert ("streamed", _answer(detect(rule, relation, given_rows.streamed(), SLOT))) == ("streamed", expected)
        assert ("readable", _answer(detect(rule, relation, given_rows.readable(folder), SLOT))) == (
            "readable",
            expected,
        )
        for name, engine in databases.items():
            if pushdown_obstacle(rule, relation, engine.dialect.name) is None:
                with pushed(engine, given_rows) as records:
                    assert (name, _answer(detect(rule, relation, records, SLOT))) == (name, expected)

    check()


def test_white_space_alone_is_null_and_what_a_normaliser_leaves_empty_is_told_as_that() -> None:
    data = [{"id": str(n), "name": text} for n, text in enumerate((None, "", "  ", "\xa0", "-", "+"))]
    rows = Rows({"id": Type.TEXT, "name": Type.TEXT}, data)
    rule = DuplicatesRule(name="twins", dataset="things", key=[{"name": ["alnum"]}])

    detection = detect(rule, rows.relation(), rows.streamed(), SLOT)

    assert [(item.reason, item.records) for item in detection.skipped] == [("null", 4), ("empty after normalising", 2)]


@pytest.mark.server
def test_an_id_of_white_space_names_no_record_even_where_an_index_keeps_it_unique(
    databases: dict[str, sa.Engine],
) -> None:
    rows = Rows({"id": Type.TEXT, "name": Type.TEXT}, [{"id": text, "name": "a"} for text in ("", " ", "1", "2")])
    rule = DuplicatesRule(name="twins", dataset="things", key=["name"])

    assert detect(rule, rows.relation(), rows.streamed(), SLOT).identity.nulls == 2
    with pushed(databases["postgresql"], rows, unique=True) as records:
        assert detect(rule, rows.relation(), records, SLOT).identity.nulls == 2


def test_white_space_is_what_the_docs_list() -> None:
    listed = [*range(0x9, 0xE), *range(0x1C, 0x21), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029]
    listed += [0x202F, 0x205F, 0x3000]

    assert sorted(WHITE_SPACE) == [chr(n) for n in listed]
    assert set(WHITE_SPACE) == {chr(n) for n in range(0x110000) if chr(n).isspace()}
    assert set(BLANKS) == set(WHITE_SPACE), "what surrounds a typed value is what makes a text empty"


def test_no_normaliser_sees_an_empty_value() -> None:
    steps = [Step(name="prefix", argument=1), Step(name="regex", argument=["^", "x"])]

    assert normalise(" a", steps) is None
    assert normalise(" \t", [Step(name="regex", argument=["^", "x"])]) is None


@pytest.mark.parametrize(
    "text",
    ["name = ''", "name <> '  '", "name in ('a', '\t')", "coalesce(name, '') = 'a'", "name like ''", "name like ' '"],
)
@pytest.mark.slow
def test_an_empty_text_in_an_expression_is_an_error_that_says_what_to_write(text: str) -> None:
    relation = Rows(TYPES, []).relation()

    with pytest.raises(ExpressionError, match="is null"):
        parse(text).condition(relation.schema)
    with pytest.raises(ExpressionError, match="is null"):
        parse_group("max(name) = ''").bind(relation.schema)


def _record(number: int, **values: Any) -> dict[str, Any]:
    return {"id": f"r{number}", "code": None, "other": None, "currency": "EUR", "amount": Decimal(1)} | values


def _rows(data: list[dict[str, Any]]) -> Rows:
    derived = {"either": "coalesce(code, other)", "same": "code"}
    return Rows(TYPES, data, derived=derived, money=MoneyColumns("amount", "currency"))


def _emptied(value: Any) -> Any:
    return None if isinstance(value, str) and not value.strip() else value


def _answer(detection: Detection) -> Any:
    groups = [(list(g.key.items()), g.money, [(m.id, m.values) for m in g.members]) for g in detection.groups]
    skipped = {(item.column, item.reason): item.records for item in detection.skipped}
    return groups, skipped, detection.read, detection.scanned, detection.identity
