"""Findings are judged part by part; the result is the same as judging all of them at once."""

from __future__ import annotations

import datetime as dt
import functools
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from findings_support import KEY, NOON, RULE, SPAN, FindingsOffice, group
from hypothesis import given, settings
from hypothesis import strategies as st

from reconcile.audit import log as audit
from reconcile.findings.identity import RuleIdentity, key_text, records_of
from reconcile.findings.judgement import Verdict, judge
from reconcile.findings.known import Known, NotSame, Outline, Part, parts
from reconcile.findings.states import Event, State
from reconcile.store import tables
from reconcile.tracking import decide, progress, remember
from rules.engines.base import DuplicateGroup

Drawn = list[tuple[str, list[int]]]

# Of one run no record is in two groups; what is known may have any records, for keys change.
found_now = st.lists(st.sampled_from("ABC"), max_size=8).map(
    lambda keys: [(key, [2 * n, 2 * n + 1]) for n, key in enumerate(keys)]
)
known_before = st.lists(
    st.tuples(st.sampled_from("ABC"), st.lists(st.integers(0, 16), min_size=2, max_size=4, unique=True)), max_size=8
)
states = st.lists(st.sampled_from([State.OPEN, State.DISMISSED, State.RESOLVED, State.SNOOZED]), min_size=8, max_size=8)


def outlines(known: Sequence[Known], rule: RuleIdentity) -> list[Outline]:
    return [
        Outline(one.id, sorted(one.followed) if rule.by_records else [key_text(one.key)], len(one.members))
        for one in known
    ]


def remembered(drawn: Drawn, states: Sequence[State]) -> list[Known]:
    made = []
    for n, ((key, members), state) in enumerate(zip(drawn, states, strict=False)):
        names = records_of(group(key, *members))
        settled = frozenset(names) if state is State.DISMISSED else frozenset()
        since = NOON - dt.timedelta(days=n)
        made.append(Known(f"F-{n}", state, {"order": key}, names[0], frozenset(names), since, settled=settled))
    return made


def verdicts(judged: Sequence[Verdict]) -> list[str]:
    return sorted(map(repr, judged))


@pytest.mark.parametrize("rule", [RULE, SPAN], ids=["by key", "by records"])
@given(now=found_now, before=known_before, states=states)
def test_parts_come_to_what_all_come_to(rule: RuleIdentity, now: Drawn, before: Drawn, states: list[State]) -> None:
    groups = [group(key, *members) for key, members in now]
    known = remembered(before, states)
    by_id = {one.id: one for one in known}
    none = NotSame()

    made = list(parts(groups, outlines(known, rule), by_records=rule.by_records, most=1))

    judged: list[Verdict] = []
    for part in made:
        some = [groups[number] for number in part.groups]
        judged += judge(rule, some, [by_id[name] for name in part.findings], none, NOON).verdicts
    assert verdicts(judged) == verdicts(judge(rule, groups, known, none, NOON).verdicts)
    assert sorted(number for part in made for number in part.groups) == list(range(len(groups)))
    assert sorted(name for part in made for name in part.findings) == sorted(by_id)


def test_a_part_is_full_at_so_many_records_and_never_in_the_middle_of_what_belongs_together() -> None:
    groups: list[DuplicateGroup] = [group(f"{n:02}", 2 * n, 2 * n + 1) for n in range(10)]
    known = remembered([("03", [6, 7]), ("gone", [90, 91])], [State.OPEN, State.OPEN])

    made = list(parts(groups, outlines(known, RULE), by_records=False, most=8))

    assert made == [
        Part([0, 1, 2, 3], ["F-0"]),
        Part([4, 5, 6, 7], []),
        Part([8, 9], ["F-1"]),
    ]


# Over the life of findings, through the state

