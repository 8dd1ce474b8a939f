"""Kind duplicates over several datasets: columns under other names, records that carry their dataset, one answer."""

import csv
import datetime as dt
import random
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import xlsxwriter
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from reconcile.app import Application
from reconcile.config import load
from reconcile.detection.detect import Budget
from reconcile.detection.detect import detect as detect_rule
from reconcile.detection.subject import subjects_of
from rules.engines.base import IdentityProblem, MoneyColumns
from rules.groups.group import DuplicateGroup
from rules.kinds.duplicates import DuplicatesRule
from rules.values import Type, Value
from tests.rules.binding.datasets import SLOT, Case, Dataset, answer, detect, members, mistakes, rule, told
from tests.support.chance import examples
from tests.support.rules import Rows

MAILS = ("ann@x.org", "ANN@x.org", "ann@x.org", "Ann@x.org", "É@x.org", "é@x.org", "bob@x.org", "", None)
AMOUNTS: Mapping[Type, tuple[Value, ...]] = {
    Type.INTEGER: (1, 2, 10, -1, 2**53 + 1, None),
    Type.DECIMAL: tuple(map(Decimal, ("1.00", "2.5", "10", "-1", "0.1", str(2**53 + 1), "0.3"))),
    Type.FLOAT: (1.0, 2.5, 10.0, 0.1, 0.3, None),
}
TIMES = tuple(dt.datetime(2026, 3, 1, hour, minute, tzinfo=dt.UTC) for hour in (10, 22, 23) for minute in (0, 10, 25))
NAMES = ("crm", "shop", "Ledger 2")
IDS: Mapping[tuple[str, ...], Mapping[str, Type]] = {
    ("id",): {"id": Type.INTEGER},
    ("no",): {"no": Type.TEXT},
    ("file", "no"): {"file": Type.TEXT, "no": Type.INTEGER},
    (): {},
}


@st.composite
def datasets(draw: st.DrawFn, name: str) -> Dataset:
    """A dataset with its own kinds of id and amount, and perhaps its own names and time zone."""
    id_columns = draw(st.sampled_from([*IDS]))
    amount = draw(st.sampled_from([*AMOUNTS]))
    names = draw(st.sampled_from(({}, {"email": "customer mail"}, {"email": "mail", "amount": "email", "at": "since"})))
    own = {column: names.get(column, column) for column in ("email", "amount", "at")}
    types = IDS[id_columns] | {"tag": Type.INTEGER, own["email"]: Type.TEXT, own["amount"]: amount}
    types = types | {own["at"]: Type.INSTANT, "status": Type.TEXT}
    rows = [
        {
            **_id(id_columns, tag),
            "tag": tag,
            own["email"]: draw(st.sampled_from(MAILS)),
            own["amount"]: draw(st.sampled_from(AMOUNTS[amount])),
            own["at"]: draw(st.sampled_from((*TIMES, None))),
            "status": draw(st.sampled_from(("open", "void", None))),
        }
        for tag in range(draw(st.integers(0, 7)))
    ]
    zone = draw(st.sampled_from(("UTC", "Europe/Berlin", "America/New_York")))
    return Dataset(name, Rows(types, rows, id_columns, timezone=zone), names)


