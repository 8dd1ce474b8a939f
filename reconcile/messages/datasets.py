"""Trouble with the records of a dataset that makes answers incomplete: an `id` that several records share, for only one
of them counts in a group and nothing in the dataset is cleaned; and values that cannot be read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from notifications.wording.words import listed, plural
from reconcile.config.settings import Project
from reconcile.findings.results import LeftOut, RuleResult
from reconcile.messages import troubles
from reconcile.messages.run_news import EndedRun
from reconcile.store import Transaction
from reconcile.store import troubles as stored

READ_WHOLE = ("", "full")
"""The modes in which a rule reads all records of a dataset."""


@dataclass
class _Seen:
    """The records of a dataset that the rules of a run left out."""

    read: int = 0
    shared: int = 0
    unreadable: dict[str, LeftOut] = field(default_factory=dict)
    """By column, the most of its values that a rule could not read for one reason."""


def tell(tx: Transaction, project: Project, ended: EndedRun) -> None:
    """Report the datasets with such a trouble since this run, and those without it from now on.

    Only a run of all rules that this job has over the dataset, each of which read all its records, ends a trouble.
    """
    results = [outcome for outcome in ended.outcomes if isinstance(outcome, RuleResult)]
    whole = {result.rule for result in results if result.mode in READ_WHOLE}
    open_troubles = {trouble.subject for trouble in stored.ongoing(tx) if trouble.job == ended.job.name}
    for dataset, seen in _seen(results).items():
        for name, (sentence_of, end) in _TROUBLES.items():
            subject = f"{name}:{dataset}"
            if sentence := sentence_of(project, dataset, seen):
                troubles.begin(tx, project, subject, sentence, job=ended.job.name)
            elif subject in open_troubles and whole >= _over(project, ended.job.rules, dataset):
                troubles.end(tx, project, subject, end.format(dataset=dataset))


def _seen(results: list[RuleResult]) -> Mapping[str, _Seen]:
    seen: dict[str, _Seen] = defaultdict(_Seen)
    for result in results:
        for dataset, read in (result.read_of or {result.dataset: result.read}).items():
            seen[dataset].read = max(seen[dataset].read, read)
        for entry in result.skipped:
            left_out = seen[entry.dataset or result.dataset]
            if (entry.column, entry.reason) == ("id", "not unique"):
                left_out.shared = max(left_out.shared, entry.records)
            elif entry.unreadable:
                most = left_out.unreadable.get(entry.column, entry)
                left_out.unreadable[entry.column] = max(most, entry, key=lambda each: each.records)
    return seen


def _over(project: Project, rules: tuple[str, ...], dataset: str) -> set[str]:
    return {name for name in rules if name in project.rules and dataset in project.rules[name].datasets}


def _shared_ids(project: Project, dataset: str, seen: _Seen) -> str:
    if not seen.shared or not project.datasets[dataset].id:
        return ""
    columns = listed(project.datasets[dataset].id)
    have = "has" if seen.shared == 1 else "have"
    return (
        f"Records of dataset {dataset} share their id. {seen.shared:,} of {plural(seen.read, 'record', 'records')} "
        f"{have} the {columns} of another record. Only one record per id counts in a group, so rules may miss "
        f"duplicates, and nothing in {dataset} is cleaned. Choose columns for `id` whose values differ in all records, "
        "or remove `id`."
    )


def _unreadable(_project: Project, dataset: str, seen: _Seen) -> str:
    if not seen.unreadable:
        return ""
    columns = "; ".join(_values(entry) for entry in seen.unreadable.values())
    return (
        f"Values of dataset {dataset} cannot be read. Rules do not compare them, so they may miss duplicates and "
        f"differences: {columns}. Correct the values or the column's type, or list texts that mean nothing in "
        "`null_values`."
    )


def _values(entry: LeftOut) -> str:
    first = f", first at {entry.first}" if entry.first else ""
    return f"{entry.column} in {plural(entry.records, 'record', 'records')} ({entry.reason}{first})"


_TROUBLES: Mapping[str, tuple[Callable[[Project, str, _Seen], str], str]] = {
    "ids": (_shared_ids, "Records of dataset {dataset} no longer share ids."),
    "unreadable": (_unreadable, "All values of dataset {dataset} can be read again."),
}
"""The sentence of each trouble, empty without it, and that of its end."""
