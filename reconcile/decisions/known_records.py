"""The records that a person names in a judgement: those that the last run of the rule put into a finding or a pair."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reconcile.decisions.refusals import PairUnknown, RecordNotKnown, SameRecordTwice
from reconcile.findings.identity import beginning, dataset_of, id_of, public
from reconcile.store import Transaction, listed_pairs, pair_records, uncertain_pairs
from rules.kinds.base import Rule
from rules.values import Value
from rules.values.compact import encoder

_JSON = encoder()
UNNAMED = "The two records"
"""How a pair is named whose ids a person may not see."""
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True)
class KnownPair:
    """Two records, by their names in the store, the smaller first, with their values; `name` is that for people."""

    records: tuple[str, str]
    values: tuple[Mapping[str, Value], Mapping[str, Value]]
    name: str


def listed_pair(tx: Transaction, rule: Rule, pair: str) -> KnownPair:
    """Return a listed pair by its id. It is not named by its records, whose ids a person may not see.

    Raises PairUnknown.
    """
    stored = listed_pairs.get(tx, pair)
    if stored is None or stored.rule != rule.name:
        raise PairUnknown(rule.name)
    return KnownPair(stored.records, stored.values, UNNAMED)


def typed_pair(tx: Transaction, rule: Rule, typed: Sequence[Sequence[str]]) -> KnownPair:
    """Return the pair of records with these ids. Raises RecordNotKnown, SameRecordTwice."""
    paired = {
        record: values
        for pair in uncertain_pairs.of_rule(tx, rule.name)
        for record, values in zip(pair.records, pair.values, strict=True)
    }
    chosen = dict(_record(tx, rule, record, paired) for record in typed)
    if len(chosen) != 2:
        raise SameRecordTwice(rule.name)
    first, second = sorted(chosen)
    name = " and ".join(_in_words(rule, record) for record in chosen)
    return KnownPair((first, second), (chosen[first], chosen[second]), name)


def _record(
    tx: Transaction, rule: Rule, typed: Sequence[str], paired: Mapping[str, Mapping[str, Value]]
) -> tuple[str, Mapping[str, Value]]:
    """Return the record with this id, and its values."""
    possible = list(_possible(rule, typed))
    held = {**pair_records.values_of(tx, rule.name, possible)}
    held |= {record: values for record, values in paired.items() if record in possible}
    held = held or {**pair_records.judged_values(tx, rule.name, possible)}
    if len(held) != 1:
        raise RecordNotKnown(rule.name, " / ".join(typed), is_ambiguous=bool(held))
    return next(iter(held.items()))


def _possible(rule: Rule, typed: Sequence[str]) -> Iterator[str]:
    """Yield the names that a record of this id may have: in each dataset, its parts as texts or numbers."""
    datasets = rule.member_datasets
    for number, dataset in enumerate(datasets):
        first, *rest = typed
        own = [first.removeprefix(f"{dataset} "), *rest] if len(datasets) > 1 else [first, *rest]
        written = {tuple(own)} | ({tuple(own[0].split(" / "))} if len(own) == 1 else set())
        for parts in sorted(written):
            for tagged in itertools.product(*map(_tagged, parts)):
                name = _JSON([*tagged])
                yield name if number == 0 else f"{beginning(dataset)},{name[1:]}"


def _tagged(part: str) -> list[list[str]]:
    return [["t", part], *([["n", part]] if _NUMBER.fullmatch(part) else [])]


def _in_words(rule: Rule, record: str) -> str:
    text = " / ".join("" if part is None else str(public(part)) for part in id_of(record))
    dataset = f"{dataset_of(record) or rule.dataset} " if len(rule.member_datasets) > 1 else ""
    return f"{dataset}{text}"
