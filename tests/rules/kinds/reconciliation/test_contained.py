"""A value of one side that is contained in a text of the other, as whole words."""

import datetime as dt
import random
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rules.document.mistakes import RuleError
from rules.groups.detection import Detection
from rules.groups.group import Discrepancy, Group
from rules.kinds.base import DoesNotFit
from rules.kinds.reconciliation import assigning, matching
from rules.models import Step
from rules.normalise import chain_function
from rules.values import Type, Value
from tests.rules.kinds.reconciliation.compared import MONEY, SLOT, TYPES, Compared, mistakes, row, rule, shown
from tests.rules.kinds.reconciliation.oracle import Answer, Case, Contained, Row, answer, balance
from tests.support.chance import examples
from tests.support.rules import databases, pushed_together

__all__ = ["databases"]
KEY = "key: {left: ref, right: ref, contained: right}\n"
AMOUNT = "tolerance: {amount: {left: amount, right: amount, by: 0.01}}\n"


def key_with(*steps: str, shortest: int = 4) -> str:
    """The key with normalisers on both sides."""
    side = ", ".join(["ref", *steps])
    return f"key: {{left: [{side}], right: [{side}], contained: right, shortest: {shortest}}}\n"


def contains(text: str, value: str, *steps: str, shortest: int = 1) -> bool:
    """Whether a record with the text and one with the value are matched."""
    detection = Compared([row(1, text)], [row(2, value)]).detect(key_with(*steps, shortest=shortest))
    return detection.matched == 1


# What a text contains


def test_a_value_is_found_as_whole_words() -> None:
    texts = {
        "Rechnung INV-1001 und INV-1002 Danke": True,
        "INV-1001": True,
        "(INV-1001)": True,
        "RE:INV-1001.": True,
        "INV-1001, INV-1002": True,
        "X_INV-1001_Y": True,
        "INV-10012": False,
        "XINV-1001": False,
        "INV-1001A": False,
        "INV-1001e\N{COMBINING ACUTE ACCENT}": False,
        "INV 1001": False,
        "inv-1001": False,
        "INV-\N{ZERO WIDTH SPACE}1001": True,
        "": False,
    }
    left = [row(number, text) for number, text in enumerate(texts)]
    detection = Compared(left, [row(1, "INV-1001")]).detect(f"{KEY}match: many_to_one\n")

    alone = {ids[0] for form, ids, _ in shown(detection) if form == "left_only"}
    assert [number not in alone for number in range(len(texts))] == list(texts.values())


def test_a_number_is_not_found_in_a_longer_one() -> None:
    texts = {
        "12": True,
        "Nr. 12, 13": True,
        "INV-12": True,
        "12-A": True,
        "12 -3": True,
        "12. 3": True,
        "12+3": True,
        "312": False,
        "12-3": False,
        "3-12": False,
        "12.03.2026": False,
        "12/3": False,
        "7:12": False,
        "1'12": False,
        "12,50": False,
        "12\N{EN DASH}3": False,
        "12\N{NON-BREAKING HYPHEN}3": False,
        "\N{ARABIC-INDIC DIGIT ONE}12": False,
    }
    left = [row(number, text) for number, text in enumerate(texts)]
    detection = Compared(left, [row(1, "12")]).detect(key_with(shortest=1) + "match: many_to_one\n")

    alone = {ids[0] for form, ids, _ in shown(detection) if form == "left_only"}
    assert [number not in alone for number in range(len(texts))] == list(texts.values())


@pytest.mark.parametrize(
    ("text", "value", "steps"),
    [
        ("Zahlung  RE  1001\nvom 3. März", "RE 1001", ()),
        ("Zahlung RE 1001", " RE   1001 ", ()),
        ("Zahlung 12-3 Danke", "12-3", ()),
        ("Beleg #1001!", "#1001", ()),
        ("Überweisung für MÜLLER GmbH", "müller gmbh", ("casefold",)),
        ("Virement à Société Générale, merci", "societe generale", ("casefold", "unaccent")),
        ("請求書 第1001号 入金", "第1001号", ()),
        ("請求書\N{IDEOGRAPHIC SPACE}ＩＮＶ－１００１", "INV-1001", ("nfkc",)),
        ("Ref RF18 5390 0754 7034 Danke", "RF18539007547034", ("alnum",)),
        ("Ref RF18539007547034 Danke", "RF18 5390 0754 7034", ("alnum",)),
        ("Rechnung inv/00123 bezahlt", "INV-123", ("docno",)),
        ("Rechnung Inv 123, Danke", "INV000123", ("docno",)),
        ("Rechnung 2026 / 17", "2026-0017", ("docno",)),
        ("RE 00123", "123", ("strip_zeros",)),
        ("RE 1001/1002", "1002", ("{regex: ['/', ' ']}",)),
    ],
)
def test_spellings_that_agree(text: str, value: str, steps: Sequence[str]) -> None:
    assert contains(text, value, *steps)


