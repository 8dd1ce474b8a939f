"""Personal values planted in every field, searched for behind every door: pages, API, files, commands, messages."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconcile.audit import log
from reconcile.cleaning.planning import plan as planning
from reconcile.findings import identity
from reconcile.people import sessions, tokens, users
from reconcile.people.roles import Role
from reconcile.web import site as built
from reconcile.web.gate import OfApi, OfConsole, declared
from tests.support.cli import Project, sqlite
from tests.support.web import Browser, Site, cheap_hashes, site_of
from tests.support.world import World

pytestmark = pytest.mark.slow

__all__ = ["cheap_hashes"]

SCHEMA = (
    "CREATE TABLE people (mail VARCHAR(60) PRIMARY KEY, city VARCHAR(20), born VARCHAR(10), name VARCHAR(60), "
    "phone VARCHAR(20), amount DECIMAL(12, 2))"
)
ROWS = (
    ("ada.canary@example.com", "Bonn", "1815-12-10", "Lovelace-Canary", None, "4321.57"),
    ("a.canary@example.com", "Bonn", "1815-12-10", "Byron-Canary", "0170-5551815", "4321.57"),
    ("grace.canary@example.com", "Ulm", "1906-12-09", "Hopper-Canary", "0170-5551906", "8642.13"),
    ("g.canary@example.com", "Ulm", "1906-12-09", "Murray-Canary", None, "8642.13"),
)
PLANTED = (
    "anary",
    "1815-12",
    "1906-12",
    "5551815",
    "5551906",
    "4321.5",
    "4,321.5",
    "8642.1",
    "8,642.1",
    "12963.7",
    "12,963.7",
)
PEOPLE: dict[str, Any] = {
    "source": "shop",
    "table": "people",
    "id": "mail",
    "columns": {"born": "date"},
    "money": {"amount": "amount", "currency": "EUR"},
    "pii": ["mail", "born", "name", "phone", "amount"],
}
TWINS: dict[str, Any] = {
    "kind": "duplicates",
    "dataset": "people",
    "key": ["city", "born"],
    "keep": [{"first": "mail"}],
    "clean": {"action": "merge", "surplus": "delete", "ignore_drift": ["phone"]},
}


def planted(text: str | bytes) -> list[str]:
    """The personal values in a text."""
    readable = text if isinstance(text, str) else text.decode("utf-8", "replace")
    return [value for value in PLANTED if value in readable]


def world_of(folder: Path, **rule: Any) -> World:
    folder.mkdir()
    world = World(folder)
    world.shop.sql(SCHEMA)
    for row in ROWS:
        values = ", ".join("NULL" if value is None else f"'{value}'" for value in row)
        world.shop.sql(f"INSERT INTO people VALUES ({values})")
    world.config["datasets"] = {"people": PEOPLE}
    world.rules["twins"] = TWINS | rule
    return world


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """After a proposal, a drift, a rejection, a cleaning, its undo, and decisions of people."""
    world = world_of(tmp_path_factory.mktemp("doors") / "w", limits={"money": {"EUR": 5000}})
    world.run()
    first, second = sorted(world.findings())
    world.approve(first, over_limit=True)
    world.undo(first)
    with world.decisions("bob") as decisions:
        decisions.reject(second)
    world.shop.sql("UPDATE people SET name = 'Changed-Canary'")
    world.run()
    world.write()
    with site_of(world) as site:
        bob = site.browser("bob")
        for name in (first, second):
            for decision in ("snooze", "reopen", "dismiss", "reopen", "approve", "handle", "keep"):
                bob.send(f"/findings/{name}/{decision}", f"/findings/{name}", keeper="ada.canary@example.com")
        yield site


def filled(path: str, values: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda match: values.get(match[1], "x"), path)


def client(site: Site, user: str) -> Browser:
    """A program of a user."""
    browser = site.browser()
    with site.store.begin() as tx:
        name = f"of-{user}-{len(browser.headers)}-{id(browser)}"
        browser.headers["Authorization"] = f"Bearer {tokens.add(tx, name, user, by='ada')}"
    return browser


@pytest.mark.parametrize("user", ["vic", "ada"])
def test_no_page_and_no_answer_shows_a_personal_value_unasked(site: Site, user: str) -> None:
    browser, program = site.browser(user), client(site, user)
    run = program.get("/api/v1/runs").json["runs"][0]["run"]
    asked = 0
    for finding in site.world.findings():
        values = {"finding": finding, "rule": "twins", "run": run, "job": "nightly", "form": "csv", "name": "x"}
        for router in built.ROUTERS:
            for route in router.routes:
                [needed] = declared(route)  # type: ignore[arg-type] # the site has such routes alone
                if "GET" not in route.methods or not isinstance(needed, OfApi | OfConsole):  # type: ignore[attr-defined]
                    continue
                path = filled(route.path, values)  # type: ignore[attr-defined]
                page = (program if isinstance(needed, OfApi) else browser).get(path)
                assert planted(page.body) == [], path
                asked += page.status == 200

    assert asked > 40


def test_no_entry_of_the_log_holds_a_personal_value(site: Site) -> None:
    with site.store.read() as tx:
        stored = [row[9] for row in log.audit_log.chain(tx)]
        events = {entry.event for entry in log.entries(tx)}

    assert {"plan.proposed", "limits.exceeded", "approval.rejected", "operation.succeeded"} <= events
    assert [body for body in stored if planted(str(body))] == []


def test_no_command_and_no_file_holds_a_personal_value(site: Site, tmp_path: Path) -> None:
    command = site.world.command
    answers = [
        command(*words)
        for words in (
            *(("findings",), ("findings", "--json"), ("plan",), ("plan", "--json"), ("rules", "--json"), ("status",)),
            *(
                ("audit",),
                ("audit", "--json"),
                ("runs", "--json"),
                ("effects", "--json"),
                ("run", "--dry-run", "--json"),
            ),
            *(("check",), ("run", "--json"), ("doctor",), ("audit", "export", str(tmp_path / "exported"))),
        )
    ]
    for finding in site.world.findings():
        answers += [command("show", finding), command("show", finding, "--json")]

    assert [answer.said for answer in answers if planted(answer.said)] == []
    assert [file for file in (tmp_path / "exported").rglob("*") if file.is_file() and planted(file.read_bytes())] == []
    assert planted(site.world.messages()) == []


def test_a_limit_that_stops_cleaning_tells_no_personal_amount(tmp_path: Path) -> None:
    limits = {"records": 1000, "share": "100%", "money": {"EUR": 5000}}
    world = world_of(tmp_path / "w", approval="none", limits=limits)
    world.run()
    world.shop.sql("UPDATE people SET phone = '0170-5551815'")
    world.run()
    answers = [world.command(*words) for words in (("status",), ("audit", "--json"), ("run", "--json"), ("findings",))]

    assert [answer.said for answer in answers if planted(answer.said)] == []
    assert planted(world.messages()) == []
    assert "••• EUR would be changed by rule `twins`" in answers[1].out


# Values that are asked for piece by piece


def test_an_id_and_a_hash_are_none_that_somebody_could_compute_of_guesses(tmp_path: Path) -> None:
    """Two states find the same, with the same configuration: what people see of it has nothing in common."""
    shown = []
    for name in ("first", "second"):
        world = world_of(tmp_path / name)
        world.run()
        plans = {plan.plan_hash for plan in world.plans()}
        shown.append({*world.findings(), *plans})
        listed = world.command("findings", "--json", "--show").json

    assert len(shown[0]) == 4
    assert shown[0].isdisjoint(shown[1])
    assert "fingerprint" not in json.dumps(listed)


def test_a_fingerprint_of_a_guess_names_no_finding(site: Site) -> None:
    with site.application() as application, application.memory.read() as tx:
        marks = tx.connection.exec_driver_sql("SELECT fingerprint FROM findings").scalars().all()

    answers = [client(site, "vic").get(f"/api/v1/findings/{mark}").status for mark in marks]

    assert (len(marks), set(answers)) == (2, {404})


def test_a_guess_of_a_masked_record_is_answered_like_any_other(tmp_path: Path) -> None:
    world = world_of(tmp_path / "w")
    world.run()
    [finding, *_] = world.findings()
    with site_of(world) as site:
        bob, sees = client(site, "bob"), client(site, "ada")
        with site.store.begin() as tx:
            users.set_role(tx, "ada", by="test", sees_personal=True)
        right = "ada.canary@example.com" if "ada.canary" in sees_of(sees, finding) else "grace.canary@example.com"
        path = f"/api/v1/findings/{finding}/keep"
        answers = [post(bob, path, keeper=guess) for guess in (right, [right], "x@example.com")]
        allowed = post(sees, path, keeper=right)

    assert {status for status, _ in answers} == {422}
    assert len({text for _, text in answers}) == 1
    assert allowed[0] == 200


def sees_of(program: Browser, finding: str) -> str:
    return program.ask("POST", f"/api/v1/findings/{finding}/reveal").body.decode()


def post(program: Browser, path: str, **body: Any) -> tuple[int, str]:
    answer = program.ask("POST", path, json.dumps(body), **{"Content-Type": "application/json"})
    return answer.status, answer.body.decode()


def test_each_search_of_personal_data_is_recorded_without_its_text_and_they_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "OF_SEARCHES", 3)
    world = world_of(tmp_path / "w")
    world.run()
    with site_of(world) as site:
        with site.store.begin() as tx:
            users.set_role(tx, "ada", by="test", sees_personal=True)
        ada, vic, page = client(site, "ada"), client(site, "vic"), site.browser("ada")
        path = "/api/v1/findings/search"
        collected = [len(json.loads(post(ada, path, text=text)[1])["findings"]) for text in ("1815-12-1", "1815-12-2")]
        from_the_page = page.send("/search", text="1815-12-10")
        refused, also_refused = ada.ask("POST", path, '{"text": "1"}', **JSON), page.send("/search", text="1906")
        others = [post(vic, path, text="1815-12-10") for _ in range(5)]
        with site.store.read() as tx:
            entries = list(log.entries(tx, event="personal_data.searched"))

    assert (collected, from_the_page.status) == ([1, 0], 200)
    assert (refused.status, int(refused.headers["Retry-After"]) > 0, also_refused.status) == (429, True, 429)
    assert {(status, len(json.loads(text)["findings"])) for status, text in others} == {(200, 0)}
    assert [(entry.actor, set(entry.body)) for entry in entries] == [("ada", {"user", "system"})] * 3
    assert "1815" not in str([entry.body for entry in entries])


JSON = {"Content-Type": "application/json"}


def test_a_sum_of_personal_amounts_is_masked_and_no_other_sum_tells_it(tmp_path: Path) -> None:
    world = world_of(tmp_path / "w")
    world.shop.sql("CREATE TABLE orders (id INTEGER PRIMARY KEY, number INTEGER, price DECIMAL(12, 2))")
    world.shop.sql("INSERT INTO orders VALUES (1, 7, 30), (2, 7, 30)")
    world.config["datasets"]["orders"] = {
        "source": "shop",
        "table": "orders",
        "id": "id",
        "money": {"amount": "price", "currency": "EUR"},
    }
    world.rules["doubles"] = {"kind": "duplicates", "dataset": "orders", "key": ["number"]}
    report = world.write().command("run", "--json").json
    with site_of(world, people={"vic": Role.VIEWER}) as site:
        pages = [site.browser("vic").get(path).text for path in ("/", "/rules", "/rules/twins")]

    money = {rule["rule"]: rule["money"] for rule in report["rules"]}
    assert money == {"twins": {"EUR": "•••"}, "doubles": {"EUR": "30.00"}}
    assert "30.00 EUR + •••" in pages[0]
    assert [page for page in pages if planted(page) or "12,993" in page] == []


def test_a_sum_of_three_personal_amounts_and_its_parts_are_masked(tmp_path: Path) -> None:
    """All but one of the findings may have no money."""
    rows = {
        "ledger": "(1, 40, 'EUR'), (2, 50, 'EUR'), (3, 77, 'USD'), (4, 91, 'EUR')",
        "bank": "(1, 38, 'EUR'), (2, 50, 'EUR')",
        "euros": "(1, 5, 'EUR'), (2, 5, 'EUR'), (3, 6, 'EUR'), (4, 6, 'EUR'), (5, 7, 'EUR'), (6, 7, 'EUR')",
        "mixed": "(1, 5, 'EUR'), (2, 5, 'EUR'), (3, 6, 'EUR'), (4, 6, 'EUR'), (5, 7, 'USD'), (6, 7, 'USD')",
    }
    with sqlite(tmp_path / "shop.db") as db:
        for table, values in rows.items():
            db.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, price DECIMAL(12, 2), currency VARCHAR(3))")
            db.execute(f"INSERT INTO {table} VALUES {values}")
    dataset = {"source": "shop", "id": "id", "money": {"amount": "price", "currency": "currency"}, "pii": "price"}
    doubles = {"kind": "duplicates", "key": "price", "max_share": "100%"}
    settings = {
        "sources": {"shop": {"type": "sql", "url": "sqlite:///shop.db"}},
        "datasets": {table: dataset | {"table": table} for table in rows},
        "rules": {
            "euros": doubles | {"dataset": "euros"},
            "mixed": doubles | {"dataset": "mixed"},
            "balanced": {"kind": "reconciliation", "left": "ledger", "right": "bank", "key": "id"},
        },
    }
    shop = Project(tmp_path).write(json.dumps(settings))

    report, shown = shop("run", "--json").json, shop("run").out

    rules = {rule["rule"]: rule for rule in report["rules"]}
    assert rules["euros"]["money"] == {"EUR": "•••"}
    assert rules["mixed"]["money"] == {"EUR": "•••", "USD": "•••"}
    assert rules["balanced"]["balance"] == [{"currency": "EUR"}, {"currency": "USD"}]
    assert not re.findall(r"\b(77|91|38|40|2)\.00\b", shown)


# States of an earlier version


def test_findings_and_plans_of_an_earlier_version_keep_their_names_and_what_people_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of(tmp_path / "w")
    with monkeypatch.context() as earlier:
        earlier.setattr(identity, "keyed", lambda mark, _key: mark)
        earlier.setattr(planning, "salt_of", lambda _key, _finding: "")
        world.run()
    first, second = sorted(world.findings())
    old = {plan.finding: (plan.id, plan.plan_hash) for plan in world.plans()}
    with world.decisions("bob") as decisions:
        decisions.reject(second)
    values = "('new.canary@example.com', 'Kiel', '1900-01-01', 'New', NULL, 5)"
    world.shop.sql(f"INSERT INTO people VALUES {values}, {values.replace('new', 'newer')}")

    world.run()
    [new] = set(world.findings()) - {first, second}
    with site_of(world) as site:
        shown = client(site, "vic").get(f"/api/v1/findings/{first.lower()}").json

    plans = {
        plan.finding: (plan.id, plan.plan_hash) for plan in world.plans() if plan.state.value == "awaiting_approval"
    }
    marks = dict(_marks(world))
    assert [identity.short_id(marks[name]) == name for name in (first, second, new)] == [True, True, False]
    assert (shown["id"], shown["plan"]["plan_hash"]) == (first, old[first][1])
    assert (plans[first], second in plans) == (old[first], False)
    assert world.approve(first, plan_hash=old[first][1]).changed
    assert world.intact()


def _marks(world: World) -> list[tuple[str, str]]:
    with world.open() as application, application.memory.read() as tx:
        rows = tx.connection.exec_driver_sql("SELECT id, fingerprint FROM findings")
        return [(row[0], row[1]) for row in rows]