records = st.integers(0, 11)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), records, st.sampled_from("ABC"), st.integers(0, 30)),
        st.tuples(st.just("together"), records, st.sampled_from("ABC"), st.integers(0, 30)),
        st.tuples(st.just("remove"), records),
        st.tuples(st.just("wait"), st.integers(1, 40)),
        st.tuples(st.just("rename")),
        st.tuples(st.just("edit")),
        st.tuples(st.just("run"), st.booleans(), st.booleans()),
        st.tuples(st.just("run"), st.just(True), st.just(True)),
        st.tuples(
            st.sampled_from(["dismiss", "snooze", "sleep", "reopen", "clean", "undo", "propose", "approve", "doubt"]),
            st.integers(0, 5),
        ),
    ),
    min_size=6,
    max_size=40,
)
_CLEAN = (Event.APPROVED, Event.STARTED, Event.CLEANED)
_EVENTS = {
    "clean": _CLEAN,
    "undo": (*_CLEAN, Event.UNDONE),
    "propose": (Event.PROPOSED,),
    "approve": (Event.APPROVED,),
    "doubt": (Event.APPROVED, Event.STARTED, Event.QUARANTINED),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("empty")
    FindingsOffice.new("sqlite:///empty.db", folder).store.close()
    return folder / "empty.db"


class Life:
    """A store whose rule judges so many records at a time."""

    def __init__(self, template: Path, folder: Path, most: int, *, by_records: bool) -> None:
        folder.mkdir()
        shutil.copy(template, folder / "state.db")
        self.office = FindingsOffice.at("sqlite:///state.db", folder, key=KEY)
        self.store = self.office.store
        self.most = most
        self.rule = replace(RULE, by_records=by_records)
        self.ran: str | None = None
        self.data: dict[int, tuple[str, int]] = {}
        self.told: list[Any] = []
        self.names = 0

    def step(self, what: str, *said: Any) -> None:
        if what == "put":
            record, key, at = said
            self.data[record] = (key, at)
        elif what == "together":
            record, key, at = said
            self.data |= {(record + n) % 12: (key, at + n) for n in range(3)}
        elif what == "remove":
            self.data.pop(said[0], None)
        elif what == "wait":
            self.office.clock.now += dt.timedelta(hours=said[0])
        elif what == "rename":
            self.names += 1
            self.rule = replace(self.rule, name=f"rule-{self.names}", was=self.ran)
        elif what == "edit":
            self.rule = replace(self.rule, definition=self.rule.definition + "x")
        elif what == "run":
            self.run(*said)
        else:
            self.decide(what, *said)

    def run(self, complete: bool, tell: bool) -> None:
        self.office.clock.now += dt.timedelta(minutes=1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(remember, "parts", functools.partial(parts, most=self.most))
            outcome = self.office.record(*self.groups(), rule=self.rule, complete=complete, tell=tell)
        self.ran = self.rule.name
        heard = self.office.heard[-1] if tell else []
        self.told.append((outcome, [(one.id, one.version, one.change) for one in heard]))

    def decide(self, what: str, number: int) -> None:
        found = self.office.all()
        if not found:
            return
        one = sorted(found, key=lambda f: f.id)[number % len(found)]
        if what == "dismiss" and one.state in (State.OPEN, State.SNOOZED):
            decide.dismiss(self.store, one.id, actor="anna")
        elif what in ("snooze", "sleep") and one.state is State.OPEN:
            until = self.office.clock.now + dt.timedelta(hours=20) if what == "snooze" else None
            decide.snooze(self.store, one.id, actor="anna", until=until)
        elif what == "reopen" and one.state in (State.DISMISSED, State.SNOOZED):
            decide.reopen(self.store, one.id, actor="anna")
        elif what in _EVENTS and one.state is State.OPEN:
            for event in _EVENTS[what]:
                with self.store.begin() as tx:
                    progress.move(tx, [progress.Transition(one.id, event)], by="reconcile")

    def groups(self) -> list[DuplicateGroup]:
        by_key: dict[str, list[int]] = defaultdict(list)
        for record, (key, at) in sorted(self.data.items(), key=lambda item: (item[1][1], item[0])):
            by_key[key].append(record)
            assert at == self.data[record][1]
        found = [(key, part) for key, mine in sorted(by_key.items()) for part in self.split(mine)]
        return [
            group(key, *part, start=self.data[part[0]][1], money=f"{len(part)}.10")
            for key, part in found
            if len(part) > 1
        ]

    def split(self, mine: list[int]) -> list[list[int]]:
        if not self.rule.by_records:
            return [mine]
        found: list[list[int]] = []
        for record in mine:
            if found and self.data[record][1] - self.data[found[-1][-1]][1] <= 8:
                found[-1].append(record)
            else:
                found.append([record])
        return found

    def all(self) -> dict[str, Any]:
        """Everything the store holds of findings, and the log without its order in one transaction."""
        with self.store.read() as tx:
            kept = {
                table.name: sorted(map(repr, map(tuple, tx.connection.execute(sa.select(table)))))
                for table in (
                    tables.findings,
                    tables.finding_members,
                    tables.finding_aliases,
                    tables.not_same,
                    tables.rule_state,
                    tables.notified,
                )
            }
            log = [(one.at, one.actor, one.event, one.subject, repr(one.body)) for one in audit.entries(tx)]
        assert audit.verify(self.store).intact
        return kept | {"log": sorted(log), "told": self.told}


@pytest.mark.slow
@pytest.mark.parametrize("by_records", [False, True], ids=["by key", "by records"])
@settings(max_examples=25, deadline=None)
@given(drawn=steps)
def test_a_life_of_findings_is_the_same_judged_one_by_one_and_all_at_once(
    drawn: list[tuple[Any, ...]], by_records: bool, template: Path
) -> None:
    lives: list[Any] = []

    with tempfile.TemporaryDirectory() as name:
        for most in (1, 2, 1_000_000):
            life = Life(template, Path(name) / str(most), most, by_records=by_records)
            for what, *said in drawn:
                life.step(what, *said)
            lives.append(life.all())
            life.store.close()

    for other in lives[:-1]:
        assert other == lives[-1]
