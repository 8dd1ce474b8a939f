"""Claimed keys as every door lists them: without results, which may hold personal data."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from notifications.wording.words import to_the_minute
from reconcile.config.guarding import Namespace
from reconcile.coordination import clock
from reconcile.documents import JsonObject
from reconcile.errors import Wrong
from reconcile.guard import NamespaceUnknown, claiming
from reconcile.store import Store, guarded_keys
from reconcile.store.guarded_keys import KeyRow, KeyState, Position
from rules.values import canonical_instant

SHOWN = len("gk1.abcdef.") + 8
"""Characters of a key in tables; they name it."""


class CursorRefused(Wrong):
    """This is not a cursor of ours."""

    def __init__(self) -> None:
        super().__init__("This is not a cursor; leave it out for the first page, or use that of the previous page")


@dataclass(frozen=True)
class KeyView:
    """A key. `seconds` are left of its lease: None if it is not in progress, 0 if the next claim gets it."""

    row: KeyRow
    seconds: float | None

    @classmethod
    def of(cls, row: KeyRow, now: dt.datetime) -> Self:
        is_held = row.state is KeyState.IN_PROGRESS
        return cls(row, claiming.remaining(row, now, clock.this_host()) if is_held else None)

    @property
    def words(self) -> str:
        """The state for people."""
        if self.seconds is None:
            return self.row.state.value
        return "in progress" if self.seconds else "in progress, lease ended"

    def to_json(self) -> JsonObject:
        row = self.row
        return {
            "key": row.key,
            "namespace": row.namespace,
            "state": row.state.value,
            "attempts": row.attempts,
            "refusals": row.refusals,
            "claimed_by": row.claimed_by,
            "until": None if self.seconds is None else canonical_instant(row.lease_until),
            "seconds": self.seconds,
            "created": canonical_instant(row.created_at),
            "changed": canonical_instant(row.changed_at),
            "kept_until": canonical_instant(row.keep_until),
            "result_bytes": row.result_size,
            "reason": row.reason,
        }

    def cells(self, timezone: str) -> tuple[str, ...]:
        row = self.row
        changed = to_the_minute(row.changed_at, timezone)
        return row.key[:SHOWN], row.namespace, self.words, str(row.attempts), changed, row.reason or ""


@dataclass(frozen=True)
class KeyPage:
    """Keys, and the cursor of the next page; None after the last one."""

    keys: tuple[KeyView, ...]
    cursor: str | None


def page(
    store: Store,
    namespaces: Mapping[str, Namespace],
    state: KeyState,
    namespace: str | None = None,
    *,
    limit: int,
    cursor: str | None = None,
) -> KeyPage:
    """List keys in a state, those that are kept longest first. Raises NamespaceUnknown, CursorRefused."""
    if namespace is not None and namespace not in namespaces:
        raise NamespaceUnknown(namespace, tuple(namespaces))
    after = None if cursor is None else _position(cursor)
    with store.read() as tx:
        rows = guarded_keys.listed(tx, state, namespace, limit + 1, after)
        views = tuple(KeyView.of(row, tx.now) for row in rows[:limit])
    last = rows[limit - 1] if len(rows) > limit else None
    return KeyPage(views, None if last is None else f"{canonical_instant(last.keep_until)}~{last.key}")


def shown(store: Store, name: str) -> KeyView:
    """Return the key whose name begins like this. Raises KeyUnknown, KeyAmbiguous."""
    with store.read() as tx:
        return KeyView.of(claiming.named(tx, name), tx.now)


def _position(cursor: str) -> Position:
    instant, _, key = cursor.partition("~")
    try:
        at = dt.datetime.fromisoformat(instant).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        raise CursorRefused from None
    if not key.isascii() or not key.isprintable():
        raise CursorRefused
    return Position(at, key)
