"""SECURITY.md: its SQL makes users with which the product checks, runs, approves and undoes, and may do no more."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.support.cli import Answer, Project
from tests.support.docs import ROOT, blocks

PAGE = ROOT / "SECURITY.md"
READER, CLEANER = "reconcile_reader", "reconcile_cleaner"
PASSWORDS = {READER: "choose-a-password", CLEANER: "choose-another"}
TABLES = (
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, email VARCHAR(60), name VARCHAR(60))",
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customers (id))",
    "INSERT INTO customers VALUES (1, 'a@example.com', 'Anna'), (2, 'a@example.com', 'Anna'), (3, 'b@x', 'Ben')",
    "INSERT INTO orders VALUES (10, 1), (20, 2)",
)


def section(heading: str) -> tuple[list[str], list[str]]:
    """The statements of a section of the page: those to begin with, and those for afterwards."""
    text = PAGE.read_text(encoding="utf-8")
    first = text.count("\n", 0, text.index(f"\n### {heading}\n")) + 1
    last = text.count("\n", 0, text.index("\n### ", text.index(f"\n### {heading}\n") + 5)) + 1
    collected = [block for block in blocks(PAGE, "sql") if first < block.line < last]
    before, after = ([b for b in collected if b.info == "sql"], [b for b in collected if b.info == "sql after"])
    return tuple(
        [line.strip() for b in group for line in b.body.split(";") if line.strip()] for group in (before, after)
    )  # type: ignore[return-value]


@dataclass
class Database:
    """A database in which somebody followed the page; its users have names of their own, so that tests can meet."""

    url: sa.URL
    heading: str
    suffix: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    def __post_init__(self) -> None:
        self.engine = sa.create_engine(self.url, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)

    def do(self, *statements: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        with self.engine.connect() as connection:
            for statement in statements:
                answer = connection.execute(sa.text(statement.replace(":", "\\:")))
                rows = [tuple(row) for row in answer] if answer.returns_rows else []
        return rows

    def follow(self, statements: list[str]) -> None:
        self.do(*(self._ours(statement) for statement in statements))

    def _ours(self, statement: str) -> str:
        named = statement.replace("DATABASE shop", f"DATABASE {self.url.database}")
        named = named.replace(" shop.", f" {self.url.database}.")
        for user in (READER, CLEANER):
            named = named.replace(user, self.user(user))
        return named

    def user(self, role: str) -> str:
        return f"{role}_{self.suffix}"

    def as_user(self, role: str) -> str:
        url = self.url.set(username=self.user(role), password=PASSWORDS[role], host="127.0.0.1")
        return url.render_as_string(hide_password=False)

    def drop_users(self) -> None:
        for role in (READER, CLEANER):
            if self.url.get_backend_name() == "postgresql":
                self.do(f"DROP OWNED BY {self.user(role)}", f"DROP ROLE {self.user(role)}")
            else:
                self.do(f"DROP USER '{self.user(role)}'@'127.0.0.1'")


@pytest.fixture(params=["PostgreSQL", "MariaDB and MySQL"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    fixture = "postgres_url" if request.param == "PostgreSQL" else "mariadb_url"
    database = Database(sa.make_url(request.getfixturevalue(fixture)), request.param)
    database.do(*TABLES)
    database.follow(section(request.param)[0])
    yield database
    if database.url.get_backend_name() == "postgresql":
        database.do("DROP TABLE IF EXISTS orders, customers, reconcile_receipts, reconcile_owner")
    database.drop_users()


def project(folder: Path, url: str, *, clean: bool) -> Project:
    rule: dict[str, Any] = {"kind": "duplicates", "dataset": "customers", "key": ["email"], "keep": [{"first": "id"}]}
    if clean:
        rule |= {
            "clean": {"action": "merge", "surplus": "delete", "references": "repoint"},
            "limits": {"share": "100%", "records": 100},
        }
    settings = {
        "version": 1,
        "sources": {"shop": {"type": "sql", "url": url}},
        "datasets": {"customers": {"source": "shop", "table": "customers", "id": "id"}},
        "rules": {"twins": rule},
    }
    return Project(folder).write(json.dumps(settings))


def ended(answer: Answer, *codes: int) -> Answer:
    assert answer.code in codes, answer.said
    return answer


@pytest.mark.server
def test_the_reading_user_of_the_page_checks_and_runs_and_can_change_nothing(
    database: Database, tmp_path: Path
) -> None:
    reconcile = project(tmp_path, database.as_user(READER), clean=False)

    ended(reconcile("check"), 0)
    ended(reconcile("run"), 0, 1)
    assert len(reconcile("findings", "--json").json) == 1
    for statement in ("INSERT INTO customers (id) VALUES (9)", "DELETE FROM orders", "CREATE TABLE mine (id INTEGER)"):
        with pytest.raises(sa.exc.DBAPIError):
            Database(sa.make_url(database.as_user(READER)), "").do(statement)


@pytest.mark.server
def test_the_cleaning_user_of_the_page_checks_runs_approves_and_undoes(database: Database, tmp_path: Path) -> None:
    reconcile = project(tmp_path, database.as_user(CLEANER), clean=True)
    before = database.do("SELECT id, email, name FROM customers ORDER BY id")

    ended(reconcile("check"), 0)
    ended(reconcile("run"), 0, 1)
    finding = reconcile("findings", "--json").json[0]["id"]
    ended(reconcile("approve", finding, RECONCILE_ACTOR="anna"), 0)
    assert database.do("SELECT id FROM customers ORDER BY id") == [(1,), (3,)]
    assert database.do("SELECT customer FROM orders ORDER BY id") == [(1,), (1,)]
    database.follow(section(database.heading)[1])
    ended(reconcile("undo", finding, RECONCILE_ACTOR="anna"), 0)

    assert database.do("SELECT id, email, name FROM customers ORDER BY id") == before
    assert database.do("SELECT customer FROM orders ORDER BY id") == [(1,), (2,)]
    assert len(database.do("SELECT 1 FROM reconcile_receipts")) >= 1
    assert reconcile.audit_is_intact()
    user = Database(sa.make_url(database.as_user(CLEANER)), "")
    for statement in ("DROP TABLE orders", "CREATE TABLE mine (id INTEGER)", "DELETE FROM orders"):
        with pytest.raises(sa.exc.DBAPIError):
            user.do(statement)


def test_the_page_is_linked_where_an_operator_looks_for_it() -> None:
    for page in ("README.md", "docs/operations.md", "docs/cleaning.md"):
        assert "SECURITY.md" in (ROOT / page).read_text(encoding="utf-8"), page
