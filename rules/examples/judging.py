"""Compare the groups that a rule found in an example with those that its author expects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rules.examples.typed import GroupShape, Reference, TypedExample
from rules.groups.group import Group
from rules.values import canonical_json


@dataclass(frozen=True)
class ExampleDifferences:
    """The differences between expected and found groups: pairs that share a record, and groups without a partner."""

    different: tuple[tuple[GroupShape, GroupShape], ...] = ()
    missing: tuple[GroupShape, ...] = ()
    unexpected: tuple[GroupShape, ...] = ()

    @property
    def agrees(self) -> bool:
        return not (self.different or self.missing or self.unexpected)


def shape(group: Group, example: TypedExample, dataset: str) -> GroupShape:
    """Return the shape of a found group; `dataset` is the one whose records carry no dataset."""
    records: dict[str, set[Reference]] = {}
    for role, member in group.roles:
        name = member.dataset or dataset
        position = example.records[name].ids.index(canonical_json(member.id))
        records.setdefault(role, set()).add((name, position))
    return GroupShape({role: frozenset(references) for role, references in records.items()}, group.form)


def compare(expected: Sequence[GroupShape], actual: Sequence[GroupShape]) -> ExampleDifferences:
    """Pair equal groups first, then those that share most records; what remains is missing or unexpected."""
    open_expected, open_actual = list(expected), list(actual)
    for wanted in expected:
        equal = next((found_group for found_group in open_actual if _fits(wanted, found_group)), None)
        if equal is not None:
            open_expected.remove(wanted)
            open_actual.remove(equal)
    different = []
    for wanted in tuple(open_expected):
        nearest = max(open_actual, key=lambda group: _shared(wanted, group), default=None)
        if nearest is not None and _shared(wanted, nearest):
            different.append((wanted, nearest))
            open_expected.remove(wanted)
            open_actual.remove(nearest)
    return ExampleDifferences(tuple(different), tuple(open_expected), tuple(open_actual))


def _fits(wanted: GroupShape, actual: GroupShape) -> bool:
    return wanted.form in (None, actual.form) and wanted.records == actual.records


def _shared(first: GroupShape, second: GroupShape) -> int:
    return len(_all(first) & _all(second))


def _all(group: GroupShape) -> frozenset[Reference]:
    return frozenset(reference for references in group.records.values() for reference in references)
