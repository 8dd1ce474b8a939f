"""The zip file of a workbook: a new version keeps the packed bytes of every part that did not change."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from connectors.workbook.editing.refusals import NotEditable

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s4B4H3L5H2L")
_LEVEL = 3
_END = struct.Struct("<4s4H2LH")
_ZIP64_LOCATOR = b"PK\x06\x07"
_SIZES_FOLLOW, _ZIP64 = 0x8, 0x0001
_KNOWN_FLAGS = 0x2 | 0x4 | _SIZES_FOLLOW | 0x800
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DESCRIPTORS = (12, 16, 20, 24)


@dataclass(frozen=True)
class Member:
    """A part in the file: the bytes from its local header to the next one, and its record in the directory."""

    info: zipfile.ZipInfo
    local: slice
    central: bytes


@dataclass(frozen=True)
class Package:
    """The zip file of a workbook. Raises NotEditable for one whose other parts could not be kept byte for byte."""

    data: bytes

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.members)

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def read(self, name: str) -> bytes:
        """The unpacked bytes of a part, in memory once. Raises NotEditable if it is damaged."""
        info = self.members[name].info
        start = info.header_offset
        name_size, extra_size = _LOCAL.unpack_from(self.data, start)[-2:]
        start += _LOCAL.size + name_size + extra_size
        packed = memoryview(self.data)[start : start + info.compress_size]
        unpacker = zlib.decompressobj(-15)
        try:
            is_stored = info.compress_type == zipfile.ZIP_STORED
            content = bytes(packed) if is_stored else unpacker.decompress(packed, info.file_size + 1)
        except zlib.error as error:
            raise NotEditable(f"its part {name} is damaged") from error
        if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
            raise NotEditable(f"its part {name} is damaged")
        return content

    @cached_property
    def members(self) -> Mapping[str, Member]:
        """The parts by name, in the order of the file's directory."""
        try:
            infos = self._archive.infolist()
        except (zipfile.BadZipFile, ValueError) as error:
            raise NotEditable("its zip file is truncated or damaged") from error
        if len({info.filename.lower() for info in infos}) < len(infos):
            raise NotEditable("two of its parts have the same name")
        records = self._records(len(infos))
        by_offset = sorted(infos, key=lambda info: info.header_offset)
        ends = [*(info.header_offset for info in by_offset[1:]), self._directory]
        if not infos or by_offset[0].header_offset:
            raise NotEditable("its zip file begins with bytes that belong to no part")
        spans = {}
        for info, end in zip(by_offset, ends, strict=True):
            self._check(info, end)
            spans[info.filename] = slice(info.header_offset, end)
        return {
            info.filename: Member(info, spans[info.filename], record)
            for info, record in zip(infos, records, strict=True)
        }

    @cached_property
    def _archive(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(io.BytesIO(self.data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise NotEditable("its zip file is truncated or damaged") from error

    @cached_property
    def _end(self) -> int:
        """The place of the end record."""
        place = len(self.data) - _END.size - len(self._archive.comment)
        if self.data[place : place + 4] != b"PK\x05\x06":
            raise NotEditable("its zip file ends with bytes that belong to no part")
        if self.data[max(place - 20, 0) : place].startswith(_ZIP64_LOCATOR):
            raise NotEditable("its zip file has 64-bit sizes (zip64), which are not edited")
        return place

    @cached_property
    def _directory(self) -> int:
        _, disk, its_disk, here, total, _, place, _ = _END.unpack_from(self.data, self._end)
        if disk or its_disk or here != total or place != self._archive.start_dir:
            raise NotEditable("its zip file has several volumes or wrong offsets")
        return int(place)

    def _records(self, number: int) -> list[bytes]:
        """The records of the directory, as bytes."""
        records, place = [], self._directory
        for _ in range(number):
            fields = _CENTRAL.unpack_from(self.data, place)
            if 0xFFFFFFFF in (fields[10], fields[11], fields[18]):
                raise NotEditable("its zip file has 64-bit sizes (zip64), which are not edited")
            size = _CENTRAL.size + sum(fields[12:15])
            records.append(self.data[place : place + size])
            place += size
        if place != self._end:
            raise NotEditable("its zip file has records that belong to no part, such as a signature")
        return records

    def _check(self, info: zipfile.ZipInfo, end: int) -> None:
        """Raise NotEditable unless the part is packed as this program can write it, without a gap behind it."""
        if info.compress_type not in _METHODS or info.flag_bits & ~_KNOWN_FLAGS:
            raise NotEditable(f"its part {info.filename} is packed in a way that is not edited")
        header = self.data[info.header_offset : info.header_offset + _LOCAL.size]
        if len(header) < _LOCAL.size or header[:4] != b"PK\x03\x04":
            raise NotEditable("its zip file is truncated or damaged")
        *_, name_size, extra_size = _LOCAL.unpack(header)
        gap = end - (info.header_offset + _LOCAL.size + name_size + extra_size + info.compress_size)
        if gap and not (info.flag_bits & _SIZES_FOLLOW and gap in _DESCRIPTORS):
            raise NotEditable("its zip file has bytes that belong to no part")

    def rewritten(self, changed: Mapping[str, bytes]) -> bytes:
        """The file with these parts changed; all other parts keep their packed bytes."""
        view = memoryview(self.data)
        pieces: list[bytes | memoryview] = []
        places: dict[str, int] = {}
        records: dict[str, bytes] = {}
        place = 0
        in_order = sorted(self.members.items(), key=lambda item: item[1].local.start)
        for name, member in in_order:
            places[name] = place
            if name in changed:
                parts, records[name] = _repacked(member, self.data, changed[name])
            else:
                parts, records[name] = [view[member.local]], member.central
            pieces += parts
            place += sum(map(len, parts))
        directory = [_placed(records[name], places[name]) for name in self.names]
        size = sum(map(len, directory))
        if place + size > 0xFFFFFFFE:
            raise NotEditable("it would be too large for a zip file without 64-bit sizes")
        comment = self._archive.comment
        end = _END.pack(b"PK\x05\x06", 0, 0, len(directory), len(directory), size, place, len(comment)) + comment
        return b"".join([*pieces, *directory, end])


def _placed(record: bytes, place: int) -> bytes:
    """The record of the directory for a part at that place."""
    return record[:42] + struct.pack("<L", place) + record[46:]


def _repacked(member: Member, data: bytes, content: bytes) -> tuple[list[bytes | memoryview], bytes]:
    """The local bytes and the record of a part with new content; its other fields stay, but for the place."""
    start = member.info.header_offset
    _, version, flags, method, *when, _, _, _, name_size, extra_size = _LOCAL.unpack_from(data, start)
    name_start = start + _LOCAL.size
    name = data[name_start : name_start + name_size]
    extra = _without_sizes(data[name_start + name_size : name_start + name_size + extra_size])
    packed = content if method == zipfile.ZIP_STORED else _deflated(content)
    sums = zlib.crc32(content), len(packed), len(content)
    flags &= ~_SIZES_FOLLOW
    header = _LOCAL.pack(b"PK\x03\x04", version, flags, method, *when, *sums, name_size, len(extra))
    fields = list(_CENTRAL.unpack_from(member.central))
    fields[5] &= ~_SIZES_FOLLOW
    fields[9:12] = sums
    return [header, name, extra, packed], _CENTRAL.pack(*fields) + member.central[_CENTRAL.size :]


def _deflated(content: bytes) -> bytes:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


def _without_sizes(extra: bytes) -> bytes:
    """The extra field without 64-bit sizes, which would be those of the former content."""
    kept, place = b"", 0
    while place + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, place)
        field = extra[place : place + 4 + size]
        kept += b"" if kind == _ZIP64 else field
        place += 4 + size
    return kept + extra[place:]
