"""Nothing that data says reaches a terminal, a log or a message raw: every command, every field, every such character.

What may be printed is asked of Unicode's own tables here, not of the list the product goes by.
"""

import io
import json
import logging
import re
import signal
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from reconcile.cli import exits
from reconcile.cli.commands import program
from reconcile.guard import Guard
from reconcile.telemetry import logs, visible
from tests.support.cli import Answer, Project, sqlite
from tests.support.folders import NAUGHTY_STRINGS
from tests.support.serve import until

DRAWN = set("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd") | {
    chr(code) for code in range(0x13430, 0x13440)
}
"""Format characters that have a shape: signs before Arabic numbers, joints of hieroglyphs."""

EVERY = [
    character
    for character in map(chr, range(sys.maxunicode + 1))
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and character not in DRAWN
]
"""Every character that a terminal could obey or hide."""

ATTACKS = (
    *("\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b[2J\x1b[H", "\x9b31m", "\x90q\x9c", "a\rb", "a\bb", "a\x7fb"),
    *("\u202egnp.exe", "\u2066a\u2069", "\u200e\u200f\u061c", "a\u200bb", "a\u200cb", "a\u200db", "\ufeffa", "a\xadb"),
    *("a\u2028b", "a\u2029b", "a\x85b", "a\x0bb\x0cb", "a\u2060b", "a\u3164b", "\U000e0041", "\ufff9a\ufffb", "\t"),
    *("\nFORGED: nothing is wrong", "\r\nFORGED", "x\nFORGED\n"),
)
HOSTILE = "ý漢👩\u200d👧" + "".join(attack for attack in ATTACKS if "\n" not in attack) + "\nFORGED: all is well"
NAME = "n\x1b[31m\u202e\u200b\x9b\nFORGED"
"""What fits where a name is, of a file or a column."""


def hidden(text: str) -> list[str]:
    """What of a text a terminal would not draw, and lines that begin as no line of ours does."""
    raw = [
        f"U+{ord(character):04X}"
        for place, character in enumerate(text)
        if character in HIDDEN and not joins_symbols(text, place)
    ]
    return raw + re.findall(r'^[^\w\n"]*FORGED.*', text, re.MULTILINE)


def joins_symbols(text: str, place: int) -> bool:
    """A joiner between two emoji makes one character of them."""
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    drawn = before == "\ufe0f" or unicodedata.category(before or " ") in {"So", "Sk", "Sm"}
    return text[place] == "\u200d" and drawn and unicodedata.category(after or " ") in {"So", "Sm"}


HIDDEN = frozenset([*EVERY, *"\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"]) - {"\n"}


def nothing_raw(answer: Answer, *words: str) -> Answer:
    assert not hidden(answer.out), (words, hidden(answer.out), answer.out)
    assert not hidden(answer.err), (words, hidden(answer.err), answer.err)
    assert "Traceback" not in answer.said, (words, answer.said)
    assert answer.code != exits.DEFECT, (words, answer.said)
    if "--json" in words and answer.code == 0 and answer.out:
        answer.json  # noqa: B018 - it is valid
    return answer


# The characters


def test_no_character_that_is_not_drawn_passes_and_each_has_an_escape_of_its_own() -> None:
    shown = {character: visible.line(f"a{character}b") for character in EVERY}

    assert not [character for character, text in shown.items() if hidden(text) or not text.isascii()]
    assert len(set(shown.values())) == len(EVERY)
    assert [shown[character] for character in "\x1b\n\t\x9b\u202e\U000e0041"] == [
        *("a\\x1bb", "a\\nb", "a\\tb", "a\\x9bb", "a\\u202eb", "a\\U000e0041b")
    ]


def test_json_says_the_same_with_escapes() -> None:
    document = {character: character for character in [*EVERY, "é", "漢", "👩\u200d👧"]}

    shown = visible.in_json(json.dumps(document, ensure_ascii=False))
    latin = visible.in_json(json.dumps(document, ensure_ascii=False), "iso8859-1")

    assert json.loads(shown) == document == json.loads(latin)
    assert not hidden(shown)
    assert all(character in shown for character in ("é", "漢", "👩\u200d👧"))
    assert "é" in latin.encode("iso8859-1").decode("iso8859-1")


