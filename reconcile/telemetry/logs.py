"""The log of `reconcile serve`: one line per event, for people or for machines, and never a secret.

An event has a dotted name and fields. Passwords in addresses are hidden, an exception is logged by its class without
message or traceback, and no line is longer than processes that share a pipe can write in one piece.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import sys
import threading
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import PurePath
from typing import Any, TextIO

import structlog
from pydantic import SecretBytes, SecretStr

from reconcile.config.secrets import hide_in_addresses
from reconcile.telemetry import visible

MAX_LINE = 4096
"""Bytes, including the newline, that Linux writes to a pipe in one piece (PIPE_BUF)."""

_LONGEST_TEXT = 2048
_DEEPEST = 4
_COLORS = {"info": 32, "warning": 33, "error": 31, "critical": 31}
_QUOTED = frozenset(' ="')
_HEAD = ("at", "level", "event")

Event = MutableMapping[str, Any]

_log = structlog.get_logger("reconcile")


@dataclass(frozen=True)
class Style:
    """The log settings of this process, inherited by processes it starts."""

    as_json: bool
    quiet: bool
    colors: bool


_style: Style | None = None


def style() -> Style | None:
    """The log settings of this process; None before `set_up`."""
    return _style


def set_up(*, as_json: bool, quiet: bool, colors: bool, stream: TextIO | None = None) -> None:
    """Log to this stream, by default standard error; `quiet` keeps warnings and errors. May be called again.

    Logs of libraries and Python's warnings go the same way, from level warning up.
    """
    global _style  # noqa: PLW0603 - a process has one log
    output = visible.raw(sys.stderr) if stream is None else stream
    _style = Style(as_json, quiet, colors and output.isatty())
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            _without_exception,
            _Line(_style),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING if quiet else logging.INFO),
        logger_factory=_Output(output),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    for handler in [existing for existing in root.handlers if isinstance(existing, _Libraries)]:
        root.removeHandler(handler)
    root.addHandler(_Libraries(logging.WARNING))
    logging.captureWarnings(capture=True)
    threading.excepthook = _thread_failed


class _Output:
    """The output of lines, as the logger factory and logger that structlog needs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def __call__(self, *_: Any) -> _Output:
        return self

    def msg(self, line: str) -> None:
        try:
            with self._lock:
                self._stream.write(line)
                self._stream.flush()
        except (OSError, ValueError):
            return  # no reader, or the disk is full: work continues, and the error has nowhere to go

    debug = info = warning = error = critical = msg


class _Libraries(logging.Handler):
    """Turns logs of libraries into events. Their exceptions may hold data, so only the class is logged."""

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, Any] = {"library": record.name, "text": record.getMessage().partition("\n")[0]}
        if record.exc_info and record.exc_info[0]:
            fields["error"] = record.exc_info[0].__name__
        write = _log.error if record.levelno >= logging.ERROR else _log.warning
        write("library.said", **fields)


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    _log.error("thread.failed", thread=failed.thread.name if failed.thread else None, error=failed.exc_type.__name__)


def _without_exception(_logger: Any, _method: str, event: Event) -> Event:
    exc_info = event.pop("exc_info", None)
    error = sys.exc_info()[1] if exc_info is True else exc_info[1] if isinstance(exc_info, tuple) else exc_info
    if isinstance(error, BaseException):
        event["error"] = type(error).__name__
    return event


class _Line:
    """The last processor: formats an event as one line, short enough to be written in one piece."""

    def __init__(self, style: Style) -> None:
        self._write = _as_json if style.as_json else _Human(colors=style.colors)

    def __call__(self, _logger: Any, _method: str, event: Event) -> str:
        ordered = {name: event.pop(name) for name in _HEAD} | dict(event)
        longest = _LONGEST_TEXT
        line = self._line(ordered, longest)
        while len(line.encode()) >= MAX_LINE and longest > 1:
            longest //= 2
            line = self._line(ordered, longest)
        return f"{line}\n"

    def _line(self, event: Mapping[str, Any], longest: int) -> str:
        return self._write({name: plain(value, longest) for name, value in event.items()})


def plain(value: Any, longest: int = _LONGEST_TEXT, depth: int = 0) -> Any:
    """The value in a form that is safe to log: numbers, texts without secrets, and lists and mappings of these."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (SecretStr, SecretBytes, bytes)):
        return "***"
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z") if value.tzinfo else value.isoformat()
    if depth < _DEEPEST and isinstance(value, Mapping):
        return {str(name): plain(item, longest, depth + 1) for name, item in value.items()}
    if depth < _DEEPEST and isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, longest, depth + 1) for item in list(value)[:longest]]
    return _text(value, longest)


def _text(value: Any, longest: int) -> str:
    if not isinstance(value, (str, dt.date, dt.timedelta, Decimal, PurePath)):
        return f"<{type(value).__name__}>"  # its own text could hold data
    text = hide_in_addresses(str(value))
    return text if len(text) <= longest else f"{text[:longest]}…"


def _as_json(event: Mapping[str, Any]) -> str:
    return visible.in_json(json.dumps(event, ensure_ascii=False))


class _Human:
    """`2026-11-21T05:00:00Z info    run.started job=nightly`; values with spaces are quoted."""

    def __init__(self, *, colors: bool) -> None:
        self._colors = colors

    def __call__(self, event: Mapping[str, Any]) -> str:
        at, level, name, *fields = event.items()
        words = [str(at[1]), self._colored(f"{level[1]:<7}", _COLORS.get(level[1], 0)), visible.line(str(name[1]))]
        words += [f"{visible.line(key)}={_word(value)}" for key, value in fields if value is not None]
        return " ".join(words)

    def _colored(self, text: str, color: int) -> str:
        return f"\x1b[{color}m{text}\x1b[0m" if self._colors else text


def _word(value: Any) -> str:
    is_one_word = isinstance(value, str) and value.isprintable() and value and not set(value) & _QUOTED
    return visible.in_json(value if is_one_word else json.dumps(value, ensure_ascii=False))
