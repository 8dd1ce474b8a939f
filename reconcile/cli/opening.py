"""Opening a project, the same for every command."""

from __future__ import annotations

import atexit
import contextlib
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from reconcile.cli import exits

MANY = 20_000
"""New objects between garbage collections, instead of 700: modules loaded during the work are no garbage."""

if TYPE_CHECKING:
    from reconcile.app import Application


def load(path: str | Path, *, needs_rules: bool = True) -> Application:
    """Load the project of a configuration file; see reconcile.app.load."""
    with ready_to_load():
        from reconcile import app

        return app.load(path, needs_rules=needs_rules)


def load_for_state(path: str | Path) -> Application:
    """Load it for a command that needs only the state; a line on standard error says if the stored release is used."""
    with ready_to_load():
        from reconcile import app

        application = app.load_for_state(path)
    if application.fallback is not None:
        exits.remark(application.fallback.sentence)
    return application


@contextlib.contextmanager
def ready_to_load() -> Iterator[None]:
    """Load the modules of a command fast; see `nothing_to_collect`."""
    from reconcile.detection.pandas_unseen import leave_pandas_alone

    leave_pandas_alone()
    gc.set_threshold(MANY)
    with nothing_to_collect():
        yield


@contextlib.contextmanager
def nothing_to_collect() -> Iterator[None]:
    """Keep modules out of garbage collection, now and during the run: they stay until the process ends."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)  # else DuckDB reports at the end that its own types have leaked
        gc.enable()
