"""Whatever happens to records, rules, clocks and people: findings are never lost, and nothing is told twice.

Two machines over the same steps. With a key as identity an independent model foretells every message. With a window,
where groups split and merge, what must hold of every run is checked instead. A third machine pairs and parts the
records of two datasets.
"""

from __future__ import annotations

import datetime as dt
import itertools
import os
import random
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from reconcile.audit import log
from reconcile.decisions import decide
from reconcile.findings.identity import RuleIdentity, member_name, records_of
from reconcile.findings.shown import Finding
from reconcile.findings.states import SETTLED, State
from rules.groups.group import Discrepancy, DuplicateGroup
from tests.support.findings import BANK, KEY, RULE, FindingsOffice, discrepancy, group, ids

pytestmark = pytest.mark.slow

RECORDS = st.integers(1, 8)
KEYS = st.sampled_from("AB")
TIMES = st.integers(0, 30)
APART = 8
SETTLING = {"dismiss": decide.dismiss, "handle": decide.handle}
_template: list[Path] = []
_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - a private folder is made inside it


@pytest.fixture(scope="module", autouse=True)
def empty_store() -> Iterator[None]:
    """One empty store, copied for every example: creating it costs more than the example."""
    with tempfile.TemporaryDirectory() as folder:
        FindingsOffice.new("sqlite:///empty.db", Path(folder)).store.close()
        _template.append(Path(folder) / "empty.db")
        yield
        _template.clear()


def _copy() -> tuple[FindingsOffice, Path]:
    folder = Path(tempfile.mkdtemp(dir=_MEMORY))
    shutil.copy(_template[0], folder / "state.db")
    return FindingsOffice.at("sqlite:///state.db", folder, key=KEY), folder


