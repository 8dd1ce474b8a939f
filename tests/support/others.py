"""Workbooks that others made: those in source packages of libraries, fetched when a test needs them, never kept.

`RECONCILE_TEST_WORKBOOKS` names a folder with such workbooks instead.
"""

import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

SOURCES_OF_PYTHON = ("agate-excel", "pyexcel-xlsx", "tablib", "xlcalculator", "xlsx2csv")
PACKAGES_OF_NODE = ("xlsx-chart", "xlsx-populate")
SOURCES_OF_DEBIAN = ("libexcel-writer-xlsx-perl",)
"""The tests of this library compare what it writes with hundreds of workbooks that Excel saved."""
FOLDER = os.environ.get("RECONCILE_TEST_WORKBOOKS")
_LISTS = """for list in /etc/apt/sources.list.d/*.sources; do
sed 's/^Types: .*/Types: deb-src/' "$list" > "lists/$(basename "$list")"; done
sed -n 's/^deb /deb-src /p' /etc/apt/sources.list > lists/sources.list 2>/dev/null || true
"""


def workbooks(scratch: Path) -> list[Path]:
    """All workbooks that can be had here, in a fixed order; what a registry does not give is left out."""
    if FOLDER:
        return _in(Path(FOLDER))
    scratch.mkdir(parents=True, exist_ok=True)
    for name in SOURCES_OF_PYTHON:
        _run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", name], scratch)
    for name in PACKAGES_OF_NODE:
        _run(["npm", "pack", "--silent", name], scratch)
    (scratch / "lists" / "state" / "partial").mkdir(parents=True, exist_ok=True)
    _run(["sh", "-c", _LISTS], scratch)
    places = {
        "Dir::State::lists": "lists/state",
        "Dir::Etc::sourcelist": "lists/sources.list",
        "Dir::Etc::sourceparts": "lists",
    }
    options = [part for key, place in places.items() for part in ("-o", f"{key}={scratch / place}")]
    _run(["apt-get", *options, "update", "-qq"], scratch)
    for name in SOURCES_OF_DEBIAN:
        _run(["apt-get", *options, "source", "--download-only", "-qq", name], scratch)
    for number, archive in enumerate(sorted(scratch.glob("*.t*"))):
        _unpack(archive, scratch / "unpacked" / str(number))
    return _in(scratch / "unpacked")


def _in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.xls[xm]") if path.is_file())


def _run(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, check=False, capture_output=True, timeout=180)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return  # the caller counts what came


def _unpack(archive: Path, folder: Path) -> None:
    if archive.suffix not in (".gz", ".tgz", ".xz", ".bz2"):
        return
    with tarfile.open(archive) as files:
        files.extractall(folder, members=list(_workbooks(files)), filter="data")


def _workbooks(files: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    return (member for member in files if member.isfile() and member.name.endswith((".xlsx", ".xlsm")))
