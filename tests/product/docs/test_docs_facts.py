"""Facts that the documentation states beside its tables: sentences of errors, JSON shapes, numbers, names."""

import datetime as dt
import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

import connectors
import notifications
from notifications.base import GroupNotice, Notice, RuleNotice, TroubleNotice
from notifications.webhook import WebhookChannel, WebhookSettings
from reconcile import plugins
from reconcile.cli.json_shapes import SHAPES
from reconcile.config.settings import COLUMN_TYPES, DEFAULT_MEMORY
from reconcile.config.values import MIN_MEMORY
from reconcile.messages import delivery, outbox
from reconcile.runs import runner
from reconcile.store.judgements import MOST_PAIRS_OF
from rules.expressions.shapes import AGGREGATES, FUNCTIONS
from rules.kinds import KINDS as RULE_KINDS
from rules.models import Keep, Severity
from rules.normalise import NORMALISERS
from tests.product.docs.terminal import Terminal
from tests.support.docs import ROOT, blocks, either, rows

DOCS = ROOT / "docs"
NOW = dt.datetime(2026, 11, 21, 5, tzinfo=dt.UTC)


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def source() -> str:
    """The program's text with the pieces of its sentences put together."""
    files = [file for package in ("reconcile", "rules", "connectors", "notifications") for file in python(package)]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return re.sub(r"\"\s*\n\s*f?\"", "", text).replace("`", "")


def python(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("row", rows(DOCS / "operations.md", "## Troubleshooting"), ids=lambda row: row[0][:40])
def test_every_sentence_of_the_troubleshooting_table_is_one_the_program_says(row: list[str], source: str) -> None:
    text = row[0].replace("`", "")

    assert [part for part in text.split("…") if part.strip() and part.strip() not in source] == []


@pytest.mark.slow
def test_the_json_of_a_run_has_the_documented_shape(tmp_path: Path) -> None:
    run, finding, *_ = (json.loads(block.body) for block in blocks(DOCS / "cli.md", "json"))
    terminal = Terminal(tmp_path)
    terminal.type("reconcile init shop && cd shop && reconcile run --json")

    real = json.loads(terminal.out)

    assert set(run) - {"sent"} == set(real)
    assert set(run["rules"][0]) == set(real["rules"][0])
    assert set(run["rules"][0]["findings"]) == set(real["rules"][0]["findings"])
    assert set(finding) == set(real["findings"][0])
    told = next(item for item in real["findings"] if item["id"] == finding["id"])
    stable = ("id", "rule", "keeper", "surplus", "key", "money", "span", "state", "severity", "records")
    assert {name: told[name] for name in stable} == {name: finding[name] for name in stable}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("check", "check"),
        ("explain double-payment", "explain"),
        ("runs", "runs"),
        ("trigger default", "trigger"),
        ("dismiss F-FY0QP7", "dismiss"),
        ("audit verify", "audit verify"),
        ("version", "version"),
    ],
)
def test_commands_print_the_json_that_their_help_shows(command: str, name: str, tmp_path: Path) -> None:
    shape = SHAPES[name].split(". ")[0]
    terminal = Terminal(tmp_path)
    terminal.type("reconcile init shop && cd shop && reconcile run")

    terminal.type(f"reconcile {command} --json")

    printed = json.loads(terminal.out)
    first = printed[0] if isinstance(printed, list) else printed
    names = re.findall(r'"(\w+)"', shape)
    assert isinstance(printed, list) == shape.startswith("[")
    assert [name for name in first if name not in names] == []
    assert [name for name in names if f'"{name}"' not in terminal.out] == []


def test_a_webhook_sends_the_documented_document(tmp_path: Path) -> None:
    written, about_itself = (json.loads(block.body) for block in blocks(DOCS / "channels.md", "json"))
    group = GroupNotice(finding="F-1", state="new", key={"order": "A"}, keeper="1", surplus=("2",), records=2)
    counts: dict[str, Any] = dict.fromkeys(("new", "grown", "reopened", "known", "resolved", "records"), 1)
    rule = RuleNotice(rule="twice", severity="high", dataset="orders", largest=(group,), **counts)
    settings = WebhookSettings.model_validate({"type": "webhook", "url": "https://hooks.example.com/x"})
    notice = Notice(id="msg1", job="nightly", run="run1", slot=NOW, rules=(rule,), created=NOW)
    trouble = TroubleNotice(**about_itself["trouble"] | {"since": NOW})
    other_notice = Notice(id="msg2", job="nightly", run=None, slot=NOW, created=NOW, trouble=trouble)

    channel = WebhookChannel("hook", settings, tmp_path)
    sent, told = (json.loads(json.dumps(channel.payload(item), default=str)) for item in (notice, other_notice))

    assert set(sent) == set(written) == set(told) >= set(about_itself)
    assert set(told["trouble"]) == set(about_itself["trouble"])
    assert told["headline"] == about_itself["headline"]
    assert set(sent["rules"][0]) == set(written["rules"][0])
    assert set(sent["rules"][0]["largest"][0]) == set(written["rules"][0]["largest"][0])


def test_the_language_of_expressions_is_documented_whole() -> None:
    text = page("rules.md")

    assert [name for name in (*FUNCTIONS, *AGGREGATES) if f"{name}(" not in text] == []
    for word in ("and", "or", "not", "in (", "between", "like", "is null", "is not null", "true", "false"):
        assert word in text.split("## Expressions")[1]


def test_every_way_to_choose_a_keeper_is_documented() -> None:
    section = page("rules.md").split("\n## keep\n", 1)[1].split("\n## ", 1)[0]
    lines = " ".join(re.findall(r"^- (`.+`): ", section, re.MULTILINE))

    assert [how for how in get_args(Keep.model_fields["how"].annotation) if how not in lines] == []


def test_every_type_of_a_column_is_documented() -> None:
    assert [row[0].strip("`") for row in rows(DOCS / "configuration.md", "### Types of columns")] == list(COLUMN_TYPES)


def test_every_kind_and_group_of_plugins_is_named() -> None:
    architecture, readme = page("architecture.md"), (ROOT / "README.md").read_text(encoding="utf-8")

    for group in plugins._BUILT_IN:
        assert f"`reconcile.{group}`" in architecture
    for name in (*connectors.KINDS, *notifications.KINDS, *RULE_KINDS):
        assert name in readme


def test_every_promise_names_tests_that_are_there() -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", page("guarantees.md")))

    assert len(named) > 15
    assert sorted(item for item in named if not (ROOT / item).exists()) == []


def test_the_numbers_in_the_pages_are_those_of_the_program() -> None:
    policy, minutes = outbox.MESSAGES, dt.timedelta(minutes=1)
    channels, configuration = page("channels.md"), page("configuration.md")

    assert f"{policy.attempts} times within three days" in channels
    assert policy.budget == 3 * 24 * 60 * minutes
    assert f"up to {delivery.PATIENCE.seconds} seconds" in channels
    assert (len(delivery.LOOKS), sum(delivery.LOOKS)) == (3, 10)
    assert "three times over ten seconds" in channels
    assert f"up to {MOST_PAIRS_OF} records" in page("findings.md")
    assert f"{runner.LEASE.seconds} seconds" in page("operations.md")
    assert f"at least {MIN_MEMORY // 10**6}MB" in configuration
    assert f"default {DEFAULT_MEMORY // 10**9} GB" in page("engines.md")
    assert f"{len(NORMALISERS)} normalisers" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert either([f"`{severity}`" for severity in Severity.__members__]) in configuration
