"""The styles of cells: which show dates, and which are locked on a protected sheet."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from connectors.workbook.editing.markup import PartXml
from connectors.workbook.editing.refusals import NotEditable

Shown = Literal["number", "date", "duration", "text"]
_DATES = frozenset([*range(14, 18), 22, *range(27, 37), *range(50, 59)])
_TIMES = frozenset([18, 19, 20, 21, 45, 46, 47])
_AS_TEXT = 49
_QUOTED = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)


@dataclass(frozen=True)
class Styles:
    """The part with the styles; None: the workbook has none, and all cells are as usual."""

    part: PartXml | None

    @cached_property
    def _formats(self) -> list[tuple[int, bool]]:
        """The number format and the lock of each style."""
        if self.part is None:
            return [(0, True)]
        formats = self.part.root.first("cellXfs")
        styles = []
        for style in formats.all("xf") if formats else []:
            protection = style.first("protection")
            is_locked = protection is None or protection.get("locked", "1") not in ("0", "false")
            styles.append((style.number("numFmtId"), is_locked))
        return styles or [(0, True)]

    @cached_property
    def _codes(self) -> dict[int, str]:
        formats = self.part.root.first("numFmts") if self.part else None
        return {code.number("numFmtId"): code.get("formatCode") for code in (formats.all("numFmt") if formats else [])}

    def _format(self, style: int) -> tuple[int, bool]:
        if not 0 <= style < len(self._formats):
            raise NotEditable("a cell has a style that does not exist")
        return self._formats[style]

    def is_locked(self, style: int) -> bool:
        return self._format(style)[1]

    def shown_as(self, style: int) -> Shown:
        """How a number of that style is shown."""
        number = self._format(style)[0]
        if number in self._codes:
            return _by_code(self._codes[number])
        if number in _DATES:
            return "date"
        if number in _TIMES:
            return "duration"
        return "text" if number == _AS_TEXT else "number"

    @property
    def first_date(self) -> int:
        """The first style that shows dates. Raises NotEditable."""
        for style in range(self.number):
            if self.shown_as(style) == "date":
                return style
        raise NotEditable("no cell of the workbook shows dates; format one as a date first")

    @property
    def number(self) -> int:
        """How many styles there are."""
        return len(self._formats)


def _by_code(code: str) -> Shown:
    bare = _QUOTED.sub("", code.split(";", maxsplit=1)[0]).lower()
    if bare.strip() == "@":
        return "text"
    if "y" in bare or "d" in bare or (re.search("m", bare) and not re.search("[hs]", bare)):
        return "date"
    return "duration" if re.search(r"[hs]|\[", bare) else "number"
