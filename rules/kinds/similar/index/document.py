"""Arrays and a few facts as one document of bytes, compressed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Array = NDArray[Any]
FORM = 1
"""Raised by a release that reads documents, compares values or finds candidates in another way."""
_LENGTH = 8
_LEVEL = 1


class Unreadable(Exception):
    """The document is damaged or of another release."""


def packed(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """Return JSON facts and one-dimensional arrays as one document."""
    codec = pa.Codec("zstd", compression_level=_LEVEL)
    listed, contents = [], []
    for name, array in arrays.items():
        # Bytes of the same weight side by side: the high ones of small numbers are all alike.
        shuffled = np.ascontiguousarray(array).view(np.uint8).reshape(len(array), array.dtype.itemsize).T.tobytes()
        compressed = codec.compress(shuffled, asbytes=True) if shuffled else b""
        listed.append([name, array.dtype.str, len(array), len(compressed)])
        contents.append(compressed)
    heading = json.dumps({"form": FORM, "facts": facts, "arrays": listed}).encode()
    return b"".join([len(heading).to_bytes(_LENGTH, "little"), heading, *contents])


def unpacked(document: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the facts and arrays of a document. Raises Unreadable."""
    try:
        return _unpacked(memoryview(document))
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise Unreadable from error


def _unpacked(document: memoryview) -> tuple[dict[str, Any], dict[str, Array]]:
    begin = _LENGTH + int.from_bytes(document[:_LENGTH], "little")
    heading = json.loads(bytes(document[_LENGTH:begin]))
    if heading["form"] != FORM:
        raise Unreadable
    codec = pa.Codec("zstd")
    arrays: dict[str, Array] = {}
    for name, kind, length, size in heading["arrays"]:
        dtype = np.dtype(kind)
        content = b""
        if size:
            content = codec.decompress(document[begin : begin + size], length * dtype.itemsize, asbytes=True)
        begin += size
        shuffled = np.frombuffer(content, dtype=np.uint8).reshape(dtype.itemsize, length)
        arrays[name] = np.ascontiguousarray(shuffled.T).reshape(-1).view(dtype)
    return heading["facts"], arrays
