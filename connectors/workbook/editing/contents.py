"""The part that lists the sheets of a workbook: their names, the system of dates, names for cells, recalculation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from connectors.workbook.editing.markup import (
    MAIN,
    STRICT,
    Element,
    PartXml,
    Splice,
    with_attribute,
)
from connectors.workbook.editing.package import Package
from connectors.workbook.editing.refusals import NotEditable
from connectors.workbook.editing.relations import RELATIONS, relations

_BEFORE_CALCULATION = (
    *("fileVersion", "fileSharing", "workbookPr", "AlternateContent", "revisionPtr", "absPath", "workbookProtection"),
    *("bookViews", "sheets", "functionGroups", "externalReferences", "definedNames"),
)


@dataclass(frozen=True)
class ListedSheet:
    """A sheet as the workbook lists it: `kind` is the last word of its type, such as worksheet or chartsheet."""

    name: str
    part: str
    kind: str


@dataclass(frozen=True)
class DefinedName:
    """A name for cells or a formula; `sheet` is the only sheet that knows it, if any."""

    name: str
    formula: str
    sheet: str | None


@dataclass(frozen=True)
class Contents:
    """The part `xl/workbook.xml` of a package. Raises NotEditable."""

    package: Package
    part: PartXml

    @classmethod
    def of(cls, package: Package) -> Contents:
        names = [relation.part for relation in relations(package, "") if relation.kind == "officeDocument"]
        if len(names) != 1 or names[0] is None:
            raise NotEditable("it does not say which of its parts is the workbook")
        part = PartXml.of(names[0], package.read(names[0]))
        if part.root.namespace.startswith(STRICT):
            raise NotEditable("it is a strict Open XML workbook; save it as an ordinary .xlsx first")
        if part.root.namespace != MAIN:
            raise NotEditable(f"its part {part.name} is not a workbook")
        return cls(package, part)

    @cached_property
    def sheets(self) -> tuple[ListedSheet, ...]:
        """The sheets in their order, those of charts and dialogs too."""
        kinds = {relation.id: relation for relation in relations(self.package, self.part.name)}
        listed = []
        for element in self._listing.all("sheet"):
            relation = kinds.get(element.get(f"{RELATIONS} id"))
            if relation is None or relation.part is None:
                raise NotEditable("it lists a sheet that is not there")
            listed.append(ListedSheet(element.get("name"), relation.part, relation.kind))
        return tuple(listed)

    @property
    def _listing(self) -> Element:
        sheets = self.part.root.first("sheets")
        if sheets is None or not sheets.children:
            raise NotEditable("it lists no sheets")
        return sheets

    @property
    def dates_from_1904(self) -> bool:
        settings = self.part.root.first("workbookPr")
        return settings is not None and settings.get("date1904", "0") in ("1", "true")

    @property
    def asks_for_password(self) -> bool:
        """Return True if Excel saves the workbook only with a password."""
        sharing = self.part.root.first("fileSharing")
        return sharing is not None and any(sharing.get(name) for name in ("reservationPassword", "hashValue"))

    @cached_property
    def names(self) -> tuple[DefinedName, ...]:
        names = self.part.root.first("definedNames")
        listed = []
        for element in names.all("definedName") if names else []:
            position = element.get("localSheetId")
            is_known = position.isdigit() and int(position) < len(self.sheets)
            sheet = self.sheets[int(position)].name if is_known else None
            listed.append(DefinedName(element.get("name"), element.text, sheet))
        return tuple(listed)

    def recalculating(self) -> list[Splice]:
        """The splices so that programs compute all formulas when they open the workbook."""
        root, text = self.part.root, self.part.source.text
        existing = root.first("calcPr")
        if existing is not None:
            tag = text[existing.start : existing.inside]
            return [(existing.start, existing.inside, with_attribute(tag, "fullCalcOnLoad", "1"))]
        last = next((child for child in reversed(root.children) if child.local in _BEFORE_CALCULATION), None)
        place = last.end if last else root.inside
        return [(place, place, b"<" + self.part.prefix(self._listing) + b'calcPr fullCalcOnLoad="1"/>')]
