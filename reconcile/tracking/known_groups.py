"""The findings of a rule in the store, for a detection that reads only what changed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from notifications.wording import words
from reconcile.findings.identity import id_of, is_erased, record_of
from reconcile.store import Store, judgements, watermarks
from reconcile.store.watermarks import STEADY, OpenFinding
from rules.groups.scope import KnownGroup, Unscoped
from rules.values import RecordId, Value


@dataclass(frozen=True)
class StoredGroups:
    """See `rules.engines.scope.KnownGroups`."""

    store: Store
    rule: str

    def open(self) -> Sequence[KnownGroup]:
        with self.store.read() as tx:
            return [
                _known(finding.key, finding.records, due=_why_due(finding, tx.now))
                for finding in watermarks.open_findings(tx, self.rule)
            ]

    def due(self) -> Sequence[KnownGroup]:
        with self.store.read() as tx:
            unsteady = watermarks.open_findings(tx, self.rule, unsteady=True)
            findings = ((finding, _why_due(finding, tx.now)) for finding in unsteady)
            return [_known(finding.key, finding.records, due=why) for finding, why in findings if why]

    def following(self, records: Iterable[RecordId]) -> Sequence[KnownGroup]:
        with self.store.read() as tx:
            findings = watermarks.following(tx, self.rule, map(record_of, records))
            return [_known({}, names) for names in findings]

    def judged(self) -> Sequence[KnownGroup]:
        with self.store.read() as tx:
            not_same = judgements.load_not_same(tx, (self.rule,), None)
        pairs = (zip(pair, keys, strict=True) for pair, keys in not_same.pairs.items())
        records = [_known(key, (record,)) for pair in pairs for record, key in pair]
        return [*records, *(_known(key, tuple(crowd)) for crowd, key in not_same.crowds)]


def _why_due(finding: OpenFinding, now: dt.datetime) -> str:
    """Return why the next run looks at the finding again, as a clause; empty if it need not."""
    if finding.snoozed_until is not None and finding.snoozed_until <= now:
        return "a snooze ended"
    if finding.decided:
        return "a person decided about a finding"
    if finding.state not in STEADY:
        return f"a finding is {words.state(finding.state.value)}"
    return "a finding shows records near its own" if finding.has_nearby else ""


def _known(key: Mapping[str, Value], names: Iterable[str], *, due: str = "") -> KnownGroup:
    records = tuple(map(id_of, names))
    if any(map(is_erased, records)):
        raise Unscoped("records of a finding were erased")
    return KnownGroup(key, records, due)
