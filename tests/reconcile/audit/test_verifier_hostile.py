"""What a forger may hand to an auditor: rewritten logs, odd JSON, odd files. Never OK, nor a traceback, nor a hang."""

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from reconcile.audit import checkpoints, verifier
from reconcile.store import Store
from tests.reconcile.audit.exports import LENGTH, about_of, copy_of, exported, rewrite

pytestmark = pytest.mark.slow

MEMORY = 700 << 20
"""Bytes of address space that a verification of a hostile export may take; Python with cryptography takes 100 MB."""


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(tmp_path_factory.mktemp("store"))


@pytest.fixture
def copy(export: Path, tmp_path: Path) -> Path:
    return copy_of(export, tmp_path / "export")


def key_of(export: Path) -> str:
    return str(about_of(export)["public_key"])


def anchor_of(export: Path) -> str:
    return str(export / "anchors" / "log.jsonl")


def run(place: Path, *arguments: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """The verifier that the auditor brought, in little memory and time."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    command = [sys.executable, "-I", verifier.__file__, str(place), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=seconds, preexec_fn=limited, encoding="utf-8"
    )


def judged(place: Path, export: Path, *, anchor: bool = True) -> subprocess.CompletedProcess[str]:
    """With the public key that the auditor wrote down, and with the copy of the anchor that the auditor kept."""
    brought = ["--public-key", key_of(export), *(["--anchor", anchor_of(export)] if anchor else [])]
    done = run(place, *brought)
    assert "Traceback" not in done.stderr
    assert re.fullmatch(r"[ -~\n]*", done.stdout + done.stderr), "something of the file reached the terminal raw"
    return done


def test_an_untouched_export_is_covered_to_the_end_by_the_key_and_the_anchor(export: Path) -> None:
    done = judged(export, export)

    assert (done.returncode, done.stderr) == (0, "")
    assert f"covered to the end: all {LENGTH} entries" in done.stdout


# Rewritten logs


def _other_store(place: Path, _: Path) -> None:
    """The heads are left as they are: they are of another store now."""
    rewrite(place, store="st_" + "0" * 32, actor="mallory")


def _no_heads(place: Path, _: Path) -> None:
    rewrite(place, actor="mallory")
    (place / "checkpoints.jsonl").write_text("")
    (place / "anchors" / "log.jsonl").unlink()


def _restored(place: Path, _: Path) -> None:
    """An entry says that a backup took the log's place, so that no head of before has to be right."""
    settings = {"epoch": 9, "replaced": {"entries": 0, "epoch": 1, "head": "", "store": about_of(place)["store"]}}
    rewrite(place, actor="mallory", first=("store.restored", json.dumps(settings)))
    (place / "checkpoints.jsonl").write_text("")
    (place / "anchors" / "log.jsonl").unlink()


def _other_key(place: Path, folder: Path) -> None:
    rewrite(place, actor="mallory")
    (folder / "mallory").mkdir()
    with Store.open("sqlite:///m.db", folder / "mallory") as store:
        about = about_of(place)
        store.id = about["store"]
        mark = checkpoints.mark(store, about["entries"], about["head"], "2026-11-21T00:00:00Z")
        (place / "checkpoints.jsonl").write_text(mark.line() + "\n")
        (place / "anchors" / "log.jsonl").write_text(mark.line() + "\n")
        (place / "export.json").write_text(json.dumps(about | {"public_key": checkpoints.public_key(store)}))


REWRITTEN: Mapping[str, Callable[[Path, Path], None]] = {
    "another store": _other_store,
    "no heads": _no_heads,
    "a restore": _restored,
    "another key": _other_key,
}


@pytest.mark.parametrize("anchor", [True, False], ids=["key and anchor", "key"])
@pytest.mark.parametrize("name", REWRITTEN)
def test_a_rewritten_log_never_passes_with_what_the_auditor_brought(
    name: str, anchor: bool, copy: Path, export: Path, tmp_path: Path
) -> None:
    REWRITTEN[name](copy, tmp_path)

    done = judged(copy, export, anchor=anchor)

    assert done.returncode == 1, done.stdout


def test_a_log_that_was_rewritten_behind_its_last_head_is_covered_up_to_that_head(copy: Path, export: Path) -> None:
    rewrite(copy, actor="mallory", since=301)
    heads = (copy / "checkpoints.jsonl").read_text().splitlines(keepends=True)
    (copy / "checkpoints.jsonl").write_text("".join(heads[:3]))
    (copy / "anchors" / "log.jsonl").unlink()

    done = judged(copy, export, anchor=False)

    assert done.returncode == 3
    assert f"covered up to entry 300 of {LENGTH}" in done.stdout


def test_an_anchor_that_ends_early_says_up_to_where_it_covers_the_log(copy: Path, tmp_path: Path, export: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    kept.write_text(Path(anchor_of(export)).read_text().splitlines(keepends=True)[0])

    done = run(copy, "--public-key", key_of(export), "--anchor", str(kept))

    assert done.returncode == 3
    assert f"covered up to entry 330 of {LENGTH}" in done.stdout


def test_two_anchors_of_the_same_name_have_to_cover_the_log_each(copy: Path, tmp_path: Path, export: Path) -> None:
    (tmp_path / "log.jsonl").write_text("")

    done = run(copy, "--public-key", key_of(export), "--anchor", anchor_of(export), "--anchor", f"{tmp_path}/log.jsonl")

    assert done.returncode == 1
    assert "no signed head of this log" in done.stdout


def test_an_anchor_of_another_store_covers_nothing(copy: Path, tmp_path: Path, export: Path) -> None:
    second = exported(tmp_path / "other")

    done = run(copy, "--public-key", key_of(export), "--anchor", anchor_of(second))

    assert done.returncode == 1
    assert "no signed head of this log" in done.stdout


@pytest.mark.parametrize("key", ["", " ", "00", "g" * 64, "é" * 64])
def test_a_key_that_is_none_is_refused(key: str, export: Path) -> None:
    done = run(export, "--public-key", key)

    assert done.returncode == 2
    assert "--public-key" in done.stderr


def test_without_a_key_or_an_anchor_nothing_is_proven(copy: Path, tmp_path: Path) -> None:
    _other_key(copy, tmp_path)

    done = run(copy)

    assert done.returncode == 3
    assert "--public-key" in done.stdout


# Odd JSON


def _replaced(name: str, line: int, old: str, new: str) -> Callable[[Path], None]:
    def edit(place: Path) -> None:
        lines = (place / name).read_text(encoding="utf-8").split("\n")
        assert old in lines[line - 1]
        lines[line - 1] = lines[line - 1].replace(old, new, 1)
        (place / name).write_text("\n".join(lines), encoding="utf-8")

    return edit


def _about(**changes: Any) -> Callable[[Path], None]:
    def edit(place: Path) -> None:
        (place / "export.json").write_text(json.dumps(about_of(place) | changes))

    return edit


def _bytes(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda place: [(place / name).write_bytes(content), None][1]


ODD: Mapping[str, Callable[[Path], None]] = {
    "a field twice in the log": _replaced("log.jsonl", 7, '{"seq":7,', '{"actor":"mallory","seq":7,'),
    "a field more in the log": _replaced("log.jsonl", 7, '{"seq":7,', '{"note":"forged","seq":7,'),
    "a number that is no integer": _replaced("log.jsonl", 7, '"seq":7,', '"seq":7.0,'),
    "a boolean as the first number": _replaced("log.jsonl", 1, '"seq":1,', '"seq":true,'),
    "a salt without a body": _replaced("log.jsonl", 7, '"body":', '"body":null,"was":'),
    "not a number": _replaced("log.jsonl", 7, '"seq":7,', '"seq":NaN,'),
    "no object": _bytes("log.jsonl", b"[]\n"),
    "deep": _bytes("log.jsonl", b"[" * 200_000 + b"\n"),
    "not UTF-8": _replaced("log.jsonl", 7, "Zo\\u00eb", "\udcff".encode("utf-8", "surrogateescape").decode("latin-1")),
    "a field twice in a head": _replaced("checkpoints.jsonl", 1, '{"at"', '{"head":"00","at"'),
    "a field more in a head": _replaced("checkpoints.jsonl", 1, '{"at"', '{"note":"forged","at"'),
    "a signature with blanks": _replaced("checkpoints.jsonl", 1, '"signature":"', '"signature":" '),
    "a signature in capitals": lambda place: (
        (place / "checkpoints.jsonl").write_text(
            re.sub(
                r'"signature":"(\w+)"',
                lambda m: m[0].upper().replace("SIGNATURE", "signature"),
                (place / "checkpoints.jsonl").read_text(),
            )
        )
        and None
    ),
    "a deep head": _bytes("anchors/log.jsonl", b"[" * 200_000 + b"\n"),
    "the format of another version": _about(format="reconcile/audit-export/2"),
    "a field more in the manifest": _about(verified=True),
    "a store that is no text": _about(store=["x"]),
    "entries that are no integer": _about(entries=float(LENGTH)),
    "a boolean as epoch": _about(epoch=True),
    "a later epoch": _about(epoch=7),
    "a head of another form": _about(head="0" * 63),
    "a key of another form": _about(public_key="x"),
    "anchors of another form": _about(unread_anchors={"log": 5}),
    "a manifest that is a list": _bytes("export.json", b"[]"),
    "a deep manifest": _bytes("export.json", b"[" * 200_000),
    "a number of 5,000 digits": lambda place: [
        _about(entries=0)(place),
        (place / "export.json").write_text(
            (place / "export.json").read_text().replace('"entries": 0', f'"entries": {"9" * 5000}')
        ),
        None,
    ][2],
    "an empty manifest": _bytes("export.json", b""),
    "a manifest in UTF-16": lambda place: [
        (place / "export.json").write_bytes((place / "export.json").read_text().encode("utf-16")),
        None,
    ][1],
    "a field twice in the manifest": lambda place: [
        (place / "export.json").write_text((place / "export.json").read_text().replace("{", '{"store": "st_x",', 1)),
        None,
    ][1],
}


@pytest.mark.parametrize("name", ODD)
def test_json_that_reconcile_does_not_write_never_passes(name: str, copy: Path, export: Path) -> None:
    ODD[name](copy)

    assert judged(copy, export).returncode in (1, 2)


@pytest.mark.parametrize("event", ["store.restored", "erasure.made"])
@pytest.mark.parametrize(
    "body",
    [
        "[]",
        "null",
        "{}",
        "x",
        "[" * 200_000,
        '{"entries":[1]}',
        '{"entries":[{"seq":9}]}',
        '{"replaced":5}',
        '{"epoch":true,"replaced":{"entries":0,"epoch":1,"head":""}}',
    ],
)
def test_the_body_of_an_entry_that_changes_the_log_is_judged_and_not_believed(
    event: str, body: str, copy: Path, export: Path
) -> None:
    rewrite(copy, first=(event, body))

    assert judged(copy, export).returncode == 1


# Odd files


FILES = ["export.json", "log.jsonl", "checkpoints.jsonl", "anchors/log.jsonl"]


def _fifo(file: Path) -> None:
    os.mkfifo(file)


def _link(to: str) -> Callable[[Path], None]:
    return lambda file: file.symlink_to(to)


KINDS: Mapping[str, Callable[[Path], None]] = {
    "fifo": _fifo,
    "folder": lambda file: file.mkdir(),
    "zeros": _link("/dev/zero"),
    "terminal": _link("/dev/tty"),
    "link": _link("/etc/passwd"),
    "link to itself": lambda file: file.symlink_to(file.name),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_file_is_refused_and_not_waited_for(name: str, kind: str, copy: Path, export: Path) -> None:
    (copy / name).unlink()
    KINDS[kind](copy / name)

    done = judged(copy, export)

    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be read" in done.stderr


@pytest.mark.parametrize("kind", ["fifo", "folder", "zeros"])
def test_an_anchor_that_is_no_file_is_refused(kind: str, export: Path, tmp_path: Path) -> None:
    KINDS[kind](tmp_path / "anchor")

    assert run(export, "--anchor", str(tmp_path / "anchor"), seconds=20).returncode == 2


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_missing_or_may_not_be_read_is_named(name: str, copy: Path, export: Path) -> None:
    (copy / name).unlink()
    done = judged(copy, export)

    assert done.returncode == (0 if name.startswith("anchors/") else 2)
    assert (name in done.stderr) == (done.returncode == 2)


def test_names_of_files_and_what_is_in_them_never_reach_the_terminal_raw(copy: Path, export: Path) -> None:
    hostile = "\x1b]0;owned\x07\u202e\n\x9b31m"
    (copy / "anchors" / f"{hostile}.jsonl").write_text((copy / "anchors" / "log.jsonl").read_text())
    good = judged(copy, export)
    (copy / "anchors" / f"{hostile}.jsonl").write_text(f'"{hostile}"\n')
    bad = judged(copy, export)
    _about(store=hostile)(copy)
    worse = judged(copy, export)

    assert (good.returncode, bad.returncode, worse.returncode) == (0, 2, 2)


def test_it_says_the_same_to_a_reader_that_leaves(export: Path) -> None:
    command = [sys.executable, "-I", verifier.__file__, str(export), "--public-key", key_of(export)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as left:
        assert left.stdout is not None and left.stderr is not None  # noqa: PT018 - for the type checker
        left.stdout.close()
        text = left.stderr.read()

    assert (left.returncode, text) == (0, "")


def test_without_cryptography_it_says_what_to_install(export: Path) -> None:
    """The interpreter of an auditor that has only the standard library."""
    command = [sys.executable, "-I", "-S", verifier.__file__, str(export), "--public-key", key_of(export)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "cryptography" in done.stderr
    assert "Traceback" not in done.stderr


# Sizes


def _sparse(name: str) -> Callable[[Path], None]:
    def grow(place: Path) -> None:
        with (place / name).open("r+b") as file:
            file.truncate(1 << 40)

    return grow


def _pattern(name: str, head: bytes, unit: bytes, tail: bytes, size: int = 64 << 20) -> Callable[[Path], None]:
    def write(place: Path) -> None:
        with (place / name).open("wb") as file:
            file.write(head)
            for _ in range(size // (len(unit) * 4096)):
                file.write(unit * 4096)
            file.write(tail)

    return write


LARGE: Mapping[str, Callable[[Path], None]] = {
    "a sparse log": _sparse("log.jsonl"),
    "sparse checkpoints": _sparse("checkpoints.jsonl"),
    "a sparse manifest": _sparse("export.json"),
    "a line of lists": _pattern("log.jsonl", b"[", b"[],", b"[]]\n"),
    "a line of fields": _pattern("log.jsonl", b"{", b'"a":1,', b'"b":1}\n', 15 << 20),
    "a manifest of lists": _pattern("export.json", b"[", b"[],", b"[]]"),
    "a head of lists": _pattern("checkpoints.jsonl", b'{"at":[', b"[],", b"[]]}\n"),
    "a log of empty lines": _pattern("log.jsonl", b"", b"\n", b""),
}


@pytest.mark.parametrize("name", LARGE)
def test_hostile_sizes_are_refused_in_little_memory(name: str, copy: Path, export: Path) -> None:
    LARGE[name](copy)

    done = judged(copy, export)

    assert done.returncode in (1, 2)
    assert "memory" not in done.stderr


def test_many_heads_that_are_wrong_are_refused_in_little_memory(copy: Path, export: Path) -> None:
    head = json.loads((copy / "checkpoints.jsonl").read_text().splitlines()[0])
    with (copy / "checkpoints.jsonl").open("w") as file:
        for seq in range(1, 400_001):
            file.write(json.dumps(head | {"seq": seq, "signer": "0" * 64}, sort_keys=True) + "\n")

    done = judged(copy, export)

    assert done.returncode == 1
    assert "another key signed" in done.stdout


def test_a_body_of_many_lists_is_judged_in_little_memory(copy: Path, export: Path) -> None:
    rewrite(copy, first=("erasure.made", "[" + "[]," * (5 << 20) + "[]]"))

    done = judged(copy, export)

    assert done.returncode == 1
    assert "memory" not in done.stderr
