"""What people expect of a command line: a status, formats, completion, help by topic, tables that fit."""

import contextlib
import csv
import fcntl
import io
import json
import os
import pty
import re
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reconcile.cli import exits, topics
from reconcile.cli.commands import program
from reconcile.cli.completion import SCRIPTS
from reconcile.cli.formats import LISTS
from reconcile.decisions.conditions import _OF_FINDINGS
from reconcile.findings.states import State
from reconcile.store import tables
from tests.support import next_version
from tests.support.cli import FILES, ORDERS, Answer, KeptFolder, Project, in_words, sqlite
from tests.support.docs import ROOT, rows

CLEANED = """\
version: 1
sources:
  shop: {type: sql, url: "sqlite:///shop.db"}
datasets:
  orders: {source: shop, table: orders, id: id, pii: [email], money: {amount: amount, currency: EUR}}
rules:
  twice: {kind: duplicates, dataset: orders, key: [order_id, email], severity: high, clean: {action: delete}}
jobs:
  nightly: {rules: all, notify: [desk], schedule: 15 6 * * *}
channels:
  desk: {type: file, path: told.txt}
"""
ODD = 'a,"b"\nc'
"""A value that CSV has to quote."""


@pytest.fixture
def orders(tmp_path: Path) -> Project:
    """A project over a file with one duplicate; nothing ran yet."""
    (tmp_path / "orders.csv").write_text(ORDERS)
    return Project(tmp_path).write(FILES)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> KeptFolder:
    folder = tmp_path_factory.mktemp("prepared") / "shop"
    folder.mkdir()
    with sqlite(folder / "shop.db") as db:
        db.execute("create table orders (id text primary key, order_id text, email text, amount numeric)")
        db.executemany("insert into orders values (?, ?, ?, 20)", [(n, ODD, "ada@example.org") for n in ("a", "b")])
    assert Project(folder).write(CLEANED)("run", "-q").code == exits.DONE
    return KeptFolder(folder)


@pytest.fixture
def shop(prepared: KeptFolder) -> Project:
    """A project that cleans a database after approval; a run proposed a plan."""
    return Project(prepared.restored())


def finding_of(project: Project) -> str:
    return str(project("findings", "--state", "all", "--json").json[0]["id"])


