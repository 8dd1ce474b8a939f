"""Duplicates found inside PostgreSQL by marks: what a mark leaves open, the records decide."""

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from rules.engines import pushdown
from rules.engines.base import IdentityProblem, Pushed
from rules.groups.detection import Detection
from rules.kinds.duplicates import DuplicatesRule
from rules.values import Type, Value
from tests.support.rules import Rows, detect, pushed
from tests.support.servers import POSTGRES, scratch_database

pytestmark = pytest.mark.server

SLOT = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
THINGS = {"id": Type.INTEGER, "code": Type.TEXT, "other": Type.TEXT, "at": Type.INSTANT}


@pytest.fixture(scope="module")
def server() -> Iterator[sa.Engine]:
    for url in scratch_database(POSTGRES):
        engine = sa.create_engine(url)
        yield engine
        engine.dispose()


def rule(**settings: Any) -> DuplicatesRule:
    return DuplicatesRule(name="twins", dataset="things", **{"key": "code"} | settings)


def things(*codes: str | None) -> Rows:
    return Rows(THINGS, [{"id": n, "code": code, "other": code, "at": SLOT} for n, code in enumerate(codes)])


def ids(detection: Detection) -> list[list[Value]]:
    return [[member.id[0] for member in group.members] for group in detection.groups]


@contextmanager
def listening(server: sa.Engine, data: Rows) -> Iterator[tuple[Pushed, list[str]]]:
    """The rows in a table, and the names of the ways in which the database is asked."""
    heard: list[str] = []
    with pushed(server, data) as records:

        def noting(name: str, ask: Callable[[sa.Select[Any]], Any]) -> Callable[[sa.Select[Any]], Any]:
            def asked(statement: sa.Select[Any]) -> Any:
                heard.append(f"{name}: {', '.join(statement.selected_columns.keys())}")
                return ask(statement)

            return asked

        yield (
            dataclasses.replace(records, query=noting("stream", records.query), whole=noting("whole", records.whole)),
            heard,
        )


def test_two_keys_that_share_a_mark_stay_apart(server: sa.Engine) -> None:
    """Nothing but `lower` leaves blanks at the ends, which a mark does not see, and the mark is looked up for both."""
    data = things("a", "A ", " a", "b", "B")

    with pushed(server, data) as records:
        detection = detect(rule(key=[{"code": ["lower"]}]), data.relation(), records, SLOT)

    assert ids(detection) == [[3, 4]]


def test_like_parts_of_a_key_do_not_cancel_each_other_out(server: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    data = things("a", "b", "c", "d", "e", "e")
    monkeypatch.setattr(pushdown, "MOST", 1)

    with listening(server, data) as (records, heard):
        detection = detect(rule(key=["code", "other"]), data.relation(), records, SLOT)

    assert ids(detection) == [[4, 5]]
    assert heard.count("whole: mark, records") == 1


@pytest.mark.parametrize("settings", [{}, {"window": {"at": "1m"}}, {"distinct": "other"}], ids=str)
@pytest.mark.parametrize("way", ["by marks", "more marks than are looked up", "a server before PostgreSQL 14"])
def test_every_way_of_asking_gives_the_same_answer(
    server: sa.Engine, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], way: str
) -> None:
    codes = ("a", "A", None, "b", " ", "B ", "ä", "Ä", "\u212a", "k", "c", "C", "b")
    rows = [
        {"id": n, "code": code, "other": str(n % 5), "at": SLOT + dt.timedelta(seconds=45 * (n % 3))}
        for n, code in enumerate(codes)
    ]
    data, item = Rows(THINGS, rows), rule(key=[{"code": ["trim", "lower"]}], **settings)
    expected = detect(item, data.relation(), data.streamed(), SLOT)
    if way.startswith("more"):
        monkeypatch.setattr(pushdown, "MOST", 1)
    if way.startswith("a server"):
        monkeypatch.setattr(pushdown, "OLDEST", 999_999)

    with pushed(server, data) as records:
        detection = detect(item, data.relation(), records, SLOT)

    assert len(expected.groups) > 1
    assert detection.groups == expected.groups
    assert (detection.read, detection.scanned, detection.skipped) == (expected.read, expected.scanned, expected.skipped)


def test_records_that_are_not_ascii_are_looked_for_only_where_there_are_any(server: sa.Engine) -> None:
    item = rule(key=[{"code": ["lower"]}])
    with listening(server, things("a", "A", None)) as (records, heard):
        plain = detect(item, things().relation(), records, SLOT)
    with listening(server, things("a", "A", "É", "é")) as (records, also_heard):
        folded = detect(item, things().relation(), records, SLOT)

    assert ids(plain) == [[0, 1]]
    assert not [entry for entry in heard if entry.startswith("stream")]
    assert ids(folded) == [[0, 1], [2, 3]]
    assert "stream: id, code" in also_heard


def test_ids_that_the_database_keeps_unique_are_not_compared_again(server: sa.Engine) -> None:
    data = things("a", "a")
    with listening(server, data) as (records, heard):
        checked = detect(rule(), data.relation(), records, SLOT)
    with listening(server, data) as (records, heard_less):
        trusted = dataclasses.replace(records, unique=lambda columns: columns == ("id",))
        believed = detect(rule(), data.relation(), trusted, SLOT)

    assert checked.identity == believed.identity == IdentityProblem()
    assert checked.groups == believed.groups
    assert "whole: records, named, different" in heard
    assert "whole: records, named, different" not in heard_less


def test_a_derived_id_is_compared_whatever_the_database_says_of_the_column_it_hides(server: sa.Engine) -> None:
    rows = [{"id": n, "code": "a", "number": 7} for n in (1, 2)]
    data = Rows({"id": Type.INTEGER, "code": Type.TEXT, "number": Type.INTEGER}, rows, derived={"id": "number + 1"})

    with pushed(server, data) as records:
        detection = detect(rule(), data.relation(), dataclasses.replace(records, unique=lambda _: True), SLOT)

    assert detection.identity == IdentityProblem(repeated=1)
