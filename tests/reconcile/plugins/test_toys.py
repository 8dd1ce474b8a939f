"""Another package adds a kind, a connector, a channel and an action; all are used from YAML to undo like ours."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from connectors.base import Source
from connectors.target import Target
from reconcile.app import Application
from reconcile.cleaning.actions.base import AsksPerson, NotPlannable
from reconcile.config import load
from reconcile.detection import detect
from reconcile.detection.subject import subjects_of
from reconcile.doctor import checking
from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from reconcile.runs import explanation
from reconcile.runs.check import RunOrder
from reconcile.store import findings
from reconcile.views.examples import run as run_examples
from tests.support.folders import ROOT
from tests.toys import install
from tests.toys.channel import LETTERS
from tests.toys.sheet import BOOKS, Book, MemorySheet

CONFIGURATION = """\
version: 1
state: sqlite:///state.db
sources:
  office: {type: memory_sheet, book: office, together: %(together)s, guarded: %(guarded)s}
  exports: {type: files, root: .}
datasets:
  payments: {source: office, sheet: payments, id: id}
  invoices: {source: exports, path: invoices.csv, id: number}
rules:
  paid-too-often:
    kind: overcounted
    dataset: payments
    against: invoices
    reference: reference
    clean: %(clean)s
    limits: {records: 10, share: 100%%}
channels: {decisions: {type: letterbox, box: decisions}}
jobs: {nightly: {rules: all, notify: [decisions], existing: report}}
"""
INVOICES = "number,reference\n1,A-17\n2,B-8\n3,B-8\n"
PAYMENTS = {
    "p1": {"id": "p1", "reference": "A-17", "note": None},
    "p2": {"id": "p2", "reference": "A-17", "note": None},
    "p3": {"id": "p3", "reference": "B-8", "note": None},
    "p4": {"id": "p4", "reference": "B-8", "note": None},
    "p5": {"id": "p5", "reference": "C-1", "note": None},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose kinds come from an installed package."""
    install(tmp_path, monkeypatch)
    (tmp_path / "invoices.csv").write_text(INVOICES)
    BOOKS["office"] = Book({"payments": {key: dict(row) for key, row in PAYMENTS.items()}})
    LETTERS.clear()
    return tmp_path


def opened(
    folder: Path, clean: str = "{action: stamp, into: note}", together: str = "true", guarded: str = "true"
) -> Application:
    path = folder / "reconcile.yaml"
    path.write_text(CONFIGURATION % {"clean": clean, "together": together, "guarded": guarded})
    return Application(load(path, {}))


@pytest.fixture
def office(folder: Path) -> Iterator[Application]:
    with closing(opened(folder)) as application:
        yield application


def notes() -> dict[str, str | None]:
    return {key: row["note"] for key, row in BOOKS["office"].sheets["payments"].items()}


def known(application: Application) -> list[Finding]:
    with application.store.read() as tx:
        return findings.find(tx)


@pytest.mark.slow
def test_a_rule_of_a_new_kind_is_found_told_planned_cleaned_and_undone(office: Application) -> None:
    before = notes()

    report = office.run("nightly")

    assert report.status == "succeeded"
    [finding] = known(office)
    assert (finding.kind, finding.state, finding.records) == ("overcounted", State.AWAITING, 2)
    [letter] = LETTERS["decisions"].values()
    assert "A-17" in letter
    assert "keep p1, surplus p2" in letter
    assert finding.id in letter

    decisions = office.decisions("ann")
    answer = decisions.approve(finding.id)

    assert answer.ok, answer.sentence
    assert notes() == before | {"p2": "twin of p1"}
    assert [item.state for item in known(office)] == [State.CLEANED]

    decisions.undo(finding.id)

    assert notes() == before


@pytest.mark.slow
def test_a_second_run_reports_nothing_twice(office: Application) -> None:
    office.run("nightly", slot="2026-11-21T05:00:00Z")

    office.run("nightly", slot="2026-11-22T05:00:00Z")

    assert len(known(office)) == 1
    assert len(LETTERS["decisions"]) == 1


@pytest.mark.slow
def test_a_plan_is_stale_once_the_other_dataset_explains_the_records(office: Application, folder: Path) -> None:
    office.run("nightly")
    [finding] = known(office)
    (folder / "invoices.csv").write_text(f"{INVOICES}4,A-17\n")

    office.run("nightly")

    assert [item.state for item in known(office)] == [State.RESOLVED]
    assert notes()["p2"] is None
    assert finding.state is State.AWAITING


@pytest.mark.slow
def test_records_can_be_deleted_from_a_sheet_and_put_back(folder: Path) -> None:
    with closing(opened(folder, "{action: delete}")) as office:
        office.run("nightly")
        [finding] = known(office)
        decisions = office.decisions("ann")

        decisions.approve(finding.id)

        assert sorted(notes()) == ["p1", "p3", "p4", "p5"]

        decisions.undo(finding.id)

        assert BOOKS["office"].sheets["payments"] == PAYMENTS


@pytest.mark.slow
def test_a_target_that_cannot_change_rows_together_gets_no_plan_that_needs_it(folder: Path) -> None:
    BOOKS["office"].sheets["payments"]["p6"] = {"id": "p6", "reference": "A-17", "note": None}
    with closing(opened(folder, together="false")) as office:
        office.run("nightly")
        [finding] = known(office)

        with pytest.raises(AsksPerson, match="cannot change several rows together"):
            office.decisions("ann").approve(finding.id)

        assert finding.state is State.OPEN
        assert set(notes().values()) == {None}


