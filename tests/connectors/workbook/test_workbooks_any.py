"""Any sheet is read as an independent reader reads it, and alike in xlsx, ods and xls.

Hypothesis makes a sheet; xlsxwriter, xlwt and the lines below write it; openpyxl, calamine and the standard library's
XML parser, none of which reads that format here, confirm what stands in the file; and what must come of it is computed
from docs/configuration.md. A short form runs in CI; `make chaos` goes on for minutes (RECONCILE_CHAOS_SECONDS).
"""

import datetime as dt
import os
import tempfile
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import openpyxl
import pytest
import xlsxwriter
import xlwt
from hypothesis import HealthCheck, Phase, example, given, seed, settings
from hypothesis import strategies as st
from python_calamine import CalamineWorkbook

from connectors.errors import FileUnreadable
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource
from tests.support.chance import SEED

SECONDS = int(os.environ.get("RECONCILE_CHAOS_SECONDS") or 0)
EXAMPLES = max(5, SECONDS // 12)
pytestmark = pytest.mark.chaos
EPOCH = dt.datetime(1899, 12, 30)  # noqa: DTZ001 - cells have no zone
LOOKS_LIKE_AN_ERROR = ("N/A", "NA", "n/a", "#N/A", "#DIV/0!", "NULL", "-")


@dataclass(frozen=True)
class Failed:
    """A cell that holds an error."""

    text: str


@dataclass(frozen=True)
class NoDay:
    """A number that is formatted as a date, of a day that no calendar has."""

    number: float


TEXTS = st.one_of(
    st.sampled_from(LOOKS_LIKE_AN_ERROR),
    st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff "), min_size=1, max_size=6),
)
FLOATS = st.floats(-1e12, 1e12).map(lambda number: round(number, 3) + 0.0)
NUMBERS = st.one_of(st.integers(-(10**14), 10**14), FLOATS)
DAYS = st.dates(dt.date(1900, 1, 1), dt.date(2199, 12, 31))
MOMENTS = st.datetimes(dt.datetime(1900, 3, 1), dt.datetime(2199, 12, 31)).map(  # noqa: DTZ001
    lambda moment: moment.replace(microsecond=0, second=moment.second or 1)
)
NO_DAYS = st.sampled_from([-1.0, -2.5, -40_000.0, 60.0, 60.5]).map(NoDay)
CODES = {"#NULL!": 0, "#DIV/0!": 7, "#VALUE!": 15, "#REF!": 23, "#NAME?": 29, "#NUM!": 36, "#N/A": 42}
ERRORS = st.sampled_from(list(CODES)).map(Failed)
KINDS = (TEXTS, NUMBERS, st.booleans(), DAYS, MOMENTS, st.one_of(DAYS, MOMENTS), st.one_of(DAYS, NO_DAYS), NO_DAYS)
ODD = st.one_of(st.none(), ERRORS, TEXTS)
HEADERS = st.one_of(st.sampled_from(["id", "Id", "ID", "", "n", "n_2", "a\nb", "_row", "#N/A"]), TEXTS)
Sheet = tuple[list[str], list[list[Any]], list[str]]


@st.composite
def sheets(draw: st.DrawFn) -> Sheet:
    """A header, rows below it, and the texts that mean nothing."""
    count = draw(st.integers(1, 8))
    columns = []
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(KINDS))
        often = draw(st.integers(0, 4))
        columns.append([draw(ODD if often and draw(st.integers(0, 5)) < often else kind) for _ in range(count)])
    header = ["first", *draw(st.lists(HEADERS, min_size=len(columns), max_size=len(columns)))]
    numbered = [[f"record {n}" for n in range(count)], *columns]
    nulls = draw(st.lists(st.sampled_from([*LOOKS_LIKE_AN_ERROR, "#VALUE!"]), max_size=3, unique=True))
    return header, [list(row) for row in zip(*numbered, strict=True)], nulls


# Writing


