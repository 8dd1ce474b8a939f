"""CAMT.052, 053 and 054 give the same columns: what one payment shares in them, batches, currencies and totals."""

import itertools
from decimal import Decimal
from pathlib import Path

import pytest

from connectors.errors import FileUnreadable
from connectors.files.source import FilesDataset
from tests.connectors.files.bank.statements import camt, camt_details, camt_entry
from tests.support.files import records, source

MESSAGES = {
    "052": ("BkToCstmrAcctRpt", "Rpt", "report"),
    "053": ("BkToCstmrStmt", "Stmt", "statement"),
    "054": ("BkToCstmrDbtCdtNtfctn", "Ntfctn", "notification"),
}
PAYMENT = camt_details("<Refs><AcctSvcrRef>T-1</AcctSvcrRef><EndToEndId>E-1</EndToEndId></Refs>")


def message(number: str, *entries: str, version: str = "08", above: str = "") -> str:
    """A message without balances; `above` comes before its entries."""
    root, part, _ = MESSAGES[number]
    return (
        f'<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.{number}.001.{version}"><{root}>\n'
        f"<GrpHdr><MsgId>M</MsgId></GrpHdr><{part}><Id>S-{number}</Id>\n"
        f"<Acct><Id><IBAN>DE89370400440532013000</IBAN></Id></Acct>{above}{''.join(entries)}</{part}></{root}></Document>"
    )


def read(folder: Path, content: str, *columns: str, **settings: object) -> list[tuple[object, ...]]:
    (folder / "s.xml").write_text(content)
    rows, problems = records(folder, "s.xml", list(columns), **settings)
    assert problems == ()
    return rows


def refusal(folder: Path, content: str, **settings: object) -> str:
    with pytest.raises(FileUnreadable) as caught:
        read(folder, content, "amount", **settings)
    return str(caught.value)


@pytest.mark.parametrize(("number", "version"), list(itertools.product(MESSAGES, [f"{v:02}" for v in range(2, 14)])))
def test_a_payment_is_the_same_in_every_message_and_version(tmp_path: Path, number: str, version: str) -> None:
    status = "BOOK" if int(version) < 8 else "<Cd>BOOK</Cd>"
    content = message(number, camt_entry("20.50", details=PAYMENT, status=status), version=version)

    rows = read(tmp_path, content, "kind", "account", "amount", "end_to_end", "bank_reference", "transaction_reference")

    assert rows == [(MESSAGES[number][2], "DE89370400440532013000", Decimal("20.5"), "E-1", "R-1", "T-1")]


def test_the_first_version_has_no_details_of_entries(tmp_path: Path) -> None:
    entry = camt_entry("3", details="<Btch><NbOfTxs>2</NbOfTxs></Btch>" + PAYMENT).replace("NtryDtls>", "Ignored>")
    entry = entry.replace("<Ignored>", "").replace("</Ignored>", "")
    content = message("053", entry, version="01").replace("BkToCstmrStmt", "BkToCstmrStmtV01")

    assert read(tmp_path, content, "amount", "transactions", "end_to_end") == [(Decimal(3), 2, "E-1")]


@pytest.mark.parametrize(
    ("code", "status"), [("BOOK", "booked"), ("PDNG", "pending"), ("INFO", "information"), ("FUTR", "future")]
)
def test_entries_that_are_not_booked_are_told_apart(tmp_path: Path, code: str, status: str) -> None:
    content = message("052", camt_entry("1", status=f"<Cd>{code}</Cd>"))

    assert read(tmp_path, content, "status", "closing_balance") == [(status, None)]


def test_a_report_may_have_balances_that_its_entries_do_not_explain(tmp_path: Path) -> None:
    """A report holds the entries since the previous one, and the balances of the day."""
    content = camt(camt_entry("1"), opening="100.00", closing="150.00", version="08")
    content = (
        content.replace("BkToCstmrStmt", "BkToCstmrAcctRpt").replace("<Stmt>", "<Rpt>").replace("</Stmt>", "</Rpt>")
    )

    assert read(tmp_path, content, "kind", "amount") == [("report", Decimal(1))]


def test_one_file_holds_several_accounts(tmp_path: Path) -> None:
    content = message("054", camt_entry("1"), "</Ntfctn><Ntfctn><Id>S-2</Id>", camt_entry("2"))

    rows = read(tmp_path, content, "statement", "account", "entry", "amount")

    assert rows == [("S-054", "DE89370400440532013000", 1, Decimal(1)), ("S-2", None, 1, Decimal(2))]


# Other currencies


def exchanged(euros: str | None, dollars: str, reference: str, where: str = "TxAmt") -> str:
    own = f'<{where}><Amt Ccy="EUR">{euros}</Amt></{where}>' if euros else ""
    return (
        f"<Refs><EndToEndId>{reference}</EndToEndId></Refs><AmtDtls><InstdAmt><Amt Ccy='USD'>{dollars}</Amt><CcyXchg>"
        f"<SrcCcy>USD</SrcCcy><TrgtCcy>EUR</TrgtCcy><XchgRate>0.90909</XchgRate></CcyXchg></InstdAmt>{own}</AmtDtls>"
    )


@pytest.mark.parametrize("where", ["TxAmt", "CntrValAmt"])
def test_payments_in_another_currency_add_up_in_that_of_the_account(tmp_path: Path, where: str) -> None:
    details = camt_details(exchanged("10.00", "11.00", "A", where), exchanged("20.00", "22.00", "B", where))
    content = message("054", camt_entry("30.00", "DBIT", details=details))

    rows = read(tmp_path, content, "end_to_end", "amount", "currency", "original_amount", "original_currency",
                "exchange_rate", batches="split")  # fmt: skip

    rate = Decimal("0.90909")
    assert rows == [
        ("A", Decimal(-10), "EUR", Decimal(-11), "USD", rate),
        ("B", Decimal(-20), "EUR", Decimal(-22), "USD", rate),
    ]


