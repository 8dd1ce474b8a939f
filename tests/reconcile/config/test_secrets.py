"""Variables are filled in; what is secret is nowhere to be seen: not in errors, reprs, releases or warnings."""

import os
import re
import traceback
from pathlib import Path

import pytest

from reconcile.config import ConfigProblems, load
from reconcile.config.schema import json_schema
from reconcile.config.secrets import hide_in_addresses
from tests.support.config import install_plugin, loaded, problems, write

SMALL = """\
sources: {shop: {type: files}}
datasets: {charges: {source: shop, path: a.csv, id: id}}
rules:
  twice: {kind: duplicates, dataset: charges, key: [order_id], owner: "OWNER"}
"""
CANARY = "c4n4ry-Zq'x\\7"


@pytest.mark.parametrize(
    ("written", "owner"),
    [
        ("${TEAM}", "finance"),
        ("the ${TEAM} of ${CITY:-Berlin}", "the finance of Berlin"),
        ("${EMPTY:-none}", "none"),
        ("x${EMPTY}y", "xy"),
        ("${EMPTY:-}", ""),
        ("$${TEAM} costs $5 and 3$", "${TEAM} costs $5 and 3$"),
        ("${CITY:-a:-b/c d}", "a:-b/c d"),
        ("${NESTED}", "${TEAM}"),
    ],
)
def test_a_variable_is_filled_in_once(written: str, owner: str, tmp_path: Path) -> None:
    environ = {"TEAM": "finance", "EMPTY": "", "NESTED": "${TEAM}"}

    project = loaded(tmp_path, SMALL.replace("OWNER", written), environ)

    assert project.rules["twice"].owner == owner


def test_a_variable_in_the_environment_is_used_without_asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECONCILE_TEST_TEAM", "ops")
    path = write(tmp_path, {"reconcile.yaml": SMALL.replace("OWNER", "${RECONCILE_TEST_TEAM}")})

    assert load(path).rules["twice"].owner == "ops"


def test_a_missing_variable_is_named_at_its_place_and_told_once(tmp_path: Path) -> None:
    text = SMALL.replace('"OWNER"', 'x, minimum: "${LEAST}"')

    assert problems(tmp_path, text) == [
        "4:84: the environment variable `LEAST` is not set; set it before you start Reconcile"
    ]


def test_a_value_that_is_empty_where_it_was_set_is_named_there(tmp_path: Path) -> None:
    (tmp_path / "key").touch()
    text = SMALL.replace("OWNER", "${EMPTY}") + "encryption_key: ['${secret:EMPTY}', '${file:key}']\n"

    assert problems(tmp_path, text, {"EMPTY": ""}) == [
        "4:72: `${EMPTY}` is set but empty; give it a value, or write `${EMPTY:-}` if it may be empty",
        "5:19: `${secret:EMPTY}` is set but empty; give it a value",
        "5:38: `${file:key}` is set but empty; give it a value",
    ]


def test_a_secret_file_loses_its_last_line_break_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(tmp_path, monkeypatch)
    text = SMALL + "channels: {ops: {type: pager, token: '${file:run/token}'}}\n"

    project = load(write(tmp_path, {"reconcile.yaml": text, "run/token": " two\nlines\n"}), {})

    assert project.channels["ops"].settings.model_dump()["token"].get_secret_value() == " two\nlines"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda p: p.parent, "cannot be read: no such file or directory"),
        (lambda p: p.mkdir(), "is not a plain file"),
        (os.mkfifo, "is not a plain file"),
        (lambda p: p.write_bytes(b"\xff" * 10), "is not UTF-8 text"),
        (lambda p: p.write_bytes(b"x" * 70_000), "is larger than 65536 bytes"),
    ],
)
def test_a_secret_file_that_is_none_is_told(make: object, sentence: str, tmp_path: Path) -> None:
    assert callable(make)
    make(tmp_path / "token")

    told = problems(tmp_path, SMALL + "channels: {ops: {type: file, path: '${file:token}'}}\n")

    assert any(sentence in item for item in told)
    assert "xxx" not in "".join(told)


SECRET_PROJECT = """\
state: "postgresql://u:${secret:CANARY}@db/state"
sources:
  v:
    type: vault
    url: "vault://user:${secret:CANARY}@host/path"
    headers: {Authorization: "Bearer ${file:token}", Region: "${secret:CANARY}"}
  w: {type: vault, url: "${PLAIN_URL}"}
datasets: {charges: {source: v, table: t}, more: {source: w, table: t}}
rules: {twice: {kind: duplicates, dataset: charges, key: [order_id]}}
jobs: {nightly: {rules: all}}
channels: {ops: {type: pager, token: "c4n4ry-written-here"}}
"""


