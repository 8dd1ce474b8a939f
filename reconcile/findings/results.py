"""The results of a run and of its rules: what a run stores and reports, and their JSON. Pure.

A field without a default is always in the JSON; one with a default only if it differs. New versions only add fields.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections import Counter
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

from notifications.base import Ours
from notifications.wording.words import plural
from reconcile.documents import JsonObject
from reconcile.findings.identity import public
from rules.engines.base import ADDS_NOTHING
from rules.groups.detection import BalanceLine

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_MOST_REASONS = 5


def most_common_reasons(reasons: Counter[str]) -> dict[str, int]:
    """Return the most common reasons with their numbers, and the number of the rest in one entry."""
    shown = dict(reasons.most_common(_MOST_REASONS))
    rest = reasons.total() - sum(shown.values())
    return {**shown, "other reasons; `reconcile plan` names them": rest} if rest else shown


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Records or cells that a rule did not compare: their column, the reason, their number and the first place.

    `read_as` is None if the cells were treated as empty and their records took part. `dataset` is theirs, in a rule
    over several. `unreadable` says that the cells hold something that cannot be read.
    """

    column: Ours[str]
    reason: str
    records: int
    first: Ours[str | None] = None
    read_as: str | None = ""
    dataset: str | None = None
    unreadable: bool = False

    @property
    def sentence(self) -> str:
        """Describe it without a full stop."""
        return self._sentence if self.dataset is None else f"{self.dataset}: {self._sentence}"

    @property
    def _sentence(self) -> str:
        column, reason, records = self.column, self.reason, plural(self.records, "record", "records")
        first = f", first at {self.first}" if self.first else ""
        if column == "id" and reason == "not unique":
            return f"{plural(self.records, 'record shares its id', 'records share their id')} with another"
        if reason == ADDS_NOTHING:
            return f"{plural(self.records, 'record adds', 'records add')} nothing to the balance: {column} is empty"
        if column == "*":  # the reason is about the file
            return f"{reason}{first}"
        if self.read_as is None:  # the record took part; if it is skipped for that, another entry counts it
            return f"{column} of {records} treated as empty: {reason}{first}"
        return f"{records} skipped: {reason if column == 'where' else f'{column} is {reason}'}{first}"


@dataclass(frozen=True, kw_only=True)
class FindingCounts:
    """The findings of a rule by their change in the run; `reopened` includes ended snoozes."""

    new: int
    known: int
    grown: int
    resolved: int
    reopened: int
    merged: int
    settled: int

    @property
    def undecided(self) -> int:
        return self.new + self.known + self.grown + self.reopened


@dataclass(frozen=True, kw_only=True)
class CleaningResult:
    """The result of cleaning for one rule in one run: counts of findings, and sentences for people.

    The counts are None until the cleaning step is done, and in a dry run, which has `would_clean` and `would_propose`.
    `stopped`: why automatic cleaning stopped; `refused`: a safety check stopped it; `held_up`: the target is not
    available, and approved plans wait. `not_planned` counts the findings without a plan, by sentence. `of_before`: how
    many plans of earlier runs this run executed, for example approved in between. `binding`: the plans were made with
    it, if any could be made. `next_run`: a sentence about the plans left to the next run, because no run has reported
    findings under this binding yet. `uncounted`: why people are asked about findings whose money is limited but cannot
    be counted. `doubt`: what people should look at before they approve. `asked_before`: a sentence on plans that wait
    for people although the rule needs no approval now. `of_killed` counts findings cleaned by earlier runs that were
    killed. `defect`: Reconcile itself failed, as `stopped` says.
    """

    would_clean: int | None = None
    would_propose: int | None = None
    cleaned: int | None = None
    proposed: int | None = None
    stale: int | None = None
    waiting: int | None = None
    failed: int | None = None
    quarantined: int | None = None
    stopped: str | None = None
    refused: bool = False
    held_up: bool = False
    reasons: tuple[str, ...] = ()
    not_planned: Mapping[str, int] = field(default_factory=dict)
    of_before: int = 0
    binding: str | None = None
    next_run: str | None = None
    uncounted: str | None = None
    doubt: str | None = None
    asked_before: str | None = None
    of_killed: Mapping[str, int] = field(default_factory=dict)
    defect: bool = False

    @property
    def is_done(self) -> bool:
        return self.cleaned is not None

    @property
    def leaves_something(self) -> bool:
        """True if something was not cleaned: for safety, because no plan is possible, or because it failed."""
        return bool(self.refused or self.not_planned or self.failed or self.quarantined)


