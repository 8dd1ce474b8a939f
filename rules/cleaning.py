"""Settings of cleaning: the action, the approval it needs, and its limits."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal, DecimalException
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from rules.document.mistakes import nearest, short, suggestion
from rules.expressions import BoundExpression, ExpressionError, parse
from rules.expressions.tree import FunctionCall, Name, walk
from rules.models import Strict
from rules.values import Column, Schema, Type, Value, by_currency

Policy = Literal["none", "required", "two_person"]
POLICIES: tuple[Policy, ...] = ("none", "required", "two_person")
"""From no approval to the strictest."""
CURRENCY = re.compile(r"[A-Z]{3}")
DEFAULT_RETRY = "patient"

_ANYTIME = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)  # a condition of an approval does not depend on time
_SHORTEST_EXPIRY = dt.timedelta(minutes=1)
_NAMES_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


@dataclass(frozen=True)
class Verb:
    """The verb of an action, for people: `merge 2 records into the keeper`. `rest` follows the records."""

    present: str = "change"
    past: str = "changed"
    rest: str = ""

    def does(self, records: str) -> str:
        """Say what a plan does with these records."""
        return f"{self.present} {records} {self.rest}".rstrip()

    def did(self, records: str) -> str:
        """Say what became of these records."""
        return f"{records} {self.past} {self.rest}".rstrip()


def _listed(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else [value]


class Clean(Strict):
    """Settings of every action. An action's own model inherits from it and narrows `action` to its name.

    `can_undo`: the action can be undone, so it may run without approval. `version` rises when the action does
    something else with the same settings: earlier approvals become void, and the next run asks again. `needs_keeper`:
    the action uses the record that stays. `removes`: afterwards the records are no longer in their dataset. `calls`: it
    makes calls instead of changing rows. `verb` says what it does with a record.
    """

    can_undo: ClassVar[bool] = True
    needs_keeper: ClassVar[bool] = True
    removes: ClassVar[bool] = True
    calls: ClassVar[bool] = False
    verb: ClassVar[Verb] = Verb()
    version: ClassVar[int] = 1

    action: str = Field(description="The action on the surplus records.")
    dataset: str | None = Field(
        default=None, description="The dataset whose records are cleaned, in a rule that reads several."
    )
    forms: Annotated[tuple[str, ...], BeforeValidator(_listed), WithJsonSchema(_NAMES_SCHEMA)] = Field(
        default=(), description="The forms of discrepancies whose records are cleaned."
    )
    references: Literal["refuse", "repoint", "capture"] = Field(
        default="refuse",
        description="How rows that refer to the surplus are handled: they prevent its cleaning, move to the keeper, "
        "or are deleted with it.",
    )
    triggers: Literal["known"] | None = Field(
        default=None, description="`known` allows the table's triggers to fire without approval."
    )
    ignore_drift: Annotated[tuple[str, ...], BeforeValidator(_listed), WithJsonSchema(_NAMES_SCHEMA)] = Field(
        default=(), description="Columns that may change between the plan and its execution."
    )
    plan_rows: int = Field(
        default=1000, ge=1, le=100_000, description="The maximum number of rows changed for one group."
    )

    @model_validator(mode="after")
    def _repoints_to_a_keeper(self) -> Self:
        if self.forms and self.references == "repoint":
            raise ValueError("`references: repoint` needs a keeper, which discrepancies do not have; write `refuse`")
        return self

    @property
    def records_in_words(self) -> str:
        """The records that are cleaned, for people."""
        forms = " or ".join(form.replace("_", " ") for form in self.forms)
        return f"the {forms} records of {self.dataset}" if self.forms else "the surplus records"

    @property
    def writes(self) -> tuple[str, ...]:
        """The columns of the cleaned records that it sets to given values."""
        return ()

    @property
    def choosable(self) -> tuple[tuple[str, ...], ...]:
        """The keeper's fields that a person may take from a record of their choice; those together come from one."""
        return ()

    def together(self, column: str) -> tuple[str, ...]:
        """Return the fields that come from one record with this one, itself included; empty if nobody may choose it."""
        return next((columns for columns in self.choosable if column in columns), ())

    @property
    def in_words(self) -> str:
        """What the action does, as a verb with its object, for people."""
        return f"runs the action `{self.action}` on {self.records_in_words}"


