"""Each command with a state of an older or newer schema, of another program, an empty one, or none."""

import shutil
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.reconcile.cli.test_broken_configuration import FROM_THE_STATE, NEEDS_THE_FILE, SET, TEXT
from tests.support import filled, next_version
from tests.support.cli import ORDERS, Answer, Project, sqlite
from tests.support.runs import ChargesProject, twice
from tests.support.serve import serving

pytestmark = pytest.mark.slow

OLDER = filled.REVISIONS[-1]
"""The schema of this version: a state of it is an older one for the next version."""
COMMANDS = {name: words for name, words in (FROM_THE_STATE | NEEDS_THE_FILE).items() if name != "serve"} | {
    "export": ("export", "new.csv")
}
UPGRADING = ("run", "migrate")
AS_IT_IS = ("backup",)
FILE_ONLY = ("check", "explain", "test", "notify test")
"""Commands that can answer without the state."""


class Stateful(Project):
    """A project whose state is of one kind."""

    @property
    def state(self) -> Path:
        return self.folder / "state.db"

    def bytes(self) -> tuple[bytes | None, ...]:
        names = ("state.db", "state.db-wal", "state.db.key")
        return tuple((self.folder / name).read_bytes() if (self.folder / name).exists() else None for name in names)

    def ask(self, command: str) -> Answer:
        names = {"ID": "F-OPEN", "RELEASE": filled.RELEASE[:12]}
        return self(*(names.get(word, word) for word in COMMANDS[command]), **SET)


def older(shop: Stateful) -> None:
    filled.build("sqlite:///state.db", shop.folder, OLDER)
    with sqlite(shop.state) as database:
        database.execute("pragma journal_mode = wal")


def newer(shop: Stateful) -> None:
    filled.build("sqlite:///state.db", shop.folder)
    with sqlite(shop.state) as database:
        database.execute("pragma journal_mode = wal")
        database.execute("update meta set revision = '9999'")


def foreign(shop: Stateful) -> None:
    with sqlite(shop.state) as database:
        database.execute("create table ledger (id integer)")


def empty(shop: Stateful) -> None:
    shop.state.touch()


def missing(_: Stateful) -> None:
    """Make none."""


STATES: Mapping[str, tuple[Callable[[Stateful], None], str]] = {
    "older": (older, "Run `reconcile migrate`"),
    "newer": (newer, "use the newer version"),
    "foreign": (foreign, "belongs to another program"),
    "empty": (empty, ""),
    "missing": (missing, ""),
}
"""How each is made, and what refuses it."""


@pytest.fixture
def shop(tmp_path: Path) -> Stateful:
    shop = Stateful(tmp_path, typed="correct horse battery\n")
    shop.write(TEXT)
    with sqlite(tmp_path / "shop.db") as database:
        database.execute("create table orders (id text primary key, order_id text, amount decimal(9,2), paid_at text)")
        rows = [line.split(",") for line in ORDERS.splitlines()[1:]]
        database.executemany("insert into orders values (?, ?, ?, ?)", rows)
    (tmp_path / "findings.csv").write_text("finding,decision,note\n")
    filled.build("sqlite:///before.db", tmp_path)
    return shop


@pytest.mark.parametrize("kind", ["older", "newer", "foreign"])
def test_a_state_that_a_command_cannot_use_is_refused_in_one_sentence_and_stays_as_it_is(
    kind: str, shop: Stateful, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, refusal = STATES[kind]
    make(shop)
    if kind == "older":
        next_version.install(shop.folder / "versions", monkeypatch.setattr)
    before = shop.bytes()
    answered = []
    for command in COMMANDS:
        if kind == "older" and command in (*UPGRADING, *AS_IT_IS):
            continue
        answer = shop.ask(command)
        assert shop.bytes() == before, command
        assert answer.code not in (1, 70), (command, answer.said)
        if refusal not in answer.said:
            answered.append(command)

    assert set(answered) <= set(FILE_ONLY), answered


@pytest.mark.parametrize("kind", ["empty", "missing"])
def test_a_command_that_reads_makes_no_state(kind: str, shop: Stateful) -> None:
    make, _ = STATES[kind]
    for command in READING:
        make(shop)
        before = shop.bytes()
        answer = shop.ask(command)
        assert answer.code not in (1, 70), (command, answer.said)
        assert shop.bytes() == before, command


READING = (
    *("findings", "show", "export", "rules", "jobs", "runs", "status", "releases", "releases show", "messages"),
    *("audit", "audit verify", "audit export", "backup", "quarantine", "target", "users", "tokens", "plan"),
    *("check", "explain", "test", "compact", "seal"),
)


def test_migrate_backs_an_older_state_up_as_it_is_and_says_where(url: str, tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop", url)
    filled.build(url, shop.folder, OLDER)
    shop.environ |= next_version.ENVIRON
    before = filled.stored(url, shop.folder)

    done = shop.cli("migrate", "--json")
    copy = Path(done.json["backup"])

    assert (done.json["from"], done.json["to"], done.json["upgraded"]) == (OLDER, next_version.REVISION, True)
    assert filled.stored(f"sqlite:///{copy.name}", copy.parent) == before
    assert copy.with_name(f"{copy.name}.key").read_text().strip() == filled.KEY.hex()
    assert shop.cli("restore", str(copy), "--yes").code == 0
    assert len(list(shop.folder.glob("*-schema-*.db"))) == 1


def test_backup_copies_an_older_state_as_it_is(url: str, tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop", url)
    filled.build(url, shop.folder, OLDER)
    shop.environ |= next_version.ENVIRON
    before = filled.stored(url, shop.folder)

    done = shop.cli("backup", "copy.db", "--json")

    assert done.json["schema"] == OLDER
    assert filled.stored(url, shop.folder) == before
    assert filled.stored("sqlite:///copy.db", shop.folder) == before


def test_a_backup_that_cannot_be_written_leaves_the_older_state_as_it_is(tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop")
    filled.build(shop.state, shop.folder, OLDER)
    shop.environ |= next_version.ENVIRON
    with sqlite3.connect(shop.folder / "state.db") as database:
        database.execute("update audit set head = 'forged' where seq = 1")
    before = filled.stored(shop.state, shop.folder)

    refused, done = shop.cli("migrate"), shop.cli("migrate", "--no-backup")

    assert refused.code == 3
    assert "verification failed" in refused.err
    assert before["meta"][0]["revision"] == OLDER
    assert done.out == f"upgraded from schema {OLDER} to {next_version.REVISION}\n"


def test_run_and_serve_back_an_older_state_up_first_and_say_where(tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop").add(*twice(1, "A-1"))
    filled.build(shop.state, shop.folder, OLDER)
    shop.environ |= next_version.ENVIRON
    again = tmp_path / "again"
    shutil.copytree(shop.folder, again)

    ran = shop.cli("run", "--quiet")
    program = next_version.program(tmp_path / "versions")
    with serving(again, environ=dict(shop.environ), program=program) as server:
        [line] = server.hear("store.upgraded")

    assert "backed up to" in ran.err
    assert len(list(shop.folder.glob("state-schema-*.db"))) == len(list(again.glob("state-schema-*.db"))) == 1
    assert "state-schema" in line["backup"]
