"""The targets of profiling: a configured dataset, all datasets of a source, or a file without any configuration."""

from __future__ import annotations

import datetime as dt
import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from connectors.base import Declaration, Source, Suggesting
from connectors.disk.paths import is_pattern
from connectors.errors import ConnectorError
from connectors.sql.address import parsed, where
from reconcile.config.settings import DatasetConfig, Project
from reconcile.detection.bounded import TimeLimits, bounded
from reconcile.detection.detect import Budget, RuleUnchecked
from reconcile.errors import Wrong
from reconcile.plugins import Kinds
from reconcile.profiling.profiler import Profiler, ProfilingOrder, free, slug
from reconcile.profiling.suggestion import NewSource, SuggestedDataset, Suggestion
from rules.document.mistakes import suggestion
from rules.engines.base import Stop, Unanswerable

MOST_DATASETS = 50
"""Datasets of a source that are profiled, the first ones."""

_URL_FROM_ENVIRONMENT = "${secret:DATABASE_URL}"
"""Written instead of a URL with a password or options."""
_SUFFIX = re.compile(r"(\.(csv|txt|tsv|json|jsonl|ndjson|parquet))?(\.gz)?$", re.IGNORECASE)


class NothingToProfile(Wrong):
    """The command line names no dataset, source or file that can be profiled."""


@dataclass(frozen=True)
class UnreadableDataset:
    """A dataset that cannot be read, with the error."""

    name: str
    error: ConnectorError


@dataclass(frozen=True)
class ProfilingTarget:
    """A source with the datasets to profile. `entry` is set if no configuration has the source.

    `dropped` counts datasets beyond the limit.
    """

    origin: str
    source: Source
    orders: Sequence[ProfilingOrder | UnreadableDataset]
    entry: NewSource | None = None
    dropped: int = 0
    taken: frozenset[str] = field(default=frozenset())


def suggest(target: ProfilingTarget, budget: Budget, watch: Callable[[str, int], None]) -> Suggestion:
    """Profile the datasets of a target, one after the other. A dataset that cannot be read is skipped with a reason.

    `watch` gets (dataset, records read so far), and may raise.
    """
    folder = budget.folder or Path(tempfile.gettempdir())
    datasets: list[SuggestedDataset] = []
    skipped = []
    taken = set(target.taken)
    for order in target.orders:
        try:
            if isinstance(order, UnreadableDataset):
                raise order.error
            suggested = _profiled(target.source, order, budget, folder, frozenset(taken), watch)
        except (ConnectorError, RuleUnchecked, Unanswerable) as error:
            skipped.append((order.name, str(error)))
            continue
        taken |= suggested.rule_names
        datasets.append(suggested)
    if target.dropped:
        skipped.append((f"{target.dropped:,} more", f"a source is profiled up to {MOST_DATASETS} datasets"))
    if target.entry is not None and not any(dataset.has_rules for dataset in datasets):
        datasets = _with_a_rule(datasets)
    return Suggestion(target.origin, datasets, target.entry, skipped)


def _with_a_rule(datasets: Sequence[SuggestedDataset]) -> list[SuggestedDataset]:
    """Give the first dataset that can have one a rule that finds nothing now: a configuration needs one."""
    chosen = next((dataset for dataset in datasets if dataset.idle is not None), None)
    return [
        replace(dataset, rules=[dataset.idle]) if dataset is chosen and dataset.idle else dataset
        for dataset in datasets
    ]


def _profiled(
    source: Source,
    order: ProfilingOrder,
    budget: Budget,
    folder: Path,
    taken: frozenset[str],
    watch: Callable[[str, int], None],
) -> SuggestedDataset:
    profiler = Profiler(source, budget, folder, taken, dt.datetime.now(dt.UTC))
    interrupt = Stop()

    def report(read: int) -> None:
        watch(order.name, read)

    report(0)
    limits = TimeLimits(job="suggest")
    return bounded(lambda tell: profiler.profile(order, tell, interrupt), order.name, limits, interrupt, watch=report)


