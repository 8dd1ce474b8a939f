"""The audit log as the console shows it: the newest entries first, and a verification in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reconcile.audit import log, proof
from reconcile.audit.proof import Proof
from reconcile.documents import JsonObject
from reconcile.store.audit_log import EntryFilter, LogEntry
from reconcile.store.findings import name_of
from reconcile.views.history import EventView

if TYPE_CHECKING:
    from reconcile.app import Application


@dataclass(frozen=True)
class EntryView:
    """An entry. `fields` are the other fields of its body as texts; `is_erased` if the body is gone."""

    entry: LogEntry
    event: EventView
    finding: str | None
    run: str | None
    fields: Mapping[str, str]
    is_erased: bool

    @classmethod
    def of(cls, entry: LogEntry) -> EntryView:
        body = entry.body if isinstance(entry.body, dict) else {}
        fields = {name: str(value) for name, value in body.items() if value is not None and name not in _SHOWN}
        return cls(entry, EventView.of(entry), body.get("finding"), body.get("run"), fields, entry.body is None)

    def to_json(self) -> JsonObject:
        """Return the entry as public JSON."""
        entry = self.entry
        at = {"seq": entry.seq, "at": entry.at.isoformat(), "actor": entry.actor, "event": entry.event}
        return at | {"subject": entry.subject, "body": entry.body, "head": entry.head}

    @property
    def title(self) -> str:
        """The event in words: `message sent`."""
        subject = self.entry.event.partition(".")[0].replace("_", " ")
        words = self.event.words
        return words if words.startswith(subject) else f"{subject} {words}"


_SHOWN = frozenset({"finding", "run", "note", "system", log.STORY, log.ALSO})


@dataclass(frozen=True)
class AuditPage:
    """Entries, newest first; `before` continues them, None at the end."""

    entries: Sequence[EntryView]
    before: int | None


def page(application: Application, criteria: EntryFilter, limit: int) -> AuditPage:
    """Return a page of the log. Raises FindingUnknown, StoreError."""
    with application.memory.read() as tx:
        finding = None if criteria.finding is None else name_of(tx, criteria.finding)
        entries = log.newest(tx, replace(criteria, finding=finding), limit + 1)
    views = list(map(EntryView.of, entries[:limit]))
    return AuditPage(views, entries[limit - 1].seq if len(entries) > limit else None)


def verify(application: Application) -> tuple[bool, Sequence[str]]:
    """Verify the log, its signatures, its anchors and the state; return True if it is intact, and sentences."""
    result = proof.prove(application.memory, application.anchors)
    return result.intact, list(_sentences(result))


def _sentences(result: Proof) -> Iterator[str]:
    if result.problem is not None:
        yield f"Broken at entry {result.problem.seq:,}: {result.problem.sentence}."
    else:
        yield f"{result.entries:,} entries are intact, signed up to entry {result.signed:,}; the state matches them."
    for anchor in result.anchors:
        yield anchor.problem or f"Anchor {anchor.name}: {anchor.heads:,} heads, up to entry {anchor.last:,}."
    yield from result.remarks
    if result.intact and not result.anchors:
        yield "No anchor is configured: a user who can write the state could truncate or rebuild the log unnoticed."
