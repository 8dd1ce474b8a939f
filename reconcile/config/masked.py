"""Personal data that a rule would show in clear beside itself: one dataset masks a column, another shows its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconcile.config.settings import DatasetConfig
from rules.kinds.base import DatasetFacts, Rule, SettingPath
from rules.models.lookups import Lookup


def shown_in_clear(
    rule: Rule, datasets: Mapping[str, DatasetConfig], columns: Mapping[str, tuple[str, ...]] | None = None
) -> Iterator[tuple[SettingPath, str]]:
    """Yield the path of each setting that compares a masked column with one that is shown, and a sentence about it.

    `columns` are those of each dataset, if they are known already.
    """
    facts = {
        name: DatasetFacts(
            id=datasets[name].id,
            derived=datasets[name].derived,
            columns=(columns or {}).get(name, ()),
            amount=money.amount if (money := datasets[name].money) else None,
        )
        for name in rule.datasets
    }
    for path, compared in rule.compared_columns(facts):
        masked = [(name, column) for name in compared for column in compared[name] if column in datasets[name].pii]
        clear = [(name, names[0]) for name, names in compared.items() if names and not {*names} & {*datasets[name].pii}]
        if masked and clear:
            (hidden, theirs), (shown, ours) = masked[0], clear[0]
            sentence = (
                f"`{theirs}` of dataset `{hidden}` is personal data (`pii`), but `{ours}` of dataset `{shown}`, "
                f"which is compared with it, is not masked; add `pii: [{ours}]` to dataset `{shown}`"
            )
            yield path, sentence
    yield from _mapped_in_clear(rule, datasets)


def _mapped_in_clear(rule: Rule, datasets: Mapping[str, DatasetConfig]) -> Iterator[tuple[SettingPath, str]]:
    """Yield each setting that replaces a shown column by values of a masked one, which are shown under its name."""
    for path, part in rule.key_parts():
        for lookup in (step.argument for step in part.steps if isinstance(step.argument, Lookup)):
            masked = [name for name in (lookup.source, lookup.target) if name in datasets[lookup.dataset].pii]
            for dataset, column in rule.columns_of(path, part).items() if masked else ():
                if column not in datasets[dataset].pii:
                    sentence = (
                        f"`{masked[0]}` of dataset `{lookup.dataset}` is personal data (`pii`), but `{column}` of "
                        f"dataset `{dataset}`, whose values `map` looks up in it, is shown; add `pii: [{column}]` to "
                        f"dataset `{dataset}`"
                    )
                    yield path, sentence
