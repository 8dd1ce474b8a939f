"""Presets: each finds what it says, and a rule that uses one is the rule that is printed for pasting."""

import json
import re
from pathlib import Path

import pytest
import yaml

from reconcile.config import load, load_kept
from reconcile.findings.identity import RuleIdentity
from rules.document.tree import ScalarNode, walk
from rules.presets.preset import names, preset
from tests.support.cli import Project
from tests.support.config import problems
from tests.support.folders import ROOT

FOLDER = ROOT / "rules" / "presets"
HEAD = """\
version: 1
sources: {files: {type: files, root: .}}
datasets:
"""
USING = """\
rules:
  charges-twice:
    use: preset/double-charge
    dataset: charges
    columns: {order_id: Order No, amount: gross, currency: currency, charged_at: at}
"""


def over(*datasets: str) -> str:
    """The beginning of a configuration, with datasets that do not exist."""
    return HEAD + "".join(f"  {dataset}: {{source: files, path: {dataset}.csv, id: id}}\n" for dataset in datasets)


def datasets_of(name: str) -> dict[str, str]:
    return dict(re.findall(r"^    (dataset|left|right): (\w+)$", preset(name).text, re.MULTILINE))


def base(name: str) -> str:
    return over(*datasets_of(name).values())


def using(*lines: str) -> str:
    return over("charges") + USING + "".join(f"    {line}\n" for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_a_pasted_preset_passes_its_examples_and_they_prove_something(name: str, tmp_path: Path) -> None:
    answer = Project(tmp_path).write(base(name) + preset(name).text)("test", "--json")

    assert answer.code == 0, answer.said
    [rule] = yaml.safe_load(preset(name).text)["rules"].values()
    assert answer.json["passed"] == len(rule["examples"]) >= 2
    assert any(example["expect"] for example in rule["examples"])
    assert any(len(example.get("given") or example["left"]) > 2 for example in rule["examples"])


@pytest.mark.parametrize("name", names())
def test_a_preset_in_use_is_the_rule_that_is_printed_for_pasting(name: str, tmp_path: Path) -> None:
    columns = {column: column for column in preset(name).columns}
    rule = {"use": f"preset/{name}", **datasets_of(name), "columns": columns}
    Project(tmp_path).write(base(name) + preset(name).text, "pasted.yaml").write(
        f"{base(name)}rules: {json.dumps({name: rule})}\n", "used.yaml"
    )

    by_use, by_paste = (load(tmp_path / file, {}).rules[name] for file in ("used.yaml", "pasted.yaml"))

    assert RuleIdentity.of(by_use).definition == RuleIdentity.of(by_paste).definition
    assert by_use.examples == ()


def test_a_column_inside_an_expression_of_a_preset_may_have_blanks(tmp_path: Path) -> None:
    columns = {"subscription_id": "sub", "amount": "Net amount", "currency": "currency", "billed_at": "at"}
    rule = {"use": "preset/subscription-billed-twice", "dataset": "charges", "columns": columns}
    Project(tmp_path).write(f"{over('charges')}rules: {json.dumps({'twice': rule})}\n")

    loaded_rule = load(tmp_path / "reconcile.yaml", {}).rules["twice"]

    assert loaded_rule.where == '"Net amount" > 0'


def test_every_preset_says_what_each_of_its_columns_is_for() -> None:
    for name in names():
        used = set(
            re.findall(r"\$([a-z_]+)", (Path(preset.__wrapped__.__globals__["_FOLDER"]) / f"{name}.yaml").read_text())
        )
        assert used == set(preset(name).columns), name
        assert all(preset(name).columns.values()), name
        texts = (node.text or "" for _, node in walk(preset(name).rule) if isinstance(node, ScalarNode))
        assert [text for text in texts if re.search(r'(?<!")\$', text.removeprefix("$"))] == [], name


def test_presets_are_listed_and_printed(tmp_path: Path) -> None:
    project = Project(tmp_path)

    listed, printed, unknown = (
        project("presets"),
        project("presets", "double-charge"),
        project("presets", "double-chrge"),
    )

    assert [line.split()[0] for line in listed.out.splitlines()[1:]] == list(names())
    assert printed.out == preset("double-charge").text
    assert project("presets", "double-charge", "--json").json["yaml"] == preset("double-charge").text
    assert [item["preset"] for item in project("presets", "--json").json] == list(names())
    assert (unknown.code, unknown.out) == (2, "")
    assert "did you mean `double-charge`?" in unknown.err


def test_columns_get_the_names_of_the_dataset_and_own_settings_come_first(tmp_path: Path) -> None:
    own = using("severity: low", "where: status = 'paid'", "window: {at: 5m}", "keep: [{last: at}]")
    plain = """\
    kind: duplicates
    dataset: charges
    key: [Order No, gross, currency]
    window: {at: 5m}
    keep: [{last: at}]
    severity: low
    where: status = 'paid'
"""
    Project(tmp_path).write(own).write(f"{over('charges')}rules:\n  charges-twice:\n{plain}", "plain.yaml")

    used, written = load(tmp_path / "reconcile.yaml", {}), load(tmp_path / "plain.yaml", {})

    assert used.rules == written.rules
    assert used.release == written.release


def test_an_empty_setting_removes_that_of_the_preset_with_the_column_it_needs(tmp_path: Path) -> None:
    bare = using("window: ~", "keep: most_complete").replace(", charged_at: at", "")
    Project(tmp_path).write(bare)

    rule = load(tmp_path / "reconcile.yaml", {}).rules["charges-twice"]

    assert rule.ordered_by is None
    assert rule.keep_columns == ()


@pytest.mark.slow
def test_a_column_that_the_dataset_lacks_is_told_with_the_setting_to_remove(tmp_path: Path) -> None:
    (tmp_path / "charges.csv").write_text("id,Order No,gross,currency,at\n1,A,2.00,EUR,2026-03-02\n")
    unmapped = Project(tmp_path).write(using().replace(", charged_at: at", ""))("check")
    unwritten = Project(tmp_path).write(using().replace("charged_at: at", "charged_at: booked"))("check")

    assert "the time of the charge; if the dataset has none, write `window: ~` and `keep: ~`" in unmapped.err
    assert "`window` names `booked`, but dataset `charges` has no such column" in unwritten.out
    assert "If dataset and rule need no `window`, remove the preset's with `window: ~`." in unwritten.out


def test_a_kept_release_holds_the_whole_rule_so_a_later_preset_does_not_change_it(tmp_path: Path) -> None:
    text = using("where: status = '${STATUS}'").replace("Order No", '"${COLUMN}"')
    environ = {"STATUS": "paid", "COLUMN": "Order No"}
    Project(tmp_path).write(text)
    project = load(tmp_path / "reconcile.yaml", environ)
    assert project.files is not None

    kept = load_kept(project.files, tmp_path / "reconcile.yaml", environ, "release 1")

    assert "use:" not in project.files["reconcile.yaml"]
    assert kept.release == project.release
    assert kept.rules == project.rules


def test_a_preset_may_be_used_in_an_included_file(tmp_path: Path) -> None:
    Project(tmp_path).write(f"{over('charges')}include: more.yaml\n").write(USING, "more.yaml")

    project = load(tmp_path / "reconcile.yaml", {})

    assert project.rules["charges-twice"].kind == "duplicates"
    assert project.files is not None
    assert "use:" not in project.files["more.yaml"]


MISTAKES = {
    "an unknown preset": (
        using().replace("double-charge", "duble-charge"),
        "7:10: `use`: there is no preset `preset/duble-charge`; did you mean `preset/double-charge`?",
    ),
    "no name of a preset": (
        using().replace("preset/double-charge", "[a]"),
        "7:10: `use`: must name a preset, like preset/",
    ),
    "a missing column": (
        using().replace("amount: gross, ", ""),
        "9:5: preset `double-charge` needs `columns: {amount: …}`, the amount charged",
    ),
    "no columns": (
        using().replace("    columns: {order_id: Order No, amount: gross, currency: currency, charged_at: at}\n", ""),
        "7:10: preset `double-charge` needs `columns: {amount: …}`, the amount charged",
    ),
    "a misspelt column": (
        using().replace("amount: gross", "amuont: gross"),
        "9:35: `amuont` is not known here; did you mean `amount`?",
    ),
    "an empty column": (using().replace("gross", "~"), "9:35: `amount` is empty; write a column of the dataset"),
    "columns that are a list": (
        using().replace("{order_id: Order No, amount: gross, currency: currency, charged_at: at}", "[gross]"),
        "9:5: `columns`: must be a mapping like {order_id: …}",
    ),
    "a setting that the kind does not have": (
        using("severty: high"),
        "10:5: `severty` is not known here; did you mean `severity`?",
    ),
    "two settings that do not go together": (
        using("gap: {at: 5m}"),
        "6:3: rule `charges-twice`: gap and window cannot",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_use_of_a_preset_is_told_with_its_place(mistake: str, tmp_path: Path) -> None:
    text, expected = MISTAKES[mistake]

    told = problems(tmp_path, text)

    assert any(sentence.startswith(expected) for sentence in told), told
