"""kind: sql. What a query of the user's own returns, grouped by its column `group_key`.

A database that holds the dataset runs the query. For datasets of other sources, DuckDB runs it here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rules.binding.rule import DatasetFacts, Rule, SettingPath
from rules.kinds.custom_sql.model import SqlRule

if TYPE_CHECKING:
    from rules.engines.base import Relation
    from rules.kinds.custom_sql.detection import FittedSql

__all__ = ["CustomSql", "SqlRule"]


class CustomSql:
    """The kind `sql`; see `rules.kinds.base.Kind`."""

    Settings = SqlRule

    def barren(self, rule: Rule, datasets: Mapping[str, DatasetFacts]) -> Iterator[tuple[SettingPath, str]]:  # noqa: ARG002 - only a run knows what a query finds
        yield from ()

    def fit(self, rule: Rule, relations: Mapping[str, Relation]) -> FittedSql:
        # Reading a configuration must not load the engines.
        from rules.kinds.custom_sql.detection import FittedSql  # noqa: PLC0415 - see above
        from rules.kinds.custom_sql.embedded import FittedEmbedded  # noqa: PLC0415 - see above

        if not isinstance(rule, SqlRule):
            raise TypeError(f"a rule of kind {rule.kind} is not of kind sql")
        return FittedSql.of(rule, relations) if rule.question is not None else FittedEmbedded.of(rule, relations)
