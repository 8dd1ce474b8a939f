"""The settings of a rule whose groups are several records for the same thing: a keeper and its surplus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, ConfigDict, Field, PrivateAttr, WithJsonSchema, model_validator

from rules.binding import names
from rules.binding.excepting import ExceptSetting, ListedPairs, Named, Pairs
from rules.binding.names import DATASET
from rules.binding.rule import Rule, SettingPath
from rules.cleaning import Share
from rules.document.mistakes import suggestion
from rules.expressions import parse_group, renamed
from rules.models import Keep, KeepLines
from rules.pairs.evidence import JudgedPairs


def _where(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict) and all(isinstance(text, str) for text in value.values()):
        return value
    raise ValueError("write one condition, or with `datasets` one for each: {crm: active, shop: status = 'open'}")


_WHERE_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}}]}
ExceptedPairs = frozenset[frozenset[tuple[str | None, tuple[str, ...]]]]
"""Pairs of records known to be different, each record as its dataset (None for the rule's first) and its id."""


def _one_dataset_or_several(schema: dict[str, Any]) -> None:
    """Require `dataset` or `datasets` in place of `dataset`."""
    schema["required"] = [name for name in schema["required"] if name != "dataset"]
    schema["anyOf"] = [{"required": ["dataset"]}, {"required": ["datasets"]}]


class GroupedRule(Rule):
    """The settings that are the same whatever joins the records.

    With `datasets`, the records of all of them are compared, and `dataset` is the first. `except_` holds pairs of
    record ids, each a tuple with one text per column of the dataset's `id`, or names the dataset that lists them.
    """

    model_config = ConfigDict(json_schema_extra=_one_dataset_or_several)
    dataset_lists: ClassVar[tuple[str, ...]] = ("datasets",)
    dataset_paths: ClassVar[tuple[str, ...]] = ("except.dataset",)
    not_matching: ClassVar[frozenset[str]] = Rule.not_matching | {"keep", "max_share"}
    expressions: ClassVar[Mapping[str, Callable[[str], object]]] = {**Rule.expressions, "having": parse_group}

    several: tuple[str, ...] = Field(
        default=(), alias="datasets", description="Several datasets to compare, in place of `dataset`."
    )
    columns: dict[str, dict[str, str]] = Field(
        default_factory=dict,
        description="For each of several datasets, its columns with other names, e.g. {shop: {email: customer_email}}.",
    )
    where: Annotated[str | dict[str, str] | None, BeforeValidator(_where), WithJsonSchema(_WHERE_SCHEMA)] = Field(  # type: ignore[assignment]  # several datasets can have one each
        default=None, description="The records that take part, e.g. status = 'succeeded'."
    )
    except_: ExceptSetting = Field(
        default=(), alias="except", description="Pairs of record ids known to be different, or a dataset of them."
    )
    distinct: str | None = Field(default=None, description="A column that must differ inside a group.")
    having: str | None = Field(default=None, description="A condition over the group, e.g. sum(amount) > 100.")
    minimum: int = Field(default=2, ge=2, description="The minimum number of records in a group.")
    max_share: Share = Field(
        default=Decimal("0.5"),
        json_schema_extra={"default": "50%"},
        description="The largest share of all records that groups may hold; with more, the rule fails.",
    )
    keep: KeepLines = Field(
        default=(), description="The criteria that choose the record to keep, most important first."
    )

    _judged: JudgedPairs = PrivateAttr(default_factory=dict)
    _judged_same: JudgedPairs = PrivateAttr(default_factory=dict)
    _listed_pairs: ExceptedPairs = PrivateAttr(default=frozenset())

    @model_validator(mode="before")
    @classmethod
    def _first_dataset(cls, settings: Any) -> Any:
        several = settings.get("datasets") if isinstance(settings, dict) else None
        if several is None:
            return settings
        if "dataset" in settings:
            raise ValueError("write `dataset` for one dataset, or `datasets` for several, not both")
        first = several[0] if isinstance(several, (list, tuple)) and several else ""
        return settings | {"dataset": first}

    @model_validator(mode="after")
    def _fits_datasets(self) -> Self:
        mistakes = self._mistakes_of_several() if self.several else self._mistakes_of_one()
        for mistake in (*mistakes, *self._mistakes_of_list()):
            raise ValueError(mistake)
        return self

    def deciding_columns(self) -> Iterator[tuple[str, str]]:
        """Yield each column that decides which records belong together, after the setting that names it."""
        yield from (("key", part.column) for _, part in self.key_parts())

    @property
    def datasets(self) -> tuple[str, ...]:
        listed = () if self.listed is None else (self.listed.dataset,)
        return tuple(dict.fromkeys((*self.member_datasets, *listed, *self.mapping_datasets)))

    @property
    def member_datasets(self) -> tuple[str, ...]:
        return self.several or (self.dataset,)

    @property
    def except_pairs(self) -> Pairs:
        """The pairs that `except` itself holds."""
        return () if isinstance(self.except_, ListedPairs) else self.except_

    @property
    def listed(self) -> ListedPairs | None:
        """The dataset that lists the pairs, and its columns, if `except` names one."""
        return self.except_ if isinstance(self.except_, ListedPairs) else None

    @property
    def excepted(self) -> ExceptedPairs:
        """The pairs of `except`."""
        return self._listed_pairs | {frozenset(map(self.named_record, pair)) for pair in self.except_pairs}

    def with_pairs(self, pairs: ExceptedPairs) -> Self:
        """Return the rule with these pairs of `excepted`, which a dataset lists."""
        rule = self.model_copy()
        rule._listed_pairs = pairs  # noqa: SLF001 - its own
        return rule

    def named_record(self, record: Named) -> tuple[str | None, tuple[str, ...]]:
        """Return a record, or its columns in a list, with its dataset: None for the rule's first."""
        if isinstance(record, tuple):
            return None, record
        return None if record.dataset == self.dataset else record.dataset, record.id

    def shown_as(self, dataset: str, columns: Iterable[str]) -> Iterator[str]:
        return names.in_rule(self.columns.get(dataset, {}), columns)

    def with_judged(self, apart: JudgedPairs, together: JudgedPairs | None = None) -> Self:
        if not self.joins:
            return self
        rule = self.model_copy()
        rule._judged, rule._judged_same = apart, together or {}  # noqa: SLF001 - its own
        return rule

    @property
    def judged(self) -> JudgedPairs:
        """The pairs that people judged to be different; see `with_judged`."""
        return self._judged

    @property
    def judged_same(self) -> JudgedPairs:
        """The pairs that people judged to be the same; see `with_judged`."""
        return self._judged_same

    @property
    def possible_forms(self) -> tuple[str, ...]:
        return ("duplicate",)

    @property
    def keep_columns(self) -> tuple[str, ...]:
        return tuple(line.column for line in self.keep if line.column is not None)

    def not_cleanable(self) -> Iterator[tuple[SettingPath, str]]:
        if self.several:
            yield ("clean",), "a rule over several datasets only reports; clean in a rule over one `dataset`"
        else:
            yield from super().not_cleanable()
        if self.minimum != 2:
            yield (
                ("minimum",),
                "a rule with `clean` must also find pairs, because a cleaning can leave a pair; remove it",
            )

    @property
    def conditions(self) -> Mapping[str, str]:
        """The `where` of each dataset: one text in the rule's names of columns, or texts in the datasets' own."""
        if isinstance(self.where, dict):
            return self.where
        return {} if self.where is None else dict.fromkeys(self.member_datasets, self.where)

    def of_dataset(self, dataset: str, own: Callable[[str], str | None], **settings: Any) -> Self:
        """Return the rule of one of its datasets, in the names of that dataset's columns; `own` gives them.

        A column that it lacks is left out of `keep` and `distinct`. `settings` are those of the kind.
        """
        where = self.conditions.get(dataset)
        given = self.columns.get(dataset, {})
        shared: dict[str, Any] = {
            "dataset": dataset,
            "several": (),
            "columns": {},
            "where": renamed(where, given) if isinstance(self.where, str) and where else where,
            "except_": (),
            "distinct": None if self.distinct is None or self.distinct == DATASET else own(self.distinct),
            "having": None,
            "keep": tuple(_own_keep(self.keep, own)),
        }
        return self.model_copy(update=shared | settings)

    def _mistakes_of_list(self) -> Iterator[str]:
        listed = self.listed
        if listed is None:
            return
        if listed.dataset in self.member_datasets:
            yield (
                f"`except` lists pairs in `{listed.dataset}`, which the rule compares; give the list a dataset of its "
                "own"
            )
        if listed.columns is None and self.several:
            yield "`except` needs `columns` with several `datasets`, like [crm_id, {shop: shop_id}]"

    def _mistakes_of_one(self) -> Iterator[str]:
        for setting, _ in self._named_datasets():
            yield f"`{setting}` names several datasets; write `datasets`, or one value"

    def _mistakes_of_several(self) -> Iterator[str]:
        if len(set(self.several)) < max(len(self.several), 2):
            yield "`datasets` needs two different datasets; write `dataset` for one"
        for setting, name in self._named_datasets():
            if name not in self.several:
                yield f"`{setting}` names `{name}`, which is not in `datasets`; {suggestion(name, self.several)}"
        if any(len(pair) < 2 for pair in self.excepted):
            yield "a pair in `except` names the same record twice; write two different records"
        for name, columns in self.columns.items():
            if len(set(columns.values())) < len(columns):
                yield f"`columns` gives a column of `{name}` two names; remove one"
        for setting, column in self._named_columns():
            if column == DATASET:
                yield (
                    f"`{setting}` cannot name `dataset`, which is a record's dataset in `keep`, `repeats`, `distinct` "
                    "and `having`; name that column in `columns`, like {crm: {kind_of_dataset: dataset}}"
                )

    def _named_datasets(self) -> Iterator[tuple[str, str]]:
        """Yield each dataset that a setting names besides `datasets`."""
        yield from (("columns", name) for name in self.columns)
        if isinstance(self.where, dict):
            yield from (("where", name) for name in self.where)
        listed = (self.listed.columns,) if self.listed is not None and self.listed.columns is not None else ()
        for pair in (*self.except_pairs, *listed):
            yield from (("except", record.dataset) for record in pair if not isinstance(record, tuple))
        for line in self.keep if self.several else ():
            yield from (("keep", name) for name in line.prefer if line.column == DATASET)

    def _named_columns(self) -> Iterator[tuple[str, str]]:
        """Yield the columns of settings in which `dataset` would be a column."""
        yield from (("columns", column) for columns in self.columns.values() for column in columns)
        yield from self.deciding_columns()
        yield from (("keep", line.column) for line in self.keep if line.column and line.how != "prefer")


def _own_keep(lines: Iterable[Keep], own: Callable[[str], str | None]) -> Iterator[Keep]:
    for line in lines:
        if line.column is None:
            yield line
        elif line.column != DATASET and (column := own(line.column)) is not None:
            yield line.model_copy(update={"column": column})
