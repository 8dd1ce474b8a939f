"""Refuse results that only look clean: an emptied dataset, or a rule that compared no records."""

from __future__ import annotations

from notifications.wording.words import plural
from reconcile.detection.detect import Detected, RuleUnchecked
from reconcile.store import Transaction
from reconcile.store import runs as stored
from rules.engines.base import Detection
from rules.kinds.base import Rule


class DatasetEmptied(RuleUnchecked):
    """A dataset that had records has none."""

    def __init__(self, dataset: str, before: int) -> None:
        super().__init__(
            f"Dataset {dataset!r} is empty, but had {plural(before, 'record', 'records')} in the previous run. Its "
            "findings are unchanged. If it should be empty, remove the rule; otherwise check what fills it"
        )


class NothingChecked(RuleUnchecked):
    """A rule read records but compared none of them."""

    def __init__(self, rule: str, why: str) -> None:
        super().__init__(f"Rule {rule!r} compared no records: {why}. Its findings are unchanged")


def refuse(rule: Rule, detected: Detected, tx: Transaction | None, run: str = "") -> None:
    """Raise RuleUnchecked for such a result. `tx` is None if there is no store yet; `run` is the id of this run."""
    detection = detected.detection
    if detection.read == 0 and tx is not None:
        _refuse_emptied(rule, tx, run)
    skipped = [entry for entry in detection.skipped if entry.scanned]
    if detection.scanned and sum(entry.records for entry in skipped) == detection.scanned:
        reasons = [f"{entry.column} is {entry.reason} in {entry.records:,} records" for entry in skipped]
        reasons += [entry.sentence for entry in detected.unreadable]
        raise NothingChecked(rule.name, f"every record was skipped ({'; '.join(reasons)})")
    if _nothing_passes(detection) and not (tx is not None and stored.ever_passed(tx, rule.dataset, rule.name)):
        raise NothingChecked(rule.name, f"none of {detection.read:,} records matches its `where`, and none ever has")


def _refuse_emptied(rule: Rule, tx: Transaction, run: str) -> None:
    before = next((counts.read for counts in stored.seen_before(tx, rule.dataset, rule.name, run, 1)), 0)
    if before:
        raise DatasetEmptied(rule.dataset, before)


def _nothing_passes(detection: Detection) -> bool:
    return bool(detection.read) and not detection.scanned
