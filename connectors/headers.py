"""Names of columns, made stable where a header is empty or says the same twice, in whatever case."""

from __future__ import annotations

from collections.abc import Collection, Sequence

OURS = ("_file", "_row")


def stable_names(header: Sequence[str]) -> tuple[str, ...]:
    """Trimmed names; an empty one becomes column_N, a repeated one gets _2, _3; `_file` and `_row` stay ours.

    `Id` and `ID` repeat each other: engines tell no columns apart by case.
    """
    wanted = [said.strip() or f"column_{i}" for i, said in enumerate(header, 1)]
    written = {name.lower() for name in wanted}
    taken, names = set(OURS), []
    for name in wanted:
        unique, count = name, 1
        while unique.lower() in taken or (count > 1 and unique.lower() in written):
            count += 1
            unique = f"{name}_{count}"
        taken.add(unique.lower())
        names.append(unique)
    return tuple(names)


def repeated(header: Sequence[str], names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Each text that stands more than once in a header, or is a name of ours, and the names `stable_names` made of it.

    An element is the text as it stands there first, followed by those names.
    """
    found: dict[str, list[str]] = {}
    first: dict[str, str] = {}
    for said, name in zip(header, names, strict=True):
        text = first.setdefault(said.strip().lower(), said.strip())
        found.setdefault(text, []).append(name)
    return tuple((said, *here) for said, here in found.items() if said and here != [said])


def confusable(repeats: Sequence[Sequence[str]], columns: Collection[str] | None) -> str | None:
    """What people should know of `repeated` who name these columns, without its end; None where there is nothing.

    Who names one of the others too, or only them, knows of it. Without columns everything is told.
    """
    told = [
        f"`{said}` {'is a name of ours' if said.lower() in OURS else 'stands more than once in the header'} "
        f"and is read as {', '.join(f'`{one}`' for one in here)}"
        for said, *here in repeats
        if columns is None or (said in columns and not {*here} - {said} & {*columns})
    ]
    return "; ".join(told) or None
