"""What keeps rules from cleaning where they want to, as far as a configuration tells without connecting."""

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
from rules.document.mistakes import Position, Problem, short, suggestion
from rules.document.tree import Entry, Node, locate
from rules.expressions import ExpressionError, parse
from rules.kinds.base import Rule

_OF_CLEANING = ("approval", "approval_expires", "limits", "retry")


@dataclass(frozen=True)
class Cleanable:
    """A configuration as far as it could be read. `connectors` are the classes of its sources."""

    sections: Sections
    top: TopSettings | None
    sources: Mapping[str, SourceConfig]
    datasets: Mapping[str, DatasetConfig]
    rules: Mapping[str, Rule]
    connectors: Mapping[str, Any]

    def problems(self) -> Iterator[Problem]:
        """Every mistake, at its place."""
        for name, rule in self.rules.items():
            node = self.sections["rules"][name].node
            yield from self._retry(rule, node)
            if rule.clean is not None and rule.dataset in self.datasets:
                yield from self._cleaning(rule, self.datasets[rule.dataset], node)
        for name, dataset in self.datasets.items():
            yield from _links(dataset, self.sections["datasets"][name])
        yield from self._names("limits")
        yield from self._names("maintenance")

    def notes(self) -> Iterator[Problem]:
        """What is said and has no use."""
        for name, rule in self.rules.items():
            for key in _OF_CLEANING if rule.clean is None else ():
                place = locate(self.sections["rules"][name].node, (key,))
                if place.path == (key,):
                    yield Problem.at(place.key_at, f"`{key}` has no use in a rule without `clean`; remove it")

    def _retry(self, rule: Rule, node: Node) -> Iterator[Problem]:
        known = {*OWN_RETRIES, *(self.top.retry if self.top else ())}
        if self.top is not None and rule.retry not in known:
            said = f"`retry`: there is no template `{short(rule.retry)}`; {suggestion(rule.retry, known)}"
            yield Problem.at(locate(node, ("retry",)).node.at, said)

    def _cleaning(self, rule: Rule, dataset: DatasetConfig, node: Node) -> Iterator[Problem]:
        at = locate(node, ("clean",)).key_at
        if not dataset.id:
            said = "has no `id`, so that its records cannot be told apart for certain; give it one"
            yield Problem.at(at, f"`clean`: dataset `{dataset.name}` {said}")
        obstacle = self._obstacle(dataset)
        if obstacle is not None:
            yield Problem.at(at, f"`clean`: {obstacle}")
        if dataset.money is None and rule.limits.money:
            said = "limits an amount, and its dataset says nothing of `money`; say which column holds it"
            yield Problem.at(locate(node, ("limits", "money")).key_at, f"`money` {said}")
        if dataset.money is None and rule.approval.needs_money:
            said = "asks for an amount, and its dataset says nothing of `money`; say which column holds it"
            yield Problem.at(locate(node, ("approval", "when")).node.at, f"`when` {said}")
        yield from _drifting(rule, dataset, node)

    def _obstacle(self, dataset: DatasetConfig) -> str | None:
        """Why nothing can be changed in the dataset's source; None, too, where the source is not known."""
        source, connector = self.sources.get(dataset.source), self.connectors.get(dataset.source)
        if source is None or connector is None:
            return None
        if not hasattr(connector, "obstacle"):
            return f"records of a source of type `{source.type}` cannot be cleaned in this version; only databases can"
        said: str | None = connector.obstacle(source.settings, dataset.settings)
        if said is not None:
            return f"dataset `{dataset.name}` cannot be cleaned: {said}"
        folder = self.sections.path.parent
        file = connector.file(source.settings, folder)
        if self.top is not None and file is not None and _same(file, _file_of(self.top, folder)):
            return "the state and the records it cleans cannot be in one file; give `state` another one"
        return None

    def _names(self, key: str) -> Iterator[Problem]:
        """Sources that a setting of the whole project names."""
        entry = self.sections.top.entries.get(key)
        if entry is None or self.top is None or not self.sections.whole:
            return
        for at, name in _named(self.top, key, entry):
            if name not in self.sections["sources"]:
                said = suggestion(name, self.sections["sources"])
                yield Problem.at(at, f"`{key}`: there is no source `{short(name)}`; {said}")


def _named(top: TopSettings, key: str, entry: Entry) -> Iterable[tuple[Position, str]]:
    if key == "limits":
        return [(locate(entry.node, (name,)).key_at, name) for name in top.limits]
    many = enumerate(top.maintenance)
    return [(locate(entry.node, (index, "source")).node.at, one.source) for index, one in many]


def _drifting(rule: Rule, dataset: DatasetConfig, node: Node) -> Iterator[Problem]:
    """What decides which record stays may not change unseen: the surplus would go though it is the one to keep now."""
    ignored = rule.clean.ignore_drift if rule.clean is not None else ()
    behind = {name for column in rule.kept_by if ignored for name in _behind(column, dataset.derived)}
    for index, name in enumerate(ignored):
        if name in behind:
            said = f"`ignore_drift` names `{name}`, by which `keep` chooses the record that stays; leave it out"
            yield Problem.at(locate(node, ("clean", "ignore_drift", index)).node.at, said)


def _behind(column: str, derived: Mapping[str, str]) -> Iterator[str]:
    """The column itself or, of a derived one, those that it is computed from; each of these may use those before it."""
    yield column
    if column in derived:
        earlier = dict(itertools.takewhile(lambda one: one[0] != column, derived.items()))
        with contextlib.suppress(ExpressionError):  # told with the dataset
            for name in parse(derived[column]).columns:
                yield from _behind(name, earlier)


def _links(dataset: DatasetConfig, entry: Entry) -> Iterator[Problem]:
    for index, link in enumerate(dataset.references):
        to = link.to or dataset.id
        place = locate(entry.node, ("references", index))
        if getattr(dataset.settings, "table", None) is None:
            yield Problem.at(place.node.at, "`references` are of tables, and this dataset is none; remove it")
        elif len(link.columns) != len(to):
            said = f"names {len(link.columns)} columns for {len(to)}; write one for each" if to else "needs `to`"
            yield Problem.at(place.node.at, f"the link from `{short(link.table)}` {said}")


def _file_of(top: TopSettings, folder: Path) -> Path | None:
    scheme, _, path = top.state.get_secret_value().partition(":///")
    return folder / path.split("?")[0] if scheme.startswith("sqlite") else None


def _same(source: Path, state: Path | None) -> bool:
    """Return True if both are one file; a name that is too long for a file is none."""
    if state is None:
        return False
    exist = os.path.exists(source) and os.path.exists(state)  # noqa: PTH110 - Path.exists raises for a long name
    return source.resolve() == state.resolve() or (exist and source.samefile(state))
