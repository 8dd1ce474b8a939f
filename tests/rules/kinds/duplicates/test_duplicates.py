"""Kind duplicates: what each setting means, on every engine; and what only one engine has to show."""

import datetime as dt
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy as sa
import yaml

from rules.document.mistakes import RuleError
from rules.engines import embedded, session
from rules.engines.base import IdentityProblem, MoneyColumns, OutOfMemory, Readable, Relation
from rules.groups.detection import Detection
from rules.groups.group import DuplicateGroup, Member
from rules.kinds.duplicates import DuplicatesRule
from rules.values import Type, Value
from tests.support.rules import Rows, check, detect, explain, guarded, needed_columns, pushdown_obstacle, pushed
from tests.support.servers import MARIADB, POSTGRES, scratch_database

SLOT = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
CASE_FILE = Path(__file__).with_name("cases.yaml")
CASES = yaml.load(CASE_FILE.read_text(), Loader=yaml.BaseLoader)  # noqa: S506 - texts only
READ: dict[str, Any] = {
    "text": str,
    "integer": int,
    "decimal": Decimal,
    "boolean": lambda text: text == "true",
    "date": dt.date.fromisoformat,
    "instant": lambda text: dt.datetime.fromisoformat(text).astimezone(dt.UTC),
}
THINGS = {"id": Type.INTEGER, "code": Type.TEXT, "amount": Type.DECIMAL, "at": Type.INSTANT}


def rule(**settings: Any) -> DuplicatesRule:
    return DuplicatesRule(name="twins", dataset="things", **{"key": "code"} | settings)


def things(*codes: str | None, **more: Any) -> Rows:
    return Rows(THINGS, [{"id": n, "code": code} for n, code in enumerate(codes)], **more)


def ids(detection: Detection) -> list[list[Value]]:
    return [[member.id[0] for member in group.members] for group in detection.groups]


def places(detection: Detection) -> list[list[str]]:
    """What each record shows besides its key."""

    def shown(group: DuplicateGroup, member: Member) -> str:
        return " ".join(str(v) for name, v in member.values.items() if name not in group.key and v is not None)

    return [[shown(group, member) for member in group.members] for group in detection.groups]


@pytest.fixture(scope="module")
def servers() -> Iterator[list[sa.Engine]]:
    """A database of its own on every kind of server, and SQLite."""
    scratches = [scratch_database(url) for url in (POSTGRES, MARIADB)]
    engines = [sa.create_engine(next(scratch)) for scratch in scratches]
    engines.append(sa.create_engine("sqlite://", poolclass=sa.StaticPool))
    yield engines
    for engine in engines:
        engine.dispose()
    for scratch in scratches:
        next(scratch, None)


def everywhere(
    duplicates_rule: DuplicatesRule, data: Rows, folder: Path, servers: list[sa.Engine]
) -> Iterator[tuple[str, Detection]]:
    relation = data.relation()
    yield "streamed", detect(duplicates_rule, relation, data.streamed(), SLOT)
    yield "readable", detect(duplicates_rule, relation, data.readable(folder), SLOT)
    for engine in servers:
        if pushdown_obstacle(duplicates_rule, relation, engine.dialect.name) is None:
            with pushed(engine, data) as records:
                yield engine.dialect.name, detect(duplicates_rule, relation, records, SLOT)


def case_rows(case: dict[str, Any]) -> Rows:
    types = {name: Type(kind) for name, kind in case["columns"].items()}
    rows = [
        {
            name: None if cell == "~" else READ[kind](cell)
            for (name, kind), cell in zip(case["columns"].items(), row, strict=True)
        }
        for row in case["rows"]
    ]
    dataset = dict(case.get("dataset", {}))
    if "money" in dataset:
        dataset["money"] = MoneyColumns(**dataset["money"])
    return Rows(types, rows, **dataset)


