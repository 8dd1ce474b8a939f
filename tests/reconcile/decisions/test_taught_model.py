"""A walk through the life of a rule that people teach: whatever happens, their answers hold.

Records come, change and go, the rule is edited, people judge pairs, split findings, dismiss and reopen them, and the
rule runs. After each run, records that were judged different are in no group together while no new value links them,
those judged the same are in one group while they differ in nothing new, unless another judgement or a veto forbids it,
no judgement is lost, and no news is told twice.

`RECONCILE_STEPS=100000 pytest -m chaos tests/reconcile/decisions/test_taught_model.py` takes the long walk.
"""

import itertools
import json
import os
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile.audit import proof
from reconcile.decisions import decide, pairs
from reconcile.errors import Refused, Wrong
from reconcile.findings.identity import differing_in, linking_in
from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from reconcile.store import tables
from reconcile.store.finding_memory import decode_key
from rules.kinds.similar import parallel
from rules.pairs.evidence import LinkingValues, differing_values, linking_values
from rules.values import Value
from tests.support.chance import SECONDS, SEED
from tests.support.similar import STRANGERS
from tests.support.taught import Taught

STEPS = int(os.environ.get("RECONCILE_STEPS") or (3_000 if SECONDS else 120))
_ENOUGH = 1_000
"""Steps after which each kind of check was made."""
RECORDS = [f"r{number}" for number in range(9)]
VALUES = {
    "name": ("Ada Lovelace", "Lovelace, Ada", "Ada Lovlace", "Adam Lovelock", "Bela Varga", None),
    "email": ("ada@example.com", "ada.l@example.org", "bela@example.com", None),
    "phone": ("+44 20 7946 0123", "020 79460123", "+44 20 7946 0999", None),
    "born": ("1985-12-10", "1985-10-12", "1971-02-03"),
}
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"threshold": "50%"},
    {"threshold": "3%"},
    {"veto": ["born"]},
    {"veto": ["phone"], "threshold": "10%"},
)
Pair = frozenset[str]


@dataclass(frozen=True)
class Row:
    """A judgement as it is stored."""

    decision: str
    finding: str | None
    agreed: LinkingValues
    differed: LinkingValues


