"""What statements of banks say: entries with their signs and days, proven by their balances."""

import datetime as dt
import gzip
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.errors import ConnectorError, FileRefused, FileUnreadable
from connectors.files.source import FilesDataset
from tests.connectors.files.bank.statements import MT940, camt, camt_details, camt_entry
from tests.support.files import records, source

PAYER = (
    "<Refs><EndToEndId>E-1</EndToEndId></Refs><RltdPties><Dbtr><Nm>Erika Muster</Nm></Dbtr>"
    "<DbtrAcct><Id><IBAN>DE02120300000000202051</IBAN></Id></DbtrAcct></RltdPties>"
    "<RmtInf><Ustrd>Invoice</Ustrd><Ustrd>4711</Ustrd></RmtInf>"
)


def day(text: str) -> dt.date:
    return dt.date.fromisoformat(text)


def read(folder: Path, name: str, content: str | bytes, *columns: str, **settings: object) -> list[tuple[object, ...]]:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    rows, problems = records(folder, name, list(columns), **settings)
    assert problems == ()
    return rows


def refusal(folder: Path, name: str, content: str | bytes, **settings: object) -> str:
    with pytest.raises(FileUnreadable) as caught:
        read(folder, name, content, "amount", **settings)
    return str(caught.value)


# CAMT.053


def test_an_entry_has_its_sign_its_days_and_the_other_side(tmp_path: Path) -> None:
    content = camt(camt_entry("20.50", details=camt_details(PAYER)), closing="120.50")

    rows = read(tmp_path, "s.xml", content, "statement", "account", "entry", "booked", "amount", "currency", "code")
    other_side = read(tmp_path, "s.xml", content, "reference", "bank_reference", "name", "iban", "purpose")

    code = "PMNT-RCDT-ESCT"
    assert rows == [("2026-212", "DE89370400440532013000", 1, day("2026-11-02"), Decimal("20.50"), "EUR", code)]
    assert other_side == [("E-1", "R-1", "Erika Muster", "DE02120300000000202051", "Invoice 4711")]


def test_later_versions_of_the_format_name_parties_and_states_elsewhere(tmp_path: Path) -> None:
    details = camt_details("<RltdPties><Cdtr><Pty><Nm>ACME</Nm></Pty></Cdtr></RltdPties>")
    content = camt(
        camt_entry("30", "DBIT", status="<Cd>BOOK</Cd>", details=details), opening="30", closing="0.00", version="08"
    )

    assert read(tmp_path, "s.xml", content, "amount", "name", "status") == [(Decimal(-30), "ACME", "booked")]


def test_a_reversal_moves_money_as_its_entry_says(tmp_path: Path) -> None:
    content = camt(camt_entry("5.00", "DBIT", more="<RvslInd>true</RvslInd>"), closing="95.00")

    assert read(tmp_path, "s.xml", content, "amount", "reversal") == [(Decimal(-5), True)]


def test_a_pending_entry_is_read_but_in_no_balance(tmp_path: Path) -> None:
    content = camt(camt_entry("5.00"), camt_entry("7.00", status="PDNG"), closing="105.00")

    assert read(tmp_path, "s.xml", content, "status", "amount") == [
        ("booked", Decimal(5)),
        ("pending", Decimal(7)),
    ]


def test_a_reference_that_is_not_provided_is_null(tmp_path: Path) -> None:
    details = camt_details("<Refs><EndToEndId>NOTPROVIDED</EndToEndId></Refs>")

    rows = read(tmp_path, "s.xml", camt(camt_entry("1", details=details), closing="101"), "reference")

    assert rows == [(None,)]


BATCH = camt_details(
    '<Amt Ccy="EUR">10.00</Amt><Refs><EndToEndId>A</EndToEndId></Refs>',
    '<AmtDtls><TxAmt><Amt Ccy="EUR">2.50</Amt></TxAmt></AmtDtls><Refs><EndToEndId>B</EndToEndId></Refs>',
)


def test_a_batch_is_one_record_unless_it_is_split(tmp_path: Path) -> None:
    content = camt(camt_entry("12.50", details=BATCH), camt_entry("1", ref="R-2"), closing="113.50")

    whole = read(tmp_path, "s.xml", content, "entry", "amount", "transactions", "reference")
    split = read(tmp_path, "s.xml", content, "entry", "amount", "transactions", "reference", batches="split")

    assert whole == [(1, Decimal("12.5"), 2, None), (2, Decimal(1), 1, None)]
    assert split == [(1, Decimal(10), 1, "A"), (1, Decimal("2.5"), 1, "B"), (2, Decimal(1), 1, None)]


