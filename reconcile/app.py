"""The composition root: with reconcile.config.opened the only place that picks concrete classes. Doors talk to this."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar
from zoneinfo import ZoneInfo

from connectors.ahead import Ahead
from connectors.disk.scratch import Scratch
from connectors.errors import ConnectorError
from reconcile import config
from reconcile.config import opened
from reconcile.config.opened import Sources
from reconcile.config.settings import JobConfig, Project
from reconcile.schedule.slots import SlotRefused, parse_slot
from rules.kinds.base import Rule

if TYPE_CHECKING:  # what runs is loaded for a run, while a source that takes its time has begun
    from connectors.target import Target
    from reconcile.audit import anchoring
    from reconcile.cleaning.decisions import Desk
    from reconcile.cleaning.execution.carried import Tally
    from reconcile.coordination.fallback import Fallback
    from reconcile.detection.detect import Budget, Subject
    from reconcile.messages import delivery
    from reconcile.runs import runner
    from reconcile.runs.report import RunReport
    from reconcile.store import Store
    from reconcile.telemetry import traces


T = TypeVar("T")


class NameUnknown(Exception):
    """The command line names something the configuration does not have."""

    def __init__(self, what: str, name: str, known: Sequence[str], where: str = "the configuration") -> None:
        from rules.document.mistakes import suggestion  # noqa: PLC0415 - only for this sentence

        super().__init__(f"There is no {what} {name!r} in {where}; {suggestion(name, known)}")


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


class Application:
    """A project with everything it needs to run, opened when first needed. Close it, or use it in a `with`.

    `sleep` waits so many seconds, between attempts to deliver a message. A `store` that is given stays its giver's.
    `environ` are the variables for a release that a person holds; `held` says so, once that one was run instead.
    `fallback` is what is used instead of a configuration file with mistakes.
    """

    def __init__(
        self,
        project: Project,
        *,
        sleep: Callable[[float], None] = time.sleep,
        store: Store | None = None,
        environ: Mapping[str, str] | None = None,
        fallback: Fallback | None = None,
    ) -> None:
        self.held: str | None = None
        self.fallback = fallback
        self._environ = os.environ if environ is None else environ
        self._sleep = sleep
        self._open(project)
        self._store = store
        self._owns_store = store is None
        self._scratch: Scratch | None = None
        self._spans: traces.Spans | None = None

    def _open(self, project: Project) -> None:
        self.project = project
        self.sources = Sources(project)
        self.channels = opened.channels(project)
        self.anchors = opened.anchors(project)

    @property
    def store(self) -> Store:
        """The state database, created when it is not there. Raises a StoreError."""
        if self._store is None:
            from reconcile.store import Store  # noqa: PLC0415 - see above
            from reconcile.store.sealing import Seals  # noqa: PLC0415 - see above

            seals = Seals(self.project.encryption_keys)
            self._store = Store.open(self.project.state.get_secret_value(), self.project.directory, seals=seals)
        return self._store

    @property
    def has_state(self) -> bool:
        """Whether a state database is there, without creating one."""
        url = self.project.state.get_secret_value()
        with contextlib.suppress(PermissionError):  # which opening it tells
            return not url.startswith("sqlite") or Path(url.split("///", 1)[1].split("?")[0]).exists()
        return True

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
            self._scratch = Scratch()
        from reconcile.detection.detect import Budget  # noqa: PLC0415 - see above

        return Budget(memory=f"{self.project.memory // 1_000_000}MB", folder=self._scratch.path)

    @property
    def spans(self) -> traces.Spans:
        """Where spans of runs go; nowhere unless the configuration or the environment says so."""
        from reconcile.telemetry import traces  # noqa: PLC0415 - see above

        if self._spans is None:
            self._spans = traces.begin(self.project.traces, self._environ)
        return self._spans

    def subject(self, dataset: str) -> Subject:
        """A dataset ready to be checked; raises the source's ConnectorError."""
        from reconcile.detection.detect import Subject  # noqa: PLC0415 - see above

        chosen = self.project.datasets[dataset]
        return Subject(chosen, self.sources[chosen.source])

    def job(self, name: str | None) -> JobConfig:
        """The job of that name; without a name the only one. Raises NameUnknown."""
        jobs = self.project.jobs
        if name is None and len(jobs) == 1:
            return next(iter(jobs.values()))
        self.require("job", name or "", tuple(jobs))
        return jobs[name or ""]

    def rule(self, name: str) -> Rule:
        """The rule of that name; raises NameUnknown."""
        self.require("rule", name, tuple(self.project.rules))
        return self.project.rules[name]

    def require(self, what: str, name: str, known: Sequence[str]) -> None:
        """Raises NameUnknown, with the nearest name, unless the configuration has it."""
        if name not in known:
            where = f"release {self.project.release[:12]}, which is held" if self.held else "the configuration"
            where = self.fallback.called if self.fallback else where
            raise NameUnknown(what, name, known, where)

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
        """Run a job now, or for a slot; see reconcile.runs.runner. If a person holds another release, run that one.

        Raises NameUnknown, SlotRefused, StoreError, and what releases.project_of raises. What goes wrong with a source
        or a channel is in the report.
        """
        return self._or_held(lambda: self._run(job, rules, slot, watch, dry_run=dry_run), dry_run=dry_run)

    def run_all(
        self,
        jobs: Sequence[str] = (),
        rules: Sequence[str] = (),
        *,
        slot: str | dt.datetime | None = None,
        dry_run: bool = False,
        watch: Callable[[str, int], None] = lambda _rule, _read: None,
        lists: bool = True,
    ) -> list[RunReport]:
        """Run what is `chosen`, one job after the other; see `run`. Without `lists` reports do not list findings."""
        done: dict[str, RunReport] = {}

        def go_on() -> list[RunReport]:
            for name, some in self.chosen(jobs, rules):
                if name not in done:
                    done[name] = self._run(name, some, slot, watch, dry_run=dry_run, lists=lists)
            return list(done.values())

        return self._or_held(go_on, dry_run=dry_run)

    def _or_held(self, work: Callable[[], T], *, dry_run: bool) -> T:
        """What the work comes to; where a person holds another release, with that one. A dry run tries the file."""
        try:
            return work()
        except Exception as error:
            if dry_run or not self._take_up_held(error):
                raise
        return work()

    def _take_up_held(self, error: Exception) -> bool:
        """Whether the work failed because it was not done with the release that is held; that is our project now."""
        from reconcile.coordination import releases  # noqa: PLC0415 - see above

        if not isinstance(error, (releases.AnotherIsHeld, NameUnknown)) or not self.has_state:
            return False
        with self.store.read() as tx:
            held, file = releases.current(tx), self.project.release
            if held is None or not held.held or held.release == file:
                return False
            project = releases.to_run(tx, self.project, self._environ)
        self.held = f"{releases.in_words(held)}: that one was run, not {file[:12]} of {self.project.path.name}"
        self.sources.close()
        self._open(project)
        return True

    def _run(
        self,
        job: str | None,
        rules: Sequence[str],
        slot: str | dt.datetime | None,
        watch: Callable[[str, int], None],
        *,
        dry_run: bool,
        lists: bool = True,
    ) -> RunReport:
        chosen = self.job(job)
        for name in rules:
            self.require("rule of this job", name, chosen.rules)
        some = tuple(name for name in chosen.rules if name in rules)
        if slot is not None and some:
            raise SlotRefused(str(slot), "is for a whole job; leave out --rule, or run without a slot")
        at = self._slot(slot)
        if slot is None:  # else the run may have been made already
            self._begin((some or chosen.rules)[0])
        if dry_run:
            return self._rehearse(chosen, some, at, watch)
        from reconcile.runs import runner  # noqa: PLC0415 - see above

        by_hand = "manual" if len(some) in (0, len(chosen.rules)) else "rules"
        order = runner.Order(chosen, at, by_hand if slot is None else "slot", some)
        report = self._heard(order, runner.run(order, self._equipment(watch, lists=lists)))
        self.anchor()
        return report

    def carry_out(
        self, job: str, slot: dt.datetime, trigger: str, watch: Callable[[str, int], None] = lambda _rule, _read: None
    ) -> RunReport:
        """Run a job for a slot that a trigger made due; messages are left in the outbox. Raises as `run` does."""
        from reconcile.runs import runner  # noqa: PLC0415 - see above

        order = runner.Order(self.job(job), slot, trigger)
        return self._heard(order, runner.run(order, self._equipment(watch, lists=False, delivers=False)))

    def anchor(self) -> anchoring.Report:
        """Sign the end of the audit log, and write it to the anchors that are due; one that fails for long is told."""
        from reconcile.audit import anchoring  # noqa: PLC0415 - see above

        every = {name: one.every for name, one in self.project.audit.anchors.items()}
        report = anchoring.carry(self.store, self.anchors, every)
        if self.anchors and self.fallback is None:  # which may lack the channels that are told
            from reconcile.messages import watchdog  # noqa: PLC0415 - few have anchors

            watchdog.anchors(self.store, self.project, report.late)
        return report

    def deliver(self) -> delivery.Report:
        """Send every message that is due to its channel; what is due later stays for the next delivery."""
        from reconcile.messages import delivery  # noqa: PLC0415 - see above

        settings = {name: channel.settings for name, channel in self.project.channels.items()}
        ask = [name for name, chosen in settings.items() if chosen.on_unknown == "person"]
        channels = {name: self.channels[name] for name in settings}
        return delivery.deliver(self.store, channels, ask_a_person=ask, patience=dt.timedelta(0), sleep=self._sleep)

    def target(self, source: str) -> Target:
        """The source of that name, its records to be changed; raises TargetRefused where it is of no such kind."""
        from connectors.target import Target, TargetRefused  # noqa: PLC0415 - see above

        if source not in self.sources:
            raise TargetRefused(f"Source {source!r} is not in the configuration any more; nothing is cleaned there")
        found = self.sources[source]
        if not isinstance(found, Target):
            raise TargetRefused(f"Records of source {source!r} cannot be changed; nothing is cleaned there")
        return found

    def desk(self, actor: str, system: str | None = None) -> Desk:
        """Where a person decides about cleanings, and has them carried out and taken back.

        `system`: the operating system's user who gives that name, where there is one; it is kept beside approvals.
        """
        from reconcile.cleaning.decisions import Desk  # noqa: PLC0415 - see above
        from reconcile.cleaning.execution.terms import Terms  # noqa: PLC0415 - see above

        return Desk(self.memory, Terms(self.project), self.target, self.subject, actor, self._sleep, system=system)

    def clean_due(self, alive: Callable[[], None] = lambda: None) -> Tally | None:
        """Carry out what is approved or due to be tried again, in any source; None where there was nothing."""
        from reconcile.cleaning.execution import carrier  # noqa: PLC0415 - see above
        from reconcile.cleaning.execution.terms import Terms  # noqa: PLC0415 - see above

        if not carrier.anything_due(self.store):
            return None
        return carrier.carry_out(carrier.Tools(self.store, Terms(self.project), self.target, alive, self._sleep))

    def _equipment(self, watch: Callable[[str, int], None], *, lists: bool, delivers: bool = True) -> runner.Equipment:
        from reconcile.runs import runner  # noqa: PLC0415 - see above

        return runner.Equipment(
            self.project,
            self.store,
            self.subject,
            self.channels,
            self.budget,
            watch,
            self._sleep,
            delivers=delivers,
            lists=lists,
            stop=self._stop,
            spans=self.spans,
            target=self.target,
        )

    def _stop(self, dataset: str) -> None:
        self.sources.stop(self.project.datasets[dataset].source)

    def _heard(self, order: runner.Order, report: RunReport) -> RunReport:
        """Tell the job's watchdog of a success that is new, and of the whole job."""
        is_success = report.status == "succeeded" and not report.repeated and order.trigger != "rules"
        if order.job.heartbeat is None or not is_success:
            return report
        from reconcile.messages import watchdog  # noqa: PLC0415 - few jobs have one

        return replace(report, watchdog=watchdog.call(order.job, sleep=self._sleep))

    def _begin(self, rule: str) -> None:
        """Let the sources of the rule that is checked first begin, if they can, while everything else is loaded."""
        for dataset in (self.project.datasets[name] for name in self.project.rules[rule].datasets):
            with contextlib.suppress(ConnectorError):  # reported when the rule is checked
                source = self.sources[dataset.source]
                if isinstance(source, Ahead):
                    source.begin(dataset.settings)

    def _slot(self, slot: str | dt.datetime | None) -> dt.datetime:
        if isinstance(slot, str):
            return parse_slot(slot, ZoneInfo(self.project.timezone))
        return slot or dt.datetime.now(dt.UTC)

    def _rehearse(
        self, job: JobConfig, rules: tuple[str, ...], slot: dt.datetime, watch: Callable[[str, int], None]
    ) -> RunReport:
        from reconcile.runs.dry_run import rehearse  # noqa: PLC0415 - see above

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
            stop=self._stop,
            target=self.target,
        )

    def close(self) -> None:
        """Give everything back. Safe to call twice."""
        if self._spans is not None:
            self._spans.close()
        self.sources.close()
        if self._store is not None and self._owns_store:
            self._store.close()
            self._store = None
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def load(path: str | os.PathLike[str] = config.FILE_NAME, environ: Mapping[str, str] | None = None) -> Application:
    """A configuration, ready to run. Raises ConfigProblems with every mistake in it."""
    return Application(config.load(path, environ), environ=environ)


def load_for_state(path: str | os.PathLike[str], environ: Mapping[str, str] | None = None) -> Application:
    """The same for who needs no more than the state: a file with mistakes gives way to the release that is kept.

    Raises ConfigProblems where the state's address cannot be told or there is no state; StoreError.
    """
    try:
        return load(path, environ)
    except config.ConfigProblems as wrong:
        from reconcile.coordination import fallback  # noqa: PLC0415 - only for such a file

        instead = fallback.instead_of(Path(path), wrong, os.environ if environ is None else environ)
    return Application(instead.project, environ=environ, fallback=instead)