@pytest.mark.parametrize(
    ("text", "value", "steps"),
    [
        ("Ref RF18 5390 0754 70341", "RF18539007547034", ("alnum",)),
        ("XRF18 5390 0754 7034", "RF18539007547034", ("alnum",)),
        ("Rechnung 20-26-17", "2026-17", ("docno",)),
        ("Rechnung 12 3", "123", ("docno",)),
        ("RE 1001/1002", "1002", ()),
        ("請求書第1001号", "1001", ()),
        ("---", "---", ()),
    ],
)
def test_spellings_that_do_not(text: str, value: str, steps: Sequence[str]) -> None:
    assert not contains(text, value, *steps)


def test_an_integer_is_found_by_its_digits() -> None:
    types = {**TYPES, "ref": Type.INTEGER}
    compared = Compared(
        [row(1, "RE 1001 Danke"), row(2, "RE 10010")], [row(1, None) | {"ref": 1001}], right_types=types
    )

    assert shown(compared.detect(KEY)) == [("left_only", [2], [])]


def test_the_text_may_be_on_either_side() -> None:
    compared = Compared([row(1, "INV-1001"), row(2, "INV-1002")], [row(3, "INV-1001 und INV-1002")])

    detection = compared.detect("key: {left: ref, right: ref, contained: left}\nmatch: many_to_one\n")

    assert (detection.matched, shown(detection)) == (1, [])


def test_other_parts_of_the_key_hold() -> None:
    compared = Compared([row(1, "INV-1001 ok")], [row(1, "INV-1001", currency="USD"), row(2, "INV-1001")])

    text = "key: [currency, {left: ref, right: ref, contained: right}]\nreport: [left_only, right_only]\n"

    assert shown(compared.detect(text)) == [("right_only", [], [1])]


# Values that match nothing


def test_values_that_are_missing_or_too_short_match_nothing_and_say_so() -> None:
    left = [row(1, "12.03.2026: Rechnung 117 und INV-1"), row(2, None)]
    right = [row(1, "117"), row(2, "-12-"), row(3, None), row(4, "INV-1"), row(5, "A-1-B")]
    detection = Compared(left, right).detect(KEY)

    reasons = {group.members[0].id[0]: reason_of(group) for group in detection.groups if form_of(group) == "right_only"}
    assert reasons == {1: "key too short", 2: "key too short", 3: "no key", 5: "key too short"}
    assert detection.matched == 1
    shorter = Compared(left, right).detect(f"{key_with(shortest=3)}match: one_to_many\n")
    assert shown(shorter) == [
        ("left_only", [2], []),
        ("right_only", [], [2]),
        ("right_only", [], [3]),
        ("right_only", [], [5]),
    ]


def reason_of(group: Group) -> str | None:
    assert isinstance(group, Discrepancy)
    return group.reason


def form_of(group: Group) -> str:
    return group.form


# Several values in a text


def test_a_payment_that_names_three_invoices_is_a_bundle_with_them() -> None:
    left = [row(1, "INV-1001 INV-1002, INV-1003", amount=30), row(2, "INV-1004", amount=9)]
    right = [row(number, f"INV-100{number}") for number in (1, 2, 3, 4)]
    detection = Compared(left, right, money=MONEY).detect(f"{KEY}match: one_to_many\n")

    [group] = detection.groups
    assert (group.form, dict(group.key), dict(group.money)) == ("unbalanced", {"ref": "INV-1004"}, {"EUR": Decimal(-1)})
    assert detection.matched == 1


def test_payments_that_name_different_invoices_in_common_are_ambiguous() -> None:
    left = [row(1, "INV-1001 INV-1002", amount=20), row(2, "INV-1002 INV-1003", amount=20)]
    right = [row(number, f"INV-100{number}") for number in (1, 2, 3)]
    compared = Compared(left, right, money=MONEY)

    assert shown(compared.detect(f"{KEY}match: one_to_many\n")) == [("ambiguous", [1, 2], [1, 2, 3])]
    assert shown(compared.detect(f"{KEY}match: many_to_many\n")) == [("unbalanced", [1, 2], [1, 2, 3])]
    assert shown(compared.detect(KEY)) == [("ambiguous", [1, 2], [1, 2, 3])]


