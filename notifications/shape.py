"""A notice as plain JSON: what the outbox stores and what the webhook sends. Version 1 only ever gains fields."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from notifications.base import Notice

if TYPE_CHECKING:
    from pydantic import TypeAdapter

VERSION = 1


@functools.cache
def _adapter() -> TypeAdapter[Notice]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - built once, and only where a notice is stored or sent

    return TypeAdapter(Notice)


def to_json(notice: Notice) -> dict[str, Any]:
    """The notice as values JSON knows: amounts as text, times as ISO 8601."""
    return {"version": VERSION, **_adapter().dump_python(notice, mode="json")}


def from_json(stored: Mapping[str, Any]) -> Notice:
    """The notice that `to_json` wrote. Raises ValueError when it is none."""
    return _adapter().validate_python({name: value for name, value in stored.items() if name != "version"})
