"""`reconcile check` compares what a rule does about its findings with the table as its database describes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli_support import Project, sqlite

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
    assert "rows of `notes` and `orders` may refer to its records, `references: repoint`" in said
    assert "triggers" not in said


def test_triggers_are_told_with_what_they_mean(shop: Project) -> None:
    with sqlite(shop.folder / "shop.db") as connection:
        connection.executescript(TRIGGER)

    assert "triggers fire there: `kept`, so people are asked until" in looked(shop, "action: delete")
    assert looked(shop, "action: delete, triggers: known").find("so people are asked") == -1


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
