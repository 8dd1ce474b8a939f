"""The pairs of records that people are asked about: those a rule is not sure about, then those that join findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconcile.findings.identity import member_name
from reconcile.findings.keeper import handle_of
from reconcile.findings.shown import Finding
from reconcile.findings.states import WAITING
from reconcile.store import findings, pair_judgements, uncertain_pairs
from reconcile.store.database import Transaction
from reconcile.store.findings import FindingFilter, FindingUnknown
from reconcile.store.uncertain_pairs import StoredPair
from rules.pairs import evidence
from rules.pairs.evidence import Link

MOST_JOINED = 50
"""Findings of which the pairs are listed."""


def joined(tx: Transaction, rules: Sequence[str]) -> list[StoredPair]:
    """Return the unjudged pairs by which the rules joined findings that wait, the least probable first."""
    criteria = FindingFilter(rules=tuple(rules), states=WAITING, by_probability=True, limit=MOST_JOINED)
    pairs = [pair for finding in findings.find(tx, criteria) for pair in _pairs(tx, finding)] if rules else []
    unjudged = [pair for pair in pairs if pair_judgements.find(tx, pair.rule, pair.records) is None]
    return sorted(unjudged, key=lambda pair: pair.probability)


def get(tx: Transaction, identifier: str) -> StoredPair | None:
    """Return the pair of this id, judged or not; None without one."""
    if not identifier.startswith("F-"):
        return uncertain_pairs.get(tx, identifier)
    try:
        finding = findings.get(tx, identifier.partition(".")[0])
    except FindingUnknown:
        return None
    return next((pair for pair in _pairs(tx, finding) if pair.id == identifier), None)


def _pairs(tx: Transaction, finding: Finding) -> Iterator[StoredPair]:
    for link, _ in evidence.holding(finding.links):
        yield _pair(tx, finding, link)


def _pair(tx: Transaction, finding: Finding, link: Link) -> StoredPair:
    members = sorted((finding.members[link.first], finding.members[link.second]), key=member_name)
    first, second = members
    handles = (handle_of(tx.store.key, finding.id, member) for member in members)
    assert link.probability is not None  # noqa: S101 - else it would not hold the finding together
    return StoredPair(
        finding.rule,
        finding.kind,
        finding.dataset,
        (member_name(first), member_name(second)),
        (first.values, second.values),
        link.probability,
        link.detail,
        ".".join((finding.id, *handles)),
    )
