"""`consecutive`: neighbours in an order that have the same key, however often the key appears elsewhere."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import reconcile
from reconcile.config import ConfigProblems
from rules.engines.base import Relation
from rules.groups.group import DuplicateGroup, Group
from rules.kinds.duplicates import DuplicatesRule
from rules.kinds.duplicates.detection import FittedDuplicates
from rules.kinds.duplicates.reasons import because
from rules.values import Type, Value
from tests.support.chance import examples
from tests.support.rules import Rows, check, detect, explain, pushdown_obstacle
from tests.support.servers import MARIADB, POSTGRES, scratch_database

SLOT = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
TYPES = {"id": Type.INTEGER, "sku": Type.TEXT, "price": Type.INTEGER, "at": Type.INTEGER, "source": Type.TEXT}
Row = dict[str, Value]


def rule(**changes: Any) -> DuplicatesRule:
    usual = {"key": ["sku", "price"], "consecutive": {"by": "at", "within": ["sku"]}}
    return DuplicatesRule(name="written-again", dataset="things", **usual | changes)


def prices(*values: int | None, sku: str = "A") -> list[Row]:
    return [{"id": n, "sku": sku, "price": value, "at": n, "source": "x"} for n, value in enumerate(values, 1)]


def found(rows: Sequence[Row], by_rule: DuplicatesRule | None = None, **data: Any) -> list[list[Any]]:
    """The ids of each group, keeper first."""
    dataset = Rows(TYPES, rows, **data)
    detection = detect(by_rule or rule(), dataset.relation(), dataset.streamed(), SLOT)
    return [[member.id[0] for member in duplicate_group(group).members] for group in detection.groups]


def duplicate_group(group: Group) -> DuplicateGroup:
    assert isinstance(group, DuplicateGroup)
    return group


def test_a_price_that_comes_back_later_is_no_repeat_of_the_first() -> None:
    assert found(prices(10, 10, 12, 10)) == [[1, 2]]


def test_a_key_can_have_several_runs_and_each_is_a_group_with_its_span() -> None:
    data = Rows(TYPES, prices(10, 10, 12, 10, 10, 10))

    groups = detect(rule(), data.relation(), data.streamed(), SLOT).groups

    assert [[member.id[0] for member in group.members] for group in groups] == [[1, 2], [4, 5, 6]]
    assert [group.span for group in groups] == [(1, 2), (4, 6)]


def test_within_gives_each_sku_an_order_of_its_own_and_without_it_all_records_are_in_one() -> None:
    rows = [
        {"id": 1, "sku": "A", "price": 10, "at": 1},
        {"id": 2, "sku": "B", "price": 10, "at": 2},
        {"id": 3, "sku": "A", "price": 10, "at": 3},
        {"id": 4, "sku": "A", "price": 10, "at": 4},
    ]

    assert found(rows) == [[1, 3, 4]]
    assert found(rows, rule(consecutive="at")) == [[3, 4]]


def test_within_compares_the_normalised_part_of_the_key() -> None:
    rows = [{"id": n, "sku": sku, "price": 10, "at": n} for n, sku in enumerate(["a", "B", "A", "b"], 1)]

    assert found(rows, rule(key=[{"sku": ["lower"]}, "price"])) == [[1, 3], [2, 4]]


def test_records_of_one_moment_are_in_the_order_of_their_ids() -> None:
    rows = [{"id": n, "sku": "A", "price": price, "at": 5} for n, price in ((3, 10), (1, 10), (2, 12), (4, 10))]

    assert found(rows) == [[3, 4]]


def test_what_is_skipped_is_counted_and_ends_no_run() -> None:
    rows = prices(10, None, 10, 12, 10, 12)
    rows[3]["source"], rows[4]["at"] = "other", None
    data = Rows(TYPES, rows)

    detection = detect(rule(where="source = 'x'"), data.relation(), data.streamed(), SLOT)

    assert [[member.id[0] for member in group.members] for group in detection.groups] == [[1, 3]]
    assert {(skipped.column, skipped.reason): skipped.records for skipped in detection.skipped} == {
        ("at", "null"): 1,
        ("price", "null"): 1,
    }


def test_an_empty_value_that_matches_others_is_a_value_like_any_other() -> None:
    assert found(prices(10, None, 10, None, None), rule(nulls={"price": "match"})) == [[4, 5]]


def test_a_record_without_id_ends_no_run() -> None:
    rows = prices(10, 12, 10)
    rows[1]["id"] = None

    assert found(rows) == [[1, 3]]


def test_other_settings_apply_to_each_run() -> None:
    rows = prices(10, 10, 12, 10, 10, 10)

    assert found(rows, rule(minimum=3)) == [[4, 5, 6]]
    assert found(rows, rule(keep={"last": "at"})) == [[2, 1], [6, 5, 4]]
    assert found(rows, rule(having="max(at) < 4")) == [[1, 2]]
    assert found(rows, rule(**{"except": [["1", "2"]]})) == [[4, 5, 6]]


def test_a_finding_says_why() -> None:
    assert because(rule(consecutive="at")) == (
        "They have the same sku and price, and follow one another in the order of at."
    )
    assert because(rule()).endswith("in the order of at within one sku.")


def test_the_rule_in_words_names_the_order() -> None:
    sentences = FittedDuplicates.of(rule(), Rows(TYPES, []).relation()).describe()

    assert "of these, records that follow one another in the order of at within one sku" in sentences["groups"]
    assert "except records in which sku, price or at is empty" in sentences["takes part"]


# Every order of few values


def by_oracle(rows: Sequence[Row], within: Sequence[str], minimum: int) -> set[frozenset[Value]]:
    """Sort, partition, and cut where the key changes."""
    usable = [row for row in rows if None not in (row["sku"], row["price"], row["at"], row["id"])]
    usable.sort(key=lambda row: (*(row[name] for name in within), row["at"], row["id"]))
    runs = itertools.groupby(usable, key=lambda row: (row["sku"], row["price"]))
    groups = [frozenset(row["id"] for row in run) for _, run in runs]
    return {group for group in groups if len(group) >= minimum}


drawn_rows = st.lists(
    st.tuples(st.sampled_from(["A", "B", None]), st.sampled_from([1, 2, None]), st.sampled_from([1, 2, 3, 4, None])),
    max_size=12,
).map(lambda drawn: [{"id": n, "sku": sku, "price": price, "at": at} for n, (sku, price, at) in enumerate(drawn)])


@settings(max_examples=examples(25))
@given(rows=drawn_rows, within=st.sampled_from([(), ("sku",), ("price",)]), minimum=st.sampled_from([2, 3]))
def test_the_groups_are_what_sorting_and_cutting_finds(rows: list[Row], within: tuple[str, ...], minimum: int) -> None:
    by_rule = rule(consecutive={"by": "at", "within": within}, minimum=minimum)
    expected = by_oracle(rows, within, minimum)

    assert {frozenset(ids) for ids in found(rows, by_rule)} == expected


@given(rows=drawn_rows, within=st.sampled_from([(), ("sku",)]), data=st.data())
def test_records_at_hand_are_grouped_the_same_in_any_order(
    rows: list[Row], within: tuple[str, ...], data: st.DataObject
) -> None:
    fitted = FittedDuplicates.of(rule(consecutive={"by": "at", "within": within}), Rows(TYPES, []).relation())
    shuffled = data.draw(st.permutations(rows))

    groups = fitted.regroup(rows, SLOT)

    assert {frozenset(member.id[0] for member in group.members) for group in groups} == by_oracle(rows, within, 2)
    assert groups == fitted.regroup(shuffled, SLOT)


@pytest.mark.parametrize("shuffled", [False, True])
def test_of_records_that_share_an_id_the_answer_is_the_same_in_any_order_of_reading(shuffled: bool) -> None:
    rows = [{"id": id_, "sku": "A", "price": price, "at": 1} for id_, price in ((1, 10), (1, 12), (1, 10), (2, 12))]

    groups = found(rows[::-1] if shuffled else rows)

    assert groups == [[1, 2]]


def test_without_an_id_the_values_of_a_table_order_records_of_one_moment() -> None:
    rows = [
        {"sku": "A", "price": price, "at": 1, "source": source} for price, source in ((10, "x"), (12, "y"), (10, "z"))
    ]
    types = {name: kind for name, kind in TYPES.items() if name != "id"}
    data = Rows(types, rows, id=())

    [group] = detect(rule(), data.relation(), data.streamed(), SLOT).groups

    assert [member.values["price"] for member in group.members] == [10, 10]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Type.DATE, [dt.date(2026, 1, day) for day in (1, 2, 3)]),
        (Type.INSTANT, [dt.datetime(2026, 1, 1, hour, tzinfo=dt.UTC) for hour in (1, 2, 3)]),
        (Type.DECIMAL, [Decimal("0.1"), Decimal("9.25"), Decimal("10")]),
        (Type.FLOAT, [-1.5, 2.0, 10.0]),
    ],
)
def test_every_type_with_an_order_orders(kind: Type, values: list[Value]) -> None:
    rows = [row | {"at": at} for row, at in zip(prices(10, 12, 10), values, strict=True)]
    data = Rows(TYPES | {"at": kind}, rows)

    assert detect(rule(minimum=2), data.relation(), data.streamed(), SLOT).groups == ()
    assert len(detect(rule(where="price = 10"), data.relation(), data.streamed(), SLOT).groups) == 1


def test_derived_columns_can_order_and_be_equal() -> None:
    data = Rows(TYPES, prices(1, 3, 2), derived={"late": "0 - at", "bucket": "if(price < 3, 1, 2)"})
    by_rule = rule(key=["sku", "bucket"], consecutive={"by": "late", "within": "sku"})

    assert detect(by_rule, data.relation(), data.streamed(), SLOT).groups == ()


# Files and databases

TIMES = [dt.datetime(2026, 3, day, 10, tzinfo=dt.UTC) for day in range(1, 7)]
HISTORY = list(zip(range(1, 7), "AABAAB", (10, 10, 10, 12, 10, 10), TIMES, strict=True))
CONFIG = """
version: 1
sources: {source}
datasets: {{prices: {{source: shop, {place}, id: id}}}}
rules:
  written-again:
    kind: duplicates
    dataset: prices
    key: [sku, price]
    consecutive: {{by: at, within: [sku]}}
