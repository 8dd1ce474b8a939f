"""What databases do by themselves: a plan is carried out as it reads, or nothing is changed at all.

The witness here reads all tables over a connection of its own, before and after.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from connectors.errors import ConnectorError
from connectors.sql.cleaning import postgresql
from reconcile.audit import log
from reconcile.cleaning.planning import references
from reconcile.errors import Refused, Wrong
from reconcile.store import findings as stored_findings
from tests.support.world import World

Tables = dict[str, list[tuple[Any, ...]]]


@dataclass
class Database:
    """One database as its owner sees it. `login` is the address that Reconcile is given."""

    url: str
    login: str
    folder: Path
    world: World = field(init=False)

    def __post_init__(self) -> None:
        self.engine = sa.create_engine(self.url, poolclass=sa.pool.NullPool)

    @property
    def kind(self) -> str:
        return self.engine.dialect.name

    def run(self, script: str) -> None:
        """Statements, separated by lines with two semicolons where one holds single ones."""
        statements = script.split(";;") if ";;" in script else script.split(";")
        with self.engine.begin() as connection:
            for statement in statements:
                if statement.strip():
                    connection.exec_driver_sql(statement.replace("%", "%%") if self.kind != "sqlite" else statement)

    def tables(self) -> Tables:
        with self.engine.connect() as connection:
            names = [name for name in sa.inspect(connection).get_table_names() if not name.startswith("reconcile_")]
            asked = {name: connection.exec_driver_sql(f"SELECT * FROM {name}").all() for name in sorted(names)}
        return {name: sorted((tuple(row) for row in rows), key=repr) for name, rows in asked.items()}

    def rule(self, clean: dict[str, Any], *, references: list[dict[str, Any]] | None = None, **more: Any) -> None:
        """One rule that finds equal names of `people` and keeps the first; `triggers: known` unless it says else."""
        dataset: dict[str, Any] = {"source": "shop", "table": "people", "id": "id"}
        if references:
            dataset["references"] = references
        config = {
            "sources": {"shop": {"type": "sql", "url": self.login}},
            "datasets": {"people": dataset},
        }
        rule = {"dataset": "people", "key": ["name"], "clean": {"triggers": "known"} | clean, **more}
        self.world = World(self.folder, {"twins": rule}, config)

    @contextmanager
    def limited(self, rights: str, on: str = "*", more: str = "") -> Iterator[str]:
        """Let Reconcile log in as a new user with these rights on these tables; yields its name, drops it at the end.

        `more` is granted besides, as MariaDB writes it: `SELECT ON *.*`.
        """
        url = sa.make_url(self.url)
        user = f"u_{url.database}"[:60]
        if self.kind == "postgresql":
            self.run(f"""
                CREATE ROLE {user} LOGIN; GRANT USAGE, CREATE ON SCHEMA public TO {user};
                GRANT {rights} ON {on} TO {user}
            """)
            self.login = url.set(username=user).render_as_string(hide_password=False)
        else:
            self.run(f"CREATE OR REPLACE USER {user} IDENTIFIED BY 'pw'")
            if "CREATE" not in rights:  # a right on every table, too: it lets the user see them
                self.run(f"GRANT CREATE ON {url.database}.* TO {user}")
            for table in on.split(", "):
                self.run(f"GRANT {rights} ON {url.database}.{table} TO {user}")
            if more:
                self.run(f"GRANT {more} TO {user}")
            self.login = url.set(username=user, password="pw").render_as_string(hide_password=False)
        try:
            yield user
        finally:
            self.run(f"DROP OWNED BY {user}; DROP ROLE {user}" if self.kind == "postgresql" else f"DROP USER {user}")

    def clean(self) -> str:
        """Find, plan and approve; where the finding stands then."""
        self.world.run()
        finding = self.world.only()
        try:
            self.world.approve(finding)
        except (ConnectorError, Wrong, Refused) as error:  # what it did to the tables is what counts
            self.refusal = str(error)
        return self.world.findings()[finding]

    @property
    def reason(self) -> str:
        with self.world.open() as application, application.store.read() as tx:
            [finding] = stored_findings.find(tx)
        plans = " ".join(plan.reason or "" for plan in self.world.plans())
        return f"{finding.reason or ''} {plans}"


@pytest.fixture
def sqlite(tmp_path: Path) -> Database:
    return Database(f"sqlite:///{tmp_path}/shop.db", f"sqlite:///{tmp_path}/shop.db", tmp_path)


@pytest.fixture
def postgres(postgres_url: str, tmp_path: Path) -> Iterator[Database]:
    yield from _emptied(postgres_url, tmp_path)


@pytest.fixture
def mariadb(mariadb_url: str, tmp_path: Path) -> Iterator[Database]:
    yield from _emptied(mariadb_url, tmp_path)


def _emptied(url: str, folder: Path) -> Iterator[Database]:
    database = Database(url, url, folder)
    yield database
    database.engine.dispose()


@pytest.fixture(params=["predicted", "not predicted"])
def prediction(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether plans follow references. A design that predicts nothing has to be stopped by the witness alone."""
    if request.param == "not predicted":
        monkeypatch.setattr(references.Closure, "follow", lambda *_: None)
        monkeypatch.setattr(references.Closure, "check_keys", lambda *_: None)
    return request.param == "predicted"


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """No reference is predicted."""
    monkeypatch.setattr(references.Closure, "follow", lambda *_: None)
    monkeypatch.setattr(references.Closure, "check_keys", lambda *_: None)


