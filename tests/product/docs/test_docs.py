"""The documentation says what the program does: every setting, command, option, link and every line of a console."""

import json
import os
import re
import shutil
import signal
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from reconcile.cli import exits
from reconcile.cli.commands import app
from reconcile.cli.json_shapes import SHAPES
from reconcile.config import load
from reconcile.findings.states import State
from reconcile.testing.slack_server import SlackServer
from rules.functions import WAREHOUSES
from rules.normalise import NORMALISERS
from tests.product.docs.terminal import Command, Shell, Terminal, commands, difference
from tests.support.docs import (
    COOKBOOK,
    PAGES,
    ROOT,
    Block,
    all_blocks,
    blocks,
    configuration,
    documented_settings,
    recipes,
    rows,
    settings,
)

BASE: dict[str, Any] = {
    "sources": {"shop": {"type": "sql", "url": "sqlite:///shop.sqlite"}},
    "datasets": {"charges": {"source": "shop", "table": "charges", "id": "id"}},
    "rules": {"example": {"kind": "duplicates", "dataset": "charges", "key": ["order_id"]}},
}
ENVIRON = {
    "AIRTABLE": "patA1b2C3d4E5f6G7.0123456789abcdef",
    "SHOP_TOKEN": "hidden-hidden",
    "SHOP_URL": "postgresql://reader:hidden@db.example.com/shop",
    "SLACK_BOT_TOKEN": "xoxb-1-hidden",
    "SLACK_WEBHOOK": "https://hooks.slack.com/services/T0/B0/hidden",
    "HOOK_TOKEN": "Bearer hidden",
    "HOOK_SECRET": "hidden-hidden",
    "GOOGLE_KEY": '{"client_email": "a@b.example", "private_key": "hidden", "token_uri": "https://t.example.com"}',
    "RECONCILE_KEY": "11" * 32,
    "RECONCILE_KEY_BEFORE": "22" * 32,
    "SLACK_APP_TOKEN": "xapp-1-hidden",
    "SHOP_PASSWORD": "hidden-hidden",
    "SMTP_PASSWORD": "hidden-hidden",
    "ON_CALL_URL": "discord://4174216298/hidden-hidden",
    "WATCHDOG_URL": "https://watchdog.example.com/hidden",
}
PAYMENTS = "line,iban,reference,amount\n1,DE1,INV-007,20.00\n2,DE1,inv 7,20.00\n3,DE1,INV-008,20.00\n"
CHARGES = """\
create table charges (id text, order_id text, amount numeric(10, 2), currency text, status text, charged_at datetime);
insert into charges values
    ('c1', 'A-1', '20.00', 'EUR', 'succeeded', '2026-03-01 10:00:00'),
    ('c2', 'A-1', '20.00', 'EUR', 'succeeded', '2026-03-01 10:00:30'),
    ('c3', 'A-2', '20.00', 'EUR', 'failed', '2026-03-01 10:00:30');
"""
README = ROOT / "README.md"
CONSOLES = [
    page for page in (*PAGES, ROOT / "examples" / "README.md") if page != README and any(blocks(page, "console"))
]
SAVED = ("tutorial.md", "workbook.md")
"""Pages that a reader follows from their beginning, configurations included."""
COMMON = {"-c", "--config", "-o", "--output", "--json", "-q", "--quiet", "--no-color", "-h", "--help"}


def named(item: object) -> str:
    return str(item.relative_to(ROOT)) if isinstance(item, Path) else str(item)


# Configuration


@pytest.mark.parametrize("block", all_blocks("yaml"), ids=named)
def test_every_yaml_block_is_a_configuration_that_loads(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "reconcile.yaml"
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "more.yaml").write_text("rules: {}\n", encoding="utf-8")
    file.write_text(_whole(block), encoding="utf-8")

    project = load(file, ENVIRON)

    assert project.rules


