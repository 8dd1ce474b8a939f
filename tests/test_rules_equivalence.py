"""Every engine gives exactly the groups that plain, slow, obvious Python gives, whatever the rows and the rule."""

from __future__ import annotations

import datetime as dt
import os
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from conftest import MARIADB, POSTGRES, _scratch_database
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rules_support import Rows, pushed

from rules.engines.base import Detection
from rules.kinds.duplicates import DuplicatesRule, detect, guarded, pushdown_obstacle
from rules.normalise import NORMALISERS
from rules.values import Type

EXAMPLES = int(os.environ.get("RECONCILE_EXAMPLES", "25"))
SLOT = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
TYPES = {
    "id": Type.INTEGER,
    "name": Type.TEXT,
    "code": Type.TEXT,
    "amount": Type.DECIMAL,
    "position": Type.INTEGER,
    "at": Type.INSTANT,
}
# Pairs that some engine, locale or collation takes for one another, or fails to.
TRICKY = (
    "ß", "ẞ", "SS", "ss", "İ", "i", "ı", "I", "i̇", "é", "é", "É", "e", "ΣΑΣ", "σας", "σασ", "𐐀", "𐐨", "ﬁ", "fi",
    "Ａ１", "A1", "A1 ", " a1", "a1", "Ä1", "\u212a", "k", "K", "a\t1", "\ta1", "a1\n", "\xa0a1", "a1\u3000", "", " ",
    "\xa0", "\t", "a+b@x.com", "a@x.com", "A@X.com ", "+", "a+", "'; drop", "\\", "%", "a\\1", "\x1f", "\x7f",
    "é" * 300, "x" * 300, "x" * 300 + "y",
)  # fmt: skip
BERLIN_FOLD = dt.datetime(2025, 10, 26, 0, 30, tzinfo=dt.UTC)

instants = st.one_of(
    st.none(),
    st.builds(
        lambda seconds, micros: BERLIN_FOLD + dt.timedelta(seconds=seconds, microseconds=micros),
        st.sampled_from([0, 300, 599, 600, 601, 1200, 3600, 7200]),
        st.sampled_from([0, 1, 999_999]),
    ),
)
decimals = st.sampled_from(
    [None, *map(Decimal, ("0", "-0.5", "1", "1.0", "1.10", "1.1", "9007199254740993.01", "9007199254740993.02"))]
)
row = st.fixed_dictionaries(
    {
        "name": st.one_of(st.none(), st.sampled_from(TRICKY)),
        "code": st.one_of(st.none(), st.sampled_from(["a1", "A1", "A1 ", "Ä1", "b", "é"])),
        "amount": decimals,
        "position": st.one_of(st.none(), st.integers(-3, 6), st.sampled_from([-(2**63), 2**63 - 1])),
        "at": instants,
    }
)
rows = st.lists(row, max_size=14).map(lambda found: [{"id": n, **one} for n, one in enumerate(found)])
chains = st.sampled_from(
    [[], ["trim"], ["lower"], ["trim", "lower"], ["casefold"], ["nfkc", "casefold"], ["trim", "unaccent"], ["email"]]
)
WHERE = {
    None: lambda _: True,
    "position > 0": lambda row: None if row["position"] is None else row["position"] > 0,
    "code = 'a1' or amount > 1": lambda row: _either(
        None if row["code"] is None else row["code"] == "a1", None if row["amount"] is None else row["amount"] > 1
    ),
    "lower(name) <> 'ss'": lambda row: None if row["name"] is None else _lower(row["name"]) != "ss",
    "name is not null": lambda row: row["name"] is not None,
}


KEEP: list[list[Any]] = [
    [],
    [{"first": "at"}],
    [{"last": "at"}, {"min": "position"}],
    [{"prefer": {"code": ["b", "A1"]}}],
]


@st.composite
def rules(draw: st.DrawFn) -> dict[str, Any]:
    """A rule's settings: keys with normalisers, filters, spans, null matching, minimum and keepers."""
    key: list[Any] = [{"name": draw(chains)}] if draw(st.booleans()) else []
    key += draw(st.lists(st.sampled_from(["code", "amount"]), unique=True, min_size=0 if key else 1))
    settings: dict[str, Any] = {"key": key, "where": draw(st.sampled_from(list(WHERE)))}
    column = draw(st.sampled_from([None, "at", "position"]))
    if column:
        by = draw(st.sampled_from(["10m", "1h", "0s"] if column == "at" else [0, 1, 2]))
        settings[draw(st.sampled_from(["gap", "window"]))] = {column: by}
    named = [part if isinstance(part, str) else "name" for part in key]
    settings["nulls"] = dict.fromkeys(draw(st.lists(st.sampled_from(named), unique=True)), "match")
    settings["minimum"] = draw(st.sampled_from([2, 2, 3]))
    settings["distinct"] = draw(st.sampled_from([None, None, "code", "position"]))
    settings["keep"] = draw(
        st.sampled_from(
            [[], [{"first": "at"}], [{"last": "at"}, {"min": "position"}], [{"prefer": {"code": ["b", "A1"]}}]]
        )
    )
    return settings


