"""`run`, `runs`: run jobs, and list past runs."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reconcile.cli import exits, signals
from reconcile.cli.output import FILE, AsJson, Config, NoColor, Output, Quiet, Show
from reconcile.telemetry import visible

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.runs.report import RunReport

_SHOWN = 3
_TOLD = ("new", "grown", "reopened", "woken")
_Ranked = tuple[Decimal, int, int, Mapping[str, Any]]

_CHANGES = ("new", "grown", "reopened", "known", "resolved")
"""The counts of findings in a run's table."""


def register(app: typer.Typer) -> None:
    app.command(help="Run jobs now: all of them, or the named ones.")(run)
    app.command(help="List the latest runs.")(runs)


def run(
    jobs: Annotated[list[str] | None, typer.Argument(help="The jobs; by default all of them.", metavar="JOB")] = None,
    config: Config = FILE,
    rule: Annotated[list[str] | None, typer.Option("--rule", help="Only this rule; may be repeated.")] = None,
    slot: Annotated[
        str | None,
        typer.Option(
            "--slot", help="The due time of this run; triggering it again returns the first run.", metavar="T"
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only detect: store nothing, notify nobody, take no lease.")
    ] = False,
    fail_on: Annotated[
        str | None,
        typer.Option("--fail-on", help="Exit with 1 if a finding this severe is open.", metavar="SEVERITY"),
    ] = None,
    show: Show = False,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load
    from rules.models import parse_severity

    out = Output(json, quiet or json, no_color)
    try:
        severity = None if fail_on is None else parse_severity(fail_on)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--fail-on") from error
    with load(config) as application, _progress(out) as watch, _only_json_on_standard_output(json=json):
        with_lists = json or severity is not None
        reports = application.run_all(jobs or (), rule or (), slot=slot, dry_run=dry_run, watch=watch, lists=with_lists)
        if application.held:
            out.note(application.held)
    if json:
        documents = [report.to_stream() for report in reports]
        if not show:
            documents = [document | _hidden(application, document) for document in documents]
        out.emit(documents[0] if len(documents) == 1 else documents)
    else:
        for report in reports:
            tell(report, out, None if show else application)
    raise typer.Exit(exits.first_that_applies(*(_code(report, severity) for report in reports)))


def _only_json_on_standard_output(*, json: bool) -> contextlib.AbstractContextManager[Any]:
    """With --json, redirect a channel that writes to the terminal to standard error, like everything but the JSON."""
    return contextlib.redirect_stdout(sys.stderr) if json else contextlib.nullcontext()


def _code(report: RunReport, severity: Any) -> int:
    open_findings = exits.FOUND if severity is not None and report.has_open(severity) else exits.DONE
    failed = exits.FAILED if report.failed else exits.DONE
    return exits.first_that_applies(exits.REFUSED if report.refused else exits.DONE, failed, open_findings)


@contextlib.contextmanager
def _progress(out: Output) -> Iterator[Callable[[str, int], None]]:
    """Show a moving line on a terminal, else one line per rule, nothing with --quiet. Also checks for Ctrl-C."""
    with contextlib.ExitStack() as open_while_it_runs:
        tell = open_while_it_runs.enter_context(_bar(out)) if out.is_interactive else _lines(out)

        def watch(rule: str, read: int) -> None:
            signals.leave()
            tell(rule, read)

        yield watch


def _lines(out: Output) -> Callable[[str, int], None]:
    begun: set[str] = set()

    def tell(rule: str, _read: int) -> None:
        if rule not in begun:
            begun.add(rule)
            out.note(f"checking {rule}")

    return tell


@contextlib.contextmanager
def _bar(out: Output) -> Iterator[Callable[[str, int], None]]:
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TextColumn("{task.fields[read]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=out.progress(), transient=True) as bar:
        task = bar.add_task("starting", total=None, read="")

        def tell(rule: str, read: int) -> None:
            bar.update(task, description=visible.line(f"checking {rule}"), read=f"{read:,} records" if read else "")

        yield tell


def _hidden(application: Application, report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the findings and sums of a report without personal data."""
    from reconcile.messages.personal import Hidden
    from rules.packed import Packed

    project = application.project
    findings = Packed(Hidden.of(project, item["dataset"], item["rule"]).finding(item) for item in report["findings"])
    return {"rules": [_without_amounts(application, item) for item in report["rules"]], "findings": findings or []}


def _without_amounts(application: Application, rule: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a rule's part of a report, hiding its sum if that is personal and of one finding."""
    from notifications.base import MASK
    from reconcile.messages.personal import Hidden

    hidden, amounts = Hidden.of(application.project, rule["dataset"], rule["rule"]), rule.get("money", {})
    if not amounts or hidden.risk(amounts, _undecided(rule)):
        return rule
    return {**rule, "money": dict.fromkeys(amounts, MASK)}


def _undecided(rule: Mapping[str, Any]) -> int:
    """Return the number of findings in the sum of a rule's part of a report."""
    return sum(rule["findings"][name] for name in ("new", "grown", "reopened", "known"))


def tell(report: RunReport, out: Output, hiding: Application | None = None) -> None:
    """Print a run: one line per rule, then the next steps; personal data of the project in `hiding` is hidden."""
    from reconcile.schedule.slots import slot_text

    out.say(f"{report.job}  {slot_text(report.slot)}  {_status(report)}")
    if report.status == "running":
        return
    checked = [rule for rule in report.rules if "failed" not in rule]
    rows = [_row(rule if hiding is None else _without_amounts(hiding, rule)) for rule in checked]
    headings = ("rule", "severity", "groups", *_CHANGES, "at risk", "records", "engine")
    if rows:
        out.table(headings, rows, right=(2, 3, 4, 5, 6, 7, 8, 9))
    for why, names in _failures(report).items():
        out.say(f"could not check {', '.join(names)}: {why}")
    largest = _largest(report, hiding)
    for rule in report.rules:
        for sentence in largest.get(rule["rule"], ()):
            out.say(f"{rule['rule']}: {sentence}")
        _details(rule, report, out)
    for channel in report.sent:
        out.say(f"notified {channel}")
    for sentence in report.undelivered:
        out.say(f"not delivered yet: {sentence}")
    if report.watchdog is not None:
        out.note(report.watchdog)
    if report.run is not None and any(rule.get("groups") for rule in report.rules):
        out.note("Next: reconcile findings, reconcile show ID, reconcile dismiss ID")


def _largest(report: RunReport, hiding: Application | None) -> Mapping[str, list[str]]:
    """Return a dry run's news of each rule: findings with the most money or records, and the number of others."""
    from heapq import nlargest

    counts = Counter[str]()
    largest = defaultdict[str, list[_Ranked]](list)
    for place, finding in enumerate(report.findings if report.run is None else ()):  # another run has told people
        if finding["change"] in _TOLD:
            counts[finding["rule"]] += 1
            money = max((amount.copy_abs() for amount in _amounts(finding).values()), default=Decimal(0))
            kept = [*largest[finding["rule"]], (money, finding["records"], -place, finding)]
            largest[finding["rule"]] = nlargest(_SHOWN, kept, key=itemgetter(0, 1, 2))
    lines = {rule: [_line(finding, hiding) for *_, finding in ranked] for rule, ranked in largest.items()}
    for rule, count in counts.items():
        if count > _SHOWN:
            lines[rule].append(f"and {count - _SHOWN:,} more; --json lists all")
    return lines


def _line(finding: Mapping[str, Any], hiding: Application | None) -> str:
    from reconcile.messages.personal import Hidden, names

    veil = Hidden() if hiding is None else Hidden.of(hiding.project, finding["dataset"], finding["rule"])
    shown, amounts = veil.finding(finding), _amounts(finding)
    key = " · ".join("" if value is None else str(value) for value in shown["key"].values())
    keeper, *surplus = names(shown)
    more = f" and {len(surplus) - _SHOWN:,} more" if len(surplus) > _SHOWN else ""
    risk = f", {veil.at_risk(amounts)} at risk" if amounts else ""
    return f"{finding['change']}  {key}: keep {keeper}, surplus {'; '.join(surplus[:_SHOWN])}{more}{risk}"


def _amounts(finding: Mapping[str, Any]) -> dict[str, Decimal]:
    return {currency: Decimal(amount) for currency, amount in finding["money"].items()}


def _details(rule: Mapping[str, Any], report: RunReport, out: Output) -> None:
    from reconcile.messages.notify import left_out

    for sentence in _cleaning(rule, report):
        out.say(sentence)
    for skipped in rule.get("skipped", ()):
        out.note(f"{rule['rule']}: {left_out(skipped)}")


def _cleaning(rule: Mapping[str, Any], report: RunReport) -> Iterator[str]:
    """Yield the cleanings of a rule's findings, those that wait for people, and the reasons for the rest."""
    outcome = rule.get("cleaning", {})
    words = {"cleaned": "cleaned", "proposed": "proposed", "stale": "skipped, records changed"}
    words |= {"would_clean": "would be cleaned", "would_propose": "would be proposed"}
    words |= {"waiting": "waiting", "failed": "failed", "quarantined": "in quarantine"}
    facts = [f"{outcome[name]:,} {word}" for name, word in words.items() if outcome.get(name)]
    if facts:
        undo = f"; undo: reconcile undo --run {report.run}" if outcome.get("cleaned") else ""
        look = "; review: reconcile plan" if outcome.get("proposed") else ""
        yield f"{rule['rule']}: {', '.join(facts)}{undo}{look}"
    for run, done in outcome.get("of_killed", {}).items():
        yield f"{rule['rule']}: {done:,} cleaned by {run}, which was killed; undo: reconcile undo --run {run}"
    if done := outcome.get("of_before"):
        undo = f"undo: reconcile undo --run {report.run}"
        yield f"{rule['rule']}: {done:,} cleaned as planned by earlier runs; {undo}"
    for why, number in outcome.get("not_planned", {}).items():
        yield f"{rule['rule']}: {number:,} not planned: {why}"
    alone = [outcome[name] for name in ("stopped", "uncounted", "next_run") if outcome.get(name)]
    for why in (*alone, *outcome.get("reasons", ())):
        yield f"{rule['rule']}: {why}"


def _failures(report: RunReport) -> Mapping[str, list[str]]:
    """Return each reason once, with the rules that could not be checked."""
    reasons: dict[str, list[str]] = {}
    for rule in report.rules:
        if "failed" in rule:
            reasons.setdefault(rule["failed"], []).append(rule["rule"])
    return reasons


def _status(report: RunReport) -> str:
    if report.status == "running":
        return f"is already running ({report.by}); nothing was done twice"
    if report.run is None:
        return "dry run: nothing was stored, nobody was notified"
    return f"{report.status}{', by an earlier run of this slot' if report.repeated else ''}  {report.run}"


def _row(rule: Mapping[str, Any]) -> Sequence[str]:
    from notifications.base import MASK
    from notifications.wording.words import money

    counts, amounts = rule["findings"], rule["money"]
    hidden = MASK in amounts.values()
    risk = MASK if hidden else money({currency: Decimal(amount) for currency, amount in amounts.items()})
    numbers = (rule["groups"], *(counts[name] for name in _CHANGES))
    return (
        rule["rule"],
        rule["severity"],
        *(f"{number:,}" for number in numbers),
        risk,
        f"{rule['scanned']:,}",
        rule["engine"],
    )


def runs(
    job: Annotated[str | None, typer.Argument(help="Only runs of this job.", metavar="JOB")] = None,
    config: Config = FILE,
    limit: Annotated[int, typer.Option("--limit", help="The maximum number to list.", min=1)] = 20,
    json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.schedule.slots import slot_text
    from reconcile.store import runs as stored

    out = Output(json, quiet, no_color)
    with load_for_state(config) as application:
        if job is not None:
            application.job(job)
        with application.memory.read() as tx:
            listed = stored.listed(tx, job, limit)
    if json:
        out.emit([{"run": row.id, "job": row.job, "slot": slot_text(row.slot), "status": row.status} for row in listed])
        return
    if not listed:
        out.note("No runs yet; use `reconcile run` to start one.")
        return
    rows = [(slot_text(row.slot), row.job, row.status, str(row.attempt), row.id) for row in listed]
    out.table(("slot", "job", "status", "attempt", "run"), rows, right=(3,))