@pytest.mark.parametrize(
    "text",
    [
        "Zoë Müßig",
        "株式会社山田",
        "नमस्ते",
        "Ελλάδα",
        "אבג",
        "مرحبا",
        "⚠️ 👩🏽‍🚀 🏳️‍🌈 👨‍👩‍👧",
        "葛󠄀城",
        "C:\\new\\x1b",
        "a\xa0b",
        "1 000,00 €",
    ],
)
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert visible.line(text) == text


def test_a_locale_without_a_character_gets_its_escape_and_json_stays_valid(tmp_path: Path) -> None:
    behind = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    visible.VisibleStream(behind).write("é漢\n")
    behind.flush()
    assert behind.buffer.getvalue() == b"\\xe9\\u6f22\n"  # type: ignore[attr-defined]


# Every command


SETTINGS: dict[str, Any] = {
    "version": 1,
    "sources": {
        "shop": {"type": "sql", "url": "sqlite:///shop.db"},
        "files": {"type": "files", "root": "."},
        "gone": {"type": "files", "root": f"no {NAME}"},
    },
    "datasets": {
        "people": {
            "source": "shop",
            "table": f"people {NAME}",
            "id": f"id {NAME}",
            "money": {"amount": "amount", "currency": "currency"},
        },
        "bills": {"source": "files", "path": "bill*.csv"},
        "lost": {"source": "gone", "path": f"lost {NAME}.csv", "id": "id"},
    },
    "rules": {
        "twins": {
            "kind": "duplicates",
            "dataset": "people",
            "key": [f"mail {NAME}"],
            "owner": f"@{NAME}",
            "where": f"mail2 <> '{NAME}'",
            "clean": {"action": "delete"},
            "limits": {"records": 1000, "share": "100%"},
        },
        "billed": {"kind": "duplicates", "dataset": "bills", "key": [f"ref {NAME}"]},
        "lost": {"kind": "duplicates", "dataset": "lost", "key": ["email"]},
    },
    "channels": {
        "file": {"type": "file", "path": f"told {NAME}.txt"},
        "screen": {"type": "file", "path": "-"},
        "lines": {"type": "file", "path": "told.jsonl", "format": "jsonl"},
        "hook": {"type": "webhook", "url": "http://127.0.0.1:1/x", "allow": ["127.0.0.0/8"]},
        "slack": {"type": "slack", "token": "xoxb-no", "channel": "#no"},
    },
    "jobs": {
        "nightly": {"rules": ["twins", "billed"], "notify": ["file", "screen", "lines"], "existing": "report"},
        "broken": {"rules": ["lost"], "notify": ["file"]},
    },
}


