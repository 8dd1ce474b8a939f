"""Check the settings of rules that clean, without connecting to a source."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reconcile.config.cleaning import OWN_RETRIES
from reconcile.config.sections import Sections
from reconcile.config.settings import DatasetConfig, SourceConfig, TopSettings
from rules.cleaning import Clean
from rules.document.mistakes import Mistake, Position, RuleError, short, suggestion
from rules.document.tree import Entry, Node, locate
from rules.expressions import parse
from rules.kinds.base import Rule

_OF_CLEANING = ("approval", "approval_expires", "limits", "retry")


@dataclass(frozen=True)
class CleaningCheck:
    """The valid parts of a configuration. `connectors` are the classes of its sources."""

    sections: Sections
    top: TopSettings | None
    sources: Mapping[str, SourceConfig]
    datasets: Mapping[str, DatasetConfig]
    rules: Mapping[str, Rule]
    connectors: Mapping[str, Any]

    def problems(self) -> Iterator[Mistake]:
        """Yield every mistake at its place."""
        for name, rule in self.rules.items():
            node = self.sections["rules"][name].node
            yield from self._retry(rule, node)
            if rule.clean is not None and rule.cleaned in self.datasets:
                yield from self._cleaning(rule, rule.clean, self.datasets[rule.cleaned], node)
        for name, dataset in self.datasets.items():
            yield from _links(dataset, self.sections["datasets"][name])
        yield from self._names("limits")
        yield from self._names("maintenance")

    def notes(self) -> Iterator[Mistake]:
        """Yield the settings that have no effect."""
        for name, rule in self.rules.items():
            for key in _OF_CLEANING if rule.clean is None else ():
                place = locate(self.sections["rules"][name].node, (key,))
                if place.path == (key,):
                    yield Mistake.at(place.key_at, f"`{key}` has no effect in a rule without `clean`; remove it")

    def _retry(self, rule: Rule, node: Node) -> Iterator[Mistake]:
        templates = {*OWN_RETRIES, *(self.top.retry if self.top else ())}
        if self.top is not None and rule.retry not in templates:
            sentence = f"`retry`: there is no template `{short(rule.retry)}`; {suggestion(rule.retry, templates)}"
            yield Mistake.at(locate(node, ("retry",)).node.at, sentence)

    def _cleaning(self, rule: Rule, clean: Clean, dataset: DatasetConfig, node: Node) -> Iterator[Mistake]:
        at = locate(node, ("clean",)).key_at
        if not dataset.id:
            mistake = "has no `id`, so its records cannot be identified for certain; add `id`"
            yield Mistake.at(at, f"`clean`: dataset `{dataset.name}` {mistake}")
        obstacle = self._obstacle(dataset, clean)
        if obstacle is not None:
            yield Mistake.at(at, f"`clean`: {obstacle}")
        if dataset.money is None and rule.limits.money:
            mistake = "limits an amount, but the dataset has no `money`; add it with the column of the amount"
            yield Mistake.at(locate(node, ("limits", "money")).key_at, f"`money` {mistake}")
        if dataset.money is None and rule.approval.needs_money:
            mistake = "needs an amount, but the dataset has no `money`; add it with the column of the amount"
            yield Mistake.at(locate(node, ("approval", "when")).node.at, f"`when` {mistake}")
        yield from _keep_drifts(rule, dataset, node)

    def _obstacle(self, dataset: DatasetConfig, clean: Clean) -> str | None:
        """Return why the dataset's source cannot be changed; None if it can, or if the source is unknown."""
        source, connector = self.sources.get(dataset.source), self.connectors.get(dataset.source)
        if source is None or connector is None:
            return None
        if not hasattr(connector, "obstacle"):
            return f"sources of type `{source.type}` are not a target in this version: their records can only be read"
        if clean.calls and not hasattr(connector, "call"):
            return f"action `{clean.action}` makes calls, which sources of type `{source.type}` do not take"
        obstacle: str | None = connector.obstacle(source.settings, dataset.settings)
        if obstacle is not None:
            return f"dataset `{dataset.name}` cannot be cleaned: {obstacle}"
        folder = self.sections.path.parent
        file = connector.file(source.settings, folder)
        if self.top is not None and file is not None and _same_file(file, _file_of(self.top, folder)):
            return "the state and the records to clean cannot be in one file; set `state` to another file"
        return None

    def _names(self, key: str) -> Iterator[Mistake]:
        """Yield the unknown sources that a setting of the whole project names."""
        entry = self.sections.top.entries.get(key)
        if entry is None or self.top is None or not self.sections.whole:
            return
        for at, name in _named(self.top, key, entry):
            if name not in self.sections["sources"]:
                hint = suggestion(name, self.sections["sources"])
                yield Mistake.at(at, f"`{key}`: there is no source `{short(name)}`; {hint}")


