"""Commands with a configuration file that cannot be used: what needs only the state works from the kept release."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from reconcile.cli.commands import program
from reconcile.guard import Guard
from tests.support.cli import ORDERS, Answer, Project, sqlite

TEXT = """\
version: 1
state: ${STATE:-sqlite:///state.db}
sources:
  shop: {type: sql, url: "${SHOP_URL}"}
datasets:
  orders: {source: shop, table: orders, id: id, money: {amount: amount, currency: EUR}}
rules:
  twice:
    kind: duplicates
    dataset: orders
    key: [order_id]
    clean: {action: delete}
    approval: required
jobs:
  nightly: {rules: all, notify: [finance], schedule: 15 6 * * *}
channels:
  finance: {type: webhook, url: "${secret:HOOK}"}
audit:
  anchors: {heads: {type: file, path: heads.jsonl, every: 1h}}
"""
SET = {"SHOP_URL": "sqlite:///shop.db", "HOOK": "https://127.0.0.1:9/canary-51c3"}

BREAKS: Mapping[str, str] = {
    "a typo": TEXT.replace("rules: all,", "rules: [all,"),
    "an unknown setting": TEXT.replace("rules: all,", "rules: all, shedule: daily,"),
    "a missing secret": TEXT,
    "no file": "",
}

FROM_THE_STATE: Mapping[str, Sequence[str]] = {
    "findings": ("findings",),
    "show": ("show", "ID"),
    "export": ("export", "findings.csv"),
    "dismiss": ("dismiss", "ID", "--note", "two parcels"),
    "judge": ("judge", "twice", "P-1", "P-2", "--same"),
    "split": ("split", "ID", "P-2"),
    "handle": ("handle", "ID", "--note", "refunded 4711"),
    "snooze": ("snooze", "ID", "--until", "2030-01-01"),
    "reopen": ("reopen", "ID"),
    "assign": ("assign", "ID", "ada"),
    "reject": ("reject", "ID"),
    "quarantine": ("quarantine",),
    "rules": ("rules",),
    "allow": ("allow", "twice"),
    "jobs": ("jobs",),
    "runs": ("runs",),
    "status": ("status",),
    "trigger": ("trigger", "nightly", "--key", "k"),
    "pause": ("pause", "nightly"),
    "resume": ("resume", "nightly"),
    "releases": ("releases",),
    "releases show": ("releases", "show", "RELEASE"),
    "hold": ("hold", "RELEASE"),
    "messages": ("messages",),
    "notify preview": ("notify", "preview", "finance"),
    "audit": ("audit",),
    "audit verify": ("audit", "verify"),
    "audit export": ("audit", "export", "log"),
    "audit key": ("audit", "key"),
    "erase": ("erase", "orders", "--id", "P-1", "--dry-run"),
    "backup": ("backup", "copy.db"),
    "restore": ("restore", "before.db", "--yes"),
    "migrate": ("migrate",),
    "target": ("target",),
    "keys": ("keys",),
    "keys show": ("keys", "show", "KEY"),
    "keys expire": ("keys", "expire", "KEY", "--reason", "it died"),
    "keys release": ("keys", "release", "KEY", "--reason", "it was not sent"),
    "users": ("users",),
    "users add": ("users", "add", "bea", "--no-password"),
    "users role": ("users", "role", "ada", "operator"),
    "users password": ("users", "password", "ada"),
    "users disable": ("users", "disable", "ada"),
    "users enable": ("users", "enable", "ada"),
    "tokens": ("tokens",),
    "tokens add": ("tokens", "add", "export", "--user", "ada"),
    "tokens revoke": ("tokens", "revoke", "import"),
}
NEEDS_THE_FILE: Mapping[str, Sequence[str]] = {
    "run": ("run",),
    "check": ("check",),
    "explain": ("explain", "twice"),
    "learn": ("learn", "twice"),
    "test": ("test",),
    "diff": ("diff", "RELEASE"),
    "serve": ("serve",),
    "plan": ("plan",),
    "approve": ("approve", "ID"),
    "retry": ("retry", "ID"),
    "decide": ("decide", "findings.csv"),
    "keep": ("keep", "ID", "P-2"),
    "releases diff": ("releases", "diff", "RELEASE"),
    "promote": ("promote",),
    "messages requeue": ("messages", "requeue", "msg1_x"),
    "messages drop": ("messages", "drop", "msg1_x"),
    "notify test": ("notify", "test", "finance"),
    "target adopt": ("target", "adopt", "shop"),
    "compact": ("compact",),
    "seal": ("seal",),
}
OTHERS = ("init", "schema", "presets", "suggest", "demo", "version", "help", "completion", "doctor", "undo")
"""Without a configuration, or with a test of their own below."""


class BreakableProject:
    """A folder in which a run found one duplicate, and a plan for it waits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = Project(folder, typed="correct horse battery\n").write(TEXT)
        self.finding = self.release = self.key = ""

    def __call__(self, *words: str, broken: str | None = None) -> Answer:
        names = {"ID": self.finding, "RELEASE": self.release, "KEY": self.key}
        environ = SET if broken != "a missing secret" else {}
        return self.project(*(names.get(word, word) for word in words), **environ)

    def to_default_state(self, broken: str) -> None:
        """Where a file that is gone is looked for."""
        for file in self.folder.glob("state.db*") if broken == "no file" else ():
            file.rename(self.folder / file.name.replace("state.db", "reconcile.db"))

    def break_(self, how: str) -> None:
        if how == "no file":
            (self.folder / "reconcile.yaml").unlink()
        else:
            self.project.write(BREAKS[how])


def fill(shop: BreakableProject) -> BreakableProject:
    with sqlite(shop.folder / "shop.db") as database:
        database.execute("create table orders (id text primary key, order_id text, amount decimal(9,2), paid_at text)")
        rows = [line.split(",") for line in ORDERS.splitlines()[1:]]
        database.executemany("insert into orders values (?, ?, ?, ?)", rows)
    ran = shop("run")
    assert "1 proposed" in ran.out, ran.said
    shop.finding = shop("findings", "--state", "all", "--json").json[0]["id"]
    shop.release = shop("releases", "--json").json[0]["release"]
    assert shop("users", "add", "ada", "--role", "reviewer").code == 0
    assert shop("tokens", "add", "import", "--user", "ada").code == 0
    with Guard.connect("sqlite:///state.db", {"mails": {}}, folder=shop.folder) as guard:
        shop.key = guard.claim("mails", "17").key
    assert shop("backup", "before.db").code == 0
    return shop


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> BreakableProject:
    return fill(BreakableProject(tmp_path_factory.mktemp("filled")))


@pytest.fixture
def cleaned(tmp_path: Path) -> BreakableProject:
    """A shop of its own, for a copied database is another one; its duplicate is cleaned."""
    shop = fill(BreakableProject(tmp_path))
    assert shop("approve", "ID").code == 0
    return shop


@pytest.fixture
def shop(filled: BreakableProject, tmp_path: Path) -> Iterator[BreakableProject]:
    """The same with its default state, `reconcile.db` being where a deleted configuration is looked for."""
    folder = tmp_path / "shop"
    shutil.copytree(filled.folder, folder)
    copy = BreakableProject(folder)
    copy.finding, copy.release, copy.key = filled.finding, filled.release, filled.key
    return copy


def _commands(group: Any, before: str = "") -> Iterator[str]:
    inner = getattr(group, "commands", {})
    if not inner or group.invoke_without_command:
        yield before
    for name, command in inner.items():
        yield from _commands(command, f"{before} {name}".strip())


def test_each_command_is_in_the_table() -> None:
    assert {*FROM_THE_STATE, *NEEDS_THE_FILE, *OTHERS} == set(_commands(program))


@pytest.mark.parametrize("broken", BREAKS)
@pytest.mark.parametrize("command", FROM_THE_STATE)
@pytest.mark.slow
def test_a_command_that_needs_only_the_state_works_from_the_kept_release(
    shop: BreakableProject, command: str, broken: str
) -> None:
    """The file is broken after the run: the answer is the same, and one line says which release gave it and why."""
    words = FROM_THE_STATE[command]
    shop.to_default_state(broken)
    shop.break_(broken)

    answer = shop(*words, broken=broken)

    if command == "notify preview" and broken == "a missing secret":  # the channel needs it
        assert (answer.code, "`HOOK` is not set" in answer.err) == (3, True)
    else:
        assert answer.code in (0, 4 if command in ("reopen", "judge", "split") else 0), answer.said
    warnings = [line for line in answer.err.splitlines() if line.startswith("reconcile.yaml:")]
    assert len(warnings) == 1
    assert shop.release[:12] in warnings[0]
    assert "canary-51c3" not in answer.said


@pytest.mark.slow
@pytest.mark.parametrize("broken", BREAKS)
@pytest.mark.parametrize("command", NEEDS_THE_FILE)
def test_a_command_that_needs_the_file_is_refused_with_its_mistakes(
    shop: BreakableProject, command: str, broken: str
) -> None:
    shop.break_(broken)

    answer = shop(*NEEDS_THE_FILE[command], broken=broken)

    assert answer.code == 2, answer.said
    assert answer.err.startswith("reconcile.yaml:") or '"reconcile.yaml:' in answer.err


@pytest.mark.parametrize("broken", BREAKS)
def test_the_doctor_tells_the_mistakes_and_looks_at_the_state_all_the_same(shop: BreakableProject, broken: str) -> None:
    shop.to_default_state(broken)
    shop.break_(broken)

    answer = shop("doctor", "--json", broken=broken)

    assert answer.code == 3, answer.said
    told = {(check["subject"], check["state"]) for check in answer.json["checks"]}
    assert {("configuration", "error"), ("configuration", "warning"), ("audit log", "ok")} <= told, told


@pytest.mark.parametrize("broken", ["a typo", "an unknown setting", "no file"])
@pytest.mark.slow
def test_an_undo_works_from_the_kept_release(cleaned: BreakableProject, broken: str) -> None:
    shop = cleaned
    shop.to_default_state(broken)
    shop.break_(broken)

    answer = shop("undo", "ID", broken=broken)

    assert answer.code == 0, answer.said
    assert answer.out == f"Undone: 1 cleaning ({shop.finding}).\n"
    with sqlite(shop.folder / "shop.db") as database:
        assert database.execute("select count(*) from orders").fetchone() == (2,)


@pytest.mark.slow
def test_an_undo_names_the_secret_it_lacks_and_changes_nothing(cleaned: BreakableProject) -> None:
    shop = cleaned

    answer = shop("undo", "ID", broken="a missing secret")

    assert answer.code == 3, answer.said
    assert "Source 'shop' cannot be used: the environment variable `SHOP_URL` is not set" in answer.err
    assert shop("show", "ID", "--json").json["state"] == "cleaned"
    assert "undo" not in shop("show", "ID", "--json").json


@pytest.mark.parametrize(
    "text",
    [
        "state: sqlite:///state.db\n",
        "version: 1\nstate:   ${STATE:-sqlite:///state.db}  # here\nrules: [\n",
        "{version: 1, state: 'sqlite:///state.db', rules: {}}",
        "state: 'sqlite:///state.db'\n\tsources: {}\n",
    ],
)
def test_the_brake_works_wherever_the_text_still_names_the_state(shop: BreakableProject, text: str) -> None:
    shop.project.write(text, "other.yaml")

    answer = shop("pause", "--all", "--reason", "look first", "-c", "other.yaml")

    assert answer.code == 0, answer.said
    assert "look first" in shop("jobs", "--json").json[0]["paused"]
    assert shop("resume", "--all", "-c", "other.yaml").code == 0


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\nstat: sqlite:///state.db\nrules: {}\n",
        "state: ${NOT_SET}\nrules: {}\n",
        "state: mysql://u:canary-51c3@h/x\n",
        "state: sqlite:///a.db\nstate: sqlite:///b.db\nrules: [\n",
        "state: {sqlite: state.db}\n",
    ],
)
def test_where_the_state_is_cannot_be_guessed_and_nothing_is_done(shop: BreakableProject, text: str) -> None:
    shop.project.write(text)
    shutil.copy(shop.folder / "state.db", shop.folder / "reconcile.db")

    answer = shop("pause", "--all")

    assert answer.code == 2
    assert "Write `state: …` into a file" in answer.err
    assert "canary-51c3" not in answer.said


