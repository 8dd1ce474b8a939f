"""Match the records of both sides, a part of the keys at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rules.kinds.reconciliation import assigning, bundles, searching, units
from rules.kinds.reconciliation.accounts import RecordSums, summed_by_code
from rules.kinds.reconciliation.bound import BoundReconciliation
from rules.kinds.reconciliation.outcomes import LEFT, RIGHT, Outcomes
from rules.kinds.reconciliation.ranges import Window
from rules.kinds.reconciliation.sides import MatchedSides
from rules.kinds.reconciliation.statements import PICKED, UNSETTLED, Select, Statements
from rules.kinds.reconciliation.stored import LATER_KEY, PARTS, SideTable
from rules.kinds.reconciliation.workspace import Workspace
from rules.pairs.numbers import Integers

RECORDS_OF_A_PART = 250000
"""Records of both sides that are matched at a time, if the key can be divided."""
TOGETHER = 4
"""Parts that are one while DuckDB finds that most records agree: each part reads both tables several times."""


@dataclass
class MatchResult:
    """What matching found, and for each side the sums of the records that agree with their partners."""

    outcomes: Outcomes
    agreed: tuple[RecordSums, RecordSums]


def matched(
    workspace: Workspace, statements: Statements, bound: BoundReconciliation, states: Sequence[Mapping[int, int]]
) -> MatchResult:
    """Match all records; `states` count those of each side. Raises TooManyPairs and OutOfMemory."""
    matching = MatchResult(Outcomes(), (RecordSums(), RecordSums()))
    records = sum(state.get(0, 0) for state in states)
    parts = min(1 + records // RECORDS_OF_A_PART, PARTS) if bound.equal_values else 1
    if parts > TOGETHER:
        parts = -(-parts // TOGETHER) * TOGETHER
    screen, number = statements.can_screen, 0
    while number < parts:
        together = TOGETHER if screen and number and number % TOGETHER == 0 else 1
        part = (number // together, parts // together)
        screen = _match_part(workspace, statements, bound, matching, part, screen=screen)
        number += together
    for side, of_side in enumerate(states):
        table = statements.tables[side]
        if bound.rule.group or any(map(of_side.get, (LATER_KEY, *table.reasons))):
            _add_unmatched(matching.outcomes, side, workspace, table, statements.unmatched(side))
    for by_key in statements.by_each_key[1:]:
        _match_alone(workspace, by_key, matching)
    return matching


def _match_alone(workspace: Workspace, statements: Statements, matching: MatchResult) -> None:
    """Match the single records without a partner by another key."""
    outcomes = matching.outcomes
    alone = [outcomes.alone(side, without=statements.tables[side].reasons.values()) for side in (LEFT, RIGHT)]
    if not all(len(rows) for _, rows in alone):
        return
    left, right = (picked(workspace, statements, side, rows) for side, (_, rows) in enumerate(alone))
    matched = match(MatchedSides.of(statements.bound, left, right), statements.bound)
    _add_agreeing(workspace, statements, matching, matched)
    resolved, still_alone = [], []
    for side, ((numbers, rows), table) in enumerate(zip(alone, (left, right), strict=True)):
        numbers_alone, rows_alone = matched.alone(side, without=())
        still_alone.append(numbers_alone)
        resolved.append(numbers[np.isin(rows, np.setdiff1d(table["row"].to_numpy(), rows_alone))])
    matching.outcomes = outcomes.without(np.concatenate(resolved))
    matching.outcomes.extend(matched.without(np.concatenate(still_alone)))


def prepared(workspace: Workspace, bound: BoundReconciliation) -> Statements:
    """Return the statements for the types and the days that the tables have."""
    tables = units.tables(bound, workspace.tables)
    units.fill(workspace, tables)
    statements = Statements(bound, tables, workspace.schemas(tables))
    for side, name in statements.instants():
        statements.utc_days[side, name] = workspace.query(statements.days_of(side, name))["day"].to_pylist()
    statements.compile_all()
    for table in workspace.tables:
        workspace.define(table.compiler.python)
    return statements


def _match_part(
    workspace: Workspace,
    statements: Statements,
    bound: BoundReconciliation,
    matching: MatchResult,
    part: tuple[int, int],
    *,
    screen: bool,
) -> bool:
    """Match a part of the keys. Return True if DuckDB should `screen` the next part: here most records agreed."""
    settled = _screened(workspace, statements, bound, matching, part) if screen else 0
    left, right = (workspace.query(statements.left_over(side, *part, screened=screen)) for side in (LEFT, RIGHT))
    outcomes = match(MatchedSides.of(bound, left, right), bound)
    _add_agreeing(workspace, statements, matching, outcomes)
    matching.outcomes.extend(outcomes)
    return settled > len(left) + len(right)


def _screened(
    workspace: Workspace,
    statements: Statements,
    bound: BoundReconciliation,
    matching: MatchResult,
    part: tuple[int, int],
) -> int:
    """Let DuckDB find the keys that surely agree. Count their records and pairs, and return the number of records."""
    workspace.execute(f"create or replace temp table {UNSETTLED} as {workspace.text(statements.unsettled(*part))}")
    before = [sums.records for sums in matching.agreed]
    for side, sums in enumerate(matching.agreed):
        sums.add(workspace.rows(statements.settled(side, *part)))
    if bound.rule.match == "many_to_many":
        [(bundles,)] = workspace.rows(statements.settled_bundles(*part))
    else:
        side = RIGHT if bound.rule.match == "many_to_one" else LEFT  # one record for each pair or bundle
        bundles = matching.agreed[side].records - before[side]
    matching.outcomes.matched += int(bundles)
    return sum(sums.records for sums in matching.agreed) - sum(before)


def match(sides: MatchedSides, bound: BoundReconciliation) -> Outcomes:
    """Match records that are in memory, all of their keys with all of their records."""
    date = bound.date
    window = Window(date.earlier, date.later) if date else None
    if bound.rule.is_assigned:
        return assigning.paired(sides, window, bound.rule.name)
    if bound.rule.bundle is not None:
        has_many_left, _ = bound.rule.has_many
        return searching.searched(sides, window, has_many_left=has_many_left, most=bound.rule.bundle.max)
    return bundles.bundled(sides, window, bound.rule.has_many)


def picked(workspace: Workspace, statements: Statements, side: int, rows: Integers) -> pa.Table:
    """Return those of a side's rows that have the whole key, as `MatchedSides.of` reads them, with their money."""
    with workspace.shown(PICKED.name, pa.table({"row": rows})):
        return workspace.query(statements.picked(side))


def _add_agreeing(workspace: Workspace, statements: Statements, matching: MatchResult, outcomes: Outcomes) -> None:
    """Add the sums of the records that agree with their partners."""
    for side, sums in enumerate(matching.agreed):
        _, rows = units.records(workspace, statements.tables[side], outcomes.agreeing(side))
        for summed in summed_by_code(workspace, side, rows).values():
            sums.plus(summed)


def _add_unmatched(outcomes: Outcomes, side: int, workspace: Workspace, table: SideTable, statement: Select) -> None:
    """Add the records that the first key cannot match, each with the reason."""
    records = workspace.query(statement)
    rows, due, states = (records[name].to_numpy() for name in ("row", "due", "state"))
    for state, reason in {LATER_KEY: "", **table.reasons}.items():
        chosen = np.flatnonzero(states == state)
        outcomes.add_alone(side, rows[chosen], due[chosen], reason)
