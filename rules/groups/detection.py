"""The answer of a rule: its groups, and what was counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from rules.engines.base import IdentityProblem, Skipped
from rules.groups.group import Group, Member
from rules.groups.learning import Learnt
from rules.groups.scope import Scope


@dataclass(frozen=True)
class BalanceLine:
    """The balance of two datasets in one currency: `left` - `right` is what the other amounts explain, exactly.

    `matched` is the difference of the money of matched records: what the tolerance allows, or more if the rule compares
    other amounts. `explained` is that of the findings, also `by_form` where it is not zero, `not_reported` that of
    forms which the rule does not report, and `not_yet_due` that of records that may still find their partner.
    """

    currency: str
    left: Decimal
    right: Decimal
    matched: Decimal
    explained: Decimal
    not_yet_due: Decimal
    by_form: Mapping[str, Decimal] = field(default_factory=dict)
    not_reported: Decimal = Decimal(0)


@dataclass(frozen=True)
class UncertainPair:
    """Two records of which the rule is not sure whether they are the same: the answer of a person would teach it.

    `evidence` says in words what speaks for and against it, and holds no value of a record.
    """

    first: Member
    second: Member
    probability: float
    evidence: str


@dataclass(frozen=True)
class Detection:
    """One rule's answer. `scanned` counts records after `where`, `read` before it; `scanned_of`, `read_of` and
    `identity_of` are those of each of several datasets.

    A comparison of two datasets also gives its `balance`, the number of `matched` pairs, the records `not_yet_due`,
    and the pairs that are `interchangeable` with others. `listed` are the pairs known to be different, by the dataset
    that lists them, and `mapped` the values that `map` looks up, by the dataset that has them.

    `unread_of` are the records of each dataset that were not read, because their `where` is certain to be false; they
    are counted in `read`. `uncertain` are the pairs whose judgement would teach the rule most, if its kind learns, the
    first ones most. An incremental detection gives its `scope`: it read only records of these keys, and counts
    only what it read. `remember` returns what the next incremental one needs, by name; what it does not name stays. One
    that was to learn gives what it has `learnt`, and no groups.
    """

    rule: str
    engine: str
    read: int
    scanned: int
    skipped: tuple[Skipped, ...]
    groups: Sequence[Group]
    identity: IdentityProblem = field(default_factory=IdentityProblem)
    statements: tuple[str, ...] = ()
    read_of: Mapping[str, int] = field(default_factory=dict)
    scanned_of: Mapping[str, int] = field(default_factory=dict)
    identity_of: Mapping[str, IdentityProblem] = field(default_factory=dict)
    balance: tuple[BalanceLine, ...] = ()
    matched: int | None = None
    not_yet_due: int = 0
    interchangeable: int = 0
    listed: Mapping[str, int] = field(default_factory=dict)
    mapped: Mapping[str, int] = field(default_factory=dict)
    scope: Scope | None = None
    unread_of: Mapping[str, int] = field(default_factory=dict)
    learnt: Learnt | None = None
    uncertain: tuple[UncertainPair, ...] = ()
    remember: Callable[[], Mapping[str, bytes]] | None = None

    @property
    def unread(self) -> int:
        return sum(self.unread_of.values())

    def of(self, dataset: str) -> Detection:
        """Return what was counted in one of the rule's datasets, with all groups; what is not told apart stays."""
        unread = {dataset: self.unread_of.get(dataset, 0)}
        counted = replace(self, read=self.read_of.get(dataset, self.read), unread_of=unread)
        of_dataset = dataset if dataset in self.scanned_of else None
        skipped = tuple(entry for entry in self.skipped if entry.dataset == of_dataset)
        identity = self.identity_of.get(dataset, self.identity)
        return replace(counted, scanned=self.scanned_of.get(dataset, self.scanned), skipped=skipped, identity=identity)