def serial(cell: dt.date | NoDay) -> float:
    """The number that Excel stores for a date: days before March 1900 are counted with a day that never was."""
    if isinstance(cell, NoDay):
        return cell.number
    moment = cell if isinstance(cell, dt.datetime) else dt.datetime.combine(cell, dt.time())
    number = (moment - EPOCH) / dt.timedelta(days=1)
    return number if number >= 61 else number - 1


def write_xlsx(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    with xlsxwriter.Workbook(path) as book:
        day, moment = (book.add_format({"num_format": f"yyyy-mm-dd{time}"}) for time in ("", " hh:mm:ss"))
        sheet = book.add_worksheet("Sheet")
        for place, name in enumerate(header):
            sheet.write_string(0, place, name)
        for r, row in enumerate(rows, 1):
            for c, cell in enumerate(row):
                if isinstance(cell, Failed):
                    sheet.write_formula(r, c, "=A1", None, cell.text)
                elif isinstance(cell, str):
                    sheet.write_string(r, c, cell)
                elif isinstance(cell, bool):
                    sheet.write_boolean(r, c, cell)
                elif isinstance(cell, (dt.date, NoDay)):
                    sheet.write_number(r, c, serial(cell), moment if isinstance(cell, dt.datetime) else day)
                elif cell is not None:
                    sheet.write_number(r, c, cell)


def write_xls(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    book = xlwt.Workbook(encoding="utf-8")
    day, moment = (xlwt.easyxf(num_format_str=f"yyyy-mm-dd{time}") for time in ("", " hh:mm:ss"))
    sheet = book.add_sheet("Sheet")
    for r, row in enumerate([header, *rows]):
        for c, cell in enumerate(row):
            if isinstance(cell, Failed):
                sheet.row(r).set_cell_error(c, CODES[cell.text])
            elif isinstance(cell, (dt.date, NoDay)):
                sheet.write(r, c, serial(cell), moment if isinstance(cell, dt.datetime) else day)
            elif cell is not None:
                sheet.write(r, c, cell)
    book.save(str(path))


ODS = {
    "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
    "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
    "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
    "calcext": "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0",
}


def ods_cell(cell: Any, excel: bool) -> str:
    """As LibreOffice writes it, or as Excel does: its errors are the number 0 that is shown as text."""
    if cell is None or cell == "":
        return "<table:table-cell/>"
    if isinstance(cell, Failed):
        kind = 'office:value-type="float" office:value="0"'
        if not excel:
            kind = 'office:value-type="string" office:string-value="" calcext:value-type="error"'
        return f"<table:table-cell {kind}><text:p>{cell.text}</text:p></table:table-cell>"
    if isinstance(cell, bool):
        text = f'office:value-type="boolean" office:boolean-value="{str(cell).lower()}"'
    elif isinstance(cell, str):
        lines = "".join(f"<text:p>{escape(line)}</text:p>" for line in cell.split("\n"))
        return f'<table:table-cell office:value-type="string">{lines}</table:table-cell>'
    elif isinstance(cell, dt.date):
        text = f'office:value-type="date" office:date-value="{cell.isoformat()}"'
    else:
        text = f'office:value-type="float" office:value={quoteattr(repr(cell))}'
    return f"<table:table-cell {text}><text:p>shown</text:p></table:table-cell>"


def write_ods(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]], excel: bool) -> None:
    spaces = " ".join(f'xmlns:{name}="{uri}"' for name, uri in ODS.items())
    lines = "".join(
        f"<table:table-row>{''.join(ods_cell(cell, excel) for cell in row)}</table:table-row>"
        for row in [header, *rows]
    )
    body = f'<office:spreadsheet><table:table table:name="Sheet">{lines}</table:table></office:spreadsheet>'
    content = f"<office:document-content {spaces}><office:body>{body}</office:body></office:document-content>"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", f'<?xml version="1.0" encoding="UTF-8"?>{content}')


# Reading independently: each says of a cell what it can say, and nothing (...) of what it is known to lose


