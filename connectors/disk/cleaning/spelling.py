"""How a planned text is written in a file, as the column's declared type is written there."""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from connectors.coerce import Coercion
from connectors.declared import Declared, Notation
from connectors.disk.cleaning.contents import Unwritable

_TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000}


@functools.lru_cache(maxsize=10_000)
def spelled(text: str, kind: Declared | None, notation: Notation) -> str:
    """Write a planned text as the column's declared type is written in its file.

    A text that means a value in plain notation (1234.5, 2026-03-01) gets the file's own. Raises Unwritable.
    """
    if text in ("", *notation.null_values):
        raise Unwritable("it would be read as null")
    if kind is None or kind.word == "text":
        return text
    plain = _value(text, Declared(kind.word, kind.precision, kind.scale), Notation(timezone=notation.timezone))
    value = _value(text, kind, notation) if plain is None else plain
    if value is not None:
        for spelling in _spellings(text, value, kind, notation):
            if spelling not in notation.null_values and _value(spelling, kind, notation) == value:
                return spelling
    raise Unwritable(f"it would not be read as this {kind.word}")


def _spellings(text: str, value: Any, kind: Declared, notation: Notation) -> Iterator[str]:
    if isinstance(value, dt.datetime) and kind.epoch:
        ticks = Decimal(value.timestamp()).quantize(Decimal("0.000001")) * _TICKS[kind.epoch]
        yield format(ticks.normalize(), "f")
    if isinstance(value, dt.datetime):
        value = value.astimezone(ZoneInfo(notation.timezone))
    if isinstance(value, dt.date):
        for form in kind.formats:
            yield value.strftime(re.sub("%-?Y", f"{value.year:04}", form))
    if kind.word in ("decimal", "float"):
        yield text.replace(".", notation.mark)
    yield text


def _value(text: str, kind: Declared, notation: Notation) -> Any:
    return values([text], "value", kind, replace(notation, null_values=()))[0]


def values(texts: Sequence[str | None], name: str, kind: Declared, notation: Notation) -> list[Any]:
    """The values of texts as a scan reads them."""
    coercion = Coercion(pa.schema([(name, pa.string())]), {name: kind}, notation)
    try:
        array = pa.array(texts, pa.string())
        read: list[Any] = coercion.batch(pa.RecordBatch.from_arrays([array], names=[name])).column(0).to_pylist()
    finally:
        coercion.close()
    return read
