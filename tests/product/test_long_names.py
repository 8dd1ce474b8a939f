"""A name that is too long for a file, wherever one may be written: one sentence, no defect, nothing lost."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.cli import Project

LONG = "a" * 300
RULES = "rules: {twice: {kind: duplicates, dataset: orders, key: [x]}}\n"
FILES = (
    "version: 1\nsources: {shop: {type: files, root: .}}\ndatasets: {orders: {source: shop, path: a.csv, id: id}}\n"
    + RULES
)
TABLE = "version: 1\nsources: {shop: {type: sql, url: 'sqlite:///LONG.db'}}\n"

CONFIGURATIONS: Mapping[str, tuple[str, int, str]] = {
    "include": (FILES + "include: [LONG]\n", 2, "reconcile.yaml:5:11: `LONG` cannot be searched: file name too long"),
    "a folder of include": (FILES + "include: [LONG/*.yaml]\n", 2, "cannot be searched: file name too long"),
    "state": (FILES + "state: sqlite:///LONG.db\n", 3, "LONG.db"),
    "root": (FILES.replace("root: .", "root: LONG"), 3, "file name too long"),
    "path": (FILES.replace("a.csv", "LONG.csv"), 3, "no file has a name of more than 255 bytes; correct `path`"),
    "a folder of path": (FILES.replace("a.csv", "LONG/*.csv"), 3, "no file has a name of more than 255 bytes"),
    "a database": (
        TABLE + "datasets: {orders: {source: shop, table: t, id: id}}\n" + RULES,
        3,
        "LONG.db: file name too long",
    ),
    "a workbook": (
        "version: 1\nsources: {shop: {type: workbook, path: LONG.xlsx}}\n"
        "datasets: {orders: {source: shop, sheet: t, id: id}}\n" + RULES,
        3,
        "LONG.xlsx is not read: no file has a name of more than 255 bytes; correct `path`",
    ),
    "a channel": (
        FILES + "channels: {c: {type: file, path: LONG.jsonl}}\njobs: {nightly: {rules: all, notify: [c]}}\n",
        3,
        "cannot write to LONG.jsonl: file name too long",
    ),
    "a secret": (
        FILES + "channels: {c: {type: webhook, url: '${file:LONG}'}}\n",
        2,
        "the secret file LONG cannot be read: file name too long",
    ),
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "a.csv").write_text("id,x\n1,a\n2,a\n")
    return Project(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_long_name_in_a_configuration_is_told(project: Project, name: str) -> None:
    text, code, sentence = CONFIGURATIONS[name]
    project.write(text.replace("LONG", LONG))

    answer = project("run")

    assert answer.code == code, answer.said
    shown = answer.said.replace(LONG, "LONG").replace(f"{LONG[:59]}…", "LONG")
    assert sentence in " ".join(shown.split())


@pytest.mark.slow
@pytest.mark.parametrize("command", [("backup", LONG), ("restore", LONG, "--yes"), ("audit", "export", LONG)])
def test_a_long_name_given_to_a_command_is_told(project: Project, command: tuple[str, ...]) -> None:
    project.write(FILES)
    assert project("run").code == 0

    answer = project(*command)

    assert answer.code in (2, 3), answer.said
    assert "file name too long" in answer.said.lower()
    assert project("findings").code == 0
