"""Forms with a file, as browsers send them (RFC 7578)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BOUNDARY = re.compile(r'boundary=(?:"([^"]{1,70})"|([^\s";]{1,70}))', re.IGNORECASE)
_NAME = re.compile(r'(?:^|[\s;])name="([^"]*)"')
_FILE = re.compile(r'[\s;]filename="([^"]*)"')
_MOST_PARTS = 100


@dataclass(frozen=True)
class Part:
    """A field of a form; `file` is the name of the file that was chosen, None for another field."""

    name: str
    file: str | None
    content: bytes


def parts_of(kind: str, body: bytes) -> list[Part]:
    """Return the parts of a body whose content type is `kind`. Raises ValueError."""
    boundary = _BOUNDARY.search(kind)
    if boundary is None:
        raise ValueError("The content type has no boundary")
    delimiter = b"\r\n--" + (boundary[1] or boundary[2]).encode("ascii")
    first, *sections = (b"\r\n" + body).split(delimiter, _MOST_PARTS + 1)
    if first or not sections or not sections[-1].startswith(b"--"):
        raise ValueError("The body does not begin and end with its boundary")
    return list(_parts(sections[:-1]))


def _parts(sections: list[bytes]) -> Iterator[Part]:
    for section in sections:
        head, blank, content = section.partition(b"\r\n\r\n")
        described = next((line for line in head.decode().split("\r\n") if _is_disposition(line)), "")
        name, file = _NAME.search(described), _FILE.search(described)
        if not blank or name is None:
            raise ValueError("A part of the body has no name")
        yield Part(name[1], None if file is None else file[1], content)


def _is_disposition(line: str) -> bool:
    return line.lower().startswith("content-disposition: form-data")
