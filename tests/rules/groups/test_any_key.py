"""Any of several keys: every engine joins exactly the records that plain, slow Python joins."""

import datetime as dt
import os
import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.engines import hashed, pushdown
from rules.engines.base import IdentityProblem, Readable, Relation, Repeats
from rules.engines.compile import Compiler
from rules.groups.detection import Detection
from rules.groups.group import DuplicateGroup, Group
from rules.kinds.duplicates import DuplicatesRule
from rules.kinds.duplicates.detection import FittedDuplicates
from rules.pairs import links
from rules.pairs.evidence import JudgedPairs, linking_values
from rules.values import Type, canonical_json
from tests.support.chance import examples
from tests.support.config import problems
from tests.support.rules import Rows, check, databases, detect, explain, pushdown_obstacle, pushed

__all__ = ["databases"]
EXAMPLES = int(os.environ.get("RECONCILE_EXAMPLES") or examples(25))
SLOT = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
TYPES = {
    "id": Type.INTEGER,
    "email": Type.TEXT,
    "phone": Type.TEXT,
    "name": Type.TEXT,
    "born": Type.DATE,
    "position": Type.INTEGER,
}
BORN = (dt.date(1990, 1, 2), dt.date(1990, 2, 1))
WHERE = {None: lambda _: True, "position > 0": lambda row: None if row["position"] is None else row["position"] > 0}
NORMAL = {"trim": str.strip, "lower": str.lower, "digits": lambda text: "".join(c for c in text if c.isdigit())}

person = st.fixed_dictionaries(
    {
        "email": st.sampled_from([None, "a@x", "A@x ", "b@x", "c@x", "", " "]),
        "phone": st.sampled_from([None, "1", "0 1", "2", "3", "-"]),
        "name": st.sampled_from([None, "Ann", "Bob", "É"]),
        "born": st.sampled_from([None, *BORN]),
        "position": st.sampled_from([None, 0, 1, 2]),
    }
)
people = st.lists(person, max_size=14).map(lambda rows: [{"id": n, **row} for n, row in enumerate(rows)])
keys = st.lists(
    st.sampled_from(
        [
            ["email"],
            [{"email": ["trim"]}],
            [{"email": ["trim", "lower"]}],
            ["phone"],
            [{"phone": ["digits"]}],
            ["name", "born"],
            ["name", "phone"],
            ["born", "position"],
        ]
    ),
    min_size=2,
    max_size=4,
    unique_by=repr,
)
pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(7, 13)), max_size=12, unique=True)


@st.composite
def rules(draw: st.DrawFn) -> dict[str, Any]:
    """The settings of a rule with several keys."""
    key = draw(keys)
    columns = sorted({part if isinstance(part, str) else next(iter(part)) for parts in key for part in parts})
    return {
        "key": {"any": key},
        "max_shared": draw(st.sampled_from([2, 3, 50])),
        "nulls": dict.fromkeys(draw(st.lists(st.sampled_from(columns), unique=True, max_size=1)), "match"),
        "except": [[str(first), str(second)] for first, second in draw(pairs)],
        "where": draw(st.sampled_from(list(WHERE))),
        "minimum": draw(st.sampled_from([2, 2, 3])),
        "keep": draw(st.sampled_from([[], [{"last": "position"}]])),
    }