class Life(RuleBasedStateMachine):
    """Records come, change and go; the rule runs, is killed before it tells, is renamed; people decide."""

    by_records = False

    @initialize()
    def begin(self) -> None:
        self.office, self.folder = _copy()
        self.identity: RuleIdentity = replace(RULE, by_records=self.by_records)
        self.names = 0
        self.ran: str | None = None
        self.data: dict[int, tuple[str, int]] = {}
        self.ever: set[str] = set()
        self.told: set[tuple[str, int]] = set()
        self.judged: dict[frozenset[int], tuple[str, str]] = {}  # pair -> key, finding

    def teardown(self) -> None:
        if hasattr(self, "office"):
            assert log.verify(self.office.store).intact
            self.office.store.close()
            shutil.rmtree(self.folder)

    @rule(record=RECORDS, key=KEYS, at=TIMES)
    def put(self, record: int, key: str, at: int) -> None:
        self.data[record] = (key, at)

    @rule(key=KEYS, at=TIMES)
    def put_three_together(self, key: str, at: int) -> None:
        self.data |= {at % 6 + offset: (key, at + offset) for offset in (1, 2, 3)}

    @precondition(lambda self: self.data)
    @rule(choice=st.randoms(use_true_random=False))
    def remove(self, choice: random.Random) -> None:
        del self.data[choice.choice(sorted(self.data))]

    @rule(hours=st.integers(1, 40))
    def wait(self, hours: int) -> None:
        self.office.clock.now += dt.timedelta(hours=hours)

    @rule()
    def rename(self) -> None:
        self.names += 1
        self.identity = replace(self.identity, name=f"rule-{self.names}", was=self.ran)

    @rule(killed=st.booleans(), choice=st.randoms(use_true_random=False))
    def run(self, killed: bool, choice: random.Random) -> None:
        groups = self.groups()
        choice.shuffle(groups)
        outcome = self.office.record(*groups, rule=self.identity, tell=False)
        assert outcome.groups == len(groups)
        assert outcome.new + outcome.known + outcome.grown + outcome.reopened + outcome.settled == len(groups)
        self.ran = self.identity.name
        self.after_run(groups)
        if not killed:
            self.hear()

    @precondition(lambda self: self.ever)
    @rule(
        choice=st.randoms(use_true_random=False), what=st.sampled_from(["dismiss", "handle", "snooze", "sleep", "undo"])
    )
    def decide(self, choice: random.Random, what: str) -> None:
        finding = self.office.get(choice.choice(sorted(self.ever)))
        store, name = self.office.store, finding.id
        if what in SETTLING and finding.state in (State.OPEN, State.SNOOZED):
            SETTLING[what](store, name, actor="anna")
            for pair in itertools.combinations(ids(finding.members), 2):
                self.judged[frozenset(pair)] = (str(finding.key["order"]), name)  # type: ignore[arg-type]  # ids are ints
        elif what in ("snooze", "sleep") and finding.state is State.OPEN:
            until = self.office.clock.now + dt.timedelta(hours=20) if what == "snooze" else None
            decide.snooze(store, name, actor="anna", until=until)
        elif what == "undo" and finding.state in (*SETTLED, State.SNOOZED):
            decide.reopen(store, name, actor="anna")
            if finding.state in SETTLED:
                self.judged = {pair: of for pair, of in self.judged.items() if of[1] != name}
        else:
            return
        self.after_decision(what, finding)

    def groups(self) -> list[DuplicateGroup]:
        """Today's groups by the plainest reading of the rule."""
        by_key: dict[str, list[int]] = defaultdict(list)
        for record, (key, at) in sorted(self.data.items(), key=lambda item: (item[1][1], item[0])):
            by_key[key].append(record)
            assert at == self.data[record][1]
        parts = [(key, part) for key, records in by_key.items() for part in self.parts(records)]
        return [group(key, *part, start=self.data[part[0]][1]) for key, part in parts if len(part) > 1]

    def parts(self, records: list[int]) -> list[list[int]]:
        return [records]

    def hear(self) -> list[Finding]:
        heard = self.office.tell(self.identity.name)
        for item in heard:
            assert (item.id, item.version) not in self.told
            self.told.add((item.id, item.version))
        assert self.office.tell(self.identity.name) == []
        return heard

    def is_judged(self, duplicate_group: DuplicateGroup) -> bool:
        """Every pair of the group was called different or handled, by people who saw these values."""
        pairs = itertools.combinations(ids(duplicate_group.members), 2)
        return all(self.judged.get(frozenset(pair), ("", ""))[0] == duplicate_group.key["order"] for pair in pairs)  # type: ignore[arg-type]  # ids are ints

    def after_run(self, groups: list[DuplicateGroup]) -> None:
        raise NotImplementedError

    def after_decision(self, what: str, finding: Finding) -> None:
        """For machines that foretell."""

    @invariant()
    def no_finding_is_ever_lost(self) -> None:
        if not hasattr(self, "office"):
            return
        now = {finding.id for finding in self.office.all()}
        assert self.ever <= now
        self.ever = now


@dataclass
class Expected:
    """What the model knows of one key."""

    state: str = "open"
    members: set[int] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    settled: set[int] = field(default_factory=set)
    until: dt.datetime | None = None
    version: int = 0
    told: int = 0
    id: str = ""


