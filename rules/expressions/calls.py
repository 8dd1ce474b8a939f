"""Functions of texts and times, bound: `shapes` checked the form of their arguments, and here their types are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rules.expressions import documents, readings, texts, times
from rules.expressions.tree import Constant, FunctionCall, Node
from rules.expressions.typed import Typed, computed
from rules.values import Type

if TYPE_CHECKING:
    from rules.expressions.binding import Binder

BindCall = Callable[["Binder", FunctionCall], Typed]


def _of_text(function: Callable[..., Typed]) -> BindCall:
    """Return the function of a text, and of the constants after it."""

    def bind(binder: Binder, call: FunctionCall) -> Typed:
        text, *constants = call.arguments
        return function(binder.text_value(text, call.function), *(_written(node) for node in constants))

    return bind


def _written(node: Node) -> Any:
    return node.value if isinstance(node, Constant) else None


def _hour(binder: Binder, call: FunctionCall) -> Typed:
    moment = _moment(binder, call, 0)
    if moment.type is not Type.INSTANT:
        raise binder.error(call.arguments[0], f"`hour` takes an instant but this is of type {moment.type.value}")
    return times.field("hour", moment, binder.zone)


def _field(binder: Binder, call: FunctionCall) -> Typed:
    return times.field(call.function, _moment(binder, call, 0), binder.zone)


def _business_days(binder: Binder, call: FunctionCall) -> Typed:
    first, last = _moment(binder, call, 0), _moment(binder, call, 1)
    return times.business_days(first, last, binder.zone, binder.calendar)


def _add_business_days(binder: Binder, call: FunctionCall) -> Typed:
    moment, argument = _moment(binder, call, 0), call.arguments[1]
    number = binder.bind(argument)
    if number.type is not Type.INTEGER:
        problem = f"`add_business_days` takes a whole number of days but this is of type {number.type.value}"
        raise binder.error(argument, problem, "write add_business_days(booked, 3)")
    return times.add_business_days(moment, number, binder.zone, binder.calendar)


def _moment(binder: Binder, call: FunctionCall, place: int) -> Typed:
    """Bind an argument that is a date or an instant; a text in quotes may be a date."""
    argument = call.arguments[place]
    moment = binder.bind(argument)
    if moment.literal is not None:
        return binder.as_time(argument, moment, Type.DATE)
    if moment.type not in (Type.DATE, Type.INSTANT):
        problem = f"`{call.function}` takes a date or an instant but this is of type {moment.type.value}"
        raise binder.error(argument, problem, "declare the column's type under columns:")
    return moment


def _json(binder: Binder, call: FunctionCall) -> Typed:
    document, path = call.arguments
    return documents.value_at(binder.text_value(document, "json"), _written(path))


def _number(binder: Binder, call: FunctionCall) -> Typed:
    return readings.number(binder.text_value(call.arguments[0], "number"))


def _date(binder: Binder, call: FunctionCall) -> Typed:
    operand = binder.bind(call.arguments[0])
    if operand.type not in (Type.TEXT, Type.DATE, Type.INSTANT):
        problem = f"`date` takes a text, a date or an instant but this is of type {operand.type.value}"
        raise binder.error(call.arguments[0], problem)
    return readings.date(operand, binder.zone)


def _instant(binder: Binder, call: FunctionCall) -> Typed:
    return readings.instant(binder.text_value(call.arguments[0], "instant"), binder.zone)


def _concat(binder: Binder, call: FunctionCall) -> Typed:
    return texts.concatenated([_joinable(binder, argument) for argument in call.arguments])


def _joinable(binder: Binder, argument: Node) -> Typed:
    """Bind a text to join; only here may a literal be blank, to separate others."""
    text = _written(argument)
    if isinstance(text, str):
        return computed(Type.TEXT, lambda _row, _slot: text, text)
    return binder.text_value(argument, "concat")


CALLS: Mapping[str, BindCall] = {
    "add_business_days": _add_business_days,
    "business_days": _business_days,
    "concat": _concat,
    "date": _date,
    "day": _field,
    "hour": _hour,
    "instant": _instant,
    "json": _json,
    "length": _of_text(texts.length),
    "lower": _of_text(texts.lowered),
    "month": _field,
    "number": _number,
    "prefix": _of_text(texts.first_characters),
    "quarter": _field,
    "replace": _of_text(texts.replaced_part),
    "split_part": _of_text(texts.split_part),
    "suffix": _of_text(texts.last_characters),
    "trim": _of_text(texts.trimmed),
    "upper": _of_text(texts.uppered),
    "weekday": _field,
    "year": _field,
}