def test_payments_that_name_the_same_invoices_are_duplicates() -> None:
    left = [row(1, "INV-1001 INV-1002", amount=20), row(2, "INV-1002, INV-1001", amount=20)]
    right = [row(number, f"INV-100{number}") for number in (1, 2)]

    assert shown(Compared(left, right).detect(f"{KEY}match: one_to_many\n")) == [("duplicate_left", [1, 2], [1, 2])]
    assert shown(Compared(left, right[:1]).detect(KEY)) == [("duplicate_left", [1, 2], [1])]
    assert shown(Compared(left[:1], [row(1, "INV-1001"), row(2, "INV-1001")]).detect(KEY)) == [
        ("duplicate_right", [1], [1, 2])
    ]


def test_the_amount_decides_which_value_of_a_text_counts() -> None:
    left = [row(1, "INV-1001 statt INV-1002", amount=20)]
    right = [row(1, "INV-1001", amount=10), row(2, "INV-1002", amount=20)]
    assert shown(Compared(left, right).detect(KEY + AMOUNT)) == [("right_only", [], [1])]

    equal = [row(1, "INV-1001", amount=20), row(2, "INV-1002", amount=20)]
    assert shown(Compared(left, equal).detect(KEY + AMOUNT)) == [("ambiguous", [1], [1, 2])]


def test_most_records_get_a_partner_even_if_another_pair_is_equal() -> None:
    left = [row(1, "INV-1001 INV-1002"), row(2, "INV-1001")]
    detection = Compared(left, [row(1, "INV-1001"), row(2, "INV-1002", day=dt.date(2026, 3, 2))]).detect(
        f"{KEY}tolerance: {{date: {{left: day, right: day, days: 3}}}}\n"
    )

    assert (detection.matched, shown(detection)) == (2, [])


def test_several_keys_are_tried_in_turn() -> None:
    left = [row(1, "INV-1001"), row(2, "Danke", amount=7), row(3, "Nr 12", amount=8), row(4, None, amount=9)]
    right = [row(1, "INV-1001", amount=7), row(2, "INV-1002", amount=7), row(3, "12", amount=8), row(4, "13", amount=1)]
    detection = Compared(left, right).detect(
        "key: {any: [[{left: ref, right: ref, contained: right}], [status, amount]]}\nreport: [left_only, right_only]\n"
    )

    assert detection.matched == 3
    assert [(form_of(group), dict(group.key)) for group in detection.groups] == [
        ("right_only", {"status": "ok", "amount": 1}),
        ("left_only", {"status": "ok", "amount": 9}),
    ]


# Findings


def test_a_finding_shows_the_value_under_its_own_column() -> None:
    types = {("memo" if name == "ref" else name): kind for name, kind in TYPES.items()}
    left = [
        {("memo" if name == "ref" else name): value for name, value in each.items()}
        for each in (row(1, "Zahlung INV-1001"), row(2, "Miete"))
    ]
    compared = Compared(left, [row(1, "INV-1001", amount=11)], types=types, right_types=TYPES)
    detection = compared.detect("key: {left: memo, right: ref, contained: right}\ncompare: amount\n")

    assert [(form_of(group), dict(group.key)) for group in detection.groups] == [
        ("left_only", {"memo": "Miete"}),
        ("mismatch", {"ref": "INV-1001"}),
    ]


def test_a_payment_of_another_amount_is_a_near_miss_of_the_invoice_that_only_it_names() -> None:
    left = [row(1, "Zahlung INV-1001", amount=99), row(2, "INV-1002", amount=50), row(3, "INV-1002 INV-1003")]
    right = [row(1, "INV-1001"), row(2, "INV-1002", amount=1000), row(3, "INV-1003")]
    detection = Compared(left, right, money=MONEY).detect(KEY + AMOUNT)

    [near] = [group for group in detection.groups if form_of(group) == "near_miss"]
    assert isinstance(near, Discrepancy)
    assert (near.reason, [each.column for each in near.differences]) == ("same ref", ["amount"])
    assert dict(near.money) == {"EUR": Decimal(89)}
    assert shown(detection) == [("left_only", [2], []), ("near_miss", [1], [1]), ("right_only", [], [2])]


