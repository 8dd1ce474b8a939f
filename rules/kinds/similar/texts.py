"""Normalise texts before they are compared, on whole columns."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rules.kinds.similar.types import SemanticType
from rules.normalise.company import company
from rules.normalise.contact import mailbox
from rules.normalise.latin import latin
from rules.values import Value

_LETTERS = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}


def as_text(column: Any) -> Any:
    """Return a column of any type as text."""
    if pa.types.is_string(column.type):
        return column
    if pa.types.is_floating(column.type):
        whole = pc.equal(pc.round(column), column)
        safe = pc.and_(whole, pc.less(pc.abs(column), 1e15))
        integers = pc.if_else(safe, column, None).cast(pa.int64()).cast(pa.string())
        return pc.coalesce(integers, column.cast(pa.string()))
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        return pc.strftime(column, format="%Y-%m-%d").cast(pa.string())
    return column.cast(pa.string())


def folded(column: Any) -> Any:
    """Return texts in lower case without diacritics and without white space at the ends."""
    if _is_ascii(column):
        return pc.utf8_trim_whitespace(pc.ascii_lower(column))
    column = pc.utf8_lower(pc.utf8_normalize(column, form="NFKD"))
    column = pc.replace_substring_regex(column, r"\p{Mn}+", "")
    for letter, replacement in _LETTERS.items():
        column = pc.replace_substring(column, letter, replacement)
    return pc.utf8_trim_whitespace(column)


def _only_words(column: Any) -> Any:
    column = pc.replace_substring_regex(column, r"['’`.]+", "")
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(column, r"[^\p{L}\p{N}]+", " "))


def _code(column: Any) -> Any:
    return pc.replace_substring_regex(column, r"[^\p{L}\p{N}]+", "")


def _postcode(column: Any) -> Any:
    return pc.replace_substring_regex(_code(column), r"^([0-9]{5})0+$", r"\1")


def normalised(column: Any, semantic_type: SemanticType) -> Any:
    """Return a column as it is compared: equal texts are the same value. Empty texts become null."""
    text = folded(_in_latin_letters(as_text(column), semantic_type))
    match semantic_type:
        case SemanticType.PHONE:
            text = pc.replace_substring_regex(_replaced(text, _BETWEEN_PHONES, _phones), rf"[^0-9{SEVERAL}]+", "")
        case SemanticType.DATE:
            text = _day(text)
        case SemanticType.POSTCODE:
            text = _code(text)
        case SemanticType.EMAIL:
            text = pc.replace_substring_regex(_replaced(text, _AROUND_ADDRESSES, _addresses), r"\s+|^mailto:", "")
            text = _replaced(text, _TAGGED, _mailboxes)
        case SemanticType.GIVEN_NAME | SemanticType.SURNAME | SemanticType.CITY:
            text = _only_words(text)
        case _:
            text = pc.utf8_trim_whitespace(pc.replace_substring_regex(text, r"\s+", " "))
    return pc.if_else(pc.equal(text, ""), None, text)


def compared(values: Mapping[str, Value], types: Mapping[str, SemanticType]) -> dict[str, Value]:
    """Return the values of one record as they are compared, without empty ones.

    Instants are left out, since their day depends on the time zone of their dataset.
    """
    texts = {}
    for name, semantic_type in types.items():
        value = values.get(name)
        if value is not None and not isinstance(value, dt.datetime):
            column = pa.array([str(value) if type(value) is int else value])
            texts[name] = normalised(column, semantic_type)[0].as_py()
    return {name: text for name, text in texts.items() if text is not None}


def _in_latin_letters(text: Any, semantic_type: SemanticType) -> Any:
    """Return texts of other scripts in Latin letters."""
    if _is_ascii(text):
        return text
    # The legal forms of other scripts are known only there.
    spelled = (lambda name: latin(company(name))) if semantic_type is SemanticType.COMPANY else latin
    return _replaced(text, r"[^\p{Latin}\p{Common}\p{Inherited}]", spelled)


def _is_ascii(column: Any) -> bool:
    return pc.all(pc.string_is_ascii(column)).as_py() in {True, None}


def _replaced(text: Any, pattern: str, replacement: Callable[[str], str]) -> Any:
    """Return texts of which those that match the pattern are replaced; each distinct one is replaced once."""
    if not pc.any(pc.match_substring_regex(text, pattern)).as_py():
        return text
    whole = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    encoded = whole.dictionary_encode()
    values = encoded.dictionary
    chosen = pc.match_substring_regex(values, pattern)
    replaced = pa.array([replacement(value) for value in values.filter(chosen).to_pylist()], pa.string())
    return pc.replace_with_mask(values, chosen, replaced).take(encoded.indices)


SEVERAL = ";"
"""Between the values of a cell that has several, in order."""
_SHORTEST_PHONE = 7
_BETWEEN_PHONES, _AROUND_ADDRESSES = r"[;,|/\n]", r"[\s;,|/<>()\"]"
_ADDRESS = re.compile(r"(?:mailto:)?([^\s;,|/<>()\":]+@[^\s;,|/<>()\":]+)")


def _phones(text: str) -> str:
    """Return the numbers of a cell; what is too short to be a number is part of one, as in 030/1234567."""
    parts = [number for part in re.split(r"[;,|\n]", text) for number in _numbers(re.split("/", part))]
    return SEVERAL.join(sorted(set(_numbers(parts))))


def _numbers(parts: Sequence[str]) -> list[str]:
    """Return the digits of each part, or all as one number if one of them is too short."""
    numbers_read = list(filter(None, (re.sub(r"[^0-9]+", "", part) for part in parts)))
    is_one = any(len(number) < _SHORTEST_PHONE for number in numbers_read)
    return ["".join(numbers_read)] if is_one else numbers_read


def _addresses(text: str) -> str:
    """Return the e-mail addresses of a cell, without the names around them; a text without any stays."""
    return SEVERAL.join(sorted(set(_ADDRESS.findall(text)))) or text.replace(SEVERAL, "")


_TAGGED = r"\+[^@;]*@|\.[^@;]*@g(?:oogle)?mail\.com|@googlemail\.com"


def _mailboxes(text: str) -> str:
    """Return addresses as mailboxes: ann+shop@x.org is ann@x.org."""
    return SEVERAL.join(sorted({mailbox(address) or address for address in text.split(SEVERAL)}))


def _day(text: Any) -> Any:
    """Return dates in one form, 2024-03-01; other texts unchanged."""
    for form in DATE_FORMS:
        parts = pc.extract_regex(text, form)
        year, month, day = (pc.struct_field(parts, name) for name in ("y", "m", "d"))
        written = pc.binary_join_element_wise(
            year, *(pc.utf8_lpad(part, 2, "0") for part in (month, day)), "-", null_handling="emit_null"
        )
        text = pc.coalesce(written, text)
    return pc.utf8_trim_whitespace(text)


DATE_FORMS = (
    r"^(?P<y>[0-9]{4})[-/. ]?(?P<m>[0-9]{1,2})[-/. ]?(?P<d>[0-9]{1,2})(?:[ t].*)?$",
    r"^(?P<d>[0-9]{1,2})[-/. ](?P<m>[0-9]{1,2})[-/. ](?P<y>[0-9]{4})(?:[ t].*)?$",
)
"""Forms of dates: year, month and day, or day, month and year, and perhaps a time."""


def skeleton(column: Any) -> Any:
    """Return the consonants of names after the first letter, each run once: equal for most ways to spell a sound."""
    for pattern, replacement in _SOUNDS:
        column = pc.replace_substring_regex(column, pattern, replacement)
    first, rest = pc.utf8_slice_codeunits(column, 0, 1), pc.utf8_slice_codeunits(column, 1)
    return pc.binary_join_element_wise(first, pc.replace_substring_regex(rest, r"[aeiouyhw ]+", ""), "")


_SOUNDS = (
    (r"ph", "f"),
    (r"ck|q|c", "k"),
    (r"z", "s"),
    (r"dt|th", "t"),
    (r"v", "f"),
    (r"bb+", "b"),
    (r"dd+", "d"),
    (r"ff+", "f"),
    (r"kk+", "k"),
    (r"ll+", "l"),
    (r"mm+", "m"),
    (r"nn+", "n"),
    (r"pp+", "p"),
    (r"rr+", "r"),
    (r"ss+", "s"),
    (r"tt+", "t"),
)


def numbers(column: Any) -> Any:
    """Return a column of amounts as floats, NaN where there is none: texts may hold currencies and separators."""
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type) or pa.types.is_decimal(column.type):
        return np.asarray(pc.fill_null(column.cast(pa.float64()), np.nan), dtype=np.float64)
    text = pc.replace_substring_regex(as_text(column), r"[^0-9.,()-]+", "")
    text = pc.replace_substring_regex(text, r"^\((.*)\)$", r"-\1")
    text = pc.replace_substring_regex(text, r"^(.*)-$", r"-\1")
    text = pc.replace_substring_regex(text, r"^(-?[0-9.]*),([0-9]{1,2})$", r"\1;\2")  # 1.234,50
    text = pc.if_else(pc.match_substring(text, ";"), pc.replace_substring(text, ".", ""), text)
    text = pc.replace_substring(pc.replace_substring(text, ",", ""), ";", ".")
    readable = pc.match_substring_regex(text, r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)$")
    return np.asarray(pc.fill_null(pc.if_else(readable, text, None).cast(pa.float64()), np.nan), dtype=np.float64)
