"""Slow sources that can begin to read while other work is done."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from connectors.base import Source


@runtime_checkable
class Ahead(Source, Protocol):
    """A source that can begin reading early."""

    def begin(self, dataset: Any) -> None:
        """Start the reading for `describe` and `scan` and return at once; those report later errors.

        Raises a ConnectorError that is known at once; they raise it too.
        """