@pytest.mark.server
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_every_engine_does_what_the_case_says(case: dict[str, Any], tmp_path: Path, servers: list[sa.Engine]) -> None:
    data = case_rows(case)
    duplicates_rule = DuplicatesRule.model_validate({"name": "case", "dataset": "things", **case["rule"]})

    answers = dict(everywhere(duplicates_rule, data, tmp_path, servers))

    for engine, answer in answers.items():
        if "places" in case:
            assert (engine, places(answer)) == (engine, case["places"])
        else:
            expected = [[None if i == "~" else int(i) for i in group] for group in case["expect"]]
            assert (engine, ids(answer)) == (engine, expected)
        skipped = {f"{s.column}: {s.reason}": str(s.records) for s in answer.skipped}
        assert (engine, skipped) == (engine, case.get("skipped", {}))
        assert answer.scanned == int(case.get("scanned", len(data.rows)))
        if "nearby" in case:
            nearby = [[str(member.id[0]) for member in group.nearby] for group in answer.groups]
            assert (engine, nearby) == (engine, case["nearby"])
        if "money" in case:
            money = [{currency: Decimal(amount) for currency, amount in group.items()} for group in case["money"]]
            assert [dict(group.money) for group in answer.groups] == money
        assert answer.groups == answers["streamed"].groups


@pytest.mark.slow
def test_the_order_of_rows_changes_nothing(tmp_path: Path) -> None:
    rows = [{"id": n, "code": f"c{n % 7}", "at": SLOT + dt.timedelta(minutes=n % 5)} for n in range(60)]
    item = rule(window={"at": "2m"}, keep=[{"last": "at"}])
    expected = detect(item, Rows(THINGS, rows).relation(), Rows(THINGS, rows).streamed(), SLOT)

    random.Random(3).shuffle(rows)
    shuffled = Rows(THINGS, rows)

    assert detect(item, shuffled.relation(), shuffled.readable(tmp_path), SLOT).groups == expected.groups
    assert repr(detect(item, shuffled.relation(), shuffled.streamed(), SLOT).groups) == repr(expected.groups)


def test_a_group_names_the_ten_nearest_records_of_other_windows_and_counts_them_all() -> None:
    def minutes(*each: int) -> Rows:
        return Rows(THINGS, [{"id": n, "code": "A", "at": SLOT + dt.timedelta(minutes=m)} for n, m in enumerate(each)])

    data = minutes(0, 10, *range(11, 31), 40)

    first, second, *_ = detect(rule(window={"at": "10m"}), data.relation(), data.streamed(), SLOT).groups

    assert ([item.id[0] for item in first.nearby], first.nearby_records) == ([*range(2, 12)], 10)
    assert (second.nearby[0].id, second.nearby[0].at) == ((1,), SLOT + dt.timedelta(minutes=10))
    assert second.nearby_records == 1 + 9


def test_a_group_shows_its_key_span_money_and_values() -> None:
    rows = [
        {"id": 1, "code": " A ", "amount": Decimal(5), "at": SLOT},
        {"id": 2, "code": "a", "amount": Decimal("7.5"), "at": SLOT + dt.timedelta(minutes=1)},
    ]
    data = Rows(THINGS, rows, money=MoneyColumns("amount", currency="EUR"))
    item = rule(key=[{"code": ["trim", "lower"]}], gap={"at": "5m"}, keep=[{"last": "at"}])

    [group] = detect(item, data.relation(), data.streamed(), SLOT).groups

    assert group.key == {"code": "a"}
    assert group.keeper.id == (2,)
    assert [member.values["code"] for member in group.members] == ["a", " A "]
    assert group.money == {"EUR": Decimal(5)}
    assert group.span == (SLOT, SLOT + dt.timedelta(minutes=1))


@pytest.mark.server
def test_ids_that_repeat_or_are_null_are_told_and_findings_of_others_stand(
    tmp_path: Path, servers: list[sa.Engine]
) -> None:
    rows = [
        {"id": i, "code": c}
        for i, c in ((1, "A"), (1, "A"), (3, "A"), (2, "B"), (None, "C"), (2, "é"), (2, "B"), (4, "b"))
    ]
    data = Rows(THINGS, rows)

    for engine, result in everywhere(rule(key=[{"code": ["lower"]}]), data, tmp_path, servers):
        assert (engine, result.identity) == (engine, IdentityProblem(nulls=1, repeated=3))
        assert (engine, ids(result)) == (engine, [[1, 3], [2, 4]])


