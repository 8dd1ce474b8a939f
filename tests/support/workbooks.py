"""Workbooks for tests of the editor, with all that people put into them."""

import datetime as dt
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import openpyxl
import xlsxwriter
from openpyxl.comments import Comment
from openpyxl.formatting.rule import CellIsRule, ColorScaleRule
from openpyxl.styles import Font, PatternFill, Protection
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.table import Table

ORDERS = [
    (1, "Ada Lovelace", 12.5, dt.datetime(2026, 3, 1), "open"),  # noqa: DTZ001 - cells have no zone
    (2, "Grace Hopper", 8, dt.datetime(2026, 3, 2), "open"),  # noqa: DTZ001
    (3, "Alan Turing", 99.99, dt.datetime(2026, 3, 3), "paid"),  # noqa: DTZ001
    (4, "Ada Lovelace", 12.5, dt.datetime(2026, 3, 1), "open"),  # noqa: DTZ001
    (5, "Edsger Dijkstra", 1000, dt.datetime(2026, 3, 5), "paid"),  # noqa: DTZ001
]
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
HEADER = ("id", "name", "amount", "date", "status")


def xlsx(write: Callable[[xlsxwriter.Workbook], Any], **options: Any) -> bytes:
    """A workbook that XlsxWriter writes."""
    target = io.BytesIO()
    book = xlsxwriter.Workbook(target, {"in_memory": True, **options})
    book.set_properties({"created": dt.datetime(2026, 1, 1)})  # noqa: DTZ001 - two workbooks are alike
    write(book)
    book.close()
    return target.getvalue()


def orders(book: xlsxwriter.Workbook, name: str = "Orders") -> Any:
    """Write the sheet of orders, in A1:E6."""
    sheet = book.add_worksheet(name)
    date, bold = book.add_format({"num_format": "yyyy-mm-dd"}), book.add_format({"bold": True})
    sheet.write_row(0, 0, HEADER, bold)
    for row, order in enumerate(ORDERS, 1):
        sheet.write_row(row, 0, order[:3])
        sheet.write_datetime(row, 3, order[3], date)
        sheet.write_string(row, 4, order[4])
    return sheet


def plain() -> bytes:
    """Orders and nothing else."""
    return xlsx(orders)


