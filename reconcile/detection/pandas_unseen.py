"""Keeps pyarrow from loading pandas in processes of our own, which hold no frames."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class _NoPandas:
    """An import hook for which there is no pandas."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


class _Watch:
    """An import hook that has pyarrow look for pandas as soon as it is loaded itself, by whoever needs it first."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == "pyarrow" else None
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def load_and_look(module: ModuleType) -> None:
            sys.meta_path.remove(_Watch)
            load(module)
            _look()

        spec.loader.exec_module = load_and_look  # type: ignore[method-assign]
        return spec


def leave_pandas_alone() -> None:
    """pyarrow loads pandas, where installed, to look whether a value is a frame; that costs more than a small run.

    It looks once, as soon as it is loaded, and finds none. A connector that works with frames imports pandas as ever,
    and pyarrow then finds it. In Python programs, which may hold frames, nothing is done.
    """
    if "pandas" in sys.modules:
        return
    if "pyarrow" in sys.modules:
        _look()
    elif _Watch not in sys.meta_path:
        sys.meta_path.insert(0, _Watch)


def _look() -> None:
    hook = _NoPandas()
    sys.meta_path.insert(0, hook)
    try:
        import pyarrow as pa  # noqa: PLC0415 - few commands need it

        pa.array([])
    finally:
        sys.meta_path.remove(hook)
