"""Every recipe of the cookbook is a complete rule that finds what its examples say, and nothing else."""

import random
import re
from pathlib import Path

import pytest

from tests.support.cli import Project
from tests.support.docs import COOKBOOK, configuration, recipes

pytestmark = pytest.mark.slow


def test_every_recipe_finds_what_its_examples_say(tmp_path: Path) -> None:
    project = Project(tmp_path).write(configuration(*recipes()))

    answer = project("test", "--json", SHOP_URL=f"sqlite:///{tmp_path}/missing.db")

    failed = [
        (rule["rule"], example["engines"])
        for rule in answer.json["rules"]
        for example in rule["examples"]
        if not example["passed"]
    ]
    assert failed == []
    assert answer.json["mistakes"] == []
    assert answer.code == 0
    assert answer.json["passed"] >= len(recipes())
    assert all(rule["examples"] for rule in answer.json["rules"])


def test_the_cookbook_has_thirty_situations_each_with_one_recipe() -> None:
    sections = re.split(r"^### ", COOKBOOK.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]

    assert len(sections) >= 30
    assert [section.count("```yaml recipe\n") for section in sections] == [1] * len(sections)


def test_the_recipe_of_first_digits_finds_the_digit_that_is_too_frequent(tmp_path: Path) -> None:
    draw = random.Random(7)
    amounts = [10 ** draw.uniform(1, 4) for _ in range(1000)]
    invented = [draw.uniform(470, 499) for _ in range(80)]
    lines = [f"{line},2026-03-02,{amount:.2f},EUR" for line, amount in enumerate((*amounts, *invented), 1)]
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "bank-1.csv").write_text("line,booked,amount,currency\n" + "\n".join(lines[:1000]) + "\n")
    [recipe] = [block for block in recipes() if block.body.startswith("unusual-first-digit")]
    project = Project(tmp_path).write(configuration(recipe) + "jobs: {digits: {rules: [unusual-first-digit]}}\n")

    honest = project("run", "digits", "--json")
    (tmp_path / "exports" / "bank-2.csv").write_text("line,booked,amount,currency\n" + "\n".join(lines[1000:]) + "\n")
    doubtful = project("run", "digits", "--json")

    assert (honest.code, doubtful.code) == (0, 0), (honest.said, doubtful.said)
    assert honest.json["findings"] == []
    assert [finding["key"] for finding in doubtful.json["findings"]] == [{"group_key": 4}]


def test_a_recipe_whose_rule_is_wrong_fails(tmp_path: Path) -> None:
    text = configuration(*recipes())
    wrong = text.replace("window: {charged_at: 15m}", "window: {charged_at: 15s}")
    project = Project(tmp_path).write(wrong)

    answer = project("test", "double-charge", "--json", SHOP_URL=f"sqlite:///{tmp_path}/missing.db")

    assert wrong != text
    assert answer.code == 1
    assert answer.json["failed"] == 1
