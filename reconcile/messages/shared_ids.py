"""Trouble with an `id` that several records of a dataset share: duplicates among them may be missed, for only one of
them counts in a group, and nothing in the dataset is cleaned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from notifications.wording.words import listed, plural
from reconcile.config.settings import Project
from reconcile.findings.results import RuleResult
from reconcile.messages import troubles
from reconcile.messages.telling import EndedRun
from reconcile.store import Transaction
from reconcile.store import troubles as stored

READ_WHOLE = ("", "full")
"""The modes in which a rule reads all records of a dataset."""


def tell(tx: Transaction, project: Project, ended: EndedRun) -> None:
    """Report the datasets whose records share ids since this run, and those whose records do so no more.

    Only a run of all rules that this job has over the dataset, each of which read all its records, ends a trouble.
    """
    results = [outcome for outcome in ended.outcomes if isinstance(outcome, RuleResult)]
    seen: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for result in results:
        for dataset, shared, read in _counts(result):
            seen[dataset].append((shared, read))
    whole = {result.rule for result in results if result.mode in READ_WHOLE}
    open_troubles = {trouble.subject for trouble in stored.ongoing(tx) if trouble.job == ended.job.name}
    for dataset, counts in seen.items():
        shared, read = max(counts)
        subject = f"ids:{dataset}"
        if shared:
            troubles.begin(tx, project, subject, _sentence(project, dataset, shared, read), job=ended.job.name)
        elif subject in open_troubles and whole >= _over(project, ended.job.rules, dataset):
            troubles.end(tx, project, subject, f"Records of dataset {dataset} no longer share ids.")


def _counts(result: RuleResult) -> Iterator[tuple[str, int, int]]:
    """Yield each dataset of the rule that has an id, with how many of its records share theirs, and how many it has."""
    read_of: Mapping[str, int] = result.read_of or {result.dataset: result.read}
    shared = {
        each.dataset or result.dataset: each.records
        for each in result.skipped
        if (each.column, each.reason) == ("id", "not unique")
    }
    yield from ((dataset, shared.get(dataset, 0), read) for dataset, read in read_of.items())


def _over(project: Project, rules: tuple[str, ...], dataset: str) -> set[str]:
    return {name for name in rules if name in project.rules and dataset in project.rules[name].datasets}


def _sentence(project: Project, dataset: str, shared: int, read: int) -> str:
    columns = listed(project.datasets[dataset].id)
    have = "has" if shared == 1 else "have"
    return (
        f"Records of dataset {dataset} share their id. {shared:,} of {plural(read, 'record', 'records')} {have} the "
        f"{columns} of another record. Only one record per id counts in a group, so rules may miss "
        f"duplicates, and nothing in {dataset} is cleaned. Choose columns for `id` whose values differ in all records, "
        "or remove `id`."
    )
