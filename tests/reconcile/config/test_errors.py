"""Every mistake is told at its line, all at once. The sentences themselves stand in snapshots/config_errors.txt."""

import re
from pathlib import Path

import pytest

from reconcile.config import ConfigProblems, load
from tests.reconcile.config.mistakes import MISTAKES
from tests.support.config import assert_matches_snapshot, install_plugin, problems, write

ENVIRON = {"PAGER_TOKEN": "t0p-s3cret-canary", "PIN": "71x", "TZONE": "Europe/Berlin"}


def told(folder: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    write(folder, files)
    monkeypatch.chdir(folder)
    with pytest.raises(ConfigProblems) as wrong:
        load("reconcile.yaml", ENVIRON)
    return str(wrong.value)


def numbered(files: dict[str, str]) -> str:
    """The files as the snapshot shows them, with line numbers that the sentences refer to."""
    shown = []
    for name, text in files.items():
        shown += [f"  {name}"] if len(files) > 1 else []
        shown += [f"{number:4} | {line}" for number, line in enumerate(text.splitlines(), 1)]
    return "\n".join(shown)


def test_every_wrong_configuration_is_told_in_sentences_a_person_can_act_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_plugin(tmp_path, monkeypatch)

    page, every_word = [], ""
    for number, (title, given) in enumerate(MISTAKES.items()):
        files = given if isinstance(given, dict) else {"reconcile.yaml": given}
        answer = told(tmp_path / str(number), files, monkeypatch)
        every_word += answer
        page.append("\n".join(part for part in (f"=== {title}", numbered(files), answer) if part) + "\n")

    text = "\n".join(page)
    assert len(page) >= 40
    assert not [
        secret
        for secret in ("t0p-s3cret", "hunter2secret", "71x", "hunter2-is-here", "68756e74")
        if secret in every_word
    ]
    assert_matches_snapshot("config_errors.txt", text)


def test_the_first_mistake_does_not_hide_the_others(tmp_path: Path) -> None:
    text = "versoin: 1\nsources: {s: {type: fils}}\nrules:\n  r: {kind: duplicates, severity: hgh}\n"

    assert problems(tmp_path, text) == [
        "1:1: `versoin` is not known here; did you mean `version`?",
        "2:21: `fils` is not a type; did you mean `files`?",
        "4:3: rule `r` needs `dataset`; add it",
        "4:3: rule `r` needs `key`; add it",
        "4:35: `severity`: `hgh` is not a severity; did you mean `high`?",
    ]


def test_a_derived_column_that_is_too_long_is_told_also_beside_personal_columns(tmp_path: Path) -> None:
    columns = f"id: text, gross: {{is: {'net + ' * 2_000}net}}"
    dataset = f"datasets: {{charges: {{source: s, path: a.csv, pii: [net], columns: {{{columns}}}}}}}\n"
    text = f"sources: {{s: {{type: files}}}}\n{dataset}rules:\n  r: {{kind: duplicates, dataset: charges, key: id}}\n"

    assert problems(tmp_path, text) == [
        "2:90: `is`: An expression may have up to 10,000 characters; this one has 12,003"
    ]


def test_mistakes_are_sorted_by_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"reconcile.yaml": "include: [a.yaml, b.yaml]\nzz: 1\naa: 1\n", "b.yaml": "x: 1\n", "a.yaml": "y: 1\n"}

    answer = told(tmp_path, files, monkeypatch)

    assert [line.split(": ")[0] for line in answer.splitlines()] == [
        "a.yaml:1:1",
        "b.yaml:1:1",
        "reconcile.yaml:2:1",
        "reconcile.yaml:3:1",
    ]


def test_a_file_that_is_not_there_is_told_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigProblems, match="file not found; `reconcile init` writes one"):
        load(tmp_path / "nowhere.yaml", {})


@pytest.mark.parametrize("name", ["reconcile.yml", "reconcile.yaml.txt"])
def test_a_file_with_the_ending_of_another_habit_is_to_be_renamed(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("version: 1\n", encoding="utf-8")

    with pytest.raises(ConfigProblems, match=f"file not found; rename `{re.escape(name)}` to `reconcile.yaml`"):
        load(tmp_path / "reconcile.yaml", {})


def test_a_folder_instead_of_a_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigProblems, match="cannot be read: is a directory"):
        load(tmp_path, {})
