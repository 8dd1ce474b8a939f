"""The known findings of a rule, and the matching of today's groups to them. Pure.

Split groups and findings into parts that can be judged separately. Pure.
"""

from __future__ import annotations

import datetime as dt
import itertools
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

from reconcile.findings.identity import holds, judged_values, key_text, records_of, stands
from reconcile.findings.states import LIVE, SETTLED, State
from rules.groups.group import FORM, Group
from rules.values import Value

MOST = 5_000
"""Records of a part, unless connected groups and findings have more."""


@dataclass(frozen=True)
class Outline:
    """A finding's marks (its key as `key_text` writes it, or the names of its records) and number of records."""

    id: str
    marks: Sequence[str]
    records: int


@dataclass
class JudgementPart:
    """Groups by their number, ascending, and findings by their id."""

    groups: list[int] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)


def parts(
    groups: Iterable[Group], known: Iterable[Outline], *, by_records: bool, most: int = MOST
) -> Iterator[JudgementPart]:
    """All groups and findings in parts that can be judged one after the other: no group of one part continues a finding
    of another, and no two parts want the same fingerprint.

    Parts come in the order of their groups, those without a group last. Only a few numbers per item stay in memory.
    """
    joined, records, ids = _Joined(), array("q"), []
    for group in groups:
        joined.add(records_of(group) if by_records else (key_text(group.key),))
        records.append(len(group.members))
    first_finding = len(records)
    for outline in known:
        joined.add(outline.marks)
        records.append(outline.records)
        ids.append(outline.id)
    part, size, previous = JudgementPart(), 0, -1
    for number, root in joined.together():
        if root != previous and size >= most:
            yield part
            part, size = JudgementPart(), 0
        if number < first_finding:
            part.groups.append(number)
        else:
            part.findings.append(ids[number - first_finding])
        size, previous = size + records[number], root
    if size or part.findings:
        yield part


def slices(groups: Iterable[Group], *, most: int = MOST) -> Iterator[list[Group]]:
    """Yield groups that continue no finding, each with a key of its own, in parts of so many records."""
    part: list[Group] = []
    size = 0
    for group in groups:
        part.append(group)
        size += len(group.members)
        if size >= most:
            yield part
            part, size = [], 0
    if part:
        yield part


class _Joined:
    """Items by number, joined with all that share a mark (a forest of disjoint sets).

    Marks are kept as hashes: a collision only joins more items.
    """

    def __init__(self) -> None:
        self._parents = array("q")
        self._first: dict[int, int] = {}

    def add(self, marks: Iterable[str]) -> None:
        number = len(self._parents)
        self._parents.append(number)
        for mark in marks:
            low, high = sorted((self._root(number), self._root(self._first.setdefault(hash(mark), number))))
            self._parents[high] = low

    def together(self) -> Iterator[tuple[int, int]]:
        """Each item and the first of its joined items, grouped, in the order of the first ones."""
        import numpy as np  # noqa: PLC0415 - findings are shown without it

        roots = np.array([self._root(number) for number in range(len(self._parents))], np.int64)
        order = np.argsort(roots, kind="stable")
        return zip(order.tolist(), roots[order].tolist(), strict=True)

    def _root(self, number: int) -> int:
        parents = self._parents
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number


@dataclass(frozen=True)
class Known:
    """A finding as the last run left it. Records are canonical names.

    `anchor` is its first record, like the keeper. `members` are its records then, `former` others it once had,
    `settled` those covered by a decision, made about the values `settled_key`; `decided` is the state that a person
    gave it by that decision. `peaks` are the largest `extents` of a
    discrepancy since it was new or came back. `snoozed_until` is None for a snooze that lasts until it grows. `since`
    is the time of its state. `is_being_undone`: an undo of its cleaning was claimed, and it is not known to be done or
    not done. `kind` is that of its rule then, if it is known. `merged_into` is the finding
    that took it in. `handled` is the money that was handled when a person said so.
    """

    id: str
    state: State
    key: Mapping[str, Value]
    anchor: str
    members: frozenset[str]
    first_seen: dt.datetime
    former: frozenset[str] = frozenset()
    settled: frozenset[str] = frozenset()
    settled_key: Mapping[str, Value] = field(default_factory=dict)
    decided: State | None = None
    peaks: Mapping[str, Decimal] = field(default_factory=dict)
    snoozed_until: dt.datetime | None = None
    since: dt.datetime | None = None
    is_being_undone: bool = False
    kind: str | None = None
    merged_into: str | None = None
    handled: Mapping[str, Decimal] = field(default_factory=dict)

    @property
    def followed(self) -> frozenset[str]:
        """The records that identify this finding: its members, and those a decision covers."""
        return self.members | self.settled

    def covers(self, records: Iterable[str], key: Mapping[str, Value]) -> bool:
        """Return True if a decision about this finding already covers all of these records with this key."""
        return bool(self.settled) and self.settled.issuperset(records) and holds(self.settled_key, key)

    def stands_for(self, key: Mapping[str, Value]) -> bool:
        """Return True if no value is known to differ that the decision was about."""
        return bool(self.settled) and stands(self.settled_key, key)


