"""Records of one key whose empty values agree with every value: which of them belong together. Pure.

Two records agree if no column holds a value in both that differs. That is not transitive: an empty value agrees with A
and with B. So a record whose partners differ from each other is joined only with records that are empty in the same
columns and equal in the others. Between all remaining records agreement is transitive: their partners are the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

from rules.pairs.record import Record
from rules.values import sameness

Pattern = tuple[Hashable, ...]
"""The values of a record in the columns, in a form that is equal for equal ones; None where it is empty."""
Mask = tuple[bool, ...]
"""The columns in which a pattern has a value."""


def split(records: Iterable[Record], parts: Sequence[int]) -> list[list[Record]]:
    """Split records that are equal in the rest of their key by these parts of it, where empty values agree with any."""
    of_pattern: dict[Pattern, list[Record]] = defaultdict(list)
    for record in records:
        of_pattern[tuple(None if record.key[n] is None else sameness((record.key[n],)) for n in parts)].append(record)
    joined: dict[tuple[bool, Pattern], list[Record]] = defaultdict(list)
    for pattern, completed in _completed(list(of_pattern)).items():
        joined[completed is None, pattern if completed is None else completed] += of_pattern[pattern]
    return list(joined.values())


def _completed(patterns: Sequence[Pattern]) -> Mapping[Pattern, Pattern | None]:
    """Return each pattern with the values of all that agree with it; None where these differ from each other."""
    of_mask: dict[Mask, list[Pattern]] = defaultdict(list)
    for pattern in patterns:
        of_mask[tuple(value is not None for value in pattern)].append(pattern)
    values: dict[Pattern, list[set[Hashable]]] = {
        pattern: [set() if value is None else {value} for value in pattern] for pattern in patterns
    }
    for mask, incomplete in of_mask.items():
        for filled, others in of_mask.items():
            added = [n for n, has_value in enumerate(filled) if has_value and not mask[n]]
            common = [n for n, has_value in enumerate(filled) if has_value and mask[n]]
            if added:
                _add(incomplete, others, common, values, added)
    return {
        pattern: None if any(len(each) > 1 for each in of) else tuple(next(iter(each), None) for each in of)
        for pattern, of in values.items()
    }


def _add(
    incomplete: Sequence[Pattern],
    others: Sequence[Pattern],
    common: Sequence[int],
    values: Mapping[Pattern, list[set[Hashable]]],
    added: Sequence[int],
) -> None:
    """Add the values of others to the patterns that they agree with: all that are equal in the common columns."""
    of_common: dict[Pattern, dict[int, set[Hashable]]] = {}
    for pattern in others:
        agreeing = of_common.setdefault(tuple(pattern[n] for n in common), {n: set() for n in added})
        for n in added:
            if len(agreeing[n]) < 2:  # two say that they differ
                agreeing[n].add(pattern[n])
    for pattern in incomplete:
        for n, new in of_common.get(tuple(pattern[n] for n in common), {}).items():
            values[pattern][n] |= new