def of_file(name: str) -> ProfilingTarget:
    """Return a file, files of a pattern, a database in a file, or the files of a folder.

    Raises NothingToProfile, ConnectorError.
    """
    path = Path(name)
    if not path.exists() and not is_pattern(path):
        raise NothingToProfile(f"{name!r} is not a dataset or source of the configuration, a file, or a database URL")
    for kind in Kinds("connectors"):
        connector: Any = Kinds("connectors").load(kind)
        settings = connector.of_file(path) if hasattr(connector, "of_file") else None
        if settings is not None:
            open_source = getattr(connector, "open", connector)
            source = open_source(kind, connector.Settings.model_validate(settings), Path())
            is_dataset = path.name in source.datasets() or (is_pattern(path) and "path" not in settings)
            names = [path.name] if is_dataset else source.candidates()
            orders, dropped = _orders(source, names, {}, {})
            return ProfilingTarget(name, source, orders, NewSource(kind, dict(settings)), dropped)
    raise NothingToProfile(f"{name!r} is not a file of a known type, such as .csv, .json, .parquet, .xlsx or .sqlite")


def of_address(address: str) -> ProfilingTarget:
    """Return the tables of a database, by its URL. Raises NothingToProfile, ConnectorError."""
    try:
        url = parsed(SecretStr(address))
    except ValueError as error:
        raise NothingToProfile(str(error)) from None
    connector: Any = Kinds("connectors").load("sql")
    source = connector.open("sql", connector.Settings.model_validate({"type": "sql", "url": address}), Path())
    orders, dropped = _orders(source, source.candidates(), {}, {})
    written = _URL_FROM_ENVIRONMENT if url.password or url.query else address
    return ProfilingTarget(where(url), source, orders, NewSource("sql", {"type": "sql", "url": written}), dropped)


def of_project(name: str, project: Project, sources: Mapping[str, Source]) -> ProfilingTarget:
    """Return a configured dataset, or all datasets of a configured source. Raises NothingToProfile, ConnectorError."""
    taken = frozenset(project.rules)
    written = json.loads(project.canonical).get("datasets", {})
    if name in project.datasets:
        dataset = project.datasets[name]
        order = ProfilingOrder(name, Declaration({}), dataset, written[name])
        return ProfilingTarget(name, sources[dataset.source], [order], taken=taken)
    if name not in project.sources:
        names = [*project.datasets, *project.sources]
        raise NothingToProfile(f"There is no dataset or source {name!r}; {suggestion(name, names)}")
    source = sources[name]
    if not isinstance(source, Suggesting):
        raise NothingToProfile(f"Source {name!r} cannot list its contents; declare a dataset, and name that")
    configured = {key: dataset for key, dataset in project.datasets.items() if dataset.source == name}
    orders, dropped = _orders(source, source.candidates(), configured, written)
    return ProfilingTarget(name, source, orders, None, dropped, taken)


def _orders(
    source: Suggesting, candidates: Sequence[str], configured: Mapping[str, DatasetConfig], written: Mapping[str, Any]
) -> tuple[list[ProfilingOrder | UnreadableDataset], int]:
    """Return an order for each candidate, up to the limit, and the number of those beyond it."""
    orders: list[ProfilingOrder | UnreadableDataset] = []
    taken = set(written)
    for candidate in candidates[:MOST_DATASETS]:
        try:
            declaration = source.declaration(candidate)
        except ConnectorError as error:
            orders.append(UnreadableDataset(candidate, error))
            continue
        name = next((key for key, dataset in configured.items() if _is_same(dataset, declaration)), None)
        if name is not None:
            orders.append(ProfilingOrder(name, declaration, configured[name], written[name]))
            continue
        name = free(slug(_SUFFIX.sub("", candidate.rpartition("/")[2])), taken)
        taken.add(name)
        orders.append(ProfilingOrder(name, declaration))
    return orders, max(0, len(candidates) - MOST_DATASETS)


def _is_same(dataset: DatasetConfig, declaration: Declaration) -> bool:
    """Return True if a configured dataset is what the declaration names."""
    name, value = next(iter(declaration.settings.items()))
    return bool(getattr(dataset.settings, name, None) == value)
