"""Personal data that a rule would show in clear beside itself: one dataset masks a column, another shows its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconcile.config.settings import DatasetConfig
from rules.kinds.base import DatasetFacts, Rule, SettingPath


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
