"""What `reconcile serve` says while it works: one line an event, for people or for machines, and never a secret.

An event has a dotted name and fields. Texts lose the passwords of addresses, an exception leaves its class and
nothing of its message or traceback, and no line is longer than what processes that share a pipe write in one piece.
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
"""Bytes, the newline counted: what Linux writes to a pipe in one piece (PIPE_BUF)."""

_LONGEST_TEXT = 2048
_DEEPEST = 4
_COLORS = {"info": 32, "warning": 33, "error": 31, "critical": 31}
_QUOTED = frozenset(' ="')
_HEAD = ("at", "level", "event")

Event = MutableMapping[str, Any]

_log = structlog.get_logger("reconcile")


@dataclass(frozen=True)
class Style:
    """How this process logs; processes it starts log alike."""

    as_json: bool
    quiet: bool
    colors: bool


_style: Style | None = None


def style() -> Style | None:
    """How this process was set up; None when it was not."""
    return _style


def set_up(*, as_json: bool, quiet: bool, colors: bool, stream: TextIO | None = None) -> None:
    """Log to this stream, standard error unless said; `quiet` leaves warnings and errors. May be called again.

    What libraries log and Python warns of comes out the same way, from warnings upwards.
    """
    global _style  # noqa: PLW0603 - there is one log in a process, as there is one standard error
    out = visible.raw(sys.stderr) if stream is None else stream
    _style = Style(as_json, quiet, colors and out.isatty())
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            _without_exception,
            _Line(_style),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING if quiet else logging.INFO),
        logger_factory=_Out(out),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    for handler in [one for one in root.handlers if isinstance(one, _Libraries)]:
        root.removeHandler(handler)
    root.addHandler(_Libraries(logging.WARNING))
    logging.captureWarnings(capture=True)
    threading.excepthook = _thread_failed


class _Out:
    """Where lines go; made to be what structlog asks its loggers of."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._one_at_a_time = threading.Lock()

    def __call__(self, *_: Any) -> _Out:
        return self

    def msg(self, line: str) -> None:
        try:
            with self._one_at_a_time:
                self._stream.write(line)
                self._stream.flush()
        except (OSError, ValueError):
            return  # nobody reads, or the disk is full: work goes on, and there is no place left to say so

    debug = info = warning = error = critical = msg


class _Libraries(logging.Handler):
    """What libraries log becomes an event of ours. Their exceptions may hold data: the class is told."""

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, Any] = {"library": record.name, "text": record.getMessage().partition("\n")[0]}
        if record.exc_info and record.exc_info[0]:
            fields["error"] = record.exc_info[0].__name__
        say = _log.error if record.levelno >= logging.ERROR else _log.warning
        say("library.said", **fields)


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    _log.error("thread.failed", thread=failed.thread.name if failed.thread else None, error=failed.exc_type.__name__)


def _without_exception(_logger: Any, _method: str, event: Event) -> Event:
    found = event.pop("exc_info", None)
    error = sys.exc_info()[1] if found is True else found[1] if isinstance(found, tuple) else found
    if isinstance(error, BaseException):
        event["error"] = type(error).__name__
    return event


class _Line:
    """The last processor: an event as one line, short enough to be written in one piece."""

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
    """The value as a log may show it: numbers, texts without secrets, and lists and mappings of these."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (SecretStr, SecretBytes, bytes)):
        return "***"
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z") if value.tzinfo else value.isoformat()
    if depth < _DEEPEST and isinstance(value, Mapping):
        return {str(name): plain(one, longest, depth + 1) for name, one in value.items()}
    if depth < _DEEPEST and isinstance(value, (list, tuple, set, frozenset)):
        return [plain(one, longest, depth + 1) for one in list(value)[:longest]]
    return _text(value, longest)


def _text(value: Any, longest: int) -> str:
    if not isinstance(value, (str, dt.date, dt.timedelta, Decimal, PurePath)):
        return f"<{type(value).__name__}>"  # what it would say of itself is not known to be free of data
    text = hide_in_addresses(str(value))
    return text if len(text) <= longest else f"{text[:longest]}…"


def _as_json(event: Mapping[str, Any]) -> str:
    return visible.in_json(json.dumps(event, ensure_ascii=False))


class _Human:
    """`2026-11-21T05:00:00Z info    run.started job=nightly`; what has spaces is quoted."""

    def __init__(self, *, colors: bool) -> None:
        self._colors = colors

    def __call__(self, event: Mapping[str, Any]) -> str:
        at, level, name, *rest = event.items()
        words = [str(at[1]), self._colored(f"{level[1]:<7}", _COLORS.get(level[1], 0)), visible.line(str(name[1]))]
        words += [f"{visible.line(key)}={_word(value)}" for key, value in rest if value is not None]
        return " ".join(words)

    def _colored(self, text: str, color: int) -> str:
        return f"\x1b[{color}m{text}\x1b[0m" if self._colors else text


def _word(value: Any) -> str:
    is_one_word = isinstance(value, str) and value.isprintable() and value and not set(value) & _QUOTED
    return visible.in_json(value if is_one_word else json.dumps(value, ensure_ascii=False))