@pytest.fixture(scope="module")
def databases() -> Iterator[dict[str, sa.Engine]]:
    """An engine for each database; those of servers in databases of their own, dropped afterwards."""
    opened = [(name, _scratch_database(url)) for name, url in (("postgresql", POSTGRES), ("mariadb", MARIADB))]
    engines = {name: sa.create_engine(next(scratch)) for name, scratch in opened}
    engines["sqlite"] = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    yield engines
    for engine in engines.values():
        engine.dispose()
    for _, scratch in opened:
        next(scratch, None)


def tricky(**same: Any) -> list[dict[str, Any]]:
    """A record for each tricky text, otherwise alike."""
    alike = {"code": "a1", "amount": Decimal(1), "position": 1, "at": BERLIN_FOLD} | same
    return [{"id": n, "name": name, **alike} for n, name in enumerate(TRICKY)]


def apart(*seconds: float, amount: str = "1") -> list[dict[str, Any]]:
    """Records that are alike but for their time."""
    times = [BERLIN_FOLD + dt.timedelta(seconds=one) for one in seconds]
    alike = {"name": "a", "code": "a1", "amount": Decimal(amount), "position": 1}
    return [{"id": n, "at": at, **alike} for n, at in enumerate(times)]


@pytest.mark.server
@settings(max_examples=EXAMPLES)
@given(data=rows, settings=rules())
@example(data=tricky(), settings={"key": [{"name": ["trim", "lower"]}]})
@example(data=tricky(), settings={"key": ["name"]})
@example(data=tricky(), settings={"key": [{"name": ["nfkc", "casefold"]}, "position"], "gap": {"at": "0s"}})
@example(
    data=tricky(code=None, amount=None),
    settings={"key": [{"name": ["casefold"]}, "amount", "code"], "nulls": {"amount": "match", "code": "match"}},
)
@example(data=apart(0, 600, 1200.000001, 1800), settings={"key": ["code"], "gap": {"at": "10m"}})
@example(data=apart(0, 600, 600.000001, 1200, 3600), settings={"key": ["amount"], "window": {"at": "10m"}})
@example(
    data=[{**one, "id": n, "amount": Decimal(f"9007199254740993.0{n % 2}")} for n, one in enumerate(apart(0, 0, 0, 0))],
    settings={"key": ["amount"], "window": {"position": 0}},
)
def test_every_engine_answers_as_plain_python_does(
    data: list[dict[str, Any]],
    settings: dict[str, Any],
    databases: dict[str, sa.Engine],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    rule = DuplicatesRule(name="twins", dataset="things", **settings)
    given_rows = Rows(TYPES, data, timezone="Europe/Berlin")

    expected = oracle(rule, data)

    relation = given_rows.relation()
    assert answer(detect(rule, relation, given_rows.streamed(), SLOT)) == expected
    folder = tmp_path_factory.getbasetemp()
    assert answer(detect(rule, relation, given_rows.readable(folder), SLOT)) == expected
    for name, engine in databases.items():
        if pushdown_obstacle(rule, relation, engine.dialect.name) is None:
            with pushed(engine, given_rows) as records:
                found = detect(rule, relation, records, SLOT)
            assert (name, answer(found)) == (name, expected)


def test_most_rules_reach_every_database() -> None:
    """Otherwise the test above would compare DuckDB with itself."""
    relation = Rows(TYPES, []).relation()

    def obstacles(dialect: str, *key: Any) -> str | None:
        return pushdown_obstacle(DuplicatesRule(name="twins", dataset="things", key=list(key)), relation, dialect)

    assert [obstacles(d, {"name": ["trim", "lower"]}, "code") for d in ("postgresql", "mysql", "sqlite")] == [None] * 3
    assert [obstacles(d, "code", "amount") for d in ("postgresql", "mysql")] == [None] * 2
    assert obstacles("sqlite", "amount") == "SQLite keeps the decimals of `amount` as floating-point numbers"
    folding = DuplicatesRule(name="twins", dataset="things", key=[{"name": ["lower"]}])
    assert guarded(folding, relation, "postgresql")


Answer = tuple[set[tuple[Any, ...]], dict[tuple[str, str], int], int]


def answer(found: Detection) -> Answer:
    """What the oracle says too: groups as (key, ids, keeper first, span), what was skipped, how many scanned."""
    groups = {(tuple(g.key.values()), tuple(m.id[0] for m in g.members), g.span) for g in found.groups}
    assert len(groups) == len(found.groups)
    return groups, {(s.column, s.reason): s.records for s in found.skipped}, found.scanned


def oracle(rule: DuplicatesRule, data: list[dict[str, Any]]) -> Answer:
    """The rule, said as simply as Python can: compare every record with every other."""
    skipped: dict[tuple[str, str], int] = {}
    taking_part: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    scanned = 0
    for record in data:
        passes = WHERE[rule.where](record)
        if passes is not True:
            if passes is None:
                _count(skipped, "where", "the condition is unknown: a value in it is null")
            continue
        scanned += 1
        key = tuple(_normal(record[p.column], [s.name for s in p.steps]) for p in rule.key)
        empty = [(p, v) for p, v in zip(rule.key, key, strict=True) if v is None and p.column not in rule.nulls]
        if empty:
            column = empty[0][0].column
            _count(skipped, column, "null" if record[column] is None else "empty after normalising")
        elif rule.span and record[rule.span.column] is None:
            _count(skipped, rule.span.column, "null")
        else:
            taking_part.append((key, record))
    groups = set()
    for members in _clusters(rule, taking_part):
        codes = {record[rule.distinct] for record in members if rule.distinct and record[rule.distinct] is not None}
        if len(members) < rule.minimum or (rule.distinct and len(codes) < 2):
            continue
        key = next(key for key, record in taking_part if record is members[0])
        ordered = sorted(members, key=lambda record: (*_wishes(rule, record), record["id"]))
        at = sorted(record[rule.span.column] for record in members) if rule.span else []
        groups.add((key, tuple(r["id"] for r in ordered), (at[0], at[-1]) if at else None))
    return groups, skipped, scanned


def _clusters(rule: DuplicatesRule, taking_part: list[tuple[Any, dict[str, Any]]]) -> Iterator[list[dict[str, Any]]]:
    free = list(taking_part)
    while free:
        same = [one for one in free if one[0] == free[0][0]]
        free = [one for one in free if one[0] != free[0][0]]
        records = [record for _, record in same]
        if rule.span is None:
            yield records
            continue
        column, by = rule.span.column, rule.span.by
        while records:
            records.sort(key=lambda record: (record[column], record["id"]))
            cluster = [records[0]]
            for record in records[1:]:
                anchor = cluster[-1] if rule.gap else cluster[0]
                if record[column] - anchor[column] <= by:
                    cluster.append(record)
            yield cluster
            records = [record for record in records if record not in cluster]


def _wishes(rule: DuplicatesRule, record: dict[str, Any]) -> Iterator[Any]:
    for line in rule.keep:
        value = record[line.column]
        if line.how == "prefer":
            yield line.prefer.index(value) if value in line.prefer else len(line.prefer) + (value is None)
        elif value is None:
            yield (1, 0)
        else:
            number = value if isinstance(value, int) else (value - BERLIN_FOLD) // dt.timedelta(microseconds=1)
            yield (0, number if line.how in ("first", "min") else -number)


def _normal(value: Any, steps: list[str]) -> Any:
    for step in steps:
        value = None if value is None else PYTHON[step](value)
    return None if isinstance(value, str) and not value.strip() else value


def _lower(text: str) -> str:
    return "".join("i" if c == "İ" else c.lower() for c in text)


def _unaccent(text: str) -> str:
    return str(NORMALISERS["unaccent"].python(text, None, "UTC"))


def _email(text: str) -> Any:
    return NORMALISERS["email"].python(text, None, "UTC")


PYTHON = {
    "trim": str.strip,
    "lower": _lower,
    "casefold": str.casefold,
    "nfkc": lambda text: unicodedata.normalize("NFKC", text),
    "unaccent": _unaccent,
    "email": _email,
}


def _either(left: bool | None, right: bool | None) -> bool | None:
    if left or right:
        return True
    return None if left is None or right is None else False


def _count(skipped: dict[tuple[str, str], int], column: str, reason: str) -> None:
    skipped[column, reason] = skipped.get((column, reason), 0) + 1
