"""Errors that are defects of Reconcile: told without their message, with a file to report."""

from __future__ import annotations

import datetime as dt
import os
import tempfile
import traceback
from collections.abc import Iterator

from reconcile.errors import Failed, Refused, Wrong

_CODES = (Wrong.exit_code, Failed.exit_code, Refused.exit_code)
_HARMLESS = (TypeError, AttributeError, NameError, ImportError)
"""Their messages hold names from our code; messages of other errors can hold data and are left out."""


def is_defect(error: Exception) -> bool:
    """Return True unless the error's class carries one of our exit codes."""
    return getattr(type(error), "exit_code", None) not in _CODES


def sentence(error: Exception, *, left: str = "finished work is kept") -> str:
    """Return the sentence for a defect, which names the file that it is written to; `left` is what stays, as a clause.

    Call it once for an error: each call writes a file.
    """
    return (
        f"Reconcile itself failed ({type(error).__name__}), which is a defect; {left}. "
        f"Please report it with the file {_report(error)}"
    )


def _report(error: Exception) -> str:
    """Write the traceback to a file that only this user can read; it holds code, no records and no secrets."""
    stamp = dt.datetime.now(dt.UTC).strftime("%Y%m%dT%H%M%S")
    handle, path = tempfile.mkstemp(prefix=f"reconcile-defect-{stamp}-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.writelines(_traceback(error))
    return path


def _traceback(error: BaseException) -> Iterator[str]:
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        yield from _traceback(before)
        yield "\nand then\n\n"
    yield from traceback.format_tb(error.__traceback__)
    kind = type(error)
    message = str(error) if isinstance(error, _HARMLESS) else "(its message may hold data, so it is left out)"
    yield f"{kind.__module__}.{kind.__qualname__}: {message}\n"
