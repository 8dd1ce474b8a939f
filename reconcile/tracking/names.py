"""Fingerprints and ids for the findings of a judgement: new names never clash, and old ones stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from reconcile.findings.identity import RuleIdentity, fingerprint_of, records_of, short_ids
from reconcile.findings.judgement import FindingChange, Judgement, Verdict
from reconcile.store import Transaction, finding_memory
from reconcile.store.finding_memory import Memory


@dataclass
class VerdictNames:
    """Fingerprints, and ids for new findings, by the number of the verdict.

    `aliases` are further fingerprints of findings, to store.
    """

    own: dict[int, str] = field(default_factory=dict)
    """The fingerprints that the groups have by themselves; another finding may have one of them."""
    marks: dict[int, str] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)


def assign(tx: Transaction, rule: RuleIdentity, memory: Memory, judgement: Judgement) -> VerdictNames:
    """Name every group that is, or becomes, a finding; the names do not depend on the order of the groups."""
    names = VerdictNames()
    _follow(tx, rule, memory, judgement, names)
    new_verdicts = {n: verdict for n, verdict in enumerate(judgement.verdicts) if verdict.change is FindingChange.NEW}
    names.marks |= _free_marks(tx, rule, new_verdicts, names)
    ids = _free_ids(tx, [names.marks[number] for number in new_verdicts])
    names.ids = {number: ids[names.marks[number]] for number in new_verdicts}
    return names


def _follow(tx: Transaction, rule: RuleIdentity, memory: Memory, judgement: Judgement, names: VerdictNames) -> None:
    """Give findings whose key, rule name or start changed the new fingerprint too, unless another finding has it."""
    moved: list[tuple[str, int, str]] = []
    for number, verdict in enumerate(judgement.verdicts):
        if verdict.group is None or verdict.finding is None:
            continue
        mark = fingerprint_of(rule, verdict.group)
        names.own[number] = mark
        names.marks[number] = old_mark = memory.rows[verdict.finding]["fingerprint"]
        if mark != old_mark and verdict.change is not FindingChange.SETTLED:
            moved.append((verdict.finding, number, mark))
    owners = finding_memory.owners(tx, (mark for _, _, mark in moved))
    for finding, number, mark in sorted(moved):
        if mark not in owners:
            names.aliases[mark] = owners[mark] = finding
        if owners[mark] == finding:
            names.marks[number] = mark


def _free_marks(
    tx: Transaction, rule: RuleIdentity, new_verdicts: dict[int, Verdict], names: VerdictNames
) -> dict[int, str]:
    wanted = {number: fingerprint_of(rule, verdict.group) for number, verdict in new_verdicts.items() if verdict.group}
    shared = {mark for mark, count in Counter(wanted.values()).items() if count > 1}
    first_record = {
        number: min(records_of(verdict.group)) if wanted[number] in shared else ""
        for number, verdict in new_verdicts.items()
        if verdict.group
    }
    names.own |= wanted
    used_marks = set(finding_memory.owners(tx, wanted.values())) | set(names.aliases)
    free: dict[int, str] = {}
    for number in sorted(wanted, key=lambda number: (wanted[number], first_record[number])):
        group, mark, attempt = new_verdicts[number].group, wanted[number], 0
        while group and (mark in used_marks or (attempt and finding_memory.owners(tx, [mark]))):
            attempt += 1
            mark = fingerprint_of(rule, group, attempt)
        used_marks.add(mark)
        free[number] = mark
    return free


def _free_ids(tx: Transaction, marks: Sequence[str]) -> dict[str, str]:
    taken: set[str] = set()
    while True:
        ids = short_ids(marks, taken, tx.store.key)
        clashes = finding_memory.taken(tx, ids.values())
        if not clashes:
            return ids
        taken |= clashes
