"""Secrets are canaries: whatever a run does, goes wrong or is asked, nothing we print, keep or send holds one."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.support.cli import ORDERS, Answer, Project

pytestmark = pytest.mark.slow

CANARIES = {
    "DSN": "canary-dsn-8c1f",
    "REPLICA": "canary-replica-40d6",
    "STATE": "canary-state-77aa",
    "SLACK": "xoxb-canary-slack-5d2e",
    "HOOK": "canary-hook-path-91bb",
    "HEADER": "canary-header-3fe0",
    "SIGN": "canary-sign-0a4d-canary-sign-0a4d",
    "PING": "canary-ping-62ce",
}

PROJECT = """\
version: 1
sources:
  files: {type: files, root: .}
  shop:
    type: sql
    url: "postgresql://ada:${secret:DSN}@127.0.0.1:1/shop"
    replica: "postgresql://ada:${secret:REPLICA}@127.0.0.1:1/shop"
datasets:
  orders: {source: files, path: orders.csv, id: id}
  charges: {source: shop, table: charges, id: id}
rules:
  twice: {kind: duplicates, dataset: orders, key: [order_id], severity: high}
  charged: {kind: duplicates, dataset: charges, key: [order_id]}
jobs:
  good: {rules: [twice], notify: [told], heartbeat: "http://127.0.0.1:1/${secret:PING}"}
  bad: {rules: [twice, charged], notify: [told, hook]}
channels:
  told: {type: file, path: told.txt}
  slack: {type: slack, token: "${secret:SLACK}", channel: "#finance"}
  hook:
    type: webhook
    url: "http://127.0.0.1:1/${secret:HOOK}"
    headers: {Authorization: "Bearer ${secret:HEADER}"}
    secret: "${secret:SIGN}"
    allow: ["127.0.0.0/8"]
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A project whose every secret is a canary; afterwards its whole folder is searched."""
    for name, canary in CANARIES.items():
        monkeypatch.setenv(name, canary)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "orders.csv").write_text(ORDERS)
    project = Project(tmp_path).write(PROJECT)
    yield project
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    for path in files:
        raw = path.read_bytes()
        for canary in CANARIES.values():
            assert canary.encode() not in raw, f"{path.name} holds {canary}"


def silent(answer: Answer) -> Answer:
    """The answer, which holds no canary."""
    for canary in CANARIES.values():
        assert canary not in answer.said, answer.said
    return answer


def test_what_every_command_prints_and_keeps_holds_no_secret(shop: Project) -> None:
    assert "set `heartbeat_allow` to its network" in silent(shop("run", "good")).err
    assert silent(shop("run", "good", "--json")).code == 0
    assert silent(shop("trigger", "good")).code == 0
    name = shop("findings", "--json").json[0]["id"]
    release = shop("releases", "--json").json[0]["release"]
    for words in (
        ["check"],
        ["check", "--json"],
        ["schema"],
        ["explain", "twice"],
        ["explain", "twice", "--sql"],
        ["explain", "charged"],
        ["runs", "--json"],
        ["findings"],
        ["show", name, "--json"],
        ["dismiss", name, "--note", "no"],
        ["audit"],
        ["audit", "--json"],
        ["audit", "verify"],
        ["releases", "show", release],
        ["releases", "show", release, "--json"],
        ["releases", "diff", release],
        ["hold", "--json"],
        *(["notify", "preview", channel, "--job", "good"] for channel in ("told", "hook", "slack")),
    ):
        silent(shop(*words))


def test_a_source_and_channels_that_fail_tell_no_secret(shop: Project) -> None:
    answer = silent(shop("run", "bad"))

    assert answer.code == 3
    assert "did not answer at 127.0.0.1:1" in answer.out
    assert "not delivered yet: hook: " in answer.out
    assert silent(shop("notify", "test", "hook")).code == 3
    silent(shop("run", "charged", "--json"))
    silent(shop("audit", "--json"))


def test_mistakes_beside_secrets_tell_no_secret(shop: Project) -> None:
    for wrong in (
        PROJECT.replace("postgresql://ada", "postgrsql://ada"),
        PROJECT.replace("127.0.0.1:1/shop", "127.0.0.1:port/shop"),
        PROJECT.replace("http://127.0.0.1:1/", "nothing-at-all "),
        PROJECT.replace("token:", "tokn:"),
        PROJECT.replace("{Authorization:", "[Authorization]\n    haeders: {X:"),
        PROJECT.replace("key: [order_id]", 'key: ["${secret:DSN}"]'),
        PROJECT.replace("    secret:", "    secrte:"),
        PROJECT.replace("type: slack", 'type: "${secret:SLACK}"'),
    ):
        shop.write(wrong)

        assert silent(shop("run", "good")).code in (2, 3)
        silent(shop("check"))
    shop.write(PROJECT)


def test_a_secret_written_into_the_configuration_is_not_repeated_either(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text(ORDERS)
    literal = PROJECT
    for name, canary in CANARIES.items():
        literal = literal.replace(f"${{secret:{name}}}", canary)
    project = Project(tmp_path).write(literal)

    for words in (["run", "good"], ["check"], ["audit", "--json"], ["notify", "test", "hook"], ["explain", "charged"]):
        silent(project(*words))
    for path in tmp_path.iterdir():
        if path.name != "reconcile.yaml":
            assert not any(canary.encode() in path.read_bytes() for canary in CANARIES.values()), path.name


def test_a_defect_report_holds_no_secret(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(CANARIES["DSN"]) from ValueError(CANARIES["SLACK"])

    monkeypatch.setattr("reconcile.runs.runner.run", broken)

    answer = silent(shop("run", "good"))

    assert answer.code == 70
    report = Path(answer.err.strip().rpartition(" ")[2])
    assert report.parent == shop.folder, "it is searched with the folder"
    assert "RuntimeError" in report.read_text()


@pytest.mark.server
def test_a_state_with_a_password_that_fails_tells_no_secret(shop: Project, postgres_url: str) -> None:
    up = sa.make_url(postgres_url)
    for url in (
        f"postgresql://ada:${{secret:STATE}}@{up.host}/{up.database}",
        f"postgresql://{up.username}:${{secret:STATE}}@{up.host}:1/{up.database}",
        f"postgresql://{up.username}:${{secret:STATE}}@no-such-host.invalid/x",
    ):
        shop.write(f'state: "{url}"\n{PROJECT}')

        for words in (["run", "good"], ["findings"], ["audit", "verify"]):
            assert silent(shop(*words)).code == 3
    works = f"postgresql://{up.username}:${{secret:STATE}}@{up.host}:{up.port or 5432}/{up.database}"
    shop.write(f'state: "{works}"\n{PROJECT}')
    assert silent(shop("run", "good")).code == 0
    assert silent(shop("audit", "verify")).code == 0
    shop.write(PROJECT)


def test_the_release_that_is_kept_names_the_secret_and_not_its_value(shop: Project) -> None:
    shop("run", "good")
    project = shop("run", "good", "--json").json

    assert len(project["release"]) == 64
    assert "canary" not in json.dumps(project)
