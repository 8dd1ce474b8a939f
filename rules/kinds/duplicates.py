"""Records of one dataset with the same key, more than one of them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from rules.models import Rule, Strict, parse_duration


class Step(Strict):
    """One normaliser with its argument: `trim` or `{round: 2}`."""

    name: str
    argument: Any = None


class KeyPart(Strict):
    """One column of a key with its chain of normalisers: `amount` or `{email: [mailbox]}`."""

    column: str
    steps: tuple[Step, ...] = ()


class Keep(Strict):
    """One line of `keep:`: how the keeper is chosen, before the id breaks the last tie."""

    how: Literal["first", "last", "most_complete", "max", "min", "prefer"]
    column: str | None = None
    prefer: tuple[str, ...] = ()


class Span(Strict):
    """`gap:` or `window:`: the column that orders, and how far apart (inclusive): a duration, or a number."""

    column: str
    by: dt.timedelta | Decimal


def _step(value: Any) -> Any:
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, dict) and len(value) == 1:
        [(name, argument)] = value.items()
        return {"name": name, "argument": argument}
    return value


def _key_part(value: Any) -> Any:
    if isinstance(value, str):
        return {"column": value}
    if isinstance(value, dict) and len(value) == 1:
        [(column, steps)] = value.items()
        return {"column": column, "steps": [_step(s) for s in (steps if isinstance(steps, list) else [steps])]}
    raise ValueError("a part of a key is a column, or {column: [normaliser, …]}")


def _keep(value: Any) -> Any:
    if value == "most_complete":
        return {"how": "most_complete"}
    if isinstance(value, dict) and len(value) == 1:
        [(how, what)] = value.items()
        if how == "prefer" and isinstance(what, dict) and len(what) == 1:
            [(column, order)] = what.items()
            return {"how": how, "column": column, "prefer": order if isinstance(order, list) else [order]}
        if how in ("first", "last", "max", "min") and isinstance(what, str):
            return {"how": how, "column": what}
    raise ValueError(
        "a line of keep is most_complete, {first: column}, {last: column}, {max: column}, {min: column} "
        "or {prefer: {column: [best, next]}}"
    )


def _span(value: Any) -> Any:
    if isinstance(value, dict) and len(value) == 1:
        [(column, by)] = value.items()
        try:
            return {"column": column, "by": Decimal(str(by))}
        except ArithmeticError:
            return {"column": column, "by": parse_duration(by)}
    raise ValueError("write one column and how far: {charged_at: 15m}, or {position: 3} for a numeric column")


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


class DuplicatesRule(Rule):
    """kind: duplicates. See docs/rules.md for what each setting means."""

    kind: Literal["duplicates"] = "duplicates"
    key: Literal["all"] | tuple[Annotated[KeyPart, BeforeValidator(_key_part)], ...]
    nulls: dict[str, Literal["match"]] = Field(default_factory=dict)
    except_: tuple[tuple[Any, Any], ...] = Field(default=(), alias="except")
    gap: Annotated[Span, BeforeValidator(_span)] | None = None
    window: Annotated[Span, BeforeValidator(_span)] | None = None
    distinct: str | None = None
    having: str | None = None
    minimum: int = Field(default=2, ge=2)
    keep: Annotated[tuple[Annotated[Keep, BeforeValidator(_keep)], ...], BeforeValidator(_listed)] = ()

    @model_validator(mode="after")
    def _one_span(self) -> DuplicatesRule:
        if self.gap and self.window:
            raise ValueError("gap and window exclude each other; keep one of them")
        if self.key != "all" and not self.key:
            raise ValueError("a key needs at least one column")
        return self

    @property
    def span(self) -> Span | None:
        return self.gap or self.window
