"""Tell the detection of a rule which pairs of records people judged, as different or as the same."""

from __future__ import annotations

from collections.abc import Iterable

from reconcile.findings.identity import RuleIdentity, dataset_of, differing_in, id_of, linking_in
from reconcile.store import Transaction, judgements, pair_judgements
from reconcile.store import finding_memory as memory
from rules.kinds.base import Rule
from rules.pairs.evidence import LinkingValues
from rules.values import canonical_json

Pair = frozenset[tuple[str | None, str]]


def with_judged(tx: Transaction, rule: Rule) -> Rule:
    """Return a rule whose groups have links with the pairs that no key may join, and those that are the same; another
    rule as it is."""
    if not rule.joins:
        return rule
    identity = RuleIdentity.of(rule)
    former = memory.former_name(tx, identity)
    kind = memory.continued_kind(tx, identity)
    names = (rule.name, former) if former else (rule.name,)
    not_same = judgements.load_not_same(tx, names, kind)
    apart = {
        _named(pair): linking_in(first) for pair, (first, _) in not_same.pairs.items() if pair not in not_same.handled
    }
    same = judgements.load_same(tx, names, kind) if rule.learns else {}
    return rule.with_judged(apart, {_named(pair): differing_in(*values) for pair, values in same.items()})


def with_answers(tx: Transaction, rule: Rule) -> Rule:
    """Return a rule that learns with all pairs that people judged, whatever their values are now, and those of findings
    that they handled or that were cleaned."""
    apart: dict[Pair, LinkingValues] = {}
    together: dict[Pair, LinkingValues] = {}
    for pair in pair_judgements.learnt_pairs(tx, rule.name, rule.kind):
        (together if pair.is_same else apart)[frozenset(pair.named)] = frozenset()
    return rule.with_judged(apart, together)


def _named(pair: Iterable[str]) -> Pair:
    return frozenset((dataset_of(record), canonical_json(id_of(record))) for record in pair)
