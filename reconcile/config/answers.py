"""The answers to the questions of rules, as datasets of the sources that answer them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reconcile.config.sections import Sections
from reconcile.config.settings import DatasetConfig, SourceConfig
from rules.document.mistakes import Position, short
from rules.document.tree import locate
from rules.kinds.base import Rule


def answers(
    sections: Sections,
    sources: Mapping[str, SourceConfig],
    datasets: Mapping[str, DatasetConfig],
    rules: Mapping[str, Rule],
    connectors: Mapping[str, Any],
) -> dict[str, DatasetConfig]:
    """Return a dataset for each rule's question by its name; tell a question that is not asked."""
    made = {}
    for name, rule in rules.items():
        if rule.question is None or rule.dataset not in datasets:
            continue
        about = datasets[rule.dataset]
        connector, source = connectors.get(about.source), sources.get(about.source)
        entry = sections["rules"][name]
        at = locate(entry.node, ("query",), entry.key_at).node.at
        settings = None if connector is None else _settings(sections, at, connector, source, about, rule.question)
        if settings is not None:
            plain = replace(about, name=rule.answer, settings=settings, where=None, derived={}, pii=(), money=None)
            made[rule.answer] = replace(plain, display=(), link=None)
    return made


def _settings(
    sections: Sections,
    at: Position,
    connector: Any,
    source: SourceConfig | None,
    about: DatasetConfig,
    question: str,
) -> Any:
    from connectors.base import Answering  # noqa: PLC0415 - loaded with the connectors already

    if not isinstance(connector, Answering):
        sections.tell(at, f"`query`: source `{short(about.source)}` runs no queries; name a dataset of a database")
        return None
    if source is None:  # set aside; it raises an error when it is used
        return about.settings
    try:
        return connector.answer(source.settings, about.settings, question)
    except ValueError as refused:
        sections.tell(at, f"`query` is not sent: {refused}")
        return None
