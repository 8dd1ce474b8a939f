"""Exports changed at random: the verifier never says OK to other facts, never fails with a traceback, never hangs.

The short form runs a few hundred changes; `make chaos` goes on for minutes.
"""

import contextlib
import io
import json
import os
import random
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconcile.audit import verifier
from tests.reconcile.audit.exports import LENGTH, about_of, copy_of, exported, rewrite
from tests.support.chance import SECONDS, SEED, lasting

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300 + SECONDS)]

CASES = 200
SLOWEST = 30.0
"""Seconds that one verification of 331 entries may take on a busy machine; a hang takes for ever."""
FILES = ("log.jsonl", "checkpoints.jsonl", "anchors/log.jsonl", "export.json")
Change = Callable[[Path, random.Random], object]


# Changes of bytes


def _bytes_of(place: Path, chance: random.Random) -> tuple[Path, bytearray]:
    file = place / chance.choice(FILES)
    return file, bytearray(file.read_bytes())


def flip_bits(place: Path, chance: random.Random) -> None:
    file, content = _bytes_of(place, chance)
    for _ in range(chance.choice((1, 1, 2, 30))):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)


def truncate(place: Path, chance: random.Random) -> None:
    file, content = _bytes_of(place, chance)
    file.write_bytes(content[: chance.randrange(len(content))])


def move_bytes(place: Path, chance: random.Random) -> None:
    """A piece is removed, repeated or put elsewhere."""
    file, content = _bytes_of(place, chance)
    begin = chance.randrange(len(content))
    piece = content[begin : begin + chance.choice((1, 10, 700, 5_000))]
    if chance.random() < 0.7:
        del content[begin : begin + len(piece)]
    if chance.random() < 0.7:
        into = chance.randrange(len(content) + 1)
        content[into:into] = piece
    file.write_bytes(content)


def insert_bytes(place: Path, chance: random.Random) -> None:
    file, content = _bytes_of(place, chance)
    into = chance.randrange(len(content) + 1)
    content[into:into] = chance.choice(
        (
            b"\0",
            b"\n",
            b"\r\n",
            b" ",
            b"\xff",
            b"\xef\xbb\xbf",
            b"[" * 5_000,
            b'"',
            b"\\u0000",
            b"9" * 5_000,
            b"\x1b[2J",
        )
    )
    file.write_bytes(content)


# Changes of lines and fields


def shuffle_lines(place: Path, chance: random.Random) -> None:
    file = place / chance.choice(FILES[:3])
    lines = file.read_bytes().splitlines(keepends=True)
    item, two = chance.randrange(len(lines)), chance.randrange(len(lines))
    how = chance.randrange(3)
    if how == 0:
        lines[item], lines[two] = lines[two], lines[item]
    elif how == 1:
        lines.insert(two, lines[item])
    else:
        del lines[item]
    file.write_bytes(b"".join(lines))


def other_value(value: Any, chance: random.Random) -> Any:
    """A value that is near to this one, or of another type."""
    if isinstance(value, int) and chance.random() < 0.5:
        return chance.choice((value + 1, value - 1, -value, float(value), str(value), value == 1, 10**18, 10**30, 0))
    if isinstance(value, str) and value and chance.random() < 0.5:
        at = chance.randrange(len(value))
        return chance.choice((value[:at] + "0" + value[at + 1 :], value[:at], value.upper(), f" {value}", value + "\0"))
    return chance.choice((None, True, [], {}, [value], {"x": value}, "", "\u202e", "\ud800", 1, 1.5, float("nan")))


def change_field(place: Path, chance: random.Random) -> None:
    file = place / chance.choice(FILES)
    lines = [file.read_text()] if file.suffix == ".json" else file.read_text().splitlines()
    at = chance.randrange(len(lines))
    fields = json.loads(lines[at])
    name = chance.choice(sorted(fields))
    how = chance.randrange(5)
    if how == 0:
        del fields[name]
    elif how == 1:
        fields[chance.choice(("note", "", "\u202e", "seq "))] = fields[name]
    elif how == 2:
        document = json.loads(chance.choice(lines))
        fields[name] = document.get(name)
    else:
        fields[name] = other_value(fields[name], chance)
    lines[at] = json.dumps(fields)
    if how == 4:
        lines[at] = lines[at][:-1] + f", {json.dumps(name)}: {json.dumps(other_value(fields[name], chance))}}}"
    file.write_text("".join(f"{line}\n" for line in lines))


# Changes by a forger who hashes the log anew


