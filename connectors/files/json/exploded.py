"""Make a record of each element of a list inside a record: `explode: lines`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from connectors.errors import FileUnreadable
from connectors.files.json.located import Located

Placed = Callable[[Located], str]


@dataclass(frozen=True)
class Exploding:
    """The list at a path like `lines` or `order.lines`. A record without elements stays one record."""

    path: str

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        return tuple(self.path.split("."))

    def records(self, located: Located, place: Placed) -> Iterator[Located]:
        """Yield the record once for each element, which takes the place of the list. Raises FileUnreadable."""
        elements = self._elements(located, place)
        if elements is None:
            yield located
        for element in () if elements is None else elements or [None]:
            yield located._replace(record=_replaced(located.record, self._keys, element))

    def times(self, located: Located, place: Placed) -> int:
        """Return how many records `records` yields."""
        return max(1, len(self._elements(located, place) or ()))

    def columns(self, located: Located, place: Placed) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the name and the path of each column that the elements of a record have. Raises FileUnreadable."""
        for element in self._elements(located, place) or ():
            if isinstance(element, dict):
                yield from ((f"{self.path}.{key}", (*self._keys, key)) for key in element)
            elif element is not None:
                yield self.path, self._keys

    def is_met(self, record: Mapping[str, Any]) -> bool:
        """Return True if the record has the key of the list, even if it is null."""
        value: Any = record
        for key in self._keys:
            if not isinstance(value, dict) or key not in value:
                return False
            value = value[key]
        return True

    def _elements(self, located: Located, place: Placed) -> Sequence[Any] | None:
        """The elements; None without a list. Raises FileUnreadable for any other value."""
        value: Any = located.record
        for key in self._keys:
            if value is None:
                return None
            if not isinstance(value, dict):
                break
            value = value.get(key)
        if value is None or isinstance(value, list):
            return value
        raise FileUnreadable(
            place(located), f"`{self.path}` is not a list", "choose another `explode`, or write it as a list"
        )


def _replaced(record: Mapping[str, Any], keys: Sequence[str], element: Any) -> dict[str, Any]:
    first, *rest = keys
    return {**record, first: _replaced(record[first], rest, element) if rest else element}
