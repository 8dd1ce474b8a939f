"""The limits of a plan's undo, shown before its approval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from connectors.calls import Call
from connectors.target import Catalogue, Change, RowName, TableFacts, Target, Violation
from reconcile.findings.plan import Plan
from rules.document.mistakes import listed


def limits_of_undo(changes: Sequence[Change], tables: Iterable[TableFacts]) -> tuple[str, ...]:
    """Return what can make the undo impossible later, one sentence each; empty if nothing can."""
    by_name: Mapping[str, TableFacts] = {facts.table: facts for facts in tables}
    sentences = [
        sentence
        for change in changes
        if not change.is_guard
        for sentence in _of_change(change, by_name[change.row.table])
    ]
    sentences += [
        f"Triggers of `{facts.table}` ({listed(facts.triggers)}) fire again on undo: their changes elsewhere stay, "
        "and so do the values that they write again."
        for facts in by_name.values()
        if facts.triggers
    ]
    return tuple(sorted(set(sentences)))


def _of_change(change: Change, facts: TableFacts) -> Iterator[str]:
    if change.before is None:
        return
    deleted = change.after is None
    for columns in facts.uniques:
        if deleted or set(columns) & set(change.after or ()):
            yield f"Another row of `{facts.table}` may take its unique {listed(columns)}."
    if deleted and facts.unclear:
        yield f"Another row of `{facts.table}` may take its place in {listed(facts.unclear)}."
    numbered = [column.name for column in facts.columns if column.identity]
    if deleted and numbered:
        yield f"A new row of `{facts.table}` may be given the number that a deleted one had in {listed(numbered)}."
    if not deleted and set(facts.primary_key) & set(change.after or ()):
        yield f"Another row of `{facts.table}` may take its {listed(facts.primary_key)}."


def shared_values(changes: Sequence[Change], catalogue: Catalogue) -> tuple[str, ...]:
    """Return why the database may refuse to restore values that several rows share and foreign keys refer to."""
    sentences = set()
    for reference in catalogue.references:
        facts = catalogue.tables.get(reference.to_table)
        keys = () if facts is None else (facts.primary_key, *facts.uniques)
        if reference.soft or any(set(key) == set(reference.to_columns) for key in keys):
            continue
        set_ = [change.after for change in changes if change.row.table == reference.to_table and change.after]
        if any(set(after) & set(reference.to_columns) for after in set_):
            sentences.add(
                f"Rows of `{reference.table}` refer to {listed(reference.to_columns)} of `{reference.to_table}`, which "
                "is not unique: the database may refuse to put a value back."
            )
    return tuple(sorted(sentences))


def irreversible(plans: Sequence[Plan], target: Target) -> dict[str, Plan]:
    """Return the plans by finding; those that change a row which violates a rule of its table cannot be undone.

    The rows of all plans are looked at together. Raises ConnectorError.
    """
    undoable = [plan for plan in plans if plan.reversible != "no"]
    changes = [change for plan in undoable for change in plan.changes if not change.is_guard]
    by_row: dict[RowName, list[Violation]] = defaultdict(list)
    for violation in target.violations(changes) if changes else ():
        by_row[violation.row].append(violation)
    return {plan.finding: _judged(plan, by_row) for plan in plans}


def _judged(plan: Plan, by_row: Mapping[RowName, Sequence[Violation]]) -> Plan:
    changed = (change.row for change in plan.changes if not change.is_guard)
    violations = [violation for row in changed for violation in by_row.get(row, ())]
    if plan.reversible == "no" or not violations:
        return plan
    is_final = any(violation.is_certain for violation in violations)
    sentences = sorted({violation_in_words(violation) for violation in violations})
    return replace(plan, reversible="no" if is_final else "window", why=(*sentences, *plan.why))


def violation_in_words(violation: Violation) -> str:
    """Return why a row cannot, or may not, be restored, as a sentence."""
    if violation.sentence:
        return violation.sentence
    table, rule = violation.row.table, listed([violation.rule])
    if violation.is_certain:
        return f"A row of `{table}` already violates {rule}, so the database would refuse to restore it."
    return f"A row of `{table}` may violate {rule}, which cannot be checked; it then cannot be restored."


def taken_back(call: Call) -> str:
    """Return how a call is undone, or that it never is, as a sentence."""
    if call.undo is None:
        return "Nothing takes back a call that was made: it is final."
    return "Another call takes it back, which the target may refuse."


def touched_tables(
    changes: Iterable[Change], catalogued: Mapping[str, TableFacts], facts_of: Callable[[str], TableFacts | None]
) -> tuple[TableFacts, ...]:
    """Return the tables of the changed rows, sorted by name; `facts_of` finds those outside the catalogue."""
    names = sorted({change.row.table for change in changes if not change.is_guard})
    tables = (catalogued.get(name) or facts_of(name) for name in names)
    return tuple(facts for facts in tables if facts is not None)