def forge(place: Path, chance: random.Random) -> None:
    since = chance.randint(1, LENGTH)
    body = chance.choice(
        (
            "{}",
            json.dumps({"entries": [{"seq": chance.randint(0, LENGTH)} for _ in range(3)]}),
            json.dumps({"epoch": 2, "replaced": {"entries": 5, "epoch": 1, "head": "0" * 64}}),
            json.dumps({"epoch": "2", "replaced": {"entries": -1, "epoch": None, "head": 5}}),
            "[" * chance.choice((1, 5_000)),
        )
    )
    event = chance.choice(("note", "erasure.made", "store.restored"))
    rewrite(place, since=since, actor=chance.choice((None, "mallory")), first=chance.choice(((event, body), None)))
    for name in ("checkpoints.jsonl", "anchors/log.jsonl"):
        if chance.random() < 0.6:
            lines = (place / name).read_text().splitlines(keepends=True)
            kept = [line for line in lines if json.loads(line)["seq"] < since]
            (place / name).write_text("".join(kept))


def cut(place: Path, chance: random.Random) -> None:
    """The end goes from everywhere."""
    end = chance.randint(0, LENGTH - 1)
    lines = (place / "log.jsonl").read_text().splitlines(keepends=True)[:end]
    (place / "log.jsonl").write_text("".join(lines))
    for name in ("checkpoints.jsonl", "anchors/log.jsonl"):
        heads = (place / name).read_text().splitlines(keepends=True)
        (place / name).write_text("".join(line for line in heads if json.loads(line)["seq"] <= end))
    head = json.loads(lines[-1])["head"] if lines else "0" * 64
    (place / "export.json").write_text(json.dumps(about_of(place) | {"entries": end, "head": head}))


def exchange_files(place: Path, chance: random.Random) -> None:
    file, second = place / chance.choice(FILES), place / chance.choice(FILES)
    content = second.read_bytes()
    file.unlink()
    how = chance.randrange(6)
    if how == 0:
        os.mkfifo(file)
    elif how == 1:
        file.mkdir()
    elif how == 2:
        file.symlink_to(chance.choice(("/dev/zero", "/etc/passwd", file.name, "export.json")))
    elif how == 3:
        file.write_bytes(content)


CHANGES: tuple[Change, ...] = (
    flip_bits,
    truncate,
    move_bytes,
    insert_bytes,
    shuffle_lines,
    change_field,
    change_field,
    forge,
    cut,
)


# What must hold


def facts_of(place: Path) -> Any:
    """What a reader would take from the export, read without any care; the type of a number counts."""
    try:
        about = json.loads((place / "export.json").read_bytes())
        log = [json.loads(line) for line in (place / "log.jsonl").read_bytes().decode().split("\n") if line]
        told = [about[name] for name in ("format", "store", "epoch", "public_key", "entries", "head")]
        return json.dumps([told, log], sort_keys=True)
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None


def heads_of(place: Path) -> set[str]:
    """The heads an auditor would take from it."""
    heads = set()
    for name in ("checkpoints.jsonl", "anchors/log.jsonl"):
        if (place / name).is_file():
            heads |= {json.dumps(json.loads(line), sort_keys=True) for line in (place / name).read_bytes().splitlines()}
    return heads


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(tmp_path_factory.mktemp("store"))


def verified(place: Path, export: Path) -> tuple[int, str]:
    answer = io.StringIO()
    brought = ["--public-key", about_of(export)["public_key"], "--anchor", str(export / "anchors" / "log.jsonl")]
    with contextlib.redirect_stdout(answer), contextlib.redirect_stderr(answer):
        code = verifier.main([str(place), *brought])
    return code, answer.getvalue()


def test_no_change_of_an_export_passes_fails_with_a_traceback_or_hangs(export: Path, tmp_path: Path) -> None:
    assert verified(export, export)[0] == 0
    facts, heads = facts_of(export), heads_of(export)
    case, passed = 0, 0
    is_over = lasting(0.06, lambda: case >= CASES)

    while not is_over():
        case += 1
        chance = random.Random(f"{SEED} {case}")
        place = copy_of(export, tmp_path / "changed")
        changes = [chance.choice(CHANGES) for _ in range(chance.choice((1, 1, 1, 2)))]
        if chance.random() < 0.05:
            changes.append(exchange_files)  # the last one: no other reads a FIFO
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            for change in changes:  # what the first one left may be nothing that the second one can read
                change(place, chance)
        told = f"seed {SEED}, case {case}: {[change.__name__ for change in changes]}"
        begun = time.monotonic()
        try:
            code, output = verified(place, export)
        except BaseException as error:
            raise AssertionError(told) from error
        assert time.monotonic() - begun < SLOWEST, told
        assert code in (0, 1, 2, 3), told
        assert re.fullmatch(r"[ -~\n]+", output), told
        if code == 0:
            passed += 1
            assert facts_of(place) == facts, told
            assert heads_of(place) <= heads, told
        shutil.rmtree(place)

    print(f"{case} changed exports, {passed} of them with the same facts")
    assert passed < case / 2, "most changes have to be seen"
