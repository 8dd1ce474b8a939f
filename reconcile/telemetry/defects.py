"""Errors that are defects of Reconcile: shown without their message, with a file to report."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import os
import stat
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from reconcile.errors import Failed, Refused, Wrong

_CODES = (Wrong.exit_code, Failed.exit_code, Refused.exit_code)
KEPT = 50
"""Reports in the temporary folder, the newest; older ones are deleted."""
KEPT_DAYS = 30
_PREFIX = "reconcile-defect-"
_HARMLESS = (TypeError, AttributeError, NameError, ImportError)
"""Their messages hold names from our code; messages of other errors can hold data and are left out."""


def is_defect(error: Exception) -> bool:
    """Return True unless the error's class carries one of our exit codes."""
    return getattr(type(error), "exit_code", None) not in _CODES


def sentence(error: Exception, *, left: str = "finished work is kept") -> str:
    """Return the sentence for a defect, which names the file that it is written to; `left` is what stays, as a clause.

    The same defect again is reported in the same file.
    """
    return (
        f"Reconcile itself failed ({type(error).__name__}), which is a defect; {left}. "
        f"Please report it with the file {_report(error)}"
    )


def _report(error: Exception) -> str:
    """Return a file with the traceback that only this user can read; it holds code, no records and no secrets.

    Old reports are deleted: whoever can repeat a defect must not be able to fill the disk.
    """
    text = "".join(_traceback(error))
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
    earlier = _kept()
    for path in earlier:
        if path.name.endswith(f"-{digest}.txt"):
            return str(path)
    stamp = dt.datetime.now(dt.UTC).strftime("%Y%m%dT%H%M%S")
    handle, name = tempfile.mkstemp(prefix=f"{_PREFIX}{stamp}-", suffix=f"-{digest}.txt")
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    for path in earlier[KEPT - 1 :]:
        _delete(path)
    return name


def _kept() -> list[Path]:
    """Return the reports of this user, the newest first; those that are too old are deleted."""
    kept: list[tuple[float, Path]] = []
    with contextlib.suppress(PermissionError), os.scandir(tempfile.gettempdir()) as entries:  # nobody may list it
        for entry in entries:
            if not entry.name.startswith(_PREFIX):
                continue
            try:
                about = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # another process deleted it meanwhile
                continue
            if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid():
                continue
            if time.time() - about.st_mtime > KEPT_DAYS * 86_400:
                _delete(Path(entry.path))
            else:
                kept.append((about.st_mtime, Path(entry.path)))
    return [path for _, path in sorted(kept, reverse=True)]


def _delete(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError, PermissionError):  # another process did, or the folder is not ours
        path.unlink()


def _traceback(error: BaseException) -> Iterator[str]:
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        yield from _traceback(before)
        yield "\nand then\n\n"
    yield from traceback.format_tb(error.__traceback__)
    kind = type(error)
    message = str(error) if isinstance(error, _HARMLESS) else "(its message may hold data, so it is left out)"
    yield f"{kind.__module__}.{kind.__qualname__}: {message}\n"