def test_without_a_state_the_mistakes_are_told_and_nothing_is_created(tmp_path: Path) -> None:
    project = Project(tmp_path).write("rules: [")

    answer = project("pause", "--all")

    assert answer.code == 2
    assert answer.err.startswith("reconcile.yaml:1:9:")
    assert [file.name for file in tmp_path.iterdir()] == ["reconcile.yaml"]


def test_a_state_without_a_kept_release_can_be_paused(tmp_path: Path) -> None:
    """Nothing ran yet, but `serve` may be about to: the brake needs no release."""
    project = Project(tmp_path).write(TEXT)
    assert project("pause", "nightly", **SET).code == 0
    project.write(BREAKS["a typo"])

    answer = project("pause", "--all")

    assert answer.code == 0, answer.said
    assert "the state alone" in answer.err


def test_a_release_whose_texts_were_not_kept_is_read_from_what_it_said(shop: BreakableProject) -> None:
    """Its secret was written in clear; its name and its rules are still known, the source is not used."""
    clear = TEXT.replace("${secret:HOOK}", "https://127.0.0.1:9/canary-51c3")
    shop.project.write(clear)
    assert shop("run", "--quiet").code in (0, 3)
    assert [row["kept"] for row in shop("releases", "--json").json if row["file"]] == [False]
    shop.project.write(clear.replace("rules: all,", "rules: [all,"))

    answer = shop("findings", "--rule", "twice", "--json", broken="a missing secret")

    assert answer.code == 0, answer.said
    assert [finding["id"] for finding in answer.json] == [shop.finding]
    assert "canary-51c3" not in answer.said
