"""The content of all files that a rule reads: while it is the same, they are not read again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connectors.base import ContentHashed, Source
from reconcile.config.settings import DatasetConfig
from rules.kinds.base import Rule

CONTENT = "content"
"""The value of `by` for a dataset of files."""
_SLOT = re.compile(r"\bslot\s*\(", re.IGNORECASE)


@dataclass(frozen=True)
class Contents:
    """The datasets of a rule, with their sources."""

    datasets: Sequence[tuple[DatasetConfig, ContentHashed]]

    def mark(self, progress: Callable[[int], None]) -> Mapping[str, Any]:
        """Return digests of all files, as JSON. Raises a ConnectorError."""
        return {dataset.name: source.content(dataset.settings, progress) for dataset, source in self.datasets}


def obstacle(rule: Rule, datasets: Sequence[DatasetConfig]) -> str | None:
    """Return the reason, as a clause, why unchanged files must be read; None if the findings stay the same."""
    if not rule.timeless:
        return f"findings of kind `{rule.kind}`, or with several keys, can change while files do not"
    texts = [str(rule.model_dump(mode="json", exclude={"examples"}))]
    texts += [str([dataset.where, dict(dataset.derived)]) for dataset in datasets]
    return "`slot()` in an expression changes what it finds" if any(map(_SLOT.search, texts)) else None


def contents_of(datasets: Sequence[DatasetConfig], source: Callable[[str], Source]) -> Contents | None:
    """Return the contents if all datasets are of files and ask to be read only after a change; else None."""
    sources = {dataset.source: source(dataset.source) for dataset in datasets}
    hashed = [(dataset, each) for dataset in datasets if isinstance(each := sources[dataset.source], ContentHashed)]
    asked = all(dataset.incremental is not None and dataset.incremental.by == CONTENT for dataset in datasets)
    return Contents(hashed) if asked and len(hashed) == len(datasets) else None
