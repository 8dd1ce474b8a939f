"""The settings of a sql rule."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import ClassVar, Literal, Self

from pydantic import Field, PrivateAttr, field_validator

from rules.binding.rule import Rule, SettingPath
from rules.models import KeepLines

GROUP_KEY = "group_key"
LIMIT = 10_000


class SqlRule(Rule):
    """The settings of kind `sql`, described in docs/rules.md."""

    not_matching: ClassVar[frozenset[str]] = Rule.not_matching | {"keep", "limit"}

    kind: Literal["sql"] = "sql"
    query: str = Field(min_length=1, description="A select that returns group_key and the columns of the dataset's id.")
    limit: int = Field(
        default=LIMIT, ge=1, le=1_000_000, description="The maximum number of rows; with more, the rule fails."
    )
    minimum: int = Field(default=1, ge=1, description="The minimum number of records in a group.")
    keep: KeepLines = Field(
        default=(), description="The criteria that choose the record to keep, by columns of the query."
    )

    _read: tuple[str, ...] | None = PrivateAttr(default=None)
    """The other datasets that it reads, if it answers its query itself; see `answering`."""

    @field_validator("where")
    @classmethod
    def _no_where(cls, where: str | None) -> str | None:
        if where is not None:
            raise ValueError("a rule of kind sql has no where; put the condition in its query")
        return where

    @field_validator("engine")
    @classmethod
    def _no_engine(cls, engine: str) -> str:
        if engine != "auto":
            raise ValueError("the source of its dataset decides where the query runs; remove engine")
        return engine

    @property
    def question(self) -> str | None:
        return self.query if self._read is None else None

    @property
    def datasets(self) -> tuple[str, ...]:
        return super().datasets if self._read is None else (self.dataset, *self._read)

    @property
    def member_datasets(self) -> tuple[str, ...]:
        return (self.dataset,)

    @property
    def shows_computed(self) -> bool:
        return True

    def answering(self, datasets: Collection[str]) -> Self:
        # Only such a rule needs the parser when a configuration is read.
        from rules.engines.select import parse_select  # noqa: PLC0415 - see above

        read = parse_select(self.query).datasets(datasets)
        if self.dataset not in read:
            raise ValueError(f"it does not read `{self.dataset}`, whose records it must return; select from it")
        rule = self.model_copy()
        rule._read = tuple(name for name in read if name != self.dataset)  # noqa: SLF001 - its own
        return rule

    @property
    def keep_columns(self) -> tuple[str, ...]:
        return tuple(line.column for line in self.keep if line.column is not None)

    def because(self, form: str) -> str:  # noqa: ARG002 - its findings have one form
        return f"The query of rule `{self.name}` returns them with one group_key."

    def not_cleanable(self) -> Iterator[tuple[SettingPath, str]]:
        yield from super().not_cleanable()
        if self.minimum > 2:
            yield (
                ("minimum",),
                "a rule with `clean` must also find pairs, because a cleaning can leave a pair; remove it",
            )
