"""Names of columns, made stable where a header is empty or says the same twice."""

from __future__ import annotations

from collections.abc import Sequence


def stable_names(header: Sequence[str]) -> tuple[str, ...]:
    """Trimmed names; an empty one becomes column_N, a repeated one gets _2, _3; `_file` and `_row` stay ours."""
    wanted = [one.strip() or f"column_{i}" for i, one in enumerate(header, 1)]
    taken, names = {"_file", "_row"}, []
    for one in wanted:
        unique, count = one, 1
        while unique in taken or (count > 1 and unique in wanted):
            count += 1
            unique = f"{one}_{count}"
        taken.add(unique)
        names.append(unique)
    return tuple(names)
