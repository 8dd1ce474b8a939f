"""A configuration becomes a project: resolved, complete, frozen, and named by what it says."""

import dataclasses
import datetime as dt
import hashlib
from pathlib import Path

import pytest

from reconcile.config import DEFAULT_JOB, ConfigProblems, load
from rules.engines.base import MoneyColumns
from rules.kinds.duplicates import DuplicatesRule
from tests.support.config import install_plugin, loaded, problems, write

READ = """\
sources: {shop: {type: files, root: data}}
datasets: {charges: {source: shop, path: a.csv, id: id}}
"""
RULE = "rules:\n  twice: {kind: duplicates, dataset: charges, key: [order_id]}\n"
SMALL = READ + RULE


def test_fifteen_lines_and_one_rule_are_a_whole_project(tmp_path: Path) -> None:
    project = loaded(tmp_path, SMALL)

    assert len(SMALL.splitlines()) <= 15
    assert list(project.jobs) == [DEFAULT_JOB]
    assert project.jobs[DEFAULT_JOB].rules == ("twice",)
    assert project.state.get_secret_value() == f"sqlite:///{tmp_path / 'reconcile.db'}"
    assert (project.version, project.timezone, project.memory) == (1, "UTC", 2_000_000_000)
    assert project.directory == tmp_path
    assert project.warnings == ()


def test_every_setting_arrives_where_it_belongs(tmp_path: Path) -> None:
    project = loaded(
        tmp_path,
        """\
version: 1
state: postgresql://db/state
timezone: Europe/Berlin
memory: 512MB
sources: {bank: {type: files}}
datasets:
  bank:
    source: bank
    path: "bank-*.csv"
    id: [_file, line]
    decimal: ","
    where: not void
    columns: {amount: decimal, booked: "date %d.%m.%Y", gross: {is: amount + fee}}
    money: {amount: amount, currency: EUR}
    pii: holder
rules:
  twice:
    kind: duplicates
    dataset: bank
    where: amount > 0
    key: [booked, {amount: [abs, {round: 2}]}]
    gap: {booked: 2d}
    keep: [most_complete, {prefer: {status: [paid, open]}}]
    severity: critical
    owner: "@finance"
    was: double
    except: [[1, 2]]
jobs:
  nightly: {rules: all, existing: report}
""",
    )

    bank, rule = project.datasets["bank"], project.rules["twice"]
    assert isinstance(rule, DuplicatesRule)
    assert (bank.id, bank.where, bank.pii) == (("_file", "line"), "not void", ("holder",))
    assert bank.settings.columns == {"amount": "decimal", "booked": "date %d.%m.%Y"}
    assert (bank.settings.decimal, bank.settings.timezone, bank.timezone) == (",", "Europe/Berlin", "Europe/Berlin")
    assert dict(bank.derived) == {"gross": "amount + fee"}
    assert rule.key[1].steps[1].argument == 2
    assert rule.gap is not None
    assert rule.gap.by == dt.timedelta(days=2)
    assert rule.except_ == ((("1",), ("2",)),)
    assert project.memory == 512_000_000
    assert project.state.get_secret_value() == "postgresql://db/state"
    assert (project.jobs["nightly"].rules, project.jobs["nightly"].existing) == (("twice",), "report")


def test_a_currency_is_a_column_where_there_is_one_of_that_name_and_a_code_elsewhere(tmp_path: Path) -> None:
    text = SMALL.replace("id: id", "id: id, money: {amount: total, currency: EUR}")

    money = loaded(tmp_path, text).datasets["charges"].money

    assert money is not None
    assert money.columns(["total"]) == MoneyColumns("total", currency="EUR")
    assert money.columns(["total", "EUR"]) == MoneyColumns("total", currency_column="EUR")


def test_without_jobs_everybody_is_told_of_every_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(tmp_path, monkeypatch)

    project = loaded(tmp_path, SMALL + "channels: {ops: {type: pager, token: x}}\n")

    assert project.jobs[DEFAULT_JOB].notify == ("ops",)


def test_included_files_add_to_the_sections(tmp_path: Path) -> None:
    files = {
        "reconcile.yaml": "include: ['rules/*.yaml', jobs.yaml]\n" + READ,
        "rules/b.yaml": RULE.replace("twice", "b"),
        "rules/a.yaml": "version: 1\n" + RULE.replace("twice", "a"),
        "jobs.yaml": "jobs: {nightly: {rules: [a, b]}}\n",
    }

    project = load(write(tmp_path, files), {})

    assert list(project.rules) == ["a", "b"]
    assert project.jobs["nightly"].rules == ("a", "b")


