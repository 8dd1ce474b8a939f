"""The settings of a reconciliation rule."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator, model_validator

from rules.binding.rule import DatasetFacts, Rule, SettingPath
from rules.cleaning import Clean
from rules.document.mistakes import listed, suggestion
from rules.expressions import parse
from rules.groups.forms import FormWords, form_words
from rules.kinds.reconciliation import groups
from rules.kinds.reconciliation.pairs import (
    AllColumns,
    AnyPairs,
    Apart,
    ComparedPair,
    ComparedPairs,
    KeyPair,
    KeyPairs,
    Pair,
    Pairs,
)
from rules.models import KeyPart, Strict, parse_duration
from rules.models.calendar import HolidaysField
from rules.values import PLACE

if TYPE_CHECKING:  # a configuration is read without the engines
    from rules.groups.group import Difference

Form = Literal[
    "left_only", "right_only", "mismatch", "duplicate_left", "duplicate_right", "unbalanced", "ambiguous", "near_miss"
]
FORMS: tuple[Form, ...] = get_args(Form)
_ALONE: tuple[Form, ...] = ("left_only", "right_only")
_OPEN: tuple[Form, ...] = ("ambiguous", "near_miss")
MOST_SEARCHED = 16
"""Records of a searched bundle: among more, a sum is more often chance than truth (measured)."""


class Conditions(Strict):
    """The conditions of both datasets."""

    left: str | None = None
    right: str | None = None


class Sums(Strict):
    """The expressions whose sums are compared."""

    left: str
    right: str


class DateTolerance(Strict):
    """How far apart the dates of a pair may be; `after` and `before` are for a later and an earlier right date."""

    left: str
    right: str
    days: int | None = Field(default=None, ge=0)
    business_days: int | None = Field(default=None, ge=0)
    after: int | None = Field(default=None, ge=0)
    before: int | None = Field(default=None, ge=0)
    holidays: HolidaysField | None = None

    @model_validator(mode="after")
    def _has_a_limit(self) -> DateTolerance:
        if self.days is not None and self.business_days is not None:
            raise ValueError("`days` and `business_days` cannot be combined; remove one of them")
        if self.business_days is None and self.holidays is not None:
            raise ValueError("`holidays` needs `business_days`; write that instead of `days`")
        if (self.days, self.business_days, self.after, self.before) == (None,) * 4:
            raise ValueError("needs `days` or `business_days`; write a number")
        return self

    @property
    def later(self) -> int:
        """The largest number of days by which the right date may be later."""
        return self._limit(self.after)

    @property
    def earlier(self) -> int:
        """The largest number of days by which it may be earlier."""
        return self._limit(self.before)

    def _limit(self, own: int | None) -> int:
        return own if own is not None else self.days or self.business_days or 0


class AmountTolerance(Apart):
    """How far apart the amounts of a pair, or two sums, may be."""

    left: str | None = None
    right: str | None = None

    @model_validator(mode="after")
    def _has_a_limit(self) -> AmountTolerance:
        if (self.left is None) != (self.right is None):
            raise ValueError("needs the columns of both sides, `left` and `right`")
        if self.by is None and self.percent is None:
            raise ValueError("needs `by`; write `by: 0.05`, `by: 1%`, or `by: 0` for equal amounts")
        return self


class Tolerance(Strict):
    """The dates and amounts that tell records of one key apart."""

    date: DateTolerance | None = Field(default=None, description="How far apart the dates of a pair may be.")
    amount: AmountTolerance | None = Field(default=None, description="How far apart amounts or sums may be.")


class Bundle(Strict):
    """`bundle: search`: find the records that add up; `max` is the most of them among which it searches."""

    max: int = Field(default=12, ge=2, le=MOST_SEARCHED)


class Grace(Strict):
    """How long after the time in a column a record may wait for its partner."""

    column: str
    by: dt.timedelta


def _grace(value: Any) -> Any:
    if isinstance(value, Grace) or value is None:
        return value
    if isinstance(value, dict) and len(value) == 1:
        [(column, by)] = value.items()
        return {"column": column, "by": parse_duration(by)}
    raise ValueError("write one column and a duration: {charged_at: 2d}")


_GRACE_SCHEMA = {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": {"type": "string"}}
_Grace = Annotated[Grace | None, BeforeValidator(_grace), WithJsonSchema(_GRACE_SCHEMA)]


class GraceOfSides(Strict):
    left: _Grace = None
    right: _Grace = None


class Totals(Strict):
    """The first form of a reconciliation: only sums per key are compared."""

    by: Pairs = Field(min_length=1)
    sum: Sums


def keys_of(key: AnyPairs | tuple[KeyPair, ...]) -> tuple[tuple[KeyPair, ...], ...]:
    """Return the keys of the setting `key`, in order of preference."""
    return key.any if isinstance(key, AnyPairs) else (key,)


def _equal_parts(key: Iterable[KeyPair]) -> list[tuple[KeyPart, KeyPart]]:
    """Return the parts of a key that are equal on both sides; a value contained in a text is not."""
    return [(pair.left, pair.right) for pair in key if pair.contained is None]


def _in_words(keys: Iterable[tuple[Pair, ...]]) -> str:
    return ", or ".join(" and ".join(pair.name for pair in key) for key in keys)


def _bundle(value: Any) -> Any:
    return {} if value == "search" else value


def _without_default(schema: dict[str, Any]) -> None:
    del schema["default"]


class ReconciliationRule(Rule):
    """The settings of kind `reconciliation`, described in docs/rules.md. `dataset` is the left dataset."""

    dataset_settings: ClassVar[tuple[str, ...]] = ("dataset", "right")
    roles: ClassVar[Mapping[str, str]] = {"left": "left", "right": "right"}
    expressions: ClassVar[Mapping[str, Callable[[str], object]]] = {
        **Rule.expressions,
        "sum": parse,
        "totals.sum": parse,
    }

    kind: Literal["reconciliation"] = "reconciliation"
    dataset: str = Field(alias="left", description="The dataset that is compared.")
    right: str = Field(description="The dataset it is compared with.")
    where: Conditions | None = Field(  # type: ignore[assignment]  # each dataset has a condition
        default=None, description="The records that take part, a condition for each dataset."
    )
    totals: Totals | None = Field(default=None, description="Compare only sums per key: `by` and `sum`.")
    group: groups.GroupOfSides | None = Field(
        default=None, description="The columns of each side whose records are one partner, e.g. {right: document}."
    )
    key: KeyPairs = Field(
        default=(),
        description="The columns, with normalisers, that are equal in a pair; or `any` of several keys, "
        "each for the records that are still without a partner.",
    )
    nulls: dict[str, Literal["match"]] = Field(
        default_factory=dict,
        description="Columns of the key, by their left name, whose empty values match each other, e.g. {note: match}.",
    )
    match: Literal["one_to_one", "one_to_many", "many_to_one", "many_to_many"] = Field(
        default="one_to_one", description="How many left and right records of a key belong together."
    )
    sum: Sums | None = Field(default=None, description="The amounts to add up in a bundle of records.")
    tolerance: Tolerance = Field(
        default=Tolerance(),
        json_schema_extra=_without_default,
        description="How far apart dates and amounts of a pair may be.",
    )
    bundle: Annotated[
        Bundle | None,
        BeforeValidator(_bundle),
        WithJsonSchema({"anyOf": [{"const": "search"}, Bundle.model_json_schema()]}),
    ] = Field(default=None, description="How a bundle is found: by its key, or with `search` by its sum.")
    compare: ComparedPairs = Field(default=(), description="The columns that must agree in matched records.")
    differ: Pairs = Field(
        default=(),
        json_schema_extra=_without_default,
        description="Columns that must have different values in a pair, e.g. the account of a transfer.",
    )
    prefer: Pairs = Field(
        default=(),
        json_schema_extra=_without_default,
        description="Columns that decide, in their order and before days and money, which possible partner is taken.",
    )
    grace: GraceOfSides = Field(
        default=GraceOfSides(),
        json_schema_extra=_without_default,
        description="How long a record may wait for its partner before it is a finding.",
    )
    report: tuple[Form, ...] = Field(
        default=FORMS,
        min_length=1,
        json_schema_extra=_without_default,
        description="The forms of findings to report; by default all.",
    )

    @field_validator("group", "key", "nulls", "match", "sum", "bundle", "compare", "differ", "prefer", "grace")
    @classmethod
    def _fits_totals(cls, value: Any, info: ValidationInfo) -> Any:
        if info.data.get("totals") is not None:
            raise ValueError("cannot be combined with `totals`, which pairs no records; remove it")
        return value

    @field_validator("nulls")
    @classmethod
    def _is_in_key(cls, value: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        every_key = keys_of(info.data.get("key", ()))
        if contained := [pair for key in every_key for pair in key if pair.contained and pair.left.column in value]:
            raise ValueError(f"names `{contained[0].left.column}`, but an empty value is in no text; remove it")
        keys = [[pair.left.column for pair in pairs] for pairs in every_key]
        columns = [column for key in keys for column in key]
        for column in value:
            if column not in columns:
                raise ValueError(f"names `{column}`, which is not in the key; {suggestion(column, columns)}")
        if any(key and set(key) <= value.keys() for key in keys):
            raise ValueError("for every column of a key would match any two records with an empty key; leave one out")
        return value

    @field_validator("sum", "bundle")
    @classmethod
    def _has_bundles(cls, value: Any, info: ValidationInfo) -> Any:
        match = info.data.get("match")
        if match == "one_to_one":
            raise ValueError("needs bundles; set `match` to one_to_many, many_to_one or many_to_many")
        if isinstance(value, Bundle) and match == "many_to_many":
            raise ValueError("needs a single record on one side; set `match` to one_to_many or many_to_one")
        return value

    @field_validator("tolerance")
    @classmethod
    def _has_one_amount(cls, value: Tolerance, info: ValidationInfo) -> Tolerance:
        totals, sums = info.data.get("totals"), info.data.get("sum")
        if totals is not None and value.date is not None:
            raise ValueError("`totals` compares no dates; put the day into `by`")
        has_columns = value.amount is not None and value.amount.left is not None
        if has_columns and (totals or sums):
            raise ValueError("`sum` has the amounts; remove `left` and `right` of `amount`")
        if value.amount is not None and not has_columns and not (totals or sums):
            raise ValueError("`amount` needs its columns; add `left` and `right`")
        return value

    @field_validator("prefer")
    @classmethod
    def _can_decide(cls, value: tuple[Pair, ...], info: ValidationInfo) -> tuple[Pair, ...]:
        keys, differ = keys_of(info.data.get("key", ())), info.data.get("differ", ())
        for number, pair in enumerate(value):
            if all((pair.left, pair.right) in _equal_parts(key) for key in keys):
                raise ValueError(
                    f"names `{pair.name}`, which is equal in every pair, because it is in the key; remove it"
                )
            if pair in differ:
                raise ValueError(f"names `{pair.name}`, which must `differ` in every pair; remove one of them")
            if pair in value[:number]:
                raise ValueError(f"names `{pair.name}` twice; remove one")
        return value

    @model_validator(mode="after")
    def _is_complete(self) -> ReconciliationRule:
        amount = self.tolerance.amount
        if not (self.key or self.totals) and (amount is None or self.match != "one_to_one"):
            raise ValueError("needs `key`, the columns that are equal in both datasets; add it")
        for name, pairs in (("differ", self.differ), ("prefer", self.prefer)):
            if pairs and not self.is_assigned:
                raise ValueError(f"`{name}` chooses between possible partners; add a `tolerance` to a one_to_one rule")
        if self.bundle is not None and amount is not None and amount.percent is not None:
            raise ValueError("`bundle` searches for a sum, which a percentage cannot limit; write an amount for `by`")
        if self.group is not None and (sentence := groups.mistake(self.compared, is_bundled=self.is_bundled)):
            raise ValueError(sentence)
        if len(self.keys) > 1 and self.is_bundled:
            raise ValueError("`key` has several keys, which only `match: one_to_one` tries in turn; write one key")
        if any(sum(pair.contained is not None for pair in key) > 1 for key in self.keys):
            raise ValueError("`key` has several parts with `contained`; write one of them, or several keys with `any`")
        if self.bundle is not None and self.contains:
            raise ValueError("`bundle` searches among records of one key; remove it, or `contained` from the key")
        if any(len(set(map(repr, key))) < len(key) for key in self.keys):
            raise ValueError("`key` names the same columns twice; remove one")
        return self

    @property
    def by_records(self) -> bool:
        return self.totals is None

    @property
    def is_bundled(self) -> bool:
        return self.match != "one_to_one"

    @property
    def has_many(self) -> tuple[bool, bool]:
        """Whether several left and several right records of a key may belong together."""
        return self.match.startswith("many"), self.match.endswith("many")

    @property
    def is_assigned(self) -> bool:
        """True if dates or amounts, not the key alone, decide which records belong together."""
        tolerance = self.tolerance
        return not self.is_bundled and (tolerance.date is not None or tolerance.amount is not None)

    @property
    def possible_forms(self) -> tuple[Form, ...]:
        """The forms that its findings can have."""
        if self.totals is not None:
            return ("unbalanced",)
        repeats: tuple[Form, ...] = ()
        if not self.is_assigned and self.bundle is None:
            forms: tuple[Form, Form] = ("duplicate_left", "duplicate_right")
            repeats = tuple(form for form, many in zip(forms, self.has_many, strict=True) if not many)
        undecided: tuple[Form, ...] = ("ambiguous",) if self.is_assigned or self.bundle or self.contains else ()
        sums: tuple[Form, ...] = ("unbalanced",) if self.is_bundled and self.bundle is None else ()
        near: tuple[Form, ...] = ("near_miss",) if self._can_be_near else ()
        return ("left_only", "right_only", "mismatch", *repeats, *sums, *undecided, *near)

    @property
    def _can_be_near(self) -> bool:
        """True if records without a partner can agree in something: in the key, or in a part of it."""
        tolerance = self.tolerance
        return max(map(len, self.keys)) > 1 or any((tolerance.date, tolerance.amount, self.bundle))

    @property
    def keys(self) -> tuple[tuple[KeyPair, ...], ...]:
        """The keys, in order of preference."""
        return keys_of(self.key)

    @property
    def key_pairs(self) -> tuple[KeyPair, ...]:
        """The parts of all keys."""
        return tuple(pair for key in self.keys for pair in key)

    @property
    def contains(self) -> bool:
        """True if values of one side are looked for in texts of the other."""
        return any(pair.contained is not None for pair in self.key_pairs)

    @property
    def compared(self) -> tuple[ComparedPair, ...]:
        """The columns to compare that the rule names."""
        return tuple(pair for pair in self.compare if isinstance(pair, ComparedPair))

    @property
    def compares_all(self) -> AllColumns | None:
        """The columns to leave out, if the rule compares all others."""
        return next((each for each in self.compare if isinstance(each, AllColumns)), None)

    def key_parts(self) -> Iterator[tuple[SettingPath, KeyPart]]:
        settings: dict[SettingPath, Iterable[Pair | AllColumns]] = {
            **(
                {("key", "any", number): pairs for number, pairs in enumerate(self.keys)}
                if isinstance(self.key, AnyPairs)
                else {("key",): self.key}
            ),
            ("compare",): self.compare,
            ("differ",): self.differ,
            ("prefer",): self.prefer,
            ("totals", "by"): self.totals.by if self.totals else (),
        }
        for path, pairs in settings.items():
            for index, pair in enumerate(pairs):
                if isinstance(pair, AllColumns):
                    continue
                yield (*path, index, "left"), pair.left
                if pair.right != pair.left:
                    yield (*path, index, "right"), pair.right
        yield from self.group.parts() if self.group else ()

    def columns_of(self, path: SettingPath, part: KeyPart) -> Mapping[str, str]:
        sides = {"left": self.dataset, "right": self.right}
        if path[0] == "group":
            return {sides[str(path[1])]: part.column}
        paths = [each for each, _ in self.key_parts()]
        is_of_both = (*path[:-1], "right") not in paths
        return {dataset: part.column for side, dataset in sides.items() if is_of_both or path[-1] == side}

    def compared_columns(
        self, datasets: Mapping[str, DatasetFacts]
    ) -> Iterator[tuple[SettingPath, Mapping[str, tuple[str, ...]]]]:
        if self.dataset == self.right:
            return
        left, right = datasets[self.dataset], datasets[self.right]
        for path, ours, theirs in self._column_pairs(left, right):
            yield path, {self.dataset: ours, self.right: theirs}

    def _column_pairs(
        self, left: DatasetFacts, right: DatasetFacts
    ) -> Iterator[tuple[SettingPath, tuple[str, ...], tuple[str, ...]]]:
        equal = [pair for pair in self.key_pairs if pair.contained is None]
        settings: dict[str, Iterable[Pair]] = {"key": equal, "compare": self.compared, "prefer": self.prefer}
        settings["totals"] = self.totals.by if self.totals else ()
        for name, pairs in settings.items():
            for pair in pairs:
                yield (name,), (pair.left.column,), (pair.right.column,)
        for column in self.every_column(left, right):
            yield ("compare",), (column,), (column,)
        for name, apart in (("date", self.tolerance.date), ("amount", self.tolerance.amount)):
            if apart is not None and apart.left is not None and apart.right is not None:
                yield ("tolerance", name), (apart.left,), (apart.right,)
        sums = self.totals.sum if self.totals else self.sum
        if sums is not None:
            yield (("totals", "sum") if self.totals else ("sum",)), parse(sums.left).columns, parse(sums.right).columns
        elif left.amount is not None and right.amount is not None:
            yield ("left",), (left.amount,), (right.amount,)

    def every_column(self, left: DatasetFacts, right: DatasetFacts) -> tuple[str, ...]:
        """Return the columns of the same name that `compare: all` adds, in the order of the left dataset."""
        every, tolerance = self.compares_all, self.tolerance
        if every is None:
            return ()
        in_every_key = [pair for pair in self.keys[0] if all(pair in key for key in self.keys)]
        used = {name for pair in (*in_every_key, *self.compared) for name in (pair.left.column, pair.right.column)}
        used |= {
            name for each in (tolerance.date, tolerance.amount) if each for name in (each.left, each.right) if name
        }
        used |= {*left.id, *right.id, *every.without, *PLACE}
        both = {*right.columns, *right.derived}
        return tuple(name for name in (*left.columns, *left.derived) if name in both and name not in used)

    @property
    def agreeing(self) -> tuple[tuple[str, str], ...]:
        date, amount = self.tolerance.date, self.tolerance.amount
        pairs = [(date.left, date.right)] if date else []
        pairs += [(amount.left, amount.right)] if amount and amount.left and amount.right else []
        return (*pairs, *((pair.left.column, pair.right.column) for pair in self.compared))

    @property
    def aligned(self) -> tuple[tuple[str, str], ...]:
        by = self.totals.by if self.totals else ()
        meant = (*self.key_pairs, *by, *self.prefer)
        return (*((pair.left.column, pair.right.column) for pair in meant), *self.agreeing)

    @property
    def nouns(self) -> tuple[str, str]:
        return "discrepancy", "discrepancies"

    def because(self, form: str) -> str:
        names = _in_words([self.totals.by] if self.totals else self.keys) or "date and amount"
        match form:
            case "left_only" | "right_only":
                left, right = self._sides
                return f"{right if form == 'left_only' else left} has {self._nothing_like_it}."
            case "duplicate_left" | "duplicate_right":
                left, right = self._sides
                repeated_in = left if form == "duplicate_left" else right
                repeated = self._units(form.removeprefix("duplicate_"))
                return f"{repeated_in} has several {repeated} with the same {names}."
            case "unbalanced":
                return f"{' and '.join(self._sides)} have different sums for the same {names}."
            case "ambiguous":
                undecided = f", and {' and '.join(pair.name for pair in self.prefer)} does not decide"
                return f"More than one pairing by {names} is possible{undecided if self.prefer else ''}."
            case "near_miss":
                return "Neither record has a partner, but they are similar: they may belong together."
        return f"They are paired by {names}, but differ."

    @property
    def _sides(self) -> tuple[str, str]:
        """The names of the left and the right records: their datasets, unless both are of one."""
        return ("left", "right") if self.dataset == self.right else (self.dataset, self.right)

    def _units(self, side: str) -> str:
        """What is paired, in words."""
        parts = self.group.of(side) if self.group else ()
        return f"values of {' and '.join(part.column for part in parts)}" if parts else "records"

    @property
    def _nothing_like_it(self) -> str:
        """What the other dataset does not have, in words."""
        names = _in_words(self.keys)
        free = "unmatched " if len(self.keys) > 1 else ""
        alike = f" with the same {names}" if names else ""
        if self.bundle is not None:
            return f"no unmatched records{alike} that add up to it"
        if not self.is_assigned:
            return f"no {free}record{alike}"
        tolerance = self.tolerance
        near = [column.left for column in (tolerance.date, tolerance.amount) if column is not None and column.left]
        enough = f"within the tolerance of {' and '.join(near)}"
        differing = f" and with a different {' and '.join(pair.name for pair in self.differ)}" if self.differ else ""
        return f"no unmatched record{alike} {enough}{differing}"

    def form_words(self, form: str) -> FormWords:
        if form == "mismatch" and self._compares_only_money:
            return FormWords("amounts differ", "amount differs", "amounts differ")
        return form_words(form, self._sides)

    def phrase(self, form: str, differences: Sequence[Difference]) -> str:
        """Return "currencies differ" for a mismatch of money without a difference of amounts, which are numbers."""
        is_of_money = form == "mismatch" and self._compares_only_money
        if is_of_money and differences and all(isinstance(each.left or each.right, str) for each in differences):
            return "currencies differ"
        return super().phrase(form, differences)

    @property
    def _compares_only_money(self) -> bool:
        """True if nothing but the money at risk can differ in matched records; bundles also differ by dates."""
        return not self.compare and (self.is_assigned or self.tolerance.date is None)

    def shown_as(self, dataset: str, columns: Iterable[str]) -> Iterator[str]:
        equal = [pair for pair in self.key_pairs if pair.contained is None]
        pairs = (*equal, *(self.totals.by if self.totals else ())) if dataset == self.right else ()
        for column in columns:
            yield column
            yield from (pair.left.column for pair in pairs if pair.right.column == column)

    @property
    def cleanable_forms(self) -> Mapping[str, tuple[Form, ...]]:
        """The forms of findings whose records can be cleaned, by dataset.

        Not those of which it is open whether their records belong together.
        """
        if self.totals is not None or self.dataset == self.right:
            return {}
        reported = [form for form in self.possible_forms if form in self.report and form not in _OPEN]
        without = {self.dataset: "right_only", self.right: "left_only"}
        return {name: tuple(form for form in reported if form != without[name]) for name in self.member_datasets}

    def not_cleanable(self) -> Iterator[tuple[SettingPath, str]]:
        if self.totals is not None:
            yield ("totals",), f"sums have no record to clean; compare records with {listed(['key'])}"
        elif self.dataset == self.right:
            yield ("clean",), "a rule that compares a dataset with itself only reports; remove it"
        elif self.clean is not None:
            yield from self._mistakes_in(self.clean)

    def _mistakes_in(self, clean: Clean) -> Iterator[tuple[SettingPath, str]]:
        if clean.dataset not in self.member_datasets:
            which = "needs `dataset`, the one to clean" if clean.dataset is None else "names another `dataset`"
            yield ("clean",), f"{which}; write {self.dataset} or {self.right}"
            return
        allowed = self.cleanable_forms[clean.dataset]
        if not clean.forms:
            yield ("clean",), f"needs `forms`, the forms of findings to clean; choose from {listed(allowed)}"
        for index, form in enumerate(clean.forms):
            if form not in allowed:
                wrong = f"the rule has no `{form}` findings with records of `{clean.dataset}` to clean"
                yield ("clean", "forms", index), f"{wrong}; {suggestion(form, allowed)}"
        if clean.needs_keeper:
            sentence = f"`{clean.action}` needs a record to keep, which a discrepancy does not have; write set"
            yield ("clean", "action"), sentence
        elif clean.removes and (paired := [form for form in clean.forms if form in allowed and form not in _ALONE]):
            sentence = f"`{clean.action}` would remove records that have a partner ({listed(paired)}); write set"
            yield ("clean", "action"), sentence
