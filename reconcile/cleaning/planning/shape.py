"""The stop after a change of the schema: a rule does not clean a dataset that no longer looks as it did.

A column that went, changed its type or emptied, a source that lost half its records, or many times the groups there
used to be: each may make a rule match what it was never meant to. It goes on reporting; cleaning waits for a person.
What is compared with is the last run whose shape was taken, so that a run that was stopped changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import Any

import sqlalchemy as sa

from reconcile.findings.operations import BundleState
from reconcile.store import Transaction
from reconcile.store.finding_memory import insert_for
from reconcile.store.tables import bundles, dataset_schemas
from rules.engines.base import Detection, Member
from rules.kinds.base import Fitted, Rule

TIMES = 5
"""So many times the median of groups is too many."""
FEW = 20
"""Below so many records, or groups, no share says anything."""
FEW_MEMBERS = 10
"""The same of members of groups, which are few where all is well."""
EMPTIED = 0.5
"""A column emptied when the share of records without it rose by more than this."""
REMEMBERED = 20
"""Runs whose number of groups the median is of."""
LOOKED_AT = 10_000
"""Members whose values are looked at."""
WHERE = "where"


@dataclass(frozen=True)
class Shape:
    """What a rule saw of its dataset in one run. `rule` is its binding.

    `types` are of all columns of the dataset, `used` names those the rule matches, keeps or cleans by. `empty` is, by
    column, the share of scanned records that took no part because they lack it; of `where`, of all records, because it
    cannot be said. `bare` is the share of the members of groups that lack it. `cleaned` is how many records
    the rule may have taken out of the dataset so far.
    """

    run: str
    rule: str
    types: Mapping[str, str]
    used: Sequence[str]
    read: int
    groups: int
    members: int
    cleaned: int = 0
    empty: Mapping[str, float] = field(default_factory=dict)
    bare: Mapping[str, float] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """64 hex digits that name the dataset's columns and types."""
        return hashlib.sha256(json.dumps(sorted(self.types.items())).encode()).hexdigest()


@dataclass(frozen=True)
class Past:
    """What earlier runs saw: the shape of the last one, and how many groups each of them found."""

    shape: Shape | None
    groups: Sequence[int]


def of(rule: Rule, fitted: Fitted, found: Detection, run: str, binding: str, cleaned: int = 0) -> Shape:
    """The shape of the groups' dataset in a detection."""
    members = list(islice(_members(found), LOOKED_AT))
    missing = Counter(name for one in members for name, value in one.values.items() if value is None)
    empty: dict[str, float] = {}
    for left_out in found.skipped:
        of_all = found.scanned if left_out.scanned else found.read
        empty[left_out.column] = empty.get(left_out.column, 0.0) + left_out.records / (of_all or 1)
    return Shape(
        run=run,
        rule=binding,
        types={one.name: one.type.value for one in fitted.relation.schema},
        used=_used(rule, fitted),
        read=found.read,
        groups=len(found.groups),
        members=len(members),
        cleaned=cleaned,
        empty=empty,
        bare={name: records / (len(members) or 1) for name, records in missing.items()},
    )


def refuse(tx: Transaction, rule: Rule, fitted: Fitted, found: Detection, run: str, binding: str) -> str | None:
    """Why nothing may be cleaned by this rule, for `budgets.stop`; None: it may, and the next run compares with this.

    `binding` is the rule's: shapes are compared only while it stays the same. The shape that was refused waits for
    `allow`. A run that is taken up again is compared with the runs before it.
    """
    now = of(rule, fitted, found, run, binding, _cleaned(tx, rule.name))
    known = _known(tx, rule)
    why = None if known is None else compare(rule, known.before(run), now)
    if known is None or why is None:
        _write(tx, rule.dataset, rule.name, _taken(known, now))
    else:
        _write(tx, rule.dataset, rule.name, replace(known, waiting=now))
    return why


def allow(tx: Transaction, dataset: str, rule: str) -> bool:
    """Take the shape that was refused for the one to compare with from now on; False where none waits."""
    known = _row(tx, dataset, rule)
    if known is None or known.waiting is None:
        return False
    _write(tx, dataset, rule, _taken(None, known.waiting))
    return True


def compare(rule: Rule, before: Past, now: Shape) -> str | None:
    """What is too different, for `budgets.stop`; None: nothing.

    Nothing is compared in the first run, and in the first after an edit of the rule: those ask people anyway.
    """
    was = before.shape
    if was is None or was.rule != now.rule:
        return None
    reason = next(_differences(rule, was, before.groups, now), None)
    if reason is None:
        return None
    return f"dataset {rule.dataset!r} does not look as it did: {reason}"