def in_sql(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in which everything a stranger can name or fill is hostile: folder, files, tables, columns, values."""
    monkeypatch.setenv("RECONCILE_ACTOR", f"ada {HOSTILE}")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("SOMETHING", HOSTILE)
    folder = tmp_path / f"shop {NAME}"
    folder.mkdir()
    table, number, mail = (in_sql(f"{what} {NAME}") for what in ("people", "id", "mail"))
    with sqlite(folder / "shop.db") as con:
        con.execute(
            f"create table {table} ({number} text primary key, {mail} text, mail2 text, amount numeric, currency text)"
        )
        for place, attack in enumerate((*ATTACKS, HOSTILE)):
            for twin in ("a", "b"):
                row = (f"{place}{twin} {attack}", f"{place} {attack}", attack, place, attack)
                con.execute(f"insert into {table} values (?, ?, ?, ?, ?)", row)
    for twin in ("a", "b"):
        quoted = ",".join('"' + text.replace('"', '""') + '"' for text in (f"ref {NAME}", NAME, "x", HOSTILE))
        (folder / f"bill{twin} {NAME}.csv").write_text("{},{}\n{},{}\n".format(*re.split(r',(?=")', quoted)))
    return Project(folder, typed="correct horse battery\n").write(json.dumps(SETTINGS))


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that the command line has, by its words."""
    if path:
        yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from leaves(below, (*path, name))


COMMANDS = dict(leaves(program))


def words_of(command: Any, value: Callable[[str], str | None], *, options: bool) -> list[str]:
    """Arguments of a command, and its options that take a text; what has no value by its name is left out."""
    words: list[str] = []
    last: list[str] = []
    for parameter in command.params:
        text = None if parameter.name in ("config", "help") else value(parameter.name)
        if text is None or getattr(parameter, "is_flag", False):
            continue
        if parameter.param_type_name == "argument":
            last.append(text)
        elif options:
            words += [parameter.opts[0], text]
    return [*words, *(["--", *last] if last else [])]


def known_values(shop: Project) -> dict[str, str | None]:
    """What the parameters of commands may be called with here; every other gets a hostile text."""
    [finding, *_] = shop("findings", "--rule", "twins", "--json").json
    release = shop("releases", "--json").json[0]["release"]
    assert shop("export", f"returned {NAME}.csv").code == 0
    with Guard.connect("sqlite:///reconcile.db", {"mails": {}}, folder=shop.folder) as guard:
        claimed = guard.claim("mails", "17").key
    names = {"rule": "twins", "rules": "twins", "job": "nightly", "jobs": "nightly", "source": "shop"}
    names |= {"channel": "file", "dataset": "people", "column": f"mail {NAME}", "finding": finding["id"]}
    names |= {"release": release, "limit": "5", "until": "3d", "state": "all", "directory": f"new {NAME}"}
    names |= {
        "folder": f"demo {NAME}",
        "file": f"backup {NAME}",
        "html": f"page {NAME}",
        "place": f"export {NAME}",
        "sheet": f"sheet {NAME}.csv",
        "returned": f"returned {NAME}.csv",
        "asked": finding["id"],
        "ids": finding["id"],
    }
    names |= {"shell": "bash", "subjects": "states", "key": claimed}
    names |= {"name": "bea", "user": "bea", "role": "reviewer", "new_role": "reviewer", "expires": "3d"}
    nothing = ("record", "slot", "fail_on", "severity", "plan", "event", "run", "plan", "listen", "other")
    nothing += ("where", "confirm", "plan_file", "output_format", "namespace")
    return {**names, **dict.fromkeys(nothing)}


def calls(path: tuple[str, ...], command: Any, settings: dict[str, str | None]) -> Iterator[list[str]]:
    """A command with nothing, with what is known here, and with hostile texts everywhere, for people and as JSON."""
    flags = {name for parameter in command.params for name in parameter.opts}
    show = ["--show"] if "--show" in flags else []
    texts = [
        words_of(command, lambda name: settings.get(name, HOSTILE), options=False),
        words_of(command, lambda name: settings.get(name, HOSTILE), options=True),
        words_of(command, lambda _: HOSTILE, options=False),
        words_of(command, lambda _: HOSTILE, options=True),
    ]
    for words in [[], *texts]:
        for form in ([], *([["--json"]] if "--json" in flags else [])):
            yield [*path, *show, *form, *words]
    for name in sorted(flags - {"--help", "-h"}):  # each option by itself, with a hostile text after it
        yield [*path, name, HOSTILE] if name.startswith("--") else [*path, name + HOSTILE]
        yield [*path, name, *texts[0]]


LONG = {("serve",), ("demo",)}
"""Commands with a test of their own: one stays, one takes seconds."""

REFUSED = {
    *(("doctor",), ("retry",), ("seal",), ("target",), ("notify",), ("users",), ("tokens",)),
    *(("messages", "requeue"), ("messages", "drop"), ("learn",), ("judge",), ("split",)),
    ("keys", "expire"),
}
"""What cannot end with 0 here: a source is broken, no plan failed, no key is set, no message waits for a person, no
rule is of a kind that learns, the claimed key was released, and four are only groups.
"""


@pytest.mark.slow
def test_every_command_prints_only_what_can_be_seen(shop: Project) -> None:
    for words in (
        ["run", "--dry-run", "--show"],
        ["run"],
        ["run", "--json", "--show"],
        ["pause", "broken", "--reason", HOSTILE],
    ):
        nothing_raw(shop(*words), *words)
    remembered = known_values(shop)
    finding = str(remembered["finding"])
    for words in (["dismiss", finding, "--note", HOSTILE], ["reopen", finding, "--note", HOSTILE]):
        assert nothing_raw(shop(*words), *words).code == 0
    for words in (["approve", finding, "--note", HOSTILE], ["undo", finding, "--note", HOSTILE]):
        assert nothing_raw(shop(*words), *words).code == 0
    assert HOSTILE in [event.get("note") for event in shop("show", finding, "--json").json["history"]]

    keepers = {result["id"]: result["surplus"][0][0] for result in shop("findings", "--rule", "twins", "--json").json}
    names, worked = (
        list(keepers),
        {("dismiss",), ("reopen",), ("undo",)},
    )
    for number, (path, command) in enumerate(COMMANDS.items()):
        if path not in LONG:
            finding = names[number % len(names)]  # what one command settled another could only refuse
            these = dict.fromkeys(("finding", "asked", "ids"), finding) | {"keeper": keepers[finding]}
            told = calls(path, command, remembered | these)
            for words in dict.fromkeys(map(tuple, told)):
                if nothing_raw(shop(*words), *words).code == exits.DONE:
                    worked.add(path)
    assert set(COMMANDS) - worked <= set(LONG) | REFUSED, "give its parameters values in known_values"

    sent = (shop.folder / f"told {NAME}.txt").read_text(), (shop.folder / "told.jsonl").read_text()
    assert all(sent)
    assert not [text for text in sent if hidden(text)]


def test_the_list_of_commands_is_the_program_s() -> None:
    assert {("run",), ("audit", "verify"), ("notify", "preview"), ("serve",)} <= set(COMMANDS)
    assert len(COMMANDS) > 40


@pytest.mark.slow
def test_the_demo_in_a_hostile_folder_prints_only_what_can_be_seen(shop: Project) -> None:
    words = ("demo", "--in", f"demo {NAME}")

    assert nothing_raw(shop(*words), *words).code == 0


@pytest.mark.slow
def test_a_command_called_wrongly_repeats_only_what_can_be_seen(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for text in (*ATTACKS, HOSTILE):
        for words in ([text], [f"--{text}"], ["run", f"--{text}"], ["-c", text], ["run", "-c", text], ["audit", text]):
            answer = nothing_raw(project(*words), *words)
            assert answer.code in (exits.WRONG, exits.DONE), answer
    assert nothing_raw(project("run", "a\udcffb")).code == exits.WRONG


@pytest.mark.slow
def test_mistakes_in_a_configuration_print_only_what_can_be_seen(tmp_path: Path) -> None:
    """Every text of the configuration is replaced by a hostile one, keys included, one after another."""

    def variants(node: Any) -> Iterator[Any]:
        if isinstance(node, dict):
            for key, value in node.items():
                rest = {name: item for name, item in node.items() if name != key}
                yield {**rest, HOSTILE: value}
                yield from ({**rest, key: variant} for variant in variants(value))
        elif isinstance(node, list):
            for place, value in enumerate(node):
                yield from ([*node[:place], variant, *node[place + 1 :]] for variant in variants(value))
        else:
            yield HOSTILE

    project = Project(tmp_path)
    for text in variants(SETTINGS):
        for form in (json.dumps(text), json.dumps(text, ensure_ascii=False)):
            (tmp_path / "reconcile.yaml").write_text(form)
            nothing_raw(project("explain", "twins"), form)


# Naughty strings


@pytest.mark.skipif(not NAUGHTY_STRINGS.is_file(), reason="the shared data is not here")
@pytest.mark.slow
def test_the_big_list_of_naughty_strings_is_shown_and_its_json_is_exact(tmp_path: Path) -> None:
    texts = {text for text in json.loads(NAUGHTY_STRINGS.read_text()) if text.strip() and "\0" not in text}
    with sqlite(tmp_path / "shop.db") as con:
        con.execute("create table people (id integer primary key, mail text)")
        con.executemany("insert into people (mail) values (?)", [(text,) for text in texts for _ in "ab"])
    settings: dict[str, Any] = {
        "version": 1,
        "sources": {"shop": {"type": "sql", "url": "sqlite:///shop.db"}},
        "datasets": {"people": {"source": "shop", "table": "people", "id": "id"}},
        "rules": {"twins": {"kind": "duplicates", "dataset": "people", "key": ["mail"], "clean": {"action": "delete"}}},
    }
    project = Project(tmp_path).write(json.dumps(settings))
    every = ["--limit", "2000"]
    for words in (["run"], ["findings", *every], ["plan", "--limit", "700"], ["audit"], ["audit", "--json"]):
        assert nothing_raw(project(*words), *words).code == 0

    document = nothing_raw(project("findings", "--json", *every)).json

    assert {item["key"]["mail"] for item in document} == texts
    name = document[0]["id"]
    for text in sorted(texts):
        for words in ([text], ["-c", text], ["show", text, "-c", "none.yaml"]):
            nothing_raw(project(*words), *words)
    for text in sorted(texts)[::10]:
        assert nothing_raw(project("assign", name, "--note", text, "--", text), text).code in (0, exits.WRONG)
    nothing_raw(project("show", name))
    nothing_raw(project("audit", "--finding", name))


# Beside commands


def test_what_others_print_goes_through_the_same_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries that log, a plain `print`, what typer echoes: whoever writes to the terminal in this process."""

    def noisy(*_: object, **__: object) -> None:
        print(HOSTILE.replace("\n", " "))  # a stray line
        print(HOSTILE.replace("\n", " "), file=sys.stderr)
        typer.echo(HOSTILE.replace("\n", " "), err=True)
        assert logging.lastResort is not None
        logging.lastResort.handle(logging.makeLogRecord({"msg": HOSTILE.replace("\n", " "), "levelno": 30}))
        raise PermissionError(HOSTILE)

    monkeypatch.setattr("reconcile.doctor.examine", noisy)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    answer = Project(tmp_path)("doctor")

    assert answer.code == exits.DEFECT
    assert "gnp.exe" in answer.out
    assert answer.err.count("gnp.exe") == 3
    assert not hidden(answer.said), hidden(answer.said)
    assert not [file for file in tmp_path.glob("reconcile-defect-*") if hidden(file.read_text())]


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("text", [*ATTACKS, HOSTILE, "\ud800", "".join(EVERY)])
def test_a_line_of_the_log_is_a_line_whatever_it_says(as_json: bool, text: str) -> None:
    out = io.StringIO()
    logs.set_up(as_json=as_json, quiet=False, colors=False, stream=out)

    logs._log.warning("rule.failed", rule=text, sentence=f"x {text}", more={text: [text]}, **{"a b": text})
    logs._log.warning(f"odd {text}", **{text: 1})

    lines = out.getvalue().splitlines(keepends=True)
    assert out.getvalue().count("\n") == len(lines) == 2
    assert not hidden(out.getvalue()), hidden(out.getvalue())
    if as_json and len(text) < 300:
        assert json.loads(lines[0])["rule"] == text


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.slow
def test_serve_and_its_runs_log_only_what_can_be_seen(shop: Project, form: list[str]) -> None:
    for job in ("broken", "nightly"):
        nothing_raw(shop("trigger", job, "--key", "k"))
    log = shop.folder.parent / "log"
    with log.open("w") as file:
        program = [str(Path(sys.executable).with_name("reconcile")), "serve", "--listen", "none", *form]
        serving = subprocess.Popen(program, cwd=shop.folder, stdout=file, stderr=subprocess.STDOUT)
    try:
        until(lambda: all(_has_ended(job, log.read_text()) for job in ("broken", "nightly")), 60, log.read_text)
    finally:
        serving.send_signal(signal.SIGTERM)
        code = serving.wait(60)

    answer = nothing_raw(Answer(code, log.read_text(), ""), "serve")

    assert answer.code == exits.DONE
    assert "FORGED" in answer.said


def _has_ended(job: str, log: str) -> bool:
    """A run that failed is tried again, so one job can end twice before the other does."""
    return re.search(rf"run\.ended[^\n]*{job}", log) is not None
