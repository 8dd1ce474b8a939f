"""The front door for programs in Python: claim a key, do the work once, keep its result for every repeat."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import inspect
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from reconcile.config.guarding import LONGEST, SHORTEST, Namespace
from reconcile.coordination import clock
from reconcile.coordination.clock import HostTime
from reconcile.errors import Wrong
from reconcile.guard import claiming
from reconcile.guard.claiming import (
    ClaimLost,
    Conflict,
    Done,
    InProgress,
    NamespaceUnknown,
    OtherPayload,
    ResultNotStored,
    StillInProgress,
    Taken,
    Wanted,
)
from reconcile.guard.counts import Counts
from reconcile.guard.keys import Key, fingerprint, key_of
from reconcile.store import Store, Transaction
from reconcile.store.errors import CommitUnknown
from reconcile.store.guarded_keys import KeyRow
from rules.models import parse_duration

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_FIRST_WAIT, _LONGEST_WAIT = 0.02, 1.0
"""Seconds between two looks at a key in progress."""


class LeaseRefused(Wrong):
    """A lease can't be that long."""

    def __init__(self, lease: dt.timedelta) -> None:
        super().__init__(f"A lease of {lease} is not between {SHORTEST} and {LONGEST}. Nothing was claimed")


class ParameterUnknown(Wrong):
    """The decorated function has no such parameter."""

    def __init__(self, function: str, name: str) -> None:
        super().__init__(f"{function}() has no parameter `{name}` for its key or payload")


class AsyncRefused(Wrong):
    """A coroutine has no result when its function returns."""

    def __init__(self, function: str) -> None:
        super().__init__(f"{function}() is async: decorate a plain function, and await it in a thread of its own")


@dataclass
class Claim:
    """A key that is yours until `until`. Do the work, then `complete` it; the repeats get the result.

    `key` is the same in every attempt: pass it on where a service takes an idempotency key. In attempt 2 and later, an
    earlier attempt may have done the work and died: look first, where you can. Do not `fail` it unless the work was
    certainly not done: after a timeout, let the lease end.
    """

    namespace: str
    key: str
    fence: int
    until: dt.datetime
    attempt: int
    _guard: Guard = field(repr=False)

    def complete(self, result: Any = None) -> None:
        """Store the result, which is JSON of up to 64 KB, and mark the key as done. You may repeat it.

        Raises ClaimLost if another claim took the key; ResultNotStored, and then the key is done without a result;
        StoreError.
        """
        self._guard.complete(self.namespace, self.key, self.fence, result)

    def fail(self, reason: str) -> None:
        """Free the key, because its work was certainly not done. Raises ClaimLost, StoreError."""
        self._guard.fail(self.namespace, self.key, self.fence, reason)

    def renew(self, lease: dt.timedelta | str | None = None) -> None:
        """Let the lease last that long from now on, by default as long as the first. Raises ClaimLost, StoreError."""
        self.until = self._guard.renew(self.namespace, self.key, self.fence, lease)


