"""`reconcile check` compares what a rule does about its findings with the table as its database describes it."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import yaml

from reconcile.journal import breaker, limits
from reconcile.store import Store, tables
from tests.support.cli import Project, sqlite

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
    [sentence] = [item["sentence"] for item in told if item["subject"] == "rule twins"]
    return str(sentence)


def test_what_cleaning_has_to_mind_is_told(shop: Project) -> None:
    answer = looked(shop, "action: delete, references: repoint")

    assert "it cleans by delete" in answer
    assert "rows of `notes` and `orders` can refer to its records, `references: repoint`" in answer
    assert "triggers" not in answer


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


TYPED = {
    "sqlite": "id integer primary key, email text, n integer, price numeric(5, 2), code varchar(3), flag boolean, "
    "day date, must varchar(9) not null default ''",
    "postgres_url": "id integer primary key, email text, n smallint, price numeric(5, 2), code varchar(3), "
    "flag boolean, day date, must varchar(9) not null default '', status mood, tag label, ident uuid, extra jsonb, "
    "big bigint",
    "mariadb_url": "id integer primary key, email text, n smallint, price numeric(5, 2), code varchar(3), "
    "flag boolean, day datetime, must varchar(9) not null default '', status enum('active', 'duplicate', 'it''s'), "
    "up int unsigned",
}
"""Tables with a column of each type, by the database."""
BEFORE = {"postgres_url": ["create type mood as enum ('active', 'duplicate')", "create domain label as varchar(4)"]}
EVERYWHERE = [
    ("n: duplicate", "sets `n` to the text `duplicate`, but its type `"),
    ("n: duplicate", "holds whole numbers; write one, or choose another column"),
    ("n: 1.5", "sets `n` to the number 1.5, but its type `"),
    ("n: 99999999999999999999", "write such a number, or widen the column"),
    ("price: dear", "sets `price` to the text `dear`, but its type `"),
    ("day: someday", "holds times; write one like 2026-03-01"),
    ("must: null", "sets `must` to null, which the table does not allow; write a value"),
]
UNFIT = {
    "sqlite": [*EVERYWHERE, ("flag: maybe", "holds true and false; write one of them")],
    "postgres_url": [
        *EVERYWHERE,
        ("flag: maybe", "sets `flag` to the text `maybe`, but its type `boolean` holds true and false"),
        ("n: 40000", "its type `smallint` holds -32768 to 32767; write such a number"),
        ("price: 1000", "its type `numeric(5,2)` has too few digits; write a smaller one, or widen the column"),
        ("price: 999.996", "its type `numeric(5,2)` has too few digits"),
        ("code: duplicate", "to a text of 9 characters, but its type `character varying(3)` holds 3; shorten it"),
        ('code: "dup of {{ record.id }}"', "to a text of 6 characters, but its type"),
        ("status: dupliacte", "its type `mood` has no such label; did you mean `duplicate`?"),
        ("status: Active", "its type `mood` has no such label; did you mean `active`?"),
        ("tag: duplicate", "to a text of 9 characters, but its type `label` holds 4"),
        ("ident: twin", "its type `uuid` holds UUIDs"),
        ("extra: twin", "its type `jsonb` holds JSON"),
    ],
    "mariadb_url": [
        *EVERYWHERE,
        ("n: 40000", "holds -32768 to 32767; write such a number"),
        ("price: 1000", "has too few digits; write a smaller one"),
        ("code: duplicate", "to a text of 9 characters, but its type `varchar(3)` holds 3; shorten it"),
        ("status: dupliacte", "but its enum has no such label; did you mean `duplicate`?"),
        ("up: -1", "holds 0 to 4294967295; write such a number"),
    ],
}
FIT = {
    "sqlite": ("n: -7", "price: 12.345", "code: longer than its type", "flag: true", "day: 2026-03-01", "code: null"),
    "postgres_url": (
        *("n: 32767", "price: 999.99", "code: dup", "flag: yes", "day: today", "status: duplicate", "tag: dup"),
        *("ident: 9f1c1e4e-9a1e-4f0e-8d8e-0d3f5c1b2a34", "extra: '{}'", "big: 9223372036854775807", "status: null"),
        *('n: "{{ record.id }}"', 'code: "{{ keeper.id }}"'),
    ),
    "mariadb_url": ("n: 32767", "price: -999.99", "code: dup", "flag: true", "status: DUPLICATE", "status: it's"),
}
SERVERS = [pytest.param(name, marks=pytest.mark.server) for name in ("postgres_url", "mariadb_url")]


@pytest.fixture
def typed(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Project]:
    """A project over a table of these types, and the name of its database."""
    name = request.param
    url = "sqlite:///shop.db" if name == "sqlite" else request.getfixturevalue(name)
    engine = sa.create_engine(f"sqlite:///{tmp_path}/shop.db" if name == "sqlite" else url)
    with engine.begin() as connection:
        for statement in (*BEFORE.get(name, ()), f"create table customers ({TYPED[name]})"):
            connection.exec_driver_sql(statement)
    engine.dispose()
    config = CONFIG.replace("sqlite:///shop.db", url).replace(", references: [{table: notes, columns: who}]", "")
    (tmp_path / "template").write_text(config)
    return name, Project(tmp_path)


def looked_typed(project: Project, clean: str, code: int) -> str:
    config = (project.folder / "template").read_text()
    answer = project.write(config.replace("{CLEAN}", f"{{\n    {clean}}}"))("check", "--json")
    assert answer.code == code, answer.said
    [sentence] = [check["sentence"] for check in answer.json["checks"] if check["subject"] == "rule twins"]
    return str(sentence)


@pytest.mark.slow
@pytest.mark.parametrize("typed", ["sqlite", *SERVERS], indirect=True)
def test_a_constant_that_its_column_cannot_hold_is_refused_at_its_place(typed: tuple[str, Project]) -> None:
    name, project = typed

    for value, reason in UNFIT[name]:
        of_set = looked_typed(project, f"action: set, values: {{\n      {value}}}", code=2)
        of_merge = looked_typed(project, f"action: merge, surplus: {{set: {{\n      {value}}}}}", code=2)

        assert of_set.startswith("reconcile.yaml:6:7: `values` sets `"), of_set
        assert of_merge.startswith("reconcile.yaml:6:7: `surplus` sets `"), of_merge
        assert reason in of_set, value
        assert reason in of_merge, value


@pytest.mark.slow
@pytest.mark.parametrize("typed", ["sqlite", *SERVERS], indirect=True)
def test_a_constant_that_its_column_can_hold_fits(typed: tuple[str, Project]) -> None:
    name, project = typed

    for value in FIT[name]:
        assert "it cleans by set" in looked_typed(project, f"action: set, values: {{{value}}}", code=0), value


@pytest.mark.slow
@pytest.mark.server
def test_a_constant_that_fits_by_our_check_is_taken_by_the_database(postgres_url: str, mariadb_url: str) -> None:
    """What the check refuses, the databases refuse too, and what it lets pass they take."""
    for name, url in (("postgres_url", postgres_url), ("mariadb_url", mariadb_url)):
        engine = sa.create_engine(url)
        with engine.begin() as connection:
            for statement in (*BEFORE.get(name, ()), f"create table customers ({TYPED[name]})"):
                connection.exec_driver_sql(statement)
            connection.exec_driver_sql("insert into customers (id) values (1)")
        wanted = [(value, True) for value in FIT[name]] + [(value, False) for value, _ in UNFIT[name]]
        for value, fits in wanted:
            [(column, constant)] = yaml.safe_load(f"{{{value}}}").items()
            if "{{" in value or (name == "mariadb_url" and value in ("flag: true", "n: 1.5")):
                continue  # no constant; of MariaDB, a boolean is written as a number, and a fraction is rounded away
            text = None if constant is None else value.partition(": ")[2].strip("'")
            with engine.connect() as connection:
                statement = sa.text(f"update customers set {column} = :text")
                assert _is_taken(connection, statement, text) is fits, (name, value)
        engine.dispose()


def _is_taken(connection: sa.Connection, statement: sa.TextClause, text: str | None) -> bool:
    try:
        connection.execute(statement.bindparams(sa.bindparam("text", text, type_=sa.types.NullType())))
    except sa.exc.DBAPIError:
        return False
    return True


def test_a_view_cannot_be_cleaned(shop: Project) -> None:
    with sqlite(shop.folder / "shop.db") as connection:
        connection.executescript(
            "alter table customers rename to people; create view customers as select * from people;"
        )

    assert "view" in looked(shop, "action: delete", code=2)


# And `reconcile doctor`, what waits for a person


def examined(shop: Project) -> dict[str, tuple[str, str]]:
    told: list[dict[str, Any]] = shop("doctor", "--json").json["checks"]
    return {item["subject"]: (item["state"], item["sentence"]) for item in told}


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