class ByKey(Life):
    """The key is the identity: the model says exactly what happens."""

    @initialize()
    def know_nothing(self) -> None:
        self.expected: dict[str, Expected] = {}

    def after_run(self, groups: list[DuplicateGroup]) -> None:
        today = {str(entry.key["order"]): entry for entry in groups}
        for key, item in today.items():
            self.foretell(self.expected.setdefault(key, Expected(state="none")), item)
        for key, remembered in self.expected.items():
            if key not in today and remembered.state in ("open", "snoozed"):
                remembered.state = "resolved"
        by_order = {str(entry.key["order"]): entry for entry in self.office.all()}
        assert by_order.keys() == {key for key, expected in self.expected.items() if expected.state != "none"}
        for key, finding in by_order.items():
            remembered = self.expected[key]
            remembered.id = remembered.id or finding.id
            assert (finding.id, finding.state.value, finding.version) == (
                remembered.id,
                remembered.state,
                remembered.version,
            )
            if remembered.state in ("open", "snoozed"):
                assert set(ids(finding.members)) == remembered.members

    def foretell(self, expected: Expected, duplicate_group: DuplicateGroup) -> None:
        members = {int(str(name)) for name in ids(duplicate_group.members)}
        if self.is_judged(duplicate_group) or (expected.settled and members <= expected.settled):
            expected.state = "resolved" if expected.state in ("open", "snoozed") else expected.state
            return
        is_over = expected.until is not None and expected.until <= self.office.clock.now
        woken = expected.state == "snoozed" and is_over
        if expected.state in ("none", "resolved", "dismissed", "handled") or not members <= expected.seen or woken:
            expected.state, expected.version = "open", expected.version + 1
        expected.members = members
        expected.seen |= members

    def after_decision(self, what: str, finding: Finding) -> None:
        remembered = self.expected[str(finding.key["order"])]
        remembered.state = {"dismiss": "dismissed", "handle": "handled", "undo": "open"}.get(what, "snoozed")
        remembered.until = self.office.clock.now + dt.timedelta(hours=20) if what == "snooze" else None
        if what in SETTLING:
            remembered.settled = {int(str(name)) for name in ids(finding.members)}
        if what == "undo" and finding.state in SETTLED:
            remembered.settled = set()

    def hear(self) -> list[Finding]:
        due = {
            remembered.id
            for remembered in self.expected.values()
            if remembered.state == "open" and remembered.version > remembered.told
        }
        heard = super().hear()
        assert {item.id for item in heard} == due
        for value in self.expected.values():
            value.told = value.version if value.id in due else value.told
        return heard


class ByRecords(Life):
    """Groups split and merge: after every run each group has its one finding, or nobody needs one."""

    by_records = True

    def parts(self, records: list[int]) -> list[list[int]]:
        parts: list[list[int]] = []
        for record in records:
            if parts and self.data[record][1] - self.data[parts[-1][0]][1] <= APART:
                parts[-1].append(record)
            else:
                parts.append([record])
        return parts

    def after_run(self, groups: list[DuplicateGroup]) -> None:
        everything = self.office.all()
        live = [entry for entry in everything if entry.state in (State.OPEN, State.SNOOZED)]
        owed = {frozenset(ids(entry.members)) for entry in groups if not self.is_judged(entry)}
        settled = {frozenset(ids(entry.members)) for entry in groups if self.is_judged(entry)}
        assert sorted(map(sorted, owed)) == sorted(sorted(ids(entry.members)) for entry in live)  # type: ignore[type-var]  # ints
        assert not settled & {frozenset(ids(entry.members)) for entry in live}
        for item in everything:
            assert self.office.get(item.id).fingerprint == item.fingerprint
            assert (item.merged_into is not None) == (item.state is State.MERGED)
            assert item.merged_into is None or item.merged_into in {second.id for second in everything}
        before = {entry.id: (entry.state, entry.version) for entry in everything}
        again = self.office.record(*groups, rule=self.identity, tell=False)
        assert (again.new, again.grown, again.reopened, again.resolved, again.merged) == (0, 0, 0, 0, 0)
        assert {finding.id: (finding.state, finding.version) for finding in self.office.all()} == before