Pair = tuple[str, str]


@dataclass(frozen=True)
class NotSame:
    """Pairs of records (the smaller name first) judged to be different, each with its two keys at that time.

    `handled` are those of the pairs that are the same, but were dealt with outside Reconcile. `crowds` are sets of
    records with too many pairs to store each, with the values of the judgement.
    """

    pairs: Mapping[Pair, tuple[Mapping[str, Value], Mapping[str, Value]]] = field(default_factory=dict)
    crowds: Sequence[tuple[frozenset[str], Mapping[str, Value]]] = ()
    handled: frozenset[Pair] = frozenset()

    @property
    def records(self) -> frozenset[str]:
        """All records about which there is a judgement."""
        return frozenset(record for pair in self.pairs for record in pair).union(*(crowd for crowd, _ in self.crowds))

    def settles(self, pair: Pair, key: Mapping[str, Value]) -> bool:
        judged = self.pairs.get(pair)
        return judged is not None and all(holds(judged_key, key) for judged_key in judged)

    def settles_all(self, records: Sequence[str], key: Mapping[str, Value]) -> bool:
        """Return True if every pair of these records was judged different or handled; a single record has no pair."""
        if len(records) > 1 and any(crowd.issuperset(records) and holds(judged, key) for crowd, judged in self.crowds):
            return True
        enough = len(records) > 1 and len(self.pairs) * 2 >= len(records) * (len(records) - 1)
        return enough and all(self.settles(pair, key) for pair in itertools.combinations(sorted(records), 2))

    def within(self, records: Iterable[str], key: Mapping[str, Value]) -> list[Pair]:
        """The pairs among these records with a valid judgement, sorted.

        A judgement is valid longer than it prevents a finding: an edited rule may find the records by other columns and
        report them, but the judgement still holds, so people are asked before a cleaning.
        """
        among = frozenset(records)
        if len(among) * (len(among) - 1) > 2 * len(self.pairs):
            possible: Iterable[Pair] = (pair for pair in self.pairs if among.issuperset(pair))
        else:
            possible = itertools.combinations(sorted(among), 2)
        return sorted(pair for pair in possible if self._is_valid(pair, key))

    def handled_within(self, records: Iterable[str], key: Mapping[str, Value]) -> list[Pair]:
        """Return those of `within` that were handled."""
        return [pair for pair in self.within(records, key) if pair in self.handled]

    def are_all_handled(self, records: Sequence[str]) -> bool:
        """Return True if every pair of these records was handled."""
        return self.handled.issuperset(itertools.combinations(sorted(records), 2))

    def _is_valid(self, pair: Pair, key: Mapping[str, Value]) -> bool:
        judged = self.pairs.get(pair)
        return judged is not None and all(stands(judged_key, key) for judged_key in judged)


@dataclass(frozen=True)
class Match:
    """A group of today and the finding it continues.

    `settled`: a decision covers it, or each of its pairs, which is `judged`.
    """

    group: Group
    settled: bool
    judged: bool
    finding: Known | None
    candidates: tuple[Known, ...]

    @cached_property
    def records(self) -> tuple[str, ...]:
        """The names of the group's records."""
        return records_of(self.group)

    @property
    def is_back(self) -> bool:
        """True if it continues a finding that had become part of another."""
        return self.finding is not None and self.finding.state is State.MERGED

    @property
    def takes_in_nothing(self) -> bool:
        """True if findings that share records with it do not become part of it."""
        return self.is_back or (self.settled and self.group.has_sides)


@dataclass(frozen=True)
class FindingMatches:
    """`left` are the known findings no group continues; those in `absorbed` were merged into the named finding."""

    matches: tuple[Match, ...]
    left: tuple[Known, ...]
    absorbed: Mapping[str, str]


def match(groups: Sequence[Group], known: Sequence[Known], not_same: NotSame, *, by_records: bool) -> FindingMatches:
    """Match each group to the finding it continues; the order of either does not matter.

    A settled discrepancy keeps to its records: a group in another form or with other partners neither continues it nor
    takes it in, so the decision holds when the records part again.

    A group prefers the finding whose decision covers it, then the one it shares most records with, then one that is not
    resolved, then the older. A merged finding continues only in a group that its decision covers, and that of no other
    finding does: then its records left the finding that it was merged into. A finding prefers a group that
    needs a decision, then the group with its first record, then the larger group; the others get their next choice or
    are new. (Stable matching, Gale and Shapley 1962: no group and finding would both prefer each other.)
    """
    if not known and not not_same.pairs and not not_same.crowds:
        return FindingMatches(
            tuple(Match(group, settled=False, judged=False, finding=None, candidates=()) for group in groups), (), {}
        )
    reach = _by_record(known) if by_records else _by_key(known)
    proposals = [_proposal(group, reach(group), not_same) for group in groups]
    matched = _stable(proposals)
    finding_of = {id(proposal): finding_id for finding_id, proposal in matched.items()}
    matches = []
    for proposal in proposals:
        finding = next((k for k, _ in proposal.candidates if k.id == finding_of.get(id(proposal))), None)
        matches.append(
            Match(proposal.group, proposal.settled, proposal.judged, finding, tuple(k for k, _ in proposal.candidates))
        )
    left = tuple(sorted((k for k in known if k.id not in matched), key=lambda k: (k.first_seen, k.id)))
    return FindingMatches(tuple(matches), left, _absorbed(matches, left))


