"""The verifier stands alone: exports are verified by one file, and what was changed in them is named."""

import ast
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconcile.audit import checkpoints, exporting, log, verifier
from reconcile.audit.anchors.settings import SyslogSettings
from reconcile.audit.anchors.syslog import SyslogAnchor
from reconcile.store import Store
from tests.reconcile.audit.exports import LENGTH, SQLITE, about_of, anchors, copy_of, exported
from tests.support.docs import tree_of


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(tmp_path_factory.mktemp("store"))


@pytest.fixture
def copy(export: Path, tmp_path: Path) -> Path:
    return copy_of(export, tmp_path / "export")


def run(place: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The exported verifier as an auditor runs it: isolated, away from every package of ours."""
    command = [sys.executable, "-I", str(place / "verify.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


def test_it_imports_nothing_but_the_standard_library_and_cryptography() -> None:
    tree = tree_of(Path(verifier.__file__).read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    foreign = {name.split(".")[0] for name in names} - sys.stdlib_module_names

    assert foreign == {"cryptography"}


def test_an_export_is_verified_by_the_file_that_comes_with_it(export: Path, tmp_path: Path) -> None:
    done = run(export, "--public-key", about_of(export)["public_key"], cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert f"covered to the end: all {LENGTH} entries" in done.stdout
    assert "could have been removed unnoticed" not in done.stdout


def test_an_export_is_signed_to_its_end_and_says_what_no_anchor_holds(tmp_path: Path) -> None:
    root = exported(tmp_path / "store").parent
    with Store.open(SQLITE, root) as store:
        with store.begin() as tx:
            log.append(tx, "ann", "note", "x", {})
        exporting.export(store, tmp_path / "later", anchors(root))

    done = run(tmp_path / "later", "--public-key", about_of(tmp_path / "later")["public_key"], cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert "entries in no anchor: 1;" in done.stdout


def test_an_export_holds_no_secret(export: Path) -> None:
    key = (export.parent / "reconcile.db.key").read_text().strip()

    held = b"".join(file.read_bytes() for file in export.rglob("*") if file.is_file())

    assert key.encode() not in held
    assert bytes.fromhex(key) not in held


def _edited(name: str, line: int, **changes: Any) -> Callable[[Path], None]:
    def edit(place: Path) -> None:
        lines = (place / name).read_text(encoding="utf-8").splitlines()
        lines[line - 1] = json.dumps({**json.loads(lines[line - 1]), **changes})
        (place / name).write_text("".join(f"{item}\n" for item in lines), encoding="utf-8")

    return edit


def _without(name: str, line: int) -> Callable[[Path], None]:
    def remove(place: Path) -> None:
        lines = (place / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (place / name).write_text("".join(lines[: line - 1] + lines[line:]), encoding="utf-8")

    return remove


def _cut(place: Path) -> None:
    """The end goes from the log, the checkpoints and the manifest: only the anchor knows."""
    lines = (place / "log.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)[:250]
    (place / "log.jsonl").write_text("".join(lines), encoding="utf-8")
    kept = (place / "checkpoints.jsonl").read_text().splitlines(keepends=True)
    (place / "checkpoints.jsonl").write_text("".join(item for item in kept if json.loads(item)["seq"] <= 250))
    about = json.loads((place / "export.json").read_text())
    (place / "export.json").write_text(json.dumps(about | {"entries": 250, "head": json.loads(lines[-1])["head"]}))


TAMPERINGS: dict[str, tuple[Callable[[Path], None], int, str]] = {
    "edit an entry": (_edited("log.jsonl", 57, actor="mallory"), 57, "the entry was changed"),
    "edit a body": (_edited("log.jsonl", 57, body="{}"), 57, "body was changed"),
    "remove a body": (_edited("log.jsonl", 57, body=None, salt=None), 57, "no erasure names it"),
    "give it another type": (_edited("log.jsonl", 57, at=5), 57, "the entry was changed"),
    "remove an entry": (_without("log.jsonl", 57), 57, "the entry is missing"),
    "remove the last entry": (_without("log.jsonl", LENGTH), LENGTH, "it was truncated"),
    "remove a checkpoint": (_without("checkpoints.jsonl", 2), 101, "is missing"),
    "edit a checkpoint": (_edited("checkpoints.jsonl", 2, head="00" * 32), 200, "signature is wrong"),
    "edit an anchor": (_edited("anchors/log.jsonl", 1, seq=200), 200, "signature is wrong"),
    "cut the end": (_cut, 1, "it was truncated or rebuilt"),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_a_tampered_export_is_named_at_the_right_entry(name: str, copy: Path) -> None:
    tamper, seq, words = TAMPERINGS[name]
    tamper(copy)

    _, problem = verifier.verify(copy)

    assert problem is not None
    assert (problem.seq, words in problem.sentence) == (seq, True)


def test_a_tampered_export_ends_with_1_and_one_that_cannot_be_read_with_2(copy: Path, tmp_path: Path) -> None:
    _edited("log.jsonl", 57, actor="mallory")(copy)
    broken = run(copy, cwd=tmp_path)
    (copy / "log.jsonl").unlink()
    unreadable = run(copy, cwd=tmp_path)

    assert (broken.returncode, unreadable.returncode) == (1, 2)
    assert "broken at entry 57: the entry was changed" in broken.stdout
    assert "cannot be read" in unreadable.stderr


def test_a_rebuilt_export_of_another_key_is_betrayed_by_the_key_one_knows(copy: Path, export: Path) -> None:
    public_key = json.loads((export / "export.json").read_text())["public_key"]
    with Store.open(SQLITE, copy.parent) as store:
        about = json.loads((copy / "export.json").read_text())
        store.id = about["store"]
        marks = [verifier.Mark.of(json.loads(line)) for line in (copy / "checkpoints.jsonl").read_text().splitlines()]
        forged = [checkpoints.mark(store, mark.seq, mark.head, mark.at) for mark in marks]
        (copy / "checkpoints.jsonl").write_text("".join(f"{mark.line()}\n" for mark in forged))
        (copy / "anchors" / "log.jsonl").write_text("")
        (copy / "export.json").write_text(json.dumps(about | {"public_key": checkpoints.public_key(store)}))

    _, unaware = verifier.verify(copy)
    _, aware = verifier.verify(copy, public_key=public_key)

    assert unaware is None
    assert aware is not None
    assert "another key signed" in aware.sentence


def test_an_anchor_that_the_auditor_kept_shows_what_was_cut(copy: Path, export: Path) -> None:
    _cut(copy)
    (copy / "anchors" / "log.jsonl").write_text("")

    _, unaware = verifier.verify(copy)
    _, aware = verifier.verify(copy, [export / "anchors" / "log.jsonl"])

    assert unaware is None
    assert aware is not None
    assert (aware.seq, aware.until) == (1, 330)


def test_an_export_is_one_file_where_that_is_asked_for(export: Path, tmp_path: Path) -> None:
    with Store.open(SQLITE, export.parent) as store:
        exporting.export(store, tmp_path / "log.zip", anchors(export.parent))
    with zipfile.ZipFile(tmp_path / "log.zip") as packed:
        packed.extractall(tmp_path)

    key = about_of(export)["public_key"]
    assert run(tmp_path / "log", "--public-key", key, cwd=tmp_path).returncode == 0
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_an_export_overwrites_nothing_and_leaves_nothing_half_written(export: Path, tmp_path: Path) -> None:
    with Store.open(SQLITE, export.parent) as store:
        with pytest.raises(exporting.ExportExists):
            exporting.export(store, export, {})
        with pytest.raises(exporting.ExportNotWritten):
            exporting.export(store, tmp_path / "no" / "such" / "folder", {})


def test_an_anchor_that_cannot_be_read_back_is_said(export: Path, tmp_path: Path) -> None:
    away = SyslogAnchor("away", SyslogSettings(type="syslog", address="udp://127.0.0.1:9"), tmp_path, {})
    with Store.open(SQLITE, export.parent) as store:
        done = exporting.export(store, tmp_path / "out", {"away": away})

    assert "cannot be read back from here" in done.unread["away"]
    assert verifier.verify(tmp_path / "out")[1] is None
