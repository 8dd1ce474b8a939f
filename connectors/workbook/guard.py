"""Checks before a workbook is opened: that it is a workbook, and that it does not unpack into a bomb."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, BinaryIO, Protocol
from xml.parsers import expat

from connectors.errors import FileRefused, FileUnreadable

BEFORE_OLE = (b"\x09\x00\x04\x00", b"\x09\x02\x06\x00", b"\x09\x04\x06\x00", b"\x09\x08\x06\x00", b"\x09\x08\x08\x00")
"""The first record of the worksheets of Excel 2, 3, 4 and 5, which are no OLE files."""
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
LOCKED = ("the workbook is locked with a password", "save it without one")
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
MANIFEST = "META-INF/manifest.xml"
PARTS = 10_000
RATIO = 400
SMALL = 16 << 20
PIECE = 1 << 12
ALWAYS_REPEATED, MOST_REPEATED = 2_000_000, 20_000_000
REPEATS = 50
CHARACTERS = 50
"""The most characters of a repeated cell, on average."""
PICTURES = (".svg", ".emf", ".wmf", ".png", ".jpg", ".jpeg", ".gif")
"""Drawings may declare a document type; they are never read."""


class WorkbookFile(Protocol):
    """A file to check: its name, its bytes from the beginning, and how many there are."""

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int: ...

    def bytes(self) -> BinaryIO: ...


@dataclass(frozen=True)
class WorkbookLimits:
    """The bytes a workbook may unpack to, and the bytes of memory and seconds of processor time to read it.

    `repeated` is the number of cells it may add by repeat counts; None: depends on its size.
    """

    unpacked: int
    memory: int
    seconds: int
    repeated: int | None = None

    def may_repeat(self, size: int) -> tuple[int, int]:
        """The number of cells that a file of so many bytes may repeat, and of the characters in them."""
        cells = self.repeated or min(MOST_REPEATED, max(ALWAYS_REPEATED, REPEATS * size))
        return cells, min(self.unpacked, CHARACTERS * cells)


def kind_of(file: WorkbookFile, limits: WorkbookLimits) -> str:
    """xlsx, ods or xls, by content. Raises FileUnreadable or FileRefused: locked, cut, renamed, too large."""
    name = file.name
    with file.bytes() as content:
        start = content.read(len(OLE))
    if start == OLE:
        return _old(name, file)
    if start[:2] != b"PK":
        raise FileUnreadable(name, *_other_kind(start))
    try:
        with file.bytes() as content, zipfile.ZipFile(content) as archive:
            parts = {info.filename: info for info in archive.infolist()}
            if len(parts) < len(archive.infolist()):
                raise FileRefused(name, "two of its parts have the same name", "save it again from Excel")
            _weigh(name, archive.infolist(), file.size, limits)
            if MANIFEST in parts and b"encryption-data" in archive.read(MANIFEST):
                raise FileUnreadable(name, *LOCKED)
            _plain(name, archive, parts)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
        raise FileUnreadable(
            name, "the workbook is truncated or damaged", "open it and save it again, or fetch it again"
        ) from error
    if "content.xml" in parts:
        return "ods"
    if any(part.startswith("xl/macrosheets/") for part in parts):
        reason = "it has macro sheets of Excel 4.0, so its other sheets cannot be read"
        raise FileUnreadable(name, reason, "save it as .xlsx without them")
    if "xl/workbook.xml" in parts:
        return "xlsx"
    if "xl/workbook.bin" in parts:
        raise FileUnreadable(name, "it is a binary workbook (.xlsb)", "save it as .xlsx")
    reason = "it is a zip file without the part `xl/workbook.xml` or `content.xml` of a workbook"
    raise FileUnreadable(name, reason, "open it and save it again as .xlsx or .ods")


def _other_kind(start: bytes) -> tuple[str, str]:
    """The reason and remedy for a file that begins so."""
    if start.startswith(BEFORE_OLE):
        return "it is a worksheet of Excel 5 or older", "open it and save it as .xlsx"
    mistake = "it is not a workbook: it begins like another kind of file" if start else "it is empty"
    return mistake, "save it as .xlsx; CSV files belong to a source of type files"


def _old(name: str, file: WorkbookFile) -> str:
    with file.bytes() as content:
        if ENCRYPTED in content.read(SMALL):
            raise FileUnreadable(name, *LOCKED)
    if not name.lower().endswith(".xls"):
        raise FileUnreadable(name, "it is an old .xls workbook under another name", "rename it, or save it as .xlsx")
    return "xls"


def _weigh(name: str, parts: list[zipfile.ZipInfo], size: int, limits: WorkbookLimits) -> None:
    unpacked = sum(info.file_size for info in parts)
    packed = sum(info.compress_size for info in parts)
    dense = any(info.file_size > SMALL and info.file_size > RATIO * max(info.compress_size, 1) for info in parts)
    if len(parts) > PARTS or packed > size or dense or unpacked > limits.unpacked:
        raise FileRefused(
            name,
            f"it unpacks to {unpacked:,} bytes in {len(parts):,} parts, more than a workbook of {size:,} bytes should",
            f"if that is right, raise `max_unpacked` over {limits.unpacked:,} or split it",
        )


def _plain(name: str, archive: zipfile.ZipFile, parts: Mapping[str, zipfile.ZipInfo]) -> None:
    """Raise FileRefused if an XML part declares a document type, in any encoding and after any padding."""
    for part, info in parts.items():
        if info.flag_bits & 1:
            raise FileUnreadable(name, *LOCKED)
        with archive.open(info) as file:
            if not part.lower().endswith(PICTURES) and _declares_a_type(name, part, file):
                raise FileRefused(name, f"{part} declares a document type or entities", "save it again from Excel")


def _declares_a_type(name: str, part: str, file: IO[bytes]) -> bool:
    """Return True if a document type comes before the first element, its only legal place.

    Raises FileUnreadable for a part that is named like XML but does not begin like it.
    """
    declared: list[bool] = []
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = lambda *_: declared.append(True)
    parser.StartElementHandler = lambda *_: declared.append(False)
    is_empty = True
    try:
        while not declared and (piece := file.read(PIECE)):
            is_empty = False
            parser.Parse(piece, False)  # noqa: FBT003 - its second argument has no name
    except (expat.ExpatError, ValueError, LookupError) as error:
        if not declared and part.lower().endswith((".xml", ".rels")):
            raise FileUnreadable(name, f"{part} is damaged", "open it and save it again, or fetch it again") from error
    if not declared and not is_empty and part.lower().endswith((".xml", ".rels")):
        raise FileUnreadable(name, f"{part} is damaged", "open it and save it again, or fetch it again")
    return declared[:1] == [True]
