"""Every engine gives exactly the groups that plain, slow, obvious Python gives, whatever the rows and the rule."""

import datetime as dt
import os
import unicodedata
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rules.document.mistakes import RuleError
from rules.groups.detection import Detection
from rules.kinds.duplicates import DuplicatesRule, MaximumDistance
from rules.models import Keep, Percent
from rules.normalise import NORMALISERS
from rules.values import Type
from tests.support.chance import examples
from tests.support.rules import Rows, databases, detect, guarded, pushdown_obstacle, pushed

__all__ = ["databases"]
EXAMPLES = int(os.environ.get("RECONCILE_EXAMPLES") or examples(25))
SLOT = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
TYPES = {
    "id": Type.INTEGER,
    "name": Type.TEXT,
    "code": Type.TEXT,
    "amount": Type.DECIMAL,
    "position": Type.INTEGER,
    "at": Type.INSTANT,
    "until": Type.INSTANT,
    "last": Type.INTEGER,
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
        "until": instants,
        "last": st.one_of(st.none(), st.integers(-3, 8)),
    }
)
rows = st.lists(row, max_size=14).map(lambda result: [{"id": n, **item} for n, item in enumerate(result)])
chains = st.sampled_from(
    [[], ["trim"], ["lower"], ["trim", "lower"], ["casefold"], ["nfkc", "casefold"], ["trim", "unaccent"], ["email"]]
)
WHERE = {
    None: lambda _: True,
    "position > 0": lambda row: None if row["position"] is None else row["position"] > 0,
    "code = 'a1' or amount > 1": lambda row: _either(
        None if row["code"] is None else row["code"] == "a1", None if row["amount"] is None else row["amount"] > 1
    ),
    "lower(name) <> 'ss'": lambda row: None if not (row["name"] or "").strip() else _lower(row["name"]) != "ss",
    "name is not null": lambda row: bool((row["name"] or "").strip()),
}


KEEP: list[list[Any]] = [
    [],
    [{"first": "at"}],
    [{"last": "at"}, {"min": "position"}],
    [{"prefer": {"code": ["b", "A1"]}}],
]


DISTANCES: dict[str, list[Any]] = {
    "at": ["10m", "1h", "0s"],
    "position": [0, 1, 2, "50%", "99.9%"],
    "amount": ["0.1", "9%", "10%", 1],
}
PERIODS = [
    *({"from": "at", "to": "until", **ends} for ends in ({}, {"ends": "included"}, {"ends": "excluded"})),
    *({"from": "position", "to": "last", **ends} for ends in ({}, {"ends": "excluded"})),
]


@st.composite
def rules(draw: st.DrawFn) -> dict[str, Any]:
    """A rule's settings: keys with normalisers, filters, spans, null matching, minimum and keepers."""
    key: list[Any] = [{"name": draw(chains)}] if draw(st.booleans()) else []
    key += draw(st.lists(st.sampled_from(["code", "amount"]), unique=True, min_size=0 if key else 1))
    settings: dict[str, Any] = {"key": key, "where": draw(st.sampled_from(list(WHERE)))}
    column = draw(st.sampled_from([None, "at", "position", "amount", "overlap"]))
    if column == "overlap":
        settings["overlap"] = draw(st.sampled_from(PERIODS))
    elif column:
        span = {column: draw(st.sampled_from(DISTANCES[column]))}
        second = draw(st.sampled_from([None, *DISTANCES]))
        if second is not None and second != column:
            span[second] = draw(st.sampled_from(DISTANCES[second]))
        settings[draw(st.sampled_from(["gap", "window"]))] = span
    named = [part if isinstance(part, str) else "name" for part in key]
    settings["nulls"] = dict.fromkeys(draw(st.lists(st.sampled_from(named), unique=True)), "match")
    settings["minimum"] = draw(st.sampled_from([2, 2, 3]))
    free = [name for name in ("code", "position") if name not in key]  # a plain column of the key never differs
    settings["distinct"] = draw(st.sampled_from([None, None, *free]))
    settings["keep"] = draw(
        st.sampled_from(
            [[], [{"first": "at"}], [{"last": "at"}, {"min": "position"}], [{"prefer": {"code": ["b", "A1"]}}]]
        )
    )
    return settings


