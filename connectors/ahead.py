"""Sources that take their time, and can take it while something else is done."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from connectors.base import Source


@runtime_checkable
class Ahead(Source, Protocol):
    """A source that can begin before it is asked."""

    def begin(self, dataset: Any) -> None:
        """Start reading what `describe` and `scan` will need, and return at once. What goes wrong is told there.

        Raises a ConnectorError where it is known at once; they raise it too.
        """
