"""Fingerprints and ids for what a judgement found: new names never clash, old ones are never taken away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from reconcile.findings.identity import RuleIdentity, fingerprint_of, records_of, short_ids
from reconcile.findings.judgement import Change, Judgement, Verdict
from reconcile.store import Transaction, finding_memory
from reconcile.store.finding_memory import Memory


@dataclass
class Names:
    """By the number of the verdict: fingerprints, and ids for new findings. `aliases` are fingerprints to store."""

    marks: dict[int, str] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)


def assign(tx: Transaction, rule: RuleIdentity, known: Memory, judgement: Judgement) -> Names:
    """Names for every group that is, or becomes, a finding; the same whatever the order of the groups."""
    names = Names()
    _follow(tx, rule, known, judgement, names)
    new = {n: v for n, v in enumerate(judgement.verdicts) if v.change is Change.NEW}
    names.marks |= _free_marks(tx, rule, new, names)
    ids = _free_ids(tx, [names.marks[number] for number in new])
    names.ids = {number: ids[names.marks[number]] for number in new}
    names.aliases |= {names.marks[number]: name for number, name in names.ids.items()}
    return names


def _follow(tx: Transaction, rule: RuleIdentity, known: Memory, judgement: Judgement, names: Names) -> None:
    """A finding whose key, rule name or beginning changed takes the new fingerprint too, unless another one has it."""
    moved: list[tuple[str, int, str]] = []
    for number, verdict in enumerate(judgement.verdicts):
        if verdict.group is None or verdict.finding is None:
            continue
        mark = fingerprint_of(rule, verdict.group)
        names.marks[number] = before = known.rows[verdict.finding]["fingerprint"]
        if mark != before and verdict.change is not Change.SETTLED:
            moved.append((verdict.finding, number, mark))
    owner = finding_memory.owners(tx, (mark for _, _, mark in moved))
    for finding, number, mark in sorted(moved):
        if mark not in owner:
            names.aliases[mark] = owner[mark] = finding
        if owner[mark] == finding:
            names.marks[number] = mark


def _free_marks(tx: Transaction, rule: RuleIdentity, new: dict[int, Verdict], names: Names) -> dict[int, str]:
    wanted = {number: fingerprint_of(rule, v.group) for number, v in new.items() if v.group}
    first_record = {number: min(records_of(v.group)) for number, v in new.items() if v.group}
    used = set(finding_memory.owners(tx, wanted.values())) | set(names.aliases)
    free: dict[int, str] = {}
    for number in sorted(wanted, key=lambda n: (wanted[n], first_record[n])):
        group, mark, again = new[number].group, wanted[number], 0
        while group and (mark in used or (again and finding_memory.owners(tx, [mark]))):
            again += 1
            mark = fingerprint_of(rule, group, again)
        used.add(mark)
        free[number] = mark
    return free


def _free_ids(tx: Transaction, marks: Sequence[str]) -> dict[str, str]:
    known: set[str] = set()
    while True:
        given = short_ids(marks, known)
        clash = finding_memory.taken(tx, given.values())
        if not clash:
            return given
        known |= clash