jobs: {{daily: {{rules: all, existing: report}}}}
"""


def project(folder: Path, source: str, place: str) -> reconcile.Project:
    (folder / "reconcile.yaml").write_text(CONFIG.format(source=source, place=place), encoding="utf-8")
    return reconcile.load(folder / "reconcile.yaml")


def members(report: dict[str, Any]) -> list[list[str]]:
    """The ids of each finding, keeper first."""
    return sorted(
        [str(part) for id_ in (finding["keeper"], *finding["surplus"]) for part in id_]
        for finding in report["findings"]
    )


def fill(url: str, history: Sequence[tuple[int, str, int, dt.datetime]]) -> None:
    table = sa.Table(
        "prices",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("sku", sa.String(20)),
        sa.Column("price", sa.Integer),
        sa.Column("at", sa.DateTime),
    )
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        table.create(connection)
        rows = [dict(zip(("id", "sku", "price", "at"), row, strict=True)) for row in history]
        for row in rows:
            connection.execute(table.insert(), row | {"at": row["at"].replace(tzinfo=None)})
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql", "mariadb"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'shop.sqlite'}"
        return
    yield from scratch_database({"postgresql": POSTGRES, "mariadb": MARIADB}[request.param])


def test_a_database_has_the_findings_of_a_file(database: str, tmp_path: Path) -> None:
    fill(database, HISTORY)

    with project(tmp_path, f'{{shop: {{type: sql, url: "{database}"}}}}', "table: prices") as opened:
        report = opened.run(slot=SLOT.isoformat(), dry_run=True).to_json()

    assert members(report) == [["1", "2"], ["3", "6"]]
    assert report["rules"][0]["engine"] == "embedded"


@settings(max_examples=examples(10))
@given(rows=drawn_rows)
def test_a_table_of_sqlite_has_the_groups_that_sorting_finds(rows: list[Row], tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("shop")
    usable = [row for row in rows if None not in row.values()]
    url = f"sqlite:///{folder / 'shop.sqlite'}"
    fill(url, [(row["id"], row["sku"], row["price"], TIMES[int(str(row["at"]))]) for row in usable])  # type: ignore[misc]

    with project(folder, f'{{shop: {{type: sql, url: "{url}"}}}}', "table: prices") as opened:
        report = opened.run(slot=SLOT.isoformat(), dry_run=True).to_json()

    expected = by_oracle(usable, ["sku"], 2)
    assert {frozenset(map(int, ids)) for ids in members(report)} == expected


def test_the_rows_of_a_file_have_an_order(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("sku,price\nA,10\nB,7\nB,7\nA,10\nA,10\n", encoding="utf-8")
    text = CONFIG.format(source="{shop: {type: files}}", place="path: prices.csv").replace(", id: id", "")
    text = text.replace("{by: at, within: [sku]}", "_row").replace("[sku, price]", "all")
    (tmp_path / "reconcile.yaml").write_text(text, encoding="utf-8")

    with reconcile.load(tmp_path / "reconcile.yaml") as opened:
        report = opened.run(slot=SLOT.isoformat(), dry_run=True).to_json()

    rows = sorted([row for _, row in finding["places"]] for finding in report["findings"])
    assert rows == [[3, 4], [5, 6]]


def write(folder: Path, history: Sequence[tuple[int, str, int, dt.datetime]]) -> None:
    lines = [f"{id_},{sku},{price},{at.isoformat()}" for id_, sku, price, at in history]
    (folder / "prices.csv").write_text("\n".join(["id,sku,price,at", *lines]) + "\n", encoding="utf-8")


FILE = ("{shop: {type: files}}", "path: prices.csv, columns: {id: integer, price: integer, at: instant}")


def test_a_late_record_between_two_splits_their_finding_and_a_longer_run_keeps_its_own(tmp_path: Path) -> None:
    write(tmp_path, HISTORY)
    with project(tmp_path, *FILE) as opened:
        first = opened.run(slot="2026-06-01T00:00:00Z").to_json()
        write(
            tmp_path, [*HISTORY, (7, "B", 10, TIMES[5] + dt.timedelta(1)), (8, "A", 11, TIMES[0] + dt.timedelta(0, 1))]
        )
        second = opened.run(slot="2026-06-02T00:00:00Z").to_json()

    counts = second["rules"][0]["findings"]
    assert members(first) == [["1", "2"], ["3", "6"]]
    assert (counts["new"], counts["resolved"], counts["grown"]) == (0, 1, 1)
    [grown] = [finding for finding in second["findings"] if finding["last_change"] == "grown"]
    assert members(second) == [["3", "6", "7"]]
    assert [grown["id"]] == [finding["id"] for finding in first["findings"] if grown["keeper"] == finding["keeper"]]


# Settings that do not fit


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"gap": {"at": 5}}, "gap and consecutive cannot be combined; keep one of them"),
        ({"window": {"at": 5}}, "window and consecutive cannot be combined; keep one of them"),
        ({"overlap": {"from": "at", "to": "id"}}, "overlap and consecutive cannot be combined; keep one of them"),
        ({"repeats": "source"}, "repeats numbers all equal records, but consecutive splits them; remove one of the"),
        ({"nulls": {"price": "any"}}, "nulls: any needs all records of a key together, but consecutive splits them"),
        ({"key": {"any": [["sku"], ["price"]]}}, "needs one key in which neighbours are equal, and `any` has several"),
        ({"key": "all"}, "consecutive: within names columns of the key; list them in key in place of `all`"),
        ({"key": ["price"]}, "consecutive: within names `sku`, which is not in the key; known names: `price`"),
        ({"key": ["sku"]}, "consecutive: within names every column of the key, so no record could end a run"),
        ({"consecutive": ["at"]}, "write the column that orders the records, like `at`, or {by: at, within: [sku]}"),
    ],
)
def test_a_setting_that_makes_no_sense_with_consecutive_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        rule(**changes)

    assert sentence in str(refusal.value)


def test_consecutive_is_refused_over_several_datasets() -> None:
    with pytest.raises(ValidationError, match="consecutive orders the records of one dataset"):
        DuplicatesRule(name="twins", datasets=["crm", "shop"], key=["sku"], consecutive="at")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"consecutive": "source"}, "`consecutive` orders by times or numbers, but `source` is of type text; declare"),
        (
            {"consecutive": "att"},
            "`consecutive` names `att`, but dataset `things` has no such column; did you mean `at`",
        ),
        ({"key": ["sku", "at"], "consecutive": "at"}, "`consecutive`: `at` has at most one value in every group"),
    ],
)
def test_a_column_that_cannot_order_is_a_mistake(changes: dict[str, Any], sentence: str) -> None:
    [mistake] = check(rule(**changes), Rows(TYPES, []).relation())

    assert sentence in mistake


def test_a_rule_with_consecutive_only_reports(tmp_path: Path) -> None:
    write(tmp_path, HISTORY)
    text = CONFIG.format(source=FILE[0], place=FILE[1]).replace("key:", "clean: {action: delete}\n    key:")
    (tmp_path / "reconcile.yaml").write_text(text, encoding="utf-8")

    with pytest.raises(ConfigProblems, match="a rule with `consecutive` only reports"):
        reconcile.load(tmp_path / "reconcile.yaml")


def relation() -> Relation:
    return Rows(TYPES, []).relation()


def test_the_rule_runs_in_duckdb_and_in_full() -> None:
    fitted = FittedDuplicates.of(rule(), relation())

    for dialect in ("sqlite", "postgresql", "mariadb", "spark"):
        assert "counted in DuckDB" in (pushdown_obstacle(rule(), relation(), dialect) or "")
    assert fitted.full_only() == "with `consecutive`, a new or deleted record changes which others are neighbours"
    assert any("row_number() over" in statement.lower() for statement in explain(rule(), relation(), "duckdb", SLOT))
