"""Compare two answers of a rule over the same records: the findings that appear, vanish and change. Pure.

The groups of the first answer stand for known findings, and the groups of the second are matched to them as a run does.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from reconcile.findings.identity import key_text, records_of
from reconcile.findings.known import Known, NotSame, Outline, match, parts
from reconcile.findings.states import State
from rules.groups.group import Group

_BEFORE = dt.datetime.min.replace(tzinfo=dt.UTC)


@dataclass(frozen=True)
class GroupChange:
    """A finding that is not the same in both answers; `before` or `after` is None where it is missing.

    `differs` names what changed: `members`, `keeper` (or `roles`), `money`, `key`, `span`, `form`.
    """

    before: Group | None
    after: Group | None
    differs: tuple[str, ...] = ()

    @property
    def change(self) -> Literal["appears", "vanishes", "changes"]:
        if self.before is None:
            return "appears"
        return "vanishes" if self.after is None else "changes"

    @property
    def shown(self) -> Group:
        """The finding as it will be, or as it was."""
        group = self.after or self.before
        assert group is not None  # noqa: S101 - one of them is given
        return group


def compare(before: Sequence[Group], after: Sequence[Group], *, by_records: bool) -> Iterator[GroupChange]:
    """Yield each finding that differs. `by_records`: a finding is known by its records, else by its key."""
    outlines = (_outline(number, group, by_records=by_records) for number, group in enumerate(before))
    for part in parts(after, outlines, by_records=by_records):
        earlier_findings = [_known(number, before[int(number)]) for number in part.findings]
        matching = match([after[number] for number in part.groups], earlier_findings, NotSame(), by_records=by_records)
        for matched in matching.matches:
            earlier = None if matched.finding is None else before[int(matched.finding.id)]
            differs = () if earlier is None else tuple(_differences(earlier, matched.group))
            if earlier is None or differs:
                yield GroupChange(earlier, matched.group, differs)
        yield from (GroupChange(before[int(finding.id)], None) for finding in matching.left)


def _outline(number: int, group: Group, *, by_records: bool) -> Outline:
    marks = records_of(group) if by_records else (key_text(group.key),)
    return Outline(_id(number), marks, len(group.members))


def _known(name: str, group: Group) -> Known:
    members = frozenset(records_of(group))
    return Known(name, State.OPEN, group.key, _names(group)[0][1], members, first_seen=_BEFORE)


def _id(number: int) -> str:
    """Return a name that sorts like the number."""
    return f"{number:015}"


def _differences(before: Group, after: Group) -> Iterator[str]:
    is_grown = set(records_of(before)) != set(records_of(after))
    if is_grown:
        yield "members"
    if _names(before)[0] != _names(after)[0]:
        yield "keeper" if before.form == after.form == "duplicate" else "roles"
    elif not is_grown and set(_names(before)) != set(_names(after)):
        yield "roles"
    if before.money != after.money:
        yield "money"
    if key_text(before.identity_key) != key_text(after.identity_key):
        yield "key"
    if before.span != after.span:
        yield "span"
    if before.form != after.form:
        yield "form"


def _names(group: Group) -> list[tuple[str, str]]:
    """Return each record with its role, the anchor first."""
    return [(role, record) for (role, _), record in zip(group.roles, records_of(group), strict=True)]
