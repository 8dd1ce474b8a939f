"""Ask a rule again right before its findings are planned or cleaned, with every question that a run asks.

The answer is that of a run at this moment: over all datasets of the rule, with its lists, its query, the ids of its
records, and the shapes of its datasets. So what a run would refuse, a plan and an approval refuse.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from connectors.base import Versioned
from connectors.target import Row
from notifications.wording.words import plural
from reconcile.cleaning.actions.base import NotPlannable
from reconcile.cleaning.planning import nearby, shape
from reconcile.detection import missing, plausible
from reconcile.detection.detect import Budget, Detected, RuleUnchecked, definition_of, detect, fit
from reconcile.detection.subject import Subjects, undisplayed
from reconcile.findings.identity import RuleIdentity, member_name, records_of
from reconcile.findings.results import LeftOut
from reconcile.findings.shown import Finding
from reconcile.store import Store, runs
from reconcile.tracking import judged_pairs
from rules.engines.base import Choice, Unanswerable
from rules.groups.detection import Detection
from rules.groups.group import Group
from rules.kinds.base import Rule


class RuleRefuses(NotPlannable):
    """A run would clean nothing of the rule now; the message says why. No finding of it changed."""

    def __init__(self, rule: str, reason: str) -> None:
        super().__init__(f"Rule `{rule}` cleans nothing now: {reason.rstrip('.')}.")


@dataclass(frozen=True)
class CurrentGroups:
    """A rule's current groups.

    `refusal` is the reason why a run would clean nothing of the rule now. `asks` is the reason, as a clause, why a run
    would ask people about every plan.
    """

    groups: Sequence[Group] = ()
    refusal: RuleRefuses | None = None
    asks: str | None = None

    def of(self, finding: Finding) -> tuple[Group, ...]:
        """Return the groups that hold a record of the finding."""
        places = {place for member in finding.members for place in self._places.get(member_name(member), ())}
        return tuple(self.groups[place] for place in sorted(places))

    @cached_property
    def _places(self) -> Mapping[str, Sequence[int]]:
        places: dict[str, list[int]] = defaultdict(list)
        for place, group in enumerate(self.groups):
            for name in records_of(group):
                places[name].append(place)
        return places


@dataclass
class Asking:
    """Asks one rule. `run` is the id of the run that asks, empty outside of runs; `store` is None if there is no state
    yet. `binding` is the rule's (`binding.binding_of`). `names_rows`: its id is a key of the cleaned table.
    """

    rule: Rule
    subjects: Subjects
    slot: dt.datetime
    budget: Budget
    binding: str = ""
    store: Store | None = None
    run: str = ""
    names_rows: bool = False
    asks: str | None = None
    """That of the latest answer."""
    _whole: CurrentGroups | None = None

    def about(self, rows: Sequence[Row]) -> CurrentGroups:
        """Return the rule's groups that hold these rows of the cleaned dataset, at least.

        A large table is asked for the rows that share their key with these. Else the whole rule is asked, once: the
        answer is for plans that are made at once. Raises ConnectorError, StoreError.
        """
        answer = self._whole or self._nearby(rows)
        if answer is None:
            answer = self._whole = self._answer(self._ask)
        self.asks = answer.asks
        return answer

    @property
    def has_asked_the_whole_rule(self) -> bool:
        """Return True if all records were read, False if only those near some rows, or none."""
        return self._whole is not None

    def _answer(self, ask: Callable[[], CurrentGroups]) -> CurrentGroups:
        try:
            return ask()
        except (RuleUnchecked, Unanswerable) as error:
            return CurrentGroups(refusal=RuleRefuses(self.rule.name, str(error)))
        except RuleRefuses as refusal:
            return CurrentGroups(refusal=refusal)

    def _ask(self) -> CurrentGroups:
        rule = self._with_judged()
        subjects = {name: undisplayed(subject) for name, subject in self.subjects.items()}
        for subject in subjects.values():
            if isinstance(subject.source, Versioned):
                subject.source.renew()
        answer = detect(rule, subjects, self.slot, self.budget)
        return CurrentGroups(answer.detection.groups, asks=self._judge(rule, answer))

    def _nearby(self, rows: Sequence[Row]) -> CurrentGroups | None:
        """Ask about the records near these rows alone; None if that is not exact, or no faster."""
        if not self.names_rows or not self._is_large():
            return None
        subjects = {name: undisplayed(subject) for name, subject in self.subjects.items()}
        [subject] = subjects.values()
        try:
            fitted = fit(self.rule, subjects)
        except RuleUnchecked:
            return None  # asking the whole rule says why
        near = nearby.read(fitted, subject, rows)
        if near is None:
            return None

        def ask() -> CurrentGroups:
            detection = Detection(self.rule.name, "pushdown", near.all_records, near.all_records, (), ())
            choice = Choice("pushdown", "only records near the records of its findings are read")
            definition = definition_of([subject.dataset])
            columns = missing.watched(self.rule, subject, fitted.needed[subject.dataset.name])
            lacking = {subject.dataset.name: missing.of_source(subject, columns)}
            of_plan = (definition, subjects, fitted)
            answer = Detected(detection, choice, dict.fromkeys(subjects, ()), 0.0, *of_plan, lacking=lacking)
            return CurrentGroups(near.groups(self.slot), asks=self._judge(self.rule, answer))

        return self._answer(ask)

    def _is_large(self) -> bool:
        if self.store is None or len(self.subjects) > 1:
            return False
        with self.store.read() as tx:
            earlier = runs.seen_before(tx, self.rule.dataset, self.rule.name, "", limit=1)
        return bool(earlier) and earlier[0].read > nearby.LARGE

    def _with_judged(self) -> Rule:
        if self.store is None:
            return self.rule
        with self.store.read() as tx:
            return judged_pairs.with_judged(tx, self.rule)

    def _judge(self, rule: Rule, answer: Detected) -> str | None:
        """Return why people are asked about every plan, if they are. Raises RuleUnchecked, RuleRefuses."""
        identity = RuleIdentity.of(rule, dataset_definition=answer.definition)
        if self.store is None:
            plausible.refuse(rule, identity, answer, None)
            return _refuse(rule, unnamed(answer.left_out, rule.dataset), None)
        with self.store.read() as tx:
            plausible.refuse(rule, identity, answer, tx, self.run)
            change = shape.change_of(tx, self.rule, answer, self.run, self.binding)
        return _refuse(rule, unnamed(answer.left_out, rule.dataset), change)


def _refuse(rule: Rule, wrong_ids: str | None, change: shape.ShapeChange | None) -> str | None:
    if wrong_ids is not None:
        raise RuleRefuses(rule.name, wrong_ids)
    if change is not None and not change.is_small:
        raise RuleRefuses(
            rule.name, f"{change.reason}. If that is right, run the rule, then `reconcile allow {rule.name}`"
        )
    return None if change is None else change.reason


def unnamed(left_out: Iterable[LeftOut], dataset: str) -> str | None:
    """Return why nothing is cleaned, as a clause, if an id does not name exactly one record."""
    wrong = next((entry for entry in left_out if entry.column == "id"), None)
    if wrong is None:
        return None
    records = plural(wrong.records, "record", "records")
    where = wrong.dataset or dataset
    return f"the id of {records} of {where!r} is {wrong.reason}; correct the data, or choose another `id` for {where!r}"