def tricky(**same: Any) -> list[dict[str, Any]]:
    """A record for each tricky text, otherwise alike."""
    alike = {"code": "a1", "amount": Decimal(1), "position": 1, "at": BERLIN_FOLD, "until": None, "last": 1} | same
    return [{"id": n, "name": name, **alike} for n, name in enumerate(TRICKY)]


def apart(*seconds: float, amount: str = "1") -> list[dict[str, Any]]:
    """Records that are alike but for their time."""
    times = [BERLIN_FOLD + dt.timedelta(seconds=second) for second in seconds]
    alike = {"name": "a", "code": "a1", "amount": Decimal(amount), "position": 1, "until": None, "last": None}
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
    data=[
        {**moment, "id": n, "amount": Decimal(f"9007199254740993.0{n % 2}")}
        for n, moment in enumerate(apart(0, 0, 0, 0))
    ],
    settings={"key": ["amount"], "window": {"position": 0}},
)
@example(
    data=[{**moment, "amount": Decimal(n)} for moment, n in zip(apart(0, 60, 120, 180), (20, 50, 20, 50), strict=True)],
    settings={"key": ["code"], "gap": {"at": "10m", "amount": "1%"}},
)
@example(
    data=[
        {**moment, "amount": Decimal(n)} for moment, n in zip(apart(0, 60, 540, 660), (100, 101, 102, 100), strict=True)
    ],
    settings={"key": ["code"], "window": {"at": "10m", "amount": 1}},
)
@example(
    data=[
        {**moment, "until": end and BERLIN_FOLD + dt.timedelta(seconds=end)}
        for moment, end in zip(apart(0, 60, 120, 400, 500, 500), (300, 120, 130, 400, 600, None), strict=True)
    ],
    settings={"key": ["code"], "overlap": {"from": "at", "to": "until"}},
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
                detection = detect(rule, relation, records, SLOT)
            assert (name, answer(detection)) == (name, expected)


Said = tuple[str, Callable[[dict[str, Any]], bool | None]]
"""A condition as text, and what plain Python says of a record."""


def _unless_null(name: str, judge: Callable[[Any], bool]) -> Callable[[dict[str, Any]], bool | None]:
    return lambda record: None if record[name] is None else judge(record[name])


def _negated(inner: Said) -> Said:
    def judge(record: dict[str, Any]) -> bool | None:
        value = inner[1](record)
        return None if value is None else not value

    return f"not ({inner[0]})" if " " in inner[0] else f"not {inner[0]}", judge


def _joined(left: Said, right: Said, word: str) -> Said:
    decisive = word == "or"

    def judge(record: dict[str, Any]) -> bool | None:
        values = (left[1](record), right[1](record))
        return decisive if decisive in values else None if None in values else not decisive

    return f"({left[0]}) {word} ({right[0]})", judge


def _compared(left: Said, right: Said, sign: str) -> Said:
    def judge(record: dict[str, Any]) -> bool | None:
        a, b = left[1](record), right[1](record)
        return None if a is None or b is None else (a == b) is (sign == "=")

    return f"({left[0]}) {sign} ({right[0]})", judge


_leaves: st.SearchStrategy[Said] = st.sampled_from(
    [
        ("paid", lambda record: record["paid"]),
        ("position > 0", _unless_null("position", lambda value: value > 0)),
        ("position not in (1, 2)", _unless_null("position", lambda value: value not in (1, 2))),
        ("position between 0 and 3", _unless_null("position", lambda value: 0 <= value <= 3)),
        ("code = 'a1'", _unless_null("code", lambda value: value == "a1")),
        ("code not like 'A%'", _unless_null("code", lambda value: not value.startswith("A"))),
        ("name is null", lambda record: record["name"] is None or not record["name"].strip()),
    ]
)
conditions = st.recursive(
    _leaves,
    lambda inner: (
        inner.map(_negated)
        | inner.map(lambda entry: (f"({entry[0]}) is null", lambda record: entry[1](record) is None))
        | inner.map(lambda item: (f"({item[0]}) is not null", lambda record: item[1](record) is not None))
        | st.builds(_joined, inner, inner, st.sampled_from(["and", "or"]))
        | st.builds(_compared, inner, inner, st.sampled_from(["=", "<>"]))
    ),
    max_leaves=6,
)
PAID: Said = ("paid", lambda record: record["paid"])
PLACED: Said = ("position >= 0", _unless_null("position", lambda value: value >= 0))


@pytest.mark.server
@settings(max_examples=EXAMPLES)
@given(
    data=st.lists(st.tuples(row, st.sampled_from([None, True, False])), max_size=10),
    inside=conditions,
    taken=conditions,
)
@example(
    data=[(moment, paid) for moment in apart(0, 0) for paid in (True, False, None)], inside=PLACED, taken=_negated(PAID)
)
@example(
    data=[(moment, paid) for moment in apart(0, 0) for paid in (True, False, None)], inside=_negated(PAID), taken=PLACED
)
@example(
    data=[(moment, paid) for moment in apart(0, 0) for paid in (True, False, None)], inside=_negated(PAID), taken=PAID
)
def test_every_engine_leaves_out_and_counts_what_plain_python_does_by_any_conditions(
    data: list[tuple[dict[str, Any], bool | None]],
    inside: Said,
    taken: Said,
    databases: dict[str, sa.Engine],
) -> None:
    records = [{**record, "id": n, "paid": paid} for n, (record, paid) in enumerate(data)]
    rows = Rows({**TYPES, "paid": Type.BOOLEAN}, records, where=inside[0])
    rule = DuplicatesRule(name="twins", dataset="things", key=["position"], where=taken[0], nulls={"position": "match"})
    held = [(inside[1](record), taken[1](record)) for record in records]

    def counts(result: Detection) -> tuple[int, int, int, list[int]]:
        unknown = sum(item.records for item in result.skipped)
        return result.read, result.scanned, unknown, sorted(m.id[0] for g in result.groups for m in g.members)  # type: ignore[misc]

    passed = [record["position"] for record, (first, second) in zip(records, held, strict=True) if first and second]
    twins = [
        record["id"]
        for record, (first, second) in zip(records, held, strict=True)
        if first and second and passed.count(record["position"]) > 1
    ]
    unknown = sum(first is None or (first and second is None) for first, second in held)
    expected = (len(records), len(passed), unknown, twins)
    relation = rows.relation()

    try:
        detection = detect(rule, relation, rows.streamed(), SLOT)
    except RuleError as error:
        if passed or "no record can meet this condition" not in str(error):
            raise
        return
    assert counts(detection) == expected
    for name, engine in databases.items():
        with pushed(engine, rows) as pushed_rows:
            assert (name, counts(detect(rule, relation, pushed_rows, SLOT))) == (name, expected)


def test_most_rules_reach_every_database() -> None:
    """Otherwise the test above would compare DuckDB with itself."""
    relation = Rows(TYPES, []).relation()

    def obstacles(dialect: str, *key: Any) -> str | None:
        return pushdown_obstacle(DuplicatesRule(name="twins", dataset="things", key=list(key)), relation, dialect)

    assert [obstacles(d, {"name": ["trim", "lower"]}, "code") for d in ("postgresql", "mysql", "sqlite")] == [None] * 3
    assert [obstacles(d, "code", "amount") for d in ("postgresql", "mysql")] == [None] * 2
    assert obstacles("sqlite", "amount") == "SQLite stores the decimals of `amount` as floating-point numbers"
    folding = DuplicatesRule(name="twins", dataset="things", key=[{"name": ["lower"]}])
    assert guarded(folding, relation, "postgresql")


@pytest.mark.slow
def test_a_derived_text_that_is_not_ascii_is_folded_here() -> None:
    """The guard asks whether the dataset's texts are ASCII; a derived one may add others."""
    derived = {"plain": "concat(name, 'E')", "accented": "concat(name, 'É')", "later": "suffix(accented, 1)"}
    relation = Rows(TYPES, [], derived=derived).relation()

    def obstacle(column: str) -> str | None:
        rule = DuplicatesRule(name="twins", dataset="things", key=[{column: ["lower"]}])
        return pushdown_obstacle(rule, relation, "postgresql")

    assert obstacle("plain") is None
    assert obstacle("accented") == "`lower` on `accented` has no exact form in PostgreSQL"
    assert obstacle("later") == "`lower` on `later` has no exact form in PostgreSQL"


Answer = tuple[set[tuple[Any, ...]], dict[tuple[str, str], int], int]


def answer(detection: Detection) -> Answer:
    """What the oracle says too: groups as (key, ids, keeper first, span), what was skipped, how many scanned."""
    groups = {(tuple(g.key.values()), tuple(m.id[0] for m in g.members), g.span) for g in detection.groups}
    assert len(groups) == len(detection.groups)
    return groups, {(s.column, s.reason): s.records for s in detection.skipped}, detection.scanned


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
            _count(skipped, column, "null" if _normal(record[column], []) is None else "empty after normalising")
        elif rule.span and (missing := [column for column in _needed(rule) if record[column] is None]):
            _count(skipped, missing[0], "null")
        elif rule.overlap and not _covers(rule, record, record):
            _count(skipped, rule.overlap.end, "empty period")
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
        same = [item for item in free if item[0] == free[0][0]]
        free = [item for item in free if item[0] != free[0][0]]
        records = [record for _, record in same]
        if rule.span is None:
            yield records
            continue
        column = rule.span.column
        while records:
            records.sort(key=lambda record: (record[column], record["id"]))
            cluster = [records[0]]
            for record in cluster if rule.window is None else cluster[:1]:
                cluster += [
                    other_record
                    for other_record in records
                    if other_record not in cluster and _belong(rule, record, other_record)
                ]
            yield sorted(cluster, key=lambda record: (record[column], record["id"]))
            records = [record for record in records if record not in cluster]


def _belong(rule: DuplicatesRule, first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether two records of one key are near, or overlap; each other record is compared with them too."""
    if rule.overlap:
        return _covers(rule, first, second) and _covers(rule, second, first)
    limit = rule.gap or rule.window
    while limit is not None:
        values = first[limit.column], second[limit.column]
        reach = limit.by.percent / 100 * max(map(abs, values)) if isinstance(limit.by, Percent) else limit.by
        if abs(values[0] - values[1]) > reach:
            return False
        limit = limit.also
    return True


def _covers(rule: DuplicatesRule, first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether the first period lasts until the second begins."""
    assert rule.overlap is not None
    end, begin = first[rule.overlap.end], second[rule.overlap.begin]
    includes = rule.overlap.ends == "included" or (rule.overlap.ends is None and rule.overlap.begin != "at")
    return end is None or (begin <= end if includes else begin < end)


def _needed(rule: DuplicatesRule) -> list[str]:
    if rule.overlap:
        return [rule.overlap.begin]
    assert isinstance(rule.span, MaximumDistance)
    return [rule.span.column, *([rule.span.also.column] if rule.span.also else [])]


def _wishes(rule: DuplicatesRule, record: dict[str, Any]) -> Iterator[Any]:
    for line in rule.keep or ([Keep(how="first", column=rule.span.column)] if rule.span else []):
        value = record[line.column]
        if line.how == "prefer":
            yield line.prefer.index(value) if value in line.prefer else len(line.prefer) + (value is None)
        elif value is None:
            yield (1, 0)
        else:
            number = value - BERLIN_FOLD if isinstance(value, dt.datetime) else value
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