CHANGES = "SELECT, INSERT, UPDATE, DELETE"
DELETE = {"action": "delete", "references": "capture"}
SET_CODE = {"action": "set", "values": {"code": "gone {{ record.id }}"}}


def _changed(before: Tables, after: Tables) -> dict[str, list[Any]]:
    """The rows that differ, by table."""
    return {
        name: [
            row
            for row in [*before.get(name, []), *after.get(name, [])]
            if (row in before.get(name, [])) != (row in after.get(name, []))
        ]
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name)
    }


# 1. MariaDB: foreign keys to keys that are not unique


@pytest.mark.server
@pytest.mark.parametrize("action", ["delete", "set"])
@pytest.mark.parametrize("on", ["CASCADE", "SET NULL"])
def test_children_of_a_shared_value_are_left_alone_on_mariadb(
    mariadb: Database, action: str, on: str, prediction: bool
) -> None:
    mariadb.run(f"""
        CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(20), code VARCHAR(20), KEY (code)) ENGINE=InnoDB;
        CREATE TABLE orders (id INT PRIMARY KEY, code VARCHAR(20),
            FOREIGN KEY (code) REFERENCES people (code) ON DELETE {on} ON UPDATE {on}) ENGINE=InnoDB;
        INSERT INTO people VALUES (1, 'ann', 'a'), (2, 'ann', 'a');
        INSERT INTO orders VALUES (1, 'a'), (2, 'a')
    """)
    before = mariadb.tables()
    mariadb.rule(DELETE if action == "delete" else SET_CODE)

    state = mariadb.clean()

    assert mariadb.tables() == before
    assert state != "cleaned"


@pytest.mark.server
def test_children_of_the_left_part_of_a_key_are_left_alone_on_mariadb(mariadb: Database, prediction: bool) -> None:
    mariadb.run("""
        CREATE TABLE people (id INT, part INT, name VARCHAR(20), PRIMARY KEY (id, part)) ENGINE=InnoDB;
        CREATE TABLE orders (id INT PRIMARY KEY, person INT,
            FOREIGN KEY (person) REFERENCES people (id) ON DELETE CASCADE ON UPDATE CASCADE) ENGINE=InnoDB;
        INSERT INTO people VALUES (7, 1, 'ann'), (7, 2, 'ann');
        INSERT INTO orders VALUES (1, 7), (2, 7)
    """)
    before = mariadb.tables()
    mariadb.rule(DELETE)
    mariadb.world.config["datasets"]["people"]["id"] = ["id", "part"]
    mariadb.world.rules["twins"]["keep"] = [{"first": "part"}]

    state = mariadb.clean()

    assert mariadb.tables() == before
    assert state != "cleaned"


@pytest.mark.server
def test_without_the_right_to_count_the_referring_rows_are_read_instead(mariadb: Database, blind: None) -> None:
    mariadb.run("""
        CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(20), code VARCHAR(20), KEY (code)) ENGINE=InnoDB;
        CREATE TABLE orders (id INT PRIMARY KEY, code VARCHAR(20),
            FOREIGN KEY (code) REFERENCES people (code) ON DELETE CASCADE) ENGINE=InnoDB;
        INSERT INTO people VALUES (1, 'ann', 'a'), (2, 'ann', 'a');
        INSERT INTO orders VALUES (1, 'a'), (2, 'a')
    """)
    before = mariadb.tables()

    with mariadb.limited("ALL", more="SELECT ON *.*"):
        mariadb.rule(DELETE)
        state = mariadb.clean()
        reason = mariadb.reason

    assert mariadb.tables() == before
    assert state == "failed"
    assert "2 rows of table orders" in reason


# 2. PostgreSQL: rows that row-level security hides


