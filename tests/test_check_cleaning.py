"""`reconcile check` compares what a rule does about its findings with the table as its database describes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from cli_support import Project, sqlite

from reconcile.journal import breaker, limits
from reconcile.store import Store, tables

TABLES = """\
create table customers (id integer primary key, email text, phone text, updated_at text, status text);
create table orders (id integer primary key, customer_id integer references customers (id));
create table notes (id integer primary key, who integer);
create table old (id integer primary key, email text);
"""
TRIGGER = "create trigger kept after delete on customers begin delete from notes where who = old.id; end;"
CONFIG = """\
sources: {shop: {type: sql, url: "sqlite:///shop.db"}}
datasets: {customers: {source: shop, table: customers, id: id, references: [{table: notes, columns: who}]}}
rules:
  twins: {kind: duplicates, dataset: customers, key: [email], clean: {CLEAN}}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    with sqlite(tmp_path / "shop.db") as connection:
        connection.executescript(TABLES)
    return Project(tmp_path)


def looked(shop: Project, clean: str, code: int = 0) -> str:
    """What `check` says of the rule."""
    shop.write(CONFIG.replace("{CLEAN}", f"{{{clean}}}"))
    answer = shop("check", "--json")
    assert answer.code == code, answer.said
    told: list[dict[str, Any]] = answer.json["checks"]
    [sentence] = [one["sentence"] for one in told if one["subject"] == "rule twins"]
    return str(sentence)


def test_what_cleaning_has_to_mind_is_told(shop: Project) -> None:
    said = looked(shop, "action: delete, references: repoint")

    assert "it cleans by delete" in said
    assert "rows of `notes` and `orders` can refer to its records, `references: repoint`" in said
    assert "triggers" not in said


def test_triggers_are_told_with_what_they_mean(shop: Project) -> None:
    with sqlite(shop.folder / "shop.db") as connection:
        connection.executescript(TRIGGER)

    assert "triggers fire: `kept`, so each plan needs approval until" in looked(shop, "action: delete")
    assert looked(shop, "action: delete, triggers: known").find("so each plan needs approval") == -1


@pytest.mark.parametrize(
    ("clean", "told"),
    [
        ("action: delete, ignore_drift: [updated]", "did you mean `updated_at`?"),
        ("action: merge, fields: {phne: longest}, surplus: delete", "did you mean `phone`?"),
        ("action: merge, linked: [[phone, adress]], surplus: delete", "`adress`"),
        ("action: merge, surplus: {set: {statu: x}}", "did you mean `status`?"),
        ("action: set, values: {stats: x}", "did you mean `status`?"),
        ("action: move, to: ld", "`ld`"),
    ],
)
def test_what_does_not_fit_the_table_is_wrong_before_anything_is_found(clean: str, told: str, shop: Project) -> None:
    assert told in looked(shop, clean, code=2)


def test_a_view_cannot_be_cleaned(shop: Project) -> None:
    with sqlite(shop.folder / "shop.db") as connection:
        connection.executescript(
            "alter table customers rename to people; create view customers as select * from people;"
        )

    assert "view" in looked(shop, "action: delete", code=2)


# And `reconcile doctor`, what waits for a person


def examined(shop: Project) -> dict[str, tuple[str, str]]:
    told: list[dict[str, Any]] = shop("doctor", "--json").json["checks"]
    return {one["subject"]: (one["state"], one["sentence"]) for one in told}


def test_doctor_says_that_nothing_of_cleaning_waits_for_a_person(shop: Project) -> None:
    shop.write(CONFIG.replace("{CLEAN}", "{action: delete}"))("run")

    assert examined(shop)["cleaning"] == ("ok", "nothing is quarantined or stopped")


def test_doctor_tells_what_of_cleaning_waits_for_a_person(shop: Project) -> None:
    with sqlite(shop.folder / "shop.db") as connection:
        connection.executescript("insert into customers (id, email) values (1, 'a'), (2, 'a');")
    shop.write(CONFIG.replace("{CLEAN}", "{action: delete}"))("run")
    with Store.open("sqlite:///reconcile.db", shop.folder) as store, store.begin() as tx:
        tx.connection.execute(sa.update(tables.plans).values(state="quarantined"))
        [identity] = tx.connection.execute(sa.select(tables.plans.c.target)).scalars()
        tx.connection.execute(
            sa.insert(tables.targets).values(
                identity=identity, source="shop", ratchet=1, confirmed=1, first_seen=tx.now, moved_at=tx.now
            )
        )
        breaker.opened_for_person(tx, identity, "The user may not do that")
        limits.stop(tx, limits.of_rule("twins"), "a column is gone", by="reconcile")

    told = examined(shop)

    assert told["quarantine"] == ("warning", "1 cleaning has an unknown outcome; see `reconcile quarantine`")
    assert told["source shop"][0] == "warning"
    assert "The user may not do that; fix the problem" in told["source shop"][1]
    assert told["cleaning of rule:twins"] == (
        "warning",
        "Cleaning of rule `twins` is stopped: a column is gone. Find out why, then run `reconcile allow twins`",
    )
    assert "cleaning" not in told


@pytest.mark.slow
def test_a_rule_that_stopped_cleaning_is_told_once_with_what_to_do(shop: Project) -> None:
    told = "channels: {team: {type: file, path: told.txt}}\njobs: {nightly: {rules: all, notify: team}}\n"
    shop.write(CONFIG.replace("{CLEAN}", "{action: set, values: {phone: twin}}") + told)
    with sqlite(shop.folder / "shop.db") as connection:
        connection.executescript("insert into customers (id, email) values (1, 'a'), (2, 'b');")
    shop("run")
    with sqlite(shop.folder / "shop.db") as connection:
        connection.executescript("alter table customers drop column phone; alter table customers add column phone int;")

    answers = [shop("run") for _ in range(3)]

    sentence = (
        "Cleaning of rule `twins` is stopped: dataset 'customers' changed unexpectedly: column phone was text and "
        "is now integer. Find out why, then run `reconcile allow twins`"
    )
    assert [(answer.code, sentence in answer.said) for answer in answers] == [(4, True)] * 3
    message = (shop.folder / "told.txt").read_text()
    assert message.count(sentence) == 1
    assert "🟡 Medium: cleaning of twins stopped" in message