def test_no_secret_is_in_a_project_that_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(tmp_path, monkeypatch)
    environ = {"CANARY": CANARY, "PLAIN_URL": "vault://user:c4n4ry@host/db?password=c4n4ry"}

    project = load(write(tmp_path, {"reconcile.yaml": SECRET_PROJECT, "token": CANARY}), environ)

    shown = [repr(project), str(project), project.canonical, repr(project.sources["v"]), repr(project.warnings)]
    assert "c4n4ry" not in "\n".join(shown)
    assert '"Region":"${secret:CANARY}"' in project.canonical
    assert '"url":"vault://user:***@host/db?password=***"' in project.canonical
    assert '"state":"postgresql://u:***@db/state"' in project.canonical
    assert project.sources["v"].settings.model_dump()["url"].get_secret_value() == f"vault://user:{CANARY}@host/path"


def test_another_secret_is_the_same_release_and_another_host_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_plugin(tmp_path, monkeypatch)
    path = write(tmp_path, {"reconcile.yaml": SECRET_PROJECT, "token": "one"})
    before = load(path, {"CANARY": "one", "PLAIN_URL": "vault://u:one@host/db"}).release
    (tmp_path / "token").write_text("two")

    assert load(path, {"CANARY": "two", "PLAIN_URL": "vault://u:two@host/db"}).release == before
    assert load(path, {"CANARY": "two", "PLAIN_URL": "vault://u:two@other/db"}).release != before


@pytest.mark.parametrize("canary", [CANARY, "k7", "c4n4ry with blanks\nand lines", "c4n4ry/%40:@?&"])
@pytest.mark.parametrize("place", ["url", "retries", "type", "region: x, extra", "headers"])
def test_no_mistake_shows_a_secret(canary: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(tmp_path, monkeypatch)
    settings = {"type": "vault", "url": "x", "retries": "a"} | {place: '"${secret:CANARY}"'}
    source = ", ".join(f"{key}: {value}" for key, value in settings.items())
    text = f"sources: {{v: {{{source}}}}}\n" + SMALL.replace("sources: {shop: {type: files}}\n", "")

    with pytest.raises(ConfigProblems) as wrong:
        loaded(tmp_path, text, {"CANARY": canary})

    shown = "".join(traceback.format_exception(wrong.value)) + repr(wrong.value) + repr(wrong.value.problems)
    assert canary not in shown
    assert "c4n4ry" not in shown
    assert repr(canary)[1:-1] not in shown


def test_a_secret_written_into_the_file_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(tmp_path, monkeypatch)
    text = "sources: {v: {type: vault, url: hunter2-canary}}\n" + SMALL.split("\n", 1)[1].replace("shop", "v")

    told = problems(tmp_path, text)

    assert any("is not an address" in item for item in told)
    assert "hunter2" not in "".join(told)


@pytest.mark.parametrize("place", ["rules", "datasets", "jobs"])
def test_a_secret_has_no_place_where_it_would_be_shown(place: str, tmp_path: Path) -> None:
    text = {
        "rules": SMALL.replace("OWNER", "${secret:CANARY}"),
        "datasets": SMALL.replace("path: a.csv", "path: '${secret:CANARY}'"),
        "jobs": SMALL + "jobs: {n: {rules: ['${secret:CANARY}']}}\n",
    }[place]

    told = problems(tmp_path, text, {"CANARY": CANARY})

    nowhere = "a secret is not allowed here; use secrets in `sources`, `channels`, `state`, `encryption_key`"
    shown = "this setting is shown and stored, so it cannot hold a secret"
    assert any((shown if place == "jobs" else nowhere) in item for item in told)
    assert "c4n4ry" not in "".join(told)


def test_no_secret_is_in_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", CANARY)

    assert "c4n4ry" not in str(json_schema())


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("postgresql://u:pw@h/db", "postgresql://u:***@h/db"),
        ("see postgresql+psycopg://u:p@w/x@h:1/db!", "see postgresql+psycopg://u:***@h:1/db!"),
        ("mysql://h/db?user=x&password=pw&ssl=1", "mysql://h/db?user=x&password=***&ssl=1"),
        ("https://h/x?api_key=1&access_token=2", "https://h/x?api_key=***&access_token=***"),
        ("redis://:pw@h", "redis://:***@h"),
        ("https://host:8080/path", "https://host:8080/path"),
        ("sqlite:///a.db", "sqlite:///a.db"),
        ("a: b@c", "a: b@c"),
    ],
)
def test_a_password_in_an_address_is_hidden(written: str, shown: str) -> None:
    assert hide_in_addresses(written) == shown
    assert re.sub("pw|p@w", "", hide_in_addresses(written)) == hide_in_addresses(written)