@dataclass(frozen=True, kw_only=True)
class RuleResult:
    """The result of a rule that was checked: its engine, the records it read and left out, and its findings.

    `read_of` and `scanned_of` count the records of each of several datasets. `money` is the sum per currency over the
    undecided findings. `groups_before` are the numbers of groups in earlier runs, newest first; None in a dry run.

    `forms` counts the undecided findings by form, also `in_words`, unless they are duplicates, and `differing` the
    mismatches among them in which each column differs. A rule that compares two
    `datasets` may give their `balance`, the numbers of `matched` pairs and of `interchangeable` ones, and records
    `not_yet_due`.

    `mode` says how a dataset that asks for incremental runs was read: `full` or `incremental`. Then `mode_reason` is
    the reason or what was read, and `missed` counts what a full run found and incremental runs had not. An incremental
    run counts only the records that it read. `versions` are those of the datasets that have versions. `renamed` are
    sentences on records in the state whose ids have other types or columns since this run.
    """

    rule: Ours[str]
    dataset: Ours[str]
    severity: Ours[str]
    engine: Ours[str]
    reason: str = ""
    read: int
    scanned: int
    skipped: tuple[LeftOut, ...]
    groups: int
    findings: FindingCounts
    money: Ours[Mapping[str, Decimal]]
    first_run: bool
    edited: bool
    seconds: float
    groups_before: tuple[int, ...] | None = None
    datasets: Ours[tuple[str, ...]] = ()
    forms: Ours[Mapping[str, int]] = field(default_factory=dict)
    in_words: Ours[tuple[str, ...]] = ()
    differing: Ours[Mapping[str, int]] = field(default_factory=dict)
    balance: Ours[tuple[BalanceLine, ...]] = ()
    matched: int | None = None
    not_yet_due: int = 0
    interchangeable: int = 0
    read_of: Mapping[str, int] = field(default_factory=dict)
    scanned_of: Mapping[str, int] = field(default_factory=dict)
    mode: Ours[str] = ""
    mode_reason: str = ""
    missed: int = 0
    versions: Ours[Mapping[str, str]] = field(default_factory=dict)
    renamed: tuple[str, ...] = ()
    cleaning: CleaningResult = CleaningResult()

    @property
    def mode_sentence(self) -> str | None:
        """Describe how an incremental dataset was read, without a full stop; None for any other."""
        if not self.mode:
            return None
        if self.mode == "full":
            missed = plural(self.missed, "finding", "findings")
            ending = f"; it found {missed} that incremental runs had missed" if self.missed else ""
            return f"full run, because {self.mode_reason}{ending}"
        return f"{self.mode} run: {self.mode_reason}"


@dataclass(frozen=True, kw_only=True)
class RuleFailure:
    """The result of a rule that could not be checked: `failed` is why, `subject` the rule or the whole source.

    `misfit`: the rule does not fit its datasets, so it fails until one of them is corrected. `defect`: Reconcile itself
    failed. `unlikely` has the counts of a dataset that looks incomplete (records read, compared and skipped, groups),
    which `allow` accepts.
    """

    skipped: ClassVar[tuple[LeftOut, ...]] = ()

    rule: Ours[str]
    dataset: Ours[str]
    severity: Ours[str]
    failed: str
    subject: Ours[str]
    cleaning: CleaningResult = CleaningResult()
    misfit: bool = False
    defect: bool = False
    unlikely: Mapping[str, tuple[int, int, int, int]] = field(default_factory=dict)


Outcome = RuleResult | RuleFailure
"""The outcome of a rule in a run."""


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """A run that ended, as the store keeps it. `messages` are the ids of those it queued, `checked` its rules.

    `unchanged`: it judged every rule and changed nothing, so that nobody misses its row once it is old.
    """

    run: Ours[str]
    job: Ours[str]
    slot: Ours[dt.datetime]
    release: Ours[str]
    status: Ours[str]
    attempt: int
    rules: tuple[Outcome, ...]
    messages: Ours[tuple[str, ...]]
    checked: Ours[tuple[str, ...]]
    unchanged: bool = False


def changed_nothing(outcome: Outcome) -> bool:
    """Return True if the rule was judged as before: no finding, plan or cleaning is new, changed or over."""
    if isinstance(outcome, RuleFailure) or outcome.first_run or outcome.edited or outcome.missed:
        return False
    findings, cleaning = outcome.findings, outcome.cleaning
    moved = (findings.new, findings.grown, findings.resolved, findings.reopened, findings.merged, findings.settled)
    carried_out = (cleaning.cleaned, cleaning.proposed, cleaning.stale, cleaning.failed, cleaning.quarantined)
    obstacles = (cleaning.stopped, cleaning.refused, cleaning.held_up, cleaning.defect)
    return not any((*moved, *carried_out, *obstacles, cleaning.of_before, cleaning.of_killed))


def to_json(result: RunSummary | Outcome | CleaningResult) -> JsonObject:
    """Return a result as plain JSON, as the store keeps it and as reports show it."""
    shown = ((each.name, getattr(result, each.name), _default(each)) for each in fields(result))
    return {name: _plain(value) for name, value, default in shown if value != default}


def _default(each: Field[Any]) -> Any:
    return each.default if each.default_factory is MISSING else each.default_factory()


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return to_json(value)  # type: ignore[arg-type]  # a part of a result
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return public(value)


def summary_of(stored: Mapping[str, Any]) -> RunSummary:
    """Return the summary that `to_json` wrote."""
    return _summaries().validate_python(stored)


def outcome_of(stored: Mapping[str, Any]) -> Outcome:
    """Return the outcome that `to_json` wrote."""
    return _outcomes().validate_python(stored)


@functools.cache
def _summaries() -> TypeAdapter[RunSummary]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - only where results are read from the store

    return TypeAdapter(RunSummary)


@functools.cache
def _outcomes() -> TypeAdapter[Outcome]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - only where results are read from the store

    return TypeAdapter(Outcome)