def test_a_batch_whose_transactions_do_not_add_up_is_not_split(tmp_path: Path) -> None:
    content = camt(camt_entry("12.49", details=BATCH), closing="112.49")

    assert "do not add up to its amount" in refusal(tmp_path, "s.xml", content, batches="split")


@pytest.mark.parametrize("closing", ["120.51", "120.49", "0.00"])
def test_entries_that_do_not_explain_the_balances_are_refused(tmp_path: Path, closing: str) -> None:
    sentence = refusal(tmp_path, "s.xml", camt(camt_entry("20.50"), closing=closing))

    assert sentence.startswith("s.xml:5: its entries do not add up")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (camt(camt_entry("20,50"), closing="120.50"), "its amount needs digits"),
        (camt(camt_entry("-1"), closing="99"), "its amount needs digits"),
        (camt(camt_entry("1", "PLUS"), closing="101"), "`CRDT` or `DBIT`"),
        (camt(camt_entry("1", day="2026-02-30"), closing="101"), "`BookgDt` is not a date"),
        (camt(camt_entry("1", status="MAYBE"), closing="101"), "its status is not one of"),
        (camt().replace("Stmt", "Rpt"), "it has no statement, report or notification"),
        (camt()[:-40], "this is not well-formed XML"),
        ("", "this is not well-formed XML"),
    ],
)
def test_what_is_not_plain_is_told_with_its_place(tmp_path: Path, content: str, sentence: str) -> None:
    assert sentence in refusal(tmp_path, "s.xml", content)


def test_a_document_type_is_refused(tmp_path: Path) -> None:
    content = camt().replace("<Document", '<!DOCTYPE a [<!ENTITY b "c">]>\n<Document', 1)

    with pytest.raises(FileRefused, match="declares a document type"):
        read(tmp_path, "s.xml", content, "amount")


def test_compressed_statements_of_several_days_are_one_dataset(tmp_path: Path) -> None:
    for number in (1, 2):
        content = camt(camt_entry(f"{number}"), closing=f"10{number}")
        (tmp_path / f"day-{number}.xml.gz").write_bytes(gzip.compress(content.encode()))

    rows, _ = records(tmp_path, "day-*.xml.gz", ["_file", "_row", "amount"])

    assert rows == [("day-1.xml.gz", 1, Decimal(1)), ("day-2.xml.gz", 1, Decimal(2))]


# MT940


def test_mt940_entries_have_signs_days_and_references(tmp_path: Path) -> None:
    rows = read(tmp_path, "s.sta", MT940, "statement", "entry", "valued", "amount", "currency", "reversal", "reference")
    texts = read(tmp_path, "s.sta", MT940, "account", "code", "bank_reference", "name", "iban", "purpose")

    statement = "STARTUMSE/00212/001"
    assert rows == [
        (statement, 1, day("2025-12-31"), Decimal(-45), "EUR", False, "E2E-17"),
        (statement, 2, day("2026-01-02"), Decimal(250), "EUR", False, None),
        (statement, 3, day("2026-01-02"), Decimal(-10), "EUR", True, "K-77"),
    ]
    account = "37040044/0532013000"
    iban = "DE02120300000000202051"
    assert texts == [
        (account, "105", "POS123", "MUELLER GMBH", iban, "Rechnung 4711 vom 1.11."),
        (account, "166", None, "ERIKA MUSTER", None, "Auftrag A-17"),
        (account, "166", None, None, None, "Storno"),
    ]


@pytest.mark.parametrize(
    ("valued", "booked", "expected"),
    [("251231", "0102", "2026-01-02"), ("260101", "1231", "2025-12-31"), ("240301", "0229", "2024-02-29")],
)
def test_the_year_of_a_booking_is_the_one_nearest_to_its_value_date(
    tmp_path: Path, valued: str, booked: str, expected: str
) -> None:
    content = MT940.replace("2512311231", f"{valued}{booked}")

    assert read(tmp_path, "s.sta", content, "booked")[0] == (day(expected),)


