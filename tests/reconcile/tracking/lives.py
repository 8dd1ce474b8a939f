"""Lives of findings: steps that hypothesis draws, and a store in which they happen."""

import datetime as dt
import functools
import shutil
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import strategies as st

from reconcile.audit import log as audit
from reconcile.decisions import decide
from reconcile.findings.known import parts
from reconcile.findings.states import Event, State
from reconcile.store import tables
from reconcile.tracking import progress, remember
from rules.groups.group import Group
from tests.support.findings import KEY, RULE, FindingsOffice, group

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
            st.sampled_from(
                ["dismiss", "handle", "snooze", "sleep", "reopen", "clean", "undo", "propose", "approve", "doubt"]
            ),
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

    def step(self, what: str, *values: Any) -> None:
        if what == "put":
            record, key, at = values
            self.data[record] = (key, at)
        elif what == "together":
            record, key, at = values
            self.data |= {(record + n) % 12: (key, at + n) for n in range(3)}
        elif what == "remove":
            self.data.pop(values[0], None)
        elif what == "wait":
            self.office.clock.now += dt.timedelta(hours=values[0])
        elif what == "rename":
            self.names += 1
            self.rule = replace(self.rule, name=f"rule-{self.names}", was=self.ran)
        elif what == "edit":
            self.rule = replace(self.rule, definition=self.rule.definition + "x")
        elif what == "run":
            self.run(*values)
        else:
            self.decide(what, *values)

    def run(self, complete: bool, tell: bool) -> None:
        self.office.clock.now += dt.timedelta(minutes=1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(remember, "parts", functools.partial(parts, most=self.most))
            outcome = self.office.record_all(self.groups(), rule=self.rule, complete=complete, tell=tell)
        self.ran = self.rule.name
        heard = self.office.heard[-1] if tell else []
        self.told.append((outcome, [(finding.id, finding.version, finding.change) for finding in heard]))

    def decide(self, what: str, number: int) -> None:
        findings = self.office.all()
        if not findings:
            return
        finding = sorted(findings, key=lambda finding: finding.id)[number % len(findings)]
        if what == "dismiss" and finding.state in (State.OPEN, State.SNOOZED):
            decide.dismiss(self.store, finding.id, actor="anna")
        elif what == "handle" and finding.state in (State.OPEN, State.SNOOZED):
            decide.handle(self.store, finding.id, actor="anna")
        elif what in ("snooze", "sleep") and finding.state is State.OPEN:
            until = self.office.clock.now + dt.timedelta(hours=20) if what == "snooze" else None
            decide.snooze(self.store, finding.id, actor="anna", until=until)
        elif what == "reopen" and finding.state in (State.DISMISSED, State.HANDLED, State.SNOOZED):
            decide.reopen(self.store, finding.id, actor="anna")
        elif what in _EVENTS and finding.state is State.OPEN:
            for event in _EVENTS[what]:
                with self.store.begin() as tx:
                    progress.move(tx, [progress.Transition(finding.id, event)], by="reconcile")

    def groups(self) -> Sequence[Group]:
        by_key: dict[str, list[int]] = defaultdict(list)
        for record, (key, at) in sorted(self.data.items(), key=lambda item: (item[1][1], item[0])):
            by_key[key].append(record)
            assert at == self.data[record][1]
        split = [(key, part) for key, mine in sorted(by_key.items()) for part in self.split(mine)]
        return [
            group(key, *part, start=self.data[part[0]][1], money=f"{len(part)}.10")
            for key, part in split
            if len(part) > 1
        ]

    def split(self, mine: list[int]) -> list[list[int]]:
        if not self.rule.by_records:
            return [mine]
        clusters: list[list[int]] = []
        for record in mine:
            if clusters and self.data[record][1] - self.data[clusters[-1][-1]][1] <= 8:
                clusters[-1].append(record)
            else:
                clusters.append([record])
        return clusters

    def all(self) -> dict[str, Any]:
        """Everything the store holds of findings, and the log without its order in one transaction.

        Digests of groups are left out, and entries of the log that only record those.
        """
        with self.store.read() as tx:
            kept = {
                table.name: sorted(
                    map(repr, map(tuple, tx.connection.execute(sa.select(*(c for c in table.c if c.name != "digest")))))
                )
                for table in (
                    tables.findings,
                    tables.finding_members,
                    tables.finding_aliases,
                    tables.not_same,
                    tables.rule_state,
                    tables.notified,
                )
            }
            entries = [entry for entry in audit.entries(tx) if entry.event != audit.CHANGED]
            log = [(entry.at, entry.actor, entry.event, entry.subject, repr(entry.body)) for entry in entries]
        assert audit.verify(self.store).intact
        return kept | {"log": sorted(log), "told": self.told}
