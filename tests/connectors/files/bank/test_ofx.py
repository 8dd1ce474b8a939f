"""OFX of both versions: accounts, signs, days, currencies, encodings, and what is refused."""

import datetime as dt
import re
from decimal import Decimal
from pathlib import Path

import pytest

from connectors.errors import ConnectorError
from tests.connectors.files.bank.statements import OFX_CARD, OFX_HEADER, ofx, ofx_statement, ofx_transaction
from tests.support.files import records

OFX2 = """\
<?xml version="1.0" encoding="UTF-8"?>
<?OFX OFXHEADER="200" VERSION="211" SECURITY="NONE"?>
<!-- made by a bank -->
"""
VALUE = re.compile(r"<(\w+)>([^<\n]+)")


def read(folder: Path, content: str | bytes, *columns: str, **settings: object) -> list[tuple[object, ...]]:
    (folder / "a.ofx").write_bytes(content.encode() if isinstance(content, str) else content)
    rows, problems = records(folder, "a.ofx", list(columns), **settings)
    assert problems == ()
    return rows


def refusal(folder: Path, content: str | bytes, **settings: object) -> str:
    with pytest.raises(ConnectorError) as caught:
        read(folder, content, "amount", **settings)
    return str(caught.value)


def as_xml(content: str) -> str:
    """The same content as OFX 2, in which every value is closed."""
    return OFX2 + VALUE.sub(r"<\1>\2</\1>", content.removeprefix(OFX_HEADER))


CONTENT = ofx(
    ofx_statement(
        ofx_transaction(more="<CHECKNUM>1042\n<MEMO>Coffee &amp; cake\n<BANKACCTTO><BANKID>1<ACCTID>77</BANKACCTTO>\n"),
        ofx_transaction("1234.50", "F-2", kind="CREDIT", day="20260106", more="<DTAVAIL>20260107\n<REFNUM>R-9\n"),
    ),
    ofx_statement(ofx_transaction("-7,5", "F-1", kind="POS"), form=OFX_CARD, account="4000", balance="-7.50"),
)


@pytest.mark.parametrize("content", [CONTENT, as_xml(CONTENT)], ids=["version 1", "version 2"])
def test_both_versions_give_the_same_transactions(tmp_path: Path, content: str) -> None:
    rows = read(tmp_path, content, "account", "entry", "FITID", "booked", "valued", "amount", "currency")
    texts = read(tmp_path, content, "code", "reference", "bank_reference", "name", "iban", "purpose", "status")

    assert rows == [
        ("12030000/1001", 1, "F-1", dt.date(2026, 1, 5), None, Decimal(-10), "EUR"),
        ("12030000/1001", 2, "F-2", dt.date(2026, 1, 6), dt.date(2026, 1, 7), Decimal("1234.5"), "EUR"),
        ("4000", 1, "F-1", dt.date(2026, 1, 5), None, Decimal("-7.5"), "EUR"),
    ]
    assert texts == [
        ("DEBIT", "1042", "F-1", "Cafe", "77", "Coffee & cake", "booked"),
        ("CREDIT", "R-9", "F-2", "Cafe", None, None, "booked"),
        ("POS", None, "F-1", "Cafe", None, None, "booked"),
    ]
    assert read(tmp_path, content, "statement", "closing_balance") == [
        ("2026-01-01/2026-01-31", Decimal(100)),
        ("2026-01-01/2026-01-31", Decimal(100)),
        ("2026-01-01/2026-01-31", Decimal("-7.5")),
    ]


@pytest.mark.parametrize(
    "day",
    ["20260105", "20260105000000", "20260105235959.999[-5:EST]", "20260105000000[-3:GMT]",
     "20260105010000[\u22125:EST]", "202601051200", "20260105120000.000[+5.30:IST]", "20260105120000-0500"],
)  # fmt: skip
def test_a_day_is_the_one_that_the_bank_writes_in_its_zone(tmp_path: Path, day: str) -> None:
    content = ofx(ofx_statement(ofx_transaction(day=day)))

    assert read(tmp_path, content, "booked") == [(dt.date(2026, 1, 5),)]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", ("EUR", None, None)),
        ("<CURRENCY><CURRATE>0.9<CURSYM>USD</CURRENCY>\n", ("USD", None, Decimal("0.9"))),
        ("<ORIGCURRENCY><CURRATE>0.9<CURSYM>USD</ORIGCURRENCY>\n", ("EUR", "USD", Decimal("0.9"))),
    ],
)
def test_a_transaction_may_have_its_own_currency(
    tmp_path: Path, more: str, expected: tuple[str, str | None, Decimal | None]
) -> None:
    content = ofx(ofx_statement(ofx_transaction(more=more)))

    assert read(tmp_path, content, "currency", "original_currency", "exchange_rate") == [expected]


def test_a_statement_without_currency_has_it_in_its_transactions(tmp_path: Path) -> None:
    own = ofx_transaction(more="<CURRENCY><CURRATE>1.0<CURSYM>AUD</CURRENCY>\n")

    assert read(tmp_path, ofx(ofx_statement(own, currency="")), "currency") == [("AUD",)]
    assert "has a currency (`CURDEF`)" in refusal(tmp_path, ofx(ofx_statement(ofx_transaction(), currency="")))


