"""`learn` says what weights a rule's records support, writes them where it is asked to, and nothing else."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from pyarrow import csv

from tests.rules.kinds.similar.people import COMPARE, people
from tests.support.cli import Project

pytestmark = pytest.mark.slow

RULES = f"""\
version: 1
sources: {{lists: {{type: files, root: .}}}}
datasets: {{people: {{source: lists, path: people.csv}}}}
rules:
  twin:
    kind: similar
    dataset: people
    max_share: 60%
    compare: {{{", ".join(f"{name}: {type_name}" for name, type_name in COMPARE.items())}}}
  same-mail: {{kind: duplicates, dataset: people, key: [email]}}
"""
_NAMES = ("Ada", "Bela", "Cem", "Dora", "Emil", "Fritz", "Gus", "Hana", "Ivo", "Jan", "Kim", "Lou")
NAMED = RULES.replace("    max_share", "    model: models/twin.yaml\n    max_share")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    csv.write_csv(people(200, 60), tmp_path / "people.csv")
    return Project(tmp_path).write(RULES)


def test_nothing_is_written_without_being_asked(project: Project):
    answer = project("learn", "twin")

    assert answer.code == 0
    assert "--write writes models/twin.yaml" in answer.err
    assert sorted(path.name for path in project.folder.iterdir()) == ["people.csv", "reconcile.yaml"]


def test_the_written_file_is_the_rules_model(project: Project):
    """The file is written, named in the rule, and then changes what the rule is."""
    written = project("learn", "twin", "--write", "--json")
    project.write(NAMED)

    assert (written.code, written.json["written"], written.json["file"]) == (0, True, "models/twin.yaml")
    assert written.json["yaml"] == (project.folder / "models" / "twin.yaml").read_text()
    assert 55 <= written.json["learnt"]["pairs"] <= 65
    assert project("run").code == 0
    [release] = project("releases", "--json").json
    shown = project("releases", "show", release["release"], "--json").json["config"]["rules"]["twin"]["model"]
    assert shown["compare"] == COMPARE


def test_a_file_that_is_no_text_is_replaced(project: Project):
    file = project.folder / "models" / "twin.yaml"
    file.parent.mkdir()
    file.write_bytes(b"\xff\x00")

    assert project("learn", "twin", "--write").code == 0

    assert file.read_text().startswith("# Written by")


def test_a_full_disk_leaves_no_half_written_file(project: Project):
    folder = project.folder / "models"
    folder.mkdir()
    (folder / "twin.yaml.new").symlink_to("/dev/full")

    answer = project("learn", "twin", "--write")

    assert answer.code == 3
    assert "twin.yaml cannot be written: no space left on device; nothing was changed" in answer.err
    assert list(folder.iterdir()) == []


def test_each_level_has_words_of_its_own(project: Project):
    levels = project("learn", "twin", "--json").json["levels"]

    named = [(level["column"], level["words"]) for level in levels]
    assert ("email", "is the same (both names agree)") in named
    assert len(set(named)) == len(named)


def test_learning_again_changes_nothing(project: Project):
    project("learn", "twin", "--write")
    project.write(NAMED)

    again = project("learn", "twin", "--write", "--json")

    assert (again.code, again.json["written"]) == (0, False)
    assert again.json["now"] == again.json["now"] | {"pairs": again.json["learnt"]["pairs"]}


def test_the_difference_from_the_present_file_is_shown(project: Project):
    project("learn", "twin", "--write")
    project.write(NAMED)

    csv.write_csv(people(200, 90, seed=2), project.folder / "people.csv")

    answer = project("learn", "twin")

    assert "--- models/twin.yaml now" in answer.out
    assert [line for line in answer.out.splitlines() if line.startswith("+twins: ")]


def test_a_kept_release_holds_the_weights_it_ran_with(project: Project):
    """A held release needs no file: it runs after the file is gone and the rule no longer names it."""
    project("learn", "twin", "--write")
    project.write(NAMED)
    project("run")
    [release] = [each["release"] for each in project("releases", "--json").json]
    assert project("hold", release).code == 0

    (project.folder / "models" / "twin.yaml").unlink()
    project.write(RULES)

    [text] = project("releases", "show", release, "--json").json["files"].values()
    assert "neighbourhood:" in text
    assert "models/twin.yaml" not in text
    assert project("run").code == 0
    assert len(project("releases", "--json").json) == 1


@pytest.mark.parametrize(
    ("path", "content", "sentence"),
    [
        ("models/none.yaml", None, "reconcile.yaml:8:12: `model`: `models/none.yaml` is not a file here"),
        ("../twin.yaml", None, "reconcile.yaml:8:12: `model`: `../twin.yaml` is outside the folder of reconcile.yaml"),
        ("models", None, "reconcile.yaml:8:12: `model`: `models` cannot be read: is a directory"),
        ("twin.yaml", "- 1\n", "reconcile.yaml:8:12: `model`: `twin.yaml` is not a mapping of settings"),
        ("twin.yaml", "version: 1\n  compare: {}\n", "twin.yaml:1:1: "),
        ("twin.yaml", "version: 1\nspeed: 3\n", "twin.yaml:2:1: `speed` is not known here"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_place(
    project: Project, path: str, content: str | None, sentence: str
):
    (project.folder / "models").mkdir()
    if content is not None:
        project.write(content, "twin.yaml")
    project.write(NAMED.replace("models/twin.yaml", path))

    answer = project("check")

    assert answer.code == 2
    assert sentence in answer.err


def test_a_model_of_other_columns_is_refused(project: Project):
    project("learn", "twin", "--write")
    project.write(NAMED.replace("city: city", "city: exact"))

    answer = project("check")

    assert answer.code == 2
    assert "was learnt for other columns or types" in answer.err
    assert "`reconcile learn twin`" in answer.err


def test_too_few_twins_teach_nothing(project: Project):
    csv.write_csv(people(30, 4), project.folder / "people.csv")

    answer = project("learn", "twin", "--write")

    assert answer.code == 4
    assert "too few to learn from" in answer.err
    assert not (project.folder / "models").exists()


def test_only_rules_with_weights_learn(project: Project):
    answer = project("learn", "same-mail")

    assert answer.code == 2
    assert "Rule `same-mail` is of kind `duplicates`, which has no weights to learn" in answer.err


@pytest.mark.parametrize("share", ["95", "0%", "100%", "30%", "most"])
def test_a_precision_that_is_none_is_refused(project: Project, share: str):
    answer = project("learn", "twin", "--precision", share)

    assert answer.code == 2
    assert "--precision" in answer.err


def test_dismissed_findings_count_as_judged(project: Project):
    project("run")
    ids = [finding["id"] for finding in project("findings", "--rule", "twin", "--json").json][:12]
    assert project("dismiss", *ids, "--note", "different people").code == 0

    answer = project("learn", "twin", "--json").json

    assert answer["judged"] >= 12
    assert answer["matches"] < project("learn", "twin", "--json").json["matches"] + 1


def test_weights_that_are_not_plausible_are_not_written(project: Project):
    """In few towns with one postcode each, neighbours look like twins; whoever believes it would merge strangers."""
    choose = random.Random(3)
    towns = [(f"Town {number}", f"{number:05d}", f"Main Street {number}") for number in range(8)]
    rows = []
    for number in range(600):
        town, postcode, street = choose.choice(towns)
        rows.append((number, f"{choose.choice(_NAMES)} {choose.choice(_NAMES)}son", street, postcode, town))
    rows += [(number + 600, *rows[number][1:]) for number in range(40)]
    text = "\n".join(",".join(map(str, row)) for row in rows)
    project.write(f"id,name,street,postcode,town\n{text}\n", "places.csv")
    compare = "{name: name, street: address, postcode: postcode, town: city}"
    rules = RULES.replace("people.csv", "places.csv, id: id").replace("key: [email]", "key: [name]")
    project.write(re.sub(r"compare: .*", f"compare: {compare}", rules))

    answer = project("learn", "twin", "--write")

    assert answer.code == 4
    assert "Nothing was written: " in answer.err
    assert not (project.folder / "models").exists()


def test_what_the_present_weights_take_is_judged_by_what_people_said(project: Project):
    """After all findings of a rule are dismissed, nobody is told that its pairs are right."""
    project("run")
    ids = [finding["id"] for finding in project("findings", "--rule", "twin", "--json").json]
    dismissed = project("dismiss", *ids, "--note", "different people", "--confirm", str(len(ids)))
    assert dismissed.code == 0

    answer = project("learn", "twin", "--json").json

    assert answer["judged"] >= 50
    assert answer["now"]["precision"] < 0.1
