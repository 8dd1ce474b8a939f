"""A finding for people and programs. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from reconcile.findings.chosen_values import GivenValue, chosen_values
from reconcile.findings.judgement import FindingChange
from reconcile.findings.states import State
from rules.groups.group import Difference, Group, Nearby
from rules.groups.repetition import Repetition
from rules.models import Severity
from rules.pairs import evidence
from rules.pairs.evidence import Link
from rules.values import RecordId, Value


@dataclass(frozen=True)
class FindingMember:
    """A record of a finding in its role. `settled_at`: the time of a decision on it; only records without one can be
    surplus. `dataset` is None for a record of the finding's `dataset`. `chosen_by`: who chose it as the keeper,
    at `chosen_at`; before `first_seen` it was chosen in another finding. `gives`: the fields that the keeper takes from
    it, as people chose.
    """

    role: str
    id: RecordId
    values: Mapping[str, Value]
    first_seen: dt.datetime
    settled_at: dt.datetime | None = None
    dataset: str | None = None
    chosen_by: str | None = None
    chosen_at: dt.datetime | None = None
    gives: Mapping[str, GivenValue] = field(default_factory=dict)

    @property
    def is_chosen_elsewhere(self) -> bool:
        """True if it was chosen in another finding, which it belonged to then."""
        return self.chosen_at is not None and self.chosen_at < self.first_seen

    @property
    def gives_from_elsewhere(self) -> bool:
        """True if a field of it was chosen in another finding, which it belonged to then."""
        return any(value.at < self.first_seen for value in self.gives.values())


@dataclass(frozen=True)
class Finding:
    """The current state of one finding. `members` are its records, like the keeper and then the surplus in the order of
    handling, or the left side and then the right one.

    `datasets` are those whose records its rule's groups hold, if they are several. `form` says what is wrong with the
    records, `differences` are the fields that differ, `form_reason` explains the form, and `links` say which records
    agree by which key.

    `change` is the last reported change, in `version`; `summary`: it belongs to the one summary of a rule's first run.
    `settled_pairs` are the pairs judged different that are still valid, `handled_pairs` those dealt with outside
    Reconcile. `money` is the surplus's sum per currency,
    without its sign. `nearby` are the nearest of the `nearby_records` that a window left out. `not_undone`: the reason
    why the last requested undo was not done. `notified_at`: the time of the last message about it to the channel that
    is asked about, if one is.

    If a person chose the keeper, it is the first of `members`, and `rule_keeper` is the record that the rule would keep
    instead, if that is another one.
    """

    id: str
    fingerprint: str
    rule: str
    kind: str
    dataset: str
    state: State
    severity: Severity
    version: int
    change: FindingChange
    key: Mapping[str, Value]
    records: int
    first_run: str
    first_seen: dt.datetime
    last_run: str
    last_seen: dt.datetime
    state_since: dt.datetime
    members: tuple[FindingMember, ...] = ()
    money: Mapping[str, Decimal] = field(default_factory=dict)
    span: tuple[Value, Value] | None = None
    settled_pairs: tuple[tuple[FindingMember, FindingMember], ...] = ()
    handled_pairs: tuple[tuple[FindingMember, FindingMember], ...] = ()
    summary: bool = False
    reason: str | None = None
    snoozed_until: dt.datetime | None = None
    assigned_to: str | None = None
    decided_by: str | None = None
    note: str | None = None
    merged_into: str | None = None
    not_undone: str | None = None
    nearby: tuple[Nearby, ...] = ()
    nearby_records: int = 0
    form: str = "duplicate"
    datasets: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    form_reason: str | None = None
    links: tuple[Link, ...] = ()
    repetition: Repetition | None = None
    notified_at: dt.datetime | None = None
    rule_keeper: FindingMember | None = None

    @property
    def probability(self) -> Decimal | None:
        """The probability that all its records are the same thing; None where the rule estimates none."""
        return evidence.probability(self.links)

    @property
    def kept_by(self) -> str | None:
        """The person who chose the keeper; None if the rule did."""
        return None if self.keeper is None else self.keeper.chosen_by

    @property
    def choosers(self) -> tuple[str, ...]:
        """The people who chose the keeper or a field of it, each once; empty if the rule chose all."""
        return tuple(dict.fromkeys((*((self.kept_by,) if self.kept_by else ()), *self.value_choosers)))

    @property
    def value_choosers(self) -> tuple[str, ...]:
        """The people who chose fields of the keeper, each once."""
        return tuple(dict.fromkeys(value.by for _, value in chosen_values(self).values()))

    @property
    def keeper(self) -> FindingMember | None:
        return next(iter(self.in_role("keeper")), None)

    @property
    def surplus(self) -> tuple[FindingMember, ...]:
        return self.in_role("surplus")

    def in_role(self, role: str) -> tuple[FindingMember, ...]:
        return tuple(member for member in self.members if member.role == role)


@dataclass(frozen=True)
class Foreseen:
    """A finding as a dry run sees it: nothing is stored, so it has no history; a new one has no `id`.

    `datasets` are those whose records its rule's groups hold; `phrase` is its form in words.
    """

    id: str | None
    rule: str
    kind: str
    dataset: str
    severity: Severity
    change: FindingChange
    group: Group
    datasets: tuple[str, ...] = ()
    phrase: str = ""

    @property
    def state(self) -> State:
        return State.DISMISSED if self.change is FindingChange.SETTLED else State.OPEN


class NamedRecord(Protocol):
    """A record of a finding or of a group."""

    @property
    def id(self) -> RecordId: ...

    @property
    def dataset(self) -> str | None: ...

    @property
    def values(self) -> Mapping[str, Value]: ...