def _whole(block: Block) -> str:
    """The block, put into the place of a small configuration that its words after the fence name."""
    kind = block.info.removeprefix("yaml").strip()
    if not kind:
        return block.body
    if block.page == COOKBOOK:
        return configuration(*([block] if kind == "recipe" else recipes()))
    document = yaml.load(block.body, yaml.BaseLoader)  # noqa: S506 - texts only, from our own pages
    parts = {
        "fragment": document,
        "rule": {"rules": {"example": document}},
        "dataset": {"datasets": {"charges": document}},
    }
    if kind == "similar":
        customers = {"source": "shop", "table": "customers", "id": "id"}
        return json.dumps(
            BASE | {"datasets": {"customers": customers}, "rules": {"example": {"kind": kind} | document}}
        )
    if kind == "reconciliation":
        compared = {"kind": kind, "left": "left", "right": "right"} | document
        names = (compared["left"], compared["right"])
        datasets = {name: {"source": "shop", "table": name, "id": "id"} for name in names}
        return json.dumps(BASE | {"datasets": datasets, "rules": {"example": compared}})
    return json.dumps(_merged(BASE, parts[kind]))


def _merged(base: Any, over: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    return base | {key: _merged(base.get(key), value) for key, value in over.items()}


def test_every_setting_is_listed_with_its_allowed_words_and_default() -> None:
    assert sorted(documented_settings()) == sorted(settings())


def test_every_normaliser_stands_in_the_table_with_what_it_takes_and_where_it_runs() -> None:
    table = {
        name: row
        for row in rows(ROOT / "docs" / "rules.md", "## Normalisers")
        for name in re.findall(r"`(\w+)[`:]", row[0])
    }
    kinds = {"numbers": "decimal integer float", "instants": "instant", "instants and dates": "instant date"}
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    takes = {
        name: set(kinds[words].split())
        for names, words in re.findall(r"((?:`\w+`,? (?:and )?)+)takes? (numbers|instants and dates|instants)", page)
        for name in re.findall(r"`(\w+)`", names)
    }
    databases = {"PostgreSQL": "postgresql", "MariaDB/MySQL": "mysql", "SQLite": "sqlite", "Spark": "spark"}
    databases |= {name: dialect for dialect, name in WAREHOUSES.items()}

    assert set(table) == set(NORMALISERS)
    for name, (_, _, pushed) in table.items():
        exactness = NORMALISERS[name].exactness if NORMALISERS[name].sql else {}
        assert takes.get(name, {"text"}) == {kind.value for kind in NORMALISERS[name].types}, name
        written = {databases[d] for d in databases if d in pushed} | (
            set(WAREHOUSES) if "warehouses" in pushed else set()
        )
        if pushed.startswith("all"):
            written = set(databases.values()) - (written if "except" in pushed else set())
        assert written == set(exactness) - {"duckdb"}, name
        in_databases = {claim for dialect, claim in exactness.items() if dialect != "duckdb"}
        assert ("ASCII" in pushed) == ("ascii" in in_databases), name


def test_every_state_of_a_finding_is_explained() -> None:
    page = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    section = page.split("\n## States\n", 1)[1].split("\n## ", 1)[0]
    explained = re.findall(r"^\| `(\w+)` \| ", section, re.MULTILINE)

    assert sorted(explained) == sorted(state.value for state in State)


# The command line


def command_options() -> dict[str, set[str]]:
    """Every command by its words, with its options."""
    return dict(_commands(typer.main.get_command(app), ()))


def _commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, set[str]]]:
    options = {name for p in command.params if p.param_type_name == "option" for name in p.opts}
    if words and (not hasattr(command, "commands") or getattr(command, "invoke_without_command", False)):
        yield " ".join(words), options
    for name, item in getattr(command, "commands", {}).items():
        yield from _commands(item, (*words, name))


def documented_options() -> dict[str, set[str]]:
    """The options in the synopsis of each command; SELECTION stands for those that many decisions share."""
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8").split("\n## Exit codes\n", 1)[0]
    shared = re.search(r"^SELECTION is `([^`]*)`", text, re.MULTILINE)
    revealing = re.search(r"^.*can reveal them, with `--show`\.", text, re.MULTILINE)
    assert shared
    assert revealing
    documented = {}
    for line in re.findall(r"^- (`[a-z].*)$", text, re.MULTILINE):
        for synopsis in re.findall(r"`([^`]*)`", line.split(": ", 1)[0]):
            command = re.match(r"[a-z]+( [a-z]+)*", synopsis)
            assert command, synopsis
            assert command[0] not in documented, synopsis
            documented[command[0]] = set(_options(synopsis.replace("[SELECTION]", shared[1])))
            documented[command[0]] |= {"--show"} if f"`{command[0]}`" in revealing[0] else set()
    return documented


