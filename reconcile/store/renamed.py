"""Move everything stored about a rule to its new name or kind."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from reconcile.findings.identity import RuleIdentity
from reconcile.store.database import Transaction
from reconcile.store.tables import (
    cleaning_news,
    dataset_schemas,
    dataset_stats,
    findings,
    limit_uses,
    limits,
    not_same,
    pauses,
    plans,
    remembered,
    rule_state,
    uncertain_pairs,
    watermarks,
)


def findings_to_move(tx: Transaction, rule: RuleIdentity, was: str | None) -> list[str]:
    """Return the findings that `adopt` and, with a former name that is moved, `rename` change."""
    queries: list[sa.Select[Any]] = [sa.select(findings.c.id).where(*_is_of_other_kind(rule))]
    if was is not None:
        queries.append(sa.select(findings.c.id).where(findings.c.rule == was))
        of_findings = not_same.c.finding.is_not(None)
        queries.append(sa.select(not_same.c.finding).distinct().where(not_same.c.rule == was, of_findings))
    return [name for query in queries for name in tx.connection.execute(query).scalars()]


def pairs_to_move(tx: Transaction, rule: RuleIdentity, was: str | None) -> list[str]:
    """Return the names of the pairs, judged by themselves, that `adopt` and `rename` change."""
    is_moved = sa.or_(sa.and_(*_is_pair_of_other_kind(rule)), not_same.c.rule == was)
    query = sa.select(not_same.c.pair).where(not_same.c.pair.is_not(None), is_moved)
    return list(tx.connection.execute(query).scalars())


def plans_to_move(tx: Transaction, was: str) -> list[str]:
    """Return the plans that `rename` changes."""
    return list(tx.connection.execute(sa.select(plans.c.id).where(plans.c.rule == was)).scalars())


def scopes_to_move(was: str, name: str) -> list[str]:
    """Return the scopes of limits that `rename` changes."""
    return [_scope(was), _scope(name)]


def adopt(tx: Transaction, rule: RuleIdentity) -> None:
    """Let the rule's findings of another kind continue in it."""
    tx.connection.execute(sa.update(findings).where(*_is_of_other_kind(rule)).values(kind=rule.kind, digest=None))
    tx.connection.execute(sa.update(not_same).where(*_is_pair_of_other_kind(rule)).values(kind=rule.kind))


def rename(tx: Transaction, old: str, new: str, existing: Collection[str]) -> int:
    """Move everything from the old name to the new one; return the number of findings.

    `existing` are those of the two names that have run. Plans are locked before limits, and these before findings, as
    everywhere.
    """
    run = tx.connection.execute
    if new in existing:
        run(sa.delete(rule_state).where(rule_state.c.rule == old))
        run(sa.update(rule_state).where(rule_state.c.rule == new).values(renamed_from=old))
    else:
        run(sa.update(rule_state).where(rule_state.c.rule == old).values(rule=new, renamed_from=old))
    run(sa.select(plans.c.id).where(plans.c.rule == old).order_by(plans.c.id).with_for_update()).all()
    run(sa.update(plans).where(plans.c.rule == old).values(rule=new))
    run(sa.update(cleaning_news).where(cleaning_news.c.rule == old).values(rule=new))
    _move_limits(tx, old, new)
    paused = sa.alias(pauses)
    is_paused = sa.exists().where(paused.c.subject == _scope(new))
    run(sa.delete(pauses).where(pauses.c.subject == _scope(old), is_paused))
    run(sa.update(pauses).where(pauses.c.subject == _scope(old)).values(subject=_scope(new)))
    double = sa.alias(not_same)
    same = (double.c.record_a == not_same.c.record_a) & (double.c.record_b == not_same.c.record_b)
    run(sa.delete(not_same).where(not_same.c.rule == old, sa.exists().where(double.c.rule == new, same)))
    run(sa.update(not_same).where(not_same.c.rule == old).values(rule=new))
    run(sa.delete(uncertain_pairs).where(uncertain_pairs.c.rule == old))
    counted = sa.alias(dataset_stats)
    both = (counted.c.dataset == dataset_stats.c.dataset) & (counted.c.run == dataset_stats.c.run)
    run(sa.delete(dataset_stats).where(dataset_stats.c.rule == old, sa.exists().where(counted.c.rule == new, both)))
    run(sa.update(dataset_stats).where(dataset_stats.c.rule == old).values(rule=new))
    shape = sa.alias(dataset_schemas)
    is_known = sa.exists().where(shape.c.rule == new, shape.c.dataset == dataset_schemas.c.dataset)
    run(sa.delete(dataset_schemas).where(dataset_schemas.c.rule == old, is_known))
    run(sa.update(dataset_schemas).where(dataset_schemas.c.rule == old).values(rule=new))
    run(sa.delete(watermarks).where(watermarks.c.rule == old))
    run(sa.delete(remembered).where(remembered.c.rule == old))
    moved: int = run(sa.update(findings).where(findings.c.rule == old).values(rule=new)).rowcount
    return moved


def _move_limits(tx: Transaction, old: str, new: str) -> None:
    """Move what the rule used of its limits, and a stop of its cleaning: a new name gives no new allowance."""
    run, former, current = tx.connection.execute, _scope(old), _scope(new)
    scopes = sa.select(limits).where(limits.c.scope.in_([former, current])).order_by(limits.c.scope.desc())
    rows = {row.scope: row for row in run(scopes.with_for_update())}
    run(sa.update(limit_uses).where(limit_uses.c.rule == old).values(rule=new))
    if former not in rows:
        return
    if current not in rows:
        run(sa.update(limits).where(limits.c.scope == former).values(scope=current))
        return
    stop = rows[current] if rows[current].stopped_at is not None else rows[former]
    counted_anew = {"counted_at": None, "run": None, "stopped_at": stop.stopped_at, "reason": stop.reason}
    run(sa.update(limits).where(limits.c.scope == current).values(counted_anew))
    run(sa.delete(limits).where(limits.c.scope == former))


def _scope(rule: str) -> str:
    return f"rule:{rule}"


def _is_of_other_kind(rule: RuleIdentity) -> tuple[sa.ColumnElement[bool], ...]:
    return findings.c.rule == rule.name, findings.c.kind != rule.kind


def _is_pair_of_other_kind(rule: RuleIdentity) -> tuple[sa.ColumnElement[bool], ...]:
    return not_same.c.rule == rule.name, not_same.c.kind != rule.kind
