"""What the parts of a workbook refer to: the relationships beside each part."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from connectors.workbook.editing.markup import PartXml
from connectors.workbook.editing.package import Package
from connectors.workbook.editing.refusals import NotEditable

RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


@dataclass(frozen=True)
class Relation:
    """A relationship of a part: its id, the last word of its type, and the part it leads to.

    `part` is None for a place outside the workbook.
    """

    id: str
    kind: str
    part: str | None


def _relations_part(part: str) -> str:
    """The part with the relationships of a part."""
    folder, name = posixpath.split(part)
    return posixpath.join(folder, "_rels", f"{name}.rels")


def relations(package: Package, part: str) -> list[Relation]:
    """The relationships of a part. Raises NotEditable for one that leads to a part that is not there."""
    name = _relations_part(part)
    if name not in package:
        return []
    answer = []
    for element in PartXml.of(name, package.read(name)).root.all("Relationship"):
        target, kind = element.get("Target"), element.get("Type").rpartition("/")[2]
        if element.get("TargetMode") == "External":
            answer.append(Relation(element.get("Id"), kind, None))
            continue
        path = posixpath.normpath(posixpath.join("/", posixpath.dirname(part), target.partition("#")[0])).lstrip("/")
        answer.append(Relation(element.get("Id"), kind, path if path in package else None))
    return answer


def only_part(package: Package, part: str, kind: str) -> str | None:
    """The part that a part is related to by a kind of which there is at most one."""
    parts = [relation.part for relation in relations(package, part) if relation.kind == kind and relation.part]
    if len(parts) > 1:
        raise NotEditable(f"its part {part} has several parts of the kind {kind}")
    return parts[0] if parts else None
