"""What a run must not take for a clean result: an emptied dataset, or a rule that compared nothing."""

from __future__ import annotations

from reconcile.detection.detect import Detected
from reconcile.messages.notify import left_out
from reconcile.store import Transaction
from reconcile.store import runs as stored
from rules.engines.base import Detection
from rules.kinds.base import Rule


class Implausible(Exception):
    """What was read cannot be believed; that is told, and nothing is resolved."""


class DatasetEmptied(Implausible):
    """A dataset that held records holds none."""

    def __init__(self, dataset: str, before: int) -> None:
        super().__init__(
            f"Dataset {dataset!r} is empty, and held {before:,} records in the run before. Its findings were left as "
            "they are. If it is meant to be empty, remove the rule; else look at what fills it"
        )


class NothingChecked(Implausible):
    """A rule looked at records and compared none of them."""

    def __init__(self, rule: str, why: str) -> None:
        super().__init__(f"Rule {rule!r} compared nothing: {why}. Its findings were left as they are")


def refuse(rule: Rule, found: Detected, tx: Transaction | None, run: str = "") -> None:
    """Raises Implausible. `tx` is None where there is no store yet; `run` is the id of the run that found this."""
    seen = found.detection
    if seen.read == 0 and tx is not None:
        _refuse_emptied(rule, tx, run)
    skipped = [one for one in seen.skipped if one.scanned]
    if seen.scanned and sum(one.records for one in skipped) == seen.scanned:
        why = [f"{one.column} is {one.reason} in {one.records:,} records" for one in skipped]
        why += [left_out(vars(one) | ({} if one.skipped else {"read_as": None})) for one in found.problems]
        raise NothingChecked(rule.name, f"every record was left out ({'; '.join(why)})")
    if _nothing_passes(seen) and not (tx is not None and stored.ever_passed(tx, rule.dataset, rule.name)):
        raise NothingChecked(rule.name, f"none of {seen.read:,} records passes its `where`, nor ever did")


def _refuse_emptied(rule: Rule, tx: Transaction, run: str) -> None:
    before = next((s.read for s in stored.seen_before(tx, rule.dataset, rule.name, run, 1)), 0)
    if before:
        raise DatasetEmptied(rule.dataset, before)


def _nothing_passes(seen: Detection) -> bool:
    return bool(seen.read) and not seen.scanned
