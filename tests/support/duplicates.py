"""The kind `duplicates` asked about one dataset, for tests that need no source and no run."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rules.engines.base import Pushed, Records, Relation, Stop, Streamed
from rules.groups.detection import Detection
from rules.kinds.base import DoesNotFit
from rules.kinds.duplicates import DuplicatesRule
from rules.kinds.duplicates.detection import FittedDuplicates


def check(rule: DuplicatesRule, relation: Relation) -> list[str]:
    """What keeps the rule from running on this dataset."""
    try:
        FittedDuplicates.of(rule, relation)
    except DoesNotFit as misfit:
        return list(misfit.mistakes)
    return []


def detect(
    rule: DuplicatesRule,
    relation: Relation,
    records: Records,
    slot: dt.datetime,
    memory: str | None = None,
    temp: Path | None = None,
    stop: Stop | None = None,
) -> Detection:
    """The rule's groups in these records."""
    fitted = FittedDuplicates.of(rule, relation)
    return fitted.detect({relation.dataset: records}, slot, memory, temp, stop)


def explain(rule: DuplicatesRule, relation: Relation, records: Records | str, slot: dt.datetime) -> Sequence[str]:
    """The statements a detection would run; `records` may be just a dialect."""
    fitted = FittedDuplicates.of(rule, relation)
    if isinstance(records, str):
        table = fitted.bound.table_named(relation.dataset)
        records = Streamed(_never) if records == "duckdb" else Pushed(records, table, _never, _never)
    return fitted.explain({relation.dataset: records}, slot)


def guarded(rule: DuplicatesRule, relation: Relation, dialect: str) -> bool:
    return bool(FittedDuplicates.of(rule, relation).bound.uses.guard(dialect))


def needed_columns(rule: DuplicatesRule, relation: Relation) -> tuple[str, ...]:
    return FittedDuplicates.of(rule, relation).bound.needed


def pushdown_obstacle(rule: DuplicatesRule, relation: Relation, dialect: str) -> str | None:
    return FittedDuplicates.of(rule, relation).obstacle(dialect)


def _never(*_: Any) -> Any:
    raise AssertionError("an explanation reads nothing")