class PairAndPart(RuleBasedStateMachine):
    """Records of two datasets pair, part and pair with others; the rule runs; people dismiss, handle and reopen.

    Records in one place are one discrepancy: left_only, right_only, mismatch, or ambiguous if there are more than two.
    Their amounts never change, so a decision about some records in a form never ends by itself.
    """

    @initialize()
    def begin(self) -> None:
        self.office, self.folder = _copy()
        self.places: dict[tuple[str, int], int] = {}
        self.settled: dict[Content, str] = {}
        self.outgrown: set[str] = set()
        """Findings that a record joined after they were settled."""
        self.ever: set[str] = set()

    def teardown(self) -> None:
        if hasattr(self, "office"):
            assert log.verify(self.office.store).intact
            self.office.store.close()
            shutil.rmtree(self.folder)

    @rule(side=st.sampled_from(["left", "right"]), record=st.integers(1, 2), place=st.integers(1, 3))
    def put(self, side: str, record: int, place: int) -> None:
        self.places[side, record] = place

    @precondition(lambda self: self.places)
    @rule(choice=st.randoms(use_true_random=False))
    def remove(self, choice: random.Random) -> None:
        del self.places[choice.choice(sorted(self.places))]

    @rule(choice=st.randoms(use_true_random=False))
    def run(self, choice: random.Random) -> None:
        today = self.today()
        groups = list(today.values())
        choice.shuffle(groups)

        outcome = self.office.record(*groups, rule=BANK)

        heard = {content_of(finding): finding for finding in self.office.heard[-1]}
        assert not heard.keys() & self.settled.keys(), "a settled discrepancy was told again"
        assert outcome.settled >= len(today.keys() & self.settled.keys())
        everything = {finding.id: finding for finding in self.office.all()}
        live = [content_of(finding) for finding in everything.values() if finding.state is State.OPEN]
        assert sorted(live, key=repr) == sorted(today.keys() - self.settled.keys(), key=repr)
        for (form, records), name in self.settled.items():
            if any(form == second and records < others for second, others in today):
                self.outgrown.add(name)
            if name not in self.outgrown:
                assert everything[name].state in SETTLED
                assert content_of(everything[name]) == (form, records)
        again = self.office.record(*groups, rule=BANK)
        assert (again.new, again.grown, again.reopened, again.resolved, again.merged) == (0, 0, 0, 0, 0)

    @precondition(lambda self: self.ever)
    @rule(choice=st.randoms(use_true_random=False), what=st.sampled_from(["dismiss", "handle", "undo"]))
    def decide(self, choice: random.Random, what: str) -> None:
        finding = self.office.get(choice.choice(sorted(self.ever)))
        if what in SETTLING and finding.state is State.OPEN:
            SETTLING[what](self.office.store, finding.id, actor="anna")
            self.forget(finding.id)
            self.settled[content_of(finding)] = finding.id
        elif what == "undo" and finding.state in SETTLED:
            decide.reopen(self.office.store, finding.id, actor="anna")
            self.forget(finding.id)

    def forget(self, finding: str) -> None:
        """A decision about a finding replaces the earlier one about it."""
        self.settled = {content: name for content, name in self.settled.items() if name != finding}
        self.outgrown.discard(finding)

    def today(self) -> dict[Content, Discrepancy]:
        groups = {}
        for place in sorted(set(self.places.values())):
            left, right = (
                sorted(number for (of, number), where in self.places.items() if (of, where) == (side, place))
                for side in ("left", "right")
            )
            form = "mismatch" if len(left) == len(right) == 1 else "ambiguous"
            form = form if left and right else "left_only" if left else "right_only"
            group = discrepancy(form, "A", left, right, money=str(sum(left) * 100 - sum(right)))
            groups[form, frozenset(records_of(group))] = group
        return groups

    @invariant()
    def no_finding_is_ever_lost(self) -> None:
        if hasattr(self, "office"):
            now = {finding.id for finding in self.office.all()}
            assert self.ever <= now
            self.ever = now


Content = tuple[str, frozenset[str]]
"""A discrepancy's form and the names of its records."""


def content_of(finding: Finding) -> Content:
    return finding.form, frozenset(member_name(member) for member in finding.members)


_SETTINGS = settings(max_examples=25, stateful_step_count=30, deadline=None)
TestByKey = pytest.mark.timeout(300)(ByKey.TestCase)
TestByKey.settings = _SETTINGS
TestPairAndPart = pytest.mark.timeout(300)(PairAndPart.TestCase)
TestPairAndPart.settings = _SETTINGS
TestByRecords = pytest.mark.timeout(300)(ByRecords.TestCase)
TestByRecords.settings = _SETTINGS
