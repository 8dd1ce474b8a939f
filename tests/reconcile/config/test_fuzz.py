"""Configurations changed at random: a project or mistakes with file and line, in seconds, in little memory.

A short form runs in CI; `make chaos` goes on for minutes.
"""

import faulthandler
import json
import random
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconcile.config import ConfigProblems, load, load_kept
from reconcile.config.settings import Project
from tests.reconcile.config.mistakes import MISTAKES
from tests.support.chance import SECONDS, SEED, lasting
from tests.support.config import CLEANING
from tests.support.folders import ROOT

SHORT = 10
"""Seconds."""
SLOWEST = 5.0
"""Seconds of CPU that reading one configuration may take."""
HANGS = 120
MEMORY = 500_000_000
"""Bytes more than before that reading one configuration of at most a megabyte may ask the system for."""

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300 + SECONDS)]

EXAMPLES = sorted((ROOT / "examples").rglob("reconcile.yaml"))
WHOLE = [text for text in MISTAKES.values() if isinstance(text, str)]
TOKENS = (
    *(
        "\x00",
        "\r",
        "\n",
        "\t",
        " ",
        "  ",
        ":",
        ": ",
        "- ",
        "#",
        " #",
        "'",
        '"',
        "|",
        ">",
        "|2-\n",
        "?",
        "? ",
        "@",
        "`",
        "%",
    ),
    *(
        "&a",
        "*a",
        "<<: *a",
        "!!python/object/apply:os.system [x]",
        "!!binary ",
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "%TAG ! x\n",
    ),
    *(
        "{",
        "}",
        "[",
        "]",
        ",",
        "[" * 3000,
        "{a: " * 3000,
        "- " * 3000,
        "? " * 500,
        "[a, " * 60,
        "\ufeff",
        "\u2028",
        "\x85",
    ),
    *(
        "${HOME}",
        "${secret:HOME}",
        "${",
        "$${",
        "${A:-${B}}",
        "${A:-" + "x" * 5000 + "}",
        "null",
        "~",
        "0x1f",
        "1e999",
        ".inf",
    ),
    *(
        "\xff",
        "\ud800",
        "\U0010ffff",
        "\u202e",
        '"\\ud800"',
        '"\\U0010ffff"',
        '"\\x00"',
        "é" * 2000,
        "9" * 5000,
        "-1",
        "∞",
    ),
    *("include: ['**/*']", "include: [../*]", "include: [reconcile.yaml]", "version: 99", "rules: all", "other.yaml"),
    *(
        "a = b",
        "(" * 500,
        "not " * 500,
        "1 + " * 500,
        "case when " * 100,
        "a like '%'",
        "lower(" * 200,
        "'",
        "in (1,2",
        "a.b.c",
    ),
)
SCALARS: tuple[Any, ...] = (
    *(
        None,
        "",
        " ",
        "null",
        "no",
        "0",
        "-1",
        "1e400",
        "9" * 400,
        "a" * 70_000,
        "é",
        "\x1b[31m",
        "\n",
        "${X}",
        "${secret:X}",
    ),
    *(
        "all",
        "*",
        "**/*",
        "../x",
        "/etc/passwd",
        "file:///etc/passwd",
        "sqlite:////etc/passwd",
        "postgresql://a:b@[::1/x",
    ),
    *(
        "not " * 300 + "a",
        "(" * 300,
        "a = 'x' and " * 300 + "b",
        "lower(" * 100 + "a" + ")" * 100,
        "{{ keeper.id }}",
        "{{" * 50,
    ),
    *(
        "0 0 30 2 *",
        "* * * * *",
        "every 0 s",
        "15m",
        "99999999999d",
        "Europe/Nowhere",
        "@x",
        "[a-z",
        "(a+)+$",
        "1%",
        "101%",
    ),
)
ENVIRON = {"HOME": "/root", "X": "x'\"\n: [", "A": "", "B": "9" * 1000}


# Changes


