"""Whatever happens to findings, what is remembered is the same whether they are judged one at a time or all at once."""

from __future__ import annotations

import datetime as dt
import functools
import shutil
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from findings_support import KEY, NOON, RULE, World, group
from hypothesis import given, settings
from hypothesis import strategies as st

from reconcile.audit import log as audit
from reconcile.findings.known import parts
from reconcile.findings.states import Event, State
from reconcile.store import Store, tables
from reconcile.tracking import decide, progress, remember
from rules.engines.base import Group

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
    "undo": (*_CLEAN, Event.TAKEN_BACK),
    "propose": (Event.PROPOSED,),
    "approve": (Event.APPROVED,),
    "doubt": (Event.APPROVED, Event.STARTED, Event.QUARANTINED),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("empty")
    World.at("sqlite:///empty.db", folder).store.close()
    return folder / "empty.db"


class Life:
    """A store whose rule judges so many records at a time."""

    def __init__(self, template: Path, folder: Path, most: int, *, by_records: bool) -> None:
        folder.mkdir()
        shutil.copy(template, folder / "state.db")
        self.store = Store.open("sqlite:///state.db", folder, key=KEY, clock=lambda: self.now)
        self.now = NOON
        self.world = World(self.store)
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
            self.now += dt.timedelta(hours=said[0])
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
        self.now += dt.timedelta(minutes=1)
        self.world.now = self.now
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(remember, "parts", functools.partial(parts, most=self.most))
            outcome = self.world.run(*self.groups(), rule=self.rule, complete=complete, tell=tell)
        self.now = self.world.now
        self.ran = self.rule.name
        heard = self.world.heard[-1] if tell else []
        self.told.append((outcome, [(one.id, one.version, one.change) for one in heard]))

    def decide(self, what: str, number: int) -> None:
        found = self.world.all()
        if not found:
            return
        one = sorted(found, key=lambda f: f.id)[number % len(found)]
        if what == "dismiss" and one.state in (State.OPEN, State.SNOOZED):
            decide.dismiss(self.store, one.id, actor="anna")
        elif what in ("snooze", "sleep") and one.state is State.OPEN:
            until = self.now + dt.timedelta(hours=20) if what == "snooze" else None
            decide.snooze(self.store, one.id, actor="anna", until=until)
        elif what == "reopen" and one.state in (State.DISMISSED, State.SNOOZED):
            decide.reopen(self.store, one.id, actor="anna")
        elif what in _EVENTS and one.state is State.OPEN:
            for event in _EVENTS[what]:
                with self.store.begin() as tx:
                    progress.move(tx, [progress.Move(one.id, event)], by="reconcile")

    def groups(self) -> list[Group]:
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
                    tables.told,
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
