"""Exit codes, and one sentence for each error. The codes are listed in docs/cli.md."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import sys
import threading
from collections.abc import Iterable
from typing import Any, NoReturn

from reconcile.errors import Failed, Refused, Wrong
from reconcile.telemetry import defects, visible

DONE = 0
FOUND = 1
WRONG = Wrong.exit_code
FAILED = Failed.exit_code
REFUSED = Refused.exit_code
DEFECT = 70

_ORDER = (DEFECT, WRONG, REFUSED, FAILED, FOUND, DONE)
_PACKAGES = ("reconcile", "rules", "connectors", "notifications")


def first_that_applies(*codes: int) -> int:
    """Return the exit code that takes precedence."""
    return next(code for code in _ORDER if code in (*codes, DONE))


class AnswerNotWritten(Failed):
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
                "Install reconcile-runner in its own virtual environment, and run it without PYTHONPATH"
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
    for text in _sentences(error):
        remark(text)
    return _code(error)


def log_failure(error: Exception) -> int:
    """Log the same sentences as `tell` prints, for a command whose standard error is a log; return the exit code."""
    import structlog

    for text in _sentences(error):
        structlog.get_logger("reconcile").error("serve.failed", why=text)
    return _code(error)


def _sentences(error: Exception) -> list[str]:
    return [str(text) for text in getattr(error, "problems", ()) or (sentence(error),)]


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
    return defects.sentence(error) if defects.is_defect(error) else str(error)


def _code(error: Exception) -> int:
    """Return the exit code that the error's class carries; without one of ours it is a defect."""
    code: int = DEFECT if defects.is_defect(error) else getattr(type(error), "exit_code", DEFECT)
    return code


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
