"""Field `:86:` of MT940, with details of an entry: plain text, German subfields (`?20`), or SEPA tags (`/EREF/`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from connectors.files.bank.text import squeezed

NO_REFERENCE = ("NONREF", "NOTPROVIDED", "NOT PROVIDED", "KREF+")
"""Words instead of a reference. The last says that it is in `:86:`."""
FULL = 60
"""Characters of a line that a bank may have broken inside a word; the limit of the format is 65."""
_SUBFIELDS = re.compile(r"(?P<code>\d{3})?(?P<mark>[?~<^])(?=\d\d)")
_PURPOSE = (*range(20, 30), *range(60, 66))
_NAME, _IBAN = (32, 33), (38, 31)
_SEPA = re.compile(
    r"(?:^|(?<=[\0\s]))"
    r"(EREF|KREF|MREF|BREF|RREF|CRED|DEBT|COAM|OAMT|SVWZ|ABWA|ABWE|IBAN|BIC|PURP|ANAM|BNAM)[+:]"
)
_TAGS = re.compile(
    r"/(EREF|KREF|PREF|IREF|MARF|CSID|REMI|SVWZ|NAME|IBAN|BIC|TRTP|TRCD|RTRN|PURP|ISDT|CNTP|BENM|ORDP|ULTC|ULTD|ULTB"
    r"|ADDR|ACCW|EXCH|CHGS|CHGA|OCMT|ORIG|CREF|BUSP|INFO|ID|RREF|SUM|POD)/"
)
_FIRST = ("EREF", "REMI", "NAME", "IBAN", "CNTP")
"""Tags that may follow plain text; others there are part of it, such as a path."""
_UNSTRUCTURED = re.compile(r"^(USTD|STRD)/{1,2}")
_IBAN_FORM = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{10,30}")


@dataclass(frozen=True)
class Details:
    """The other side of an entry, according to the bank; None for unknown parts. `text` is its kind in words."""

    code: str | None = None
    end_to_end: str | None = None
    customer: str | None = None
    name: str | None = None
    iban: str | None = None
    purpose: str | None = None
    text: str | None = None


def details(lines: Sequence[str]) -> Details:
    """Read the lines of `:86:`, its tag left out."""
    match = _SUBFIELDS.match(lines[0]) if lines else None
    if match is not None:
        # Banks that use subfields break lines anywhere: a line end has no meaning.
        return _of_subfields(match["code"], _subfields("".join(lines)[match.start("mark") :], match["mark"]))
    text = _joined(lines)
    tags = _tagged(text)
    return _of_tags(tags) if tags else Details(purpose=squeezed(text))


def given(text: str | None) -> str | None:
    """Return a reference; None for a word that says there is none."""
    reference = squeezed(text)
    return None if reference is None or reference.upper() in NO_REFERENCE else reference


def _joined(lines: Sequence[str]) -> str:
    return "".join(line if len(line) >= FULL else line + " " for line in lines)


def _subfields(text: str, mark: str) -> Mapping[int, str]:
    parts = re.split(re.escape(mark) + r"(?=\d\d)", text)[1:]
    fields: dict[int, str] = {}
    for part in parts:
        number = int(part[:2])
        fields[number] = fields[number] + "\0" + part[2:] if number in fields else part[2:]
    return fields


def _of_subfields(code: str | None, fields: Mapping[int, str]) -> Details:
    purpose = "\0".join(fields[number] for number in _PURPOSE if number in fields)
    tags = _sepa(purpose)
    plain = purpose.replace("\0", "") if not tags else tags.get("SVWZ", tags.get("", ""))
    name = "".join(fields.get(number, "") for number in _NAME)
    account = next((squeezed(fields[number].replace("\0", "")) for number in _IBAN if fields.get(number)), None)
    return Details(
        code=code,
        end_to_end=given(tags.get("EREF")),
        customer=given(tags.get("KREF")),
        name=squeezed(name.replace("\0", "")) or squeezed(tags.get("ANAM")),
        iban=_account(tags.get("IBAN")) or account,
        purpose=squeezed(plain),
        text=squeezed(fields.get(0, "").replace("\0", "")),
    )


def _sepa(text: str) -> dict[str, str]:
    """Texts by tags like `EREF+`, the text before the first one by ''; nothing without a tag."""
    starts = list(_SEPA.finditer(text))
    if not starts:
        return {}
    values = {"": text[: starts[0].start()].replace("\0", "")}
    ends = [*(match.start() for match in starts[1:]), len(text)]
    for match, end in zip(starts, ends, strict=True):
        values.setdefault(match[1], text[match.end() : end].replace("\0", ""))
    return {name: value for name, value in values.items() if value.strip()} or {"": ""}


def _tagged(text: str) -> dict[str, str]:
    """Texts by tags like `/EREF/`; that before the first one by ''."""
    starts = list(_TAGS.finditer(text))
    has_text_before = bool(starts) and bool(text[: starts[0].start()].strip())
    if not starts or (has_text_before and starts[0][1] not in _FIRST):
        return {}
    values = {"": text[: starts[0].start()]}
    ends = [*(match.start() for match in starts[1:]), len(text)]
    for match, end in zip(starts, ends, strict=True):
        values.setdefault(match[1], text[match.end() : end])
    return values


def _of_tags(tags: Mapping[str, str]) -> Details:
    counterparty = tags.get("CNTP", "").split("/")
    remitted = _UNSTRUCTURED.sub("", tags.get("REMI", tags.get("SVWZ", "")).strip()).strip("/ ")
    name = tags.get("NAME", "").strip("/ ") or (counterparty[2] if len(counterparty) > 2 else "")
    return Details(
        end_to_end=given(_bare(tags.get("EREF"))),
        customer=given(_bare(tags.get("KREF") or tags.get("PREF"))),
        name=squeezed(name),
        iban=_account(_bare(tags.get("IBAN"))) or _account(counterparty[0]),
        purpose=squeezed(remitted) or squeezed(tags[""]),
        text=squeezed((tags.get("TRTP") or "").strip("/ ")),
    )


def _bare(text: str | None) -> str | None:
    return text.strip("/ ") if text is not None else None


def _account(text: str | None) -> str | None:
    match = _IBAN_FORM.match((text or "").replace(" ", ""))
    return match[0] if match else None
