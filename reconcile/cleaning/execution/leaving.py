"""The tables that lose rows: references to them must be known before a row is deleted.

The catalogue of a dataset covers its own table. An undo deletes rows elsewhere, in the table that records were moved
to: its catalogue is read when the undo is planned, and again right before execution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from connectors.target import Catalogue, Target
from reconcile.config.settings import DatasetConfig
from reconcile.findings.plan import Plan


class DatasetRemoved(Exception):
    """The dataset is no longer in the configuration, so references to its tables cannot be read."""


@dataclass
class TableCatalogues:
    """Catalogues of tables in one target, each read once, for plans of these datasets."""

    target: Target
    datasets: Mapping[str, DatasetConfig]
    stamps: dict[str, str] = field(default_factory=dict)
    """The stamps of all tables in the catalogues read so far, for `Work.hold`."""
    _read: dict[tuple[str, str], Catalogue] = field(default_factory=dict)

    def catalogue(self, dataset: str, table: str) -> Catalogue:
        """Return the catalogue of another table than the dataset's own; raises DatasetRemoved, ConnectorError."""
        if dataset not in self.datasets:
            raise DatasetRemoved(dataset)
        if (dataset, table) not in self._read:
            config = self.datasets[dataset]
            catalogue = self.target.catalogue(config.settings, table=table, key=config.id)
            self._read[dataset, table] = catalogue
            self.stamps = {**catalogue.stamps, **self.stamps}
        return self._read[dataset, table]

    def digest(self, plan: Plan) -> str:
        """Return a digest of the references to tables that lose rows; empty if no table does."""
        return " ".join(self.catalogue(plan.dataset, table).digest for table in sorted(set(tables([plan]))))


def tables(plans: Sequence[Plan]) -> Iterator[str]:
    """Yield the tables in which a row is deleted or gets another key."""
    for plan in plans:
        keys = {(guard.reference.to_table, name) for guard in plan.references for name in guard.reference.to_columns}
        for change in plan.changes:
            if change.before is None:
                continue
            own = {column for column, _ in change.row.key}
            if change.after is None or any(n in own or (change.row.table, n) in keys for n in change.after):
                yield change.row.table
