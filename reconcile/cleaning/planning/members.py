"""The current records of a finding: keeper and surplus, if they are still alike, or one side of a discrepancy."""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from connectors.target import Row
from reconcile.cleaning.actions.base import AsksPerson, CurrentRecord, GroupMembers, NothingToDo, Stale, ValueChanged
from reconcile.cleaning.planning.asking import CurrentGroups
from reconcile.findings.chosen_values import chosen_values, proof_of
from reconcile.findings.handled import dealt_with
from reconcile.findings.identity import member_name, record_of
from reconcile.findings.shown import Finding, FindingMember
from rules.document.mistakes import listed
from rules.groups.group import Group
from rules.kinds.base import Rule
from rules.values import canonical

if TYPE_CHECKING:
    from reconcile.cleaning.planning.plan import PlanningContext

_ALONE = ("left_only", "right_only")


def cleaned_members(finding: Finding, rule: Rule) -> list[FindingMember]:
    """Return the finding's records of the dataset that the rule cleans."""
    return [member for member in finding.members if (member.dataset or rule.dataset) == rule.cleaned]


def members_now(
    finding: Finding, rows: Sequence[Row | None], answer: CurrentGroups, tools: PlanningContext
) -> GroupMembers:
    """Return the group to clean. `rows` are the current rows of its `cleaned_members`, in their order; `answer` is the
    rule's about them.

    The keeper is the rule's, or the record that a person chose: it is the first of the finding's members. Records that
    a decision covers are not surplus. Raises Stale, AsksPerson, NothingToDo, RuleRefuses.
    """
    present = [row for row in rows if row is not None]
    if len(present) < len(rows):
        missing = len(rows) - len(present)
        of_which = f"{missing} of its {len(rows)} records" if len(rows) > 1 else "Its record"
        raise Stale(f"{of_which} no longer {'exists' if missing == 1 else 'exist'}.")
    if len({row.name for row in present}) < len(present):
        raise Stale("Its records are no longer the ones that were found.")
    if answer.refusal is not None:
        raise answer.refusal
    if tools.settings.forms:
        return _of_discrepancy(finding, present, answer.of(finding), tools)
    return _of_duplicates(finding, present, answer.of(finding), tools)


def _of_duplicates(
    finding: Finding, rows: Sequence[Row], groups: Sequence[Group], tools: PlanningContext
) -> GroupMembers:
    if finding.keeper is None:
        raise AsksPerson("Its records have no keeper, so only a person can decide about them.")
    names = [record_of(member.id) for member in finding.members]
    settled = {record_of(member.id) for member in finding.members if member.settled_at is not None}
    handled = [(record_of(first.id), record_of(second.id)) for first, second in finding.handled_pairs]
    settled = settled.difference(*handled) | dealt_with(names, handled)
    if len(groups) != 1 or {record_of(member.id) for member in groups[0].members} != set(names):
        raise Stale("Its records changed since it was found: they are no longer all alike.")
    [group] = groups
    if group.keeper is None:
        raise AsksPerson("Its records have no keeper, so only a person can decide about them.")
    if not group.surplus:
        raise NothingToDo("It has a single record, so there is no surplus to clean.")
    by_rule = finding.rule_keeper or finding.keeper
    if finding.kept_by is None and group.keeper.id != by_rule.id:
        raise Stale("Its records changed since it was found: a different one would be kept now.")
    if finding.settled_pairs or group.excepted:
        raise AsksPerson(
            "A person decided that some of its records are not the same, or undid their cleaning; only a person can "
            "decide again."
        )
    records = {name: _record(name, row, tools) for name, row in zip(names, rows, strict=True)}
    surplus_records = [records[name] for name in map(record_of, (m.id for m in group.members)) if name != names[0]]
    surplus = tuple(record for record in surplus_records if record.name not in settled)
    if not surplus:
        raise NothingToDo("Decisions cover every record except the keeper; there is nothing to do.")
    settled_records = tuple(record for record in surplus_records if record.name in settled)
    members = GroupMembers(records[names[0]], surplus, settled_records)
    return replace(members, given=_given(finding, members, tools))