def on_terminal(project: Project, *words: str, errors: bool = False) -> list[str]:
    """The lines that the command draws on a terminal of 80 columns, with its colours; optionally also its errors."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [sys.executable, "-P", "-m", "reconcile", *words]
    environ = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    environ |= {"PYTHONPATH": str(ROOT), "TERM": "xterm"}
    beside = slave if errors else subprocess.DEVNULL
    with subprocess.Popen(command, cwd=project.folder, env=environ, stdout=slave, stderr=beside):
        os.close(slave)
        drawn = b"".join(iter(lambda: _read(master), b""))
    os.close(master)
    return drawn.decode().replace("\r\n", "\n").splitlines()


def _read(terminal: int) -> bytes:
    with contextlib.suppress(OSError):  # the other end is closed
        return os.read(terminal, 10_000)
    return b""


def plain(line: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", line)


# status


def test_before_the_first_run_the_status_names_it_and_creates_no_state(orders: Project) -> None:
    answer = orders("status")

    assert (answer.code, answer.out.splitlines()[0]) == (0, "waits    Nothing ran yet  → reconcile run")
    assert not (orders.folder / "reconcile.db").exists()


def test_the_status_says_in_one_line_that_nothing_needs_to_be_done(orders: Project) -> None:
    (orders.folder / "orders.csv").write_text(ORDERS.splitlines()[0] + "\n")
    orders("run", "-q")

    assert orders("status").out.splitlines()[0] == "Nothing needs your attention."
    assert orders("status", "--quiet").out == "Nothing needs your attention.\n"
    assert orders("status", "--json").json["needs_attention"] is False


def test_the_status_of_a_project_names_everything_that_waits_with_its_command(shop: Project) -> None:
    shop("pause", "nightly", "--reason", "look first")
    with sqlite(shop.folder / "reconcile.db") as db:
        db.execute("update outbox set status = 'failed', problem = 'the disk is full'")

    answer = shop("status")

    lines = answer.out.splitlines()
    assert answer.code == 0, answer.said
    assert lines[0] == "waits    1 finding: 1 high; 20.00 EUR at risk"
    assert lines[1] == "         → reconcile findings --state waiting"
    assert lines[2] == "         1 plan to approve or reject"
    assert lines[3] == "         → reconcile findings --state awaiting_approval"
    assert "channel desk: 1 message failed (the disk is full)" in answer.out
    assert "`reconcile messages`" in answer.out
    assert "`reconcile resume nightly`" in answer.out
    assert re.fullmatch(r"release  [0-9a-f]{12}, the configuration file's", lines[-1])
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_the_status_as_json_has_the_numbers_and_each_command_is_one_that_there_is(shop: Project) -> None:
    document = shop("status", "--json").json

    assert document["needs_attention"] is True
    assert (document["findings"], document["at_risk"]) == ({"high": 1}, "20.00 EUR")
    assert [job["job"] for job in document["jobs"]] == ["nightly"]
    commands = [fact["command"] for fact in document["facts"] if fact["command"]]
    assert len(commands) == 2
    assert [command for command in commands if command.split()[1] not in program.commands] == []
    assert [shop(*command.split()[1:]).code for command in commands if "findings" in command] == [0, 0]


@pytest.mark.slow
def test_a_source_that_failed_is_in_the_status_until_it_answers(orders: Project) -> None:
    """The exit code stays 0: the status could be read."""
    orders("run", "-q")
    (orders.folder / "orders.csv").rename(orders.folder / "away.csv")
    assert orders("run", "-q").code == exits.FAILED

    failed = orders("status")
    (orders.folder / "away.csv").rename(orders.folder / "orders.csv")
    orders("run", "-q")

    assert failed.code == 0, failed.said
    assert "→ reconcile run default" in failed.out
    assert "→ reconcile check" in failed.out
    assert "orders.csv" in failed.out
    assert "failed" not in orders("status").out


@pytest.mark.slow
def test_an_undo_that_failed_is_in_the_status(shop: Project) -> None:
    name = finding_of(shop)
    assert shop("approve", name).code == 0
    shop("pause", "--source", "shop")
    assert "waiting" in shop("undo", name).out
    with sqlite(shop.folder / "shop.db") as db:
        db.execute("insert into orders select case id when 'a' then 'b' else 'a' end, 'new', 'bea', 1 from orders")
    shop("resume", "--source", "shop")
    assert shop("run", "-q").code == exits.REFUSED

    facts = shop("status", "--json").json["facts"]

    sentences = {fact["command"]: fact["sentence"] for fact in facts}
    assert sentences[f"reconcile show {name}"] == f"1 undo failed: {name}"


def test_more_facts_than_fit_on_a_screen_are_counted(orders: Project) -> None:
    times = "".join(f"  job{n}: {{rules: all, schedule: {n} 6 * * *}}\n" for n in range(10, 30))
    orders.write(f"{FILES}jobs:\n{times}")

    answer = orders("status")

    assert "… and 14 more; --json shows all" in answer.out
    assert len(answer.out.splitlines()) <= 24
    assert len(orders("status", "--json").json["facts"]) > 20


def test_the_status_of_a_release_that_is_not_the_file_s_names_both(orders: Project) -> None:
    orders("run", "-q")
    used = orders("promote", "-q", "--json").json["release"]
    orders.write(FILES.replace("severity: high", "severity: low"))

    assert f"{used[:12]} is current; the configuration file is release " in orders("status").out


def test_a_state_that_cannot_be_read_is_an_error_of_the_status(orders: Project) -> None:
    (orders.folder / "reconcile.db").write_bytes(b"no database at all" * 100)

    assert orders("status").code == exits.FAILED


# -o


def nested(text: str, value: Any) -> Any:
    """A cell of CSV, read as the JSON value it comes from."""
    if isinstance(value, str):
        return text
    return None if text == "" else json.loads(text)


@pytest.mark.parametrize("command", LISTS)
def test_a_list_as_csv_has_the_rows_and_the_exact_values_of_its_json(shop: Project, command: str) -> None:
    shop("users", "add", "ada", "--no-password")
    shop("tokens", "add", "import", "--user", "ada")
    words = command.split()
    documents = shop(*words, "-o", "json").json

    answer = shop(*words, "--output", "csv")

    read = list(csv.DictReader(io.StringIO(answer.out, newline=""), strict=True))
    assert answer.code == 0, answer.said
    assert len(read) == len(documents)
    for row, document in zip(read, documents, strict=True):
        assert set(document) <= set(row)
        assert {name: nested(row[name], value) for name, value in document.items()} == document
        assert not [row[name] for name in row if name not in document and row[name]]
    assert answer.out.count("\r\n") == len(documents) + bool(documents)


def test_csv_hides_personal_data_as_the_table_does(shop: Project) -> None:
    assert "ada@" not in shop("findings", "-o", "csv").out
    assert "ada@" in shop("findings", "-o", "csv", "--show").out


def test_a_command_without_a_list_refuses_csv_before_it_does_anything(shop: Project) -> None:
    name = finding_of(shop)

    for words in (("dismiss", name), ("approve", name), ("quarantine", name, "--done"), ("status",), ("run",)):
        in_words(shop(*words, "-o", "csv"), 2, f"`reconcile {words[0]}` prints no list here; use -o json", lines=4)

    assert shop("show", name, "--json").json["state"] == "awaiting_approval"


def test_a_format_is_named_once_and_correctly(shop: Project) -> None:
    assert shop("runs", "-o", "json").out == shop("runs", "--json").out == shop("runs", "--json", "-o", "json").out
    assert shop("runs", "-o", "table").out == shop("runs").out
    in_words(shop("runs", "--json", "-o", "csv"), 2, "csv cannot be combined with --json", lines=4)
    in_words(shop("runs", "-o", "cvs"), 2, "'cvs' is not a format; did you mean `csv`?", lines=4)
    in_words(shop("dismiss", "-o", "text", "x"), 2, "'text' is not a format", lines=4)


@pytest.mark.slow
def test_csv_for_a_terminal_escapes_what_the_terminal_would_obey(shop: Project) -> None:
    reason = "a\x1b[31mb\nc"
    shop("pause", "nightly", "--reason", reason)

    drawn = on_terminal(shop, "jobs", "-o", "csv")

    assert reason in shop("jobs", "-o", "csv").out
    assert len(drawn) == 2
    assert "a\\x1b[31mb\\nc" in drawn[1]


@pytest.mark.slow
def test_csv_in_an_encoding_that_lacks_a_character_is_refused_in_words(shop: Project) -> None:
    command = [sys.executable, "-P", "-m", "reconcile", "findings", "-o", "csv"]
    environ = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}

    done = subprocess.run(command, cwd=shop.folder, env=environ, capture_output=True, text=True, check=False)

    assert done.returncode == exits.FAILED
    assert "Set PYTHONIOENCODING=utf-8, or use --json" in done.stderr


# completion


def completed(project: Project, *words: str) -> list[str]:
    answer = project("__complete", *words)
    assert (answer.code, answer.err) == (0, ""), answer
    return [line.split("\t")[0] for line in answer.out.splitlines()]


def test_the_shell_is_offered_commands_options_and_values(shop: Project) -> None:
    name = finding_of(shop)
    offered = {
        ("fin",): ["findings"],
        ("audit", "v"): ["verify"],
        ("findings", "--sev"): ["--severity"],
        ("findings", "--severity", "h"): ["high"],
        ("findings", "--severity", "=", "h"): ["high"],
        ("findings", "--severity=h"): ["--severity=high"],
        ("findings", "--state", "aw"): ["awaiting_approval"],
        ("runs", "-o", ""): ["table", "json", "csv"],
        ("run", "--rule", "t"): ["twice"],
        ("run", ""): ["nightly"],
        ("plan", "t"): ["twice"],
        ("pause", "--source", ""): ["shop"],
        ("notify", "test", ""): ["desk"],
        ("erase", ""): ["orders"],
        ("users", "add", "bea", "--role", "op"): ["operator"],
        ("presets", "double-"): ["double-charge"],
        ("completion", ""): ["bash", "zsh", "fish"],
        ("help", "exit"): ["exit-codes"],
        ("help", "users", "ro"): ["role"],
        ("show", ""): [name],
        ("show", "--history", name[:3]): [name],
        ("dismiss", name, name[:4]): [name],
        ("plan", "--finding", ""): [name],
        ("undo", ""): [],
        ("assign", "--note", "F-", ""): [name],
        ("version", ""): [],
        ("no-such-command", ""): [],
        ("show", "--", ""): [name],
    }

    assert {words: completed(shop, *words) for words in offered if words != ("no-such-command", "")} == {
        words: names for words, names in offered.items() if words != ("no-such-command", "")
    }


def test_only_findings_are_offered_for_which_the_command_makes_sense(shop: Project) -> None:
    name = finding_of(shop)
    offered = completed(shop, "handle", "")
    shop("handle", name)

    assert offered == [name]
    assert completed(shop, "dismiss", "") == completed(shop, "handle", "") == []
    assert completed(shop, "reopen", "") == [name]


def test_another_configuration_is_completed_from(shop: Project) -> None:
    (shop.folder / "other.yaml").write_text(CLEANED.replace("twice", "thrice"))

    assert completed(shop, "run", "-c", "other.yaml", "--rule", "") == ["thrice"]
    assert completed(shop, "run", "--config=other.yaml", "--rule", "") == ["thrice"]


@pytest.mark.parametrize("text", [None, "rules: [", FILES.replace("root: .", "root: ${NOT_SET}"), FILES])
def test_completion_without_a_configuration_or_a_state_says_nothing_and_creates_nothing(
    tmp_path: Path, text: str | None
) -> None:
    project = Project(tmp_path) if text is None else Project(tmp_path).write(text)
    before = sorted(file.name for file in tmp_path.iterdir())

    assert completed(project, "show", "") == []
    assert completed(project, "show", "-c", "none.yaml", "F-") == []
    assert (completed(project, "run", "--rule", "") == ["twice"]) == (text == FILES)
    assert sorted(file.name for file in tmp_path.iterdir()) == before


def test_completion_reads_a_state_that_is_being_written_and_leaves_no_file(shop: Project) -> None:
    """Neither with a writer in the middle of a transaction, nor after it is gone."""
    name, before = finding_of(shop), sorted(file.name for file in shop.folder.iterdir())
    with contextlib.closing(sqlite3.connect(shop.folder / "reconcile.db", isolation_level=None)) as writer:
        writer.execute("begin immediate")
        writer.execute("update findings set version = version + 1")

        assert completed(shop, "show", "") == [name]
        writer.execute("rollback")

    assert completed(shop, "show", "") == [name]
    assert sorted(file.name for file in shop.folder.iterdir()) == before


def test_an_older_state_is_read_and_not_upgraded(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    name, older = finding_of(shop), tables.REVISION
    next_version.install(shop.folder / "versions", monkeypatch.setattr)

    assert completed(shop, "show", "") == [name]

    with sqlite(shop.folder / "reconcile.db") as db:
        assert db.execute("select revision from meta").fetchall() == [(older,)]


@pytest.mark.server
def test_ids_come_from_a_state_in_postgresql_too(orders: Project, postgres_url: str) -> None:
    orders.write(f"state: {postgres_url}\n{FILES}")("run", "-q")

    assert completed(orders, "show", "F-") == [finding_of(orders)]


@pytest.fixture
def bash(shop: Project, tmp_path: Path) -> Callable[..., Answer]:
    """Bash as a person uses it: the script is loaded, and `reconcile` is found in the path."""
    tool = tmp_path / "bin" / "reconcile"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -P -m reconcile "$@"\n')
    tool.chmod(0o755)
    script = shop("completion", "bash").out

    def press_tab(*words: str) -> Answer:
        typed = " ".join(f"'{word}'" for word in ("reconcile", *words))
        text = f"{script}\nCOMP_WORDS=({typed})\nCOMP_CWORD={len(words)}\n_reconcile\n"
        text += 'if [ ${#COMPREPLY[@]} -gt 0 ]; then printf "%s\\n" "${COMPREPLY[@]}"; fi\ncomplete -p reconcile\n'
        environ = os.environ | {"PATH": f"{tool.parent}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["bash", "--norc", "-c", text], cwd=shop.folder, env=environ, capture_output=True, text=True, check=False
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    return press_tab


@pytest.mark.slow
def test_bash_completes_with_the_printed_script(bash: Callable[..., Answer], shop: Project) -> None:
    registered = "complete -o bashdefault -o default -F _reconcile reconcile\n"

    assert bash("fin") == Answer(0, f"findings\n{registered}", "")
    assert bash("show", "") == Answer(0, f"{finding_of(shop)}\n{registered}", "")
    assert bash("findings", "--severity", "=", "h") == Answer(0, f"high\n{registered}", "")
    shop.write("rules: [")
    assert bash("run", "--rule", "") == Answer(0, registered, "")


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_script_asks_the_program_that_was_typed(orders: Project, shell: str) -> None:
    """Where the shell is installed, it also finds no mistake in the script."""
    script = orders("completion", shell).out
    checked = subprocess.run(["sh", "-c", f"command -v {shell}"], capture_output=True, check=False)

    assert script.count(" __complete ") == 1
    if checked.returncode == 0:
        done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_shell_gets_the_names_of_those_there_are(orders: Project) -> None:
    in_words(orders("completion", "bsh"), 2, "no script for 'bsh'; did you mean `bash`?", lines=4)


# help and version


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from leaves(below, (*path, name))


def test_help_of_a_command_is_its_help_option(orders: Project) -> None:
    every = list(leaves(program))

    assert len(every) > 50
    for words in every:
        assert orders("help", *words).out == orders(*words, "--help").out, words


def test_the_summary_of_every_command_is_shown_whole(orders: Project) -> None:
    for words in leaves(program):
        assert "..." not in orders(*words, "--help").out.partition("Commands:")[2], words


@pytest.mark.parametrize("topic", topics.TOPICS)
def test_a_topic_fits_on_a_screen(orders: Project, topic: str) -> None:
    answer = orders("help", topic)

    lines = answer.out.splitlines()
    assert answer.code == 0
    assert 10 <= len(lines) <= 25
    assert max(map(len, lines)) <= 80


def test_the_topic_of_exit_codes_has_those_of_the_program_and_its_page() -> None:
    codes = {value for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)}
    documented = {int(row[0]) for row in rows(ROOT / "docs" / "cli.md", "## Exit codes")}

    assert set(topics.EXIT_CODES) == codes | {128 + signal.SIGINT, 128 + signal.SIGTERM} == documented


def test_the_topic_of_states_has_every_state_and_does_not_contradict_its_page() -> None:
    documented = {row[0].strip("`"): row[1] for row in rows(ROOT / "docs" / "findings.md", "## States")}

    assert set(topics.STATES) == set(State)
    for state, text in topics.STATES.items():
        assert text == documented[state.value]


def test_the_conditions_of_the_topic_can_be_used_as_they_are_written(shop: Project) -> None:
    text = topics.TOPICS["conditions"]()
    conditions = re.findall(r"^  (\S.*)$", text.split("\n\n")[1], re.MULTILINE)

    assert len(conditions) == 3
    assert [name for name in _OF_FINDINGS if name not in text] == []
    for condition in conditions:
        usable = condition.replace("country", "order_id")
        assert shop("dismiss", "--where", usable).code in (exits.DONE, exits.WRONG)
        assert "Unexpected" not in shop("dismiss", "--where", usable).said


@pytest.mark.parametrize("when", ["3d", "2999-12-01", "2999-12-01T08:00", "2999-12-01T08:00+01:00", "6h", "2w"])
def test_the_times_of_the_topic_can_be_used_as_they_are_written(shop: Project, when: str) -> None:
    assert re.sub(r"^2999", "2026", when) in topics.TOPICS["times"]()
    assert shop("pause", "nightly", "--until", when).code == 0


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("findngs",), "did you mean `findings`?"),
        (("exit-code",), "did you mean `exit-codes`?"),
        (("users", "ad"), "did you mean `add`?"),
        (("xyzzy",), "`reconcile --help` lists the choices"),
        (("states", "run"), "'states' is neither a command nor a topic"),
    ],
)
def test_an_unknown_subject_of_help_gets_a_hint(orders: Project, words: tuple[str, ...], hint: str) -> None:
    in_words(orders("help", *words), 2, hint, lines=4)


def test_the_version_has_an_option_that_the_help_lists(orders: Project) -> None:
    assert orders("--version").out == orders("version").out
    assert "--version   Print the version." in orders("--help").out


# Consistency


@pytest.mark.slow
def test_work_that_takes_long_says_on_a_terminal_what_it_is(shop: Project) -> None:
    moving = on_terminal(shop, "audit", "verify", errors=True)
    quiet = on_terminal(shop, "audit", "verify", "--quiet", errors=True)

    assert any("verifying the audit log" in line for line in moving)
    assert not any("verifying the audit log" in line for line in quiet)
    assert shop("audit", "verify").err.startswith("Not compared with the log: ")


def test_a_pause_takes_its_reason_as_a_note_too(shop: Project) -> None:
    assert "look first" in shop("pause", "nightly", "--note", "look first").out


def test_a_plan_is_chosen_by_rule_as_everywhere(shop: Project) -> None:
    assert shop("plan", "--rule", "twice").out == shop("plan", "twice").out != ""
    assert shop("plan", "--rule", "twise").code == exits.WRONG


@pytest.mark.slow
def test_tables_fit_a_terminal_break_no_word_and_leave_out_what_says_nothing(shop: Project) -> None:
    coloured = [line for command in ("rules", "runs", "findings", "run") for line in on_terminal(shop, command)]
    drawn = list(map(plain, coloured))
    headings = [line for line in drawn if line.startswith(("rule ", "slot ", "id "))]

    assert max(map(len, drawn)) <= 80
    assert len(headings) == 4
    assert not [line for line in headings if "precision" in line or "attempt" in line or "resolved" in line]
    assert "precision" in shop("rules").out
    assert "attempt" in shop("runs").out
    assert [run["run"] for run in shop("runs", "--json").json if not any(run["run"] in line for line in drawn)] == []
    assert sum(bool(re.search(r"\x1b\[31mhigh *\x1b\[0m", line)) for line in coloured) == 3
    assert not any("\x1b[31m" in line for line in on_terminal(shop, "rules", "--no-color"))
    assert "\x1b" not in shop("rules").out


def test_a_narrow_terminal_leaves_out_since_and_records_before_it_breaks_a_word(tmp_path: Path) -> None:
    iban = "DE89370400440532013000"
    (tmp_path / "payments.csv").write_text(f"id,iban,amount\n1,{iban},1234567.50\n2,{iban},1234567.50\n")
    project = Project(tmp_path).write(
        "version: 1\nsources: {files: {type: files}}\n"
        "datasets: {payments: {source: files, path: payments.csv, id: id, columns: {amount: decimal},"
        " money: {amount: amount, currency: EUR}}}\n"
        "rules: {paid-twice: {kind: duplicates, dataset: payments, key: [iban], severity: critical}}\n"
    )
    project("run")

    drawn = [plain(line) for line in on_terminal(project, "findings")]

    assert max(map(len, drawn)) <= 80
    assert "since" not in drawn[0]
    for word in ("critical", "paid-twice", iban, "1,234,567.50"):
        assert any(word in line for line in drawn), word
    assert "since" in project("findings").out.splitlines()[0]
