"""Builds office.xlsx anew each time: customers, payments, a sheet for removed customers, and a summary with a chart."""

import datetime as dt
from pathlib import Path

import xlsxwriter

HERE = Path(__file__).resolve().parent
CUSTOMERS = (
    ("Number", "Name", "Email", "Phone", "Since"),
    (1, "Ada Lovelace", "ada@example.com", "+44 20 7946 0001", dt.date(2024, 3, 4)),
    (2, "Grace Hopper", "grace@example.com", "+1 202 555 0137", dt.date(2024, 5, 21)),
    (3, "LOVELACE, Ada", " Ada@Example.com ", None, dt.date(2025, 2, 11)),
    (4, "Alan Turing", "alan@example.com", None, dt.date(2025, 6, 2)),
    (5, "Grace  Hopper", "grace+invoices@example.com", "202 555 0137", dt.date(2025, 9, 15)),
    (6, "Emmy Noether", "emmy@example.com", None, dt.date(2025, 10, 1)),
    (7, "Mary Jackson", "mary@example.com", "+1 757 555 0142", dt.date(2025, 11, 18)),
    (8, "Katherine Johnson", "katherine@example.com", None, dt.date(2026, 1, 7)),
)
PAYMENTS = (
    ("Payment", "Customer", "Invoice", "Amount", "Paid on", "Status"),
    (101, 1, "2026-014", 120.00, dt.date(2026, 1, 12), "booked"),
    (102, 3, "2026-019", 80.50, dt.date(2026, 2, 3), "booked"),
    (103, 2, "2026-020", 240.00, dt.date(2026, 2, 9), "booked"),
    (104, 2, "2026-020", 240.00, dt.date(2026, 2, 9), "booked"),
    (105, 4, "2026-023", 65.00, dt.date(2026, 2, 20), "booked"),
    (106, 5, "2026-027", 240.00, dt.date(2026, 3, 9), "booked"),
    (107, 7, "2026-028", 99.00, dt.date(2026, 3, 10), "booked"),
)
SUMMARY = (
    ("Customers", "=COUNT(Customers!A2:A9)", 8),
    ("Payments received", '=SUMIFS(Payments!D2:D8,Payments!F2:F8,"booked")', 1084.50),
    ("Payments booked twice", '=COUNTIF(Payments!F2:F8,"booked twice")', 0),
)


def build(path: Path) -> None:
    with xlsxwriter.Workbook(path) as book:
        formats = {
            "header": book.add_format({"bold": True, "bottom": 1}),
            "day": book.add_format({"num_format": "yyyy-mm-dd"}),
            "money": book.add_format({"num_format": "#,##0.00"}),
        }
        fill(book.add_worksheet("Customers"), CUSTOMERS, formats)
        fill(book.add_worksheet("Payments"), PAYMENTS, formats)
        fill(book.add_worksheet("Removed"), (CUSTOMERS[0],), formats)
        summary = book.add_worksheet("Summary")
        summary.set_column(0, 1, 22)
        for row, (label, formula, result) in enumerate(SUMMARY):
            summary.write(row, 0, label, formats["header"])
            summary.write_formula(row, 1, formula, None, result)
        chart = book.add_chart({"type": "column"})
        chart.add_series({"categories": "=Payments!$A$2:$A$8", "values": "=Payments!$D$2:$D$8"})
        chart.set_title({"name": "Payments"})
        summary.insert_chart("A6", chart)


def fill(
    sheet: xlsxwriter.worksheet.Worksheet,
    rows: tuple[tuple[object, ...], ...],
    formats: dict[str, xlsxwriter.format.Format],
) -> None:
    """Write a header and its rows, dates and amounts in their formats."""
    sheet.set_column(0, len(rows[0]) - 1, 16)
    sheet.write_row(0, 0, rows[0], formats["header"])
    for number, row in enumerate(rows[1:], 1):
        for column, value in enumerate(row):
            if isinstance(value, dt.date):
                sheet.write_datetime(number, column, dt.datetime.combine(value, dt.time()), formats["day"])
            else:
                sheet.write(number, column, value, formats["money"] if isinstance(value, float) else None)


build(HERE / "office.xlsx")
print(f"office.xlsx: {len(CUSTOMERS) - 1} customers and {len(PAYMENTS) - 1} payments")  # noqa: T201 - a script for a terminal
