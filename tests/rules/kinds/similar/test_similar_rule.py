"""Kind similar through the program: findings of files and databases, what people decide, cleaning, and all doors."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile.testing.slack_server import SlackServer
from tests.support.servers import MARIADB, POSTGRES, scratch_database
from tests.support.similar import ADA, COMPARE, PEOPLE, STRANGERS, TWIN, Row
from tests.support.web import cheap_hashes, site_of
from tests.support.world import World

pytestmark = pytest.mark.slow

__all__ = ["cheap_hashes"]  # a fixture

COLUMNS = ("id", "name", "email", "phone", "born", "city", "note")
RULE = {"kind": "similar", "dataset": "people", "compare": COMPARE}
EVIDENCE = "phone ends in the same digits"
THIRD = ADA | {"id": "a3", "name": "Ada Lovlace"}
WIDE = {"limits": {"records": 1000, "share": "100%", "group": 100}}


def world_of(folder: Path, people: Sequence[Row] = PEOPLE, **rule: Any) -> World:
    """People in a table of SQLite, and one rule over them."""
    world = World(folder)
    table(world.shop.engine, people)
    return ruled(world, **rule)


def ruled(world: World, **rule: Any) -> World:
    """The same world with these settings of its rule."""
    world.config = {
        "datasets": {"people": {"source": "shop", "table": "people", "id": "id"}},
        "rules": {"twins": RULE | WIDE | rule},
        "channels": {"team": {"type": "file", "path": "messages.txt"}},
        "jobs": {"nightly": {"rules": "all", "notify": ["team"], "existing": "report"}},
    }
    return world


def table(engine: sa.Engine, people: Sequence[Row]) -> None:
    columns: list[sa.Column[Any]] = [sa.Column(name, sa.String(60), primary_key=name == "id") for name in COLUMNS]
    people_table = sa.Table("people", sa.MetaData(), *columns)
    with engine.begin() as connection:
        people_table.create(connection)
        connection.execute(people_table.insert(), [{name: row.get(name) for name in COLUMNS} for row in people])


def findings(world: World, *options: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = world.command("findings", "--json", *options).json
    return listed


def open_records(world: World) -> list[list[str]]:
    """The ids of the records of each open finding."""
    opened = [finding for finding in findings(world) if finding["state"] in {"open", "reopened"}]
    records = [(finding["keeper"], *finding["surplus"]) for finding in opened]
    return [[identifier for record in of_finding for identifier in record] for of_finding in records]


# Sources


@pytest.fixture(
    params=[
        "csv",
        "sqlite",
        pytest.param("postgresql", marks=pytest.mark.server),
        pytest.param("mariadb", marks=pytest.mark.server),
    ]
)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mapping[str, Any]]:
    """A source that holds the people, and its dataset."""
    if request.param == "csv":
        with (tmp_path / "people.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows({name: row.get(name) for name in COLUMNS} for row in PEOPLE)
        yield {"source": {"type": "files", "root": "."}, "dataset": {"path": "people.csv"}}
        return
    servers = {"postgresql": POSTGRES, "mariadb": MARIADB}
    urls = iter([f"sqlite:///{tmp_path / 'people.sqlite'}"])
    if request.param in servers:
        urls = scratch_database(servers[request.param])
    url = next(urls)
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    table(engine, PEOPLE)
    yield {"source": {"type": "sql", "url": url}, "dataset": {"table": "people"}}
    next(urls, None)


def test_every_source_has_the_same_findings(source: Mapping[str, Any], tmp_path: Path) -> None:
    world = World(tmp_path)
    world.config = {
        "sources": {"shop": source["source"]},
        "datasets": {"people": {"source": "shop", "id": "id"} | source["dataset"]},
        "rules": {"twins": RULE},
    }
    world.write()

    answer = world.command("run", "--json")

    assert answer.code == 0, answer.said
    [finding] = answer.json["findings"]
    assert finding["keeper"] == ["a1"]
    assert finding["surplus"] == [["a2"]]
    assert finding["key"] == {"born": "1985-12-10"}
    [link] = finding["links"]
    assert EVIDENCE in link["detail"]
    assert float(link["weight"]) > 0


# Doors


def test_people_see_the_evidence_wherever_they_see_the_finding(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.run()
    finding = world.only()

    shown = world.command("show", finding).out
    assert EVIDENCE in " ".join(shown.split())
    assert "They are probably the same: taken together, name, email, phone and born are alike" in " ".join(
        shown.split()
    )
    assert EVIDENCE in world.messages()
    assert world.command("export", "findings.csv").code == 0
    [row] = csv.DictReader((tmp_path / "findings.csv").read_text("utf-8-sig").splitlines())
    assert EVIDENCE in row["why"]
    [link] = findings(world)[0]["links"]
    assert (link["records"], link["keys"], link["bridge"]) == ([0, 1], [], True)
    assert EVIDENCE in link["detail"]
    assert float(link["weight"]) > 0
    with site_of(world) as site:
        assert EVIDENCE in site.browser("vic").get(f"/findings/{finding}").text


def test_a_message_in_slack_shows_the_evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with SlackServer() as slack:
        world = world_of(tmp_path)
        world.config["channels"] = {"team": {"type": "slack", "webhook_url": slack.webhook_url}}
        world.run()

        assert EVIDENCE in json.dumps(slack.messages)


def test_explain_says_in_words_what_the_rule_compares(tmp_path: Path) -> None:
    changes = {"veto": ["born"], "weights": {"name": 2, "email": 0}, "levels": {"phone": ["same", "local"]}}
    world = world_of(tmp_path, **changes, keep=["most_complete"]).write()

    words = " ".join(world.command("explain", "twins").out.split())

    assert "name: as name; counts 2 times" in words
    assert "email: as email; does not count" in words
    assert "phone: as phone; only these levels are an agreement: same, local" in words
    assert "born: as date; two different values are never the same" in words
    assert "all records except those in which every compared column is empty" in words
    assert "two or more records that are probably the same" in words
    assert "embedded" in words


def test_examples_of_the_rule_are_run(tmp_path: Path) -> None:
    given = [{name: row.get(name) for name in COLUMNS} for row in PEOPLE]
    expect = [{"keep": "a1", "surplus": ["a2"]}]
    world = world_of(tmp_path, examples=[{"given": given, "expect": expect}, {"given": given[:-1], "expect": []}])

    passed = world.write().command("test", "--json")

    assert passed.code == 0, passed.said
    assert passed.json["passed"] == 2


# What people decide


def test_a_dismissed_finding_stays_away_until_its_records_agree_in_another_value(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.run()
    assert world.command("dismiss", world.only(), "--note", "mother and daughter").code == 0

    world.run()
    assert open_records(world) == []
    world.shop.sql("UPDATE people SET city = 'Paris' WHERE id = 'a2'")
    world.run()
    assert open_records(world) == []

    world.shop.sql("UPDATE people SET email = 'ada@example.com' WHERE id = 'a2'")
    world.run()
    assert open_records(world) == [["a1", "a2"]]


def test_a_third_record_opens_a_dismissed_pair_again(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.run()
    assert world.command("dismiss", world.only(), "--note", "mother and daughter").code == 0

    table_row = {name: THIRD.get(name) for name in COLUMNS}
    with world.shop.engine.begin() as connection:
        names = ", ".join(f":{name}" for name in COLUMNS)
        connection.execute(sa.text(f"INSERT INTO people VALUES ({names})"), table_row)
    world.run()

    [records] = open_records(world)
    assert "a3" in records


def test_a_list_of_pairs_in_a_table_keeps_them_apart(tmp_path: Path) -> None:
    world = world_of(tmp_path, **{"except": {"dataset": "different", "columns": ["first", "second"]}})
    world.shop.sql("CREATE TABLE different (first VARCHAR(9), second VARCHAR(9))")
    world.shop.sql("INSERT INTO different VALUES ('a2', 'a1')")
    world.config["datasets"]["different"] = {"source": "shop", "table": "different"}

    world.run()

    assert findings(world) == []


# Cleaning


def test_twins_are_merged_after_approval_and_an_undo_restores_them(tmp_path: Path) -> None:
    merge = {"action": "merge", "fields": {"note": "longest", "email": "keep"}, "surplus": "delete"}
    noted = TWIN | {"note": "pays by invoice"}
    world = world_of(tmp_path, [*STRANGERS, ADA, noted], clean=merge, approval="required")
    before = world.shop.sql("SELECT * FROM people ORDER BY id")
    world.run()
    finding = world.only()

    assert "pays by invoice" in world.command("plan", "twins").out
    world.approve(finding)
    world.run()

    merged = world.shop.sql("SELECT id, note FROM people WHERE id IN ('a1', 'a2')")
    assert [tuple(row) for row in merged] == [("a1", "pays by invoice")]
    world.undo(finding)
    assert world.shop.sql("SELECT * FROM people ORDER BY id") == before


def test_nothing_is_merged_if_the_records_no_longer_belong_together(tmp_path: Path) -> None:
    world = world_of(tmp_path, clean={"action": "delete"}, approval="required")
    world.run()
    finding = world.only()
    world.shop.sql("UPDATE people SET name = 'Zoe Quist', phone = '1', born = '2001-01-01' WHERE id = 'a2'")

    result = world.approve(finding)

    assert not result.ok
    assert "they are no longer all alike" in result.sentence
    assert len(world.shop.sql("SELECT id FROM people")) == len(PEOPLE)
