"""Every error class carries its exit code, or is on a list of errors that never reach a user, each with its reason."""

import importlib
import pkgutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import connectors
import notifications
import reconcile
import rules
from connectors.errors import ConnectorError, SourceUnavailable
from notifications.errors import ChannelError
from reconcile.cli import exits
from reconcile.errors import Failed, Refused, Wrong
from rules.engines.base import Unanswerable
from tests.support.docs import ROOT, rows

INTERNAL = {
    "a defect: no input of a user leads there": (
        "reconcile.findings.states.MoveRefused",
        "reconcile.findings.states.TransitionRefused",
        "reconcile.journal.holds.HoldConflict",
        "reconcile.messages.outbox.MessageConflict",
        "reconcile.web.problems.Defect",
        "reconcile.web.site.RouteUndeclared",
    ),
    "a run reports it as the failure of its rule, and goes on": (
        "reconcile.detection.detect.RuleUnchecked",
        "reconcile.detection.bounded.RuleEnded",
        "reconcile.detection.bounded.RuleStalled",
        "reconcile.detection.bounded.RuleTimedOut",
        "reconcile.detection.plausible.DatasetEmptied",
        "reconcile.detection.plausible.FarFewerCompared",
        "reconcile.detection.plausible.FewerCompared",
        "reconcile.runs.renaming.AnotherId",
        "reconcile.runs.renaming.FormerIdMissing",
        "reconcile.runs.renaming.IdsUnsteady",
        "reconcile.detection.plausible.NothingChecked",
        "reconcile.detection.plausible.MuchUnreadable",
        "reconcile.detection.plausible.Unlikely",
    ),
    "a mistake of the configuration, told with its place; of a rule in Python, a ValueError": (
        "reconcile.schedule.schedules.ScheduleRefused",
        "rules.engines.select.SelectRefused",
        "rules.document.mistakes.RuleError",
        "rules.expressions.parser.ExpressionError",
        "rules.binding.fitted.DoesNotFit",
    ),
    "`serve` handles it and goes on, or ends as asked": (
        "notifications.slack.interactions.InteractionRefused",
        "reconcile.service.serve.ServerStopping",
        "reconcile.service.serve.StateMoved",
    ),
    "execution turns it into the result of a plan": (
        "connectors.target.ReceiptStands",
        "connectors.target.RowsDiffer",
        "reconcile.cleaning.execution.leaving.DatasetRemoved",
        "reconcile.cleaning.execution.verdict.NotAsPlanned",
        "reconcile.cleaning.execution.verdict.Unassigned",
    ),
    "its connector or channel turns it into an error of its own, or reads another way": (
        "connectors.airtable.cleaning.changes.Forgotten",
        "connectors.airtable.failures.Failure",
        "connectors.airtable.values.Unreadable",
        "connectors.airtable.values.Unwritable",
        "connectors.disk.cleaning.contents.Unwritable",
        "connectors.workbook.editing.refusals.NotEditable",
        "connectors.files.json.values.NotJson",
        "connectors.google_sheets.cleaning.replacing.Unwritable",
        "connectors.google_sheets.cleaning.writing.Overtaken",
        "connectors.google_sheets.client.WriteLost",
        "connectors.http.client.OutOfTime",
        "connectors.http.failures.Again",
        "connectors.outbound.Interrupted",
        "connectors.outbound.NotConnected",
        "connectors.outbound.NotPublic",
        "connectors.sql.cleaning.dialect.NotCommitted",
        "connectors.sql.cleaning.dialect.Unwritable",
        "connectors.sql.values.Misfit",
        "connectors.workbook.blocks.FooterMissing",
        "connectors.workbook.blocks.NeedsCellReader",
        "connectors.workbook.blocks.NotInWorkbook",
        "connectors.workbook.blocks.TooMuch",
        "connectors.workbook.table.SheetEmpty",
        "connectors.workbook.xls.Locked",
        "connectors.workbook.xlsx.CellsMissing",
    ),
    "the verifier reports it with an exit code of its own": (
        "reconcile.audit.verifier.Broken",
        "reconcile.audit.verifier.Unreadable",
    ),
    "the solver takes another way, or the rule is refused": (
        "rules.pairs.assignment.optimum.Refuted",
        "rules.pairs.assignment.optimum.TooMuchWork",
    ),
    "a run that would be incremental is full, and says why": (
        "rules.groups.scope.Unscoped",
        "rules.kinds.similar.index.document.Unreadable",
    ),
    "it fails a test": (
        "connectors.conformance.promises.ConformanceFailure",
        "notifications.conformance.ChannelConformanceFailure",
    ),
}
"""Errors without an exit code, by the reason why none reaches the end of a command."""


def name_of(error: type[Exception]) -> str:
    return f"{error.__module__}.{error.__qualname__}"


def below(error: type[Exception]) -> Iterator[type[Exception]]:
    for child in error.__subclasses__():
        yield child
        yield from below(child)


@pytest.fixture(scope="module")
def classes() -> dict[str, type[Exception]]:
    """The public exception classes of the four packages by name, in all their modules."""
    ours = (connectors, notifications, reconcile, rules)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for package in ours:
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                if not module.name.endswith("__main__") and "migrations" not in module.name:
                    importlib.import_module(module.name)
    names = tuple(f"{package.__name__}." for package in ours)
    return {
        name_of(error): error
        for error in below(Exception)
        if error.__module__.startswith(names) and not error.__name__.startswith("_")
    }


def test_every_error_carries_its_exit_code_or_never_reaches_a_user(classes: dict[str, type[Exception]]) -> None:
    without_code = {name for name, error in classes.items() if not hasattr(error, "exit_code")}

    assert len(classes) > 150
    assert without_code == {name for names in INTERNAL.values() for name in names}


def test_the_codes_that_errors_carry_are_those_of_a_failed_command(classes: dict[str, type[Exception]]) -> None:
    documented = {int(row[0]) for row in rows(ROOT / "docs" / "cli.md", "## Exit codes")}
    carried = {error.exit_code for error in classes.values() if hasattr(error, "exit_code")}

    assert carried == {exits.WRONG, exits.FAILED, exits.REFUSED}
    assert carried <= documented


@pytest.mark.parametrize(
    ("base", "code"),
    [(Wrong, 2), (Failed, 3), (Refused, 4), (ConnectorError, 3), (ChannelError, 3), (Unanswerable, 3)],
)
def test_an_error_of_a_plug_in_gets_the_code_and_the_sentence_of_its_base(
    base: type[Exception], code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    error = type("LedgerClosed", (base,), {})("The ledger is closed; open it")

    assert exits.tell(error) == code
    assert capfd.readouterr().err == "The ledger is closed; open it\n"


def test_an_error_of_a_plug_in_says_that_its_whole_source_is_unavailable() -> None:
    error = type("LedgerClosed", (SourceUnavailable,), {})("ledger", "The ledger is closed; open it")

    assert (error.reaction, exits.tell(error)) == (SourceUnavailable.reaction, exits.FAILED)


@pytest.mark.parametrize("code", [None, "2", 0, 1, 130])
def test_an_error_with_no_code_of_a_failed_command_is_a_defect(
    code: object, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Such an attribute belongs to another library, whose messages can hold data."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    error = type("Elsewhere", (Exception,), {"exit_code": code})("a value of a record")

    assert exits.tell(error) == exits.DEFECT
    assert "a value of a record" not in capfd.readouterr().err
