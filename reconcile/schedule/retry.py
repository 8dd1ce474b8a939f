"""Retry delays: full jitter, but computed from the key, so it is the same after a restart and can be audited.

Full jitter is from "Exponential Backoff And Jitter" (AWS Architecture Blog): the delay is uniform between 0 and a
ceiling that doubles. Here the "random" number is SHA-256 of (key, n): different keys spread, one key never changes.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from reconcile.documents import JsonObject
from rules.values import canonical_instant

_MICROSECOND = dt.timedelta(microseconds=1)
FLOOR = dt.timedelta(milliseconds=50)
LONGEST_RETRY_AFTER = dt.timedelta(hours=1)
"""The longest accepted Retry-After: a server that asks for a year is broken, and is tried again after an hour."""


@dataclass(frozen=True)
class Policy:
    """The template a retry follows: ceiling `min(cap, base * 2**n)`, and the budget in attempts and time."""

    base: dt.timedelta
    cap: dt.timedelta
    attempts: int
    budget: dt.timedelta


QUICK = Policy(dt.timedelta(seconds=1), dt.timedelta(seconds=30), 4, dt.timedelta(minutes=5))
PATIENT = Policy(dt.timedelta(seconds=1), dt.timedelta(minutes=15), 8, dt.timedelta(hours=20))
RUNS = Policy(dt.timedelta(seconds=30), dt.timedelta(minutes=15), 6, dt.timedelta(hours=12))
"""Retries of a run under `serve` that could not check everything; rules it finished are not checked again."""
NEVER = Policy(dt.timedelta(0), dt.timedelta(0), 1, dt.timedelta(0))
TEMPLATES: Mapping[str, Policy] = {"patient": PATIENT, "quick": QUICK, "never": NEVER}
"""The built-in names for `retry:` of a rule."""


class RetryPolicy(Protocol):
    """A template of the configuration."""

    @property
    def base(self) -> dt.timedelta: ...
    @property
    def cap(self) -> dt.timedelta: ...
    @property
    def attempts(self) -> int: ...
    @property
    def budget(self) -> dt.timedelta: ...


def named(name: str, templates: Mapping[str, RetryPolicy]) -> Policy:
    """The policy of that name, from the configuration or built in. Raises KeyError."""
    if name in templates:
        template = templates[name]
        return Policy(template.base, template.cap, template.attempts, template.budget)
    return TEMPLATES[name]


@dataclass(frozen=True)
class RetryDelay:
    """The time of the next attempt, with enough data for an auditor to recompute it."""

    n: int
    u: float
    ceiling: dt.timedelta
    retry_after: dt.timedelta | None
    delay: dt.timedelta

    def to_json(self) -> JsonObject:
        """The fields for the audit log, in seconds rounded to the microsecond."""
        retry_after = None if self.retry_after is None else self.retry_after.total_seconds()
        return {
            "n": self.n,
            "u": round(self.u, 6),
            "ceiling": self.ceiling.total_seconds(),
            "retry_after": retry_after,
            "delay": self.delay.total_seconds(),
        }


def decide(key: str, n: int, policy: Policy, retry_after: dt.timedelta | None = None) -> RetryDelay:
    """The delay before the attempt after the n-th failed one (n from 0): d(n) = u(key, n) · min(cap, base · 2ⁿ).

    At least 50 ms, and at least `retry_after` of the server, up to an hour.
    """
    u = uniform(key, n)
    ceiling = _MICROSECOND * min(policy.cap // _MICROSECOND, policy.base // _MICROSECOND * 2 ** min(n, 64))
    server_delay = None if retry_after is None else min(max(retry_after, dt.timedelta(0)), LONGEST_RETRY_AFTER)
    return RetryDelay(n, u, ceiling, server_delay, max(ceiling * u, FLOOR, server_delay or FLOOR))


def of_run(job: str, slot: dt.datetime, attempts: int, waited: dt.timedelta) -> dt.timedelta | None:
    """Return the delay before the next attempt of a failed run under `serve`; None if its budget is used up.

    `attempts` began so far, the last one counted; `waited` is the time since the slot was due.
    """
    delay = decide(f"{job}|{canonical_instant(slot)}", attempts - 1, RUNS).delay
    return None if attempts >= RUNS.attempts or waited + delay > RUNS.budget else delay


def uniform(key: str, n: int) -> float:
    """A number in [0, 1) that depends only on the key and n."""
    digest = hashlib.sha256(f"reconcile/retry/1|{n}|{key}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48  # 48 bits fit a double exactly
