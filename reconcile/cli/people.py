"""The user of this terminal, and times as people write them."""

from __future__ import annotations

import contextlib
import datetime as dt
import getpass
import os
import pwd
import re
import socket

import typer

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def person() -> str:
    """Return the person who decides: this terminal's user, or the name from a scheduler or console."""
    try:
        return os.environ.get("RECONCILE_ACTOR") or getpass.getuser()
    except (KeyError, OSError):  # in a container a user may be a number and nothing else
        return f"uid {os.getuid()}"


def system_user() -> str:
    """Return the operating system's user and host, regardless of RECONCILE_ACTOR: `ada@till-3`."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # in a container a user may be a number and nothing else
        name = f"uid {os.getuid()}"
    return f"{name}@{socket.gethostname()}"


def length(text: str | None, option: str) -> dt.timedelta | None:
    """Parse a duration like `3d`; raises BadParameter, which names the option."""
    from rules.models import parse_duration

    if text is None:
        return None
    try:
        duration: dt.timedelta = parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error
    return duration


def past(text: str, timezone: str, option: str) -> dt.datetime:
    """Parse a time, or the start of a day, into UTC; raises BadParameter, which names the option."""
    from zoneinfo import ZoneInfo

    from reconcile.schedule.slots import SlotRefused, parse_slot

    try:
        return parse_slot(_at_midnight(text), ZoneInfo(timezone))
    except SlotRefused as error:
        raise typer.BadParameter(
            f"{text!r} is neither a time like 2026-12-01T08:00 nor a day like 2026-12-01", param_hint=option
        ) from error


def _at_midnight(text: str) -> str:
    """Return a day as the time at which it starts; other texts unchanged."""
    return f"{text.strip()}T00:00" if _DAY.fullmatch(text.strip()) else text


def moment(text: str, timezone: str, option: str) -> dt.datetime:
    """Parse `3d` from now, a time, or the start of a day, into UTC; raises BadParameter, which names the option."""
    from zoneinfo import ZoneInfo

    from reconcile.schedule.slots import SlotRefused, parse_slot
    from rules.models import parse_duration

    with contextlib.suppress(ValueError):  # then it is a time
        length: dt.timedelta = parse_duration(text)
        return dt.datetime.now(dt.UTC) + length
    try:
        return parse_slot(_at_midnight(text), ZoneInfo(timezone))
    except SlotRefused as error:
        raise typer.BadParameter(
            f"{text!r} is neither a duration like 3d nor a time like 2026-12-01T08:00 or a day like 2026-12-01",
            param_hint=option,
        ) from error