def test_ids_outside_the_dataset_do_not_count_against_its_id(tmp_path: Path) -> None:
    data = Rows(
        THINGS, [{"id": 1, "code": "A"}, {"id": 1, "code": "old"}, {"id": 2, "code": "B"}], where="code <> 'old'"
    )

    for records in (data.streamed(), data.readable(tmp_path)):
        detection = detect(rule(), data.relation(), records, SLOT)
        assert (detection.identity, detection.read, detection.scanned) == (IdentityProblem(), 3, 2)


@pytest.mark.server
def test_without_an_id_a_record_is_its_content_and_how_many_came_before(
    tmp_path: Path, servers: list[sa.Engine]
) -> None:
    types = {"code": Type.TEXT, "note": Type.TEXT, "_file": Type.TEXT, "_row": Type.INTEGER}
    rows = [
        {"code": "A", "note": "x", "_file": "b.csv", "_row": 2},
        {"code": "A", "note": "x", "_file": "a.csv", "_row": 9},
        {"code": "A", "note": "y", "_file": "a.csv", "_row": 1},
        {"code": "B", "note": "x", "_file": "a.csv", "_row": 3},
    ]
    data = Rows(types, rows, id=())

    for _, result in everywhere(rule(), data, tmp_path, servers):
        [group] = result.groups
        twins = [member for member in group.members if member.id[1] == 1]
        assert len({member.id for member in group.members}) == 3
        assert [(m.values["_file"], m.values["_row"]) for m in twins] == [("b.csv", 2)]
        assert not result.identity


def test_a_rule_that_asks_for_the_file_tells_equal_records_in_two_files_apart() -> None:
    types = {"code": Type.TEXT, "_file": Type.TEXT, "_row": Type.INTEGER}
    rows = [{"code": "A", "_file": file, "_row": row} for file in "ab" for row in (1, 2)]
    data = Rows(types, rows, id=())

    detection = detect(rule(key=["code", "_file"]), data.relation(), data.streamed(), SLOT)

    assert len({member.id for group in detection.groups for member in group.members}) == 4


def test_a_dataset_may_use_the_names_that_statements_use() -> None:
    types = dict.fromkeys(("id", "key_0", "copies", "before", "state", "place", "keyed", 'a "b', "select"), Type.TEXT)
    rows = [dict.fromkeys(types, "x") | {"id": str(n)} for n in range(3)]
    data = Rows(types, rows)

    detection = detect(rule(key=["key_0", 'a "b', "select", "copies"]), data.relation(), data.streamed(), SLOT)

    assert ids(detection) == [["0", "1", "2"]]


