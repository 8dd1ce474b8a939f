"""When to try again: full jitter, but computed from the key: the same after a restart, and an auditor can explain it.

Full jitter is from "Exponential Backoff And Jitter" (AWS Architecture Blog): the delay is uniform between 0 and a
ceiling that doubles. Here the "random" number is SHA-256 of (key, n): different keys spread, one key never changes.
"""

from __future__ import annotations

import datetime as dt
import email.utils
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

_MICROSECOND = dt.timedelta(microseconds=1)
FLOOR = dt.timedelta(milliseconds=50)
LONGEST_RETRY_AFTER = dt.timedelta(hours=1)
"""What a server may ask for at most: one that says a year is broken, and is asked again after an hour."""


@dataclass(frozen=True)
class Policy:
    """The template a retry follows: ceiling `min(cap, base * 2**n)`, and the budget in attempts and time."""

    base: dt.timedelta
    cap: dt.timedelta
    attempts: int
    budget: dt.timedelta


QUICK = Policy(dt.timedelta(seconds=1), dt.timedelta(seconds=30), 4, dt.timedelta(minutes=5))
PATIENT = Policy(dt.timedelta(seconds=1), dt.timedelta(minutes=15), 8, dt.timedelta(hours=20))
NEVER = Policy(dt.timedelta(0), dt.timedelta(0), 1, dt.timedelta(0))
TEMPLATES: Mapping[str, Policy] = {"patient": PATIENT, "quick": QUICK, "never": NEVER}
"""What `retry:` of a rule may name without more ado."""


class Template(Protocol):
    """A template as the configuration gives it."""

    @property
    def base(self) -> dt.timedelta: ...
    @property
    def cap(self) -> dt.timedelta: ...
    @property
    def attempts(self) -> int: ...
    @property
    def budget(self) -> dt.timedelta: ...


def named(name: str, given: Mapping[str, Template]) -> Policy:
    """The policy of that name: one of the configuration's, or one of ours. Raises KeyError."""
    if name in given:
        own = given[name]
        return Policy(own.base, own.cap, own.attempts, own.budget)
    return TEMPLATES[name]


@dataclass(frozen=True)
class Decision:
    """Why the next attempt is when it is: enough for an auditor to compute it again."""

    n: int
    u: float
    ceiling: dt.timedelta
    retry_after: dt.timedelta | None
    delay: dt.timedelta

    def to_json(self) -> dict[str, Any]:
        """Seconds, rounded to the microsecond, as the audit log holds them."""
        asked = None if self.retry_after is None else self.retry_after.total_seconds()
        return {
            "n": self.n,
            "u": round(self.u, 6),
            "ceiling": self.ceiling.total_seconds(),
            "retry_after": asked,
            "delay": self.delay.total_seconds(),
        }


def decide(key: str, n: int, policy: Policy, retry_after: dt.timedelta | None = None) -> Decision:
    """The delay before the attempt after the n-th failed one (n from 0): d(n) = u(key, n) · min(cap, base · 2ⁿ).

    At least 50 ms, and at least what the server asked for, which counts up to an hour.
    """
    u = uniform(key, n)
    ceiling = _MICROSECOND * min(policy.cap // _MICROSECOND, policy.base // _MICROSECOND * 2 ** min(n, 64))
    asked = None if retry_after is None else min(max(retry_after, dt.timedelta(0)), LONGEST_RETRY_AFTER)
    return Decision(n, u, ceiling, asked, max(ceiling * u, FLOOR, asked or FLOOR))


def uniform(key: str, n: int) -> float:
    """A number in [0, 1) that depends on nothing but the key and n."""
    digest = hashlib.sha256(f"reconcile/retry/1|{n}|{key}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48  # 48 bits fit a double exactly


def parse_retry_after(header: str | None, now: dt.datetime) -> dt.timedelta | None:
    """What a `Retry-After` header asks for: seconds (a fraction is taken) or an HTTP date, within 0 and an hour.

    None where it says nothing we understand. `now` is aware; it is only used for dates.
    """
    said = (header or "").strip()
    if re.fullmatch(r"\+?\d+(\.\d*)?", said, re.ASCII):
        seconds = min(float(said), LONGEST_RETRY_AFTER.total_seconds())
        return dt.timedelta(seconds=seconds)
    if re.fullmatch(r"-\d+(\.\d*)?", said, re.ASCII):
        return dt.timedelta(0)
    when = _http_date(said)
    return None if when is None else min(max(when - now, dt.timedelta(0)), LONGEST_RETRY_AFTER)


def _http_date(said: str) -> dt.datetime | None:
    try:
        when = email.utils.parsedate_to_datetime(said)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return when if when.tzinfo else when.replace(tzinfo=dt.UTC)
