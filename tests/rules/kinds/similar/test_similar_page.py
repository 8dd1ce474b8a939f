"""The page about similar records shows what its rule finds in its records."""

import re
from pathlib import Path

import pytest

from rules.kinds.similar.types import SemanticType
from tests.support.cli import Project
from tests.support.docs import ROOT, blocks

PAGE = ROOT / "docs" / "similar.md"
WEIGHT = re.compile(r"\(-?[\d.]+\)")


@pytest.mark.slow
def test_the_first_rule_of_the_page_finds_the_finding_that_the_page_shows(tmp_path: Path) -> None:
    [records], [configuration, *_], texts = (list(blocks(PAGE, language)) for language in ("csv", "yaml", "text"))
    [shown] = [block for block in texts if "keeper" in block.body]
    project = Project(tmp_path).write(configuration.body).write(records.body, "customers.csv")

    answer = project("run", "--json")
    [finding] = answer.json["findings"]
    printed = project("show", finding["id"]).out

    assert WEIGHT.sub("(n)", shown.body) in WEIGHT.sub("(n)", printed)


def test_every_type_of_a_compared_column_is_in_the_table() -> None:
    table = PAGE.read_text(encoding="utf-8").split("\n## Types\n", 1)[1].split("\n## ", 1)[0]

    listed = re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
    names = {name for row in listed for name in re.findall(r"`(\w+)`", row)}
    assert names == {semantic_type.value for semantic_type in SemanticType}