@dataclass(frozen=True)
class _Proposal:
    """A group with its candidates, best first, and the number of records it shares with each."""

    group: Group
    records: tuple[str, ...]
    settled: bool
    judged: bool
    candidates: tuple[tuple[Known, int], ...]


def _by_key(known: Sequence[Known]) -> _Reach:
    index: dict[str, list[Known]] = defaultdict(list)
    for finding in known:
        index[key_text(finding.key)].append(finding)
    return lambda group: index.get(key_text(group.key), ())


def _by_record(known: Sequence[Known]) -> _Reach:
    index: dict[str, list[Known]] = defaultdict(list)
    for finding in known:
        for record in finding.followed:
            index[record].append(finding)

    def reach(group: Group) -> Iterable[Known]:
        nearby = {finding.id: finding for record in records_of(group) for finding in index.get(record, ())}
        return nearby.values()

    return reach


def _proposal(group: Group, within_reach: Iterable[Known], not_same: NotSame) -> _Proposal:
    records, values = records_of(group), judged_values(group)
    ranked = []
    for finding in within_reach:
        shared, covered = len(finding.followed.intersection(records)), finding.covers(records, values)
        if group.has_sides and not covered and _keeps_apart(finding, group.form, records):
            continue
        rank = (not covered, -shared, finding.state is State.RESOLVED, finding.first_seen, finding.id)
        ranked.append((rank, finding, shared))
    ranked.sort(key=lambda candidate: candidate[0])
    judged = not_same.settles_all(records, values)
    is_covered = any(not rank[0] and finding.state is not State.MERGED for rank, finding, _ in ranked)
    ranked = [
        (rank, finding, shared)
        for rank, finding, shared in ranked
        if finding.state is not State.MERGED
        or not (is_covered or rank[0] or (finding.decided is None and not judged))  # a cleaning settles records too
    ]
    settled = judged or any(not rank[0] for rank, _, _ in ranked)
    return _Proposal(group, records, settled, judged, tuple((finding, shared) for _, finding, shared in ranked))


def _keeps_apart(finding: Known, form: str, records: tuple[str, ...]) -> bool:
    """Return True if the finding is settled, and the records are others than its own, not only some that joined."""
    if not finding.settled or finding.state in LIVE or finding.settled == frozenset(records):
        return False
    return finding.settled_key.get(FORM) != form or not finding.settled < frozenset(records)


def _stable(proposals: Sequence[_Proposal]) -> dict[str, _Proposal]:
    matched: dict[str, _Proposal] = {}
    asking = [(proposal, iter(proposal.candidates)) for proposal in proposals]
    turn: dict[int, Iterator[tuple[Known, int]]] = {id(proposal): candidates for proposal, candidates in asking}
    waiting = [proposal for proposal, _ in asking]
    while waiting:
        proposal = waiting.pop()
        finding, _ = next(turn[id(proposal)], (None, 0))
        if finding is None:
            continue
        rival = matched.get(finding.id)
        if rival is None or _prefers(finding, proposal, rival):
            matched[finding.id] = proposal
            if rival is not None:
                waiting.append(rival)
        else:
            waiting.append(proposal)
    return matched


def _prefers(finding: Known, new: _Proposal, current: _Proposal) -> bool:
    def rank(proposal: _Proposal) -> tuple[bool, bool, int, str]:
        nothing_left = proposal.settled and finding.state in LIVE
        shared = len(finding.followed.intersection(proposal.records))
        return nothing_left, finding.anchor not in proposal.records, -shared, min(proposal.records)

    return rank(new) < rank(current)


def _absorbed(matches: Iterable[Match], left: Iterable[Known]) -> dict[str, str]:
    """Live or settled findings whose records are now part of a group that continues another finding.

    A settled discrepancy takes in nothing: findings that share records with it end, and can come back. Nor does a
    finding that was merged itself: its records part from those of another.
    """
    into: dict[str, Counter[str]] = defaultdict(Counter)
    age: dict[str, tuple[dt.datetime, str]] = {}
    for matched in matches:
        if matched.finding is not None and not matched.takes_in_nothing:
            age[matched.finding.id] = (matched.finding.first_seen, matched.finding.id)
            for candidate in matched.candidates:
                if shared := len(candidate.followed.intersection(matched.records)):
                    into[candidate.id][matched.finding.id] = shared
    movable = (k.id for k in left if k.state in (*LIVE, *SETTLED) and k.id in into)
    return {absorbed: min(into[absorbed], key=lambda to: (-into[absorbed][to], age[to])) for absorbed in movable}


_Reach = Callable[[Group], Iterable[Known]]