def by_openpyxl(path: Path) -> list[list[Any]]:
    def cell(read: Any) -> Any:
        if read.data_type == "e":
            return Failed(read.value)
        return ... if read.is_date else read.value

    book = openpyxl.load_workbook(path, data_only=True)
    return [[cell(read) for read in row] for row in book["Sheet"].iter_rows()]


def by_calamine(path: Path) -> list[list[Any]]:
    """Calamine gives errors as empty, and several numbers as one day."""
    sheet = CalamineWorkbook.from_path(str(path)).get_sheet_by_name("Sheet")
    rows = sheet.to_python(skip_empty_area=False)
    return [[... if cell == "" or isinstance(cell, (dt.date, dt.time)) else cell for cell in row] for row in rows]


def by_element_tree(path: Path) -> list[list[Any]]:
    office, table, text, calc = (f"{{{uri}}}" for uri in ODS.values())

    def cell(element: ET.Element) -> Any:
        kind, shown = element.get(f"{office}value-type"), [p.text or "" for p in element.findall(f"{text}p")]
        if element.get(f"{calc}value-type") == "error" or (kind == "float" and shown != ["shown"]):
            return Failed(shown[0])
        value = element.get(f"{office}{'value' if kind == 'float' else f'{kind}-value'}")
        match kind:
            case "string":
                return "\n".join(shown)
            case "float":
                return float(value or "")
            case "boolean":
                return value == "true"
            case "date":
                return ...
        return None

    with zipfile.ZipFile(path) as archive:
        root = ET.fromstring(archive.read("content.xml"))  # noqa: S314 - written above
    return [[cell(element) for element in row] for row in root.iter(f"{table}table-row")]


def confirm(written: Sequence[Sequence[Any]], values: Sequence[Sequence[Any]]) -> None:
    """The file holds what was meant to be in it, as far as the independent reader tells."""
    for want, row in zip(written, values, strict=False):
        for cell, told in zip(want, [*row, *[None] * len(want)], strict=False):
            if told is not ... and not isinstance(cell, (dt.date, NoDay)):
                assert (None if cell == "" else cell) == (None if told == "" else told)


# What must come of it


def names_of(header: Sequence[str]) -> list[str]:
    wanted = [name.strip() or f"column_{place}" for place, name in enumerate(header, 1)]
    written = {name.lower() for name in wanted}
    names: list[str] = []
    for name in wanted:
        unique, count = name, 1
        taken = {"_file", "_row", *(other_name.lower() for other_name in names)}
        while unique.lower() in taken or (count > 1 and unique.lower() in written):
            count += 1
            unique = f"{name}_{count}"
        names.append(unique)
    return names


def kind(cell: Any) -> str:
    for word, types in (("text", str), ("boolean", bool), ("time", dt.datetime), ("date", dt.date)):
        if isinstance(cell, types):
            return word
    return "number"


def as_text(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, (str, dt.date)):
        return str(cell)
    number = cell.number if isinstance(cell, NoDay) else cell
    plain = format(Decimal(repr(number)), "f")
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return "0" if plain == "-0" else plain


def column_of(cells: Sequence[Any]) -> list[Any]:
    kinds = {kind(cell) for cell in cells if cell is not None}
    if len(kinds) > 1 and kinds != {"date", "time"}:
        return [None if cell is None else as_text(cell) for cell in cells]
    if "time" in kinds:
        return [cell if cell is None or isinstance(cell, dt.datetime) else midnight(cell) for cell in cells]
    return [cell.number if isinstance(cell, NoDay) else cell for cell in cells]


def midnight(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time())


