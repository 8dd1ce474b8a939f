"""A rule bound to the dataset it reads, and the check that it fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rules.binding import fitting
from rules.binding.keyed import KeyedSide
from rules.binding.rule import DatasetFacts
from rules.binding.side import columns_of
from rules.engines.base import Relation
from rules.groups import survivorship
from rules.kinds.duplicates import barren
from rules.kinds.duplicates.model import DuplicatesRule
from rules.values import Schema


@dataclass(frozen=True)
class BoundDuplicates(KeyedSide):
    """A rule of this kind with the dataset it reads."""

    rule: DuplicatesRule


def filter_of(rule: DuplicatesRule) -> str | None:
    """Return the filter of a rule over one dataset."""
    return rule.where if isinstance(rule.where, str) else None


def bind(rule: DuplicatesRule, relation: Relation) -> BoundDuplicates:
    """Bind the rule to the dataset it reads. Raises DoesNotFit with every mistake."""
    bound = BoundDuplicates(rule, relation, columns_of(rule.name, relation), filter_of(rule))
    fitting.refuse(rule.name, misfits(bound))
    return bound


def misfits(bound: BoundDuplicates, *, among_several: bool = False) -> Iterator[str]:
    """Yield a sentence for each mistake in the rule's settings for this dataset, one of several or the only one."""
    rule, relation, schema = bound.rule, bound.relation, bound.columns.schema
    yield from fitting.missing(schema, relation, fitting.named(relation, _named(rule)))
    for _, part in rule.key_parts():
        yield from fitting.key_part(schema, part)
    yield from _span_misfits(rule, schema)
    yield from fitting.money(schema, relation)
    if rule.key == "all" and not bound.parts:
        yield f"`key: all` compares nothing: every column of dataset `{relation.dataset}` is in its id."
    facts = DatasetFacts(relation.id, relation.where, relation.derived)
    yield from (
        f"`{path[0]}`: {sentence}." for path, sentence in barren.reasons(rule, facts, among_several=among_several)
    )
    yield from fitting.failing(
        (
            ("The dataset's where", lambda: relation.where and bound.bind_condition(relation.where)),
            ("where", lambda: bound.where and bound.bind_condition(bound.where)),
            ("having", lambda: bound.having),
            ("keep", lambda: survivorship.check_keep([k for k in rule.keep if k.column in schema], schema)),
        )
    )
    yield from fitting.excepted(
        relation, [record for pair in rule.except_pairs for record in pair if isinstance(record, tuple)]
    )


def _named(rule: DuplicatesRule) -> Iterator[tuple[str, str]]:
    yield from (("key", part.column) for _, part in rule.key_parts())
    if rule.span:
        yield from ((rule.span_setting, column) for column in rule.span.columns)
    yield from ((name, column) for name in ("repeats", "distinct") if (column := getattr(rule, name)) is not None)
    yield from (("keep", line.column) for line in rule.keep if line.column)


def _span_misfits(rule: DuplicatesRule, schema: Schema) -> Iterator[str]:
    """Yield a sentence for each column whose type does not fit."""
    if rule.overlap:
        yield from fitting.period(schema, rule.overlap.begin, rule.overlap.end)
        return
    if rule.consecutive:
        yield from fitting.order(schema, "consecutive", rule.consecutive.by)
        return
    span = rule.gap or rule.window
    while span is not None:
        yield from fitting.span(schema, rule.span_setting, span.column, span.by)
        span = span.also
