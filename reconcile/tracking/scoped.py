"""Findings inside and outside of what an incremental run looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reconcile.findings.identity import RuleIdentity, key_text, record_of, records_of
from reconcile.findings.judgement import Judgement, Verdict
from reconcile.findings.known import Outline
from reconcile.findings.states import Event
from reconcile.store import Transaction, carried
from reconcile.store import finding_memory as memory
from reconcile.store.finding_memory import Memory, decode_key
from rules.groups.group import Group
from rules.groups.scope import Scope

_DIFFERENT = (
    *(Event.OPENED, Event.GREW, Event.SHRANK, Event.VANISHED, Event.CAME_BACK, Event.HANDLED, Event.DISMISSED),
    *(Event.HANDLED_AGAIN, Event.DISMISSED_AGAIN, Event.UNDONE_AGAIN),
)


class InScope:
    """The keys of a scope as `key_text` writes them, or the names of its records."""

    def __init__(self, scope: Scope) -> None:
        self._texts = frozenset(map(key_text, scope.keys))
        self.records = None if scope.records is None else frozenset(map(record_of, scope.records))
        self.findings: set[str] = set()
        """The findings of these keys or records, once `inside` was asked for them."""

    def inside(
        self, tx: Transaction, rule: RuleIdentity, groups: Iterable[Group], outlines: Iterable[Outline]
    ) -> Iterator[Outline]:
        """Yield the outlines of the findings of these keys or records, and of those that the groups may continue by
        their records; lock these findings.

        `outlines` are those of all findings, whose marks are their keys.
        """
        if self.records is None:
            self.findings.update(outline.id for outline in outlines if not self._texts.isdisjoint(outline.marks))
        if rule.by_records:
            records = {record for group in groups for record in records_of(group)} | (self.records or frozenset())
            self.findings.update(*(memory.following(tx, rule.name, chunk) for chunk in memory.chunks(records)))
            while related := memory.merged_with(tx, self.findings) - self.findings:
                self.findings |= related
        carried.lock(tx, self.findings)
        yield from memory.outlines_of(tx, sorted(self.findings), by_records=rule.by_records)

    def missed(self, judgement: Judgement, stored: Memory) -> int:
        """Count the findings of other keys or records that the judgement changes, by the data and not by a person."""
        changed = [verdict for verdict in judgement.verdicts if verdict.event in _DIFFERENT]
        if self.records is not None:
            return sum(self.records.isdisjoint(_records(verdict, stored)) for verdict in changed)
        keys = (
            verdict.group.key if verdict.group else decode_key(stored.rows[verdict.finding or ""]["key"])
            for verdict in changed
        )
        return sum(key_text(key) not in self._texts for key in keys)


def _records(verdict: Verdict, stored: Memory) -> Iterable[str]:
    return records_of(verdict.group) if verdict.group else stored.members[verdict.finding or ""]