class ApprovalPolicy(Strict):
    """The approval a group needs: always `then`, or `then` or `else` by the condition `when`.

    A condition that cannot be evaluated (an amount is unknown) gets the stricter of the two answers.
    """

    when: str | None = None
    then: Policy = "required"
    otherwise: Policy = Field(default="required", alias="else")

    @model_validator(mode="after")
    def _makes_a_difference(self) -> ApprovalPolicy:
        if self.when is not None and self.then == self.otherwise:
            raise ValueError(f"gives `{self.then}` either way; write `approval: {self.then}`, or change `else`")
        return self

    @property
    def is_automatic(self) -> bool:
        """True if no group needs an approval."""
        return self.when is None and self.then == "none"

    def asks(self, *, surplus: int, records: int, money: Mapping[str, Decimal]) -> Policy:
        """Return the approval needed before a group of `records` records, `surplus` of them surplus, is cleaned.

        `money` is the sum over the surplus by currency; empty where it is unknown. Amounts in a currency that `when`
        does not name are unknown, too, if it names any.
        """
        if self._bound is None:
            return self.then
        amounts = by_currency(money)
        named = {name for name in self._bound.expression.columns if CURRENCY.fullmatch(name)}
        if named and any(amount for currency, amount in amounts.items() if currency not in named):
            amounts = {}
        answer = self._bound.evaluate(_Amounts(surplus, records, amounts), _ANYTIME)
        if answer is None:
            return stricter(self.then, self.otherwise)
        return self.then if answer is True else self.otherwise

    @property
    def may_ask_nobody(self) -> bool:
        """Return True if some group is cleaned without approval."""
        return "none" in (self.then, self.then if self.when is None else self.otherwise)

    @property
    def needs_money(self) -> bool:
        """Return True if the answer depends on amounts."""
        return self._bound is not None and set(self._bound.expression.columns) - {"surplus", "records"} != set()

    @cached_property
    def _bound(self) -> BoundExpression | None:
        return None if self.when is None else parse_when(self.when)


def parse_approval(value: Any) -> Any:
    """`none`, `required`, `two_person`, or the mapping with `when`."""
    if isinstance(value, str):
        if value not in POLICIES:
            closest = nearest(value, POLICIES)
            hint = f"did you mean `{closest}`?" if closest else "write `none`, `required` or `two_person`"
            raise ValueError(f"`{short(value)}` is not allowed here; {hint}")
        return {"then": value}
    if isinstance(value, dict) and value.get("when") is None:
        raise ValueError("needs `when`, like {when: surplus > 3, then: required, else: none}")
    return value


def parse_when(text: str) -> BoundExpression:
    """Parse a condition on a group; raises ExpressionError."""
    expression = parse(text)
    currencies = set[str]()
    for node in walk(expression.root):
        if isinstance(node, FunctionCall) and node.function == "slot":
            raise ExpressionError(text, node.at, "An approval does not depend on the time", "ask about the group")
        if isinstance(node, Name) and CURRENCY.fullmatch(node.name):
            currencies.add(node.name)
        elif isinstance(node, Name) and node.name not in _ASKED:
            hint = suggestion(node.name, _ASKED)
            advice = hint if hint.endswith("?") else f"{hint}, and currencies like `EUR`"
            raise ExpressionError(text, node.at, f"`{short(node.name)}` is not known here", advice)
    money = (Column(name, Type.DECIMAL) for name in sorted(currencies))
    columns = (*(Column(name, kind) for name, kind in _ASKED.items()), *money)
    return expression.condition(Schema(columns))


def stricter(first: Policy, second: Policy) -> Policy:
    """Return the answer that asks more people."""
    return max(first, second, key=POLICIES.index)


_ASKED = {"surplus": Type.INTEGER, "records": Type.INTEGER, "money": Type.DECIMAL}


class _Amounts(Mapping[str, Value]):
    """The names `when` may use of a group. `money` is the amount where there is one currency."""

    def __init__(self, surplus: int, records: int, money: Mapping[str, Decimal]) -> None:
        self._counts: dict[str, Value] = {"surplus": surplus, "records": records}
        self._counts["money"] = next(iter(money.values())) if len(money) == 1 else None
        self._money = money

    def __getitem__(self, name: str) -> Value:
        if name in self._counts:
            return self._counts[name]
        return self._money.get(name, Decimal(0)) if self._money else None

    def __iter__(self) -> Iterator[str]:
        return iter((*self._counts, *self._money))

    def __len__(self) -> int:
        return len(self._counts) + len(self._money)


