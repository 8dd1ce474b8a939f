"""What is looked at before a workbook is opened: that it is one, and that it does not unpack into a bomb."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from connectors.errors import FileRefused, FileUnreadable

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
LOCKED = "EncryptedPackage".encode("utf-16-le")
PARTS = 10_000
RATIO = 400
SMALL = 16 << 20
CHUNK = 1 << 20
FORBIDDEN = (b"<!DOCTYPE", b"<!ENTITY")


@dataclass(frozen=True)
class Limits:
    """Bytes a workbook may unpack to, bytes of memory and seconds of processor time its reading may take."""

    unpacked: int
    memory: int
    seconds: int


def kind_of(path: Path, limits: Limits) -> str:
    """xlsx, ods or xls, by content. Raises FileUnreadable or FileRefused: locked, cut, renamed, too large."""
    name = path.name
    with path.open("rb") as file:
        start = file.read(len(OLE))
        if start == OLE:
            return _old(name, path)
    if start[:2] != b"PK":
        said = "it is empty" if not start else "it is no workbook: it begins like another kind of file"
        raise FileUnreadable(name, said, "save it as .xlsx; CSV files belong to a source of type files")
    try:
        with zipfile.ZipFile(path) as archive:
            parts = {one.filename: one for one in archive.infolist()}
            _weigh(name, archive.infolist(), path.stat().st_size, limits)
            _plain(name, archive, parts, limits)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
        raise FileUnreadable(
            name, "the workbook is cut or damaged", "open it, save it again, or fetch it anew"
        ) from error
    if "content.xml" in parts:
        return "ods"
    if "xl/workbook.xml" in parts:
        return "xlsx"
    raise FileUnreadable(name, "it is a zip file but no workbook", "save it as .xlsx or .ods")


def _old(name: str, path: Path) -> str:
    with path.open("rb") as file:
        if LOCKED in file.read(SMALL):
            raise FileUnreadable(name, "the workbook is locked with a password", "save it without one")
    if path.suffix.lower() != ".xls":
        raise FileUnreadable(name, "it is an old .xls workbook under another name", "rename it, or save it as .xlsx")
    return "xls"


def _weigh(name: str, parts: list[zipfile.ZipInfo], size: int, limits: Limits) -> None:
    unpacked = sum(one.file_size for one in parts)
    packed = sum(one.compress_size for one in parts)
    dense = any(one.file_size > SMALL and one.file_size > RATIO * max(one.compress_size, 1) for one in parts)
    if len(parts) > PARTS or packed > size or dense or unpacked > limits.unpacked:
        raise FileRefused(
            name,
            f"it unpacks to {unpacked:,} bytes in {len(parts):,} parts, more than a workbook of {size:,} bytes should",
            f"if it is honest, raise `max_unpacked` over {limits.unpacked:,} or split it",
        )


def _plain(name: str, archive: zipfile.ZipFile, parts: Mapping[str, zipfile.ZipInfo], limits: Limits) -> None:
    """Small parts hold no document type and no entities; sheets are checked as they are read."""
    for part, info in parts.items():
        if info.flag_bits & 1:
            raise FileUnreadable(name, "the workbook is locked with a password", "save it without one")
        if part.endswith((".xml", ".rels")):
            with archive.open(info) as file:
                head = file.read(min(CHUNK, limits.unpacked))
            if any(one in head for one in FORBIDDEN):
                raise FileRefused(name, f"{part} declares a document type or entities", "save it again from Excel")