class Walk:
    """One life, with what should be known of it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.taught = Taught.new(folder, STRANGERS)
        self.office = self.taught.office
        self.texts: dict[tuple[Value, ...], dict[str, Value]] = {}
        self.judged: dict[Pair, str] = {}
        self.told: set[tuple[str, int]] = set()
        self.counts = dict.fromkeys(("runs", "judged", "split", "decided", "refused", "apart", "together"), 0)
        for record in RECORDS[:6]:
            self.put(record)
        self.run()

    def step(self) -> None:
        choices = (self.put, self.edit, self.remove, self.judge, self.split, self.decide, self.rule, self.run)
        [act] = self.chance.choices(choices, weights=(8, 12, 3, 25, 8, 12, 2, 18))
        try:
            act()
        except (Refused, Wrong):
            self.counts["refused"] += 1

    # What happens

    def put(self, record: str | None = None) -> None:
        name = record or self.chance.choice(RECORDS)
        values = {column: self.chance.choice(values) for column, values in VALUES.items()}
        self.taught.rows[name] = {**STRANGERS[0], "id": name, **values}

    def edit(self) -> None:
        if present := [name for name in RECORDS if name in self.taught.rows]:
            column = self.chance.choice(list(VALUES))
            self.taught.edit(self.chance.choice(present), **{column: self.chance.choice(VALUES[column])})

    def remove(self) -> None:
        self.taught.rows.pop(self.chance.choice(RECORDS), None)

    def rule(self) -> None:
        self.taught.settings = dict(self.chance.choice(SETTINGS))
        self.texts.clear()

    def judge(self) -> None:
        answer = self.chance.choice((pairs.SAME, pairs.SAME, pairs.NOT_SAME, pairs.FORGET))
        waiting = self.taught.uncertain()
        if waiting and self.chance.random() < 0.6:
            chosen = self.chance.choice(waiting).records
            first, second = (str(json.loads(record)[0][1]) for record in chosen)
        else:
            first, second = self.chance.sample(RECORDS, 2)
        result = self.taught.judge(answer, first, second)
        self.counts["judged"] += 1
        pair = frozenset({first, second})
        if not result.changed:
            return
        if answer == pairs.FORGET:
            del self.judged[pair]
        else:
            self.judged[pair] = "same" if answer == pairs.SAME else "different"
        assert not self.taught.judge(answer, first, second).changed

    def split(self) -> None:
        if finding := self._finding((State.OPEN,)):
            records = _ids(finding)
            record = self.chance.choice(sorted(records))
            if self.taught.split(finding.id, record).changed:
                self.judged |= {frozenset({record, each}): "different" for each in records - {record}}
                self.counts["split"] += 1

    def decide(self) -> None:
        if (finding := self._finding(tuple(State))) is None:
            return
        records = _ids(finding)
        every_pair = [frozenset(pair) for pair in itertools.combinations(records, 2)]
        what = self.chance.choice(("dismiss", "handle", "reopen", "reopen"))
        before = self.rows()
        result = getattr(decide, what)(self.office.store, finding.id, actor="anna")
        self.counts["decided"] += 1
        if not result.changed:
            return
        if what == "dismiss":
            self.judged |= dict.fromkeys(every_pair, "different")
        elif what == "handle":
            self.judged |= {pair: "handled" for pair in every_pair if self.judged.get(pair) != "same"}
        elif finding.state is not State.SNOOZED:
            for pair, row in before.items():
                is_own = row.finding == finding.id and not records.isdisjoint(pair)
                if row.decision != "same" and (is_own or records >= pair):
                    del self.judged[pair]

    def run(self) -> None:
        groups = self.taught.run(quickly=True)
        self.counts["runs"] += 1
        self.hear()
        self.check([set(group) for group in groups])
        if self.chance.random() < 0.1:
            assert self.taught.run(quickly=True) == groups
            assert self.hear() == []

    def hear(self) -> list[tuple[str, int]]:
        news = [(finding.id, finding.version) for finding in self.office.heard[-1]]
        assert self.told.isdisjoint(news)
        self.told.update(news)
        return news

    # What holds

    def check(self, groups: list[set[str]]) -> None:
        rows = self.rows()
        assert {pair: row.decision for pair, row in rows.items()} == self.judged
        different = {pair for pair, row in rows.items() if row.decision == "different" and self.is_apart(pair, row)}
        for pair in different:
            self.counts["apart"] += 1
            assert not any(pair <= group for group in groups), pair
        same = [pair for pair, row in rows.items() if row.decision == "same" and self.is_together(pair, row)]
        forbidden = different | {pair for pair in _every_pair(self.taught.rows) if self.is_vetoed(pair)}
        for component in _components(same):
            if not any(pair <= component for pair in forbidden):
                self.counts["together"] += 1
                assert any(component <= group for group in groups), component

    def is_apart(self, pair: Pair, row: Row) -> bool:
        """True if both are there, and no value links them that did not when they were judged."""
        if not pair <= self.taught.rows.keys():
            return False
        first, second = self.compared(pair)
        return linking_values((name, first[name]) for name in first if second.get(name) == first[name]) <= row.agreed

    def is_together(self, pair: Pair, row: Row) -> bool:
        """True if both are there, and differ in no value in which they did not when they were judged."""
        if not pair <= self.taught.rows.keys():
            return False
        first, second = self.compared(pair)
        shared = ((name, first[name], second[name]) for name in first if name in second)
        return differing_values(values for values in shared if values[1] != values[2]) <= row.differed

    def is_vetoed(self, pair: Pair) -> bool:
        first, second = self.compared(pair)
        vetoes = self.taught.settings.get("veto", ())
        return any(name in first and name in second and first[name] != second[name] for name in vetoes)

    def compared(self, pair: Pair) -> list[dict[str, Value]]:
        return [self.as_compared(self.taught.rows[name]) for name in sorted(pair)]

    def as_compared(self, row: dict[str, Value]) -> dict[str, Value]:
        """The texts that the present rule compares; each row has them once, as most of a walk would go into them."""
        values = tuple(row[column] for column in VALUES)
        if values not in self.texts:
            self.texts[values] = dict(self.taught.rule.as_compared(row))
        return self.texts[values]

    def rows(self) -> dict[Pair, Row]:
        with self.office.store.read() as tx:
            stored = list(tx.connection.execute(sa.select(tables.not_same)))
        return {
            frozenset(str(json.loads(record)[0][1]) for record in (row.record_a, row.record_b)): Row(
                row.decision or "different",
                row.finding,
                linking_in(decode_key(row.values_a)),
                differing_in(decode_key(row.values_a), decode_key(row.values_b)),
            )
            for row in stored
        }

    def _finding(self, states: tuple[State, ...]) -> Finding | None:
        findings = [finding for finding in self.office.all(states=states) if finding.members]
        return self.chance.choice(sorted(findings, key=lambda finding: finding.id)) if findings else None


def _ids(finding: Finding) -> set[str]:
    return {str(member.id[0]) for member in finding.members}


def _every_pair(names: Iterable[str]) -> Iterator[Pair]:
    return map(frozenset, itertools.combinations(names, 2))


def _components(linked: list[Pair]) -> list[set[str]]:
    components: list[set[str]] = []
    for pair in linked:
        touched = [component for component in components if component & pair]
        components = [component for component in components if not component & pair]
        components.append(set(pair).union(*touched))
    return components


@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.parametrize("number", range(3))
def test_answers_hold_whatever_happens(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "threads", lambda: 1)  # nine records are compared before a thread has started
    print(f"seed {SEED + number}")
    walk = Walk(tmp_path, SEED + number)

    for _ in range(STEPS):
        walk.step()

    assert proof.prove(walk.office.store, {}).problem is None
    assert STEPS < _ENOUGH or all(walk.counts.values()), walk.counts