def _differences(rule: Rule, was: Shape, groups: Sequence[int], now: Shape) -> Iterator[str]:
    used = {*now.used, *(name for name in _words(rule) if name in was.types)}
    for name in sorted(used):
        if name in was.types and name not in now.types:
            yield f"column {name} is gone"
        elif was.types.get(name, now.types.get(name)) != now.types.get(name):
            yield f"column {name} was {was.types[name]} and is {now.types[name]}"
    left = now.read + max(0, now.cleaned - was.cleaned)  # what we took out ourselves did not go by itself
    if left * 2 <= was.read and was.read - left >= FEW:
        yield f"it holds {now.read:,} records, and held {was.read:,}"
    if now.read >= FEW:
        yield from _emptied(was.empty, now.empty, "the records")
    if min(now.members, was.members) >= FEW_MEMBERS:
        yield from _emptied(was.bare, now.bare, "the records of its groups")
    usual = statistics.median(groups) if groups else None
    if usual is not None and now.groups > max(TIMES * usual, FEW):
        yield f"it finds {now.groups:,} groups, where {usual:,.0f} were usual"


def _emptied(was: Mapping[str, float], now: Mapping[str, float], of_what: str) -> Iterator[str]:
    for name, share in sorted(now.items()):
        if share - was.get(name, 0.0) > EMPTIED:
            what = "its condition cannot be said for" if name == WHERE else f"column {name} is empty in"
            yield f"{what} {share:.0%} of {of_what}, and was in {was.get(name, 0.0):.0%}"


def _members(found: Detection) -> Iterator[Member]:
    for group in found.groups:
        yield from group.members


def _used(rule: Rule, fitted: Fitted) -> tuple[str, ...]:
    words, relation = _words(rule), fitted.relation
    named = {*fitted.needed[relation.dataset], *(name for name in relation.schema.names if name in words)}
    return tuple(sorted(named))


def _words(rule: Rule) -> set[str]:
    """Every text in the settings of the cleaning: the columns it names are among them."""
    return set() if rule.clean is None else set(_texts(rule.clean.model_dump(mode="json")))


def _texts(said: Any) -> Iterator[str]:
    if isinstance(said, str):
        yield said
    elif isinstance(said, Mapping):
        for key, value in said.items():
            yield from _texts(key)
            yield from _texts(value)
    elif isinstance(said, Sequence):
        for one in said:
            yield from _texts(one)


# What is kept of it: one row a dataset and rule


@dataclass(frozen=True)
class _Known:
    """`groups` are pairs of run and number, of the latest runs whose shape was taken; `waiting` was refused.

    `previous` is the shape before that of the last run, in case that run is taken up again.
    """

    shape: Shape
    groups: Sequence[tuple[str, int]]
    previous: Shape | None = None
    waiting: Shape | None = None

    def before(self, run: str) -> Past:
        """Without what this run itself saw in an earlier attempt."""
        shape = self.previous if self.shape.run == run else self.shape
        return Past(shape, [groups for one, groups in self.groups if one != run])


def _taken(known: _Known | None, now: Shape) -> _Known:
    if known is None:
        return _Known(now, [(now.run, now.groups)])
    groups = [one for one in known.groups if one[0] != now.run and known.shape.rule == now.rule]
    return _Known(now, [*groups, (now.run, now.groups)][-REMEMBERED:], known.before(now.run).shape)


def _cleaned(tx: Transaction, rule: str) -> int:
    mine = (bundles.c.rule == rule, bundles.c.state == BundleState.SUCCEEDED.value)
    taken_out = (bundles.c.action != "set", bundles.c.undoes.is_(None))
    return int(tx.connection.execute(sa.select(sa.func.sum(bundles.c.records)).where(*mine, *taken_out)).scalar() or 0)


def _known(tx: Transaction, rule: Rule) -> _Known | None:
    found = _row(tx, rule.dataset, rule.name)
    return found if found is not None or rule.was is None else _row(tx, rule.dataset, rule.was)


def _row(tx: Transaction, dataset: str, rule: str) -> _Known | None:
    mine = (dataset_schemas.c.dataset == dataset, dataset_schemas.c.rule == rule)
    facts = tx.connection.execute(sa.select(dataset_schemas.c.facts).where(*mine)).scalar()
    if facts is None:
        return None
    groups = [(run, groups) for run, groups in facts["groups"]]
    return _Known(Shape(**facts["shape"]), groups, _shape(facts["previous"]), _shape(facts["waiting"]))


def _shape(facts: Mapping[str, Any] | None) -> Shape | None:
    return None if facts is None else Shape(**facts)


def _write(tx: Transaction, dataset: str, rule: str, known: _Known) -> None:
    insert = insert_for(tx, dataset_schemas)
    newer = {name: insert.excluded[name] for name in ("digest", "facts", "at")}
    row = {"dataset": dataset, "rule": rule, "digest": known.shape.digest, "facts": asdict(known), "at": tx.now}
    tx.connection.execute(insert.on_conflict_do_update(index_elements=["dataset", "rule"], set_=newer), row)