def test_grace_holds_for_records_without_a_partner() -> None:
    late = dt.datetime(2026, 3, 10, tzinfo=dt.UTC)
    compared = Compared([row(1, "INV-1001", at=late), row(2, "INV-1002")], [])

    detection = compared.detect(f"{KEY}grace: {{left: {{at: 2d}}}}\n")

    assert (detection.not_yet_due, shown(detection)) == (1, [("left_only", [2], [])])


def test_the_rule_in_words_and_its_obstacle() -> None:
    fitted = Compared([], []).fitted(key_with("lower"))

    assert fitted.describe()["compares"] == [
        "ref: in lower case, ref contains ref, if that has at least 4 letters and digits"
    ]
    assert fitted.obstacle("postgresql") == ("values that are `contained` in texts are looked for by Reconcile itself")


# Mistakes

PART = "{left: memo, right: no, contained: right}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("key: {left: memo, right: no, contained: both}", "contained"),
        ("key: {left: memo, right: no, shortest: 3}", "is for a value that is contained in a text; add `contained`"),
        ("key: {left: memo, right: no, contained: right, shortest: 0}", "shortest"),
        (
            "key: {left: [memo, digits], right: no, contained: right}",
            "`digits` does not keep the words of the text apart; remove it",
        ),
        (
            "key: {left: [memo, docno, trim], right: no, contained: right}",
            "`docno` does not keep the words of the text apart; write it last",
        ),
        (
            f"key: [{PART}, {{left: b, right: no, contained: right}}]",
            "`key` has several parts with `contained`; write one of them, or several keys with `any`",
        ),
        (f"key: [{PART}, c]\nnulls: {{memo: match}}", "names `memo`, but an empty value is in no text; remove it"),
        (
            f"key: {PART}\nmatch: one_to_many\nsum: {{left: x, right: y}}\nbundle: search",
            "`bundle` searches among records of one key; remove it, or `contained` from the key",
        ),
        (f"key: a\ndiffer: [{PART}]\ntolerance: {{date: {{left: d, right: d, days: 1}}}}", "contained"),
        (f"totals: {{by: [{PART}], sum: {{left: x, right: y}}}}", "contained"),
    ],
)
def test_what_cannot_be_is_one_sentence(text: str, sentence: str) -> None:
    [mistake] = mistakes(text)

    assert sentence in mistake


@pytest.mark.parametrize(
    ("side", "kind", "allowed"), [("left", Type.INTEGER, "text"), ("right", Type.DECIMAL, "text or integer")]
)
def test_a_column_that_cannot_be_searched_is_refused(side: str, kind: Type, allowed: str) -> None:
    types = {**TYPES, "ref": kind}
    sides = (types, TYPES) if side == "left" else (TYPES, types)
    compared = Compared([], [], types=sides[0], right_types=sides[1])

    with pytest.raises(
        DoesNotFit, match=f"`contained` needs {allowed}, but `ref` of `(bank|ledger)` is of type {kind.value}"
    ):
        compared.fitted(KEY)


@pytest.mark.server
@pytest.mark.parametrize("database", ["postgresql", "mariadb", "sqlite"])
def test_databases_leave_it_to_reconcile(databases: dict[str, Any], database: str) -> None:
    compared = Compared([row(1, "INV-1001")], [row(1, "INV-1001")])

    with (
        pushed_together(databases[database], compared.rows) as [bank, ledger],
        pytest.raises(RuleError, match="contained"),
    ):
        compared.fitted(KEY).detect({"bank": bank, "ledger": ledger}, SLOT)


# The oracle, from docs/reconciliation.md


def words(text: str) -> list[tuple[int, int]]:
    """Where each word begins and ends."""
    spans: list[tuple[int, int]] = []
    for place, character in enumerate(text):
        if unicodedata.category(character)[0] not in "LMN":
            continue
        if spans and spans[-1][1] == place:
            spans[-1] = (spans[-1][0], place + 1)
        else:
            spans.append((place, place + 1))
    return spans


def core(value: str) -> str:
    """A value from its first word to its last."""
    value = " ".join(value.split())
    spans = words(value)
    return value[spans[0][0] : spans[-1][1]] if spans else ""


