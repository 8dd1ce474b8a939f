"""The settings of a duplicates rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from rules.binding.grouped import GroupedRule
from rules.binding.rule import DatasetFacts, SettingPath
from rules.document.mistakes import suggestion
from rules.groups.keys import AnyKey, KeySetting, check_parts, keys_of
from rules.groups.spans import (
    CONSECUTIVE_SCHEMA,
    SPAN_SCHEMA,
    Consecutive,
    MaximumDistance,
    Overlap,
    Span,
    parse_consecutive,
    parse_span,
)
from rules.models import KeyPart

if TYPE_CHECKING:  # a configuration is read without the engines
    from rules.groups.recognised import Recognition


class DuplicatesRule(GroupedRule):
    """The settings of kind `duplicates`, described in docs/rules.md."""

    kind: Literal["duplicates"] = "duplicates"
    key: KeySetting = Field(
        description="The columns, with normalisers, that are equal in duplicates; all; or any of several."
    )
    max_shared: int = Field(
        default=50, ge=2, description="With several keys, the maximum number of records that one value may join."
    )
    nulls: dict[str, Literal["match", "any"]] = Field(
        default_factory=dict,
        description="Key columns whose empty values match each other or, with `any`, every value.",
    )
    gap: Annotated[MaximumDistance, BeforeValidator(parse_span), WithJsonSchema(SPAN_SCHEMA)] | None = Field(
        default=None, description="The largest distance between neighbours in a group, which forms a chain."
    )
    window: Annotated[MaximumDistance, BeforeValidator(parse_span), WithJsonSchema(SPAN_SCHEMA)] | None = Field(
        default=None, description="The largest distance from the earliest record of a group."
    )
    overlap: Overlap | None = Field(
        default=None,
        description="The columns of a period, {from: start, to: end}: records whose periods overlap are found.",
    )
    consecutive: (
        Annotated[Consecutive, BeforeValidator(parse_consecutive), WithJsonSchema(CONSECUTIVE_SCHEMA)] | None
    ) = Field(
        default=None,
        description="The column that orders the records: neighbours with the same key; {by: at, within: [sku]}.",
    )
    repeats: str | None = Field(
        default=None,
        description=(
            "A column, such as _file: equal records are numbered within each value, and the n-th records join."
        ),
    )
    _recognition: Recognition | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _fits_together(self) -> DuplicatesRule:
        spans = [name for name in ("gap", "window", "overlap", "consecutive") if getattr(self, name)]
        if len(spans) > 1:
            raise ValueError(f"{' and '.join(spans)} cannot be combined; keep one of them")
        if self.repeats is not None:
            self._numbers_equal_records(*spans)
        if self.consecutive is not None:
            self._orders_one_dataset(self.consecutive)
        if self.key == "all":
            if self.nulls:
                raise ValueError("nulls has no effect with key: all, where empty values match each other; remove it")
            return self
        if not isinstance(self.key, AnyKey):
            check_parts(self.key)
        self._leaves_a_column_to_be_equal(*spans)
        columns = {part.column for parts in self.keys for part in parts}
        for column in sorted(self.nulls.keys() - columns):
            raise ValueError(f"nulls names `{column}`, which is not in the key; {suggestion(column, columns)}")
        return self

    def _leaves_a_column_to_be_equal(self, *spans: str) -> None:
        if not self.open_columns:
            return
        name = "nulls: any"
        if self.joins:
            raise ValueError(f"{name} cannot be combined with key: any, where an empty value joins nothing; remove one")
        for setting in (*spans, *(["repeats"] if self.repeats else [])):
            raise ValueError(
                f"{name} needs all records of a key together, but {setting} splits them; remove one of the two"
            )
        if all(part.column in self.open_columns for parts in self.keys for part in parts):
            raise ValueError(f"{name} for every column of the key would compare all records; leave one column out")

    @property
    def open_columns(self) -> frozenset[str]:
        """The columns of the key whose empty values agree with every value."""
        return frozenset(column for column, how in self.nulls.items() if how == "any")

    def _numbers_equal_records(self, span: str = "") -> None:
        if span:
            raise ValueError(f"repeats numbers all equal records, but {span} splits them; remove one of the two")
        if self.distinct == self.repeats:
            raise ValueError("distinct names the column of repeats, which differs in every group; remove distinct")

    def _orders_one_dataset(self, consecutive: Consecutive) -> None:
        if self.several:
            raise ValueError(
                "consecutive orders the records of one dataset; remove it, or write `dataset` in place of `datasets`"
            )
        if consecutive.within and self.key == "all":
            raise ValueError("consecutive: within names columns of the key; list them in key in place of `all`")
        columns = {part.column for _, part in self.key_parts()}
        for column in consecutive.within:
            if column not in columns:
                hint = suggestion(column, columns)
                raise ValueError(f"consecutive: within names `{column}`, which is not in the key; {hint}")
        if columns and columns <= set(consecutive.within):
            raise ValueError(
                "consecutive: within names every column of the key, so no record could end a run; leave one out"
            )

    @field_validator("consecutive")
    @classmethod
    def _has_one_key_to_follow(cls, consecutive: Consecutive | None, info: ValidationInfo) -> Consecutive | None:
        if consecutive is not None and isinstance(info.data.get("key"), AnyKey):
            raise ValueError("needs one key in which neighbours are equal, and `any` has several; remove it")
        return consecutive

    @field_validator("gap", "window", "overlap")
    @classmethod
    def _has_one_key(cls, span: Span | None, info: ValidationInfo) -> Span | None:
        if span is not None and isinstance(info.data.get("key"), AnyKey):
            raise ValueError("needs a common key to order by, which groups of `any` do not have; remove it")
        return span

    @field_validator("repeats")
    @classmethod
    def _has_one_key_to_number(cls, column: str | None, info: ValidationInfo) -> str | None:
        if column is not None and isinstance(info.data.get("key"), AnyKey):
            raise ValueError("needs a common key to number in, which groups of `any` do not have; remove it")
        return column

    @field_validator("max_shared")
    @classmethod
    def _has_several_keys(cls, most: int, info: ValidationInfo) -> int:
        if "key" in info.data and not isinstance(info.data["key"], AnyKey):
            raise ValueError("has an effect only with `key: {any: …}`; remove it")
        return most

    def because(self, form: str) -> str:  # noqa: ARG002 - its findings have one form
        from rules.kinds.duplicates.reasons import because  # noqa: PLC0415 - only people ask

        return because(self)

    @property
    def keys(self) -> tuple[tuple[KeyPart, ...], ...]:
        """The keys one of which records share: several with `any`; none if the key is `all`."""
        return tuple(parts for _, parts in keys_of(self.key))

    @property
    def alternatives(self) -> tuple[str, ...]:
        """Several keys in words, by their columns; `Link.keys` are positions in it."""
        return tuple(" and ".join(part.column for part in parts) for parts in self.keys) if self.joins else ()

    def key_parts(self) -> Iterator[tuple[SettingPath, KeyPart]]:
        for path, parts in keys_of(self.key):
            yield from (((*path, index), part) for index, part in enumerate(parts))

    def compared_columns(
        self,
        datasets: Mapping[str, DatasetFacts],  # noqa: ARG002 - the key names them
    ) -> Iterator[tuple[SettingPath, Mapping[str, tuple[str, ...]]]]:
        for path, part in self.key_parts():
            yield path, {name: (column,) for name, column in self.columns_of(path, part).items()}

    def deciding_columns(self) -> Iterator[tuple[str, str]]:
        yield from super().deciding_columns()
        if self.span is not None:
            yield from ((self.span_setting, column) for column in self.span.columns)

    def columns_of(self, path: SettingPath, part: KeyPart) -> Mapping[str, str]:  # noqa: ARG002 - its parts have no side
        return {name: self.columns.get(name, {}).get(part.column, part.column) for name in self.member_datasets}

    @property
    def span(self) -> Span | None:
        return self.gap or self.window or self.overlap or self.consecutive

    @property
    def span_setting(self) -> str:
        """The name of the setting that `span` is."""
        settings = {"gap": self.gap, "window": self.window, "overlap": self.overlap}
        return next((name for name, span in settings.items() if span), "consecutive")

    @property
    def ordered_by(self) -> str | None:
        return self.span.column if self.span else None

    @property
    def by_records(self) -> bool:
        return bool(self.ordered_by is not None or self.joins or self.repeats is not None or self.open_columns)

    @property
    def differing(self) -> str | None:
        """A column of which every group has two or more different values, if the rule asks for that."""
        return self.distinct or self.repeats

    @property
    def place_reasons(self) -> tuple[tuple[str, str], ...]:
        """The reasons why a record with a key takes no part, each with its column, in the order of checking."""
        return (*(self.span.reasons if self.span else ()), *([(self.repeats, "null")] if self.repeats else []))

    @property
    def timeless(self) -> bool:
        return not self.joins  # there, judged pairs change which records are joined

    @property
    def joins(self) -> bool:
        return isinstance(self.key, AnyKey)

    def recognising(self, recognition: Recognition) -> Self:
        rule = self.model_copy()
        rule._recognition = recognition  # noqa: SLF001 - its own
        return rule

    @property
    def recognition(self) -> Recognition | None:
        """How known groups are recognised; None: all are built. See `recognising`."""
        return self._recognition

    def not_cleanable(self) -> Iterator[tuple[SettingPath, str]]:
        yield from super().not_cleanable()
        if self.repeats is not None:
            yield (
                ("repeats",),
                "a rule with `repeats` only reports, because cleaning would renumber the other records; remove it",
            )
        if self.consecutive is not None:
            yield (
                ("consecutive",),
                "a rule with `consecutive` only reports, because any other record can change its groups; remove it",
            )