@pytest.mark.slow
def test_a_target_that_keeps_no_row_unchanged_meanwhile_is_not_cleaned(folder: Path) -> None:
    with closing(opened(folder, guarded="false")) as office:
        office.run("nightly")
        [finding] = known(office)

        with pytest.raises(NotPlannable, match="cannot lock a row"):
            office.decisions("ann").approve(finding.id)

        assert set(notes().values()) == {None}


@pytest.mark.slow
@pytest.mark.parametrize(("together", "transactions"), [("true", 1), ("false", 2)])
def test_plans_share_a_transaction_only_where_all_or_none_of_it_is_kept(
    folder: Path, together: str, transactions: int
) -> None:
    BOOKS["office"].sheets["payments"]["p6"] = {"id": "p6", "reference": "D-2", "note": None}
    BOOKS["office"].sheets["payments"]["p7"] = {"id": "p7", "reference": "D-2", "note": None}
    with closing(opened(folder, together=together)) as office:
        office.run("nightly")
        for finding in known(office):
            office.decisions("ann").approve(finding.id, later=True)

        office.clean_due()

    assert {key for key, note in notes().items() if note} == {"p2", "p7"}
    assert BOOKS["office"].transactions == transactions


def test_check_and_explain_speak_of_a_new_kind(office: Application) -> None:
    looks = {look.subject: look.sentence for look in checking.look(office)}
    rule = office.rule("paid-too-often")
    choice = detect.explain(rule, subjects_of(rule, office.subject), detect.dt.datetime.now(detect.dt.UTC))

    assert looks["rule paid-too-often"].startswith("fits; embedded")
    assert choice.statements == ("-- compare reference of payments and invoices",)


def test_a_new_kind_explains_itself_in_words_with_samples(office: Application) -> None:
    rule = office.rule("paid-too-often")
    order = RunOrder.to_read(office.project, rule.name, detect.dt.datetime.now(detect.dt.UTC))

    answer = explanation.explain(rule, order, office.readers())

    assert answer.words["counts"] == ["records by reference, against invoices"]
    assert answer.words["cleans"][0] == "runs the action `stamp` on the surplus records"
    assert [sample.id for sample in answer.samples["payments"]] == [("p1",), ("p2",), ("p3",)]


def test_a_dry_run_of_a_new_kind_writes_nothing(office: Application) -> None:
    report = office.run("nightly", dry_run=True)

    assert [finding["key"] for finding in report.to_json()["findings"]] == [{"reference": "A-17"}]
    assert set(notes().values()) == {None}
    assert LETTERS == {}


def test_mistakes_in_a_rule_of_a_new_kind_are_told_at_their_place(folder: Path) -> None:
    path = folder / "reconcile.yaml"
    text = CONFIGURATION % {"clean": "{action: stamp, into: note}", "together": "true", "guarded": "true"}
    path.write_text(text.replace("against: invoices", "against: invoces"))

    with pytest.raises(Exception, match="there is no dataset `invoces`"):
        load(path, {})


def test_examples_of_a_new_kind_name_the_records_of_each_of_its_datasets(folder: Path) -> None:
    examples = """\
    examples:
      - name: one invoice, two payments
        dataset: [{id: p1, reference: A}, {id: p2, reference: A}, {id: p3, reference: B}]
        against: [{number: 1, reference: A}]
        expect: [{keep: p1, surplus: {payments: p2}}]
      - name: an invoice for each
        given:
          payments: [{id: p1, reference: A}, {id: p2, reference: A}]
          invoices: [{number: 1, reference: A}, {number: 2, reference: A}]
        expect: []
      - name: wrong
        dataset: [{id: p1, reference: A}, {id: p2, reference: A}]
        expect: []
"""
    opened(folder).close()
    path = folder / "reconcile.yaml"
    text = path.read_text(encoding="utf-8").replace(
        "    reference: reference\n", f"    reference: reference\n{examples}"
    )
    path.write_text(text, encoding="utf-8")

    with closing(Application(load(path, {}))) as application:
        report = run_examples(application, [])

    assert report.mistakes == []
    assert list(report.lines()) == [
        "ok      paid-too-often: one invoice, two payments (embedded)",
        "ok      paid-too-often: an invoice for each (embedded)",
        f"failed  paid-too-often: wrong, {path}:25",
        "        unexpected  duplicate: keep p1, surplus p2",
    ]


def test_the_sheet_is_a_source_and_a_target() -> None:
    BOOKS["office"] = Book({"payments": dict(PAYMENTS)})
    sheet = MemorySheet("office", MemorySheet.Settings(type="memory_sheet", book="office"), Path())

    assert isinstance(sheet, Source)
    assert isinstance(sheet, Target)


@pytest.mark.slow
def test_no_line_of_the_product_names_a_kind_a_connector_a_channel_or_an_action_of_the_toys() -> None:
    toys = {"overcounted", "mirrored", "resembling", "memory_sheet", "letterbox", "stamp"}

    naming = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for package in ("reconcile", "rules", "connectors", "notifications")
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in toys
    }

    assert naming == set()
