"""Exit codes, and the one sentence for everything that can go wrong. The codes are listed in docs/cli.md."""

from __future__ import annotations

import contextlib
import datetime as dt
import importlib
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator

DONE = 0
FOUND = 1
WRONG = 2
FAILED = 3
REFUSED = 4
DEFECT = 70

_ORDER = (DEFECT, WRONG, REFUSED, FAILED, FOUND, DONE)
_PACKAGES = ("reconcile", "rules", "connectors", "notifications")


def first_that_applies(*codes: int) -> int:
    """Of several exit codes the one that counts."""
    return next(code for code in _ORDER if code in (*codes, DONE))


class AnswerNotWritten(Exception):
    """Standard output takes nothing more."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"The answer could not be written to standard output: {error.strerror}")


def stopped(code: int) -> int:
    remark("Stopped. What was finished is kept; run it again to go on")
    return code


def remark(sentence: str) -> None:
    """A line on standard error; where that takes nothing, the exit code has to say it."""
    with contextlib.suppress(OSError):
        print(sentence, file=sys.stderr)


def refuse_foreign_packages() -> None:
    """Our packages have common names, and another distribution can silently replace one; then nothing may run."""
    for name in _PACKAGES:
        try:
            package = importlib.import_module(name)
            ours = getattr(package, "__reconcile__", False)
            place = os.path.dirname(package.__file__ or "") or "another place"  # noqa: PTH120 - text for a sentence
        except Exception:  # noqa: BLE001 - whatever a stranger does when it is imported
            ours, place = False, "another place"
        if not ours:
            remark(
                f"The package {name!r} at {place} is not Reconcile's: another package of that name stands before it. "
                "Install reconcile-runner in a virtual environment of its own, and run it without PYTHONPATH"
            )
            raise SystemExit(WRONG)


def tell(error: Exception) -> int:
    """Print the sentence of an error to standard error and return its exit code."""
    code = _code(error)
    if code == DEFECT:
        path = _report(error)
        sentence = (
            f"Reconcile itself failed ({type(error).__name__}), which is a defect; what was finished is kept. "
            f"Please report it with the file {path}"
        )
    else:
        sentence = str(error)
    remark(sentence)
    return code


def _code(error: Exception) -> int:
    """Matched by class; imported here, for an error that was raised has its module loaded already."""
    from connectors.errors import ConnectorError
    from notifications.errors import ChannelError
    from reconcile.app import NameUnknown, NothingRemembered
    from reconcile.config import ConfigProblems
    from reconcile.config.scaffold import ProjectNotWritten
    from reconcile.decide import FindingChanged, WrongState
    from reconcile.detect import RuleDoesNotFit
    from reconcile.lease import LeaseLost
    from reconcile.plugins import PluginBroken
    from reconcile.slots import SlotRefused
    from reconcile.store.errors import StoreError
    from reconcile.store.findings import FindingError
    from rules.engines.base import OutOfMemory

    if isinstance(error, (FindingChanged, WrongState)):
        return REFUSED
    if isinstance(
        error,
        (
            ConfigProblems,
            FindingError,
            NameUnknown,
            NothingRemembered,
            PluginBroken,
            ProjectNotWritten,
            RuleDoesNotFit,
            SlotRefused,
        ),
    ):
        return WRONG
    if isinstance(error, (AnswerNotWritten, ConnectorError, ChannelError, StoreError, LeaseLost, OutOfMemory)):
        return FAILED
    return DEFECT


_HARMLESS = (TypeError, AttributeError, NameError, ImportError)
"""Their messages hold names from our code; those of other errors can hold what was read, and are left out."""


def _report(error: Exception) -> str:
    """The traceback in a file only this user can read; it holds code, no records and no secrets."""
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


def after_the_last_word(code: int) -> int:
    """The exit code once everything printed has gone out; whoever read it may have left (`| head`)."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        nobody_reads()
    except OSError as error:
        remark(str(AnswerNotWritten(error)))
        nobody_reads()
        return first_that_applies(code, FAILED)
    return code


def nobody_reads() -> None:
    """Standard output has no reader: the work goes on, and the rest of the answer goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