@pytest.mark.parametrize(
    "content",
    [
        CONTENT.replace("<NAME>Cafe\n", "<NAME>\n<EXTDNAME>\n"),
        CONTENT.replace("\n", ""),
        CONTENT.replace("\n", "\r\n"),
        CONTENT.replace("</BANKTRANLIST>\n", ""),
        CONTENT.replace(OFX_HEADER, ""),
        CONTENT.lower().replace("eur", "EUR"),
        CONTENT.replace("<LANGUAGE>ENG", "<LANGUAGE></LANGUAGE><INTU.BID>3000"),
    ],
)
def test_files_that_are_written_otherwise_give_the_same_amounts(tmp_path: Path, content: str) -> None:
    rows = read(tmp_path, content, "amount", "account")

    assert rows == [
        (Decimal(-10), "12030000/1001"),
        (Decimal("1234.5"), "12030000/1001"),
        (Decimal("-7.5"), "4000"),
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_text_is_in_utf_8_or_what_the_header_says(tmp_path: Path, encoding: str) -> None:
    content = ofx(ofx_statement(ofx_transaction(name="Müller – Bäcker")))

    assert read(tmp_path, content.encode(encoding), "name") == [("Müller – Bäcker",)]


def test_an_encoding_that_the_header_does_not_say_is_asked_for(tmp_path: Path) -> None:
    content = ofx(ofx_statement(ofx_transaction(name="Müller"))).replace("CHARSET:1252", "CHARSET:NONE")

    assert "set `encoding`" in refusal(tmp_path, content.encode("cp1252"))
    assert read(tmp_path, content.encode("cp1252"), "name", encoding="cp1252") == [("Müller",)]


def test_pending_transactions_are_told_apart(tmp_path: Path) -> None:
    pending = "<STMTTRNP><TRNTYPE>POS<DTTRAN>20260131<TRNAMT>-3<NAME>Shop</STMTTRNP>"
    content = CONTENT.replace("</BANKTRANLIST>", f"</BANKTRANLIST><BANKTRANLISTP>{pending}</BANKTRANLISTP>", 1)

    assert read(tmp_path, content, "status", "amount")[2:3] == [("pending", Decimal(-3))]


TRANSACTION = ofx_transaction()


@pytest.mark.parametrize(
    ("wrong", "right", "sentence"),
    [
        ("-10.00", "ten", "a.ofx:20: `TRNAMT` is not an amount"),
        ("-10.00", "-10.1234567", "a.ofx:20: `TRNAMT` has more than 18 digits, or more than 6 after the decimal mark"),
        ("-10.00", "-1,234", "a.ofx:20: the comma in `TRNAMT` may be a decimal mark or group thousands"),
        ("-10.00", "10.00", "a.ofx:17: `TRNAMT` of its debits (`TRNTYPE`) has no minus sign"),
        ("<TRNAMT>-10.00\n", "", "a.ofx:17: a transaction has no amount"),
        ("20260105120000[-5:EST]", "20260230", "a.ofx:19: `DTPOSTED` is not a date"),
        ("20260105120000[-5:EST]", "05.01.2026", "a.ofx:19: `DTPOSTED` is not a date"),
        ("<DTPOSTED>20260105120000[-5:EST]\n", "", "a.ofx:17: a transaction has no date"),
        ("<CURDEF>EUR", "<CURDEF>euro", "a.ofx:14: `CURDEF` is not a currency"),
        ("<BALAMT>100.00", "<BALAMT>a lot", "a.ofx:25: `BALAMT` is not an amount"),
        ("</STMTTRN>", "", "a.ofx:17: `<STMTTRN>` is not closed"),
        ("</STMTTRN>", "</STMTTRN> more", "a.ofx:23: text follows `</STMTTRN>`"),
        ("</OFX>", "", "a.ofx:11: `<OFX>` is not closed"),
        ("<OFX>", "<OXF>", "this is not OFX"),
        ("</STMTRS>", "</STMTRS></STMTRS>", "a.ofx:26: `</STMTRS>` closes nothing"),
        ("<CODE>0<SEVERITY>INFO", "<CODE>2000<SEVERITY>ERROR", "answered with an error (code 2000)"),
        ("STMTRS>", "INVSTMTRS>", "a.ofx:14: it has the statement of an investment account"),
        ("STMTRS>", "LOANSTMTRS>", "it has no statement of a bank account or credit card"),
        ("<OFX>", '<!DOCTYPE OFX SYSTEM "a.dtd"><OFX><!ENTITY a "b">', "declares a document type"),
        ("<NAME>Cafe", "<NAME><!-- Cafe", "`<!--` is not closed"),
        ("<NAME>Cafe", "<A>" * 60, "more than 50 elements are nested"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_line_and_field(tmp_path: Path, wrong: str, right: str, sentence: str) -> None:
    content = ofx(ofx_statement(ofx_transaction()))
    assert wrong in content

    assert sentence in refusal(tmp_path, content.replace(wrong, right))


def test_a_balance_with_many_places_is_rounded_and_small_letters_are_a_currency(tmp_path: Path) -> None:
    content = ofx(ofx_statement(ofx_transaction(), balance="2607.1664944585727")).replace("<CURDEF>EUR", "<CURDEF>eur")

    assert read(tmp_path, content, "closing_balance", "currency") == [(Decimal("2607.166494"), "EUR")]


def test_a_decimal_mark_that_is_declared_reads_the_amounts(tmp_path: Path) -> None:
    content = ofx(ofx_statement(ofx_transaction("-1,234"), balance="100"))

    assert read(tmp_path, content, "amount", decimal=",") == [(Decimal("-1.234"),)]
    assert read(tmp_path, content, "amount", decimal=".") == [(Decimal(-1234),)]


@pytest.mark.parametrize("extension", ["ofx", "qfx", "QBO", "ofx.gz"])
def test_the_name_says_the_format(tmp_path: Path, extension: str) -> None:
    import gzip  # noqa: PLC0415 - for one case

    data = CONTENT.encode()
    (tmp_path / f"b.{extension}").write_bytes(gzip.compress(data) if extension.endswith("gz") else data)

    rows, _ = records(tmp_path, f"b.{extension}", ["amount"])

    assert len(rows) == 3
