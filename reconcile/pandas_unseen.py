"""Keeps pyarrow from loading pandas in processes of our own, which hold no frames."""

from __future__ import annotations

import sys


class _NoPandas:
    """An import hook for which there is no pandas."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def leave_pandas_alone() -> None:
    """pyarrow loads pandas, where installed, to look whether a value is a frame; that costs more than a small run.

    It looks once, here, and finds none. A connector that works with frames imports pandas as ever, and pyarrow
    then finds it. In Python programs, which may hold frames, nothing is done.
    """
    if "pandas" in sys.modules:
        return
    hook = _NoPandas()
    sys.meta_path.insert(0, hook)
    try:
        import pyarrow as pa  # noqa: PLC0415 - few commands need it

        pa.array([])
    finally:
        sys.meta_path.remove(hook)
