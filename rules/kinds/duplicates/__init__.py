"""Records of one dataset with the same key, more than one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rules.kinds.duplicates.model import DuplicatesRule, Span

if TYPE_CHECKING:
    from rules.kinds.duplicates.detection import (
        detect,
        explain,
        guarded,
        named_columns,
        needed_columns,
        pushdown_obstacle,
    )
    from rules.kinds.duplicates.fitted import check

__all__ = [
    "DuplicatesRule",
    "Span",
    "check",
    "detect",
    "explain",
    "guarded",
    "named_columns",
    "needed_columns",
    "pushdown_obstacle",
]


def __getattr__(name: str) -> Any:
    """What detects is loaded when asked for: reading a configuration must not wait for the engines."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rules.kinds.duplicates import detection, fitted  # noqa: PLC0415 - see above

    return getattr(fitted if name == "check" else detection, name)
