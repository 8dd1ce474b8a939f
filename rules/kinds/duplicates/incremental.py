"""Which rules can find the groups that changed without reading all records: see `rules.groups.incremental`."""

from __future__ import annotations

from rules.expressions import parse, parse_group
from rules.expressions.falling import falls
from rules.expressions.tree import FunctionCall, walk
from rules.kinds.duplicates.bound import BoundDuplicates
from rules.values import Type


def obstacle(bound: BoundDuplicates) -> str | None:
    """Return the reason, as a clause, why only a full run of this rule is exact; None if an incremental one is."""
    rule = bound.rule
    if rule.clean is not None:
        return "it cleans, and its limits count all records"
    if rule.joins:
        return "with several keys, one record can change which others belong together"
    if (growing := _grows_by_loss(bound)) is not None:
        return growing
    if not bound.relation.id:
        return f"dataset `{bound.relation.dataset}` has no `id`"
    if not set(bound.relation.id).isdisjoint(bound.relation.derived):
        return "its id is derived"
    if any(bound.columns.schema[name].type is Type.FLOAT for name in bound.relation.id):
        return "its id is a floating-point number"
    if _asks_for_slot(bound):
        return "`slot()` in a condition changes which records take part"
    if not parts(bound):
        return "no part of its key is a plain column that is never empty: each is normalised, derived, or matches nulls"
    return None


def _grows_by_loss(bound: BoundDuplicates) -> str | None:
    """Return how a finding can appear because a record of no finding is gone, as a clause; None if none can."""
    rule = bound.rule
    if rule.repeats is not None:
        return "with `repeats`, a deleted record renumbers the others"
    if rule.consecutive is not None:
        return "with `consecutive`, a new or deleted record changes which others are neighbours"
    if rule.open_columns:
        return "with `nulls: any`, a deleted record can let an empty value agree with another record"
    if rule.having is not None and not falls(parse_group(rule.having).root):
        return "a deleted record can let a group meet `having`"
    choosing = {"minimum": rule.minimum > 2, "distinct": rule.distinct, "having": rule.having, "except": rule.except_}
    if rule.window is not None and (names := [name for name, is_set in choosing.items() if is_set]):
        return f"with `window` and `{names[0]}`, a deleted record can turn other windows into findings"
    return None


def parts(bound: BoundDuplicates) -> tuple[str, ...]:
    """Return the columns whose values are those of the key: records of equal keys have equal values there."""
    return tuple(
        part.column
        for part in bound.parts
        if not part.steps
        and not bound.matches_null(part)
        and part.column not in bound.columns.derived
        and bound.columns.schema[part.column].type is not Type.FLOAT
    )


def _asks_for_slot(bound: BoundDuplicates) -> bool:
    """Return True if an expression of the rule or its dataset depends on the time of the run."""
    texts = [text for text in (bound.relation.where, bound.where) if text is not None]
    roots = [parse(text).root for text in (*texts, *bound.relation.derived.values())]
    roots += [parse_group(bound.rule.having).root] if bound.rule.having else []
    return any(isinstance(node, FunctionCall) and node.function == "slot" for root in roots for node in walk(root))
