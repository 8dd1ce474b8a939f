"""The settings of a rule of kind `similar`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field, PrivateAttr, WithJsonSchema, field_validator, model_validator

from rules.binding.grouped import GroupedRule
from rules.binding.rule import DatasetFacts, SettingPath
from rules.cleaning import Share
from rules.document.mistakes import suggestion
from rules.groups.learning import Weights
from rules.kinds.similar.degrees import DEGREES
from rules.kinds.similar.model.document import ModelDocument
from rules.kinds.similar.types import SemanticType

if TYPE_CHECKING:
    from rules.values import Value

_MOST = 10.0
"""A column with a larger weight would decide alone."""
_MODEL_SCHEMA = {"anyOf": [{"type": "string", "examples": ["models/twin-customer.yaml"]}, {"type": "object"}]}


class SimilarRule(GroupedRule):
    """The settings of kind `similar`, described in docs/similar.md."""

    file_settings: ClassVar[tuple[str, ...]] = ("model",)
    kind: Literal["similar"] = "similar"
    compare: dict[str, SemanticType] = Field(
        min_length=1, description="The columns to compare, each with what it holds: {name: name, phone: phone}."
    )
    veto: tuple[str, ...] = Field(
        default=(), description="Compared columns in which two different values always mean two different things."
    )
    weights: dict[str, float] = Field(
        default_factory=dict,
        description="How much columns count: {phone: 2, city: 0.5} doubles and halves their bits; 0 leaves one out.",
    )
    levels: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="Of columns, the levels that are an agreement: {invoice: [same]}. Others count as different.",
    )
    block: tuple[tuple[str, ...], ...] = Field(
        default=(), description="Which records to compare, instead of an automatic choice: those equal in one list."
    )
    threshold: Share | None = Field(
        default=None,
        description="The least probability of a pair: 20% by default, 5% with one_to_one. More finds fewer pairs.",
    )
    model: Annotated[ModelDocument | None, WithJsonSchema(_MODEL_SCHEMA)] = Field(
        default=None,
        description="The file with learnt weights, which `reconcile learn` writes; by default built-in ones.",
    )
    one_to_one: bool = Field(
        default=False, description="With two datasets: a record has at most one partner, in the other dataset."
    )
    max_block: int = Field(
        default=100, ge=2, description="The maximum number of records that one shared value may bring together."
    )
    max_share: Share = Field(
        default=Decimal("0.2"),
        json_schema_extra={"default": "20%"},
        description="The largest share of all records that groups may hold; with more, the rule fails.",
    )

    _precision: float | None = PrivateAttr(default=None)

    @field_validator("threshold")
    @classmethod
    def _is_a_probability(cls, share: Decimal | None) -> Decimal | None:
        if share is not None and not Decimal("0.01") <= share < 1:
            raise ValueError("is a probability; write 1% or more, and less than 100%")
        return share

    @model_validator(mode="after")
    def _names_compared_columns(self) -> SimilarRule:
        named = [("veto", name) for name in self.veto]
        named += [("block", name) for names in self.block for name in names]
        named += [(setting, name) for setting in ("weights", "levels") for name in getattr(self, setting)]
        for setting, name in named:
            if name not in self.compare:
                hint = suggestion(name, self.compare)
                raise ValueError(f"`{setting}` names `{name}`, which is not in `compare`; {hint}")
        if any(not names for names in self.block):
            raise ValueError("`block` has an empty list; name one or more compared columns in each")
        if self.one_to_one and len(self.several) != 2:
            raise ValueError("`one_to_one` needs two datasets; write `datasets: [first, second]`, or remove it")
        return self

    @model_validator(mode="after")
    def _weighs_what_can_be_weighed(self) -> SimilarRule:
        for name, weight in self.weights.items():
            if not 0 <= weight <= _MOST:
                raise ValueError(
                    f"`weights` has `{weight:g}` for `{name}`; write a number from 0 (does not count) to {_MOST:g}"
                )
        if all(self.weights.get(name) == 0 for name in self.compare):
            raise ValueError("`weights` leaves no column that counts; give one or more columns a weight above 0")
        return self

    @model_validator(mode="after")
    def _names_levels_of_the_types(self) -> SimilarRule:
        for name, chosen in self.levels.items():
            semantic_type = self.compare[name]
            degrees = DEGREES[semantic_type]
            listed = f"type {semantic_type.value} has {', '.join(degrees)}"
            if not chosen:
                raise ValueError(f"`levels` lists none for `{name}`; {listed}")
            for level in chosen:
                if level not in degrees:
                    raise ValueError(f"`levels` names `{level}` for `{name}`, but {listed}")
        return self

    @model_validator(mode="after")
    def _compares_what_was_learnt(self) -> SimilarRule:
        if self.model is not None and self.model.compare != self.compare:
            raise ValueError(
                f"`model` was learnt for other columns or types ({_typed(self.model.compare)}); "
                f"remove it, then run `reconcile learn {self.name}` again"
            )
        return self

    def deciding_columns(self) -> Iterator[tuple[str, str]]:
        yield from (("compare", name) for name in self.compare)

    def compared_columns(
        self,
        datasets: Mapping[str, DatasetFacts],  # noqa: ARG002 - the settings name them
    ) -> Iterator[tuple[SettingPath, Mapping[str, tuple[str, ...]]]]:
        for name in self.compare:
            own = {dataset: self.columns.get(dataset, {}).get(name, name) for dataset in self.member_datasets}
            yield ("compare", name), {dataset: (column,) for dataset, column in own.items()}

    def read_by_meaning(self, dataset: str) -> Collection[str]:
        given = self.columns.get(dataset, {})
        return {given.get(name, name) for name in self.compare}

    def learning(self, precision: float) -> Self:
        rule = self.model_copy()
        rule._precision = precision  # noqa: SLF001 - its own
        return rule

    @property
    def precision(self) -> float | None:
        """The precision to learn for; None if a detection finds groups. See `learning`."""
        return self._precision

    @property
    def learnt_weights(self) -> Weights | None:
        return None if self.model is None else self.model.weights()

    @property
    def by_records(self) -> bool:
        return True

    @property
    def joins(self) -> bool:
        return True

    @property
    def learns(self) -> bool:
        return True

    @property
    def pairs_up(self) -> bool:
        return self.one_to_one

    def as_compared(self, values: Mapping[str, Value]) -> Mapping[str, Value]:
        from rules.kinds.similar.texts import compared  # noqa: PLC0415 - only a judgement asks

        return compared(values, self.compare)

    def because(self, form: str) -> str:  # noqa: ARG002 - its findings have one form
        from rules.kinds.similar.description import because  # noqa: PLC0415 - only people ask

        return because(self)


def _typed(compare: Mapping[str, SemanticType]) -> str:
    return ", ".join(f"{name}: {semantic_type.value}" for name, semantic_type in compare.items())
