"""Count the plans a run would execute and propose, without writing anything: for a dry run."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from connectors.errors import ConnectorError
from connectors.target import Target
from reconcile.cleaning.chunks import in_chunks
from reconcile.cleaning.execution.terms import Terms
from reconcile.cleaning.next_run import NextRun
from reconcile.cleaning.planning.plan import NothingToDo, Stale
from reconcile.cleaning.planning.planner import Planner
from reconcile.config.settings import Project
from reconcile.detection.subject import Subjects
from reconcile.findings.identity import fingerprint, short_id
from reconcile.findings.judgement import FindingChange, Verdict
from reconcile.findings.keeper import as_chosen
from reconcile.findings.plan import Plan
from reconcile.findings.results import CleaningResult, most_common_reasons
from reconcile.findings.shown import Finding, FindingMember
from reconcile.findings.states import State
from reconcile.store import Store, finding_memory
from reconcile.store import findings as stored
from rules.groups.group import Group
from rules.kinds.base import Rule

_NOBODY = (FindingChange.SETTLED, FindingChange.RESOLVED, FindingChange.IN_HAND)
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
) -> CleaningResult:
    """Return how many findings would be cleaned and proposed, and why others would not be planned.

    A first run cleans nothing by itself. `store` is None if there is no state yet; `scanned` is the number of records
    that limits given as a share refer to.
    """
    terms, counts, reasons = Terms(project), Counter[str](), Counter[str]()
    dataset = project.datasets[rule.cleaned]
    try:
        planner = Planner(project, subjects.__getitem__, target, store).of(rule, slot)
        is_first = True
        if store is not None:
            with store.read() as tx:
                is_first = finding_memory.told_binding(tx, rule.name, rule.was) != planner.bound
        asked: set[str] = set()
        group = rule.limits.caps(scanned).group
        next_run = NextRun()
        for finding, planned in planner.plans(_findings(rule, verdicts, store, slot, terms, asked)):
            if isinstance(planned, Plan):
                asks = finding.id in asked or terms.asks(planned) != "none" or terms.is_unusual(finding, planned, group)
                if is_first and not asks:
                    next_run.add(planned)
                else:
                    counts["would_propose" if asks else "would_clean"] += 1
            elif not isinstance(planned, (Stale, NothingToDo)):
                reasons[planned.reason] += 1
    except ConnectorError as error:
        return CleaningResult(stopped=str(error))
    return CleaningResult(
        would_clean=counts["would_clean"],
        would_propose=counts["would_propose"],
        not_planned=most_common_reasons(reasons),
        next_run=next_run.sentence((terms.caps_of(rule, scanned), project.caps_of(dataset.source))),
    )


def _findings(
    rule: Rule, verdicts: Iterable[Verdict], store: Store | None, slot: dt.datetime, terms: Terms, asked: set[str]
) -> Iterator[Finding]:
    """Yield the groups that need action as findings, with earlier decisions about their records.

    Findings that people were asked or decided about are added to `asked`.
    """
    actionable = (verdict for verdict in verdicts if verdict.group is not None and verdict.change not in _NOBODY)
    for chunk in in_chunks(actionable, _CHUNK):
        earlier: dict[str, Finding] = {}
        if store is not None:
            with store.read() as tx:
                ids = [verdict.finding for verdict in chunk if verdict.finding is not None]
                earlier = {finding.id: finding for finding in stored.some(tx, ids)}
        findings = [
            _finding(rule, verdict.group, earlier.get(verdict.finding or ""), verdict.change, slot)
            for verdict in chunk
            if verdict.group is not None
        ]
        if store is not None:
            with store.read() as tx:
                asked |= terms.decided(tx, findings)
        asked.update(finding.id for finding in earlier.values() if finding.state is State.AWAITING)
        yield from findings


def _finding(rule: Rule, group: Group, earlier: Finding | None, change: FindingChange, slot: dt.datetime) -> Finding:
    came_back = earlier is not None and earlier.state is State.CLEANED and change is FindingChange.REOPENED
    settled = {} if earlier is None or came_back else {(m.dataset, m.id): m.settled_at for m in earlier.members}
    chosen = (
        {} if earlier is None else {(m.dataset, m.id): (m.chosen_by, m.chosen_at, m.gives) for m in earlier.members}
    )
    mark = earlier.fingerprint if earlier else fingerprint(rule.name, rule.kind, group.key)
    detected = Finding(
        id=earlier.id if earlier else short_id(mark),
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
        members=tuple(
            FindingMember(
                *(role, member.id, member.values, slot, settled.get(name), member.dataset),
                *chosen.get(name, (None, None, {})),
            )
            for role, member in group.roles
            for name in [(member.dataset, member.id)]
        ),
        form=group.form,
        money=group.at_risk,
        settled_pairs=earlier.settled_pairs if earlier else (),
        handled_pairs=earlier.handled_pairs if earlier else (),
    )
    return as_chosen(detected)
