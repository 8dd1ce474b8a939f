"""Exit codes, and one sentence for each error. The codes are listed in docs/cli.md."""

from __future__ import annotations

import atexit
import contextlib
import datetime as dt
import importlib
import os
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from reconcile.telemetry import visible

DONE = 0
FOUND = 1
WRONG = 2
FAILED = 3
REFUSED = 4
DEFECT = 70

_ORDER = (DEFECT, WRONG, REFUSED, FAILED, FOUND, DONE)
_PACKAGES = ("reconcile", "rules", "connectors", "notifications")


def first_that_applies(*codes: int) -> int:
    """Return the exit code that takes precedence."""
    return next(code for code in _ORDER if code in (*codes, DONE))


class AnswerNotWritten(Exception):
    """Standard output accepts nothing more."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"The answer could not be written to standard output: {error.strerror}")


def stopped(code: int) -> int:
    remark("Stopped. Finished work is kept; run the command again to continue")
    return code


def remark(sentence: str) -> None:
    """Print a line to standard error; if that fails, only the exit code remains."""
    with contextlib.suppress(OSError):
        print(visible.line(sentence), file=sys.stderr)


def refuse_foreign_packages() -> None:
    """Refuse to run if another distribution silently replaced one of our packages, whose names are common."""
    for name in _PACKAGES:
        try:
            package = importlib.import_module(name)
            ours = getattr(package, "__reconcile__", False)
            place = os.path.dirname(package.__file__ or "") or "another place"  # noqa: PTH120 - text for a sentence
        except Exception:  # noqa: BLE001 - a foreign package may do anything on import
            ours, place = False, "another place"
        if not ours:
            remark(
                f"The package {name!r} at {place} is not Reconcile's: another package with that name takes precedence. "
                "Install reconcile-runner in a virtual environment of its own, and run it without PYTHONPATH"
            )
            raise SystemExit(WRONG)


def refuse_an_unsafe_python() -> None:
    """Refuse -E: it ignores the variable that keeps our child processes from importing the working directory."""
    if sys.flags.ignore_environment and not sys.flags.safe_path:
        remark("Python runs with -E, so child processes load modules from the working directory; add -P, or use -I")
        raise SystemExit(WRONG)


def refuse_what_is_no_text(texts: Iterable[str]) -> None:
    """Refuse input that is not UTF-8: it is stored, hashed and shown, which needs characters."""
    for text in texts:
        if any("\udc80" <= character <= "\udcff" for character in text):
            shown = os.fsencode(text).decode("utf-8", "backslashreplace")
            remark(f"`{shown}` is not UTF-8 text; retype it in a terminal with a UTF-8 locale")
            raise SystemExit(WRONG)


def tell(error: Exception) -> int:
    """Print the sentence of an error, or each of its `problems`, to standard error and return its exit code."""
    for text in getattr(error, "problems", ()) or (sentence(error),):
        remark(str(text))
    return _code(error)


def misused(error: Any) -> int:
    """Print the usage and the mistake in the arguments; their text is data."""
    message = error.format_message()
    if error.ctx is None or message != error.ctx.get_help():
        error.format_message = lambda: visible.line(message)
    with contextlib.suppress(OSError):
        error.show()
    return int(error.exit_code)


def sentence(error: Exception) -> str:
    """Return the sentence for an error; a defect of ours is written to a file that the sentence names."""
    if _code(error) != DEFECT:
        return str(error)
    return (
        f"Reconcile itself failed ({type(error).__name__}), which is a defect; finished work is kept. "
        f"Please report it with the file {_report(error)}"
    )


_CODES = {
    REFUSED: (
        "reconcile.journal.effects.proposing:PlanInHand",
        "reconcile.journal.effects.moving:ClaimLost",
        "reconcile.journal.effects.doubt:UndoInQuarantine",
        "reconcile.journal.effects.doubt:NotInQuarantine",
        "connectors.target:TargetRefused",
        "reconcile.journal.ownership:OwnershipRefused",
        "reconcile.cleaning.decisions:RuleDoesNotClean",
        "reconcile.cleaning.decisions:AnotherWentBeyond",
        "reconcile.cleaning.decisions:BeyondLimits",
        "reconcile.cleaning.decisions:PlanRejected",
        "reconcile.cleaning.decisions:NothingToRetry",
        "reconcile.cleaning.actions.base:NotPlannable",
        "reconcile.tracking.decide:PlanChanged",
        "reconcile.tracking.decide:NotYours",
        "reconcile.tracking.decide:UndoInHand",
        "reconcile.tracking.decide:NothingProposed",
        "reconcile.cleaning.undo:UndoRefused",
        "reconcile.journal.limits:OverLimit",
        "reconcile.journal.approvals:ApprovalRefused",
        "reconcile.tracking.decide:FindingChanged",
        "reconcile.tracking.decide:WrongState",
        "reconcile.upkeep.erasure:ErasureWaits",
        "reconcile.messages.outbox:MessageDecided",
        "reconcile.coordination.pauses:Paused",
        "reconcile.coordination.releases:ReleaseRefused",
        "reconcile.upkeep.restore:OtherStore",
        "reconcile.upkeep.restore:StateIsNewer",
        "reconcile.service.scheduler:DueTimesMissed",
    ),
    WRONG: (
        "reconcile.store.bundles:BundleError",
        "reconcile.app:NameUnknown",
        "reconcile.app:NothingRemembered",
        "reconcile.upkeep.backup:BackupExists",
        "reconcile.upkeep.backup:BackupUnusable",
        "reconcile.views.plans:NothingToPlan",
        "reconcile.cli.targets:NothingCleaned",
        "reconcile.config:ConfigProblems",
        "reconcile.config.scaffold:ProjectNotWritten",
        "reconcile.detection.detect:RuleDoesNotFit",
        "reconcile.audit.exporting:ExportExists",
        "reconcile.service.listener:ListenRefused",
        "reconcile.messages.outbox:MessageMissing",
        "reconcile.coordination.pauses:PauseInThePast",
        "reconcile.plugins:PluginBroken",
        "reconcile.coordination.releases:ReleaseNotNamed",
        "reconcile.schedule.slots:SlotRefused",
        "reconcile.store.errors:StoreMisnamed",
        "reconcile.store.findings:FindingError",
        "reconcile.service.triggers:KeyRefused",
        "reconcile.upkeep.unsealed:NoSealKey",
    ),
    FAILED: (
        "connectors.errors:ConnectorError",
        "notifications.errors:ChannelError",
        "reconcile.audit.anchors.base:AnchorError",
        "reconcile.upkeep.backup:BackupNotWritten",
        "reconcile.cli.exits:AnswerNotWritten",
        "reconcile.audit.exporting:ExportNotWritten",
        "reconcile.coordination.lease:LeaseLost",
        "reconcile.store.sealing:SealedUnreadable",
        "reconcile.store.errors:StoreError",
        "rules.engines.base:Unanswerable",
    ),
}
"""The exit code of each error, by module and class; any other error is a defect."""


def _code(error: Exception) -> int:
    """Return the exit code without importing anything: the module of a raised error is already loaded."""
    for code, names in _CODES.items():
        for module, _, name in (path.partition(":") for path in names):
            if module in sys.modules and isinstance(error, getattr(sys.modules[module], name)):
                return code
    return DEFECT


_HARMLESS = (TypeError, AttributeError, NameError, ImportError)
"""Their messages hold names from our code; messages of other errors can hold data and are left out."""


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


def after_the_last_word(code: int) -> int:
    """Return the exit code once all output is flushed; the reader may have left (`| head`)."""
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
    """Discard further output, because standard output has no reader; the work continues."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def leave(code: int) -> NoReturn:
    """End the process as `sys.exit` does, without taking every module apart first: a seventh of a short run."""
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        sys.exit(code)  # Python waits for running threads; an abandoned read hangs in a daemon thread
    atexit._run_exitfuncs()  # noqa: SLF001 - what Python itself does here
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # the output is flushed: see after_the_last_word
            stream.flush()
    os._exit(code)
