"""What limits the undo of a plan, said before anybody approves it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from connectors.target import Catalogue, Change, TableFacts
from rules.document.mistakes import listed


def limits_of_undo(changes: Sequence[Change], tables: Iterable[TableFacts]) -> tuple[str, ...]:
    """Why it can be taken back only while nobody does something else, one sentence each; empty when nothing can."""
    by_name: Mapping[str, TableFacts] = {one.table: one for one in tables}
    found = [
        said for change in changes if not change.is_guard for said in _of_change(change, by_name[change.row.table])
    ]
    found += [
        f"Triggers of `{one.table}` ({listed(one.triggers)}) fire again on undo; what they did elsewhere stays, "
        "and so does what they write again."
        for one in by_name.values()
        if one.triggers
    ]
    return tuple(sorted(set(found)))


def _of_change(change: Change, facts: TableFacts) -> Iterator[str]:
    if change.before is None:
        return
    gone = change.after is None
    for columns in facts.uniques:
        if gone or set(columns) & set(change.after or ()):
            yield f"Another row of `{facts.table}` may take its {listed(columns)}, which only one row can have."
    if facts.unchecked:
        yield (
            f"What `{facts.table}` held may not fulfil {listed(facts.unchecked)}, which older rows were never checked "
            "for; then it cannot be put back."
        )
    if gone and facts.unclear:
        yield f"Another row of `{facts.table}` may take its place in {listed(facts.unclear)}."
    numbered = [one.name for one in facts.columns if one.identity]
    if gone and numbered:
        yield f"A new row of `{facts.table}` may be given the number that a deleted one had in {listed(numbered)}."
    if not gone and set(facts.primary_key) & set(change.after or ()):
        yield f"Another row of `{facts.table}` may take its {listed(facts.primary_key)}."


def shared_values(changes: Sequence[Change], catalogue: Catalogue) -> tuple[str, ...]:
    """Why the database may refuse to put back values that several rows share and foreign keys refer to."""
    said = set()
    for reference in catalogue.references:
        facts = catalogue.tables.get(reference.to_table)
        keys = () if facts is None else (facts.primary_key, *facts.uniques)
        if reference.soft or any(set(key) == set(reference.to_columns) for key in keys):
            continue
        set_ = [one.after for one in changes if one.row.table == reference.to_table and one.after]
        if any(set(after) & set(reference.to_columns) for after in set_):
            said.add(
                f"Rows of `{reference.table}` refer to {listed(reference.to_columns)} of `{reference.to_table}`, which "
                "is not unique: the database may refuse to put a value back."
            )
    return tuple(sorted(said))


def touched_tables(
    changes: Iterable[Change], known: Mapping[str, TableFacts], other: Callable[[str], TableFacts | None]
) -> tuple[TableFacts, ...]:
    """The tables that rows change in, by name; `other` knows those outside the catalogue."""
    names = sorted({one.row.table for one in changes if not one.is_guard})
    found = (known.get(name) or other(name) for name in names)
    return tuple(one for one in found if one is not None)
