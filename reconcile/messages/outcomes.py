"""Outcomes of cleanings: counts for the messages of a job, from the news that was not reported yet."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

from reconcile.config.settings import Project
from reconcile.coordination import pauses
from reconcile.findings.states import PlanState
from reconcile.journal import breaker
from reconcile.store import Transaction
from reconcile.store import cleaning_news as stored
from reconcile.store.cleaning_news import CleaningNews

FIRST = 5
"""Plans of a rule that a notice describes; it counts the others."""


@dataclass
class RuleOutcomes:
    """Outcomes of a rule's plans: counts by `what`, for undos separately, the commands that undo cleanings, the reasons
    why plans wait, and the `first` outcomes."""

    counts: Counter[str] = field(default_factory=Counter)
    undos: Counter[str] = field(default_factory=Counter)
    undo: dict[str, None] = field(default_factory=dict)
    waits_for: dict[str, None] = field(default_factory=dict)
    first: list[CleaningNews] = field(default_factory=list)

    def add(self, news: CleaningNews) -> None:
        if news.what == "failed":
            return  # the news of the finding tells it
        (self.undos if news.is_undo else self.counts)[news.what] += 1
        if len(self.first) < FIRST:
            self.first.append(news)
        if news.what == "done" and news.state is PlanState.SUCCEEDED and not news.is_undo:
            of_what = news.finding if news.run is None else f"--run {news.run}"
            self.undo[f"reconcile undo {of_what}"] = None
        if news.what == "waiting" and news.why is not None:
            self.waits_for[news.why] = None

    @property
    def is_told(self) -> bool:
        return bool(self.counts or self.undos)


class CleaningOutcomes:
    """Outcomes of cleanings, by rule."""

    def __init__(self, news: Iterable[CleaningNews] = ()) -> None:
        self._rules: dict[str, RuleOutcomes] = defaultdict(RuleOutcomes)
        for item in news:
            self._rules[item.rule].add(item)

    def of_rule(self, name: str) -> RuleOutcomes:
        return self._rules[name]

    @property
    def rules(self) -> list[str]:
        return [name for name, outcomes in self._rules.items() if outcomes.is_told]


def untold(tx: Transaction, project: Project, job: str, rules: Collection[str]) -> list[CleaningNews]:
    """Return the news that this job tells: of the plans that its runs made for these rules, or that no job made.

    A job also tells the news of rules that another job no longer checks, and of its own rules that were removed. News
    of a plan that waits says why it waits now.
    """

    def is_told_here(news: CleaningNews) -> bool:
        if news.rule not in project.rules:
            return news.job == job or news.job not in project.jobs
        maker = project.jobs.get(news.job or "")
        return maker is None or maker.name == job or news.rule not in maker.rules or not maker.notify

    removed = [name for name in stored.rules(tx) if name not in project.rules]
    told = [news for news in stored.untold(tx, [*rules, *removed]) if is_told_here(news)]
    closed = functools.cache(lambda *place: _closed(tx, project, *place))
    return [
        replace(news, why=closed(news.source, news.target, news.rule, None if news.is_undo else news.job) or news.why)
        if news.what == "waiting"
        else news
        for news in told
    ]


def _closed(tx: Transaction, project: Project, source: str, target: str, rule: str, job: str | None) -> str | None:
    """Return why nothing of the rule is sent to the target now, as a sentence; None if the plan itself says why."""
    return (
        pauses.closed(tx, project.maintenance, source=source, rule=rule, job=job)
        or breaker.reason(tx, breaker.of_source(source))
        or breaker.reason(tx, target)
    )


def of_channel(news: Iterable[CleaningNews], fits: Callable[[str], bool]) -> CleaningOutcomes:
    """Return the outcomes of the rules that the channel is told about."""
    return CleaningOutcomes(item for item in news if fits(item.rule))


def is_for(project: Project, rules: Collection[str], rule: str) -> bool:
    """Return True if a channel that gets these rules gets the outcomes of this one."""
    return rule in rules or rule not in project.rules