def _named(top: TopSettings, key: str, entry: Entry) -> Iterable[tuple[Position, str]]:
    if key == "limits":
        return [(locate(entry.node, (name,)).key_at, name) for name in top.limits]
    windows = enumerate(top.maintenance)
    return [(locate(entry.node, (index, "source")).node.at, window.source) for index, window in windows]


def _keep_drifts(rule: Rule, dataset: DatasetConfig, node: Node) -> Iterator[Mistake]:
    """Refuse `ignore_drift` for columns that choose the keeper: after a change, the record to keep would be deleted."""
    ignored = rule.clean.ignore_drift if rule.clean is not None else ()
    columns = {name for column in rule.keep_columns if ignored for name in _source_columns(column, dataset.derived)}
    for index, name in enumerate(ignored):
        if name in columns:
            sentence = f"`ignore_drift` names `{name}`, which `keep` uses to choose the record that stays; remove it"
            yield Mistake.at(locate(node, ("clean", "ignore_drift", index)).node.at, sentence)


def _source_columns(column: str, derived: Mapping[str, str]) -> Iterator[str]:
    """Yield the column and, if it is derived, its source columns; a derived column may use earlier ones."""
    yield column
    if column in derived:
        earlier = dict(itertools.takewhile(lambda item: item[0] != column, derived.items()))
        with contextlib.suppress(RuleError):  # reported with the dataset
            for name in parse(derived[column]).columns:
                yield from _source_columns(name, earlier)


def _links(dataset: DatasetConfig, entry: Entry) -> Iterator[Mistake]:
    for index, link in enumerate(dataset.references):
        to = link.to or dataset.id
        place = locate(entry.node, ("references", index))
        kind = _kind_without_keys(dataset)
        if getattr(dataset.settings, "table", None) is None and kind is None:
            yield Mistake.at(place.node.at, "`references` needs a table, but this dataset has none; remove it")
        elif len(link.columns) != len(to):
            mistake = f"names {len(link.columns)} columns for {len(to)}; write one for each" if to else "needs `to`"
            yield Mistake.at(place.node.at, f"the link from `{short(link.table)}` {mistake}")
        elif kind and not link.id:
            mistake = f"needs `id`, the columns there that identify a row: a {kind} has no primary key"
            yield Mistake.at(place.node.at, f"the link from `{short(link.table)}` {mistake}")


def _kind_without_keys(dataset: DatasetConfig) -> str | None:
    """Return the word for a dataset's table if its rows can refer to records but have no primary key."""
    if getattr(dataset.settings, "sheet", None) is not None:
        return "sheet"
    return "file" if hasattr(dataset.settings, "delimiter") else None


def _file_of(top: TopSettings, folder: Path) -> Path | None:
    scheme, _, path = top.state.get_secret_value().partition(":///")
    return folder / path.split("?")[0] if scheme.startswith("sqlite") else None


def _same_file(source: Path, state: Path | None) -> bool:
    """Return True if both are the same file; a name that is too long for a file is not one."""
    if state is None:
        return False
    exist = os.path.exists(source) and os.path.exists(state)  # noqa: PTH110 - Path.exists raises for a long name
    return source.resolve() == state.resolve() or (exist and source.samefile(state))