def test_a_batch_without_amounts_in_the_currency_of_the_account_stays_one_record_and_says_so(tmp_path: Path) -> None:
    details = camt_details(exchanged("10.00", "11.00", "A"), exchanged(None, "22.00", "B"))
    content = message("053", camt_entry("30.00", details=details), camt_entry("5", details=PAYMENT))

    rows = read(tmp_path, content, "amount", "transactions", "end_to_end", batches="split")
    opened = source(tmp_path)
    told = opened.warnings(FilesDataset(path="s.xml", batches="split"), None)

    assert rows == [(Decimal(30), 2, None), (Decimal(5), 1, "E-1")]
    assert [(warning.reason, warning.first) for warning in told] == [
        ("1 batch is not split: the bank does not give all amounts in the account's currency", "s.xml:4")
    ]
    assert opened.warnings(FilesDataset(path="s.xml"), None) == ()


def test_a_single_payment_shows_what_was_paid(tmp_path: Path) -> None:
    content = message("053", camt_entry("10.00", "DBIT", details=camt_details(exchanged("10.00", "11.00", "A"))))

    assert read(tmp_path, content, "amount", "original_amount", "original_currency") == [
        (Decimal(-10), Decimal(-11), "USD")
    ]


def test_payments_of_both_signs_add_up(tmp_path: Path) -> None:
    details = camt_details(
        '<Amt Ccy="EUR">12.00</Amt><CdtDbtInd>CRDT</CdtDbtInd>', '<Amt Ccy="EUR">2.00</Amt><CdtDbtInd>DBIT</CdtDbtInd>'
    )
    content = message("054", camt_entry("10.00", details=details))

    assert read(tmp_path, content, "amount", batches="split") == [(Decimal(12),), (Decimal(-2),)]


def test_payments_keep_the_reference_of_the_entry_and_of_the_order(tmp_path: Path) -> None:
    details = camt_details(
        '<Refs><AcctSvcrRef>T-1</AcctSvcrRef><PmtInfId>P-1</PmtInfId></Refs><Amt Ccy="EUR">1.00</Amt>',
        '<Refs><UETR>eb6305c9-1f7f-49de-aed0-16487c27b42d</UETR></Refs><Amt Ccy="EUR">2.00</Amt>',
    )
    content = message("053", camt_entry("3.00", details=f"<Btch><PmtInfId>P-9</PmtInfId></Btch>{details}"))
    columns = ("bank_reference", "transaction_reference", "batch_reference")

    assert read(tmp_path, content, *columns, batches="split") == [
        ("R-1", "T-1", "P-1"),
        ("R-1", "eb6305c9-1f7f-49de-aed0-16487c27b42d", "P-9"),
    ]
    assert read(tmp_path, content, *columns) == [("R-1", None, "P-9")]


# Totals


def totals(name: str, number: str, amount: str) -> str:
    return f"<TxsSummry><{name}><NbOfNtries>{number}</NbOfNtries><Sum>{amount}</Sum></{name}></TxsSummry>"


PAGE = "<NtfctnPgntn><PgNb>1</PgNb><LastPgInd>{}</LastPgInd></NtfctnPgntn>"


@pytest.mark.parametrize(
    ("above", "sentence"),
    [
        (totals("TtlNtries", "3", "8.00"), None),
        (totals("TtlNtries", "2", "6"), None),  # only what is booked
        (totals("TtlCdtNtries", "2", "7.00"), None),
        (totals("TtlDbtNtries", "1", "1.00"), None),
        (totals("TtlDbtNtries", "1", "-1.00"), None),  # a minus that the element's name says already
        (totals("TtlNtries", "4", "8.00"), "`TtlNtries` counts 4 entries, but 3 were read"),
        (totals("TtlDbtNtries", "2", "1.00"), "`TtlDbtNtries` counts 2 entries, but 1 was read"),
        (totals("TtlNtries", "3", "8.01"), "the entries do not add up to the sum in `TtlNtries`"),
        (totals("TtlNtries", "3", "8,00"), "`Sum` is not an amount"),
        (PAGE.format("false") + totals("TtlNtries", "9", "9"), None),
        (PAGE.format("true") + totals("TtlNtries", "9", "9"), "counts 9 entries, but 3 were read"),
    ],
)
def test_totals_of_a_message_are_those_of_its_entries(tmp_path: Path, above: str, sentence: str | None) -> None:
    entries = (camt_entry("5"), camt_entry("1", "DBIT"), camt_entry("2", status="<Cd>PDNG</Cd>"))
    content = message("054", *entries, above=above)

    if sentence is None:
        assert len(read(tmp_path, content, "amount")) == 3
    else:
        told = refusal(tmp_path, content)
        assert sentence in told
        assert told.startswith("s.xml:3: ")


def test_entries_in_utf_16_are_counted_too(tmp_path: Path) -> None:
    content = '<?xml version="1.0" encoding="UTF-16"?>' + message("053", camt_entry("5"), camt_entry("6"))
    (tmp_path / "s.xml").write_text(content, encoding="utf-16")

    rows, _ = records(tmp_path, "s.xml", ["amount"])

    assert rows == [(Decimal(5),), (Decimal(6),)]