@pytest.mark.server
@pytest.mark.parametrize("on", ["CASCADE", "SET NULL"])
def test_rows_hidden_by_row_level_security_are_not_lost(
    postgres: Database, on: str, prediction: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not prediction:  # hidden rows would be an error before anything is counted
        settings = [setting for setting in postgresql._TEXTS if "row_security" not in setting]
        monkeypatch.setattr(postgresql, "_TEXTS", tuple(settings))
    postgres.run(f"""
        CREATE TABLE people (id INT PRIMARY KEY, name TEXT);
        CREATE TABLE notes (id INT PRIMARY KEY, person INT REFERENCES people (id) ON DELETE {on});
        INSERT INTO people VALUES (1, 'ann'), (2, 'ann');
        INSERT INTO notes VALUES (1, 1), (2, 2);
        ALTER TABLE notes ENABLE ROW LEVEL SECURITY
    """)
    before = postgres.tables()

    with postgres.limited(CHANGES, on="people, notes"):
        postgres.rule(DELETE)
        state = postgres.clean()
        reason = postgres.reason

    assert postgres.tables() == before
    assert state != "cleaned"
    if not prediction:
        assert "1 row of table notes" in reason


# 3. SQLite: REPLACE clauses


@pytest.mark.slow
@pytest.mark.parametrize(
    "column", ["code TEXT UNIQUE ON CONFLICT REPLACE", "code TEXT COLLATE NOCASE UNIQUE ON CONFLICT REPLACE"]
)
def test_a_value_that_another_row_has_deletes_nothing_on_sqlite(sqlite: Database, column: str) -> None:
    sqlite.run(f"""
        CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, {column});
        INSERT INTO people VALUES (1, 'ann', 'a'), (2, 'ann', 'b'), (3, 'bob', 'TWIN')
    """)
    before = sqlite.tables()
    sqlite.rule({"action": "set", "values": {"code": "TWIN" if "NOCASE" not in column else "twin"}})

    state = sqlite.clean()

    assert sqlite.tables() == before
    assert state != "cleaned"


@pytest.mark.slow
def test_an_undo_deletes_nothing_where_another_row_has_the_value_by_now(sqlite: Database) -> None:
    sqlite.run("""
        CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, code TEXT, UNIQUE (code) ON CONFLICT REPLACE);
        INSERT INTO people VALUES (1, 'ann', 'a'), (2, 'ann', 'b')
    """)
    sqlite.rule({"action": "delete"})
    assert sqlite.clean() == "cleaned"
    sqlite.run("INSERT INTO people VALUES (3, 'bob', 'b')")
    before = sqlite.tables()

    undone = sqlite.world.undo(sqlite.world.only())

    assert sqlite.tables() == before
    assert not undone.undone


def test_a_move_and_a_repointing_delete_nothing_on_sqlite(sqlite: Database) -> None:
    sqlite.run("""
        CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, code TEXT);
        CREATE TABLE gone (id INTEGER, name TEXT, code TEXT, PRIMARY KEY (id) ON CONFLICT REPLACE);
        CREATE TABLE clubs (id INTEGER PRIMARY KEY, person INTEGER REFERENCES people (id), club TEXT,
            UNIQUE (person, club) ON CONFLICT REPLACE);
        INSERT INTO people VALUES (1, 'ann', 'a'), (2, 'ann', 'b');
        INSERT INTO gone VALUES (2, 'another', 'x');
        INSERT INTO clubs VALUES (1, 1, 'chess'), (2, 2, 'chess')
    """)
    before = sqlite.tables()
    sqlite.rule({"action": "move", "to": "gone", "references": "repoint"})

    sqlite.clean()

    assert sqlite.tables()["gone"] == before["gone"]
    assert sqlite.tables() == before


def test_nothing_is_done_where_a_trigger_of_sqlite_replaces_rows(sqlite: Database) -> None:
    sqlite.run("""
        CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT);;
        CREATE TABLE last (id INTEGER PRIMARY KEY, name TEXT UNIQUE);;
        CREATE TRIGGER keep AFTER DELETE ON people
        BEGIN INSERT OR REPLACE INTO last VALUES (OLD.id, OLD.name); END;;
        INSERT INTO people VALUES (1, 'ann'), (2, 'ann');;
        INSERT INTO last VALUES (9, 'ann')
    """)
    before = sqlite.tables()
    sqlite.rule({"action": "delete"})

    state = sqlite.clean()

    assert sqlite.tables() == before
    assert state != "cleaned"


# 4. ON UPDATE CASCADE where equal is not byte-equal

SPELLINGS = {
    "postgres citext": ("CREATE EXTENSION IF NOT EXISTS citext", "CITEXT", "'abc'", "'ABC'"),
    "postgres numeric": ("", "NUMERIC", "1.0", "1.000"),
    "mariadb": ("", "VARCHAR(20) COLLATE utf8mb4_general_ci", "'abc'", "'ABC'"),
    "sqlite": ("", "TEXT COLLATE NOCASE", "'abc'", "'ABC'"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [pytest.param(name, marks=[] if name == "sqlite" else pytest.mark.server) for name in SPELLINGS],
)
def test_an_equal_value_in_another_spelling_is_not_rewritten(
    kind: str, request: pytest.FixtureRequest, prediction: bool
) -> None:
    database: Database = request.getfixturevalue(kind.split(maxsplit=1)[0])
    first, column, parent, child = SPELLINGS[kind]
    engine = " ENGINE=InnoDB" if kind == "mariadb" else ""
    database.run(f"""
        {first};
        CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(20), code {column} UNIQUE){engine};
        CREATE TABLE orders (id INT PRIMARY KEY, code {column},
            FOREIGN KEY (code) REFERENCES people (code) ON UPDATE CASCADE){engine};
        INSERT INTO people VALUES (1, 'ann', NULL), (2, 'ann', {parent});
        INSERT INTO orders VALUES (1, {child})
    """)
    before = database.tables()
    database.rule({"action": "set", "values": {"code": "77"}})

    state = database.clean()

    assert database.tables() == before
    assert state != "cleaned"


# 5. Declared links whose types differ

LINKS = {
    "postgres number": ("postgres", "BIGINT", "NUMERIC(12,2)", ("1", "2"), "2.00"),
    "postgres text": ("postgres", "NUMERIC(12,2)", "TEXT", ("1", "2"), "'2.0'"),
    "postgres uuid": (
        "postgres",
        "UUID",
        "TEXT",
        ("'6ba7b810-9dad-11d1-80b4-00c04fd430c1'", "'6ba7b810-9dad-11d1-80b4-00c04fd430c2'"),
        "'6BA7B810-9DAD-11D1-80B4-00C04FD430C2'",
    ),
    "mariadb number": ("mariadb", "BIGINT", "DECIMAL(12,2)", ("1", "2"), "2.00"),
    "mariadb text": ("mariadb", "DECIMAL(12,2)", "VARCHAR(20)", ("1", "2"), "'2.0'"),
    "mariadb uuid": (
        "mariadb",
        "UUID",
        "VARCHAR(40)",
        ("'6ba7b810-9dad-11d1-80b4-00c04fd430c1'", "'6ba7b810-9dad-11d1-80b4-00c04fd430c2'"),
        "'6BA7B810-9DAD-11D1-80B4-00C04FD430C2'",
    ),
    "sqlite text": ("sqlite", "INTEGER", "TEXT", ("1", "2"), "'2.0'"),
    "sqlite uuid": (
        "sqlite",
        "UUID",
        "TEXT",
        ("'6ba7b810-9dad-11d1-80b4-00c04fd430c1'", "'6ba7b810-9dad-11d1-80b4-00c04fd430c2'"),
        "'6BA7B810-9DAD-11D1-80B4-00C04FD430C2'",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name.startswith("sqlite") else pytest.mark.server) for name in LINKS]
)
def test_a_declared_link_of_another_type_is_followed(name: str, request: pytest.FixtureRequest) -> None:
    kind, parent, child, (keeper, surplus), written = LINKS[name]
    database: Database = request.getfixturevalue(kind)
    database.run(f"""
        CREATE TABLE people (id {parent} PRIMARY KEY, name VARCHAR(20));
        CREATE TABLE notes (id INT PRIMARY KEY, about {child});
        INSERT INTO people VALUES ({keeper}, 'ann'), ({surplus}, 'ann');
        INSERT INTO notes VALUES (1, {written}), (2, NULL)
    """)
    before = database.tables()
    link = [{"table": "notes", "columns": ["about"]}]
    database.rule({"action": "delete"}, references=link)
    assert database.clean() != "cleaned"
    assert database.tables() == before

    database.rule({"action": "delete", "references": "repoint"}, references=link)
    state = database.clean()

    assert state == "cleaned"
    [told] = [row[1] for row in database.tables()["notes"] if row[1] is not None]
    assert str(told).rstrip("0").rstrip(".") == str(before["people"][0][0]).rstrip("0").rstrip(".")
    database.world.undo(database.world.only())
    assert database.tables() == before


# 6. Triggers

PEOPLE = "CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(20), code VARCHAR(20), touched INT DEFAULT 0)"
ROWS = "INSERT INTO people (id, name, code) VALUES (1, 'ann', 'a'), (2, 'ann', 'b')"


def _postgres_trigger(when: str, body: str, table: str = "people") -> str:
    return f"""
        CREATE FUNCTION does() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$;;
        CREATE TRIGGER does {when} ON {table} FOR EACH ROW EXECUTE FUNCTION does()
    """


MERGE = {"action": "merge", "fields": {"code": {"max": "id"}}, "surplus": "delete"}
MISCHIEF = {
    "deletes the keeper": ("AFTER DELETE", "DELETE FROM people WHERE name = OLD.name; RETURN NULL;", DELETE),
    "changes the keeper": ("AFTER DELETE", "UPDATE people SET code = 'x' WHERE name = OLD.name; RETURN NULL;", DELETE),
    "returns the old row": ("BEFORE UPDATE", "RETURN OLD;", SET_CODE),
    "reverts a merged value": ("BEFORE UPDATE", "NEW.code = OLD.code; RETURN NEW;", MERGE),
    "does nothing instead": ("BEFORE DELETE", "RETURN NULL;", DELETE),
    "changes another record": ("AFTER DELETE", "UPDATE people SET code = 'x' WHERE id = 3; RETURN NULL;", DELETE),
    "truncates a table that refers": ("AFTER DELETE", "TRUNCATE orders; RETURN NULL;", DELETE),
}


@pytest.mark.server
@pytest.mark.parametrize("what", MISCHIEF)
def test_what_a_trigger_of_postgresql_does_inside_the_plan_is_rolled_back(postgres: Database, what: str) -> None:
    when, body, clean = MISCHIEF[what]
    postgres.run(f"""
        {PEOPLE};; {ROWS};; INSERT INTO people VALUES (3, 'bob', 'c');;
        CREATE TABLE orders (id INT PRIMARY KEY, person INT REFERENCES people (id));;
        INSERT INTO orders VALUES (1, 3);;
        {_postgres_trigger(when, body)}
    """)
    before = postgres.tables()
    postgres.rule(clean)

    state = postgres.clean()

    assert postgres.tables() == before
    assert state != "cleaned"


@pytest.mark.server
def test_a_repointing_that_a_trigger_vetoes_is_not_told_as_done(postgres: Database) -> None:
    postgres.run(f"""
        {PEOPLE};; {ROWS};;
        CREATE TABLE orders (id INT PRIMARY KEY, person INT REFERENCES people (id) ON DELETE CASCADE);;
        INSERT INTO orders VALUES (1, 2);;
        {_postgres_trigger("BEFORE UPDATE", "NEW.person = OLD.person; RETURN NEW;", "orders")}
    """)
    before = postgres.tables()
    postgres.rule({"action": "delete", "references": "repoint"})

    state = postgres.clean()

    assert postgres.tables() == before
    assert state != "cleaned"


@pytest.mark.server
def test_what_a_trigger_does_elsewhere_is_named_in_the_outcome(postgres: Database) -> None:
    postgres.run(f"""
        {PEOPLE};; {ROWS};;
        CREATE TABLE history (id INT, at TIMESTAMPTZ DEFAULT now());;
        {_postgres_trigger("AFTER DELETE", "INSERT INTO history VALUES (OLD.id); RETURN NULL;")}
    """)
    postgres.rule({"action": "delete"})

    state = postgres.clean()

    assert state == "cleaned"
    assert "Triggers also changed 1 row of table history." in postgres.reason
    with postgres.world.open() as application, application.store.read() as tx:
        [entry] = [entry for entry in log.entries(tx) if entry.event == "operation.succeeded"]
    assert "Triggers also changed 1 row of table history." in json.dumps(entry.body)


SQLITE_MISCHIEF = {
    "deletes the keeper": "AFTER DELETE ON people BEGIN DELETE FROM people WHERE name = OLD.name; END",
    "changes the keeper": "AFTER DELETE ON people BEGIN UPDATE people SET code = 'x' WHERE name = OLD.name; END",
    "does nothing instead": "BEFORE DELETE ON people BEGIN SELECT RAISE(IGNORE); END",
    "changes another record": "AFTER DELETE ON people BEGIN UPDATE people SET code = 'x' WHERE id = 3; END",
    "puts the row back": "AFTER DELETE ON people BEGIN INSERT INTO people VALUES (OLD.id, OLD.name, OLD.code, 7); END",
    "empties a table that refers": "AFTER DELETE ON people BEGIN DELETE FROM orders; END",
}


@pytest.mark.parametrize("what", SQLITE_MISCHIEF)
@pytest.mark.slow
def test_what_a_trigger_of_sqlite_does_inside_the_plan_is_rolled_back(sqlite: Database, what: str) -> None:
    sqlite.run(f"""
        {PEOPLE};; {ROWS};; INSERT INTO people VALUES (3, 'bob', 'c', 0);;
        CREATE TABLE orders (id INT PRIMARY KEY, person INT REFERENCES people (id));;
        INSERT INTO orders VALUES (1, 3);;
        CREATE TRIGGER does {SQLITE_MISCHIEF[what]}
    """)
    before = sqlite.tables()
    sqlite.rule({"action": "delete"})

    state = sqlite.clean()

    assert sqlite.tables() == before
    assert state != "cleaned"


def test_what_a_trigger_of_sqlite_does_elsewhere_is_named_in_the_outcome(sqlite: Database) -> None:
    sqlite.run(f"""
        {PEOPLE};; {ROWS};;
        CREATE TABLE history (id INT);;
        CREATE TRIGGER does AFTER DELETE ON people BEGIN INSERT INTO history VALUES (OLD.id), (OLD.id); END
    """)
    sqlite.rule({"action": "delete"})

    assert sqlite.clean() == "cleaned"
    assert "Triggers also changed 2 rows of table history." in sqlite.reason


MARIADB_MISCHIEF = {
    "reverts a value": ("BEFORE UPDATE ON people FOR EACH ROW SET NEW.code = OLD.code", SET_CODE),
    "empties a table that refers": ("AFTER DELETE ON people FOR EACH ROW DELETE FROM orders", {"action": "delete"}),
    "changes the keeper": (
        "AFTER DELETE ON orders FOR EACH ROW UPDATE people SET code = 'x' WHERE id = 1",
        {"action": "delete", "references": "capture"},
    ),
    "changes another record": (
        "AFTER DELETE ON orders FOR EACH ROW UPDATE people SET code = 'x' WHERE id = 3",
        {"action": "delete", "references": "capture"},
    ),
}


@pytest.mark.server
@pytest.mark.parametrize("what", MARIADB_MISCHIEF)
def test_what_a_trigger_of_mariadb_does_inside_the_plan_is_rolled_back(mariadb: Database, what: str) -> None:
    trigger, clean = MARIADB_MISCHIEF[what]
    mariadb.run(f"""
        {PEOPLE} ENGINE=InnoDB;; {ROWS};; INSERT INTO people VALUES (3, 'bob', 'c', 0);;
        CREATE TABLE orders (id INT PRIMARY KEY, person INT, FOREIGN KEY (person) REFERENCES people (id))
        ENGINE=InnoDB;;
        INSERT INTO orders VALUES (1, {2 if "orders FOR" in trigger else 3});;
        CREATE TRIGGER does {trigger}
    """)
    before = mariadb.tables()
    mariadb.rule(clean)

    state = mariadb.clean()

    assert mariadb.tables() == before
    assert state != "cleaned"


@pytest.mark.server
def test_what_a_trigger_of_mariadb_does_elsewhere_is_named_in_the_outcome(mariadb: Database) -> None:
    mariadb.run(f"""
        {PEOPLE} ENGINE=InnoDB;; {ROWS};;
        CREATE TABLE history (id INT) ENGINE=InnoDB;;
        CREATE TRIGGER does AFTER DELETE ON people FOR EACH ROW INSERT INTO history VALUES (OLD.id), (OLD.id)
    """)
    mariadb.rule({"action": "delete"})

    assert mariadb.clean() == "cleaned"
    assert "Triggers also changed 2 rows in tables it does not name." in mariadb.reason


TOUCHED = {
    "postgres": _postgres_trigger("BEFORE UPDATE", "NEW.touched = coalesce(OLD.touched, 0) + 1; RETURN NEW;"),
    "mariadb": "CREATE TRIGGER does BEFORE UPDATE ON people FOR EACH ROW SET NEW.touched = OLD.touched + 1",
    "sqlite": """CREATE TRIGGER does AFTER UPDATE OF code ON people
        BEGIN UPDATE people SET touched = touched + 1 WHERE id = NEW.id; END""",
}


@pytest.mark.parametrize(
    "kind", [pytest.param(name, marks=[] if name == "sqlite" else pytest.mark.server) for name in TOUCHED]
)
@pytest.mark.slow
def test_a_column_that_a_trigger_writes_again_on_undo_is_named(kind: str, request: pytest.FixtureRequest) -> None:
    database: Database = request.getfixturevalue(kind)
    database.run(f"{PEOPLE};; {ROWS};; {TOUCHED[kind]}")
    before = database.tables()
    database.rule(SET_CODE)

    assert database.clean() == "cleaned"
    assert database.tables()["people"][1] == (2, "ann", "gone 2", 1)
    undone = database.world.undo(database.world.only())

    assert undone.undone
    assert [row[:3] for row in database.tables()["people"]] == [row[:3] for row in before["people"]]
    assert "Not restored: `touched` of `people`" in database.reason
    assert undone.not_restored == ((database.world.only(), database.reason.strip()),)


@pytest.mark.parametrize(
    "kind", [pytest.param(name, marks=[] if name == "sqlite" else pytest.mark.server) for name in TOUCHED]
)
@pytest.mark.slow
def test_every_column_that_a_trigger_writes_is_named_for_each_of_several_plans(
    kind: str, request: pytest.FixtureRequest
) -> None:
    """Several plans share a transaction: each names what it could not bring back, in the answer and in the log."""
    database: Database = request.getfixturevalue(kind)
    database.run(
        f"{PEOPLE};; {ROWS};; INSERT INTO people VALUES (3, 'bob', 'c', 0), (4, 'bob', 'd', 0);; {TOUCHED[kind]}"
    )
    database.rule(SET_CODE)
    world = database.world
    world.run()
    findings = sorted(world.findings())
    for finding in findings:
        world.approve(finding, later=True)
    with world.open() as application:
        application.clean_due()
    cleaned = {finding: str(world.command("show", finding).out) for finding in findings}

    undone = world.command("undo", "--run", world.plans()[0].run or "", "--json").json
    with world.open() as application, application.store.read() as tx:
        logged = [(entry.body or {}).get("beside", []) for entry in log.entries(tx, event="operation.succeeded")]

    assert sorted(undone["undone"]) == findings
    assert sorted(entry["finding"] for entry in undone["not_restored"]) == findings
    assert all("Not restored: `touched` of `people`" in entry["why"] for entry in undone["not_restored"])
    assert all("also changed `touched` of `people`" in text for text in cleaned.values())
    assert str(logged).count("Not restored: `touched` of `people`") == len(findings)


CONDITIONAL = {
    "postgres": _postgres_trigger(
        "BEFORE UPDATE", "IF NEW.touched = OLD.touched THEN NEW.touched = 9; END IF; RETURN NEW;"
    ),
    "mariadb": """CREATE TRIGGER does BEFORE UPDATE ON people FOR EACH ROW
        SET NEW.touched = IF(NEW.touched = OLD.touched, 9, NEW.touched)""",
    "sqlite": """CREATE TRIGGER does AFTER UPDATE OF code ON people WHEN NEW.touched = OLD.touched
        BEGIN UPDATE people SET touched = 9 WHERE id = NEW.id; END""",
}


@pytest.mark.parametrize(
    "kind", [pytest.param(name, marks=[] if name == "sqlite" else pytest.mark.server) for name in CONDITIONAL]
)
def test_what_a_trigger_wrote_into_a_planned_row_is_undone_with_it(kind: str, request: pytest.FixtureRequest) -> None:
    database: Database = request.getfixturevalue(kind)
    database.run(f"{PEOPLE};; {ROWS};; {CONDITIONAL[kind]}")
    before = database.tables()
    database.rule(SET_CODE)

    assert database.clean() == "cleaned"
    assert database.tables()["people"][1] == (2, "ann", "gone 2", 9)
    database.world.undo(database.world.only())

    assert database.tables() == before


RETURNING = {
    "postgres": _postgres_trigger("AFTER INSERT", "DELETE FROM notes WHERE id = 83; RETURN NULL;"),
    "mariadb": "CREATE TRIGGER does AFTER INSERT ON people FOR EACH ROW DELETE FROM notes WHERE id = 83",
    "sqlite": "CREATE TRIGGER does AFTER INSERT ON people BEGIN DELETE FROM notes WHERE id = 83; END",
}


@pytest.mark.parametrize(
    "kind", [pytest.param(name, marks=[] if name == "sqlite" else pytest.mark.server) for name in RETURNING]
)
def test_an_undo_changes_no_other_row_of_a_table_with_a_declared_link(
    kind: str, request: pytest.FixtureRequest
) -> None:
    """No catalogue says that the table belongs to the plan: the undo knows it from the plan."""
    database: Database = request.getfixturevalue(kind)
    database.run(f"""
        {PEOPLE};; {ROWS};; CREATE TABLE notes (id INT PRIMARY KEY, about VARCHAR(20));;
        INSERT INTO notes VALUES (83, '1');; {RETURNING[kind]}
    """)
    link = [{"table": "notes", "columns": ["about"]}]
    database.rule({"action": "delete", "references": "capture"}, references=link)
    assert database.clean() == "cleaned"
    cleaned = database.tables()

    undone = database.world.undo(database.world.only())

    assert not undone.undone
    assert database.tables() == cleaned


def test_what_a_trigger_changes_during_an_undo_is_named(sqlite: Database) -> None:
    sqlite.run("""
        CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT);;
        CREATE TABLE notes (id INTEGER PRIMARY KEY, person INTEGER REFERENCES people (id), word TEXT);;
        CREATE TRIGGER does AFTER INSERT ON people BEGIN UPDATE notes SET word = 'other' WHERE id = 31; END;;
        INSERT INTO people VALUES (1, 'ann'), (2, 'ann');;
        INSERT INTO notes VALUES (31, 2, 'mine')
    """)
    sqlite.rule({"action": "delete", "references": "repoint"})

    assert sqlite.clean() == "cleaned"
    sqlite.world.undo(sqlite.world.only())

    assert sqlite.tables()["notes"] == [(31, 2, "other")]
    assert "Not restored: `word` of `notes`, which a trigger changed during the undo." in sqlite.reason


@pytest.mark.server
def test_hidden_rows_stop_the_plans_they_concern_and_no_other_cleaning_of_the_source(postgres: Database) -> None:
    postgres.run("""
        CREATE TABLE people (id INT PRIMARY KEY, name TEXT);
        CREATE TABLE notes (id INT PRIMARY KEY, person INT REFERENCES people (id) ON DELETE CASCADE);
        INSERT INTO people VALUES (1, 'ann'), (2, 'ann');
        ALTER TABLE notes ENABLE ROW LEVEL SECURITY
    """)

    with postgres.limited(CHANGES, on="people, notes"):
        postgres.rule(DELETE)
        report = postgres.world.run()

    [rule] = report.rules
    assert not rule.cleaning.stopped
    assert "Rows of `notes` may refer to its surplus" in str(rule.cleaning)


@pytest.mark.server
def test_a_user_of_mariadb_who_may_not_see_triggers_is_told_what_to_grant(mariadb: Database) -> None:
    mariadb.run(f"""
        {PEOPLE} ENGINE=InnoDB;; {ROWS};;
        CREATE TABLE history (id INT) ENGINE=InnoDB;;
        CREATE TRIGGER does AFTER DELETE ON people FOR EACH ROW INSERT INTO history VALUES (OLD.id)
    """)
    before = mariadb.tables()

    with mariadb.limited(CHANGES):
        mariadb.rule({"action": "delete"})
        state = mariadb.clean()
        reason = mariadb.reason

    assert mariadb.tables() == before
    assert state == "failed"
    assert "Grant it the right TRIGGER" in reason


@pytest.mark.server
def test_a_trigger_without_the_rights_it_needs_is_told_with_its_table(postgres: Database) -> None:
    postgres.run(f"""
        {PEOPLE};; {ROWS};;
        CREATE TABLE history (id INT);;
        {_postgres_trigger("AFTER DELETE", "INSERT INTO history VALUES (OLD.id); RETURN NULL;")}
    """)
    before = postgres.tables()

    with postgres.limited(CHANGES, on="people"):
        postgres.rule({"action": "delete"})
        postgres.clean()
        reason = postgres.reason

    assert postgres.tables() == before
    assert "permission denied for table history" in reason


ROUNDABOUT = {
    "by a view": """CREATE VIEW w AS SELECT * FROM people;;
        CREATE TRIGGER does AFTER UPDATE ON notes FOR EACH ROW UPDATE w SET code = 'x' WHERE id = 3""",
    "by a trigger of another table": """CREATE TABLE x (n INT) ENGINE=InnoDB;;
        CREATE TRIGGER does AFTER UPDATE ON notes FOR EACH ROW INSERT INTO x VALUES (1);;
        CREATE TRIGGER then_does AFTER INSERT ON x FOR EACH ROW UPDATE people SET code = 'x' WHERE id = 3""",
    "by a cascade": "CREATE TRIGGER does AFTER UPDATE ON notes FOR EACH ROW DELETE FROM towns WHERE id = 2",
    "by a cascade of its own": "CREATE TRIGGER does AFTER DELETE ON people FOR EACH ROW DELETE FROM towns WHERE id = 2",
    "by a function": """CREATE FUNCTION f() RETURNS INT BEGIN UPDATE people SET code = 'x' WHERE id = 3; RETURN 1; END;;
        CREATE TABLE x (n INT) ENGINE=InnoDB;;
        CREATE TRIGGER does AFTER UPDATE ON notes FOR EACH ROW INSERT INTO x VALUES (f())""",
}


@pytest.mark.server
@pytest.mark.parametrize("way", ROUNDABOUT)
def test_a_trigger_of_mariadb_that_comes_back_to_the_plan_another_way_is_rolled_back(
    mariadb: Database, way: str
) -> None:
    mariadb.run(f"""
        CREATE TABLE towns (id INT PRIMARY KEY) ENGINE=InnoDB;; INSERT INTO towns VALUES (1), (2);;
        CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(20), code VARCHAR(20), town INT,
            FOREIGN KEY (town) REFERENCES towns (id) ON DELETE CASCADE) ENGINE=InnoDB;;
        INSERT INTO people VALUES (1, 'ann', 'a', 1), (2, 'ann', 'b', 1), (3, 'bob', 'c', 2), (4, 'eve', 'd', 2);;
        CREATE TABLE notes (id INT PRIMARY KEY, person INT, FOREIGN KEY (person) REFERENCES people (id)) ENGINE=InnoDB;;
        INSERT INTO notes VALUES (1, 2);;
        {ROUNDABOUT[way]}
    """)
    before = mariadb.tables()
    mariadb.rule({"action": "delete", "references": "repoint"})

    state = mariadb.clean()

    assert mariadb.tables() == before
    assert state != "cleaned"


@pytest.mark.server
def test_a_constraint_that_an_older_row_violates_prevents_the_undo(postgres: Database) -> None:
    postgres.run(f"{PEOPLE}; {ROWS}; ALTER TABLE people ADD CONSTRAINT named CHECK (code <> 'b') NOT VALID")
    postgres.rule({"action": "delete"})

    postgres.clean()

    [plan] = postgres.world.plans()
    assert plan.reversible == "no"
    assert "already violates `named`" in " ".join(plan.content.why)


@pytest.mark.server
def test_a_table_that_a_user_of_mariadb_may_not_see_loses_nothing(mariadb: Database) -> None:
    mariadb.run("""
        CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(20), mark VARCHAR(20)) ENGINE=InnoDB;
        CREATE TABLE hidden (id INT PRIMARY KEY, person INT,
            FOREIGN KEY (person) REFERENCES people (id) ON DELETE CASCADE) ENGINE=InnoDB;
        INSERT INTO people VALUES (1, 'ann', NULL), (2, 'ann', NULL);
        INSERT INTO hidden VALUES (1, 2)
    """)
    before = mariadb.tables()

    with mariadb.limited(CHANGES, on="people") as user:
        mariadb.rule({"action": "delete"})
        assert mariadb.clean() != "cleaned"
        assert mariadb.tables() == before
        mariadb.run(f"GRANT PROCESS ON *.* TO {user}")
        assert mariadb.clean() != "cleaned"
        assert mariadb.tables() == before


@pytest.mark.slow
def test_a_declared_link_in_a_column_without_a_type_is_followed(sqlite: Database) -> None:
    sqlite.run("""
        CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE notes (id INTEGER PRIMARY KEY, about);
        INSERT INTO people VALUES (1, 'ann'), (2, 'ann'), (3, 'bob');
        INSERT INTO notes VALUES (1, '2'), (2, 2.0)
    """)
    before = sqlite.tables()
    link = [{"table": "notes", "columns": ["about"]}]
    sqlite.rule({"action": "delete"}, references=link)
    assert sqlite.clean() != "cleaned"

    sqlite.rule({"action": "delete", "references": "repoint"}, references=link)

    assert sqlite.clean() == "cleaned"
    assert sqlite.tables()["notes"] == [(1, "1"), (2, 1)]
    sqlite.world.undo(sqlite.world.only())
    assert sqlite.tables() == before


@pytest.mark.server
def test_a_trigger_of_mariadb_hides_no_cascade_into_a_table_that_the_user_may_not_see(mariadb: Database) -> None:
    mariadb.run("""
        CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(20)) ENGINE=InnoDB;
        CREATE TABLE history (id INT) ENGINE=InnoDB;
        CREATE TABLE hidden (id INT PRIMARY KEY, person INT,
            FOREIGN KEY (person) REFERENCES people (id) ON DELETE CASCADE) ENGINE=InnoDB;
        INSERT INTO people VALUES (1, 'ann'), (2, 'ann');
        INSERT INTO hidden VALUES (1, 2), (2, 2);
        CREATE TRIGGER does AFTER DELETE ON people FOR EACH ROW INSERT INTO history VALUES (OLD.id)
    """)
    before = mariadb.tables()
    tables = "people, history, reconcile_receipts, reconcile_owner"

    with mariadb.limited(f"{CHANGES}, CREATE, TRIGGER", on=tables, more="PROCESS ON *.*"):
        mariadb.rule({"action": "delete"})
        state = mariadb.clean()
        reason = mariadb.reason

    assert mariadb.tables() == before
    assert state != "cleaned"
    assert "the target also changed 2 rows" in reason
