"""Survivorship field by field: which record each field of a merged record comes from."""

import datetime as dt
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from rules.groups.survivorship import Chosen, Strategy, check_fields, choose, parse_strategy
from rules.values import Column, Schema, Type


@dataclass(frozen=True)
class One:
    values: dict[str, Any]


def records(*values: Any, by: Sequence[Any] = ()) -> list[One]:
    """Records with these values of `x`, the keeper first, and these of `by`."""
    return [One({"x": x, "by": b}) for x, b in itertools.zip_longest(values, by)]


def from_(ones: Sequence[One], how: Any) -> Any:
    """The value of `x` that survives, whole or put together."""
    [item] = choose(ones, {"x": Strategy.model_validate(parse_strategy(how))}, ())
    return item.united if item.united is not None else ones[item.origins[0]].values["x"] if item.origins else None


@pytest.mark.parametrize(
    ("how", "values", "by", "survives"),
    [
        ("keep", [None, "b"], [], None),
        ("keep", ["a", "bb"], [], "a"),
        ("longest", ["a", "bbb", "cc"], [], "bbb"),
        ("longest", [None, "a", "b"], [], "a"),
        ("most_frequent", ["a", "b", "b", None, None, None], [], "b"),
        ("most_frequent", ["a", "b", "b", "a"], [], "a"),
        ("most_frequent", [Decimal("1.50"), Decimal(2), Decimal("1.5")], [], Decimal("1.50")),
        ({"last": "by"}, ["a", "b", "c"], [1, 3, 2], "b"),
        ({"last": "by"}, ["a", None, "c"], [1, 3, 2], "c"),
        ({"last": "by"}, ["a", "b"], [3, 3], "a"),
        ({"max": "by"}, ["a", "b", "c"], [None, None, 2], "c"),
        ({"first": "by"}, ["a", "b", "c"], [dt.date(2026, 2, 1), None, dt.date(2026, 1, 1)], "c"),
        ({"min": "by"}, ["a", "b"], [None, None], "a"),
        ({"min": "by"}, [None, None], [1, 2], None),
        ({"prefer": {"by": ["crm", "shop"]}}, ["a", "b", "c"], ["web", "shop", None], "b"),
        ({"prefer": {"by": ["crm", "shop"]}}, ["a", "b", "c"], [None, "web", None], "b"),
        ({"prefer": {"by": ["7"]}}, ["a", "b"], [8, 7], "b"),
        ("union", ["a, b", "b,c ", None, "d"], [], "a, b, c, d"),
        ({"union": ";"}, ["a", "b;a"], [], "a;b"),
        ("union", ["b, a", "a"], [], "b, a"),
        ("union", [None, " a "], [], "a"),
        ("union", [None, None], [], None),
        ("union", ['["a","b, c"]', None, '["b, c", "ö"]'], [], '["a","b, c","ö"]'),
        ("union", ['["b", "a"]', '["a"]'], [], '["b", "a"]'),
        ("union", ['["a"]', "b"], [], '["a"], b'),
    ],
)
def test_the_best_value_survives_and_nulls_lose(how: Any, values: list[Any], by: list[Any], survives: Any) -> None:
    assert from_(records(*values, by=by), how) == survives


def test_linked_fields_come_from_one_record_a_complete_one_if_there_is_any() -> None:
    collected = [
        One({"street": "Elm 1", "city": None, "at": 1}),
        One({"street": "Oak 2", "city": "Ulm", "at": 2}),
        One({"street": "Ash 3", "city": "Bonn", "at": 3}),
        One({"street": None, "city": "Köln", "at": 4}),
    ]

    chosen = choose(collected, {"street": Strategy(how="last", column="at")}, [("street", "city")])

    assert chosen == (Chosen(("street", "city"), (2,)),)


def test_linked_fields_that_no_record_has_whole_come_from_the_one_that_has_most_of_them() -> None:
    collected = [
        One({"a": None, "b": None, "c": None}),
        One({"a": 1, "b": 2, "c": None}),
        One({"a": None, "b": 3, "c": 3}),
    ]

    [chosen] = choose(collected, {"a": Strategy(how="most_frequent")}, [("a", "b", "c")])

    assert chosen.origins == (1,)


