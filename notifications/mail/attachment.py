"""The findings of a message as a table, for people who work in spreadsheets: CSV or xlsx."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from notifications.base import GroupNotice, Notice
from notifications.wording import words
from notifications.wording.cells import escaped, plain

_FIXED = ("rule", "severity", "finding", "change", "role", "record", "at risk", "currency")


@dataclass(frozen=True)
class Attachment:
    """A file to attach."""

    name: str
    kind: tuple[str, str]
    content: bytes


def table(notice: Notice, form: Literal["csv", "xlsx"]) -> Attachment | None:
    """Return one row for each record of the findings that the notice lists; None if it lists none.

    Values that are masked in the notice are masked here. A value that begins like a formula stays text.
    """
    rows = list(_rows(notice))
    if not rows:
        return None
    keys = list(dict.fromkeys(name for row in rows for name in row if name not in _FIXED))
    columns = [*_FIXED[:6], *keys, *_FIXED[6:]]
    name = f"findings-{notice.slot:%Y-%m-%d}.{form}"
    cells = ([row.get(column, "") for column in columns] for row in rows)
    if form == "csv":
        return Attachment(name, ("text", "csv"), _csv(columns, cells))
    kind = ("application", "vnd.openxmlformats-officedocument.spreadsheetml.sheet")
    return Attachment(name, kind, _xlsx(columns, cells))


def _rows(notice: Notice) -> Iterator[dict[str, str]]:
    for rule in notice.rules:
        for group in rule.largest:
            yield from _records(rule.rule, rule.severity, group)
    for cleaning in notice.cleaning:
        for group in cleaning.findings:
            yield from _records(cleaning.rule, cleaning.severity, group)


def _records(rule: str, severity: str, group: GroupNotice) -> Iterator[dict[str, str]]:
    money = ", ".join(f"{amount:f}" for _, amount in sorted(group.money.items()))
    common = {"rule": rule, "severity": severity, "finding": group.finding, "change": words.state(group.state)}
    common |= {"at risk": money, "currency": ", ".join(sorted(group.money))}
    keys = {name if name not in _FIXED else f"{name} (key)": text for name, text in group.key.items()}
    for role, records in _roles(group):
        for record in records:
            yield {**keys, **common, "role": role, "record": record}


def _roles(group: GroupNotice) -> Iterator[tuple[str, Sequence[str]]]:
    if group.keeper:
        yield "keeper" if group.surplus else "record", (group.keeper,)
    yield "surplus", group.surplus
    if group.record:
        yield "record", (group.record,)
    yield "left", group.left
    yield "right", group.right


def _csv(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """Write UTF-8 with a mark at the beginning, without which Excel reads another encoding."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(map(escaped, columns))
    writer.writerows(map(escaped, row) for row in rows)
    return text.getvalue().encode("utf-8-sig", "backslashreplace")


def _xlsx(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """Write every cell as text, so that no formula, number or address arises from it."""
    import xlsxwriter  # noqa: PLC0415 - an extra, only for workbooks

    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as workbook:
        sheet = workbook.add_worksheet("findings")
        bold = workbook.add_format({"bold": True})
        for number, column in enumerate(columns):
            sheet.write_string(0, number, plain(column), bold)
        for line, row in enumerate(rows, 1):
            for number, cell in enumerate(row):
                sheet.write_string(line, number, plain(cell))
        sheet.freeze_panes(1, 0)
        sheet.autofilter(0, 0, 0, len(columns) - 1)
    return buffer.getvalue()
