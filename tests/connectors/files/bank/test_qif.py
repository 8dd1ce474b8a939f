"""QIF of non-investment accounts: days in a declared order, splits, several accounts, and what is refused."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest

from connectors.errors import FileUnreadable
from tests.connectors.files.bank.statements import QIF
from tests.support.files import records


def read(folder: Path, content: str | bytes, *columns: str, **settings: object) -> list[tuple[object, ...]]:
    (folder / "a.qif").write_bytes(content.encode() if isinstance(content, str) else content)
    rows, problems = records(folder, "a.qif", list(columns), **settings)
    assert problems == ()
    return rows


def refusal(folder: Path, content: str | bytes, **settings: object) -> str:
    with pytest.raises(FileUnreadable) as caught:
        read(folder, content, "amount", **settings)
    return str(caught.value)


def test_transactions_have_their_fields(tmp_path: Path) -> None:
    rows = read(tmp_path, QIF, "entry", "booked", "amount", "currency", "reference", "name", "purpose", "code",
                date_order="mdy")  # fmt: skip

    assert rows == [
        (1, dt.date(2026, 1, 31), Decimal(-45), None, "1001", "Mueller", "Invoice 4711", "Household"),
        (2, dt.date(2026, 2, 1), Decimal(1250), None, None, "Erika Muster", None, None),
    ]


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("6/ 1'26", "mdy", "2026-06-01"),
        ("6/ 1'26", "dmy", "2026-01-06"),
        ("01/06/26", "dmy", "2026-06-01"),
        ("01/06/26", "ymd", "2001-06-26"),
        ("1.6.2026", "dmy", "2026-06-01"),
        ("1.6.99", "dmy", "1999-06-01"),
        ("12/31' 6", "mdy", "2006-12-31"),
        ("2026-06-01", None, "2026-06-01"),
        ("2026/6/1", "dmy", "2026-06-01"),
        ("20260601", None, "2026-06-01"),
        ("1 June 2026", None, "2026-06-01"),
        ("01-Jun-26", None, "2026-06-01"),
    ],
)
def test_days_are_read_in_the_declared_order(tmp_path: Path, text: str, order: str | None, expected: str) -> None:
    content = QIF.replace("01/31/26", text).replace("02/01/26", text)

    assert read(tmp_path, content, "booked", date_order=order)[0] == (dt.date.fromisoformat(expected),)


@pytest.mark.parametrize(
    ("first", "second", "remedy"),
    [
        ("01/06/26", "02/06/26", "set `date_order` to `dmy`, `mdy` or `ymd`"),
        ("13/06/2026", "02/06/2026", "set `date_order: dmy`, the only order that fits all dates of this file"),
        ("6/13'26", "6/ 1'26", "set `date_order: mdy`, the only order"),
    ],
)
def test_an_order_is_never_guessed(tmp_path: Path, first: str, second: str, remedy: str) -> None:
    sentence = refusal(tmp_path, QIF.replace("01/31/26", first).replace("02/01/26", second))

    assert sentence.startswith("a.qif:2: the order of day and month in `D` is not known")
    assert remedy in sentence


def test_the_file_may_declare_its_order(tmp_path: Path) -> None:
    assert read(tmp_path, "!Option:MDY\n" + QIF, "booked")[0] == (dt.date(2026, 1, 31),)


SPLIT = QIF.replace("LHousehold\n", "SFood\nEBread\n$-40.00\nSFuel\n$-5.00\n")


def test_splits_are_records_if_they_are_asked_for(tmp_path: Path) -> None:
    whole = read(tmp_path, SPLIT, "amount", "transactions", "code", date_order="mdy")
    split = read(
        tmp_path, SPLIT, "entry", "amount", "transactions", "code", "purpose", date_order="mdy", batches="split"
    )

    assert whole == [(Decimal(-45), 2, None), (Decimal(1250), 1, None)]
    assert split == [
        (1, Decimal(-40), 1, "Food", "Bread"),
        (1, Decimal(-5), 1, "Fuel", "Invoice 4711"),
        (2, Decimal(1250), 1, None, None),
    ]


def test_splits_that_do_not_add_up_are_told(tmp_path: Path) -> None:
    sentence = refusal(tmp_path, SPLIT.replace("$-5.00", "$-5.01"), date_order="mdy", batches="split")

    assert "a.qif:2: the splits of this transaction do not add up to its amount" in sentence


def test_several_accounts_and_lists_are_told_apart(tmp_path: Path) -> None:
    accounts = "!Option:AutoSwitch\n!Account\nNGiro\nTBank\n^\nNDepot\nTInvst\n^\n!Clear:AutoSwitch\n"
    content = (
        f"{accounts}!Type:Cat\nNFood\nE\n^\n!Account\nNGiro\nTBank\n^\n{QIF}"
        f"!Account\nNVisa\nTCCard\n^\n{QIF.replace('Bank', 'CCard')}{QIF.replace('Bank', 'Oth L')}"
    )

    rows = read(tmp_path, content, "account", "statement", "entry", date_order="mdy")

    assert rows == [("Giro", "1", 1), ("Giro", "1", 2), ("Visa", "2", 1), ("Visa", "2", 2), ("Visa", "3", 1),
                    ("Visa", "3", 2)]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "right", "sentence"),
    [
        ("!Type:Bank\n", "", "a.qif:1: this is not QIF"),
        ("!Type:Bank", "!Type:Invst", "a.qif:1: it has transactions of an investment account"),
        ("!Type:Bank", "!Type:Moon", "a.qif:1: this section has an unknown type"),
        ("T-45.00", "T-forty", "a.qif:2: `T` is not an amount"),
        ("T-45.00", "T-45,000", "a.qif:2: the comma in `T` may be a decimal mark or group thousands"),
        ("T-45.00\n", "", "a.qif:2: this record has no amount (`T`)"),
        ("D01/31/26\n", "", "a.qif:2: this record has no date (`D`)"),
        ("D01/31/26", "D31/31/26", "a.qif:2: `D` is not a date in the order mdy"),
        ("D01/31/26", "Dyesterday", "a.qif:2: `D` is not a date in the order mdy"),
        ("N1001", "?1001", "a.qif:4: this line does not begin with a field letter"),
        ("N1001", "$-45", "a.qif:4: this line does not begin with a field letter"),
        ("PErika Muster\n^\n", "PErika Muster\n", "a.qif:9: this record does not end with `^`"),
        ("^\nD02", "^\n^\nD02", "a.qif:9: this `^` ends an empty record"),
    ],
)
def test_mistakes_are_told_with_line_and_field(tmp_path: Path, wrong: str, right: str, sentence: str) -> None:
    assert wrong in QIF

    assert sentence in refusal(tmp_path, QIF.replace(wrong, right), date_order="mdy")


def test_amounts_with_a_decimal_comma_are_read_as_declared(tmp_path: Path) -> None:
    content = QIF.replace("-45.00", "-1.045,5").replace("1,250.00", "1.250")

    assert read(tmp_path, content, "amount", date_order="mdy", decimal=",") == [(Decimal("-1045.5"),), (Decimal(1250),)]


def test_another_encoding_is_asked_for(tmp_path: Path) -> None:
    content = QIF.replace("Mueller", "Müller").encode("cp1252")

    assert "set `encoding`" in refusal(tmp_path, content, date_order="mdy")
    assert read(tmp_path, content, "name", date_order="mdy", encoding="cp1252")[0] == ("Müller",)