@pytest.mark.parametrize("how", ["longest", "most_frequent", {"last": "at"}])
def test_linked_fields_never_replace_a_value_of_the_keeper_by_an_empty_one(how: Any) -> None:
    """Two of three fields elsewhere would cost the keeper the only postcode there is."""
    keeper = One({"street": None, "city": None, "postcode": "89073", "at": 1})
    fuller = One({"street": "Oak 2", "city": "Ulm", "postcode": None, "at": 9})
    whole = One({"street": "Elm 1", "city": "Ulm", "postcode": "89075", "at": 2})
    strategies = {"street": Strategy.model_validate(parse_strategy(how))}
    groups = [("street", "city", "postcode")]

    [without] = choose([keeper, fuller], strategies, groups)
    [with_whole] = choose([keeper, fuller, whole], strategies, groups)

    assert (without.origins, with_whole.origins) == ((0,), (2,))


def test_linked_fields_without_a_strategy_stay_the_keepers() -> None:
    [chosen] = choose([One({"a": None, "b": None}), One({"a": 1, "b": 2})], {}, [("a", "b")])

    assert chosen.origins == (0,)


@given(
    st.lists(st.tuples(st.none() | st.sampled_from("abc"), st.none() | st.integers(0, 2)), min_size=2, max_size=6),
    st.sampled_from(["longest", "most_frequent", {"last": "by"}, {"min": "by"}, {"prefer": {"by": ["1"]}}]),
    st.randoms(),
)
def test_the_surviving_value_does_not_depend_on_how_the_best_are_ordered_but_in_a_tie(
    pairs: list[tuple[Any, Any]], how: Any, random: Any
) -> None:
    """Every value comes from a record; null survives only where all are null; what wins, wins in any order."""
    ones = [One({"x": x, "by": by}) for x, by in pairs]
    shuffled = random.sample(ones, len(ones))
    strategy = Strategy.model_validate(parse_strategy(how))

    [first], [second] = (choose(some, {"x": strategy}, ()) for some in (ones, shuffled))

    assert bool(first.origins) == any(x is not None for x, _ in pairs) == bool(second.origins)
    if first.origins:
        best, again = ones[first.origins[0]].values, shuffled[second.origins[0]].values
        assert best["x"] is not None
        if strategy.column and best["by"] is not None and strategy.how != "prefer":
            assert best["by"] == again["by"]
        assert (best["by"] is None) == (again["by"] is None) or not strategy.column


SCHEMA = Schema(
    tuple(
        Column(name, kind)
        for name, kind in [("x", Type.TEXT), ("tags", Type.TEXT), ("flag", Type.BOOLEAN), ("at", Type.INSTANT)]
    )
)


@pytest.mark.parametrize(
    ("fields", "linked", "says"),
    [
        ({"x": {"last": "updatet_at"}}, (), "chosen by `updatet_at`, which is not a column"),
        ({"x": {"last": "flag"}}, (), "values of type boolean have no order"),
        ({"x": {"prefer": {"at": ["a"]}}}, (), "cannot prefer values of `at`, which is of type instant"),
        ({"at": "longest"}, (), "`at` holds no plain text"),
        ({"flag": "union"}, (), "`flag` holds no plain text"),
        ({"x": "union"}, (("x", "tags"),), "`union` takes from several"),
        ({"x": "longest", "tags": "keep"}, (("x", "tags"),), "they need one strategy"),
        ({"x": "longest", "tags": "union", "at": {"last": "at"}}, (), None),
    ],
)
def test_a_strategy_that_cannot_work_is_told(fields: dict[str, Any], linked: Any, says: str | None) -> None:
    strategies = {name: Strategy.model_validate(parse_strategy(how)) for name, how in fields.items()}

    wrong = check_fields(strategies, linked, SCHEMA, frozenset({"x", "tags"}))

    assert [says in item for item in wrong] == [True] if says else wrong == []


@pytest.mark.parametrize("said", ["lonngest", 5, {}, {"last": ["a"]}, {"prefer": "a"}, {"last": "a", "first": "b"}])
def test_what_is_no_strategy_is_refused_with_the_ways_there_are(said: Any) -> None:
    with pytest.raises(ValueError, match=r"keep, longest, most_frequent, union, \{first: column\}"):
        parse_strategy(said)