def _options(cell: str) -> list[str]:
    return re.findall(r"(?<![\w-])--?[a-z][a-z-]*", cell)


def test_every_command_and_option_is_documented_and_every_documented_one_is_there() -> None:
    real = {name: options - COMMON for name, options in command_options().items()}

    assert documented_options() == real


def test_the_json_in_the_help_is_that_of_commands() -> None:
    assert [command for command in SHAPES if command not in command_options()] == []


def test_the_options_of_every_command_are_those_of_every_command() -> None:
    without = {"init": {"-c", "--config"}, "schema": {"-c", "--config"}, "version": {"-c", "--config"}}
    without["presets"] = {"-c", "--config"}
    without["demo"] = {"-c", "--config", "-o", "--output", "--json"}
    without["schema"] |= {"-o", "--output"}
    without["serve"] = {"-o", "--output"}
    without |= dict.fromkeys(("completion", "help"), COMMON)
    table = rows(ROOT / "docs" / "cli.md", "## Options every command has")

    assert {option for row in table for option in _options(row[0])} == COMMON
    for name, options in command_options().items():
        assert options & COMMON == COMMON - without.get(name, set()) - {"-h", "--help"}, name


def test_every_exit_code_is_documented() -> None:
    table = rows(ROOT / "docs" / "cli.md", "## Exit codes")
    codes = {value for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)}
    stopped = {128 + signal.SIGINT, 128 + signal.SIGTERM}

    assert {int(row[0]) for row in table} == codes | stopped


