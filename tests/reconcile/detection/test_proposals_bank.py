"""What is proposed for files of banks: their format by content, an id, and the order of days where only one fits."""

from pathlib import Path

import pytest

from connectors.files.source import FilesDataset
from tests.connectors.files.bank.statements import MT940, QIF, camt, camt_entry, ofx, ofx_statement, ofx_transaction
from tests.support.cli import Project
from tests.support.files import source

CAMT = camt(camt_entry("1"), closing="101")
OFX = ofx(ofx_statement(ofx_transaction()))


@pytest.mark.parametrize(
    ("name", "content", "settings"),
    [
        ("a.sta", MT940, {}),
        ("a.txt", MT940, {"format": "mt940"}),
        ("a.txt", "{1:F01BANK}{2:I940}{4:\n" + MT940, {"format": "mt940"}),
        ("a.txt", OFX, {"format": "ofx"}),
        ("a.xml", OFX.partition("\n\n")[2], {"format": "ofx"}),
        ("a.ofx", OFX, {}),
        ("a.xml", CAMT, {}),
        ("a.csv", CAMT, {"format": "camt"}),
        ("a.qif", QIF, {"date_order": "mdy"}),
        ("a.txt", QIF, {"format": "qif", "date_order": "mdy"}),
        ("a.qif", QIF.replace("31", "03"), {}),
        ("a.qif", QIF.replace("01/31/26", "2026-01-31").replace("02/01/26", "2026-02-01"), {}),
        ("a.csv", "a,b\n1,:20:\n", {}),
    ],
)
def test_the_content_proposes_settings(tmp_path: Path, name: str, content: str, settings: dict[str, str]) -> None:
    (tmp_path / name).write_text(content)

    declaration = source(tmp_path).declaration(name)

    assert declaration.settings == {"path": name, **settings}
    assert declaration.reasons.keys() == settings.keys()


def test_an_encoding_is_proposed(tmp_path: Path) -> None:
    (tmp_path / "a.sta").write_bytes(MT940.replace("MUELLER", "MÜLLER").encode("cp1252"))

    settings = source(tmp_path).declaration("a.sta").settings

    assert settings["encoding"] in ("cp1252", "windows-1252")
    assert source(tmp_path).describe(FilesDataset.model_validate(settings)).names[0] == "statement"


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"path": "a.sta"}, ("account", "statement", "entry")),
        ({"path": "a.xml"}, ("account", "statement", "entry")),
        ({"path": "a.txt", "format": "ofx"}, ("account", "FITID")),
        ({"path": "a.qif"}, ("statement", "entry")),
        ({"path": "*.qif"}, ("_file", "statement", "entry")),
        ({"path": "a.xml", "batches": "split"}, None),
        ({"path": "a.csv"}, None),
    ],
)
def test_a_bank_numbers_its_entries(tmp_path: Path, settings: dict[str, str], key: tuple[str, ...] | None) -> None:
    keys = source(tmp_path).keys(FilesDataset.model_validate(settings))

    assert keys == (() if key is None else (key,))


@pytest.mark.slow
def test_a_file_of_a_bank_has_no_table_that_its_id_is_a_key_of(tmp_path: Path) -> None:
    (tmp_path / "july.sta").write_text(MT940)

    suggested = Project(tmp_path)("suggest", "july.sta").out

    [line] = [line for line in suggested.splitlines() if line.startswith("    id:")]
    assert "identifies each entry of a bank file; unique and not null in" in line
    assert "table" not in line