@pytest.mark.server
@settings(max_examples=EXAMPLES)
@given(data=people, settings=rules(), seed=st.integers(0, 3))
def test_every_engine_joins_as_plain_python_does(
    data: list[dict[str, Any]],
    settings: dict[str, Any],
    seed: int,
    databases: dict[str, sa.Engine],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    rule, rows = twins(**settings), Rows(TYPES, data)
    relation = rows.relation()
    answers = {"streamed": detect(rule, relation, rows.streamed(), SLOT)}

    expected = oracle(rule, data)

    shuffled = random.Random(seed).sample(data, len(data))
    answers["shuffled"] = detect(rule, relation, Rows(TYPES, shuffled).streamed(), SLOT)
    answers["readable"] = detect(rule, relation, rows.readable(tmp_path_factory.getbasetemp()), SLOT)
    for name, engine in databases.items():
        if pushdown_obstacle(rule, relation, engine.dialect.name) is None:
            with pushed(engine, rows) as records:
                answers[name] = detect(rule, relation, records, SLOT)
    for name, answer in answers.items():
        assert (name, facts(answer)) == (name, expected)
        assert (name, list(answer.groups)) == (name, list(answers["streamed"].groups))
    again = FittedDuplicates.of(rule, relation).regroup(shuffled, SLOT)
    assert list(again) == list(answers["streamed"].groups)


def twins(**settings: Any) -> DuplicatesRule:
    defaults = {"key": {"any": [["email"], ["phone"]]}}
    return DuplicatesRule.model_validate({"name": "twins", "dataset": "things", **defaults, **settings})


def these(*rows: Mapping[str, Any], **more: Any) -> Rows:
    return Rows(TYPES, [{"id": n, **row} for n, row in enumerate(rows)], **more)


def found(rule: DuplicatesRule, rows: Rows) -> Detection:
    return detect(rule, rows.relation(), rows.streamed(), SLOT)


def ids(groups: Iterable[Group]) -> list[list[Any]]:
    return [[member.id[0] for member in group.members] for group in groups]


def test_most_rules_with_several_keys_reach_every_database() -> None:
    """Otherwise the test above would compare DuckDB with itself."""
    relation = Rows(TYPES, []).relation()

    def obstacles(key: list[Any]) -> list[str | None]:
        rule = twins(key={"any": key})
        return [pushdown_obstacle(rule, relation, dialect) for dialect in ("postgresql", "mysql", "sqlite")]

    texts = "with several keys, the texts of `phone` compare exactly there only if all are ASCII"
    assert obstacles([["email"], [{"phone": ["trim"]}], ["name", "position"]]) == [
        None,
        None,
        texts,
    ]  # SQLite: no class
    assert (
        obstacles([[{"email": ["lower"]}], ["phone"]])
        == ["with several keys, the texts of `email` compare exactly there only if all are ASCII"] * 3
    )


Facts = tuple[set[Any], dict[tuple[str, str], int]]
"""The groups as (ids, keeper first; values; bridges as pairs of ids), and the records that were left out."""
Pair = tuple[int, int]


def facts(detection: Detection) -> Facts:
    groups = set()
    for group in detection.groups:
        assert isinstance(group, DuplicateGroup)
        ids = [member.id[0] for member in group.members]
        bridges = frozenset(frozenset((ids[link.first], ids[link.second])) for link in group.links if link.bridge)
        groups.add((tuple(ids), frozenset(group.key.values()), bridges))
    assert len(groups) == len(detection.groups)
    return groups, {(s.column, s.reason): s.records for s in detection.skipped}


def oracle(rule: DuplicatesRule, data: list[dict[str, Any]]) -> Facts:
    """Compare every record with every other, and unite those that agree by a key."""
    left_out: Counter[tuple[str, str]] = Counter()
    taking_part = []
    for record in data:
        passes = WHERE[rule.where](record)
        if passes is None:
            left_out["where", "the condition is unknown: a value in it is null"] += 1
        elif passes:
            taking_part.append(record)
    values = {(record["id"], n): _value(rule, n, record) for record in taking_part for n in range(len(rule.keys))}
    for record in taking_part:
        if all(values[record["id"], n] is None for n in range(len(rule.keys))):
            left_out[_why(rule, record)] += 1
    counts = Counter((n, value) for (_, n), value in values.items() if value is not None)
    for (n, _), records in counts.items():
        if records > rule.max_shared:
            column = ", ".join(dict.fromkeys(part.column for part in rule.keys[n]))
            left_out[column, f"shared by more than {rule.max_shared} records"] += records
    agree = {
        (a["id"], b["id"]): shared
        for a, b in combinations(sorted(taking_part, key=lambda record: record["id"]), 2)
        if ((str(a["id"]),), (str(b["id"]),)) not in rule.except_
        if (shared := _shared(rule, values, counts, a["id"], b["id"]))
    }
    by_id = {record["id"]: record for record in taking_part}
    groups = set()
    for part in united(by_id, agree):
        if len(part) >= max(2, rule.minimum):
            inside = {pair: shared for pair, shared in agree.items() if pair[0] in part}
            linking = frozenset(value for shared in inside.values() for _, key in shared for value in key)
            bridges = frozenset(frozenset(pair) for pair in inside if len(united(part, inside.keys() - {pair})) > 1)
            groups.add((tuple(sorted(part, key=lambda n: _wish(rule, by_id[n]))), linking, bridges))
    return groups, dict(left_out)


def united(items: Iterable[int], pairs: Iterable[Pair]) -> list[set[int]]:
    """The items in sets: at first one for each, and for each pair two of them become one."""
    set_of = {item: {item} for item in items}
    for first, second in pairs:
        if set_of[first] is not set_of[second]:
            together = set_of[first] | set_of[second]
            set_of |= dict.fromkeys(together, together)
    return list({id(one_set): one_set for one_set in set_of.values()}.values())


def _value(rule: DuplicatesRule, number: int, record: dict[str, Any]) -> tuple[Any, ...] | None:
    parts = rule.keys[number]
    value = tuple(_normal(record[part.column], [step.name for step in part.steps]) for part in parts)
    is_missing = any(v is None and part.column not in rule.nulls for v, part in zip(value, parts, strict=True))
    return None if is_missing else value


def _shared(
    rule: DuplicatesRule, values: dict[Pair, Any], counts: Counter[Any], first: int, second: int
) -> list[tuple[int, Any]]:
    return [
        (n, values[first, n])
        for n in range(len(rule.keys))
        if values[first, n] is not None
        and values[first, n] == values[second, n]
        and counts[n, values[first, n]] <= rule.max_shared
    ]


def _why(rule: DuplicatesRule, record: dict[str, Any]) -> tuple[str, str]:
    """A record is left out because each key has an empty part."""
    for parts in rule.keys:
        values = [_normal(record[part.column], [step.name for step in part.steps]) for part in parts]
        assert any(value is None and part.column not in rule.nulls for value, part in zip(values, parts, strict=True))
    return "key", f"incomplete: each of the {len(rule.keys)} keys lacks a value"


def _normal(value: Any, steps: list[str]) -> Any:
    for step in steps:
        value = None if value is None else NORMAL[step](value)
    return None if isinstance(value, str) and not value.strip() else value


def _wish(rule: DuplicatesRule, record: dict[str, Any]) -> tuple[Any, ...]:
    position = record["position"]
    return ((position is None, -(position or 0)) if rule.keep else (), record["id"])


class Numbered:
    """A rule's group in short: who is linked to whom, by which keys, and which links are bridges."""

    def __init__(self, group: Group) -> None:
        assert isinstance(group, DuplicateGroup)
        names = [member.id[0] for member in group.members]
        self.links = {(names[link.first], names[link.second]): (link.keys, link.bridge) for link in group.links}


def test_a_finding_tells_which_pairs_agree_by_which_keys_and_which_link_it_hangs_on() -> None:
    rows = these(
        {"email": "a@x", "phone": "1"},
        {"email": "a@x", "phone": "1"},
        {"email": "a@x", "phone": "2"},
        {"email": "b@x", "phone": "2"},
        {"email": "b@x", "phone": "3"},
    )

    [group] = found(twins(), rows).groups

    assert Numbered(group).links == {
        (0, 1): ((0, 1), False),
        (0, 2): ((0,), False),
        (1, 2): ((0,), False),
        (2, 3): ((1,), True),
        (3, 4): ((0,), True),
    }


def test_a_rule_names_its_keys_in_the_order_in_which_links_count_them() -> None:
    assert twins(key={"any": [["email"], [{"phone": ["digits"]}], ["name", "born"]]}).alternatives == (
        "email",
        "phone",
        "name and born",
    )
    assert twins(key=["email", "phone"]).alternatives == ()


def test_the_key_shows_every_value_that_links_the_value_of_most_records_first() -> None:
    rows = these(
        {"email": "b@x", "name": "Ann", "born": BORN[0]},
        {"email": "b@x", "name": "Ann", "born": BORN[1]},
        {"email": "c@x", "name": "Ann", "born": BORN[0], "phone": "9"},
        {"email": "a@x", "name": "Bob", "born": BORN[1]},
        {"email": "a@x", "name": "Ann", "born": BORN[1]},
        {"email": "b@x", "name": "Eve"},
    )

    [group] = found(twins(key={"any": [["email"], ["phone"], ["name", "born"]]}), rows).groups

    assert group.key == {
        "email": "b@x",
        "email (2)": "a@x",
        "name": "Ann",
        "born": BORN[0],
        "born (2)": BORN[1],
    }
    assert list(group.key)[:2] == ["email", "email (2)"]


@pytest.mark.slow
def test_a_value_that_too_many_records_share_joins_none_and_is_counted() -> None:
    rows = these(
        *({"email": f"{n}@x", "phone": "0"} for n in range(4)),
        {"email": "0@x", "phone": "1"},
        {"email": "4@x", "phone": "1"},
    )

    most_four = found(twins(max_shared=4), rows)
    most_three = found(twins(max_shared=3), rows)

    assert ids(most_four.groups) == [[0, 1, 2, 3, 4, 5]]
    assert ids(most_three.groups) == [[0, 4, 5]]
    assert [(s.column, s.reason, s.records) for s in most_three.skipped] == [
        ("phone", "shared by more than 3 records", 4)
    ]
    assert not most_four.skipped


def test_pairs_known_to_be_different_split_a_component_into_what_its_other_links_connect() -> None:
    rows = these({"email": "a@x"}, {"email": "a@x", "phone": "1"}, {"phone": "1"}, {"email": "a@x", "phone": "2"})

    split = found(twins(**{"except": [["0", "1"], ["1", "3"]]}), rows).groups
    around = found(twins(**{"except": [["0", "1"]]}), rows).groups

    assert ids(split) == [[1, 2], [0, 3]]
    assert [dict(group.key) for group in split] == [{"phone": "1"}, {"email": "a@x"}]
    assert ids(around) == [[0, 1, 2, 3]]
    assert Numbered(around[0]).links == {(0, 3): ((0,), True), (1, 3): ((0,), True), (1, 2): ((1,), True)}


def judged(first: int, second: int, **values: Any) -> JudgedPairs:
    """Two records that people judged to be different when these values linked them."""
    names = frozenset((None, canonical_json((n,))) for n in (first, second))
    return {names: linking_values(values.items())}


@pytest.mark.slow
def test_a_pair_that_people_judged_to_be_different_is_joined_only_by_a_new_value() -> None:
    rule = twins().with_judged(judged(0, 1, email="a@x"))
    pair = [{"email": "a@x"}, {"email": "a@x", "phone": "1"}]

    def groups(*rows: Mapping[str, Any]) -> list[list[Any]]:
        return ids(found(rule, these(*rows)).groups)

    assert groups(*pair) == []
    assert groups(*pair, {"phone": "1"}) == [[1, 2]]
    assert groups(*pair, {"email": "a@x"}) == [[0, 1, 2]]
    assert groups({"email": "a@x", "phone": "1"}, pair[1]) == [[0, 1]]
    assert groups({"email": "b@x"}, {"email": "b@x"}) == [[0, 1]]


def test_with_one_key_people_s_judgements_are_left_to_tracking() -> None:
    rule = twins(key=["email"])

    assert rule.with_judged(judged(0, 1, email="a@x")) is rule


def test_records_without_id_are_joined_like_others() -> None:
    types = {name: TYPES[name] for name in ("email", "phone")}
    rows = [
        {"email": "a@x", "phone": "1"},
        {"email": "a@x", "phone": "1"},
        {"email": "b@x", "phone": "1"},
        {"email": "c@x"},
    ]

    [group] = found(twins(), Rows(types, rows, id=())).groups

    assert [member.values["email"] for member in group.members] == ["a@x", "a@x", "b@x"]
    assert len({member.id for member in group.members}) == 3


def test_records_with_one_id_count_once_and_connect_nothing_else() -> None:
    rows = [
        {"id": 1, "email": "a@x", "phone": "1"},
        {"id": 1, "email": "b@x", "phone": "1"},
        {"id": 2, "email": "a@x"},
        {"id": 3, "email": "b@x"},
    ]

    detection = found(twins(), Rows(TYPES, rows))

    assert ids(detection.groups) == [[1, 2]]
    assert detection.identity == IdentityProblem(repeated=1)


def test_an_empty_dataset_and_one_without_equal_keys_have_no_groups() -> None:
    assert found(twins(), these()).groups == []
    assert found(twins(), these({"email": "a@x"}, {"email": "b@x"})).groups == []
    assert FittedDuplicates.of(twins(), these().relation()).regroup([], SLOT) == ()


@pytest.mark.parametrize("most", [2, 3, 50])
@pytest.mark.slow
def test_hashes_that_collide_change_nothing(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    people = [{"email": f"{n // 2}@x", "phone": str(n % 7) if n % 3 else None} for n in range(24)]
    rule, rows = twins(max_shared=most), these(*people)
    expected = found(rule, rows)
    hashes = hashed.key_hashes

    def colliding(question: Repeats) -> dict[str, sa.ColumnElement[Any]]:
        return {name: value % sa.literal_column("3") for name, value in hashes(question).items()}

    monkeypatch.setattr(hashed, "key_hashes", colliding)

    detection = found(rule, rows)
    assert (list(detection.groups), detection.skipped) == (list(expected.groups), expected.skipped)


@st.composite
def cliques(draw: st.DrawFn) -> tuple[list[list[int]], set[tuple[int, int]]]:
    """Sets of items that are alike in some way, and pairs kept apart."""
    items = st.integers(0, 7)
    alike = draw(st.lists(st.lists(items, min_size=2, max_size=6, unique=True), max_size=4))
    apart = draw(st.sets(st.tuples(items, items), max_size=8))
    return alike, {links.pair(a, b) for a, b in apart if a != b}


@given(cliques())
def test_a_few_pairs_have_the_parts_and_the_bridges_of_all_pairs(
    drawn: tuple[list[list[int]], set[tuple[int, int]]],
) -> None:
    alike, apart = drawn
    every = {pair for item in alike for pair in combinations(sorted(item), 2)} - apart

    few = {pair for item in alike for pair in links.connecting(item, apart)}

    assert few <= every
    assert sorted(map(sorted, united(range(8), every))) == links.parts(8, few)
    assert links.bridges(few) == bridges_of(every)


@given(cliques())
def test_without_pairs_kept_apart_a_ring_is_enough(drawn: tuple[list[list[int]], set[tuple[int, int]]]) -> None:
    alike, _ = drawn
    every = {pair for item in alike for pair in combinations(sorted(item), 2)}

    few = {pair for item in alike for pair in links.connecting(item)}

    assert len(few) <= sum(map(len, alike))
    assert sorted(map(sorted, united(range(8), every))) == links.parts(8, few)
    assert links.bridges(few) == bridges_of(every)


def bridges_of(pairs: Collection[Pair]) -> set[Pair]:
    parts = len(united(range(8), pairs))
    return {pair for pair in pairs if len(united(range(8), set(pairs) - {pair})) > parts}


def test_what_does_not_go_with_several_keys_is_told_at_its_place(tmp_path: Path) -> None:
    text = (
        "sources: {s: {type: files}}\n"
        "datasets: {d: {source: s, path: a.csv, id: no, where: fax is null}}\n"
        "rules:\n"
        "  a: {kind: duplicates, dataset: d, key: {any: [[email]]}}\n"
        "  b: {kind: duplicates, dataset: d, key: {any: [[email], [phone]]}, window: {at: 1m}}\n"
        "  c: {kind: duplicates, dataset: d, key: [email], max_shared: 10}\n"
        "  d: {kind: duplicates, dataset: d, key: {any: [[email], [{phone: [digit]}]]}}\n"
        "  e: {kind: duplicates, dataset: d, key: {any: [[email], [name, no]]}}\n"
        "  f: {kind: duplicates, dataset: d, key: {any: [[email], [name, fax]]}}\n"
        "  g: {kind: duplicates, dataset: d, key: {any: [[email], [phone], email]}}\n"
        "  h: {kind: duplicates, dataset: d, key: {any: [[email, born], [phone, born]]}, distinct: born}\n"
    )

    assert problems(tmp_path, text) == [
        "4:48: `any`: needs two or more keys, like [[email], [phone]]; write a single key without it",
        "5:69: `window`: needs a common key to order by, which groups of `any` do not have; remove it",
        "6:63: `max_shared`: has an effect only with `key: {any: …}`; remove it",
        "7:68: there is no normaliser `digit`; did you mean `digits`?",
        (
            "8:58: `key`: it holds the whole id (`no`), so no two records are equal; remove a column; "
            "rule `e` would never find anything"
        ),
        (
            "9:58: `key`: `where` lets through only empty values of `fax`, so this key joins nothing; remove it; "
            "rule `f` would never find anything"
        ),
        "10:48: `any`: has the same key twice; remove one",
        (
            "11:91: `distinct`: `born` has at most one value in every group; remove it or name another column; "
            "rule `h` would never find anything"
        ),
    ]


def test_a_column_that_differs_between_the_keys_may_differ_inside_a_group() -> None:
    assert check(twins(key={"any": [["email", "name"], ["phone"]]}, distinct="name"), these().relation()) == []

    [mistake] = check(twins(key={"any": [["email"], [{"fax": ["trim"]}]]}), these().relation())
    assert mistake.startswith("`key` names `fax`, but dataset `things` has no such column")


def test_explain_names_the_statements_of_both_engines() -> None:
    def names(dialect: str) -> list[str]:
        return [text.splitlines()[0] for text in explain(twins(), these().relation(), dialect, SLOT)]

    assert names("duckdb") == [
        "-- marks",
        "-- repeated, where hashes are the key hashes that repeat among the marks, found by sorting",
        "-- candidates",
        "-- members",
    ]
    assert names("postgresql") == [
        "-- marks of key 1",
        "-- marks of key 2",
        "-- states",
        "-- members, for up to 200,000 marks of each key",
        "-- members, for more marks",
        "-- records left out of key 1: their value is shared by more than 50",
        "-- records left out of key 2: their value is shared by more than 50",
        "-- identity, unless an index of the table keeps it unique",
    ]
    assert names("sqlite")[:2] == ["-- states", "-- members"]


@pytest.mark.server
@pytest.mark.parametrize("marks", ["as they are", "too many", "colliding", "of an old server"])
def test_postgresql_answers_by_marks_and_where_they_do_not_help_without(
    marks: str, databases: dict[str, sa.Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    people = [{"email": f"{n // 2}@x", "phone": str(n % 5) if n % 3 else None} for n in range(24)]
    rule, rows = twins(max_shared=3), these(*people)
    expected = found(rule, rows)
    hashes = Compiler.hashed
    if marks == "too many":
        monkeypatch.setattr(pushdown, "MOST", 1)
    elif marks == "colliding":
        monkeypatch.setattr(Compiler, "hashed", lambda *of: hashes(*of) % sa.literal_column("3"))
    elif marks == "of an old server":
        monkeypatch.setattr(pushdown, "OLDEST", 10**9)

    with pushed(databases["postgresql"], rows) as records:
        detection = detect(rule, rows.relation(), records, SLOT)

    assert (list(detection.groups), detection.skipped) == (list(expected.groups), expected.skipped)


@pytest.mark.slow
def test_a_value_on_half_of_a_large_dataset_stays_in_the_engine(tmp_path: Path) -> None:
    """A million records within 200 MB of DuckDB; 500,000 of them share a phone."""
    path = tmp_path / "many.parquet"
    with duckdb.connect() as connection:
        connection.sql(
            "select i as id, 'user' || i - (i % 1000 = 1)::int as email, if(i % 2 = 0, '0', 'p' || i) as phone "
            "from range(1000000) t(i)"
        ).write_parquet(str(path))
    schema = Rows({"id": Type.INTEGER, "email": Type.TEXT, "phone": Type.TEXT}, []).relation().schema
    records = Readable(lambda columns: f"select {', '.join(columns)} from read_parquet('{path}')")

    detection = detect(twins(), Relation("many", schema, ("id",)), records, SLOT, memory="200MB", temp=tmp_path)

    assert (len(detection.groups), detection.read) == (1000, 1_000_000)
    assert [(s.column, s.records) for s in detection.skipped] == [("phone", 500_000)]