def expected(header: Sequence[str], rows: Sequence[Sequence[Any]], nulls: Sequence[str]) -> Any:
    """Names, records by their row, and the records left out by column."""

    def meaning(cell: Any) -> Any:
        text = cell.text if isinstance(cell, Failed) else cell
        return None if text == "" or (isinstance(text, str) and text in nulls) else cell

    meant = [[meaning(cell) for cell in row] for row in rows]
    columns = [list(column) for column in zip(*meant, strict=True)]
    kept = [place for place, name in enumerate(header) if name.strip() or any(c is not None for c in columns[place])]
    left_out: dict[str, int] = {}
    names = names_of(header)
    for row in meant:
        if wrong := [names[place] for place in kept if isinstance(row[place], Failed)]:
            left_out[wrong[0]] = left_out.get(wrong[0], 0) + 1
    typed = [column_of([None if isinstance(cell, Failed) else cell for cell in columns[place]]) for place in kept]
    records = [
        [number, *cells]
        for number, (row, cells) in enumerate(zip(meant, zip(*typed, strict=True), strict=True), 2)
        if not any(isinstance(row[place], Failed) for place in kept)
    ]
    return [names[place] for place in kept], records, left_out


def ours(path: Path, nulls: Sequence[str]) -> Any:
    source = WorkbookSource("crm", WorkbookSettings(type="workbook", path=path.name), path.parent)
    try:
        dataset = WorkbookDataset(null_values=tuple(nulls))
        names = [name for name in source.describe(dataset).names if name not in ("_file", "_row")]
        scan = source.scan(dataset, ["_row", *names])
        rows = [list(row.values()) for row in scan.reader.read_all().to_pylist()]
        left_out = {problem.column: problem.records for problem in scan.problems() if problem.skipped}
    finally:
        source.close()
    naive = [[cell.replace(tzinfo=None) if isinstance(cell, dt.datetime) else cell for cell in row] for row in rows]
    return names, [[as_number(cell) for cell in row] for row in naive], left_out


def as_number(cell: Any) -> Any:
    return Decimal(repr(cell)) if isinstance(cell, float) else cell


@seed(SEED)
@settings(max_examples=EXAMPLES, database=None, phases=list(Phase)[:5], suppress_health_check=list(HealthCheck))
@given(sheets(), st.booleans())
@example((["first", "n", "ok"], [["a", 1, True], ["b", "N/A", "#N/A"], ["c", Failed("#N/A"), None]], []), True)
@example((["first", "n"], [["a", 1], ["b", "N/A"], ["c", Failed("#N/A")]], ["N/A", "#N/A"]), False)
@example((["first", "d"], [["a", NoDay(-1.0)], ["b", NoDay(60.0)], ["c", dt.date(1900, 2, 28)]], []), False)
def test_a_sheet_is_read_as_it_was_written_and_alike_in_every_format(sheet: Sheet, excel: bool) -> None:
    header, rows, nulls = sheet
    with tempfile.TemporaryDirectory() as created:
        xlsx, xls, ods = (Path(created, f"a.{form}") for form in ("xlsx", "xls", "ods"))
        write_xlsx(xlsx, header, rows)
        write_xls(xls, header, rows)
        in_calendar = [[cell.number if isinstance(cell, NoDay) else cell for cell in row] for row in rows]
        write_ods(ods, header, in_calendar, excel)
        confirm([header, *rows], by_openpyxl(xlsx))
        confirm([header, *rows], by_calamine(xls))
        confirm([header, *in_calendar], by_element_tree(ods))
        names, records, left_out = expected(header, rows, nulls)
        want = names, [[as_number(cell) for cell in row] for row in records], left_out

        for path in (xlsx, xls, ods):
            assert (path.suffix, ours(path, nulls)) == (path.suffix, want)


def test_a_sheet_of_errors_alone_is_refused_in_every_format(tmp_path: Path) -> None:
    rows = [[Failed("#N/A"), Failed("#REF!")]] * 2
    write_ods(tmp_path / "a.ods", rows[0], rows, excel=True)
    write_ods(tmp_path / "b.ods", rows[0], rows, excel=False)
    write_xls(tmp_path / "a.xls", rows[0], rows)
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_worksheet("Sheet")
        for place in range(4):
            sheet.write_formula(place // 2, place % 2, "=NA()", None, "#N/A")

    for name in ("a.ods", "b.ods", "a.xls", "a.xlsx"):
        with pytest.raises(FileUnreadable, match="its header row holds only errors"):
            ours(tmp_path / name, [])
