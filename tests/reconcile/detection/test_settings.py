"""`check` notices settings of files that their format ignores."""

from pathlib import Path

import pytest

from connectors.files.connector import FilesDataset
from reconcile.detection.without_effect import remarks
from tests.support.cli import Project


@pytest.mark.parametrize(
    ("settings", "sentences"),
    [
        (
            {"path": "a.jsonl", "encoding": "cp1252"},
            ["`encoding` has no effect on JSON Lines, which is always UTF-8; remove it"],
        ),
        ({"path": "a.parquet", "encoding": "cp1252"}, ["`encoding` has no effect on Parquet; remove it"]),
        ({"path": "a.xml", "format": "camt", "encoding": "cp1252"}, ["`encoding` has no effect on CAMT; remove it"]),
        ({"path": "a.sta", "date_order": "dmy"}, ["`date_order` has no effect on MT940; remove it"]),
        ({"path": "a.csv", "encoding": "cp1252"}, []),
        ({"path": "a.json", "encoding": "utf-16"}, []),
        ({"path": "a.qif", "encoding": "cp850", "date_order": "dmy"}, []),
    ],
)
def test_a_setting_that_the_format_ignores_gets_a_remark(settings: dict[str, str], sentences: list[str]) -> None:
    assert list(remarks(FilesDataset.model_validate(settings))) == sentences


def test_check_proposes_a_format_instead_of_an_order_of_days_that_csv_ignores(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,booked\n1,03.04.2026\n2,03.04.2026\n")
    project = Project(tmp_path).write(
        "version: 1\nsources: {s: {type: files}}\n"
        "datasets: {d: {source: s, path: a.csv, id: id, date_order: dmy}}\n"
        "rules: {r: {kind: duplicates, dataset: d, key: [booked]}}\n"
    )

    checked = project("check")

    assert checked.code == 0
    advice = "declare the format of each column instead, like `columns: {booked: date %d.%m.%Y}`"
    assert f"dataset d: `date_order` has no effect on CSV; {advice}" in checked.said
