"""Check that a rule fits its datasets: columns exist, and compared columns have types that can be equal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rules.binding import fitting
from rules.binding.fitted import DoesNotFit
from rules.binding.rule import DatasetFacts
from rules.binding.side import columns_of
from rules.document.mistakes import RuleError, suggestion
from rules.engines.base import Relation
from rules.kinds.reconciliation import barren
from rules.kinds.reconciliation.bound import BoundReconciliation, BoundSide, bind
from rules.kinds.reconciliation.model import ReconciliationRule
from rules.kinds.reconciliation.pairs import KeyPair, Pair
from rules.models import KeyPart
from rules.values import Type


def fitted(rule: ReconciliationRule, relations: Mapping[str, Relation]) -> BoundReconciliation:
    """Bind the rule to its datasets. Raises DoesNotFit with every mistake."""
    fitting.refuse(rule.name, _underivable(rule, relations))
    try:
        bound = bind(rule, relations)
    except RuleError as error:
        raise DoesNotFit(rule.name, [f"`{_amount_setting(rule)}` cannot be computed: {error}"]) from error
    fitting.refuse(rule.name, _mistakes(bound))
    return bound


def _underivable(rule: ReconciliationRule, relations: Mapping[str, Relation]) -> Iterator[str]:
    for relation in relations.values():
        try:
            columns_of(rule.name, relation)
        except DoesNotFit as misfit:
            yield from misfit.mistakes


def _amount_setting(rule: ReconciliationRule) -> str:
    """Return the setting that names the amounts; by default they are the dataset's money."""
    if rule.totals:
        return "totals.sum"
    if rule.sum:
        return "sum"
    return "tolerance.amount" if rule.tolerance.amount and rule.tolerance.amount.left else "money"


def _mistakes(bound: BoundReconciliation) -> Iterator[str]:
    for side in bound.sides:
        yield from _of_side(bound, side)
    facts = {
        relation.dataset: DatasetFacts(relation.id, relation.where, relation.derived)
        for relation in (side.relation for side in bound.sides)
    }
    yield from (f"`{path[0]}`: {sentence}." for path, sentence in barren.reasons(bound.rule, facts))
    for pair in (pair for key in bound.keys for pair in key):
        if pair.contained is None:
            yield from _unlike(bound, pair, "totals" if bound.rule.totals else "key")
        else:
            yield from _unsearchable(bound, pair)
    for compared in bound.every_compared:
        if compared.days is None:
            yield from _unlike(bound, compared, "compare")
    for different in bound.rule.differ:
        yield from _unlike(bound, different, "differ")
    for preferred in bound.rule.prefer:
        yield from _unlike(bound, preferred, "prefer")
    for side in bound.sides:
        yield from _of_group(side) if side.group else ()
    yield from _left_out(bound)
    yield from _tolerances(bound)
    yield from _of_money(bound)


def _of_side(bound: BoundReconciliation, side: BoundSide) -> Iterator[str]:
    schema, relation = side.columns.schema, side.relation
    yield from fitting.missing(schema, relation, _named(bound, side))
    for part in side.parts:
        yield from fitting.key_part(schema, part)
    yield from fitting.money(schema, relation)
    if side.grace:
        yield from fitting.span(schema, "grace", side.grace.column, side.grace.by)
    if side.amount in schema and not schema[str(side.amount)].type.is_number:
        kind = schema[str(side.amount)].type.value
        yield f"The amounts of `{relation.dataset}` must be numbers, but `{side.amount}` is of type {kind}."
    yield from fitting.failing(
        (
            (
                f"The where of dataset `{relation.dataset}`",
                lambda: relation.where and side.bind_condition(relation.where),
            ),
            (f"`where.{side.name}`", lambda: side.where and side.bind_condition(side.where)),
        )
    )


def _named(bound: BoundReconciliation, side: BoundSide) -> Iterator[tuple[str, str]]:
    """Yield each column with the setting that names it, money first: the rule compares it without naming it."""
    money = [name for name in (side.money, side.currency) if name]
    yield from (("id", name) for name in side.relation.id)
    yield from (("money", name) for name in money)
    yield from (
        ("totals.by" if bound.rule.totals else "key", part.column)
        for part in side.key_parts
        if part.column not in money
    )
    yield from (("compare", part.column) for part in side.compare if part.column not in money)
    yield from (("differ", part.column) for part in side.differ)
    yield from (("prefer", part.column) for part in side.prefer)
    yield from (("group", part.column) for part in side.group)
    named = {
        "tolerance.date": side.date,
        _amount_setting(bound.rule): None if side.amount in money else side.amount,
        "grace": side.grace.column if side.grace else None,
    }
    yield from ((setting, name) for setting, name in named.items() if name)


