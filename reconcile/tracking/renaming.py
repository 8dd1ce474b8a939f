"""Rename the records of a dataset everywhere in the state, because its ids have other types or columns now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from reconcile.audit import facts, log
from reconcile.findings.identity import id_of, is_erased, without_dataset
from reconcile.findings.record_names import RecordIds, retyped_values
from reconcile.findings.states import Event
from reconcile.journal import effects, holds
from reconcile.store import Transaction, uncertain_pairs
from reconcile.store import record_names as stored
from reconcile.store.finding_memory import chunks
from reconcile.store.plans import RENAMED, StoredPlan
from reconcile.store.record_names import FindingNames, Names
from reconcile.tracking import progress
from rules.values import Type

ACTOR = "reconcile"
_VOID = "The ids of its records changed."
_VALUES = ("judged", "settled_key")
"""Parts of a payload with values by column."""


@dataclass(frozen=True)
class Renaming:
    """The new ids of a dataset, and what becomes of the name of a record: the new one, the same, or None if the record
    cannot be renamed and keeps its name. Names are those of rules that read the dataset first.

    `left` are records without a new id, whose name changes only because another record has it now. `keys` are the
    columns of the id in the keys of rules, with their types: keys hold their values.
    """

    dataset: str
    ids: RecordIds
    rename: Callable[[str], str | None]
    keys: Mapping[str, Mapping[str, Type]] = field(default_factory=dict)
    left: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Renamed:
    """The number of records that were renamed, of the findings that hold them, and of records that keep their names."""

    records: int = 0
    findings: int = 0
    left: int = 0


def rename(tx: Transaction, renaming: Renaming, run: str) -> Renamed:
    """Rename the records in all that the state holds of them; the next runs of the dataset's rules read everything.

    Plans of these findings that were not begun are void: people approve the names of records too.
    """
    stored.ids(tx, renaming.dataset, alone=True)
    affected, renamed = _affected(tx, renaming)
    before, after = stored.pairs(tx, renaming.dataset, renaming.rename)
    if affected or before:
        log.touch(tx, facts.FINDING, [*affected, *(row["finding"] for row in before if row["finding"] is not None)])
        log.touch(tx, facts.PAIR, [row["pair"] for row in before if row["pair"] is not None])
        _void(tx, affected, run)
        for chunk in chunks(affected):
            _rename_in(tx, renaming, chunk)
        changed = [row | _judged_values(renaming, row) for row in after]
        stored.replace_pairs(tx, before, changed)
        uncertain_pairs.forget_dataset(tx, renaming.dataset)
        stored.read_anew(tx, renaming.dataset)
        body = {"run": run, "dataset": renaming.dataset, "columns": list(renaming.ids.columns), "left": renamed.left}
        body |= {"records": renamed.records, "findings": renamed.findings, "pairs": len(before)}
        log.append(tx, ACTOR, "records.renamed", f"dataset:{renaming.dataset}", body)
    stored.keep_ids(tx, renaming.dataset, renaming.ids)
    return renamed


def _affected(tx: Transaction, renaming: Renaming) -> tuple[list[str], Renamed]:
    """Return the findings with a record that is renamed, and the counts."""
    affected: dict[str, None] = {}
    renamed: set[int] = set()
    left: set[str] = set()
    for finding, record in stored.members(tx, renaming.dataset):
        new = stored.named(record, renaming.dataset, renaming.rename)
        is_left = new is None or without_dataset(record) in renaming.left
        if is_left and not is_erased(id_of(record)):
            left.add(record)
        if new not in (None, record):
            affected[finding] = None
            if not is_left:
                renamed.add(hash(new))
    return list(affected), Renamed(len(renamed), len(affected), len(left))


def _void(tx: Transaction, affected: Sequence[str], run: str) -> None:
    effects.lock_findings(tx, affected)
    void = effects.void(tx, affected, _VOID)
    moves = [progress.Transition(plan.finding, Event.VOIDED, plan.id, plan.reason) for plan in void]
    progress.move(tx, moves, by=ACTOR, run=run)


def _rename_in(tx: Transaction, renaming: Renaming, affected: Sequence[str]) -> None:
    findings = stored.findings_with_names(tx, affected)
    first = {finding.id: finding.dataset for finding in findings}
    members: dict[str, list[str]] = defaultdict(list)
    for finding, record in stored.all_members(tx, affected):
        members[finding].append(record)
    names = {finding: _names(renaming, first[finding], records) for finding, records in members.items()}
    stored.rename_members(tx, names)
    stored.set_findings(tx, [_with_names(renaming, finding) for finding in findings])
    _rename_in_plans(tx, renaming.dataset, names)


def _names(renaming: Renaming, first: str, records: Sequence[str]) -> Names:
    """Return the new names of a finding's records. A name that another record keeps stays with that."""
    new = {record: stored.named_in(record, first, renaming.dataset, renaming.rename) for record in records}
    names = {old: name for old, name in new.items() if name is not None and name != old}
    while taken := [old for old, name in names.items() if name in new and name not in names]:
        for old in taken:
            del names[old]
    return names


def _with_names(renaming: Renaming, finding: FindingNames) -> FindingNames:
    payload = dict(finding.payload)
    if nearby := payload.get("nearby"):
        nearest = [
            [stored.named_in(name, finding.dataset, renaming.dataset, renaming.rename) or name, *rest]
            for name, *rest in nearby["nearest"]
        ]
        payload["nearby"] = nearby | {"nearest": nearest}
    types = renaming.keys.get(finding.rule, {}) if finding.dataset == renaming.dataset else {}
    payload |= {name: retyped_values(payload[name], types) for name in _VALUES if types and name in payload}
    return finding._replace(key=retyped_values(finding.key, types), payload=payload)


def _judged_values(renaming: Renaming, row: Mapping[str, object]) -> dict[str, object]:
    types = renaming.keys.get(str(row["rule"]), {})
    return {name: retyped_values(row[name], types) for name in ("values_a", "values_b")}  # type: ignore[arg-type]  # as stored


def _rename_in_plans(tx: Transaction, dataset: str, names: Mapping[str, Names]) -> None:
    """Tell plans the present names of their records; what people approved, and the keys of operations, stay."""
    changed = [plan for plan in stored.plans_of(tx, list(names), dataset) if names[plan.finding]]
    if not changed:
        return
    own = {plan.id: stored.without_datasets(names[plan.finding]) for plan in changed}
    log.touch(tx, facts.PLAN, own)
    stored.set_summaries(tx, {plan.id: {**plan.summary, RENAMED: _renamed(plan, own[plan.id])} for plan in changed})
    held = {
        plan.id: {holds.name_of(table, old): holds.name_of(table, new) for old, new in own[plan.id].items()}
        for plan in changed
        if (table := plan.summary.get("table"))
    }
    hashed = {
        plan: {holds.subject_of(tx.store.key, old): holds.subject_of(tx.store.key, new) for old, new in renamed.items()}
        for plan, renamed in held.items()
    }
    stored.rename_in_journal(tx, hashed, held)


def _renamed(plan: StoredPlan, names: Names) -> list[tuple[str, str]]:
    """Return the present names by the names in the plan, also of records that were renamed before."""
    earlier = {name: names.get(new, new) for name, new in plan.renamed.items()}
    return sorted(({**names} | earlier).items())
