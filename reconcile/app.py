"""The composition root: only this module and reconcile.config.opened pick concrete classes. All interfaces use it."""

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
from reconcile import __version__, config
from reconcile.config import opened
from reconcile.config.opened import Sources
from reconcile.config.settings import JobConfig, Project
from reconcile.errors import Wrong
from reconcile.schedule.slots import SlotRefused, parse_slot
from rules.kinds.base import Rule

if TYPE_CHECKING:  # a run loads these while a slow source has begun its work
    from connectors.target import Target
    from reconcile.audit import anchoring
    from reconcile.cleaning.execution.outcomes import ExecutionResult
    from reconcile.cleaning.planning.planner import Planner
    from reconcile.coordination.fallback import Fallback
    from reconcile.decisions.service import Decisions
    from reconcile.detection.detect import Budget
    from reconcile.detection.subject import Subject
    from reconcile.messages import delivery
    from reconcile.people.roles import Person
    from reconcile.runs import runner
    from reconcile.runs.check import Readers, RunOrder
    from reconcile.runs.listing import Lists
    from reconcile.runs.report import RunReport
    from reconcile.store import Store
    from reconcile.telemetry import traces


T = TypeVar("T")


class NameUnknown(Wrong):
    """The command line names something that is not in the configuration."""

    def __init__(self, kind: str, name: str, known: Sequence[str], where: str = "the configuration") -> None:
        from rules.document.mistakes import suggestion  # noqa: PLC0415 - only for this sentence

        super().__init__(f"There is no {kind} {name!r} in {where}; {suggestion(name, known)}")


class RuleIdle(NameUnknown):
    """The command line names a rule that none of the chosen jobs runs."""

    def __init__(self, rule: str, jobs: Sequence[str]) -> None:
        subject = f"The job {jobs[0]!r} does not run" if len(jobs) == 1 else f"None of the jobs {', '.join(jobs)} runs"
        Exception.__init__(self, f"{subject} the rule {rule!r}, so nothing was done; add it to the `rules` of a job")


