"""Keep the pairs of records whose judgement would teach a rule, as its run found them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from reconcile.findings.identity import member_name
from reconcile.store import Transaction, pair_judgements, uncertain_pairs
from reconcile.store.uncertain_pairs import StoredPair
from rules.groups.detection import UncertainPair
from rules.kinds.base import Rule

_PLACES = Decimal("0.0001")


def keep(tx: Transaction, rule: Rule, pairs: Sequence[UncertainPair]) -> None:
    """Store the pairs in the place of those of the rule's last run; what people handled is not asked."""
    stored = [_stored(rule, pair) for pair in pairs]
    uncertain_pairs.replace(tx, rule.name, [pair for pair in stored if not _is_handled(tx, pair)])


def _is_handled(tx: Transaction, pair: StoredPair) -> bool:
    judged = pair_judgements.find(tx, pair.rule, pair.records)
    return judged is not None and judged.is_handled


def _stored(rule: Rule, pair: UncertainPair) -> StoredPair:
    by_name = {member_name(member): member.values for member in (pair.first, pair.second)}
    first, second = sorted(by_name)
    probability = Decimal(repr(pair.probability)).quantize(_PLACES)
    return StoredPair(
        rule.name,
        rule.kind,
        rule.dataset,
        (first, second),
        (by_name[first], by_name[second]),
        probability,
        pair.evidence,
    )
