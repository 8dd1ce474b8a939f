"""Refuse results that only look clean: an emptied dataset, or a rule that compared no records, or far fewer.

The findings stay as they are until the data is back, or a person accepts the counts: `reconcile allow`.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from notifications.wording.words import plural
from reconcile.detection.detect import Detected, RuleUnchecked
from reconcile.findings.identity import RuleIdentity
from reconcile.findings.results import LeftOut
from reconcile.store import Transaction, finding_memory, plans
from reconcile.store import runs as stored
from reconcile.store.runs import EarlierCounts
from rules.groups.detection import Detection
from rules.kinds.base import Rule

_MANY_MORE = 0.1
"""If the share of skipped records grows by this, fewer groups are not progress: they may only be unread."""


FEW = 20
"""Records that a rule may compare fewer than before, whatever their share; fewer records may be a quiet day."""
LATEST = 20
"""Runs that show how few records are usual."""


class Unlikely(RuleUnchecked):
    """The counts of a dataset are not plausible; the message ends with how a person accepts them."""

    def __init__(self, dataset: str, counts: EarlierCounts, rule: str, sentence: str) -> None:
        super().__init__(f"{sentence}. If that is right: `reconcile allow {rule}`")
        self.dataset = dataset
        self.counts = counts


class DatasetEmptied(Unlikely):
    """A dataset that had records has none."""

    def __init__(self, dataset: str, counts: EarlierCounts, before: int, rule: str) -> None:
        sentence = f"Dataset {dataset!r} is empty, but had {plural(before, 'record', 'records')} in the previous run"
        super().__init__(dataset, counts, rule, f"{sentence}. Its findings are unchanged; check the job that fills it")


class FewerCompared(Unlikely):
    """A rule compares at most half of the records that it usually compares. `usual` is their median."""

    def __init__(self, dataset: str, counts: EarlierCounts, usual: int, rule: str) -> None:
        compared = f"{plural(counts.scanned, 'record', 'records')} of dataset {dataset!r}, usually {usual:,}"
        advice = "check its data and each `where`"
        super().__init__(
            dataset, counts, rule, f"Rule {rule!r} compared {compared}. Its findings are unchanged; {advice}"
        )


class MuchUnreadable(Unlikely):
    """So many values of a column cannot be read that what the rule finds without them is no answer."""

    def __init__(self, dataset: str, now: EarlierCounts, rule: str, cells: LeftOut, read: int) -> None:
        first = f", first at {cells.first}" if cells.first else ""
        super().__init__(
            dataset,
            now,
            rule,
            f"Rule {rule!r} can't read `{cells.column}` in {cells.records:,} of {plural(read, 'record', 'records')} of "
            f"dataset {dataset!r}: {cells.reason}{first}. Its findings are unchanged; correct the data or the "
            "dataset's settings",
        )


class NothingChecked(RuleUnchecked):
    """A rule read records but compared none of them."""

    def __init__(self, rule: str, why: str) -> None:
        super().__init__(f"Rule {rule!r} compared no records: {why}. Its findings are unchanged")


class FarFewerCompared(Unlikely):
    """A rule skips many more records than in its previous run, and finds fewer groups: the data changed its form."""

    def __init__(self, dataset: str, now: EarlierCounts, before: EarlierCounts, rule: str, why: str) -> None:
        super().__init__(
            dataset,
            now,
            rule,
            f"Rule {rule!r} can't compare {now.skipped:,} of {plural(now.read, 'record', 'records')} ({why}), but only "
            f"{before.skipped:,} of {before.read:,} in its previous run; it found {now.groups:,} instead of "
            f"{plural(before.groups, 'group', 'groups')}. Its findings are unchanged. Correct the data or the "
            "dataset's settings; if these records should be left out, exclude them with `where`",
        )


def refuse(rule: Rule, identity: RuleIdentity, detected: Detected, tx: Transaction | None, run: str = "") -> None:
    """Raise RuleUnchecked for such a result. `tx` is None if there is no store yet; `run` is the id of this run."""
    for dataset in rule.datasets:
        _refuse(dataset, rule, identity, detected.of(dataset), tx, run)


def counts_of(detected: Detected, dataset: str) -> EarlierCounts:
    """Return what a later run compares its own counts of that dataset with."""
    return _counts(detected.of(dataset))


def _refuse(
    dataset: str, rule: Rule, identity: RuleIdentity, detected: Detected, tx: Transaction | None, run: str
) -> None:
    """Raise RuleUnchecked for such a result of one dataset."""
    detection = detected.detection
    if rule.question is not None and detection.read == 0:
        return  # a query that lists nothing any more is what its author hopes for
    names = _names(tx, identity)
    before = None if tx is None else next(iter(_latest(tx, dataset, names, run)), None)
    if detection.read == 0 and before is not None and before.read:
        raise DatasetEmptied(dataset, _counts(detected), before.read, rule.name)
    of_dataset = "" if len(rule.datasets) == 1 else f" of dataset {dataset!r}"
    skipped = [entry for entry in detection.skipped if entry.scanned and entry.whole]
    if detection.identity.nulls and detection.identity.nulls == detection.read - detection.unread:
        reasons = "; ".join(entry.sentence for entry in detected.unreadable)
        why = f"the id of every record{of_dataset} is empty{f' ({reasons})' if reasons else ''}"
        raise NothingChecked(rule.name, why)
    if detection.scanned and sum(entry.records for entry in skipped) == detection.scanned:
        raise NothingChecked(rule.name, f"every record{of_dataset} was skipped ({_reasons(detected)})")
    _refuse_unreadable(dataset, identity, detected, before)
    if dataset not in (*rule.member_datasets, *rule.mapping_datasets):
        return  # a list may still be short, and fewer usable pairs never find fewer groups
    if tx is not None and before is not None:
        if dataset in rule.member_datasets:
            _refuse_far_fewer(dataset, tx, identity, detected, before)
        if rule.question is None:
            _refuse_fewer(dataset, tx, identity, _counts(detected), _latest(tx, dataset, names, run))
    if _nothing_passes(detection) and not (tx and any(stored.ever_passed(tx, dataset, name) for name in names)):
        why = f"none of {detection.read:,} records{of_dataset} matches its `where`, and none ever has"
        raise NothingChecked(rule.name, why)


def _names(tx: Transaction | None, identity: RuleIdentity) -> tuple[str, ...]:
    """Return the names under which the rule has counts: a former one too, until its first run moves them."""
    former = None if tx is None else finding_memory.former_name(tx, identity)
    return (identity.name,) if former is None else (identity.name, former)


def _latest(tx: Transaction, dataset: str, names: Sequence[str], run: str) -> Sequence[EarlierCounts]:
    """Return the counts of the latest other runs under the first of these names that has some, newest first."""
    counts = (stored.seen_before(tx, dataset, name, run, LATEST) for name in names)
    return next(filter(None, counts), [])


def _counts(detected: Detected) -> EarlierCounts:
    detection = detected.detection
    not_compared = sum(entry.records for entry in detection.skipped if entry.scanned and entry.whole)
    values = [entry.records for entry in detection.skipped if entry.scanned and not entry.whole]
    values += [entry.records for entry in detected.unreadable]  # may not even pass `where`
    values.append(detection.identity.nulls)
    return EarlierCounts(detection.read, detection.scanned, max((not_compared, *values)), len(detection.groups))


def _refuse_fewer(
    dataset: str, tx: Transaction, identity: RuleIdentity, now: EarlierCounts, latest: Sequence[EarlierCounts]
) -> None:
    """Raise FewerCompared if an edit leaves nothing to compare, or half (rounded) is gone and so few were never usual.

    Records that the rule itself cleaned since its previous run do not count.
    """
    before = latest[0].scanned
    kept = now.scanned + plans.records_cleaned(tx, identity.name, since=stored.last_seen(tx, dataset, identity.name))
    is_unusual = now.scanned < min(counts.scanned for counts in latest)
    is_halved = before - kept >= FEW and kept * 2 <= before + 1 and is_unusual
    if is_halved or (kept == 0 < before and finding_memory.standing(tx, identity).edited):
        usual = round(statistics.median(counts.scanned for counts in latest))
        raise FewerCompared(dataset, now, usual, identity.name)


def _refuse_unreadable(dataset: str, identity: RuleIdentity, detected: Detected, before: EarlierCounts | None) -> None:
    """Raise MuchUnreadable if a column can't be read in more than half of the records, or in FEW and over a tenth.

    Records that were left out for such a cell count too. What an earlier run could not read either, a person has
    accepted, if it was so much that the run was refused: a smaller share was never shown to anybody, and would let the
    next run pass with a tenth more.
    """
    left_out = sum(cells.records for cells in detected.unreadable if cells.read_as == "" and cells.column != "*")
    read = detected.detection.read - detected.detection.unread + left_out
    is_accepted = before is not None and _is_much(before.skipped, before.read)
    accepted = before.skipped / max(before.read, 1) if before is not None and is_accepted else 0.0
    for cells in detected.unreadable:
        if _is_much(cells.records, read) and cells.records / max(read, 1) - accepted > _MANY_MORE:
            raise MuchUnreadable(dataset, _counts(detected), identity.name, cells, read)


def _is_much(records: int, read: int) -> bool:
    return records * 2 > read or (records >= FEW and records / max(read, 1) > _MANY_MORE)


def _refuse_far_fewer(
    dataset: str, tx: Transaction, identity: RuleIdentity, detected: Detected, before: EarlierCounts
) -> None:
    """Raise FarFewerCompared, unless a person edited the rule or its dataset since.

    Records that the rule itself cleaned do not count: `set` may have emptied what it compares.
    """
    now = _counts(detected)

    def is_far_fewer(cleaned: int) -> bool:
        return (now.skipped - cleaned) / max(now.read, 1) - before.skipped / max(before.read, 1) > _MANY_MORE

    if now.groups >= before.groups or not is_far_fewer(0) or not is_far_fewer(plans.records_cleaned(tx, identity.name)):
        return
    if not finding_memory.standing(tx, identity).edited:
        raise FarFewerCompared(dataset, now, before, identity.name, _reasons(detected))


def _reasons(detected: Detected) -> str:
    skipped = [entry for entry in detected.detection.skipped if entry.scanned]
    whys = (entry.reason if entry.column == "where" else f"{entry.column} is {entry.reason}" for entry in skipped)
    reasons = [
        f"{why} in {plural(entry.records, 'record', 'records')}" for why, entry in zip(whys, skipped, strict=True)
    ]
    return "; ".join((*reasons, *(entry.sentence for entry in detected.unreadable)))


def _nothing_passes(detection: Detection) -> bool:
    return bool(detection.read) and not detection.scanned
