"""The tables that rows leave: who refers to them has to be known before a row goes.

The catalogue of a dataset tells of its own table. What an undo takes away stands elsewhere, in the table that records
were moved to: its catalogue is read when the undo is planned, and again right before it is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from connectors.target import Catalogue, Target
from reconcile.config.settings import DatasetConfig
from reconcile.findings.bundle import Bundle


class DatasetMissing(Exception):
    """The dataset is not in the configuration any more, so nobody can ask what refers to its tables."""


@dataclass
class Leaving:
    """Catalogues of tables in one target, each read once, for plans of these datasets."""

    target: Target
    datasets: Mapping[str, DatasetConfig]
    stamps: dict[str, str] = field(default_factory=dict)
    """Of all tables in the catalogues read so far, as `Work.hold` compares them."""
    _read: dict[tuple[str, str], Catalogue] = field(default_factory=dict)

    def catalogue(self, dataset: str, table: str) -> Catalogue:
        """That of a table beside the dataset's own; raises DatasetMissing, ConnectorError."""
        if dataset not in self.datasets:
            raise DatasetMissing(dataset)
        if (dataset, table) not in self._read:
            found = self.target.catalogue(self.datasets[dataset].settings, table=table)
            self._read[dataset, table] = found
            self.stamps = {**found.stamps, **self.stamps}
        return self._read[dataset, table]

    def digest(self, bundle: Bundle) -> str:
        """Another text after anything changed that refers to a table that rows leave; empty where none do."""
        return " ".join(self.catalogue(bundle.dataset, table).digest for table in sorted(set(tables([bundle]))))


def tables(bundles: Sequence[Bundle]) -> Iterator[str]:
    """The tables of which a row goes, or gets another key."""
    for bundle in bundles:
        keys = {(one.reference.to_table, name) for one in bundle.references for name in one.reference.to_columns}
        for change in bundle.changes:
            if change.before is None:
                continue
            own = {column for column, _ in change.row.key}
            if change.after is None or any(n in own or (change.row.table, n) in keys for n in change.after):
                yield change.row.table
