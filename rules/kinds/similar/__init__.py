"""kind: similar. Records that are the same thing written differently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rules.binding.rule import DatasetFacts, Rule, SettingPath
from rules.kinds.similar.rule import SimilarRule

if TYPE_CHECKING:
    from rules.binding.fitted import Fitted
    from rules.engines.base import Relation

__all__ = ["Similar", "SimilarRule"]


class Similar:
    """The kind `similar`; see `rules.kinds.base.Kind`."""

    Settings = SimilarRule

    def barren(self, rule: Rule, datasets: Mapping[str, DatasetFacts]) -> Iterator[tuple[SettingPath, str]]:
        settings = _checked(rule)
        for name in settings.member_datasets:
            given = settings.columns.get(name, {})
            only = [given.get(column, column) for column in settings.compare]
            if set(only) <= set(datasets[name].id) and not settings.several:
                yield ("compare",), "it names only the id, which differs in every record; name other columns"

    def fit(self, rule: Rule, relations: Mapping[str, Relation]) -> Fitted:
        # Reading a configuration must not load the engines.
        from rules.binding import consulting  # noqa: PLC0415 - see above
        from rules.binding.listed import PairReader  # noqa: PLC0415 - see above
        from rules.kinds.similar.detection import FittedSimilar  # noqa: PLC0415 - see above

        settings = _checked(rule)
        return consulting.fitted(
            settings, relations, FittedSimilar.of, PairReader.of if settings.listed is not None else None
        )


def _checked(rule: Rule) -> SimilarRule:
    if not isinstance(rule, SimilarRule):
        raise TypeError(f"a rule of kind {rule.kind} is not of kind similar")
    return rule
