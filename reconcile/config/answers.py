"""The questions of rules: each is answered by the source of its dataset, as a dataset of it, or by the rule itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from reconcile.config.sections import Sections
from reconcile.config.settings import DatasetConfig, SourceConfig
from rules.document.mistakes import Position, short, suggestion
from rules.document.tree import Entry, locate
from rules.kinds.base import Rule


def answers(
    sections: Sections,
    sources: Mapping[str, SourceConfig],
    datasets: Mapping[str, DatasetConfig],
    rules: Mapping[str, Rule],
    connectors: Mapping[str, Any],
) -> tuple[dict[str, DatasetConfig], dict[str, Rule]]:
    """Return a dataset for each question that a source answers, by its name, and all rules. A rule without such a
    source answers its questions itself. Report a question that is refused.
    """
    answered: dict[str, DatasetConfig] = {}
    asking = dict(rules)
    for name, rule in rules.items():
        if rule.question is None or rule.dataset not in datasets:
            continue
        about = datasets[rule.dataset]
        connector = connectors.get(about.source)
        if connector is None:
            continue
        entry = sections["rules"][name]
        try:
            if _answers(connector):
                answered[rule.answer] = _answer(connector, sources.get(about.source), about, rule)
            else:
                asking[name] = rule.answering(sections["datasets"])
        except ValueError as refused:
            sections.tell(locate(entry.node, ("query",), entry.key_at).node.at, f"`query` is refused: {refused}")
        else:
            for at, mistake in _examples(entry, rule, asking[name]):
                sections.tell(at, mistake)
    return answered, asking


def _examples(entry: Entry, rule: Rule, asking: Rule) -> Iterator[tuple[Position, str]]:
    """Yield the place and a sentence for examples that a database would run, or with records that no query reads."""
    if rule.examples and asking.question is not None:
        at = locate(entry.node, ("examples",), entry.key_at).key_at
        yield at, "`examples`: only the database can run its query; remove them"
        return
    for example in rule.examples:
        for name in example.given:
            if name not in asking.datasets:
                hint = suggestion(name, asking.datasets)
                yield example.at, f"the rule reads no dataset `{short(name)}`; {hint}"


def _answers(connector: Any) -> bool:
    from connectors.base import Answering  # noqa: PLC0415 - loaded with the connectors already

    return isinstance(connector, Answering)


def _answer(connector: Any, source: SourceConfig | None, about: DatasetConfig, rule: Rule) -> DatasetConfig:
    """Return the answer of a rule's question as a dataset. Raises ValueError with a clause for a refused query."""
    # A source that is set aside raises an error when it is used.
    settings = about.settings if source is None else connector.answer(source.settings, about.settings, rule.question)
    plain = replace(about, name=rule.answer, settings=settings, where=None, derived={}, pii=(), money=None)
    return replace(plain, display=(), link=None)
