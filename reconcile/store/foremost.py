"""The foremost findings: the first page that a person sees, ranked by the database, which has all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from reconcile.findings.shown import Finding
from reconcile.store.database import Transaction
from reconcile.store.finding_memory import chunks
from reconcile.store.findings import FindingFilter, filtered, some
from reconcile.store.tables import findings


def foremost(tx: Transaction, criteria: FindingFilter, *, members: bool = True) -> Iterator[Finding]:
    """Yield findings as `each`, but with equal severity and first day (in UTC) the largest amount first.

    Of several currencies the largest number counts, and amounts below zero count by size; this only orders. SQLite
    compares the first 15 digits.
    """
    of_day = sa.func.substr(sa.type_coerce(findings.c.first_seen, sa.Text()), 1, 10)
    worst: tuple[sa.ColumnElement[Any], ...] = (findings.c.severity.desc(), of_day)
    order = (*worst, _LargestAmount(findings.c.money).desc(), findings.c.first_seen, findings.c.id)
    ranked = filtered(sa.select(findings.c.id), criteria).order_by(None).order_by(*order)
    for names in chunks(tx.connection.execute(ranked).scalars()):
        yield from some(tx, names, members=members)


class _LargestAmount(sa.sql.functions.GenericFunction[Any]):
    """The largest number in a `money`, without its sign; -1 without any. Nearly all have one currency or none."""

    inherit_cache = True
    name = "reconcile_largest_amount"
    type = sa.types.NULLTYPE


@compiles(_LargestAmount, "sqlite")
def _largest_in_sqlite(element: _LargestAmount, compiler: SQLCompiler, **options: Any) -> str:
    """A text before which stands a number is cast to that number."""
    [money] = (compiler.process(clause, **options) for clause in element.clauses)
    return (
        f"CASE WHEN {money} = '{{}}' THEN -1.0"
        f""" WHEN instr({money}, '","') = 0 THEN abs(CAST(substr({money}, instr({money}, '":"') + 3) AS REAL))"""
        f" ELSE (SELECT max(abs(CAST(value AS REAL))) FROM json_each({money})) END"
    )


@compiles(_LargestAmount, "postgresql")
def _largest_in_postgresql(element: _LargestAmount, compiler: SQLCompiler, **options: Any) -> str:
    """PostgreSQL refuses JSON with some texts that may name a currency."""
    [money] = (compiler.process(clause, **options) for clause in element.clauses)
    amount = """'":"-?([0-9][^"]*)"'"""
    return (
        f"CASE WHEN {money} = '{{}}' THEN -1"
        f""" WHEN strpos({money}, '","') = 0 THEN CAST(substring({money} from {amount}) AS numeric)"""
        f" ELSE (SELECT max(CAST(digits[1] AS numeric)) FROM regexp_matches({money}, {amount}, 'g') AS digits) END"
    )