def picture() -> io.BytesIO:
    """A picture of one red pixel (PNG)."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    pixels = zlib.compress(b"\x00\xff\x00\x00")
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return io.BytesIO(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))


def everything(book: xlsxwriter.Workbook) -> None:
    """Orders with a chart, a picture, sparklines, rich text, formats, comments, formulas, a merge, a filter, names."""
    sheet = orders(book)
    bold, red = book.add_format({"bold": True}), book.add_format({"color": "red"})
    sheet.write_rich_string("F1", "plain ", bold, "bold ", red, "red & <odd>")
    sheet.write_string("F2", "  blanks at both ends  ")
    sheet.write_string("F3", "two\nlines")
    sheet.write_boolean("F4", True)
    sheet.write_blank("F5", None, bold)
    sheet.write_formula("G2", "=C2*2", None, 25)
    sheet.write_array_formula("G3:G4", "{=C3:C4*2}", None, 16)
    sheet.merge_range("H2:I3", "merged", bold)
    sheet.conditional_format("C2:C6", {"type": "data_bar", "data_bar_2010": True})
    sheet.conditional_format("A2:A6", {"type": "cell", "criteria": ">", "value": 3, "format": red})
    sheet.data_validation("E2:E6", {"validate": "list", "source": ["open", "paid", "duplicate"]})
    sheet.add_sparkline("J2", {"range": "Orders!C2:C6"})
    sheet.write_comment("B2", "the first programmer")
    sheet.write_url("K2", "https://example.com/ada", string="Ada")
    sheet.insert_image("M2", "dot.png", {"image_data": picture()})
    sheet.autofilter("A1:E6")
    sheet.freeze_panes(1, 0)
    sheet.set_row(3, None, None, {"hidden": True})
    sheet.set_column("B:B", 30)
    chart = book.add_chart({"type": "column"})
    chart.add_series({"values": "=Orders!$C$2:$C$6", "categories": "=Orders!$B$2:$B$6"})
    sheet.insert_chart("M10", chart)
    summary = book.add_worksheet("Summary")
    summary.write_formula("A1", "=SUM(Orders!C2:C6)", None, 1132.99)
    summary.write_formula("A2", "=AmountOfFirst*2", None, 25)
    book.define_name("AmountOfFirst", "=Orders!$C$2")
    table = book.add_worksheet("Table")
    columns = [{"header": "key"}, {"header": "value", "total_function": "sum"}]
    table.add_table(
        "A1:B5", {"columns": columns, "data": [[1, 10], [2, 20], [3, 30]], "total_row": True, "name": "Stock"}
    )
    pie = book.add_chart({"type": "pie"})
    pie.add_series({"values": "=Orders!$C$2:$C$6"})
    book.add_chartsheet("Picture").set_chart(pie)


def protected(book: xlsxwriter.Workbook) -> None:
    """Orders on a protected sheet, of which only the status may be edited."""
    sheet = orders(book)
    sheet.protect("secret")
    unlocked = book.add_format({"locked": False})
    for row in range(1, 6):
        sheet.write_string(row, 4, "open", unlocked)


def macros() -> bytes:
    """A workbook with a project of macros, as Excel stores one: an OLE file that is never read here."""
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1016)

    def write(book: xlsxwriter.Workbook) -> None:
        orders(book)
        book.add_vba_project(io.BytesIO(ole), is_stream=True)

    return xlsx(write)


def by_openpyxl() -> bytes:
    """A workbook that openpyxl writes, which names the type of every cell."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Orders"
    sheet.append(HEADER)
    for order in ORDERS:
        sheet.append(order)
    sheet["A1"].font = Font(bold=True)
    sheet["B2"].fill = PatternFill("solid", fgColor="FFFF00")
    sheet["B3"].comment = Comment("an admiral", "Ada")
    sheet["E2"].protection = Protection(locked=False)
    sheet["G2"] = "=SUM(C2:C6)"
    sheet.conditional_formatting.add("C2:C6", CellIsRule("greaterThan", ["50"], font=Font(color="FF0000")))
    sheet.conditional_formatting.add(
        "A2:A6", ColorScaleRule(start_type="min", start_color="FF0000", end_type="max", end_color="00FF00")
    )
    rule = DataValidation("whole", operator="between", formula1="1", formula2="100", showErrorMessage=True)
    rule.add("A2:A6")
    sheet.add_data_validation(rule)
    sheet.merge_cells("H1:I2")
    book.defined_names["First"] = DefinedName("First", attr_text="Orders!$A$2")
    stock = book.create_sheet("Stock")
    for row in (("key", "value"), (1, 2), (3, 4)):
        stock.append(row)
    stock.add_table(Table(displayName="Stock", ref="A1:B3"))
    book.create_sheet("Empty")
    return _saved(book)


def _saved(book: openpyxl.Workbook) -> bytes:
    target = io.BytesIO()
    book.save(target)
    return target.getvalue()


def with_parts(data: bytes, parts: Mapping[str, bytes | None]) -> bytes:
    """The workbook with other parts; None: without one."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for info in source.infolist():
            content = parts.get(info.filename, source.read(info))
            if content is not None:
                archive.writestr(info, content)
        for name, content in parts.items():
            if name not in source.namelist() and content is not None:
                archive.writestr(name, content)
    return target.getvalue()


def part(data: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(name)


def of_rows(rows: str | bytes, *, before: str = "", behind: str = "", names: str = "", strings: str = "") -> bytes:
    """A small workbook with these rows (XML), written by hand."""
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    packages = "application/vnd.openxmlformats-package"
    xml = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    content = f"{before}<sheetData>{rows!s}</sheetData>{behind}"
    sheet = rows if isinstance(rows, bytes) else f'{xml}<worksheet xmlns="{MAIN}">{content}</worksheet>'.encode()
    texts = {
        "[Content_Types].xml": (
            f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/>'
            f'<Default Extension="rels" ContentType="{packages}.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/>'
            f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kinds}.worksheet+xml"/>'
            f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kinds}.sharedStrings+xml"/></Types>'
        ),
        "_rels/.rels": _relations(officeDocument="xl/workbook.xml"),
        "xl/workbook.xml": (
            f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>'
            f'<sheet name="Orders" sheetId="1" r:id="worksheet"/></sheets>{names}</workbook>'
        ),
        "xl/_rels/workbook.xml.rels": _relations(worksheet="worksheets/sheet1.xml", sharedStrings="sharedStrings.xml"),
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{strings}</sst>',
    }
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(name, xml + text)
        archive.writestr("xl/worksheets/sheet1.xml", sheet)
    return target.getvalue()


def _relations(**targets: str) -> str:
    links = (f'<Relationship Id="{kind}" Type="{RELATIONS}/{kind}" Target="{part}"/>' for kind, part in targets.items())
    return f'<Relationships xmlns="{PACKAGE}/relationships">{"".join(links)}</Relationships>'
