"""A record of a JSON file with its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Located(NamedTuple):
    """`number` is its position in the file or the array, and `line` where it begins, both from 1."""

    number: int
    line: int
    record: Mapping[str, Any]