def is_one_number(text: str, place: int) -> bool:
    """Whether the character at that place joins two numbers."""
    around = text[max(place - 1, 0) : place + 2]
    is_joining = text[place : place + 1] in ("-", "\N{EN DASH}", ".", ",", "/", ":", "'")
    return is_joining and len(around) == 3 and around[0].isnumeric() and around[2].isnumeric()


def occurs_by(last: str | None) -> Callable[[str, str], bool]:
    """Whether a value is one of the runs of words of a text, after a normaliser of each run."""
    form = chain_function([Step(name=last)] if last else [])

    @cache
    def occurs(text: str, value: str) -> bool:
        text, wanted = " ".join(text.split()), core(value)
        spans = words(text)
        runs = [(first, end) for n, (first, _) in enumerate(spans) for _, end in spans[n:]]
        whole = [run for run in runs if not is_one_number(text, run[0] - 1) and not is_one_number(text, run[1])]
        return bool(wanted) and wanted in {form(text[first:end]) for first, end in whole}

    return occurs


WORDS = ["RE-1", "RE-12", "1-2", "12", "AB", "re 1", "RE1", "1", "2", "0012", "Ä-7", "x"]
GLUE = [" ", " ", " ", "  ", ", ", "-", "/", ".", "_", "", "\N{EN DASH}", "+"]


def datasets(seed: int, side: int, blocks: int = 6) -> tuple[list[Row], list[Row]]:
    """Texts of some words, and values that are some of these words; in blocks with words of their own."""
    drawn = random.Random(seed)
    sides: tuple[list[Row], list[Row]] = ([], [])
    for block in range(blocks):
        words_of_block = [_of_block(word, block) for word in drawn.sample(WORDS, drawn.choice([2, 3, 8]))]
        few = drawn.choice([1, 2, 4])
        for at, rows in enumerate(sides):
            for _ in range(drawn.choice([0, 1, 1, 2, 3])):
                ref = _text(drawn, words_of_block, drawn.choice([1, 1, 2]) if at == side else drawn.choice([1, 2, 3]))
                rows.append(_record(drawn, len(rows), ref, few))
    return sides


def _of_block(word: str, block: int) -> str:
    """The word with numbers, or without one letters, that no other block has."""
    return re.sub("[0-9]+", rf"\g<0>{block + 3}", word) if re.search("[0-9]", word) else word + "abcdef"[block]


def _text(drawn: random.Random, words_of_block: Sequence[str], count: int) -> str:
    glued = (part for _ in range(count) for part in (drawn.choice(words_of_block), drawn.choice(GLUE)))
    return "".join(glued) if drawn.random() < 0.5 else drawn.choice(words_of_block)


def _record(drawn: random.Random, number: int, ref: str, few: int) -> dict[str, Any]:
    values: dict[str, Any] = {
        "ref": ref,
        "day": dt.date(2026, 3, 1) + dt.timedelta(days=drawn.randrange(few) * 2),
        "at": dt.datetime(2026, 3, 7, tzinfo=dt.UTC) + dt.timedelta(hours=drawn.randrange(80)),
        "amount": drawn.choice([Decimal("10.00"), Decimal("10.50"), Decimal("20.00"), Decimal("5.00")][:few]),
        "currency": drawn.choice(["EUR"] * 9 + ["USD"]),
        "status": drawn.choice(["ok", "ok", "no"]),
    }
    return {"id": number} | {name: None if drawn.random() < 0.03 else value for name, value in values.items()}


