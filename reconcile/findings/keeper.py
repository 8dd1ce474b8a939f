"""The keeper of a finding: the rule's, or the record that a person chose instead. Pure.

A choice names one record, and stays with it in whatever finding of its rule that is. It decides what people see and
what is planned; detection never reads it.
"""

from __future__ import annotations

import datetime as dt
import hmac
from collections.abc import Sequence
from dataclasses import replace

from reconcile.findings.handled import keeper_of
from reconcile.findings.identity import member_name, public
from reconcile.findings.shown import Finding, FindingMember
from reconcile.findings.states import State

CHOOSABLE = (State.OPEN, State.AWAITING, State.SNOOZED, State.STALE, State.FAILED)
"""States in which a person may choose: no cleaning of the finding is approved, in progress or over."""


def as_chosen(finding: Finding) -> Finding:
    """Return a stored finding with the chosen record as its keeper; the others stay in the rule's order.

    Of several chosen records it is the one that was chosen in this finding, or else the last one. A person
    who handled records of the finding kept one of them.
    """
    chosen = [n for n, member in enumerate(finding.members) if member.chosen_by is not None]
    if not chosen and finding.handled_pairs and finding.keeper is not None:
        names = [member_name(member) for member in finding.members]
        pairs = [(member_name(first), member_name(second)) for first, second in finding.handled_pairs]
        chosen = [names.index(keeper_of(names, pairs))]
    if chosen in ([], [0]):
        return finding

    def rank(place: int) -> tuple[bool, dt.datetime]:
        member = finding.members[place]
        return not member.is_chosen_elsewhere, member.chosen_at or member.first_seen

    place = max(chosen, key=rank)
    order = [place, *(n for n in range(len(finding.members)) if n != place)]
    places = {old: new for new, old in enumerate(order)}
    links = [replace(link, first=places[link.first], second=places[link.second]) for link in finding.links]
    return keeping(replace(finding, links=tuple(links)), finding.members[place])


def keeping(finding: Finding, member: FindingMember) -> Finding:
    """Return the finding with this member, and who chose it, as its keeper before all others."""
    others = (replace(each, role="surplus", chosen_by=None) for each in finding.members if not is_same(each, member))
    by_rule = finding.rule_keeper or finding.keeper
    differs = by_rule is not None and not is_same(by_rule, member)
    members = (replace(member, role="keeper"), *others)
    return replace(finding, members=members, rule_keeper=by_rule if differs else None)


def is_same(first: FindingMember, second: FindingMember) -> bool:
    """Return True if both are the same record."""
    return member_name(first) == member_name(second)


def handle_of(key: bytes, finding: str, member: FindingMember) -> str:
    """Return a name for a record of a finding that holds none of its values: forms and the audit log use it.

    Unlike its place it stays the same while a run, or another person, changes the order of the records.
    """
    text = f"reconcile/record/1|{finding}|{member_name(member)}"
    return hmac.digest(key, text.encode(), "sha256").hex()[:32]


def named(finding: Finding, typed: Sequence[str], key: bytes) -> list[FindingMember]:
    """Return the members with this name: the parts of the id, the id as one text like `A-1 / 7`, or the handle."""
    texts = [(member, [_text(public(part)) for part in member.id]) for member in finding.members]
    exact = [member for member, parts in texts if parts == list(typed)]
    if exact or len(typed) != 1:
        return exact
    return [member for member, parts in texts if typed[0] in (" / ".join(parts), handle_of(key, finding.id, member))]


def _text(part: object) -> str:
    return "" if part is None else str(part)
