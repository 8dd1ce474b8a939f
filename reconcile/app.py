"""The composition root: the only place that picks concrete classes. Doors (command line, Python) talk to this."""

from __future__ import annotations

import datetime as dt
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self
from zoneinfo import ZoneInfo

from connectors.base import Source
from notifications.base import Channel
from reconcile import config, runs
from reconcile.config.settings import JobConfig, Project
from reconcile.detect import Budget, Subject
from reconcile.dry_run import rehearse
from reconcile.plugins import Kinds
from reconcile.run_report import RunReport
from reconcile.slots import SlotRefused, parse_slot
from reconcile.store import Store
from rules.kinds.duplicates import DuplicatesRule


class NameUnknown(Exception):
    """The command line names something the configuration does not have."""

    def __init__(self, what: str, name: str, known: Sequence[str]) -> None:
        from rules.mistakes import suggestion  # noqa: PLC0415 - only for this sentence

        super().__init__(f"There is no {what} {name!r} in the configuration; {suggestion(name, known)}")


class RuleIdle(NameUnknown):
    """The command line names a rule that none of the jobs in question runs."""

    def __init__(self, rule: str, jobs: Sequence[str]) -> None:
        who = f"The job {jobs[0]!r} does not run" if len(jobs) == 1 else f"None of the jobs {', '.join(jobs)} runs"
        Exception.__init__(self, f"{who} the rule {rule!r}, so nothing was done; add it to the `rules` of a job")


class NothingRemembered(Exception):
    """A question about what was found or done, and there is no state database."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"There is no state database at {where} yet, so there is nothing to show. `reconcile run` makes it; "
            "if it should be there, correct `state:`"
        )


class Sources(Mapping[str, Source]):
    """The sources by name, opened when first asked for and closed together."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._open: dict[str, Source] = {}

    def __getitem__(self, name: str) -> Source:
        if name not in self._open:
            chosen = self._project.sources[name]
            kind = Kinds("connectors").load(chosen.type)
            self._open[name] = kind(name, chosen.settings, self._project.directory)
        return self._open[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._project.sources)

    def __len__(self) -> int:
        return len(self._project.sources)

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()