APPROVAL_SCHEMA = {
    "anyOf": [
        {"type": "string", "enum": list(POLICIES)},
        {
            "type": "object",
            "required": ["when"],
            "additionalProperties": False,
            "properties": {
                "when": {"type": "string", "examples": ["surplus > 3", "EUR >= 500"]},
                "then": {"type": "string", "enum": list(POLICIES), "default": "required"},
                "else": {"type": "string", "enum": list(POLICIES), "default": "required"},
            },
        },
    ]
}


@dataclass(frozen=True)
class Caps:
    """The most that may be changed, per run and in any 24 hours; None: no limit.

    `records` and `share` are numbers of rows: surplus, re-pointed and captured ones. `group` counts the records of one
    group, the keeper included. Where `money` names any currency, an amount in another one is over the limit.
    `hides_money`: amounts are personal data, so no sentence names the amount that would be changed.
    """

    records: int | None = None
    share: int | None = None
    group: int | None = None
    money: Mapping[str, Decimal] = field(default_factory=dict)
    hides_money: bool = False

    @property
    def most(self) -> int | None:
        """The smaller of `records` and `share`."""
        return min((limit for limit in (self.records, self.share) if limit is not None), default=None)


def parse_share(value: Any) -> Any:
    """Parse `1%` as exactly 0.01; more than 0 % and at most 100 %."""
    if isinstance(value, Decimal):
        return value
    match = re.fullmatch(r"(\d{1,3}(?:\.\d{1,9})?)\s*%", str(value).strip(), re.ASCII)
    if not match:
        raise ValueError(f"`{short(str(value))}` is not a share; write it like 1% or 0.5%")
    share = Decimal(match[1]) / 100
    if not 0 < share <= 1:
        raise ValueError(f"`{short(str(value))}` is not a share; give more than 0% and at most 100%")
    return share


def parse_money(value: Any) -> Any:
    """Parse `{EUR: 500}`: amounts by currency code, more than 0."""
    if not isinstance(value, Mapping) or not value:
        raise ValueError("must be a mapping of currencies to amounts, like {EUR: 500}")
    return {_currency(code): _amount(amount) for code, amount in value.items()}


def _currency(code: Any) -> str:
    if not isinstance(code, str) or not CURRENCY.fullmatch(code):
        raise ValueError(f"`{short(str(code))}` is not a currency; write three capital letters, like EUR")
    return code


def _amount(value: Any) -> Decimal:
    try:
        amount = Decimal(str(value))
    except DecimalException:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount <= 0:
        raise ValueError(f"`{short(str(value))}` is not an amount; write a number greater than 0, like 500")
    return amount


def parse_expiry(value: dt.timedelta) -> dt.timedelta:
    if value < _SHORTEST_EXPIRY:
        raise ValueError("leaves too little time to decide; give it 1m or more")
    return value


_MONEY_SCHEMA = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {"type": ["string", "number"]},
}
Share = Annotated[Decimal, BeforeValidator(parse_share), WithJsonSchema({"type": "string", "examples": ["1%", "0.5%"]})]
Amounts = Annotated[Mapping[str, Decimal], BeforeValidator(parse_money), WithJsonSchema(_MONEY_SCHEMA)]


class Limits(Strict):
    """How much one rule may change; unset limits keep their defaults."""

    records: int = Field(default=100, ge=1, description="Rows: surplus, re-pointed and captured.")
    share: Share = Field(
        default=Decimal("0.01"),
        json_schema_extra={"default": "1%"},
        description="Rows, as a share of the scanned records.",
    )
    group: int = Field(default=5, ge=2, description="Records of one group, the keeper included.")
    money: Amounts | None = Field(default=None, description="The sum over the surplus, by currency.")

    def caps(self, scanned: int) -> Caps:
        """Return the limits in rows after a full run that scanned `scanned` records; a share is rounded up."""
        share = int((self.share * scanned).to_integral_value(ROUND_CEILING))
        return Caps(self.records, share, self.group, self.money or {})


class TargetLimits(Strict):
    """How much all rules together may change in one source."""

    records: int | None = Field(default=None, ge=1, description="Rows: surplus, re-pointed and captured.")
    money: Amounts | None = Field(default=None, description="The sum over the surplus, by currency.")


__all__ = [
    "APPROVAL_SCHEMA",
    "DEFAULT_RETRY",
    "POLICIES",
    "ApprovalPolicy",
    "Caps",
    "Clean",
    "Limits",
    "Policy",
    "TargetLimits",
    "Verb",
    "parse_approval",
    "parse_expiry",
    "parse_when",
    "stricter",
]