@pytest.mark.slow
@pytest.mark.parametrize("page", CONSOLES, ids=named)
def test_consoles_show_what_a_new_user_sees(page: Path, tmp_path: Path) -> None:
    """As printed, from a new folder; `examples` is there, as in a checkout."""
    environ = {"RECONCILE_ACTOR": "docs", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.db*", "*.sqlite"))
    terminal = Terminal(tmp_path, environ)

    for block in in_order(page):
        if block.info == "yaml":
            (terminal.folder / "reconcile.yaml").write_text(block.body, encoding="utf-8")
            continue
        typed = list(commands(block.body))
        if typed[0].line.startswith("reconcile init"):
            terminal = Terminal(_fresh(tmp_path), environ)
        for number, item in enumerate(typed):
            terminal.type(item.line)

            wrong = difference(item.shown, terminal.out, terminal.err)
            assert wrong is None, f"{block}: $ {item.line}\n{wrong}; printed was\n{terminal.out}{terminal.err}"
            asked = number + 1 < len(typed) and typed[number + 1].line == "echo $?"
            assert terminal.code == 0 or asked, f"{block}: $ {item.line} ended with {terminal.code}\n{terminal.err}"


def in_order(page: Path) -> list[Block]:
    """The consoles of a page, and in a tutorial the whole configurations between them, which its reader saves."""
    saved = [block for block in blocks(page, "yaml") if block.info == "yaml" and page.name in SAVED]
    return sorted([*blocks(page, "console"), *saved], key=lambda block: block.line)


@pytest.mark.slow
def test_each_block_of_the_readme_works_as_printed_in_order_in_one_new_folder(tmp_path: Path) -> None:
    """Below the installation: consoles show what is printed, and a configuration is saved as `reconcile.yaml`."""
    text = README.read_text(encoding="utf-8").split("\n## First run\n", 1)[1]
    kept = ("PATH", "HOME", "LANG")
    environ = {name: os.environ[name] for name in kept if name in os.environ} | {"RECONCILE_ACTOR": "docs"}
    shell = Shell(tmp_path, environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"})
    ran = 0

    for language, body in re.findall(r"^```(console|sh|yaml)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if language == "yaml":
            (shell.folder / "reconcile.yaml").write_text(body, encoding="utf-8")
        elif body.strip() == "reconcile serve":
            code, output = shell.serve(body.strip())
            assert code == 0 or "address already in use" in output, output  # another `serve` runs on this host
        else:
            shown = commands(body) if language == "console" else [Command(body, ())]
            for item in shown:
                ended = shell.type(item.line)
                wrong = difference(item.shown, ended.stdout, ended.stderr)
                assert wrong is None, f"$ {item.line}\n{wrong}; printed was\n{ended.stdout}{ended.stderr}"
                assert ended.returncode == 0, f"$ {item.line}\n{ended.stderr}"
        ran += 1

    assert ran >= 7


def _fresh(place: Path) -> Path:
    folder = place / f"block-{len(list(place.iterdir()))}"
    folder.mkdir()
    return folder


@pytest.mark.slow
def test_the_message_in_the_readme_is_what_the_demo_says(tmp_path: Path) -> None:
    [excerpt] = [b.body for b in blocks(ROOT / "README.md", "text") if "double-charge · critical" in b.body]
    terminal = Terminal(tmp_path)

    terminal.type("reconcile demo --in night")

    collected = [_without_ids(line) for line in terminal.out.splitlines()]
    assert [line for line in excerpt.splitlines() if _without_ids(line) not in collected] == []
    assert ": 0 groups" not in terminal.out, "a rule of another job has not looked yet"


def _without_ids(line: str) -> str:
    """The demo's shop is the same each night but for the days, and the hours that a clock change moves."""
    return re.sub(r"on \d+ \w+, \d\d:\d\d:\d\d", "on DAY", re.sub(r"F-[0-9A-Z]{6}", "ID", line))


# Pages


@pytest.mark.slow
@pytest.mark.parametrize("block", all_blocks("python"), ids=named)
def test_every_python_block_runs(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    exec(compile(block.body, str(block), "exec"), {"__name__": "docs"})  # noqa: S102 - our own pages


@pytest.mark.parametrize("block", all_blocks("json"), ids=named)
def test_every_json_block_is_json(block: Block) -> None:
    assert json.loads(block.body)


def anchors(page: Path) -> set[str]:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {_anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "examples" / "README.md", *ROOT.glob("docs/decisions/*.md")], ids=named
)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        file = page if not path else (page.parent / path).resolve()
        if "://" not in target and (not file.exists() or (anchor and anchor not in anchors(file))):
            broken.append(target)

    assert broken == []


def test_every_page_is_reached_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert [page.name for page in ROOT.glob("docs/*.md") if f"docs/{page.name}" not in readme] == []


def test_no_page_names_a_place_on_somebodys_machine() -> None:
    files = [*PAGES, *(f for f in ROOT.glob("examples/**/*") if f.is_file())]

    assert [f.name for f in files if re.search(r"/(work|root)/", f.read_text(encoding="utf-8"))] == []


@pytest.mark.slow
def test_the_configuration_of_the_readme_checks_a_database_and_files_in_one_run_and_tells_slack_once(
    tmp_path: Path,
) -> None:
    block = next(blocks(ROOT / "README.md", "yaml"))
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "payments-1.csv").write_text(PAYMENTS, encoding="utf-8")
    with sqlite3.connect(tmp_path / "shop.sqlite") as connection:
        connection.executescript(CHARGES)
    with SlackServer() as slack:
        output = {
            "type": "slack",
            "token": "${secret:SLACK_BOT_TOKEN}",
            "channel": "#finance-ops",
            "base_url": slack.base_url,
        }
        text = block.body.replace("{type: file, path: messages.txt}", json.dumps(output))
        (tmp_path / "reconcile.yaml").write_text(text, encoding="utf-8")
        terminal = Terminal(tmp_path, {"SHOP_URL": "sqlite:///shop.sqlite", "SLACK_BOT_TOKEN": slack.token})

        for line in ("check", "notify test finance", "run nightly --slot 2026-11-21T06:00", "run nightly"):
            terminal.type(f"reconcile {line}")
            assert terminal.code == 0, terminal.out + terminal.err

        told = [message["text"] for message in slack.parents() if "double" in message["text"]]
        assert len(told) == 1
        assert len(slack.parents()) == 2  # and the test message

    terminal.type("reconcile findings --json")
    collected = [[item["rule"], item["keeper"], *item["surplus"]] for item in json.loads(terminal.out)]
    assert collected == [
        ["double-charge", ["c1"], ["c2"]],
        ["paid-twice", ["payments-1.csv", "1"], ["payments-1.csv", "2"]],
    ]