@st.composite
def rules(draw: st.DrawFn) -> tuple[str, Case, int]:
    """A rule, its meaning, and the side of the values."""
    side, last, shortest = (
        draw(st.sampled_from([0, 1])),
        draw(st.sampled_from([None, None, "alnum", "docno"])),
        draw(st.sampled_from([1, 2])),
    )
    of_side = ", ".join(["ref", *(["lower"] if last != "docno" else []), *([last] if last else [])])
    steps = chain_function([Step(name=name) for name in of_side.split(", ")[1:]])
    lower = chain_function([Step(name="lower")] if last != "docno" else [])
    with_currency = draw(st.booleans())
    part = f"{{left: [{of_side}], right: [{of_side}], contained: {('left', 'right')[side]}, shortest: {shortest}}}"
    second = draw(st.sampled_from([False, False, True]))
    key = f"[{part}{', currency' if with_currency else ''}]"

    def key_of(record: Row) -> Any:
        if record["ref"] is None or (with_currency and record["currency"] is None):
            return None
        return (record["ref"], *([record["currency"]] if with_currency else []))

    def of_value(value: str) -> str:
        return str(steps(value) or "")

    def is_short(value: str) -> bool:
        return sum(character.isalnum() for character in of_value(value)) < shortest

    occurs = occurs_by(last)
    contained = Contained(
        side,
        lambda text, value: occurs(str(lower(text) or ""), of_value(value)),
        is_short,
        lambda value: core(of_value(value)),
    )
    case = Case(key_of, ("ref", *(["currency"] if with_currency else [])), contained=contained, slot=SLOT)
    text = f"key: {{any: [{key}, [status, amount]]}}\n" if second else f"key: {key}\n"
    match = (
        "one_to_one"
        if second
        else draw(st.sampled_from(["one_to_one", "one_to_one", "one_to_many", "many_to_one", "many_to_many"]))
    )
    case = replace(case, many=(match.startswith("many"), match.endswith("many")))
    text += f"match: {match}\n"
    tolerance = []
    if draw(st.booleans()):
        tolerance.append("date: {left: day, right: day, days: 2}")
        case = replace(case, date="day", window=(2, 2))
    if draw(st.booleans()):
        tolerance.append("amount: {left: amount, right: amount, by: 0.50}")
        case = replace(case, amounts=True, by=Decimal("0.50"))
    text += f"tolerance: {{{', '.join(tolerance)}}}\n" if tolerance else ""
    if draw(st.booleans()):
        text += "compare: status\n"
        case = replace(case, compare=("status",))
    if draw(st.booleans()):
        text += "grace: {left: {at: 2d}}\n"
        case = replace(case, grace={"left": dt.timedelta(days=2)})
    money = draw(st.booleans())
    case = replace(case, money=money)
    if money and match != "one_to_one" and not case.amounts:
        case = replace(case, amounts=True)
    others = (replace(case, key=_status_and_amount, parts=("status", "amount"), contained=None),) if second else ()
    return text, replace(case, others=others), side


def _status_and_amount(record: Row) -> Any:
    return None if None in (record["status"], record["amount"]) else (record["status"], record["amount"])


def found(detection: Detection) -> Answer:
    given = Answer(matched=detection.matched or 0, waiting=detection.not_yet_due)
    for group in detection.groups:
        assert isinstance(group, Discrepancy)
        ids = [tuple(sorted(int(str(m.id[0])) for m in members)) for members in (group.left, group.right)]
        given.findings.append((group.form, ids[0], ids[1], group.reason))
    given.findings.sort(key=repr)
    return given


@pytest.mark.slow
@settings(max_examples=examples(50), deadline=None, suppress_health_check=list(HealthCheck))
@given(rules(), st.integers(0, 2**32))
def test_the_answer_is_that_of_the_oracle_in_any_order(drawn: tuple[str, Case, int], seed: int) -> None:
    text, case, side = drawn
    left, right = datasets(seed, side)
    shuffled = random.Random(seed)
    money = MONEY if case.money else None

    detection = Compared(shuffled.sample(left, len(left)), shuffled.sample(right, len(right)), money=money).detect(text)

    assert found(detection) == answer(case, left, right)
    totals = balance(left, case.where), balance(right, case.where)
    for line in detection.balance:
        assert (line.left, line.right) == tuple(total[line.currency] for total in totals)
        assert line.left - line.right == line.matched + line.explained + line.not_yet_due
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(matching, "RECORDS_OF_A_PART", 1)
        patched.setattr(assigning, "AT_ONCE", 2)
        assert found(Compared(left, right, money=money).detect(text)) == found(detection)


def test_files_and_streams_answer_alike(tmp_path: Path) -> None:
    left, right = datasets(7, 1)
    compared = Compared(left, right)

    assert list(compared.detect(KEY, folder=tmp_path).groups) == list(compared.detect(KEY).groups)


def test_a_name_that_many_texts_share_does_not_take_quadratic_time() -> None:
    left: list[dict[str, Value]] = [row(n, f"Zahlung INV-{n} Kunde 4711") for n in range(3000)]
    right: list[dict[str, Value]] = [row(n, f"INV-{n}") for n in range(3000)]

    detection = Compared(left, right).detect(key_with(shortest=4) + AMOUNT)

    assert detection.matched == 3000


def test_the_rule_loads_with_its_settings() -> None:
    assert rule(key_with()).kind == "reconciliation"
