"""`status`: what waits, what failed, what is due, and the command for each; the console's Today page as one screen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Literal

import typer

from reconcile.cli.output import FILE, Config, Output
from reconcile.documents import JsonObject

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.doctor.diagnosis import Diagnosis
    from reconcile.service.jobs import JobView
    from reconcile.store import Transaction
    from reconcile.views.today import Today

Topic = Literal["waits", "failed", "due", "release"]

_COMMAND = re.compile(r"`(reconcile [^`]+)`")
_MOST = 6
"""The most facts of a topic that are drawn, so that all fit on one screen; JSON has all of them."""
_LONGEST = 400
"""The most characters of a sentence that are drawn."""
_INDENT = 9
"""The width of the column of topics."""


@dataclass(frozen=True)
class Fact:
    """A fact about the project. `command` is the command to run next; None if nothing needs to be done."""

    topic: Topic
    sentence: str
    command: str | None = None


@dataclass(frozen=True)
class Status:
    """The facts, those of one topic together. `findings` are the waiting ones by severity."""

    facts: tuple[Fact, ...]
    findings: dict[str, int]
    at_risk: str
    jobs: tuple[JobView, ...]
    release: str

    def to_json(self) -> JsonObject:
        counts = {"findings": self.findings, "at_risk": self.at_risk}
        needs_attention = any(fact.command for fact in self.facts)
        facts = {
            "facts": list(map(asdict, self.facts)),
            "jobs": [job.to_json() for job in self.jobs],
            "release": self.release,
        }
        return {"needs_attention": needs_attention} | counts | facts


def register(app: typer.Typer) -> None:
    app.command(help="Show what is waiting, what failed, and what to run next.")(status)


def status(out: Output, config: Config = FILE) -> None:
    from reconcile.cli.opening import load_for_state

    with load_for_state(config) as application:
        current = _status(application) if application.has_state else _unstarted(application)
    if out.json:
        out.emit(current.to_json())
    else:
        _draw(out, current)


def _unstarted(application: Application) -> Status:
    """Return the status before the first run; no state is created."""
    from reconcile.service.jobs import look_at

    jobs = [look_at(job, None) for job in application.project.jobs.values()]
    facts = (Fact("waits", "Nothing ran yet", "reconcile run"), *_due(application, jobs))
    return Status(facts, {}, "", tuple(jobs), application.project.release)


def _status(application: Application) -> Status:
    from reconcile.service.jobs import look_at
    from reconcile.views.today import today

    sums = today(application)
    refused = list(_refused(application))
    with application.memory.read() as tx:
        jobs = [look_at(job, tx) for job in application.project.jobs.values()]
        facts = [*refused, *_waiting(application, tx, sums), *_failed(application, tx, sums)]
        facts += [*_due(application, jobs), *_scheduling(application, tx), _release(application, tx)]
    findings = {name: number for name, number in sums.waiting.items() if number}
    return Status(tuple(facts), findings, sums.at_risk, tuple(jobs), application.project.release)


# What waits


def _refused(application: Application) -> Iterator[Fact]:
    """Yield the sources that a person has to take over after a restore of the state."""
    from reconcile.views.targets import refused_since_restore

    for view in refused_since_restore(application):
        assert view.problem is not None  # noqa: S101 - the view has only such
        yield Fact("waits", view.problem, _command_in(view.problem) or "reconcile target")


def _waiting(application: Application, tx: Transaction, sums: Today) -> Iterator[Fact]:
    from notifications.wording.words import plural
    from reconcile.cleaning.next_run import asked_before
    from reconcile.findings.states import PlanState, State
    from reconcile.store import findings, plans

    if number := sum(sums.waiting.values()):
        by_severity = ", ".join(f"{count:,} {name}" for name, count in sums.waiting.items() if count)
        risk = f"; {sums.at_risk} at risk" if sums.at_risk else ""
        sentence = f"{plural(number, 'finding', 'findings')}: {by_severity}{risk}"
        yield Fact("waits", sentence, "reconcile findings --state waiting")
    counts, expired = plans.counts(tx), plans.expired(tx)
    if number := counts.get(PlanState.AWAITING, 0) - expired.get(PlanState.AWAITING, 0):
        command = f"reconcile findings --state {State.AWAITING.value}"
        yield Fact("waits", f"{plural(number, 'plan', 'plans')} to approve or reject", command)
    if number := sum(expired.values()):
        sentence = f"{plural(number, 'plan', 'plans')} expired before approval and execution; the next run plans again"
        yield Fact("waits", sentence, "reconcile run")
    for name, rule in application.project.rules.items():
        if rule.clean is not None and rule.approval.is_automatic:
            asked = plans.counts(tx, name).get(PlanState.AWAITING, 0)
            if asked:
                yield Fact("waits", asked_before(name, asked), f"reconcile approve --rule {name}")
    yield from _approved(application, tx)
    if number := counts.get(PlanState.QUARANTINED, 0):
        sentence = f"{plural(number, 'cleaning', 'cleanings')} with an unknown outcome"
        yield Fact("waits", sentence, "reconcile quarantine")
    if number := findings.count(tx, findings.FindingFilter(states=(State.FAILED,))):
        yield Fact("waits", f"{plural(number, 'cleaning', 'cleanings')} failed", "reconcile findings --state failed")
    yield from _undos(application, tx)


def _approved(application: Application, tx: Transaction) -> Iterator[Fact]:
    """Yield the approved plans that the next run executes, and those that wait for something else, with the reason."""
    from notifications.wording.words import plural
    from reconcile.cleaning.execution.terms import Terms
    from reconcile.journal import breaker
    from reconcile.store import plans

    terms = Terms(application.project)
    numbers: dict[str | None, int] = {}
    for (source, target, rule), number in plans.waiting_of(tx).items():
        stopped = (breaker.reason(tx, name) for name in (breaker.of_source(source), target))
        reason = next(filter(None, stopped), None) or terms.closed(tx, source, rule)
        numbers[reason] = numbers.get(reason, 0) + number
    for reason, number in numbers.items():
        approved = plural(number, "approved plan", "approved plans")
        if reason is None:
            yield Fact("waits", f"{approved} to execute", "reconcile run")
        else:
            yield Fact("waits", f"{approved}, not executed now: {reason}", _command_in(reason))


def _undos(application: Application, tx: Transaction) -> Iterator[Fact]:
    """Yield the undos that were requested and not done."""
    from notifications.wording.words import plural
    from reconcile.store import findings

    failed = [finding.id for finding in findings.not_undone(tx, tuple(application.project.rules))]
    if failed:
        more = f", and {len(failed) - 1:,} more" if len(failed) > 1 else ""
        sentence = f"{plural(len(failed), 'undo', 'undos')} failed: {failed[0]}{more}"
        yield Fact("waits", sentence, f"reconcile show {failed[0]}")


# What failed


def _failed(application: Application, tx: Transaction, sums: Today) -> Iterator[Fact]:
    from reconcile.doctor import host, work
    from reconcile.store import health

    if health.audit_length(tx) is None:
        yield Fact("failed", "The audit log does not end as recorded", "reconcile audit verify")
    yield from _warnings(host.room(application, tx), "reconcile doctor")
    yield from _runs(application, tx)
    yield from _problems(sums)
    yield from _warnings(work.messages(application, tx), "reconcile messages")
    yield from _warnings(work.cleaning(application, tx), "reconcile doctor")
    stalled = chain(work.dead_workers(application, tx), work.queue(application, tx))
    yield from _warnings(stalled, "reconcile doctor")


def _problems(sums: Today) -> Iterator[Fact]:
    """Yield what could not be checked or sent, and the troubles that last; each sentence once."""
    problems: dict[str, tuple[str | None, str]] = {}
    problems |= {failure.sentence: (failure.job, failure.subject) for failure in sums.failures}
    problems |= {trouble.in_one_line: (trouble.job, trouble.subject) for trouble in sums.troubles}
    for sentence, (job, subject) in problems.items():
        kind, _, name = subject.partition(" ")
        checked = {"source": f"reconcile check --source {name}", "rule": "reconcile check"}
        yield _fact(", ".join(filter(None, (job, subject))), sentence, checked.get(kind, "reconcile doctor"))


def _runs(application: Application, tx: Transaction) -> Iterator[Fact]:
    """Yield the jobs whose last run failed or was interrupted."""
    from notifications.wording.words import to_the_minute
    from reconcile.store import runs

    for job in application.project.jobs:
        for row in runs.listed(tx, job, 1):
            if row.status in ("failed", "interrupted"):
                sentence = f"{job}: its last run {'failed' if row.status == 'failed' else 'was interrupted'}"
                slot = to_the_minute(row.slot, application.project.timezone)
                yield Fact("failed", f"{sentence}, slot {slot}", f"reconcile run {job}")


def _warnings(diagnoses: Iterable[Diagnosis], command: str) -> Iterator[Fact]:
    """Yield what the doctor warns of, except the quarantine, which waits for a person."""
    for diagnosis in diagnoses:
        if diagnosis.state != "ok" and diagnosis.subject != "quarantine":
            yield _fact(diagnosis.subject, diagnosis.sentence, command)


def _fact(subject: str, sentence: str, command: str) -> Fact:
    """Return a failure with the command that its sentence names, else this one."""
    return Fact("failed", f"{subject}: {sentence}", _command_in(sentence) or command)


def _command_in(sentence: str) -> str | None:
    """Return the first command that the sentence names."""
    named = _COMMAND.search(sentence)
    return None if named is None else named[1]


# What is due


def _due(application: Application, jobs: Iterable[JobView]) -> Iterator[Fact]:
    """Yield the jobs that run or are due, then the scheduled ones by their next due time."""
    from notifications.wording.words import moment

    idle = []
    for job in jobs:
        if job.state in ("running", "due"):
            yield Fact("due", f"{job.name} is {job.state}")
        elif job.state == "idle" and job.next is not None:
            idle.append((job.next, job.name))
    for at, name in sorted(idle):
        yield Fact("due", f"{name}: next run {moment(at, application.project.timezone)}")


def _scheduling(application: Application, tx: Transaction) -> Iterator[Fact]:
    """Yield the pauses, and whether a process schedules the jobs."""
    from reconcile.coordination import pauses
    from reconcile.doctor import work

    for pause in pauses.active(tx).values():
        yield Fact("due", pause.sentence, _command_in(pause.sentence))
    for diagnosis in work.scheduling(application, tx):
        command = None if diagnosis.state == "ok" else _command_in(diagnosis.sentence)
        yield Fact("due", f"{diagnosis.subject}: {diagnosis.sentence}", command)


def _release(application: Application, tx: Transaction) -> Fact:
    from reconcile.coordination import releases

    current, file = releases.current(tx), releases.shortened(application.project.release)
    if current is None or (current.release == application.project.release and not current.held):
        of_file = (
            "which the broken configuration file does not replace"
            if application.fallback
            else "the configuration file's"
        )
        return Fact("release", f"{file}, {of_file}")
    if current.held:
        return Fact("release", releases.in_words(current))
    used = releases.shortened(current.release)
    return Fact("release", f"{used} is current; the configuration file is release {file}")


# Drawing


def _draw(out: Output, current: Status) -> None:
    """Print the facts; with --quiet only those with a command."""
    todo = [fact for fact in current.facts if fact.command is not None]
    if not todo:
        out.say("Nothing needs your attention.")
    shown = todo if out.quiet else current.facts
    for topic in dict.fromkeys(fact.topic for fact in shown):
        facts = [fact for fact in shown if fact.topic == topic]
        for number, fact in enumerate(islice(facts, _MOST)):
            _draw_fact(out, fact, topic if number == 0 else "")
        if len(facts) > _MOST:
            out.say(f"{'':{_INDENT}}… and {len(facts) - _MOST:,} more; --json shows all")


def _draw_fact(out: Output, fact: Fact, topic: str) -> None:
    """Print a fact on one line with its command if both fit, else the command on a line of its own.

    A sentence of one line that names the command needs no other.
    """
    sentence = fact.sentence.rstrip(".")
    if len(sentence) > _LONGEST:
        sentence = f"{sentence[: _LONGEST - 1]}…"
    line, margin = f"{topic:<{_INDENT}}{sentence}", " " * _INDENT
    is_named = f"`{fact.command}`" in sentence and len(line) <= out.width
    if fact.command is None or is_named:
        out.wrapped(line, more=margin)
    elif len(line) + len(fact.command) + 4 <= min(out.width, 80):
        out.say(f"{line}  → {fact.command}")
    else:
        out.wrapped(line, more=margin)
        out.say(f"{margin}→ {fact.command}")
