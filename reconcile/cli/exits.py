"""Exit codes, and the one sentence for everything that can go wrong. The codes are listed in docs/cli.md."""

from __future__ import annotations

import datetime as dt
import importlib
import os
import sys
import tempfile
import traceback
from typing import NoReturn

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


def refuse_foreign_packages() -> None:
    """Our packages have common names, and another distribution can silently replace one; then nothing may run."""
    for name in _PACKAGES:
        package = importlib.import_module(name)
        if not getattr(package, "__reconcile__", False):
            place = os.path.dirname(package.__file__ or "?")  # noqa: PTH120 - a path as text, for a sentence
            print(
                f"The package {name!r} at {place} is not Reconcile's: another distribution of that name was installed "
                "over it. Install reconcile-runner in a virtual environment of its own",
                file=sys.stderr,
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
    print(sentence, file=sys.stderr)
    return code


def _code(error: Exception) -> int:
    """Matched by class; imported here, for an error that was raised has its module loaded already."""
    from connectors.errors import ConnectorError
    from notifications.errors import ChannelError
    from reconcile.app import NameUnknown
    from reconcile.config import ConfigProblems
    from reconcile.decide import FindingChanged, WrongState
    from reconcile.detect import RuleDoesNotFit
    from reconcile.lease import LeaseLost
    from reconcile.plugins import PluginBroken
    from reconcile.slots import SlotRefused
    from reconcile.store.errors import StoreError
    from reconcile.store.findings import FindingError

    if isinstance(error, (FindingChanged, WrongState)):
        return REFUSED
    if isinstance(error, (ConfigProblems, FindingError, NameUnknown, PluginBroken, RuleDoesNotFit, SlotRefused)):
        return WRONG
    if isinstance(error, (ConnectorError, ChannelError, StoreError, LeaseLost)):
        return FAILED
    return DEFECT


def _report(error: Exception) -> str:
    """The traceback in a file only this user can read; it holds code and messages, no records."""
    stamp = dt.datetime.now(dt.UTC).strftime("%Y%m%dT%H%M%S")
    handle, path = tempfile.mkstemp(prefix=f"reconcile-defect-{stamp}-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write("".join(traceback.format_exception(error)))
    return path


def leave_quietly() -> NoReturn:
    """Whoever read our output has gone (`| head`); say nothing more, not even while Python closes its streams."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(DONE)
