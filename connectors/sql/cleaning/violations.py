"""Rows that already violate a rule of their table: the database lets them go, and would refuse to take them back.

Such rows come from bulk loads that switch checks off, and from constraints that were added without a check of the rows
that existed. The dialect lists the rules that rows may violate; one query per table with such rules finds the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from connectors.sql.cells import Fragment, TableShape, chunks, joined
from connectors.sql.cleaning.dialect import Dialect, RowRule
from connectors.sql.cleaning.outcomes import meaning
from connectors.sql.cleaning.rows import CONDITIONS_AT_ONCE, TableShapes
from connectors.sql.cleaning.session import TargetSession
from connectors.target import Change, RowName, TransactionOutcome, Violation

_OF_STATEMENT = (TransactionOutcome.CONFLICT, TransactionOutcome.TERMINAL)


def violations(
    session: TargetSession, dialect: Dialect, tables: TableShapes, changes: Sequence[Change]
) -> list[Violation]:
    """Return the rules that would refuse to restore the rows of these changes. Raises the driver's errors."""
    existing = [change for change in changes if change.before is not None and not change.is_guard]
    existing.sort(key=_alike)
    answer: list[Violation] = []
    for (table, _), group in groupby(existing, key=_alike):
        shape, of_table = tables.named(table), list(group)
        rules = [rule for rule in dialect.row_rules(session, shape) if any(_applies(rule, each) for each in of_table)]
        answer += _violated(session, dialect, shape, rules, of_table) if rules else ()
        answer += dialect.refused_copies(session, shape, of_table)
    return answer


def _alike(change: Change) -> tuple[str, tuple[str, ...]]:
    return change.row.table, tuple(name for name, _ in change.row.key)


def _applies(rule: RowRule, change: Change) -> bool:
    """Return True if the database checks the rule when the row is restored."""
    return change.after is None or not change.after.keys().isdisjoint(rule.columns)


def _violated(
    session: TargetSession, dialect: Dialect, shape: TableShape, rules: Sequence[RowRule], changes: Sequence[Change]
) -> Iterator[Violation]:
    clear = [rule for rule in rules if rule.broken]
    unclear = [rule for rule in rules if not rule.broken]
    by_row = {change.row: change for change in changes}
    for batch in chunks(list(by_row), CONDITIONS_AT_ONCE) if clear else ():
        broken = _broken(session, dialect, shape, clear, batch)
        if broken is None:
            unclear = list(rules)
            break
        yield from (Violation(row, rule.name) for row, rule in broken if row in by_row and _applies(rule, by_row[row]))
    for rule in unclear:
        yield from (Violation(row, rule.name, is_certain=False) for row in by_row if _applies(rule, by_row[row]))


def _broken(
    session: TargetSession, dialect: Dialect, shape: TableShape, rules: Sequence[RowRule], rows: Sequence[RowName]
) -> list[tuple[RowName, RowRule]] | None:
    """Return the rules that each of these rows breaks; None if the database cannot evaluate them."""
    names = [name for name, _ in rows[0].key]
    key = [shape.by_name[name] for name in names if name in shape.by_name]
    if len(key) < len(names):
        return None  # the table changed, which the caller notices
    cells = ", ".join(map(dialect.read, key))
    conditions = [f"({rule.broken})" for rule in rules]
    where, bound = _any_of(dialect, shape, rows)
    sql = f"SELECT {cells}, {', '.join(conditions)} FROM {dialect.relation(shape)} WHERE ({where})"
    session.send("SAVEPOINT reconcile_rules")
    try:
        answer = session.run(f"{sql} AND ({' OR '.join(conditions)})", bound).rows
    except session.errors as error:
        code = dialect.code(error)
        if code not in dialect.no_rights and meaning(dialect.name, code).before not in _OF_STATEMENT:
            raise
        session.send("ROLLBACK TO SAVEPOINT reconcile_rules")
        return None
    session.send("RELEASE SAVEPOINT reconcile_rules")
    return [
        (RowName(shape.name, tuple((c.name, dialect.cell(c, value)) for c, value in zip(key, row, strict=False))), rule)
        for row in answer
        for rule, is_broken in zip(rules, row[len(key) :], strict=True)
        if is_broken
    ]


def _any_of(dialect: Dialect, shape: TableShape, rows: Sequence[RowName]) -> Fragment:
    first, *more = rows[0].key
    if not more and (few := dialect.is_any(shape.by_name[first[0]], [cell for row in rows for _, cell in row.key])):
        return few
    conditions = []
    for row in rows:
        sql, bound = joined([dialect.is_exactly(shape.by_name[name], cell) for name, cell in row.key], " AND ")
        conditions.append((f"({sql})", bound))
    return joined(conditions, " OR ")