@pytest.mark.parametrize("fitting", range(2))
def test_each_way_down_the_memory_ladder_gives_the_same_answer(fitting: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ways run out of memory, one more for each turn; a connection that DuckDB leaves usable goes on."""
    data = Rows(THINGS, [{"id": n, "code": f"c{n % 50}", "at": SLOT} for n in range(99)])
    item = rule(gap={"at": "1m"})
    expected = detect(item, data.relation(), data.streamed(), SLOT)
    tried = []
    first = session.Session.fitting

    def starting_later(self: session.Session, way: Any) -> Any:
        failing = [_out_of_memory] * fitting
        tried.append(way)
        return first(self, lambda: failing.pop()() if failing else way())

    monkeypatch.setattr(session.Session, "fitting", starting_later)

    assert detect(item, data.relation(), data.streamed(), SLOT).groups == expected.groups
    assert len(tried) == 2


def _out_of_memory() -> Any:
    raise duckdb.OutOfMemoryException("made up")


@pytest.mark.slow
def test_a_large_dataset_is_grouped_in_little_memory(tmp_path: Path) -> None:
    """Three million long keys, 60 bytes each, within 200 MB."""
    path = tmp_path / "many.parquet"
    with duckdb.connect() as connection:
        connection.sql(
            "select i as id, repeat('x', 50) || lpad((i - (i % 100000 = 99999)::int)::varchar, 9, '0') as code "
            "from range(3000000) t(i)"
        ).write_parquet(str(path))
    relation = Relation("many", Rows({"id": Type.INTEGER, "code": Type.TEXT}, []).relation().schema, ("id",))
    records = Readable(lambda columns: f"select {', '.join(columns)} from read_parquet('{path}')")

    detection = detect(rule(), relation, records, SLOT, memory="200MB", temp=tmp_path)

    assert (len(detection.groups), detection.read, bool(detection.identity)) == (30, 3_000_000, False)


@pytest.mark.slow
def test_too_little_memory_is_one_sentence_not_a_crash() -> None:
    data = Rows(THINGS, [{"id": n, "code": "x" * 5000 + str(n)} for n in range(20_000)])

    with pytest.raises(OutOfMemory, match=r"did not fit into 2MB of memory.*memory:"):
        detect(rule(), data.relation(), data.streamed(), SLOT, memory="2MB")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"key": "cod"}, "`key` names `cod`, but dataset `things` has no such column; did you mean `code`?"),
        ({"key": [{"amount": ["trim"]}]}, "The key column `amount` cannot be normalised this way: `trim` takes text"),
        ({"gap": {"at": 5}}, "`gap` is a number, but `at` is of type instant; write a duration like 15m."),
        ({"window": {"code": "5m"}}, "`window` measures time, but `code` is of type text; declare `code` as date"),
        ({"keep": [{"last": "seen"}]}, "`keep` names `seen`, but dataset `things` has no such column"),
        ({"keep": [{"prefer": {"amount": ["1"]}}]}, "keep: `keep` cannot prefer values of `amount`"),
        ({"distinct": "vendor"}, "`distinct` names `vendor`, but dataset `things` has no such column"),
        ({"where": "amount = 'x'"}, "where: "),
        ({"having": "sum(code) > 1"}, "having: "),
        ({"except": [["1", ["2", "3"]]]}, "`except` has an id of 2 parts, but the id of `things` has 1."),
    ],
)
def test_a_rule_that_does_not_fit_says_so_in_a_sentence(settings: dict[str, Any], sentence: str) -> None:
    relation = things().relation()

    problems = check(rule(**settings), relation)

    assert [p for p in problems if p.startswith(sentence)] == problems[:1]
    assert len(problems) == 1
    with pytest.raises(RuleError, match="Rule `twins`: "):
        detect(rule(**settings), relation, things().streamed(), SLOT)


def test_only_what_a_rule_needs_is_read() -> None:
    data = things(derived={"double": "amount + amount"})

    assert needed_columns(rule(), data.relation()) == ("id", "code")
    assert needed_columns(rule(key=["double"], where="at < slot()"), data.relation()) == ("id", "amount", "at")
    assert needed_columns(rule(keep=["most_complete"]), data.relation()) == tuple(THINGS)
    assert needed_columns(rule(), things(id=()).relation()) == tuple(THINGS)


def test_a_rule_says_why_a_database_cannot_answer_it() -> None:
    relation = things().relation()
    unpushable = things().relation(unpushable=[Type.TEXT])

    assert pushdown_obstacle(rule(), unpushable, "postgresql") == (
        "PostgreSQL does not compare `code` exactly as Reconcile does"
    )
    assert pushdown_obstacle(rule(key=[{"code": ["mailbox"]}]), relation, "mysql") == (
        "`mailbox` on `code` has no exact form in MariaDB or MySQL"
    )
    assert pushdown_obstacle(rule(), relation, "oracle") == "Reconcile does not know how oracle compares values"
    assert pushdown_obstacle(rule(), relation, "postgresql") is None
    assert not guarded(rule(), relation, "postgresql")
    assert guarded(rule(where="lower(code) = 'x'"), relation, "postgresql")


def test_a_forced_pushdown_with_an_obstacle_is_refused() -> None:
    engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    data = things("a", "a")

    with (
        pushed(engine, data) as records,
        pytest.raises(RuleError, match="cannot run inside the database: SQLite stores"),
    ):
        detect(rule(key=["amount"]), data.relation(), records, SLOT)


def test_explain_names_every_statement() -> None:
    relation = things().relation()
    folding = rule(key=[{"code": ["lower"]}])

    def names(engine: Any) -> list[str]:
        return [statement.splitlines()[0] for statement in explain(folding, relation, engine, SLOT)]

    assert (
        names("duckdb")
        == names(things().streamed())
        == [
            "-- marks",
            "-- repeated, where hashes are the key hashes that repeat among the marks, found by sorting",
            "-- candidates",
            "-- members",
        ]
    )
    assert names("postgresql") == [
        "-- marks: a hash for every record that takes part, others by reason",
        "-- records",
        "-- members, for up to 200,000 marks",
        "-- members, for more marks",
        "-- identity, unless an index of the table keeps it unique",
        "-- others, where there are any: records that are not ASCII, compared here",
    ]


def test_the_statements_show_characters_that_nobody_can_see_as_escapes() -> None:
    for engine in ("duckdb", "postgresql"):
        for statement in explain(rule(key=[{"code": ["trim"]}]), things().relation(), engine, SLOT):
            assert statement.replace("\n", "").isprintable()


MAILBOXES = [
    ("ann@example.com", " ANN+news@Example.COM "),
    ("ann@gmail.com", "a.n.n@gmail.com", "A.nn+x@GoogleMail.com", "ann@googlemail.com"),
    ("bob@x-y.example.com", "bob+1@x-y.example.com"),
    ("...@gmail.com", "...+a@googlemail.com"),
    ("ann@green-mail.com", "Ann@green-mail.com"),
    ("ann@example", "ANN@example"),
    ("ann@bücher.example", "ann@xn--bcher-kva.example", "Ann <ANN+z@BÜCHER.example>"),
]


def test_addresses_are_one_mailbox_whether_sql_or_python_reads_them() -> None:
    written = [address for box in MAILBOXES for address in box]
    data = things(*written)

    detection = detect(rule(key=[{"code": ["mailbox"]}]), data.relation(), data.streamed(), SLOT)

    together = {frozenset(written[int(str(n))] for n in group) for group in ids(detection)}
    assert together == {frozenset(box) for box in MAILBOXES}
    assert not detection.skipped


@pytest.mark.server
def test_a_record_with_an_empty_id_takes_no_part_and_is_counted(tmp_path: Path, servers: list[sa.Engine]) -> None:
    rows = [{"id": n if n % 3 else None, "code": f"c{n % 4}"} for n in range(12)]

    for engine, result in everywhere(rule(key=[{"code": ["trim"]}]), Rows(THINGS, rows), tmp_path, servers):
        assert (engine, ids(result)) == (engine, [[4, 8], [1, 5], [2, 10], [7, 11]])
        assert (engine, result.identity) == (engine, IdentityProblem(nulls=4))


@pytest.mark.server
@pytest.mark.parametrize("more", [{}, {"gap": {"at": "5m"}}, {"key": {"any": [["code"], ["at"]]}}])
def test_a_text_without_a_sign_is_no_id(more: dict[str, Any], tmp_path: Path, servers: list[sa.Engine]) -> None:
    columns = {**THINGS, "id": Type.TEXT}
    rows = [{"id": name, "code": "a", "at": SLOT} for name in ("1", "", " ", None, "2", "\t")]

    for engine, result in everywhere(rule(**more), Rows(columns, rows), tmp_path, servers):
        assert (engine, ids(result)) == (engine, [["1", "2"]])
        assert (engine, result.identity) == (engine, IdentityProblem(nulls=4))


@pytest.mark.slow
def test_slices_of_hashes_give_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    data = Rows(THINGS, [{"id": n % 90, "code": f"c{n % 50}"} for n in range(99)])
    expected = detect(rule(minimum=2), data.relation(), data.streamed(), SLOT)

    monkeypatch.setattr(embedded, "SLICE", 10)

    detection = detect(rule(minimum=2), data.relation(), data.streamed(), SLOT)
    assert (detection.groups, detection.identity) == (expected.groups, expected.identity)
    assert detection.identity == IdentityProblem(repeated=9)


@pytest.mark.slow
def test_an_empty_dataset_has_no_groups(tmp_path: Path) -> None:
    for records in (things().streamed(), things().readable(tmp_path)):
        detection = detect(rule(), things().relation(), records, SLOT)
        assert (detection.read, detection.scanned, detection.groups, detection.skipped) == (0, 0, (), ())
