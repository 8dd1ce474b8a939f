"""`run`, `runs`: run jobs, and list past runs."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from reconcile.cli import exits
from reconcile.cli.columns import Cell, severity_cell
from reconcile.cli.drawing import draw_records
from reconcile.cli.output import FILE, Config, Output, Show
from reconcile.cli.progress import progress

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.findings.results import Outcome, RuleResult
    from reconcile.findings.shown import Foreseen
    from reconcile.masking.personal import Masking
    from reconcile.runs.report import RunReport
    from reconcile.store import Store

_SHOWN = 3
_COLUMNS = 8
_Ranked: TypeAlias = "tuple[Decimal, int, int, Foreseen]"

_CHANGES = ("new", "grown", "reopened", "known", "resolved")
"""The headings of the counts of findings in a run's table."""


def register(app: typer.Typer) -> None:
    app.command(help="Run jobs now: all of them, or the named ones.")(run)
    app.command(help="List the latest runs.")(runs)


def run(
    out: Output,
    jobs: Annotated[list[str] | None, typer.Argument(help="The jobs; by default all of them.", metavar="JOB")] = None,
    config: Config = FILE,
    rule: Annotated[
        list[str] | None, typer.Option("--rule", help="Only this rule; may be repeated.", metavar="NAME")
    ] = None,
    slot: Annotated[
        str | None,
        typer.Option(
            "--slot", help="The due time of this run; repeating a due time returns the first run.", metavar="T"
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be new; store nothing and notify nobody.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Read all records, even of datasets with `incremental`.")
    ] = False,
    fail_on: Annotated[
        str | None,
        typer.Option(
            "--fail-on", help="Exit with 1 if a finding of this severity or higher is open.", metavar="SEVERITY"
        ),
    ] = None,
    all_findings: Annotated[
        bool, typer.Option("--all", help="With --json: list unchanged findings too, not only new and changed ones.")
    ] = False,
    show: Show = False,
) -> None:
    from reconcile.cli.opening import load
    from reconcile.runs.listing import Lists
    from rules.models import parse_severity

    out = Output(out.json, out.quiet or out.json, out.no_color)
    if all_findings and not out.json:
        raise typer.BadParameter("is valid only with --json; `reconcile findings` lists findings", param_hint="--all")
    try:
        severity = None if fail_on is None else parse_severity(fail_on)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--fail-on") from error
    with load(config) as application, progress(out) as watch, _only_json_on_standard_output(json=out.json):
        if not dry_run:
            application.upgrade = _upgrade
        lists = (Lists.ALL if all_findings else Lists.CHANGED) if out.json else Lists.NONE
        reports = application.run_all(
            jobs or (), rule or (), slot=slot, dry_run=dry_run, full=full, watch=watch, lists=lists
        )
        if application.held:
            out.note(application.held)
        waiting = [_plans_waiting(report, application) for report in reports]
    if out.json:
        hiding = _hiding(None if show else application)
        documents = [report.to_stream(hiding, application.project) for report in reports]
        out.emit(documents[0] if len(documents) == 1 else documents)
    else:
        for report, number in zip(reports, waiting, strict=True):
            tell(report, out, application, show=show, waiting=number)
    raise typer.Exit(exits.first_that_applies(*(_code(report, severity) for report in reports)))


def _upgrade(store: Store) -> None:
    """Back an older state up before it is upgraded, and say where."""
    from reconcile.upkeep import upgrade

    upgrade.back_up_first(lambda saved: exits.remark(upgrade.sentence(saved)))(store)


def _only_json_on_standard_output(*, json: bool) -> contextlib.AbstractContextManager[Any]:
    """With --json, redirect a channel that writes to the terminal to standard error, like everything but the JSON."""
    return contextlib.redirect_stdout(sys.stderr) if json else contextlib.nullcontext()


def _code(report: RunReport, severity: Any) -> int:
    is_open = severity is not None and report.has_open(severity)
    attention = exits.FOUND if is_open or report.is_partly_unreadable else exits.DONE
    failed = exits.FAILED if report.failed else exits.DONE
    failed = exits.WRONG if report.misfits else failed
    failed = exits.DEFECT if report.has_defect else failed
    return exits.first_that_applies(exits.REFUSED if report.refused else exits.DONE, failed, attention)


def _hiding(application: Application | None) -> Callable[[str, str], Masking]:
    """Return the hidden columns by dataset and rule; without an application nothing is hidden."""
    from reconcile.masking.personal import Masking

    if application is None:
        return lambda _dataset, _rule: Masking()
    return functools.partial(Masking.of, application.project)


def _plans_waiting(report: RunReport, application: Application) -> int:
    """Return the number of plans that wait for approval after a run; a dry run leaves none."""
    from reconcile.views.runs import plans_waiting

    return 0 if report.run is None else plans_waiting(application, [rule.rule for rule in report.rules])


def tell(report: RunReport, out: Output, application: Application, *, show: bool = False, waiting: int = 0) -> None:
    """Print a run: one line per rule, then the next steps; personal data is hidden without `show`.

    `waiting` counts the plans that wait for approval.
    """
    from notifications.wording.words import to_the_second
    from reconcile.findings.results import RuleResult

    timezone = application.project.timezone
    out.say(f"{report.job}  {to_the_second(report.slot, timezone)}  {_status(report)}")
    if report.status == "running":
        return
    hidden = _hiding(None if show else application)
    changes = (*_CHANGES, *(["settled"] if any(result.findings.settled for result in report.checked) else []))
    rows = [_row(result, changes, hidden(result.dataset, result.rule)) for result in report.checked]
    headings = ("rule", "severity", "groups", *changes, "at risk", "records", "engine")
    if rows:
        last = len(headings) - 1
        out.table(headings, rows, right=tuple(range(2, last)), usual=dict.fromkeys(range(3, last - 2), "0"))
    for why, names in _failures(report).items():
        out.say(f"could not check {', '.join(names)}: {why}")
    news, counts = _news(report)
    for rule in report.rules:
        compared = _comparison(rule, hidden(rule.dataset, rule.rule))
        if isinstance(rule, RuleResult) and rule.mode_sentence is not None:
            out.say(f"{rule.rule}: {rule.mode_sentence}")
        for sentence in rule.renamed if isinstance(rule, RuleResult) else ():
            out.say(f"{rule.rule}: {sentence}")
        for sentence in compared:
            out.say(f"{rule.rule}: {sentence}")
        _tell_news(out, application, news.get(rule.rule, ()), counts[rule.rule], hidden)
        for sentence in _cleaning(rule, report):
            out.say(f"{rule.rule}: {sentence}")
        for entry in rule.skipped:
            out.note(f"{rule.rule}: {entry.sentence}")
    _tell_delivery(report, out, timezone)
    _tell_next(report, waiting, out)


def _tell_next(report: RunReport, waiting: int, out: Output) -> None:
    """Print the next step: about the plans that wait, or else about the findings of a run that was no dry run."""
    from notifications.wording.words import plural

    if waiting:
        plans = plural(waiting, "plan waits", "plans wait")
        out.note(f"Next: reconcile plan, reconcile approve ID, reconcile dismiss ID ({plans} for approval)")
    elif report.run is not None and any(result.groups for result in report.checked):
        out.note("Next: reconcile findings, reconcile show ID, reconcile dismiss ID")


def _tell_delivery(report: RunReport, out: Output, timezone: str) -> None:
    from notifications.wording.words import to_the_minute

    for channel in report.sent:
        out.say(f"notified {channel}")
    for sentence in report.undelivered:
        out.say(f"not delivered yet: {sentence}")
    for message in report.held:
        out.say(f"{message.channel} is notified at {to_the_minute(message.until, timezone)} ({message.why})")
    if report.watchdog is not None:
        out.note(report.watchdog)
    for sentence in report.unanchored:
        out.note(f"The audit log is not anchored. {sentence}")
    if report.uncompacted is not None:
        out.note(f"Data older than `retention` was not deleted; the next run tries again. {report.uncompacted}")


def _tell_news(
    out: Output, application: Application, news: Sequence[Foreseen], count: int, hidden: Callable[[str, str], Masking]
) -> None:
    """Print a dry run's largest findings of a rule, and the number of others."""
    from reconcile.masking import records

    project = application.project
    for finding in news:
        masked = hidden(finding.dataset, finding.rule)
        out.say(f"{finding.rule}: {_line(finding, masked, project.rules[finding.rule].periods, project.timezone)}")
        if records.is_configured(project, finding):
            draw_records(out, records.side_by_side(project, finding, masked))
    if news and count > len(news):
        out.say(f"{news[0].rule}: and {count - len(news):,} more; --json lists all")


def _news(report: RunReport) -> tuple[Mapping[str, list[Foreseen]], Counter[str]]:
    """Return a dry run's news of each rule: findings with the most money or records, and the number of all."""
    from heapq import nlargest

    from reconcile.findings.shown import Foreseen

    counts = Counter[str]()
    largest = defaultdict[str, list[_Ranked]](list)
    for place, finding in enumerate(report.findings if report.run is None else ()):  # a run notified people
        if isinstance(finding, Foreseen) and finding.change.is_told:
            counts[finding.rule] += 1
            money = max(finding.group.at_risk.values(), default=Decimal(0))
            kept = [*largest[finding.rule], (money, len(finding.group.members), -place, finding)]
            largest[finding.rule] = nlargest(_SHOWN, kept, key=itemgetter(0, 1, 2))
    return {rule: [finding for *_, finding in ranked] for rule, ranked in largest.items()}, counts


def _line(finding: Foreseen, hidden: Masking, periods: Mapping[str, str], timezone: str) -> str:
    from reconcile.findings.identity import public
    from reconcile.masking.records import local

    group = finding.group
    values = (
        local(hidden.of_key(column, public(value), finding.datasets), value, timezone, periods.get(column))
        for column, value in group.key.items()
    )
    key = " · ".join("" if value is None else str(value) for value in values)
    names = hidden.names(group.members, finding.datasets)
    risk = f", {hidden.at_risk(group.at_risk)} at risk" if group.money else ""
    if group.form == "duplicate":
        what = f"keep {names[0]}, surplus {_some(names[1:])}" if len(names) > 1 else f"record {names[0]}"
    else:
        what = f"{finding.phrase}, {_some(names)}"
    return f"{finding.change.value}  {key}: {what}{risk}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{'; '.join(names[:_SHOWN])}{more}"


def _comparison(rule: Outcome, hidden: Masking) -> Iterator[str]:
    """Yield the findings by form, the balance of two datasets by currency, and how many of their records agree."""
    from notifications.wording import words
    from reconcile.findings.results import RuleResult
    from reconcile.messages.notices import balance_notice
    from rules.groups.forms import form_words

    if not isinstance(rule, RuleResult):
        return
    if rule.in_words:
        yield ", ".join(rule.in_words)
    if rule.differing:
        ranked = sorted(rule.differing.items(), key=lambda item: (-item[1], item[0]))
        shown = [f"{column} in {number:,}" for column, number in ranked[:_COLUMNS]]
        more = [f"{words.plural(len(ranked) - _COLUMNS, 'more column', 'more columns')}"]
        yield f"values differ: {', '.join(shown + (more if len(ranked) > _COLUMNS else []))}"
    if not hidden.hides_amounts:  # each form and currency is a sum of its own, perhaps of one finding
        left, right = (*rule.datasets, "left", "right")[:2]
        phrase = functools.partial(form_words, datasets=(left, right))
        yield from (words.balance(balance_notice(line, phrase), left, right) for line in rule.balance)
    counts = {"matched": rule.matched, "not yet due": rule.not_yet_due, "interchangeable": rule.interchangeable}
    if facts := [f"{number:,} {name}" for name, number in counts.items() if number]:
        yield ", ".join(facts)


def _cleaning(rule: Outcome, report: RunReport) -> Iterator[str]:
    """Yield the cleanings of a rule's findings, those that wait for people, and the reasons for the rest."""
    from reconcile.views.runs import cleaning_counts

    cleaning = rule.cleaning
    if facts := cleaning_counts(cleaning):
        undo = f"; undo: reconcile undo --run {report.run}" if cleaning.cleaned else ""
        look = "; review: reconcile plan" if cleaning.proposed else ""
        yield f"{facts}{undo}{look}"
    for run, done in cleaning.of_killed.items():
        yield f"{done:,} cleaned by {run}, which was killed; undo: reconcile undo --run {run}"
    if done := cleaning.of_before:
        yield f"{done:,} cleaned as planned by earlier runs; undo: reconcile undo --run {report.run}"
    for why, number in cleaning.not_planned.items():
        yield f"{number:,} not planned: {why}"
    sentences = (cleaning.stopped, cleaning.uncounted, cleaning.doubt, cleaning.next_run, cleaning.asked_before)
    yield from filter(None, (*sentences, *cleaning.reasons))


def _failures(report: RunReport) -> Mapping[str, list[str]]:
    """Return each reason once, with the rules that could not be checked."""
    reasons: dict[str, list[str]] = {}
    for failure in report.failures:
        reasons.setdefault(failure.failed, []).append(failure.rule)
    return reasons


def _status(report: RunReport) -> str:
    if report.status == "running":
        return f"is already running ({report.by}); nothing was done twice"
    if report.run is None:
        return "dry run: nothing was stored, nobody was notified"
    return f"{report.status}{', by an earlier run of this slot' if report.repeated else ''}  {report.run}"


def _row(rule: RuleResult, changes: Sequence[str], hidden: Masking) -> Sequence[Cell]:
    numbers = (rule.groups, *(getattr(rule.findings, change) for change in changes))
    return (
        rule.rule,
        severity_cell(rule.severity),
        *(f"{number:,}" for number in numbers),
        hidden.at_risk(rule.money),
        f"{rule.scanned:,}",
        rule.engine,
    )


def runs(
    out: Output,
    job: Annotated[str | None, typer.Argument(help="Only runs of this job.", metavar="JOB")] = None,
    config: Config = FILE,
    limit: Annotated[int, typer.Option("--limit", help="The maximum number to list.", min=1, metavar="N")] = 20,
) -> None:
    from notifications.wording.words import plural, to_the_second
    from reconcile.cli.opening import load_for_state
    from reconcile.views import runs as views

    with load_for_state(config) as application:
        if job is not None:
            application.job(job)
        listed, timezone = views.listed(application, job, limit), application.project.timezone
        unchanged = views.unchanged(application, job, limit)
    if out.json:
        out.emit([view.to_json() for view in listed])
        return
    if not listed:
        out.note("No runs yet; use `reconcile run` to start one.")
        return
    rows = [
        (to_the_second(row.slot, timezone), row.job, row.status, str(row.attempt), row.id)
        for row in (view.row for view in listed)
    ]
    out.table(("slot", "job", "status", "attempt", "run"), rows, right=(3,), usual={3: "1"})
    for folded in unchanged:
        out.note(f"{folded.day}  {folded.job}: {plural(folded.runs, 'older run', 'older runs')}, nothing changed")
