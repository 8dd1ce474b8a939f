"""Forms with a file, as browsers send them (RFC 7578), read by the standard library's parser of MIME."""

from __future__ import annotations

from dataclasses import dataclass
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser
from email.policy import HTTP

_MOST_PARTS = 100


@dataclass(frozen=True)
class Part:
    """A field of a form; `file` is the name of the file that was chosen, None for another field."""

    name: str
    file: str | None
    content: bytes


def parts_of(kind: str, body: bytes) -> list[Part]:
    """Return the parts of a body whose content type is `kind`. Raises ValueError."""
    head = b"Content-Type: " + kind.encode("ascii").replace(b"\r", b"").replace(b"\n", b"") + b"\r\n\r\n"
    try:
        message = BytesParser(EmailMessage, policy=HTTP).parsebytes(head + body)
        parts = list(map(_part, message.iter_parts())) if message.is_multipart() else []
    except LookupError:  # the parser's answer to some headers that are none
        raise ValueError("A part of the body has no readable head") from None
    if message.defects or not parts or len(parts) > _MOST_PARTS:
        raise ValueError("The body is not the parts of a form, between boundaries")
    return parts


def _part(part: MIMEPart) -> Part:
    name, content = part.get_param("name", header="content-disposition"), part.get_payload(decode=True)
    if not isinstance(name, str) or not isinstance(content, bytes):
        raise ValueError("A part of the body has no name")  # noqa: TRY004 - the body is wrong, not a type
    return Part(name, part.get_filename(), content)