class Guard:
    """Claims keys in the state of a project. Safe to share between threads, and to create before a fork.

    `Guard.open` reads a configuration, `Guard.connect` needs none. Close it, or use it in a `with`: then the counts of
    its last seconds are saved. Every method raises NamespaceUnknown, KeyRefused, PayloadRefused and StoreError.
    """

    def __init__(
        self,
        namespaces: Mapping[str, Namespace],
        connect: Callable[[], Store],
        *,
        sleep: Callable[[float], None] = time.sleep,
        host: Callable[[], HostTime] = clock.this_host,
        owns_store: bool = True,
        counts: Counts | None = None,
    ) -> None:
        self.namespaces = dict(namespaces)
        self._connect = connect
        self._sleep = sleep
        self._host = host
        self._owns_store = owns_store
        self._lock = threading.Lock()
        self._store: Store | None = None
        self._of_parents: list[Store | None] = []  # closed here, their connections would end in the parent, too
        self._pid = 0
        self.counts = Counts() if counts is None else counts

    @classmethod
    def open(cls, path: str | Path = "reconcile.yaml") -> Self:
        """Use the state and the namespaces below `guard` of a configuration. Raises ConfigProblems."""
        from reconcile import config  # noqa: PLC0415 - takes longer than a claim

        project = config.load(Path(path), os.environ, needs_rules=False)
        return cls(project.guard, lambda: Store.open(project.state.get_secret_value(), project.directory))

    @classmethod
    def connect(
        cls,
        state: str,
        namespaces: Mapping[str, Namespace | Mapping[str, Any]],
        *,
        folder: str | Path = ".",
        key: bytes | None = None,
    ) -> Self:
        """Use a state by its address, without a configuration. `folder` is where its key file is, unless `key` has its
        32 bytes; namespaces are as below `guard`: `{"welcome": {"lease": "1m", "keep": "400d"}}`.

        Raises ValueError for a mistake in a namespace.
        """
        parsed = {name: Namespace.model_validate(settings) for name, settings in namespaces.items()}
        return cls(parsed, lambda: Store.open(state, Path(folder), key=key))

    @classmethod
    def over(cls, store: Store, namespaces: Mapping[str, Namespace], counts: Counts | None = None) -> Self:
        """Use an open store, which its owner closes, and counts that several guards of this process share."""
        return cls(namespaces, lambda: store, owns_store=False, counts=counts)

    def close(self) -> None:
        """Save the last counts and close the store."""
        with self._lock:
            store, self._store = self._store, None
        if store is not None and self._pid == os.getpid():
            try:
                self.counts.save(store)
            finally:
                if self._owns_store:
                    store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def store(self) -> Store:
        """The open state; in a forked process, one of its own."""
        with self._lock:
            if self._store is None or self._pid != os.getpid():
                self._of_parents.append(self._store)
                self._store, self._pid = self._connect(), os.getpid()
            return self._store

    # The four calls

    def claim(
        self,
        namespace: str,
        key: Key,
        payload: Any = None,
        *,
        lease: dt.timedelta | str | None = None,
        by: str | None = None,
    ) -> Claim | InProgress | Done:
        """Claim a key: it is yours (Claim), in progress (InProgress), or done (Done) with its result.

        The key names the thing, such as a customer's id or several parts; the payload is what is asked for, as JSON.
        `by` names the claimer: it may repeat a claim whose answer was lost. Raises OtherPayload.
        """
        answer = self.ask(namespace, key, payload, lease=lease, by=by)
        if isinstance(answer, Taken):
            return Claim(answer.namespace, answer.key, answer.fence, answer.until, answer.attempt, self)
        return answer

    def ask(
        self, namespace: str, key: Key, payload: Any, *, lease: dt.timedelta | str | None = None, by: str | None = None
    ) -> Taken | InProgress | Done:
        """Claim a key; the answer holds no guard. Raises OtherPayload."""
        settings, secret = self.settings(namespace), self.store.key
        wanted = Wanted(
            namespace,
            key_of(secret, namespace, key),
            fingerprint(secret, payload),
            claiming.shortened(by or f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(8)}"),
            settings.lease if lease is None else checked_lease(lease),
            settings.keep,
        )
        answer = self._change(namespace, lambda tx: claiming.claim(tx, wanted, self._host()))
        if isinstance(answer, Conflict):
            raise OtherPayload(answer.key)
        return answer

    def complete(self, namespace: str, key: str, fence: int, result: Any) -> None:
        """Mark the key of a claim as done. Raises KeyUnknown, ClaimLost, ResultNotStored."""
        problem, keep = claiming.problem_of(result), self.settings(namespace).keep
        kept = None if problem else result
        self._change(namespace, lambda tx: (None, "used" if claiming.complete(tx, key, fence, kept, keep) else ""))
        if problem:
            raise ResultNotStored(key, problem)

    def fail(self, namespace: str, key: str, fence: int, reason: str) -> None:
        """Free the key of a claim whose work was certainly not done. Raises KeyUnknown, ClaimLost."""
        keep = self.settings(namespace).keep
        self._change(namespace, lambda tx: (None, "failed" if claiming.fail(tx, key, fence, reason, keep) else ""))

    def renew(self, namespace: str, key: str, fence: int, lease: dt.timedelta | str | None = None) -> dt.datetime:
        """Let the lease of a claim last that long from now on; return its end. Raises KeyUnknown, ClaimLost."""
        settings = self.settings(namespace)
        length = settings.lease if lease is None else checked_lease(lease)
        host = self._host()
        return self._change(
            namespace, lambda tx: (claiming.renew(tx, key, fence, length, settings.keep, host), "renewed")
        )

    def release(self, key: str, *, reason: str, by: str) -> KeyRow:
        """Let the next claim of a key do its work, for a person, even if it was done. Raises KeyUnknown, ClaimLost."""
        return self._decide(key, lambda tx: (claiming.release(tx, key, reason=reason, by=by), "released"))

    def expire(self, key: str, *, reason: str, by: str) -> KeyRow:
        """End the lease of a key in progress, for a person. Raises KeyUnknown, NotInProgress, ClaimLost."""
        return self._decide(key, lambda tx: (claiming.expire(tx, key, reason=reason, by=by), ""))

    # Doing work once

    def run(
        self,
        namespace: str,
        key: Key,
        work: Callable[[Claim], T],
        payload: Any = None,
        *,
        wait: dt.timedelta | str | None = None,
        not_done: tuple[type[Exception], ...] = (),
    ) -> T:
        """Do the work once and return its result, or that of the claim that did it.

        If another claim works on the key, `wait` that long for its result. An error in `not_done` says that the work
        was certainly not done, and frees the key; after any other one the outcome is unknown, and the key stays in
        progress until the lease ends. Raises OtherPayload, StillInProgress, and what the work raises.
        """
        patience = dt.timedelta(0) if wait is None else parse_duration(wait)
        claim = self._claim_or_wait(namespace, key, payload, patience)
        if isinstance(claim, Done):
            result: T = claim.result
            return result
        try:
            result = work(claim)
        except not_done as error:
            with contextlib.suppress(ClaimLost):  # another claim took over, and the error says enough
                claim.fail(type(error).__name__)
            raise
        claim.complete(result)
        return result

    def guarded(
        self,
        namespace: str,
        *,
        key: str | Sequence[str],
        payload: Sequence[str] = (),
        wait: dt.timedelta | str | None = None,
        not_done: tuple[type[Exception], ...] = (),
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Decorate a function so that it runs once per key; `key` and `payload` name its parameters. See `run`.

        Raises ParameterUnknown, AsyncRefused, NamespaceUnknown.
        """
        self.settings(namespace)
        key_names = [key] if isinstance(key, str) else list(key)

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
                raise AsyncRefused(function.__name__)
            signature = inspect.signature(function)
            for name in (*key_names, *payload):
                if name not in signature.parameters:
                    raise ParameterUnknown(function.__name__, name)

            @functools.wraps(function)
            def run_once(*args: P.args, **kwargs: P.kwargs) -> R:
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                parts = [bound.arguments[name] for name in key_names]
                asked = {name: bound.arguments[name] for name in payload} or None
                work = functools.partial(_ignoring_claim, function, args, kwargs)
                return self.run(namespace, parts, work, asked, wait=wait, not_done=not_done)

            return run_once

        return decorate

    def settings(self, namespace: str) -> Namespace:
        """Return the settings of a namespace. Raises NamespaceUnknown."""
        if namespace not in self.namespaces:
            raise NamespaceUnknown(namespace, tuple(self.namespaces))
        return self.namespaces[namespace]

    def _claim_or_wait(self, namespace: str, key: Key, payload: Any, patience: dt.timedelta) -> Claim | Done:
        left, pause = patience.total_seconds(), _FIRST_WAIT
        while True:
            answer = self.claim(namespace, key, payload)
            if not isinstance(answer, InProgress):
                return answer
            if left <= 0:
                raise StillInProgress(answer.key, answer.until)
            step = min(left, pause, max(answer.seconds, _FIRST_WAIT))
            self._sleep(step)
            left, pause = left - step, min(2 * pause, _LONGEST_WAIT)

    def _decide(self, key: str, change: Callable[[Transaction], tuple[KeyRow, str]]) -> KeyRow:
        with self.store.read() as tx:
            row, _ = claiming.present(tx, key)
        return self._once(row.namespace, change)

    def _change(self, namespace: str, change: Callable[[Transaction], tuple[T, str]]) -> T:
        """Make a change in a transaction; make it again if its commit is unknown, which adds nothing to the first."""
        self.settings(namespace)
        try:
            return self._once(namespace, change)
        except CommitUnknown:
            return self._once(namespace, change)

    def _once(self, namespace: str, change: Callable[[Transaction], tuple[T, str]]) -> T:
        """Make a change, which returns its result and the event to count."""
        with self.store.begin() as tx:
            result, event = change(tx)
            self.counts.add(namespace, event)
            self.counts.save_now_and_then(tx)
            return result


def checked_lease(lease: dt.timedelta | str) -> dt.timedelta:
    """Return the length of a lease. Raises LeaseRefused; ValueError for a text that is no duration."""
    length: dt.timedelta = parse_duration(lease)
    if not SHORTEST <= length <= LONGEST:
        raise LeaseRefused(length)
    return length


def _ignoring_claim(function: Callable[..., R], args: Any, kwargs: Any, _claim: Claim) -> R:
    return function(*args, **kwargs)