@pytest.mark.parametrize(
    ("wrong", "right", "sentence"),
    [
        ("2512311231", "2602311231", "s.sta:5: the date of field `:61:` does not exist"),
        ("2512311231", "2512310230", "s.sta:5: the booking date of field `:61:` does not exist"),
        (":60F:C251230EUR1000,50", ":60F:C251230EUR1000,51", "s.sta:1: its entries do not add up"),
        (":62F:C260102EUR1195,50\n", "", "s.sta:1: this statement lacks its closing balance (`:62F:`)"),
        (":20:STARTUMSE\n", "", "s.sta:1: this line is outside an MT940 statement"),
        ("2601020102C250", "2601020102X250", "s.sta:7: field `:61:` needs C, D, RC or RD and an amount"),
        ("C250,00NTRF", "C250.00NTRF", "s.sta:7: field `:61:` has no transaction type"),
        (":61:260102", ":61:", "s.sta:7: field `:61:` does not begin with a date (YYMMDD)"),
        ("C260102EUR", "C260102", "s.sta:11: field `:62F:` needs C or D, a date, a currency"),
        ("C260102EUR", "C260102USD", "s.sta:1: its balances have different currencies"),
        (":62F:", ":60F:", "s.sta:11: this statement has a second opening balance"),
        (":86:Kein", ":61:2601020102C1,00NTRFX\n:86:Kein", "s.sta:12: field `:61:` comes after the closing balance"),
        ("-\n", "-\n:61:2601020102C1,00NTRFX\n", "s.sta:14: this line is outside an MT940 statement"),
        ("D45,00NDDTNONREF", "D45,00", "s.sta:5: field `:61:` has no transaction type"),
    ],
)
def test_mistakes_of_mt940_are_told_with_their_line(tmp_path: Path, wrong: str, right: str, sentence: str) -> None:
    assert sentence in refusal(tmp_path, "s.sta", MT940.replace(wrong, right))


def test_a_statement_that_cannot_be_read_puts_nothing_of_it_into_a_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    refusal(tmp_path, "s.sta", MT940.replace("D45,00NDDT", "0D45,00MUELLER GMBH"))

    assert caplog.text == ""


def test_the_text_behind_the_closing_balance_belongs_to_no_entry(tmp_path: Path) -> None:
    purposes = read(tmp_path, "s.sta", MT940, "purpose")

    assert all("Hinweis" not in str(purpose) for (purpose,) in purposes)


def test_bytes_of_another_encoding_are_refused_until_it_is_set(tmp_path: Path) -> None:
    content = MT940.replace("MUELLER", "MÜLLER").encode("cp1252")

    assert "it is not UTF-8 text; set `encoding`" in refusal(tmp_path, "s.sta", content)
    assert read(tmp_path, "s.sta", content, "name", encoding="cp1252")[0] == ("MÜLLER GMBH",)


def test_several_statements_in_one_file_are_proven_each(tmp_path: Path) -> None:
    rows = read(tmp_path, "s.sta", MT940 + MT940.replace("00212", "00213"), "statement", "entry")

    assert [entry for _, entry in rows] == [1, 2, 3, 1, 2, 3]
    assert len({statement for statement, _ in rows}) == 2


@given(position=st.integers(0, len(MT940)), junk=st.text("0123456789:CD,\n?ÄX", max_size=8))
def test_no_change_of_a_statement_ends_in_a_traceback_or_another_sum(
    tmp_path_factory: pytest.TempPathFactory, position: int, junk: str
) -> None:
    folder = tmp_path_factory.mktemp("bank")
    (folder / "s.sta").write_text(MT940[:position] + junk + MT940[position:])

    try:
        rows, _ = records(folder, "s.sta", ["amount"])
    except ConnectorError:
        return  # one sentence

    assert sum(amount for (amount,) in rows) == Decimal(195) or position < MT940.index(":61:") or junk == ""


# CSV with lines above the header


PREAMBLE = """\
"Kontonummer:";"DE89370400440532013000 / Girokonto";
"Zeitraum:";"01.11.2026 - 30.11.2026";
{more}
"Buchungstag";"Auftraggeber";"Soll";"Haben"
"02.11.2026";"Erika Muster";"";"1.250,00"
"03.11.2026";"ACME GmbH";"20,50";""
"""


@pytest.mark.parametrize("more", ["", '"Saldo:";"10,00 EUR";', "\n\n"])
def test_the_header_is_found_below_a_preamble_of_any_length(tmp_path: Path, more: str) -> None:
    (tmp_path / "k.csv").write_text(PREAMBLE.format(more=more))
    columns = {"Buchungstag": "date %d.%m.%Y", "Soll": "decimal", "Haben": "decimal"}

    rows, problems = records(
        tmp_path, "k.csv", ["Buchungstag", "Soll", "Haben"], skip={"to": "Buchungstag"}, columns=columns, decimal=","
    )

    assert problems == ()
    assert rows == [(day("2026-11-02"), None, Decimal(1250)), (day("2026-11-03"), Decimal("20.5"), None)]


def test_a_heading_that_no_line_has_is_told(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text(PREAMBLE.format(more=""))
    opened = source(tmp_path)

    with pytest.raises(FileUnreadable, match="none of its first 200 lines"):
        opened.describe(FilesDataset(path="k.csv", skip={"to": "Wertstellung"}))