class NothingRemembered(Wrong):
    """A query needs the state database, but there is none."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"There is no state database at {where} yet, so there is nothing to show. `reconcile run` creates it; "
            "if it should exist, correct `state:`"
        )


class Application:
    """A project with everything it needs to run, opened on first use. Close it, or use it in a `with`.

    `sleep` waits the given seconds between attempts to deliver a message. The caller closes a `store` that it passes.
    `environ` holds the variables for a held release; `held` is a sentence once that release ran instead. `fallback`
    replaces a configuration file with mistakes.
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
        self.upgrade: Callable[[Store], None] | None = None
        """Called with a state of an older schema before it is upgraded; without it such a state is refused."""
        self._scratch: Scratch | None = None
        self._spans: traces.Spans | None = None

    def _open(self, project: Project) -> None:
        self.project = project
        self.sources = Sources(project)
        self.channels = opened.channels(project)
        self.anchors = opened.anchors(project)

    @property
    def store(self) -> Store:
        """The state database, created if it does not exist. Raises a StoreError, StoreOlder without `upgrade`."""
        if self._store is None:
            from reconcile.store import Store  # noqa: PLC0415 - see above
            from reconcile.store.sealing import Seals  # noqa: PLC0415 - see above

            seals = Seals(self.project.encryption_keys)
            url, folder = self.project.state.get_secret_value(), self.project.directory
            self._store = Store.open(url, folder, seals=seals, upgrade=self.upgrade)
            if self._store.was_upgraded:
                from reconcile.runs import ranks  # noqa: PLC0415 - once per release

                ranks.unrank_masked(self._store, self.project)
        return self._store

    @property
    def has_state(self) -> bool:
        """True if a state database exists and is not empty; creates none."""
        if self._store is not None:
            return True
        url = self.project.state.get_secret_value()
        with contextlib.suppress(PermissionError):  # reported when it is opened
            if url.startswith("sqlite"):
                file = Path(url.split("///", 1)[1].split("?")[0])
                return file.exists() and not (file.is_file() and file.stat().st_size == 0)
            from reconcile.store import Store, StoreError  # noqa: PLC0415 - see above

            try:
                return Store.found_at(url, self.project.directory)[1] is not None
            except StoreError:  # opening it raises the same
                return True
        return True

    @property
    def memory(self) -> Store:
        """The state database for queries; raises NothingRemembered instead of creating an empty one."""
        self._require_state()
        return self.store

    def _require_state(self) -> None:
        if not self.has_state:
            url = self.project.state.get_secret_value()
            if url.startswith("sqlite"):
                raise NothingRemembered(url.removeprefix("sqlite:///").split("?")[0])
            from reconcile.store import Store  # noqa: PLC0415 - see above

            raise NothingRemembered(Store.found_at(url, self.project.directory)[0])

    def state_as_it_is(self) -> Store:
        """Open the state to copy it, with the schema that it has; the caller closes it.

        Raises NothingRemembered, a StoreError.
        """
        self._require_state()
        from reconcile.store import Store  # noqa: PLC0415 - see above

        return Store.as_it_is(self.project.state.get_secret_value(), self.project.directory)

    @property
    def budget(self) -> Budget:
        """The memory of one detection, and a folder on disk to spill to."""
        if self._scratch is None:
            self._scratch = Scratch()
        from reconcile.detection.detect import Budget  # noqa: PLC0415 - see above

        return Budget(memory=f"{self.project.memory // 1_000_000}MB", folder=self._scratch.path)

    @property
    def spans(self) -> traces.Spans:
        """The destination of the spans of runs; none unless the configuration or the environment sets one."""
        from reconcile.telemetry import traces  # noqa: PLC0415 - see above

        if self._spans is None:
            self._spans = traces.begin(self.project.traces, self._environ)
        return self._spans

    def subject(self, dataset: str) -> Subject:
        """Return a dataset ready to be checked; raises the source's ConnectorError."""
        from reconcile.detection.subject import Subject  # noqa: PLC0415 - see above

        settings = self.project.datasets[dataset]
        return Subject(settings, self.sources[settings.source])

    def primary_subject(self, dataset: str) -> Subject:
        """Return a dataset ready to be planned: read where records are changed, even if a replica is out of reach."""
        from connectors.base import Replicated  # noqa: PLC0415 - see above
        from reconcile.detection.subject import Subject  # noqa: PLC0415 - see above

        settings = self.project.datasets[dataset]
        source = self.sources[settings.source]
        return Subject(settings, source.primary() if isinstance(source, Replicated) else source)

    def job(self, name: str | None) -> JobConfig:
        """Return the job of that name; without a name the only job. Raises NameUnknown."""
        jobs = self.project.jobs
        if name is None and len(jobs) == 1:
            return next(iter(jobs.values()))
        self.require("job", name or "", tuple(jobs))
        return jobs[name or ""]

    def rule(self, name: str) -> Rule:
        """Return the rule of that name; raises NameUnknown."""
        self.require("rule", name, tuple(self.project.rules))
        return self.project.rules[name]

    def require(self, what: str, name: str, known: Sequence[str]) -> None:
        """Raise NameUnknown, with the nearest name, unless the name is known."""
        if name not in known:
            where = f"the held release {self.project.release[:12]}" if self.held else "the configuration"
            where = self.fallback.called if self.fallback else where
            raise NameUnknown(what, name, known, where)

    def chosen(self, jobs: Sequence[str], rules: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
        """Return the jobs to run (all if none is named), each with its named rules (none: all of them).

        A job without any of the named rules is left out. Before anything runs, raises NameUnknown for a job or rule
        that is not in the configuration, and RuleIdle for a rule that none of these jobs runs.
        """
        for name in jobs:
            self.require("job", name, tuple(self.project.jobs))
        for name in rules:
            self.require("rule", name, tuple(self.project.rules))
        of_jobs = {name: self.project.jobs[name].rules for name in jobs or self.project.jobs}
        for name in rules:
            if not any(name in job_rules for job_rules in of_jobs.values()):
                raise RuleIdle(name, tuple(of_jobs))
        selected = ((job, tuple(rule for rule in job_rules if rule in rules)) for job, job_rules in of_jobs.items())
        return [(job, named) for job, named in selected if named or not rules]

    def run(
        self,
        job: str | None = None,
        *,
        rules: Sequence[str] = (),
        slot: str | dt.datetime | None = None,
        dry_run: bool = False,
        full: bool = False,
        watch: Callable[[str, int], None] = lambda _rule, _read: None,
    ) -> RunReport:
        """Run a job now, or for a slot; see reconcile.runs.runner. If a person holds another release, run that release.

        `full`: read all records, even of datasets with `incremental`; a dry run always does.

        Raises NameUnknown, SlotRefused, StoreError, and the errors of releases.project_of. The report holds the
        failures of sources and channels.
        """
        return self._or_held(lambda: self._run(job, rules, slot, watch, dry_run=dry_run, full=full), dry_run=dry_run)

    def run_all(
        self,
        jobs: Sequence[str] = (),
        rules: Sequence[str] = (),
        *,
        slot: str | dt.datetime | None = None,
        dry_run: bool = False,
        full: bool = False,
        watch: Callable[[str, int], None] = lambda _rule, _read: None,
        lists: Lists | None = None,
    ) -> list[RunReport]:
        """Run the `chosen` jobs one after the other; see `run`. `lists`: the findings to list, by default all."""
        reports: dict[str, RunReport] = {}

        def go_on() -> list[RunReport]:
            for name, named in self.chosen(jobs, rules):
                if name not in reports:
                    reports[name] = self._run(name, named, slot, watch, dry_run=dry_run, full=full, lists=lists)
            return list(reports.values())

        return self._or_held(go_on, dry_run=dry_run)

    def _or_held(self, work: Callable[[], T], *, dry_run: bool) -> T:
        """Do the work; if a person holds another release, with that release. A dry run uses the file."""
        try:
            return work()
        except Exception as error:
            if dry_run or not self._switch_to_held(error):
                raise
        return work()

    def _switch_to_held(self, error: Exception) -> bool:
        """Return True if the work failed for want of the held release, which is the project from now on."""
        from reconcile.coordination import releases  # noqa: PLC0415 - see above

        if not isinstance(error, (releases.AnotherIsHeld, NameUnknown)) or not self.has_state:
            return False
        with self.store.read() as tx:
            current, file = releases.current(tx), self.project.release
            if current is None or not current.held or current.release == file:
                return False
            project = releases.to_run(tx, self.project, self._environ)
        self.held = f"{releases.in_words(current)}: it was run instead of {file[:12]} of {self.project.path.name}"
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
        full: bool,
        lists: Lists | None = None,
    ) -> RunReport:
        chosen = self.job(job)
        for name in rules:
            self.require("rule of this job", name, chosen.rules)
        named = tuple(name for name in chosen.rules if name in rules)
        if slot is not None and named:
            raise SlotRefused(str(slot), "is for a whole job; remove --rule, or run without a slot")
        slot_time = self._slot(slot)
        if slot is None:  # a given slot may have run already
            self._begin_sources((named or chosen.rules)[0])
        if dry_run:
            return self._rehearse(chosen, named, slot_time, watch, lists)
        from reconcile.runs import runner  # noqa: PLC0415 - see above
        from reconcile.runs.check import RunOrder  # noqa: PLC0415 - see above

        trigger = "manual" if len(named) in (0, len(chosen.rules)) else "rules"
        order = RunOrder(chosen, slot_time, trigger if slot is None else "slot", named, full=full)
        report = self._call_watchdog(order, runner.run(order, self._equipment(watch, lists)))
        uncompacted = self._compact_daily()
        return replace(report, uncompacted=uncompacted, unanchored=tuple(self.anchor().failed.values()))

    def _compact_daily(self) -> str | None:
        """Delete old data, once a day, where no `serve` does; return why that failed. The next run tries again."""
        from reconcile.store import StoreError  # noqa: PLC0415 - see above
        from reconcile.upkeep import compaction, versions  # noqa: PLC0415 - see above

        try:
            due = compaction.daily(self.store, self.project.retention, undo_window=self.project.undo_window)
            if due is None:
                return None
            released = versions.release(self.store, self.project, self.sources.__getitem__)
        except StoreError as error:
            return str(error)
        return " ".join(released.unreached.values()) or None

    def run_slot(
        self, job: str, slot: dt.datetime, trigger: str, watch: Callable[[str, int], None] = lambda _rule, _read: None
    ) -> RunReport:
        """Run a job for a slot that a trigger made due; messages stay in the outbox. Raises as `run` does."""
        from reconcile.runs import runner  # noqa: PLC0415 - see above
        from reconcile.runs.check import RunOrder  # noqa: PLC0415 - see above
        from reconcile.runs.listing import Lists  # noqa: PLC0415 - see above

        order = RunOrder(self.job(job), slot, trigger)
        return self._call_watchdog(order, runner.run(order, self._equipment(watch, Lists.NONE, delivers=False)))

    def anchor(self) -> anchoring.AnchoringReport:
        """Sign the end of the audit log and write it to the due anchors; report an anchor that fails for long.

        Where no `serve` is running, nothing tries again soon: the first failure is reported, and sent at once.
        """
        from reconcile.audit import anchoring  # noqa: PLC0415 - see above
        from reconcile.coordination import lease  # noqa: PLC0415 - see above

        intervals = {name: anchor.every for name, anchor in self.project.audit.anchors.items()}
        with self.memory.read() as tx:
            is_served = bool(intervals) and lease.holder(tx, "scheduler") is not None
        patience = anchoring.LATE if is_served else dt.timedelta(0)
        report = anchoring.write_due(self.memory, self.anchors, intervals, patience=patience)
        if self.anchors and self.fallback is None:  # a fallback may lack the channels
            from reconcile.messages import watchdog  # noqa: PLC0415 - few have anchors

            if watchdog.anchors(self.memory, self.project, report.late) and not is_served:
                self.deliver()
        return report

    def deliver(self) -> delivery.DeliveryReport:
        """Send every due message to its channel; messages due later stay for the next delivery."""
        from reconcile.messages import delivery  # noqa: PLC0415 - see above

        no_patience = dt.timedelta(0)
        return delivery.deliver_all(self.store, self.project, self.channels, patience=no_patience, sleep=self._sleep)

    def target(self, source: str) -> Target:
        """Return the source of that name for changes; raises TargetRefused if it cannot be changed."""
        from connectors.target import Target, TargetRefused  # noqa: PLC0415 - see above

        if source not in self.sources:
            raise TargetRefused(f"Source {source!r} is no longer in the configuration; nothing is cleaned there")
        target = self.sources[source]
        if not isinstance(target, Target):
            raise TargetRefused(f"Records of source {source!r} cannot be changed; nothing is cleaned there")
        return target

    def decisions(self, actor: str, system: str | None = None) -> Decisions:
        """Return the service for the decisions of a person who may decide everything.

        `system` is the operating system's user behind the name, if known; it is stored with approvals.
        """
        from reconcile.cleaning.execution.terms import Terms  # noqa: PLC0415 - see above
        from reconcile.decisions.service import Decisions  # noqa: PLC0415 - see above

        return Decisions(self.memory, Terms(self.project), self.target, self.planner, actor, self._sleep, system=system)

    def decisions_of(self, person: Person) -> Decisions:
        """Return the service for the decisions of a person, with their role."""
        decisions = self.decisions(person.name, person.origin)
        return replace(decisions, role=person.role, sees_personal=person.sees_personal)

    @property
    def planner(self) -> Planner:
        """The planner of cleanings. Raises NothingRemembered, StoreError."""
        from reconcile.cleaning.planning.planner import Planner  # noqa: PLC0415 - see above

        return Planner(self.project, self.primary_subject, self.target, self.memory)

    def clean_due(self, alive: Callable[[], None] = lambda: None) -> ExecutionResult | None:
        """Execute the plans, of any source, that are approved or due for a retry; None if there are none."""
        from reconcile.cleaning.execution import executor  # noqa: PLC0415 - see above
        from reconcile.cleaning.execution.terms import Terms  # noqa: PLC0415 - see above

        if not executor.anything_due(self.store):
            return None
        return executor.execute_plans(
            executor.ExecutionContext(
                *(self.store, Terms(self.project), self.target, self.primary_subject), alive=alive, sleep=self._sleep
            )
        )

    def release(self, name: str) -> Application:
        """Return a release as an application of its own, to be closed by the caller: by the beginning of its hash, as
        `active`, or by the path of a configuration file.

        Raises ConfigProblems, NothingRemembered, StoreError, and the errors of releases.project_named.
        """
        from reconcile.coordination import releases  # noqa: PLC0415 - see above

        if releases.is_path(name):
            return Application(config.load(name, self._environ), environ=self._environ)
        with self.memory.read() as tx:
            project = releases.project_named(tx, name, self.project, self._environ)
        return Application(project, environ=self._environ)

    def readers(self, watch: Callable[[str, int], None] = lambda _rule, _read: None) -> Readers:
        """Return the resources of work that only reads; `watch` gets (rule, records read so far) and may raise."""
        from reconcile.runs.check import Readers  # noqa: PLC0415 - see above

        self.sources.renew()
        return Readers(
            project=self.project,
            subject=self.subject,
            budget=self.budget,
            watch=watch,
            stop=self._stop,
            source=self.sources.__getitem__,
            target=self.target,
            version=__version__,
        )

    def _equipment(
        self, watch: Callable[[str, int], None], lists: Lists | None, *, delivers: bool = True
    ) -> runner.Equipment:
        from reconcile.runs import runner  # noqa: PLC0415 - see above
        from reconcile.runs.listing import Lists  # noqa: PLC0415 - see above

        self.sources.renew()
        return runner.Equipment(
            project=self.project,
            store=self.store,
            subject=self.subject,
            channels=self.channels,
            budget=self.budget,
            watch=watch,
            sleep=self._sleep,
            delivers=delivers,
            lists=lists or Lists.ALL,
            version=__version__,
            stop=self._stop,
            spans=self.spans,
            source=self.sources.__getitem__,
            target=self.target,
        )

    def _stop(self, dataset: str) -> None:
        self.sources.stop(self.project.datasets[dataset].source)

    def _call_watchdog(self, order: RunOrder, report: RunReport) -> RunReport:
        """Call the job's watchdog after a new success of the whole job."""
        is_success = report.status == "succeeded" and not report.repeated and order.trigger != "rules"
        if order.job.heartbeat is None or not is_success:
            return report
        from reconcile.messages import watchdog  # noqa: PLC0415 - few jobs have one

        return replace(report, watchdog=watchdog.call(order.job, sleep=self._sleep))

    def _begin_sources(self, rule: str) -> None:
        """Let the sources of the first rule begin, if they can, while everything else is loaded."""
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
        self,
        job: JobConfig,
        rules: tuple[str, ...],
        slot: dt.datetime,
        watch: Callable[[str, int], None],
        lists: Lists | None,
    ) -> RunReport:
        from reconcile.runs.check import RunOrder  # noqa: PLC0415 - see above
        from reconcile.runs.dry_run import rehearse  # noqa: PLC0415 - see above
        from reconcile.runs.listing import Lists  # noqa: PLC0415 - see above

        order = RunOrder(job, slot, rules=rules)
        return rehearse(order, self.readers(watch), self.store if self.has_state else None, lists or Lists.ALL)

    def close(self) -> None:
        """Release all resources. Safe to call twice."""
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


def load(
    path: str | os.PathLike[str] = config.FILE_NAME,
    environ: Mapping[str, str] | None = None,
    *,
    needs_rules: bool = True,
) -> Application:
    """Load a configuration, ready to run. Raises ConfigProblems with every mistake in it."""
    return Application(config.load(path, environ, needs_rules=needs_rules), environ=environ)


def without_configuration() -> Application:
    """Return an application with the usual limits for files that no configuration names; it has no sources or rules."""
    return Application(config.state_alone(Path(config.FILE_NAME), "sqlite:///reconcile.db"))


def load_for_state(path: str | os.PathLike[str], environ: Mapping[str, str] | None = None) -> Application:
    """Load a configuration for commands that only need the state: for a file with mistakes, the stored release.

    Raises ConfigProblems if the state's address is unknown or there is no state; StoreError.
    """
    try:
        return load(path, environ)
    except config.ConfigProblems as problems:
        from reconcile.coordination import fallback  # noqa: PLC0415 - only for such a file

        release = fallback.instead_of(Path(path), problems, os.environ if environ is None else environ)
    return Application(release.project, environ=environ, fallback=release)