def test_an_included_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside.yaml").write_text(RULE)
    path = write(tmp_path / "inside", {"reconcile.yaml": "include: ['*.yaml']\n" + READ})
    (tmp_path / "inside" / "link.yaml").symlink_to(tmp_path / "outside.yaml")

    with pytest.raises(ConfigProblems, match="is outside this file's folder"):
        load(path, {})


def test_what_nothing_uses_is_a_warning_and_no_error(tmp_path: Path) -> None:
    text = SMALL + "  more: {kind: duplicates, dataset: charges, key: [order_id]}\njobs: {j: {rules: [twice]}}\n"
    text = text.replace("sources: {", "sources: {bank: {type: files}, ").replace(
        "datasets: {", "datasets: {idle: {source: shop, path: b.csv}, "
    )

    warnings = loaded(tmp_path, text).warnings

    assert [w.sentence for w in warnings] == [
        "no dataset reads source `bank`; use it or remove it",
        "no rule reads dataset `idle`; use it or remove it",
        "no job runs rule `more`; use it or remove it",
    ]


def test_a_file_that_cannot_be_read_brings_no_wrong_guess_about_the_others(tmp_path: Path) -> None:
    files = {"reconcile.yaml": f"include: [d.yaml]\n{RULE}", "d.yaml": "datasets: {charges: [\n"}

    with pytest.raises(ConfigProblems) as wrong:
        load(write(tmp_path, files), {})

    assert [p.file.rsplit("/")[-1] for p in wrong.value.problems] == ["d.yaml"]


@pytest.mark.parametrize(
    "same",
    [
        "# a comment\n" + SMALL,
        RULE + READ,
        SMALL.replace("key: [order_id]", "key: ['order_id']"),
        SMALL.replace("{kind: duplicates, dataset: charges, key: [order_id]}",
                      "\n    key:\n      - order_id\n    dataset: charges\n    kind: duplicates"),
    ],
)  # fmt: skip
def test_a_release_is_the_same_for_the_same_configuration(same: str, tmp_path: Path) -> None:
    assert loaded(tmp_path, same).release == loaded(tmp_path, SMALL).release


@pytest.mark.parametrize(
    "other",
    [
        SMALL.replace("order_id", "order_no"),
        SMALL.replace("a.csv", "b.csv"),
        SMALL + "timezone: Europe/Berlin\n",
        SMALL.replace("key: [order_id]", "key: [order_id, amount]"),
    ],
)
def test_a_release_is_another_for_another_configuration(other: str, tmp_path: Path) -> None:
    assert loaded(tmp_path, other).release != loaded(tmp_path, SMALL).release


def test_a_release_does_not_depend_on_files_or_folders(tmp_path: Path) -> None:
    split = {"reconcile.yaml": "include: [r.yaml]\n" + READ, "r.yaml": RULE}

    assert load(write(tmp_path / "split", split), {}).release == loaded(tmp_path / "whole", SMALL).release


def test_a_release_is_the_hash_of_its_canonical_text(tmp_path: Path) -> None:
    project = loaded(tmp_path, SMALL)

    assert project.canonical == (
        '{"datasets":{"charges":{"id":"id","path":"a.csv","source":"shop"}},'
        '"rules":{"twice":{"dataset":"charges","key":["order_id"],"kind":"duplicates"}},'
        '"sources":{"shop":{"root":"data","type":"files"}}}'
    )
    assert project.release == hashlib.sha256(project.canonical.encode()).hexdigest()


def test_a_project_is_frozen(tmp_path: Path) -> None:
    project = loaded(tmp_path, SMALL)

    with pytest.raises(dataclasses.FrozenInstanceError):
        project.timezone = "UTC"  # type: ignore[misc]


def test_what_people_write_without_quotes_is_text(tmp_path: Path) -> None:
    text = SMALL.replace("path: a.csv", "path: 0123, null_values: [no, 1e5, 12:30:45]").replace("twice", "no")

    project = loaded(tmp_path, text)

    assert list(project.rules) == ["no"]
    assert project.datasets["charges"].settings.model_dump()["path"] == "0123"
    assert project.datasets["charges"].settings.null_values == ("no", "1e5", "12:30:45")


def test_a_wrong_name_of_a_former_rule_is_told_once(tmp_path: Path) -> None:
    output = "kind: duplicates, dataset: charges, key: [order_id], was: old"
    text = SMALL + "".join(f"  r{n}: {{{output}}}\n" for n in range(2))

    assert problems(tmp_path, text) == ["6:66: rule `r0` also continues `old`; keep `was` in one of them"]