def changed_bytes(chance: random.Random, data: bytes) -> bytes:
    content = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        begin = chance.randrange(len(content) + 1)
        end = min(len(content), begin + chance.choice((0, 1, 2, 8, 100)))
        kind = chance.randrange(6)
        if kind <= 1:
            content[begin:begin] = chance.choice(TOKENS).encode("utf-8", "surrogatepass")
        elif kind == 2:
            content[begin:end] = b""
        elif kind == 3:
            content[begin:end] = chance.randbytes(end - begin)
        elif kind == 4:
            content[begin:begin] = content[begin:end] * chance.choice((1, 3, 300))
        else:
            del content[begin:]
    return bytes(content)


def changed_lines(chance: random.Random, data: bytes) -> bytes:
    """Lines are left out, doubled, moved, indented otherwise."""
    lines = data.split(b"\n")
    for _ in range(chance.choice((1, 2, 5))):
        place = chance.randrange(len(lines))
        line = lines.pop(place) if chance.random() < 0.6 else lines[place]
        if chance.random() < 0.7 or not lines:
            lines.insert(chance.randrange(len(lines) + 1), chance.choice((b"", b" ", b"  ", b"\t", b"- ")) + line)
    return b"\n".join(lines)


def changed_tree(chance: random.Random, data: bytes) -> bytes:
    """The same settings with some at the wrong place, of the wrong kind, too many or too deep."""
    try:
        tree = yaml.load(data, yaml.BaseLoader)  # noqa: S506 - it makes texts and nothing else
    except yaml.YAMLError:
        return changed_bytes(chance, data)
    text = json.dumps(tree)
    for _ in range(chance.choice((1, 1, 2, 4))):
        tree = json.loads(text)
        nodes = [node for node in every_node(tree) if node]
        if not nodes:
            break
        change(chance, chance.choice(nodes), chance.choice(nodes))
        try:
            text = json.dumps(tree, ensure_ascii=chance.random() < 0.5)
        except RecursionError:
            break
    return text.encode("utf-8", "surrogatepass")


def every_node(node: Any) -> Iterator[Any]:
    """The mappings and lists of a tree."""
    if isinstance(node, (dict, list)):
        yield node
        for below in node.values() if isinstance(node, dict) else node:
            yield from every_node(below)


def change(chance: random.Random, node: Any, value: Any) -> None:
    place = chance.choice(list(node)) if isinstance(node, dict) else chance.randrange(len(node))
    kind = chance.randrange(6)
    if kind <= 1:
        node[place] = chance.choice(SCALARS)
    elif kind == 2:
        node[place] = json.loads(json.dumps(value))
    elif kind == 3:
        many = min(chance.choice((2, 50, 3000)), 1 + 2_000_000 // len(json.dumps(node[place])))
        node[place] = [node[place]] * many if chance.random() < 0.5 else {f"k{n}": node[place] for n in range(many)}
    elif kind == 4:
        for _ in range(chance.choice((1, 10, 45, 400))):
            node[place] = {"x": node[place]} if chance.random() < 0.5 else [node[place]]
    elif isinstance(node, dict):
        node[str(chance.choice(SCALARS))] = node.pop(place)
    else:
        del node[place]


def noise(chance: random.Random, _: bytes) -> bytes:
    if chance.random() < 0.5:
        return chance.randbytes(chance.choice((0, 1, 100, 10_000)))
    return "".join(chance.choices(TOKENS, k=chance.choice((1, 5, 40)))).encode("utf-8", "surrogatepass")


CHANGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    *(changed_bytes, changed_bytes, changed_lines, changed_tree, changed_tree, changed_tree, noise),
)


# Properties


