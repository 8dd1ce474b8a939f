"""The setting `group` of a reconciliation: the records of one document are one partner."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from rules.document.mistakes import RuleError
from rules.groups.group import Discrepancy
from rules.values import Type, Value
from tests.rules.kinds.reconciliation.compared import MONEY, TYPES, Compared, mistakes, row, shown
from tests.rules.kinds.reconciliation.test_runs import Project, servers
from tests.rules.kinds.reconciliation.test_runs import row as stored
from tests.rules.kinds.reconciliation.test_runs import shown as findings_of
from tests.support.cli import Project as Folder
from tests.support.sides import Sides

__all__ = ["servers"]
COLUMNS = {**TYPES, "doc": Type.TEXT, "price": Type.FLOAT}
GROUP = "group: {right: doc}\nkey: ref\n"
AMOUNTS = "tolerance: {amount: {left: amount, right: amount, by: 1}}\n"
DAYS = "tolerance: {date: {left: day, right: day, days: 2}, amount: {left: amount, right: amount, by: 1}}\n"


def line(number: int, amount: Any, doc: str | None = "D-1", **values: Value) -> dict[str, Value]:
    """One line of a document, with the reference A."""
    return {**row(number, amount=amount), "doc": doc, "price": 1.5} | values


def compared(left: Sequence[Mapping[str, Value]], right: Sequence[Mapping[str, Value]]) -> Compared:
    return Compared(left, right, types=COLUMNS, money=MONEY)


def only(left: Sequence[Mapping[str, Value]], right: Sequence[Mapping[str, Value]], text: str) -> Discrepancy:
    [finding] = compared(left, right).detect(text).groups
    assert isinstance(finding, Discrepancy)
    return finding


def test_a_payment_is_paired_with_the_document_whose_lines_add_up_to_it() -> None:
    ledger = [line(11, 100), line(12, 50), line(13, 70, "D-2"), line(14, 9, "D-2")]

    detection = compared([line(1, 150)], ledger).detect(GROUP + AMOUNTS)

    assert shown(detection) == [("right_only", [], [13, 14])]
    assert detection.matched == 1
    [finding] = detection.groups
    assert isinstance(finding, Discrepancy)
    assert finding.money == {"EUR": Decimal(-79)}
    [balance] = detection.balance
    assert [int(each) for each in (balance.left, balance.right, balance.matched, balance.explained)] == [
        150,
        229,
        0,
        -79,
    ]


def test_both_sides_can_have_documents() -> None:
    text = "group: {left: doc, right: {doc: [lower]}}\nkey: ref\n" + AMOUNTS

    detection = compared([line(1, 90), line(2, 60)], [line(11, 100, "d"), line(12, 50, "D")]).detect(text)

    assert (shown(detection), detection.matched) == ([], 1)


def test_several_columns_name_a_document() -> None:
    ledger = [line(11, 100), line(12, 50), line(13, 5, status="no")]

    detection = compared([line(1, 150)], ledger).detect("group: {right: [doc, status]}\nkey: ref\n" + AMOUNTS)

    assert shown(detection) == [("right_only", [], [13])]


@pytest.mark.parametrize("empty", [None, "", "  "])
def test_records_without_a_document_are_alone(empty: str | None) -> None:
    detection = compared([line(1, 100)], [line(11, 100, empty), line(12, 50, empty)]).detect(GROUP + AMOUNTS)

    assert shown(detection) == [("right_only", [], [12])]


def test_a_document_of_several_keys_matches_nothing_and_says_so() -> None:
    ledger = [line(11, 100), line(12, 50, ref="B")]

    detection = compared([line(1, 150)], ledger).detect(GROUP + AMOUNTS)

    assert shown(detection) == [("left_only", [1], []), ("right_only", [], [11, 12])]
    reasons = [each.reason for each in detection.groups if isinstance(each, Discrepancy)]
    assert reasons == [None, "records of one doc differ in ref"]


def test_money_of_two_currencies_is_never_added_up() -> None:
    finding = only([], [line(11, 100), line(12, 50, currency="USD")], GROUP + AMOUNTS)

    assert finding.reason == "records of one doc differ in currency"
    assert finding.money == {"EUR": Decimal(-100), "USD": Decimal(-50)}


@pytest.mark.parametrize(
    ("values", "reason"), [({"amount": None}, "no amount"), ({"day": None}, "no date"), ({"ref": None}, None)]
)
def test_an_empty_value_of_one_record_is_one_of_the_document(values: dict[str, Value], reason: str | None) -> None:
    finding = only([], [line(11, 100), line(12, 50) | values], GROUP + DAYS)

    assert [member.id[0] for member in finding.right] == [11, 12]
    assert finding.reason == (reason or "records of one doc differ in ref")


def test_the_earliest_date_is_that_of_the_document() -> None:
    days = [dt.date(2026, 3, day) for day in (3, 20)]

    detection = compared([line(1, 150)], [line(12, 50, day=days[1]), line(11, 100, day=days[0])]).detect(GROUP + DAYS)

    assert (shown(detection), detection.matched) == ([], 1)


def test_a_document_is_due_if_one_of_its_records_is() -> None:
    late, early = (dt.datetime(2026, 3, day, tzinfo=dt.UTC) for day in (9, 1))
    text = f"{GROUP}{AMOUNTS}grace: {{right: {{at: 2d}}}}\n"

    due = compared([], [line(11, 100, at=late), line(12, 50, at=early)]).detect(text)
    waiting = compared([], [line(11, 100, at=late), line(12, 50, at=late)]).detect(text)

    assert shown(due) == [("right_only", [], [11, 12])]
    assert (shown(waiting), waiting.not_yet_due) == ([], 2)


def test_a_near_miss_compares_the_sum() -> None:
    finding = only([line(1, 150)], [line(11, 100), line(12, 53)], GROUP + AMOUNTS)

    assert (finding.form, finding.reason, finding.money) == ("near_miss", "same ref", {"EUR": Decimal(-3)})
    assert [(each.column, each.left, each.right) for each in finding.differences] == [("amount", 150, 153)]


def test_money_of_matched_documents_is_compared_by_its_sum() -> None:
    finding = only([line(1, 150)], [line(11, 100), line(12, 51)], GROUP)

    assert (finding.form, finding.money) == ("mismatch", {"EUR": Decimal(-1)})
    assert [(each.column, each.left, each.right) for each in finding.differences] == [("amount", 150, 151)]


@pytest.mark.parametrize(
    ("left", "right", "agrees"),
    [
        (["ok"], ["ok", "ok"], True),
        (["ok"], ["ok", "no"], False),
        (["no", "ok"], ["ok", "no"], True),
        (["no", "ok"], ["ok", "no", "no"], False),
        ([None], [None, None], True),
        ([None], ["ok", None], False),
        (["4:ok"], ["ok", "ok"], False),
    ],
)
def test_a_document_agrees_in_a_column_as_a_bundle_does(
    left: list[str | None], right: list[str | None], *, agrees: bool
) -> None:
    text = "group: {left: doc, right: doc}\nkey: ref\n" + AMOUNTS + "compare: status"
    bank = [line(n, Decimal(60) / len(left), status=status) for n, status in enumerate(left)]
    ledger = [line(n, Decimal(60) / len(right), status=status) for n, status in enumerate(right, 11)]

    detection = compared(bank, ledger).detect(text)

    assert detection.matched == 1
    assert [form for form, _, _ in shown(detection)] == ([] if agrees else ["mismatch"])


@pytest.mark.parametrize(
    ("kind", "value", "second"),
    [
        (Type.BYTES, b"ab", b"c"),
        (Type.BOOLEAN, True, None),
        (Type.FLOAT, 1.5, 2.5),
        (Type.INTEGER, 1, 2),
        (Type.DECIMAL, Decimal("1.50"), Decimal("2.5")),
        (Type.DATE, dt.date(2026, 3, 1), dt.date(2026, 3, 2)),
        (Type.INSTANT, dt.datetime(2026, 3, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 3, 1, 2, tzinfo=dt.UTC)),
    ],
)
def test_values_of_every_type_agree_or_differ(kind: Type, value: Value, second: Value) -> None:
    bank = [line(1, 150, extra=value)]
    ledger = [line(11, 100, extra=value), line(12, 50, extra=value)]
    text = f"{GROUP}{AMOUNTS}compare: extra"
    types = {**COLUMNS, "extra": kind}

    same = Compared(bank, ledger, types=types).detect(text)
    differ = Compared(bank, [ledger[0], ledger[1] | {"extra": second}], types=types).detect(text)

    assert (shown(same), same.matched) == ([], 1)
    [finding] = differ.groups
    assert isinstance(finding, Discrepancy)
    assert [(each.column, each.left, each.right) for each in finding.differences] == [("extra", value, second)]


def test_equal_records_without_an_id_are_counted_apart() -> None:
    ledger = [line(0, 50), line(0, 50), line(0, 7, "D-2")]

    detection = Compared([line(1, 100)], ledger, types=COLUMNS, money=MONEY, id=()).detect(GROUP + AMOUNTS)

    assert detection.matched == 1
    [finding] = detection.groups
    assert isinstance(finding, Discrepancy)
    assert [member.values["amount"] for member in finding.right] == [7]


def test_documents_that_repeat_the_key_are_shown_whole() -> None:
    finding = only([line(1, 150)], [line(11, 100), line(12, 50), line(13, 7, "D-2")], GROUP)

    assert (finding.form, [member.id[0] for member in finding.right]) == ("duplicate_right", [11, 12, 13])


def test_documents_of_one_sum_are_ambiguous_with_all_their_records() -> None:
    ledger = [line(11, 100), line(12, 50), line(13, 149, "D-2"), line(14, 1, "D-2")]

    finding = only([line(1, 150)], ledger, GROUP + AMOUNTS)

    assert (finding.form, [member.id[0] for member in finding.right]) == ("ambiguous", [11, 12, 13, 14])


def test_a_value_that_decides_is_that_of_all_records() -> None:
    ledger = [line(11, 100), line(12, 50, status="no"), line(13, 151, "D-2")]
    text = f"{GROUP}{AMOUNTS}prefer: status"

    assert shown(compared([line(1, 150)], ledger).detect(text)) == [("right_only", [], [11, 12])]


def test_each_of_several_keys_pairs_documents() -> None:
    text = "group: {right: doc}\nkey: {any: [[ref], [status]]}\n" + AMOUNTS
    ledger = [line(11, 100, ref="B"), line(12, 50, ref="B"), line(13, 7, "D-2", status="no")]

    detection = compared([line(1, 150, ref="C"), line(2, 7, status="no")], ledger).detect(text)

    assert (shown(detection), detection.matched) == ([], 2)


def test_conditions_are_judged_before_documents_are_gathered() -> None:
    text = f"{GROUP}{AMOUNTS}where: {{right: status = 'ok'}}\n"

    detection = compared([line(1, 100)], [line(11, 100), line(12, 50, status="no")]).detect(text)

    assert (shown(detection), detection.matched) == ([], 1)


def test_a_document_with_several_lines_of_money_in_integers_adds_them_exactly() -> None:
    types = {**COLUMNS, "amount": Type.INTEGER}
    large = 9 * 10**18

    detection = Compared([], [line(11, large), line(12, large)], types=types, money=MONEY).detect(GROUP + AMOUNTS)

    [finding] = detection.groups
    assert isinstance(finding, Discrepancy)
    assert finding.money == {"EUR": Decimal(-2 * large)}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("group: {}\nkey: ref", "1:1 `group`: needs the column of a document on one side; write {right: document}"),
        ("group: doc\nkey: ref", "1:8 `group`: must be a mapping like {name: value}, not `doc`"),
        ("group: {right: []}\nkey: ref", "1:16 `right`: needs at least one column"),
        ("group: {right: [doc, doc]}\nkey: ref", "1:16 `right`: names the same column twice; remove one"),
        ("group: {rigth: doc}\nkey: ref", "1:9 `rigth` is not known here; did you mean `right`?"),
        ("group: {right: {doc: [tri]}}\nkey: ref", "1:23 there is no normaliser `tri`; did you mean `trim`?"),
        (
            f"{GROUP}match: one_to_many",
            (
                "1:1 rule `agree`: `group` makes records one partner, which only `match: one_to_one` pairs; "
                "remove `group` or `match`"
            ),
        ),
        (
            f"{GROUP}compare: {{left: amount, right: amount, by: 1}}",
            (
                "3:17 rule `agree`: `compare` has a limit for `amount`, which the values of a `group` cannot have; "
                "remove the limit, or write a `tolerance`"
            ),
        ),
        (
            "group: {right: doc}\ntotals: {by: ref, sum: {left: amount, right: amount}}",
            "1:1 `group`: cannot be combined with `totals`, which pairs no records; remove it",
        ),
    ],
)
def test_a_group_that_means_nothing_is_one_mistake(text: str, sentence: str) -> None:
    assert mistakes(text) == [sentence]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("group: {right: docs}\nkey: ref", "`group` names `docs`, but dataset `ledger` has no such column; did you"),
        ("group: {right: id}\nkey: ref", "`group`: it names the whole `id`, so each record is alone; name the column"),
        ("group: {right: doc}\nkey: [ref, amount]", "`key` names `amount` of `ledger`, which `group` adds up; compare"),
        (
            f"{GROUP}tolerance: {{amount: {{left: price, right: price, by: 1}}}}",
            "`group` adds up `price` of `ledger`, which is a floating-point number; declare it as decimal under",
        ),
    ],
)
def test_a_group_that_does_not_fit_its_dataset_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(RuleError) as caught:
        compared([], []).fitted(text)

    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_rule_in_words_its_obstacle_and_its_sql() -> None:
    fitted = compared([line(1, 150)], [line(11, 150)]).fitted("group: {right: {doc: [trim]}}\nkey: ref\n" + AMOUNTS)

    assert "right: grouped by doc, without white space at its ends" in fitted.describe()["pairs"]
    assert fitted.obstacle("postgresql") == "records of a `group` are gathered in DuckDB"
    statements = compared([], []).detect(GROUP + AMOUNTS).statements
    assert any(text.startswith("-- right_units\ncreate temp table right_units") for text in statements)


# ------------------------------------------------------------------------------------------------ as people run it

BANK = [stored(1, "INV-1", amount="150.00"), stored(2, "INV-2", amount="80.00")]
LEDGER = [
    stored(11, "D-1", amount="100.00"),
    stored(12, "d1", day=2, amount="50.00"),
    stored(13, "D-2", amount="60.00"),
    stored(14, "D-2", amount="20.50"),
    stored(15, "D-3", amount="7.00"),
]
BY_DOCUMENT: dict[str, Any] = {"group": {"right": {"ref": ["docno"]}}, "key": ["currency"]}


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.usefixtures("servers")
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("csv", "workbook"),
        ("sqlite", "sqlite"),
        ("postgresql", "parquet"),
        ("postgresql", "postgresql"),
        ("mariadb", "mariadb"),
    ],
)
def test_any_two_sources_gather_the_same_documents(tmp_path: Path, left: str, right: str) -> None:
    project = Project(tmp_path, **BY_DOCUMENT)
    project.put("bank", BANK, left)
    project.put("ledger", LEDGER, right)

    result = project.run()

    assert findings_of(project) == [("near_miss", [2], [13, 14]), ("right_only", [], [15])]
    assert (result["read"], result["matched"]) == (7, 1)


@pytest.mark.slow
def test_a_document_keeps_its_finding_while_lines_come_and_go(tmp_path: Path) -> None:
    project = Project(tmp_path, **BY_DOCUMENT)
    project.put("bank", [])
    project.put("ledger", LEDGER[:1])
    first = project.run()

    project.put("ledger", LEDGER[:2])
    second = project.run()
    project.put("ledger", LEDGER[1:2])
    third = project.run()

    assert (first["findings"]["new"], second["findings"]["new"], third["findings"]["new"]) == (1, 0, 0)
    [finding] = project.findings()
    assert finding.money == {"EUR": Decimal("50.00")}


@pytest.mark.slow
def test_commands_show_all_lines_of_a_document(tmp_path: Path) -> None:
    project = Project(tmp_path, **BY_DOCUMENT)
    project.put("bank", BANK)
    project.put("ledger", LEDGER)
    project.run()
    command = Folder(tmp_path)

    [near] = [finding for finding in command("findings", "--json").json if finding["form"] == "near_miss"]
    shown_text = command("show", near["id"]).out
    explained = command("explain", "agree").out

    assert [len(near[side]) for side in ("left", "right")] == [1, 2]
    assert "amount" in shown_text
    assert "80.50" in shown_text
    assert "grouped by ref" in explained
    assert "records of a `group` are gathered in DuckDB" in explained or "embedded" in explained


@pytest.mark.slow
@pytest.mark.server
def test_cleaning_changes_all_records_of_a_document(tmp_path: Path) -> None:
    clean = {"dataset": "invoices", "forms": ["left_only"], "action": "set", "values": {"status": "cancelled"}}
    sides = Sides.at(tmp_path, f"sqlite:///{tmp_path}/shop.db", "csv", group={"left": "number"}, clean=clean)
    sides.invoices.add(("I-4", "INV-2", "5.00", "open"))

    assert sides.cleaning() == {"proposed": 2}
    finding = sides.of_record("I-2")
    approved = sides.decide("approve", finding)

    assert approved.out.startswith(f"{finding} is cleaned: 2 records marked, 2 rows changed."), approved.said
    assert sides.invoices.status == {"I-1": "open", "I-2": "cancelled", "I-3": "open", "I-4": "cancelled"}


@pytest.mark.slow
def test_a_masked_document_is_not_shown(tmp_path: Path) -> None:
    project = Project(tmp_path, **BY_DOCUMENT)
    project.put("bank", [])
    project.put("ledger", [stored(11, "SECRET-1"), stored(12, "SECRET-1")])
    project.configuration["datasets"]["ledger"]["pii"] = ["ref"]
    project.run()
    command = Folder(tmp_path)

    [finding] = command("findings", "--json").json

    assert len(finding["right"]) == 2
    assert "SECRET" not in json.dumps(finding) + command("show", finding["id"]).out


@pytest.mark.slow
def test_examples_of_a_rule_have_documents(tmp_path: Path) -> None:
    example = {
        "name": "two lines of one document",
        "given": {
            "bank": [{"id": 1, "amount": 150, "currency": "EUR", "day": "2026-03-01"}],
            "ledger": [
                {"id": number, "ref": document, "amount": amount, "currency": "EUR", "day": "2026-03-01"}
                for number, document, amount in ((11, "D-1", 100), (12, "d1", 50), (13, "D-2", 3), (14, "D-2", 4))
            ],
        },
        "expect": [{"form": "right_only", "right": [13, 14]}],
    }
    project = Project(tmp_path, **BY_DOCUMENT, examples=[example])
    project.put("bank", [])
    project.put("ledger", [])
    project.opened().close()

    answer = Folder(tmp_path)("test")

    assert answer.code == 0, answer.out
