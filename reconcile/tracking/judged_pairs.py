"""Tell the detection of a rule which pairs of records people judged to be different."""

from __future__ import annotations

from reconcile.findings.identity import RuleIdentity, dataset_of, id_of, linking_in
from reconcile.store import Transaction, judgements
from reconcile.store import finding_memory as memory
from rules.kinds.base import Rule
from rules.values import canonical_json


def keeping_apart(tx: Transaction, rule: Rule) -> Rule:
    """Return a rule whose groups have links with the pairs that no key may join; another rule as it is."""
    if not rule.joins:
        return rule
    identity = RuleIdentity.of(rule)
    former = memory.former_name(tx, identity)
    kind = memory.continued_kind(tx, identity)
    not_same = judgements.load_not_same(tx, (rule.name, former) if former else (rule.name,), kind)
    return rule.keeping_apart(
        {
            frozenset((dataset_of(record), canonical_json(id_of(record))) for record in pair): linking_in(first)
            for pair, (first, _) in not_same.pairs.items()
            if pair not in not_same.handled
        }
    )