def _given(finding: Finding, members: GroupMembers, tools: PlanningContext) -> dict[str, str]:
    """Return the record that a person chose for each field. Raises ValueChanged if a choice is void."""
    records = {record.name: record for record in (members.keeper, *members.surplus) if record is not None}
    chosen = {column: (record_of(member.id), value) for column, (member, value) in chosen_values(finding).items()}
    for column, (name, value) in chosen.items():
        together = tools.settings.together(column)
        if not together:
            raise ValueChanged(finding.id, column, "the rule no longer merges that column")
        if any(each not in chosen or chosen[each][0] != name for each in together):
            raise ValueChanged(finding.id, column, f"the rule now takes {listed(together)} from one record")
        if name not in records:
            raise ValueChanged(finding.id, column, "a decision covers that record")
        proof = proof_of(tools.secret, name, column, records[name].row.cells.get(column))
        if not hmac.compare_digest(proof, value.proof):
            raise ValueChanged(finding.id, column, "its value there changed since")
    return {column: name for column, (name, _) in chosen.items()}


def _of_discrepancy(
    finding: Finding, rows: Sequence[Row], groups: Sequence[Group], tools: PlanningContext
) -> GroupMembers:
    """Return the records of the side that the rule cleans, if both sides still disagree in the same way."""
    rule = tools.rule
    if not groups:
        phrase = rule.form_words(finding.form).phrase
        is_over = f"It is no longer {phrase}" if finding.form in _ALONE else "Its records may agree now"
        raise Stale(f"{is_over}: a record arrived or changed since it was found.")
    before = {member_name(member) for member in finding.members}
    now = {member_name(member) for member in groups[0].members}
    if len(groups) > 1 or groups[0].form != finding.form or before != now:
        phrases = listed(sorted({_phrase(rule, group) for group in groups}))
        raise Stale(f"A record arrived or changed since it was found; now: {phrases}.")
    [group] = groups
    if not group.has_sides:
        raise AsksPerson("Its records are not a discrepancy, so only a person can decide about them.")
    _must_correct(group, tools)
    names = [record_of(member.id) for member in cleaned_members(finding, rule)]
    records = tuple(_record(name, row, tools) for name, row in zip(names, rows, strict=True))
    if not records:
        raise NothingToDo(f"It has no record of `{rule.cleaned}` to clean.")
    return GroupMembers(None, records, evidence=_evidence(group, tools))


def _phrase(rule: Rule, group: Group) -> str:
    return rule.phrase(group.form, group.differences)


def _must_correct(group: Group, tools: PlanningContext) -> None:
    """Raise NothingToDo if the action sets a compared column, but not all those in which the records differ.

    An action that sets none of them only marks the records.
    """
    is_left = tools.rule.cleaned == tools.rule.dataset
    differing = [each.left_column if is_left else each.right_column for each in group.differences]
    compared = [left if is_left else right for left, right in tools.rule.agreeing]
    written = set(tools.settings.writes)
    if written.isdisjoint(tools.fitted.columns.sources([*compared, *differing])):
        return
    others = [name for name in differing if not written.issuperset(tools.fitted.columns.sources([name]))]
    if others:
        raise NothingToDo(f"It also differs in {listed(others)}, which `clean` does not correct.")


def _evidence(group: Group, tools: PlanningContext) -> str:
    """Return a digest of the records of other datasets with their values; empty if there are none."""
    others = [
        [member_name(member), [[name, canonical(value)] for name, value in sorted(member.values.items())]]
        for member in group.members
        if (member.dataset or tools.rule.dataset) != tools.rule.cleaned
    ]
    text = json.dumps(others, separators=(",", ":"))
    return hmac.digest(tools.secret, b"reconcile/evidence/1|" + text.encode(), "sha256").hex() if others else ""


def _record(name: str, row: Row, tools: PlanningContext) -> CurrentRecord:
    return CurrentRecord(name, row, tools.fitted.columns.complete(row.values, tools.slot))
