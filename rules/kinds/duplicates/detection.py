"""What callers ask of the rule: where it can run, the statements it would run, and its answer."""

from __future__ import annotations

import dataclasses
import datetime as dt
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import sqlalchemy as sa

from rules.engines import embedded, pushdown
from rules.engines.base import Detection, Pushed, Records, Relation, Stop, Streamed, Tally
from rules.engines.compile import Compiler
from rules.engines.embedded import Embedded
from rules.errors import RuleError
from rules.kinds.duplicates.fitted import Fitted, fit
from rules.kinds.duplicates.groups import Grouping
from rules.kinds.duplicates.model import DuplicatesRule
from rules.kinds.duplicates.question import (
    EXCLUDED,
    EXCLUDED_UNKNOWN,
    OUTSIDE,
    OUTSIDE_UNKNOWN,
    marked,
    question,
    skipped,
)


def named_columns(rule: DuplicatesRule, relation: Relation) -> tuple[str, ...]:
    """The dataset's columns that the rule names, in its order. Raises as `detect`."""
    return fit(rule, relation).named


def needed_columns(rule: DuplicatesRule, relation: Relation) -> tuple[str, ...]:
    """The dataset's columns to read, in its order: for a dataset without id, all of them. Raises as `detect`."""
    return fit(rule, relation).needed


def pushdown_obstacle(rule: DuplicatesRule, relation: Relation, dialect: str) -> str | None:
    """Why a database cannot answer exactly as we do, as a clause; None when it can, under the guard or without.

    Raises as `detect`.
    """
    return fit(rule, relation).uses.obstacle(dialect)


def guarded(rule: DuplicatesRule, relation: Relation, dialect: str) -> bool:
    """Whether pushing down needs the ASCII guard: records with other characters are read and compared here."""
    return bool(fit(rule, relation).uses.guard(dialect))


def explain(rule: DuplicatesRule, relation: Relation, records: Records | str, slot: dt.datetime) -> list[str]:
    """The statements a detection would run, each under a comment with its name; `records` may be just a dialect.

    Raises as `detect`.
    """
    fitted = fit(rule, relation)
    dialect = records if isinstance(records, str) else records.dialect if isinstance(records, Pushed) else "duckdb"
    if dialect == "duckdb":
        return list(embedded.statements(question(fitted, fitted.table, dialect, slot), fitted.table))
    _refuse_obstacle(fitted, dialect)
    table = records.table if isinstance(records, Pushed) else fitted.table_named(relation.dataset)
    everything = question(fitted, table, dialect, slot)
    guard = fitted.uses.guard(dialect)
    if not guard:
        return list(pushdown.statements(everything, marked(fitted, table, dialect, slot, guard), dialect))
    return list(_guard(fitted, table, dialect, slot, guard).statements(dialect))


def detect(
    rule: DuplicatesRule,
    relation: Relation,
    records: Records,
    slot: dt.datetime,
    memory: str | None = None,
    temp: Path | None = None,
    stop: Stop | None = None,
) -> Detection:
    """The rule's groups, the same on every engine: in DuckDB, or inside the database for `Pushed` records.

    `memory` bounds DuckDB (`2GB` when None); `temp` is where it may spill; `stop` interrupts it. Raises RuleError when
    the rule does not fit the relation, or for pushed records when there is an obstacle; OutOfMemory when nothing fits.
    """
    fitted = fit(rule, relation)
    grouping_ = Grouping(fitted, slot)
    if isinstance(records, Pushed):
        answer = _ask_source(fitted, records, slot, memory, temp, stop)
    else:
        with Embedded(fitted.table, records, memory, temp, stop) as engine:
            asked = question(fitted, engine.table, engine.dialect, slot)
            answer = _Answer(
                engine.name,
                engine.tally(asked),
                engine.members(asked),
                None,
                embedded.statements(asked, engine.table),
            )
    states = answer.tally.states
    read = sum(states.values())
    left_out = (OUTSIDE, OUTSIDE_UNKNOWN, EXCLUDED, EXCLUDED_UNKNOWN)
    return Detection(
        rule=rule.name,
        engine=answer.engine,
        read=read,
        scanned=read - sum(states.get(state, 0) for state in left_out),
        skipped=skipped(fitted, answer.tally),
        groups=grouping_.groups(answer.members, answer.instead_of),
        identity=answer.tally.identity,
        statements=answer.statements,
    )


@dataclass(frozen=True)
class _Answer:
    """What an engine brought back; a key in `members` takes the place of the same key in `instead_of`."""

    engine: str
    tally: Tally
    members: pa.Table
    instead_of: pa.Table | None
    statements: tuple[str, ...]


def _ask_source(
    fitted: Fitted, records: Pushed, slot: dt.datetime, memory: str | None, temp: Path | None, stop: Stop | None
) -> _Answer:
    _refuse_obstacle(fitted, records.dialect)
    if not set(fitted.relation.id).isdisjoint(fitted.relation.derived):  # the database knows of its own columns only
        records = dataclasses.replace(records, unique=lambda _: False)
    source = pushdown.Pushdown(records)
    everything = question(fitted, source.table, source.dialect, slot)
    guard = fitted.uses.guard(source.dialect)
    if not guard:
        marks = marked(fitted, source.table, source.dialect, slot, guard)
        found = source.ask(everything, marks)
        texts = pushdown.statements(everything, marks, source.dialect)
        return _Answer(source.name, Tally(found.states, source.identity(everything)), found.members, None, texts)
    asked = _guard(fitted, source.table, source.dialect, slot, guard)
    texts = asked.statements(source.dialect)
    found = source.ask(asked.source, asked.marked)
    if found.others == 0:
        return _Answer(source.name, Tally(found.states, source.identity(everything)), found.members, None, texts)
    with Embedded(fitted.table, Streamed(lambda _: source.stream(asked.others())), memory, temp, stop) as here:
        tally, members = pushdown.guarded(source, here, asked, found)
    return _Answer(source.name, tally, members, found.members, texts)


def _refuse_obstacle(fitted: Fitted, dialect: str) -> None:
    obstacle = fitted.uses.obstacle(dialect)
    if obstacle is not None:
        raise RuleError(
            f"Rule `{fitted.rule.name}` cannot run inside the database: {obstacle}. "
            "Without `engine: pushdown` it runs here."
        )


def _guard(
    fitted: Fitted, table: sa.FromClause, dialect: str, slot: dt.datetime, columns: tuple[str, ...]
) -> pushdown.Guard:
    compiler = Compiler(fitted.columns, table, dialect, slot, fitted.relation.timezone)
    return pushdown.Guard(
        ascii=compiler.ascii_only(columns),
        columns=tuple(table.c[name] for name in fitted.needed),
        source=question(fitted, table, dialect, slot, columns),
        everything=question(fitted, table, dialect, slot),
        here=lambda local: question(fitted, local, "duckdb", slot),
        lookups=fitted.lookups,
        marked=marked(fitted, table, dialect, slot, columns),
    )
