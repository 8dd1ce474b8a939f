"""Stable names of columns, also for empty and repeated headers, in any case."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

TOTAL = re.compile(r"(?i)\s*(grand )?(total|totals|sum|summe|gesamt|gesamtsumme|saldo|somme|totale)\b")
"""The beginning of a cell in a line of totals, below a table."""
_LATIN = "(grand |sub-?|sous-|zwischen|gesamt|end)?(totals?|totale|sum|summe|gesamt|ergebnis|somme|totaal|suma)"
SUBTOTAL = re.compile(rf"(?i)\s*({_LATIN}\b|小計|小计|合計|合计|総計|总计|итого|всего)")
"""The beginning of a cell in a line of totals between the records of a table."""
TOTAL_AFTER = re.compile(rf"(?i)(?<=\S) ({_LATIN}|小計|合計)\s*$")
"""The end of such a cell, as Excel writes it for each group: A-17 Total."""
OURS = ("_file", "_sheet", "_row")


def stable_names(header: Sequence[str], reserved: Sequence[str] = OURS) -> tuple[str, ...]:
    """Trimmed names; an empty one becomes column_N, a repeated one gets _2, _3, and so does a reserved one.

    `Id` and `ID` repeat each other: engines ignore the case of column names.
    """
    names_wanted = [text.strip() or f"column_{i}" for i, text in enumerate(header, 1)]
    written = {name.lower() for name in names_wanted}
    used, names = set(reserved), []
    counts: dict[str, int] = {}  # where to go on: a sheet may have 16,384 columns of one name
    for name in names_wanted:
        unique, count = name, counts.get(name.lower(), 1)
        while unique.lower() in used or (unique != name and unique.lower() in written):
            count += 1
            unique = f"{name}_{count}"
        used.add(unique.lower())
        counts[name.lower()] = count
        names.append(unique)
    return tuple(names)


def repeated(header: Sequence[str], names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Each text that a header repeats or that is a reserved name, with the names that `stable_names` gave it.

    An element is the first form of the text, followed by those names.
    """
    names_by_text: dict[str, list[str]] = {}
    first: dict[str, str] = {}
    for title, name in zip(header, names, strict=True):
        text = first.setdefault(title.strip().lower(), title.strip())
        names_by_text.setdefault(text, []).append(name)
    return tuple((title, *unique) for title, unique in names_by_text.items() if title and unique != [title])


def confusable(repeats: Sequence[Sequence[str]], columns: Collection[str] | None) -> str | None:
    """A warning about `repeated`, without its end, for a reader of these columns, or of all; None if not needed.

    A reader who uses one of the renamed columns already knows.
    """
    sentences = [
        f"`{text}` {'is a reserved name' if text.lower() in OURS else 'appears more than once in the header'} "
        f"and is read as {', '.join(f'`{name}`' for name in unique)}"
        for text, *unique in repeats
        if columns is None or (text in columns and not {*unique} - {text} & {*columns})
    ]
    return "; ".join(sentences) or None
