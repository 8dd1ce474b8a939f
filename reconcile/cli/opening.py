"""How every command opens its project."""

from __future__ import annotations

import atexit
import contextlib
import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reconcile.app import Application


def load(path: str | Path) -> Application:
    """The project of a configuration file; see reconcile.app.load."""
    with _nothing_to_collect():
        _leave_pandas_alone()
        from reconcile.app import load as open_project

        return open_project(path)


@contextlib.contextmanager
def _nothing_to_collect() -> Iterator[None]:
    """Modules stay until the process ends: looking for garbage among them, now or during the run, finds none."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)  # else DuckDB reports at the end that its own types have leaked
        gc.enable()


class _NoPandas:
    """An import hook for which there is no pandas."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def _leave_pandas_alone() -> None:
    """pyarrow loads pandas, where installed, to look whether a value is a frame; that costs more than a small run.

    It looks once, here, and finds none. A connector that works with frames imports pandas as ever, and pyarrow
    then finds it. In Python programs, which may hold frames, nothing is done.
    """
    if "pandas" in sys.modules:
        return
    hook = _NoPandas()
    sys.meta_path.insert(0, hook)
    try:
        import pyarrow as pa

        pa.array([])
    finally:
        sys.meta_path.remove(hook)