class Channels(Mapping[str, Channel]):
    """The channels by name, opened when first asked for."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._open: dict[str, Channel] = {}

    def __getitem__(self, name: str) -> Channel:
        if name not in self._open:
            chosen = self._project.channels[name]
            kind = Kinds("channels").load(chosen.type)
            self._open[name] = kind(name, chosen.settings, self._project.directory)
        return self._open[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._project.channels)

    def __len__(self) -> int:
        return len(self._project.channels)


class Application:
    """A project with everything it needs to run, opened when first needed. Close it, or use it in a `with`.

    `sleep` waits so many seconds, between attempts to deliver a message.
    """

    def __init__(self, project: Project, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.project = project
        self._sleep = sleep
        self.sources = Sources(project)
        self.channels = Channels(project)
        self._store: Store | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None

    @property
    def store(self) -> Store:
        """The state database, created when it is not there. Raises a StoreError."""
        if self._store is None:
            self._store = Store.open(self.project.state.get_secret_value(), self.project.directory)
        return self._store

    @property
    def has_state(self) -> bool:
        """Whether a state database is there, without creating one."""
        url = self.project.state.get_secret_value()
        return not url.startswith("sqlite") or Path(url.split("///", 1)[1].split("?")[0]).exists()

    @property
    def memory(self) -> Store:
        """The state database for who only asks; raises NothingRemembered rather than create an empty one."""
        if not self.has_state:
            raise NothingRemembered(self.project.state.get_secret_value().removeprefix("sqlite:///").split("?")[0])
        return self.store

    @property
    def budget(self) -> Budget:
        """Memory for one detection, and a folder on disk for what does not fit."""
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="reconcile-")
        return Budget(memory=f"{self.project.memory // 1_000_000}MB", folder=Path(self._scratch.name))

    def subject(self, dataset: str) -> Subject:
        """A dataset ready to be checked; raises the source's ConnectorError."""
        chosen = self.project.datasets[dataset]
        return Subject(chosen, self.sources[chosen.source])

    def job(self, name: str | None) -> JobConfig:
        """The job of that name; without a name the only one. Raises NameUnknown."""
        jobs = self.project.jobs
        if name is None and len(jobs) == 1:
            return next(iter(jobs.values()))
        self.require("job", name or "", tuple(jobs))
        return jobs[name or ""]

    def rule(self, name: str) -> DuplicatesRule:
        """The rule of that name; raises NameUnknown."""
        self.require("rule", name, tuple(self.project.rules))
        rule = self.project.rules[name]
        assert isinstance(rule, DuplicatesRule)  # noqa: S101 - the only kind there is
        return rule

    def require(self, what: str, name: str, known: Sequence[str]) -> None:
        """Raises NameUnknown, with the nearest name, unless the configuration has it."""
        if name not in known:
            raise NameUnknown(what, name, known)

    def chosen(self, jobs: Sequence[str], rules: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
        """What is to run: jobs (all without any), each with those of its rules that are named (none: all of them).

        A job without any of the named rules is left out. Raises, before anything runs, NameUnknown for a job or rule
        the configuration does not have, RuleIdle for a rule that none of these jobs runs.
        """
        for name in jobs:
            self.require("job", name, tuple(self.project.jobs))
        for name in rules:
            self.require("rule", name, tuple(self.project.rules))
        of_jobs = {name: self.project.jobs[name].rules for name in jobs or self.project.jobs}
        for name in rules:
            if not any(name in of for of in of_jobs.values()):
                raise RuleIdle(name, tuple(of_jobs))
        picked = ((job, tuple(one for one in of if one in rules)) for job, of in of_jobs.items())
        return [(job, some) for job, some in picked if some or not rules]

    def run(
        self,
        job: str | None = None,
        *,
        rules: Sequence[str] = (),
        slot: str | dt.datetime | None = None,
        dry_run: bool = False,
        watch: Callable[[str, int], None] = lambda _rule, _read: None,
    ) -> RunReport:
        """Run a job now, or for a slot; see reconcile.runs.

        Raises NameUnknown, SlotRefused, StoreError. What goes wrong with a source or a channel is in the report.
        """
        chosen = self.job(job)
        for name in rules:
            self.require("rule of this job", name, chosen.rules)
        some = tuple(name for name in chosen.rules if name in rules)
        if slot is not None and some:
            raise SlotRefused(str(slot), "is for a whole job; leave out --rule, or run without a slot")
        at = self._slot(slot)
        if dry_run:
            return self._rehearse(chosen, some, at, watch)
        order = runs.Order(chosen, at, "manual" if slot is None else "slot", some)
        tools = runs.Equipment(self.project, self.store, self.subject, self.channels, self.budget, watch, self._sleep)
        return runs.run(order, tools)

    def _slot(self, slot: str | dt.datetime | None) -> dt.datetime:
        if isinstance(slot, str):
            return parse_slot(slot, ZoneInfo(self.project.timezone))
        return slot or dt.datetime.now(dt.UTC)

    def _rehearse(
        self, job: JobConfig, rules: tuple[str, ...], slot: dt.datetime, watch: Callable[[str, int], None]
    ) -> RunReport:
        store = self.store if self.has_state else None
        return rehearse(
            self.project,
            job,
            rules or job.rules,
            slot,
            store=store,
            subject=self.subject,
            budget=self.budget,
            watch=watch,
        )

    def close(self) -> None:
        """Give everything back. Safe to call twice."""
        self.sources.close()
        if self._store is not None:
            self._store.close()
            self._store = None
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def load(path: str | os.PathLike[str] = config.FILE_NAME, environ: Mapping[str, str] | None = None) -> Application:
    """A configuration, ready to run. Raises ConfigProblems with every mistake in it."""
    return Application(config.load(path, environ))
