"""A record as a rule compares it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rules.values import RecordId, Value


@dataclass(frozen=True)
class Sample:
    """A record as a rule compares it. `compared` holds each compared column, with its value before and after
    normalising; `values` are the raw values of the columns that a finding shows. `dataset` is as in `Member`.
    """

    id: RecordId
    values: Mapping[str, Value]
    compared: tuple[tuple[str, Value, Value], ...]
    dataset: str | None = None
