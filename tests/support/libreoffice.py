"""LibreOffice without a window: the values that it computes for workbooks."""

import csv
import io
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

PROGRAM = shutil.which("soffice")
_ALWAYS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"""
"""Compute all formulas of a workbook as it opens: LibreOffice does not honour the workbook's own wish for it."""
_TO_CSV = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1"
"""Every sheet in a file of its own, UTF-8, values and not what is shown of them."""

needed = pytest.mark.skipif(PROGRAM is None and not os.environ.get("CI"), reason="LibreOffice is not installed")


def computed(workbooks: Mapping[str, bytes], folder: Path) -> dict[str, dict[tuple[str, int, int], str]]:
    """The filled cells of each workbook by sheet, row and column, with all formulas computed.

    The names of the workbooks have no ending.
    """
    profile = folder / "profile" / "user"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "registrymodifications.xcu").write_text(_ALWAYS, "utf-8")
    inward, outward = folder / "in", folder / "out"
    shutil.rmtree(outward, ignore_errors=True)
    inward.mkdir(exist_ok=True)
    files = [inward / f"{name}.xlsx" for name in workbooks]
    for file, data in zip(files, workbooks.values(), strict=True):
        file.write_bytes(data)
    subprocess.run(
        [
            *(str(PROGRAM), f"-env:UserInstallation=file://{profile.parent}", "--headless"),
            *("--convert-to", _TO_CSV, "--outdir", str(outward), *map(str, files)),
        ],
        check=True,
        capture_output=True,
        timeout=60 + 10 * len(files),
    )
    return {name: dict(_cells(outward, name)) for name in workbooks}


def _cells(folder: Path, name: str) -> Iterator[tuple[tuple[str, int, int], str]]:
    for file in sorted(folder.glob(f"{name}-*.csv")):
        for row, line in enumerate(csv.reader(io.StringIO(file.read_text("utf-8"))), 1):
            for column, text in enumerate(line, 1):
                if text:
                    yield (file.stem.removeprefix(f"{name}-"), row, column), text
