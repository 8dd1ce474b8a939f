"""Runs of a rule over several datasets: counted, checked and masked for each of them, and remembered by its name."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from reconcile.app import Application
from reconcile.config import load
from reconcile.decisions import decide
from reconcile.findings.shown import Finding
from reconcile.findings.states import State
from reconcile.masking.personal import Masking
from reconcile.service.triggers import sources_of
from reconcile.store import findings

pytestmark = pytest.mark.slow

CONFIGURATION = """\
version: 1
sources: {files: {type: files, root: .}}
datasets:
  crm: {source: files, path: crm.csv, id: id, pii: [email]}
  shop: {source: files, path: shop.csv, id: no, pii: [mail]}
rules:
  twins:
    kind: duplicates
    datasets: [crm, shop]
    columns: {shop: {email: mail}}
    where: {shop: status = 'open'}
    key: [email]
jobs: {nightly: {rules: all, existing: report}}
"""
CRM = ("id,email", "1,ann@x.org", "2,bob@x.org", "3,eve@x.org")
SHOP = ("no,mail,status", "1,ann@x.org,open", "2,bob@x.org,open", "3,kim@x.org,open")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "crm.csv", *CRM)
    write(tmp_path, "shop.csv", *SHOP)
    return tmp_path


def write(folder: Path, name: str, *lines: str) -> None:
    (folder / name).write_text("\n".join(lines) + "\n")


@contextmanager
def project(folder: Path, change: Callable[[str], str] = str) -> Iterator[Application]:
    path = folder / "reconcile.yaml"
    path.write_text(change(CONFIGURATION))
    with closing(Application(load(path, {}))) as application:
        yield application


def run(folder: Path, change: Callable[[str], str] = str) -> dict[str, Any]:
    """The rule's part of the report of a run."""
    with project(folder, change) as application:
        [rule] = application.run("nightly").to_json()["rules"]
    return dict(rule)


def known(application: Application) -> list[Finding]:
    with application.store.read() as tx:
        return sorted(findings.find(tx), key=lambda finding: str(finding.key))


def test_a_finding_holds_records_of_each_dataset_with_the_same_id(folder: Path) -> None:
    with project(folder) as application:
        application.run("nightly")

        [ann, bob] = known(application)

    assert [(member.role, member.dataset, member.id) for member in ann.members] == [
        ("keeper", None, ("1",)),
        ("surplus", "shop", ("1",)),
    ]
    assert bob.datasets == ("crm", "shop")


def test_records_are_counted_for_each_dataset(folder: Path) -> None:
    write(folder, "shop.csv", *SHOP, "4,,open", "5,x@x.org,closed")

    report = run(folder)

    assert (report["read_of"], report["scanned_of"]) == ({"crm": 3, "shop": 5}, {"crm": 3, "shop": 4})
    assert report["skipped"] == [{"column": "mail", "reason": "null", "records": 1, "dataset": "shop"}]


def test_a_dataset_that_is_suddenly_empty_fails_the_rule_though_the_other_has_records(folder: Path) -> None:
    run(folder)
    write(folder, "shop.csv", SHOP[0])

    report = run(folder)

    assert "Dataset 'shop' is empty, but had 3 records in the previous run" in report["failed"]


def test_a_dataset_all_of_whose_records_are_skipped_fails_the_rule(folder: Path) -> None:
    write(folder, "shop.csv", SHOP[0], "1,,open", "2,,open")

    report = run(folder)

    assert "every record of dataset 'shop' was skipped (mail is null in 2 records)" in report["failed"]


def test_a_dataset_none_of_whose_records_takes_part_fails_the_rule(folder: Path) -> None:
    write(folder, "shop.csv", SHOP[0], "1,ann@x.org,void")

    report = run(folder)

    assert "none of 1 records of dataset 'shop' matches its `where`" in report["failed"]


def test_a_dataset_that_skips_many_more_records_than_before_fails_a_rule_that_finds_less(folder: Path) -> None:
    run(folder)
    write(folder, "shop.csv", SHOP[0], "1,ann@x.org,open", "2,,open", "3,,open")

    report = run(folder)

    assert "can't compare 2 of 3 records" in report["failed"]


def test_a_personal_column_is_masked_in_the_key_and_in_the_records_of_each_dataset(folder: Path) -> None:
    with project(folder) as application:
        hidden = Masking.of(application.project, "crm", "twins")

    assert hidden.hides_of_key("email", ("crm", "shop"))
    assert (hidden.side("shop").hides("email"), hidden.side(None).hides("email")) == (True, True)
    assert not hidden.hides_of_key("status", ("crm", "shop"))


def test_a_job_reads_the_sources_of_all_datasets_of_its_rules(folder: Path) -> None:
    def apart(text: str) -> str:
        return text.replace("root: .}}", "root: .}, more: {type: files, root: .}}").replace(
            "shop: {source: files", "shop: {source: more"
        )

    with project(folder, apart) as application:
        job = application.project.jobs["nightly"]

        assert sources_of(application.project, job) == ("files", "more")


def test_a_renamed_dataset_has_new_records_in_the_findings_of_the_rule(folder: Path) -> None:
    def renamed(text: str) -> str:
        return text.replace("shop:", "store:").replace(", shop]", ", store]")

    with project(folder) as application:
        application.run("nightly")
        decide.dismiss(application.store, known(application)[0].id, actor="ann")

    with project(folder, renamed) as application:
        report = application.run("nightly").to_json()["rules"][0]
        ann, bob = known(application)

    assert report["edited"]
    assert [member.dataset for member in bob.members] == [None, "store"]
    assert (ann.state, bob.state) == (State.OPEN, State.OPEN)


def test_findings_survive_another_order_of_records_and_columns(folder: Path) -> None:
    with project(folder) as application:
        application.run("nightly")
        before = [finding.fingerprint for finding in known(application)]
    write(folder, "crm.csv", "email,id", *(",".join(reversed(line.split(","))) for line in reversed(CRM[1:])))

    assert run(folder)["findings"]["known"] == 2
    with project(folder) as application:
        assert [finding.fingerprint for finding in known(application)] == before
