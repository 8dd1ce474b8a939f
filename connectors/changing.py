"""The Target side of a source, imported and created only on first use."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

from connectors.target import Catalogue, Cell, Change, Owned, Promises, Receipt, Reference, Row, Target, Violation, Work

T = TypeVar("T", bound=Target)


class Changing(Generic[T]):
    """The methods of `connectors.target.Target`, passed on to a target that the first call creates."""

    promises = Promises()
    _changing: T | None = None

    def _new_target(self) -> T:
        raise NotImplementedError

    @property
    def _target(self) -> T:
        if self._changing is None:
            self._changing = self._new_target()
        return self._changing

    def identity(self) -> str:
        return self._target.identity()

    def catalogue(
        self, dataset: Any, soft: Sequence[Reference] = (), *, table: str | None = None, key: Sequence[str] = ()
    ) -> Catalogue:
        return self._target.catalogue(dataset, soft, table=table, key=key)

    def rows(self, dataset: Any, key: Sequence[str], ids: Sequence[tuple[Any, ...]]) -> list[Row | None]:
        return self._target.rows(dataset, key, ids)

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]]) -> list[Row]:
        return self._target.referring(reference, to)

    def violations(self, changes: Sequence[Change]) -> list[Violation]:
        return self._target.violations(changes)

    def table(self, dataset: Any) -> str:
        return self._target.table(dataset)

    def remembers(self, table: str = "") -> bool:
        return self._target.remembers(table)

    def receipts(self, keys: Sequence[str], table: str = "") -> dict[str, Receipt]:
        return self._target.receipts(keys, table)

    def happened(self, transaction: str) -> bool | None:
        return self._target.happened(transaction)

    def work(self, seconds: float) -> AbstractContextManager[Work]:
        return self._target.work(seconds)

    def owned(self, table: str) -> Owned:
        return self._target.owned(table)

    def adopt(
        self, store: str, epoch: int, ratchet: int, instead_of: tuple[str, int, int] | None, table: str = ""
    ) -> bool:
        return self._target.adopt(store, epoch, ratchet, instead_of, table)