def _unlike(bound: BoundReconciliation, pair: Pair, setting: str) -> Iterator[str]:
    """Yield a sentence if two columns can never be equal."""
    kinds = [_type(side, part) for side, part in zip(bound.sides, (pair.left, pair.right), strict=True)]
    left, right = kinds
    if left is None or right is None or left is right or (left.is_number and right.is_number):
        return
    names = [f"`{pair.left.column}` of `{bound.left.relation.dataset}` ({left.value})"]
    names.append(f"`{pair.right.column}` of `{bound.right.relation.dataset}` ({right.value})")
    times = {left, right} == {Type.DATE, Type.INSTANT}
    advice = "add `day` to the instant" if times else "declare their types under `columns:`, or add a normaliser"
    yield f"`{setting}` compares {names[0]} with {names[1]}, which are never equal; {advice}."


def _unsearchable(bound: BoundReconciliation, pair: KeyPair) -> Iterator[str]:
    """Yield a sentence for each side that is no text, or no value that a text can contain."""
    for side in bound.sides:
        part, allowed = pair.value(side.name), [Type.TEXT]
        allowed += [Type.INTEGER] if side.name == pair.contained else []
        kind = _type(side, part)
        if kind is not None and kind not in allowed:
            names = " or ".join(each.value for each in allowed)
            yield (
                f"`contained` needs {names}, but `{part.column}` of `{side.relation.dataset}` is of type {kind.value}; "
                "declare its type under `columns:`."
            )


def _of_group(side: BoundSide) -> Iterator[str]:
    """Yield a sentence for each amount that a group cannot add up, or that is added up where it must be alike."""
    dataset, schema = side.relation.dataset, side.columns.schema
    for column in dict.fromkeys(part.column for part in side.key_parts if side.is_added(part)):
        yield (
            f"`key` names `{column}` of `{dataset}`, which `group` adds up; compare it with `tolerance: {{amount: …}}` "
            "instead."
        )
    for amount in dict.fromkeys(name for name in (side.amount, side.money) if name in schema):
        if schema[str(amount)].type is Type.FLOAT:
            yield (
                f"`group` adds up `{amount}` of `{dataset}`, which is a floating-point number; declare it as decimal "
                "under `columns:`."
            )


def _type(side: BoundSide, part: KeyPart) -> Type | None:
    if part.column not in side.columns.schema:
        return None
    try:
        return side.type_of(part)
    except RuleError:
        return None  # told by `fitting.key_part`


def _left_out(bound: BoundReconciliation) -> Iterator[str]:
    """Yield a sentence for each column that `all` leaves out although neither dataset has it."""
    every = bound.rule.compares_all
    names = {name for side in bound.sides for name in (*side.relation.schema.names, *side.relation.derived)}
    for name in every.without if every else ():
        if name not in names:
            yield f"`compare` leaves out `{name}`, but neither dataset has such a column; {suggestion(name, names)}"
    if every is not None and not bound.every_compared:
        yield "`compare: all` finds no column of the same name in both datasets; name the columns of each side."


def _tolerances(bound: BoundReconciliation) -> Iterator[str]:
    for side in bound.sides:
        schema = side.columns.schema
        if side.date in schema and schema[str(side.date)].type not in fitting.TIMES:
            kind = schema[str(side.date)].type.value
            yield (
                f"The date tolerance needs a date, but `{side.date}` of `{side.relation.dataset}` is of type {kind}; "
                "declare it as date or instant under `columns:`."
            )
    for pair in bound.every_compared:
        kinds = {_type(side, pair.side(side.name)) for side in bound.sides} - {None}
        if pair.days is not None and not kinds <= {*fitting.TIMES}:
            yield f"`days` in `compare` needs dates; `{pair.name}` has none."
        if (pair.by is not None or pair.percent is not None) and not all(kind and kind.is_number for kind in kinds):
            yield f"`by` and `percent` in `compare` need numbers; `{pair.name}` has none."


def _of_money(bound: BoundReconciliation) -> Iterator[str]:
    left, right = (side.relation.money for side in bound.sides)
    if left and right and left.currency and right.currency and left.currency != right.currency:
        datasets = [side.relation.dataset for side in bound.sides]
        yield (
            f"The money of `{datasets[0]}` is in {left.currency} and that of `{datasets[1]}` in {right.currency}; "
            "amounts are never converted, so compute one in a derived column."
        )
    if bound.rule.bundle and bound.limits is None:
        yield "`bundle` searches for amounts; add `sum`, or `money` to both datasets."
