"""What a run would clean and what it would ask, without a trace of either: for a dry run."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from connectors.errors import ConnectorError
from connectors.target import Target
from reconcile.cleaning.chunks import in_chunks
from reconcile.cleaning.cleaning import Lives
from reconcile.cleaning.execution.terms import Terms
from reconcile.cleaning.next_run import NextRun
from reconcile.cleaning.planning.plan import NothingToDo, Stale, Tools, make_many
from reconcile.config.settings import Project
from reconcile.detection.detect import Subjects
from reconcile.findings.bundle import Bundle
from reconcile.findings.identity import fingerprint, short_id
from reconcile.findings.judgement import Change, Verdict
from reconcile.findings.shown import Finding, FindingMember
from reconcile.findings.states import State
from reconcile.store import Store, finding_memory
from reconcile.store import findings as stored
from rules.engines.base import Group
from rules.kinds.base import Rule

_MOST_REASONS = 5
_NOBODY = (Change.SETTLED, Change.RESOLVED, Change.IN_HAND)
_CHUNK = 500


def would(
    project: Project,
    rule: Rule,
    verdicts: Iterable[Verdict],
    subjects: Subjects,
    target: Callable[[str], Target],
    store: Store | None,
    slot: dt.datetime,
    scanned: int,
) -> dict[str, Any]:
    """Plain JSON: how many findings would be cleaned, how many plans proposed, and why others are not planned.

    Nothing is cleaned by itself in a first run. `store` is None where nothing is known yet; `scanned` is of how many
    records limits are a share.
    """
    terms, counts, reasons = Terms(project), Counter[str](), Counter[str]()
    dataset = project.datasets[rule.dataset]
    try:
        binding = terms.binding(rule.name) or ""
        tools = Tools.of(target(dataset.source), subjects, rule, slot, binding=binding)
        first = True
        if store is not None:
            tools = replace(tools, generations=Lives(store, tools.identity, tools.catalogue.table))
            with store.read() as tx:
                first = finding_memory.told_binding(tx, rule.name, rule.was) != tools.bound
        waiting: set[str] = set()
        next_run = NextRun()
        for name, planned in make_many(_findings(rule, verdicts, store, slot, waiting), tools):
            if isinstance(planned, Bundle):
                asks = name in waiting or terms.asks(planned) != "none"
                if first and not asks:
                    next_run.add(planned)
                else:
                    counts["would_propose" if asks else "would_clean"] += 1
            elif not isinstance(planned, (Stale, NothingToDo)):
                reasons[str(planned)] += 1
    except ConnectorError as error:
        return {"stopped": str(error)}
    said: dict[str, Any] = {name: counts[name] for name in ("would_clean", "would_propose")}
    if then := next_run.sentence((rule.limits.caps(scanned), project.caps_of(dataset.source))):
        said["next_run"] = then
    return said | ({"not_planned": dict(reasons.most_common(_MOST_REASONS))} if reasons else {})


def _findings(
    rule: Rule, verdicts: Iterable[Verdict], store: Store | None, slot: dt.datetime, waiting: set[str]
) -> Iterator[Finding]:
    """The groups there is something to do about, as findings; what was decided about their records is known.

    Those that wait for people already are added to `waiting`.
    """
    wanted = (one for one in verdicts if one.group is not None and one.change not in _NOBODY)
    for some in in_chunks(wanted, _CHUNK):
        known: dict[str, Finding] = {}
        if store is not None:
            with store.read() as tx:
                found = stored.some(tx, [one.finding for one in some if one.finding is not None])
            known = {one.id: one for one in found}
            waiting.update(one.id for one in found if one.state is State.AWAITING)
        for one in some:
            if one.group is not None:
                yield _finding(rule, one.group, known.get(one.finding or ""), one.change, slot)


def _finding(rule: Rule, group: Group, known: Finding | None, change: Change, slot: dt.datetime) -> Finding:
    back = known is not None and known.state is State.CLEANED and change is Change.REOPENED
    settled = {} if known is None or back else {one.id: one.settled_at for one in known.members}
    mark = known.fingerprint if known else fingerprint(rule.name, rule.kind, group.key)
    return Finding(
        id=known.id if known else short_id(mark),
        fingerprint=mark,
        rule=rule.name,
        kind=rule.kind,
        dataset=rule.dataset,
        state=State.OPEN,
        severity=rule.severity,
        version=1,
        change=change,
        key=group.key,
        records=len(group.members),
        first_run="",
        first_seen=slot,
        last_run="",
        last_seen=slot,
        state_since=slot,
        keeper=_member(group.keeper.id, group.keeper.values, settled, slot),
        surplus=tuple(_member(one.id, one.values, settled, slot) for one in group.surplus),
        money=group.at_risk,
        settled_pairs=known.settled_pairs if known else (),
    )


def _member(
    name: tuple[Any, ...], values: Mapping[str, Any], settled: Mapping[Any, dt.datetime | None], slot: dt.datetime
) -> FindingMember:
    return FindingMember(name, values, slot, settled.get(name))
