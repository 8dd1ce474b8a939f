"""Keys and payloads: the same thing has the same key whatever it is written with, and nothing else has it."""

import datetime as dt
import json
import uuid
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconcile.guard.keys import KeyRefused, PayloadRefused, fingerprint, key_of
from tests.support.chance import examples

SECRET = bytes(range(32))
PARTS = st.one_of(st.text(min_size=1, max_size=20).filter(str.strip), st.integers(), st.uuids(), st.dates())
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_a_key_is_pinned_since_later_versions_have_to_find_it() -> None:
    assert key_of(SECRET, "welcome", ("17", "welcome")) == "gk1.vgphuu.dlriszyj43vualo7e7z6ispjyioimg27"
    assert fingerprint(SECRET, {"amount": 20, "to": ["a"]})[:16] == "1115c109b1bd1e05"


@given(PARTS)
@settings(max_examples=examples(100, 20), deadline=None)
def test_a_part_is_the_same_as_its_text(part: Any) -> None:
    assert key_of(SECRET, "welcome", part) == key_of(SECRET, "welcome", [str(part)])


@given(st.lists(PARTS, min_size=1, max_size=4), st.lists(PARTS, min_size=1, max_size=4))
@settings(max_examples=examples(100, 20), deadline=None)
def test_two_keys_are_equal_exactly_if_their_parts_are(first: list[Any], second: list[Any]) -> None:
    normal = [[str(part) for part in key] for key in (first, second)]
    is_equal = key_of(SECRET, "n", first) == key_of(SECRET, "n", second)
    if normal[0] == normal[1]:
        assert is_equal
    elif all(part.isascii() for key in normal for part in key):
        assert not is_equal


def test_a_key_depends_on_namespace_secret_and_the_borders_of_its_parts() -> None:
    keys = [
        key_of(SECRET, "welcome", ("ab", "c")),
        key_of(SECRET, "welcome", ("a", "bc")),
        key_of(SECRET, "welcome", "abc"),
        key_of(SECRET, "refunds", "abc"),
        key_of(bytes(32), "welcome", "abc"),
    ]
    assert len(set(keys)) == len(keys)
    assert key_of(SECRET, "n", "caf\u00e9") == key_of(SECRET, "n", "cafe\u0301")


@pytest.mark.parametrize(
    ("key", "why"),
    [
        (dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "a time, which differs between attempts"),
        (("17", dt.datetime(2026, 1, 1)), "a time"),  # noqa: DTZ001 - refused anyway
        (1.0, "of type float"),
        (Decimal(1), "of type Decimal"),
        (True, "of type bool"),
        (None, "of type NoneType"),
        ("", "empty"),
        ((17, " \t"), "empty"),
        ((), "0 parts"),
        (["a"] * 21, "21 parts"),
        ("x" * 501, "501 characters"),
        (b"17", "of type bytes"),
    ],
)
def test_what_would_differ_between_attempts_or_join_different_things_is_no_key(key: Any, why: str) -> None:
    with pytest.raises(KeyRefused, match=why):
        key_of(SECRET, "welcome", key)


@given(JSON)
@settings(max_examples=examples(150, 30), deadline=None)
def test_a_payload_is_the_same_after_a_journey_as_json(payload: Any) -> None:
    assert fingerprint(SECRET, payload) == fingerprint(SECRET, json.loads(json.dumps(payload)))


@given(JSON, JSON)
@settings(max_examples=examples(150, 30), deadline=None)
def test_two_payloads_are_equal_exactly_if_their_json_is(first: Any, second: Any) -> None:
    assert (fingerprint(SECRET, first) == fingerprint(SECRET, second)) == (_typed(first) == _typed(second))


def _typed(value: Any) -> Any:
    """JSON whose equality in Python is that of JSON: True is not 1."""
    if isinstance(value, dict):
        return {name: _typed(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return (isinstance(value, bool), value)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1, 1.0),
        (20, Decimal("20.00")),
        (0.1, Decimal("0.1")),
        (10**30, Decimal("1e30")),
        (0, -0.0),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ((1, 2), [1, 2]),
        (uuid.UUID(int=5), str(uuid.UUID(int=5))),
        (dt.date(2026, 1, 1), "2026-01-01"),
    ],
)
def test_equal_payloads_written_in_different_ways_are_equal(first: Any, second: Any) -> None:
    assert fingerprint(SECRET, first) == fingerprint(SECRET, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [(1, "1"), (1, True), (None, "null"), ([1], ["number", "1E0"]), ({}, []), ({}, ["object", {}]), ([[]], [])],
)
def test_payloads_that_look_alike_differ(first: Any, second: Any) -> None:
    assert fingerprint(SECRET, first) != fingerprint(SECRET, second)


@pytest.mark.parametrize(
    "payload",
    [float("nan"), float("inf"), object(), {1: 2}, b"x", dt.datetime(2026, 1, 1), Decimal("NaN")],  # noqa: DTZ001 - refused
)
def test_what_is_not_json_is_no_payload(payload: Any) -> None:
    with pytest.raises(PayloadRefused):
        fingerprint(SECRET, payload)


def test_a_payload_has_a_limited_depth() -> None:
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    with pytest.raises(PayloadRefused, match="more than 50 levels"):
        fingerprint(SECRET, deep)
