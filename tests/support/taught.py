"""People who teach a rule of kind `similar`: records, runs in this process, and answers, on a real state."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from reconcile import config
from reconcile.app import Application
from reconcile.decisions import pairs, splitting
from reconcile.decisions.pairs import PairRequest
from reconcile.decisions.request import DecisionResult
from reconcile.findings.identity import Existing, RuleIdentity
from reconcile.store import pair_judgements, uncertain_pairs
from reconcile.store.pair_judgements import LearntPair
from reconcile.store.uncertain_pairs import StoredPair
from reconcile.tracking import judged_pairs, uncertain
from rules.groups.detection import Detection, UncertainPair
from rules.groups.group import DuplicateGroup
from rules.kinds.similar import SimilarRule
from rules.kinds.similar.bound import bind
from rules.kinds.similar.detection import FittedSimilar
from rules.kinds.similar.grouping import SimilarGrouping
from rules.kinds.similar.question import labels
from rules.values import Type
from tests.support.findings import FindingsOffice
from tests.support.rules import Rows
from tests.support.similar import COMPARE, SLOT, TYPES, Row

_TEXTS = dict.fromkeys(COMPARE, Type.TEXT)
CONFIGURATION = """\
version: 1
state: sqlite:///state.db
sources: {files: {type: files, root: .}}
datasets: {things: {source: files, path: things.csv, id: id}}
rules: {twins: {kind: similar, dataset: things, compare: {name: name}}}
jobs: {nightly: {rules: all}}
"""


@dataclasses.dataclass
class Taught:
    """An office with one rule of kind `similar`, and the records that it compares."""

    office: FindingsOffice
    application: Application
    rows: dict[str, Row]
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def new(cls, folder: Path, rows: Sequence[Row], *, url: str = "sqlite:///state.db", **settings: Any) -> Taught:
        return cls.of(FindingsOffice.new(url, folder), folder, rows, **settings)

    @classmethod
    def of(cls, office: FindingsOffice, folder: Path, rows: Sequence[Row], **settings: Any) -> Taught:
        (folder / "reconcile.yaml").write_text(CONFIGURATION)
        project = config.load(folder / "reconcile.yaml", {})
        application = Application(project, store=office.store)
        return cls(office, application, {str(row["id"]): row for row in rows}, settings)

    @property
    def rule(self) -> SimilarRule:
        shared = {"name": "twins", "compare": COMPARE, "dataset": "things"}
        return SimilarRule.model_validate(shared | self.settings)

    def detect(self) -> Detection:
        """What the rule finds now, as people judged."""
        rule = self._as_judged()
        types = {name: TYPES.get(name, Type.TEXT) for row in self.rows.values() for name in row}
        rows = Rows(types, list(self.rows.values()))
        relations = {"things": dataclasses.replace(rows.relation(), dataset="things")}
        return FittedSimilar.of(rule, relations).detect({"things": rows.streamed()}, SLOT)

    def _as_judged(self) -> SimilarRule:
        with self.office.store.read() as tx:
            rule = judged_pairs.with_judged(tx, self.rule)
        assert isinstance(rule, SimilarRule)
        return rule

    def look(self) -> tuple[list[DuplicateGroup], list[UncertainPair]]:
        """The same groups and pairs without the engine that reads records: for very many runs."""
        rule = self._as_judged()
        rows = list(self.rows.values())
        columns = {name: TYPES.get(name, Type.TEXT) for row in rows for name in row} or {"id": Type.TEXT, **_TEXTS}
        bound = bind(rule, {"things": dataclasses.replace(Rows(columns, rows).relation(), dataset="things")})
        [side] = bound.sides
        read = {name: pa.array([row[name] for row in rows], pa.string()) for name in side.needed}
        read |= {label: read[name] for name, label in labels(side).items()}
        grouping = SimilarGrouping(bound, SLOT, (pa.table(read),))
        return list(grouping.groups()), list(grouping.uncertain())

    def run(self, *, quickly: bool = False) -> list[list[str]]:
        """Record what the rule finds and tell it; return the ids of each group."""
        if quickly:
            groups, pairs_now = self.look()
        else:
            detection = self.detect()
            groups, pairs_now = detection.groups, detection.uncertain  # type: ignore[assignment]  # groups of this kind
        self.office.record_all(groups, rule=RuleIdentity.of(self.rule, existing=Existing.REPORT))
        with self.office.store.begin() as tx:
            uncertain.keep(tx, self.rule, pairs_now)
        return sorted(sorted(str(member.id[0]) for member in group.members) for group in groups)

    def judge(self, answer: str, first: str, second: str, *, actor: str = "anna") -> DecisionResult:
        request = PairRequest("twins", answer, records=((first,), (second,)))
        return pairs.judge(self.office.store, self.rule, request, actor=actor)

    def split(self, finding: str, record: str) -> DecisionResult:
        return splitting.split(self.application.decisions("anna"), finding, [record])

    def uncertain(self) -> list[StoredPair]:
        """The pairs that wait for an answer."""
        with self.office.store.read() as tx:
            return uncertain_pairs.waiting(tx, ["twins"])

    def learnt(self) -> dict[frozenset[str], tuple[bool, str]]:
        """What people said of each pair of ids, and how."""
        with self.office.store.read() as tx:
            judged = pair_judgements.learnt_pairs(tx, "twins", "similar")
        return {_ids(pair): (pair.is_same, pair.source) for pair in judged}

    def edit(self, record: str, **values: Any) -> None:
        self.rows[record] = self.rows[record] | values


def _ids(pair: LearntPair) -> frozenset[str]:
    return frozenset(json.loads(record)[0][1] for record in pair.records)
