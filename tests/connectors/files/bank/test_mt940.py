"""MT940 as banks write it: references of any length, days, marks, amounts, envelopes and texts of many kinds."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest

from connectors.errors import FileUnreadable
from tests.support.files import records

HEAD = ":20:STMT1\n:25:GB29NWBK60161331926819\n:28C:1/1\n:60F:C260106EUR100,00\n"
TAIL = ":62F:C260107EUR{closing}\n-\n"


def statement(*lines: str, closing: str = "90,00", head: str = HEAD) -> str:
    return head + "".join(f"{line}\n" for line in lines) + TAIL.format(closing=closing)


def read(folder: Path, content: str | bytes, *columns: str, **settings: object) -> list[tuple[object, ...]]:
    (folder / "s.sta").write_bytes(content.encode() if isinstance(content, str) else content)
    rows, problems = records(folder, "s.sta", list(columns), **settings)
    assert problems == ()
    return rows


def refusal(folder: Path, content: str) -> str:
    with pytest.raises(FileUnreadable) as caught:
        read(folder, content, "amount")
    return str(caught.value)


# References and what the bank adds


@pytest.mark.parametrize(
    ("line", "more", "reference", "bank_reference", "details"),
    [
        ("NTRFSHORT", [], "SHORT", None, None),
        ("NTRFSEVENTEEN-LETTERS", [], "SEVENTEEN-LETTERS", None, None),
        ("FMSCA-REFERENCE-OF-28-LETTERS-X//T-12", ["Payment by card"], "A-REFERENCE-OF-28-LETTERS-X", "T-12",
         "Payment by card"),
        ("NTRFSHORT//B-1", ["/OCMT/USD12,00/", "/CHGS/EUR1,00/"], "SHORT", "B-1", "/OCMT/USD12,00/ /CHGS/EUR1,00/"),
        ("NTRFA-LONG-ONE-THAT-FILLS-A-LINE", ["//B-7", "Note"], "A-LONG-ONE-THAT-FILLS-A-LINE", "B-7", "Note"),
        ("NTRFA/B//C//D", [], "A/B", "C//D", None),
        ("NTRFNONREF//", [], None, None, None),
        (" NRTIKREF+//B-1", ["/OCMT/EUR9,50//CHGS/EUR0,50/"], None, "B-1", "/OCMT/EUR9,50//CHGS/EUR0,50/"),
        ("NTRF", [], None, None, None),
    ],
)  # fmt: skip
def test_references_have_any_length_and_a_second_line(
    tmp_path: Path, line: str, more: list[str], reference: str | None, bank_reference: str | None, details: str | None
) -> None:
    content = statement(f":61:260107D10,00{line}", *more, ":86:Text of the bank")

    rows = read(tmp_path, content, "reference", "bank_reference", "details", "purpose", "amount")

    assert rows == [(reference, bank_reference, details, "Text of the bank", Decimal(-10))]


# Days, marks and amounts


@pytest.mark.parametrize(
    ("mark", "amount", "signed", "closing", "is_reversal"),
    [
        ("C", "1234,", "1234", "1334,00", False),
        ("D", ",50", "-0.5", "99,50", False),
        ("D", "12", "-12", "88,", False),
        ("RC", "5,00", "-5", "95,00", True),
        ("RD", "5,00", "5", "105,00", True),
        ("CR", "5,00", "5", "105,00", False),
        ("RDR", "5,5", "5.5", "105,5", True),
        ("c", "1,00", "1", "101,00", False),
    ],
)
def test_marks_and_amounts_are_read_as_banks_write_them(
    tmp_path: Path, mark: str, amount: str, signed: str, closing: str, is_reversal: bool
) -> None:
    content = statement(f":61:2601070107{mark}{amount}NTRFX", closing=closing)

    assert read(tmp_path, content, "amount", "reversal") == [(Decimal(signed), is_reversal)]


@pytest.mark.parametrize(
    ("written", "expected"),
    [("260230", "2026-02-28"), ("260229", "2026-02-28"), ("240230", "2024-02-29"), ("260228", "2026-02-28")],
)
def test_the_30th_of_february_is_the_last_day_of_that_month(tmp_path: Path, written: str, expected: str) -> None:
    content = statement(f":61:{written}0301D10,00NTRFX")

    assert read(tmp_path, content, "valued") == [(dt.date.fromisoformat(expected),)]


# Texts


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Free text", "of two lines"], (None, None, None, "Free text of two lines", "NTRF")),
        (
            ["166?00GUTSCHRIFT?20EREF+E2E-1?21KREF+K-1?22SVWZ+Invoice 47?2311?30COBADEFF?31DE0212030000000020",
             "2051?32MUELLER?33 GMBH"],
            ("E2E-1", "MUELLER GMBH", "DE02120300000000202051", "Invoice 4711", "166"),
        ),
        (
            ["020~00Przelew~20Faktura 12~21/2026~32Jan ~33Kowalski~38PL61109010140000071219812874"],
            (None, "Jan Kowalski", "PL61109010140000071219812874", "Faktura 12/2026", "020"),
        ),
        (
            ["/TRTP/SEPA OVERBOEKING/IBAN/NL44RABO0123456789/BIC/RABONL2U/NAME/",
             "J JANSEN/REMI/Invoice 7/EREF/NOTPROVIDED"],
            (None, "J JANSEN", "NL44RABO0123456789", "Invoice 7", "NTRF"),
        ),
        (
            ["/EREF/E-77//CNTP/NL32INGB0000012345/INGBNL2A/ING TESTCO///REMI/USTD//Order 5/"],
            ("E-77", "ING TESTCO", "NL32INGB0000012345", "Order 5", "NTRF"),
        ),
        (["A sum of 3/4 and a path/ID/7"], (None, None, None, "A sum of 3/4 and a path/ID/7", "NTRF")),
        (["166?00X?20EREF+E-1?21 and more?22MREF+M-1"], ("E-1 and more", None, None, None, "166")),
    ],
)  # fmt: skip
def test_texts_of_entries_are_read_in_their_kinds(
    tmp_path: Path, lines: list[str], expected: tuple[str | None, ...]
) -> None:
    content = statement(":61:2601070107D10,00NTRFNONREF", f":86:{lines[0]}", *lines[1:])

    assert read(tmp_path, content, "end_to_end", "name", "iban", "purpose", "code") == [expected]


def test_a_time_that_a_bank_broke_in_two_is_text(tmp_path: Path) -> None:
    content = statement(":61:2601070107D10,00NTRFX", ":86:at the shop T16", ":26:37 no 7", ":12:11 too")

    assert read(tmp_path, content, "purpose") == [("at the shop T16 :26:37 no 7 :12:11 too",)]


# Files


@pytest.mark.parametrize(
    "envelope",
    [
        "{{1:F01BANKDEFFXXXX0000000000}}{{2:I940CUSTXXXXXXXXN}}{{4:\n{0}-}}\n",
        "{{1:F01BANKDEFFXXXX0000000000}}{{2:I940CUSTXXXXXXXXN}}{{3:{{108:1}}}}{{4:{0}-}}{{5:{{CHK:1}}}}\n",
        "\x01{{1:F01BANKDEFFXXXX0000000000}}{{4:\n{0}-}}\x03\n",
        "BANKNL2A\n940\nBANKNL2A\n{0}",
        "\ufeff{0}",
        "\n\n{0}\x1a",
    ],
)
def test_what_surrounds_a_message_is_skipped(tmp_path: Path, envelope: str) -> None:
    content = envelope.format(statement(":61:260107D10,00NTRFX").removesuffix("-\n"))

    assert read(tmp_path, content * 2, "amount", "bank_reference") == [(Decimal(-10), None)] * 2


@pytest.mark.parametrize("ending", ["\r\n", "\r", "\n"])
def test_lines_end_as_every_program_ends_them(tmp_path: Path, ending: str) -> None:
    content = statement(":61:260107D10,00NTRFX", ":86:a\u2028b\x85c")

    assert read(tmp_path, content.replace("\n", ending), "purpose") == [("a b c",)]


def test_a_statement_without_a_number_is_named_after_its_day(tmp_path: Path) -> None:
    content = statement(":61:260107D10,00NTRFX", head=HEAD.replace(":28C:1/1\n", ""))

    assert read(tmp_path, content, "statement", "closing_balance") == [("STMT1/260107", Decimal(90))]


def test_a_missing_page_is_told(tmp_path: Path) -> None:
    first = statement(":61:260107D10,00NTRFX").replace(":62F:", ":62M:")
    second = statement(
        ":61:260107D5,00NTRFY", head=HEAD.replace("60F:C260106EUR100", "60M:C260107EUR90"), closing="85,"
    )
    third = second.replace("EUR90", "EUR80").replace("EUR85,", "EUR75,")

    assert read(tmp_path, first + second, "amount") == [(Decimal(-10),), (Decimal(-5),)]
    assert "s.sta:8: field `:60M:` is not the closing balance of the previous page" in refusal(tmp_path, first + third)


def test_an_interim_report_is_refused_by_its_name(tmp_path: Path) -> None:
    content = ":20:R-1\n:25:GB29NWBK60161331926819\n:28C:1/1\n:34F:EUR0,\n:13D:2601071200+0100\n:61:260107D10,00NTRFA\n"

    sentence = refusal(tmp_path, f"{content}:90D:1EUR10,00\n-\n")

    assert sentence.startswith("s.sta:1: this is an interim report (MT942), which has no balances")
    assert "MT940" in sentence


def test_zeros_before_an_amount_do_not_count_as_digits(tmp_path: Path) -> None:
    head = HEAD.replace("EUR100,00", "EUR0000000000000100,00")
    content = statement(":61:260107D0000000000000010,00NTRFA", closing="0000000000000090,00", head=head)

    assert read(tmp_path, content, "amount") == [(Decimal(-10),)]
