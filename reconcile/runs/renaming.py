"""Keep the names of records in the state as a run reads them, when the ids of a dataset have other types or columns.

A run compares the ids that it read with those by which the state names records. If they differ, it renames the records
in a transaction of its own and checks the rule again: people's decisions are also looked up while records are read.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from notifications.wording.words import plural
from reconcile.config.settings import DatasetConfig, Project
from reconcile.detection.bounded import TimeLimits, bounded
from reconcile.detection.detect import Detected, RuleUnchecked
from reconcile.detection.subject import Subject
from reconcile.findings.identity import id_of, is_erased, public, record_of, without_dataset
from reconcile.findings.record_names import RecordIds, untyped
from reconcile.runs.check import Readers, RunOrder
from reconcile.store import Transaction, record_names
from reconcile.tracking.renaming import Renamed, Renaming, rename
from rules.document.mistakes import listed
from rules.engines import answers
from rules.engines.compile import Columns
from rules.kinds.base import Rule
from rules.values import Type, Value, filled


class FormerIdMissing(RuleUnchecked):
    """The dataset lacks a column of its former id, so its records cannot be renamed."""

    def __init__(self, dataset: str, columns: Sequence[str]) -> None:
        super().__init__(
            f"Dataset {dataset!r} has no column {listed(columns)}, the id of its records in the state, so they cannot "
            "get another id. Nothing was changed. Restore the column, or name the new id in `was` and decide again"
        )


class AnotherId(RuleUnchecked):
    """The id of a dataset is another column, and its settings do not name the former one."""

    def __init__(self, dataset: str, former: Sequence[str], now: Sequence[str]) -> None:
        super().__init__(
            f"The id of dataset {dataset!r} was {listed(former)} and is {listed(now)} now. Its findings are unchanged. "
            f"To keep them and what was decided, add `was: {{id: {_written(former)}}}` to the dataset; to start over, "
            f"add `was: {{id: {_written(now)}}}`"
        )


class IdsUnsteady(RuleUnchecked):
    """The ids of a dataset changed again while a rule was checked."""

    def __init__(self, rule: str) -> None:
        super().__init__(
            f"The ids of a dataset of rule {rule!r} changed while it was read, or another run reads them differently. "
            "Its findings are unchanged; run it again"
        )


@dataclass(frozen=True)
class IdentifiedDataset:
    """A dataset as it was read: its ids, and those by which the state names its records; None: not known yet."""

    subject: Subject
    ids: RecordIds
    former: RecordIds | None
    records: frozenset[str] = frozenset()
    """The names of its records in the state, if its id is another column."""

    @property
    def dataset(self) -> DatasetConfig:
        return self.subject.dataset

    def has_records(self, tx: Transaction) -> bool:
        """Return True if a finding in the state holds a record of the dataset."""
        return next(record_names.records(tx, self.dataset.name), None) is not None

    @property
    def has_lost_its_id(self) -> bool:
        """Return True if records have an id of other columns than those of the state, and no `was` says so."""
        former = () if self.former is None else self.former.columns
        return not self.dataset.was and bool(former) and bool(self.ids.columns) and former != self.ids.columns

    @property
    def has_other_columns(self) -> bool:
        """Return True if records have the names of `was`."""
        was = self.dataset.was
        return bool(was) and was != self.ids.columns and (self.former is None or self.former.columns == was)


def outdated(tx: Transaction, rule: Rule, answer: Detected, *, shared: bool = False) -> list[IdentifiedDataset]:
    """Return the datasets of the rule whose records have other names in the state than in the answer.

    With `shared`, the names of the others stay until the transaction ends. Raises AnotherId.
    """
    datasets: list[IdentifiedDataset] = []
    for dataset in sorted(rule.member_datasets):
        if dataset not in answer.subjects:  # nothing was read
            continue
        subject = answer.subjects[dataset]
        ids = ids_of(subject)
        former = record_names.ids(tx, dataset, shared=shared)
        if former is None or not former.names_like(ids):
            named = IdentifiedDataset(subject, ids, former)
            if named.has_lost_its_id and named.has_records(tx):
                raise AnotherId(dataset, () if former is None else former.columns, ids.columns)
            if named.has_other_columns:
                names = frozenset(map(without_dataset, record_names.records(tx, dataset)))
                named = replace(named, records=names)
            datasets.append(named)
    return datasets


def ids_of(subject: Subject) -> RecordIds:
    """Return the ids of a dataset that a rule could be fitted to."""
    relation = subject.relation
    schema = Columns.of(relation.schema, relation.derived, relation.timezone, relation.calendar).schema
    return RecordIds(relation.id, tuple(schema[name].type for name in relation.id))


def renaming_of(
    named: IdentifiedDataset, order: RunOrder, tools: Readers, rule: Rule, alive: Callable[[], None]
) -> Renaming:
    """Return how the dataset's records are renamed. Reads the dataset if its id is another column."""
    dataset = named.dataset.name
    if named.has_other_columns:
        limits = TimeLimits(order.job.time_limit, order.job.stall, order.job.name)
        names, left = bounded(
            partial(_by_former_id, named),
            rule.name,
            limits,
            partial(tools.stop, dataset),
            watch=partial(tools.watch, rule.name),
            alive=alive,
        )
        return Renaming(dataset, named.ids, lambda record: names.get(record, record), left=left)
    is_same_id = named.former is None or named.former.columns == named.ids.columns
    if is_same_id and named.ids.columns:
        return Renaming(dataset, named.ids, named.ids.retyped, _keys(tools.project, named))
    return Renaming(dataset, named.ids, lambda record: record)