@contextmanager
def little_memory() -> Iterator[None]:
    """A limit of what is asked for inside; more is a MemoryError, which fails the test."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def outcome(file: Path) -> Project | ConfigProblems:
    try:
        return load(file, ENVIRON)
    except ConfigProblems as problems:
        return problems


def check_problems(problems: ConfigProblems, folder: Path) -> None:
    assert problems.problems
    for problem in problems.problems:
        lines = Path(problem.file).read_bytes().decode("utf-8", "replace").splitlines(keepends=True)
        assert Path(problem.file).parent == folder, problem
        assert 1 <= problem.line <= len(lines) + 1, problem
        assert problem.column >= 1, problem
        assert problem.sentence.strip(), problem
        assert "Traceback" not in problem.sentence, problem
    assert len(str(problems)) < 20_000_000


def test_the_changes_make_projects_and_mistakes_of_every_kind() -> None:
    """What is tried is near enough to a configuration, and far enough from one."""
    chance = random.Random(1)
    texts_by_change = {change.__name__: [change(chance, CLEANING.encode()) for _ in range(20)] for change in CHANGES}

    assert all(len(set(texts)) > 10 for texts in texts_by_change.values())
    assert EXAMPLES


@pytest.mark.parametrize("wrong", ["`x`", {"a": "`b`"}, ["a", "b"]])
def test_thousands_of_mistakes_in_one_rule_are_told_in_seconds(tmp_path: Path, wrong: Any) -> None:
    """What is wrong with a value is looked up in all of its mapping: that was a minute for three thousand."""
    settings = yaml.load(CLEANING, yaml.BaseLoader)  # noqa: S506 - it makes texts and nothing else
    settings["rules"]["gone"]["keep"] = [{"prefer": {"email": [wrong] * 3000}}, *[wrong] * 3000]
    settings["rules"]["gone"]["key"] = {f"k{n}": wrong for n in range(3000)}
    file = tmp_path / "reconcile.yaml"
    file.write_text(json.dumps(settings))
    begin = time.process_time()

    problems = outcome(file)

    assert time.process_time() - begin < SLOWEST
    assert isinstance(problems, ConfigProblems)
    assert "rule `gone` has more than 100 mistakes; correct these first" in str(problems)
    check_problems(problems, tmp_path)


def test_a_time_zone_with_thousands_of_slashes_is_a_mistake_with_its_line(tmp_path: Path) -> None:
    """It was a RecursionError: Python imports a package for each part of the name."""
    file = tmp_path / "reconcile.yaml"
    file.write_text(f"timezone: {'Europe/' * 3000}\n{CLEANING}")

    problems = outcome(file)

    assert isinstance(problems, ConfigProblems)
    assert "is not a time zone" in str(problems)
    check_problems(problems, tmp_path)


def test_a_duration_longer_than_a_century_in_an_expression_is_a_mistake_with_its_line(tmp_path: Path) -> None:
    """It was a defect: durations of settings and of expressions are read by one function, which refuses it."""
    file = tmp_path / "reconcile.yaml"
    file.write_text(CLEANING.replace("key: [email]\n", "key: [email]\n    where: a > b + 99999999999d\n", 1))

    problems = outcome(file)

    assert isinstance(problems, ConfigProblems)
    assert "longer than a hundred years at column 9" in str(problems)
    check_problems(problems, tmp_path)


def test_a_changed_configuration_is_a_project_or_mistakes_with_their_lines(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    seeds = [file.read_bytes() for file in EXAMPLES] + [text.encode() for text in (CLEANING, *WHOLE)]
    file, beside = tmp_path / "reconcile.yaml", tmp_path / "other.yaml"
    cases, projects, slowest = 0, 0, 0.0
    end = time.monotonic() + SHORT
    is_over = lasting(0.08, lambda: time.monotonic() > end)
    while not is_over() or cases < 200:
        seed = chance.choice(seeds[: len(EXAMPLES) + 1] if chance.random() < 0.7 else seeds)
        content = chance.choice(CHANGES)(chance, seed) if chance.random() < 0.98 else seed
        file.write_bytes(content)
        beside.write_bytes(chance.choice(CHANGES)(chance, seed))
        where = f"seed {SEED}, case {cases}: {content[:3000]!r}"
        faulthandler.dump_traceback_later(HANGS, exit=True)
        begin = time.process_time()
        try:
            with little_memory():
                read = outcome(file)
        except BaseException as error:
            error.add_note(where)
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()
        seconds = time.process_time() - begin
        assert seconds < SLOWEST, (seconds, where)
        slowest = max(slowest, seconds)
        try:
            if isinstance(read, ConfigProblems):
                check_problems(read, tmp_path)
            else:
                projects += 1
                check_kept(read, file)
        except AssertionError as error:
            error.add_note(where)
            raise
        cases += 1
    print(f"{cases:,} configurations, {projects:,} projects, the slowest {slowest:.2f} s")
    assert projects


def check_kept(project: Project, file: Path) -> None:
    """What is kept of a configuration reads as the same one."""
    if project.files is not None:
        assert load_kept(project.files, file, ENVIRON, "release").release == project.release
