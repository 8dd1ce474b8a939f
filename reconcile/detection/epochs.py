"""Recognise columns of whole numbers that are times since 1970, by their name and their values.

Both must agree: a number of ten digits is as often an id, a telephone number or an amount in cents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyarrow as pa

from reconcile.detection.subject import Subject

SAMPLE = 1_000
_FIRST, _LAST = 946_684_800, 4_102_444_800
"""Seconds from 1970 to the years 2000 and 2100, between which times of records are plausible."""
_FACTORS = {"s": 1, "ms": 1_000, "us": 1_000_000}
_DIGITS = re.compile("[0-9]{9,16}")
_WORDS = re.compile("[A-Z]?[a-z]+|[A-Z]+")
_UNITS = re.compile("s|secs?|seconds?|ms|millis|us|micros|utc|unix|epoch")
_TIMES = re.compile(
    "at|on|time|date|datetime|timestamp|ts|created|updated|modified|changed|inserted|deleted|charged|paid|booked|posted"
    "|ordered|received|sent|expires|expiry|due|start|end|since|until|seen|login|datum|zeit"
)


def declaration(name: str, texts: Iterable[str]) -> str | None:
    """Return the type that reads a column as times since 1970; None if its name or a value speaks against it."""
    numbers = [int(text) if _DIGITS.fullmatch(text) else -1 for text in texts]
    if not numbers or not names_time(name):
        return None
    units = (unit for unit, factor in _FACTORS.items() if _FIRST * factor <= min(numbers) <= max(numbers))
    unit = next((unit for unit in units if max(numbers) < _LAST * _FACTORS[unit]), None)
    return None if unit is None else f"instant epoch {unit}"


def names_time(name: str) -> bool:
    """Return True if a column's name says that it holds times: `created`, `updatedAt`, `ts_ms`."""
    words = [word.lower() for word in _WORDS.findall(name)]
    while words and _UNITS.fullmatch(words[-1]):
        words.pop()
        if not words:
            return True
    return bool(words) and _TIMES.fullmatch(words[-1]) is not None


def of_integers(subject: Subject) -> dict[str, str]:
    """Return the types of undeclared columns of integers that are times. Raises a ConnectorError like a scan."""
    settings = subject.dataset.settings
    schema = subject.source.describe(settings)
    names = [
        field.name
        for field in schema
        if pa.types.is_integer(field.type) and field.name not in settings.columns and names_time(field.name)
    ]
    if not names:
        return {}
    scan = subject.source.scan(settings, names)
    try:
        batch = next(iter(scan.reader), None)
    finally:
        scan.close()
    columns = {} if batch is None else batch.slice(0, SAMPLE).to_pydict()
    texts = {name: [str(value) for value in values if value is not None] for name, values in columns.items()}
    return {name: word for name, values in texts.items() if (word := declaration(name, values)) is not None}