def apply(tx: Transaction, named: IdentifiedDataset, renaming: Renaming, run: str) -> tuple[Renamed, str]:
    """Rename the records; return the counts, and a sentence about them, empty if nothing happened."""
    renamed = rename(tx, renaming, run)
    return renamed, _sentence(named, renamed)


def _keys(project: Project, named: IdentifiedDataset) -> Mapping[str, Mapping[str, Type]]:
    """Return the columns of the id that the keys of rules hold as they are read, with their types."""
    types = dict(zip(named.ids.columns, named.ids.types, strict=True))
    return {
        rule.name: {
            part.column: types[part.column] for _, part in rule.key_parts() if part.column in types and not part.steps
        }
        for rule in project.rules.values()
        if rule.dataset == named.dataset.name
    }


def _by_former_id(
    named: IdentifiedDataset, tell: Callable[[int], None]
) -> tuple[Mapping[str, str | None], frozenset[str]]:
    """Return the new names of the state's records by their former ones, and those with an id that is empty or repeated.

    A record of the state that is no longer read keeps its name, unless that is the name of another record now: then it
    gets one that says that it is a former id.
    """
    was = named.dataset.was
    if missing := [name for name in was if name not in named.subject.columns.names]:
        raise FormerIdMissing(named.dataset.name, missing)
    known = {untyped(record): record for record in named.records}
    names: dict[str, str | None] = {}
    times: Counter[str] = Counter()
    all_new = array("q")
    for former, new in _ids(named, tell):
        if new is not None:
            all_new.append(hash(new))
        if former is not None and (record := known.get(untyped(former))) is not None:
            names[record] = new
            times[record] += 1
    hashes, counts = np.unique(np.array(all_new, np.int64), return_counts=True)
    of_known = np.fromiter(map(hash, known.values()), np.int64)
    repeated, existing = set(hashes[counts > 1].tolist()), set(np.intersect1d(hashes, of_known).tolist())
    for record, new_name in names.items():
        if times[record] > 1 or (new_name is not None and hash(new_name) in repeated):
            names[record] = None
    left = frozenset(record for record, new_name in names.items() if new_name is None)
    for record in known.values():
        if names.get(record) is None and hash(record) in existing and not is_erased(id_of(record)):
            names[record] = _set_aside(was, record)
    return names, left


def _set_aside(was: Sequence[str], record: str) -> str:
    """Return a name that no record of a source has, which people can read: `ref 4711`."""
    first, *rest = id_of(record)
    return record_of((f"{was[0]} {public(first)}", *rest))


def _ids(named: IdentifiedDataset, tell: Callable[[int], None]) -> Iterator[tuple[str | None, str | None]]:
    """Yield the names of each record by its former id and by its id; None for an id with an empty part."""
    was, own = named.dataset.was, named.ids.columns
    source, settings = named.subject.source, named.dataset.settings
    scan = source.scan(settings, tuple(dict.fromkeys((*was, *own))))
    try:
        read = 0
        for batch in scan.reader:
            read += batch.num_rows
            tell(read)
            for row in answers.rows(pa.Table.from_batches([batch])):
                yield _name(row, was), _name(row, own)
    finally:
        scan.close()


def _written(columns: Sequence[str]) -> str:
    """Return the columns as `id` and `was` have them."""
    return columns[0] if len(columns) == 1 else f"[{', '.join(columns)}]"


def _name(row: Mapping[str, Value], columns: Sequence[str]) -> str | None:
    record = tuple(filled(row[name]) for name in columns)
    return None if None in record else record_of(record)


def _sentence(named: IdentifiedDataset, renamed: Renamed) -> str:
    dataset, columns = named.dataset.name, named.ids.columns
    parts = []
    if renamed.records:
        records = plural(renamed.records, "record", "records")
        findings = plural(renamed.findings, "finding", "findings")
        have = "has another id" if renamed.records == 1 else "have other ids"
        parts.append(
            f"{records} of {dataset} in {findings} {have} now ({listed(columns)}); decisions about them are kept"
        )
    if renamed.left:
        records = plural(renamed.left, "record", "records")
        keep = "keeps its former id" if renamed.left == 1 else "keep their former ids"
        why = (
            "an id is empty or repeated" if named.has_other_columns else "it was written differently, like 00017 for 17"
        )
        parts.append(f"{records} of {dataset} in findings {keep}, because {why}")
    return "; ".join(parts)