def _id(columns: tuple[str, ...], tag: int) -> dict[str, Value]:
    written: dict[tuple[str, ...], dict[str, Value]] = {
        ("id",): {"id": tag},
        ("no",): {"no": str(tag)},
        ("file", "no"): {"file": str(tag // 2), "no": tag % 2},
    }
    return written.get(columns, {})


@st.composite
def cases(draw: st.DrawFn) -> Case:
    several = tuple(draw(datasets(name)) for name in NAMES[: draw(st.integers(2, 3))])
    keys: list[list[Any]] = [["email"], [{"email": ["lower"]}], ["amount"], [{"email": ["lower"]}, {"amount": ["abs"]}]]
    keys += [[{"at": ["day"]}], ["email", {"at": ["day"]}]]
    settings: dict[str, Any] = {"key": draw(st.sampled_from(keys))}
    if draw(st.booleans()):
        settings[draw(st.sampled_from(("window", "gap")))] = draw(
            st.sampled_from(({"at": dt.timedelta(minutes=15)}, {"amount": Decimal(1)}))
        )
    settings |= {"distinct": draw(st.sampled_from(("dataset", "status")))} if draw(st.booleans()) else {}
    settings |= {"having": "count_distinct(dataset) > 1"} if draw(st.booleans()) else {}
    settings |= {"minimum": 3} if draw(st.integers(0, 5)) == 0 else {}
    last = [] if all(dataset.rows.id for dataset in several) else [{"first": "tag"}]
    order = draw(st.permutations([dataset.name for dataset in several]))
    lines = [{"prefer": {"dataset": order}}, {"first": "at"}, {"last": "amount"}, {"first": "tag"}]
    settings |= {"keep": [*draw(st.lists(st.sampled_from(lines), max_size=2, unique_by=str)), *last] or [lines[0]]}
    if any(dataset.rows.id for dataset in several):
        settings |= {"except": draw(st.lists(_pairs(several), max_size=2))}
    where, passes = draw(st.sampled_from(_conditions(several)))
    return Case(several, settings | where, passes)


def _pairs(several: Sequence[Dataset]) -> st.SearchStrategy[list[Any]]:
    """Pairs of ids; one of the first dataset is written alone or with its dataset."""
    records: list[Any] = []
    for number, dataset in enumerate(several):
        for tag in range(3 if dataset.rows.id else 0):
            parts = [str(value) for value in _id(dataset.rows.id, tag).values()]
            written = parts if len(parts) > 1 else parts[0]
            records += [{dataset.name: written}, *([written] if number == 0 else [])]
    first = several[0].name
    pairs = st.tuples(st.sampled_from(records), st.sampled_from(records)).map(list)
    return pairs.filter(lambda pair: len({repr(r if isinstance(r, dict) else {first: r}) for r in pair}) > 1)


def _conditions(several: Sequence[Dataset]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    def is_open(row: Mapping[str, Value]) -> bool | None:
        return None if row["status"] is None else row["status"] == "open"

    first = several[0].name
    return [
        ({}, {}),
        ({"where": "status = 'open'"}, {dataset.name: is_open for dataset in several}),
        ({"where": {first: "status = 'open'"}}, {first: is_open}),
    ]


def shuffled(case: Case, seed: int) -> Case:
    order = random.Random(seed)
    several = [
        replace(d, rows=replace(d.rows, rows=order.sample(list(d.rows.rows), len(d.rows.rows)))) for d in case.datasets
    ]
    return replace(case, datasets=tuple(several))


@pytest.mark.slow
@settings(max_examples=examples(25), deadline=None)
@given(cases(), st.integers(0, 9))
def test_rules_over_several_datasets_find_what_plain_python_finds_in_any_order_of_records(
    case: Case, seed: int
) -> None:
    detection = detect(case.rule, shuffled(case, seed).datasets)

    assert told(case, detection) == answer(case)


# What records are, and what they show

PEOPLE = {"id": Type.INTEGER, "email": Type.TEXT, "phone": Type.INTEGER}

CRM = Dataset(
    "crm",
    Rows(
        {"id": Type.INTEGER, "email": Type.TEXT, "name": Type.TEXT},
        [{"id": 7, "email": "ann@x.org", "name": "Ann"}, {"id": 8, "email": "bob@x.org", "name": None}],
    ),
    {},
)
SHOP = Dataset(
    "shop",
    Rows(
        {"branch": Type.TEXT, "id": Type.INTEGER, "mail": Type.TEXT, "phone": Type.TEXT},
        [{"branch": "B", "id": 7, "mail": "ann@x.org"}, {"branch": "B", "id": 8, "mail": "eve@x.org"}],
        id=("branch", "id"),
    ),
    {"email": "mail"},
)


def test_records_keep_the_id_of_their_dataset_and_show_the_names_of_the_rule() -> None:
    over = rule([CRM, SHOP], key="email", keep={"first": "name"})

    [group] = detect(over, [CRM, SHOP]).groups

    assert [(m.dataset, m.id, dict(m.values)) for m in group.members] == [
        (None, (7,), {"email": "ann@x.org", "name": "Ann"}),
        ("shop", ("B", 7), {"email": "ann@x.org", "name": None}),
    ]


@pytest.mark.slow
def test_duckdb_finds_the_same_in_files_that_it_reads_itself(tmp_path: Path) -> None:
    over = rule([CRM, SHOP], key="email")

    assert members(over, detect(over, [CRM, SHOP], tmp_path)) == members(over, detect(over, [CRM, SHOP]))


def test_an_id_that_repeats_in_one_dataset_is_reported_for_it_and_the_same_id_in_two_is_not() -> None:
    rows = [*SHOP.rows.rows, {"branch": "B", "id": 8, "mail": "f@x.org"}, {"branch": None, "id": 9}]
    shop = replace(SHOP, rows=replace(SHOP.rows, rows=rows))

    detection = detect(rule([CRM, shop], key="email"), [CRM, shop])

    assert detection.identity == IdentityProblem(nulls=1, repeated=1)
    assert detection.identity_of == {"crm": IdentityProblem(), "shop": IdentityProblem(nulls=1, repeated=1)}


def test_a_derived_id_finds_the_records_of_its_dataset() -> None:
    shop = replace(SHOP, rows=replace(SHOP.rows, id=("number",), derived={"number": "concat(branch, '-', mail)"}))
    over = rule([CRM, shop], key="email")

    assert members(over, detect(over, [CRM, shop])) == [[("crm", (7,)), ("shop", ("B-ann@x.org",))]]


def test_most_complete_counts_the_columns_that_every_dataset_has() -> None:
    crm = replace(CRM, rows=replace(CRM.rows, rows=[{"id": 1, "email": "a", "name": "Ann"}, {"id": 2, "email": "a"}]))
    wide = {"no": Type.INTEGER, "mail": Type.TEXT, "name": Type.TEXT, "phone": Type.TEXT, "town": Type.TEXT}
    row = {"no": 1, "mail": "a", "name": None, "phone": "030", "town": "Bonn"}
    shop = Dataset("shop", Rows(wide, [row], id=("no",)), {"email": "mail"})
    over = rule([shop, crm], key="email", keep="most_complete")

    assert members(over, detect(over, [shop, crm])) == [[("crm", (1,)), ("shop", (1,)), ("crm", (2,))]]


@pytest.mark.slow
def test_every_column_of_the_datasets_is_compared_by_a_key_of_all_and_empty_values_are_equal() -> None:
    types = {"id": Type.INTEGER, "email": Type.TEXT, "name": Type.TEXT}
    old = Dataset("old", Rows(types, [{"id": 1, "email": "a", "name": None}, {"id": 2, "email": "b"}]), {})
    new = Dataset("new", Rows(types, [{"id": 5, "email": "a"}, {"id": 6, "email": "b", "name": "B"}]), {})
    over = rule([old, new], key="all")

    assert members(over, detect(over, [old, new])) == [[("old", (1,)), ("new", (5,))]]


@pytest.mark.slow
def test_two_names_can_be_exchanged_and_a_column_named_dataset_has_another_name_in_the_rule() -> None:
    types = {"id": Type.INTEGER, "given": Type.TEXT, "surname": Type.TEXT, "dataset": Type.TEXT}
    rows = [{"id": 1, "given": "Lovelace", "surname": "Ada", "dataset": "x"}]
    crm = Dataset("crm", Rows(types, rows), {"given": "surname", "surname": "given", "origin": "dataset"})
    shop = Dataset(
        "shop",
        Rows(
            {"id": Type.INTEGER} | dict.fromkeys(("given", "surname", "origin"), Type.TEXT),
            [{"id": 1, "given": "Ada", "surname": "Lovelace", "origin": "x"}],
        ),
        {},
    )
    over = rule([crm, shop], key=["given", "surname", "origin"], distinct="dataset", where="given = 'Ada'")

    [group] = detect(over, [crm, shop]).groups

    assert group.key == {"given": "Ada", "surname": "Lovelace", "origin": "x"}


def test_numbers_are_equal_by_value_also_where_a_double_could_not_tell_them_apart() -> None:
    whole = Dataset("whole", Rows({"id": Type.INTEGER, "n": Type.INTEGER}, [{"id": 1, "n": 2**53 + 1}]), {})
    rows = [{"id": n, "n": Decimal(2**53 + n) + Decimal("0.0")} for n in (0, 1)]
    exact = Dataset("exact", Rows({"id": Type.INTEGER, "n": Type.DECIMAL}, rows), {})
    over = rule([whole, exact], key="n")

    assert members(over, detect(over, [whole, exact])) == [[("whole", (1,)), ("exact", (1,))]]


def test_a_day_is_one_of_each_datasets_own_time_zone() -> None:
    late = dt.datetime(2026, 3, 1, 23, 30, tzinfo=dt.UTC)
    types = {"id": Type.INTEGER, "at": Type.INSTANT}
    berlin = Dataset("berlin", Rows(types, [{"id": 1, "at": late}], timezone="Europe/Berlin"), {})
    london = Dataset("london", Rows(types, [{"id": 1, "at": late}, {"id": 2, "at": late + dt.timedelta(hours=1)}]), {})
    over = rule([berlin, london], key={"at": ["day"]})

    assert members(over, detect(over, [berlin, london])) == [[("berlin", (1,)), ("london", (2,))]]


def test_the_money_of_each_dataset_is_added_by_currency() -> None:
    types = {"id": Type.INTEGER, "ref": Type.TEXT, "amount": Type.DECIMAL, "total": Type.DECIMAL, "cur": Type.TEXT}
    row = {"ref": "A", "amount": Decimal("1.10"), "total": Decimal("7.25"), "cur": "USD"}
    left = Dataset(
        "left", Rows(types, [{"id": 1} | row, {"id": 2} | row], money=MoneyColumns("amount", None, "EUR")), {}
    )
    right = Dataset("right", Rows(types, [{"id": 1} | row], money=MoneyColumns("total", "cur")), {"sum": "total"})

    [group] = detect(rule([left, right], key="ref"), [left, right]).groups

    assert group.money == {"EUR": Decimal("1.10"), "USD": Decimal("7.25")}
    assert group.members[0].values == {"ref": "A", "amount": Decimal("1.10"), "sum": None, "cur": "USD"}


@pytest.mark.slow
def test_any_of_several_keys_joins_records_of_different_datasets_and_says_which_agree_by_which() -> None:
    crm = Dataset("crm", Rows(PEOPLE, [{"id": 1, "email": "a", "phone": 1}, {"id": 2, "phone": 2}]), {})
    shop_rows = [{"id": 1, "mail": "A", "phone": 9}, {"id": 2, "mail": "b", "phone": 9}, {"id": 3, "phone": 7}]
    shop = Dataset("shop", Rows(PEOPLE | {"mail": Type.TEXT}, shop_rows), {"email": "mail"})
    over = rule([crm, shop], key={"any": [[{"email": ["lower"]}], ["phone"]]})

    [group] = detect(over, [crm, shop]).groups

    assert members(over, detect(over, [crm, shop])) == [[("crm", (1,)), ("shop", (1,)), ("shop", (2,))]]
    assert isinstance(group, DuplicateGroup)
    assert [(link.first, link.second, link.keys, link.bridge) for link in group.links] == [
        (0, 1, (0,), True),
        (1, 2, (1,), True),
    ]
    assert group.key == {"email": "a", "phone": 9}


def test_records_listed_as_different_are_not_joined_by_any_of_several_keys() -> None:
    crm = Dataset("crm", Rows(PEOPLE, [{"id": 1, "email": "a", "phone": 1}]), {})
    shop = Dataset("shop", Rows(PEOPLE, [{"id": 1, "email": "a", "phone": 1}]), {})
    over = rule([crm, shop], key={"any": [["email"], ["phone"]]}, **{"except": [["1", {"shop": "1"}]]})

    assert list(detect(over, [crm, shop]).groups) == []


def test_periods_of_different_datasets_overlap_under_their_own_names_of_columns() -> None:
    def day(number: int) -> dt.date:
        return dt.date(2026, 3, number)

    old = {"id": Type.INTEGER, "room": Type.TEXT, "since": Type.DATE, "until": Type.DATE}
    new = {"id": Type.INTEGER, "room": Type.TEXT, "start": Type.DATE, "end": Type.DATE}
    paper = Dataset(
        "paper",
        Rows(old, [{"id": 1, "room": "A", "since": day(1), "until": day(3)}]),
        {"start": "since", "end": "until"},
    )
    rows = [
        {"id": 1, "room": "A", "start": day(3), "end": None},
        {"id": 2, "room": "B", "start": day(1), "end": None},
    ]
    app = Dataset("app", Rows(new, rows), {})
    over = rule([paper, app], key="room", overlap={"from": "start", "to": "end"})

    assert members(over, detect(over, [paper, app])) == [[("paper", (1,)), ("app", (1,))]]


# What does not fit


def one(name: str, **types: Type) -> Dataset:
    return Dataset(name, Rows({"id": Type.INTEGER} | types, []), {})


LACKS_PHONE = (
    "`key` needs `phone`, but dataset `shop` has no such column; known names: `email` and `id`. "
    "If it has another name, write `columns: {shop: {phone: its name}}`."
)


@pytest.mark.parametrize(
    ("written", "types", "sentence"),
    [
        (
            {"key": "phone"},
            {"phone": Type.TEXT},
            LACKS_PHONE,
        ),
        (
            {"key": "email", "columns": {"shop": {"email": "emial"}}},
            {},
            "`columns` names `emial` for `email`, but dataset `shop` has no such column; did you mean `email`?",
        ),
        (
            {"key": "email", "keep": {"first": "createdd"}},
            {"created": Type.DATE},
            "`keep` names `createdd`, which no dataset of the rule has; did you mean `created`?",
        ),
        (
            {"key": "email", "where": "lv > 1"},
            {"lv": Type.INTEGER},
            "Dataset `shop`: where: There is no column `lv` at column 1 of `lv > 1`; known names: `email` and `id`.",
        ),
        (
            {"key": ["email", {"born": ["day"]}], "columns": {"shop": {"born": "id"}}},
            {"born": Type.DATE},
            (
                "Dataset `shop`: The key column `id` cannot be normalised this way: "
                "`day` takes instant or date, but the value is of type integer."
            ),
        ),
        (
            {"key": "no", "columns": {"shop": {"no": "id"}}},
            {"no": Type.TEXT},
            (
                "`key`: `no` of dataset `crm` is of type text, but `id` of dataset `shop` is of type integer; "
                "declare the same type under the dataset's `columns:`."
            ),
        ),
        (
            {"key": "all"},
            {"phone": Type.TEXT},
            LACKS_PHONE,
        ),
        (
            {"key": "email", "except": [["1", {"shop": ["1", "2"]}]]},
            {},
            "`except` has an id of 2 parts, but the id of `shop` has 1.",
        ),
        (
            {"key": "email", "having": "sum(emial) > 1"},
            {},
            "`having` names `emial`, which no dataset of the rule has; did you mean `email`?",
        ),
    ],
)
def test_what_does_not_fit_is_one_sentence_with_the_dataset_and_the_column(
    written: dict[str, Any], types: dict[str, Type], sentence: str
) -> None:
    crm, shop = one("crm", email=Type.TEXT, **types), one("shop", email=Type.TEXT)

    assert mistakes(rule([crm, shop], **written), [crm, shop]) == [sentence]


def test_a_date_and_an_instant_are_compared_by_day() -> None:
    crm, shop = one("crm", at=Type.DATE), one("shop", at=Type.INSTANT)

    assert mistakes(rule([crm, shop], key={"at": ["day"]}), [crm, shop]) == []
    [mistake] = mistakes(rule([crm, shop], key="at"), [crm, shop])
    assert mistake.endswith("but `at` of dataset `shop` is of type instant; compare them by `day`.")


def test_a_condition_over_times_of_a_group_needs_one_time_zone() -> None:
    crm, shop = one("crm", at=Type.INSTANT), one("shop", at=Type.INSTANT)
    berlin = replace(shop, rows=replace(shop.rows, timezone="Europe/Berlin"))
    over = rule([crm, shop], key="id", having="max(at) > '2026-01-01'")

    assert mistakes(over, [crm, shop]) == []
    assert mistakes(over, [crm, berlin]) == [
        "`having` names a time, but the datasets have different time zones: UTC, Europe/Berlin; use the same one."
    ]


def test_money_in_a_column_whose_name_the_rule_gives_to_another_is_refused() -> None:
    shop = one("shop", email=Type.TEXT, amount=Type.DECIMAL, net=Type.DECIMAL)
    shop = replace(shop, rows=replace(shop.rows, money=MoneyColumns("amount", None, "EUR")), names={"amount": "net"})
    crm = one("crm", email=Type.TEXT)

    [mistake] = mistakes(rule([crm, shop], key="email"), [crm, shop])

    assert mistake == (
        "`columns` gives the name `amount` to `net`, but the `money` of dataset `shop` is in its own `amount`; "
        "choose another name."
    )


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ({"datasets": ["crm"]}, "`datasets` needs two different datasets; write `dataset` for one"),
        ({"datasets": ["crm", "crm"]}, "`datasets` needs two different datasets; write `dataset` for one"),
        ({"dataset": "crm"}, "write `dataset` for one dataset, or `datasets` for several, not both"),
        ({"columns": {"shp": {}}}, "`columns` names `shp`, which is not in `datasets`; did you mean `shop`?"),
        ({"where": {"shp": "a = 1"}}, "`where` names `shp`, which is not in `datasets`; did you mean `shop`?"),
        (
            {"keep": {"prefer": {"dataset": ["shp"]}}},
            "`keep` names `shp`, which is not in `datasets`; did you mean `shop`?",
        ),
        ({"except": [["1", {"shp": "1"}]]}, "`except` names `shp`, which is not in `datasets`; did you mean `shop`?"),
        (
            {"except": [["1", {"crm": "1"}]]},
            "a pair in `except` names the same record twice; write two different records",
        ),
        ({"columns": {"shop": {"a": "x", "b": "x"}}}, "`columns` gives a column of `shop` two names; remove one"),
        (
            {"key": "dataset"},
            (
                "`key` cannot name `dataset`, which is a record's dataset in `keep`, `repeats`, `distinct` and "
                "`having`; name that column in `columns`, like {crm: {kind_of_dataset: dataset}}"
            ),
        ),
    ],
)
def test_settings_that_contradict_the_datasets_are_refused(written: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError) as refused:
        DuplicatesRule.model_validate({"name": "twins", "datasets": ["crm", "shop"], "key": "email", **written})

    assert [str(error["ctx"]["error"]) for error in refused.value.errors()] == [sentence]


def test_a_rule_over_one_dataset_takes_no_settings_for_several() -> None:
    with pytest.raises(ValidationError, match="`where` names several datasets; write `datasets`, or one value"):
        DuplicatesRule.model_validate({"name": "twins", "dataset": "crm", "key": "email", "where": {"crm": "a = 1"}})


# Every source, in pairs

COLUMNS = {
    "customers": {"id": "integer", "email": "text", "amount": "decimal", "born": "date"},
    "people": {"no": "integer", "mail": "text", "total": "decimal", "born": "date"},
}
SOURCES = ("csv", "workbook", "sqlite", "postgresql", "mariadb")


def _tables() -> dict[str, list[tuple[Value, ...]]]:
    """Two tables of few different values, so that many records are alike."""
    order = random.Random(1)
    mails = ("ann@x.org", "ANN@x.org ", "Müller@x.org", "MÜLLER@x.org", "b@x.org", None)
    amounts = (Decimal("1.50"), Decimal(20), Decimal("-3.10"))
    return {
        name: [
            (n, order.choice(mails), order.choice(amounts), dt.date(1990, 1, order.choice((1, 2))))
            for n in range(1, 31)
        ]
        for name in COLUMNS
    }


def _written(rows: Sequence[Sequence[Value]]) -> list[list[str]]:
    return [["" if value is None else str(value) for value in row] for row in rows]


def _write(source: str, folder: Path, url: str) -> dict[str, Any]:
    """Write both tables; return the source's settings."""
    if source == "csv":
        for name, rows in _tables().items():
            with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([[*COLUMNS[name]], *_written(rows)])
        return {"type": "files", "root": "."}
    if source == "workbook":
        with xlsxwriter.Workbook(str(folder / "tables.xlsx")) as book:
            for name, rows in _tables().items():
                sheet = book.add_worksheet(name)
                for number, cells in enumerate([[*COLUMNS[name]], *_written(rows)]):
                    sheet.write_row(number, 0, cells)
        return {"type": "workbook", "path": "tables.xlsx"}
    types = {"integer": sa.Integer(), "text": sa.Text(), "decimal": sa.Numeric(12, 2), "date": sa.Date()}
    if source == "sqlite":
        types |= {"decimal": sa.Text(), "date": sa.Text()}
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        for name, rows in _tables().items():
            columns = [sa.Column(column, types[kind]) for column, kind in COLUMNS[name].items()]
            table = sa.Table(name, sa.MetaData(), *columns)
            table.create(connection)
            values = [row if source != "sqlite" else (*row[:2], *map(str, row[2:])) for row in rows]
            connection.execute(table.insert(), [dict(zip(COLUMNS[name], row, strict=True)) for row in values])
    engine.dispose()
    return {"type": "sql", "url": url}


def _project(folder: Path, urls: Mapping[str, str]) -> Path:
    """A configuration with every source on both sides, and a rule for each pair of them."""
    places = {"csv": lambda name: {"path": f"{name}.csv"}, "workbook": lambda name: {"sheet": name}}
    datasets: dict[str, Any] = {}
    for source in SOURCES:
        for name, columns in COLUMNS.items():
            texts = {column: kind for column, kind in columns.items() if kind != "text"}
            declared = {} if source in ("postgresql", "mariadb") else {"columns": texts}
            if source == "sqlite":
                declared = {"columns": {column: kind for column, kind in texts.items() if kind != "integer"}}
            place = places.get(source, lambda name: {"table": name})(name)
            datasets[f"{name}-{source}"] = {"source": source, **place, **declared, "id": next(iter(columns))}
    rules = {
        f"{left}-{right}": {
            "kind": "duplicates",
            "datasets": [f"customers-{left}", f"people-{right}"],
            "columns": {f"people-{right}": {"email": "mail", "amount": "total"}},
            "key": [{"email": ["trim", "lower"]}, "amount", "born"],
            "keep": [{"prefer": {"dataset": [f"people-{right}", f"customers-{left}"]}}],
        }
        for left in SOURCES
        for right in SOURCES
    }
    sources = {source: _write(source, folder, urls.get(source, "")) for source in SOURCES}
    config = {"version": 1, "sources": sources, "datasets": datasets, "rules": rules}
    (folder / "reconcile.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    return folder / "reconcile.yaml"


def _alike_in_tables() -> set[frozenset[tuple[str, int]]]:
    """The groups of both tables, by plain Python."""
    groups: dict[Any, set[tuple[str, int]]] = {}
    for name, rows in _tables().items():
        for number, mail, amount, born in rows:
            if isinstance(mail, str) and isinstance(number, int):
                groups.setdefault((mail.strip().lower(), amount, born), set()).add((name, number))
    return {frozenset(group) for group in groups.values() if len(group) > 1}


@pytest.mark.slow
@pytest.mark.server
def test_any_two_sources_give_the_same_groups_with_the_ids_of_each(
    tmp_path: Path, postgres_url: str, mariadb_url: str
) -> None:
    urls = {"sqlite": f"sqlite:///{tmp_path}/tables.db", "postgresql": postgres_url, "mariadb": mariadb_url}
    groups_by_pair: dict[str, set[frozenset[tuple[str, int]]]] = {}

    with closing(Application(load(_project(tmp_path, urls), {}))) as application:
        for name, over in application.project.rules.items():
            answer = detect_rule(over, subjects_of(over, application.subject), SLOT, Budget("1GB"))
            groups_by_pair[name] = {
                frozenset(((m.dataset or over.dataset).split("-")[0], m.id[0]) for m in group.members)  # type: ignore[misc]
                for group in answer.detection.groups
            }

    assert len(groups_by_pair) == len(SOURCES) ** 2
    assert set(map(frozenset, groups_by_pair.values())) == {frozenset(_alike_in_tables())}
