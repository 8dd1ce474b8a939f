"""What a full run counted in all records, by which later runs weigh pairs without reading all records again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rules.kinds.similar.encoded import Encoded, ValueCounts
from rules.kinds.similar.features.values import ValueFeature
from rules.kinds.similar.model.model import Model, Shares

if TYPE_CHECKING:
    from rules.kinds.similar.matching import Matching

CountsOf = Callable[[int, Any], NDArray[np.int64]]
"""Return how many records had each of some values, an Arrow array of texts, in the column at a position."""


@dataclass(frozen=True)
class ColumnStatistics:
    """How many records had a value, the chance that two had the same, and the levels that only some columns have.

    `finer`: it has such a level; `cells`: some cells held several values.
    """

    filled: int
    chance: float
    finer: bool
    cells: bool


@dataclass(frozen=True)
class Statistics:
    """The statistics of a full run: all that decides about a pair, besides the values of its records.

    `derived`: e-mail addresses were built from the names.
    """

    records: int
    pairs: int
    model: Model
    columns: tuple[ColumnStatistics, ...]
    derived: bool
    counts_of: CountsOf

    @classmethod
    def of(cls, matching: Matching) -> Statistics:
        """Return the statistics of the records that are matched."""
        comparison = matching.comparison
        finer = {
            feature.column: feature.is_finer for feature in comparison.features if isinstance(feature, ValueFeature)
        }
        columns = tuple(
            ColumnStatistics(encoded.filled, encoded.chance, finer.get(number, False), number in comparison.cells)
            for number, encoded in enumerate(matching.records.columns)
        )
        size, pairs = len(matching.records), matching.records.pairs
        return cls(size, pairs, matching.scoring.model, columns, comparison.derived is not None, _uncounted)

    def counted(self, columns: Sequence[Encoded]) -> tuple[Encoded, ...]:
        """Return the columns with how common their values were."""
        return tuple(
            Encoded(
                encoded.codes, encoded.values, ValueCounts(self.counts_of(number, encoded.values), of.filled, of.chance)
            )
            for number, (encoded, of) in enumerate(zip(columns, self.columns, strict=True))
        )

    def document(self) -> dict[str, Any]:
        """Return them as JSON, without the counts of values."""
        columns = [asdict(column) for column in self.columns]
        model = asdict(self.model)
        return {
            "records": self.records,
            "pairs": self.pairs,
            "model": model,
            "columns": columns,
            "derived": self.derived,
        }

    @classmethod
    def read(cls, document: Mapping[str, Any], counts_of: CountsOf) -> Statistics:
        """Return the statistics of a document, with a function for the counts of values."""
        model = dict(document["model"])
        shares, neighbours = ({name: _shares(each) for name, each in model.pop(key).items()} for key in _SHARES)
        return cls(
            document["records"],
            document["pairs"],
            Model(shares, neighbours=neighbours, **model),
            tuple(ColumnStatistics(**column) for column in document["columns"]),
            document["derived"],
            counts_of,
        )


_SHARES = ("shares", "neighbours")


def _shares(document: Mapping[str, Any]) -> Shares:
    return Shares(*(tuple(document[name]) for name in ("levels", "match", "random")))


def _uncounted(_: int, values: Any) -> NDArray[np.int64]:
    raise ValueError(f"{len(values)} values were not counted")
