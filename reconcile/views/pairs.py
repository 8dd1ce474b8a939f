"""The pairs of records whose judgement would teach a rule, as every door shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconcile.documents import JsonObject
from reconcile.findings.identity import dataset_of, id_of
from reconcile.findings.judgement import FindingChange
from reconcile.findings.shown import Foreseen
from reconcile.masking import records
from reconcile.masking.personal import Masking
from reconcile.masking.records import SideBySide
from reconcile.people.roles import Person
from reconcile.store import listed_pairs, uncertain_pairs
from reconcile.store.uncertain_pairs import StoredPair
from reconcile.views.findings import RevealRefused
from rules.groups.group import DuplicateGroup, Member
from rules.pairs.evidence import in_percent

if TYPE_CHECKING:
    from reconcile.app import Application


@dataclass(frozen=True)
class PairView:
    """Two records that a rule is not sure about, or that it joined, as they may be shown.

    `id` names the pair without any value, and `evidence` says in words what speaks for and against that they are the
    same; `is_masked` if a value may be masked.
    """

    id: str
    rule: str
    probability: float
    evidence: str
    side_by_side: SideBySide
    is_masked: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The names of both records."""
        return tuple(record.name for record in self.side_by_side.records)

    @property
    def rows(self) -> list[tuple[str, str, str, bool]]:
        """Each field with the texts of both records, empty for none, and True if they differ."""
        first, second = (record.cells for record in self.side_by_side.records)
        fields = ((name, first.get(name), second.get(name)) for name in self.side_by_side.fields)
        return [
            (name, left.text if left else "", right.text if right else "", right is not None and right.differs)
            for name, left, right in fields
        ]

    @property
    def percent(self) -> str:
        """The probability in words."""
        return in_percent(self.probability)


def waiting(
    application: Application, rules: Sequence[str] = (), *, joined: bool = False, show: bool = False
) -> list[PairView]:
    """Return the pairs that wait for an answer, of these rules or of all: those that they are not sure about, or those
    that `joined` the records of findings. `show` masks nothing."""
    return [_view(application, pair, show=show) for pair in _stored(application, rules, joined=joined)]


def count(application: Application, rules: Sequence[str] = ()) -> int:
    """Return the number of uncertain pairs that wait for an answer, of these rules or of all."""
    return len(_stored(application, rules))


def _stored(application: Application, rules: Sequence[str], *, joined: bool = False) -> list[StoredPair]:
    every_rule = application.project.rules
    kinds = {name: every_rule[name].kind for name in rules or every_rule if every_rule[name].learns}
    if not kinds:
        return []
    list_pairs = listed_pairs.joined if joined else uncertain_pairs.waiting
    with application.memory.read() as tx:
        return [pair for pair in list_pairs(tx, list(kinds)) if pair.kind == kinds[pair.rule]]


def reveal(application: Application, pair: str, *, by: Person) -> PairView | None:
    """Return one pair with personal data in clear, and record who saw it; None if it is gone. Raises RevealRefused."""
    if not by.sees_personal:
        raise RevealRefused(by.name)
    from reconcile.audit import log  # noqa: PLC0415 - only a revealed pair needs the log

    with application.memory.begin() as tx:
        stored = listed_pairs.get(tx, pair)
        if stored is None or stored.rule not in application.project.rules:
            return None
        body = {"rule": stored.rule, "uncertain": stored.id, "system": by.origin}
        log.append(tx, by.name, "personal_data.revealed", f"rule:{stored.rule}", body)
    return _view(application, stored, show=True)


def to_json(view: PairView) -> JsonObject:
    """Return the pair as public JSON."""
    shown = {"pair": view.id, "rule": view.rule, "probability": view.probability, "evidence": view.evidence}
    return shown | {"side_by_side": records.to_json(view.side_by_side)}


def _view(application: Application, pair: StoredPair, *, show: bool) -> PairView:
    project = application.project
    rule = project.rules[pair.rule]
    hidden = Masking() if show else Masking.of(project, pair.dataset, pair.rule)
    members = [
        Member(id_of(record), values, dataset_of(record))
        for record, values in zip(pair.records, pair.values, strict=True)
    ]
    group = DuplicateGroup({}, keeper=members[0], surplus=(members[1],))
    several = rule.member_datasets if len(rule.member_datasets) > 1 else ()
    foreseen = Foreseen(
        None, rule.name, pair.kind, pair.dataset, rule.severity, FindingChange.NEW, group, datasets=several
    )
    shown = records.side_by_side(project, foreseen, hidden)
    is_masked = any(
        hidden.side(member.dataset).hides(name) or hidden.side(member.dataset).masks_name(member)
        for member in members
        for name in member.values
    )
    return PairView(pair.id, pair.rule, float(pair.probability), pair.evidence, shown, is_masked)
