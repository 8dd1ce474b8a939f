"""The demo: build the shop, run its job, show the message, run again, and clean."""

from __future__ import annotations

import datetime as dt
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reconcile.cli.output import Output
from reconcile.telemetry import visible

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.findings.shown import Finding

LARGEST = 3


def play(folder: Path | None, out: Output) -> Path:
    """Run the demo in `folder` (created; must be empty), or in a temporary folder that is kept; return the folder."""
    from reconcile.cli.opening import load
    from reconcile.config.scaffold import empty_folder
    from reconcile.demo import shop

    place = folder or Path(tempfile.mkdtemp(prefix="reconcile-demo-"))
    empty_folder(place)
    now = dt.datetime.now(dt.UTC).replace(microsecond=0)
    _heading(out, "A small shop: charges in SQLite, contacts in a workbook, payments in two bank files")
    shop.build(place, now)
    with load(place / "reconcile.yaml") as application:
        from reconcile.cli.running import tell

        silent = Output(quiet=True, no_color=out.no_color)  # its hints are for the user's own runs
        _heading(out, "The nightly job, first run: everything that is already wrong")
        tell(application.run("nightly", slot=now - dt.timedelta(hours=2)), silent, application, show=True)
        _largest(application, application.job("nightly").rules, out)
        _heading(out, "The message the team would get in Slack")
        out.block(_slack(application))
        _heading(out, "The same job an hour later: nothing is counted or reported twice")
        tell(application.run("nightly", slot=now - dt.timedelta(hours=1)), silent, application, show=True)
        order = shop.charge_again(place, now)
        _heading(out, f"Then a client times out once more and charges order {order} twice: only that is reported")
        tell(application.run("nightly", slot=now), silent, application, show=True)
        out.block(_last_message(place / "messages.txt"))
        _clean(application, out)
    _heading(out, "Try next")
    out.block(
        f"cd {visible.line(str(place))}\n{_path()}"
        "reconcile findings --rule double-charge     open findings\n"
        "reconcile show ID                           one finding, its records, its history\n"
        "reconcile dismiss ID --note 'two parcels'   mark it as not a duplicate\n"
        "reconcile plan                              the cleaning plan for the other twins\n"
        "reconcile explain double-charge             the engine, why it is used, and the SQL\n"
        "reconcile audit verify                      verify the audit log\n"
        "reconcile serve                             the console, with these findings\n"
        "cat reconcile.yaml messages.txt             the rules and the messages"
    )
    return place


def _clean(application: Application, out: Output) -> None:
    """Two people entered the same customer: plan, approve and undo."""
    from reconcile.cli import planning
    from reconcile.cli.people import person
    from reconcile.decisions.request import DecisionRequest
    from reconcile.store.findings import FindingFilter, find

    _heading(out, "Two people entered the same customer: the cleaning plan, shown before anything is changed")
    application.run("customers")
    with application.store.read() as tx:
        twin = find(tx, FindingFilter(rules=("twin-customer",)))[0]
    planning.tell(application, out, "twin-customer", [twin.id])
    decisions = application.decisions(person())
    undo = DecisionRequest("undo", twin.id)
    _heading(out, "A person approves exactly that plan; it is executed once, even after a crash")
    out.say(f"$ reconcile approve {twin.id}")
    out.say(decisions.approve(twin.id).sentence)
    _heading(out, "The undo: every field that has not changed since the cleaning is restored")
    out.say(f"$ reconcile undo {twin.id}")
    for sentence in decisions.decide(undo).sentences:
        out.say(sentence)


def _last_message(path: Path) -> str:
    """Return the last message in the file, without the lines that mark its start and end."""
    lines = path.read_text(encoding="utf-8").rstrip().splitlines()
    begin = max(number for number, line in enumerate(lines) if line.startswith("── notice "))
    return "\n".join(lines[begin + 1 : -1])


def _path() -> str:
    """Return the command to type first if `reconcile` is not on the PATH, as after `make demo`."""
    program = Path(sys.argv[0]).absolute()
    is_on_path = shutil.which("reconcile") is not None or program.name != "reconcile"
    return "" if is_on_path else f"export PATH={visible.line(str(program.parent))}:$PATH\n"


def _heading(out: Output, text: str) -> None:
    out.say("")
    out.heading(f"── {text}")


def _largest(application: Application, rules: Sequence[str], out: Output) -> None:
    from reconcile.store.findings import FindingFilter, find

    with application.store.read() as tx:
        for name in rules:
            rule, findings = application.project.rules[name], find(tx, FindingFilter(rules=(name,)))
            out.say("")
            out.say(f"{name}: {_sum(findings)}; the largest:")
            for finding in sorted(findings, key=lambda f: (-max(f.money.values(), default=0), f.id))[:LARGEST]:
                out.say(f"  {_line(finding, getattr(rule, 'span', None))}")


def _sum(findings: list[Finding]) -> str:
    from notifications.wording.words import money, plural
    from rules.values import of

    risk = money(of(finding.money for finding in findings))
    return f"{plural(len(findings), 'group', 'groups')}{f', {risk} at risk' if risk else ''}"


def _line(finding: Finding, span: object) -> str:
    from notifications.wording.words import money
    from reconcile.findings.identity import public

    ids = " + ".join(str(public(member.id[0])) for member in finding.members)
    apart = ""
    first, last = finding.span or (None, None)
    if span is not None and isinstance(first, dt.datetime) and isinstance(last, dt.datetime):
        apart = f", {(last - first).total_seconds():.1f} s apart"
    return f"{finding.id}  {ids}  {money(finding.money)}{apart}".rstrip()


def _slack(application: Application) -> str:
    from notifications.slack.channel import SlackChannel, SlackSettings
    from reconcile.messages.previews import next_message

    settings = SlackSettings.model_validate({"type": "slack", "token": "xoxb-demo", "channel": "#finance-ops"})
    with application.store.read() as tx:
        message = next_message(tx, application.project, application.job("nightly"), "team", is_new=True)
    assert message is not None  # noqa: S101 - the job just ran
    shown = SlackChannel("slack", settings, application.project.directory).preview(message[0])
    text, _, thread = shown.partition("\nIn its thread:")
    return f"{text}\n(and a thread with {thread.count('•')} more groups)" if thread else text
