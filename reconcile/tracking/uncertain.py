"""Keep the pairs of records whose judgement would teach a rule, as its run found them."""

from __future__ import annotations

from collections.abc import Sequence

from reconcile.findings.identity import member_name, record_of
from reconcile.store import Transaction, pair_judgements, uncertain_pairs
from reconcile.store.uncertain_pairs import StoredPair
from rules.groups.detection import UncertainPair
from rules.groups.scope import Scope
from rules.kinds.base import Rule
from rules.pairs.evidence import rounded

MOST = 50
"""Pairs that are kept of a rule."""


def keep(tx: Transaction, rule: Rule, pairs: Sequence[UncertainPair], scope: Scope | None = None) -> None:
    """Store the pairs in the place of those of the rule's last run; what people handled is not asked.

    With a `scope`, the pairs of other records stay, and come first.
    """
    stored = [_stored(rule, pair) for pair in pairs]
    if scope is not None:
        records = frozenset(map(record_of, scope.records or ()))
        of_others = [pair for pair in uncertain_pairs.of_rule(tx, rule.name) if records.isdisjoint(pair.records)]
        kept = {pair.records for pair in of_others}
        stored = [*of_others, *(pair for pair in stored if pair.records not in kept)][:MOST]
    uncertain_pairs.replace(tx, rule.name, [pair for pair in stored if not _is_handled(tx, pair)])


def _is_handled(tx: Transaction, pair: StoredPair) -> bool:
    judged = pair_judgements.find(tx, pair.rule, pair.records)
    return judged is not None and judged.is_handled


def _stored(rule: Rule, pair: UncertainPair) -> StoredPair:
    by_name = {member_name(member): member.values for member in (pair.first, pair.second)}
    first, second = sorted(by_name)
    return StoredPair(
        rule.name,
        rule.kind,
        rule.dataset,
        (first, second),
        (by_name[first], by_name[second]),
        rounded(pair.probability),
        pair.evidence,
    )
