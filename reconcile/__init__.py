"""Find records that exist twice or disagree, tell people, keep proof. The public face of the Python API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reconcile.app import Application, load
    from reconcile.detection.frames import find_duplicates

__reconcile__ = True  # `reconcile doctor` checks this mark: another distribution can silently replace our package.
__version__ = "0.1.0"
__all__ = ["Application", "__version__", "find_duplicates", "load"]

_PLACES = {"Application": "reconcile.app", "load": "reconcile.app", "find_duplicates": "reconcile.detection.frames"}


def __getattr__(name: str) -> Any:
    """Loaded when asked for: `reconcile version` must not wait for DuckDB."""
    if name not in _PLACES:
        raise AttributeError(f"module 'reconcile' has no attribute {name!r}")
    import importlib  # noqa: PLC0415 - see above

    return getattr(importlib.import_module(_PLACES[name]), name)
