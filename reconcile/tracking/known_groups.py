"""The findings of a rule in the store, for a detection that reads only what changed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from reconcile.findings.identity import id_of, is_erased
from reconcile.findings.states import State
from reconcile.store import Store, watermarks
from reconcile.store.watermarks import OpenFinding
from rules.engines.scope import KnownGroup, Unscoped


@dataclass(frozen=True)
class StoredGroups:
    """See `rules.engines.scope.KnownGroups`."""

    store: Store
    rule: str

    def open(self) -> Sequence[KnownGroup]:
        with self.store.read() as tx:
            return [_known(finding, tx.now) for finding in watermarks.open_findings(tx, self.rule)]


_STEADY = (State.OPEN, State.SNOOZED, State.DISMISSED)
"""States that a run leaves as they are while the records are the same."""


def _known(finding: OpenFinding, now: dt.datetime) -> KnownGroup:
    records = tuple(map(id_of, finding.records))
    if any(map(is_erased, records)):
        raise Unscoped("records of a finding were erased")
    is_awake = finding.snoozed_until is not None and finding.snoozed_until <= now
    return KnownGroup(finding.key, records, due=is_awake or finding.state not in _STEADY)
